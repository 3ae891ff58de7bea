import type { Request } from '../http/request';
import type { Response } from '../http/response';
import { History } from './history';
import { Failure } from './failure';
import type { ErrorHandler, Handler, NextFunction } from './handler';
import { commonLevel, isWithin, type Layer, type Level, meetsRoute, type Mount, type Place } from './layer';
import { ParamCalls, type ParamHook, type ParamListener, ParamRun } from './param';
import { prefixEnd } from './path';
import { mergeParams } from './merge-params';
import { NoParams, type Params, type Pattern } from './pattern';
import type { Match, RouteTable, Step } from './plan';
import { type Hidden, TargetView } from './target-view';

/** The walk that a request is on: of several around each other the one that has called what runs. */
export const kWalk = Symbol('waypost.request.walk');

/**
 * Of a request that has been on several walks, the one that began last. One may
 * be left running while another goes on, and then `kWalk` no longer leads to it.
 */
export const kBegun = Symbol('waypost.request.begun');

/** A request on its way. */
export type Travelling = Request & { [kWalk]?: Walk | undefined; [kBegun]?: Walk | undefined };

/** A walk that was left running, and what it does not show of its path where another began. */
export interface Beside {
  readonly walk: Walk;
  readonly hidden: Hidden;
}

/** What a walk asks of the application it serves. */
export interface WalkHost {
  /** Resumes a walk, of the application or within it: at once, or when a body that a route of it can take has been read. */
  read(walk: Walk): void;
  /** Called before the first handler of a route: an error that stands in its way, raised at that place. */
  obstacle(walk: Walk): unknown;
  /** Called when middleware has changed `req.url` or `req.method`; calls `walk.resume` when the new target may go on. */
  rewritten(walk: Walk): void;
  /** Called when what is mounted in the application has made another target of a walk's; calls back when that may go on. */
  retargeted(walk: Walk, method: string, url: string, admitted: () => void): void;
  /** Called behind an application of another make, which has put its own prototypes on. */
  reclaim(walk: Walk): void;
  /** Called when the list has ended, and again for an error that comes later; `failed` tells whether an error is left. */
  ended(walk: Walk, failed: boolean, error: unknown): void;
}

/** Calls of `next` that may be nested before the stack is let go, as in Express. */
const DEPTH = 100;
/** New targets that handlers of parameters may make in one request: they run anew for each, and might never end. */
const MOST_PARAM_REWRITES = 100;

/**
 * One request's walk down its plan. It calls what applies, in order; `next`
 * is the one function made per request.
 */
export class Walk implements ParamListener {
  readonly req: Travelling;
  readonly res: Response;
  readonly host: WalkHost;
  readonly next: NextFunction;
  /** Method that is routed: as sent, until middleware changes it. */
  method: string;
  readonly view: TargetView;
  readonly #prototype: unknown;
  readonly #outerParams: Params | undefined;
  readonly #outerNext: NextFunction | undefined;
  readonly table: RouteTable;
  match: Match;
  /** Where a mounted application goes on when it has nothing for the request. */
  readonly outer: NextFunction | undefined;
  /** The walk that this one is a part of. */
  readonly parent: Walk | undefined;
  /** The walk that began before this one and has not ended. */
  readonly #before: Walk | undefined;
  /** Walks that were left running, by whose handlers this one may have been called by hand; null for none. */
  readonly besides: readonly Beside[] | null;
  /** The checks of signatures that the request has passed; null for none. */
  checked: object[] | null = null;
  /** The URL with and without the suffix `.xJson` that it was routed without. */
  suffixed: { readonly sent: string; readonly stripped: string } | undefined = undefined;
  /**
   * Whether a target is looked at, the first or a new one: its signature perhaps
   * checked, its body read. Until it may go on nothing runs, whatever `next` is
   * called, `req.next` included: a handler behind the check would be reached.
   */
  held = true;
  /** Whether the list has ended and the fallback takes the request. */
  falls = false;
  /** Whether the body has been captured, or has failed to be. */
  bodyRead = false;
  /** The parameters around that all layers see with their own; null for none, or where the patterns capture them. */
  inherited: Params | null = null;
  /** An error that stands before the first route; raised there unless something else has read the body. */
  bodyError: unknown = undefined;

