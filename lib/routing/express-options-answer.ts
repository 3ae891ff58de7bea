import { forgetFraming } from '../http/answer';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import type { NextFunction } from './handler';
import type { Layer } from './layer';
import { markAt, type Mount } from './mount';
import type { RouteTable } from './route-table';
import { kWalk, type Travelling } from './walk';

/**
 * What stands behind each router in the plans for OPTIONS: it answers, where
 * nothing in the router has, with the methods of the router's routes, as
 * Express's routers do.
 */
export function optionsAnswers(table: RouteTable): Layer[] {
  const mounts = new Map<Mount, Layer[]>();
  // As in Express a route that handles OPTIONS itself, if only to go on, has no word in it.
  const handling = new Set(table.layers.filter(({ method }) => method === null || method === 'OPTIONS').map(({ place }) => place));
  for (const layer of table.layers) {
    if (layer.place === null || layer.method === null || handling.has(layer.place)) continue;
    const known = mounts.get(layer.mount);
    if (known === undefined) mounts.set(layer.mount, [layer]);
    else known.push(layer);
  }
  return [...mounts].map(([mount, routes]) => answerOf(table, mount, routes));
}

function answerOf(table: RouteTable, mount: Mount, routes: readonly Layer[]): Layer {
  const end = Math.min(mount.end, table.layers.length);
  const handler = (req: Request, res: Response, next: NextFunction): unknown => {
    const allow = methodsOf(table, routes, req);
    // As Express asks, which takes one that middleware has written otherwise for a route's alone.
    if (allow === '' || req.method !== 'OPTIONS') {
      next();
      return undefined;
    }
    // As Express sends it: by Node's methods alone.
    forgetFraming(res);
    res.setHeader('Allow', allow);
    res.setHeader('Content-Length', Buffer.byteLength(allow));
    res.setHeader('Content-Type', 'text/plain');
    res.setHeader('X-Content-Type-Options', 'nosniff');
    // What stands in the place of `end` may be asynchronous, and fail.
    return res.end(allow);
  };
  return {
    // Behind what is in the router, and before what stands behind it; of routers that end together the innermost first.
    mark: markAt(end - 1 + 1 / (depthOf(mount) + 2)),
    handler, site: undefined, catches: false, parses: false, patterns: mount.patterns, place: null, method: null, mount, level: mount.level, hooks: mount.hooks.length === 0 ? null : mount.hooks, routes: false,
  };
}

function methodsOf(table: RouteTable, routes: readonly Layer[], req: Travelling): string {
  const walk = req[kWalk] as NonNullable<Travelling[typeof kWalk]>;
  const methods = new Set<string>();
  for (const layer of routes) {
    if (walk.hasPassed(layer) || table.alternative(layer, walk.match) === undefined) continue;
    methods.add(layer.method as string);
    if (layer.method === 'GET') methods.add('HEAD');
  }
  return [...methods].sort().join(', ');
}

function depthOf({ parent }: Mount): number {
  return parent === null ? 0 : 1 + depthOf(parent);
}
