import { AccessLog } from './access-log';
import { BodyReader } from './body-reader';
import { HttpError, read } from '../errors';
import { guardedCall } from '../guarded-call';
import { type Adoption, giveOwnProperties, isOfHttp2, leadTo, refuseHttp2 } from '../http/adoption';
import { answerError, answerUnmatched, refuseHead } from '../http/default-answer';
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
import { letFlow } from '../http/body/standstill';
import { isCoded, refuseCoding } from '../http/body/transfer-coding';
import { hasOpenTelemetry } from '../open-telemetry';
import type { ResolvedOptions } from '../options/resolved';
import { HandlerTimeout } from './handler-timeout';
import { checkAround, isLedAstray } from '../routing/guards-around';
import type { FallbackListener, NextFunction } from '../routing/handler';
import type { RouteTable } from '../routing/route-table';
import { Retarget } from '../routing/mounted-rewrite';
import { kBegun, kWalk, type Travelling, Walk, type WalkHost } from '../routing/walk';
import { RequestWatch } from '../routing/watch';
import type { SafeLog } from '../safe-log';
import type { Listener } from './server';
import { type CheckHost, SignatureCheck } from '../signature/check';
import type { SignatureHook } from '../signature/hook';
import { isDisputed, pathOf } from '../target';
import { matchTarget, restoreSuffix } from './xjson-suffix';

/** What is registered where a way leads, and where a program has put its own in the place of that. */
export interface Registered {
  /** Works out anew all that is registered, in the place of the table before. */
  layOut(before: RouteTable | null): RouteTable;
  /** Returns the way to the routes, where a program has put its own in the place of the router's `handle`: all that is registered is that then. */
  beneath(): RequestWay | null;
  /** Returns what a program has defined in the place of the router; null where it has not. */
  definedRouter(): unknown;
}

/** What a way takes from its application. */
export interface RequestWayParts {
  readonly options: ResolvedOptions;
  readonly logger: SafeLog;
  readonly listener: Listener;
  readonly adoption: Adoption;
  readonly hooks: readonly SignatureHook[];
}

/**
 * A request's way through an application: adopted, matched, checked for its
 * signature (headers, then bytes), its body captured when a route can take it,
 * then walked down its plan, and the body parsed for the first route; what is left is an error, the
 * fallback, or not found.
 */
export class RequestWay implements WalkHost, CheckHost<Walk | Retarget> {
  /** Takes what nothing registered has taken. */
  fallback: FallbackListener | null = null;
  /** The application. */
  readonly mounted: object;
  readonly #options: ResolvedOptions;
  readonly #logger: SafeLog;
  readonly #listener: Listener;
  readonly #registered: Registered;
  readonly #adoption: Adoption;
  /** Null where no request needs a signature. */
  readonly #signatures: SignatureCheck<Walk | Retarget> | null;
  readonly #bodies: BodyReader;
  /** Null where no request is to be logged. */
  readonly #accessLog: AccessLog | null;
  readonly #handlerTimeout: HandlerTimeout;
  readonly #hosts = new HostCheck();
  #table: RouteTable | null = null;
  /** Whether OpenTelemetry was there when the table was made: to look for it costs more than a request should. */
  #isInstrumented = false;
  /** What a program had defined in the place of the application's router by then, which nothing tells of. */
  #router: unknown = null;

  /** @param app The application, or its router. */
  constructor(app: object, registered: Registered, { options, logger, listener, adoption, hooks }: RequestWayParts) {
    this.mounted = app;
    this.#registered = registered;
    this.#options = options;
    this.#logger = logger;
    this.#listener = listener;
    this.#adoption = adoption;
    this.#signatures = hooks.length === 0 ? null : new SignatureCheck(hooks, options.body.limit, this);
    this.#bodies = new BodyReader(options.body);
    const { requests } = options.logging;
    this.#accessLog = requests === false ? null : new AccessLog(logger, requests);
    this.#handlerTimeout = new HandlerTimeout(options, logger, (watch, error) => this.#answerInstead(watch, error));
  }

