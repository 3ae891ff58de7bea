import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { SignatureAlgorithm } from '../options/options';

/** A key shared by client and server. A string stands for its UTF-8 bytes. */
export type Secret = string | Uint8Array;

/** HMAC (RFC 2104) with one key, which is read once. */
export class HmacKey {
  readonly #algorithm: SignatureAlgorithm;
  readonly #key: KeyObject;

  constructor(algorithm: SignatureAlgorithm, secret: Secret) {
    this.#algorithm = algorithm;
    this.#key = createSecretKey(typeof secret === 'string' ? Buffer.from(secret) : secret);
  }

  /**
   * The HMAC of the parts, one after the other, as lower-case hexadecimal; a
   * string counts as UTF-8. As bytes it would get memory of its own, which costs
   * more than the way through a string.
   */
  digest(head: string, body?: string | Uint8Array, tail?: string): string {
    const hmac = createHmac(this.#algorithm, this.#key).update(head);
    if (body !== undefined) hmac.update(body);
    if (tail !== undefined) hmac.update(tail);
    return hmac.digest('hex');
  }
}

/**
 * Whether one of the signatures is one of the digests, all of one length. In
 * constant time and without stopping at the first match: neither the place of a
 * wrong byte nor the secret that matched can be timed.
 */
export function matchesAny(signatures: readonly Uint8Array[], digests: readonly Uint8Array[]): boolean {
  let matches = 0;
  for (const digest of digests) {
    for (const signature of signatures) matches |= Number(timingSafeEqual(signature, digest));
  }
  return matches === 1;
}
