import type { Layer, Mounted } from './layer';
import type { Route } from './route';
import type { Lookup, Step } from './layer-index';
import type { Caller } from './caller';
import type { RouterRun } from './run';
import type { RoutingRules } from './rules';

/** Returns true when a route of the router, or of one within, takes a request. @param path Path beneath the mount path. */
export function takes(mounted: Mounted, method: string, path: string, rules: RoutingRules): boolean {
  return routeFor(mounted, method, path, rules) !== undefined;
}

/** The first route that takes a request, of the router or of one within. @param path Path beneath the mount path. */
export function routeFor(mounted: Mounted, method: string, path: string, rules: RoutingRules): Route | undefined {
  let taker: Route | undefined;
  findRoute(mounted, path, rules, (route) => {
    if (!route.handles(method)) return false;
    taker = route;
    return true;
  });
  return taker;
}

/** The methods of the routes that take a path, in upper case. */
export function methodsFor(mounted: Mounted, path: string, rules: RoutingRules): Set<string> {
  const methods = new Set<string>();
  findRoute(mounted, path, rules, (route) => {
    for (const name of route.methodNames()) if (name !== '*') methods.add(name);
    return false;
  });
  return methods;
}

/**
 * Calls back with each route that a path matches, in order, until `found` returns true. Returns true then.
 * @param ofApplications True to visit the routes of mounted applications.
 */
function findRoute(mounted: Mounted, path: string, rules: RoutingRules, found: (route: Route) => boolean, ofApplications = true, isBehindMount = false): boolean {
  const own = mounted.rulesWithin(rules);
  const lookup = mounted.index(own).lookup(path, isBehindMount);
  if (!lookup.plan.hasTaker) return false;
  for (const step of lookup.plan.steps) {
    const { layer } = step;
    const inner = layer.route === undefined ? layer.mounted : undefined;
    if (layer.route === undefined && (inner === undefined || (inner.isApplication && !ofApplications))) continue;
    const pattern = lookup.match(step);
    if (pattern === undefined) continue;
    if (inner === undefined) {
      if (found(layer.route as Route)) return true;
      continue;
    }
    if (findInMounted(inner, lookup, lookup.prefix(step, pattern), own, found, ofApplications)) return true;
  }
  return false;
}

/** The route or router that takes a request. */
export interface Taker {
  /** Index in the plan of the run; Infinity for a taker around it, and for none. */
  readonly index: number;
  readonly isRouter: boolean;
}

/** Returns true for a router at the run's cursor that yields to a sibling router. */
export function yieldsToSibling(run: RouterRun, { mounted }: Layer): boolean {
  if (mounted === undefined || mounted.isApplication || !hasRouterBelow(run) || !hasRoutes(mounted)) return false;
  const at = run.cursor - 1;
  if (run.taker === null || run.taker.index < at) run.taker = findTaker(run, at);
  return run.taker.index > at && run.taker.isRouter;
}

/** Returns true with a router below the run's cursor, or below a router around. */
function hasRouterBelow(run: Caller): boolean {
  for (let here: Caller | undefined = run; here !== undefined && here.lookup !== null; here = here.parent) {
    if (here.cursor <= here.lookup.plan.lastRouter) return true;
  }
  return false;
}

/**
 * Finds the first taker of the request from there on, then below the routers around. A router is passed over (INTERFACE section 4.1)
 * when no route in it takes the request, and the next taker belongs to a sibling router. A router without any route is a bundle of
 * middleware, and is entered.
 */
function findTaker(run: Caller, from: number): Taker {
  const handles = (route: Route): boolean => route.handles(run.req.method);
  let start = from;
  for (let here: Caller | undefined = run; here !== undefined && here.lookup !== null; start = (here = here.parent)?.cursor ?? 0) {
    const { lookup } = here;
    const { steps } = lookup.plan;
    for (let index = start; index < steps.length; index++) {
      const step = steps[index] as Step;
      const { layer } = step;
      const inner = layer.route === undefined ? layer.mounted : undefined;
      if (layer.route === undefined && (inner === undefined || inner.isApplication)) continue;
      const pattern = lookup.match(step);
      if (pattern === undefined) continue;
      const prefix = lookup.prefix(step, pattern);
      // A route of the router around is no sibling's.
      if (inner === undefined ? handles(layer.route as Route) : findInMounted(inner, lookup, prefix, run.rules, handles, false)) {
        return { index: here === run ? index : Infinity, isRouter: inner !== undefined };
      }
    }
  }
  return { index: Infinity, isRouter: false };
}

/** Returns true for a router that holds a route with handlers, however deep. */
export function hasRoutes({ layers }: Mounted): boolean {
  return layers.some(({ route, mounted }) => (route === undefined ? mounted?.isApplication === false && hasRoutes(mounted) : route.stack.length > 0));
}

function findInMounted(mounted: Mounted, { path, isBehindMount }: Lookup, prefix: string, rules: RoutingRules, found: (route: Route) => boolean, ofApplications: boolean): boolean {
  const rest = path.slice(prefix.length);
  const isSlashSent = rest.startsWith('/');
  return findRoute(mounted, isSlashSent ? rest : `/${rest}`, rules, found, ofApplications, prefix === '' ? isBehindMount : isSlashSent);
}
