import { HttpError, read } from '../errors';
import { kBody, type RequestBody } from '../http/body/request-body';
import type { Request } from '../http/request';
import { kSettings } from '../http/request-state';
import { forgetRefusedHead } from '../http/default-answer';
import { isDisputed, pathOf } from '../target';
import type { Response } from '../http/response';
import { type Failure, isError } from './failure';
import type { ErrorHandler, Handler, NextFunction } from './handler';
import type { Layer } from './layer';
import { asideAround, goingOnAt, isWithin, type Level, type Mount, type Place } from './mount';
import { type Beside, besidesOf, enclosingAt, type NestedWalk, underWay } from './nesting';
import { ParamCalls, type ParamListener, ParamRun } from './param';
import { hooksOf, type ParamHook, prefixAt } from './param-hook';
import { mergeParams } from './merge-params';
import { enterAlike, greedyAround } from './mount-entry';
import { Path } from './path';
import type { Pattern } from './pattern';
import { NoParams, type Params } from './pattern-params';
import type { Match, Step } from './plan';
import type { RouteTable } from './route-table';
import { mountedIn } from './stack';
import { Position } from './position';
import { RequestView } from './request-view';
import { baseOf } from './target-view';
import { type RequestWatch, WalkWatch } from './watch';

/** The walk that a request is on: of several around each other the one that has called what runs. */
export const kWalk = Symbol('waypost.request.walk');

/**
 * Of a request that has been on several walks, the one that began last. One may
 * be left running while another goes on, and then `kWalk` no longer leads to it.
 */
export const kBegun = Symbol('waypost.request.begun');

/** A request on its way. */
export type Travelling = Request & { [kWalk]?: Walk | undefined; [kBegun]?: Walk | undefined };

/** What a walk asks of the application it serves. */
export interface WalkHost {
  /** Whether it checks signatures. */
  readonly isChecking: boolean;
  /** What is mounted, and called, to have it walk. */
  readonly mounted: object;
  /** What is registered by now, where the table of a walk is over. */
  tableNow(walk: Walk): RouteTable;
  /** Resumes a walk, of the application or within it: at once, or when a body that a route of it can take has been read. */
  read(walk: Walk): void;
  /** Called when middleware has changed `req.url` or `req.method`; calls `walk.resume` when the new target may go on. */
  rewritten(walk: Walk): void;
  /** Called when what is mounted in the application has made another target of a walk's; calls back when that may go on. */
  retargeted(walk: Walk, method: string, url: string, admitted: () => void): void;
  /** Called when a route's handler has made another target, and another handler of that route comes next; calls back when that may run. */
  retargetedWithin(walk: Walk, method: string, url: string, admitted: () => void): void;
  /** Called behind an application of another make, which has put its own prototypes on. */
  reclaim(walk: Walk): void;
  /** Called when the list has ended, and again for an error that comes later; `failed` tells whether an error is left. */
  ended(walk: Walk, failed: boolean, error: unknown): void;
}

/** Calls of `next` that may be nested before the stack is let go, as in Express. */
const DEPTH = 100;
/** New targets that handlers of parameters may make in one request: they run anew for each, and might never end. */
const MOST_PARAM_REWRITES = 100;

const ELSEWHERE = 'The request target was made into one that enters a router by another part of its mount path: rewrite it before the router, or mount that at a path that takes as much of each target';

/**
 * Calls back when the target that a handler has made may go on within what has called the handler; asked again where it is another by then.
 * @throws what a URL throws that can't be read.
 */
export function admitWithin(walk: Walk, req: Target, admitted: () => void): void {
  const { method } = req;
  const rewritten = walk.view.rewritten(req);
  walk.host.retargetedWithin(walk, method, rewritten, () => {
    if (req.method === method && walk.view.rewritten(req) === rewritten) admitted();
    else admitWithin(walk, req, admitted);
  });
}

/** Whether URL or method are no longer what the walk has shown last. */
export function isMadeAnother(walk: Walk, req: Target): boolean {
  try {
    return walk.view.isRewritten(req) || req.method !== walk.method;
  } catch {
    // To be read again, where the error has somewhere to go.
    return true;
  }
}

