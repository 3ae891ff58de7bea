import { parseQuery } from '../http/query';
import { lendQuery, type MatchedRoute, type Request } from '../http/request';
import type { QueryParser } from '../http/request-state';
import type { Path, Paths } from './given-path';
import type { Dispatched } from './dispatch';
import type { Registration, RouteEntry } from './registration';
import type { AnyHandler, Handler, NextFunction } from './handler';
import { WeakList } from './weak-list';

/** A route with its handlers in layers, which a program may change as those of a router. */
interface PicturedRoute extends MatchedRoute {
  stack: StackLayer[];
  dispatch(req: Dispatched, res: object, done: NextFunction): void;
}

/** Whose picture a {@link StackLayer} is: a registration of a router, or a handler of a route. */
interface Pictured {
  readonly registration?: Registration;
  readonly route?: PicturedRoute;
  readonly entry?: RouteEntry;
}

const kPictured = Symbol('waypost.stack.pictured');
const kMounted = Symbol('waypost.stack.mounted');
/** The layer itself, of what watches it. */
const kSelf = Symbol('waypost.stack.self');
/** What watches it: one for all the stacks that it is in. */
const kWatched = Symbol('waypost.stack.watched');
/** Whom it tells of a change: each router or route that has, or had, it in its stack. */
const kHearers = Symbol('waypost.stack.hearers');

/**
 * One registration as Express shows it in `stack`, for tools that list what is
 * registered, or put a function of their own around it.
 */
export class StackLayer {
  /** What is called. What a program puts here is called in its place. */
  handle: unknown;
  readonly name: string;
  /** The path as it was registered. */
  readonly rawPath: Paths;
  /** Whether it is for every path. */
  readonly slash: boolean;
  /** The parameters in the path. */
  readonly keys: readonly { readonly name: string }[];
  readonly params = undefined;
  readonly path = undefined;
  readonly route: PicturedRoute | undefined;
  /** Of a route's handler: the method in lower case; undefined for all. */
  readonly method: string | undefined;
  /** @internal */
  readonly [kPictured]: Pictured & { readonly handle: AnyHandler };
  readonly [kSelf] = this;
  /** @internal */
  [kWatched]: StackLayer | undefined = undefined;
  /** @internal */
  readonly [kHearers] = new WeakList<StackOwner>();

  constructor(path: Paths, handle: AnyHandler, pictured: Pictured) {
    this.handle = handle;
    this.name = nameOf(handle);
    this.rawPath = path;
    this.slash = path === '/' && pictured.registration !== undefined && pictured.route === undefined;
    this.keys = namesIn(path).map((name) => ({ name }));
    this.route = pictured.route;
    this.method = pictured.entry?.method?.toLowerCase();
    this[kPictured] = { ...pictured, handle };
  }

  /** The path as an expression, in the form that tools made for Express 4 read it in. */
  get regexp(): RegExp {
    const path = firstOf(this.rawPath);
    if (path instanceof RegExp) return path;
    const text = path.replace(/\/$/, '').replace(/[.+^$()|[\]\\{}]/g, '\\$&').replaceAll('/', '\\/');
    const source = text.replace(/:[\w$]+/g, '(?:([^\\/]+?))').replace(/\*\*|\*[\w$]+/g, '(?:(.*))').replace(/(?<=\/)\*(?=\\|$)/g, '(?:([^\\/]+?))');
    return new RegExp(this.route === undefined ? `^${source}\\/?(?=\\/|$)` : `^${source}\\/?$`, 'i');
  }
}

/** Whose stack it is. */
export interface StackOwner {
  /** To be called when what is in the stack has changed. */
  readonly changed: () => void;
  /** Told of each layer that comes into the stack, from whatever other, before it does. */
  readonly taken?: (layer: StackLayer) => void;
}

/** The layers of a stack, and what tells when a program changes them or their list. Programs define properties anew as well. */
export function watched(layers: readonly StackLayer[], owner: StackOwner): StackLayer[] {
  return watch(layers.map((layer) => watchedLayer(layer, owner)), owner.changed, owner);
}

/** The same of one layer. As in Express it is the same object in each stack that a program puts it in. */
export function watchedLayer(layer: StackLayer, owner: StackOwner): StackLayer {
  const self = layer[kSelf];
  owner.taken?.(self);
  self[kHearers].add(owner);
  return (self[kWatched] ??= watch(self, () => {
    for (const hearer of self[kHearers]) hearer.changed();
  }));
}

/** @param owner Of a list: who has what is put into it. */
function watch<Target extends object>(target: Target, changed: () => void, owner?: StackOwner): Target {
  return new Proxy(target, {
    defineProperty(own, name, descriptor) {
      if (owner !== undefined && descriptor.value instanceof StackLayer) watchedLayer(descriptor.value, owner);
      const isDone = Reflect.defineProperty(own, name, descriptor);
      changed();
      return isDone;
    },
    deleteProperty(own, name) {
      const isDone = Reflect.deleteProperty(own, name);
      changed();
      return isDone;
    },
  });
}

/** A registration of a router in its stack. */
export function pictureOf(registration: Registration<AnyHandler, PicturedRoute>): StackLayer {
  const { kind, paths } = registration;
  const path = paths.length === 1 ? (paths[0] as Path) : paths;
  if (kind === 'mount') return new StackLayer(path, registration.router, { registration: registration as Registration });
  // One at a time: `use` registers each of several functions by itself.
  if (kind === 'middleware') return new StackLayer(path, registration.handlers[0] as AnyHandler, { registration });
  const { route } = registration;
  return new StackLayer(path, dispatching(route), { registration, route });
}

