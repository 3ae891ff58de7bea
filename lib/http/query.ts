import { HttpError } from '../errors';
import { fastQuerystring } from '../packages';

/** What a flat query or form holds: a text, or all its texts where a name comes up more than once. */
export type QueryValues = Record<string, string | string[]>;

/** Most fields that a form may have, and that are read of a query; as in Express, empty ones count. */
const MOST_FIELDS = 1000;

/**
 * Parses a query string, flat: no brackets, no dots. Malformed
 * percent-encoding is left as it stands. Of more than 1,000 fields the first
 * are read. The result is an ordinary object, without a `__proto__` key.
 */
export function parseQuery(text: string): QueryValues {
  const end = endOfFields(text);
  return parseFlat(end === -1 ? text : text.slice(0, end), false);
}

/**
 * Parses a form, flat as a query.
 * @throws {HttpError} 413 `TOO_MANY_FIELDS` for more than 1,000, 400 `FORBIDDEN_KEY` for a `__proto__`.
 */
export function parseForm(text: string): QueryValues {
  if (endOfFields(text) !== -1) throw HttpError.of('TOO_MANY_FIELDS', undefined, { limit: MOST_FIELDS, option: 'body' });
  return parseFlat(text, true);
}

/** @param strict Whether a `__proto__` is refused. */
function parseFlat(text: string, strict: boolean): QueryValues {
  const values: QueryValues = {};
  if (text === '') return values;
  // A megabyte of `+` takes the parser's own expression a tenth of a second.
  const parsed = fastQuerystring().parse(text.includes('+') ? text.split('+').join(' ') : text) as QueryValues;
  for (const key in parsed) {
    // Assigned to an ordinary object it would be the prototype.
    if (key !== '__proto__') values[key] = parsed[key] as string | string[];
    else if (strict) throw HttpError.of('FORBIDDEN_KEY');
  }
  return values;
}

/** Where the first 1,000 fields end, -1 where there are no more. */
function endOfFields(text: string): number {
  if (text.length < MOST_FIELDS) return -1;
  let end = -1;
  for (let fields = 0; fields < MOST_FIELDS; fields++) {
    end = text.indexOf('&', end + 1);
    if (end === -1) return -1;
  }
  return end;
}