/** Whether a layer, and each mount whose parameters have handlers before it, is reached by one path alone. */
function hasOnePath({ patterns, hooks }: Layer): boolean {
  return patterns.length === 1 && (hooks === null || hooks.every(({ within }) => within === null || within.length === 1));
}

/** The request, or what a program has put in its place, such as an object that inherits from it. */
type Target = Pick<Request, 'method' | 'url'>;

/**
 * One request's walk down its plan. It calls what applies, in order; `next`
 * is the one function made per request.
 */
export class Walk extends Position implements ParamListener, NestedWalk<Walk> {
  readonly req: Travelling;
  readonly res: Response;
  readonly host: WalkHost;
  readonly next: NextFunction;
  /** Method that is routed: as sent, until middleware changes it. */
  method: string;
  readonly view: RequestView;
  /** Those of the application whose prototype the request has. */
  readonly #settings: unknown;
  /** Where a mounted application goes on when it has nothing for the request. */
  readonly outer: NextFunction | undefined;
  /** The walk that this one is a part of. */
  readonly parent: Walk | undefined;
  /** The walk that began before this one, if any had not ended. */
  readonly before: Walk | undefined;
  /** How many walks of the request began before this one. */
  readonly serial: number;
  /** Whether one of these, around it or not, checks signatures. */
  readonly isBeneathCheck: boolean;
  /** Walks that were left running, by whose handlers this one may have been called by hand; null for none, and where no signatures are checked. */
  readonly besides: readonly Beside<Walk>[] | null;
  /** Null where nobody wants to know. */
  readonly watch: WalkWatch | null;
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

  /** Whether nothing of another framework or of the program stands between this walk and the one around. */
  readonly #isDirect: boolean;
  #depth = 0;
  #over = false;
  /** Whether the walk is held where it is, and not before the list of another target. */
  #stays = false;
  /** The route whose parameters `req.params` holds. */
  #captured: Place | null = null;
  /** Whether what was called last is middleware of all paths; see {@link Step.isPlain}. */
  #isPlain = false;
  /** What handlers of parameters have been called with, once there was one. */
  #params: ParamCalls | null = null;
  /** The parameters of the layer that is reached, while their handlers have not gone on. */
  #paramRun: ParamRun | null = null;
  #paramRewrites = 0;
  /** What `next` is at the levels within the outermost, once they were reached: the first, and the others. */
  #firstLevel: Level | null = null;
  #firstNext: NextFunction | null = null;
  #nexts: Map<Level, NextFunction> | null = null;

  /** @param parent The walk that has the request. @param begun The one that began last. @param watch The watch over the request. @param sentUrl `req.url` before its suffix was taken off. */
  constructor(
    host: WalkHost, req: Travelling, res: Response, table: RouteTable, match: Match, outer: NextFunction | undefined, parent: Walk | undefined,
    begun?: Walk, watch: RequestWatch | null = null, sentUrl = req.url,
  ) {
    super(table, match);
    this.host = host;
    this.req = req;
    this.res = res;
    this.method = req.method;
    this.outer = outer;
    this.#settings = req[kSettings];
    const enclosing = enclosingAt(parent, baseOf(req));
    this.parent = enclosing;
    if (enclosing !== undefined && enclosing.isAboveRewriter) this.passRoutes();
    // A `handle` of the program's, or a copy of what is mounted, may have another framework's router in it.
    this.#isDirect = enclosing !== undefined && enclosing.reached !== null && mountedIn(enclosing.reached.handler) === host.mounted && enclosing.view.isShownAt(baseOf(req), sentUrl);
    this.view = new RequestView(req, enclosing?.view, table, outer !== undefined);
    this.before = underWay(begun);
    this.serial = begun === undefined ? 0 : begun.serial + 1;
    this.isBeneathCheck = begun !== undefined && (begun.isBeneathCheck || begun.host.isChecking);
    this.besides = this.before === undefined || !this.isBeneathCheck ? null : besidesOf<Walk>(this);
    this.watch = watch === null ? null : new WalkWatch(watch, this);
    this.next = (this.watch === null ? Walk.#next : Walk.#watchedNext).bind(undefined, this, table.outermost);
    req.next = this.next;
  }

  /**
   * Bound, never a closure: a closure that stands on an object it captures, itself or by way of others,
   * makes V8 (11 to 14) collect its old space again and again where bodies are large. A POST of 100 KB takes twice the time.
   */
  static #next(this: void, walk: Walk, level: Level, error?: unknown): void {
    walk.#advance(level, error);
  }

