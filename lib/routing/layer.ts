import { refuseStars } from './given-path';
import type { CallSite } from '../call-site';
import { hooksBeneath, hooksFor, type ParamHook } from './param';
import { parsePattern, parsePrefix, parsePrefixes, type Pattern } from './pattern';
import { joinPatterns } from './pattern-join';
import { kJoins, kRegistrations, type RoutingRules } from './registration';
import type { AnyHandler, Route } from './route';
import type { Router } from './router';

/** One place where a router is mounted; the application itself is the outermost. */
export interface Mount {
  readonly router: Router;
  readonly parent: Mount | null;
  /** The layers from `start` on and before `end` are those of this mount, and of mounts within. */
  readonly start: number;
  end: number;
  /** Whether no route is in it: then its middleware counts as the router's that it is mounted in. */
  bundle: boolean;
  readonly level: Level;
}

/** What has a `next` of its own, as in Express: a mount, or in it a route of several handlers. */
export interface Level {
  readonly parent: Level | null;
  readonly mount: Mount;
  /** Null for the mount itself. */
  readonly place: Place | null;
}

/** A route where it is mounted: the routes of a router that is mounted twice have two places. */
export interface Place {
  readonly route: Route;
}

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
export function layOut(router: Router, rules: RoutingRules): { layers: Layer[]; outermost: Level } {
  const layers: Layer[] = [];
  const mount = mountOf(router, null, 0);
  mount.end = Infinity;
  append(layers, mount, parsePrefix('/', rules), rules, []);
  return { layers, outermost: mount.level };
}

function mountOf(router: Router, parent: Mount | null, start: number): Mount {
  const level = { parent: parent?.level ?? null, place: null };
  const mount: Mount = { router, parent, start, end: 0, bundle: false, level: level as unknown as Level };
  return Object.assign(mount, { level: Object.assign(level, { mount }) });
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

/** Whether a mount is another or lies within it. */
export function within(inner: Mount, outer: Mount): boolean {
  for (let mount: Mount | null = inner; mount !== null; mount = mount.parent) if (mount === outer) return true;
  return false;
}

/** The level furthest in that two others are or lie within. */
export function commonLevel(a: Level, b: Level): Level {
  for (let level = a; level.parent !== null; level = level.parent) if (isWithin(b, level)) return level;
  return outermostOf(a);
}

/** Whether a level is another or lies within it. */
export function isWithin(inner: Level, outer: Level): boolean {
  for (let level: Level | null = inner; level !== null; level = level.parent) if (level === outer) return true;
  return false;
}

function outermostOf(level: Level): Level {
  return level.parent === null ? level : outermostOf(level.parent);
}
