import { routesByItself } from './foreign-application';
import { listRoutes } from '../routing/listing';
import { beneath } from '../routing/pattern-join';
import { mountedIn } from '../routing/stack';
import type { RouteTable } from '../routing/route-table';
import { findSuspects, type Suspect } from '../routing/suspect';
import { findUnmetMiddleware, type UnmetMiddleware } from '../routing/unmet-middleware';
import type { SignatureHook } from '../signature/hook';

/** What is registered and does not do what it looks like: a text for each. */
export function registrationWarnings(table: RouteTable, hooks: readonly SignatureHook[]): string[] {
  const routes = listRoutes(table);
  const covered = routes.flatMap(({ description: { method, path, coveredBy } }) => {
    return coveredBy === undefined ? [] : [`The route ${method} ${path} is covered by ${coveredBy}, registered before it`];
  });
  const unmet = findUnmetMiddleware(table, routes).map(describeUnmet);
  // A router that is mounted twice has everything twice.
  const suspects = new Set(findSuspects(table).map(describeSuspect));
  return [...covered, ...unmet, ...suspects, ...(hooks.length === 0 ? [] : [...unsigned(table, hooks), ...unseen(table, hooks)])];
}

function describeSuspect(suspect: Suspect): string {
  const { handler, site } = suspect.layer;
  const place = site?.place;
  const at = place === undefined ? '' : ` (${place})`;
  if (suspect.kind === 'factory') return `${suspect.call} makes middleware, and is registered without its call${at}: requests that it is called for are not answered. Write ${suspect.call}`;
  const name = handler.name || '<anonymous>';
  if (suspect.kind === 'above all routes') {
    return `The error middleware ${name}${at} stands above all routes, whose errors do not reach it: register it behind them`;
  }
  return `The function ${name}${at} looks like error middleware, but has ${handler.length} parameters: it is called as (req, res, next), and for no error. `
    + 'Error middleware is told by its four parameters: write (err, req, res, next)';
}

/** How many routes a text names; of more it says how many. */
const NAMED = 3;

function describeUnmet({ paths, written, routes }: UnmetMiddleware): string {
  const names = [...routes].map(({ method, path }) => `${method} ${path}`);
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  const instead = written === null ? 'app.use(…)' : `app.use(${written}, …)`;
  return `The middleware at ${[...paths].join(', ')} of one router does not run for ${names.slice(0, NAMED).join(', ')}${more}, which belong to routers beside it. `
    + `If it guards them, write ${instead}, or keep it in a Router without routes; if not, mount their routers before its own`;
}

function unsigned(table: RouteTable, hooks: readonly SignatureHook[]): string[] {
  const named = table.layers.flatMap(({ method, place, patterns }) => {
    if (place !== null) return patterns.map((pattern) => ({ method, pattern, name: `${method ?? 'ALL'} ${pattern.text}` }));
    // What stands under a path routes beneath it by itself.
    return patterns.filter(({ segments }) => segments.length > 0)
      .map((pattern) => ({ method, pattern: beneath(pattern), name: `What is mounted at ${pattern.text}` }));
  });
  const names = new Set(hooks.flatMap((hook) => hook.scope.uncovered(named)).map(({ name }) => name));
  return [...names].map((name) => `${name} lies beneath an included path but is not covered by the signature check`);
}

/** What Express routes within itself: a target that is rewritten there is not seen. */
function unseen(table: RouteTable, hooks: readonly SignatureHook[]): string[] {
  const layers = table.layers.filter(({ place, handler }) => place === null && routesByItself(mountedIn(handler)));
  const patterns = layers.flatMap((layer) => layer.patterns).filter((pattern) => hooks.some(({ scope }) => scope.divides(beneath(pattern))));
  const names = new Set(patterns.map(({ text }) => text));
  return [...names].map((name) => `What Express has at ${name} may rewrite the URL or the method by itself, which the signature check does not see: include all paths that lead into it, or rewrite above it`);
}
