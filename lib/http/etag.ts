import type { Stats } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { etag, fresh } from '../packages';

/** Makes an entity tag for a body (RFC 9110 section 8.8.3), or none. */
export type EntityTag = (body: string | Buffer) => string | undefined;

/** Weak tag: the bodies are equivalent, though middleware may encode them differently. */
export function weakEntityTag(body: string | Buffer): string {
  return etag()(body, { weak: true });
}

/** A tag that says the bodies are the same byte for byte. */
export function strongEntityTag(body: string | Buffer): string {
  return etag()(body, { weak: false });
}

/** A strong tag for a file, by its size and time of change: only by such a one a client resumes (RFC 9110 section 13.1.5). */
export function fileTag(stats: Stats): string {
  return etag()(stats, { weak: false });
}

/** True if a range may be sent of what the client has a part of: by a strong tag, or the very date (RFC 9110 section 13.1.5). */
export function isRangeFresh({ headers }: IncomingMessage, res: ServerResponse): boolean {
  const condition = headers['if-range'] as string | undefined;
  if (condition === undefined) return true;
  const validator = res.getHeader(condition.endsWith('"') ? 'etag' : 'last-modified');
  return typeof validator === 'string' && validator === condition && !validator.startsWith('W/');
}

/** True if the client's copy is still good, so that 304 answers the request. The response's validators decide (RFC 9110 section 13). */
export function isFresh(res: ServerResponse): boolean {
  const tag = res.getHeader('etag');
  const modified = res.getHeader('last-modified');
  if (tag === undefined && modified === undefined) return false;
  const { req } = res as Partial<ServerResponse>;
  if (req === undefined) return false;
  const { method, headers } = req;
  if (method !== 'GET' && method !== 'HEAD' && method !== 'QUERY') return false;
  const status = res.statusCode;
  if ((status < 200 || status > 299) && status !== 304) return false;
  return fresh()(withWholeTags(headers, tag), { etag: tag, 'last-modified': modified });
}

/** Replaces a tag list by `*` if it names the response's tag with a comma. Others take that comma for the tag's end (RFC 9110 section 8.8.3). */
export function withWholeTags(headers: IncomingHttpHeaders, tag: unknown): IncomingHttpHeaders {
  if (typeof tag !== 'string' || !tag.includes(',')) return headers;
  const own = tag.replace(/^W\//, '');
  const whole = (list: string | undefined): string | undefined => (list?.match(/"[^"]*"/g)?.includes(own) === true ? '*' : list);
  return { ...headers, 'if-match': whole(headers['if-match']), 'if-none-match': whole(headers['if-none-match']) };
}
