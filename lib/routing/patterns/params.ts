/** Captured values by name (INTERFACE section 2.1: `params`). */
export type Params = Record<string, string>;

/**
 * Makes an object like `{}` in less memory. V8 keeps room for four properties
 * in a literal; a constructor's objects get as much as earlier ones used. Each
 * middleware gets such an object, and hardly any reads it.
 */
export const NoParams = function (): void {} as unknown as new () => Params;
NoParams.prototype = Object.prototype;
