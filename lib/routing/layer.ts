import { CallSite } from '../call-site';
import { type Path, type Paths, refuseStars, refuseTrailingSlash } from './given-path';
import type { ForeignLayer } from './foreign-layer';
import type { AnyHandler } from './handler';
import type { LayerIndex } from './layer-index';
import { parsePattern, parsePrefixes, type Pattern } from './patterns/pattern';
import type { RoutingRules } from './rules';
import type { Route } from './route';

/** A router or an application that a layer mounts. */
export interface Mounted {
  /** Layers in order. */
  readonly layers: readonly AnyLayer[];
  /** Whether it is an application, which goes by rules of its own. */
  readonly isApplication: boolean;
  /** Its rules where it is entered from what goes by these. */
  rulesWithin(rules: RoutingRules): RoutingRules;
  /** The index of its layers. */
  index(rules: RoutingRules): LayerIndex;
}

/** What may stand in a `stack`. */
export type AnyLayer = Layer | ForeignLayer;

/** By this symbol a function that is mounted leads to its layers. */
export const kMounted = Symbol('waypost.router.mounted');

/**
 * One registration of a router, or one handler of a route, as Express's `Layer`. What a program puts in the place of `handle` is called.
 */
export class Layer {
  handle: AnyHandler;
  readonly name: string;
  /** The path as it was registered. */
  readonly rawPath: Paths;
  /** Whether it is for every path. */
  readonly slash: boolean;
  readonly params = undefined;
  readonly path = undefined;
  readonly route: Route | undefined;
  /** Of a route's handler: the method in lower case; undefined for all. */
  readonly method: string | undefined;
  /** @internal */
  readonly paths: readonly Path[];
  /** @internal Where it was registered. */
  readonly site: CallSite;
  /** @internal The function that was registered. */
  readonly origin: AnyHandler;
  /** The router that its function has called last. */
  #led: WeakRef<Mounted> | undefined = undefined;
  #counted: AnyHandler | null = null;
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

  /** @internal Its patterns by these rules, of which the first that matches counts. @throws TypeError for a path that they refuse. */
  patterns(rules: RoutingRules): readonly Pattern[] {
    if (this.#rules === rules) return this.#patterns;
    if (rules.asExpress) refuseStars(this.paths);
    else if (this.route === undefined) refuseTrailingSlash(this.paths, rules);
    this.#patterns = this.route === undefined ? parsePrefixes(this.paths, rules) : this.paths.flatMap((path) => parsePattern(path, rules));
    this.#rules = rules;
    return this.#patterns;
  }

  /** @internal Keeps of where it was registered the text alone, and so of what is within: V8 holds on to a request that has registered it. */
  settle(): void {
    this.site.settle();
    for (const layer of this.route?.stack ?? []) layer.settle();
    const { mounted } = this;
    if (mounted?.isApplication === false) for (const layer of mounted.layers) if (layer instanceof Layer) layer.settle();
  }

  /** @internal How many parameters its function has. V8 takes as long to tell as it takes to call one. */
  get arity(): number {
    if (this.handle !== this.#counted) {
      this.#counted = this.handle;
      this.#arity = this.handle.length;
    }
    return this.#arity;
  }

  /** @internal Whether its function is one for what there is: an error, or undefined for none. */
  isFor(failure: unknown): boolean {
    return failure === undefined ? this.arity <= 3 : this.arity === 4;
  }

  /** @internal The router or application that it mounts, also where a program has put a function around that. */
  get mounted(): Mounted | undefined {
    return mountedIn(this.handle) ?? mountedIn(this.origin);
  }

  /** @internal The same, or the router that its function has called by hand. */
  get listed(): Mounted | undefined {
    return this.mounted ?? this.#led?.deref();
  }

  /** @internal Takes note of a router that its function calls. */
  leads(mounted: Mounted): void {
    if (this.#led?.deref() !== mounted) this.#led = new WeakRef(mounted);
  }

  /** The parameters in the path. */
  get keys(): { readonly name: string }[] {
    const [first] = this.paths;
    return typeof first === 'string' ? [...first.matchAll(/[:*]([\w$]*)/g)].map(([, name], index) => ({ name: name || String(index) })) : [];
  }

  /** The path as an expression, in the form that tools made for Express 4 read it in. */
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
