import { mountedApplication } from './mounting';
import { kMounted } from '../routing/layer';
import { listRoutes, type Registered } from '../routing/listing';
import { Pattern } from '../routing/patterns/pattern';
import type { RoutingRules } from '../routing/rules';
import { findSuspects, type Suspect } from '../routing/suspect';
import { findUnmetMiddleware, type UnmetMiddleware } from '../routing/unmet-middleware';
import { type Contracted, kContract } from '../schema/contracted';
import { late } from '../packages';
import type { SignatureHook } from '../signature/hook';

const contracts = late(() => require('../schema/contract') as typeof import('../schema/contract'));

/** Warnings for registrations that do not do what they seem to. @param parses True where the application parses bodies itself. */
export function registrationWarnings(all: readonly Registered[], rules: RoutingRules, hooks: readonly SignatureHook[], parses: boolean): string[] {
  const routes = listRoutes(all);
  const covered = routes.flatMap(({ description: { method, path, coveredBy } }) => {
    return coveredBy === undefined ? [] : [`The route ${method} ${path} is covered by ${coveredBy}, registered before it`];
  });
  const unmet = findUnmetMiddleware(all, routes, rules).map(describeUnmet);
  // A router mounted twice would give each warning twice.
  const suspects = new Set(findSuspects(all).map(describeSuspect));
  return [...covered, ...unmet, ...suspects, ...strangerParams(all), ...(parses ? [] : idleLimits(all)), ...(hooks.length === 0 ? [] : [...unsignedWarnings(all, hooks), ...expressRouterWarnings(all, hooks)])];
}

/** Warnings for limits of bodies that the application does not read. */
function idleLimits(all: readonly Registered[]): string[] {
  return all.filter(({ layer: { route } }) => route?.stack.some(({ method }) => route.contractFor(method ?? 'all') !== undefined)).map(({ path }) => (
    `The route ${path} says how its body is read, but its application parses no bodies: middleware does, and has limits of its own`
  ));
}

/** Warnings for schemas of parameters that neither the path nor a mount has. */
function strangerParams(all: readonly Registered[]): string[] {
  return all.flatMap(({ layer: { route }, patterns, path }) => (route?.stack ?? []).flatMap(({ origin, method }) => {
    const { params } = (origin as Contracted)[kContract] ?? {};
    const names = params === undefined ? [] : contracts().unknownParams(params, patterns.flatMap((pattern) => pattern.names));
    return names.length === 0 ? [] : [`The route ${method?.toUpperCase() ?? 'ALL'} ${path}: ${contracts().lacking(names)}`];
  }));
}

function describeSuspect(suspect: Suspect): string {
  const { handle: handler, site } = suspect.layer;
  const { place } = site;
  const at = place === undefined ? '' : ` (${place})`;
  if (suspect.kind === 'factory') return `${suspect.call} makes middleware, and is registered without its call${at}: requests that it is called for are not answered. Write ${suspect.call}`;
  const name = handler.name || '<anonymous>';
  if (suspect.kind === 'above all routes') {
    return `The error middleware ${name}${at} stands above all routes, whose errors do not reach it: register it behind them`;
  }
  return `The function ${name}${at} looks like error middleware, but has ${handler.length} parameters: it is called as (req, res, next), and for no error. `
    + 'Error middleware is told by its four parameters: write (err, req, res, next)';
}

/** Most routes named in a warning; the others are counted. */
const MAX_NAMED = 3;

function describeUnmet({ paths, written, routes }: UnmetMiddleware): string {
  const names = [...routes].map(({ method, path }) => `${method} ${path}`);
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  const instead = written === null ? 'app.use(…)' : `app.use(${written}, …)`;
  return `The middleware at ${[...paths].join(', ')} of one router does not run for ${names.slice(0, MAX_NAMED).join(', ')}${more}, which belong to routers beside it. `
    + `If it guards them, write ${instead}, or keep it in a Router without routes; if not, mount their routers before its own`;
}

function unsignedWarnings(all: readonly Registered[], hooks: readonly SignatureHook[]): string[] {
  const named = all.flatMap(({ layer: { route }, patterns }) => {
    // A handler mounted at a path has its own routing beneath it.
    if (route === undefined) return patterns.filter(({ segments }) => segments.length > 0).map((pattern) => ({ method: null, pattern: subtreeOf(pattern), name: `What is mounted at ${pattern.text}` }));
    const methods = [...new Set(route.stack.map(({ method }) => method?.toUpperCase() ?? null))];
    return methods.flatMap((method) => patterns.map((pattern) => ({ method, pattern, name: `${method ?? 'ALL'} ${pattern.text}` })));
  });
  const names = new Set(hooks.flatMap((hook) => hook.scope.uncovered(named)).map(({ name }) => name));
  return [...names].map((name) => `${name} lies beneath an included path but is not covered by the signature check`);
}

/** Warnings for Express's own routers, whose rewrites of the target the check does not see. */
function expressRouterWarnings(all: readonly Registered[], hooks: readonly SignatureHook[]): string[] {
  const patterns = all.filter(({ layer }) => layer.route === undefined && isExpressRouter(layer.origin)).flatMap((each) => each.patterns);
  const names = new Set(patterns.filter((pattern) => hooks.some(({ scope }) => scope.divides(subtreeOf(pattern)))).map(({ text }) => text));
  return [...names].map((name) => `What Express has at ${name} may rewrite the URL or the method by itself, which the signature check does not see: include all paths that lead into it, or rewrite above it`);
}

/** True for an application or router of Express, which does its own routing. */
function isExpressRouter(origin: object): boolean {
  const { handle, stack, set } = (mountedApplication(origin) ?? origin) as { readonly handle?: unknown; readonly stack?: unknown; readonly set?: unknown };
  return typeof handle === 'function' && (typeof set === 'function' || Array.isArray(stack)) && !(kMounted in (mountedApplication(origin) ?? origin));
}

/** The pattern of all paths beneath a pattern; itself for one with a tail expression. */
function subtreeOf(pattern: Pattern): Pattern {
  return pattern.tail !== undefined ? pattern : new Pattern(`${pattern.text}/**`, [...pattern.segments, { kind: 'deep' }]);
}
