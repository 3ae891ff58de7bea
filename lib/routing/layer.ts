import { Aside } from './aside';
import { refuseStars } from './given-path';
import type { CallSite } from '../call-site';
import type { MatchedRoute } from '../http/request';
import { hooksBeneath, hooksFor, type ParamHook } from './param-hook';
import { parsePattern, parsePrefix, parsePrefixes, type Pattern } from './pattern';
import { joinPatterns } from './pattern-join';
import { type Level, type Mark, markAt, type Mount, mountOf, type Place, type Standing, type StandingEntry, type StandingFunctions, type StandingPaths, type StandingRoute } from './mount';
import { kAssigned, kJoins, kRegistrations, type Looked, type RegisteredRouter, type Registration, type RouteEntry, type RoutingRules } from './registration';
import type { AnyHandler } from './handler';
import { mountedIn } from './stack';

/**
 * One registered function in its place. All layers of an application form one
 * list, routers laid out where they are mounted: to walk it from top to bottom
 * is what Express does, router by router.
 */
export interface Layer {
  /** Place in the list. */
  readonly mark: Mark;
  readonly handler: AnyHandler;
  /** Where it was registered; undefined where a program has put it in the place of another. */
  readonly site: CallSite | undefined;
  /** Whether it is error middleware. */
  readonly catches: boolean;
  /** Whether it is one of body-parser's, which are known by their names: it wants the bytes of a body that waypost could not parse. */
  readonly parses: boolean;
  /** Alternatives; the first that matches counts. */
  readonly patterns: readonly Pattern[];
  /** `null` in middleware. */
  readonly place: Place | null;
  /** The method of a route's handler; `null` for every method. */
  readonly method: string | null;
  readonly mount: Mount;
  /** Whose `next` it is called with. */
  readonly level: Level;
  /** The parameters in its path that have handlers to be called before; null for none. */
  readonly hooks: readonly ParamHook[] | null;
  /** Whether it is a router or an application, or what a program has put around one: it finds its routes by itself. */
  readonly routes: boolean;
}

const BODY_PARSERS: ReadonlySet<string> = new Set(['jsonParser', 'urlencodedParser', 'textParser', 'rawParser']);

/**
 * Lays out everything that is registered in a router and in those mounted in it; returns the outermost level too.
 * @param before That of the list before, to go on from: the same is returned then. It is not where anything has been taken out of
 * that list, or put in another order: a place in it tells nothing of what stands below it now.
 */
export function layOut(router: RegisteredRouter, rules: RoutingRules, before: Level | null, isInRequest: boolean): { layers: Layer[]; outermost: Level; assigned: readonly Looked[] } {
  const layers: Layer[] = [];
  const assigned: Looked[] = [];
  const mount = before !== null && isLonger(before.mount) ? before.mount : mountOf(router, null, parsePrefix('/', rules));
  mount.end = Infinity;
  append({ layers, assigned, rules, isInRequest }, mount);
  return { layers, outermost: mount.level, assigned };
}

/** What is being laid out. */
interface List {
  readonly layers: Layer[];
  readonly assigned: Looked[];
  readonly rules: RoutingRules;
  /** Whether a request may have registered what is new: then its call site is to let go of that. */
  readonly isInRequest: boolean;
}

/** Whether all that was laid out at a mount is still registered there, in the same order. */
function isLonger({ standings, router }: Mount): boolean {
  return areAmong(standings, router[kRegistrations], standsFor);
}

function standsFor(standing: Standing, entry: Registration): boolean {
  if (standing.key !== keyOf(entry)) return false;
  // Of what something else stands in the place of, what is within does not count.
  if (standing.kind !== 'route') return entry.kind !== 'mount' || standing.mount === null || isLonger(standing.mount);
  return entry.kind === 'route' && (entry.isReplaced === true || areAmong(standing.entries, entry.entries, ({ key }, other) => key === (other.origin ?? other)));
}

/** Whether all of the first are among the others, in the same order. */
function areAmong<T, U>(all: readonly T[], others: readonly U[], isSame: (one: T, other: U) => boolean): boolean {
  let found = 0;
  for (const other of others) if (found < all.length && isSame(all[found] as T, other)) found++;
  return found === all.length;
}

