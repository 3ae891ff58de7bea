import type { Captures } from './engine';
import type { Layer } from './layer';
import type { Path } from './path';
import type { Pattern } from './pattern';
import { namesOf } from './pattern-segment';

/** A layer in a plan. */
export class Step {
  readonly layer: Layer;
  /** Whether the path must be tested; else the layer applies to every path of the plan. */
  readonly test: boolean;
  /**
   * Names of the engine's captures that hold the values of the route's
   * parameters, in the order of `names`; undefined where the pattern itself
   * has to work them out.
   */
  readonly captures: readonly string[] | undefined;
  readonly names: readonly string[];
  /** Whether a sibling router's route may take the request; then this layer does not run. */
  readonly sibling: boolean;
  /**
   * What the layer adds to `req.baseUrl`, where that is the same text for every
   * path: the path of middleware, or of the mount that a route is in. Undefined
   * where the pattern has to find it in the path.
   */
  readonly base: string | undefined;
  /** Whether the layer is middleware of the application itself and of all paths, without handlers of parameters. */
  readonly isPlain: boolean;

  constructor(layer: Layer, test: boolean, captures: readonly string[] | undefined, sibling: boolean, exact: boolean) {
    this.layer = layer;
    this.test = test;
    this.captures = captures;
    this.names = captures === undefined ? [] : namesOf((layer.patterns[0] as Pattern).segments);
    this.sibling = sibling;
    this.base = exact ? staticBase(layer) : undefined;
    this.isPlain = this.base === '' && layer.place === null && layer.hooks === null && layer.level.parent === null && !layer.catches;
  }
}

/** The part of the list that can apply to the requests of one shape and method, in order. */
export class Plan {
  readonly steps: readonly Step[];
  /** Whether a route takes every request of the plan, some, or none. */
  readonly takes: 'always' | 'test' | 'never';

  constructor(steps: readonly Step[]) {
    this.steps = steps;
    const routes = steps.filter((step) => step.layer.place !== null);
    this.takes = routes.some((step) => !step.test) ? 'always' : routes.length > 0 ? 'test' : 'never';
  }
}

/** What is known of a request's path before its walk. */
export class Match {
  plan: Plan;
  /** The captures of the engine; meaningful only when not `loose`. */
  captures: Captures | null;
  /** The path, cut; made when first needed. */
  cut: Path | null;
  /** Whether every step must be tested, since the path is none that the plan was made for. */
  loose: boolean;
  readonly path: string;

  constructor(path: string, plan: Plan, captures: Captures | null, cut: Path | null, loose: boolean) {
    this.path = path;
    this.plan = plan;
    this.captures = captures;
    this.cut = cut;
    this.loose = loose;
  }
}

/** See `Step.base`. Only where paths are compared exactly: else the path as sent may be another text than the pattern's. */
function staticBase({ patterns, place }: Layer): string | undefined {
  const [pattern] = patterns;
  if (patterns.length !== 1 || pattern === undefined) return undefined;
  const segments = place === null ? pattern.segments : pattern.segments.slice(0, pattern.mountLength);
  return segments.every((segment) => segment.kind === 'static') ? segments.map((segment) => `/${segment.text}`).join('') : undefined;
}