  #index = 0;
  #depth = 0;
  #over = false;
  /** The layer whose handler was called last. */
  #current: Layer | null = null;
  /** The error that only error middleware meets. */
  #failure: Failure | null = null;
  /** Kept from the first event on that makes the order of steps say less. */
  #history: History | null = null;
  #captured: Place | null = null;
  /** Index of the step that `#takerFrom` found last, and from where on it looked. */
  #taker = -1;
  #takerSince = 0;
  /** What handlers of parameters have been called with, once there was one. */
  #params: ParamCalls | null = null;
  /** The parameters of the layer that is reached, while their handlers have not gone on. */
  #paramRun: ParamRun | null = null;
  #paramRewrites = 0;
  /** The level that the walk is at: that of the layer it has reached. */
  #level: Level;
  /** What `next` is at the levels within the outermost, once they were reached. */
  #nexts: Map<Level, NextFunction> | null = null;
  /** Whether the end of the error mode begins the list anew, since guards of a new target were passed over. */
  #restarts = false;

  /** @param parent The walk that has the request. @param begun The one that began last. */
  constructor(host: WalkHost, req: Travelling, res: Response, table: RouteTable, match: Match, outer: NextFunction | undefined, parent: Walk | undefined, begun?: Walk) {
    this.host = host;
    this.req = req;
    this.res = res;
    this.table = table;
    this.match = match;
    this.method = req.method;
    this.outer = outer;
    this.#level = table.outermost;
    this.#prototype = Object.getPrototypeOf(req);
    const enclosing = enclosingAt(parent, req.baseUrl);
    this.parent = enclosing;
    this.view = new TargetView(req, enclosing?.view);
    let before = begun;
    while (before !== undefined && before.#over) before = before.#before;
    this.#before = before;
    this.besides = before === undefined ? null : this.#findBesides();
    this.#outerParams = outer === undefined ? undefined : req.params;
    this.#outerNext = outer === undefined ? undefined : req.next;
    this.next = (error?: unknown): void => this.#advance(table.outermost, error);
    req.next = this.next;
  }

  /** The `next` of a level, as Express has one for each router and each route. */
  #nextOf(level: Level): NextFunction {
    if (level.parent === null) return this.next;
    const known = this.#nexts?.get(level);
    if (known !== undefined) return known;
    const next: NextFunction = (error) => this.#advance(level, error);
    (this.#nexts ??= new Map()).set(level, next);
    return next;
  }

  /** Where an error goes that comes up later, out of what runs now. */
  get failing(): NextFunction {
    return this.#nextOf(this.#level);
  }

  /** The walk that goes on when this one has ended. One that was beside it, under way when it began, may have ended before. */
  get around(): Walk | undefined {
    const { parent } = this;
    return parent?.outer !== undefined && parent.#over ? parent.around : parent;
  }

  /** Target that is routed, relative to this application. */
  get url(): string {
    return this.view.url;
  }

  /** Whether URL or method are no longer what the walk has shown last. */
  get isRewritten(): boolean {
    try {
      return this.view.isRewritten || this.req.method !== this.method;
    } catch {
      // To be read again, where the error has somewhere to go.
      return true;
    }
  }

  #findBesides(): readonly Beside[] | null {
    const found: Beside[] = [];
    const { base } = this.view;
    for (let walk = this.#before; walk !== undefined; walk = walk.#before) {
      // One that has called nothing has not called this one.
      if (walk.#over || walk.#current === null || this.#isWithin(walk) || !walk.view.encloses(base)) continue;
      found.push({ walk, hidden: walk.view.hiddenAt(base) });
    }
    return found.length === 0 ? null : found;
  }

  #isWithin(other: Walk): boolean {
    for (let walk = this.parent; walk !== undefined; walk = walk.parent) if (walk === other) return true;
    return false;
  }

  /** Begins, or goes on after a rewrite with what applies to the new target and has not run. */
  resume(match: Match): void {
    this.held = false;
    // An error came in between, and was answered.
    if (this.#over) return;
    this.match = match;
    this.#restarts = this.#failure !== null;
    this.#index = this.#restarts ? this.#below(this.#current) : 0;
    this.#run();
  }

  /** The first step below a layer. An error that came with a rewrite meets only what stands below its raiser. */
  #below(layer: Layer | null): number {
    if (layer === null) return 0;
    const index = this.match.plan.steps.findIndex((step) => step.layer.order > layer.order);
    return index === -1 ? this.match.plan.steps.length : index;
  }

  /**
   * Raises an error that no registration raised, where the next step would have
   * run. It meets all error middleware of the routers that the step is in; in
   * Express's order what stands below, as if raised there.
   */
  #raise(error: unknown): void {
    const { layer } = this.match.plan.steps[--this.#index] as Step;
    this.#keepHistory();
    const { apart } = this.table;
    this.#failure = new Failure(error, null, layer.mount, apart);
    if (apart) this.#index = 0;
    this.#run();
  }

