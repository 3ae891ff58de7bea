import { ASCII, SHORT_BYTES } from './encode';

/** Bytes of a block. */
export const SIZE = 65_536;
/** Room behind a block's end for what is written before the next look: a name, a value and the signs between. */
export const SLACK = 2 * SHORT_BYTES + 60;

/**
 * The block that a serializer writes into. Units go straight into its bytes:
 * strings that wait to be joined are what makes a serializer in JavaScript
 * slow, since V8's collector copies them.
 *
 * `block`, `view`, `at` and `limit` are open to the inner loops, which write at
 * `block[at]`, and call `turn()` once `at` has reached `limit`; what landed in
 * the slack behind the limit is kept.
 */
export abstract class Page {
  block: Buffer;
  /** The same bytes. */
  view: DataView;
  at = 0;
  /** How often what is in the block has been moved or put by. */
  turns = 0;
  readonly limit = SIZE;
  /** Units below this are one byte: `LATIN1`, or `ASCII` where the bytes are UTF-8. */
  plain = ASCII;

  /**
   * The block of the last body that fitted into one. A new one for each small
   * body would be more work for V8's collector than the body itself.
   */
  static #spare: Buffer | null = null;
  static #spareView: DataView | null = null;

  constructor() {
    this.block = Page.#spare ?? newBlock();
    this.view = Page.#spareView ?? viewOf(this.block);
    Page.#spare = null;
    Page.#spareView = null;
  }

  /** Begins the next block. */
  abstract turn(): void;

  /** Makes room for units beyond Latin-1: from here on the bytes are UTF-8. Only while they are not. */
  abstract widen(): void;

  /** Writes ASCII text of any length as it is. */
  abstract literal(text: string): void;

  /** Writes the inside of a JSON string, or a part of it that splits no surrogate pair. Turns by itself. */
  abstract text(part: string): void;

  /** Forgets everything; the block serves the next body. */
  clear(): void {
    this.at = 0;
    this.turns++;
  }

  /** Leaves the block for others: nothing reads it any more. */
  protected spare(): void {
    Page.#spare = this.block;
    Page.#spareView = this.view;
  }
}

export function newBlock(): Buffer {
  return Buffer.allocUnsafeSlow(SIZE + SLACK);
}

export function viewOf(block: Buffer): DataView {
  return new DataView(block.buffer, block.byteOffset, block.length);
}

/** What may not stand in a JSON string as it is; surrogates, because a lone one is escaped. */
const ESCAPED = /["\\\x00-\x1f\ud800-\udfff]/;

/** The text as it stands in a JSON string. */
export function escaped(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text).slice(1, -1) : text;
}
