import { types } from 'node:util';
import { isError, read } from './errors';

/**
 * True for an error that says that a client may read it, its headers too. A status says no such thing:
 * an error of a client of another service has one, and tells of that service. Only an error can say it.
 */
export function isExposed(error: unknown): boolean {
  return read(error, 'expose') === true && isError(error) && read(error, kUnshown) !== true && !isFromParserCallback(error);
}

/** Mark of an error that is not shown whatever it says. */
const kUnshown = Symbol('waypost.error.unshown');
/** A longer text is not parsed again, which would hold up others: then what is wrong with it is not shown either. In UTF-16 units. */
const LONGEST_PARSED = 102_400;

/** Marks an error that {@link isFromParserCallback} tells, as it is raised: error middleware may give it another status, or take its body away. */
export function noteParserCallback(error: unknown): void {
  if (read(error, 'expose') === true && isFromParserCallback(error)) hide(error as object);
}

/** Marks an error so that a client reads its status alone. */
export function hide(error: object): void {
  // One that can't be extended is told by its look, while that stays.
  Reflect.defineProperty(error, kUnshown, { value: true, configurable: true });
}

/**
 * True where a program's `verify` or `reviver` may have thrown it: body-parser has http-errors write `expose` on that, whatever it says itself.
 * It is told by what body-parser writes beside: a type, and the body, in bytes for `verify`. A text that can be parsed has failed by its
 * `reviver`, or is a value alone that `strict` refuses, which looks the same.
 */
function isFromParserCallback(error: unknown): boolean {
  if (read(error, 'type') === undefined) return false;
  const body = read(error, 'body');
  return types.isUint8Array(body) || (typeof body === 'string' && (body.length > LONGEST_PARSED || !isMalformed(body)));
}

function isMalformed(body: string): boolean {
  try {
    JSON.parse(body);
    return false;
  } catch {
    return true;
  }
}
