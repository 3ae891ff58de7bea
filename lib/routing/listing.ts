import { Engine } from './engine';
import type { Layer } from './layer';
import { judge, LayerIndex } from './overlap';
import type { RouteTable } from './plan';

/** One route, as a row. */
export interface RouteDescription {
  /** `ALL` for every method. */
  method: string;
  path: string;
  /** How many handlers it has. */
  handlers: number;
  /** The earlier route that takes every request this one could take, where there is one. */
  coveredBy?: string;
}

/** The routes of a table in order, with those that an earlier one covers wholly marked. */
export function describeRoutes(table: RouteTable): RouteDescription[] {
  const index = new LayerIndex();
  const engine = new Engine();
  const rows: RouteDescription[] = [];
  let last: Layer | undefined;
  for (const layer of table.layers) {
    if (layer.place === null) continue;
    const row = rows[rows.length - 1];
    if (row !== undefined && last?.place === layer.place && last.method === layer.method && last.patterns === layer.patterns) {
      row.handlers++;
      continue;
    }
    last = layer;
    rows.push(describe(layer, coveringLayer(layer, index, engine)));
    index.add(layer);
  }
  return rows;
}

function describe(layer: Layer, covering: Layer | undefined): RouteDescription {
  const row: RouteDescription = { method: layer.method ?? 'ALL', path: pathOf(layer), handlers: 1 };
  if (covering !== undefined) row.coveredBy = `${covering.method ?? 'ALL'} ${pathOf(covering)}`;
  return row;
}

function pathOf(layer: Layer): string {
  return layer.patterns.map((pattern) => pattern.text).join(', ');
}

/** The first earlier layer that applies to every path of each of the layer's patterns. */
function coveringLayer(layer: Layer, earlier: LayerIndex, engine: Engine): Layer | undefined {
  const shapes = layer.patterns.map((pattern) => engine.add(pattern.segments));
  const [first] = shapes;
  if (first === undefined) return undefined;
  return earlier.candidates(first).find((other) => {
    if (other.place === layer.place || (other.method !== null && other.method !== layer.method)) return false;
    return shapes.every((shape) => other.patterns.some((pattern) => judge(pattern, false, shape) === 'always'));
  });
}
