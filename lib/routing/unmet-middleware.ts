import { Engine, type Shape } from './engine';
import { ShapeTree } from './layer-index';
import type { ListedRoute, Mount, Registered, RouteDescription } from './listing';
import type { Pattern } from './patterns/pattern';
import { type Segment, structureOf } from './patterns/segment';
import type { RoutingRules } from './rules';
import { isWithin } from './suspect';

/** A router's middleware that routes of sibling routers, registered below it, do not meet, though they lie beneath its path. */
export interface UnmetMiddleware {
  /** Paths of the middleware, from the application on. */
  readonly paths: ReadonlySet<string>;
  /** The first of them as a program writes it; null for every path. */
  readonly written: string | null;
  readonly routes: ReadonlySet<RouteDescription>;
}

/** Finds, router by router, the middleware that in Express would run for routes of sibling routers, and here does not (INTERFACE section 4.1). */
export function findUnmetMiddleware(all: readonly Registered[], routes: readonly ListedRoute[], rules: RoutingRules): UnmetMiddleware[] {
  if (rules.asExpress) return [];
  const tree = new ShapeTree();
  const engine = new Engine();
  all.forEach(({ layer, mount, patterns }, position) => {
    if (layer.route !== undefined || layer.handle.length === 4 || homeOf(mount).parent === null) return;
    if (patterns.some(({ segments }) => segments.length === 0)) tree.addRest(position);
    else for (const shape of patterns.flatMap((pattern) => engine.add(pattern, true))) tree.add(shape, position);
  });
  const found = new Map<Mount, { paths: Set<string>; written: string | null; routes: Set<RouteDescription> }>();
  for (const { registered: route, position: at, description } of routes) {
    // Where an earlier route takes every request, what runs before that one counts.
    if (description.coveredBy !== undefined) continue;
    for (const pattern of route.patterns) {
      for (const position of tree.collect(engine.add(pattern)[0] as Shape)) {
        const middleware = all[position] as Registered;
        if (position > at || meets(middleware.mount, route.mount)) continue;
        const around = middleware.patterns.find((prefix) => liesBeneath(pattern, prefix));
        if (around === undefined) continue;
        const mount = homeOf(middleware.mount);
        const isEverywhere = around.segments.length === 0;
        let entry = found.get(mount);
        if (entry === undefined) found.set(mount, (entry = { paths: new Set(), written: isEverywhere ? null : around.isRegExp ? around.text : JSON.stringify(around.text), routes: new Set() }));
        entry.paths.add(isEverywhere ? '/' : around.text);
        entry.routes.add(description);
      }
    }
  }
  return [...found.values()];
}

/** The mount whose middleware a mount's counts as: its own, or for a bundle that of the router around it. */
function homeOf(mount: Mount): Mount {
  return mount.isBundle && mount.parent !== null ? homeOf(mount.parent) : mount;
}

/** Whether middleware at a mount is met on the way to a route at another: one of them is the other or lies within it. */
function meets(middleware: Mount, route: Mount): boolean {
  const home = homeOf(middleware);
  return isWithin(home, route) || isWithin(route, home);
}

/** Whether every path of a route lies at or beneath a prefix. One that only some paths have in common, such as those of `/:page` with `/api`, is not meant. */
function liesBeneath({ text, segments, deepIndices, tail }: Pattern, prefix: Pattern): boolean {
  // What stands beneath an expression is told by how it is written.
  if (prefix.isRegExp) return text.startsWith(prefix.text);
  const aligned = deepIndices[0] ?? (tail === undefined ? segments.length : segments.length - 1);
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
  if (own.kind === 'tail') return own.takesAll || (segment.kind === 'tail' && own.source === segment.source);
  return segment.kind !== 'tail' || segment.takesAll ? own.kind !== 'static' || own.text !== '' : false;
}
