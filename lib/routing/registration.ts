import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CallSite } from '../call-site';
import type { MatchedRoute } from '../http/request';
import type { Path } from './given-path';
import type { AnyHandler, Handler, NextFunction, ParamHandler } from './handler';
import type { PathRules } from './path';
import type { Pattern } from './pattern';

/** One function of a route, for one method or, with `null`, for all. */
export interface RouteEntry {
  readonly method: string | null;
  readonly handler: AnyHandler;
  /** Where it was registered. */
  readonly site?: CallSite | undefined;
  /** What was registered, where a program has put another handler in its place. */
  readonly origin?: object | undefined;
}

/** What the list of an application needs of a router: by symbols, since a program keeps things on its application by names of its own, as it may on Express's. */
export interface RegisteredRouter extends Handler {
  /** Goes by what is registered, unless a program has put its own in the place of this. */
  handle(req: IncomingMessage, res: ServerResponse, next: NextFunction): void;
  /** What was registered, in order. */
  readonly [kRegistrations]: readonly Registration[];
  readonly [kParamHandlers]: ReadonlyMap<string, readonly ParamHandler[]>;
  /** The lists in it that nothing tells of. */
  readonly [kAssigned]: readonly Looked[];
  /** Whether what is in it can stand in that list: else it is called as a function. */
  [kJoins](rules: RoutingRules, patterns: readonly Pattern[]): boolean;
}

/** One registration, as plain data, in the order it was made; `isReplaced` of a route that a program has put a function in the place of. */
export type Registration<Router = RegisteredRouter, Route = MatchedRoute> =
  | { readonly kind: 'route'; readonly paths: readonly Path[]; readonly route: Route; readonly entries: readonly RouteEntry[]; readonly isReplaced?: boolean }
  | { readonly kind: 'middleware'; readonly paths: readonly Path[]; readonly handlers: readonly AnyHandler[]; readonly site?: CallSite | undefined; readonly origin?: Registration | undefined }
  | { readonly kind: 'mount'; readonly paths: readonly Path[]; readonly router: Router; readonly site: CallSite };

/** What holds for the routers in an application besides what its own paths are compared by. */
export interface RoutingRules extends PathRules {
  /** By what a router compares that has no options of its own. @default as the application */
  readonly within?: PathRules;
  /** Whether a router without the option `mergeParams` sees the parameters of its mount path. @default true */
  readonly mergeParams?: boolean;
  /** Whether what is called sees parameters that no pattern of its own has captured, and which a router may hide. @default false */
  readonly inherits?: boolean;
  /** Whether a router answers OPTIONS, where nothing in it has, with the methods of its routes. @default false */
  readonly answerOptions?: boolean;
}

/** The time of one table, or of several. */
export interface Era {
  isOver: boolean;
}

/** A list of layers that nothing tells of. */
export interface Looked {
  /** Has the eras of the tables end that it is in, where it has changed. */
  look(): void;
}

/* What the framework asks routers for. */
export const kRegistrations = Symbol('waypost.router.registrations');
export const kOnChange = Symbol('waypost.router.onChange');
export const kChanged = Symbol('waypost.router.changed');
export const kRegister = Symbol('waypost.router.register');
export const kUsed = Symbol('waypost.router.used');
export const kVet = Symbol('waypost.router.vet');
export const kVetPaths = Symbol('waypost.router.vetPaths');
export const kAssigned = Symbol('waypost.router.assigned');
export const kJoins = Symbol('waypost.router.joins');
export const kParamHandlers = Symbol('waypost.router.params');
