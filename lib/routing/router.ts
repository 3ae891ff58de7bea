import { describe } from '../options/field';
import { isPaths, listPaths, writePaths } from './given-path';
import type { Handler, Handlers, MixedHandlers, Path, PathParams, Paths } from './handler';
import { Mountable } from './mountable';
import { kParamHandlers, type ParamHandler, readParam } from './param';
import { parsePattern, parsePrefix } from './pattern';
import { type AnyHandler, flattenHandlers, Route } from './route';

/** What `use` takes: handlers, routers, and arrays of them. */
type Usable = MixedHandlers | Router | readonly Usable[];

/** One registration, as plain data, in the order it was made. */
export type Registration =
  | { readonly kind: 'route'; readonly paths: readonly Path[]; readonly route: Route }
  | { readonly kind: 'middleware'; readonly paths: readonly Path[]; readonly handlers: readonly AnyHandler[] }
  | { readonly kind: 'mount'; readonly paths: readonly Path[]; readonly router: Router };

/** Patterns are read again by the application, whose options may relax them; what is wrong is wrong in either. */
const EXACT = Object.freeze({ caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false });

/**
 * What the framework asks routers for. By symbols, since a program keeps things
 * on its application by names of its own, as it may on Express's.
 */
export const kRegistrations = Symbol('waypost.router.registrations');
export const kOnChange = Symbol('waypost.router.onChange');
export const kChanged = Symbol('waypost.router.changed');
export const kRegister = Symbol('waypost.router.register');
export const kUsed = Symbol('waypost.router.used');
export const kVetPaths = Symbol('waypost.router.vetPaths');
const kReaches = Symbol('waypost.router.reaches');

const ROOT: readonly Path[] = Object.freeze(['/']);

/** A group of routes and middleware that is mounted under a path (INTERFACE section 4.1). Made by `Router()`. */
export class Router extends Mountable {
  readonly #registrations: Registration[] = [];
  readonly #listeners = new Set<() => void>();
  /** The routers that it is mounted in. */
  readonly #outers = new Set<Router>();
  readonly #params = new Map<string, readonly ParamHandler[]>();

  /** What was registered, in order. */
  get [kRegistrations](): readonly Registration[] {
    return this.#registrations;
  }

