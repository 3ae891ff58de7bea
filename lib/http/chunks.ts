import type { Sink } from '../xjson/large-data';

/** Bytes of a chunk. */
const SIZE = 65_536;
/** Units from which a string is not joined to others first: V8 would copy it once more. */
const LONG = 1024;

const encoder = new TextEncoder();

/** Strings as UTF-8, in chunks as they come and as they are sent. */
export class Chunks implements Sink {
  readonly #isKept: boolean;
  /** The last one is not full. */
  #chunks: Buffer[] = [];
  #at = SIZE;
  #length = 0;
  /** Short strings that wait to be written together. */
  #waiting = '';
  /** Index of the first chunk not given away, and the bytes given away of it. */
  #head = 0;
  #headAt = 0;

  /** @param isKept Whether the bytes are wanted; if not, they are only counted. */
  constructor(isKept: boolean) {
    this.#isKept = isKept;
  }

  /** Bytes of all that was added. */
  get length(): number {
    this.#flush();
    return this.#length;
  }

  add(text: string): void {
    if (text.length < LONG) {
      this.#waiting += text;
      if (this.#waiting.length >= LONG) this.#flush();
      return;
    }
    this.#flush();
    this.#write(text);
  }

  clear(): void {
    this.#chunks = [];
    this.#at = SIZE;
    this.#length = 0;
    this.#waiting = '';
  }

  /** Gives away the next `size` bytes, or what is left, and keeps none of them. Only once all is there. */
  take(size: number): Buffer {
    this.#flush();
    const parts: Buffer[] = [];
    for (let missing = size; missing > 0 && this.#head < this.#chunks.length; ) {
      const isLast = this.#head === this.#chunks.length - 1;
      const rest = (this.#chunks[this.#head] as Buffer).subarray(this.#headAt, isLast ? this.#at : undefined);
      const part = rest.subarray(0, missing);
      parts.push(part);
      missing -= part.length;
      this.#headAt += part.length;
      if (part.length < rest.length) break;
      this.#chunks[this.#head++] = NONE;
      this.#headAt = 0;
    }
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  }

  #flush(): void {
    if (this.#waiting === '') return;
    const text = this.#waiting;
    this.#waiting = '';
    this.#write(text);
  }

  /** The chunk that has room. Each but the last is full, so that what is sent as it is need not be copied. */
  #open(): Buffer {
    if (this.#at === SIZE) {
      this.#chunks.push(Buffer.allocUnsafeSlow(SIZE));
      this.#at = 0;
    }
    return this.#chunks[this.#chunks.length - 1] as Buffer;
  }

  #write(text: string): void {
    if (!this.#isKept) {
      this.#length += Buffer.byteLength(text);
      return;
    }
    for (let from = 0; from < text.length; ) {
      const { read, written } = encoder.encodeInto(from === 0 ? text : text.slice(from), this.#open().subarray(this.#at));
      from += read;
      this.#at += written;
      this.#length += written;
      if (read === 0) from += this.#split(String.fromCodePoint(text.codePointAt(from) as number));
    }
  }

  /** Writes a character for which the chunk has too little room across its end; returns its units. */
  #split(character: string): number {
    for (const byte of Buffer.from(character)) {
      this.#open()[this.#at++] = byte;
      this.#length++;
    }
    return character.length;
  }
}

const NONE: Buffer = Buffer.alloc(0);
