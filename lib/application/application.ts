import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AccessLog } from './access-log';
import { BodyReader } from './body-reader';
import { ConfiguredRouter, kRules, kShared } from './configured-router';
import { guardedCall } from '../guarded-call';
import { Adoption, giveOwnBody, giveOwnProperties } from '../http/adoption';
import { answerError, answerUnmatched } from '../http/default-answer';
import { makeAssignable } from '../http/assignable';
import { cutOff } from '../http/own-answer';
import { closeWithConnection, isBehindLast, isClosedTo } from '../http/connection';
import { loggedRequest } from '../http/logged-request';
import type { Request } from '../http/request';
import type { Unchecked } from '../http/unchecked';
import { kOriginalMethod, kOriginalUrl } from '../http/request-state';
import type { Response } from '../http/response';
import { takeOver } from '../http/taken-over';
import { kAnswering, kJsonAsXJson } from '../http/response-state';
import { isCoded, refuseCoding } from '../http/body/transfer-coding';
import { callCloseListeners, type CloseListener } from './close-listeners';
import { answerHabits, warningOf } from './foreign-habits';
import { Injector, type InjectOptions, type InjectResponse } from './inject';
import { type ListenDefaults, type ListenOptions, readListenArguments, type StartCallback, whenListening } from './listen';
import { createLogger, LatePino, type Logger } from '../logger';
import { hasOpenTelemetry } from '../open-telemetry';
import { resolveOptions } from '../options/resolve';
import type { CreateServerOptions, ResolvedOptions } from '../options/options';
import { delegate, giveMembers } from './members';
import { type OwnClasses, ownClasses } from './own-classes';
import { registrationWarnings } from './registration-warnings';
import { giveRequestIds } from './request-id';
import { Unanswered } from './unanswered';
import { checkAround, isLedAstray, mayLeadPast } from '../routing/guards-around';
import type { NextFunction, Path, Paths } from '../routing/handler';
import { describeRoutes, type RouteDescription } from '../routing/listing';
import type { Match } from '../routing/plan';
import { RouteTable } from '../routing/route-table';
import { Retarget } from '../routing/mounted-rewrite';
import { refuseStars } from '../routing/given-path';
import { kChanged, kUsed, kVetPaths } from '../routing/registration';
import { Router } from '../routing/router';
import { kBegun, kWalk, type Travelling, Walk, type WalkHost } from '../routing/walk';
import { RequestWatch } from '../routing/watch';
import { SafeLog } from '../safe-log';
import { type CloseHost, Listener, type NodeServer } from './server';
import { SignatureCheck } from '../signature/check';
import { signatureHooks } from '../signature/configured-hooks';
import type { SignatureHook } from '../signature/hook';
import { pathEnd, pathOf, pathStart } from '../target';
import { type UpgradeListener, Upgrades } from './upgrade';

const SUFFIX = '.xJson';

/** How `Application.close` drains. */
export interface CloseOptions {
  /** How long requests in flight may take to end, in milliseconds, and as long again listeners of `close`. @default 10000 */
  timeout?: number | undefined;
}

/** Told of the application that another was mounted in. */
export type MountListener = (parent: Application) => unknown;

/** A listener of plain `node:http`. */
export type FallbackListener = (req: IncomingMessage, res: ServerResponse) => unknown;

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

/** What of an emitter's may change whether anybody listens for upgrades. */
const LISTENING = ['addListener', 'off', 'on', 'prependListener', 'removeAllListeners', 'removeListener'] as const;

