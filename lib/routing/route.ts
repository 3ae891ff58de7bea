import { describe } from '../options/field';
import { writePaths } from './given-path';
import type { ErrorHandler, Handler, Handlers, MixedHandlers, Path } from './handler';
import { Mountable } from './mountable';

/** Any function that was registered. */
export type AnyHandler = Handler | ErrorHandler;

/** Some handlers of a route, for one method or, with `null`, for all. */
export interface RouteHandlers {
  readonly method: string | null;
  readonly handlers: readonly AnyHandler[];
}

/** Registers handlers of one route, for each method; what `route(path)` returns. */
export class Route {
  /** The pattern, or the first of several. */
  readonly path: Path;
  /** In the order they were registered. */
  readonly stack: RouteHandlers[] = [];
  readonly #changed: () => void;

  constructor(path: Path, changed: () => void) {
    this.path = path;
    this.#changed = changed;
  }

  /** Adds handlers for a method; `null` stands for all. */
  add(method: string | null, given: readonly unknown[]): this {
    this.stack.push({ method, handlers: flattenHandlers(given, `route ${writePaths(this.path)}`) });
    this.#changed();
    return this;
  }

  get(...handlers: Handler[]): this;
  get(...handlers: Handlers[]): this;
  get(...handlers: MixedHandlers[]): this;
  get(...handlers: Handlers[]): this { return this.add('GET', handlers); }
  post(...handlers: Handler[]): this;
  post(...handlers: Handlers[]): this;
  post(...handlers: MixedHandlers[]): this;
  post(...handlers: Handlers[]): this { return this.add('POST', handlers); }
  put(...handlers: Handler[]): this;
  put(...handlers: Handlers[]): this;
  put(...handlers: MixedHandlers[]): this;
  put(...handlers: Handlers[]): this { return this.add('PUT', handlers); }
  delete(...handlers: Handler[]): this;
  delete(...handlers: Handlers[]): this;
  delete(...handlers: MixedHandlers[]): this;
  delete(...handlers: Handlers[]): this { return this.add('DELETE', handlers); }
  patch(...handlers: Handler[]): this;
  patch(...handlers: Handlers[]): this;
  patch(...handlers: MixedHandlers[]): this;
  patch(...handlers: Handlers[]): this { return this.add('PATCH', handlers); }
  options(...handlers: Handler[]): this;
  options(...handlers: Handlers[]): this;
  options(...handlers: MixedHandlers[]): this;
  options(...handlers: Handlers[]): this { return this.add('OPTIONS', handlers); }
  head(...handlers: Handler[]): this;
  head(...handlers: Handlers[]): this;
  head(...handlers: MixedHandlers[]): this;
  head(...handlers: Handlers[]): this { return this.add('HEAD', handlers); }
  /** Adds handlers for every method. */
  all(...handlers: Handler[]): this;
  all(...handlers: Handlers[]): this;
  all(...handlers: MixedHandlers[]): this;
  all(...handlers: Handlers[]): this { return this.add(null, handlers); }
}

/**
 * The handlers of a registration as one list, out of arrays of them.
 * @param where What registers them, for the message.
 * @throws TypeError where there is none, or what is none.
 */
export function flattenHandlers(given: readonly unknown[], where: string): AnyHandler[] {
  const handlers = given.flat(Infinity);
  if (handlers.length === 0) throw new TypeError(`${where} needs at least one handler function`);
  for (const handler of handlers) {
    if (handler instanceof Mountable && typeof handler !== 'function') {
      throw new TypeError(`${where} got a router as a handler; write use(path, router) to mount it`);
    }
    if (typeof handler !== 'function') throw new TypeError(`${where} needs functions as handlers, got ${describe(handler)}`);
  }
  return handlers as AnyHandler[];
}
