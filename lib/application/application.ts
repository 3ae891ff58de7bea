import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConfiguredRouter, kRegistrar, kRules, kShared } from './configured-router';
import { Adoption } from '../http/adoption';
import { assign, makeAssignable } from '../http/assignable';
import type { Unchecked } from '../http/unchecked';
import type { Response } from '../http/response';
import type { CloseListener } from './close-listeners';
import { answerHabits, warningOf } from './foreign-habits';
import { inject, type InjectOptions, type InjectResponse } from './inject';
import { type ListenCall, type ListenDefaults, type ListenOptions, readListenArguments, type StartCallback, whenListening } from './listen';
import { createLogger, LatePino, type Logger } from '../logger';
import { describeKind } from '../options/field';
import { resolveOptions } from '../options/resolve';
import type { CreateServerOptions } from '../options/options';
import type { ResolvedOptions } from '../options/resolved';
import { delegate, giveMembers } from './members';
import { inheriting, type OwnClasses, ownClasses } from './own-classes';
import { registrationWarnings } from './registration-warnings';
import { giveRequestIds } from './request-id';
import { type Registered, RequestWay } from './request-way';
import type { FallbackListener, Handler, NextFunction } from '../routing/handler';
import { isPaths, type Path, type Paths, refuseStars } from '../routing/given-path';
import { describeRoutes, type RouteDescription } from '../routing/listing';
import { optionsAnswers } from '../routing/express-options-answer';
import { RouteTable } from '../routing/route-table';
import { kChanged, kUsed, kVetPaths, type RegisteredRouter } from '../routing/registration';
import { kIsReplaced, kRun, kShownRouter, Router } from '../routing/router';
import { callOnSelf, selfOf } from '../routing/self';
import { handling, isApplication, mountedIn } from '../routing/stack';
import { kWalk, type Travelling } from '../routing/walk';
import { SafeLog } from '../safe-log';
import { Listener, type NodeServer } from './server';
import { signatureHooks } from '../signature/configured-hooks';
import type { SignatureHook } from '../signature/hook';
import { type UpgradeListener, Upgrades } from './upgrade';

/** How `Application.close` drains. */
export interface CloseOptions {
  /** How long requests in flight may take to end, in milliseconds, and as long again listeners of `close`. @default 10000 */
  timeout?: number | undefined;
}

/** Told of the application that another was mounted in. */
export type MountListener = (parent: Application) => unknown;

/* eslint-disable @typescript-eslint/no-unsafe-declaration-merging -- the constructor returns a function that has this class's methods */
export interface Application {
  /** A listener for `upgrade` takes requests to switch protocols, such as WebSocket. One in the scope of the signature check is checked first; listeners that are attached to the server itself are not. `mount` is emitted whenever the application is mounted in another. */
  on(event: 'upgrade', listener: UpgradeListener): this;
  /** Told when the application is mounted in another. */
  on(event: 'mount', listener: MountListener): this;
  /** Called when `close` has drained the servers; `close` waits for the promise of a listener, as long again as it may drain. */
  on(event: 'close', listener: CloseListener): this;
  /** Told of an event of the program's own. */
  on(event: string | symbol, listener: (...given: Unchecked[]) => void): this;
}

// eslint-disable-next-line @typescript-eslint/unbound-method -- compared, never called
const { use: OWN_USE } = Router.prototype;

/** What of an emitter's may change whether anybody listens for upgrades. */
const LISTENING = ['addListener', 'off', 'on', 'prependListener', 'removeAllListeners', 'removeListener'] as const;

