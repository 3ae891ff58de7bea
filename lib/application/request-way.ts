import { AccessLog } from './access-log';
import { ApplicationRun, type RunHost } from './application-run';
import { BodyReader } from './body-reader';
import { HttpError } from '../errors';
import { guardedCall } from '../http/guarded-call';
import { type Adoption, giveOwnProperties, isOfNodesHttp2, replaceRequest, takesHttp2 } from '../http/adoption';
import { answerError, answerUnmatched, refuseHead } from '../http/default-answer';
import { firstAnswerOf } from '../http/first-answer';
import { HostCheck } from '../http/host';
import { beginInPipeline, endAfterFirst, isAfterLast, isClosedTo } from '../http/connection';
import { defer, takeDeferral } from '../http/deferral';
import { loggedRequest } from '../http/logged-request';
import type { Request } from '../http/request';
import { receivedMethod } from '../http/received-method';
import { isOfSignal, kAbort, kHttp2, kOriginalMethod, kOriginalUrl } from '../http/request-state';
import type { Response } from '../http/response';
import { takeOver } from '../http/taken-over';
import { kAnswering } from '../http/response-state';
import { hasBody } from '../http/body/capture';
import { announceClose } from '../http/body/discard';
import { isCoded, refuseCoding } from '../http/body/transfer-coding';
import { hasOpenTelemetry } from '../tracing/open-telemetry';
import type { ResolvedOptions } from '../options/resolved';
import type { HandlerTimeout } from './handler-timeout';
import { admit, admitBehind } from '../routing/admission';
import type { FallbackListener, NextFunction } from '../routing/handler';
import type { Mounted } from '../routing/layer';
import { kRun, type RoutedRequest } from '../routing/caller';
import type { RoutingRules } from '../routing/rules';
import { methodsFor, routeFor, takes } from '../routing/route-finder';
import { hintForFailure } from '../hints';
import { late } from '../packages';
import { RequestWatch } from '../routing/watch';
import type { SafeLog } from '../log/safe-log';
import type { Listener } from './server';
import type { Contract } from '../schema/contracted';
import type { SignatureCheck } from '../signature/check';
import type { SignatureHook } from '../signature/hook';
import { isDisputed, pathEnd, pathOf, pathStart } from '../target/target';

/** The application of a request way. */
export interface WayApplication extends Mounted {
  readonly rules: RoutingRules;
  /** Runs the application's router. */
  run(req: Request, res: Response, done: NextFunction): void;
}

/** The parts that a way takes from its application. */
export interface RequestWayParts {
  readonly options: ResolvedOptions;
  readonly logger: SafeLog;
  readonly listener: Listener;
  readonly adoption: Adoption;
  readonly hooks: readonly SignatureHook[];
}

const
  check = late(() => require('../signature/check') as typeof import('../signature/check')),
  handlerTimeouts = late(() => require('./handler-timeout') as typeof import('./handler-timeout'));

const NO_CONTRACT: Partial<Contract> = Object.freeze({});

/** The suffix that selects `res.xJson` (INTERFACE section 4.3). */
const SUFFIX = '.xJson';

/**
 * The way of requests through an application: adoption, signature check
 * (headers, then bytes), capture of the body if a route can take it, routing;
 * then error, fallback, or not found.
 */
export class RequestWay implements RunHost {
  /** Listener for unhandled requests. */
  fallback: FallbackListener | null = null;
  readonly isChecking: boolean;
  readonly #app: WayApplication;
  readonly #options: ResolvedOptions;
  readonly #logger: SafeLog;
  readonly #listener: Listener;
  readonly #adoption: Adoption;
  readonly #signatures: SignatureCheck | undefined;
  readonly #bodies: BodyReader;
  /** Null if requests are not logged. */
  readonly #accessLog: AccessLog | null;
  /** Null where nothing is warned of, nor answered for. */
  readonly #handlerTimeout: HandlerTimeout | null;
  readonly #hosts = new HostCheck();
  /** Caches the search for OpenTelemetry, which is too slow for every request; null for unknown. */
  #isInstrumented: boolean | null = null;

  constructor(app: WayApplication, { options, logger, listener, adoption, hooks }: RequestWayParts) {
    this.#app = app;
    this.#options = options;
    this.#logger = logger;
    this.#listener = listener;
    this.#adoption = adoption;
    this.isChecking = hooks.length > 0;
    this.#bodies = new BodyReader(options.body);
    this.#signatures = hooks.length === 0 ? undefined : new (check().SignatureCheck)(hooks, options.body.limit, { sendContinue: (request) => this.#bodies.sendContinue(request), limitOf: (request) => this.#contractFor(request)?.bodyLimit, failed: ({ req, res }, error) => this.#failed(req, res, error) });
    const { requests } = options.logging;
    this.#accessLog = requests === false ? null : new AccessLog(logger, requests);
    const isWatching = options.hints || (options.logging.slowAfter ?? 0) > 0 || options.server.handlerTimeout > 0;
    this.#handlerTimeout = isWatching ? new (handlerTimeouts().HandlerTimeout)(options, logger, (watch, error) => this.#answerForHandlers(watch, error)) : null;
  }