  /** The same of a walk that is watched: what runs has the request no longer, unless the call counts for nothing. */
  static #watchedNext(this: void, walk: Walk, given: Level, error?: unknown): void {
    const level = goingOnAt(given, walk.level);
    if (!walk.#over && (!walk.held || isError(error)) && (isError(error) || isWithin(walk.level, level))) walk.watch?.left(error);
    walk.#advance(level, error);
  }

  /** The `next` of a level, as Express has one for each router and each route. */
  #nextOf(level: Level): NextFunction {
    if (level.parent === null) return this.next;
    if (level === this.#firstLevel) return this.#firstNext as NextFunction;
    const known = this.#nexts?.get(level);
    if (known !== undefined) return known;
    const next: NextFunction = (this.watch === null ? Walk.#next : Walk.#watchedNext).bind(undefined, this, level);
    if (this.#firstLevel === null) {
      this.#firstLevel = level;
      this.#firstNext = next;
    } else {
      (this.#nexts ??= new Map()).set(level, next);
    }
    return next;
  }

  /** Where an error goes that the response comes to, by what runs now: as in Express to the router's `next`, past the route. */
  get failing(): NextFunction {
    return this.#nextOf(this.level.mount.level);
  }

  /** The walk that goes on when this one has ended. One that was beside it, under way when it began, may have ended before. */
  get around(): Walk | undefined {
    const { parent } = this;
    return parent?.outer !== undefined && parent.#over ? parent.around : parent;
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** Gives the request to the walk around, unless one that is none of this has it by now: an error may come when the list has long ended. */
  giveBack(): void {
    const { req } = this;
    let having = req[kWalk];
    while (having !== undefined && having !== this) having = having.parent;
    if (having === this) req[kWalk] = this.around;
  }

  /** Nothing below is called any more: the request was answered in the place of the handler that had it. */
  stop(): void {
    this.#over = true;
  }

  /** Target that is routed, relative to this application. */
  get url(): string {
    return this.view.url;
  }

  /** Whether URL or method are no longer what the walk has shown last. */
  get isRewritten(): boolean {
    return isMadeAnother(this, this.req);
  }

  /**
   * Whether what was called has put the prototype of another application on the request. By what that inherits: to ask for the prototype of a
   * request that middleware has given a property is a call into V8's runtime.
   */
  get #isTakenOver(): boolean {
    return this.req[kSettings] !== this.#settings;
  }

  /** Begins, or goes on after a rewrite with what applies to the new target and has not run. */
  resume(match: Match): void {
    this.held = false;
    // An error came in between, and was answered.
    if (this.#over) return;
    const isRenewed = this.#renew();
    if (isRenewed === null) return;
    if (this.#stays) this.#stays = false;
    else this.begin(isRenewed ? this.match : match);
    this.#goOnIn(isRenewed);
  }

  /**
   * Goes over to what is registered by now, if that is more than before: as in Express, what has been
   * registered below the place reached is met, guards too. Returns whether it is; null where that ended the walk.
   */
  #renew(): boolean | null {
    if (!this.table.era.isOver) return false;
    try {
      const table = this.host.tableNow(this);
      // Where a program has taken something out, or assigned another order, a request ends in the list that it began in, as in Express.
      if (!table.goesOnFrom(this.table) || this.staysAside) return false;
      this.view.table = table;
      this.moveTo(table, table.match(this.method, pathOf(this.url)));
      return true;
    } catch (error) {
      this.#endUnlaid(error);
      return null;
    }
  }

  /**
   * Ends the walk where what was registered meanwhile can't be laid out, such as a path that can't be where the router is called: without
   * it a guard may be missing. Where the walk goes on from a timer a throw would end the process.
   */
  #endUnlaid(error: unknown): void {
    this.held = true;
    this.#interrupt(error);
  }

  /**
   * An error while the walk is held ends it; anything else that `next` is given then is of no account. The target that it is held for has not
   * been admitted: who gets the error may go on with what he finds, and a framework around asks nobody.
   */
  #interrupt(error: unknown): void {
    if (!isError(error)) return;
    this.#over = true;
    try {
      this.view.takeBack(this.method);
    } catch {
      // A property that a program has made read-only: it has an error already.
    }
    this.#handOn(true, error);
  }

  /** Tells the host that the list has ended. The walk around goes on in the same stack, and lets that go as often as one of so many calls would. */
  #handOn(failed: boolean, error: unknown): void {
    const { parent } = this;
    if (parent !== undefined && parent.#depth <= this.#depth) parent.#depth = this.#depth + 1;
    this.host.ended(this, failed, error);
  }

  #advance(level: Level, error: unknown): void {
    if (this.#over || this.held) return this.#raiseLate(error);
    if (++this.#depth > DEPTH) {
      setImmediate(Walk.#later, this, level, error);
      return;
    }
    const rewritten = this.isRewritten;
    if (this.#isTakenOver) this.host.reclaim(this);
    // Nearly always: kept short, so that V8 inlines the way from one middleware to the next.
    if (level === this.level && error === undefined && this.failure === null && !rewritten && !this.table.era.isOver) return this.#run();
    this.#signal(level, error, rewritten);
  }

  /** Ends a walk that is held, with an error. */
  refuse(error: Error): void {
    this.#interrupt(error);
  }

  /** An error that `next` is given when nothing may run any more, or nothing yet. */
  #raiseLate(error: unknown): void {
    if (!this.#over) return this.#interrupt(error);
    if (isError(error)) this.#endLate(error);
  }

  /** Hands on an error that comes when the list has ended. What has been made of the target since then nobody has admitted. */
  #endLate(error: unknown): void {
    try {
      if (this.isBeneathCheck && this.isRewritten) this.view.takeBack(this.method);
    } catch {
      // A property that a program has made read-only: it has an error already.
    }
    this.host.ended(this, true, error);
  }

  #signal(given: Level, error: unknown, rewritten: boolean): void {
    const level = goingOnAt(given, this.level);
    if (level !== this.level) {
      if (!this.signalFrom(level, error)) return;
    } else if (error !== undefined || rewritten) {
      this.signal(error);
    } else {
      this.leaveError();
    }
    this.#goOn(rewritten);
  }

  #goOn(rewritten: boolean): void {
    const isRenewed = this.#renew();
    if (isRenewed === null) return;
    if (!rewritten) this.#goOnIn(isRenewed);
    else if (this.#captured !== null && this.#captured === this.level.place && this.staysInRoute) this.#rewriteWithin();
    else this.#rewrite();
  }

  /** Reads the body first for a route that has come meanwhile, if one takes it. */
  #goOnIn(isRenewed: boolean): void {
    if (!isRenewed || this.bodyRead || this.failure !== null) return this.#run();
    this.held = true;
    this.#stays = true;
    this.host.read(this);
  }