/** An application (INTERFACE section 1): registers, listens and ends. */
export class Application extends ConfiguredRouter {
  readonly #options: ResolvedOptions;
  readonly #apart: boolean;
  /** The logger as it was given. */
  readonly #given: Logger;
  /** Writes with it what the application itself has to say. */
  readonly #logger: SafeLog;
  readonly #listener: Listener;
  readonly #classes: OwnClasses;
  readonly #adoption: Adoption;
  readonly #hooks: readonly SignatureHook[];
  readonly #upgrades: Upgrades;
  /** No methods of the application's own, in place of which a program may put others. */
  readonly #way: RequestWay;
  /** To the routes, past what a program has put in the place of the router's `handle`; null before it was gone. */
  #routes: RequestWay | null = null;
  /** For `listen`, in which Express takes any free port. */
  readonly #listenDefaults: ListenDefaults;
  /** The application that it is mounted in. */
  declare parent: Application | undefined;

  /** @param asExpress Whether it goes by Express's rules where they are others: a router's middleware runs for what lies beneath it, OPTIONS is answered. */
  constructor(given: CreateServerOptions | undefined, asExpress = false) {
    const app = (req: IncomingMessage, res: ServerResponse, next?: NextFunction): void => (app as unknown as Application).handle(req, res, next);
    const options = resolveOptions(given, process.env, asExpress);
    const own = createLogger({ ...options.logging, env: options.env });
    const logger = new SafeLog(own);
    super(app, options, logger, asExpress);
    this.#options = options;
    this.#apart = !asExpress;
    this.#listenDefaults = asExpress ? { port: given?.server?.port ?? 0, host: options.server.host } : options.server;
    this.set('absolute views', asExpress);
    this.#given = own;
    this.#logger = logger;
    this.#classes = ownClasses(this[kShared], (other) => Application.#of(other)?.[kShared]);
    if (options.logging.requestId !== false) giveRequestIds(this.#classes.Request.prototype as object, options.logging.requestId, own, logger);
    this.#hooks = signatureHooks(options.security, options.routing, this.#logger);
    this.#upgrades = new Upgrades(this.#hooks, this.#logger, () => this.rawListeners('upgrade') as UpgradeListener[]);
    this.#listener = new Listener(options.server, this.#logger, this, {
      IncomingMessage: this.#classes.Request as unknown as typeof IncomingMessage,
      ServerResponse: this.#classes.Response as unknown as typeof ServerResponse,
    }, () => this.rawListeners('close') as CloseListener[]);
    this.#adoption = new Adoption(this.#classes.Request.prototype as object, this.#classes.Response.prototype);
    this.#way = this.#makeWay(this, options, {
      beneath: () => {
        const router = this[kIsReplaced] ? this[kShownRouter] : null;
        return router instanceof Router ? this.#routesWay(router) : null;
      },
      definedRouter: () => (Object.hasOwn(this, 'router') ? this[kShownRouter] : null),
    });
    for (const warning of options.warnings) this.#logger.warn(warning);
  }

  /** @internal */
  protected override [kChanged](): void {
    this.#way.changed();
    this.#routes?.changed();
    super[kChanged]();
  }

  /** @internal As in Express, requests and responses of a mounted application inherit from those of the one around. */
  protected override [kUsed](path: Paths, entry: unknown): void {
    const app = Application.#of(entry);
    if (app !== undefined) {
      Object.setPrototypeOf(app.#classes.Request.prototype, this.#adoption.request);
      Object.setPrototypeOf(app.#classes.Response.prototype, this.#adoption.response);
    }
    super[kUsed](path, entry);
  }

  /** The server while it runs: the first, of several. */
  get server(): NodeServer | null {
    return this.#listener.server;
  }

  /** What its requests inherit from, as in Express: what is put there they all have. */
  get request(): object {
    return this.#adoption.request;
  }

  /** As in Express its requests inherit from what is assigned, if that inherits from `express.request`; anything else is the program's own. */
  set request(given: object) {
    const request = inheriting(given, this.#classes.Request.prototype as object);
    if (request === null) assign(this, 'request', given);
    else this.#adoption.replace(request, this.#adoption.response);
  }

  /** What its responses inherit from. */
  get response(): object {
    return this.#adoption.response;
  }

  /** As `request`. */
  set response(given: object) {
    const response = inheriting(given, this.#classes.Response.prototype);
    if (response === null) assign(this, 'response', given);
    else this.#adoption.replace(this.#adoption.request, response);
  }

  /** The logger, for the application's own use. */
  get log(): Logger {
    return this.#given instanceof LatePino ? this.#given.whole : this.#given;
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
    const self = selfOf(this);
    const call = readListenArguments(given, self.#options.server, 'start');
    if (self.#listener.server !== null) return Promise.reject(new Error('the application is running already; call close() before start() again'));
    const started = new Promise<NodeServer>((resolve, reject) => {
      const server = self.#listen(call, this);
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
    const self = selfOf(this);
    const call = readListenArguments(given, self.#listenDefaults, 'listen');
    const server = self.#listen(call, this);
    if (call.callback !== undefined) whenListening(server, call.callback);
    return server;
  }

  /** @param listener The application, or what stands around it: as in Express, that is called for each request. */
  #listen(call: ListenCall, listener: Application): NodeServer {
    this.#announce();
    return this.#listener.listen(call, typeof listener === 'function' ? listener : this);
  }

  /** Drains and stops its servers, then calls what listens for `close`, and waits for it. Called again meanwhile, it returns the same promise. */
  close(options: CloseOptions = {}): Promise<void> {
    if (typeof options !== 'object') throw new TypeError(`close() takes options such as { timeout: 5_000 } and returns a promise, got ${describeKind(options)}`);
    const { timeout } = options;
    if (timeout !== undefined && !(Number.isFinite(timeout) && timeout >= 0)) {
      throw new TypeError(`close(): timeout must be a number of milliseconds, got ${String(timeout)}`);
    }
    return this.#listener.close(timeout);
  }

  /**
   * Hands every request that nothing took to a listener of plain `node:http`,
   * its body unread, so that a program can move route by route.
   */
  fallback(listener: FallbackListener): this {
    if (typeof listener !== 'function') throw new TypeError(`fallback() needs a function (req, res), got ${typeof listener}`);
    this.#way.fallback = isApplication(listener) && Application.#of(listener) === undefined ? (handling(listener) as FallbackListener) : listener;
    return this;
  }

  /**
   * Answers a request without a socket, for tests. It goes the whole way of any
   * other request, signature check included.
   * @param request A target such as `'/users?page=2'`, or options: `method`, `url`, `headers`, `query`, `cookies`, `payload` and more
   */
  inject(request: string | InjectOptions): Promise<InjectResponse> {
    return inject(request, { listener: this, Request: this.#classes.Request, encrypted: this.#options.server.https !== undefined });
  }

  /** The routes in order, as rows for `console.table`. */
  routes(): RouteDescription[] {
    return describeRoutes(this.#way.routes());
  }

  /** @internal In Express's order it is no program of waypost's own, and may have been written for Express 4. */
  protected override [kVetPaths](paths: readonly Path[]): void {
    if (!this.#apart) refuseStars(paths);
    super[kVetPaths](paths);
  }

  /** Warns of what is registered here and in the applications mounted here, each with its own logger. */
  #announce(): void {
    // Where they stand, by what is registered: `path` and `parent` may be a program's own.
    const announced = new Map<Application, string>([[this, '']]);
    // A map hands on what is added meanwhile: those that are mounted in one that is mounted.
    for (const [app, at] of announced) {
      const table = app.#way.routes();
      const where = app === this ? '' : `In the application mounted at ${at || '/'}: `;
      for (const warning of registrationWarnings(table, app.#hooks)) app.#logger.warn(where + warning);
      for (const { handler, patterns: [pattern] } of table.layers) {
        const mounted = Application.#of(mountedIn(handler));
        if (mounted !== undefined && !announced.has(mounted)) announced.set(mounted, at + (pattern?.segments.length ? pattern.text : ''));
      }
    }
  }

  /**
   * @internal By its router: the routes alone, as in Express. Where signatures are checked, the check comes before them once more: a
   * program may have called the router by another target, and those around that are asked only what they are asked of any router.
   * What a program has put in the place of the router's `handle` is not called again by that.
   */
  protected override [kRun](req: IncomingMessage, res: ServerResponse, next: NextFunction): void {
    const isReplaced = this[kIsReplaced];
    if (!this.#way.isChecking && (isReplaced || (req as Travelling)[kWalk] !== undefined)) super[kRun](req, res, next);
    else (isReplaced ? this.#routesWay(this[kShownRouter] as Router) : this.#way).take(req as Travelling, res as Response, next);
  }

  /** The way to what is registered in the router alone, of which the access log has been told already. */
  #routesWay(router: Router): RequestWay {
    const logging = { ...this.#options.logging, requests: false } as const;
    return (this.#routes ??= this.#makeWay(router, { ...this.#options, logging }, { beneath: () => null, definedRouter: () => null }));
  }

  #makeWay(router: RegisteredRouter, options: ResolvedOptions, replaced: Pick<Registered, 'beneath' | 'definedRouter'>): RequestWay {
    const layOut = (before: RouteTable | null): RouteTable => new RouteTable(router, this[kRules], this.#apart, optionsAnswers, before);
    return new RequestWay(router, { ...replaced, layOut }, {
      options, logger: this.#logger, listener: this.#listener, adoption: this.#adoption, hooks: this.#hooks,
    });
  }

  /** Serves a request, as calling the application does; `next` goes on with what it has not taken. A program may put its own in the place of this. */
  override handle(message: IncomingMessage, response: ServerResponse, next?: NextFunction): void {
    (#way in this ? this : selfOf(this as Application)).#way.take(message as Travelling, response as Response, next);
  }

  /** The application itself, of one or of what stands around it; undefined for anything else. */
  static #of(given: unknown): Application | undefined {
    if (!(given instanceof Application)) return undefined;
    const self = selfOf(given);
    return #way in self ? self : undefined;
  }

  /** As in Express by the router's `use`: function by function, where a program has put its own in the place of that, or of the router. */
  #use(given: readonly unknown[]): void {
    const router = this[kRegistrar];
    const isOwn = router === this[kShownRouter];
    const isPathGiven = isPaths(given[0]);
    const handlers = (isPathGiven ? given.slice(1) : given).flat(Infinity);
     
    if ((isOwn && router.use === OWN_USE) || handlers.length === 0) {
      router.use(...(given as Handler[]));
      return;
    }
    const path = isPathGiven ? (given[0] as Paths) : '/';
    for (const handler of handlers) {
      if (!isApplication(handler)) {
        router.use(path, handler as Handler);
      } else {
        router.use(path, handling(handler));
        this[kUsed](path, handler);
      }
    }
  }

  static {
    Object.defineProperty(this.prototype, 'use', { value: function use(this: Application, ...given: unknown[]): unknown {
      selfOf(this).#use(given);
      return this;
    }, writable: true, configurable: true });
    for (const name of LISTENING) {
      // eslint-disable-next-line @typescript-eslint/unbound-method -- called as a method of the application
      const method = EventEmitter.prototype[name] as (this: unknown, ...given: unknown[]) => unknown;
      const value = function (this: Application, ...given: unknown[]): unknown {
        const warning = name.startsWith('remove') || name === 'off' ? undefined : warningOf(given[0], given[1]);
        if (warning !== undefined) this.#logger.warn(warning);
        const result = method.apply(this, given);
        this.#listener.takeUpgrades(this.listenerCount('upgrade') > 0 ? this.#upgrades.take : null);
        return result;
      };
      Object.defineProperty(this.prototype, name, { value, writable: true, configurable: true });
    }
  }
}

callOnSelf(Application.prototype, { except: ['handle', 'listen', 'start'] });
delegate(Application.prototype, (app) => selfOf(app)[kRegistrar], ['param', 'route']);
giveMembers(Application.prototype, ConfiguredRouter.prototype, Router.prototype);
makeAssignable(Application.prototype, ['server', 'log', 'caseSensitive', 'strict', 'mergeParams']);

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
