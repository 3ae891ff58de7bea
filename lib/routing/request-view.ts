import type { Request } from '../http/request';
import { GivenBase } from './given-base';
import type { NextFunction } from './handler';
import type { Layer } from './layer';
import type { Mount, Place } from './mount';
import type { ParamHook } from './param-hook';
import { type Pattern, prefixEndOf } from './pattern';
import { NoParams, type Params } from './pattern-params';
import type { Match, Step } from './plan';
import type { RouteTable } from './route-table';
import { baseOf, TargetView } from './target-view';

/** What a layer that is called sees of its request: its part of the target, the parameters and the route. */
export class RequestView extends TargetView {
  /** That of the walk. */
  table: RouteTable;
  readonly #outerParams: Params | undefined;
  readonly #outerNext: NextFunction | undefined;
  /** The router whose layer sees the URL, or the handlers of a parameter of whose path. */
  #mount: Mount | null = null;
  #match: Match | null = null;
  /** Whether the URL was shown to handlers of a parameter otherwise than their layer sees it. */
  #isParam = false;

  /**
   * @param outer The view of the walk around.
   * @param isMounted Whether a framework around goes on with what is left.
   */
  constructor(req: Request, outer: TargetView | undefined, table: RouteTable, isMounted: boolean) {
    super(req, outer);
    this.table = table;
    this.#outerParams = isMounted ? req.params : undefined;
    this.#outerNext = isMounted ? req.next : undefined;
  }

  /**
   * Routes see the mount path of their router, and the whole URL, or in an Express program what is left of it.
   * @param isStrict Whether a malformed capture throws: what an error handler is shown may be malformed.
   */
  enterRoute(step: Step, place: Place, match: Match, isStrict: boolean): void {
    const { req } = this;
    const { captures } = step;
    if (captures !== undefined && !match.loose) {
      const params: Params = {};
      for (let i = 0; i < captures.length; i++) {
        params[step.names[i] as string] = (match.captures as Record<string, string>)[captures[i] as string] as string;
      }
      req.params = params;
    } else {
      const pattern = this.table.alternative(step.layer, match) as Pattern;
      req.params = pattern.bare ? new NoParams() : pattern.capture(this.table.cut(match), false, isStrict);
    }
    req.route = place.route;
    this.showRoute(step, match);
  }

  /** Shows the URL as handlers of a route see it. */
  showRoute(step: Step, match: Match): void {
    this.#mount = step.layer.mount;
    this.#match = match;
    this.#showMount(match.loose ? this.#mountPath(step.layer, match) : step.base ?? this.#mountPath(step.layer, match), match);
  }

  /** Middleware sees the URL relative to its path. In an Express program a malformed capture throws. */
  enterMiddleware({ layer, base }: Step, match: Match): void {
    const { req } = this;
    this.#mount = layer.mount;
    this.#match = match;
    if (base === '') {
      if (!this.isWhole) {
        this.showAll();
        this.showBase('');
      }
      req.params = new NoParams();
    } else if (base !== undefined && !match.loose) {
      req.params = new NoParams();
      this.showBeneath(base.length, match.path);
    } else {
      const pattern = this.table.alternative(layer, match) as Pattern;
      const cut = this.table.cut(match);
      req.params = pattern.bare ? new NoParams() : pattern.capture(cut, true, this.table.rules.asExpress === true);
      this.showBeneath(pattern.prefixEnd(cut), match.path);
    }
  }

  /** Works out what `req.baseUrl` is to be for the layer that is called next, where the program has assigned it. */
  followBase(left: Layer | null, layer: Layer, match: Match): void {
    if (this.isBaseGiven) (this.given ??= new GivenBase(this.base)).follow(baseOf(this.req), left, this.hiddenLength, layer, this.table.cut(match), match.path);
  }

  /** Shows the URL as a router's route sees it that is the layer, or as its middleware without a path does, to the router's handlers of a parameter. */
  showParam({ mount }: ParamHook, layer: Layer, match: Match): void {
    if (layer.place !== null && mount === layer.mount) return this.leaveParam(layer, match);
    const cut = this.table.cut(match);
    const end = prefixEndOf(mount.patterns, cut);
    this.#isParam = true;
    this.#mount = mount;
    this.#match = match;
    this.given?.showAt(mount, cut, match.path);
    if (end > 0) return this.showBeneath(end, match.path);
    this.showAll();
    this.showBase('');
  }

  /** Shows the handlers of a mount path's parameters the route that was there before: the one within has not been reached. */
  hideRoute(before: Request['route']): void {
    this.#isParam = true;
    this.req.route = before;
  }

  /** Shows it as the layer sees it, which is called now. */
  leaveParam(layer: Layer, match: Match): void {
    if (!this.#isParam) return;
    this.#isParam = false;
    this.#mount = layer.mount;
    this.given?.showLayer();
    if (layer.place !== null) {
      this.req.route = layer.place.route;
      return this.#showMount(this.#mountPath(layer, match), match);
    }
    const pattern = this.table.alternative(layer, match) as Pattern;
    this.showBeneath(pattern.prefixEnd(this.table.cut(match)), match.path);
  }

  protected override hidesMount(): boolean {
    const match = this.#match as Match;
    const path = this.table.cut(match);
    return this.#mount?.patterns.some((pattern) => pattern.matchesPrefix(path) && pattern.prefixEnd(path) === this.hiddenLength) === true;
  }

  /** Shows what was there when the walk began, to who goes on behind it. */
  restore(): void {
    const { req } = this;
    this.given = null;
    this.showAll();
    this.showBase('');
    if (this.#outerParams === undefined) return;
    req.params = this.#outerParams;
    req.next = this.#outerNext;
  }

  /** The same with the target on entry, and its method. @param method The one that is routed. */
  takeBack(method: string): void {
    const { req } = this;
    const entered = this.takeBackTarget() ?? method;
    this.restore();
    if (req.method !== entered) req.method = entered;
  }

  #showMount(mountPath: string, match: Match): void {
    if (mountPath !== '' && !this.table.apart) return this.showBeneath(mountPath.length, match.path);
    this.showAll();
    this.showBase(mountPath);
  }

  #mountPath(layer: Layer, match: Match): string {
    const pattern = this.table.alternative(layer, match) as Pattern;
    return match.path.slice(0, pattern.mountEnd(this.table.cut(match)));
  }
}
