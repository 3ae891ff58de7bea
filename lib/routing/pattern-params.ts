/** Captured values by name (INTERFACE section 2.1: `params`). */
export type Params = Record<string, string>;

export function areSameParams(some: Params, others: Params): boolean {
  const names = Object.keys(some);
  return names.length === Object.keys(others).length && names.every((name) => isSameValue(some[name], others[name]));
}

/** Whether two values are equal; those of a wildcard are arrays of segments. */
export function isSameValue(a: unknown, b: unknown): boolean {
  return a === b || (Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((segment, index) => segment === b[index]));
}

/**
 * Makes an object like `{}`. V8 keeps room for four properties in a literal; one
 * that a function has made has as much as those before it were given. Each
 * middleware gets such an object, and hardly any looks at it.
 */
export const NoParams = function (): void {} as unknown as new () => Params;
NoParams.prototype = Object.prototype;
