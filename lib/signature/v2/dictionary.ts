import type { Dictionary } from 'structured-headers';
import { structuredHeaders } from '../../packages';

/**
 * Reads a header that is a dictionary of RFC 9651 in its canonical spelling
 * (section 4.1.2); undefined for any other text. A key or parameter that stands
 * twice, loose white space, `1.0` for an integer and base64 with stray bits all
 * parse, and so let two texts mean one thing, or one text two things to two
 * servers. None of them is what a serializer writes.
 */
export function canonicalDictionary(text: string): Dictionary | undefined {
  try {
    const { parseDictionary, serializeDictionary } = structuredHeaders();
    const dictionary = parseDictionary(text);
    return serializeDictionary(dictionary) === text ? dictionary : undefined;
  } catch {
    return undefined;
  }
}
