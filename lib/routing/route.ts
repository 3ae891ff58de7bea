import type { IncomingMessage, ServerResponse } from 'node:http';
import { CallSite } from '../call-site';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import { late } from '../packages';
import { type Contract, type Contracted, kContract } from '../schema/contracted';
import { checkHandler, isRouteOptions } from './given-handler';
import { listPaths, type Path, writePaths } from './given-path';
import { kRun, type RoutedRequest } from './caller';
import type { AnyHandler, NextFunction } from './handler';
import { Layer } from './layer';
import type { Params } from './patterns/params';
import { EXACT } from './patterns/path';
import { parsePattern } from './patterns/pattern';
import { RouteRun } from './route-run';
import { addVerbs, type RouteVerbs } from './verb';

export const ROOT: readonly Path[] = Object.freeze(['/']);
const
  contracts = late(() => require('../schema/contract') as typeof import('../schema/contract')),
  guards = late(() => require('../schema/guard') as typeof import('../schema/guard'));

/* eslint-disable @typescript-eslint/no-unsafe-declaration-merging, @typescript-eslint/no-empty-object-type -- the verbs are made in a loop */
export interface Route<P = Params> extends RouteVerbs<Route<P>, P> {}

/** One route, as `route(path)` returns it: handlers for each method. */
// eslint-disable-next-line @typescript-eslint/no-unused-vars -- the verbs take it
export class Route<P = Params> {
  /** The path as it was registered. */
  readonly path: Path | readonly Path[];
  /** The handlers in order. */
  stack: Layer[] = [];
  /** The methods that it handles, in lower case; `_all` for every method. */
  readonly methods = Object.create(null) as Record<string, boolean>;

  readonly #isWhole: boolean;
  /** Contracts with limits of their own by method, in lower case. */
  #limits: Map<string, Contract> | null = null;

  /** @param isWhole True where no mount adds parameters to those of the path. */
  constructor(path: Path | readonly Path[], isWhole = false) {
    this.path = path;
    this.#isWhole = isWhole;
  }

  /** Returns true for a method whose requests it handles. */
  handles(method: unknown): boolean {
    return handles(this.methods, method);
  }

  /** @internal The methods that it handles, in upper case, with HEAD for GET; `*` for all. */
  methodNames(): string[] {
    const names = Object.keys(this.methods).map((name) => (name === '_all' ? '*' : name.toUpperCase()));
    return this.methods['get'] === true && this.methods['head'] !== true ? [...names, 'HEAD'] : names;
  }

  /** @internal The contract that limits bodies of a method, if any does. */
  contractFor(method: unknown): Contract | undefined {
    if (this.#limits === null) return undefined;
    const name = lowerCase(method);
    return this.#limits.get(name) ?? (name === 'head' ? this.#limits.get('get') : undefined) ?? this.#limits.get('_all');
  }

  /** Runs the handlers of the request's method one after another, then calls `done`. */
  dispatch(req: IncomingMessage, res: ServerResponse, done: NextFunction): void {
    (req as Request).route = this;
    const { stack } = this;
    if (stack.length === 0) return done();
    const method = lowerCase(req.method);
    new RouteRun(stack, method === 'head' && this.methods['head'] !== true ? 'get' : method, req as Request, res as Response, done).next();
  }

  /** @internal Adds handlers for a method; `null` for all. */
  add(method: string | null, given: readonly unknown[]): this {
    const where = `route ${writePaths(this.path)}`;
    const handlers = flattenHandlers(given, where);
    const agreed = handlers.flatMap((handler) => (handler as Contracted)[kContract] ?? []);
    const site = new CallSite();
    const name = method?.toLowerCase();
    if (agreed.length > 0) this.#agree(agreed, method, where);
    for (const handler of handlers) {
      this.methods[name ?? '_all'] = true;
      this.stack.push(new Layer('/', ROOT, handler, site, undefined, name));
    }
    return this;
  }

  /** Holds contracts to the path, and keeps their limits. */
  #agree(agreed: readonly Contract[], method: string | null, where: string): void {
    const names = this.#isWhole ? listPaths(this.path).flatMap((path) => parsePattern(path, EXACT).flatMap((pattern) => pattern.names)) : null;
    contracts().checkContracts(agreed, where, method, names);
    const limit = agreed.find(({ body, bodyLimit }) => body === false || bodyLimit !== undefined);
    if (limit !== undefined) (this.#limits ??= new Map<string, Contract>()).set(method?.toLowerCase() ?? '_all', limit);
  }
}

addVerbs(Route.prototype, (method) => function verb(this: Route, ...handlers: unknown[]): Route {
  return this.add(method, handlers);
});

/** Returns true if one of the methods handles the request's: GET handles HEAD too. */
export function handles(methods: Readonly<Record<string, boolean>>, method: unknown): boolean {
  if (methods['_all'] === true) return true;
  const name = lowerCase(method);
  return methods[name] === true || (name === 'head' && methods['get'] === true);
}

/** Lower case of common methods, which spares a conversion. */
const LOWER: Readonly<Record<string, string>> = { GET: 'get', HEAD: 'head', POST: 'post', PUT: 'put', DELETE: 'delete', PATCH: 'patch', OPTIONS: 'options' };

/** Lower case of a method, as Express compares it; the program may assign any value to req.method. */
function lowerCase(method: unknown): string {
  return typeof method === 'string' ? LOWER[method] ?? method.toLowerCase() : '';
}

/**
 * The handlers of a registration as one list, out of arrays of them; options before them become the function that holds requests to them.
 * @param where The registration, for the message.
 * @throws TypeError for no handler, or a value that is none.
 */
export function flattenHandlers(given: readonly unknown[], where: string): AnyHandler[] {
  const handlers = given.flat(Infinity);
  if (isRouteOptions(handlers[0]) && handlers.length > 1) handlers[0] = guards().guardOf(contracts().readContract(handlers[0], where, true), (req, timeout) => (req as RoutedRequest)[kRun]?.root?.limit(timeout));
  if (handlers.length === 0) throw new TypeError(`${where}: argument handler is required, give it one function or more`);
  for (const handler of handlers) checkHandler(handler, where);
  return handlers as AnyHandler[];
}
