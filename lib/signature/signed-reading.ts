/** The part of a request that clients and proxies change. */
export interface Reading {
  readonly target: string;
  readonly host: string | undefined;
}

/**
 * Tells for which other URL a signature would match; empty for none. Clients and
 * proxies change what was signed. For the log of `debug`.
 * @param matches Compares for a reading; called some dozen times.
 */
export function signedReading({ target, host }: Reading, matches: (reading: Reading) => boolean): string {
  for (const other of targetReadings(target)) {
    if (other !== target && matches({ target: other, host })) return `; it would match for ${JSON.stringify(other)}: the client, or a proxy, has sent another URL than was signed`;
  }
  const bare = host?.replace(/:\d+$/, '');
  if (bare === host || !matches({ target, host: bare })) return '';
  return `; it would match for Host ${JSON.stringify(bare)}: the client has signed Host without its port, or a proxy has put one in`;
}

/** Spellings of one URL by clients, and by proxies that take its first segment off. */
function targetReadings(target: string): string[] {
  const at = target.indexOf('?');
  const [path, query] = at === -1 ? [target, ''] : [target.slice(0, at), target.slice(at)];
  const escapes = (change: (escape: string) => string): string => target.replace(/%[0-9a-f]{2}/gi, change);
  const absolute = `http://h${target}`;
  const parsed = URL.canParse(absolute) ? new URL(absolute) : undefined;
  return [
    query === '' ? `${target}?` : query === '?' ? path : path + query.replaceAll("'", '%27'),
    path + query.replaceAll('%27', "'"),
    path + query.replaceAll('%20', '+'),
    path + query.replaceAll('+', '%20'),
    escapes((escape) => escape.toUpperCase()),
    escapes((escape) => escape.toLowerCase()),
    escapes((escape) => (/^%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)$/i.test(escape) ? decodeURIComponent(escape) : escape)),
    ...(parsed === undefined ? [] : [parsed.pathname + parsed.search, `${parsed.pathname + parsed.search}?`]),
    target.replace(/^\/[^/?]*(?=\/)/, ''),
    path,
  ];
}
