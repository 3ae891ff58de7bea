import type { IncomingMessage, ServerResponse } from 'node:http';
import { CallSite } from '../call-site';
import { assign } from '../http/assignable';
import { describe } from '../options/field';
import { checkHandler } from './given-handler';
import { checkPath, isPaths, listPaths, type Path, type Paths, writePaths } from './given-path';
import type { ParsedQuery, Unchecked } from '../http/unchecked';
import type { AnyHandler, Handler, MixedHandlers, NextFunction, ParamHandler } from './handler';
import type { PathParams } from './params-type';
import { Mountable } from './mountable';
import { readParam } from './param';
import { AssignedStack } from './assigned-stack';
import { kAssigned, kChanged, kJoins, kOnChange, kParamHandlers, kRegister, kRegistrations, kUsed, kVet, kVetPaths, type Registration, type RoutingRules } from './registration';
import { areGreedy, parsePattern, parsePrefix, type Pattern } from './pattern';
import { flattenHandlers, kEntries, kIsDispatched, Route } from './route';
import { RouterCall } from './router-call';
import { compareAlike, readRouterOptions, type RouterOptions, rulesOf } from './router-options';
import { areLayers, dispatching, handling, isApplication, type ListedPath, pathsOf, pictured, pictureOf, registrationOf, replaced, type StackLayer, type StackOwner, watched, watchedLayer } from './stack';
import { callOnSelf, heard, knowSelf, selfOf } from './self';
import { WeakList } from './weak-list';
import { addVerbs, type Verbs } from './verb';
import type { TypedHandlers } from './verb-types';

/** Patterns are read again by the application, whose options may relax them; what is wrong is wrong in either. */
const EXACT = Object.freeze({ caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false });

/** A registration of a router's own. */
type Own = Registration<Router, Route>;

/** Whether a router is called as middleware wherever it is used. */
export const kStandsAlone = Symbol('waypost.router.standsAlone');
/** What an application shows as its router, by which a program may change what the application does. */
export const kShownRouter = Symbol('waypost.router.shown');
export const kIsReplaced = Symbol('waypost.router.isReplaced');
export const kConfigure = Symbol('waypost.router.configure');
export const kRun = Symbol('waypost.router.run');
const kReaches = Symbol('waypost.router.reaches');
const ROOT: readonly Path[] = Object.freeze(['/']);

/* eslint-disable @typescript-eslint/no-unsafe-declaration-merging -- the constructor returns a function that has this class's methods, and the verbs are made in a loop */
/** A router is a request listener, and middleware of connect, Express or an application. */
export interface Router extends Verbs {
  (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void;
}

/** A group of routes and middleware that is mounted under a path (INTERFACE section 4.1). Made by `Router()`. */
export class Router extends Mountable {
  readonly #options: RouterOptions;
  /** What was registered, in order, until somebody asks for the stack: from then on it stands there alone. */
  #registrations: Own[] = [];
  /** The routers that it is mounted in. */
  readonly #outers = new WeakList<Router>();
  readonly #params = new Map<string, ParamHandler[]>();
  #stack: StackLayer[] | null = null;
  #assigned: AssignedStack | null = null;
  /** Its one registration, where a program has put its own before all of them. */
  #whole: { readonly of: unknown; readonly registrations: readonly Own[] } | null = null;
  readonly #owner: StackOwner = { changed: () => this[kChanged](), taken: (layer) => this.#takeFromStack(pictured(layer) as Own | undefined) };
  #call: RouterCall | null = null;

  /** @param target The function that becomes the router. */
  constructor(options?: RouterOptions | null, target?: (req: IncomingMessage, res: ServerResponse, next?: NextFunction) => void) {
    const router = (req: IncomingMessage, res: ServerResponse, next?: NextFunction): void => {
      const self = router as unknown as Router;
      if (next === undefined) self.#caller.answer(req, res);
      else self.handle(req, res, next);
    };
    super(target ?? router);
    this.#options = readRouterOptions(options);
    // As in Express: who puts a function around a router copies what it finds on it.
    if (target === undefined) Object.defineProperty(this, 'stack', { ...Object.getOwnPropertyDescriptor(Router.prototype, 'stack'), enumerable: true });
  }

  /** @internal What was registered, in order. */
  get [kRegistrations](): readonly Own[] {
    const shown = this[kShownRouter];
    if (shown === null || !this[kIsReplaced]) return this.#registered();
    if (this.#whole?.of !== shown) {
      const site = new CallSite();
      this.#whole = { of: shown, registrations: [shown instanceof Router ? { kind: 'mount', paths: ROOT, router: shown, site } : { kind: 'middleware', paths: ROOT, handlers: [shown], site }] };
    }
    return this.#whole.registrations;
  }

