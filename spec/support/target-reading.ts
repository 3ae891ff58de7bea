import { posix } from 'node:path';

/** What programs make of a target before they look up what it asks for. Each is somebody's way to write a server. */
export const READINGS: Readonly<Record<string, (target: string) => string>> = {
  raw: withoutQuery,
  decoded: (target) => decode(withoutQuery(target)),
  url: (target) => decode(pathnameOf(target)),
  undecodedUrl: pathnameOf,
  file: (target) => posix.normalize(decode(withoutQuery(target))),
  fileByUrl: (target) => posix.normalize(decode(pathnameOf(target))),
  servlet: (target) => posix.normalize(decode(withoutQuery(target).replace(/#.*/, '').replace(/;[^/]*/g, ''))),
  caseless: (target) => trim(posix.normalize(decodeAll(withoutQuery(target)).replaceAll('\\', '/'))).toLowerCase(),
};

/** The part of a path below a prefix as a lenient server sees it, to be put behind the name of the prefix. */
export function restOf(path: string): string {
  const rest = trim(path.replace(/\/+/g, '/'));
  return rest === '/' ? '' : rest;
}

/** Percent-decoded once; malformed encoding stays. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function decodeAll(text: string): string {
  const decoded = decode(text);
  return decoded === text ? text : decodeAll(decoded);
}

function withoutQuery(target: string): string {
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}

/** By the URL parser; what it refuses, as `/\\?`, as it stands. A query is no path either way. */
function pathnameOf(target: string): string {
  return URL.canParse(target, 'http://localhost') ? new URL(target, 'http://localhost').pathname : withoutQuery(target);
}

function trim(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
