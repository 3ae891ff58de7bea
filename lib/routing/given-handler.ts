import { describe } from '../options/field';

/**
 * Checks one of the functions that a registration is given.
 * @param where The registration, for the message.
 * @param mounts True where it may be a router, too.
 * @throws TypeError that says what to write instead of a known mistake.
 */
export function checkHandler(given: unknown, where: string, mounts = false): void {
  if (typeof given === 'function' && !('~standard' in given)) return;
  throw new TypeError(`${where}: argument handler must be a function, ${mounts ? 'middleware or a router, ' : ''}got ${describe(given)}${hintFor(given, mounts)}`);
}

function hintFor(given: unknown, mounts: boolean): string {
  if (given === undefined) return ': is it exported by that name, and do no two modules wait for each other?';
  if (typeof given === 'function' || (typeof given === 'object' && given !== null && '~standard' in given)) return ', which is a schema: write { body: schema } before the handlers, or params, query or headers for body';
  if (typeof given !== 'object' || given === null) return '';
  if (has(given, 'then')) return ': await it first';
  if (has(given, 'default')) return ': it is a module, of which the default is meant';
  return mounts || Array.isArray(given) ? '' : ': options of a route are one object before its handlers';
}

/** True for the options of a route: an object that is no slip for a handler. */
export function isRouteOptions(given: unknown): given is object {
  return typeof given === 'object' && given !== null && !Array.isArray(given) && !has(given, 'then') && !has(given, 'default');
}

function has(given: object, name: string): boolean {
  return typeof (given as Record<string, unknown>)[name] === 'function';
}
