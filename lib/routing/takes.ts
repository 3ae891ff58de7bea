import { Layer, type Mounted } from './layer';
import type { Route } from './route';
import type { Caller } from './caller';
import type { RoutingRules } from './rules';

/** Whether a route in what is mounted takes a request, or one in what is mounted within. @param path What the router sees of the path. */
export function takes(mounted: Mounted, method: string, path: string, rules: RoutingRules): boolean {
  return findRoute(mounted, path, rules, (route) => route.handles(method));
}

/** The methods of the routes that take a path, in upper case. */
export function methodsFor(mounted: Mounted, path: string, rules: RoutingRules): Set<string> {
  const methods = new Set<string>();
  findRoute(mounted, path, rules, (route) => {
    for (const name of Object.keys(route.methods)) if (name !== '_all') methods.add(name.toUpperCase());
    if (route.methods['get'] === true) methods.add('HEAD');
    return false;
  });
  return methods;
}

/**
 * Calls back with each route that a path matches, in order, until it returns true; returns whether it did.
 * @param ofApplications Whether routes of applications that are mounted count.
 */
function findRoute(mounted: Mounted, path: string, rules: RoutingRules, found: (route: Route) => boolean, ofApplications = true, isBehindSlash = false): boolean {
  const own = mounted.rulesWithin(rules);
  const lookup = mounted.index(own).lookup(path, isBehindSlash && !own.asExpress && !own.ignoreTrailingSlash);
  if (!lookup.plan.mayTake) return false;
  for (const step of lookup.plan.steps) {
    const { layer } = step;
    if (!(layer instanceof Layer)) continue;
    const inner = layer.route === undefined ? layer.mounted : undefined;
    if (layer.route === undefined && (inner === undefined || (inner.isApplication && !ofApplications))) continue;
    const pattern = lookup.match(step);
    if (pattern === undefined) continue;
    if (inner === undefined) {
      if (found(layer.route as Route)) return true;
      continue;
    }
    const prefix = lookup.prefix(step, pattern);
    const rest = path.slice(prefix.length);
    if (findRoute(inner, rest.startsWith('/') ? rest : `/${rest}`, own, found, ofApplications, prefix !== '' && rest === '/')) return true;
  }
  return false;
}

/**
 * Whether a router is not entered (INTERFACE section 4.1): no route in it takes the request, and the next that does belongs to a
 * router beside it. A router without any route is a bundle of middleware, and is entered.
 * @param rest What the router would see of the path.
 */
export function standsBack(run: Caller, method: string, mounted: Mounted, rest: string, isBehindSlash: boolean): boolean {
  if (mounted.isApplication || !hasRoutes(mounted)) return false;
  const takesRest = (other: Mounted, path: string, isBehind: boolean): boolean => findRoute(other, path.startsWith('/') ? path : `/${path}`, run.rules, (route) => route.handles(method), false, isBehind);
  if (takesRest(mounted, rest, isBehindSlash)) return false;
  for (let here: Caller | undefined = run; here !== undefined && here.lookup !== null; here = here.parent) {
    const { lookup } = here;
    for (const step of here.below) {
      const { layer } = step;
      if (!(layer instanceof Layer)) continue;
      const inner = layer.route === undefined ? layer.mounted : undefined;
      if ((layer.route === undefined && (inner === undefined || inner.isApplication))) continue;
      const pattern = lookup.match(step);
      if (pattern === undefined) continue;
      if (inner === undefined) {
        // A route of a router around it is no sibling's.
        if ((layer.route as Route).handles(method)) return false;
        continue;
      }
      const prefix = lookup.prefix(step, pattern);
      const left = lookup.path.slice(prefix.length);
      if (takesRest(inner, left, prefix !== '' && left === '/')) return true;
    }
  }
  return false;
}

/** Whether a handler of a route is in it, or in a router that is mounted in it. */
export function hasRoutes({ layers }: Mounted): boolean {
  return layers.some((layer) => {
    if (!(layer instanceof Layer)) return layer.route !== undefined;
    const { route, mounted } = layer;
    return route === undefined ? mounted?.isApplication === false && hasRoutes(mounted) : route.stack.length > 0;
  });
}
