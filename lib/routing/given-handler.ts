import { describe } from '../options/field';

/**
 * Checks one of the functions that a registration is given.
 * @param where The registration, for the message.
 * @param mounts True where it may be a router, too.
 * @throws TypeError that says what to write instead of a known mistake.
 */
export function checkHandler(given: unknown, where: string, mounts = false): void {
  if (typeof given === 'function') return;
  throw new TypeError(`${where}: argument handler must be a function, ${mounts ? 'middleware or a router, ' : ''}got ${describe(given)}${hintFor(given)}`);
}

function hintFor(given: unknown): string {
  if (given === undefined) return ': is it exported by that name, and do no two modules wait for each other?';
  if (typeof given !== 'object' || given === null) return '';
  if (has(given, 'then')) return ': await it first';
  if (has(given, 'default')) return ': it is a module, of which the default is meant';
  return has(given, 'schema') || has(given, 'preHandler') || has(given, 'config') ? ': options of a route are Fastify\'s; write functions before the last one' : '';
}

function has(given: object, name: string): boolean {
  const value = (given as Record<string, unknown>)[name];
  return typeof value === 'function' || (typeof value === 'object' && value !== null && name !== 'then' && name !== 'default');
}
