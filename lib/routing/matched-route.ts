import { read } from '../errors';
import type { Layer } from './layer';
import type { Pattern } from './pattern';
import { kWalk, type Travelling, type Walk } from './walk';

/** The pattern of the route that a request has reached last, mount paths included; undefined where it has reached none. */
export function matchedRoute(req: Travelling): string | undefined {
  const walk = req[kWalk];
  const route = read(req, 'route');
  const step = walk?.match.plan.steps.find(({ layer }) => layer.place !== null && layer.place.route === route);
  if (walk === undefined || step === undefined) return undefined;
  let text = textOf(walk, step.layer);
  for (let around = walk.parent; around !== undefined; around = around.parent) {
    if (around.reached !== null) text = textOf(around, around.reached).replace(/\/$/, '') + text;
  }
  return text;
}

function textOf({ table, match }: Walk, layer: Layer): string {
  return ((table.alternative(layer, match) ?? layer.patterns[0]) as Pattern).text;
}
