import type { IncomingMessage, ServerResponse } from 'node:http';
import { CallSite } from '../call-site';
import { receivedMethod } from '../http/received-method';
import { kOriginalMethod } from '../http/request-state';
import type { Response } from '../http/response';
import { describe } from '../options/field';
import { checkHandler } from './given-handler';
import { checkPath, isPaths, listPaths, type Path, type Paths, writePaths } from './given-path';
import type { AnyHandler, Handler, NextFunction, ParamHandler } from './handler';
import { kMounted, Layer, type Mounted } from './layer';
import { MountedRouter } from './mounted-router';
import { readParam } from './param';
import type { PathParams } from './params-type';
import { parsePattern, parsePrefix } from './patterns/pattern';
import { EXACT } from './patterns/path';
import { flattenHandlers, ROOT, Route } from './route';
import { EXPRESS_RULES, type RouterOptions, type RoutingRules } from './rules';
import { type Caller, kRun, type RoutedRequest, targetBeneath } from './caller';
import { RouterRun } from './run';
import { addVerbs, type Verbs } from './verb';
import type { Use } from './verb-types';
import { RequestWatch } from './watch';

/** One path of a route, or of a router that is mounted. */
export interface ListedPath {
  readonly path: Path;
  /** Methods of a route, in upper case, with HEAD for GET, `*` for every method. Undefined for a router. */
  readonly methods: string[] | undefined;
  /** The mounted router, which lists its own paths; undefined for a route. */
  readonly router: Router | undefined;
}

/** A router or an application, by the name of Express's types. */
export interface IRouter extends Verbs {
  /** Adds middleware, error middleware or routers. */
  use: Use<this>;
  /** Registers a route without handlers yet, to add them method by method. @throws TypeError when a pattern is wrong. */
  route<const Given extends Path>(path: Given | readonly Given[]): Route<PathParams<Given>>;
  /** Calls back with the value of a parameter before each layer whose path holds it. @throws TypeError for a wrong name, or a handler that is no function. */
  param(name: string | readonly string[], handler: ParamHandler): this;
}

/* eslint-disable @typescript-eslint/no-unsafe-declaration-merging -- the constructor returns a function that has this class's methods, and the verbs are made in a loop */
/** A router is middleware of connect, Express or an application. */
export interface Router extends IRouter {
  (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void): void;
}

/** A group of routes and middleware that is mounted under a path (INTERFACE section 4.1). Made by `Router()`. */
export class Router {
  /** True if `/A` and `/a` are two paths; undefined as the application. */
  declare caseSensitive: boolean | undefined;
  /** True if `/a/` and `/a` are two paths; undefined as the application. */
  declare strict: boolean | undefined;
  /** True if handlers see the parameters of the mount path; undefined as the application. */
  declare mergeParams: boolean | undefined;
  /** Handlers of parameters by name. */
  declare params: Record<string, ParamHandler[]>;
  /** @internal */
  declare readonly [kMounted]: MountedRouter;

  constructor(options?: RouterOptions | null) {
    const router = ((req: IncomingMessage, res: ServerResponse, next: NextFunction): void => router.handle(req, res, next)) as unknown as Router;
    Object.setPrototypeOf(router, new.target.prototype);
    Object.defineProperty(router, 'stack', STACK);
    return Object.assign(router, {
      caseSensitive: options?.caseSensitive,
      mergeParams: options?.mergeParams,
      strict: options?.strict,
      params: {},
      [kMounted]: new MountedRouter(router),
    });
  }

  /** The layers in order, as Express's `stack`: the program may change it, and each `handle`. */
  get stack(): Layer[] {
    this[kMounted].isStackRead = true;
    return this[kMounted].layers;
  }

  set stack(layers: Layer[]) {
    this[kMounted].isStackRead = true;
    this[kMounted].layers = layers;
    this[kMounted].version++;
  }

  /**
   * Runs a request down the stack, as Express's routers do.
   * @param next Goes on behind the router, or with an error.
   */
  handle(message: IncomingMessage, response: ServerResponse, next: NextFunction): void {
    if (typeof (next as unknown) !== 'function') throw new TypeError(`argument callback is required: a router is called as (req, res, next), got ${describe(next)} for next; write createServer().use(router) to serve it by itself`);
    const req = message as RoutedRequest;
    const res = response as Response;
    // Another framework's request may lack anything.
    if (typeof req.url !== 'string' || req.url === '') return next();
    req.originalUrl ||= req.url;
    const parent = req[kRun];
    const { entrance } = this[kMounted];
    // The application checks signatures on entry.
    if (entrance !== null && (parent?.root?.host !== entrance || isAlias(parent, req))) return entrance.take(req, res, next);
    const around = parent?.rules ?? EXPRESS_RULES;
    let rules: RoutingRules;
    try {
      rules = this[kMounted].rulesWithin(around);
    } catch (error) {
      return next(error);
    }
    if (parent === undefined) req[kOriginalMethod] ??= receivedMethod(req, response);
    const watch = parent === undefined ? RequestWatch.ifTraced(req, res, false) : parent.watch;
    new RouterRun(this, req, res, next, rules, watch).start();
  }

