import { parse } from 'fast-querystring';

/** What a flat query or form holds: a text, or all its texts where a name comes up more than once. */
export type QueryValues = Record<string, string | string[]>;

/**
 * Parses a query string or a form, flat: no brackets, no dots. Malformed
 * percent-encoding is left as it stands. The result is an ordinary object;
 * where a name is `__proto__`, `forbidden` says what becomes of it.
 *
 * @param forbidden Called for a `__proto__` key, which is then left out. By default nothing else happens.
 */
export function parseQuery(text: string, forbidden?: () => void): QueryValues {
  const values: QueryValues = {};
  if (text === '') return values;
  const parsed = parse(text) as QueryValues;
  for (const key in parsed) {
    // Assigned to an ordinary object it would be the prototype.
    if (key === '__proto__') forbidden?.();
    else values[key] = parsed[key] as string | string[];
  }
  return values;
}
