import { HttpError } from '../errors';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import { isDisputed, pathOf, pathStart } from '../target';
import { admit, admitBehind } from './admission';
import { asError, callHandler } from './call';
import { type ApplicationRoot, type Caller, joinPatterns, kRun, NOTHING, type Removed, restored, type RoutedRequest, targetBeneath } from './caller';
import type { Handler, NextFunction } from './handler';
import type { HandlerTrace } from './handler-trace';
import { type AnyLayer, type ForeignLayer, kMounted, Layer } from './layer';
import type { Lookup, Step } from './layer-index';
import { mergeParams } from './merge-params';
import { forgetFraming } from '../http/answer';
import { type ParamCall, processParams } from './param';
import type { Pattern } from './patterns/pattern';
import type { Params } from './patterns/params';
import { handles, type Route } from './route';
import type { Router } from './router';
import type { RoutingRules } from './rules';
import { findTaker, hasRoutes, isBesideRouters, type Taker } from './takes';
import type { RequestWatch } from './watch';

/** Calls of `next` that may be nested before the stack is let go. */
const MAX_SYNC_CALLS = 100;

/** A prefix that is part of the URL again, so that only the base is to be restored. */
const SHOWN: Removed = Object.freeze({ prefix: '', isSlashAdded: false });

const WHOLE: Removed = Object.freeze({ prefix: '', isSlashAdded: false, isWhole: true });

/** What a foreign layer has matched. */
interface ForeignMatch {
  readonly params: Params;
  readonly path: string;
}

/**
 * One call of a router: it goes down the stack once, from top to bottom, as Express's routers do. The index tells which layers can match
 * the URL; after each `next` the URL and the method are read anew.
 */
export class RouterRun implements Caller {
  readonly router: Router;
  readonly req: RoutedRequest;
  readonly res: Response;
  readonly rules: RoutingRules;
  readonly parent: Caller | undefined;
  readonly root: ApplicationRoot | null;
  /** Whether functions are called only for targets that signature checks have admitted. */
  readonly isChecked: boolean;
  readonly watch: RequestWatch | null;
  readonly next: NextFunction;
  readonly entered: Removed | null;
  readonly mountPath: string;
  /** Values of parameters that handlers were called with. */
  paramCalls: Record<string, ParamCall> | null = null;

  readonly #done: NextFunction;
  readonly #enteredUrl: string;
  readonly #baseUrl: string;
  readonly #outer: { readonly baseUrl: string; readonly next: NextFunction | undefined; readonly params: Params };
  #lookup: Lookup | null = null;
  #url = '';
  #version = -1;
  /** Position in the stack: every layer is met at most once. */
  #position = 0;
  #cursor = 0;
  #removed: Removed = NOTHING;
  /** URL and base that were shown to the layer that runs. */
  #shown = '';
  #shownBase: string;
  #isWhole = false;
  #syncCalls = 0;
  /** Methods of the routes that were passed by, where the router was entered with OPTIONS and answers that. */
  readonly #allowed: Set<string> | null;
  #pattern: Pattern | undefined = undefined;
  #reached: Pattern | undefined = undefined;
  /** The pattern of the mounts around. */
  readonly #mountPattern: string;
  #taker: Taker | null = null;
  #trace: HandlerTrace | null = null;

