import type { SignatureAlgorithm } from '../../options/options';
import type { ResolvedSignature } from '../../options/resolved';
import type { HmacKey } from '../hmac';
import { checkAge, type Rejection, rejection } from '../rejection';
import { type ReceivedRequest, unmatchedCharacter } from '../scheme';

type Setting = 'algorithm' | 'maxAge' | 'clockSkew' | 'headerName' | 'timestampHeaderName' | 'includeBody' | 'includeQuery' | 'ambiguousBody';

/** The members of `security.requestSignature` for this format (INTERFACE section 2.5). */
export type SignatureConfig = Pick<ResolvedSignature, Setting>;

/** The checked parts of a request as received. */
export interface SignedRequest extends Pick<ReceivedRequest, 'method' | 'target'> {
  /** The value of the signature header. A header sent twice comes as `a, b`, and fails the grammar. */
  readonly signature: string | undefined;
  /** The value of the timestamp header. */
  readonly timestamp: string | undefined;
}

const DIGEST = { sha256: /^[0-9a-f]{64}$/, sha512: /^[0-9a-f]{128}$/ } as const;

// The length is fixed, since the signed data has no separators: digits could
// count as the end of the body or as the start of the timestamp.
const TIMESTAMP = /^[0-9]{13}$/;

// The characters that a URL serializer leaves raw. Node also accepts { " [ \
// and more, by which the end of the URL could be taken for a signed JSON body.
const TARGET = /^\/[\w\-.~:/@!$&'()*+,;=%[\]|^]*(?:\?[\w\-.~:/@!$&'()*+,;=%[\]|^?{}\\`]*)?/;
const PATH_CHARACTER = /^[\w\-.~:/@!$&'()*+,;=%[\]|^?]/;
const QUERY_CHARACTER = /^[\w\-.~:/@!$&'()*+,;=%[\]|^?{}\\`]/;

// Methods usually without a body. The end of the URL must not pass for one: a
// signed `DELETE /u/123` is no `DELETE /u/12` with the body `3`.
const BODILESS = new Set(['GET', 'HEAD', 'DELETE']);

/** Describes the first character of a target that no server accepts there; undefined for none. */
export function invalidCharacter(target: string): string | undefined {
  return unmatchedCharacter(target, TARGET);
}

/** True for one digest in lower-case hexadecimal. */
export function isDigest(signature: string, algorithm: SignatureAlgorithm): boolean {
  return DIGEST[algorithm].test(signature);
}

/**
 * The HMAC of INTERFACE section 5, in hexadecimal: over method (upper-cased), URL, body and
 * timestamp, in this order and without separators. Bytes of a body are hashed
 * undecoded, since distinct bytes may decode to one text.
 */
export function digest(key: HmacKey, method: string, url: string, body: string | Uint8Array | undefined, timestamp: string): string {
  return key.digest(method.toUpperCase() + url, body, timestamp);
}

/** The signed part of a request target: all of it, or the path before the `?`. */
export function signedUrl(target: string, includeQuery: boolean): string {
  if (includeQuery) return target;
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}

/**
 * Runs the checks that need no body: presence, grammar, then age. `now` is in
 * milliseconds since the epoch. Accepts
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
  const character = invalidCharacter(target);
  if (character !== undefined) return rejection('invalid', `the request target holds ${character}, which a URL serializer would have percent-encoded`);
  return checkAge(Number(timestamp), config, now);
}

/**
 * Refuses a body on GET, HEAD or DELETE (with `ambiguousBody: 'reject'` on
 * every method) that could be the end of the signed URL: it must begin with a
 * byte that could not continue the target. So no two accepted requests of such
 * a method share a signature.
 */
export function checkBody(
  request: Pick<SignedRequest, 'method' | 'target'>,
  body: Uint8Array | undefined,
  config: SignatureConfig,
): Rejection | null {
  if (!config.includeBody || body === undefined || body.length === 0) return null;
  if (config.ambiguousBody !== 'reject' && !BODILESS.has(request.method.toUpperCase())) return null;
  if (isDistinctBody(signedUrl(request.target, config.includeQuery), body)) return null;
  return rejection('invalid', `the body of a ${request.method} request begins like a continuation of its URL`);
}

function isDistinctBody(url: string, body: Uint8Array): boolean {
  if (!url.includes('?')) return !PATH_CHARACTER.test(characterAt(body, 0));
  // A query may hold a raw `{`, and JSON bodies begin with one. It belongs to
  // the body if the next byte can only be a body's: the longer URL would then
  // end in `{` and have a body, which the first condition refuses.
  if (url.endsWith('{')) return false;
  if (!QUERY_CHARACTER.test(characterAt(body, 0))) return true;
  return body[0] === 0x7b && body.length > 1 && !QUERY_CHARACTER.test(characterAt(body, 1));
}

function characterAt(body: Uint8Array, index: number): string {
  return String.fromCharCode(body[index] ?? 0);
}