  /**
   * Calls back with the value of a parameter before each layer whose path holds
   * it. It is called once for each value in a request, for layers of this router
   * alone. `*` and `**` name the captures of wildcards.
   * @throws TypeError for a wrong name, or a handler that is no function.
   */
  param(name: string | readonly string[], handler: ParamHandler): this {
    for (const each of readParam(name, handler)) {
      if (Object.hasOwn(this.params, each)) (this.params[each] as ParamHandler[]).push(handler);
      else this.params[each] = [handler];
    }
    return this;
  }

  /**
   * Registers a route without handlers yet, to add them method by method. Its
   * place in the order is that of this call.
   * @throws TypeError when a pattern is wrong.
   * @example
   * app.route('/users/:id')
   *   .get((req, res) => res.json({ id: req.params.id }))
   *   .delete((req, res) => res.status(204).end());
   */
  route<const Given extends Path>(path: Given | readonly Given[]): Route<PathParams<Given>>;
  route(path: Paths, ...more: unknown[]): Route {
    checkPath(path, 'route(…)');
    if (typeof more[0] === 'function') throw new TypeError(`route(${writePaths(path)}) takes a path alone; write app.use(${writePaths(path)}, router) to mount one, as Hono's route(path, app) does`);
    const paths = listPaths(path);
    for (const each of paths) parsePattern(each, EXACT);
    const route = new Route(Array.isArray(path) ? (path as Path[]).flat(Infinity) : path, this[kMounted].home !== null);
    const handle: Handler = (req, res, next) => route.dispatch(req, res, next);
    this[kMounted].add(new Layer(path, paths, handle, new CallSite(), route));
    return route;
  }

  /** Lists the paths of routes and mounted routers in order, as Express does. */
  listRoutes(): ListedPath[] {
    return this[kMounted].layers.flatMap((layer) => {
      const { route, handle } = layer;
      const router = route === undefined && handle instanceof Router ? handle : undefined;
      if (route === undefined && router === undefined) return [];
      return layer.paths.map((path) => ({ path, methods: route?.methodNames(), router }));
    });
  }
}

Object.defineProperty(Router.prototype, 'use', { value: use, writable: true, configurable: true });

function use(this: Router, ...given: unknown[]): Router {
  const { path, paths, handlers } = readUse(given);
  for (const handler of handlers) if (reaches((handler as { readonly [kMounted]?: Mounted })[kMounted], this[kMounted])) throw new TypeError('use(…) would mount a router inside itself');
  const site = new CallSite();
  for (const handler of handlers) this[kMounted].add(new Layer(path, paths, handler, site));
  return this;
}

/** Own property `stack`, as Express's routers have it: wrappers copy it. */
const STACK = { ...Object.getOwnPropertyDescriptor(Router.prototype, 'stack'), enumerable: true };

// Node and others call a router by a function's `call` and `apply`.
Object.setPrototypeOf(Router.prototype, Function.prototype);

addVerbs(Router.prototype, (_method, name) => function verb(this: Router, path: Paths, ...handlers: unknown[]): unknown {
  // Any function has a method `bind` too.
  if (name === 'bind' && !isPaths(path)) return Function.prototype.bind.apply(this as never, [path, ...handlers] as never);
  addRoute(this, name, path, handlers);
  return this;
});

/** Registers a route of one method by the host's methods, which the program may replace. */
export function addRoute(host: { route(path: Paths): Route }, verb: string, path: Paths, given: readonly unknown[]): void {
  const where = `${verb}(${writePaths(path)}, …)`;
  checkPath(path, where);
  const handlers = flattenHandlers(given, where);
  host.route(path)[verb as 'all'](...(handlers as Handler[]));
}

/** Reads the arguments of `use`. @throws TypeError for a wrong path, or a handler that is neither function nor router. */
export function readUse(given: readonly unknown[]): { readonly path: Paths; readonly paths: readonly Path[]; readonly handlers: readonly AnyHandler[] } {
  const withPath = isPaths(given[0]);
  const path = withPath ? (given[0] as Paths) : '/';
  const paths = withPath ? listPaths(path) : ROOT;
  for (const each of paths) parsePrefix(each, EXACT);
  const unknown = given.length > 1 && given[0] === undefined ? 'use(undefined, …), where the path or the first handler is undefined' : 'use(…)';
  const where = withPath ? `use(${writePaths(path)}, …)` : unknown;
  const handlers = (withPath ? given.slice(1) : given).flat(Infinity);
  if (handlers.length === 0) throw new TypeError(`${where}: argument handler is required, give it a middleware function or router`);
  for (const handler of handlers) checkHandler(handler, where, true);
  return { path, paths, handlers: handlers as AnyHandler[] };
}

/** Returns true for an application's router mounted in its own application: it reads another target than the application. */
function isAlias(parent: Caller, req: RoutedRequest): boolean {
  const target = targetBeneath(parent, parent.enteredBy(req, String(req.baseUrl)), req.url);
  return target !== null && target !== req.url;
}

/** Returns true for that router itself, or for one that mounts it. */
function reaches(mounted: Mounted | undefined, router: Mounted): boolean {
  if (mounted === undefined) return false;
  return mounted.layers === router.layers || mounted.layers.some((layer) => layer.route === undefined && reaches(layer.mounted, router));
}
