import { createHash, createHmac, hash } from 'node:crypto';
import type { SignatureAlgorithm } from '../options/options';

/** A key shared by client and server. A string stands for its UTF-8 bytes. */
export type Secret = string | Uint8Array;

/** Bytes of a block of the hash (FIPS 180-4): what a key is padded to. */
const BLOCK = { sha256: 64, sha512: 128 } as const;
/** Data up to this many bytes are copied behind the key, so that one call hashes all; longer ones are hashed where they are. */
const COPIED = 65_536;
/** Most bytes of UTF-8 for a unit of UTF-16. */
const UNIT_BYTES = 3;

/**
 * HMAC (RFC 2104) with one key. Two calls of `crypto.hash` do what `createHmac`
 * does, without the handle that V8's collector then has to look after. Each
 * gives a string and not a Buffer, which is memory of its own outside of V8's
 * heap: two of those took a third of the time that the digest of a kilobyte took.
 */
export class HmacKey {
  readonly #algorithm: SignatureAlgorithm;
  readonly #secret: Secret;
  /** Bytes of a block. */
  readonly #size: number;
  /**
   * The padded key as the inner hash begins with it, and room for what else it
   * hashes. It grows, and is kept: digests come one at a time, so one memory serves all.
   */
  #inner: Buffer;
  /** The padded key as the outer hash begins with it, and room for the inner one's result. */
  readonly #outer: Buffer;

  constructor(algorithm: SignatureAlgorithm, secret: Secret) {
    const size = BLOCK[algorithm];
    const given = typeof secret === 'string' ? Buffer.from(secret) : secret;
    const key = given.length > size ? createHash(algorithm).update(given).digest() : given;
    this.#algorithm = algorithm;
    this.#secret = secret;
    this.#size = size;
    this.#inner = Buffer.alloc(size, 0x36);
    this.#outer = Buffer.alloc(size + size / 2, 0x5c);
    for (const [index, byte] of key.entries()) {
      this.#inner[index] = byte ^ 0x36;
      this.#outer[index] = byte ^ 0x5c;
    }
  }

  /** The HMAC of the three, one after the other, as lower-case hexadecimal; text counts as UTF-8. */
  digest(head: string, body: string | Uint8Array | undefined, tail: string): string {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const length = bytes === undefined ? 0 : bytes.length;
    const most = (head.length + tail.length) * UNIT_BYTES + length;
    // Node has `crypto.hash` from 20.12 on.
    if (typeof hash !== 'function' || most > COPIED) return this.#update(head, bytes, tail);
    const inner = this.#room(most);
    let at = this.#size;
    at += inner.write(head, at);
    if (bytes !== undefined) inner.set(bytes, at);
    at += length;
    at += inner.write(tail, at);
    this.#outer.write(hash(this.#algorithm, inner.subarray(0, at), 'binary'), this.#size, 'latin1');
    return hash(this.#algorithm, this.#outer, 'hex');
  }

  /** The inner hash's data, with room for so many bytes behind the key. */
  #room(bytes: number): Buffer {
    const length = this.#size + bytes;
    if (this.#inner.length < length) {
      // A key that serves again is likely to need a little more; one for a single request is not.
      const isFirst = this.#inner.length === this.#size;
      const inner = Buffer.allocUnsafeSlow(isFirst ? length : length * 2);
      this.#inner.copy(inner, 0, 0, this.#size);
      this.#inner = inner;
    }
    return this.#inner;
  }

  #update(head: string, bytes: Uint8Array | undefined, tail: string): string {
    const hmac = createHmac(this.#algorithm, this.#secret).update(head);
    if (bytes !== undefined) hmac.update(bytes);
    return hmac.update(tail).digest('hex');
  }
}