  /** All that is registered, worked out when it is first asked for. */
  table(): RouteTable {
    const router = this.#registered.definedRouter();
    if (this.#table?.era.isOver === false && router === this.#router) return this.#table;
    this.#isInstrumented = hasOpenTelemetry();
    this.#table = this.#registered.layOut(this.#table);
    this.#router = router;
    return this.#table;
  }

  /** The same of the routes, whatever a program has put before them. */
  routes(): RouteTable {
    return (this.#registered.beneath() ?? this).table();
  }

  /** The methods of the routes that match a walk's target. */
  #methods({ method, url }: Walk): Set<string> {
    const routes = this.routes();
    return routes.methods(routes.match(method, pathOf(url)));
  }

  /** To be called when something has been registered. */
  changed(): void {
    if (this.#table !== null) this.#table.era.isOver = true;
  }

  get isChecking(): boolean {
    return this.#signatures !== null;
  }

  /** Takes a request, as calling the application does; `next` goes on with what it has not taken. */
  take(req: Travelling, res: Response, next: NextFunction | undefined): void {
    if (isOfHttp2(req)) return refuseHttp2(res, this.#logger);
    if (res.socket === null && req[kOriginalUrl] === undefined) this.#wait(req, res, next);
    else this.#begin(req, res, next);
  }

  /** Apart from `take`, which would make room for the closure at each request. */
  #wait(req: Travelling, res: Response, next: NextFunction | undefined): void {
    beginInPipeline(req, res, this.#options.server.pipelining, () => this.#begin(req, res, next));
  }

  #begin(req: Travelling, res: Response, next: NextFunction | undefined): void {
    const parent = req[kWalk];
    const leave = this.#adoption.adopt(req, res, next, parent !== undefined);
    // What a program has made of a request by inheritance lost its URL with its prototype: as in Express nothing applies to it.
    if (leave !== undefined && typeof req.url !== 'string') return leave();
    if (!this.#listener.carriesOut(req, res)) return;
    let watch: RequestWatch | null | undefined;
    req.res = res;
    if (res.req !== req) leadTo(req, res);
    let table: RouteTable;
    try {
      table = this.table();
    } catch (error) {
      // What a program has done to a stack can't be laid out: without it a guard may be missing.
      if (leave === undefined) this.failed({ req, res }, error);
      else leave(error);
      return;
    }
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
      watch = parent?.watch?.request ?? this.#watch(req, res);
      if (parent?.watch) watch?.limitBy(this.#handlerTimeout);
    }
    const { url } = req;
    if (isDisputed(url)) {
      const error = HttpError.of('DISPUTED_PATH');
      if (leave !== undefined) {
        watch?.leave(this.#handlerTimeout);
        return leave(error);
      }
      if (hasBody(req)) announceClose(req, res, this.#options.body.limit);
      this.failed({ req, res }, error);
      return;
    }
    const match = matchTarget(table, this.mounted, req, res, leave !== undefined, parent);
    const begun = req[kBegun] ?? parent;
    const walk = new Walk(this, req, res, table, match, leave, parent, begun, watch, url);
    if (req.url !== url) walk.suffixed = { sent: url, stripped: req.url };
    req[kWalk] = walk;
    if (begun !== undefined) req[kBegun] = walk;
    if (isLedAstray(walk)) checkAround(walk, walk.method, walk.url, () => this.#check(walk));
    else this.#check(walk);
  }

  #watch(req: Request, res: Response): RequestWatch | null {
    return this.#handlerTimeout.isWatching ? RequestWatch.of(req, res, this.#handlerTimeout) : RequestWatch.ifTraced(req, res, this.#isInstrumented);
  }

  /** Answers with an error in the place of the handlers that have the request; what they still do is too late. */
  #answerInstead({ request, response }: RequestWatch, error: unknown): void {
    for (let walk = (request as Travelling)[kWalk]; walk !== undefined; walk = walk.parent) walk.stop();
    takeOver(response);
    this.failed({ req: request, res: response }, error);
  }

  #check(walk: Walk): void {
    if (this.#signatures === null) return this.#admit(walk);
    const { req, res } = walk;
    // What is refused is answered before anything looks at the body.
    if (hasBody(req)) announceClose(req, res, this.#options.body.limit);
    this.#signatures.run(walk);
  }

  /** Its signatures are there, or none was needed. */
  admitted(target: Walk | Retarget): void {
    letFlow(target.req);
    if (target instanceof Walk) this.#admit(target);
    else target.admitted();
  }

  #admit(walk: Walk): void {
    if (walk.falls) this.#fall(walk);
    else this.#bodies.read(walk);
  }

  invite(target: Walk | Retarget): void {
    this.#bodies.invite(target);
  }

  tableNow(): RouteTable {
    return this.table();
  }

  read(walk: Walk): void {
    this.#bodies.read(walk);
  }

  /** Middleware has changed URL or method: from here on the new target counts, for the applications around too. */
  rewritten(walk: Walk): void {
    walk.match = walk.table.match(walk.method, pathOf(walk.url));
    const check = (): void => this.#check(walk);
    const { behindCut } = walk.view;
    checkAround(walk, walk.method, walk.url, behindCut === undefined ? check : () => this.retargetedWithin(walk, walk.method, behindCut, check));
  }

  /** What is mounted here has made another target of a walk's. While the walk is held it has none that may go on. */
  retargeted(walk: Walk, method: string, url: string, admitted: () => void): void {
    if (this.#signatures === null || (!walk.held && method === walk.method && url === walk.url)) admitted();
    else this.#signatures.run(new Retarget(walk, method, url, admitted));
  }

  retargetedWithin(walk: Walk, method: string, url: string, admitted: () => void): void {
    this.retargeted(walk, method, url, () => checkAround(walk, method, url, admitted));
  }

  reclaim({ req, res }: Walk): void {
    this.#adoption.reclaim(req, res);
  }

  ended(walk: Walk, failed: boolean, error: unknown): void {
    const { outer } = walk;
    if (outer !== undefined) {
      restoreSuffix(walk);
      walk.giveBack();
      walk.watch?.request.leave(this.#handlerTimeout);
      const given = failed ? error : undefined;
      // Who goes on may answer: Node takes that for an error of a response that has just ended, and drops it a turn later, when Express goes on.
      if (read(walk.res, 'writableEnded') === true) setImmediate(outer, given);
      else outer(given);
    } else if (walk.hasCalled && (failed || this.fallback === null)) {
      // As in Express, whoever has called next() may still answer on this turn.
      setImmediate(RequestWay.#conclude, this, walk, failed, error);
    } else {
      RequestWay.#conclude(this, walk, failed, error);
    }
  }

  static #conclude(this: void, way: RequestWay, walk: Walk, failed: boolean, error: unknown): void {
    if (failed) return way.failed(walk, error);
    try {
      way.#untaken(walk);
    } catch (failure) {
      way.failed(walk, failure);
    }
  }

  #untaken(walk: Walk): void {
    const { req, res } = walk;
    // A handler has answered, or is about to, and called next() besides.
    if (res.headersSent || res[kAnswering]) return;
    if (this.fallback === null) {
      answerUnmatched(req, res, this.#options.routing.methodNotAllowed ? this.#methods(walk) : null);
      return;
    }
    // It takes the target as sent, of which the scope may think otherwise than of the one without its suffix.
    restoreSuffix(walk);
    walk.view.url = req.url;
    walk.falls = true;
    this.#check(walk);
  }

  #fall(walk: Walk): void {
    const { req, res } = walk;
    const listener = this.fallback as FallbackListener;
    walk.watch?.request.begins();
    guardedCall(() => listener(req, res), (error) => this.failed(walk, error));
  }

  /** Whatever a program has left on request and response: a walk may go on from a timer, where a throw would end the process. */
  failed({ req, res }: Pick<Walk, 'req' | 'res'>, error: unknown): void {
    RequestWatch.over(req)?.failed(error);
    try {
      if (res.writableEnded) {
        this.#logger.error({ err: error, ...loggedRequest(req) }, 'An error was raised after the response had ended');
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
