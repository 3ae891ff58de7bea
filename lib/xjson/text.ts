import { isAscii, transcode } from 'node:buffer';

import { ASCII, LATIN1 } from './encode';
import { escaped, Page, SIZE } from './page';

/** What may not stand in a JSON string as it is, and what Latin-1 does not have. */
const UNPLAIN = /["\\\x00-\x1f\u0100-\uffff]/;

/**
 * JSON as text. One block serves again and again: when it is full, or must
 * change from Latin-1 to UTF-8, its text is put by. Latin-1 is what V8 makes
 * strings of by a mere copy, and what most JSON is.
 */
export class Text extends Page {
  #text = '';

  constructor() {
    super();
    this.plain = LATIN1;
  }

  turn(): void {
    this.#put();
  }

  widen(): void {
    this.#put();
    this.plain = ASCII;
  }

  literal(text: string): void {
    this.#put();
    this.#text += text;
  }

  text(part: string): void {
    if (UNPLAIN.test(part) || part.length > SIZE) return this.literal(escaped(part));
    if (this.plain !== LATIN1 || this.at + part.length > SIZE) this.#put();
    this.at += this.block.write(part, this.at, 'latin1');
  }

  override clear(): void {
    super.clear();
    this.#text = '';
    this.plain = LATIN1;
  }

  /**
   * All of it. Nothing may be written after.
   * @throws RangeError for text longer than V8's longest string.
   */
  take(): string {
    this.#put();
    return this.#text;
  }

  /** Says that it is no longer needed. Nothing may be written after. */
  release(): void {
    this.clear();
    this.spare();
  }

  #put(): void {
    if (this.at > 0) this.#text += this.plain === LATIN1 ? this.block.toString('latin1', 0, this.at) : decoded(this.block.subarray(0, this.at));
    this.at = 0;
    this.turns++;
    this.plain = LATIN1;
  }
}

/** Node decodes UTF-8 unit by unit; by way of UTF-16 it is several times as fast. */
function decoded(bytes: Buffer): string {
  return isAscii(bytes) ? bytes.toString('latin1') : transcode(bytes, 'utf8', 'utf16le').toString('utf16le');
}