  /** @param done Goes on with what nothing here has taken. */
  constructor(router: Router, req: RoutedRequest, res: Response, done: NextFunction, rules: RoutingRules, watch: RequestWatch | null) {
    const parent = req[kRun];
    this.router = router;
    this.req = req;
    this.res = res;
    this.#done = done;
    this.#enteredUrl = req.url;
    this.rules = rules;
    this.parent = parent;
    this.root = parent === undefined ? null : parent.root;
    this.isChecked = this.root !== null && this.root.isChecked;
    this.watch = watch;
    this.#outer = { baseUrl: req.baseUrl, next: req.next, params: req.params };
    this.#baseUrl = typeof req.baseUrl === 'string' ? req.baseUrl : '';
    this.#shownBase = this.#baseUrl;
    this.entered = parent === undefined ? NOTHING : parent.enteredBy(req, this.#baseUrl);
    this.mountPath = parent === undefined || rules.asExpress || this.entered === null ? '' : (this.entered.isWhole === true ? '' : parent.mountPath) + this.entered.prefix;
    this.#mountPattern = parent === undefined ? this.#baseUrl : parent.route;
    this.#allowed = req.method === 'OPTIONS' && rules.answersOptions ? new Set() : null;
    this.next = RouterRun.#next.bind(undefined, this);
    req.baseUrl = this.#baseUrl;
    req.next = this.next;
  }

  /** Begins. A router without layers is left at once. */
  start(): void {
    if (this.router[kMounted].layers.length === 0) this.#leave(undefined);
    else this.#advance(undefined);
  }

  /** Bound, no closure: a closure that stands on an object which it captures makes V8 collect its old space again and again where bodies are large. */
  static #next(this: void, run: RouterRun, error?: unknown): void {
    run.#advance(error);
  }