  /** Calls back whenever something is registered here or in a router mounted here. */
  [kOnChange](listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** To be called when what is registered, or how it is read, has changed. */
  protected readonly [kChanged] = (): void => {
    for (const listener of this.#listeners) listener();
  };

  /** Handlers of parameters by name, in the order they were registered. */
  get [kParamHandlers](): ReadonlyMap<string, readonly ParamHandler[]> {
    return this.#params;
  }

  /**
   * Calls back with the value of a parameter before whatever is registered in
   * this router under a path that holds it: once for each value in a request.
   * `*` and `**` name the captures of wildcards.
   * @throws TypeError for a wrong name, or what is no function.
   */
  param(name: string | readonly string[], handler: ParamHandler): this {
    for (const each of readParam(name, handler)) this.#params.set(each, [...(this.#params.get(each) ?? []), handler]);
    this[kChanged]();
    return this;
  }

  /** Handles GET, and HEAD unless a HEAD route of the same shape exists (INTERFACE section 4.1). */
  get<const Given extends Path>(path: Given | readonly Given[], ...handlers: Handler<PathParams<Given>>[]): this;
  get<const Given extends Path>(path: Given | readonly Given[], ...handlers: (Handlers<PathParams<Given>> | Handlers)[]): this;
  get<const Given extends Path>(path: Given | readonly Given[], ...handlers: MixedHandlers<PathParams<Given>>[]): this;
  get(path: Paths, ...handlers: Handlers[]): this {
    return this[kRegister]('GET', path, handlers);
  }

  /** Handles POST (INTERFACE section 4.1). */
  post<const Given extends Path>(path: Given | readonly Given[], ...handlers: Handler<PathParams<Given>>[]): this;
  post<const Given extends Path>(path: Given | readonly Given[], ...handlers: (Handlers<PathParams<Given>> | Handlers)[]): this;
  post<const Given extends Path>(path: Given | readonly Given[], ...handlers: MixedHandlers<PathParams<Given>>[]): this;
  post(path: Paths, ...handlers: Handlers[]): this {
    return this[kRegister]('POST', path, handlers);
  }

  /** Handles PUT (INTERFACE section 4.1). */
  put<const Given extends Path>(path: Given | readonly Given[], ...handlers: Handler<PathParams<Given>>[]): this;
  put<const Given extends Path>(path: Given | readonly Given[], ...handlers: (Handlers<PathParams<Given>> | Handlers)[]): this;
  put<const Given extends Path>(path: Given | readonly Given[], ...handlers: MixedHandlers<PathParams<Given>>[]): this;
  put(path: Paths, ...handlers: Handlers[]): this {
    return this[kRegister]('PUT', path, handlers);
  }

  /** Handles DELETE (INTERFACE section 4.1). */
  delete<const Given extends Path>(path: Given | readonly Given[], ...handlers: Handler<PathParams<Given>>[]): this;
  delete<const Given extends Path>(path: Given | readonly Given[], ...handlers: (Handlers<PathParams<Given>> | Handlers)[]): this;
  delete<const Given extends Path>(path: Given | readonly Given[], ...handlers: MixedHandlers<PathParams<Given>>[]): this;
  delete(path: Paths, ...handlers: Handlers[]): this {
    return this[kRegister]('DELETE', path, handlers);
  }

  /** Handles PATCH (INTERFACE section 4.1). */
  patch<const Given extends Path>(path: Given | readonly Given[], ...handlers: Handler<PathParams<Given>>[]): this;
  patch<const Given extends Path>(path: Given | readonly Given[], ...handlers: (Handlers<PathParams<Given>> | Handlers)[]): this;
  patch<const Given extends Path>(path: Given | readonly Given[], ...handlers: MixedHandlers<PathParams<Given>>[]): this;
  patch(path: Paths, ...handlers: Handlers[]): this {
    return this[kRegister]('PATCH', path, handlers);
  }

  /** Handles OPTIONS (INTERFACE section 4.1). */
  options<const Given extends Path>(path: Given | readonly Given[], ...handlers: Handler<PathParams<Given>>[]): this;
  options<const Given extends Path>(path: Given | readonly Given[], ...handlers: (Handlers<PathParams<Given>> | Handlers)[]): this;
  options<const Given extends Path>(path: Given | readonly Given[], ...handlers: MixedHandlers<PathParams<Given>>[]): this;
  options(path: Paths, ...handlers: Handlers[]): this {
    return this[kRegister]('OPTIONS', path, handlers);
  }

  /** Handles HEAD (INTERFACE section 4.1). */
  head<const Given extends Path>(path: Given | readonly Given[], ...handlers: Handler<PathParams<Given>>[]): this;
  head<const Given extends Path>(path: Given | readonly Given[], ...handlers: (Handlers<PathParams<Given>> | Handlers)[]): this;
  head<const Given extends Path>(path: Given | readonly Given[], ...handlers: MixedHandlers<PathParams<Given>>[]): this;
  head(path: Paths, ...handlers: Handlers[]): this {
    return this[kRegister]('HEAD', path, handlers);
  }

  /** Handles every method. */
  all<const Given extends Path>(path: Given | readonly Given[], ...handlers: Handler<PathParams<Given>>[]): this;
  all<const Given extends Path>(path: Given | readonly Given[], ...handlers: (Handlers<PathParams<Given>> | Handlers)[]): this;
  all<const Given extends Path>(path: Given | readonly Given[], ...handlers: MixedHandlers<PathParams<Given>>[]): this;
  all(path: Paths, ...handlers: Handlers[]): this {
    return this[kRegister](null, path, handlers);
  }

  /**
   * Registers a route without handlers yet, to add them method by method. Its
   * place in the order is that of this call.
   * @throws TypeError when a pattern is wrong.
   */
  route(path: Paths): Route {
    const paths = listPaths(path);
    for (const text of paths) parsePattern(text, EXACT);
    this[kVetPaths](paths);
    const route = new Route(paths[0] as Path, this[kChanged]);
    this.#registrations.push({ kind: 'route', paths, route });
    return route;
  }

  /** Adds one route whose handlers are all for one method; `null` stands for all. */
  protected [kRegister](method: string | null, path: Paths, given: readonly unknown[]): this {
    const name = method === null ? 'all' : method.toLowerCase();
    const handlers = flattenHandlers(given, `${name}(${writePaths(path)}, …)`);
    this.route(path).add(method, handlers);
    return this;
  }

  /**
   * Adds middleware, error middleware (four parameters) or routers, for every
   * path or under the given ones (INTERFACE section 4.1).
   * @throws TypeError when a path is wrong or what is given is neither function nor router.
   */
  use(...handlers: Handler[]): this;
  use(path: Paths, ...handlers: Handler[]): this;
  use(...handlers: Usable[]): this;
  use(path: Paths, ...handlers: Usable[]): this;
  use(...given: unknown[]): this {
    const withPath = isPaths(given[0]);
    const paths = withPath ? listPaths(given[0] as Paths) : ROOT;
    for (const text of paths) parsePrefix(text, EXACT);
    this[kVetPaths](paths);
    const where = withPath ? `use(${writePaths(given[0])}, …)` : 'use(…)';
    const entries = (withPath ? given.slice(1) : given).flat(Infinity);
    if (entries.length === 0) throw new TypeError(`${where} needs at least one middleware function or router`);
    for (const entry of entries) {
      checkUse(entry, where, this);
      if (entry instanceof Router && typeof entry !== 'function') this[kVetPaths](entry.#allPaths());
    }
    for (const entry of entries) {
      this.#use(paths, entry as AnyHandler | Router);
      this[kUsed](withPath ? (given[0] as Paths) : '/', entry);
    }
    this[kChanged]();
    return this;
  }

  /** Asked before paths are registered here, or in what is mounted here. @throws TypeError for one that can't stand here. */
  protected [kVetPaths](paths: readonly Path[]): void {
    for (const outer of this.#outers) outer[kVetPaths](paths);
  }

  #allPaths(): Path[] {
    return this.#registrations.flatMap((registration) => [...registration.paths, ...(registration.kind === 'mount' ? registration.router.#allPaths() : [])]);
  }

  /** Called for all that was given to {@link use}; an application looks for others among it. */
  protected [kUsed](_path: Paths, _entry: unknown): void {
    // A router has nothing to say to what is mounted in it.
  }

  #use(paths: readonly Path[], entry: AnyHandler | Router): void {
    if (entry instanceof Router && typeof entry !== 'function') {
      entry[kOnChange](this[kChanged]);
      entry.#outers.add(this);
      this.#registrations.push({ kind: 'mount', paths, router: entry });
    } else {
      this.#registrations.push({ kind: 'middleware', paths, handlers: [entry] });
    }
  }

  /** Whether that router is this one or mounted anywhere below it; an application is mounted as middleware. */
  [kReaches](router: Router): boolean {
    if (router === this) return true;
    return this.#registrations.some((registration) => {
      if (registration.kind === 'mount') return registration.router[kReaches](router);
      return registration.kind === 'middleware' && registration.handlers.some((handler: unknown) => handler instanceof Router && handler[kReaches](router));
    });
  }
}

function checkUse(entry: unknown, where: string, self: Router): void {
  if (entry instanceof Router) {
    if (entry === self || entry[kReaches](self)) throw new TypeError(`${where} would mount a router inside itself`);
  } else if (typeof entry !== 'function') {
    throw new TypeError(`${where} needs middleware functions or routers, got ${describe(entry)}`);
  }
}

/** Options of `Router`, for programs that come from Express. */
export interface RouterOptions {
  /** No effect: a router always sees the parameters of its mount path. */
  mergeParams?: boolean;
}

/**
 * Makes a router: a group of routes and middleware that `app.use(path, router)` mounts (INTERFACE section 4.1).
 * @throws TypeError for `caseSensitive` and `strict`, which hold for a whole application.
 */
export function createRouter(options: RouterOptions = {}): Router {
  for (const name of ['caseSensitive', 'strict']) {
    if ((options as Record<string, unknown>)[name] !== undefined) {
      throw new TypeError(`Router() has no option ${name}: one application compares all paths in one way; write createServer({ routing: { caseSensitive, ignoreTrailingSlash } })`);
    }
  }
  return new Router();
}
