import type { Page } from './page';

/** Strings up to this many UTF-16 units are encoded unit by unit; longer ones gain more from the engine's own loops than a call to it costs. */
export const SHORT = 80;
/** No function here but `encodeLiteral` writes more bytes than this: six for each unit, and two quotes. */
export const SHORT_BYTES = SHORT * 6 + 2;

/** The units that are one byte: in UTF-8, and in Latin-1. */
export const ASCII = 0x80;
export const LATIN1 = 0x100;

// Not exported: a constant of one's own is part of V8's code, one of another module is looked up each time.
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
/** The bytes of "null", "true" and "fals", the first in the lowest place. */
const NULL = 0x6c6c_756e;
const TRUE = 0x6575_7274;
const FALS = 0x736c_6166;
const LOWER_E = 0x65;
const MILLION = 1_000_000;
/** A number below this with six decimals has at most 15 digits. */
const BILLION = 1_000_000_000;
const EIGHT_DIGITS = 100_000_000;
const HEX = '0123456789abcdef';

/** The two digits of each number below 100: the one that is written first in the lower byte. */
const PAIRS = Uint16Array.from({ length: 100 }, (_, pair) => ((ZERO + (pair % 10)) << 8) | (ZERO + Math.floor(pair / 10)));

/** One integer of 64 bits, and its halves. */
const WORD = new BigUint64Array(1);
const HALVES = new Uint32Array(WORD.buffer);
/** The index of the upper half, which is the machine's own. */
const HIGH = new Uint32Array(BigUint64Array.of(1n).buffer)[0] === 1 ? 1 : 0;

/** For each unit of Latin-1: 0 if it may stand in a JSON string as it is. */
const SPECIAL = Uint8Array.from({ length: 0x100 }, (_, unit) => (unit < 0x20 || unit === QUOTE || unit === BACKSLASH ? 1 : 0));

/** The letters of the two-character escapes of ECMA-262's QuoteJSONString, by unit: b, t, n, f and r. */
const LETTERS: Readonly<Record<number, number>> = {
  0x08: 0x62,
  0x09: 0x74,
  0x0a: 0x6e,
  0x0c: 0x66,
  0x0d: 0x72,
  [QUOTE]: QUOTE,
  [BACKSLASH]: BACKSLASH,
};

/** Writes ASCII text as it is. */
export function encodeLiteral(page: Page, text: string): void {
  const { block } = page;
  let { at } = page;
  for (let i = 0; i < text.length; i++) block[at++] = text.charCodeAt(i);
  page.at = at;
}

/** Writes `null`. */
export function encodeNull(page: Page): void {
  const { view, at } = page;
  view.setInt32(at, NULL, true);
  page.at = at + 4;
}

/** Writes `true` or `false`. */
export function encodeBoolean(page: Page, value: boolean): void {
  const { view, at } = page;
  view.setInt32(at, value ? TRUE : FALS, true);
  if (!value) page.block[at + 4] = LOWER_E;
  page.at = value ? at + 4 : at + 5;
}

/** Writes a number as JSON.stringify does. To work its digits out costs less than to make a string of them. */
export function encodeNumber(page: Page, value: number): void {
  if ((value | 0) !== value || value === -0x8000_0000) return encodeUncommon(page, value);
  if (value < 0) {
    page.block[page.at++] = MINUS;
    encodeInteger(page, -value);
  } else encodeInteger(page, value);
}

/** Writes an integer below 2^31 that is not negative, two digits at a time from the last. */
function encodeInteger(page: Page, value: number): void {
  const { block, view, at: start } = page;
  if (value < 10) {
    block[page.at++] = ZERO + value;
    return;
  }
  let at = start + digits(value);
  page.at = at;
  let rest = value;
  while (rest >= 100) {
    const hundredth = (rest / 100) | 0;
    at -= 2;
    view.setUint16(at, PAIRS[rest - hundredth * 100] as number, true);
    rest = hundredth;
  }
  if (rest < 10) block[start] = ZERO + rest;
  else view.setUint16(start, PAIRS[rest] as number, true);
}

