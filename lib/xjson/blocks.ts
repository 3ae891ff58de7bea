import { isAscii, transcode } from 'node:buffer';

import { SHORT_BYTES } from './encode';

/** Bytes of a block. */
const SIZE = 65_536;
/** Room behind a block's end for what is written before the next look: a name, a value and the signs between. */
const SLACK = 2 * SHORT_BYTES + 60;

/** Text of more bytes is not decoded by way of UTF-16, which needs three times the memory meanwhile. */
const LONGEST_TRANSCODED = 16_777_216;

/** What may not stand in a JSON string as it is; surrogates, because a lone one is escaped. */
 
const ESCAPED = /["\\\x00-\x1f\ud800-\udfff]/;

/**
 * Bytes in blocks of one size, as they are written and as they are sent. Text
 * goes straight into the current block: strings that wait to be joined are what
 * makes a serializer in JavaScript slow, since V8's collector copies them.
 *
 * `block`, `at` and `limit` are open to the serializer's inner loops, which
 * write at `block[at]`, and call `turn()` once `at` has reached `limit`; what
 * landed in the slack behind the limit moves to the next block.
 */
export class Blocks {
  block: Buffer;
  at = 0;
  readonly limit = SIZE;
  readonly #kept: boolean;
  #full: Buffer[] = [];
  /** Index and offset of the first byte that `take` has not given away. */
  #head = 0;
  #headAt = 0;
  #fullBytes = 0;

  /**
   * The block of the last body that fitted into one. A new one for each small
   * body would be more work for V8's collector than the body itself.
   */
  static #spare: Buffer | null = null;

  /** @param kept Whether the bytes are wanted; if not, they are only counted. */
  constructor(kept: boolean) {
    this.#kept = kept;
    this.block = Blocks.#spare ?? newBlock();
    Blocks.#spare = null;
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#fullBytes + this.at;
  }

  /** Begins the next block. */
  turn(): void {
    const old = this.block;
    const over = this.at - SIZE;
    if (this.#kept) {
      this.#full.push(old.subarray(0, SIZE));
      this.block = newBlock();
    }
    if (over > 0) old.copy(this.block, 0, SIZE, this.at);
    this.#fullBytes += SIZE;
    this.at = over;
  }

  /** Writes ASCII text of any length as it is. */
  literal(text: string): void {
    this.#bytes(Buffer.from(text, 'latin1'));
  }

  /** Writes the inside of a JSON string, or a part of it that splits no surrogate pair. */
  text(part: string): void {
    const inside = ESCAPED.test(part) ? JSON.stringify(part).slice(1, -1) : part;
    if (this.at + inside.length * 3 > SIZE + SLACK) return this.#bytes(Buffer.from(inside));
    this.at += this.block.write(inside, this.at);
    if (this.at >= SIZE) this.turn();
  }

  /** Forgets everything; the block serves the next body. */
  clear(): void {
    this.#full = [];
    this.#head = 0;
    this.#headAt = 0;
    this.#fullBytes = 0;
    this.at = 0;
  }

  /** Says that the bytes are no longer needed. Nothing may be written after. */
  release(): void {
    // Bytes that were given away may still be on their way to a socket.
    const isWhole = this.#head === 0 && this.#headAt === 0 && this.block !== EMPTY;
    if (isWhole) Blocks.#spare = this.block;
    this.clear();
    this.block = EMPTY;
  }

  /** All bytes in one buffer; the blocks are no longer needed. */
  whole(): Buffer {
    if (this.#full.length > 0) return this.take(this.length);
    const bytes = Buffer.from(this.block.subarray(0, this.at));
    this.release();
    return bytes;
  }

  /** All bytes as text. */
  toString(): string {
    const last = this.block.subarray(0, this.at);
    const bytes = this.#full.length === 0 ? last : Buffer.concat([...this.#full, last]);
    // Node decodes UTF-8 unit by unit; both ways around that are several times as fast.
    if (isAscii(bytes)) return bytes.toString('latin1');
    return bytes.length > LONGEST_TRANSCODED ? bytes.toString() : transcode(bytes, 'utf8', 'utf16le').toString('utf16le');
  }

  /**
   * Gives away the next `size` bytes, or what is left, and keeps none of them.
   * Only once all is written.
   */
  take(size: number): Buffer {
    const first = this.#rest();
    if (first.length > size) {
      this.#headAt += size;
      return first.subarray(0, size);
    }
    this.#next();
    if (first.length === size || this.#head > this.#full.length) return first;
    const parts = [first];
    for (let missing = size - first.length; missing > 0 && this.#head <= this.#full.length; ) {
      const part = this.#rest();
      if (part.length > missing) this.#headAt += missing;
      else this.#next();
      parts.push(part.length > missing ? part.subarray(0, missing) : part);
      missing -= part.length;
    }
    return Buffer.concat(parts);
  }

  #rest(): Buffer {
    if (this.#head < this.#full.length) return (this.#full[this.#head] as Buffer).subarray(this.#headAt);
    return this.block.subarray(this.#headAt, this.at);
  }

  #next(): void {
    if (this.#head < this.#full.length) this.#full[this.#head] = EMPTY;
    else this.block = EMPTY;
    this.#head++;
    this.#headAt = 0;
  }

  #bytes(bytes: Buffer): void {
    if (this.at >= SIZE) this.turn();
    for (let from = 0; from < bytes.length; ) {
      const copied = bytes.copy(this.block, this.at, from, from + SIZE - this.at);
      from += copied;
      this.at += copied;
      if (this.at >= SIZE) this.turn();
    }
  }
}

const EMPTY = Buffer.alloc(0);

function newBlock(): Buffer {
  return Buffer.allocUnsafeSlow(SIZE + SLACK);
}
