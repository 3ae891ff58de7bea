import type { Response } from '../http/response';
import type { RoutedRequest } from './caller';
import type { NextFunction } from './handler';
import type { Layer, Mounted } from './layer';
import { LayerIndex } from './layer-index';
import { type RouterOptions, type RoutingRules, rulesWithin } from './rules';

/** Takes a request into an application. */
export interface Entrance {
  take(req: RoutedRequest, res: Response, next: NextFunction): void;
}

/** The layers of a router, apart from its public members. */
export class MountedRouter implements Mounted {
  readonly isApplication = false;
  layers: Layer[] = [];
  /** Entrance of its application, if that checks signatures. */
  entrance: Entrance | null = null;
  /** Returns the rules of its application. */
  home: (() => RoutingRules) | null = null;
  /** Number that rises with each registration. */
  version = 0;
  /** Set once the program has read the stack, and may change it. */
  isStackRead = false;
  /** The options as they are now. */
  readonly #options: RouterOptions;
  /** Indexes by the rules on entry, the last used first. */
  #indexes: LayerIndex[] = [];
  #rules: { readonly around: RoutingRules; readonly caseSensitive: unknown; readonly strict: unknown; readonly own: RoutingRules } | null = null;

  constructor(options: RouterOptions) {
    this.#options = options;
  }

  /** Adds a layer. @throws TypeError for a path that the rules of its application refuse. */
  add(layer: Layer): void {
    if (this.home !== null) checkLayer(layer, this.home());
    this.layers.push(layer);
    this.version++;
  }

  /** @throws TypeError for options that are looser than a signature check allows. */
  rulesWithin(around: RoutingRules): RoutingRules {
    const { caseSensitive, strict } = this.#options;
    if (caseSensitive === undefined && strict === undefined) return around.plain;
    const rules = this.#rules;
    if (rules?.around === around && rules.caseSensitive === caseSensitive && rules.strict === strict) return rules.own;
    const own = rulesWithin(this.#options, around);
    this.#rules = { around, caseSensitive, strict, own };
    return own;
  }

  /** The index of the layers as they are now, or of an earlier list. @throws TypeError for a path that the rules refuse. */
  index(rules: RoutingRules, layers: readonly Layer[] = this.layers): LayerIndex {
    const { version } = this;
    if (layers !== this.layers) return new LayerIndex(layers, rules, version);
    const indexes = this.#indexes;
    const [last] = indexes;
    if (last?.rules === rules && last.version === version && (!this.isStackRead || last.matchesStack(layers))) return last;
    const known = indexes.find((index) => index.rules === rules && index.version === version && index.matchesStack(layers));
    const index = known ?? new LayerIndex(layers, rules, version);
    // Layers that are new since the last index were registered while requests came.
    if (known === undefined && last !== undefined) for (const layer of index.layers) if (!last.layers.includes(layer)) layer.settle();
    this.#indexes = [index, ...indexes.filter((other) => other !== index && other.rules !== rules && other.version === version)].slice(0, 4);
    return index;
  }
}

/** Reads the paths of a layer, and of what it mounts, by an application's rules. @throws TypeError for one that they refuse. */
export function checkLayer(layer: Layer, rules: RoutingRules): void {
  layer.patterns(rules);
  const { mounted } = layer;
  if (layer.route !== undefined || mounted === undefined || mounted.isApplication) return;
  const own = mounted.rulesWithin(rules);
  for (const inner of mounted.layers) checkLayer(inner, own);
}
