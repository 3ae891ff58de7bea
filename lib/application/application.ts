import { EventEmitter } from 'node:events';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { ConfiguredApplication, kConfigure, kIsRouterMade, kRules, kShared } from './configured-application';
import { Adoption } from '../http/adoption';
import { assign, makeAssignable } from '../http/assignable';
import type { Unchecked } from '../http/unchecked';
import type { Response } from '../http/response';
import { kClosing } from '../http/response-state';
import type { CloseListener } from './close-listeners';
import type { FetchInfo } from './fetch-exchange';
import type { FetchHandler } from './fetch-handler';
import { answerHabits, warningOf } from './foreign-habits';
import type { InjectOptions, InjectResponse } from './inject';
import { type ListenCall, type ListenDefaults, type ListenOptions, readListenArguments, type StartCallback, whenListening } from './listen';
import { createLogger, LatePino, type Logger } from '../log/logger';
import { announceMount, handling, isApplication, mounting } from './mounting';
import { describeKind } from '../options/field';
import { resolveOptions } from '../options/resolve';
import type { CreateServerOptions } from '../options/options';
import type { ResolvedOptions } from '../options/resolved';
import { type OwnClasses, ownClasses } from './own-classes';
import { late } from '../packages';
import { giveRequestIds } from './request-id';
import { RequestWay } from './request-way';
import type { FallbackListener, Handler, NextFunction, ParamHandler } from '../routing/handler';
import type { OpenApiDocument, OpenApiOptions } from '../openapi/document';
import { isPaths, type Path, type Paths } from '../routing/given-path';
import { kMounted, type Layer, type Mounted } from '../routing/layer';
import type { LayerIndex } from '../routing/layer-index';
import type { RouteDescription } from '../routing/listing';
import type { PathParams } from '../routing/params-type';
import type { Route } from '../routing/route';
import { addRoute, type IRouter, readUse } from '../routing/router';
import type { RoutingRules } from '../routing/rules';
import type { RoutedRequest } from '../routing/caller';
import type { KnownSettings } from './settings';
import { addVerbs } from '../routing/verb';
import type { Verb } from '../routing/verb-types';
import { SafeLog } from '../log/safe-log';
import { Listener, type NodeServer } from './server';
import type { SignatureHook } from '../signature/hook';
import type { UpgradeListener, Upgrades } from './upgrade';

/** How `Application.close` drains. */
export interface CloseOptions {
  /** Timeout for requests in flight, in milliseconds, and again for listeners of `close`. @default 10000 */
  timeout?: number | undefined;
}

/** Told of the application that another was mounted in. */
export type MountListener = (parent: Application) => unknown;

interface SettingGetter {
  /** With the name of a setting alone, its value; with a path and handlers, registers a route of GET, and of HEAD. */
  <Name extends keyof KnownSettings>(name: Name): KnownSettings[Name];
  (name: string): Unchecked;
}

/** The parts of an application. */
export interface Parts {
  readonly options: ResolvedOptions;
  /** The logger as it was given. */
  readonly given: Logger;
  /** Writes with it what the application itself has to say. */
  readonly logger: SafeLog;
  readonly listener: Listener;
  readonly classes: OwnClasses;
  readonly adoption: Adoption;
  readonly hooks: readonly SignatureHook[];
  /** Made for the first that listens. */
  readonly upgrades: () => Upgrades;
  readonly way: RequestWay;
  readonly mounted: Mounted;
  /** For `listen`, in which Express takes any free port. */
  readonly listenDefaults: ListenDefaults;
}

const kParts = Symbol('waypost.application.parts');

