import type { HmacKey } from '../hmac';

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
