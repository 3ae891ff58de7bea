import type { ScopeEntry } from '../../options/options';
import { EXACT, type PathRules } from '../../routing/patterns/path';
import { parsePattern, type Pattern } from '../../routing/patterns/pattern';
import type { Segment } from '../../routing/patterns/segment';
import { coarseSegments, Exclude, Include, LOOSE, withoutEmpty } from './scope-entry';
import { TargetViews } from './target-views';

const ASCII = /^[\0-\x7f]*$/;

/** A registered route or mount, as {@link SignatureScope.uncovered} takes it. */
export interface RegisteredRoute {
  /** Null for every method. */
  readonly method: string | null;
  /** The whole pattern, mount path included; `<prefix>/**` for a handler with its own routing. */
  readonly pattern: string | Pattern;
}

/**
 * The requests that the signature check applies to (INTERFACE section 5, rule 6).
 * It judges the path as received, before routing, so it holds two views of the
 * path: the router's own, and that of any other server, which might decode,
 * fold or resolve it further. An include counts if either view matches, an
 * exclude only on a path of which the views are the same. When in doubt, the
 * check runs.
 */
export class SignatureScope {
  readonly #includes: readonly Include[];
  readonly #excludes: readonly Exclude[];
  readonly #rules: PathRules;

  /**
   * @param include The requests to check; empty means every request.
   * @param exclude The exceptions.
   * @param rules How the router compares paths.
   * @throws TypeError for an entry that is no route pattern (INTERFACE section 4.2).
   */
  constructor(include: readonly ScopeEntry[], exclude: readonly ScopeEntry[], rules: PathRules) {
    this.#rules = rules;
    this.#includes = include.flatMap((entry) => Include.of(entry, rules));
    this.#excludes = exclude.flatMap((entry) => Exclude.of(entry));
  }

  /**
   * True for a request that must be signed.
   * @param method As received, in any case.
   * @param target As sent, up to its query; or its views, to share them between scopes.
   */
  requires(method: string, target: string | TargetViews): boolean {
    if (this.#includes.length === 0 && this.#excludes.length === 0) return true;
    // Beyond ASCII, handlers may compare lower or upper case with different results.
    const isNonAscii = !ASCII.test(method);
    const verb = method.toUpperCase();
    const views = typeof target === 'string' ? new TargetViews(target) : target;
    if (this.#includes.length > 0 && !this.#includesAs(verb, views) && !(isNonAscii && this.#includesAs(method.toLowerCase().toUpperCase(), views))) return false;
    // An exclude needs a plain path: router and handler may read others
    // differently, such as `/public/..%2fapi`.
    return !(views.isPlain && this.#excludesPlain(isNonAscii ? method : verb, views));
  }

  /** True for a route of which some requests must be signed. @param method In upper case. */
  requiresSome(method: string, segments: readonly Segment[]): boolean {
    const route = withoutEmpty(coarseSegments(segments));
    return !this.#excludes.some((entry) => entry.covers(method, route)) && (this.#includes.length === 0 || this.#includes.some((entry) => entry.meets(method, route)));
  }

  /**
   * The routes beneath an include's leading static segments that no include
   * covers: `/api/a/b` beneath `/api/*`. Routes that an exclude covers are left
   * out, as intended. Several entries that cover a route only together are not
   * recognized.
   */
  uncovered<R extends RegisteredRoute>(routes: readonly R[]): R[] {
    return routes.filter(({ method, pattern }) => {
      const alternatives = typeof pattern === 'string' ? parsePattern(pattern, LOOSE) : [pattern];
      return alternatives.some(({ segments }) => this.#misses(method?.toUpperCase() ?? null, withoutEmpty(coarseSegments(segments))));
    });
  }

  /** True if only some requests beneath a mount must be signed. @param pattern `<mount path>/**`. */
  divides({ segments }: Pattern): boolean {
    const route = withoutEmpty(coarseSegments(segments));
    if (this.#excludes.length === 0 && this.#includes.some((include) => include.covers(null, route))) return false;
    return this.#includes.length === 0 ? this.#excludes.length > 0 : this.#includes.some((include) => include.mayMatchBeneath(route));
  }

  #misses(method: string | null, route: readonly Segment[]): boolean {
    const covered = (entry: Include | Exclude): boolean => entry.covers(method, route);
    return this.#includes.some((include) => include.startsRoute(route)) && !this.#includes.some(covered) && !this.#excludes.some(covered);
  }

  #includesAs(verb: string, views: TargetViews): boolean {
    return views.isPlain ? this.#includesPlain(verb, views) : this.#includesOther(verb, views);
  }

  #includesPlain(verb: string, views: TargetViews): boolean {
    for (const include of this.#includes) {
      if (!include.appliesTo(verb) || !include.mayMatch(views.folded)) continue;
      if (include.matchesLoosely(views.loose) || (include.isCaseSensitive && include.matches(views.sent(this.#rules)))) return true;
    }
    return false;
  }

  #includesOther(verb: string, views: TargetViews): boolean {
    const { readings } = views;
    if (readings === null) return true;
    const { paths, tokens, fromAuthority } = readings;
    if (fromAuthority !== null && this.#includesOther(verb, fromAuthority)) return true;
    for (const include of this.#includes) {
      if (!include.appliesTo(verb)) continue;
      if (include.matches(views.sent(this.#rules)) || paths.some((path) => include.matchesAmbiguous(path))) return true;
      if (tokens !== null && include.mayMatchTokens(tokens)) return true;
    }
    return false;
  }

  #excludesPlain(verb: string, views: TargetViews): boolean {
    for (const exclude of this.#excludes) if (exclude.appliesTo(verb) && exclude.matches(views.sent(EXACT))) return true;
    return false;
  }
}
