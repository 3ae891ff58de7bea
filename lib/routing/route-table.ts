import { Engine, REST, type Captures, type Shape } from './engine';
import { HeadRoutes } from './head-routes';
import { layOut, type Layer } from './layer';
import type { Level } from './mount';
import { judgeLayer, LayerIndex, type Verdict } from './overlap';
import { Path } from './path';
import type { Pattern } from './pattern';
import { namesOf, type Segment } from './pattern-segment';
import { Match, Plan, Step } from './plan';
import { AssignedEra } from './assigned-stack';
import type { Era, RegisteredRouter, RoutingRules } from './registration';
import { meetsRoute } from './sibling';

/** A walk, as far as what is mounted in its list shares with it. */
interface Around {
  readonly table: RouteTable;
  readonly match: Match;
}

/** Length of a path from which it is worth while to cut it once for all that is mounted at one place. */
const LONG = 256;
/** Stands for all methods that no route names. */
const OTHER = '';

/**
 * Everything that is registered in an application, worked out for lookups. It
 * is made anew after a registration, by the first request that asks for it, one
 * that is under way included; plans are made when a shape is first asked for.
 */
export class RouteTable {
  readonly layers: readonly Layer[];
  /** The level of the application itself. */
  readonly outermost: Level;
  readonly rules: RoutingRules;
  /** How long it counts: until something is registered. */
  readonly era: Era;
  /** Whether routers keep their middleware to themselves: it does not run for what a sibling router's route takes (INTERFACE section 4.1). In Express it runs. */
  readonly apart: boolean;
  readonly #engine: Engine;
  readonly #index = new LayerIndex();
  readonly #plans = new Map<Shape, Map<string, Plan>>();
  readonly #unmatched: Plan;
  /** For targets that are no path, by method. */
  readonly #pathless = new Map<string, Plan>();
  /** Methods that a plan of their own is made for, by their small letters: those of the routes, HEAD and OPTIONS. */
  readonly #methods = new Map([['head', 'HEAD'], ['options', 'OPTIONS']]);
  readonly #heads: HeadRoutes;
  readonly #exact: boolean;
  readonly #answers: ((table: RouteTable) => Layer[]) | null;

  /**
   * @param answers Makes what stands behind each router in the plans for OPTIONS, where the rules ask for it.
   * @param before The table that this one comes in the place of.
   * @param isInRequest Whether what is new may have been registered by a request.
   */
  constructor(router: RegisteredRouter, rules: RoutingRules, apart = true, answers: ((table: RouteTable) => Layer[]) | null = null, before: RouteTable | null = null, era: Era = { isOver: false }, isInRequest = before !== null) {
    this.#answers = answers;
    const own = { ...rules, asExpress: !apart };
    const isAlike = before !== null && JSON.stringify(before.rules) === JSON.stringify(own);
    // What is kept by the rules is found again.
    this.rules = isAlike ? before.rules : own;
    this.apart = apart;
    this.#exact = rules.caseSensitive && !rules.ignoreTrailingSlash && !rules.ignoreDuplicateSlashes;
    this.#heads = new HeadRoutes(apart);
    const { layers, outermost, assigned } = layOut(router, this.rules, isAlike ? before.outermost : null, isInRequest);
    this.layers = layers;
    this.outermost = outermost;
    this.era = assigned.length === 0 ? era : new AssignedEra(era, assigned);
    // It knows shapes alone, and all that it knows by then are of this list too.
    this.#engine = before !== null && this.goesOnFrom(before) ? before.#engine : new Engine();
    for (const layer of this.layers) {
      this.#index.add(layer);
      if (layer.place === null) continue;
      if (layer.method !== null) this.#methods.set(layer.method.toLowerCase(), layer.method);
      this.#heads.add(layer);
      for (const pattern of layer.patterns) this.#engine.add(pattern);
    }
    const middleware = this.layers.filter((layer) => layer.place === null);
    this.#unmatched = new Plan(middleware.map((layer) => new Step(layer, !everywhere(layer), undefined, false, this.#exact)));
  }

