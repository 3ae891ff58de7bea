import { METHODS } from 'node:http';
import type { RouteVerb, Verb } from './verb-types';

/** A method for each HTTP method that Node knows, by its name in lower case. */
export interface Verbs {
  /** Registers handlers of ACL requests. */
  acl: Verb<this>;
  /** Registers handlers of BIND requests if given a path; else binds as any function does. */
  bind: Verb<this> & CallableFunction['bind'];
  /** Registers handlers of CHECKOUT requests. */
  checkout: Verb<this>;
  /** Registers handlers of CONNECT requests. */
  connect: Verb<this>;
  /** Registers handlers of COPY requests. */
  copy: Verb<this>;
  /** Registers handlers of DELETE requests. */
  delete: Verb<this>;
  /**
   * Registers handlers of GET requests, and of HEAD unless the route has handlers for it. See INTERFACE section 4.1.
   * @example
   * router.get('/users/:id', (req, res) => res.json({ id: req.params.id }));
   */
  get: Verb<this>;
  /** Registers handlers of HEAD requests. */
  head: Verb<this>;
  /** Registers handlers of LINK requests. */
  link: Verb<this>;
  /** Registers handlers of LOCK requests. */
  lock: Verb<this>;
  /** Registers handlers of M-SEARCH requests. */
  'm-search': Verb<this>;
  /** Registers handlers of MERGE requests. */
  merge: Verb<this>;
  /** Registers handlers of MKACTIVITY requests. */
  mkactivity: Verb<this>;
  /** Registers handlers of MKCALENDAR requests. */
  mkcalendar: Verb<this>;
  /** Registers handlers of MKCOL requests. */
  mkcol: Verb<this>;
  /** Registers handlers of MOVE requests. */
  move: Verb<this>;
  /** Registers handlers of NOTIFY requests. */
  notify: Verb<this>;
  /** Registers handlers of OPTIONS requests. */
  options: Verb<this>;
  /** Registers handlers of PATCH requests. */
  patch: Verb<this>;
  /** Registers handlers of POST requests. */
  post: Verb<this>;
  /** Registers handlers of PROPFIND requests. */
  propfind: Verb<this>;
  /** Registers handlers of PROPPATCH requests. */
  proppatch: Verb<this>;
  /** Registers handlers of PURGE requests. */
  purge: Verb<this>;
  /** Registers handlers of PUT requests. */
  put: Verb<this>;
  /** Registers handlers of QUERY requests. */
  query: Verb<this>;
  /** Registers handlers of REBIND requests. */
  rebind: Verb<this>;
  /** Registers handlers of REPORT requests. */
  report: Verb<this>;
  /** Registers handlers of SEARCH requests. */
  search: Verb<this>;
  /** Registers handlers of SOURCE requests. */
  source: Verb<this>;
  /** Registers handlers of SUBSCRIBE requests. */
  subscribe: Verb<this>;
  /** Registers handlers of TRACE requests. */
  trace: Verb<this>;
  /** Registers handlers of UNBIND requests. */
  unbind: Verb<this>;
  /** Registers handlers of UNLINK requests. */
  unlink: Verb<this>;
  /** Registers handlers of UNLOCK requests. */
  unlock: Verb<this>;
  /** Registers handlers of UNSUBSCRIBE requests. */
  unsubscribe: Verb<this>;
  /** Registers handlers of every method. */
  all: Verb<this>;
}

/** The verbs of a route, whose path is known. */
export type RouteVerbs<Self, P> = { [Name in keyof Verbs]: RouteVerb<Self, P> };

/**
 * Adds one method to a prototype for each of Node's HTTP methods, and `all`.
 * @param makeVerb Makes it of the HTTP method, `null` for all, and its own name.
 */
export function addVerbs(prototype: object, makeVerb: (method: string | null, name: string) => unknown): void {
  for (const method of [...METHODS, null]) {
    const name = method === null ? 'all' : method.toLowerCase();
    Object.defineProperty(prototype, name, { value: makeVerb(method, name), writable: true, configurable: true });
  }
}
