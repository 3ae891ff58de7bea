import { HttpError } from '../../errors';

/** Shorter texts are parsed whatever their depth: it is for long ones that V8 takes tenths of a second. */
const LONG = 200_000;
/** Levels that V8 parses in a time that grows with the text's length alone. */
export const MOST_LEVELS = 5000;

/**
 * Looks at the arrays and objects of a JSON text before it is parsed: V8 takes 60
 * bytes for each, two of text, and keeps an entry for each open one. 1 MiB of `[`
 * takes it 0.3 s, to refuse it at the end.
 * @param most How many there may be.
 * @throws {HttpError} 413 `TOO_MANY_CONTAINERS`; 400 `MALFORMED_BODY` for a long text that nests more than 5,000 levels.
 */
export function checkContainers(text: string, most: number): void {
  // Each is two characters. The brackets of texts come to more than their containers: nearly always they are few, and looked for in less time.
  const limit = text.length > 2 * most && hasBrackets(text, most) ? most : Infinity;
  if (text.length <= LONG && limit === Infinity) return;
  let count = 0;
  let level = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    // `"`
    if (unit === 34) at = endOfString(text, at);
    // `[` and `{`, `]` and `}`, which differ from one another in one bit.
    else if ((unit | 32) === 123) {
      if (++count > limit) throw HttpError.of('TOO_MANY_CONTAINERS', undefined, { limit, option: 'body.containerLimit' });
      if (++level > MOST_LEVELS && text.length > LONG) throw HttpError.of('MALFORMED_BODY', `The JSON of the request body nests more than ${MOST_LEVELS} levels, at position ${at}`);
    } else if ((unit | 32) === 125) level--;
  }
}

/** True if more than `most` brackets open in a text, those in strings included. */
function hasBrackets(text: string, most: number): boolean {
  let count = 0;
  for (const bracket of '[{') {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++count > most) return true;
    }
  }
  return false;
}

/** Index of the closing quote of a string; the text's length if it has none. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

/** True if an odd number of backslashes precedes the character. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  // 92 is a backslash.
  while (text.charCodeAt(first - 1) === 92) first--;
  return (at - first) % 2 === 1;
}
