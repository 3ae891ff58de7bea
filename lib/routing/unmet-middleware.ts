import { Engine, type Shape } from './engine';
import type { Layer } from './layer';
import type { Mount } from './mount';
import { homeOf, meetsRoute } from './sibling';
import type { ListedRoute, RouteDescription } from './listing';
import { LayerIndex } from './overlap';
import type { Pattern } from './patterns/pattern';
import { NestedTail } from './pattern-nest';
import { type Segment, structureOf, type Tail } from './patterns/segment';
import type { RouteTable } from './route-table';

/** A router's middleware that routes of sibling routers, registered below it, do not meet, though they lie beneath its path. */
export interface UnmetMiddleware {
  /** Paths of the middleware, from the application on. */
  readonly paths: ReadonlySet<string>;
  /** The first of them as a program writes it; null for every path. */
  readonly written: string | null;
  readonly routes: ReadonlySet<RouteDescription>;
}

/** Finds, router by router, the middleware that in Express would run for routes of sibling routers, and here does not (INTERFACE section 4.1). */
export function findUnmetMiddleware(table: RouteTable, routes: readonly ListedRoute[]): UnmetMiddleware[] {
  if (!table.apart) return [];
  const index = new LayerIndex();
  for (const layer of table.layers) {
    if (layer.place === null && !layer.catches && homeOf(layer.mount).parent !== null) index.add(layer);
  }
  const engine = new Engine();
  const found = new Map<Mount, { paths: Set<string>; written: string | null; routes: Set<RouteDescription> }>();
  for (const { layer, description } of routes) {
    // Where an earlier route takes every request, what runs before that one counts.
    if (description.coveredBy !== undefined) continue;
    for (const pattern of layer.patterns) {
      const candidates = index.candidates(engine.add(pattern)[0] as Shape);
      for (const { mount, path, written } of candidates.flatMap((candidate) => unmetBy(candidate, layer, pattern))) {
        let entry = found.get(mount);
        if (entry === undefined) found.set(mount, (entry = { paths: new Set(), written, routes: new Set() }));
        entry.paths.add(path);
        entry.routes.add(description);
      }
    }
  }
  return [...found.values()];
}

/** The router and the path of middleware that a route does not meet, where that is so. */
function unmetBy(middleware: Layer, route: Layer, pattern: Pattern): { mount: Mount; path: string; written: string | null }[] {
  if (middleware.mark.order > route.mark.order || meetsRoute(middleware.mount, route.mount)) return [];
  const around = middleware.patterns.find((prefix) => liesBeneath(pattern, prefix));
  if (around === undefined) return [];
  const mount = homeOf(middleware.mount);
  if (around.segments.length === 0) return [{ mount, path: '/', written: null }];
  return [{ mount, path: around.text, written: around.isGiven ? around.text : JSON.stringify(around.text) }];
}

/** Whether every path of a route lies at or beneath a prefix. One that only some paths have in common, such as those of `/:page` with `/api`, is not meant. */
function liesBeneath({ segments, deeps, tail }: Pattern, prefix: Pattern): boolean {
  const aligned = deeps[0] ?? (tail === undefined ? segments.length : segments.length - 1);
  return prefix.segments.every((segment, i) => {
    if (segment.kind === 'deep' && i < prefix.segments.length - 1) return false;
    const own = segments[i];
    return own !== undefined && i <= aligned && takesAll(segment, own);
  });
}

/** Whether one segment of a prefix takes whatever another takes. */
function takesAll(segment: Segment, own: Segment): boolean {
  if (segment.kind === 'static') return own.kind === 'static' && own.text === segment.text;
  if (segment.kind === 'mixed') return own.kind === 'mixed' && structureOf([own]) === structureOf([segment]);
  if (own.kind === 'tail') return own.takesAll || (segment.kind === 'tail' && isWithin(own, segment));
  return segment.kind !== 'tail' || segment.takesAll ? own.kind !== 'static' || own.text !== '' : false;
}

/** Whether one takes the same paths as another, or stands in what is mounted there. */
function isWithin(own: Tail, mount: Tail): boolean {
  if (own.source === mount.source) return true;
  return own instanceof NestedTail && own.mounts.every(({ tail }) => tail !== undefined && isWithin(tail, mount));
}
