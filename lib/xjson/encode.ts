/** Strings up to this many UTF-16 units are encoded unit by unit; longer ones gain more from the engine's own loops than a call to it costs. */
export const SHORT = 80;
/** No function here but `encodeLiteral` writes more bytes than this: six for each unit, and two quotes. */
export const SHORT_BYTES = SHORT * 6 + 2;

export const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;
const HEX = '0123456789abcdef';

/** For each ASCII unit: 0 if it may stand in a JSON string as it is. */
const SPECIAL = Uint8Array.from({ length: 0x80 }, (_, unit) => (unit < 0x20 || unit === QUOTE || unit === BACKSLASH ? 1 : 0));

/** The letters of the two-character escapes of ECMA-262's QuoteJSONString, by unit. */
const LETTERS: Readonly<Record<number, string>> = {
  0x08: 'b',
  0x09: 't',
  0x0a: 'n',
  0x0c: 'f',
  0x0d: 'r',
  [QUOTE]: '"',
  [BACKSLASH]: '\\',
};

/** Writes ASCII text as it is. This and the functions below answer where the next byte goes. */
export function encodeLiteral(block: Buffer, start: number, text: string): number {
  let at = start;
  for (let i = 0; i < text.length; i++) block[at++] = text.charCodeAt(i);
  return at;
}

/** Writes a number as JSON.stringify does. */
export function encodeNumber(block: Buffer, start: number, value: number): number {
  if ((value | 0) !== value || value === -0x8000_0000) {
    // Infinity and NaN, less themselves, are NaN.
    return encodeLiteral(block, start, value - value === 0 ? `${value}` : 'null');
  }
  // The digits of a small integer cost less than the string that would hold them.
  let at = start;
  let rest = value;
  if (rest < 0) {
    block[at++] = MINUS;
    rest = -rest;
  }
  at += digits(rest);
  let digit = at;
  do {
    const tenth = (rest / 10) | 0;
    block[--digit] = ZERO + rest - tenth * 10;
    rest = tenth;
  } while (rest > 0);
  return at;
}

function digits(value: number): number {
  if (value < 100_000) return value < 100 ? (value < 10 ? 1 : 2) : value < 1000 ? 3 : value < 10_000 ? 4 : 5;
  if (value < 10_000_000) return value < 1_000_000 ? 6 : 7;
  return value < 100_000_000 ? 8 : value < 1_000_000_000 ? 9 : 10;
}

/** Writes a string of at most {@link SHORT} units, with its quotes. */
export function encodeString(block: Buffer, start: number, text: string): number {
  const { length } = text;
  let at = start;
  let i = 0;
  block[at++] = QUOTE;
  // Four units at a time: V8 looks up the string's representation for each, and the loads overlap.
  for (; i + 4 <= length; i += 4) {
    const a = text.charCodeAt(i);
    const b = text.charCodeAt(i + 1);
    const c = text.charCodeAt(i + 2);
    const d = text.charCodeAt(i + 3);
    if ((a | b | c | d) >= 0x80 || SPECIAL[a] !== 0 || SPECIAL[b] !== 0 || SPECIAL[c] !== 0 || SPECIAL[d] !== 0) break;
    block[at] = a;
    block[at + 1] = b;
    block[at + 2] = c;
    block[at + 3] = d;
    at += 4;
  }
  for (; i < length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80 || SPECIAL[unit] !== 0) {
      at = encodeRest(block, at, text, i);
      break;
    }
    block[at++] = unit;
  }
  block[at++] = QUOTE;
  return at;
}

/** Writes what follows the first unit that is not plain ASCII. */
function encodeRest(block: Buffer, start: number, text: string, from: number): number {
  let at = start;
  for (let i = from; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) {
      if (SPECIAL[unit] === 0) block[at++] = unit;
      else at = encodeEscape(block, at, unit);
    } else if (unit < 0x800) {
      block[at++] = 0xc0 | (unit >> 6);
      block[at++] = 0x80 | (unit & 0x3f);
    } else if (unit < 0xd800 || unit > 0xdfff) {
      block[at++] = 0xe0 | (unit >> 12);
      block[at++] = 0x80 | ((unit >> 6) & 0x3f);
      block[at++] = 0x80 | (unit & 0x3f);
    } else if (isHighSurrogate(unit) && i + 1 < text.length && isLowSurrogate(text.charCodeAt(i + 1))) {
      const point = 0x10000 + ((unit - 0xd800) << 10) + (text.charCodeAt(++i) - 0xdc00);
      block[at++] = 0xf0 | (point >> 18);
      block[at++] = 0x80 | ((point >> 12) & 0x3f);
      block[at++] = 0x80 | ((point >> 6) & 0x3f);
      block[at++] = 0x80 | (point & 0x3f);
    } else {
      at = encodeEscape(block, at, unit);
    }
  }
  return at;
}

function encodeEscape(block: Buffer, start: number, unit: number): number {
  const letter = LETTERS[unit];
  let at = start;
  block[at++] = BACKSLASH;
  if (letter !== undefined) return encodeLiteral(block, at, letter);
  block[at++] = 0x75;
  for (let shift = 12; shift >= 0; shift -= 4) block[at++] = HEX.charCodeAt((unit >> shift) & 0xf);
  return at;
}

/** Whether the unit is the first half of a surrogate pair. */
export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** Whether the unit is the second half of a surrogate pair. */
export function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
