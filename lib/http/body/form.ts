import { HttpError } from '../../errors';
import { endOfFields, MOST_FIELDS, parseFlat, type QueryValues } from '../query';

/**
 * Parses a form, flat as a query.
 * @throws {HttpError} 413 `TOO_MANY_FIELDS` for more than 1,000, 400 `FORBIDDEN_KEY` for a `__proto__`.
 */
export function parseForm(text: string): QueryValues {
  if (endOfFields(text) !== -1) throw HttpError.of('TOO_MANY_FIELDS', undefined, { limit: MOST_FIELDS, option: 'body' });
  return parseFlat(text, true);
}
