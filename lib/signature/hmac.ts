import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
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

  /** The HMAC of the three, one after the other, as lower-case hexadecimal; text counts as UTF-8. */
  digest(head: string, body: string | Uint8Array | undefined, tail: string): string {
    const hmac = createHmac(this.#algorithm, this.#key).update(head);
    if (body !== undefined) hmac.update(body);
    return hmac.update(tail).digest('hex');
  }
}
