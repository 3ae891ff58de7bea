import type { IncomingMessage } from 'node:http';
import { HttpError } from '../../errors';
import { contentType as contentTypes } from '../../packages';
import { type Charset, charsetOf } from './charset';
import { acceptedCodings, type Deflated, isInflated, tooLarge } from './inflate';
import { parseJson } from './json';
import { parseForm } from '../query';

/** The kinds of body that are parsed. */
export type BodyKind = 'json' | 'form' | 'text';

/** How a captured body is parsed. */
export interface ParseOptions {
  /** Longest body after inflating, in bytes. */
  readonly limit: number;
  /** Most arrays and objects in JSON. @default 50000, or a twentieth of the limit where that is more */
  readonly containerLimit?: number | undefined;
  /** Parses integers beyond 2^53 in JSON as BigInt. */
  readonly bigint: boolean;
  /** Inflates what is compressed. */
  readonly inflater: { readonly inflate: (body: Deflated) => void };
}

/** A request, as far as it says how its body is to be read; one that an adapter made has no socket. */
export type BodyHead = Pick<IncomingMessage, 'headers'> & { readonly socket?: { readonly destroyed: boolean } | null | undefined };

/** Hears what a body was parsed to, or why it was not. `value` is undefined where the type is none that is parsed. */
export type ParseListener = (error: unknown, value: unknown) => void;

const PLAIN_JSON = 'application/json';
const NO_PARAMETERS: Readonly<Record<string, string>> = {};
const TEXT_TYPE = /^text\/[!#$%&'*+.^_`|~0-9a-z-]+$/;
const JSON_SUFFIX = /^[!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+\+json$/;

/**
 * Kind that a Content-Type field names; undefined if unparsed or malformed. The
 * whole field must match, not a part of it (RFC 9110 section 8.3): a client would
 * otherwise choose, or dodge, a parser.
 */
export function bodyKind(contentType: string | undefined): BodyKind | undefined {
  if (contentType === undefined) return undefined;
  // Fast path: the type that nearly every client sends needs no parsing.
  if (contentType === PLAIN_JSON) return 'json';
  return kindOf(contentTypes().parse(contentType, { parameters: false }).type);
}

function kindOf(type: string): BodyKind | undefined {
  if (type === 'application/json') return 'json';
  if (type === 'application/x-www-form-urlencoded') return 'form';
  if (TEXT_TYPE.test(type)) return 'text';
  return JSON_SUFFIX.test(type) ? 'json' : undefined;
}

/**
 * Parses the captured bytes of a body by the request's headers: JSON of any
 * value, a flat form, or text. `done` is called once, before this returns where
 * nothing is to be inflated; not at all where the client went away meanwhile.
 * The error is an HttpError: 400 `MALFORMED_BODY` or `FORBIDDEN_KEY`, 413
 * `BODY_TOO_LARGE`, `TOO_MANY_FIELDS` or `TOO_MANY_CONTAINERS`, 415 `UNSUPPORTED_ENCODING` or
 * `UNSUPPORTED_CHARSET`.
 */
export function parseBody(raw: Buffer, request: BodyHead, options: ParseOptions, done: ParseListener): void {
  const { headers } = request;
  const type = headers['content-type'] ?? '';
  const { type: name, parameters } = type === PLAIN_JSON ? { type, parameters: NO_PARAMETERS } : contentTypes().parse(type);
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  const kind = kindOf(name);
  if (kind === undefined) return done(null, undefined);
  const charset = charsetOf(parameters['charset']);
  // JSON is Unicode in every edition of its grammar (RFC 8259 section 8.1).
  if (charset === undefined || (kind === 'json' && !charset.unicode)) return done(HttpError.of('UNSUPPORTED_CHARSET', undefined, { option: 'body' }), undefined);
  if (raw.length > options.limit) return done(tooLarge(options.limit), undefined);
  if (coding === '' || coding === 'identity') return finish(raw, kind, charset, options, done);
  if (!isInflated(coding)) return done(Object.assign(HttpError.of('UNSUPPORTED_ENCODING', undefined, { option: 'body' }), { headers: { 'Accept-Encoding': acceptedCodings() } }), undefined);
  options.inflater.inflate({
    raw, coding, limit: options.limit,
    isClientGone: () => request.socket?.destroyed === true,
    done: (error, bytes) => (error === null ? finish(bytes, kind, charset, options, done) : done(error, undefined)),
  });
}

function finish(bytes: Buffer, kind: BodyKind, charset: Charset, { bigint, limit, containerLimit = Math.max(50_000, limit / 20) }: ParseOptions, done: ParseListener): void {
  let value: unknown;
  try {
    // The escapes of a form are bytes of its charset too; those of Unicode are UTF-8.
    const decode = kind === 'form' && !charset.unicode ? (field: Buffer): string => charset.decode(field) : undefined;
    const text = decode === undefined ? charset.decode(bytes) : bytes.toString('latin1');
    value = kind === 'json' ? parseJson(text, bigint, containerLimit) : kind === 'form' ? parseForm(text, decode) : text;
  } catch (error) {
    return done(error instanceof HttpError ? error : HttpError.of('MALFORMED_BODY', undefined, { cause: error }), undefined);
  }
  done(null, value);
}
