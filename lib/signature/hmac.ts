import type { KeyObject } from 'node:crypto';
import type { SignatureAlgorithm } from '../options/options';
import { crypto } from '../packages';

/** A key shared by client and server. A string stands for its UTF-8 bytes. */
export type Secret = string | Uint8Array;

/** Bytes of a block of the hash (FIPS 180-4): what a key is padded to. */
const BLOCK = { sha256: 64, sha512: 128 } as const;
/** Most bytes that are copied behind the padded key. */
const COPIED = 4096;
/** Most bytes of UTF-8 for a unit of UTF-16. */
const UNIT_BYTES = 3;

/**
 * HMAC (RFC 2104) with one key. From its second digest on, short data takes two
 * calls of `crypto.hash`: `createHmac` makes a handle that V8's collector then
 * has to look after, which costs more than the digest. The memory is the key's
 * own, since it holds the key.
 */
export class HmacKey {
  readonly #algorithm: SignatureAlgorithm;
  readonly #secret: Uint8Array;
  readonly #key: KeyObject;
  #isUsed = false;
  /** The padded key as the inner hash begins with it, and room for what else it hashes. */
  #inner: Buffer | null = null;
  /** The padded key as the outer hash begins with it, and room for the inner one's result. */
  #outer: Buffer | null = null;

  constructor(algorithm: SignatureAlgorithm, secret: Secret) {
    this.#algorithm = algorithm;
    this.#secret = typeof secret === 'string' ? Buffer.from(secret) : secret;
    this.#key = crypto().createSecretKey(this.#secret);
  }

  /** The HMAC of the three, one after the other, as lower-case hexadecimal; a string counts as UTF-8. */
  digest(head: string, body: string | Uint8Array | undefined, tail: string): string {
    const algorithm = this.#algorithm;
    const { createHmac, hash } = crypto();
    const data = typeof body === 'string' ? Buffer.from(body) : body;
    // Node has `crypto.hash` from 20.12 on.
    if (!this.#isUsed || typeof hash !== 'function' || (head.length + tail.length) * UNIT_BYTES + (data?.length ?? 0) > COPIED) {
      this.#isUsed = true;
      const hmac = createHmac(algorithm, this.#key).update(head);
      if (data !== undefined) hmac.update(data);
      return hmac.update(tail).digest('hex');
    }
    const size = BLOCK[algorithm];
    const inner = (this.#inner ??= this.#padded(0x36, COPIED));
    const outer = (this.#outer ??= this.#padded(0x5c, size / 2));
    let at = size + inner.write(head, size);
    if (data !== undefined) {
      inner.set(data, at);
      at += data.length;
    }
    at += inner.write(tail, at);
    // A string and not a Buffer, which would get memory of its own.
    outer.write(hash(algorithm, inner.subarray(0, at), 'binary'), size, 'latin1');
    return hash(algorithm, outer, 'hex');
  }

  #padded(pad: number, room: number): Buffer {
    const size = BLOCK[this.#algorithm];
    const key = this.#secret.length > size ? crypto().createHash(this.#algorithm).update(this.#secret).digest() : this.#secret;
    const padded = Buffer.alloc(size + room);
    for (let i = 0; i < size; i++) padded[i] = (key[i] ?? 0) ^ pad;
    return padded;
  }
}

/**
 * Whether one of the signatures is one of the digests, all of one length. In
 * constant time and without stopping at the first match: neither the place of a
 * wrong byte nor the secret that matched can be timed.
 */
export function matchesAny(signatures: readonly Uint8Array[], digests: readonly Uint8Array[]): boolean {
  const { timingSafeEqual } = crypto();
  let matches = 0;
  for (const digest of digests) {
    for (const signature of signatures) matches |= Number(timingSafeEqual(signature, digest));
  }
  return matches === 1;
}
