import { type Captures, Engine, REST, Shape } from './engine';
import type { Layer } from './layer';
import { judgeAll } from './overlap';
import { Path } from './patterns/path';
import type { Pattern } from './patterns/pattern';
import type { Params } from './patterns/params';
import { NoParams } from './patterns/params';
import type { RoutingRules } from './rules';

/** A layer in a plan. */
export class Step {
  /** Position in the router's stack. */
  readonly position: number;
  readonly layer: Layer;
  readonly patterns: readonly Pattern[];
  /** Its only pattern, if every path of the plan matches it. */
  readonly certainPattern: Pattern | undefined;
  /** True for a mounted router. */
  readonly isRouter: boolean;
  /** True for middleware for every path: it captures nothing and removes no prefix. */
  readonly matchesAll: boolean;
  /** The engine's captures that hold the values of `names`; undefined where the pattern captures. */
  readonly captures: readonly string[] | undefined;
  readonly names: readonly string[];
  /** The prefix that middleware removes, if it is the same text for every path. */
  readonly staticPrefix: string | undefined;

  constructor(position: number, layer: Layer, isCertain: boolean, patterns: readonly Pattern[], shape: Shape, rules: RoutingRules) {
    this.position = position;
    this.layer = layer;
    this.patterns = patterns;
    const [pattern] = patterns;
    this.certainPattern = isCertain && patterns.length === 1 ? pattern : undefined;
    this.isRouter = layer.route === undefined && layer.mounted?.isApplication === false;
    this.matchesAll = layer.route === undefined && layer.mounted === undefined && this.certainPattern?.segments.length === 0;
    this.captures = this.certainPattern !== undefined && layer.route !== undefined ? capturesOf(this.certainPattern, shape) : undefined;
    this.names = this.captures === undefined ? [] : pattern?.names ?? [];
    this.staticPrefix = this.certainPattern !== undefined && layer.route === undefined && isExact(rules) ? staticText(this.certainPattern) : undefined;
  }
}

/** The layers that can match the paths of one shape, in stack order. */
export class Plan {
  readonly steps: readonly Step[];
  /** True for a plan with a route or a mount. */
  readonly hasTaker: boolean;
  /** Index of the last router; -1 for none. */
  readonly lastRouter: number;

  constructor(steps: readonly Step[]) {
    this.steps = steps;
    this.hasTaker = steps.some(({ layer }) => layer.route !== undefined || layer.mounted !== undefined);
    this.lastRouter = steps.findLastIndex(({ isRouter }) => isRouter);
  }
}

/** A path looked up in an index. */
export class Lookup {
  readonly path: string;
  readonly plan: Plan;
  readonly #captures: Captures | null;
  readonly #rules: RoutingRules;
  #parsedPath: Path | null;
  /** True when every step is tested: the plan proves nothing of this path. */
  readonly testsAll: boolean;
  /** True when the client sent the path's first slash: no router added it. */
  readonly isBehindMount: boolean;
  /** True when no route `/` matches: with exact paths, `/m/` is not the mount path `/m`. */
  readonly #excludesRoot: boolean;

  constructor(path: string, plan: Plan, captures: Captures | null, parsedPath: Path | null, testsAll: boolean, isBehindMount: boolean, rules: RoutingRules) {
    const excludesRoot = isBehindMount && !rules.asExpress && !rules.ignoreTrailingSlash && (rules.ignoreDuplicateSlashes ? /^\/+$/.test(path) : path === '/');
    this.path = path;
    this.plan = plan;
    this.#captures = captures;
    this.#parsedPath = parsedPath;
    this.testsAll = testsAll || excludesRoot;
    this.isBehindMount = isBehindMount;
    this.#excludesRoot = excludesRoot;
    this.#rules = rules;
  }

