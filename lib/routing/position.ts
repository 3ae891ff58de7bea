import { Failure, isError } from './failure';
import { History } from './history';
import type { Layer } from './layer';
import { commonLevel, isWithin, type Level, type Mark, markAt, type Mount } from './mount';
import type { Match, Step } from './plan';
import type { RouteTable } from './route-table';
import { meetsRoute } from './sibling';

/** Where in the list of its application a request is, and which layers no longer count for it. */
export class Position {
  table: RouteTable;
  match: Match;
  /** The layer that was reached last. */
  protected current: Layer | null = null;
  /** The level that the walk is at: that of this layer, until it is left. */
  protected level: Level;
  /** The error that only error middleware meets. */
  protected failure: Failure | null = null;
  #index = 0;
  /** The layer that was reached and waits for handlers of its parameters: it has not run. Null for none. */
  #waiting: Layer | null = null;
  /** Kept from the first event on that makes the order of steps say less. */
  #history: History | null = null;
  /** Index of the step that `#takerFrom` found last, and from where on it looked. */
  #taker = -1;
  #takerSince = 0;
  /** Whether the end of the error mode begins the list anew, since guards of a new target were passed over. */
  #restarts = false;
  /** Whether other middleware may apply to the target that was made last than to the one before; else what an error has passed by of it stays passed by, as in Express. */
  protected isElsewhere = false;

  constructor(table: RouteTable, match: Match) {
    this.table = table;
    this.match = match;
    this.level = table.outermost;
  }

  /** The layer that was reached last; null for none. */
  get reached(): Layer | null {
    return this.current;
  }

  /** Whether anything has been called. */
  get hasCalled(): boolean {
    return this.current !== null;
  }

  /** Whether what was reached last stands above a rewriter: it is called to guard what stands below that. */
  get isAboveRewriter(): boolean {
    return this.current !== null && this.hasPassed(this.current);
  }

  /** Whether the layer stands above a rewriter. */
  hasPassed({ mark }: Layer): boolean {
    return this.#history?.hasPassed(mark) === true;
  }

  /** No route of the list is run: what calls it stands above a rewriter. */
  protected passRoutes(): void {
    this.#keepHistory().passRoutesAbove(markAt(Infinity));
  }

