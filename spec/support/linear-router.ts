import { METHODS, type IncomingMessage, type ServerResponse } from 'node:http';
import express from 'express';
import { cut, firstHit, type Hit, type Patterns } from './linear-pattern';
import type { Incoming, Next, Registrar } from './program';

/** A route of Express, which runs its own handlers. */
interface Route extends Record<string, unknown> {
  readonly methods: Record<string, boolean>;
  _handlesMethod(method: string | undefined): boolean;
  dispatch(req: object, res: object, done: Next): void;
}
const { Route: ExpressRoute } = express as unknown as { Route: new (path: string) => Route };

const VERBS = ['all', ...METHODS.map((method) => method.toLowerCase())];

/** As a method, whose parameters may be more exact. */
type Handle = { call(...given: unknown[]): unknown }['call'];
type ParamHandler = (req: Incoming, res: ServerResponse, next: Next, value: unknown, name: string) => void;

interface Layer {
  readonly patterns: Patterns;
  readonly handle: Handle | LinearRouter | Route;
}

/** A router of `createServer`, or such an application, as plain as can be: every layer is tested, nothing is worked out before. */
export class LinearRouter implements Registrar {
  readonly stack: Layer[] = [];
  readonly params: Record<string, ParamHandler[]> = {};
  readonly isApplication: boolean;
  /** Parses a body, before handlers of routes; null where there is none. */
  readonly #parse: Handle | null;

  constructor(isApplication: boolean, parse: Handle | null) {
    this.isApplication = isApplication;
    this.#parse = parse;
    for (const verb of VERBS) Object.assign(this, { [verb]: (path: unknown, ...handlers: unknown[]) => (this.route(path)[verb] as Handle)(...handlers) });
  }

  use(...given: unknown[]): void {
    const [first] = [given[0]].flat(Infinity);
    const [path, ...items] = typeof first === 'string' ? given : ['/', ...given];
    for (const handle of items.flat(Infinity) as Layer['handle'][]) this.#add(path, handle);
  }

