import { HttpError } from '../../lib/errors';
import { Request } from '../../lib/http/request';
import type { Response } from '../../lib/http/response';
import type { PathRules } from '../../lib/routing/patterns/path';
import { kMounted } from '../../lib/routing/layer';
import type { Router } from '../../lib/routing/router';
import { makeRules, type RoutingRules } from '../../lib/routing/rules';
import { RouterRun } from '../../lib/routing/run';
import { takes } from '../../lib/routing/route-finder';

/** What applications make of how paths are compared. */
export function rulesOf(rules: PathRules): RoutingRules {
  return makeRules({ caseSensitive: rules.caseSensitive, ignoreTrailingSlash: rules.ignoreTrailingSlash, ignoreDuplicateSlashes: rules.ignoreDuplicateSlashes, asExpress: rules.asExpress === true, answersOptions: false, isSigned: false });
}

/** Runs a GET request down a router as in an application of these rules; resolves with whether it is told that a route takes it, and to the error that it ends with. */
export async function routed(router: Router, path: string, rules: RoutingRules): Promise<{ taken: boolean; error: unknown }> {
  const req = Object.assign(Object.create(Request.prototype) as Request, { method: 'GET', url: path, baseUrl: '', params: {} });
  const error = await new Promise((resolve) => new RouterRun(router, req, {} as Response, resolve, rules, null).start());
  // Where the rules refuse what is registered, that is the error.
  return { taken: !(error instanceof TypeError) && takes(router[kMounted], 'GET', path, rules), error };
}

/** Whether an error is that of malformed percent-encoding. @throws What else it is. */
export function isMalformed(error: unknown): boolean {
  if (error === undefined) return false;
  if (error instanceof HttpError && error.status === 400) return true;
  throw error;
}
