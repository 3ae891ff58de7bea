import { CallSite } from '../call-site';
import { assign } from '../http/assignable';
import { dispatch, type Dispatched } from './dispatch';
import { checkHandler } from './given-handler';
import { type Path, writePaths } from './given-path';
import type { AnyHandler, NextFunction } from './handler';
import { AssignedStack } from './assigned-stack';
import { kAssigned, kOnChange, type RouteEntry } from './registration';
import { areLayers, entryOf, StackLayer, type StackOwner, watched, watchedLayer } from './stack';
import type { Params } from './pattern-params';
import { callOnSelf, heard, knowSelf, selfOf } from './self';
import { WeakList } from './weak-list';
import { addVerbs, type RouteVerbs } from './verb';

/** What a route gives the router that lays it out. */
export const kEntries = Symbol('waypost.route.entries');
/** Whether a program has put its own in the place of `dispatch`. */
export const kIsDispatched = Symbol('waypost.route.isDispatched');

/* eslint-disable @typescript-eslint/no-unsafe-declaration-merging, @typescript-eslint/no-empty-object-type -- the verbs are made in a loop */
export interface Route<P = Params> extends RouteVerbs<Route<P>, P> {}

/** Registers handlers of one route, for each method; what `route(path)` returns. */
// eslint-disable-next-line @typescript-eslint/no-unused-vars -- the verbs take it
export class Route<P = Params> {
  /** The path as it was registered. */
  readonly path: Path | readonly Path[];
  readonly #entries: RouteEntry[] = [];
  readonly #hearers = new WeakList<StackOwner>();
  readonly #owner: StackOwner = { changed: () => this.#changed() };
  #stack: StackLayer[] | null = null;
  #assigned: AssignedStack | null = null;

  constructor(path: Path | readonly Path[]) {
    this.path = path;
    knowSelf(this);
  }

  /** @internal To be called when its handlers have changed. */
  [kOnChange](hearer: StackOwner): void {
    this.#hearers.add(hearer);
  }

  #changed(): void {
    for (const hearer of this.#hearers) hearer.changed();
  }

  /** @internal In the order they were registered. */
  get [kEntries](): readonly RouteEntry[] {
    const layers = this.#assigned?.now() ?? this.#stack;
    return layers === null ? this.#entries : layers.flatMap((layer) => entryOf(layer) ?? []);
  }

  /** @internal */
  get [kAssigned](): readonly AssignedStack[] {
    return this.#assigned === null ? [] : [this.#assigned];
  }

  /** @internal */
  get [kIsDispatched](): boolean {
    return this.dispatch !== Route.#dispatch;
  }

  /** The handlers as Express shows them. What a program puts in the place of a `handle` is called instead. */
  get stack(): StackLayer[] {
    return this.#assigned?.layers ?? (this.#stack ??= watched(this.#entries.map(layerOf), this.#owner));
  }

  /** Layers of a route's stack, in another order or fewer, are its handlers from now on; anything else is the program's own. */
  set stack(layers: StackLayer[]) {
    if (areLayers(layers)) {
      this.#assigned = new AssignedStack(layers, this.#owner);
      this.#changed();
    } else {
      assign(this, 'stack', layers);
    }
  }

  /** The methods that it handles, in lower case; `_all` where it handles all. */
  get methods(): Record<string, boolean> {
    const names = this.#entries.map(({ method }) => [method?.toLowerCase() ?? '_all', true]);
    return Object.assign(Object.create(null) as object, Object.fromEntries(names)) as Record<string, boolean>;
  }

  /** Adds handlers for a method; `null` stands for all. */
  add(method: string | null, given: readonly unknown[]): this {
    const handlers = flattenHandlers(given, `route ${writePaths(this.path)}`);
    const site = new CallSite();
    for (const handler of handlers) {
      const entry: RouteEntry = { method, handler, site };
      this.#entries.push(entry);
      if (this.#assigned !== null) this.#assigned.push(layerOf(entry));
      else this.#stack?.push(watchedLayer(layerOf(entry), this.#owner));
    }
    this.#changed();
    return this;
  }

  /** Runs the handlers of the request's method one after another, then calls `done`, as Express's routes do by themselves. What a program puts here is called instead. */
  dispatch(req: Dispatched, res: object, done: NextFunction): void {
    req.route = this;
    dispatch(selfOf(this)[kEntries], req, res, done);
  }

  /** The method as it is by itself. */
  static #dispatch: unknown;

  static {
    this.#dispatch = heard(this.prototype, 'dispatch', (route) => {
      if (#hearers in route) route.#changed();
    });
  }
}

callOnSelf(Route.prototype, { except: ['dispatch'] });
addVerbs(Route.prototype, (method) => function verb(this: Route, ...handlers: unknown[]): Route {
  return this.add(method, handlers);
});

function layerOf(entry: RouteEntry): StackLayer {
  return new StackLayer('/', entry.handler, { entry });
}

/**
 * The handlers of a registration as one list, out of arrays of them.
 * @param where What registers them, for the message.
 * @throws TypeError where there is none, or what is none.
 */
export function flattenHandlers(given: readonly unknown[], where: string): AnyHandler[] {
  const handlers = given.flat(Infinity);
  if (handlers.length === 0) throw new TypeError(`${where}: argument handler is required, give it one function or more`);
  for (const handler of handlers) checkHandler(handler, where);
  return handlers as AnyHandler[];
}
