import type { Request } from '../http/request';
import type { Response } from '../http/response';
import { kJsonAsXJson } from '../http/response-state';
import { mayLeadPast } from '../routing/guards-around';
import type { Match } from '../routing/plan';
import type { RouteTable } from '../routing/route-table';
import type { Walk } from '../routing/walk';
import { pathEnd, pathOf, pathStart } from '../target';

const SUFFIX = '.xJson';

/** Finds the plan. A path that ends in `.xJson` and that no route takes is routed without it (INTERFACE section 4.3). */
export function matchTarget(table: RouteTable, app: object, req: Request, res: Response, mounted: boolean, parent: Walk | undefined): Match {
  const { method, url } = req;
  const match = table.match(method, pathOf(url), parent);
  if (!match.path.endsWith(SUFFIX) || table.takes(match)) return match;
  const end = pathEnd(url, pathStart(url));
  const stripped = url.slice(0, end - SUFFIX.length) + url.slice(end);
  const bare = table.match(method, pathOf(stripped));
  // What a mounted application does not take, the outer one judges by itself.
  if (mounted && !table.takes(bare)) return match;
  // A guard there of the path without it has not seen the request.
  if (mayLeadPast(parent, app, req, stripped)) return match;
  req.url = stripped;
  res[kJsonAsXJson] = true;
  return bare;
}

/** Gives a request that nothing took its suffix back, for who takes it now. */
export function restoreSuffix({ req, res, suffixed }: Walk): void {
  if (suffixed === undefined || req.url !== suffixed.stripped) return;
  req.url = suffixed.sent;
  res[kJsonAsXJson] = false;
}
