import { randomUUID } from 'node:crypto';
import { parse as parseSecurely } from 'secure-json-parse';
import { HttpError } from '../errors';
import { syntaxFault } from './syntax';

const REFUSED = { protoAction: 'error', constructorAction: 'error' } as const;
const BYTE_ORDER_MARK = '\ufeff';
const LONG_INTEGER = /\d{16}/;
/**
 * Making a BigInt takes the square of its digits: one of a megabyte would keep
 * every other request waiting for half a second. Python has the same bound, for
 * the same reason (CVE-2020-10735).
 */
const MOST_DIGITS = 4300;

/**
 * Parses the JSON text of a request body (RFC 8259), of whatever value. Keys
 * that reach for a prototype, `__proto__` and `constructor` with `prototype`
 * in it, are refused.
 *
 * @param bigint Whether integers beyond 2^53 become BigInt, those of more than 4,300 digits being refused; all else is what
 * JSON.parse makes of it.
 * @throws {HttpError} `MALFORMED_BODY` or `FORBIDDEN_KEY`, both 400.
 */
export function parseJson(text: string, bigint: boolean): unknown {
  const value = parseChecked(text);
  if (!bigint || !LONG_INTEGER.test(text)) return value;
  const mark = randomUUID();
  const marked = markBigIntegers(text, mark);
  return marked === undefined ? value : unmark(JSON.parse(marked), mark);
}

function parseChecked(text: string): unknown {
  try {
    // One byte order mark is gone by now, and secure-json-parse would drop a second.
    if (text.startsWith(BYTE_ORDER_MARK)) JSON.parse(text);
    return (isSuspect(text) ? parseSecurely(text, REFUSED) : JSON.parse(text)) as unknown;
  } catch (error) {
    const at = syntaxFault(text);
    if (at === -1) throw HttpError.of('FORBIDDEN_KEY', undefined, { cause: error });
    throw HttpError.of('MALFORMED_BODY', faultMessage(text, at), { cause: error });
  }
}

/**
 * Whether a key that is refused may be in the text: escaped, or as `__proto__`,
 * or as `constructor` around `prototype`. secure-json-parse looks at every
 * quote to find out; `proto`, which is in both, is one search for most texts.
 */
function isSuspect(text: string): boolean {
  if (text.includes('\\u')) return true;
  return text.includes('proto') && (text.includes('__proto__') || text.includes('prototype'));
}

function faultMessage(text: string, at: number): string {
  if (at < text.length) return `The request body is not valid JSON: unexpected character at position ${at}`;
  if (text.trim() === '') return 'The request body is not valid JSON: it is empty';
  return `The request body is not valid JSON: it ends too early, at position ${at}`;
}

/**
 * The text with every integer beyond 2^53 made a string that begins with the
 * mark; undefined where there is none. The text is valid JSON, so a quote
 * always opens or closes a string and a digit outside one is a number's.
 */
function markBigIntegers(text: string, mark: string): string | undefined {
  let marked = '';
  let copied = 0;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = stringEnd(text, at);
    } else if (code === 0x2d || isDigit(code)) {
      const end = numberEnd(text, at);
      if (isBigInteger(text, at, end)) {
        checkDigits(text, at, end);
        marked += `${text.slice(copied, at)}"${mark}${text.slice(at, end)}"`;
        copied = end;
      }
      at = end;
    } else {
      at++;
    }
  }
  return copied === 0 ? undefined : marked + text.slice(copied);
}

function stringEnd(text: string, start: number): number {
  let at = start + 1;
  for (let code = text.charCodeAt(at); code !== 0x22; code = text.charCodeAt(at)) at += code === 0x5c ? 2 : 1;
  return at + 1;
}

function numberEnd(text: string, start: number): number {
  let at = start + 1;
  while (isNumberPart(text.charCodeAt(at))) at++;
  return at;
}

function isBigInteger(text: string, start: number, end: number): boolean {
  if (end - start < 16) return false;
  const digits = text.charCodeAt(start) === 0x2d ? start + 1 : start;
  for (let at = digits; at < end; at++) {
    if (!isDigit(text.charCodeAt(at))) return false;
  }
  // Exact: no integer beyond the safe ones rounds to a safe one.
  return !Number.isSafeInteger(Number(text.slice(start, end)));
}

function checkDigits(text: string, start: number, end: number): void {
  const digits = end - start - (text.charCodeAt(start) === 0x2d ? 1 : 0);
  if (digits <= MOST_DIGITS) return;
  throw HttpError.of('MALFORMED_BODY', `The request body holds an integer of ${digits} digits at position ${start}: at most ${MOST_DIGITS} are taken, send it as a string`);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Digits, `+`, `-`, `.`, `e` and `E`. */
function isNumberPart(code: number): boolean {
  return isDigit(code) || code === 0x2b || code === 0x2d || code === 0x2e || (code | 0x20) === 0x65;
}

/**
 * Turns the marked strings into BigInts, in place. Not by a reviver: V8's
 * recurses, and overflows on nesting that JSON.parse itself takes. No client
 * can know the mark, so no string of its own is mistaken for one.
 */
function unmark(root: unknown, mark: string): unknown {
  const holder: Record<string, unknown> = { root };
  const open: Record<string, unknown>[] = [holder];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const key of Object.keys(node)) {
      const value = node[key];
      if (typeof value === 'object' && value !== null) open.push(value as Record<string, unknown>);
      else if (typeof value === 'string' && value.startsWith(mark)) node[key] = BigInt(value.slice(mark.length));
    }
  }
  return holder['root'];
}
