/** Second argument of `JSON.stringify`. */
export type JsonReplacer = ((this: unknown, key: string, value: unknown) => unknown) | readonly (string | number)[];

/** Data to JSON text; undefined for what has none. */
export type JsonWriter = (data: unknown) => string | undefined;

const ESCAPES: Readonly<Record<string, string>> = { '<': '\\u003c', '>': '\\u003e', '&': '\\u0026' };

/**
 * How `res.json` writes where settings say more than `JSON.stringify` by itself;
 * undefined where they do not. Escaped, the text may stand in HTML.
 */
export function jsonWriter(replacer: JsonReplacer | undefined, spaces: number | string | undefined, escape: boolean): JsonWriter | undefined {
  if (!replacer && !spaces && !escape) return undefined;
  const write: JsonWriter = (data) => JSON.stringify(data, replacer as (string | number)[] | undefined, spaces);
  return escape ? (data) => write(data)?.replace(/[<>&]/g, (character) => ESCAPES[character] as string) : write;
}
