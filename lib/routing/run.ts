import { HttpError } from '../errors';
import { isOfSignal } from '../http/request-state';
import type { Response } from '../http/response';
import { isDisputed, pathOf } from '../target/target';
import { admit } from './admission';
import { asError, callHandler, MAX_SYNC_CALLS } from './call';
import { kRun, type RoutedRequest } from './caller';
import { Frame } from './frame';
import type { NextFunction } from './handler';
import type { HandlerTrace } from './handler-trace';
import { kMounted, type Layer } from './layer';
import type { Lookup, Step } from './layer-index';
import { hasNames, mergeParams } from './merge-params';
import type { MountedRouter } from './mounted-router';
import { type ParamCall, processParams } from './param';
import { NoParams, type Params } from './patterns/params';
import type { Pattern } from './patterns/pattern';
import type { Route } from './route';
import type { Router } from './router';
import type { RoutingRules } from './rules';
import { type Taker, yieldsToSibling } from './route-finder';
import type { RequestWatch } from './watch';
import { setImmediate } from '../timers';

/**
 * One call of a router: it goes down the stack once, as Express's routers do. The index finds the layers that can match
 * the URL; after each `next` the URL and the method are read anew.
 */
export class RouterRun extends Frame {
  readonly router: Router;
  readonly next: NextFunction;
  /** Calls of parameters' handlers, by name. */
  paramCalls: Record<string, ParamCall> | null = null;
  /** Next taker of the request, once known. */
  taker: Taker | null = null;

  readonly #mounted: MountedRouter;
  /** The list when the run began: one assigned to `stack` counts from the next run on, a change within it from the next look-up on. */
  readonly #layers: readonly Layer[];
  /** Parameters of the mounts around that layers see; null for none. */
  readonly #merged: Params | null;
  #version = -1;
  /** Position in the stack: each layer is visited at most once. */
  #position = 0;
  #syncCalls = 0;
  #trace: HandlerTrace | null = null;

  /** @param done Goes on behind the router. */
  constructor(router: Router, req: RoutedRequest, res: Response, done: NextFunction, rules: RoutingRules, watch: RequestWatch | null) {
    super(req, res, done, rules, watch);
    this.router = router;
    this.#mounted = router[kMounted];
    this.#layers = this.#mounted.layers;
    const isMerging = router.mergeParams ?? !(rules.asExpress || this.parent === this.root);
    this.#merged = isMerging && hasNames(this.outerParams) ? this.outerParams : null;
    this.next = RouterRun.#next.bind(undefined, this);
    req.next = this.next;
  }

  /** Starts the run. A router without layers is left at once. */
  start(): void {
    if (this.#layers.length === 0) this.leave(undefined);
    else this.#advance(undefined);
  }

  /** Target of a bound function: a closure on an object that it captures makes V8 collect its old space often with large bodies. */
  static #next(this: void, run: RouterRun, error?: unknown): void {
    run.#advance(error);
  }