  get parsedPath(): Path {
    return (this.#parsedPath ??= new Path(this.path, this.#rules));
  }

  /** The first pattern of a step that matches; undefined for none. */
  match(step: Step): Pattern | undefined {
    return step.certainPattern === undefined || this.testsAll ? this.#test(step) : step.certainPattern;
  }

  #test({ layer, patterns }: Step): Pattern | undefined {
    const isRoute = layer.route !== undefined;
    const { parsedPath } = this;
    for (const pattern of patterns) {
      if (isRoute ? pattern.matches(parsedPath) && !(this.#excludesRoot && isRoot(pattern)) : pattern.matchesPrefix(parsedPath)) return pattern;
    }
    return undefined;
  }

  /** Captures a step's parameters by its pattern. @throws HttpError 400 where `isStrict` and one is malformed. */
  capture(step: Step, pattern: Pattern, isStrict: boolean): Params {
    if (pattern.capturesNothing) return new NoParams();
    const { captures, names } = step;
    if (captures === undefined || this.testsAll) return pattern.capture(this.parsedPath, step.layer.route === undefined, isStrict);
    const params: Params = {};
    for (let i = 0; i < captures.length; i++) params[names[i] as string] = (this.#captures as Record<string, string>)[captures[i] as string] as string;
    return params;
  }

  /** The part of the path that middleware removes. */
  prefix(step: Step, pattern: Pattern): string {
    if (step.staticPrefix !== undefined && !this.testsAll) return step.staticPrefix;
    return pattern.segments.length === 0 ? '' : this.path.slice(0, pattern.prefixEnd(this.parsedPath));
  }
}

/** Trie of positions by shape. A node holds shapes that end there, shapes that take the rest, and the next segments. */
export class ShapeTrie {
  readonly #texts = new Map<string, ShapeTrie>();
  #any: ShapeTrie | undefined;
  readonly #ends: number[] = [];
  readonly #rest: number[] = [];

  /** Adds a position that takes the rest of a path from here on. */
  addRest(position: number): void {
    this.#rest.push(position);
  }

  add(shape: Shape, position: number, index = 0): void {
    const segment = shape.segments[index];
    if (segment === REST) return this.addRest(position);
    if (segment === undefined) {
      this.#ends.push(position);
      return;
    }
    let next = segment === null ? (this.#any ??= new ShapeTrie()) : this.#texts.get(segment);
    if (next === undefined) this.#texts.set(segment as string, next = new ShapeTrie());
    next.add(shape, position, index + 1);
  }

  /**
   * Collects the positions that a path of the found shape can match. The engine finds the most specific shape, segment by
   * segment: so a position with the same first segments, and then a more specific one, does not match.
   * @param isSameSoFar True when all segments before are those of the shape itself.
   */
  collect(shape: Shape, found = new Set<number>(), index = 0, isSameSoFar = true): Set<number> {
    for (const position of this.#rest) found.add(position);
    const segment = shape.segments[index];
    if (segment === undefined) for (const position of this.#ends) found.add(position);
    else if (segment === REST) this.#collectAll(isSameSoFar, found);
    else this.#collectNext(shape, segment, found, index + 1, isSameSoFar);
    return found;
  }

  #collectNext(shape: Shape, segment: string | null, found: Set<number>, index: number, isSameSoFar: boolean): void {
    this.#any?.collect(shape, found, index, isSameSoFar && segment === null);
    if (segment !== null) this.#texts.get(segment)?.collect(shape, found, index, isSameSoFar);
    else if (!isSameSoFar) for (const next of this.#texts.values()) next.collect(shape, found, index, false);
  }

  #collectAll(isSameSoFar: boolean, found: Set<number>): void {
    if (isSameSoFar) return;
    for (const position of [...this.#rest, ...this.#ends]) found.add(position);
    if (this.#any !== undefined) this.#any.#collectAll(false, found);
    for (const next of this.#texts.values()) next.#collectAll(false, found);
  }
}

/**
 * Index of a router's layers by the shapes of their paths: a request visits only candidates. It never changes
 * the calls: a candidate is tested unless its shape proves the match.
 */
export class LayerIndex {
  readonly rules: RoutingRules;
  /** The stack when it was indexed. */
  readonly layers: readonly Layer[];
  readonly version: number;
  readonly #patterns: readonly (readonly Pattern[])[];
  readonly #engine = new Engine();
  readonly #trie = new ShapeTrie();
  readonly #isExact: boolean;
  #cached: Lookup | null = null;
  /** Plan that tests every layer: for targets that are no path, and without the engine. */
  #fullPlan: Plan | null = null;
  /** Shape for paths that have none. */
  readonly #unshaped = new Shape([REST]);

  /** @throws TypeError for a path that the rules refuse. */
  constructor(stack: readonly Layer[], rules: RoutingRules, version: number) {
    this.rules = rules;
    this.layers = stack.slice();
    this.version = version;
    this.#isExact = isExact(rules);
    this.#patterns = stack.map((layer) => layer.patterns(rules));
    this.#patterns.forEach((patterns, position) => {
      const isPrefix = stack[position]?.route === undefined;
      if (isPrefix && patterns.some(({ segments }) => segments.length === 0)) this.#trie.addRest(position);
      else for (const pattern of patterns) for (const shape of this.#engine.add(pattern, isPrefix)) this.#trie.add(shape, position);
    });
  }

  /** Returns true for the same layers in the same order. */
  matchesStack(stack: readonly Layer[]): boolean {
    const { layers } = this;
    return layers.length === stack.length && layers.every((layer, position) => layer === stack[position]);
  }

  /** @param path Path of a target, as sent. @param isBehindMount True when its first slash was sent behind a mount path. */
  lookup(path: string, isBehindMount = false): Lookup {
    const cached = this.#cached;
    // A request with a body is looked up twice: before its body is captured, and when it is routed.
    if (cached !== null && cached.path === path && cached.isBehindMount === isBehindMount) return cached;
    return (this.#cached = this.#find(path, isBehindMount));
  }

  #find(path: string, isBehindMount: boolean): Lookup {
    // A target such as "*" is no path: the engine would skip its first character unread.
    if (path.charCodeAt(0) !== 47 || !this.#engine.mayGenerateCode) return this.lookupAll(path, isBehindMount);
    let parsedPath: Path | null = null;
    let text = path;
    if (!this.#isExact || path.includes('%')) {
      parsedPath = new Path(path, this.rules);
      text = parsedPath.lookup;
    }
    const found = this.#engine.find(text);
    if (found === null) return new Lookup(path, this.#planOf(this.#unshaped), null, parsedPath, parsedPath !== null && !parsedPath.isPlain, isBehindMount, this.rules);
    const testsAll = (parsedPath !== null && !parsedPath.isPlain) || hasEmptyCapture(found.store, found.params);
    return new Lookup(path, this.#planOf(found.store), found.params, parsedPath, testsAll, isBehindMount, this.rules);
  }

  /** Looks a path up by a test of every layer. */
  lookupAll(path: string, isBehindMount = false): Lookup {
    this.#fullPlan ??= new Plan(this.layers.map((layer, position) => this.#step(layer, position, false, this.#unshaped)));
    return new Lookup(path, this.#fullPlan, null, null, true, isBehindMount, this.rules);
  }

  #step(layer: Layer, position: number, isCertain: boolean, shape: Shape): Step {
    return new Step(position, layer, isCertain, this.#patterns[position] as readonly Pattern[], shape, this.rules);
  }

  #planOf(shape: Shape & { plan?: Plan }): Plan {
    return (shape.plan ??= this.#plan(shape));
  }

  #plan(shape: Shape): Plan {
    return new Plan([...this.#trie.collect(shape)].sort((a, b) => a - b).flatMap((position) => {
      const layer = this.layers[position] as Layer;
      const verdict = judgeAll(this.#patterns[position] as readonly Pattern[], layer.route === undefined, shape);
      return verdict === 'never' ? [] : this.#step(layer, position, verdict === 'always', shape);
    }));
  }
}

function isExact({ caseSensitive, ignoreTrailingSlash, ignoreDuplicateSlashes }: RoutingRules): boolean {
  return caseSensitive && !ignoreTrailingSlash && !ignoreDuplicateSlashes;
}

function hasEmptyCapture({ captures: names }: Shape, captures: Captures): boolean {
  for (let i = 0; i < names.length; i++) {
    const value = captures[names[i] as string] as string;
    // 47 is "/": the capture of "**" may not begin with an empty segment.
    if (value === '' || value.charCodeAt(0) === 47) return true;
  }
  return false;
}

/** The engine's captures in the order of the pattern's names; undefined where they differ. */
function capturesOf({ segments, names }: Pattern, shape: Shape): readonly string[] | undefined {
  if (segments.length !== shape.segments.length || names.length !== shape.captures.length) return undefined;
  const isSame = segments.every((segment, index) => {
    const given = shape.segments[index];
    if (segment.kind === 'static') return given === segment.text;
    if (segment.kind === 'deep') return given === REST;
    return segment.kind === 'param' && given === null;
  });
  return isSame ? shape.captures : undefined;
}

function staticText({ segments }: Pattern): string | undefined {
  return segments.every((segment) => segment.kind === 'static') ? segments.map((segment) => `/${segment.text}`).join('') : undefined;
}

function isRoot({ segments: [segment, ...more] }: Pattern): boolean {
  return more.length === 0 && segment?.kind === 'static' && segment.text === '';
}
