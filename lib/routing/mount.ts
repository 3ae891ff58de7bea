import type { MatchedRoute } from '../http/request';
import type { ParamHook } from './param-hook';
import type { Pattern } from './pattern';
import type { RegisteredRouter } from './registration';

/** One place where a router is mounted; the application itself is the outermost. */
export interface Mount {
  readonly router: RegisteredRouter;
  readonly parent: Mount | null;
  /** The layers from `start` on and before `end` are those of this mount, and of mounts within. */
  start: number;
  end: number;
  /** Whether no route is in it: then its middleware counts as the router's that it is mounted in. */
  bundle: boolean;
  readonly level: Level;
  /** What was laid out in it last, in order. */
  standings: readonly Standing[];
  /** The paths that it is mounted at. */
  readonly patterns: readonly Pattern[];
  /** The parameters in these that the routers around have handlers for. */
  hooks: readonly ParamHook[];
}

/**
 * What stands for a registration in a list. It is the same in every list that goes on from that one, where no more has been
 * done than to register: so a request on its way through one can go on in the next.
 */
export type Standing = StandingRoute | StandingFunctions;

export interface StandingRoute {
  readonly kind: 'route';
  readonly key: object;
  readonly paths: StandingPaths;
  readonly level: Level & { readonly place: Place };
  entries: readonly StandingEntry[];
  /** Of what a program has put in the place of the whole route, by method. */
  readonly wrappers: Map<string | null, Mark>;
}

/** Middleware, a router, or what a program has put in the place of a router. */
export interface StandingFunctions {
  readonly kind: 'functions';
  readonly key: object;
  readonly paths: StandingPaths;
  /** Of what is called as a function. */
  readonly marks: Mark[];
  /** Of a router once it was laid out; kept while something else stands in its place. */
  mount: Mount | null;
}

/** Its own patterns, and these under the paths of the mounts around. */
export interface StandingPaths {
  readonly own: readonly Pattern[];
  readonly whole: readonly Pattern[];
}

/** The same of a route's handler. */
export interface StandingEntry {
  readonly key: object;
  readonly mark: Mark;
}

/** A place in the list. Its number is another when something has been registered above. */
export interface Mark {
  order: number;
  /**
   * Where it is not in the list any more, since something else stands in the place of what held it: where that begins. Its number
   * then lies behind that, and who is within goes on there, in the list of before, as in Express. Null in the list.
   */
  aside: number | null;
}

export function markAt(order: number): Mark {
  return { order, aside: null };
}

/** What has a `next` of its own, as in Express: a mount, or in it a route: one of a single handler too, since it may be given more while that runs. */
export interface Level {
  readonly parent: Level | null;
  readonly mount: Mount;
  /** Null for the mount itself. */
  readonly place: Place | null;
  /** Whether it is a route of one handler. */
  isLone: boolean;
}

/** A route where it is mounted: the routes of a router that is mounted twice have two places. */
export interface Place {
  readonly route: MatchedRoute;
}

/** A router in a place of its own, not yet laid out. */
export function mountOf(router: RegisteredRouter, parent: Mount | null, patterns: readonly Pattern[]): Mount {
  const level = { parent: parent?.level ?? null, place: null, isLone: false };
  const mount: Mount = { router, parent, start: 0, end: 0, bundle: false, level: level as unknown as Level, standings: [], patterns, hooks: [] };
  return Object.assign(mount, { level: Object.assign(level, { mount }) });
}

/** Whether a mount is another or lies within it. */
export function within(inner: Mount, outer: Mount): boolean {
  for (let mount: Mount | null = inner; mount !== null; mount = mount.parent) if (mount === outer) return true;
  return false;
}

/** The mount furthest out that something else stands in the place of; null for none. */
export function asideAround(inner: Mount): Mount | null {
  let found: Mount | null = null;
  for (let mount: Mount | null = inner; mount !== null; mount = mount.parent) if (!Number.isInteger(mount.start)) found = mount;
  return found;
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

/** Where a `next` of a level goes on: behind a route of one handler that has been left it is, as in Express, that of the mount. */
export function goingOnAt(level: Level, reached: Level): Level {
  return level.isLone && level !== reached ? (level.parent as Level) : level;
}

function outermostOf(level: Level): Level {
  return level.parent === null ? level : outermostOf(level.parent);
}