  static #again(this: void, run: RouterRun, error: unknown): void {
    run.#syncCalls = 0;
    run.#advance(error);
  }

  static #leaveNow(this: void, run: RouterRun, failure: unknown): void {
    if (run.root?.admission.isPending !== true) run.leave(failure);
  }

  #advance(error: unknown): void {
    const { root } = this;
    if (root !== null && (root.isStopped || root.admission.isPending)) return root.drop(error);
    if (this.#trace !== null) {
      (this.watch as RequestWatch).left(this.#trace, error);
      this.#trace = null;
    }
    if (error && isOfSignal(this.req, error)) return;
    if (!this.restoreUrl()) return this.leave(error === 'router' ? undefined : asError(error));
    const failure = asError(error);
    if (error === 'router') setImmediate(RouterRun.#leaveNow, this, undefined);
    else this.#goOnBehind(failure);
  }

  /** Goes on behind a layer: in a new turn after the last layer, and after 100 nested calls of `next`. */
  #goOnBehind(failure: unknown): void {
    if (this.#position >= this.#layers.length) setImmediate(RouterRun.#leaveNow, this, failure);
    else if (++this.#syncCalls > MAX_SYNC_CALLS) setImmediate(RouterRun.#again, this, failure);
    else this.#goOn(failure);
  }

  /** Goes on to the next layer that matches. */
  #goOn(given: unknown): void {
    const { req } = this;
    req[kRun] = this;
    let failure = given;
    if (req.url !== this.lookedUpUrl || this.#mounted.version !== this.#version) {
      try {
        this.#locate();
      } catch (error) {
        // A disputed URL, one that is no string, or a path that the rules refuse.
        return this.leave(failure ?? error);
      }
    }
    this.taker = null;
    const { steps } = (this.lookup as Lookup).plan;
    while (this.cursor < steps.length) {
      const step = steps[this.cursor++] as Step;
      this.#position = step.position + 1;
      if (step.matchesAll && step.layer.isFor(failure)) return this.#callOpen(step, failure);
      let params: Params | null | undefined;
      try {
        params = step.matchesAll ? this.#passOver(new NoParams()) : this.#match(step, failure);
      } catch (error) {
        failure ??= error;
        continue;
      }
      // Express calls an unsuitable function too, which calls `next`: the URL is read anew.
      if (params === null) return this.#goOnBehind(failure);
      if (params !== undefined) return this.#enter(step, params, failure);
    }
    this.#position = this.#layers.length;
    this.leave(failure);
  }

  /** Looks the URL up anew. @throws HttpError for a URL that others read as another path. */
  #locate(): void {
    const { entered, parent } = this;
    const { url } = this.req;
    if (isDisputed(url)) throw HttpError.of('DISPUTED_PATH');
    const path = pathOf(url);
    const isBehindMount = entered !== null && (entered.prefix === '' ? parent?.lookup?.isBehindMount === true : !entered.isSlashAdded);
    this.lookup = this.#mounted.index(this.rules, this.#layers).lookup(path, isBehindMount);
    this.lookedUpUrl = url;
    this.#version = this.#mounted.version;
    const { steps } = this.lookup.plan;
    let cursor = 0;
    while (cursor < steps.length && (steps[cursor] as Step).position < this.#position) cursor++;
    this.cursor = cursor;
  }

  /** Captures a layer's parameters; undefined for a layer that is not for the request, null for one that is passed over. @throws The layer's own errors, and HttpError 400 for a malformed parameter. */
  #match(step: Step, failure: unknown): Params | null | undefined {
    const lookup = this.lookup as Lookup;
    const { layer } = step;
    const pattern = lookup.match(step);
    if (pattern === undefined) return undefined;
    const { asExpress } = this.rules;
    const isRoute = layer.route !== undefined;
    // Express captures, and refuses a malformed parameter, before it checks the method.
    const captured = asExpress && lookup.testsAll ? lookup.capture(step, pattern, true) : undefined;
    if (isRoute) {
      if (failure !== undefined || !this.#handles(layer.route)) return undefined;
    } else if (this.#isUnsuitable(layer, pattern, failure)) {
      return this.#passOver(captured ?? lookup.capture(step, pattern, asExpress));
    }
    const params = captured ?? lookup.capture(step, pattern, isRoute || asExpress);
    if (isRoute && !asExpress) this.checkMounts();
    if (step.isRouter && failure === undefined && !asExpress && yieldsToSibling(this, layer)) return undefined;
    this.pattern = pattern;
    return params;
  }

  #handles(route: Route): boolean {
    const { method } = this.req;
    const handles = route.handles(method);
    if (!handles && method === 'OPTIONS') for (const name of route.methodNames()) this.allowed?.add(name);
    return handles;
  }

  /** Returns true for a function not for this failure, without parameters that are handled. */
  #isUnsuitable(layer: Layer, pattern: Pattern, failure: unknown): boolean {
    return !layer.isFor(failure) && (pattern.capturesNothing || !hasNames(this.router.params));
  }

  /** Calls middleware for every path: it captures nothing and removes no prefix. */
  #callOpen(step: Step, failure: unknown): void {
    this.pattern = step.certainPattern;
    this.#giveParams(new NoParams());
    this.showUrl();
    if (!this.isChecked) this.#call(step.layer, failure);
    else this.#askAnew(step.layer, failure);
    this.#syncCalls = 0;
  }

  /** Passes over a function not for this failure: req.params become those of its layer, as in Express. */
  #passOver(params: Params): null {
    this.#giveParams(params);
    return null;
  }

  #giveParams(params: Params): void {
    const { req } = this;
    req.params = this.#merged === null ? params : mergeParams(this.#merged, params);
    if (req.next !== this.next) req.next = this.next;
  }

  #enter(step: Step, params: Params, failure: unknown): void {
    const { layer } = step;
    this.#giveParams(params);
    if (layer.route !== undefined) this.req.route = layer.route;
    if (!hasNames(this.router.params)) this.#admit(step, failure);
    else this.#callParams(step, params, failure);
    this.#syncCalls = 0;
  }

  // A method that holds a closure pays for its context at each call: so each closure has a method of its own.

  #callParams(step: Step, params: Params, failure: unknown): void {
    const { lookup, lookedUpUrl, pattern } = this;
    processParams(this, Object.keys(params), (error) => {
      // Another call of `next` may have gone on meanwhile, with another URL.
      if (this.lookup !== lookup) {
        this.lookup = lookup;
        this.lookedUpUrl = lookedUpUrl;
        this.#version = -1;
      }
      this.pattern = pattern;
      if (error) this.next(failure ?? error);
      else if (step.layer.route === undefined && !step.layer.isFor(failure)) this.#advance(failure);
      else this.#admit(step, failure);
    });
  }

  #admit(step: Step, failure: unknown): void {
    if (!this.isChecked) this.#reach(step, failure);
    else this.#ask(step, failure);
  }

  #ask(step: Step, failure: unknown): void {
    admit(this, () => this.#reach(step, failure));
  }

  #reach(step: Step, failure: unknown): void {
    const { layer } = step;
    if (layer.route !== undefined) this.#reachRoute(layer);
    else this.#callMiddleware(step, failure);
  }

  #reachRoute(layer: Layer): void {
    const { req, res } = this;
    this.reached = this.pattern;
    if (this.root !== null) this.root.reached = this;
    if (this.watch !== null) this.watch.routed(layer.route as Route, req.method, this.route);
    if (this.isBeneath) this.showWholeUrl();
    else this.showUrl();
    callHandler(layer.handle, undefined, req, res, this.next);
  }

  #callMiddleware(step: Step, failure: unknown): void {
    const { layer } = step;
    const isMatched = this.req.url === this.lookedUpUrl;
    this.showUrlWithout((this.lookup as Lookup).prefix(step, this.pattern as Pattern), isMatched);
    // A parameter's handler has rewritten the URL: without the prefix it is a new target.
    if (!isMatched && this.isChecked) this.#askAnew(layer, failure);
    else this.#call(layer, failure);
  }

  #askAnew(layer: Layer, failure: unknown): void {
    admit(this, () => this.#call(layer, failure));
  }

  #call(layer: Layer, failure: unknown): void {
    const { req, res, watch } = this;
    const { handle } = layer;
    if (watch === null || layer.mounted !== undefined) return callHandler(handle, failure, req, res, this.next);
    this.#trace = watch.begin(layer, failure === undefined ? 'middleware' : 'error middleware', this.route);
    watch.call(this.#trace, handle, failure, req, res, this.next);
  }
}
