import { decode } from './decoding';
import { parseurl } from '../packages';

const SLASH = 0x2f;
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * The path of a request target: no query, no fragment, and of an absolute form
 * (`http://host/path`, RFC 9112 section 3.2.2) what follows the authority. It
 * is not decoded. A target with no path at all has `/`.
 */
export function pathOf(target: string): string {
  const start = pathStart(target);
  const end = pathEnd(target, start);
  if (end === start) return '/';
  return start === 0 && end === target.length ? target : target.slice(start, end);
}

/** What has parseurl take a path for a URL that is to be parsed. */
const ODD = /[#\s]/;

/**
 * Whether others read another path of a target than {@link pathOf}. Express, connect and what is made for them read it by parseurl, and that
 * an odd one by `url.parse`: `\` is `/`, a host ends at `;`, white space at the end is none. A guard of the one path would not be met by who
 * takes the other.
 */
export function isDisputed(target: string): boolean {
  if (target.charCodeAt(0) === SLASH ? !ODD.test(target) : target === '') return false;
  try {
    return decode(parseurl()({ url: target }).pathname ?? '/').text !== decode(pathOf(target)).text;
  } catch {
    // What can't be parsed has no path for them.
    return true;
  }
}

/** The query of a request target, without its `?` and without a fragment; empty where there is none. */
export function queryOf(target: string): string {
  const mark = target.indexOf('?');
  if (mark === -1) return '';
  const hash = target.indexOf('#');
  if (hash === -1) return target.slice(mark + 1);
  return hash < mark ? '' : target.slice(mark + 1, hash);
}

/**
 * What a guard judges a target by: the target up to its query. Unlike
 * {@link pathOf} it keeps what a `#` begins, since there is no fragment in a
 * request target (RFC 9112 section 3.2), and what takes the request may read on
 * behind it. Of `//…` it is all: URL parsers take that for an authority, and
 * fail on some, and what programs do then nobody knows.
 */
export function guardedPart(target: string): string {
  const query = target.startsWith('//') ? -1 : target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}

/**
 * Whether Express and connect find an origin in a target: whatever stands before `://` and no query. What they have hidden they put
 * behind so many characters of it.
 */
export function hasOrigin(target: string): boolean {
  if (target.charCodeAt(0) === SLASH) return false;
  const mark = target.indexOf('://');
  return mark !== -1 && target.lastIndexOf('?', mark) === -1;
}

export function pathStart(target: string): number {
  if (target.charCodeAt(0) === SLASH) return 0;
  return ABSOLUTE_FORM.exec(target)?.[0].length ?? 0;
}

export function pathEnd(target: string, start: number): number {
  const query = target.indexOf('?', start);
  const hash = target.indexOf('#', start);
  if (query === -1) return hash === -1 ? target.length : hash;
  return hash === -1 ? query : Math.min(query, hash);
}