/**
 * An application (INTERFACE section 1). A request goes this way: adopted,
 * matched, checked for its signature (headers, then bytes), its body captured
 * and parsed when a route can take it, then walked down its plan; what is left
 * is an error, the fallback, or not found.
 */
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
  /** Null where no request needs a signature. */
  readonly #signatures: SignatureCheck<Walk | Retarget> | null;
  readonly #upgrades: Upgrades;
  /** What walks know of the application; no methods of its own, in place of which a program may put others. */
  readonly #host: WalkHost;
  readonly #bodies: BodyReader;
  /** Null where no request is to be logged. */
  readonly #accessLog: AccessLog | null;
  readonly #unanswered: Unanswered;
  /** For `listen`, in which Express takes any free port. */
  readonly #listenDefaults: ListenDefaults;
  /** The application that it is mounted in. */
  declare parent: Application | undefined;
  #table: RouteTable | null = null;
  /** Whether OpenTelemetry was there when the table was made: to look for it costs more than a request should. */
  #isInstrumented = false;
  #injector: Injector | null = null;
  #fallback: FallbackListener | null = null;

  /** @param asExpress Whether it goes by Express's rules where they are others: a router's middleware runs for what lies beneath it, OPTIONS is answered. */
  constructor(given: CreateServerOptions | undefined, asExpress = false) {
    const app = (req: IncomingMessage, res: ServerResponse, next?: NextFunction): void => (app as unknown as Application).handle(req, res, next);
    const options = resolveOptions(given, process.env);
    const own = createLogger({ ...options.logging, env: options.env });
    const logger = new SafeLog(own);
    super(app, options, logger, asExpress);
    this.#options = options;
    this.#apart = !asExpress;
    this.#listenDefaults = asExpress ? { port: given?.server?.port ?? 0, host: options.server.host } : options.server;
    this.set('absolute views', asExpress);
    this.#given = own;
    this.#logger = logger;
    this.#bodies = new BodyReader(options.body);
    this.#accessLog = options.logging.requests === false ? null : new AccessLog(logger, options.logging.requests);
    this.#unanswered = new Unanswered(options, logger, (watch, error) => this.#answerInstead(watch, error));
    this.#classes = ownClasses(this[kShared]);
    if (options.logging.requestId !== false) giveRequestIds(this.#classes.Request.prototype as object, options.logging.requestId, own, logger);
    this.#adoption = new Adoption(this.#classes.Request.prototype as object, this.#classes.Response.prototype);
    this.#hooks = signatureHooks(options.security, options.routing, this.#logger);
    this.#signatures = this.#hooks.length === 0 ? null : new SignatureCheck<Walk | Retarget>(this.#hooks, options.body.limit, {
      admitted: (target) => (target instanceof Walk ? this.#admit(target) : target.admitted()),
      invite: (target) => this.#bodies.invite(target),
      failed: (target, error) => this.#answerFailure(target, error),
    });
    this.#host = {
      read: (walk) => this.#bodies.read(walk),
      obstacle: (walk) => this.#bodies.obstacle(walk),
      rewritten: (walk) => this.#rewritten(walk),
      retargeted: (walk, method, url, admitted) => this.#retargeted(walk, method, url, admitted),
      reclaim: (walk) => this.#reclaim(walk),
      ended: (walk, failed, error) => this.#ended(walk, failed, error),
    };
    this.#upgrades = new Upgrades(this.#hooks, this.#logger, () => this.rawListeners('upgrade') as UpgradeListener[]);
    this.#listener = new Listener(options.server, this.#logger, this, {
      IncomingMessage: this.#classes.Request as unknown as typeof IncomingMessage,
      ServerResponse: this.#classes.Response as unknown as typeof ServerResponse,
    }, this.#closeHost());
    for (const warning of options.warnings) this.#logger.warn(warning);
  }

  #closeHost(): CloseHost {
    const listeners = (): CloseListener[] => this.rawListeners('close') as CloseListener[];
    return {
      get hasCloseListeners() {
        return listeners().length > 0;
      },
      closed: (timeout) => callCloseListeners(this, listeners(), timeout, this.#logger),
    };
  }

  /** @internal */
  protected override [kChanged](): void {
    this.#table = null;
    super[kChanged]();
  }

  /** @internal As in Express, requests and responses of a mounted application inherit from those of the one around. */
  protected override [kUsed](path: Paths, entry: unknown): void {
    if (entry instanceof Application) {
      Object.setPrototypeOf(entry.#classes.Request.prototype, this.#classes.Request.prototype as object);
      Object.setPrototypeOf(entry.#classes.Response.prototype, this.#classes.Response.prototype);
    }
    super[kUsed](path, entry);
  }

  /** The server while it runs: the first, of several. */
  get server(): NodeServer | null {
    return this.#listener.server;
  }

  /** What its requests inherit from, as in Express: what is put there they all have. */
  get request(): object {
    return this.#classes.Request.prototype as object;
  }

  /** What its responses inherit from. */
  get response(): object {
    return this.#classes.Response.prototype;
  }

  /** What its routes and middleware are registered in, as in Express: the application itself. */
  get router(): this {
    return this;
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
    const call = readListenArguments(given, this.#options.server, 'start');
    if (this.#listener.server !== null) return Promise.reject(new Error('the application is running already; call close() before start() again'));
    const started = new Promise<NodeServer>((resolve, reject) => {
      this.#announce();
      const server = this.#listener.listen(call);
      whenListening(server, (error) => (error === undefined ? resolve(server) : reject(error)));
    });
    const { callback } = call;
    if (callback !== undefined) started.then(() => callback(), callback);
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
    const call = readListenArguments(given, this.#listenDefaults, 'listen');
    this.#announce();
    const server = this.#listener.listen(call);
    if (call.callback !== undefined) whenListening(server, call.callback);
    return server;
  }

  /** Drains and stops its servers, then calls what listens for `close`, and waits for it. Called again meanwhile, it returns the same promise. */
  close(options: CloseOptions = {}): Promise<void> {
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
    this.#fallback = listener;
    return this;
  }

  /**
   * Answers a request without a socket, for tests. It goes the whole way of any
   * other request, signature check included.
   * @param request A target such as `'/users?page=2'`, or options: `method`, `url`, `headers`, `query`, `cookies`, `payload` …
   */
  inject(request: string | InjectOptions): Promise<InjectResponse> {
    this.#injector ??= new Injector(this, this.#classes.Request, this.#options.server.https !== undefined);
    return this.#injector.inject(request);
  }

  /** The routes in order, as rows for `console.table`. */
  routes(): RouteDescription[] {
    return describeRoutes(this.#prepare());
  }

  /** @internal In Express's order it is no program of waypost's own, and may have been written for Express 4. */
  protected override [kVetPaths](paths: readonly Path[]): void {
    if (!this.#apart) refuseStars(paths);
    super[kVetPaths](paths);
  }

  #prepare(): RouteTable {
    if (this.#table !== null) return this.#table;
    this.#isInstrumented = hasOpenTelemetry();
    return (this.#table = new RouteTable(this, this[kRules], this.#apart));
  }

  /** Warns of what is registered here and in the applications mounted here, each with its own logger. */
  #announce(): void {
    // Where they stand, by what is registered: `path` and `parent` may be a program's own.
    const announced = new Map<Application, string>([[this, '']]);
    // A map hands on what is added meanwhile: those that are mounted in one that is mounted.
    for (const [app, at] of announced) {
      const table = app.#prepare();
      const where = app === this ? '' : `In the application mounted at ${at || '/'}: `;
      for (const warning of registrationWarnings(table, app.#hooks)) app.#logger.warn(where + warning);
      for (const { handler, patterns: [pattern] } of table.layers) {
        const mounted: unknown = handler;
        if (mounted instanceof Application && !announced.has(mounted)) announced.set(mounted, at + (pattern?.segments.length ? pattern.text : ''));
      }
    }
  }

  /** Serves a request, as calling the application does; `next` goes on with what it has not taken. A program may put its own in the place of this. */
  override handle(message: IncomingMessage, response: ServerResponse, next?: NextFunction): void {
    const [req, res] = [message as Travelling, response as Response];
    const parent = req[kWalk];
    const leave = this.#adoption.adopt(req, res, next);
    if (!this.#listener.carriesOut(req, res)) return;
    const table = this.#prepare();
    let watch: RequestWatch | null | undefined;
    req.res = res;
    // Adapters of others make responses without one.
    if (res.req !== req) (res as unknown as { req: Request }).req = req;
    if (req[kOriginalUrl] === undefined) {
      if (isClosedTo(req) || isBehindLast(req)) {
        req.resume();
        return;
      }
      if (res.socket === null) closeWithConnection(req, res);
      giveOwnProperties(req, res, this.#options.body.parse);
      req[kOriginalUrl] = req.originalUrl;
      req[kOriginalMethod] = req.method;
      this.#accessLog?.begin(req, res);
      watch = this.#watch(req, res);
      if (isCoded(req)) {
        refuseCoding(req, res);
        return;
      }
    } else {
      this.#accessLog?.begin(req, res);
      if (this.#options.body.parse) giveOwnBody(req);
      watch = parent === undefined ? this.#watch(req, res) : parent.watch?.request;
    }
    const { url } = req;
    const match = this.#match(table, req, res, leave !== undefined, parent);
    const begun = req[kBegun] ?? parent;
    const walk = new Walk(this.#host, req, res, table, match, leave, parent, begun, watch);
    if (req.url !== url) walk.suffixed = { sent: url, stripped: req.url };
    req[kWalk] = walk;
    if (begun !== undefined) req[kBegun] = walk;
    if (isLedAstray(walk)) checkAround(walk, walk.method, walk.url, () => this.#check(walk));
    else this.#check(walk);
  }

  /** Follows the request where somebody wants to know of it. */
  #watch(req: Request, res: Response): RequestWatch | null {
    return this.#unanswered.isWatching ? RequestWatch.of(req, res, this.#unanswered) : RequestWatch.ifTraced(req, res, this.#isInstrumented);
  }

  /** Answers with an error in the place of the handlers that have the request; what they still do is too late. */
  #answerInstead({ request, response }: RequestWatch, error: unknown): void {
    for (let walk = (request as Travelling)[kWalk]; walk !== undefined; walk = walk.parent) walk.stop();
    this.#answerFailure({ req: request, res: response }, error);
    takeOver(response);
  }

  /** Finds the plan. A path that ends in `.xJson` and that no route takes is routed without it (INTERFACE section 4.3). */
  #match(table: RouteTable, req: Request, res: Response, mounted: boolean, parent: Walk | undefined): Match {
    const { method, url } = req;
    const match = table.match(method, pathOf(url));
    if (!match.path.endsWith(SUFFIX) || table.takes(match)) return match;
    const end = pathEnd(url, pathStart(url));
    const stripped = url.slice(0, end - SUFFIX.length) + url.slice(end);
    const bare = table.match(method, pathOf(stripped));
    // What a mounted application does not take, the outer one judges by itself.
    if (mounted && !table.takes(bare)) return match;
    // A guard there of the path without it has not seen the request.
    if (mayLeadPast(parent, this, req.baseUrl, stripped)) return match;
    req.url = stripped;
    res[kJsonAsXJson] = true;
    return bare;
  }

  /** Gives a request that nothing took its suffix back, for who takes it now. */
  #restoreSuffix({ req, res, suffixed }: Walk): void {
    if (suffixed === undefined || req.url !== suffixed.stripped) return;
    req.url = suffixed.sent;
    res[kJsonAsXJson] = false;
  }

  #check(walk: Walk): void {
    if (this.#signatures === null) this.#admit(walk);
    else this.#signatures.run(walk);
  }

  #admit(walk: Walk): void {
    if (walk.falls) this.#fall(walk);
    else this.#bodies.read(walk);
  }

  /** Middleware has changed URL or method: from here on the new target counts, for the applications around too. */
  #rewritten(walk: Walk): void {
    walk.match = walk.table.match(walk.method, pathOf(walk.url));
    checkAround(walk, walk.method, walk.url, () => this.#check(walk));
  }

  /** What is mounted here has made another target of a walk's. While the walk is held it has none that may go on. */
  #retargeted(walk: Walk, method: string, url: string, admitted: () => void): void {
    if (this.#signatures === null || (!walk.held && method === walk.method && url === walk.url)) admitted();
    else this.#signatures.run(new Retarget(walk, method, url, admitted));
  }

  /** Puts this application's prototypes back on. */
  #reclaim({ req, res }: Walk): void {
    this.#adoption.reclaim(req, res);
  }

  /** The list has ended. */
  #ended(walk: Walk, failed: boolean, error: unknown): void {
    const { req, outer } = walk;
    if (outer !== undefined) {
      this.#restoreSuffix(walk);
      req[kWalk] = walk.around;
      outer(failed ? error : undefined);
    } else if (walk.hasCalled && (failed || this.#fallback === null)) {
      // As in Express, whoever has called next() may still answer on this turn.
      setImmediate(Application.#conclude, this, walk, failed, error);
    } else {
      Application.#conclude(this, walk, failed, error);
    }
  }

  static #conclude(this: void, app: Application, walk: Walk, failed: boolean, error: unknown): void {
    if (failed) return app.#answerFailure(walk, error);
    try {
      app.#untaken(walk);
    } catch (failure) {
      app.#answerFailure(walk, failure);
    }
  }

  /** Nothing in the list has taken the request. */
  #untaken(walk: Walk): void {
    const { req, res } = walk;
    // A handler has answered, or is about to, and called next() besides.
    if (res.headersSent || res[kAnswering]) return;
    if (this.#fallback === null) {
      answerUnmatched(req, res, this.#options.routing.methodNotAllowed ? walk.table.methods(walk.match) : null);
      return;
    }
    // It takes the target as sent, of which the scope may think otherwise than of the one without its suffix.
    this.#restoreSuffix(walk);
    walk.view.url = req.url;
    walk.falls = true;
    this.#check(walk);
  }

  #fall(walk: Walk): void {
    const { req, res } = walk;
    const listener = this.#fallback as FallbackListener;
    walk.watch?.request.begins();
    guardedCall(() => listener(req, res), (error) => this.#answerFailure(walk, error));
  }

  /** Whatever a program has left on request and response: a walk may go on from a timer, where a throw would end the process. */
  #answerFailure({ req, res }: Pick<Walk, 'req' | 'res'>, error: unknown): void {
    RequestWatch.over(req)?.failed(error);
    try {
      if (res.writableEnded) {
        this.#logger.error({ err: error, ...loggedRequest(req) }, 'An error was raised after the response had ended');
        return;
      }
      // An Express application that the request was handed to meanwhile has put its own on.
      if (!this.#adoption.holds(req, res)) this.#adoption.reclaim(req, res);
      answerError(res, error);
    } catch (failure) {
      this.#logger.error({ err: failure }, 'The response failed');
      cutOff(res);
    }
  }

  static {
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

delegate(Application.prototype, Router.prototype, ['param', 'route', 'use']);
giveMembers(Application.prototype, ConfiguredRouter.prototype, Router.prototype);
makeAssignable(Application.prototype, ['server', 'log', 'request', 'response', 'router', 'settings']);

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
