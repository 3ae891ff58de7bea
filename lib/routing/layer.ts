import { refuseStars } from './given-path';
import type { CallSite } from '../call-site';
import { hooksBeneath, hooksFor, type ParamHook } from './param';
import { parsePattern, parsePrefix, parsePrefixes, type Pattern } from './pattern';
import { joinPatterns } from './pattern-join';
import { type Level, type Mount, mountOf, type Place } from './mount';
import { kJoins, kRegistrations, type RegisteredRouter, type RoutingRules } from './registration';
import type { AnyHandler } from './handler';

/**
 * One registered function in its place. All layers of an application form one
 * list, routers laid out where they are mounted: to walk it from top to bottom
 * is what Express does, router by router.
 */
export interface Layer {
  /** Place in the list. */
  readonly order: number;
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

/** Lays out everything that is registered in a router and in those mounted in it; returns the outermost level too. */
export function layOut(router: RegisteredRouter, rules: RoutingRules): { layers: Layer[]; outermost: Level } {
  const layers: Layer[] = [];
  const mount = mountOf(router, null, 0);
  mount.end = Infinity;
  append(layers, mount, parsePrefix('/', rules), rules, []);
  return { layers, outermost: mount.level };
}

function append(layers: Layer[], mount: Mount, prefixes: readonly Pattern[], rules: RoutingRules, around: readonly ParamHook[]): void {
  for (const entry of mount.router[kRegistrations]) {
    // A router that stands in no application comes here first.
    if (rules.asExpress === true) refuseStars(entry.paths);
    const own = entry.kind === 'route' ? entry.paths.flatMap((path) => parsePattern(path, rules)) : parsePrefixes(entry.paths, rules);
    const patterns = joinPatterns(prefixes, own, entry.kind !== 'route', rules);
    const outer = hooksBeneath(around, own, prefixes);
    const hooks = [...outer, ...hooksFor(mount, own)];
    if (entry.kind === 'route') {
      const place: Place = { route: entry.route };
      const isLone = entry.entries.length === 1;
      // A route of one handler leaves nothing to pass over: it goes on with the mount's own.
      const level = isLone ? mount.level : { parent: mount.level, mount, place };
      for (const { method, handler, site } of entry.entries) push(layers, handler, site, patterns, place, method, level, hooks);
    } else if (entry.kind === 'middleware') {
      for (const handler of entry.handlers) push(layers, handler, entry.site, patterns, null, null, mount.level, hooks);
    } else if (!entry.router[kJoins](rules, patterns)) {
      push(layers, entry.router, entry.site, patterns, null, null, mount.level, hooks);
    } else {
      const inner = mountOf(entry.router, mount, layers.length);
      append(layers, inner, patterns, rules, hooks);
      inner.end = layers.length;
      inner.bundle = layers.slice(inner.start).every(({ place }) => place === null);
    }
  }
}

function push(layers: Layer[], handler: AnyHandler, site: CallSite | undefined, patterns: readonly Pattern[], place: Place | null, method: string | null, level: Level, hooks: readonly ParamHook[]): void {
  // As in Express and connect, a function of more parameters is neither handler nor error middleware, and is never called.
  if (handler.length > 4) return;
  // A proxied or bound function keeps its length; four parameters mean error middleware, as in Express.
  const catches = handler.length === 4;
  layers.push({ order: layers.length, handler, site, catches, parses: BODY_PARSERS.has(handler.name), patterns, place, method, mount: level.mount, level, hooks: hooks.length === 0 ? null : hooks });
}
