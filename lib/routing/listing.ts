import { Engine } from './engine';
import type { Layer, Mounted } from './layer';
import { hasRoutes } from './route-finder';
import { ShapeTrie } from './layer-index';
import { judge } from './overlap';
import { Pattern } from './patterns/pattern';
import { type Segment, structureOf } from './patterns/segment';
import { joinPatterns } from './caller';
import type { RoutingRules } from './rules';
import { type Contracted, kContract } from '../schema/contracted';

/** One route, as a row. */
export interface RouteDescription {
  /** `ALL` for every method. */
  method: string;
  /** The pattern, with the paths that it is mounted at. */
  path: string;
  /** How many handlers it has. */
  handlers: number;
  /** An earlier route that takes every request of this one, if any. */
  coveredBy?: string;
}

/** A router where it is mounted; the application itself has no parent. */
export interface Mount {
  readonly parent: Mount | null;
  /** True without routes: then its middleware counts as that of the router around it. */
  readonly isBundle: boolean;
}

/** One registration, with the paths that its routers are mounted at. */
export interface Registered {
  readonly layer: Layer;
  readonly mount: Mount;
  readonly patterns: readonly Pattern[];
  /** The patterns as text. */
  readonly path: string;
  /** True when the patterns match more than it does: beneath a mount path with an open end it may be anywhere. */
  readonly isWider: boolean;
}

/** Most patterns of one registration. */
const MAX_PATTERNS = 256;

/** Lists the registrations of an application and its routers, in order. An application mounted in it is one registration. */
export function listRegistered(mounted: Mounted, rules: RoutingRules): Registered[] {
  const own = mounted.rulesWithin(rules);
  return listWithin(mounted, own, { parent: null, isBundle: false }, [new Pattern('/', [])]);
}

function listWithin({ layers }: Mounted, rules: RoutingRules, mount: Mount, around: readonly Pattern[]): Registered[] {
  return layers.flatMap((layer): Registered[] => {
    const own = layer.patterns(rules);
    const isFew = around.length * own.length <= MAX_PATTERNS;
    const patterns = isFew ? around.flatMap((pattern) => own.map((inner) => joinMounted(pattern, inner, layer.route === undefined))) : [openPattern(around, own)];
    const isWider = !isFew || around.some(isOpen);
    const registered = { layer, mount, patterns, isWider, path: [...new Set(patterns.map(({ text }) => text))].join(', ') };
    const { mounted } = layer;
    if (layer.route !== undefined || mounted === undefined || mounted.isApplication) return [registered];
    return listWithin(mounted, mounted.rulesWithin(rules), { parent: mount, isBundle: !hasRoutes(mounted) }, patterns);
  });
}

/** A pattern beneath that of a mount. Behind one with an open end it may be anywhere. */
function joinMounted(mount: Pattern, inner: Pattern, isPrefix: boolean): Pattern {
  if (isPrefix && inner.segments.length === 0) return mount;
  const text = joinPatterns(mount.text, inner.text);
  const open = mount.segments.findIndex(({ kind }) => kind === 'deep' || kind === 'tail');
  if (open !== -1) return new Pattern(text, [...mount.segments.slice(0, open), { kind: 'deep' }]);
  const isRoot = !isPrefix && mount.segments.length > 0 && inner.segments.length === 1 && isEmpty(inner.segments[0] as Segment);
  return new Pattern(text, isRoot ? mount.segments : [...mount.segments, ...inner.segments]);
}

/** One pattern that covers too many. */
function openPattern([mount]: readonly Pattern[], [inner]: readonly Pattern[]): Pattern {
  return new Pattern(joinPatterns((mount as Pattern).text, (inner as Pattern).text), [{ kind: 'deep' }]);
}

function isOpen({ segments }: Pattern): boolean {
  return segments.some(({ kind }) => kind === 'deep' || kind === 'tail');
}

function isEmpty(segment: Segment): boolean {
  return segment.kind === 'static' && segment.text === '';
}

/** One route and method, with its registration. */
export interface ListedRoute {
  readonly registered: Registered;
  /** Its index among all registrations. */
  readonly position: number;
  readonly description: RouteDescription;
}

/** Lists the routes in order, and marks those that an earlier one covers. */
export function listRoutes(all: readonly Registered[]): ListedRoute[] {
  const trie = new ShapeTrie();
  const engine = new Engine();
  const routes: ListedRoute[] = [];
  all.forEach((registered, position) => {
    const { route } = registered.layer;
    if (route === undefined) return;
    const shapes = registered.patterns.map((pattern) => engine.add(pattern));
    const from = routes.length;
    for (const { method: name, origin } of route.stack) {
      // The check that a route's options have become.
      if ('timeout' in ((origin as Contracted)[kContract] ?? {})) continue;
      const method = name?.toUpperCase() ?? 'ALL';
      const last = routes.length > from ? routes[routes.length - 1] : undefined;
      if (last?.description.method === method) {
        last.description.handlers++;
        continue;
      }
      const description: RouteDescription = { method, path: registered.path, handlers: 1 };
      const covering = [...trie.collect(shapes[0]?.[0] as never)].sort((a, b) => a - b).map((index) => routes[index] as ListedRoute).find((other) => (
        !other.registered.isWider && (other.description.method === 'ALL' || other.description.method === method) && registered.patterns.every((pattern) => covers(other.registered, pattern, engine))
      ));
      if (covering !== undefined) description.coveredBy = `${covering.description.method} ${covering.description.path}`;
      routes.push({ registered, position, description });
    }
    for (let index = from; index < routes.length; index++) for (const shape of shapes.flat()) trie.add(shape, index);
  });
  return routes;
}

/** Describes the routes, as rows. */
export function describeRoutes(all: readonly Registered[]): RouteDescription[] {
  return listRoutes(all).map(({ description }) => description);
}

function covers({ patterns }: Registered, pattern: Pattern, engine: Engine): boolean {
  if (engine.add(pattern).every((shape) => patterns.some((each) => judge(each, false, shape) === 'always'))) return true;
  // Shapes say little of expressions, but two expressions may be equal.
  if (pattern.tail === undefined) return false;
  const structure = structureOf(pattern.segments);
  return patterns.some((each) => each.tail !== undefined && structureOf(each.segments) === structure);
}