  /** An error while the walk is held ends it; anything else that `next` is given then is of no account. */
  #interrupt(error: unknown): void {
    if (!isError(error)) return;
    this.#over = true;
    this.host.ended(this, true, error);
  }

  #advance(level: Level, error: unknown): void {
    if (this.#over) {
      if (isError(error)) this.host.ended(this, true, error);
      return;
    }
    if (this.held) return this.#interrupt(error);
    if (++this.#depth > DEPTH) {
      setImmediate(Walk.#later, this, level, error);
      return;
    }
    if (Object.getPrototypeOf(this.req) !== this.#prototype) this.host.reclaim(this);
    const rewritten = this.isRewritten;
    if (level !== this.#level) {
      if (!this.#signalFrom(level, error)) return;
    } else if (error !== undefined || rewritten) {
      this.#keepHistory();
      this.#signal(error);
    } else {
      this.#leaveError();
    }
    this.#goOn(rewritten);
  }

  #goOn(rewritten: boolean): void {
    if (rewritten) this.#rewrite();
    else this.#run();
  }

  /**
   * Takes note of a call of `next` from another level than the walk is at: one
   * that is late, or the second. As in Express it goes on behind what it is
   * around, the guards there that have not gone on, and all that they guard.
   * Returns false where it counts for nothing: its level has been left.
   */
  #signalFrom(level: Level, error: unknown): boolean {
    const isAround = isWithin(this.#level, level);
    if (!isAround && !isError(error)) return false;
    const history = this.#leaveTo(level);
    if (isError(error)) {
      this.#failure = new Failure(error, null, this.#level.mount, false);
      return true;
    }
    if (error === 'router') history.leaveMount(level.mount);
    this.#leaveError();
    return true;
  }

  /** Leaves what lies within a level, or within what that has in common with the one the walk is at. */
  #leaveTo(level: Level): History {
    const history = this.#keepHistory();
    const common = commonLevel(level, this.#level);
    for (let left = this.#level; left !== common; left = left.parent as Level) history.leave(left);
    this.#level = common;
    this.#paramRun = null;
    return history;
  }

  /** Takes a call of `next` with an empty stack. All of it waits for that, as in Express: another may come before it, and what it is worth depends on where that has led. */
  static #later(this: void, walk: Walk, level: Level, error: unknown): void {
    walk.#depth = 0;
    walk.#advance(level, error);
  }

  /** Takes note of what `next` was called with. */
  #signal(error: unknown): void {
    const current = this.#current;
    // As in Express, only a truthy value is an error.
    if (isError(error)) return this.#enterError(error, current);
    if (error === 'route' && current?.place != null) this.#keepHistory().leaveRoute(current.place);
    if (error === 'router' && current !== null) this.#keepHistory().leaveMount(current.mount);
    this.#leaveError();
  }

  #enterError(error: unknown, raiser: Layer | null): void {
    const known = this.#failure;
    // Error middleware that passes on an error without a raiser does not become its raiser.
    if (known !== null && known.unraised && known.error === error) return;
    this.#failure = new Failure(error, raiser?.place ?? null, raiser?.mount ?? null, false);
  }

  #leaveError(): void {
    if (this.#failure === null) return;
    this.#failure = null;
    if (this.#restarts) this.#index = 0;
    this.#restarts = false;
  }

  /** From here on, what has run is written down; until here it follows from the place reached. */
  #keepHistory(): History {
    if (this.#history !== null) return this.#history;
    const ran = new Set<number>();
    for (let i = 0; i < this.#index; i++) {
      const step = this.match.plan.steps[i] as Step;
      if (!step.layer.catches && this.table.applies(step, this.match) && !(step.sibling && this.#takenBySibling(step, i + 1))) {
        ran.add(step.layer.order);
      }
    }
    return (this.#history = new History(ran));
  }

  #rewrite(): void {
    this.held = true;
    this.#captured = null;
    try {
      this.view.takeRewrite();
      this.method = this.req.method;
      this.host.rewritten(this);
    } catch (error) {
      // A method or URL that is no string, or can't be read: it must not end the process, where the walk goes on from a timer.
      this.#interrupt(error);
    }
  }

  #run(): void {
    const { match } = this;
    const { steps } = match.plan;
    while (this.#index < steps.length) {
      const step = steps[this.#index++] as Step;
      const { layer } = step;
      if (this.#history?.skips(layer) === true) continue;
      if (this.#failure === null ? layer.catches : !this.#failure.meets(layer)) continue;
      if ((step.test || match.loose) && !this.table.applies(step, match)) continue;
      if (this.#failure === null && step.sibling && this.#takenBySibling(step, this.#index)) continue;
      if (layer.place !== null && this.#failure === null && !layer.parses) {
        const obstacle = this.host.obstacle(this);
        if (obstacle !== undefined) return this.#raise(obstacle);
      }
      return this.#call(step);
    }
    this.#end();
  }

  /** A guard in one router never leaks into its sibling: INTERFACE section 4.1, "for requests to that router's routes". */
  #takenBySibling(step: Step, from: number): boolean {
    const taker = this.#takerFrom(from);
    return taker !== null && !meetsRoute(step.layer.mount, taker);
  }

  /** The mount of the next route that matches. It is the same from every place on the way there. */
  #takerFrom(from: number): Mount | null {
    const { steps } = this.match.plan;
    if (this.#history === null && this.#takerSince <= from && from <= this.#taker) return (steps[this.#taker] as Step).layer.mount;
    for (let i = from; i < steps.length; i++) {
      const step = steps[i] as Step;
      if (step.layer.place === null || this.#history?.skips(step.layer) === true) continue;
      if (!this.table.applies(step, this.match)) continue;
      this.#takerSince = from;
      this.#taker = i;
      return step.layer.mount;
    }
    return null;
  }

  #call(step: Step): void {
    const { layer } = step;
    const entered = layer.place !== null && layer.place === this.#captured;
    this.#paramRun = null;
    // Not so where what is mounted was left before it had ended.
    if (this.req[kWalk] !== this) this.req[kWalk] = this;
    try {
      if (entered) this.view.showAll();
      else if (layer.place === null) this.#enterMiddleware(step);
      else this.#enterRoute(step, layer.place);
    } catch (error) {
      // A malformed capture, or a property that a program has made read-only: the layer has not run, so it is no raiser.
      return this.#failure === null ? this.#raise(error) : this.#run();
    }
    if (this.inherited !== null && !entered) this.req.params = mergeParams(this.inherited, this.req.params);
    if (entered || layer.hooks === null || this.#failure !== null) return this.#invoke(layer);
    this.#current = layer;
    this.#level = layer.level;
    this.#params ??= new ParamCalls(this.req, this.res, this);
    this.#params.go((this.#paramRun = new ParamRun(layer.hooks, this.table.cut(this.match))));
  }

  /** @internal */
  waitsFor(run: ParamRun): boolean {
    return run === this.#paramRun && !this.held && !this.#over;
  }

  /** @internal The handlers of parameters have gone on. */
  passed(run: ParamRun): void {
    // Late: `next` was called elsewhere meanwhile, and what runs by now may be behind other handlers of parameters.
    if (!this.waitsFor(run)) return;
    if (this.isRewritten) return this.#rewriteByParam();
    this.#invoke(this.#current as Layer);
  }

  /** A handler of a parameter has made a new target: the layer has not run, and runs only if that leads to it. */
  #rewriteByParam(): void {
    this.#index--;
    this.#keepHistory();
    if (++this.#paramRewrites <= MOST_PARAM_REWRITES) return this.#rewrite();
    this.#enterError(new Error(`Handlers of parameters have changed req.url ${MOST_PARAM_REWRITES} times, last to ${JSON.stringify(this.req.url)}: change it only where it differs`), null);
    this.view.showAll();
    this.#run();
  }

  /** @internal A handler of a parameter has raised an error, or left: what its layer holds does not run. */
  raised(error: unknown, hook: ParamHook, run: ParamRun | null): void {
    if (this.#over) {
      if (isError(error)) this.host.ended(this, true, error);
      return;
    }
    if (this.held) return this.#interrupt(error);
    if (!isError(error) && (run === null || !this.waitsFor(run))) return;
    if (++this.#depth > DEPTH) {
      setImmediate(() => {
        this.#depth = 0;
        this.raised(error, hook, run);
      });
      return;
    }
    const { mount } = hook;
    const rewritten = this.isRewritten;
    // Where a mount's path holds the parameter, each layer within comes to the same.
    const place = this.#current?.place;
    const history = isError(error) ? this.#leaveTo(mount.level) : this.#keepHistory();
    this.#paramRun = null;
    if (error === 'router') history.leaveMount(mount);
    else if (error !== 'route') this.#failure = new Failure(error, null, mount, false);
    else if (place != null) history.leaveRoute(place);
    this.#goOn(rewritten);
  }

  #invoke(layer: Layer): void {
    const { req, res } = this;
    // Out of its layer: called as the layer's method it would have that for its `this`.
    const { handler, level } = layer;
    this.#current = layer;
    this.#level = level;
    this.#history?.add(layer);
    let result: unknown;
    try {
      const next = level.parent === null ? this.next : this.#nextOf(level);
      result = layer.catches
        ? (handler as ErrorHandler)((this.#failure as Failure).error, req, res, next)
        : (handler as Handler)(req, res, next);
    } catch (error) {
      this.#thrown(error, layer);
      return;
    }
    // Whether it is a thenable is for Promise.resolve to find out, which turns a `then` that throws, or that calls back twice, into one rejection.
    if (typeof result === 'object' && result !== null && result !== res) {
      Promise.resolve(result).then(undefined, (error: unknown) => this.#thrown(error || new Error('Rejected promise'), layer));
    }
  }

  #thrown(error: unknown, layer: Layer): void {
    // A handler may throw anything; only a truthy value can be told from no error.
    const raised = error ? error : new Error(`a handler threw ${String(error)}`);
    if (this.#over) return this.host.ended(this, true, raised);
    if (this.held) return this.#interrupt(raised);
    if (Object.getPrototypeOf(this.req) !== this.#prototype) this.host.reclaim(this);
    if (layer.level === this.#level) this.#keepHistory();
    else this.#leaveTo(layer.level);
    this.#enterError(raised, layer);
    this.#run();
  }

  /** Routes see the whole URL, and the mount path of their router. */
  #enterRoute(step: Step, place: Place): void {
    const { req, match } = this;
    const { captures } = step;
    if (captures !== undefined && !match.loose) {
      const params: Params = {};
      for (let i = 0; i < captures.length; i++) {
        params[step.names[i] as string] = (match.captures as Record<string, string>)[captures[i] as string] as string;
      }
      req.params = params;
    } else {
      const pattern = this.table.alternative(step.layer, match) as Pattern;
      req.params = pattern.bare ? new NoParams() : pattern.capture(this.table.cut(match), false, this.#failure === null);
    }
    this.view.showAll();
    this.#showNext(step.layer.mount.level);
    // What an error handler is shown may be malformed; the route's other handlers must not be.
    this.#captured = this.#failure === null ? place : null;
    req.route = place.route;
    this.view.showBase(match.loose ? this.#mountPath(step.layer) : step.base ?? this.#mountPath(step.layer));
  }

  /** Middleware sees the URL relative to its path. */
  #enterMiddleware({ layer, base }: Step): void {
    const { req, match } = this;
    this.#captured = null;
    this.#showNext(layer.level);
    if (base === '') {
      this.view.showAll();
      this.view.showBase('');
      req.params = new NoParams();
    } else if (base !== undefined && !match.loose) {
      req.params = new NoParams();
      this.view.showBeneath(base.length, match.path);
    } else {
      const pattern = this.table.alternative(layer, match) as Pattern;
      const cut = this.table.cut(match);
      req.params = pattern.bare ? new NoParams() : pattern.capture(cut, true, false);
      this.view.showBeneath(prefixEnd(match.path, pattern.matchesPrefix(cut), this.table.rules), match.path);
    }
  }

  /** As in Express `req.next` is the router's: in a route, past all its handlers. */
  #showNext(level: Level): void {
    const next = this.#nextOf(level);
    if (this.req.next !== next) this.req.next = next;
  }

  #mountPath(layer: Layer): string {
    const pattern = this.table.alternative(layer, this.match) as Pattern;
    const count = pattern.mountEnd(this.table.cut(this.match));
    return this.match.path.slice(0, prefixEnd(this.match.path, count, this.table.rules));
  }

  #end(): void {
    this.#over = true;
    try {
      this.#restore();
    } catch (error) {
      // A property that a program has made read-only.
      return this.host.ended(this, true, error);
    }
    this.host.ended(this, this.#failure !== null, this.#failure?.error);
  }

  #restore(): void {
    const { req } = this;
    this.view.showAll();
    this.view.showBase('');
    if (this.#outerParams === undefined) return;
    req.params = this.#outerParams;
    req.next = this.#outerNext;
  }
}

/** The walk around one that begins there: the last to have begun may have been left running elsewhere, by a framework that stands between. */
function enclosingAt(last: Walk | undefined, base: string): Walk | undefined {
  for (let walk = last; walk !== undefined; walk = walk.parent) if (walk.view.encloses(base)) return walk;
  // The program has set req.baseUrl by itself.
  return last;
}

/** Whether `next` was given an error: as in Express, only a truthy value is one, and no word to leave a route or router. */
function isError(given: unknown): boolean {
  return Boolean(given) && given !== 'route' && given !== 'router';
}
