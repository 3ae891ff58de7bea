import { escaped, newBlock, Page, SIZE, SLACK, viewOf } from './page';

const EMPTY: Buffer = Buffer.alloc(0);

/** Bytes in blocks of one size, UTF-8, as they are written and as they are sent. */
export class Blocks extends Page {
  readonly #kept: boolean;
  #full: Buffer[] = [];
  /** Index and offset of the first byte that `take` has not given away. */
  #head = 0;
  #headAt = 0;
  #fullBytes = 0;

  /** @param kept Whether the bytes are wanted; if not, they are only counted. */
  constructor(kept: boolean) {
    super();
    this.#kept = kept;
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#fullBytes + this.at;
  }

  turn(): void {
    const old = this.block;
    const over = this.at - SIZE;
    if (this.#kept) {
      this.#full.push(old.subarray(0, SIZE));
      this.block = newBlock();
      this.view = viewOf(this.block);
    }
    if (over > 0) old.copy(this.block, 0, SIZE, this.at);
    this.#fullBytes += SIZE;
    this.at = over;
    this.turns++;
  }

  widen(): void {
    throw new Error('these bytes are UTF-8 already');
  }

  literal(text: string): void {
    this.#bytes(Buffer.from(text, 'latin1'));
  }

  text(part: string): void {
    const text = escaped(part);
    if (this.at + text.length * 3 > SIZE + SLACK) return this.#bytes(Buffer.from(text));
    this.at += this.block.write(text, this.at);
    if (this.at >= SIZE) this.turn();
  }

  override clear(): void {
    super.clear();
    this.#full = [];
    this.#head = 0;
    this.#headAt = 0;
    this.#fullBytes = 0;
  }

  /** Says that the bytes are no longer needed. Nothing may be written after. */
  release(): void {
    // Bytes that were given away belong to whoever got them, and may still be on their way.
    const isWhole = this.#head === 0 && this.#headAt === 0 && this.block !== EMPTY;
    if (isWhole) this.spare();
    this.clear();
    this.block = EMPTY;
  }

  /** All bytes as a string with a unit for each, if they are all in one block; it is no longer needed then. */
  binary(): string | null {
    if (this.#full.length > 0) return null;
    const text = this.block.toString('latin1', 0, this.at);
    this.release();
    return text;
  }

  /** All bytes in one buffer; the blocks are no longer needed. */
  whole(): Buffer {
    if (this.#full.length > 0) return this.take(this.length);
    const bytes = Buffer.from(this.block.subarray(0, this.at));
    this.release();
    return bytes;
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