  static #again(this: void, run: RouterRun, error: unknown): void {
    run.#syncCalls = 0;
    run.#advance(error);
  }

  #advance(error: unknown): void {
    if (this.root !== null && (this.root.isStopped || this.root.admission.isPending)) return this.root.drop(error);
    if (this.#trace !== null) {
      (this.watch as RequestWatch).left(this.#trace, error);
      this.#trace = null;
    }
    if (this.#isWhole && !this.#showRelative()) return this.#leave(error === 'router' ? undefined : asError(error));
    if (this.#removed !== NOTHING) this.#restoreUrl();
    if (error === 'router') {
      setImmediate(RouterRun.#leaveLater, this, undefined);
      return;
    }
    const failure = asError(error);
    if (this.#position >= this.router[kMounted].layers.length) {
      setImmediate(RouterRun.#leaveLater, this, failure);
      return;
    }
    if (++this.#syncCalls > MAX_SYNC_CALLS) {
      setImmediate(RouterRun.#again, this, error);
      return;
    }
    this.#goOn(failure);
  }

  static #leaveLater(this: void, run: RouterRun, failure: unknown): void {
    if (run.root?.admission.isPending !== true) run.#leave(failure);
  }

  /** Goes on to the next layer that matches. */
  #goOn(given: unknown): void {
    const { req, router } = this;
    req[kRun] = this;
    this.#taker = null;
    let failure = given;
    if (req.url !== this.#url || router[kMounted].version !== this.#version) {
      try {
        this.#locate();
      } catch (error) {
        // A URL that others read as another path, one that is no string, or what was registered and can't be.
        return this.#leave(failure ?? error);
      }
    }
    const lookup = this.#lookup as Lookup;
    const { steps } = lookup.plan;
    while (this.#cursor < steps.length) {
      const step = steps[this.#cursor++] as Step;
      this.#position = step.position + 1;
      const { layer } = step;
      if (!(layer instanceof Layer)) {
        const found = this.#matchForeign(layer, failure);
        if (found instanceof Error) failure ??= found;
        else if (found !== undefined) return this.#callForeign(layer, found, failure);
        continue;
      }
      const pattern = lookup.match(step);
      if (pattern === undefined) continue;
      const { route } = layer;
      const isPassed = route !== undefined && (failure !== undefined || !this.#handles(layer));
      // Express captures before it looks at the method, and raises what is malformed.
      if (isPassed && !(this.rules.asExpress && lookup.isLoose)) continue;
      let params: Params;
      try {
        params = lookup.capture(step, pattern, route !== undefined || this.rules.asExpress);
        if (route !== undefined && !this.rules.asExpress && this.parent instanceof RouterRun) this.parent.#checkCaptures();
      } catch (error) {
        failure ??= error;
        continue;
      }
      if (isPassed) continue;
      if (step.isRouter && failure === undefined && !this.rules.asExpress && isBesideRouters(this) && this.#standsBack(layer)) continue;
      return this.#enter(step, pattern, params, failure);
    }
    this.#position = router[kMounted].layers.length;
    this.#leave(failure);
  }

  /** Reads the URL anew, and what is registered. @throws HttpError for a URL that others read as another path. */
  #locate(): void {
    const { req, router, entered, parent } = this;
    const { url } = req;
    if (isDisputed(url)) throw HttpError.of('DISPUTED_PATH');
    const path = pathOf(url);
    const index = router[kMounted].index(this.rules);
    const isBehindMount = entered !== null && (entered.prefix === '' ? parent?.lookup?.isBehindMount === true : !entered.isSlashAdded);
    this.#lookup = index.lookup(path, isBehindMount);
    this.#url = url;
    this.#version = router[kMounted].version;
    const { steps } = this.#lookup.plan;
    let cursor = 0;
    while (cursor < steps.length && (steps[cursor] as Step).position < this.#position) cursor++;
    this.#cursor = cursor;
  }

  #handles({ route }: AnyLayer): boolean {
    const { method } = this.req;
    const handles = (route as NonNullable<Layer['route']>).handles(method);
    if (!handles && method === 'OPTIONS' && this.#allowed !== null) {
      for (const name of Object.keys((route as NonNullable<Layer['route']>).methods)) this.#allowed.add(name.toUpperCase());
      if ((route as NonNullable<Layer['route']>).methods['get'] === true) this.#allowed.add('HEAD');
    }
    return handles;
  }

  /** Whether the layer at the cursor is a router that is not entered. */
  #standsBack({ mounted }: Layer): boolean {
    if (mounted === undefined || mounted.isApplication || !hasRoutes(mounted)) return false;
    const at = this.#cursor - 1;
    if (this.#taker === null || this.#taker.at < at) this.#taker = findTaker(this, at);
    return this.#taker.at > at && this.#taker.isRouter;
  }

  /** @throws HttpError 400 where a mount path around a route has captured what is malformed. */
  #checkCaptures(): void {
    const lookup = this.#lookup as Lookup;
    if (lookup.isLoose) this.#pattern?.capture(lookup.cut, true, true);
    if (this.parent instanceof RouterRun) this.parent.#checkCaptures();
  }

  get cursor(): number {
    return this.#cursor;
  }

  get lookup(): Lookup | null {
    return this.#lookup;
  }

  #enter(step: Step, pattern: Pattern, params: Params, failure: unknown): void {
    const { req, router } = this;
    this.#pattern = pattern;
    req.params = this.#merged(params);
    if (req.next !== this.next) req.next = this.next;
    const { layer } = step;
    if (layer.route !== undefined) req.route = layer.route as Route;
    if (pattern.bare || !handlesParams(router)) {
      this.#admit(step, pattern, failure);
    } else {
      this.#callParams(step, pattern, params, failure);
    }
    this.#syncCalls = 0;
  }

  // Closures stand in methods of their own: V8 makes room for what they capture at each call of the method around them.

  #callParams(step: Step, pattern: Pattern, params: Params, failure: unknown): void {
    processParams(this, Object.keys(params), (error) => {
      if (error) this.next(failure ?? error);
      else if (step.layer.route === undefined && isNoneFor(step.layer as Layer, failure)) this.#advance(failure);
      else this.#admit(step, pattern, failure);
    });
  }

  #merged(params: Params): Params {
    const { router, rules } = this;
    if (!(router.mergeParams ?? !(rules.asExpress || this.parent === this.root))) return params;
    const { params: outer } = this.#outer;
    // Nearly always there are none.
    if (typeof (outer as unknown) === 'object') for (const _ in outer) return mergeParams(outer, params);
    return params;
  }

  #admit(step: Step, pattern: Pattern, failure: unknown): void {
    if (!this.isChecked) this.#reach(step, pattern, failure);
    else this.#ask(step, pattern, failure);
  }

  #ask(step: Step, pattern: Pattern, failure: unknown): void {
    admit(this, () => this.#reach(step, pattern, failure));
  }

  #reach(step: Step, pattern: Pattern, failure: unknown): void {
    const { layer } = step;
    if (layer.route === undefined) return this.#callMiddleware(step, pattern, failure);
    this.#reached = pattern;
    if (this.root !== null) this.root.reached = this;
    if (this.watch !== null) this.watch.routed(layer.route as Route, this.req.method, this.route);
    if (this.mountPath !== '') this.#showWhole();
    this.#shown = this.req.url;
    this.#shownBase = this.req.baseUrl;
    const { handle } = layer;
    callHandler(handle, undefined, this.req, this.res, this.next);
  }

  #callMiddleware(step: Step, pattern: Pattern, failure: unknown): void {
    const layer = step.layer as Layer;
    const isOther = this.req.url !== this.#url;
    this.#removePrefix((this.#lookup as Lookup).prefix(step, pattern));
    // A handler of a parameter has made another URL, off which the prefix makes yet another.
    if (isOther && this.isChecked) this.#askAnew(layer, failure);
    else this.#call(layer, failure);
  }

  #askAnew(layer: Layer, failure: unknown): void {
    admit(this, () => this.#call(layer, failure));
  }

  #call(layer: Layer, failure: unknown): void {
    const { watch } = this;
    const { handle } = layer;
    if (watch === null || layer.mounted !== undefined) return callHandler(handle, failure, this.req, this.res, this.next);
    this.#trace = watch.begin(layer, failure === undefined ? 'middleware' : 'error middleware', this.route);
    watch.call(this.#trace, handle, failure, this.req, this.res, this.next);
  }

  #removePrefix(prefix: string): void {
    const { req } = this;
    if (prefix !== '') {
      const { url } = req;
      const start = pathStart(url);
      const rest = url.slice(start + prefix.length);
      const isSlashAdded = !rest.startsWith('/');
      const left = isSlashAdded || start > 0 ? `${url.slice(0, start)}${isSlashAdded ? '/' : ''}${rest}` : rest;
      const base = this.#baseUrl + (prefix.endsWith('/') ? prefix.slice(0, -1) : prefix);
      // Off what a handler of a parameter has made, no prefix was taken that was matched.
      this.#removed = { prefix, isSlashAdded, from: url, left: url === this.#url ? left : undefined, base };
      req.url = left;
      req.baseUrl = base;
    }
    this.#shown = req.url;
    this.#shownBase = req.baseUrl;
  }

  #restoreUrl(): void {
    const { req } = this;
    if (typeof req.url === 'string') req.url = restored(req.url, this.#removed);
    req.baseUrl = this.#baseUrl;
    this.#removed = NOTHING;
  }

  /** Shows a route of `createServer` the URL from the application on (INTERFACE section 2.1). */
  #showWhole(): void {
    const { req, target } = this;
    const { url } = req;
    if (url !== this.#url) {
      // A handler of a parameter has made it.
      this.#url = url;
      this.#version = -1;
    }
    this.#isWhole = true;
    req.url = target ?? url;
  }

  /**
   * Shows what is left of that again. Where a handler has made a URL that does not lie beneath the mount path, the application goes on
   * with it behind the router: then this returns false.
   */
  #showRelative(): boolean {
    const { req } = this;
    this.#isWhole = false;
    if (req.url === this.#shown) {
      req.url = this.#url;
      return true;
    }
    const { url } = req;
    const start = typeof url === 'string' ? pathStart(url) : 0;
    const rest = typeof url === 'string' && url.startsWith(this.mountPath, start) ? url.slice(start + this.mountPath.length) : undefined;
    if (rest !== undefined && (rest === '' || rest.startsWith('/') || rest.startsWith('?'))) {
      req.url = url.slice(0, start) + (rest.startsWith('/') ? '' : '/') + rest;
      return true;
    }
    for (let run = this.parent; run instanceof RouterRun; run = run.parent) run.#removed = SHOWN;
    return false;
  }

  #leave(failure: unknown): void {
    const { req } = this;
    if (failure === undefined && this.#allowed !== null && this.#allowed.size > 0) {
      this.#answerOptions(this.#allowed);
    } else {
      this.#finish(failure);
    }
  }

  #answerOptions(allowed: ReadonlySet<string>): void {
    const { req, res } = this;
    callHandler(() => answerOptions(res, allowed), undefined, req, res, (error) => this.#finish(error));
  }

  /** Hands the request on. Where the caller is the program, that is a call of its function. */
  #finish(failure: unknown): void {
    if (this.isChecked && this.#done !== this.parent?.next) this.#askBehind(failure);
    else this.#handOn(failure);
  }

  #askBehind(failure: unknown): void {
    admitBehind(this, this.#enteredUrl, () => this.#handOn(failure));
  }

  #handOn(failure: unknown): void {
    const { req } = this;
    const { baseUrl, next, params } = this.#outer;
    req.baseUrl = baseUrl;
    req.next = next;
    req.params = params;
    req[kRun] = this.parent;
    this.#done(failure);
  }

  /** What a foreign layer makes of the path; undefined where it is passed over, an error where it raises one. */
  #matchForeign(layer: ForeignLayer, failure: unknown): ForeignMatch | Error | undefined {
    try {
      const match = layer.match((this.#lookup as Lookup).path);
      if (!match || (layer.route !== undefined && (failure !== undefined || !handles(layer.route.methods, this.req.method)))) return undefined;
      const { params = {}, path = '' } = typeof match === 'object' ? (match as Partial<ForeignMatch>) : layer;
      return { params, path };
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  /** Calls it by its own methods. */
  #callForeign(layer: ForeignLayer, { params, path }: ForeignMatch, failure: unknown): void {
    const { req, res } = this;
    req.params = this.#merged(params);
    if (req.next !== this.next) req.next = this.next;
    if (layer.route !== undefined) req.route = layer.route as Route;
    const call = (): void => {
      if (layer.route === undefined) this.#removePrefix(path);
      const handle: Handler = (_req, _res, next) => (failure === undefined ? layer.handleRequest(req, res, next) : layer.handleError(failure, req, res, next));
      callHandler(handle, undefined, req, res, this.next);
    };
    if (!this.isChecked) call();
    else admit(this, call);
  }

  enteredBy({ url }: Request, baseUrl: string): Removed | null {
    const { base: expected = this.#baseUrl } = this.#removed;
    // A base that the program has assigned tells nothing.
    if (this.#shownBase !== expected) return null;
    const isWhole = this.#isWhole;
    if (url === this.#shown) return baseUrl !== expected ? null : isWhole ? WHOLE : this.#removed;
    // Called by hand, or by another framework: what was added to the base was taken off the URL.
    if (!baseUrl.startsWith(this.#baseUrl)) return null;
    const prefix = baseUrl.slice(this.#baseUrl.length);
    const isSlashAdded = restored(url, { prefix, isSlashAdded: true }) === (isWhole ? this.#shown : this.#url);
    return { prefix, isSlashAdded, isWhole, onlyOf: baseUrl === expected && this.#shown.endsWith(url) ? url : undefined };
  }

  get target(): string | null {
    return this.#isWhole ? this.req.url : targetBeneath(this, this.#removed, this.req.url);
  }

  get route(): string {
    return joinPatterns(this.#mountPattern, this.#pattern?.text ?? '/');
  }

  get reachedRoute(): string {
    return joinPatterns(this.#mountPattern, this.#reached?.text ?? '/');
  }

  fail(error: unknown): void {
    const { req, root } = this;
    this.#isWhole = false;
    // The target that it was entered with has been admitted.
    req.url = this.#enteredUrl;
    req.method = root?.admittedMethod ?? req.method;
    this.#handOn(error);
  }
}

/** Answers OPTIONS by Node's methods alone, as Express does. Returns what `end` does: one that a program has replaced may be asynchronous. */
function answerOptions(res: Response, methods: ReadonlySet<string>): unknown {
  const allow = [...methods].sort().join(', ');
  forgetFraming(res);
  res.setHeader('Allow', allow);
  res.setHeader('Content-Length', Buffer.byteLength(allow));
  res.setHeader('Content-Type', 'text/plain');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  return res.end(allow);
}

/** Whether a function is none for what there is, an error or none. */
function isNoneFor({ arity }: Layer, failure: unknown): boolean {
  return failure === undefined ? arity > 3 : arity !== 4;
}

function handlesParams({ params }: Router): boolean {
  for (const _ in params) return true;
  return false;
}