  /** @param path Path of a request target, as sent. @param around The walk around. */
  match(method: string, path: string, around?: Around): Match {
    // A target such as "*" is no path: the engine would skip its first character unread.
    if (path.charCodeAt(0) !== 47) return new Match(path, this.#pathlessPlan(method), null, null, true);
    let cut = around === undefined ? null : cutAround(around, path)?.ending(path, this.rules) ?? null;
    let lookup = path;
    if (!this.#exact || path.includes('%')) {
      cut ??= new Path(path, this.rules);
      lookup = cut.lookup;
    }
    const found = this.#engine.find(lookup);
    if (found === null) return new Match(path, this.#unmatched, null, cut, true);
    const loose = (cut !== null && !cut.plain) || hasEmptyCapture(found.store, found.params);
    return new Match(path, this.#plan(found.store, method), found.params, cut, loose);
  }

  /** Whether a walk down that table can go on in this one: since then no more has been done than to register. */
  goesOnFrom({ outermost }: RouteTable): boolean {
    return this.outermost === outermost;
  }

  /** The layer in the place of one of a table that this one goes on from; undefined where something else stands in the place of what holds it. */
  layerAt({ mark }: Layer): Layer | undefined {
    return mark.aside === null ? this.layers[mark.order] : undefined;
  }

  /** Whether some route can take the request. */
  takes(match: Match): boolean {
    if (match.plan.takes === 'never') return false;
    if (match.plan.takes === 'always' && !match.loose) return true;
    for (const step of match.plan.steps) {
      if (step.layer.place !== null && this.applies(step, match)) return true;
    }
    return false;
  }

  /** Whether the step's layer applies to the path. */
  applies(step: Step, match: Match): boolean {
    return (!step.test && !match.loose) || this.alternative(step.layer, match) !== undefined;
  }

  /** The first pattern of the layer that the path matches. */
  alternative(layer: Layer, match: Match): Pattern | undefined {
    const cut = this.cut(match);
    for (const pattern of layer.patterns) {
      if (layer.place === null ? pattern.matchesPrefix(cut) : pattern.matches(cut)) return pattern;
    }
    return undefined;
  }

  cut(match: Match): Path {
    return (match.cut ??= new Path(match.path, this.rules));
  }

  /** Methods of the routes that match the path, whatever the request's own. */
  methods(match: Match): Set<string> {
    const methods = new Set<string>();
    for (const layer of this.layers) {
      if (layer.place === null || layer.method === null || layer.catches || this.alternative(layer, match) === undefined) continue;
      methods.add(layer.method);
      if (layer.method === 'GET') methods.add('HEAD');
    }
    return methods;
  }

  /** As in Express a RegExp, and a wildcard without a slash before it, may match what is no path: a guard may rest on that. */
  #pathlessPlan(method: string): Plan {
    const known = this.#known(method);
    let plan = this.#pathless.get(known);
    if (plan === undefined) {
      const layers = this.layers.filter(({ place, patterns }) => place === null || patterns.some(({ isFree }) => isFree));
      const answering = layers.map((layer) => (layer.place === null ? layer : this.#heads.answering(layer, known))).filter((layer) => layer !== null);
      plan = new Plan(this.#withAnswers(answering.map((layer) => new Step(layer, true, undefined, false, this.#exact)), known, () => 'test'));
      this.#pathless.set(known, plan);
    }
    return plan;
  }

  #plan(shape: Shape, method: string): Plan {
    let plans = this.#plans.get(shape);
    if (plans === undefined) this.#plans.set(shape, plans = new Map<string, Plan>());
    const plan = plans.get(method);
    if (plan !== undefined) return plan;
    const known = this.#known(method);
    let made = plans.get(known);
    if (made === undefined) plans.set(known, made = this.#makePlan(shape, known));
    return made;
  }

  /**
   * A method that routes have, as they have it: as in Express middleware may write it otherwise, and who stands behind takes it for the same.
   * Of the others none: middleware may make one of whatever a client sends, and a plan for each would be kept for good.
   */
  #known(method: unknown): string {
    // By small letters, as Express compares: beyond ASCII capitals would be another comparison.
    return (typeof method === 'string' ? this.#methods.get(method.toLowerCase()) : undefined) ?? OTHER;
  }

  #makePlan(shape: Shape, method: string): Plan {
    const chosen: { layer: Layer; test: boolean }[] = [];
    for (const candidate of this.#index.candidates(shape)) {
      const layer = candidate.place === null ? candidate : this.#heads.answering(candidate, method);
      if (layer === null) continue;
      const verdict = judgeLayer(layer, shape);
      if (verdict !== 'never') chosen.push({ layer, test: verdict === 'test' });
    }
    const routes = chosen.filter(({ layer }) => layer.place !== null);
    const steps = chosen.map(({ layer, test }) => {
      const sibling = this.apart && layer.place === null && routes.some((route) => !meetsRoute(layer.mount, route.layer.mount));
      return new Step(layer, test, capturesOf(layer, shape), sibling, this.#exact);
    });
    return new Plan(this.#withAnswers(steps, method, (layer) => judgeLayer(layer, shape)));
  }

  /** Adds what answers OPTIONS behind each router. */
  #withAnswers(steps: Step[], method: string, judge: (layer: Layer) => Verdict): Step[] {
    if (method !== 'OPTIONS' || this.#answers === null || this.rules.answerOptions !== true) return steps;
    for (const layer of this.#answers(this)) {
      const verdict = judge(layer);
      if (verdict !== 'never') steps.push(new Step(layer, verdict === 'test', undefined, false, this.#exact));
    }
    return steps.sort((a, b) => a.layer.mark.order - b.layer.mark.order);
  }
}

/** The path of the walk around as it was cut; a long one is cut there for all that is mounted. */
function cutAround({ table, match }: Around, path: string): Path | null {
  return path.length < LONG ? match.cut : table.cut(match);
}

/** Whether a layer applies to every path. */
function everywhere(layer: Layer): boolean {
  return layer.patterns[0]?.segments.length === 0;
}

function hasEmptyCapture(shape: Shape, captures: Captures): boolean {
  const names = shape.captures;
  for (let i = 0; i < names.length; i++) {
    const value = captures[names[i] as string] as string;
    // 47 is "/": what "**" takes may not begin with an empty segment.
    if (value === '' || value.charCodeAt(0) === 47) return true;
  }
  return false;
}

/** The engine's captures in the order of the pattern's names, where it captures just what the pattern does. */
function capturesOf(layer: Layer, shape: Shape): readonly string[] | undefined {
  const [pattern] = layer.patterns;
  if (layer.place === null || layer.patterns.length !== 1 || pattern === undefined) return undefined;
  if (pattern.segments.length !== shape.segments.length) return undefined;
  const same = pattern.segments.every((segment, index) => sameCapture(segment, shape, index));
  return same && new Set(namesOf(pattern.segments)).size === shape.captures.length ? shape.captures : undefined;
}

function sameCapture(segment: Segment, shape: Shape, index: number): boolean {
  const given = shape.segments[index];
  if (segment.kind === 'static') return given === segment.text;
  if (segment.kind === 'deep') return given === REST;
  return segment.kind === 'param' && given === null;
}
