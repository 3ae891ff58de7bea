import type { ServerResponse } from 'node:http';
import type { Request } from '../http/request';
import { type ConfiguredResponse, kOwn, kSign, type OwnMethods } from '../http/response-state';
import type { ResponseSigningOptions } from '../options/options';
import { receivedRequest } from './hook';
import { signResponse } from './v2/message-response';
import { readKey } from './v2/message-key';

type End = (this: ServerResponse, ...given: unknown[]) => ServerResponse;

/**
 * Has the responses of a prototype signed when they end. A response whose head
 * is sent before its body has come, such as a stream or a file, is not signed.
 *
 * @param prefix Path that a proxy has taken off the target.
 * @throws TypeError for a key that can't sign.
 */
export function signResponses(prototype: ServerResponse & { [kSign]?: ConfiguredResponse[typeof kSign]; [kOwn]: OwnMethods }, { key: given, keyId }: ResponseSigningOptions, prefix: string | undefined): void {
  const key = readKey(given, 'sign', 'security.signResponses.key');
  prototype[kSign] = function sign(this: ServerResponse, chunk, encoding): void {
    if (this.headersSent || this.hasHeader('Signature') || this.statusCode < 200) return;
    const isBodiless = this.req.method === 'HEAD' || this.statusCode === 204 || this.statusCode === 304 || typeof chunk === 'function' || chunk === undefined || chunk === null;
    const body = isBodiless ? Buffer.alloc(0) : Buffer.from(chunk as string, typeof encoding === 'string' ? encoding as BufferEncoding : undefined);
    const headers = Object.fromEntries(['content-type', 'content-encoding', 'location'].map((name) => [name, this.hasHeader(name) ? String(this.getHeader(name)) : undefined]));
    const message = { method: '', target: '', status: this.statusCode, headers, request: receivedRequest(this.req as Request, prefix) };
    for (const [name, value] of Object.entries(signResponse(message, body, key, keyId ?? key.id))) this.setHeader(name, value);
  };
  // The `end` of HTTP/2 calls it by itself.
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with the response as `this`
  const end = prototype.end as unknown as End;
  const signedEnd = function signedEnd(this: ConfiguredResponse, ...chunks: unknown[]): ServerResponse {
    this[kSign]?.(chunks[0], chunks[1]);
    return end.apply(this, chunks);
  } as typeof prototype.end;
  prototype.end = signedEnd;
  prototype[kOwn] = { ...prototype[kOwn], end: signedEnd };
}
