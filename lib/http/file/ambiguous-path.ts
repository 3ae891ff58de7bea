import { pathOf } from '../../target';

/** `..` as a segment, by either separator. */
const UP = /(?:^|[\\/])\.\.(?:[\\/]|$)/;
/** `.` as a segment, or an empty one between two separators. */
const IDLE = /(?:^|[\\/])\.(?:[\\/]|$)|[\\/]{2}/;
const ENCODED = /%(?:2e|2f|5c)/gi;
const DECODED: Readonly<Record<string, string>> = { '%2e': '.', '%2f': '/', '%5c': '\\' };

/**
 * Whether a path beneath a root means another file than its segments say. What
 * is registered under a path goes by the segments of the request's, as sent;
 * the file system resolves them. So the capture of `/files/x/../private/key`
 * would lead past a guard of `/files/private`, and so would those of
 * `/files/./private/key` and, where the guard's path is longer, of `//`.
 *
 * `..` always does. A program may well write `./` and `//` by itself, so these
 * do only where the client has sent such a segment, encoded or not.
 *
 * @param target The request target as received.
 */
export function isAmbiguousPath(path: string, target: string): boolean {
  return UP.test(path) || (IDLE.test(path) && IDLE.test(decodeSeparators(pathOf(target))));
}

function decodeSeparators(path: string): string {
  return path.replace(ENCODED, (escape) => DECODED[escape.toLowerCase()] as string);
}
