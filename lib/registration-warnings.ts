import { describeRoutes } from './routing/listing';
import { beneath } from './routing/pattern';
import type { RouteTable } from './routing/plan';
import type { SignatureHook } from './signature/hook';

/** What is registered and does not do what it looks like: a text for each. */
export function registrationWarnings(table: RouteTable, hooks: readonly SignatureHook[]): string[] {
  const covered = describeRoutes(table).flatMap(({ method, path, coveredBy }) => {
    return coveredBy === undefined ? [] : [`The route ${method} ${path} is covered by ${coveredBy}, registered before it`];
  });
  return hooks.length === 0 ? covered : [...covered, ...unsigned(table, hooks)];
}

function unsigned(table: RouteTable, hooks: readonly SignatureHook[]): string[] {
  const named = table.layers.flatMap(({ method, place, patterns }) => {
    if (place !== null) return patterns.map((pattern) => ({ method, pattern, name: `${method ?? 'ALL'} ${pattern.text}` }));
    // What stands under a path routes beneath it by itself.
    return patterns.filter(({ segments }) => segments.length > 0)
      .map((pattern) => ({ method, pattern: beneath(pattern), name: `What is mounted at ${pattern.text}` }));
  });
  const names = new Set(hooks.flatMap((hook) => hook.uncovered(named)).map(({ name }) => name));
  return [...names].map((name) => `${name} lies beneath an included path but is not covered by the signature check`);
}
