import { AccessLog } from './access-log';
import { ApplicationRun, type RunHost } from './application-run';
import { BodyReader } from './body-reader';
import { HttpError, read } from '../errors';
import { guardedCall } from '../http/guarded-call';
import { type Adoption, giveOwnProperties, isOfHttp2, leadTo, refuseHttp2 } from '../http/adoption';
import { answerError, answerUnmatched, refuseHead } from '../http/default-answer';
import { firstAnswerOf } from '../http/first-answer';
import { hintForFailure } from '../hints';
import { HostCheck } from '../http/host';
import { cutOff } from '../http/own-answer';
import { beginInPipeline, isBehindLast, isClosedTo } from '../http/connection';
import { loggedRequest } from '../http/logged-request';
import type { Request } from '../http/request';
import { receivedMethod } from '../http/received-method';
import { kOriginalMethod, kOriginalUrl } from '../http/request-state';
import type { Response } from '../http/response';
import { takeOver } from '../http/taken-over';
import { kAnswering } from '../http/response-state';
import { hasBody } from '../http/body/capture';
import { announceClose } from '../http/body/discard';
import { isCoded, refuseCoding } from '../http/body/transfer-coding';
import { hasOpenTelemetry } from '../tracing/open-telemetry';
import type { ResolvedOptions } from '../options/resolved';
import { HandlerTimeout } from './handler-timeout';
import { admit, admitBehind } from '../routing/admission';
import type { FallbackListener, NextFunction } from '../routing/handler';
import type { Mounted } from '../routing/layer';
import { kRun, type RoutedRequest } from '../routing/caller';
import type { RoutingRules } from '../routing/rules';
import { methodsFor, takes } from '../routing/takes';
import { RequestWatch } from '../routing/watch';
import type { SafeLog } from '../log/safe-log';
import type { Listener } from './server';
import { SignatureCheck } from '../signature/check';
import type { SignatureHook } from '../signature/hook';
import { isDisputed, pathEnd, pathOf, pathStart } from '../target/target';

/** The application whose way it is. */
export interface WayApplication extends Mounted {
  readonly rules: RoutingRules;
  /** Runs the application's router. */
  run(req: Request, res: Response, done: NextFunction): void;
}

/** What a way takes from its application. */
export interface RequestWayParts {
  readonly options: ResolvedOptions;
  readonly logger: SafeLog;
  readonly listener: Listener;
  readonly adoption: Adoption;
  readonly hooks: readonly SignatureHook[];
}

/** The suffix that asks for `res.xJson` (INTERFACE section 4.3). */
const SUFFIX = '.xJson';

/**
 * A request's way through an application: adopted, checked for its signature
 * (headers, then bytes), its body captured when a route can take it, then
 * routed; what is left is an error, the fallback, or not found.
 */
export class RequestWay implements RunHost {
  /** Takes what nothing registered has taken. */
  fallback: FallbackListener | null = null;
  readonly isChecking: boolean;
  readonly #app: WayApplication;
  readonly #options: ResolvedOptions;
  readonly #logger: SafeLog;
  readonly #listener: Listener;
  readonly #adoption: Adoption;
  readonly #signatures: SignatureCheck;
  readonly #bodies: BodyReader;
  /** Null where no request is to be logged. */
  readonly #accessLog: AccessLog | null;
  readonly #handlerTimeout: HandlerTimeout;
  readonly #hosts = new HostCheck();
  /** Whether OpenTelemetry is there, as far as is known: to look for it costs more than a request should. */
  #isInstrumented: boolean | null = null;

  constructor(app: WayApplication, { options, logger, listener, adoption, hooks }: RequestWayParts) {
    this.#app = app;
    this.#options = options;
    this.#logger = logger;
    this.#listener = listener;
    this.#adoption = adoption;
    this.isChecking = hooks.length > 0;
    this.#bodies = new BodyReader(options.body);
    this.#signatures = new SignatureCheck(hooks, options.body.limit, { invite: (request) => this.#bodies.invite(request), failed: ({ req, res }, error) => this.#failed(req, res, error) });
    const { requests } = options.logging;
    this.#accessLog = requests === false ? null : new AccessLog(logger, requests);
    this.#handlerTimeout = new HandlerTimeout(options, logger, (watch, error) => this.#answerInstead(watch, error));
  }

  get rules(): RoutingRules {
    return this.#app.rules;
  }

  /** To be called when something has been registered. */
  changed(): void {
    this.#isInstrumented = null;
  }

