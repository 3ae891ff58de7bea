import { METHODS } from 'node:http';
import type { RouteVerb, Verb } from './verb-types';

/** A method for each HTTP method that Node knows, by its name in lower case. */
export interface Verbs {
  acl: Verb<this>;
  /** With a path, handles BIND; else as that of any function. */
  bind: Verb<this> & CallableFunction['bind'];
  checkout: Verb<this>;
  connect: Verb<this>;
  copy: Verb<this>;
  delete: Verb<this>;
  /** Handles GET, and HEAD unless a HEAD route of the same shape exists (INTERFACE section 4.1). */
  get: Verb<this>;
  head: Verb<this>;
  link: Verb<this>;
  lock: Verb<this>;
  'm-search': Verb<this>;
  merge: Verb<this>;
  mkactivity: Verb<this>;
  mkcalendar: Verb<this>;
  mkcol: Verb<this>;
  move: Verb<this>;
  notify: Verb<this>;
  options: Verb<this>;
  patch: Verb<this>;
  post: Verb<this>;
  propfind: Verb<this>;
  proppatch: Verb<this>;
  purge: Verb<this>;
  put: Verb<this>;
  query: Verb<this>;
  rebind: Verb<this>;
  report: Verb<this>;
  search: Verb<this>;
  source: Verb<this>;
  subscribe: Verb<this>;
  trace: Verb<this>;
  unbind: Verb<this>;
  unlink: Verb<this>;
  unlock: Verb<this>;
  unsubscribe: Verb<this>;
  /** Handles every method. */
  all: Verb<this>;
}

/** The verbs of a route, whose path is known. */
export type RouteVerbs<Self> = Record<keyof Verbs, RouteVerb<Self>>;

/**
 * Gives a prototype one method for each of Node's HTTP methods, and `all`.
 * @param makeVerb Makes it of the HTTP method, `null` for all, and its own name.
 */
export function addVerbs(prototype: object, makeVerb: (method: string | null, name: string) => unknown): void {
  for (const method of [...METHODS, null]) {
    const name = method === null ? 'all' : method.toLowerCase();
    Object.defineProperty(prototype, name, { value: makeVerb(method, name), writable: true, configurable: true });
  }
}
