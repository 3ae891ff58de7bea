import { Request } from '../../lib/http/request';
import type { Response } from '../../lib/http/response';
import type { PathRules } from '../../lib/routing/patterns/path';
import type { Router } from '../../lib/routing/router';
import { makeRules, type RoutingRules } from '../../lib/routing/rules';
import { RouterRun } from '../../lib/routing/run';

/** The rules of `createServer` where it compares paths by these, or those of `express()`. */
export function rulesOf(paths: PathRules, asExpress = false): RoutingRules {
  return makeRules({ ...paths, asExpress, answersOptions: asExpress, isSigned: false });
}

/** Runs a router on a request without a connection; resolves with the error that comes out of it, or undefined. */
export function runRouter(router: Router, url: string, rules: RoutingRules): Promise<unknown> {
  const req = Object.assign(Object.create(Request.prototype) as Request, { method: 'GET', url, baseUrl: '' });
  return new Promise((resolve) => { new RouterRun(router, req, {} as Response, resolve, rules, null).start(); });
}