/* eslint-disable @typescript-eslint/no-unsafe-declaration-merging -- the constructor returns a function that has this class's methods, and the verbs are made in a loop */
export interface Application extends IRouter {
  (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void;
  /**
   * Registers handlers of GET, and of HEAD for a route without HEAD handlers. With the name of a setting alone, its value.
   * @example
   * app.get('/users/:id', (req, res) => res.json({ id: req.params.id }));
   */
  get: SettingGetter & Verb<this>;
  /** A listener for `upgrade` takes requests to switch protocols, such as WebSocket. One in the scope of the signature check is checked first; listeners that are attached to the server itself are not. `mount` is emitted whenever the application is mounted in another. */
  on(event: 'upgrade', listener: UpgradeListener): this;
  /** Told when the application is mounted in another. */
  on(event: 'mount', listener: MountListener): this;
  /** Told when `close` begins, before anything is waited for: the time to end event streams. */
  on(event: 'drain', listener: () => void): this;
  /** Called when `close` has drained the servers; `close` waits for the promise of a listener, as long again as it may drain. */
  on(event: 'close', listener: CloseListener): this;
  /** Told of an event of the program's own. */
  on(event: string | symbol, listener: (...given: Unchecked[]) => void): this;
}

const
  injection = late(() => require('./inject') as typeof import('./inject')),
  within = late(() => require('./applications-within') as typeof import('./applications-within')),
  fetchExchange = late(() => require('./fetch-exchange') as typeof import('./fetch-exchange')),
  fetchHandlers = late(() => require('./fetch-handler') as typeof import('./fetch-handler')),
  configuredHooks = late(() => require('../signature/configured-hooks') as typeof import('../signature/configured-hooks')),
  responseHook = late(() => require('../signature/response-hook') as typeof import('../signature/response-hook')),
  documents = late(() => require('../openapi/document') as typeof import('../openapi/document')),
  upgrading = late(() => require('./upgrade') as typeof import('./upgrade'));

/** Emitter methods that may add or remove listeners of upgrades. */
const LISTENING = ['addListener', 'off', 'on', 'prependListener', 'removeAllListeners', 'removeListener'] as const;

/** An application (INTERFACE section 1): registers, listens and ends. */
export class Application extends ConfiguredApplication {
  /** The application that it is mounted in. */
  declare parent: Application | undefined;
  /** @internal */
  declare readonly [kParts]: Parts;

  /** @param asExpress Whether it goes by Express's rules where they are others: a router's middleware runs for what lies beneath it, OPTIONS is answered. */
  constructor(given: CreateServerOptions | undefined, asExpress = false) {
    super();
    const app = ((req: IncomingMessage, res: ServerResponse, next?: NextFunction): void => app.handle(req, res, next)) as unknown as Application;
    Object.setPrototypeOf(app, new.target.prototype);
    const options = resolveOptions(given, process.env, asExpress);
    const own = createLogger({ ...options.logging, hints: options.hints });
    const logger = new SafeLog(own);
    app[kConfigure](options, logger, asExpress);
    Object.defineProperty(app, kParts, { value: partsOf(app, options, own, logger, asExpress ? { port: given?.server?.port ?? 0, host: options.server.host } : options.server) });
    const { hooks, way } = app[kParts];
    if (hooks.length > 0) app.router[kMounted].entrance = way;
    app.set('absolute views', asExpress);
    for (const warning of options.warnings) logger.warn(warning);
    return app;
  }

  /** @internal */
  get [kMounted](): Mounted {
    return this[kParts].mounted;
  }

  /** @internal True while it drains, or the one that it is mounted in. */
  get [kClosing](): boolean {
    return this[kParts].listener.isClosing || this.parent?.[kClosing] === true;
  }

  /** The server while it runs: the first, of several. */
  get server(): NodeServer | null {
    return this[kParts].listener.server;
  }

  /** Prototype of its requests, as in Express: all of them have what is added to it. */
  get request(): object {
    return this[kParts].classes.Request.prototype as object;
  }

  set request(_given: object) {
    throw new TypeError('app.request cannot be replaced; add to it, as app.request.name = …');
  }

  /** Prototype of its responses, as `request`. */
  get response(): object {
    return this[kParts].classes.Response.prototype;
  }

  set response(_given: object) {
    throw new TypeError('app.response cannot be replaced; add to it, as app.response.name = …');
  }

  /** The logger, for the application's own use. */
  get log(): Logger {
    return this[kParts].given instanceof LatePino ? this[kParts].given.whole : this[kParts].given;
  }

