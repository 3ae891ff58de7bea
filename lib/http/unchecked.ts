/**
 * For a program to say how it takes values that no compiler knows: bodies,
 * query parameters, `res.locals`, what was thrown. Empty, they are `unknown`;
 * with a `value` of the type that switches checks off, they are what Express's
 * types make of them.
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- filled in by the program, by declaration merging
export interface UncheckedTypes {}

/** The type of such values: `unknown`, or what {@link UncheckedTypes} says. */
export type Unchecked = UncheckedTypes extends { value: infer Value } ? Value : unknown;
