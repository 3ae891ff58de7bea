import { types } from 'node:util';
import type { Path, Paths } from './handler';

/** Whether what `use` was given first is a path, or paths in arrays, and no handler. */
export function isPaths(given: unknown): given is Paths {
  const paths: unknown[] = Array.isArray(given) ? given.flat(Infinity) : [given];
  return paths.length > 0 && paths.every((path) => typeof path === 'string' || types.isRegExp(path));
}

/** Paths as one list, out of arrays of them. @throws TypeError where there is none. */
export function listPaths(given: Paths): readonly Path[] {
  if (!Array.isArray(given)) return [given as Path];
  const paths = (given as readonly unknown[]).flat(Infinity) as Path[];
  if (paths.length === 0) throw new TypeError('an array of paths must hold at least one path');
  return paths;
}

/**
 * Checks what a registration is given first, where that must be a path.
 * @param where What registers it, for the message.
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

/** A segment that is `*`, and what stands around it. */
const STAR = /(?<=^|[/{])\*(?=[/}]|$)/g;

/**
 * Refuses what Express 4 reads as everything below, Express 5 not at all, and
 * waypost as one segment: a program that comes from there would lose routes, or guards, in silence.
 * @throws TypeError that says what to write instead.
 */
export function refuseStars(paths: readonly Path[]): void {
  for (const path of paths) {
    if (typeof path !== 'string' || path.replace(STAR, '') === path) continue;
    throw new TypeError(
      `route pattern ${JSON.stringify(path)} has a "*" alone in its segment, which took everything in Express 4 and takes one segment in waypost; `
      + `write ${JSON.stringify(renamed(path, (index) => `{*${index}}`))} for everything, or ${JSON.stringify(renamed(path, (index) => `:${index}`))} for one segment`,
    );
  }
}

function renamed(path: string, write: (name: string) => string): string {
  let count = 0;
  return path.replace(STAR, () => write(count++ === 0 ? 'name' : `name${count}`));
}