  get rules(): RoutingRules {
    return this.#app.rules;
  }

  /** Called after each registration. */
  changed(): void {
    this.#isInstrumented = null;
  }

  /** Serves a request, as calling the application does; an unhandled one goes to `next`. */
  take(req: RoutedRequest, res: Response, next: NextFunction | undefined): void {
    if (isOfNodesHttp2(req) && !this.#readiesHttp2(req, res)) return;
    if (res.socket === null && req[kOriginalUrl] === undefined) this.#waitInPipeline(req, res, next);
    else this.#begin(req, res, next);
  }

  /** Loads what a request of HTTP/2 needs. Without a free descriptor it cannot: then the stream is reset. An unknown method is answered by 501. */
  #readiesHttp2(req: Request, res: Response): boolean {
    try {
      if (takesHttp2(req)) return true;
      res.writeHead(501).end();
      return false;
    } catch (error) {
      this.#logger.error({ err: error }, 'A request of HTTP/2 failed');
      res.destroy(error as Error);
      return false;
    }
  }

  /** Separate from `take`, where V8 would allocate the closure's context for every request. */
  #waitInPipeline(req: RoutedRequest, res: Response, next: NextFunction | undefined): void {
    beginInPipeline(req, res, this.#options.server.pipelining, () => this.#begin(req, res, next));
  }

