/**
 * For a program to say how it takes values that no compiler knows: bodies,
 * query parameters, `res.locals`, what was thrown. Empty, they are `unknown`;
 * with a `value` of the type that switches checks off, they are what Express's
 * types make of them.
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- filled in by the program, by declaration merging
export interface UncheckedTypes {}

/** The type of such values: `unknown`, or what is known of them, or what {@link UncheckedTypes} says. */
export type Unchecked<Known = unknown> = UncheckedTypes extends { value: infer Value } ? Value : Known;

/** Type of `req.query` by default: a text, or an array where a name comes up more than once. */
export type ParsedQuery = Record<string, Unchecked<string | string[] | undefined>>;

/** A value that may be missing, though Express's types take it to be there. */
export type Presumed<Type> = UncheckedTypes extends { value: unknown } ? Type : Type | undefined;
