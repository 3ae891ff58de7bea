import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpError } from '../errors';
import { Adoption, giveOwnProperties, isOfHttp2, refuseHttp2 } from '../http/adoption';
import { hasBody } from '../http/body/capture';
import { announceClose } from '../http/body/discard';
import { isCoded, refuseCoding } from '../http/body/transfer-coding';
import { beginInPipeline, isBehindLast, isClosedTo } from '../http/connection';
import { answerError, answerUnmatched, refuseHead } from '../http/default-answer';
import { HostCheck } from '../http/host';
import { cutOff } from '../http/own-answer';
import { Request } from '../http/request';
import { receivedMethod } from '../http/received-method';
import { kOriginalMethod, kOriginalUrl, kSettings } from '../http/request-state';
import { DEFAULT_SETTINGS } from '../http/response-state';
import type { Response } from '../http/response';
import { isDisputed, pathOf } from '../target';
import { checkAround, isLedAstray } from './guards-around';
import type { NextFunction } from './handler';
import type { Params } from './pattern-params';
import { optionsAnswers } from './express-options-answer';
import { RouteTable } from './route-table';
import type { Era, RegisteredRouter, RoutingRules } from './registration';
import { EXPRESS_RULES, type RouterOptions, rulesOf } from './router-options';
import { RequestWatch } from './watch';
import { kBegun, kWalk, type Travelling, Walk, type WalkHost } from './walk';
import { WalkedResponse } from './walked-response';

/** Of a request that a router has adopted, since no application has it: the adoption. */
const kAdoption = Symbol('waypost.request.adoption');

type Adopted = Travelling & { [kAdoption]?: Adoption };

/** The default of the option `server.pipelining`, which a router outside of any application goes by. */
const PIPELINING = 8;

/** What a router gives back of a request that it leaves, as in Express. */
interface Outer {
  readonly baseUrl: string;
  readonly next: NextFunction | undefined;
  readonly params: Params | undefined;
}

/**
 * Runs the requests that a router is called with as a function: by another
 * framework, by a program's own middleware, by Node's server, or by an
 * application in whose list it can't stand.
 */
export class RouterCall implements WalkHost {
  /** Those around it do. */
  readonly isChecking = false;
  readonly mounted: RegisteredRouter;
  readonly #options: RouterOptions;
  readonly #adoption = new Adoption(Request.prototype, WalkedResponse.prototype);
  /** By the rules of what it was called in. */
  readonly #tables = new WeakMap<RoutingRules, RouteTable>();
  #era: Era = { isOver: false };
  readonly #hosts = new HostCheck();

  constructor(router: RegisteredRouter, options: RouterOptions) {
    this.mounted = router;
    this.#options = options;
  }

  /** To be called when what is registered has changed. */
  forget(): void {
    this.#era.isOver = true;
    this.#era = { isOver: false };
  }

