import type { IncomingMessage } from 'node:http';

// RFC 3986 section 3.2.2. Of a name without `%`, `'` and `;`, which `url.parse` takes for the end of the host.
const HOST = /^(?:[\w.~!$&()*+,=-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/**
 * True for `uri-host [":" port]` (RFC 9110 section 7.2). Every URL parser must
 * end it where the text ends: then what is put behind it stays the path.
 */
export function isHost(text: string): boolean {
  return HOST.test(text) && URL.canParse(`http://${text}`);
}

const SLASH = 47;

/** Matches the host of a target in absolute form (RFC 9110 section 4.2). */
const AUTHORITY = /^[a-z][\w+.-]*:\/\/([^/?#]*)/i;

/** The check of Host (RFC 9112 section 3.2). It keeps the last that was valid, since most requests name the same. */
export class HostCheck {
  #valid: string | undefined;

  /** True for a request whose Host and target name valid hosts, if any. Several Host fields are refused: `rawHeaders` has them all, of which Node keeps the first. */
  admits({ headers: { host }, rawHeaders, url = '/' }: IncomingMessage): boolean {
    if (url.charCodeAt(0) !== SLASH && !isHost(AUTHORITY.exec(url)?.[1] ?? 'h')) return false;
    if (host !== this.#valid && host !== undefined) {
      if (!isHost(host)) return false;
      this.#valid = host;
    }
    let isSeen = false;
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i] as string;
      if (name.length !== 4 || name.toLowerCase() !== 'host') continue;
      if (isSeen) return false;
      isSeen = true;
    }
    return true;
  }
}
