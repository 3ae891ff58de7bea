import type { PathRules } from './path';
import type { RoutingRules } from './registration';

/** Options of `Router`. */
export interface RouterOptions {
  /** Whether `/A` and `/a` are two paths. @default as the application: `express()` sets it to false, the exact `createServer()` to true */
  caseSensitive?: boolean | undefined;
  /** Whether `/a/` and `/a` are two paths. @default as the application: `express()` sets it to false, the exact `createServer()` to true */
  strict?: boolean | undefined;
  /** Whether handlers see the parameters of the path that the router is mounted at. @default false in `express()`, as in Express; true in `createServer()` */
  mergeParams?: boolean | undefined;
}

/** What a router outside of any application goes by: as in Express. */
export const EXPRESS_RULES: RoutingRules = Object.freeze({
  caseSensitive: false,
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: false,
  mergeParams: false,
  answerOptions: true,
});

/** As in Express what is there is read as true or false. */
export function readRouterOptions(given: RouterOptions | null | undefined): RouterOptions {
  const read: RouterOptions = {};
  for (const name of ['caseSensitive', 'strict', 'mergeParams'] as const) {
    if (given?.[name] !== undefined) read[name] = Boolean(given[name]);
  }
  return read;
}

/** By what the paths of a router are compared: its options, and for the rest the rules of what it is mounted in. */
export function rulesOf({ caseSensitive, strict }: RouterOptions, rules: RoutingRules): RoutingRules {
  const within = rules.within ?? rules;
  return {
    ...rules,
    within,
    caseSensitive: caseSensitive ?? within.caseSensitive,
    ignoreTrailingSlash: strict === undefined ? within.ignoreTrailingSlash : !strict,
  };
}

/** Whether two rules find the same paths equal. */
export function compareAlike(rules: PathRules, other: PathRules): boolean {
  return rules.caseSensitive === other.caseSensitive && rules.ignoreTrailingSlash === other.ignoreTrailingSlash && rules.ignoreDuplicateSlashes === other.ignoreDuplicateSlashes;
}

/** Whether some paths are equal by the first rules that are two by the others. */
export function looser(rules: PathRules, other: PathRules): boolean {
  return (!rules.caseSensitive && other.caseSensitive) || (rules.ignoreTrailingSlash && !other.ignoreTrailingSlash);
}