  /** As in Express, the further handlers of a route run whatever target one of them has made, and the walk takes it when it leaves the route. */
  #rewriteWithin(): void {
    this.#admitWithin(() => this.#run());
  }

  #admitWithin(goOn: () => void): void {
    this.held = true;
    try {
      admitWithin(this, this.req, () => {
        this.held = false;
        if (!this.#over) goOn();
      });
    } catch (error) {
      this.#interrupt(error);
    }
  }

  /** Takes a call of `next` with an empty stack. All of it waits for that, as in Express: another may come before it, and what it is worth depends on where that has led. */
  static #later(this: void, walk: Walk, level: Level, error: unknown): void {
    walk.#depth = 0;
    walk.#advance(level, error);
  }

  #rewrite(): void {
    this.held = true;
    this.#captured = null;
    try {
      const { match, method, table } = this;
      const greedy = greedyAround(this.#mountKept());
      this.view.takeRewrite(method);
      this.method = this.req.method;
      const path = pathOf(this.url);
      if (isDisputed(this.url)) return this.#interrupt(this.failure?.error ?? HttpError.of('DISPUTED_PATH'));
      // A router of createServer may have stood back for the route of another method.
      this.isElsewhere = path !== match.path || (table.apart && this.method !== method);
      // What has run in the router was asked about the part of the target that it was entered by.
      if (greedy.length > 0 && !enterAlike(greedy, table.cut(match), new Path(path, table.rules))) return this.#interrupt(this.failure?.error ?? HttpError.of('MALFORMED_PATH', ELSEWHERE));
      this.host.rewritten(this);
    } catch (error) {
      // A method or URL that is no string, or can't be read: it must not end the process, where the walk goes on from a timer.
      this.#interrupt(error);
    }
  }

  /** The mount that another target stands behind, since what has made it sees what is left of the target; undefined for none. */
  #mountKept(): Mount | undefined {
    const { current } = this;
    // A route of createServer sets all of the target.
    return current === null || (current.place !== null && this.table.apart && !this.view.hidesAny) ? undefined : current.mount;
  }

  #run(): void {
    const step = this.nextStep();
    if (step === null) return this.#end();
    if (step.isPlain && this.#isPlain && this.failure === null) return this.#callPlain(step);
    const { layer } = step;
    if (this.watch !== null && layer.place !== null && this.failure === null) this.watch.routed(layer);
    this.#call(step);
  }

  /** Parses the body before a route's handler is called. Returns whether that may be: not where it waits, or where an error is raised in its place. */
  #hasBody(body: RequestBody): boolean {
    if (!body.parse(Walk.#parsed.bind(undefined, this))) {
      this.held = true;
      return false;
    }
    const error = body.takeError();
    if (error !== undefined) this.#raise(error);
    return error === undefined;
  }

  /** Comes again to the handler that has waited for the body to be inflated. */
  static #parsed(this: void, walk: Walk): void {
    walk.held = false;
    if (walk.#over) return;
    walk.stepBack();
    walk.#goOn(walk.isRewritten);
  }

  /** Raises an error that nothing called has raised. */
  #raise(error: unknown): void {
    if (this.watch !== null) this.watch.request.failed(error);
    this.obstruct(error);
    this.#run();
  }

  /** Calls middleware of all paths behind other such: unless something has changed it, it is to see the request as that did. */
  #callPlain(step: Step): void {
    const { req, next } = this;
    if (req[kWalk] !== this || req.next !== next || this.inherited !== null || this.watch !== null || !this.view.isWhole) return this.#call(step);
    try {
      req.params = new NoParams();
    } catch (error) {
      return this.#raise(error);
    }
    const { layer } = step;
    const { handler } = layer;
    this.reach(layer);
    this.noteRun(layer);
    let result: unknown;
    try {
      result = (handler as Handler)(req, this.res, next);
    } catch (error) {
      this.#thrown(error, layer);
      return;
    }
    if (typeof result === 'object' && result !== null) this.#follow(result, layer);
  }

  #call(step: Step): void {
    const { layer } = step;
    this.#isPlain = step.isPlain;
    const entered = layer.place !== null && layer.place === this.#captured;
    this.#paramRun = null;
    // Not so where what is mounted was left before it had ended.
    if (this.req[kWalk] !== this) this.req[kWalk] = this;
    const { hooks } = layer;
    const route = hooks === null ? undefined : this.req.route;
    try {
      this.view.followBase(this.current, layer, this.match);
      if (!entered) this.#enter(step);
      else if (!this.isRewritten) this.view.showRoute(step, this.match);
      if (this.inherited !== null && !entered) this.req.params = mergeParams(this.inherited, this.req.params);
      if (!entered && hooks !== null && layer.place !== null && hooks[0]?.mount !== layer.mount) this.view.hideRoute(route);
    } catch (error) {
      // A malformed capture, or a property that a program has made read-only: the layer has not run, so it is no raiser.
      return this.failure === null ? this.#raise(error) : this.#run();
    }
    if (entered || hooks === null) return this.#invoke(layer);
    if (this.failure !== null) {
      try {
        this.#params?.show(this.#runTo(layer, null));
      } catch {
        // A property that a program has made read-only: there is an error already.
      }
      return this.#invoke(layer);
    }
    const from = this.current?.mount ?? null;
    this.reachToWait(layer);
    if (this.watch !== null) this.watch.request.begins();
    this.#params ??= new ParamCalls(this.req, this.res, this);
    this.#params.go((this.#paramRun = this.#runTo(layer, from)));
  }

  #runTo(layer: Layer, from: Mount | null): ParamRun {
    const pattern = hasOnePath(layer) ? undefined : this.table.alternative(layer, this.match);
    return new ParamRun(this.#hooksOf(layer, pattern), this.table.cut(this.match), (read(this.req, 'params') ?? {}) as Params, layer.mark, pattern, from);
  }

  #hooksOf({ hooks }: Layer, pattern: Pattern | undefined): readonly ParamHook[] {
    return pattern === undefined || hooks === null ? hooks ?? [] : hooksOf(hooks, this.table.cut(this.match), pattern);
  }

  /** Whether the parameters' handlers of the layer that is reached are still to go on. */
  waitsFor(run: ParamRun): boolean {
    return run === this.#paramRun && !this.held && !this.#over;
  }

  /**
   * Looks for handlers of further parameters that have been registered meanwhile: they are met as in Express.
   * Returns false where they are not those of this run any more, or that ended the walk.
   */
  renewHooks(run: ParamRun): boolean {
    if (!this.table.era.isOver || !this.waitsFor(run) || this.isRewritten) return true;
    const layer = this.#layerNow(run);
    if (layer !== null && layer !== this.current) run.goOnBy(this.#hooksOf(layer, hasOnePath(layer) ? undefined : this.table.alternative(layer, this.match)));
    return layer !== null;
  }

  captureAt(within: readonly Pattern[], { path, pattern }: ParamRun): Params {
    const own = prefixAt(within, path, pattern)?.capture(path, true, false) ?? {};
    return this.inherited === null ? own : mergeParams(this.inherited, own);
  }

  /** As in Express, handlers of a parameter see the URL as middleware of their router does. */
  meets(hook: ParamHook): void {
    if (!this.isRewritten) this.view.showParam(hook, this.current as Layer, this.match);
  }

  /** Late, the further handlers run as in Express, but not in the place of a target that a check would be asked about. */
  isLedElsewhere(run: ParamRun): boolean {
    return this.waitsFor(run) ? this.isRewritten : this.isBeneathCheck || this.host.isChecking;
  }

  /** As in Express, the further handlers of parameters run whatever target one of them has made; the walk takes it behind them. */
  admit(goOn: () => void): void {
    this.#admitWithin(goOn);
  }

  /** The handlers of parameters have gone on. */
  passed(run: ParamRun): void {
    // Late: `next` was called elsewhere meanwhile, and what runs by now may be behind other handlers of parameters.
    if (!this.waitsFor(run)) return;
    if (this.isRewritten) return this.#rewriteByParam();
    const layer = this.table.era.isOver ? this.#layerNow(run) : this.current;
    if (layer === null) return;
    try {
      this.view.leaveParam(layer, this.match);
    } catch (error) {
      return this.#raise(error);
    }
    this.endWait();
    this.#invoke(layer);
  }

  /**
   * What stands by now in the place of the layer reached, while handlers of its parameters are called: Express calls what it finds
   * then. Null where the walk has ended, or gone to what stands in the place of what holds the layer, unless it was within that already.
   */
  #layerNow(run: ParamRun): Layer | null {
    const current = this.current as Layer;
    try {
      const table = this.host.tableNow(this);
      if (!table.goesOnFrom(this.table)) return current;
      const layer = table.layerAt(current);
      if (layer !== undefined && !layer.catches) return layer;
      const aside = layer === undefined ? asideAround(current.mount) : null;
      if (aside !== null && run.isIn(aside)) return current;
      this.#paramRun = null;
      // Handlers of its parameters that were not called yet are still to be.
      this.#captured = null;
      this.view.table = table;
      this.stepBackTo(table, table.match(this.method, pathOf(this.url)));
    } catch (error) {
      this.#endUnlaid(error);
      return null;
    }
    this.#goOnIn(true);
    return null;
  }

  /** A handler of a parameter has made a new target: the layer has not run, and runs only if that leads to it. */
  #rewriteByParam(): void {
    this.stepBack();
    if (++this.#paramRewrites <= MOST_PARAM_REWRITES) return this.#rewrite();
    this.enterError(new Error(`Handlers of parameters have changed req.url ${MOST_PARAM_REWRITES} times, last to ${JSON.stringify(this.req.url)}: change it only where it differs`), null);
    this.view.showAll();
    this.#run();
  }

  /** A handler of a parameter has raised an error, or left: what its layer holds does not run. */
  raised(error: unknown, hook: ParamHook, run: ParamRun | null): void {
    if (this.#over) {
      if (isError(error)) this.#endLate(error);
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
    const rewritten = this.isRewritten;
    this.signalAt(hook.mount, error);
    this.#paramRun = null;
    this.#goOn(rewritten);
  }

  #invoke(layer: Layer): void {
    const { req, res } = this;
    const body = req[kBody];
    if (body !== undefined && layer.place !== null && this.failure === null && !layer.parses && !this.#hasBody(body)) return;
    // Out of its layer: called as the layer's method it would have that for its `this`.
    const { handler, level } = layer;
    this.reach(layer);
    this.noteRun(layer);
    let result: unknown;
    try {
      if (layer.catches) forgetRefusedHead(res);
      const next = level.parent === null ? this.next : this.#nextOf(level);
      if (this.watch !== null) result = this.watch.call(layer, this.#given(layer, next));
      else if (layer.catches) result = (handler as ErrorHandler)((this.failure as Failure).error, req, res, next);
      else result = (handler as Handler)(req, res, next);
    } catch (error) {
      this.#thrown(error, layer);
      return;
    }
    if (typeof result === 'object' && result !== null) this.#follow(result, layer);
  }

  /** Takes a rejection of what a handler has returned for an error. */
  #follow(result: object, layer: Layer): void {
    if (result === this.res) return;
    // Whether it is a thenable is for Promise.resolve to find out, which turns a `then` that throws, or that calls back twice, into one rejection.
    Promise.resolve(result).then(undefined, (error: unknown) => this.#thrown(error || new Error('Rejected promise'), layer));
  }

  #given({ catches }: Layer, next: NextFunction): readonly unknown[] {
    const { req, res } = this;
    return catches ? [(this.failure as Failure).error, req, res, next] : [req, res, next];
  }

  #thrown(error: unknown, layer: Layer): void {
    // A handler may throw anything; only a truthy value can be told from no error.
    const raised = error ? error : new Error(`a handler threw ${String(error)}`);
    if (this.watch !== null) this.watch.threw(raised, layer);
    if (this.#over) return this.#endLate(raised);
    if (this.held) return this.#interrupt(raised);
    if (this.#isTakenOver) this.host.reclaim(this);
    // What a walk within shows of the URL is no rewrite.
    const rewritten = this.req[kWalk] === this && this.isRewritten;
    this.enterThrown(raised, layer);
    this.#goOn(rewritten);
  }

  /** Shows the request as the step's layer is to see it. */
  #enter(step: Step): void {
    const { place, level, mount } = step.layer;
    if (place === null) {
      this.#captured = null;
      this.#showNext(level);
      this.view.enterMiddleware(step, this.match);
      return;
    }
    const isStrict = this.failure === null;
    this.view.enterRoute(step, place, this.match, isStrict);
    this.#showNext(mount.level);
    // What an error handler is shown may be malformed; the route's other handlers must not be.
    this.#captured = isStrict ? place : null;
  }

  /** As in Express `req.next` is the router's: in a route, past all its handlers. */
  #showNext(level: Level): void {
    const next = this.#nextOf(level);
    if (this.req.next !== next) this.req.next = next;
  }

  #end(): void {
    this.#over = true;
    let error = this.failure?.error;
    let failed = this.failure !== null;
    try {
      if (this.isBeneathCheck && !this.#isDirect && this.view.isUncertain) {
        error ??= HttpError.of('MALFORMED_PATH', 'The request target has an origin, or was given one, and was made into another');
        failed = true;
        this.view.takeBack(this.method);
      } else {
        this.view.restore();
      }
    } catch (raised) {
      // A property that a program has made read-only.
      return this.#handOn(true, raised);
    }
    this.#handOn(failed, error);
  }
}
