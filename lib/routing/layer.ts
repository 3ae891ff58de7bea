import { refuseStars } from './given-path';
import type { CallSite } from '../call-site';
import type { MatchedRoute } from '../http/request';
import { hooksBeneath, hooksFor, type ParamHook } from './param';
import { parsePattern, parsePrefix, parsePrefixes, type Pattern } from './pattern';
import { joinPatterns } from './pattern-join';
import { Known, type Level, type Mark, type Mount, mountOf, type Place } from './mount';
import { kJoins, kRegistrations, type RegisteredRouter, type RoutingRules } from './registration';
import type { AnyHandler } from './handler';

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
}

const BODY_PARSERS: ReadonlySet<string> = new Set(['jsonParser', 'urlencodedParser', 'textParser', 'rawParser']);

/**
 * Lays out everything that is registered in a router and in those mounted in it; returns the outermost level too.
 * @param before That of the list before, for what was in it to be the same.
 */
export function layOut(router: RegisteredRouter, rules: RoutingRules, before: Level | null): { layers: Layer[]; outermost: Level } {
  const layers: Layer[] = [];
  const mount = before?.mount ?? mountOf(router, null, 0);
  mount.end = Infinity;
  append(layers, mount, parsePrefix('/', rules), rules, []);
  return { layers, outermost: mount.level };
}

function append(layers: Layer[], mount: Mount, prefixes: readonly Pattern[], rules: RoutingRules, around: readonly ParamHook[]): void {
  const { known } = mount;
  mount.known = new Known();
  for (const entry of mount.router[kRegistrations]) {
    // A router that stands in no application comes here first.
    if (rules.asExpress === true) refuseStars(entry.paths);
    const own = entry.kind === 'route' ? entry.paths.flatMap((path) => parsePattern(path, rules)) : parsePrefixes(entry.paths, rules);
    const patterns = joinPatterns(prefixes, own, entry.kind !== 'route', rules);
    const outer = hooksBeneath(around, own, prefixes);
    const hooks = [...outer, ...hooksFor(mount, own)];
    if (entry.kind === 'route') {
      const stands = (known.take(entry.route) as LaidRoute | undefined) ?? laidRoute(mount, entry.route);
      mount.known.keep(entry.route, stands);
      const isLone = entry.entries.length === 1;
      // A route of one handler leaves nothing to pass over: it goes on with the mount's own.
      const level = isLone ? mount.level : stands.level;
      entry.entries.forEach(({ method, handler, site }, index) => push(layers, stands.marks, index, handler, site, patterns, stands.level.place, method, level, hooks));
    } else if (entry.kind === 'middleware') {
      const marks = (known.take(entry) as Laid[] | undefined) ?? [];
      mount.known.keep(entry, marks);
      entry.handlers.forEach((handler, index) => push(layers, marks, index, handler, entry.site, patterns, null, null, mount.level, hooks));
    } else if (!entry.router[kJoins](rules, patterns)) {
      // By other rules it could stand in the list.
      const stands = known.take(entry) as Mount | Laid[] | undefined;
      const marks = Array.isArray(stands) ? stands : [];
      mount.known.keep(entry, marks);
      push(layers, marks, 0, entry.router, entry.site, patterns, null, null, mount.level, hooks);
    } else {
      const stands = known.take(entry) as Mount | Laid[] | undefined;
      const inner = stands === undefined || Array.isArray(stands) ? mountOf(entry.router, mount, 0) : stands;
      mount.known.keep(entry, inner);
      inner.start = layers.length;
      append(layers, inner, patterns, rules, hooks);
      inner.end = layers.length;
      inner.bundle = layers.slice(inner.start).every(({ place }) => place === null);
    }
  }
}

/** A handler in its place. */
interface Laid {
  readonly handler: AnyHandler;
  readonly mark: Mark;
}

/** A route in its place, as it is while it has several handlers. */
interface LaidRoute {
  readonly level: Level & { readonly place: Place };
  readonly marks: Laid[];
}

function laidRoute(mount: Mount, route: MatchedRoute): LaidRoute {
  return { level: { parent: mount.level, mount, place: { route } }, marks: [] };
}

/** The mark of the handler at that index of a registration: the one before, unless a program has put another handler in its place. */
function markOf(marks: Laid[], index: number, handler: AnyHandler, order: number): Mark {
  const known = marks[index];
  const mark = known?.handler === handler ? known.mark : { order };
  marks[index] = { handler, mark };
  mark.order = order;
  return mark;
}

function push(layers: Layer[], marks: Laid[], index: number, handler: AnyHandler, site: CallSite | undefined, patterns: readonly Pattern[], place: Place | null, method: string | null, level: Level, hooks: readonly ParamHook[]): void {
  // As in Express and connect, a function of more parameters is neither handler nor error middleware, and is never called.
  if (handler.length > 4) return;
  // A proxied or bound function keeps its length; four parameters mean error middleware, as in Express.
  const catches = handler.length === 4;
  layers.push({ mark: markOf(marks, index, handler, layers.length), handler, site, catches, parses: BODY_PARSERS.has(handler.name), patterns, place, method, mount: level.mount, level, hooks: hooks.length === 0 ? null : hooks });
}