  /**
   * Starts the server (INTERFACE section 4.1). The promise is rejected with the
   * system's error when the port can't be had; a later call may succeed.
   * @example
   * await app.start(3000);
   */
  start(callback?: StartCallback): Promise<NodeServer>;
  start(port: number, callback?: StartCallback): Promise<NodeServer>;
  start(port: number, host: string, callback?: StartCallback): Promise<NodeServer>;
  start(options: ListenOptions, callback?: StartCallback): Promise<NodeServer>;
  start(...given: unknown[]): Promise<NodeServer> {
    const call = readListenArguments(given, this[kParts].options.server, 'start');
    if (this[kParts].listener.server !== null) return Promise.reject(new Error('the application is running already; call close() before start() again'));
    const started = new Promise<NodeServer>((resolve, reject) => {
      const server = listen(this, call);
      whenListening(server, (error) => (error === undefined ? resolve(server) : reject(error)));
    });
    const { callback } = call;
    if (callback !== undefined) started.then((server) => callback.call(server), callback);
    return started;
  }

  /**
   * As `start`, but returns the server at once, as in Express; errors go to the callback, else to the server's `error`
   * event. What else Node's `server.listen` takes is handed on to it, such as the path of a socket. Called again, it
   * makes one more server.
   */
  listen(callback?: StartCallback): NodeServer;
  listen(port: number | string, callback?: StartCallback): NodeServer;
  listen(port: number | string, backlog: number, callback?: StartCallback): NodeServer;
  listen(port: number | string, host: string, callback?: StartCallback): NodeServer;
  listen(port: number | string, host: string, backlog: number, callback?: StartCallback): NodeServer;
  listen(options: ListenOptions, callback?: StartCallback): NodeServer;
  listen(...given: unknown[]): NodeServer {
    const call = readListenArguments(given, this[kParts].listenDefaults, 'listen');
    const server = listen(this, call);
    if (call.callback !== undefined) whenListening(server, call.callback);
    return server;
  }

  /** Drains and stops its servers, then calls what listens for `close`, and waits for it. Called again meanwhile, it returns the same promise. */
  close(options: CloseOptions = {}): Promise<void> {
    if (typeof options !== 'object') throw new TypeError(`close() takes options such as { timeout: 5_000 } and returns a promise, got ${describeKind(options)}`);
    const { timeout } = options;
    if (timeout !== undefined && !(Number.isFinite(timeout) && timeout >= 0)) {
      throw new TypeError(`close(): timeout must be a number of milliseconds, got ${String(timeout)}`);
    }
    return this[kParts].listener.close(timeout);
  }

  /** Closes the application at the end of a block with `await using app = createServer()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Passes every unhandled request to a listener of plain `node:http`, with its
   * body unread. So a program can move route by route.
   */
  fallback(listener: FallbackListener): this {
    if (typeof listener !== 'function') throw new TypeError(`fallback() needs a function (req, res), got ${typeof listener}`);
    this[kParts].way.fallback = isApplication(listener) && !(listener instanceof Application) ? handling(listener) : listener;
    return this;
  }

  /**
   * Answers a request without a socket, for tests. It goes the whole way of any
   * other request, signature check included.
   * @param request A target such as `'/users?page=2'`, or options: `method`, `url`, `headers`, `query`, `cookies`, `payload` and more
   */
  inject(request: string | InjectOptions): Promise<InjectResponse> {
    return injection().inject(request, { listener: this, Request: this[kParts].classes.Request, encrypted: this[kParts].options.server.https !== undefined });
  }

  /**
   * Answers a Request of fetch without a socket, as a server answers it: for Deno.serve, Bun.serve and others that take a fetch handler.
   * Bodies are streamed both ways. It is a function of its own, which may be handed on. The promise is rejected where the response is
   * cut off before its head.
   * @example
   * export default { fetch: app.fetch };
   */
  get fetch(): (request: globalThis.Request, info?: FetchInfo) => Promise<globalThis.Response> {
    const { Request, Response } = this[kParts].classes;
    const answer = (request: globalThis.Request, info?: FetchInfo): Promise<globalThis.Response> => fetchExchange().answerFetch(request, { listener: this, Request, Response }, info ?? {});
    assign(this, 'fetch', answer);
    return answer;
  }

