import type { IncomingMessage, ServerResponse } from 'node:http';
import { CallSite } from '../call-site';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import { checkHandler } from './given-handler';
import { type Path, writePaths } from './given-path';
import type { AnyHandler, NextFunction } from './handler';
import { Layer } from './layer';
import type { Params } from './patterns/params';
import { RouteRun } from './route-run';
import { addVerbs, type RouteVerbs } from './verb';

const ROOT: readonly Path[] = Object.freeze(['/']);

/* eslint-disable @typescript-eslint/no-unsafe-declaration-merging, @typescript-eslint/no-empty-object-type -- the verbs are made in a loop */
export interface Route<P = Params> extends RouteVerbs<Route<P>, P> {}

/** Registers handlers of one route, for each method; what `route(path)` returns. */
// eslint-disable-next-line @typescript-eslint/no-unused-vars -- the verbs take it
export class Route<P = Params> {
  /** The path as it was registered. */
  readonly path: Path | readonly Path[];
  /** The handlers in order. */
  stack: Layer[] = [];
  /** The methods that it handles, in lower case; `_all` where it handles all. */
  readonly methods = Object.create(null) as Record<string, boolean>;

  constructor(path: Path | readonly Path[]) {
    this.path = path;
  }

  /** Whether it handles requests of a method. */
  handles(method: unknown): boolean {
    return handles(this.methods, method);
  }

  /** @internal The methods that it handles, in upper case, HEAD where GET stands for it; `*` for all. */
  methodNames(): string[] {
    const names = Object.keys(this.methods).map((name) => (name === '_all' ? '*' : name.toUpperCase()));
    return this.methods['get'] === true && this.methods['head'] !== true ? [...names, 'HEAD'] : names;
  }

  /** Runs the handlers of the request's method one after another, then calls `done`. */
  dispatch(req: IncomingMessage, res: ServerResponse, done: NextFunction): void {
    (req as Request).route = this;
    const { stack } = this;
    if (stack.length === 0) return done();
    const method = lowerCase(req.method);
    new RouteRun(stack, method === 'head' && this.methods['head'] !== true ? 'get' : method, req as Request, res as Response, done).next();
  }

  /** @internal Adds handlers for a method; `null` stands for all. */
  add(method: string | null, given: readonly unknown[]): this {
    const handlers = flattenHandlers(given, `route ${writePaths(this.path)}`);
    const site = new CallSite();
    const name = method?.toLowerCase();
    for (const handler of handlers) {
      this.methods[name ?? '_all'] = true;
      this.stack.push(new Layer('/', ROOT, handler, site, undefined, name));
    }
    return this;
  }
}

addVerbs(Route.prototype, (method) => function verb(this: Route, ...handlers: unknown[]): Route {
  return this.add(method, handlers);
});

/** Whether a route of these methods handles requests of one: GET stands for a HEAD that it does not name. */
export function handles(methods: Readonly<Record<string, boolean>>, method: unknown): boolean {
  if (methods['_all'] === true) return true;
  const name = lowerCase(method);
  return methods[name] === true || (name === 'head' && methods['get'] === true);
}

/** Methods are nearly always one of few. */
const LOWER: Readonly<Record<string, string>> = { GET: 'get', HEAD: 'head', POST: 'post', PUT: 'put', DELETE: 'delete', PATCH: 'patch', OPTIONS: 'options' };

/** As Express compares methods; a program may have put anything there. */
function lowerCase(method: unknown): string {
  return typeof method === 'string' ? LOWER[method] ?? method.toLowerCase() : '';
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
