import { decode } from './decoding';
import { parseurl } from '../packages';

const SLASH = 0x2f;
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * The path of a request target, not decoded: no query, no fragment, and no
 * origin of an absolute form (`http://host/path`, RFC 9112 section 3.2.2). A
 * target with no path at all has `/`.
 */
export function pathOf(target: string): string {
  const start = pathStart(target);
  const end = pathEnd(target, start);
  if (end === start) return '/';
  return start === 0 && end === target.length ? target : target.slice(start, end);
}

/** Characters for which parseurl parses a path by `url.parse`. */
const ODD = /[#\s]/;

/**
 * Returns true for a target whose path others read unlike {@link pathOf}. Express, connect and their middleware read it by parseurl, and that
 * reads an odd one by `url.parse`: `\` is `/`, a host ends at `;`, trailing white space is cut. Guards and handlers must see one path.
 */
export function isDisputed(target: string): boolean {
  if (target.charCodeAt(0) === SLASH ? !ODD.test(target) : target === '') return false;
  try {
    return decode(parseurl()({ url: target }).pathname ?? '/').text !== decode(pathOf(target)).text;
  } catch {
    // A target that can't be parsed has no path for them.
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
 * The part of a target that a guard judges: all up to its query. Unlike
 * {@link pathOf} it keeps the text from a `#` on: a request target has no
 * fragment (RFC 9112 section 3.2), and a handler may read on behind it. A
 * target `//…` is kept whole: URL parsers take it for an authority, or fail.
 */
export function guardedPart(target: string): string {
  const query = target.startsWith('//') ? -1 : target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}

/**
 * Returns true for a target in which Express and connect find an origin: any text before `://`, without a query. They insert a
 * removed mount path behind the origin.
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
