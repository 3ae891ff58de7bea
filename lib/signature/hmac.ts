import { createHash, createHmac, hash } from 'node:crypto';
import type { SignatureAlgorithm } from '../options';

/** A key shared by client and server. A string stands for its UTF-8 bytes. */
export type Secret = string | Uint8Array;

/** Bytes of a block of the hash (FIPS 180-4): what a key is padded to. */
const BLOCK = { sha256: 64, sha512: 128 } as const;
/** Bodies up to this many bytes are copied behind the key, so that one call hashes all; longer ones are hashed where they are. */
const COPIED = 65_536;

/**
 * HMAC (RFC 2104) with one key. Two calls of `crypto.hash` do what `createHmac`
 * does, without the handle that V8's collector then has to look after: under
 * load that is a sixth of all that a small signed request costs.
 */
export class HmacKey {
  readonly #algorithm: SignatureAlgorithm;
  readonly #secret: Secret;
  /** The padded key as the inner and the outer hash begin with it; room for the inner one's result is behind the latter. */
  readonly #inner: Buffer;
  readonly #outer: Buffer;

  constructor(algorithm: SignatureAlgorithm, secret: Secret) {
    const size = BLOCK[algorithm];
    const given = typeof secret === 'string' ? Buffer.from(secret) : secret;
    const key = given.length > size ? createHash(algorithm).update(given).digest() : given;
    this.#algorithm = algorithm;
    this.#secret = secret;
    this.#inner = Buffer.alloc(size, 0x36);
    this.#outer = Buffer.alloc(size + size / 2, 0x5c);
    for (const [index, byte] of key.entries()) {
      this.#inner[index] = byte ^ 0x36;
      this.#outer[index] = byte ^ 0x5c;
    }
  }

  /** The HMAC of the three, one after the other; text counts as UTF-8. */
  digest(head: string, body: string | Uint8Array | undefined, tail: string): Buffer {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const length = bytes === undefined ? 0 : bytes.length;
    // Node has it from 20.12 on.
    if (typeof hash !== 'function' || length > COPIED) return this.#update(head, bytes, tail);
    const inner = this.#inner;
    const from = inner.length + Buffer.byteLength(head);
    const data = Buffer.allocUnsafe(from + length + Buffer.byteLength(tail));
    data.set(inner, 0);
    data.write(head, inner.length);
    if (bytes !== undefined) data.set(bytes, from);
    data.write(tail, from + length);
    const outer = this.#outer;
    outer.set(hash(this.#algorithm, data, 'buffer'), inner.length);
    return hash(this.#algorithm, outer, 'buffer');
  }

  #update(head: string, bytes: Uint8Array | undefined, tail: string): Buffer {
    const hmac = createHmac(this.#algorithm, this.#secret).update(head);
    if (bytes !== undefined) hmac.update(bytes);
    return hmac.update(tail).digest();
  }
}
