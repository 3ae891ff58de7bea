import { crypto } from '../../packages';

/**
 * Making a BigInt takes the square of its digits. Python has the same bound, for
 * the same reason (CVE-2020-10735).
 */
export const MOST_DIGITS = 4300;

const QUOTE = 0x22;
const MINUS = 0x2d;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** JSON text with its big integers as strings. */
export interface MarkedText {
  readonly text: string;
  /** Prefix of these strings; undefined where there are none. No client can know it, so no string of its own is mistaken for one. */
  readonly mark: string | undefined;
  /** The first integer of more than {@link MOST_DIGITS} digits, which is left as it is. */
  readonly tooLong?: { readonly at: number; readonly digits: number };
}

/**
 * Makes every integer beyond 2^53 a string. Text that is no JSON stays none: an
 * integer is left as it is where a string could stand in its place and it could
 * not, as a key or with needless zeros. So one parse tells both.
 */
export function markBigIntegers(text: string): MarkedText {
  const mark = crypto().randomBytes(12).toString('base64url');
  let marked = '';
  let copied = 0;
  let tooLong: MarkedText['tooLong'];
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = stringEnd(text, at);
    } else if (code === MINUS || isDigit(code)) {
      const end = numberEnd(text, at);
      if (isBigInteger(text, at, end)) {
        const digits = end - at - (code === MINUS ? 1 : 0);
        if (digits > MOST_DIGITS) {
          tooLong ??= { at, digits };
        } else {
          marked += `${text.slice(copied, at)}"${mark}${text.slice(at, end)}"`;
          copied = end;
        }
      }
      at = end;
    } else {
      at++;
    }
  }
  const made = copied === 0 ? { text, mark: undefined } : { text: marked + text.slice(copied), mark };
  return tooLong === undefined ? made : { ...made, tooLong };
}

/** Index behind a string; past the text's end if the string does not end. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  for (let code = text.charCodeAt(at); code !== QUOTE && at < text.length; code = text.charCodeAt(at)) at += code === BACKSLASH ? 2 : 1;
  return at + 1;
}

function numberEnd(text: string, start: number): number {
  let at = start + 1;
  while (isNumberPart(text.charCodeAt(at))) at++;
  return at;
}

function isBigInteger(text: string, start: number, end: number): boolean {
  if (end - start < 16) return false;
  const digits = text.charCodeAt(start) === MINUS ? start + 1 : start;
  if (text[digits] === '0') return false;
  for (let at = digits; at < end; at++) {
    if (!isDigit(text.charCodeAt(at))) return false;
  }
  // Exact: no integer beyond the safe ones rounds to a safe one.
  return !Number.isSafeInteger(Number(text.slice(start, end))) && !isKey(text, end);
}

/** True if a colon comes next. */
function isKey(text: string, end: number): boolean {
  let at = end;
  while (isSpace(text.charCodeAt(at))) at++;
  return text.charCodeAt(at) === COLON;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Digits, `+`, `-`, `.`, `e` and `E`. */
function isNumberPart(code: number): boolean {
  return isDigit(code) || code === 0x2b || code === MINUS || code === 0x2e || (code | 0x20) === 0x65;
}
