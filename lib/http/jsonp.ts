import type { IncomingMessage } from 'node:http';

/** Function that a JSONP request names by a query parameter; undefined for none. Characters that no such name has are removed. */
export function callbackName(req: IncomingMessage, parameter: string): string | undefined {
  const { query } = req as { query?: Readonly<Record<string, unknown>> };
  const asked = query?.[parameter];
  const name: unknown = Array.isArray(asked) ? asked[0] : asked;
  return typeof name === 'string' && name !== '' ? name.replace(/[^\w$.[\]]/g, '') : undefined;
}

/**
 * A script that hands JSON to a function. The empty comment keeps the callback
 * from being the file's first bytes, which a plugin might take for its own
 * format (Rosetta Flash). U+2028 and U+2029 ended lines in older scripts.
 */
export function callScript(name: string, json: string): string {
  const argument = json.replace(/\u2028/g, '\\u2028').replace(/\u2029/g, '\\u2029');
  return `/**/ typeof ${name} === 'function' && ${name}(${argument});`;
}
