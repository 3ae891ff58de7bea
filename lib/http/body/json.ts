import { HttpError } from '../../errors';
import { markBigIntegers, MOST_DIGITS } from './big-integers';
import { checkContainers } from './json-containers';

const LONG_INTEGER = /\d{16}/;
/** A key that reaches for a prototype, with any of its letters escaped. */
const ESCAPED_KEY = new RegExp(`"(?:${['__proto__', 'prototype'].map(escapable).join('|')})"`);

/**
 * Parses the JSON text of a request body (RFC 8259), of whatever value.
 * @param bigint Whether integers beyond 2^53 become BigInt, those of more than 4,300 digits being refused.
 * @param containerLimit Most arrays and objects.
 * @throws {HttpError} 413 `TOO_MANY_CONTAINERS`; 400 `MALFORMED_BODY`, also for a long text that nests more than 5,000 levels, or `FORBIDDEN_KEY` for `__proto__`, and for `constructor` with `prototype` in it.
 */
export function parseJson(text: string, bigint: boolean, containerLimit = Infinity): unknown {
  checkContainers(text, containerLimit);
  const marked = bigint && LONG_INTEGER.test(text) ? markBigIntegers(text) : undefined;
  const value = parsed(text, marked?.text ?? text);
  const mark = marked?.mark;
  const root = mark !== undefined || isSuspect(text) ? settle(value, mark) : value;
  if (marked?.tooLong !== undefined) {
    const { at, digits } = marked.tooLong;
    throw HttpError.of('MALFORMED_BODY', `The request body holds an integer of ${digits} digits at position ${at}: at most ${MOST_DIGITS} are taken, send it as a string`);
  }
  return root;
}

function parsed(text: string, marked: string): unknown {
  try {
    return JSON.parse(marked) as unknown;
  } catch (error) {
    throw HttpError.of('MALFORMED_BODY', faultMessage(text, marked === text ? (error as Error).message : refusalOf(text)), { cause: error });
  }
}

const INVALID = 'The request body is not valid JSON';

/** Says what is wrong with the text. @param said What V8 says of it: for most faults the place, for others the character. */
function faultMessage(text: string, said: string): string {
  if (text.trim() === '') return `${INVALID}: it is empty`;
  // At the end of what V8 says; within it may stand what the client has sent.
  const at = said.startsWith('Unexpected end') ? text.length : Number(/ at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(said)?.[1] ?? NaN);
  if (at >= text.length) return `${INVALID}: it ends too early, at position ${text.length}`;
  if (at >= 0) return `${INVALID}: unexpected character at position ${at}`;
  const token = /^Unexpected token '(.+?)',/su.exec(said)?.[1];
  return token === undefined ? INVALID : `${INVALID}: unexpected ${JSON.stringify(token)}`;
}

function refusalOf(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}

/** An expression for a word in JSON, any letter of which may be escaped. */
function escapable(word: string): string {
  return word.replace(/./g, (letter) => {
    const digits = letter.charCodeAt(0).toString(16).replace(/[a-f]/, (digit) => `[${digit}${digit.toUpperCase()}]`);
    return `(?:${letter}|\\\\u00${digits})`;
  });
}

/**
 * True if the text may hold a forbidden key. One search for `proto`, which is in both, rules out
 * most texts. A false hit costs a walk as long as V8's parse, so one word alone must not do.
 */
function isSuspect(text: string): boolean {
  const isEscaped = text.includes('\\u');
  if (text.includes('proto') && (text.includes('"__proto__"') || (text.includes('"prototype"') && (isEscaped || text.includes('"constructor"'))))) return true;
  return isEscaped && ESCAPED_KEY.test(text);
}

/**
 * Refuses forbidden keys, and replaces the marked strings by BigInts, in place. A
 * reviver would not do: V8's recurses, and overflows on nesting that JSON.parse
 * itself takes.
 */
function settle(root: unknown, mark: string | undefined): unknown {
  const top = [root];
  const open: object[] = [top];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (Array.isArray(node)) settleElements(node, mark, open);
    else settleFields(node as Record<string, unknown>, mark, open);
  }
  return top[0];
}

function settleElements(node: unknown[], mark: string | undefined, open: object[]): void {
  for (let index = 0; index < node.length; index++) {
    const value = node[index];
    if (typeof value === 'object') {
      if (value !== null) open.push(value);
    } else if (isMarked(value, mark)) {
      node[index] = bigIntegerOf(value, mark as string);
    }
  }
}

function settleFields(node: Record<string, unknown>, mark: string | undefined, open: object[]): void {
  for (const key of Object.keys(node)) {
    if (key === '__proto__') refuseKey();
    const value = node[key];
    if (typeof value === 'object') {
      if (value === null) continue;
      if (key === 'constructor' && Object.hasOwn(value, 'prototype')) refuseKey();
      open.push(value);
    } else if (isMarked(value, mark)) {
      node[key] = bigIntegerOf(value, mark as string);
    }
  }
}

function isMarked(value: unknown, mark: string | undefined): value is string {
  return mark !== undefined && typeof value === 'string' && value.startsWith(mark);
}

function bigIntegerOf(value: string, mark: string): bigint {
  return BigInt(value.slice(mark.length));
}

function refuseKey(): never {
  throw HttpError.of('FORBIDDEN_KEY');
}