  #begin(req: RoutedRequest, res: Response, next: NextFunction | undefined): void {
    const parent = req[kRun];
    const leave = this.#adoption.adopt(req, res, next, parent !== undefined);
    // An object that inherited its URL from a request has lost it by adoption: as in Express no layer matches.
    if (leave !== undefined && typeof req.url !== 'string') return leave();
    let watch: RequestWatch | null | undefined;
    req.res = res;
    if (res.req !== req) replaceRequest(req, res);
    if (req[kOriginalUrl] === undefined) {
      if (!req[kHttp2] && this.#isLeftOut(req, res)) return;
      giveOwnProperties(req, res);
      req[kOriginalUrl] = req.originalUrl;
      req[kOriginalMethod] ??= receivedMethod(req, res);
      this.#accessLog?.begin(req, res);
      watch = this.#watch(req, res);
      if (!this.#hosts.admits(req)) return refuseHead(req, res, HttpError.of('INVALID_HOST'));
      if (isCoded(req)) return refuseCoding(req, res);
    } else {
      this.#accessLog?.begin(req, res);
      watch = parent?.watch ?? this.#watch(req, res);
      if (parent?.watch != null) watch?.limitBy(this.#handlerTimeout);
    }
    if (isDisputed(req.url)) {
      const error = HttpError.of('DISPUTED_PATH');
      if (leave !== undefined) {
        watch?.leave(this.#handlerTimeout);
        return leave(error);
      }
      if (hasBody(req)) announceClose(req, res, this.#options.body.limit);
      this.#failed(req, res, error);
      return;
    }
    const run = new ApplicationRun(this, req, res, next, leave, watch);
    if (req.url.includes(SUFFIX) && parent === undefined) this.#cutSuffix(run);
    if (!run.isChecked) return this.#enter(run);
    // A refusal comes before the body is read, so the close is announced here.
    if (hasBody(req)) announceClose(req, res, this.#options.body.limit);
    this.#ask(run);
  }

  /** True for a request behind the last of its connection, which is not carried out. */
  #isLeftOut(req: RoutedRequest, res: Response): boolean {
    if (this.#listener.drains(req.socket)) endAfterFirst(req, res);
    // An ended response is this request's own: a late caller expects `next` even while the connection closes.
    if (!(isClosedTo(req) || isAfterLast(req)) || res.writableEnded) return false;
    req.resume();
    return true;
  }

  #ask(run: ApplicationRun): void {
    admit(run, () => this.#enter(run));
  }

  #watch(req: Request, res: Response): RequestWatch | null {
    return this.#handlerTimeout?.takes() === true ? RequestWatch.of(req, res, this.#handlerTimeout) : RequestWatch.ifTraced(req, res, (this.#isInstrumented ??= hasOpenTelemetry()));
  }

  /** Routes a path without its suffix if no route takes it as sent. An outer application decides for itself. */
  #cutSuffix(run: ApplicationRun): void {
    const { method, url } = run.req;
    if (!pathOf(url).endsWith(SUFFIX) || this.#takes(method, url)) return;
    const end = pathEnd(url, pathStart(url));
    const unsuffixed = url.slice(0, end - SUFFIX.length) + url.slice(end);
    if (!isDisputed(unsuffixed) && (run.outer === undefined || this.#takes(method, unsuffixed))) run.cutSuffix(unsuffixed);
  }

  #takes(method: string, url: string): boolean {
    return takes(this.#app, method, pathOf(url), this.rules);
  }

  /** The contract of the route that takes a request, empty where it has none; null without a route. */
  #contractFor({ method, url }: Request): Partial<Contract> | null {
    const route = routeFor(this.#app, method, pathOf(url), this.rules);
    return route === undefined ? null : route.contractFor(method) ?? NO_CONTRACT;
  }

  /** Reads the body if a route can take it, then runs the router. */
  #enter(run: ApplicationRun): void {
    const { req } = run;
    run.hasBody = hasBody(req);
    if (run.hasBody) return this.#readBody(run);
    this.#bodies.release(req);
    this.#route(run);
  }

  #readBody(run: ApplicationRun): void {
    const { req, res } = run;
    try {
      this.#bodies.read(req, res, () => this.#contractFor(req), () => this.#route(run));
    } catch (error) {
      // The parsers can't be loaded where no descriptor is left.
      this.ended(run, error);
    }
  }

  #route(run: ApplicationRun): void {
    if (takeDeferral(run.req)) this.#defer(run);
    else this.#runRouter(run);
  }

  /** Separate from `#route`, as for a pipeline. */
  #defer(run: ApplicationRun): void {
    defer(run.req, () => this.#runRouter(run));
  }

  #runRouter(run: ApplicationRun): void {
    try {
      this.#app.run(run.req, run.res, run.next);
    } catch (error) {
      // The throw of an invalid registration, or of a program's own router.
      this.ended(run, error);
    }
  }

  ask({ req, res, admission: { passed } }: ApplicationRun, method: string, url: string | null, admitted: () => void): void {
    if (this.#signatures === undefined) admitted();
    else this.#signatures.run({ req, res, method, url, passed, admitted });
  }

  prepareBody({ req, res }: ApplicationRun, contract: Contract | undefined, done: (error: unknown) => void): void {
    this.#bodies.prepare(req, res, contract, done);
  }

  limit(run: ApplicationRun, timeout: number): void {
    handlerTimeouts().limitByRoute(run, timeout, (error) => this.#answerForHandlers({ request: run.req, response: run.res }, error));
  }

  ended(run: ApplicationRun, error: unknown): void {
    const { req, res, outer } = run;
    if (outer !== undefined) this.#handBack(run, outer, error);
    else if (error) this.#failed(req, res, error);
    else this.#unmatched(run);
  }

  #handBack(run: ApplicationRun, outer: NextFunction, error: unknown): void {
    const { req, parent } = run;
    const callNext = (): void => {
      run.restoreSuffix();
      if (parent?.root != null) parent.root.reached = run.reached ?? parent.root.reached;
      req[kRun] = parent;
      run.watch?.leave(this.#handlerTimeout);
      outer(error || undefined);
    };
    if (!run.isChecked) callNext();
    else if (run.isForeignNext) admitBehind(run, run.enteredUrl, callNext);
    // An outer router asks its own application, if that checks signatures.
    else admit(run, callNext);
  }

  failed({ req, res }: ApplicationRun, error: unknown): void {
    this.#failed(req, res, error);
  }

  #unmatched(run: ApplicationRun): void {
    const { req, res } = run;
    // A handler has answered, or is about to, and also called next().
    if (res.headersSent || res[kAnswering]) return;
    if (this.fallback === null) {
      answerUnmatched(req, res, this.#options.routing.methodNotAllowed ? methodsFor(this.#app, pathOf(req.url), this.rules) : null);
      return;
    }
    // The fallback gets the target as sent, on which the scope may decide differently.
    run.restoreSuffix();
    req[kRun] = run;
    if (run.isChecked) admit(run, () => this.#callFallback(run));
    else this.#callFallback(run);
  }

  #callFallback({ req, res, watch }: ApplicationRun): void {
    const listener = this.fallback as FallbackListener;
    watch?.beforeCall();
    guardedCall(() => listener(req, res), (error) => this.#failed(req, res, error));
  }

  /** Answers with an error instead of the current handlers, whose later output is ignored. */
  #answerForHandlers({ request, response }: Pick<RequestWatch, 'request' | 'response'>, error: unknown): void {
    for (let run = (request as RoutedRequest)[kRun]?.root; run instanceof ApplicationRun; run = run.parent?.root) run.isStopped = true;
    takeOver(response);
    this.#failed(request, response, error);
    request[kAbort]?.abort(error);
  }

  /** Answers with an error. */
  #failed(req: Request, res: Response, error: unknown): void {
    if (isOfSignal(req, error)) return;
    RequestWatch.over(req)?.failed(error);
    if (res.writableEnded) {
      this.#logger.error({ err: error, ...loggedRequest(req), ...hintForFailure(error, firstAnswerOf(res)) }, 'An error was raised after the response had ended');
      return;
    }
    // A mounted Express application may have replaced the prototypes.
    this.#adoption.reclaim(req, res);
    answerError(res, error);
  }
}
