import { comparesAlike, type PathRules } from './patterns/path';

/** How routers compare paths and enter each other: an application's, resolved for each router in it. */
export interface RoutingRules extends PathRules {
  /**
   * Whether patterns and routers mean what they mean in Express; `createServer` keeps sibling routers apart,
   * shows routes the whole URL and merges parameters.
   */
  readonly asExpress: boolean;
  /** Whether a router answers OPTIONS where nothing in it has, with the methods of its routes. */
  readonly answersOptions: boolean;
  /** Whether request signatures are checked, whose scope was worked out by these rules: no router may be looser. */
  readonly isSigned: boolean;
  /** The rules of a router without options of its own. */
  readonly plain: RoutingRules;
}

/** Options of `Router`. */
export interface RouterOptions {
  /** Whether `/A` and `/a` are two paths. @default as the application: `express()` sets it to false, the exact `createServer()` to true */
  caseSensitive?: boolean | undefined;
  /** Whether `/a/` and `/a` are two paths. @default as the application: `express()` sets it to false, the exact `createServer()` to true */
  strict?: boolean | undefined;
  /** Whether handlers see the parameters of the path that the router is mounted at. @default false in `express()`, as in Express; true in `createServer()` */
  mergeParams?: boolean | undefined;
}

type Meaning = Omit<RoutingRules, 'plain'>;

/** Makes an application's rules. @param plain How a router without options compares paths, where that is otherwise. */
export function makeRules(meaning: Meaning, plain: PathRules = meaning): RoutingRules {
  const rules = { ...meaning } as { -readonly [Name in keyof RoutingRules]: RoutingRules[Name] };
  rules.plain = plain === meaning || comparesAlike(plain, meaning) ? rules : makeRules({ ...meaning, ...plain });
  return Object.freeze(rules);
}

/** Rules of a router outside of any application: Express's. */
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
