/** Bytes of a row as it stands in JSON: two quotes, its text and a comma. */
const ROW = 64;
const ROWS = 1024;
const DIGITS = '0123456789';
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

/** How a body is made: by `res.json`, `res.xJson`, `res.send` or `res.sendFile`. */
export type Kind = 'json' | 'xJson' | 'send' | 'sendFile';

export const KINDS: readonly Kind[] = ['json', 'xJson', 'send', 'sendFile'];

/** Seeds of files, few, since each file stands on the disk. */
export const FILE_SEEDS = 4;

/** Lengths of bodies, in bytes: some of each power of ten, and those beside the sizes at which a body is sent in another way. */
export const SIZES: readonly number[] = [10, 100, 1_000, 10_000, 65_536, 65_537, 100_000, 1_000_000, 10_000_000];

/** Texts that are told apart by any few bytes; every eighth is a number, which xJson is given as a BigInt. */
const texts = Array.from({ length: ROWS }, (_, row) => {
  const alphabet = row % 8 === 0 ? DIGITS : LETTERS;
  let state = row + 1;
  const text = Array.from({ length: ROW - 3 }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return alphabet[(state >>> 16) % alphabet.length];
  }).join('');
  return row % 8 === 0 ? `1${text.slice(1)}` : text;
});
const numbers: readonly (string | bigint)[] = texts.map((text, row) => (row % 8 === 0 ? BigInt(text) : text));
const period = Buffer.from(texts.map((text) => JSON.stringify(text)).join(',') + ',');
const twice = Buffer.concat([period, period]);

/** A body that both ends know without having been told: by its length, and by a seed that no other request on its way has. */
export class Body {
  readonly kind: Kind;
  readonly size: number;
  readonly #first: number;
  readonly #rows: number;

  constructor(kind: Kind, size: number, seed: number) {
    this.kind = kind;
    this.#first = seed % ROWS;
    this.#rows = kind === 'json' || kind === 'xJson' ? Math.floor((size - 1) / ROW) : 0;
    this.size = this.#rows === 0 ? size : this.#rows * ROW + 1;
  }

  /** What `res.json` and `res.xJson` are given. */
  get data(): unknown {
    if (this.#rows === 0) return this.#text;
    const rows = this.kind === 'xJson' ? numbers : texts;
    return Array.from({ length: this.#rows }, (_, row) => rows[(this.#first + row) % ROWS]);
  }

  /** What `res.send` is given, and what stands in a file. */
  get bytes(): Buffer {
    return Buffer.alloc(this.size, twice.subarray(this.#start, this.#start + period.length));
  }

  /** Whether these are its bytes from there on. */
  holds(chunk: Buffer, offset: number): boolean {
    if (offset + chunk.length > this.size) return false;
    if (this.kind === 'json' || this.kind === 'xJson') return this.#rows === 0 ? chunk.equals(Buffer.from(JSON.stringify(this.#text)).subarray(offset, offset + chunk.length)) : this.#isJson(chunk, offset);
    return this.#isPeriodic(chunk, offset);
  }

  get #text(): string {
    return (texts[this.#first] as string).slice(0, this.size - 2);
  }

  get #start(): number {
    return this.#first * ROW;
  }

  #isJson(chunk: Buffer, offset: number): boolean {
    const from = offset === 0 ? 1 : 0;
    const to = offset + chunk.length === this.size ? chunk.length - 1 : chunk.length;
    if (from === 1 && chunk[0] !== 0x5b) return false;
    if (to < chunk.length && chunk[to] !== 0x5d) return false;
    return to <= from || this.#isPeriodic(chunk.subarray(from, to), offset + from - 1);
  }

  #isPeriodic(chunk: Buffer, offset: number): boolean {
    for (let done = 0; done < chunk.length;) {
      const at = (this.#start + offset + done) % period.length;
      const part = Math.min(period.length, chunk.length - done);
      if (twice.compare(chunk, done, done + part, at, at + part) !== 0) return false;
      done += part;
    }
    return true;
  }
}
