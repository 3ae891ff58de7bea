import { decode } from '../../target/decoding';
import { pathOf } from '../../target/target';

/** `..` as a segment, by either separator. */
const UP = /(?:^|[\\/])\.\.(?:[\\/]|$)/;
/** `.` as a segment, or an empty one between two separators. */
const IDLE = /(?:^|[\\/])\.(?:[\\/]|$)|[\\/]{2}/;

/**
 * True for a path beneath a root that means another file than its segments say.
 * Guards go by the segments of the request's path, as sent; the file system
 * resolves them. So the capture of `/files/x/../private/key` would pass a guard
 * of `/files/private`, as would `/files/./private/key` and, where the guard's
 * path is longer, `//`. A program may write these by itself, so they count only
 * where the client has sent such a segment, encoded or not; `..` also where it
 * has sent two dots that a pattern such as `/:name.:type` makes a segment of.
 * @param target The request target as received.
 */
export function isAmbiguousPath(path: string, target: string): boolean {
  const up = UP.test(path);
  if (!up && !IDLE.test(path)) return false;
  // However often a program may decode.
  const sent = decode(pathOf(target)).text;
  return IDLE.test(sent) || (up ? sent.includes('..') : UP.test(sent));
}
