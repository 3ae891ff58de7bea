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

/** Paths as they are written in a program, for messages. */
export function writePaths(given: unknown): string {
  if (Array.isArray(given)) return `[${given.map(writePaths).join(', ')}]`;
  return types.isRegExp(given) ? String(given) : JSON.stringify(given);
}
