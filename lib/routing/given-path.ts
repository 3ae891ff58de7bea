import { types } from 'node:util';
import type { PathRules } from './patterns/path';
import { readTokens, type Token } from './patterns/reader';

/** A path as it is registered: a pattern, or an expression. */
export type Path = string | RegExp;

/** A path, or several of which the first that matches counts. */
export type Paths = Path | readonly Path[];

/** Path of an empty array: as in Express nothing matches, for an empty list of public paths. */
const NOWHERE: readonly Path[] = [/(?!)/];

/** Returns true for a path, or paths in arrays. An empty array is paths, as in Express. */
export function isPaths(given: unknown): given is Paths {
  const paths: unknown[] = Array.isArray(given) ? given.flat(Infinity) : [given];
  return paths.every((path) => typeof path === 'string' || types.isRegExp(path));
}

/** Paths as one list, out of arrays of them. */
export function listPaths(given: Paths): readonly Path[] {
  if (!Array.isArray(given)) return [given as Path];
  const paths = (given as readonly unknown[]).flat(Infinity) as Path[];
  return paths.length === 0 ? NOWHERE : paths;
}

/**
 * Checks the path of a registration.
 * @param where The registration, for the message.
 * @throws TypeError that says what to write instead.
 */
export function checkPath(given: unknown, where: string): void {
  if (typeof given === 'string' || Array.isArray(given) || types.isRegExp(given)) return;
  const kind = given === null ? 'null' : typeof given;
  const route = kind === 'object' && typeof (given as { url?: unknown }).url === 'string';
  const hint = route ? '; write app.get(url, handler) for Fastify\'s route({ method, url, handler })' : '; write a pattern such as "/users/:id"';
  throw new TypeError(`${where}: the path must be a string or a RegExp, got ${kind}${hint}`);
}

/** Paths as they are written in a program, for messages. */
export function writePaths(given: unknown): string {
  if (Array.isArray(given)) return `[${given.map(writePaths).join(', ')}]`;
  return types.isRegExp(given) ? String(given) : JSON.stringify(given);
}

/**
 * Refuses a `*` without a name: Express 4 reads all below, Express 5 fails, and waypost reads one
 * segment. A program ported from Express would lose routes, or guards, in silence.
 * @throws TypeError that says what to write instead.
 */
export function refuseNamelessStars(paths: readonly Path[]): void {
  for (const path of paths) {
    const stars = typeof path === 'string' && path.includes('*') ? starsIn(readTokens(path)) : [];
    if (stars.length === 0) continue;
    const renamed = (write: (name: string) => string): string => JSON.stringify(rename(path as string, stars, write));
    throw new TypeError(
      `route pattern ${JSON.stringify(path)} has a "*" alone in its segment, which took everything in Express 4 and takes one segment in waypost; `
      + `write ${renamed((name) => `{*${name}}`)} for everything, or ${renamed((name) => `:${name}`)} for one segment`,
    );
  }
}

/** Positions of each `*` without a name. */
function starsIn(tokens: readonly Token[]): number[] {
  return tokens.flatMap((token) => {
    if (token.kind === 'group') return starsIn(token.tokens);
    return token.kind === 'stars' && token.text === '*' ? [token.at] : [];
  });
}

function rename(path: string, stars: readonly number[], write: (name: string) => string): string {
  const pieces = stars.map((at, index) => path.slice(index === 0 ? 0 : (stars[index - 1] as number) + 1, at) + write(index === 0 ? 'name' : `name${index + 1}`));
  return pieces.join('') + path.slice((stars.at(-1) as number) + 1);
}

/**
 * Refuses a mount path that ends in a slash where paths are compared exactly: `/api/` would not match `/api`, nor be another path.
 * @throws TypeError that says what to write instead.
 */
export function refuseTrailingSlash(paths: readonly Path[], { ignoreTrailingSlash }: PathRules): void {
  if (ignoreTrailingSlash) return;
  for (const path of paths) {
    if (typeof path !== 'string' || path === '/' || !path.endsWith('/')) continue;
    throw new TypeError(`the mount path ${JSON.stringify(path)} ends in a slash; write ${JSON.stringify(path.replace(/\/+$/, '') || '/')}, which takes what lies beneath it as well`);
  }
}
