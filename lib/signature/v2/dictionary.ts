import type { Dictionary } from 'structured-headers';
import { structuredHeaders } from '../../packages';

/**
 * Parses a dictionary of RFC 9651 in its serialized form (section 4.1.2);
 * undefined for any other text. Repeated keys or parameters, extra white space,
 * `1.0` for an integer and base64 with stray bits all parse, but servers may
 * read them differently, and no serializer writes them.
 */
export function canonicalDictionary(text: string): Dictionary | undefined {
  const { parseDictionary, serializeDictionary } = structuredHeaders();
  try {
    const dictionary = parseDictionary(text);
    return serializeDictionary(dictionary) === text ? dictionary : undefined;
  } catch {
    return undefined;
  }
}