  /**
   * Has a fetch handler answer all beneath a path: a function from Request to Response, or what has one as `fetch`. The Request has the
   * whole URL, by `server.trustProxy`, the body as received, and `req.signal`. A handler that returns undefined leaves the request to what is below.
   * @throws TypeError for what is no fetch handler.
   * @example
   * app.mount('/api/auth', auth.handler);
   */
  mount(path: Paths, handler: FetchHandler): this;
  mount(handler: FetchHandler): this;
  mount(...given: [Paths, FetchHandler] | [FetchHandler]): this {
    const [path, handler] = given.length === 1 ? ['/', given[0]] : given;
    this.router.use(path as Path, fetchHandlers().fetchMiddleware(handler));
    return this;
  }

  /** The routes in order, as rows for `console.table`. */
  routes(): RouteDescription[] {
    return within().listRoutes(this);
  }

  /**
   * An OpenAPI 3.1 document of the routes, those of mounted routers and applications
   * included. What it has no word for is left out, and the log warns.
   * @example
   * app.get('/openapi.json', (req, res) => res.json(app.openapi({ info: { title: 'Orders', version: '1.0.0' } })));
   */
  openapi(options: OpenApiOptions): OpenApiDocument {
    if (typeof options?.info?.title !== 'string' || typeof options.info.version !== 'string') throw new TypeError('openapi() needs { info: { title, version } }, both strings');
    return documents().openApiDocument(options, within().describeApplications(this, readParts), (text) => this[kParts].logger.warn(text));
  }

  /** Serves a request, as calling the application does; an unhandled one goes to `next`. A program may replace it. */
  handle(message: IncomingMessage, response: ServerResponse, next?: NextFunction): void {
    this[kParts].way.take(message as RoutedRequest, response as Response, next);
  }

  /**
   * Registers a route without handlers yet, to add them method by method.
   * @example
   * app.route('/users').get(list).post(create);
   */
  route<const Given extends Path>(path: Given | readonly Given[]): Route<PathParams<Given>>;
  route(...given: [Path]): Route {
    return this.router.route(...given);
  }

  /** As `param` of a router, for the application's own. */
  param(name: string | readonly string[], handler: ParamHandler): this {
    this.router.param(name, handler);
    return this;
  }

