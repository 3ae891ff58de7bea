import { HttpError } from '../errors';

/** Fields of a flat query or form: a text, or all its texts where a name comes up more than once. */
export type QueryValues = Record<string, string | string[]>;

/** Most fields that a form may have, and that are read of a query; as in Express, empty ones count. */
const MOST_FIELDS = 1000;
const [PLUS, SPACE] = [0x2b, 0x20];
/** Length from which a text is long, in UTF-16 units. */
const LONG = 4096;

/**
 * Parses a query string, flat: no brackets, no dots. Malformed percent-encoding
 * stays as it is. Of more than 1,000 fields the first are read. The result is an
 * ordinary object, without a `__proto__` key.
 */
export function parseQuery(text: string): QueryValues {
  const end = endOfFields(text);
  return parseFlat(end === -1 ? text : text.slice(0, end), false);
}

/**
 * Parses a form, flat as a query.
 * @param decode Makes text of the bytes of a name or value, which stand as Latin-1, escapes included. @default the text is there, and its escapes are UTF-8
 * @throws {HttpError} 413 `TOO_MANY_FIELDS` for more than 1,000, 400 `FORBIDDEN_KEY` for a `__proto__`.
 */
export function parseForm(text: string, decode?: (bytes: Buffer) => string): QueryValues {
  if (endOfFields(text) !== -1) throw HttpError.of('TOO_MANY_FIELDS', undefined, { limit: MOST_FIELDS, option: 'body' });
  return parseFlat(text, true, decode && ((field) => decode(Buffer.from(field.replace(/%[0-9a-f]{2}/gi, character), 'latin1'))));
}

/** @param strict Whether a `__proto__` is refused. */
function parseFlat(given: string, strict: boolean, decode = decoded): QueryValues {
  const values: QueryValues = {};
  const text = withSpaces(given);
  const { length } = text;
  let start = 0;
  while (start < length) {
    const next = text.indexOf('&', start);
    const field = text.slice(start, next === -1 ? length : next);
    start += field.length + 1;
    if (field === '') continue;
    const equals = field.indexOf('=');
    const name = decode(equals === -1 ? field : field.slice(0, equals));
    const value = equals === -1 ? '' : decode(field.slice(equals + 1));
    // Assigned to an ordinary object it would be the prototype.
    if (name === '__proto__') {
      if (strict) throw HttpError.of('FORBIDDEN_KEY');
      continue;
    }
    const known = Object.hasOwn(values, name) ? values[name] : undefined;
    if (known === undefined) values[name] = value;
    else if (typeof known === 'string') values[name] = [known, value];
    else known.push(value);
  }
  return values;
}

/** Latin-1 character of an escape. */
function character(escape: string): string {
  return String.fromCharCode(parseInt(escape.slice(1), 16));
}

/** By the engine itself: a decoder in JavaScript takes ten times as long for a megabyte of escapes. */
function decoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A space for each `+`. Of a long text by its bytes: to have it replaced takes a tenth of a second for a megabyte of them. */
function withSpaces(text: string): string {
  if (!text.includes('+')) return text;
  if (text.length < LONG) return text.replaceAll('+', ' ');
  const bytes = Buffer.from(text, 'utf16le');
  for (let at = 0; at < bytes.length; at += 2) if (bytes[at] === PLUS && bytes[at + 1] === 0) bytes[at] = SPACE;
  return bytes.toString('utf16le');
}

/** Index where the first 1,000 fields end; -1 where there are no more. */
function endOfFields(text: string): number {
  if (text.length < MOST_FIELDS) return -1;
  let end = -1;
  for (let fields = 0; fields < MOST_FIELDS; fields++) {
    end = text.indexOf('&', end + 1);
    if (end === -1) return -1;
  }
  return end;
}