  /** Runs a request of a server that has called the router as its listener: what nothing takes is not found. */
  answer(message: IncomingMessage, response: ServerResponse): void {
    if (isOfHttp2(message)) return refuseHttp2(response, DEFAULT_SETTINGS.logger);
    const [req, res] = [message as Adopted, response as Response];
    if (res.socket === null && req[kOriginalUrl] === undefined) beginInPipeline(req, res, PIPELINING, () => this.#answer(req, res));
    else this.#answer(req, res);
  }

  #answer(req: Adopted, res: Response): void {
    const around = req[kWalk];
    // Within an application they are that one's.
    if (around === undefined) {
      this.#adoption.adopt(req, res, undefined, false);
      req[kAdoption] = this.#adoption;
      if (isClosedTo(req) || isBehindLast(req)) {
        req.resume();
        return;
      }
      if (!this.#hosts.admits(req)) return refuseHead(req, res, HttpError.of('INVALID_HOST'));
      if (hasBody(req)) announceClose(req, res, req[kSettings].discardLimit);
    }
    giveOwnProperties(req, res);
    req.res = res;
    // Adapters of others make responses without one.
    if (res.req !== req) (res as unknown as { req: Request }).req = req;
    req[kOriginalUrl] ??= req.originalUrl;
    if (around === undefined && isCoded(req)) refuseCoding(req, res);
    else this.mounted.handle(req, res, (error) => RouterCall.#conclude(req, res, around, error));
  }

  /** Whatever a program has left on request and response: it may be called from a timer, where a throw would end the process. */
  static #conclude(req: Adopted, res: Response, around: Walk | undefined, error: unknown): void {
    try {
      // An Express application that the request was handed to meanwhile may have put its own prototypes on.
      if (around === undefined) req[kAdoption]?.reclaim(req, res);
      else around.host.reclaim(around);
      if (error) answerError(res, error);
      else if (!res.headersSent) answerUnmatched(req, res, null);
    } catch {
      cutOff(res);
    }
  }

  run(message: IncomingMessage, response: ServerResponse, next: NextFunction): void {
    const req = message as Travelling;
    // What another framework made may lack anything.
    if (typeof req.url !== 'string' || req.url === '') return next();
    if (isDisputed(req.url)) return next(HttpError.of('DISPUTED_PATH'));
    const parent = req[kWalk];
    const table = this.#tableIn(parent, next);
    if (table === null) return;
    const outer: Outer = { baseUrl: req.baseUrl, next: req.next, params: req.params };
    req.originalUrl ||= req.url;
    req.baseUrl ||= '';
    req[kOriginalMethod] ??= receivedMethod(req, response);
    const begun = req[kBegun] ?? parent;
    const leave: NextFunction = (error) => RouterCall.#leave(req, outer, next, error);
    const watch = parent === undefined ? RequestWatch.ifTraced(req, response as Response, false) : parent.watch?.request;
    const walk = new Walk(this, req, response as Response, table, table.match(req.method, pathOf(req.url), parent), leave, parent, begun, watch);
    if (table.rules.inherits === true) walk.inherited = outer.params ?? null;
    req[kWalk] = walk;
    if (begun !== undefined) req[kBegun] = walk;
    if (isLedAstray(walk)) checkAround(walk, walk.method, walk.url, () => this.read(walk));
    else this.read(walk);
  }

  /** A property that a program has made read-only is an error of the request: a walk may end in a timer, where a throw would end the process. */
  static #leave(req: Travelling, outer: Outer, next: NextFunction, error: unknown): void {
    let raised = error;
    try {
      Object.assign(req, outer);
    } catch (failure) {
      raised ||= failure;
    }
    next(raised);
  }

  /** @internal Bodies are the application's that the router is called in. */
  read(walk: Walk): void {
    const host = applicationAround(walk);
    if (host === undefined) walk.resume(walk.match);
    else host.read(walk);
  }

  /** @internal */
  rewritten(walk: Walk): void {
    walk.match = walk.table.match(walk.method, pathOf(walk.url));
    checkAround(walk, walk.method, walk.url, () => this.read(walk));
  }

  /** @internal A router checks nothing: those around it do. */
  retargeted(_walk: Walk, _method: string, _url: string, admitted: () => void): void {
    admitted();
  }

  /** @internal */
  retargetedWithin(walk: Walk, method: string, url: string, admitted: () => void): void {
    checkAround(walk, method, url, admitted);
  }

  /** @internal */
  reclaim(walk: Walk): void {
    const host = applicationAround(walk);
    if (host === undefined) (walk.req as Adopted)[kAdoption]?.reclaim(walk.req, walk.res);
    else host.reclaim(walk);
  }

  /** @internal */
  ended(walk: Walk, failed: boolean, error: unknown): void {
    walk.giveBack();
    (walk.outer as NextFunction)(failed ? error : undefined);
  }

  /** Null where what is registered can't be, of which `next` is told. */
  #tableIn(parent: Walk | undefined, next: NextFunction): RouteTable | null {
    try {
      return this.#tableUnder(parent?.table.rules ?? EXPRESS_RULES, parent?.table.apart ?? false, null);
    } catch (error) {
      next(error);
      return null;
    }
  }

  /** @internal */
  tableNow({ parent, table }: Walk): RouteTable {
    return this.#tableUnder(parent?.table.rules ?? EXPRESS_RULES, table.apart, table);
  }

  /** @param before The table to go on from, where none is known. */
  #tableUnder(around: RoutingRules, apart: boolean, before: RouteTable | null): RouteTable {
    const known = this.#tables.get(around);
    if (known?.era.isOver === false) return known;
    const inherits = this.#options.mergeParams ?? around.mergeParams ?? true;
    const table = new RouteTable(this.mounted, { ...rulesOf(this.#options, around), inherits }, apart, optionsAnswers, known ?? before, this.#era, true);
    this.#tables.set(around, table);
    return table;
  }
}

function applicationAround({ parent }: Walk): WalkHost | undefined {
  let walk = parent;
  while (walk?.host instanceof RouterCall) walk = walk.parent;
  return walk?.host;
}