  static {
    for (const name of LISTENING) {
      // eslint-disable-next-line @typescript-eslint/unbound-method -- called as a method of the application
      const method = EventEmitter.prototype[name] as (this: unknown, ...given: unknown[]) => unknown;
      const value = function (this: Application, ...given: unknown[]): unknown {
        const { listener, logger, upgrades } = this[kParts];
        const warning = name.startsWith('remove') || name === 'off' ? undefined : warningOf(given[0], given[1]);
        if (warning !== undefined) logger.warn(warning);
        const result = method.apply(this, given);
        listener.takeUpgrades(this.listenerCount('upgrade') > 0 ? upgrades().take : null);
        return result;
      };
      Object.defineProperty(this.prototype, name, { value, writable: true, configurable: true });
    }
    // On its own prototype, where programs that mix something into an application look.
    for (const name of Object.getOwnPropertyNames(ConfiguredApplication.prototype)) {
      if (!Object.hasOwn(this.prototype, name)) Object.defineProperty(this.prototype, name, Object.getOwnPropertyDescriptor(ConfiguredApplication.prototype, name) as PropertyDescriptor);
    }
    Object.defineProperty(this.prototype, 'use', { value: use, writable: true, configurable: true });
    addVerbs(this.prototype, (_method, name) => function verb(this: Application, path: Paths, ...handlers: unknown[]): unknown {
      // As in Express, the name alone asks for a setting. A path alone is more likely a route whose handler was forgotten.
      if (name === 'get' && handlers.length === 0 && typeof path === 'string' && !path.startsWith('/')) return this.set(path);
      // Any function has a method `bind` too.
      if (name === 'bind' && !isPaths(path)) return Function.prototype.bind.apply(this as never, [path, ...handlers] as never);
      addRoute(this, name, path, handlers);
      return this;
    });
  }
}

/** As in Express by the router's `use`, with an application as middleware that calls it. */
function use(this: Application, ...given: unknown[]): Application {
  const { router } = this;
  const { path, handlers } = readUse(given);
  for (const handler of handlers) {
    if (!isApplication(handler)) {
      router.use(path as Path, handler as Handler);
      continue;
    }
    router.use(path as Path, mounting(handler));
    const isForeign = !(handler instanceof Application);
    if (!isForeign) {
      // As in Express, a mounted application's prototypes inherit from those of its parent.
      const { classes } = (handler)[kParts];
      Object.setPrototypeOf(classes.Request.prototype, this.request);
      Object.setPrototypeOf(classes.Response.prototype, this.response);
    }
    announceMount(handler, path, this, isForeign);
  }
  return this;
}

function partsOf(app: Application, options: ResolvedOptions, own: Logger, logger: SafeLog, listenDefaults: ListenDefaults): Parts {
  const shared = app[kShared];
  const classes = ownClasses(shared, (other) => (other instanceof Application ? other[kShared] : undefined));
  if (options.logging.requestId !== false) giveRequestIds(classes.Request.prototype as object, options.logging.requestId, own, logger);
  const { requestSignature, webhooks, signResponses } = options.security;
  if (signResponses !== undefined) responseHook().signResponses(classes.Response.prototype, signResponses, requestSignature?.prefix);
  const hooks = requestSignature === undefined && webhooks.length === 0 ? [] : configuredHooks().signatureHooks(options, logger);
  const upgrades = late(() => new (upgrading().Upgrades)(hooks, options.errors, logger, () => app.rawListeners('upgrade') as UpgradeListener[]));
  const listener = new Listener(options.server, logger, app, {
    IncomingMessage: classes.Request as unknown as typeof IncomingMessage,
    ServerResponse: classes.Response as unknown as typeof ServerResponse,
  }, () => adoption.http2);
  const adoption = new Adoption(classes.Request.prototype as object, classes.Response.prototype);
  const mounted = new MountedApplication(app);
  const way = new RequestWay(mounted, { options, logger, listener, adoption, hooks });
  return { options, given: own, logger, listener, classes, adoption, hooks, upgrades, way, mounted, listenDefaults };
}

/** An application as its way, and those around it, see it. */
class MountedApplication implements Mounted {
  readonly isApplication = true;
  readonly #app: Application;

  constructor(app: Application) {
    this.#app = app;
  }

  get rules(): RoutingRules {
    return this.#app[kRules];
  }

  get layers(): readonly Layer[] {
    return this.#app[kIsRouterMade] ? this.#app.router[kMounted].layers : [];
  }

  rulesWithin(): RoutingRules {
    return this.#app.router[kMounted].rulesWithin(this.rules);
  }

  index(rules: RoutingRules): LayerIndex {
    return this.#app.router[kMounted].index(rules);
  }

  run(req: IncomingMessage, res: ServerResponse, done: NextFunction): void {
    this.#app.router.handle(req, res, done);
  }
}

/** As in Express, the server calls `app` itself, which may be a wrapper. */
function listen(app: Application, call: ListenCall): NodeServer {
  const { options: { env, hints }, logger } = app[kParts];
  if (logger.writes('warn')) within().warnOfRegistrations(app, readParts);
  if (hints && env !== 'development') logger.info('NODE_ENV is not set: clients are shown what production shows, and hints are logged. Set it to development or production');
  return app[kParts].listener.listen(call, app);
}

/** Parts of what may be an application; undefined for anything else. */
function readParts(made: unknown): Parts | undefined {
  return made instanceof Application ? made[kParts] : undefined;
}

makeAssignable(Application.prototype, ['fetch', 'server', 'log']);

/**
 * Makes an application (INTERFACE section 1).
 * @param options See {@link CreateServerOptions}; all are optional.
 * @throws TypeError that names an option whose value is wrong.
 * @example
 * const app = createServer();
 * app.get('/hello/:name', (req, res) => res.json({ hello: req.params.name }));
 * await app.start(3000);
 */
export function createServer(options?: CreateServerOptions): Application {
  return answerHabits(new Application(options));
}
