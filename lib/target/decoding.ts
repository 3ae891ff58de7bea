/** A path with nothing left to decode. */
export interface Decoded {
  readonly text: string;
  /** Whether an escape came to light by the decoding of another. */
  readonly isDeep: boolean;
}

/** How many units become text in one piece: a function takes so many arguments everywhere. */
const PIECE = 4096;
const LEAD = /[\xc2-\xf4][\x80-\xf4]/;
/** `%` as a code unit. */
const PERCENT = 37;

/**
 * Percent-decodes until nothing is left to decode, then makes characters of the
 * bytes that stand for some, until no more do, and of `%uXXXX`. Both in one pass, however deep it goes: what was
 * decoded is looked at again with what stands before it, so that neither `%2525…` nor
 * `%C2%C2…%80` costs a pass a level. That finds the same as pass after pass, since no two
 * escapes and no two sequences of bytes can overlap.
 */
export function decode(path: string): Decoded {
  if (!path.includes('%')) return { text: withCharacters(path), isDeep: false };
  const { text, isDeep } = decodeEscapes(path);
  const characters = withCharacters(text);
  // The old `escape` wrote so, and `unescape` and some servers read it.
  const units = characters.replace(/%u([\da-f]{4})/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
  return { text: units, isDeep: isDeep || units !== characters };
}

function withCharacters(text: string): string {
  return LEAD.test(text) ? decodeCharacters(text) : text;
}

// Code units in arrays of numbers: a list of characters takes several times as long, and a client chooses how many there are.

function decodeEscapes(path: string): Decoded {
  const units = new Uint16Array(path.length);
  /** Which of them were decoded. */
  const made = new Uint8Array(path.length);
  let length = 0;
  let isDeep = false;
  for (let at = 0; at < path.length; at++) {
    made[length] = 0;
    units[length++] = path.charCodeAt(at);
    while (length >= 3 && units[length - 3] === PERCENT) {
      const byte = byteOf(units[length - 2] as number, units[length - 1] as number);
      if (byte === -1) break;
      if (made[length - 3] === 1 || made[length - 2] === 1 || made[length - 1] === 1) isDeep = true;
      length -= 2;
      units[length - 1] = byte;
      made[length - 1] = 1;
    }
  }
  return { text: textOf(units, length), isDeep };
}

/** What two hexadecimal digits stand for; -1 where they are none. */
function byteOf(high: number, low: number): number {
  const [sixteens, ones] = [digitOf(high), digitOf(low)];
  return sixteens === -1 || ones === -1 ? -1 : sixteens * 16 + ones;
}

function digitOf(unit: number): number {
  if (unit >= 48 && unit <= 57) return unit - 48;
  const letter = unit | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

/** Of UTF-8 as Latin-1 characters. */
function decodeCharacters(text: string): string {
  const units = new Uint16Array(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    units[length++] = text.charCodeAt(at);
    for (;;) {
      const start = startOfSequence(units, length);
      const code = start === -1 ? -1 : codePointOf(units, start, length);
      if (code === -1) break;
      length = start;
      if (code > 0xffff) units[length++] = 0xd7c0 + (code >> 10);
      units[length++] = code > 0xffff ? 0xdc00 | (code & 0x3ff) : code;
    }
  }
  return textOf(units, length);
}

/** Where the sequence of bytes begins that the units end with; -1 where they end with none. */
function startOfSequence(units: Uint16Array, length: number): number {
  let start = length - 1;
  while (start > 0 && start > length - 4 && isContinuation(units[start] as number)) start--;
  return start < length - 1 && length - start === sequenceLength(units[start] as number) ? start : -1;
}

/** The code point that a sequence of UTF-8 stands for (RFC 3629 section 4); -1 for overlong forms and surrogates, which are no characters, and for U+FFFD, which stands for those. */
function codePointOf(units: Uint16Array, start: number, end: number): number {
  const size = end - start;
  let code = (units[start] as number) & (0xff >> (size + 1));
  for (let at = start + 1; at < end; at++) code = (code << 6) | ((units[at] as number) & 0x3f);
  const isOverlong = code < (size === 2 ? 0x80 : size === 3 ? 0x800 : 0x10000);
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  return isOverlong || isSurrogate || code > 0x10ffff || code === 0xfffd ? -1 : code;
}

function isContinuation(unit: number): boolean {
  return unit >= 0x80 && unit <= 0xbf;
}

/** How many bytes a character has that begins with this one; 0 where none does. */
function sequenceLength(unit: number): number {
  if (unit < 0xc2 || unit > 0xf4) return 0;
  if (unit < 0xe0) return 2;
  return unit < 0xf0 ? 3 : 4;
}

function textOf(units: Uint16Array, length: number): string {
  let text = '';
  for (let at = 0; at < length; at += PIECE) text += String.fromCharCode.apply(null, units.subarray(at, Math.min(at + PIECE, length)) as unknown as number[]);
  return text;
}
