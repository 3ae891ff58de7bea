/** A path with nothing left to decode. */
export interface Decoded {
  readonly text: string;
  /** True when decoding one escape produced another. */
  readonly isDeep: boolean;
}

/** Units that become text in one call: engines take that many arguments. */
const MAX_ARGUMENTS = 4096;
const LEAD_BYTE = /[\xc2-\xf4][\x80-\xf4]/;
/** `%` as a code unit. */
const PERCENT = 37;

/**
 * Percent-decodes until nothing is left to decode. Then it decodes sequences of UTF-8 until none is
 * left, and `%uXXXX`. Each takes one pass, however deep: a decoded unit is examined again with the
 * units before it, so that neither `%2525…` nor `%C2%C2…%80` costs a pass a level. The result is that
 * of repeated passes, since neither escapes nor sequences can overlap.
 */
export function decode(path: string): Decoded {
  if (!path.includes('%')) return { text: decodeUtf8(path), isDeep: false };
  const { text, isDeep } = decodeEscapes(path);
  const characters = decodeUtf8(text);
  // `escape` writes this form; `unescape` and some servers read it.
  const units = characters.replace(/%u([\da-f]{4})/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
  return { text: units, isDeep: isDeep || units !== characters };
}

function decodeUtf8(text: string): string {
  return LEAD_BYTE.test(text) ? decodeSequences(text) : text;
}

// Code units are in typed arrays: a list of characters takes several times as long.

function decodeEscapes(path: string): Decoded {
  const units = new Uint16Array(path.length);
  /** One for each unit that was decoded. */
  const decodedFlags = new Uint8Array(path.length);
  let length = 0;
  let isDeep = false;
  for (let at = 0; at < path.length; at++) {
    decodedFlags[length] = 0;
    units[length++] = path.charCodeAt(at);
    while (length >= 3 && units[length - 3] === PERCENT) {
      const byte = hexByte(units[length - 2] as number, units[length - 1] as number);
      if (byte === -1) break;
      if (decodedFlags[length - 3] === 1 || decodedFlags[length - 2] === 1 || decodedFlags[length - 1] === 1) isDeep = true;
      length -= 2;
      units[length - 1] = byte;
      decodedFlags[length - 1] = 1;
    }
  }
  return { text: textOf(units, length), isDeep };
}

/** Value of two hexadecimal digits; -1 where they are none. */
function hexByte(high: number, low: number): number {
  const [sixteens, ones] = [hexDigit(high), hexDigit(low)];
  return sixteens === -1 || ones === -1 ? -1 : sixteens * 16 + ones;
}

function hexDigit(unit: number): number {
  if (unit >= 48 && unit <= 57) return unit - 48;
  const letter = unit | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

/** Decodes UTF-8 whose bytes are Latin-1 characters. */
function decodeSequences(text: string): string {
  const units = new Uint16Array(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    units[length++] = text.charCodeAt(at);
    for (;;) {
      const start = sequenceStart(units, length);
      const code = start === -1 ? -1 : decodeSequence(units, start, length);
      if (code === -1) break;
      length = start;
      if (code > 0xffff) units[length++] = 0xd7c0 + (code >> 10);
      units[length++] = code > 0xffff ? 0xdc00 | (code & 0x3ff) : code;
    }
  }
  return textOf(units, length);
}

/** Start of the UTF-8 sequence that the units end with; -1 for none. */
function sequenceStart(units: Uint16Array, length: number): number {
  let start = length - 1;
  while (start > 0 && start > length - 4 && isContinuation(units[start] as number)) start--;
  return start < length - 1 && length - start === sequenceLength(units[start] as number) ? start : -1;
}

/** Code point of a sequence of UTF-8 (RFC 3629 section 4); -1 for overlong forms, surrogates and their replacement U+FFFD. */
function decodeSequence(units: Uint16Array, start: number, end: number): number {
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

/** Length of the UTF-8 sequence that a byte begins; 0 for none. */
function sequenceLength(unit: number): number {
  if (unit < 0xc2 || unit > 0xf4) return 0;
  if (unit < 0xe0) return 2;
  return unit < 0xf0 ? 3 : 4;
}

function textOf(units: Uint16Array, length: number): string {
  let text = '';
  for (let at = 0; at < length; at += MAX_ARGUMENTS) text += String.fromCharCode.apply(null, units.subarray(at, Math.min(at + MAX_ARGUMENTS, length)) as unknown as number[]);
  return text;
}