function append(list: List, mount: Mount): void {
  const { layers, rules, isInRequest } = list;
  list.assigned.push(...mount.router[kAssigned]);
  const before = mount.standings;
  let found = 0;
  mount.standings = mount.router[kRegistrations].map((entry) => {
    const key = keyOf(entry);
    // What has the same key is of the same kind: a route, or not.
    const known = before[found]?.key === key ? before[found++] : undefined;
    const paths = known?.paths ?? pathsOf(entry, mount.patterns, rules);
    const { own, whole: patterns } = paths;
    const hooks = [...hooksBeneath(mount, own), ...hooksFor(mount, own)];
    if (isInRequest && known === undefined && entry.kind !== 'route') entry.site?.settle();
    if (entry.kind === 'route') {
      const standing = (known as StandingRoute | undefined) ?? routeAt(mount, entry.route, paths);
      appendRoute(list, standing, entry, patterns, hooks);
      return standing;
    }
    const standing = (known as StandingFunctions | undefined) ?? { kind: 'functions', key, paths, marks: [], mount: null };
    if (entry.kind === 'mount' && entry.router[kJoins](rules, patterns)) {
      const inner = (standing.mount ??= mountOf(entry.router, mount, patterns));
      inner.start = layers.length;
      inner.hooks = hooks;
      append(list, inner);
      inner.end = layers.length;
      inner.bundle = layers.slice(inner.start).every(({ place }) => place === null);
      new Aside(inner.start, layers.length).put(standing.marks);
      return standing;
    }
    // A router that does not join goes by other rules: in the list it could not stand.
    const handlers = entry.kind === 'mount' ? [entry.router] : entry.handlers;
    const start = layers.length;
    const routes = hasRoutesWithin(entry);
    handlers.forEach((handler, index) => {
      const mark = (standing.marks[index] ??= markAt(0));
      push(layers, mark, handler, entry.site, { patterns, place: null, method: null, mount, level: mount.level, hooks, routes });
    });
    if (standing.mount !== null) new Aside(start, layers.length).putMount(standing.mount);
    return standing;
  });
}

function pathsOf(entry: Registration, prefixes: readonly Pattern[], rules: RoutingRules): StandingPaths {
  // A router that stands in no application comes here first.
  if (rules.asExpress === true) refuseStars(entry.paths);
  const own = entry.kind === 'route' ? entry.paths.flatMap((path) => parsePattern(path, rules)) : parsePrefixes(entry.paths, rules);
  return { own, whole: joinPatterns(prefixes, own, entry.kind !== 'route', rules) };
}

function appendRoute(list: List, standing: StandingRoute, { entries, isReplaced }: Registration & { kind: 'route' }, patterns: readonly Pattern[], hooks: readonly ParamHook[]): void {
  const { level, wrappers } = standing;
  const { mount, place } = level;
  const start = list.layers.length;
  level.isLone = entries.length === 1;
  if (isReplaced !== true) {
    standing.entries = pushRoute(list, level, standing.entries, entries, patterns, hooks);
    new Aside(start, list.layers.length).put(wrappers.values());
    return;
  }
  const others = new Set(wrappers.values());
  for (const { method, handler } of entries) {
    const mark = wrappers.get(method) ?? markAt(0);
    others.delete(mark);
    wrappers.set(method, mark);
    push(list.layers, mark, handler, undefined, { patterns, place, method, mount, level, hooks, routes: false });
  }
  const aside = new Aside(start, list.layers.length);
  aside.put(others);
  aside.put(standing.entries.map(({ mark }) => mark));
}

function pushRoute({ layers, isInRequest }: List, level: StandingRoute['level'], before: readonly StandingEntry[], entries: readonly RouteEntry[], patterns: readonly Pattern[], hooks: readonly ParamHook[]): StandingEntry[] {
  const { mount, place } = level;
  let found = 0;
  return entries.map((entry) => {
    const { method, handler, site, origin: key = entry } = entry;
    const known = before[found]?.key === key ? before[found++] : undefined;
    if (isInRequest && known === undefined) site?.settle();
    const standing = known ?? { key, mark: markAt(0) };
    push(layers, standing.mark, handler, site, { patterns, place, method, mount, level, hooks, routes: false });
    return standing;
  });
}

function routeAt(mount: Mount, route: MatchedRoute, paths: StandingPaths): StandingRoute {
  return { kind: 'route', key: route, paths, level: { parent: mount.level, mount, place: { route }, isLone: false }, entries: [], wrappers: new Map() };
}

function hasRoutesWithin(entry: Registration): boolean {
  if (entry.kind !== 'middleware') return entry.kind === 'mount';
  if (entry.origin !== undefined) return hasRoutesWithin(entry.origin);
  return entry.handlers.some((handler) => typeof (mountedIn(handler) as { readonly handle?: unknown }).handle === 'function');
}

/** What was registered, whatever a program has put in its place. */
function keyOf(entry: Registration): object {
  if (entry.kind === 'route') return entry.route;
  return (entry.kind === 'middleware' ? entry.origin : undefined) ?? entry;
}

function push(layers: Layer[], mark: Mark, handler: AnyHandler, site: CallSite | undefined, at: Pick<Layer, 'patterns' | 'place' | 'method' | 'mount' | 'level' | 'routes'> & { hooks: readonly ParamHook[] }): void {
  // As in Express and connect, a function of more parameters is neither handler nor error middleware, and is never called.
  if (handler.length > 4) return new Aside(layers.length, layers.length).put([mark]);
  mark.order = layers.length;
  mark.aside = null;
  // A proxied or bound function keeps its length; four parameters mean error middleware, as in Express.
  const catches = handler.length === 4;
  const { patterns, place, method, mount, level, hooks, routes } = at;
  layers.push({ mark, handler, site, catches, parses: BODY_PARSERS.has(handler.name), patterns, place, method, mount, level, hooks: hooks.length === 0 ? null : hooks, routes });
}