/** Calls a route by its `dispatch`, as it is by then. */
export function dispatching(route: PicturedRoute): Handler {
  return function handle(req, res, next) { route.dispatch(req, res, next); };
}

/** What Express takes for an application. */
export interface MountedApplication {
  (...given: never[]): unknown;
  handle(...given: unknown[]): unknown;
  set(...given: unknown[]): unknown;
  readonly request?: unknown;
  readonly settings?: object;
}

/** Whether Express takes it for an application. */
export function isApplication(given: unknown): given is MountedApplication {
  return typeof given === 'function' && typeof (given as Partial<MountedApplication>).handle === 'function' && typeof (given as Partial<MountedApplication>).set === 'function';
}

/** Calls an application by its `handle`, as Express does where one is mounted. */
export function handling(app: MountedApplication): Handler {
  const handler = function mounted_app(req: object, res: object, next: NextFunction): void {
    if (isOfExpress4(app)) handleWithQuery(app, req as Request, res, next);
    else app.handle(req, res, next);
  };
  // With whose it is: what copies a function's properties, or stands around it, has it too.
  return Object.assign(handler, { [kMounted]: { app, handler } });
}

/** In an application of Express 5, or of waypost, requests inherit it. */
function isOfExpress4({ request }: MountedApplication): boolean {
  return typeof request === 'object' && request !== null && !('query' in request);
}

/**
 * An application of Express 4 makes its query a property of the request, once, and puts things into it; where there is one, as here on
 * the prototype, it makes none, and takes off the prototype.
 */
function handleWithQuery(app: MountedApplication, req: Request, res: object, next: NextFunction | undefined): void {
  const { 'query parser fn': parse } = (app.settings ?? {}) as { readonly 'query parser fn'?: QueryParser };
  const takeBack = lendQuery(req, typeof parse === 'function' ? parse : parseQuery);
  app.handle(req, res, next && ((error?: unknown) => {
    takeBack();
    next(error);
  }));
}

/** The application that a function calls by its `handle`; of any other the function. */
export function mountedIn(handler: AnyHandler): AnyHandler | MountedApplication {
  const mounted = (handler as { readonly [kMounted]?: { readonly app: MountedApplication; readonly handler: unknown } })[kMounted];
  return mounted?.handler === handler ? mounted.app : handler;
}

/** What a router's layer was registered as, whatever a program has put in the place of its `handle`; undefined of a route's. */
export function pictured(layer: StackLayer): Registration | undefined {
  return layer[kPictured].registration;
}

/** One path of a route, or of a router that is mounted. */
export interface ListedPath {
  readonly path: Path;
  /** Of a route, in upper case, `*` for every method; HEAD where GET stands for it. Undefined for a router. */
  readonly methods: string[] | undefined;
  /** What is mounted, to be asked for its own; undefined for a route. */
  readonly router: { listRoutes(): ListedPath[] } | undefined;
}

/** What Express lists of a layer: nothing of middleware, or of an application that is mounted. */
export function pathsOf({ route, handle, rawPath }: StackLayer): ListedPath[] {
  const router = route === undefined ? (handle as { readonly stack?: unknown }) : undefined;
  if (router !== undefined && ('mountpath' in router || !Array.isArray(router.stack))) return [];
  const paths = Array.isArray(rawPath) ? (rawPath as readonly Path[]) : [rawPath as Path];
  return paths.map((path) => ({ path, methods: route && methodsOf(route), router: router as ListedPath['router'] }));
}

function methodsOf({ methods }: MatchedRoute): string[] {
  const names = Object.keys(methods).map((name) => (name === '_all' ? '*' : name.toUpperCase()));
  return names.includes('GET') && !names.includes('HEAD') ? [...names, 'HEAD'] : names;
}

/** What a layer in a router's stack stands for now; undefined where it is none of waypost's. */
export function registrationOf(layer: StackLayer): Registration | undefined {
  const { registration, handle } = layer[kPictured] ?? {};
  if (registration === undefined || layer.handle === handle) return registration;
  const handler = layer.handle as AnyHandler;
  if (registration.kind !== 'route') return { kind: 'middleware', paths: registration.paths, handlers: [handler], site: registration.site, origin: registration };
  return replaced(registration, handler);
}

/** A route that a program has put a function in the place of, one for each of its methods. */
export function replaced<R extends Registration & { kind: 'route' }>(registration: R, handler: AnyHandler): R {
  const methods = new Set(registration.entries.map(({ method }) => method));
  const entries = (methods.has(null) ? [null] : [...methods]).map((method) => ({ method, handler }));
  return { ...registration, entries, isReplaced: true };
}

/** Whether something is a list of layers. */
export function areLayers(given: unknown): given is StackLayer[] {
  return Array.isArray(given) && given.every((each) => each instanceof StackLayer);
}

/** The same of a layer in a route's stack. */
export function entryOf(layer: StackLayer): RouteEntry | undefined {
  const { entry } = layer[kPictured] ?? {};
  return entry && { ...entry, handler: layer.handle as AnyHandler, origin: entry };
}

/** An application goes by the name that Express's layers have for one. */
function nameOf(handle: AnyHandler): string {
  return 'mountpath' in handle ? 'mounted_app' : handle.name || '<anonymous>';
}

function firstOf(path: Paths): Path {
  return Array.isArray(path) ? (path as readonly Path[])[0] ?? '/' : (path as Path);
}

function namesIn(path: Paths): string[] {
  const first = firstOf(path);
  return typeof first === 'string' ? [...first.matchAll(/[:*]([\w$]*)/g)].map(([, name], index) => name || String(index)) : [];
}