/** Writes an integer from 0 to 99,999,999 as eight digits, with zeros in front. */
function encodeEight(page: Page, value: number): void {
  const { view, at } = page;
  const upper = (value / 10_000) | 0;
  view.setInt32(at, four(upper), true);
  view.setInt32(at + 4, four(value - upper * 10_000), true);
  page.at = at + 8;
}

/** The four digits of an integer from 0 to 9999, the one that is written first in the lowest byte. */
function four(value: number): number {
  const upper = (value / 100) | 0;
  return (PAIRS[upper] as number) | ((PAIRS[value - upper * 100] as number) << 16);
}

/** Writes a number that is no integer of 32 bits, or the least of them. Kept apart from the others, the common case, so that V8 inlines that into its caller. */
function encodeUncommon(page: Page, value: number): void {
  // Infinity and NaN, less themselves, are NaN.
  if (value - value !== 0) return encodeNull(page);
  if (Number.isSafeInteger(value)) {
    if (value < 0) page.block[page.at++] = MINUS;
    return encodeLong(page, Math.abs(value));
  }
  // No two decimals of at most 15 digits are read as the same double. One that is read as this value is the shortest such,
  // and so what it is written as.
  const millionths = Math.round(value * MILLION);
  if (millionths / MILLION === value && value < BILLION && value > -BILLION) encodeDecimal(page, millionths);
  else encodeLiteral(page, `${value}`);
}

/** Writes an integer that is not negative, below 2^53. */
function encodeLong(page: Page, value: number): void {
  const upper = Math.floor(value / EIGHT_DIGITS) | 0;
  const lower = (value - upper * EIGHT_DIGITS) | 0;
  if (upper === 0) return encodeInteger(page, lower);
  encodeInteger(page, upper);
  encodeEight(page, lower);
}

/** Writes so many millionths; they must not be a whole number. */
function encodeDecimal(page: Page, millionths: number): void {
  const { block } = page;
  if (millionths < 0) block[page.at++] = MINUS;
  const all = Math.abs(millionths);
  const whole = Math.floor(all / MILLION) | 0;
  encodeInteger(page, whole);
  block[page.at++] = POINT;
  // Eight digits are written, and the zeros at their end are written over.
  let zeros = 2;
  let rest = (all - whole * MILLION) | 0;
  encodeEight(page, rest * 100);
  while (rest % 10 === 0) {
    rest = (rest / 10) | 0;
    zeros++;
  }
  page.at -= zeros;
}

/** Writes an integer of at most 64 bits and its sign; answers false for a longer one, and has written nothing. */
export function encodeBigInt(page: Page, value: bigint): boolean {
  if (BigInt.asUintN(64, value) === value) {
    encodeWord(page, value);
    return true;
  }
  const opposite = -value;
  if (BigInt.asUintN(64, opposite) !== opposite) return false;
  page.block[page.at++] = MINUS;
  encodeWord(page, opposite);
  return true;
}

/** Writes 64 bits. From 2^53 on, where a double no longer holds every integer, they are put together from their halves as millions and a rest: nothing exceeds 2^53 on that way. */
function encodeWord(page: Page, value: bigint): void {
  WORD[0] = value;
  const high = HALVES[HIGH] as number;
  const low = HALVES[1 - HIGH] as number;
  if (high < 0x20_0000) return encodeLong(page, high * 0x1_0000_0000 + low);
  // 2^32 is 4294 millions and 967,296.
  const ones = high * 967_296 + low;
  const carry = Math.floor(ones / MILLION);
  encodeLong(page, high * 4294 + carry);
  // Six digits: eight are written, and the two zeros at their end are written over.
  encodeEight(page, ((ones - carry * MILLION) | 0) * 100);
  page.at -= 2;
}