  /** Passes the routes above what has led to another target, and the route that it is in. */
  #passRoutesAbove(): void {
    const { current } = this;
    if (current === null) return;
    const history = this.#keepHistory();
    history.passRoutesAbove(current.mark);
    // Unless a handler of a parameter has: then the route itself has not run.
    if (current.place !== null && history.skips(current)) history.leaveRoute(current.place);
  }

  /** Begins the list of a target. An error that came with a rewrite meets only what stands below its raiser. */
  protected begin(match: Match): void {
    this.#passRoutesAbove();
    this.match = match;
    this.#restarts = this.failure !== null && (this.#restarts || this.isElsewhere);
    this.#index = this.failure === null ? 0 : this.#below(this.current);
  }

  /** Goes over to what is registered by now, to what stands in the place of the layer reached, which has not run. */
  protected stepBackTo(table: RouteTable, match: Match): void {
    this.stepBack();
    this.moveTo(table, match);
    const { mark } = this.current as Layer;
    const start = mark.aside ?? mark.order;
    this.#index = this.#indexOf(({ order }) => order >= start);
  }

  /** Goes over to what is registered by now: what of it stands below the place reached is still to come. */
  protected moveTo(table: RouteTable, match: Match): void {
    this.#keepHistory();
    this.table = table;
    this.match = match;
    // Behind something that was reached the list begins anew only where an error has passed by guards of another target.
    if (this.#index > 0) this.#index = this.#below(this.current);
    this.#taker = -1;
    this.#takerSince = 0;
  }

  #below(layer: Layer | null): number {
    if (layer === null) return 0;
    return this.#indexOf((mark) => mark.order > layer.mark.order);
  }

  #indexOf(isThere: (mark: Mark) => boolean): number {
    const { steps } = this.match.plan;
    const index = steps.findIndex((step) => isThere(step.layer.mark));
    return index === -1 ? steps.length : index;
  }

  /** The next step whose layer applies; null at the end of the list. */
  protected nextStep(): Step | null {
    const { match } = this;
    const { steps } = match.plan;
    while (this.#index < steps.length) {
      const step = steps[this.#index++] as Step;
      const { layer } = step;
      if (this.#history?.skips(layer) === true) continue;
      if (this.failure === null ? layer.catches : !this.failure.meets(layer)) continue;
      if ((step.test || match.loose) && !this.table.applies(step, match)) continue;
      if (this.failure === null && step.sibling && this.#takenBySibling(step, this.#index)) continue;
      return step;
    }
    return null;
  }

  /** Whether something stands in the place of what holds both the layer reached and the next one: then the walk goes on within, as in Express. */
  protected get staysAside(): boolean {
    const reached = this.current?.mark;
    if (reached === undefined || reached.aside === null) return false;
    const mark = this.#peek()?.layer.mark;
    return mark !== undefined && mark.aside !== null && Math.floor(mark.order) === Math.floor(reached.order);
  }

  /** Whether another handler of the route whose level the walk is at comes next. */
  protected get staysInRoute(): boolean {
    return this.#peek()?.layer.place === this.level.place;
  }

  #peek(): Step | null {
    const index = this.#index;
    const step = this.nextStep();
    this.#index = index;
    return step;
  }

  /** Takes back that the last step was reached: it has not run. */
  protected stepBack(): void {
    this.#index--;
    this.#keepHistory();
  }

  protected reach(layer: Layer): void {
    this.current = layer;
    this.level = layer.level;
  }

  /** Reaches a layer that runs only if handlers of its parameters go on. */
  protected reachToWait(layer: Layer): void {
    // Another waits already, which a second call of `next` has gone on behind: of several the place tells nothing.
    if (this.#waiting !== null) {
      this.stepBack();
      this.#index++;
    }
    this.#waiting = layer;
    this.reach(layer);
  }

  /** The handlers of the parameters of the layer reached have gone on. */
  protected endWait(): void {
    this.#waiting = null;
  }

  /** Takes note that the layer runs, where a history is kept. */
  protected noteRun(layer: Layer): void {
    this.#history?.add(layer);
  }

  /** From here on, what has run is written down; until here it follows from the place reached. */
  #keepHistory(): History {
    if (this.#history !== null) return this.#history;
    const ran = new Set<Mark>();
    for (let i = 0; i < this.#index; i++) {
      const step = this.match.plan.steps[i] as Step;
      if (step.layer === this.#waiting) continue;
      if (!step.layer.catches && this.table.applies(step, this.match) && !(step.sibling && this.#takenBySibling(step, i + 1))) {
        ran.add(step.layer.mark);
      }
    }
    return (this.#history = new History(ran));
  }

  /** Leaves what lies within a level, or within what that has in common with the one that is reached. */
  #leaveTo(level: Level): History {
    const history = this.#keepHistory();
    const common = commonLevel(level, this.level);
    for (let left = this.level; left !== common; left = left.parent as Level) history.leave(left);
    this.level = common;
    return history;
  }

  /**
   * Raises an error that no registration raised, in place of the step that was
   * reached. It meets all error middleware of the routers that the step is in; in
   * Express's order what stands below, as if raised there.
   */
  protected obstruct(error: unknown): void {
    this.stepBack();
    const { layer } = this.match.plan.steps[this.#index] as Step;
    const { apart } = this.table;
    this.failure = new Failure(error, null, layer.mount, apart);
    if (apart) this.#index = 0;
  }

  /** Takes note of what the layer has thrown. */
  protected enterThrown(error: unknown, layer: Layer): void {
    if (layer.level === this.level) this.#keepHistory();
    else this.#leaveTo(layer.level);
    this.enterError(error, layer);
  }

  /** Takes note of what `next` was called with. */
  protected signal(error: unknown): void {
    const { current } = this;
    const history = this.#keepHistory();
    // As in Express, only a truthy value is an error.
    if (isError(error)) return this.enterError(error, current);
    if (error === 'route' && current?.place != null) history.leaveRoute(current.place);
    if (error === 'router' && current !== null) history.leaveMount(current.mount);
    this.leaveError();
  }

  /**
   * Takes note of a call of `next` from another level than the walk is at: one
   * that is late, or the second. As in Express it goes on behind what it is
   * around, the guards there that have not gone on, and all that they guard.
   * Returns false where it counts for nothing: its level has been left.
   */
  protected signalFrom(level: Level, error: unknown): boolean {
    const isAround = isWithin(this.level, level);
    if (!isAround && !isError(error)) return false;
    const history = this.#leaveTo(level);
    if (isError(error)) {
      this.failure = new Failure(error, null, this.level.mount, false);
      return true;
    }
    if (error === 'router') history.leaveMount(level.mount);
    this.leaveError();
    return true;
  }

  /** Takes note of what the `next` of a parameter's handler was called with: of the router at that mount. */
  protected signalAt(mount: Mount, error: unknown): void {
    // Where a mount's path holds the parameter, each layer within comes to the same.
    const place = this.current?.place;
    const history = isError(error) ? this.#leaveTo(mount.level) : this.#keepHistory();
    if (error === 'router') history.leaveMount(mount);
    else if (error !== 'route') this.failure = new Failure(error, null, mount, false);
    else if (place != null) history.leaveRoute(place);
  }

  protected enterError(error: unknown, raiser: Layer | null): void {
    const known = this.failure;
    // Error middleware that passes on an error without a raiser does not become its raiser.
    if (known !== null && known.unraised && known.error === error) return;
    this.failure = new Failure(error, raiser?.place ?? null, raiser?.mount ?? null, false);
  }

  protected leaveError(): void {
    if (this.failure === null) return;
    this.failure = null;
    if (!this.#restarts) return;
    this.#restarts = false;
    this.#passRoutesAbove();
    this.#index = 0;
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
}
