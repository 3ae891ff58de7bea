import type { SignatureAlgorithm } from '../../options/options';
import type { ResolvedSignature } from '../../options/resolved';
import type { HmacKey } from '../hmac';
import { checkAge, type Rejection, rejection } from '../rejection';
import { foreignCharacter, type ReceivedRequest } from '../scheme';

type Setting = 'algorithm' | 'maxAge' | 'clockSkew' | 'headerName' | 'timestampHeaderName' | 'includeBody' | 'includeQuery' | 'ambiguousBody';

/** What of `security.requestSignature` the format needs (INTERFACE section 2.5). */
export type SignatureConfig = Pick<ResolvedSignature, Setting>;

/** What is checked of a request as received. */
export interface SignedRequest extends Pick<ReceivedRequest, 'method' | 'target'> {
  /** The value of the signature header. A header sent twice comes as `a, b`, and fails the grammar. */
  readonly signature: string | undefined;
  /** The value of the timestamp header. */
  readonly timestamp: string | undefined;
}

const DIGEST = { sha256: /^[0-9a-f]{64}$/, sha512: /^[0-9a-f]{128}$/ } as const;

// Nothing separates body and timestamp in the signed data. Were the timestamp's
// length free, its first digits could be moved to the end of the body.
const TIMESTAMP = /^[0-9]{13}$/;

// What a URL serializer leaves raw. Node also accepts { " [ \ and more in a
// target, so a signed JSON body could be moved to the end of the URL.
const TARGET = /^\/[\w\-.~:/@!$&'()*+,;=%[\]|^]*(?:\?[\w\-.~:/@!$&'()*+,;=%[\]|^?{}\\`]*)?/;
const PATH_OR_MARK = /^[\w\-.~:/@!$&'()*+,;=%[\]|^?]/;
const QUERY_BYTE = /^[\w\-.~:/@!$&'()*+,;=%[\]|^?{}\\`]/;

// Methods whose body is usually absent, so that a body made of the end of the
// URL would go unnoticed: a signed `DELETE /u/123` would delete `/u/12`.
const BODILESS = new Set(['GET', 'HEAD', 'DELETE']);

/** Names the first character of a target that no server accepts where it stands; undefined for none. */
export function refusedCharacter(target: string): string | undefined {
  return foreignCharacter(target, TARGET);
}

/** Whether a signature is one digest in lower-case hexadecimal. */
export function isDigest(signature: string, algorithm: SignatureAlgorithm): boolean {
  return DIGEST[algorithm].test(signature);
}

/**
 * The HMAC of INTERFACE section 5, in hexadecimal: over method (upper-cased), URL, body and
 * timestamp, in this order and without separators. A body given as bytes is
 * hashed as bytes: distinct bytes may decode to one text, so text never stands
 * in for them.
 */
export function digest(key: HmacKey, method: string, url: string, body: string | Uint8Array | undefined, timestamp: string): string {
  return key.digest(method.toUpperCase() + url, body, timestamp);
}

/** The part of a request target that is signed: all of it, or what stands before the `?`. */
export function signedUrl(target: string, includeQuery: boolean): string {
  if (includeQuery) return target;
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}

/**
 * Checks what can be checked before a byte of the body is read: presence,
 * grammar, then age. `now` is in milliseconds since the epoch. Accepts
 * `-clockSkew <= now - timestamp <= maxAge`. Null means: nothing wrong so far.
 */
export function checkHeaders(request: SignedRequest, config: SignatureConfig, now: number): Rejection | null {
  const { signature, timestamp, target } = request;
  if (signature === undefined) return rejection('missing', `the ${config.headerName} header is absent`);
  if (!isDigest(signature, config.algorithm)) {
    return rejection('invalid', `the ${config.headerName} header is not one lower-case hexadecimal ${config.algorithm} digest`);
  }
  if (timestamp === undefined) return rejection('invalid', `the ${config.timestampHeaderName} header is absent`);
  if (!TIMESTAMP.test(timestamp)) {
    return rejection('invalid', `the ${config.timestampHeaderName} header is not 13 decimal digits (milliseconds since the epoch)`);
  }
  const character = refusedCharacter(target);
  if (character !== undefined) return rejection('invalid', `the request target holds ${character}, which a URL serializer would have percent-encoded`);
  return checkAge(Number(timestamp), config, now);
}

/**
 * Refuses a body on GET, HEAD or DELETE (with `ambiguousBody: 'reject'` on
 * every method) that could have been the end of the signed URL: it must begin
 * with a byte that the target could not have gone on with. So no two requests
 * of such a method that pass share a signature.
 */
export function checkBody(
  request: Pick<SignedRequest, 'method' | 'target'>,
  body: Uint8Array | undefined,
  config: SignatureConfig,
): Rejection | null {
  if (!config.includeBody || body === undefined || body.length === 0) return null;
  if (config.ambiguousBody !== 'reject' && !BODILESS.has(request.method.toUpperCase())) return null;
  if (startsApart(signedUrl(request.target, config.includeQuery), body)) return null;
  return rejection('invalid', `the body of a ${request.method} request begins like a continuation of its URL`);
}

function startsApart(url: string, body: Uint8Array): boolean {
  if (!url.includes('?')) return !PATH_OR_MARK.test(byteText(body, 0));
  // A query may hold a raw `{`, and JSON bodies begin with one. It counts as
  // the body's own if the byte after it can only be a body's; then the URL
  // this body might have been cut from ended in `{` and had a body, which the
  // first condition refuses.
  if (url.endsWith('{')) return false;
  if (!QUERY_BYTE.test(byteText(body, 0))) return true;
  return body[0] === 0x7b && body.length > 1 && !QUERY_BYTE.test(byteText(body, 1));
}

function byteText(body: Uint8Array, index: number): string {
  return String.fromCharCode(body[index] ?? 0);
}
