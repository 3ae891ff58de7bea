import type { Dictionary } from 'structured-headers';
import { structuredHeaders } from '../../packages';
import { componentValue, type FieldLines } from './message-base';
import type { ReceivedRequest } from '../scheme';

/** Splits a component into name and parameters, as `content-type` and `;sf`. */
function splitComponent(component: string): [name: string, parameters: string] {
  const at = component.indexOf(';');
  return [component.slice(0, at), component.slice(at)];
}

/** The value of a component that has parameters (RFC 9421 sections 2.1 and 2.2.8); undefined for none. */
export function parameterizedValue(request: ReceivedRequest, component: string, lines: FieldLines): string | undefined {
  const [name, text] = splitComponent(component);
  const { parseItem } = structuredHeaders();
  try {
    const parameters = parseItem(`a${text}`)[1] as ReadonlyMap<string, unknown>;
    if (parameters.get('req') === true) return request.request && componentValue(request.request, name + text.replace(/;req(?=;|$)/, ''));
    if (name === '@query-param') return queryParameters(request, lines).get(parameters.get('name') as string);
    if (name.startsWith('@') || parameters.has('name')) return undefined;
    if (parameters.has('bs')) return parameters.size === 1 ? binaryValue(request, name, lines) : undefined;
    const key = parameters.get('key');
    if (key === undefined) return structuredValue(componentValue(request, name, lines));
    return memberValue(key as string, remembered(lines, name, () => dictionaryOf(componentValue(request, name, lines) as string)));
  } catch {
    return undefined;
  }
}

/** Works a value out once for all components of a request: one field or query may be named hundreds of times. */
function remembered<T>(lines: FieldLines, name: string, work: () => T): T {
  const memo = (lines.memo ??= new Map<string, unknown>());
  if (!memo.has(name)) memo.set(name, work());
  return memo.get(name) as T;
}

/** Each line of a field as a byte sequence (RFC 9421 section 2.1.3). */
function binaryValue({ headers }: ReceivedRequest, name: string, lines: FieldLines): string | undefined {
  const value = headers[name];
  const texts = lines.get(name) ?? (typeof value === 'string' ? [value.trim()] : undefined);
  return texts?.map((line) => `:${Buffer.from(line, 'latin1').toString('base64')}:`).join(', ');
}

/**
 * The strict serialization of a structured field (RFC 9421 section 2.1.1).
 * Nothing says here if a field is a dictionary, a list or an item: one that
 * they would read differently has no value, nor has one with a repeated key,
 * of which other readers of the header may take the first.
 */
function structuredValue(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const { parseDictionary, parseItem, parseList, serializeDictionary, serializeItem, serializeList } = structuredHeaders();
  const texts = new Set<string>();
  for (const read of [() => serializeDictionary(parseDictionary(value)), () => serializeList(parseList(value)), () => serializeItem(parseItem(value))]) {
    try {
      texts.add(read());
    } catch {
      // The field is none of that kind.
    }
  }
  const [text] = texts;
  return texts.size === 1 && separators(text as string) === separators(value) ? text : undefined;
}

/** Number of separators outside strings. */
function separators(text: string): number {
  return text.replace(/%"[^"]*"|"(?:[^"\\]|\\.)*"|[^,;]/g, '').length;
}

/** The dictionary of a field; none for one with a repeated key, of which other readers may take the first. */
function dictionaryOf(value: string): Dictionary | undefined {
  const { parseDictionary, serializeDictionary } = structuredHeaders();
  const dictionary = parseDictionary(value);
  return separators(serializeDictionary(dictionary)) === separators(value) ? dictionary : undefined;
}

/** A member of a dictionary (RFC 9421 section 2.1.2). */
function memberValue(key: string, dictionary: Dictionary | undefined): string | undefined {
  const { isInnerList, serializeInnerList, serializeItem } = structuredHeaders();
  const member = dictionary?.get(key);
  if (member === undefined) return undefined;
  return isInnerList(member) ? serializeInnerList(member) : serializeItem(member);
}

/** The parameters of the query, encoded. One that is there twice, or is no UTF-8, has no value. */
function queryParameters({ target }: ReceivedRequest, lines: FieldLines): ReadonlyMap<string, string | undefined> {
  return remembered(lines, '@query-param', () => {
    const found = new Map<string, string | undefined>();
    for (const [name, value] of new URLSearchParams(target.replace(/^[^?]*/, ''))) {
      const key = formEncoded(name);
      found.set(key, found.has(key) || value.includes('\ufffd') ? undefined : formEncoded(value));
    }
    return found;
  });
}

/** Encodes as forms do, but a space as `%20` (RFC 9421 section 2.2.8). */
function formEncoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}
