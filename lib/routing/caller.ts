import type { Request } from '../http/request';
import { pathStart } from '../target/target';
import type { NextFunction } from './handler';
import type { Lookup } from './layer-index';
import type { Pattern } from './patterns/pattern';
import type { RoutingRules } from './rules';
import type { Contract } from '../schema/contracted';
import type { RequestWatch } from './watch';

/** The innermost active run of a request. */
export const kRun = Symbol('waypost.request.run');

/** A request on its way. */
export type RoutedRequest = Request & { [kRun]?: Caller | undefined };

/** A prefix that was removed from a URL: in front of `req.url` it gives the target. Null in its place means an unknown target, for which all scopes are asked. */
export interface RemovedPrefix {
  readonly prefix: string;
  /** True when a slash replaced it. */
  readonly isSlashAdded: boolean;
  /** True when it was removed from the whole URL, as routes of `createServer` see it. */
  readonly isWhole?: boolean;
  /** The one URL that it belongs to, if another may have another prefix: connect removes more than it adds to the base. */
  readonly validForUrl?: string | undefined;
  /** The URL before, the URL after, and the base then; undefined where the program removed it. */
  readonly before?: string;
  readonly after?: string | undefined;
  readonly base?: string;
}

export const NO_PREFIX: RemovedPrefix = Object.freeze({ prefix: '', isSlashAdded: false });

/** The run that calls a router: another router's, or an application's. */
export interface Caller {
  readonly req: RoutedRequest;
  /** Goes on here; a router called with another function is called by the program. */
  readonly next: NextFunction | undefined;
  /** The application's run; null for a router outside of any. */
  readonly root: ApplicationRoot | null;
  readonly parent: Caller | undefined;
  readonly rules: RoutingRules;
  readonly watch: RequestWatch | null;
  /** The prefix that the caller removed before this began; null where `req.baseUrl` contradicts it. */
  readonly entered: RemovedPrefix | null;
  /** The base that the active layer was called with. */
  readonly shownBase: string;
  /** Path of the mounts around, from the application on, as routes of `createServer` see it. */
  readonly mountPath: string;
  /** True when the mount path is not empty. */
  readonly isBeneath: boolean;
  /** The pattern of the mounts around. */
  readonly mountPattern: string;
  readonly pattern: Pattern | undefined;
  /** The active layer's pattern behind the mount pattern. */
  readonly route: string;
  /** The request target as the application reads it; null when unknown. */
  readonly target: string | null;
  /** Returns the prefix removed for a router that begins now with that base. */
  enteredBy(req: Request, baseUrl: string): RemovedPrefix | null;
  /** The path that a router has looked up; null for an application. */
  readonly lookup: Lookup | null;
  /** Index of the next step in its plan. */
  readonly cursor: number;
  /** Leaves the router with an error, without a call of any function in it. */
  fail(error: unknown): void;
}

/** A request's run through one application. */
export interface ApplicationRoot extends Caller {
  readonly root: ApplicationRoot;
  /** The entrance of the application. */
  readonly host: object;
  /** True for a request with a body. */
  readonly hasBody: boolean;
  /** The run that reached a route last, in mounted routers too. */
  reached: { readonly reachedRoute: string } | undefined;
  /** True once the application has answered instead of a handler: nothing is called any more. */
  readonly isStopped: boolean;
  /** Ignores a call of `next`; an error behind the answer is logged. */
  drop(error: unknown): void;
  /** Inflates and parses the body for the first handler of a route; calls back with its error. @param contract The route's own, if it has one. */
  prepareBody(contract: Contract | undefined, done: (error: unknown) => void): void;
  /** Sets the route's own time for an answer to begin, in milliseconds; 0 is no limit. */
  limit(timeout: number): void;
  /** True where the application, or one around it, checks signatures. */
  readonly isChecked: boolean;
  /** Pending while a check runs, or has refused the request: no `next` counts. All applications share it. */
  readonly admission: { isPending: boolean };
  /** Method and target that were admitted last, as the application reads them. */
  admittedMethod: string | undefined;
  admittedTarget: string | undefined;
  /**
   * Asks the scope of the application; calls back once the request has the target's signatures. It answers a request that it refuses.
   * @param target Null when unknown: every signature is required.
   */
  ask(method: string, target: string | null, admitted: () => void): void;
}

/** A URL without a prefix as the application reads it, with the prefix; null when unknown. */
export function targetBeneath(caller: Caller | undefined, removed: RemovedPrefix | null, url: string): string | null {
  if (removed === null || (removed.validForUrl !== undefined && removed.validForUrl !== url)) return null;
  const shown = restorePrefix(url, removed);
  return caller === undefined || caller === caller.root || removed.isWhole === true ? shown : targetBeneath(caller.parent, caller.entered, shown);
}

/** Joins a pattern to that of the mounts around. */
export function joinPatterns(base: string, text: string): string {
  if (base === '' || base === '/') return text;
  if (text === '/') return base;
  return (base.endsWith('/') ? base.slice(0, -1) : base) + text;
}

/** Restores the prefix that was removed from a URL, as Express does. */
export function restorePrefix(url: string, { prefix, isSlashAdded, before, after }: RemovedPrefix): string {
  if (prefix === '') return url;
  if (url === after) return before as string;
  const start = pathStart(url);
  let rest = url.slice(start);
  const isBare = rest === '/' || rest.startsWith('/?');
  if (isSlashAdded && (isBare || (prefix.endsWith('/') && rest.startsWith('/')))) rest = rest.slice(1);
  return url.slice(0, start) + prefix + rest;
}
