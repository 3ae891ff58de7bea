import { CallSite } from '../call-site';
import { type Path, type Paths, refuseNamelessStars, refuseTrailingSlash } from './given-path';
import type { AnyHandler } from './handler';
import type { LayerIndex } from './layer-index';
import { parsePattern, parsePrefixes, type Pattern } from './patterns/pattern';
import type { RoutingRules } from './rules';
import type { Route } from './route';

/** A router or an application that a layer mounts. */
export interface Mounted {
  /** Layers in order. */
  readonly layers: readonly Layer[];
  /** True for an application, which has rules of its own. */
  readonly isApplication: boolean;
  /** Its rules within a router of the given rules. */
  rulesWithin(rules: RoutingRules): RoutingRules;
  /** The index of its layers. */
  index(rules: RoutingRules): LayerIndex;
}

/** Key of a mounted function's layers. */
export const kMounted = Symbol('waypost.router.mounted');

/** One registration of a router, or one handler of a route, as Express's `Layer`. The program may replace `handle`. */
export class Layer {
  handle: AnyHandler;
  readonly name: string;
  /** The path as it was registered. */
  readonly rawPath: Paths;
  /** True for middleware for every path. */
  readonly slash: boolean;
  readonly route: Route | undefined;
  /** Method of a route's handler, in lower case; undefined for all. */
  readonly method: string | undefined;
  /** @internal */
  readonly paths: readonly Path[];
  /** @internal Call site of its registration. */
  readonly site: CallSite;
  /** @internal The function that was registered. */
  readonly origin: AnyHandler;
  #arityOf: AnyHandler | null = null;
  #arity = 0;
  #rules: RoutingRules | null = null;
  #patterns: readonly Pattern[] = [];

  constructor(path: Paths, paths: readonly Path[], handle: AnyHandler, site: CallSite, route?: Route, method?: string) {
    this.handle = handle;
    this.origin = handle;
    this.name = handle.name || '<anonymous>';
    this.rawPath = path;
    this.slash = path === '/' && route === undefined && method === undefined;
    this.route = route;
    this.method = method;
    this.paths = paths;
    this.site = site;
  }

  /** @internal Its patterns by the rules, in order; the first that matches counts. @throws TypeError for a path that they refuse. */
  patterns(rules: RoutingRules): readonly Pattern[] {
    if (this.#rules === rules) return this.#patterns;
    if (rules.asExpress) refuseNamelessStars(this.paths);
    else if (this.route === undefined) refuseTrailingSlash(this.paths, rules);
    this.#patterns = this.route === undefined ? parsePrefixes(this.paths, rules) : this.paths.flatMap((path) => parsePattern(path, rules));
    this.#rules = rules;
    return this.#patterns;
  }

  /** @internal Reduces its call site, and those within, to text: V8 retains a request that registered it. */
  settle(): void {
    this.site.settle();
    for (const layer of this.route?.stack ?? []) layer.settle();
    const { mounted } = this;
    if (mounted?.isApplication === false) for (const layer of mounted.layers) layer.settle();
  }

  /** @internal Number of its function's parameters, cached: V8 takes as long to read it as to call a function. */
  get arity(): number {
    if (this.handle !== this.#arityOf) {
      this.#arityOf = this.handle;
      this.#arity = this.handle.length;
    }
    return this.#arity;
  }

  /** @internal Returns true when its function takes an error, or for undefined when it takes none. */
  isFor(failure: unknown): boolean {
    return failure === undefined ? this.arity <= 3 : this.arity === 4;
  }

  /** @internal The router or application that it mounts, even one that the program has wrapped. */
  get mounted(): Mounted | undefined {
    return mountedIn(this.handle) ?? mountedIn(this.origin);
  }

  /** The parameters in the path. */
  get keys(): { readonly name: string }[] {
    const [first] = this.paths;
    return typeof first === 'string' ? [...first.matchAll(/[:*]([\w$]*)/g)].map(([, name], index) => ({ name: name || String(index) })) : [];
  }

  /** The path as an expression, in the form that tools for Express 4 read. */
  get regexp(): RegExp {
    const [path = '/'] = this.paths;
    if (path instanceof RegExp) return path;
    const text = path.replace(/\/$/, '').replace(/[.+^$()|[\]\\{}]/g, '\\$&').replaceAll('/', '\\/');
    const source = text.replace(/:[\w$]+/g, '(?:([^\\/]+?))').replace(/\*\*|\*[\w$]+/g, '(?:(.*))').replace(/(?<=\/)\*(?=\\|$)/g, '(?:([^\\/]+?))');
    return new RegExp(this.route === undefined ? `^${source}\\/?(?=\\/|$)` : `^${source}\\/?$`, 'i');
  }
}

function mountedIn(handle: unknown): Mounted | undefined {
  return typeof handle === 'function' ? (handle as { readonly [kMounted]?: Mounted })[kMounted] : undefined;
}
