/** Captured values by name (INTERFACE section 2.1: `params`). */
export type Params = Record<string, string>;

/**
 * Makes an object like `{}`. V8 keeps room for four properties in a literal; one
 * that a function has made has as much as those before it were given. Each
 * middleware gets such an object, and hardly any looks at it.
 */
export const NoParams = function (): void {} as unknown as new () => Params;
NoParams.prototype = Object.prototype;
