import { METHODS } from 'node:http';
import type { RouteVerb, Verb } from './verb-types';

/** A method for each HTTP method that Node knows, by its name in lower case. */
export interface Verbs {
  /** Handles ACL. */
  acl: Verb<this>;
  /** With a path, handles BIND; else as that of any function. */
  bind: Verb<this> & CallableFunction['bind'];
  /** Handles CHECKOUT. */
  checkout: Verb<this>;
  /** Handles CONNECT. */
  connect: Verb<this>;
  /** Handles COPY. */
  copy: Verb<this>;
  /** Handles DELETE. */
  delete: Verb<this>;
  /** Handles GET, and HEAD unless a HEAD route of the same shape exists (INTERFACE section 4.1). */
  get: Verb<this>;
  /** Handles HEAD. */
  head: Verb<this>;
  /** Handles LINK. */
  link: Verb<this>;
  /** Handles LOCK. */
  lock: Verb<this>;
  /** Handles M-SEARCH. */
  'm-search': Verb<this>;
  /** Handles MERGE. */
  merge: Verb<this>;
  /** Handles MKACTIVITY. */
  mkactivity: Verb<this>;
  /** Handles MKCALENDAR. */
  mkcalendar: Verb<this>;
  /** Handles MKCOL. */
  mkcol: Verb<this>;
  /** Handles MOVE. */
  move: Verb<this>;
  /** Handles NOTIFY. */
  notify: Verb<this>;
  /** Handles OPTIONS. */
  options: Verb<this>;
  /** Handles PATCH. */
  patch: Verb<this>;
  /** Handles POST. */
  post: Verb<this>;
  /** Handles PROPFIND. */
  propfind: Verb<this>;
  /** Handles PROPPATCH. */
  proppatch: Verb<this>;
  /** Handles PURGE. */
  purge: Verb<this>;
  /** Handles PUT. */
  put: Verb<this>;
  /** Handles QUERY. */
  query: Verb<this>;
  /** Handles REBIND. */
  rebind: Verb<this>;
  /** Handles REPORT. */
  report: Verb<this>;
  /** Handles SEARCH. */
  search: Verb<this>;
  /** Handles SOURCE. */
  source: Verb<this>;
  /** Handles SUBSCRIBE. */
  subscribe: Verb<this>;
  /** Handles TRACE. */
  trace: Verb<this>;
  /** Handles UNBIND. */
  unbind: Verb<this>;
  /** Handles UNLINK. */
  unlink: Verb<this>;
  /** Handles UNLOCK. */
  unlock: Verb<this>;
  /** Handles UNSUBSCRIBE. */
  unsubscribe: Verb<this>;
  /** Handles every method. */
  all: Verb<this>;
}

/** The verbs of a route, whose path is known. */
export type RouteVerbs<Self, P> = Record<keyof Verbs, RouteVerb<Self, P>>;

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
