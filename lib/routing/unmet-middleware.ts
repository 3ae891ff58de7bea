import { Engine, type Shape } from './engine';
import { ShapeTrie } from './layer-index';
import type { ListedRoute, Mount, Registered, RouteDescription } from './listing';
import type { Pattern } from './patterns/pattern';
import { type Segment, structureOf } from './patterns/segment';
import type { RoutingRules } from './rules';
import { isWithin } from './suspect';

/** Middleware of a router that misses sibling routers' later routes beneath its path. */
export interface UnmetMiddleware {
  /** Paths of the middleware, from the application on. */
  readonly paths: ReadonlySet<string>;
  /** The first path as a program writes it; null for every path. */
  readonly written: string | null;
  readonly routes: ReadonlySet<RouteDescription>;
}

/** Finds, by router, middleware that runs for sibling routers' routes in Express alone. See INTERFACE section 4.1. */
export function findUnmetMiddleware(all: readonly Registered[], routes: readonly ListedRoute[], rules: RoutingRules): UnmetMiddleware[] {
  if (rules.asExpress) return [];
  const trie = new ShapeTrie();
  const engine = new Engine();
  all.forEach(({ layer, mount, patterns }, position) => {
    if (layer.route !== undefined || layer.handle.length === 4 || homeOf(mount).parent === null) return;
    if (patterns.some(({ segments }) => segments.length === 0)) trie.addRest(position);
    else for (const shape of patterns.flatMap((pattern) => engine.add(pattern, true))) trie.add(shape, position);
  });
  const found = new Map<Mount, { paths: Set<string>; written: string | null; routes: Set<RouteDescription> }>();
  for (const { registered: route, position: at, description } of routes) {
    // A covered route takes no request: only its covering route counts.
    if (description.coveredBy !== undefined) continue;
    for (const pattern of route.patterns) {
      for (const position of trie.collect(engine.add(pattern)[0] as Shape)) {
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

/** The mount that owns a mount's middleware: itself, or for a bundle the router around it. */
function homeOf(mount: Mount): Mount {
  return mount.isBundle && mount.parent !== null ? homeOf(mount.parent) : mount;
}

/** Returns true when middleware of a mount runs for a route of another: one holds the other. */
function meets(middleware: Mount, route: Mount): boolean {
  const home = homeOf(middleware);
  return isWithin(home, route) || isWithin(route, home);
}

/** Returns true when every path of a route is at or beneath a prefix; some, such as `/:page` with `/api`, are not enough. */
function liesBeneath({ text, segments, deepIndices, tail }: Pattern, prefix: Pattern): boolean {
  // The text of an expression decides.
  if (prefix.isRegExp) return text.startsWith(prefix.text);
  const aligned = deepIndices[0] ?? (tail === undefined ? segments.length : segments.length - 1);
  return prefix.segments.every((segment, i) => {
    if (segment.kind === 'deep' && i < prefix.segments.length - 1) return false;
    const own = segments[i];
    return own !== undefined && i <= aligned && takesAll(segment, own);
  });
}

/** Returns true when a segment of a prefix matches all that another matches. */
function takesAll(segment: Segment, own: Segment): boolean {
  if (segment.kind === 'static') return own.kind === 'static' && own.text === segment.text;
  if (segment.kind === 'mixed') return own.kind === 'mixed' && structureOf([own]) === structureOf([segment]);
  if (own.kind === 'tail') return own.takesAll || (segment.kind === 'tail' && own.source === segment.source);
  return segment.kind !== 'tail' || segment.takesAll ? own.kind !== 'static' || own.text !== '' : false;
}
