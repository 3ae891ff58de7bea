import type { PathRules } from './patterns/path';

/** An application's rules for comparing paths and calling routers, resolved for each router. */
export interface RoutingRules extends PathRules {
  /**
   * True for the semantics of Express; `createServer` keeps sibling routers apart,
   * shows routes the whole URL and merges parameters.
   */
  readonly asExpress: boolean;
  /** True for routers that answer unhandled OPTIONS with the methods of their routes. */
  readonly answersOptions: boolean;
  /** True where request signatures are checked: their scope goes by these rules, so no router may be looser. */
  readonly isSigned: boolean;
  /** The rules of a router without options of its own. */
  readonly plain: RoutingRules;
}

/** Options of `Router`. */
export interface RouterOptions {
  /** True if `/A` and `/a` are two paths. @default as the application: `express()` sets it to false, the exact `createServer()` to true */
  caseSensitive?: boolean | undefined;
  /** True if `/a/` and `/a` are two paths. @default as the application: `express()` sets it to false, the exact `createServer()` to true */
  strict?: boolean | undefined;
  /** True if handlers see the parameters of the mount path. @default false in `express()`, as in Express; true in `createServer()` */
  mergeParams?: boolean | undefined;
}

/** Makes an application's rules. */
export function makeRules(meaning: Omit<RoutingRules, 'plain'>): RoutingRules {
  const rules = { ...meaning } as { -readonly [Name in keyof RoutingRules]: RoutingRules[Name] };
  rules.plain = rules;
  return Object.freeze(rules);
}

/** Express's rules, for a router outside of any application. */
export const EXPRESS_RULES: RoutingRules = makeRules({
  caseSensitive: false,
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: false,
  asExpress: true,
  answersOptions: true,
  isSigned: false,
});

/**
 * The rules of a router with these options beneath others.
 * @throws TypeError for options that find more paths equal than the scope of a signature check does.
 */
export function rulesWithin({ caseSensitive, strict }: RouterOptions, { plain }: RoutingRules): RoutingRules {
  const own = {
    caseSensitive: caseSensitive === undefined ? plain.caseSensitive : Boolean(caseSensitive),
    ignoreTrailingSlash: strict === undefined ? plain.ignoreTrailingSlash : !strict,
  };
  if (plain.isSigned && ((!own.caseSensitive && plain.caseSensitive) || (own.ignoreTrailingSlash && !plain.ignoreTrailingSlash))) {
    throw new TypeError(`A router with caseSensitive: ${String(own.caseSensitive)}, strict: ${String(!own.ignoreTrailingSlash)} can't be used where request signatures are checked by stricter paths; write createServer({ routing: { caseSensitive, ignoreTrailingSlash } })`);
  }
  return Object.freeze({ ...plain, ...own, plain });
}