/** How many digits an integer has that is at least 10 and below 2^31. */
function digits(value: number): number {
  if (value < 100_000) return value < 100 ? 2 : value < 1000 ? 3 : value < 10_000 ? 4 : 5;
  if (value < 10_000_000) return value < 1_000_000 ? 6 : 7;
  return value < 100_000_000 ? 8 : value < 1_000_000_000 ? 9 : 10;
}

/** Writes a string of at most {@link SHORT} units, with its quotes. */
export function encodeString(page: Page, text: string): void {
  const { block, view, plain } = page;
  const { length } = text;
  let { at } = page;
  let i = 0;
  block[at++] = QUOTE;
  // Four units at a time: V8 looks up the string's representation for each, and the loads overlap.
  for (; i + 4 <= length; i += 4) {
    const a = text.charCodeAt(i);
    const b = text.charCodeAt(i + 1);
    const c = text.charCodeAt(i + 2);
    const d = text.charCodeAt(i + 3);
    if ((a | b | c | d) >= plain) break;
    const four = a | (b << 8) | (c << 16) | (d << 24);
    // The top bit of a byte is set where the unit is a control, a quote or a backslash, or beyond ASCII.
    const special = (four - 0x2020_2020) | ((four ^ 0x2222_2222) - 0x0101_0101) | ((four ^ 0x5c5c_5c5c) - 0x0101_0101);
    if ((special & ~four & 0x8080_8080) !== 0) break;
    view.setInt32(at, four, true);
    at += 4;
  }
  for (; i < length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= plain || SPECIAL[unit] !== 0) {
      page.at = at;
      encodeRest(page, text, i);
      page.block[page.at++] = QUOTE;
      return;
    }
    block[at++] = unit;
  }
  block[at++] = QUOTE;
  page.at = at;
}

/** Writes what follows the first unit that is not written as it is. */
function encodeRest(page: Page, text: string, from: number): void {
  const { block } = page;
  let { at } = page;
  for (let i = from; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < page.plain) {
      if (SPECIAL[unit] === 0) block[at++] = unit;
      else at = encodeEscape(block, at, unit);
    } else if (isSurrogate(unit) && !isPair(text, i)) {
      at = encodeEscape(block, at, unit);
    } else {
      if (page.plain === LATIN1) {
        page.at = at;
        page.widen();
        at = page.at;
      }
      at = encodePoint(block, at, text.codePointAt(i) as number);
      if (isSurrogate(unit)) i++;
    }
  }
  page.at = at;
}

/** Writes a character beyond ASCII as UTF-8 (RFC 3629 section 3). */
function encodePoint(block: Buffer, start: number, point: number): number {
  let at = start;
  if (point < 0x800) {
    block[at++] = 0xc0 | (point >> 6);
  } else {
    if (point < 0x1_0000) {
      block[at++] = 0xe0 | (point >> 12);
    } else {
      block[at++] = 0xf0 | (point >> 18);
      block[at++] = 0x80 | ((point >> 12) & 0x3f);
    }
    block[at++] = 0x80 | ((point >> 6) & 0x3f);
  }
  block[at++] = 0x80 | (point & 0x3f);
  return at;
}

function encodeEscape(block: Buffer, start: number, unit: number): number {
  const letter = LETTERS[unit];
  let at = start;
  block[at++] = BACKSLASH;
  if (letter !== undefined) {
    block[at++] = letter;
    return at;
  }
  block[at++] = 0x75;
  for (let shift = 12; shift >= 0; shift -= 4) block[at++] = HEX.charCodeAt((unit >> shift) & 0xf);
  return at;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

/** Whether the unit there and the next are a surrogate pair. */
function isPair(text: string, at: number): boolean {
  return isHighSurrogate(text.charCodeAt(at)) && isLowSurrogate(text.charCodeAt(at + 1));
}

/** Whether the unit is the first half of a surrogate pair. */
export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** Whether the unit is the second half of a surrogate pair. */
export function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
