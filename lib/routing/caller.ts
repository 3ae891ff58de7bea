import type { Request } from '../http/request';
import { pathStart } from '../target/target';
import type { NextFunction } from './handler';
import type { AnyLayer } from './layer';
import type { Lookup } from './layer-index';
import type { Pattern } from './patterns/pattern';
import type { RoutingRules } from './rules';
import type { RequestWatch } from './watch';

/** The innermost active run of a request. */
export const kRun = Symbol('waypost.request.run');

/** A request on its way. */
export type RoutedRequest = Request & { [kRun]?: Caller | undefined };

/** A prefix that was taken off a URL. */
export interface Removed {
  readonly prefix: string;
  /** Whether a slash was put in its place. */
  readonly isSlashAdded: boolean;
  /** Whether it was taken off the URL from the application on, as routes of `createServer` see it. */
  readonly isWhole?: boolean;
  /** The one URL of which the prefix can be told, where a caller may have taken more off than the base says, as connect does. */
  readonly onlyOf?: string | undefined;
  /** The URL that it was taken off, what was left, and the base then; undefined where the program did so. */
  readonly from?: string;
  readonly left?: string | undefined;
  readonly base?: string;
}

export const NOTHING: Removed = Object.freeze({ prefix: '', isSlashAdded: false });

/** What a router may be called in: the run of another, or of an application. */
export interface Caller {
  readonly req: RoutedRequest;
  /** Goes on here; what is given another is called by the program. */
  readonly next: NextFunction | undefined;
  /** The application's; null for a router outside of any. */
  readonly root: ApplicationRoot | null;
  readonly parent: Caller | undefined;
  readonly rules: RoutingRules;
  readonly watch: RequestWatch | null;
  /** The prefix that the caller had taken off when this began; null where `req.baseUrl` contradicts that. */
  readonly entered: Removed | null;
  /** The base that what runs was called with. */
  readonly shownBase: string;
  /** The path of the mounts around, from the application on, as routes of `createServer` see it. */
  readonly mountPath: string;
  /** Whether that is of any length. */
  readonly isBeneath: boolean;
  /** The pattern of the mounts around, behind which that of what runs stands. */
  readonly mountPattern: string;
  readonly pattern: Pattern | undefined;
  /** What runs; undefined for an application. */
  readonly layer: AnyLayer | undefined;
  /** Both together. */
  readonly route: string;
  /** The request target as the application reads it; null where it can't be told. */
  readonly target: string | null;
  /** The prefix that is taken off for what begins now with that base. */
  enteredBy(req: Request, baseUrl: string): Removed | null;
  /** The path that a router looks at; null for an application. */
  readonly lookup: Lookup | null;
  /** Place in its plan of what comes next. */
  readonly cursor: number;
  /** Ends with an error that no function within may be called with. */
  fail(error: unknown): void;
}

/** A request's way through one application. */
export interface ApplicationRoot extends Caller, AdmissionRoot {
  readonly root: ApplicationRoot;
  /** The application's way of requests. */
  readonly host: object;
  /** Whether the request has a body. */
  readonly hasBody: boolean;
  /** The run that has reached a route last, in what is mounted here too. */
  reached: { readonly reachedRoute: string } | undefined;
  /** Whether the request was answered in the place of its handler: nothing is called any more. */
  readonly isStopped: boolean;
  /** Takes a call of `next` that counts for nothing: the error of one that comes behind the answer is logged. */
  drop(error: unknown): void;
  /** Has the body inflated and parsed for the first handler of a route; calls back with the error that it came to. */
  prepareBody(done: (error: unknown) => void): void;
}

/** The signature checks of one application, as one request meets them. */
export interface AdmissionRoot {
  /** Whether the application, or one around it, checks signatures. */
  readonly isChecked: boolean;
  /** Whether a check has refused the request, or not let it go on yet: no `next` counts. One for all applications that have it. */
  readonly admission: { isPending: boolean };
  /** Method and target that were admitted last, as the application reads them. */
  admittedMethod: string | undefined;
  admittedTarget: string | undefined;
  /**
   * Asks the scope of the application; calls back when the request has the signatures that the target needs. It answers what it refuses.
   * @param target Null for one that can't be told: it needs all of them.
   */
  ask(method: string, target: string | null, admitted: () => void): void;
}

/** A URL beneath a prefix that a caller has taken off, as the application reads it; null where it can't be told. */
export function targetBeneath(caller: Caller | undefined, removed: Removed | null, url: string): string | null {
  if (removed === null || (removed.onlyOf !== undefined && removed.onlyOf !== url)) return null;
  const shown = restored(url, removed);
  return caller === undefined || caller === caller.root || removed.isWhole === true ? shown : targetBeneath(caller.parent, caller.entered, shown);
}

/** A pattern behind that of the mounts around. */
export function joinPatterns(base: string, text: string): string {
  if (base === '' || base === '/') return text;
  if (text === '/') return base;
  return (base.endsWith('/') ? base.slice(0, -1) : base) + text;
}

/** A URL with the prefix that was taken off, as Express puts it back. */
export function restored(url: string, { prefix, isSlashAdded, from, left }: Removed): string {
  if (prefix === '') return url;
  if (url === left) return from as string;
  const start = pathStart(url);
  let rest = url.slice(start);
  const isBare = rest === '/' || rest.startsWith('/?');
  if (isSlashAdded && (isBare || (prefix.endsWith('/') && rest.startsWith('/')))) rest = rest.slice(1);
  return url.slice(0, start) + prefix + rest;
}