  route(path: unknown): Route {
    const route = new ExpressRoute(String(path));
    for (const verb of VERBS) {
      const add = route[verb] as Handle;
      route[verb] = (...handlers: unknown[]) => add.call(route, ...(handlers.flat(Infinity) as Handle[]).flatMap((handler) => (this.#parse === null || handler.length > 3 ? handler : [this.#parse, handler])));
    }
    this.#add(path, route);
    return route;
  }

  #add(path: unknown, handle: Layer['handle']): void {
    this.stack.push({ patterns: [path].flat().map((text) => cut(text as string)), handle });
  }

  param(name: string, handler: ParamHandler): void {
    (this.params[name] ??= []).push(handler);
  }

  /** Whether a route is in it, or in a router that is mounted in it. */
  get hasRoutes(): boolean {
    return this.stack.some(({ handle }) => handle instanceof ExpressRoute || (isRouter(handle) && handle.hasRoutes));
  }

  /** Whether a route in it takes that, or one of a router that is mounted in it. */
  takes(method: string | undefined, place: Place): boolean {
    return this.stack.some((layer) => takes(layer, method, place));
  }
}

/** What a router sees of a path, and whether that is nothing but the slash behind its mount path. */
interface Place {
  readonly path: string;
  readonly isBehindSlash: boolean;
}

function takes(layer: Layer, method: string | undefined, place: Place): boolean {
  const hit = match(layer, place);
  if (hit === null) return false;
  if (layer.handle instanceof ExpressRoute) return layer.handle._handlesMethod(method);
  return isRouter(layer.handle) && layer.handle.takes(method, behind(hit, place));
}

/** No route `/` of a router takes the slash behind its mount path. */
function match({ patterns, handle }: Layer, { path, isBehindSlash }: Place): Hit | null {
  if (!(handle instanceof ExpressRoute)) return firstHit(patterns, path, true);
  return firstHit(isBehindSlash ? patterns.filter((pattern) => pattern.join('/') !== '') : patterns, path, false);
}

function behind({ prefix }: Hit, place: Place): Place {
  const rest = place.path.slice(prefix.length);
  return { path: rest === '' ? '/' : rest, isBehindSlash: prefix === '' ? place.isBehindSlash : rest === '/' };
}

function isRouter(handle: Layer['handle']): handle is LinearRouter {
  return handle instanceof LinearRouter && !handle.isApplication;
}

/** A prefix that is taken off a URL. */
interface Removed {
  readonly prefix: string;
  readonly isSlashAdded: boolean;
}

/** The URL that a route sees, and what its router sees of that. */
interface Whole {
  readonly shown: string;
  readonly own: string;
}

const NOTHING: Removed = { prefix: '', isSlashAdded: false };

function restored(url: string, { prefix, isSlashAdded }: Removed): string {
  return prefix + (isSlashAdded && (/^\/(?:$|\?)/.test(url) || (prefix.endsWith('/') && url.startsWith('/'))) ? url.slice(1) : url);
}

interface ParamCall {
  readonly match: unknown;
  value: unknown;
  error: unknown;
}

/** The run that a request is in. */
const runs = new WeakMap<object, LinearRun>();

/**
 * One call of a router, step by step as Express's goes. Four things are otherwise, as `createServer` has them: paths are compared
 * exactly, captures of middleware are never malformed, routers beside one another are kept apart, and routes see the whole URL.
 */
class LinearRun {
  readonly router: LinearRouter;
  /** Runs of the routers around, within the application. */
  readonly around: LinearRun | null;
  removed = NOTHING;
  place: Place = { path: '', isBehindSlash: false };
  readonly #req: Incoming;
  readonly #res: ServerResponse;
  readonly #done: Next;
  readonly #outer: Pick<Incoming, 'baseUrl' | 'next' | 'params'>;
  readonly #outerRun: LinearRun | undefined;
  readonly #entered: Removed;
  readonly #called: Record<string, ParamCall> = {};
  /** Whether a mount path around has captured what is malformed. */
  readonly #isMalformed: boolean;
  /** The same of what it is in. */
  #captured = false;
  #at = 0;
  #syncCalls = 0;
  #whole: Whole | null = null;

  constructor(router: LinearRouter, req: Incoming, res: ServerResponse, done: Next) {
    const outer = runs.get(req);
    this.router = router;
    this.around = router.isApplication ? null : outer ?? null;
    this.#req = req;
    this.#res = res;
    this.#done = done;
    this.#outer = { baseUrl: req.baseUrl, next: req.next, params: req.params };
    this.#outerRun = outer;
    this.#entered = this.around?.removed ?? NOTHING;
    this.#isMalformed = this.around !== null && (this.around.#isMalformed || this.around.#captured);
    req.baseUrl ||= '';
    this.#req.next = this.next;
  }

  readonly next = (given?: unknown): void => {
    const isOutside = this.#whole !== null && !this.#showOwn();
    if (isOutside) return this.#leave(given === 'router' ? undefined : given);
    this.#restore();
    if (given === 'router') return void setImmediate(() => this.#leave(undefined));
    const error = given === 'route' ? undefined : given || undefined;
    if (this.#at >= this.router.stack.length) return void setImmediate(() => this.#leave(error));
    if (++this.#syncCalls > 100) return void setImmediate(this.next, given);
    this.#goOn(error);
  };

  #goOn(given: unknown): void {
    runs.set(this.#req, this);
    const { method, url } = this.#req;
    const path = (url as string).replace(/\?.*/, '');
    const { prefix, isSlashAdded } = this.#entered;
    this.place = { path, isBehindSlash: prefix === '' ? this.around?.place.isBehindSlash === true && path === '/' : !isSlashAdded && path === '/' };
    let error = given;
    for (let layer = this.router.stack[this.#at++]; layer !== undefined; layer = this.router.stack[this.#at++]) {
      const { handle } = layer;
      const hit = match(layer, this.place);
      if (hit === null) continue;
      if (handle instanceof ExpressRoute) {
        if (error !== undefined || !handle._handlesMethod(method)) continue;
        if (!hit.isMalformed && !this.#isMalformed) return this.#enter(handle, hit, error);
        error = Object.assign(new Error('MALFORMED_PATH'), { status: 400 });
      } else if (error !== undefined || !isRouter(handle) || !this.#standsBack(handle, hit)) {
        return this.#enter(handle, hit, error);
      }
    }
    this.#leave(error);
  }

  /** A router of which no route takes the request is not entered where the next that does is one of a router beside it. */
  #standsBack(router: LinearRouter, hit: Hit): boolean {
    const { method } = this.#req;
    if (!router.hasRoutes || router.takes(method, behind(hit, this.place))) return false;
    for (const run of outwards(this)) {
      const { place } = run;
      const taker = run.router.stack.slice(run.#at).find((layer) => takes(layer, method, place));
      if (taker !== undefined) return isRouter(taker.handle);
    }
    return false;
  }

  #enter(handle: Layer['handle'], { params, prefix, isMalformed }: Hit, error: unknown): void {
    this.#captured = isMalformed;
    this.#req.params = this.around === null ? params : { ...this.#outer.params, ...params };
    this.#processParams(Object.keys(params), (raised) => {
      if (raised) this.next(error ?? raised);
      else if (handle instanceof ExpressRoute) this.#dispatch(handle);
      else this.#call(handle, prefix, error);
    });
    this.#syncCalls = 0;
  }

  /** Calls the handlers of parameters, once for each value. */
  #processParams([name, ...others]: string[], done: Next): void {
    if (name === undefined) return done();
    const { params } = this.#req;
    const value = params[name];
    const handlers = this.router.params[name];
    if (handlers === undefined || value === undefined) return this.#processParams(others, done);
    const known = this.#called[name];
    if (known !== undefined && (known.match === value || (known.error && known.error !== 'route'))) {
      params[name] = known.value;
      return known.error ? done(known.error) : this.#processParams(others, done);
    }
    const called: ParamCall = { match: value, value, error: undefined };
    this.#called[name] = called;
    let at = 0;
    const next: Next = (raised) => {
      called.value = this.#req.params[name];
      if (raised) done(called.error = raised);
      else if (at < handlers.length) this.#guard(next, () => handlers[at++]?.(this.#req, this.#res, next, value, name));
      else this.#processParams(others, done);
    };
    next();
  }

  #dispatch(route: Route): void {
    const own = this.#req.url as string;
    let shown = own;
    for (const run of outwards(this)) shown = restored(shown, run.#entered);
    this.#whole = { shown, own };
    this.#req.url = shown;
    this.#guard(this.next, () => route.dispatch(this.#req, this.#res, this.next));
  }

  #call(handle: Handle | LinearRouter, prefix: string, error: unknown): void {
    const req = this.#req;
    if (prefix !== '') {
      const rest = (req.url as string).slice(prefix.length);
      this.removed = { prefix, isSlashAdded: !rest.startsWith('/') };
      req.url = this.removed.isSlashAdded ? `/${rest}` : rest;
      req.baseUrl = (this.#outer.baseUrl ?? '') + prefix.replace(/\/$/, '');
    }
    if (handle instanceof LinearRouter) return error === undefined ? new LinearRun(handle, req, this.#res, this.next).next() : this.next(error);
    if (handle.length === 4 ? error === undefined : error !== undefined) return this.next(error);
    this.#guard(this.next, () => (error === undefined ? handle(req, this.#res, this.next) : handle(error, req, this.#res, this.next)));
  }

  #guard(next: Next, call: () => unknown): void {
    try {
      void Promise.resolve(call()).catch(next);
    } catch (error) {
      next(error);
    }
  }

  #restore(): void {
    const req = this.#req;
    if (this.removed === NOTHING) return;
    req.url = restored(req.url as string, this.removed);
    req.baseUrl = this.#outer.baseUrl ?? '';
    this.removed = NOTHING;
  }

  /** Where a route has made a URL that is not beneath the mount path, the application goes on with it behind the router: then false. */
  #showOwn(): boolean {
    const { shown, own } = this.#whole as Whole;
    const req = this.#req;
    const url = req.url as string;
    this.#whole = null;
    if (url === shown) req.url = own;
    else {
      let mount = '';
      for (const run of outwards(this)) mount = run.#entered.prefix + mount;
      const rest = url.slice(mount.length);
      if (!url.startsWith(mount) || !/^(?:$|\/|\?)/.test(rest)) {
        // What was taken off is part of the URL again: the base alone is restored.
        for (let run = this.around; run !== null; run = run.around) run.removed = { prefix: '', isSlashAdded: false };
        return false;
      }
      req.url = rest.startsWith('/') ? rest : `/${rest}`;
    }
    return true;
  }

  #leave(error: unknown): void {
    Object.assign(this.#req, this.#outer);
    if (this.#outerRun === undefined) runs.delete(this.#req);
    else runs.set(this.#req, this.#outerRun);
    this.#done(error);
  }
}

/** A run and those around it. */
function outwards(run: LinearRun): LinearRun[] {
  return run.around === null ? [run] : [run, ...outwards(run.around)];
}

/** Serves it. @param done Called with what nothing has answered. */
export function serve(app: LinearRouter, done: (error: unknown, res: ServerResponse) => void): (req: IncomingMessage, res: ServerResponse) => void {
  return (req, res) => new LinearRun(app, req as Incoming, res, (error) => done(error, res)).next();
}
