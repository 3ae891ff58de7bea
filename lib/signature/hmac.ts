import type { KeyObject } from 'node:crypto';
import type { SignatureAlgorithm } from '../options/options';
import { crypto } from '../packages';

/** A key shared by client and server. A string is used as UTF-8. */
export type Secret = string | Uint8Array;

/** Block size of the hash in bytes (FIPS 180-4), to which the key is padded. */
const BLOCK_SIZE = { sha256: 64, sha512: 128 } as const;
/** Room for data behind the padded key, in bytes. */
const DATA_ROOM = 4096;
/** Most UTF-8 bytes for one UTF-16 unit. */
const MAX_UNIT_BYTES = 3;

/**
 * HMAC (RFC 2104) with one key. From its second digest on, short data takes two
 * calls of `crypto.hash`: `createHmac` allocates a handle, whose collection by
 * V8 costs more than the digest. The buffers are not shared: they hold the key.
 */
export class HmacKey {
  readonly #algorithm: SignatureAlgorithm;
  readonly #secret: Uint8Array;
  readonly #key: KeyObject;
  #hasDigested = false;
  /** The key padded for the inner hash (ipad), and room for the data. */
  #inner: Buffer | null = null;
  /** The key padded for the outer hash (opad), and room for the inner digest. */
  #outer: Buffer | null = null;

  constructor(algorithm: SignatureAlgorithm, secret: Secret) {
    this.#algorithm = algorithm;
    this.#secret = typeof secret === 'string' ? Buffer.from(secret) : secret;
    this.#key = crypto().createSecretKey(this.#secret);
  }

  /** The HMAC of the concatenated parts, in lower-case hexadecimal; strings are hashed as UTF-8. */
  digest(head: string, body: string | Uint8Array | undefined, tail: string): string {
    const algorithm = this.#algorithm;
    const { createHmac, hash } = crypto();
    const data = typeof body === 'string' ? Buffer.from(body) : body;
    // Node has `crypto.hash` from 20.12 on.
    if (!this.#hasDigested || typeof hash !== 'function' || (head.length + tail.length) * MAX_UNIT_BYTES + (data?.length ?? 0) > DATA_ROOM) {
      this.#hasDigested = true;
      const hmac = createHmac(algorithm, this.#key).update(head);
      if (data !== undefined) hmac.update(data);
      return hmac.update(tail).digest('hex');
    }
    const size = BLOCK_SIZE[algorithm];
    const inner = (this.#inner ??= this.#paddedKey(0x36, DATA_ROOM));
    const outer = (this.#outer ??= this.#paddedKey(0x5c, size / 2));
    let at = size + inner.write(head, size);
    if (data !== undefined) {
      inner.set(data, at);
      at += data.length;
    }
    at += inner.write(tail, at);
    // A binary string, since a Buffer would be allocated.
    outer.write(hash(algorithm, inner.subarray(0, at), 'binary'), size, 'latin1');
    return hash(algorithm, outer, 'hex');
  }

  #paddedKey(pad: number, room: number): Buffer {
    const size = BLOCK_SIZE[this.#algorithm];
    const key = this.#secret.length > size ? crypto().createHash(this.#algorithm).update(this.#secret).digest() : this.#secret;
    const padded = Buffer.alloc(size + room);
    for (let i = 0; i < size; i++) padded[i] = (key[i] ?? 0) ^ pad;
    return padded;
  }
}

/**
 * True if one of the signatures equals one of the digests, all of one length.
 * Takes constant time and does not stop at a match, so that timing shows neither
 * the position of a wrong byte nor the secret that matched.
 */
export function matchesAny(signatures: readonly Uint8Array[], digests: readonly Uint8Array[]): boolean {
  const { timingSafeEqual } = crypto();
  let matches = 0;
  for (const digest of digests) {
    for (const signature of signatures) matches |= Number(timingSafeEqual(signature, digest));
  }
  return matches === 1;
}