  /** @internal Whether a program has put its own in the place of the router of an application, or of its `handle`. */
  protected get [kIsReplaced](): boolean {
    const shown = this[kShownRouter];
    return shown !== null && !(shown instanceof Router && shown.handle === Router.#handle);
  }

  /** @internal Null for a router: it is shown itself. A handler where a program has defined another router. */
  protected get [kShownRouter](): Router | Handler | null {
    return null;
  }

  /** @internal The lists in it that nothing tells of. */
  get [kAssigned](): readonly AssignedStack[] {
    const own = this.#assigned === null ? [] : [this.#assigned];
    return [...own, ...this.#registered().flatMap((registration) => (registration.kind === 'route' ? registration.route[kAssigned] : []))];
  }

  #registered(): readonly Own[] {
    const layers = this.#assigned?.now() ?? this.#stack;
    const registrations = layers === null ? this.#registrations : layers.flatMap((layer) => (registrationOf(layer) as Own | undefined) ?? []);
    return registrations.map((each) => (each.kind === 'route' && each.isReplaced !== true && each.route[kIsDispatched] ? replaced(each, dispatching(each.route)) : each));
  }

  /** What is registered, as Express shows it. What a program puts in the place of a `handle` is called instead. */
  get stack(): StackLayer[] {
    if (this.#assigned !== null) return this.#assigned.layers;
    if (this.#stack === null) {
      this.#stack = watched(this.#registrations.map(pictureOf), this.#owner);
      this.#registrations = [];
    }
    return this.#stack;
  }

  /** Layers of a `stack`, in another order or fewer, are what is registered from now on; anything else is the program's own. */
  set stack(layers: StackLayer[]) {
    if (areLayers(layers)) {
      this.#assigned = new AssignedStack(layers, this.#owner);
      this.#stack = null;
      this.#registrations = [];
      this[kChanged]();
    } else {
      assign(this, 'stack', layers);
    }
  }

  /** The paths of the routes and of the routers that are mounted here, in order, as Express lists them. */
  listRoutes(): ListedPath[] {
    return this.stack.flatMap(pathsOf);
  }

  /** @internal To be called when what is registered, or how it is read, has changed. */
  protected [kChanged](): void {
    this.#call?.forget();
    for (const outer of this.#outers) outer[kChanged]();
  }

  /** @internal Whether what is in it may stand in a list that is compared by these rules, beneath these patterns; else it is called as a function. */
  [kJoins](rules: RoutingRules, patterns: readonly Pattern[]): boolean {
    // What a program has put in the place of `handle`, or a class made of this one has, is to be called.
    if (this.handle !== Router.#handle) return false;
    if (!compareAlike(rulesOf(this.#options, rules), rules)) return false;
    // In an Express program a router keeps the mount path that it was entered by, whatever is made of the rest.
    if (rules.asExpress === true && areGreedy(patterns)) return false;
    return this.#merges(rules) || (rules.inherits !== true && patterns.every(({ bare }) => bare));
  }

  /** @internal Asked of what is mounted here, or in what is mounted here. @throws TypeError where its options can't count here. */
  protected [kVet](options: RouterOptions): void {
    for (const outer of this.#outers) outer[kVet](options);
  }

  /** @internal Handlers of parameters by name, in the order they were registered. */
  get [kParamHandlers](): ReadonlyMap<string, readonly ParamHandler[]> {
    return this.#params;
  }

  /**
   * Runs a request down what is registered here, as Express's routers do.
   * @param next Goes on with what nothing here has taken, or with an error.
   */
  handle(req: IncomingMessage, res: ServerResponse, next: NextFunction): void {
    if (typeof next !== 'function') throw new TypeError(`handle() needs a function (error) to go on with, got ${describe(next)}; without one, call the router itself`);
    selfOf(this)[kRun](req, res, next);
  }

  /** @internal */
  protected [kRun](req: IncomingMessage, res: ServerResponse, next: NextFunction): void {
    this.#caller.run(req, res, next);
  }

  get #caller(): RouterCall {
    return (this.#call ??= new RouterCall(this, this.#options));
  }

  /** Whether `/A` and `/a` are two paths; undefined as the application. As in Express it may be set, and counts for all that is registered here. */
  get caseSensitive(): boolean | undefined {
    return this.#options.caseSensitive;
  }

  set caseSensitive(value: boolean | undefined) {
    this[kConfigure]({ caseSensitive: value });
  }

  /** Whether `/a/` and `/a` are two paths; as `caseSensitive`. */
  get strict(): boolean | undefined {
    return this.#options.strict;
  }

  set strict(value: boolean | undefined) {
    this[kConfigure]({ strict: value });
  }

  /** Whether handlers see the parameters of the path that the router is mounted at; as `caseSensitive`. */
  get mergeParams(): boolean | undefined {
    return this.#options.mergeParams;
  }

  set mergeParams(value: boolean | undefined) {
    this[kConfigure]({ mergeParams: value });
  }

  /** @internal @throws TypeError for what can't count where it is mounted. */
  protected [kConfigure](given: RouterOptions): void {
    const options = { ...this.#options, ...readRouterOptions(given) };
    for (const outer of this.#outers) outer[kVet](options);
    Object.assign(this.#options, options);
    this[kChanged]();
  }

  #merges({ mergeParams }: RoutingRules): boolean {
    return this.#options.mergeParams ?? mergeParams ?? true;
  }

  /**
   * Calls back with the value of a parameter before whatever is registered in
   * this router under a path that holds it: once for each value in a request.
   * `*` and `**` name the captures of wildcards.
   * @throws TypeError for a wrong name, or what is no function.
   */
  param(name: string | readonly string[], handler: ParamHandler): this {
    for (const each of readParam(name, handler)) {
      const known = this.#params.get(each);
      // The same list, which a request may be in.
      if (known === undefined) this.#params.set(each, [handler]);
      else known.push(handler);
    }
    this[kChanged]();
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
    this[kVetPaths](paths);
    const route = new Route(Array.isArray(path) ? (path as Path[]).flat(Infinity) : path);
    this.#add({ kind: 'route', paths, route, get entries() { return route[kEntries]; } });
    return route;
  }

  /** @internal Adds one route whose handlers are all for one method; `null` stands for all. */
  protected [kRegister](method: string | null, path: Paths, given: readonly unknown[]): this {
    const verb = (method === null ? 'all' : method.toLowerCase()) as 'all';
    const where = `${verb}(${writePaths(path)}, …)`;
    checkPath(path, where);
    const handlers = flattenHandlers(given, where);
    // As in Express by its own methods, which a program may have put something in the place of.
    this.route(path)[verb](...(handlers as Handler[]));
    return this;
  }

  /**
   * Adds middleware, error middleware (four parameters) or routers, for every
   * path or under the given ones (INTERFACE section 4.1).
   * @throws TypeError when a path is wrong or what is given is neither function nor router.
   * @example
   * app.use((req, res, next) => { console.log(req.url); next(); });
   * app.use('/users', users);
   * app.use((error: Error, req: Request, res: Response, next: NextFunction) => res.status(500).json({ error: error.message }));
   */
  use(...handlers: Handler[]): this;
  use<const Given extends Path>(path: Given | readonly Given[], ...handlers: Handler<PathParams<Given>>[]): this;
  use(...handlers: MixedHandlers[]): this;
  use<const Given extends Path>(path: Given | readonly Given[], ...handlers: MixedHandlers<PathParams<Given>>[]): this;
  use<P, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>>(
    ...handlers: TypedHandlers<P, ResBody, ReqBody, Query, Locals>[]): this;
  use<P, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>>(
    path: Paths, ...handlers: TypedHandlers<P, ResBody, ReqBody, Query, Locals>[]): this;
  use(...given: unknown[]): this {
    const withPath = isPaths(given[0]);
    const paths = withPath ? listPaths(given[0] as Paths) : ROOT;
    for (const each of paths) parsePrefix(each, EXACT);
    this[kVetPaths](paths);
    const unknown = given.length > 1 && given[0] === undefined ? 'use(undefined, …), where the path or the first handler is undefined' : 'use(…)';
    const where = withPath ? `use(${writePaths(given[0])}, …)` : unknown;
    const entries = (withPath ? given.slice(1) : given).flat(Infinity);
    if (entries.length === 0) throw new TypeError(`${where}: argument handler is required, give it a middleware function or router`);
    for (const entry of entries) this.#check(entry, where);
    const site = new CallSite();
    for (const entry of entries) {
      this.#use(paths, entry as AnyHandler | Router, site);
      this[kUsed](withPath ? (given[0] as Paths) : '/', entry);
    }
    this[kChanged]();
    return this;
  }

  /** @internal Asked before paths are registered here, or in what is mounted here. @throws TypeError for one that can't stand here. */
  protected [kVetPaths](paths: readonly Path[]): void {
    for (const outer of this.#outers) outer[kVetPaths](paths);
  }

  #check(entry: unknown, where: string): void {
    checkHandler(entry, where, true);
    const router = Router.#of(entry);
    if (router !== undefined) this.#checkRouter(router, where);
  }

  #checkRouter(given: Router, where: string): void {
    if (given[kReaches](this)) throw new TypeError(`${where} would mount a router inside itself`);
    if (given[kStandsAlone]) return;
    for (const router of given.#within()) {
      this[kVet](router.#options);
      this[kVetPaths](router[kRegistrations].flatMap(({ paths }) => paths));
    }
  }

  /** @internal Called for all that was given to {@link use}; an application looks for others among it. */
  protected [kUsed](_path: Paths, _entry: unknown): void {
    // A router has nothing to say to what is mounted in it.
  }

  /** @internal Whether it is called as middleware wherever it is used: an application goes by rules of its own. */
  protected get [kStandsAlone](): boolean {
    return false;
  }

  #use(paths: readonly Path[], entry: AnyHandler | Router, site: CallSite): void {
    const router = Router.#of(entry);
    if (router === entry && !router[kStandsAlone]) return this.#add({ kind: 'mount', paths, router, site });
    // As in Express, what a program has put around a router is called; of an application, or what stands around one, an application calls the `handle`.
    const handler = router !== entry && this[kStandsAlone] && isApplication(entry) ? handling(entry) : entry;
    this.#add({ kind: 'middleware', paths, handlers: [handler], site });
  }

  /** What a program puts into the stack may have been registered in another router, by other rules. */
  #takeFromStack(registration: Own | undefined): void {
    if (registration?.kind === 'mount') this.#checkRouter(registration.router, 'stack');
    this.#take(registration);
  }

  /** What is registered here is to tell of what changes in it. */
  #take(registration: Own | undefined): void {
    if (registration !== undefined) for (const router of Router.#routersOf(registration)) if (!router[kStandsAlone]) router.#outers.add(this);
    if (registration?.kind === 'route') registration.route[kOnChange](this.#owner);
  }

  #add(registration: Own): void {
    this.#take(registration);
    if (this.#assigned !== null) this.#assigned.push(pictureOf(registration));
    else if (this.#stack !== null) this.#stack.push(watchedLayer(pictureOf(registration), this.#owner));
    else this.#registrations.push(registration);
  }

  /** This router, and those mounted in it but for applications, which go by rules of their own. */
  #within(): Router[] {
    return [this, ...this[kRegistrations].flatMap((registration) => Router.#routersOf(registration)).filter((router) => !router[kStandsAlone]).flatMap((router) => router.#within())];
  }

  /** @internal Whether that router is this one or mounted anywhere below it. */
  [kReaches](router: Router): boolean {
    return router === this || this[kRegistrations].some((registration) => Router.#routersOf(registration).some((within) => within[kReaches](router)));
  }

  /** The method `handle` as it is by itself. */
  static #handle: unknown;

  static {
    this.#handle = heard(this.prototype, 'handle', (router) => {
      if (#options in router) router[kChanged]();
    });
  }

  /** What an application shows as its router: what is done to it is done to the application. */
  protected static shownFor(app: Router, rules: RouterOptions): Router {
    const router = ((req: IncomingMessage, res: ServerResponse, next?: NextFunction): void => {
      (next === undefined ? app : shown).handle(req, res, next as NextFunction);
    }) as unknown as Router;
    const shown = Object.setPrototypeOf(router, Router.prototype) as Router;
    knowSelf(app, shown);
    app.#call = new RouterCall(shown, rules);
    return Object.defineProperties(shown, {
      stack: { ...Object.getOwnPropertyDescriptor(Router.prototype, 'stack'), enumerable: true },
      [kRegistrations]: { get: () => app.#registered() },
      [kParamHandlers]: { get: () => app.#params },
      [kAssigned]: { get: () => app[kAssigned] },
      [kJoins]: { value: () => false },
    });
  }

  /** What a registration mounts: laid out, or called as middleware, as an application is. */
  static #routersOf(registration: Own): Router[] {
    if (registration.kind === 'mount') return [registration.router];
    return registration.kind === 'middleware' ? registration.handlers.flatMap((handler) => Router.#of(handler) ?? []) : [];
  }

  /** The router itself, of one or of what stands around it; undefined for anything else. */
  static #of(given: unknown): Router | undefined {
    if (!(given instanceof Router)) return undefined;
    const self = selfOf(given);
    return #options in self ? self : undefined;
  }
}

callOnSelf(Router.prototype, { except: ['handle'] });
// Behind that: a program may have put its own in the place of the `route` that they call.
addVerbs(Router.prototype, (method, name) => function verb(this: Router, path: Paths, ...handlers: unknown[]): unknown {
  // Any function has a method `bind` too.
  if (name === 'bind' && !isPaths(path)) return Function.prototype.bind.apply(this, [path, ...handlers]);
  return this[kRegister](method, path, handlers);
});
