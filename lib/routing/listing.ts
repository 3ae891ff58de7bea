import { Engine, type Shape } from './engine';
import type { Layer } from './layer';
import { judge, LayerIndex } from './overlap';
import type { Pattern } from './patterns/pattern';
import { structureOf } from './patterns/segment';
import type { RouteTable } from './route-table';

/** One route, as a row. */
export interface RouteDescription {
  /** `ALL` for every method. */
  method: string;
  /** The pattern, with the paths that it is mounted at. */
  path: string;
  /** How many handlers it has. */
  handlers: number;
  /** The earlier route that takes every request this one could take, where there is one. */
  coveredBy?: string;
}

/** One route, with the layer of its first handler. */
export interface ListedRoute {
  readonly layer: Layer;
  readonly description: RouteDescription;
}

/** The routes of a table in order, with those that an earlier one covers wholly marked. */
export function listRoutes(table: RouteTable): ListedRoute[] {
  const index = new LayerIndex();
  const engine = new Engine();
  const routes: ListedRoute[] = [];
  for (const layer of table.layers) {
    if (layer.place === null) continue;
    const last = routes[routes.length - 1];
    if (last?.layer.place === layer.place && last.layer.method === layer.method && last.layer.patterns === layer.patterns) {
      last.description.handlers++;
      continue;
    }
    routes.push({ layer, description: describe(layer, coveringLayer(layer, index, engine)) });
    index.add(layer);
  }
  return routes;
}

/** The same, as rows. */
export function describeRoutes(table: RouteTable): RouteDescription[] {
  return listRoutes(table).map(({ description }) => description);
}

function describe(layer: Layer, covering: Layer | undefined): RouteDescription {
  const row: RouteDescription = { method: layer.method ?? 'ALL', path: pathOf(layer), handlers: 1 };
  if (covering !== undefined) row.coveredBy = `${covering.method ?? 'ALL'} ${pathOf(covering)}`;
  return row;
}

function pathOf(layer: Layer): string {
  // Alternatives of one pattern have one text.
  return [...new Set(layer.patterns.map((pattern) => pattern.text))].join(', ');
}

/** The first earlier layer that applies to every path of each of the layer's patterns. */
function coveringLayer(layer: Layer, earlier: LayerIndex, engine: Engine): Layer | undefined {
  const shapes = layer.patterns.map((pattern) => engine.add(pattern));
  const [first] = shapes[0] ?? [];
  if (first === undefined) return undefined;
  return earlier.candidates(first).find((other) => {
    if (other.place === layer.place || (other.method !== null && other.method !== layer.method)) return false;
    return layer.patterns.every((pattern, index) => covers(other, pattern, shapes[index] as readonly Shape[]));
  });
}

function covers(other: Layer, pattern: Pattern, shapes: readonly Shape[]): boolean {
  if (shapes.every((shape) => other.patterns.some((each) => judge(each, false, shape) === 'always'))) return true;
  // Of what an expression takes shapes say little, but two may be the same.
  if (pattern.tail === undefined) return false;
  const structure = structureOf(pattern.segments);
  return other.patterns.some((each) => each.unless.length === 0 && each.tail !== undefined && structureOf(each.segments) === structure);
}