  /** Takes a request, as calling the application does; `next` goes on with what it has not taken. */
  take(req: RoutedRequest, res: Response, next: NextFunction | undefined): void {
    if (isOfHttp2(req)) return refuseHttp2(res, this.#logger);
    if (res.socket === null && req[kOriginalUrl] === undefined) this.#wait(req, res, next);
    else this.#begin(req, res, next);
  }

  /** Apart from `take`, which would make room for the closure at each request. */
  #wait(req: RoutedRequest, res: Response, next: NextFunction | undefined): void {
    beginInPipeline(req, res, this.#options.server.pipelining, () => this.#begin(req, res, next));
  }

  #begin(req: RoutedRequest, res: Response, next: NextFunction | undefined): void {
    const parent = req[kRun];
    const leave = this.#adoption.adopt(req, res, next, parent !== undefined);
    // An object that inherits from a request has lost its URL with its prototype: as in Express no layer matches.
    if (leave !== undefined && typeof req.url !== 'string') return leave();
    if (!this.#listener.carriesOut(req, res)) return;
    let watch: RequestWatch | null | undefined;
    req.res = res;
    if (res.req !== req) leadTo(req, res);
    if (req[kOriginalUrl] === undefined) {
      // What has been answered is this very request: its connection may close behind that, and whoever handed it on late wants it to go on.
      if ((isClosedTo(req) || isBehindLast(req)) && read(res, 'writableEnded') !== true) {
        req.resume();
        return;
      }
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
    // What is refused is answered before anything looks at the body.
    if (hasBody(req)) announceClose(req, res, this.#options.body.limit);
    this.#ask(run);
  }

  #ask(run: ApplicationRun): void {
    admit(run, () => this.#enter(run));
  }

  #watch(req: Request, res: Response): RequestWatch | null {
    return this.#handlerTimeout.takes() ? RequestWatch.of(req, res, this.#handlerTimeout) : RequestWatch.ifTraced(req, res, (this.#isInstrumented ??= hasOpenTelemetry()));
  }

  /** Routes a path that ends in the suffix, and that no route takes, without it. What a mounted application does not take, the one around judges by itself. */
  #cutSuffix(run: ApplicationRun): void {
    const { method, url } = run.req;
    if (!pathOf(url).endsWith(SUFFIX) || this.#takes(method, url)) return;
    const end = pathEnd(url, pathStart(url));
    const bare = url.slice(0, end - SUFFIX.length) + url.slice(end);
    if (!isDisputed(bare) && (run.outer === undefined || this.#takes(method, bare))) run.cutSuffix(bare);
  }

  #takes(method: string, url: string): boolean {
    return takes(this.#app, method, pathOf(url), this.rules);
  }

  /** Reads the body where a route can take it, and runs what is registered. */
  #enter(run: ApplicationRun): void {
    const { req } = run;
    run.hasBody = hasBody(req);
    if (run.hasBody) return this.#readBody(run);
    this.#bodies.pass(req);
    this.#route(run);
  }

  #readBody(run: ApplicationRun): void {
    const { req, res } = run;
    this.#bodies.read(req, res, () => this.#takes(req.method, req.url), () => this.#route(run));
  }

  #route(run: ApplicationRun): void {
    try {
      this.#app.run(run.req, run.res, run.next);
    } catch (error) {
      // What was registered and can't be, or a router of the program's own.
      this.ended(run, error);
    }
  }

  ask({ req, res, admission: { passed } }: ApplicationRun, method: string, url: string | null, admitted: () => void): void {
    if (this.isChecking) this.#signatures.run({ req, res, method, url, passed, admitted });
    else admitted();
  }

  prepareBody({ req, res }: ApplicationRun, done: (error: unknown) => void): void {
    this.#bodies.prepare(req, res, done);
  }

  ended(run: ApplicationRun, error: unknown): void {
    const { req, res, outer } = run;
    if (outer !== undefined) this.#handBack(run, outer, error);
    else if (error) this.#failed(req, res, error);
    else this.#untaken(run);
  }

  #handBack(run: ApplicationRun, outer: NextFunction, error: unknown): void {
    const { req, parent } = run;
    const handOn = (): void => {
      run.restoreSuffix();
      if (parent?.root != null) parent.root.reached = run.reached ?? parent.root.reached;
      req[kRun] = parent;
      run.watch?.leave(this.#handlerTimeout);
      outer(error || undefined);
    };
    if (!run.isChecked) handOn();
    else if (run.isHandedOut) admitBehind(run, run.enteredUrl, handOn);
    // A router around asks its own application, if that checks anything.
    else admit(run, handOn);
  }

  failed({ req, res }: ApplicationRun, error: unknown): void {
    this.#failed(req, res, error);
  }

  #untaken(run: ApplicationRun): void {
    const { req, res } = run;
    // A handler has answered, or is about to, and called next() besides.
    if (res.headersSent || res[kAnswering]) return;
    if (this.fallback === null) {
      answerUnmatched(req, res, this.#options.routing.methodNotAllowed ? methodsFor(this.#app, pathOf(req.url), this.rules) : null);
      return;
    }
    // It takes the target as sent, of which the scope may think otherwise than of the one without its suffix.
    run.restoreSuffix();
    req[kRun] = run;
    if (run.isChecked) admit(run, () => this.#fall(run));
    else this.#fall(run);
  }

  #fall({ req, res, watch }: ApplicationRun): void {
    const listener = this.fallback as FallbackListener;
    watch?.begins();
    guardedCall(() => listener(req, res), (error) => this.#failed(req, res, error));
  }

  /** Answers with an error in the place of the handlers that have the request; what they still do is too late. */
  #answerInstead({ request, response }: RequestWatch, error: unknown): void {
    for (let run = (request as RoutedRequest)[kRun]?.root; run instanceof ApplicationRun; run = run.parent?.root) run.isStopped = true;
    takeOver(response);
    this.#failed(request, response, error);
  }

  /** Answers with an error, whatever a program has left on request and response: it may come from a timer, where a throw would end the process. */
  #failed(req: Request, res: Response, error: unknown): void {
    RequestWatch.over(req)?.failed(error);
    try {
      if (res.writableEnded) {
        this.#logger.error({ err: error, ...loggedRequest(req), ...hintForFailure(error, firstAnswerOf(res)) }, 'An error was raised after the response had ended');
        return;
      }
      // An Express application that the request was handed to meanwhile has put its own on.
      this.#adoption.reclaim(req, res);
      answerError(res, error);
    } catch (failure) {
      this.#logger.error({ err: failure }, 'The response failed');
      cutOff(res);
    }
  }
}
