import { DataWalk } from './data-walk';
import { LargeData, type Sink } from './large-data';
import { checkXJsonOptions, type XJsonOptions } from './options';
import { Rules } from './rules';
import { wholeText } from './text';

/** Values of one piece of work: some 50 KB of text, in a fraction of a millisecond. */
const PIECE = 4096;

/**
 * Makes JSON of data: the text of JSON.stringify, byte for byte, with a BigInt
 * as a string of its digits, a cycle as `"[Circular]"`, and the limits of the
 * options (INTERFACE sections 2.3 and 4.3). Data that one walk sees whole
 * becomes one string; larger data goes to a sink, a piece at a time.
 */
export class Serializer {
  /** The text of data that became one string. */
  text: string | null = null;
  readonly #data: unknown;
  readonly #rules: Rules;
  readonly #sink: Sink;
  readonly #piece: number;
  #large: LargeData | null = null;

  /**
   * @param sink Receives the text of larger data.
   * @param piece Values of one piece of work, and of data that becomes one string. @default 4096
   */
  constructor(data: unknown, options: XJsonOptions, sink: Sink, piece = PIECE) {
    this.#data = data;
    this.#rules = Rules.of(options);
    this.#sink = sink;
    this.#piece = piece;
  }

  /**
   * Goes on until all is written, or until a time of `performance.now()`, in ms. Returns true when all is written.
   * @throws As {@link stringify} does for data.
   */
  run(until: number): boolean {
    if (this.#large === null) {
      const text = wholeText(this.#data, this.#rules, this.#piece);
      if (!(text instanceof DataWalk)) {
        this.text = text ?? 'null';
        return true;
      }
      this.#large = new LargeData(this.#data, this.#rules, this.#sink, this.#piece);
      this.#large.markLarge(text, this.#data);
    }
    return this.#large.run(until);
  }
}

/**
 * The JSON text of data as a {@link Serializer} makes it, in one go; `null` for
 * a value without a JSON form, such as `undefined`.
 * @throws TypeError for a wrong option; RangeError for text longer than V8's
 * longest string; and what a getter, a `toJSON` or a proxy of the data throws.
 */
export function stringify(data: unknown, options?: XJsonOptions): string {
  const text = wholeText(data, Rules.of(options === undefined ? {} : checkXJsonOptions(options)), Infinity);
  if (!(text instanceof DataWalk)) return text ?? 'null';
  const parts: string[] = [];
  const serializer = new Serializer(data, options ?? {}, { add: (part) => parts.push(part), clear: () => parts.splice(0) });
  serializer.run(Infinity);
  // A getter may have returned less this time.
  return serializer.text ?? parts.join('');
}
