import type { ScopeEntry } from '../../options/options';
import type { PathRules } from '../../routing/patterns/path';
import { parsePattern, type Pattern } from '../../routing/patterns/pattern';
import type { Segment } from '../../routing/patterns/segment';
import { coarseSegments, EXACT, Exclude, Include, LOOSE, withoutEmpty } from './scope-entry';
import { TargetViews } from './target-views';

const ASCII = /^[\0-\x7f]*$/;

/** A registered route or mount, as {@link SignatureScope.uncovered} takes it. */
export interface RegisteredRoute {
  /** Null stands for every method. */
  readonly method: string | null;
  /** The whole pattern, mount path included. What routes by itself beneath a prefix is `<prefix>/**`. */
  readonly pattern: string | Pattern;
}

/**
 * Which requests the signature check applies to (INTERFACE section 5, rule 6).
 * It is asked about the path as received and does not know what will take the
 * request, so it holds two views of the path: the router's own, and that of
 * any other server, which might decode, fold or resolve it further. An include
 * counts if either view sees it, an exclude only where views cannot differ.
 * When in doubt, the check runs.
 */
export class SignatureScope {
  readonly #includes: readonly Include[];
  readonly #excludes: readonly Exclude[];
  readonly #rules: PathRules;

  /**
   * @param include What is checked; empty means every request.
   * @param exclude What is taken away from it.
   * @param rules How the router compares paths.
   * @throws TypeError for an entry that is no route pattern (INTERFACE section 4.2).
   */
  constructor(include: readonly ScopeEntry[], exclude: readonly ScopeEntry[], rules: PathRules) {
    this.#rules = rules;
    this.#includes = include.flatMap((entry) => Include.of(entry, rules));
    this.#excludes = exclude.flatMap((entry) => Exclude.of(entry));
  }

  /**
   * Whether a request must be signed.
   * @param method As received, in any case.
   * @param target As sent, up to its query; its views where several scopes are asked about it.
   */
  requires(method: string, target: string | TargetViews): boolean {
    if (this.#includes.length === 0 && this.#excludes.length === 0) return true;
    // What takes the request may compare by small letters or by capitals, which beyond ASCII is not the same.
    const isOdd = !ASCII.test(method);
    const verb = method.toUpperCase();
    const views = typeof target === 'string' ? new TargetViews(target) : target;
    if (this.#includes.length > 0 && !this.#includesAs(verb, views) && !(isOdd && this.#includesAs(method.toLowerCase().toUpperCase(), views))) return false;
    // Of a path that is not plain the router may see an excluded side, and
    // what takes the request another: `/public/..%2fapi`.
    return !(views.isPlain && this.#excludesPlain(isOdd ? method : verb, views));
  }

  /**
   * The routes that lie beneath the static segments at the head of an include
   * and that no include covers: `/api/a/b` beneath `/api/*`. Those that an
   * exclude covers are left out, since somebody thought of them. Several
   * entries that cover a route only together are not seen to.
   */
  uncovered<R extends RegisteredRoute>(routes: readonly R[]): R[] {
    return routes.filter(({ method, pattern }) => {
      const alternatives = typeof pattern === 'string' ? parsePattern(pattern, LOOSE) : [pattern];
      return alternatives.some(({ segments }) => this.#misses(method?.toUpperCase() ?? null, withoutEmpty(coarseSegments(segments))));
    });
  }

  /** Whether some of what lies beneath a mount has to be signed, and some has not. @param pattern `<mount path>/**`. */
  divides({ segments }: Pattern): boolean {
    const route = withoutEmpty(coarseSegments(segments));
    if (this.#excludes.length === 0 && this.#includes.some((include) => include.covers(null, route))) return false;
    return this.#includes.length === 0 ? this.#excludes.length > 0 : this.#includes.some((include) => include.mayLieBeneath(route));
  }

  #misses(method: string | null, route: readonly Segment[]): boolean {
    const covered = (entry: Include | Exclude): boolean => entry.covers(method, route);
    return this.#includes.some((include) => include.isAbove(route)) && !this.#includes.some(covered) && !this.#excludes.some(covered);
  }

  #includesAs(verb: string, views: TargetViews): boolean {
    return views.isPlain ? this.#includesPlain(verb, views) : this.#includesOther(verb, views);
  }

  #includesPlain(verb: string, views: TargetViews): boolean {
    for (const include of this.#includes) {
      if (!include.appliesTo(verb) || !include.mayHold(views.folded)) continue;
      if (include.matchesLoosely(views.loose) || (include.tellsCase && include.matches(views.sent(this.#rules)))) return true;
    }
    return false;
  }

  #includesOther(verb: string, views: TargetViews): boolean {
    const { disguise } = views;
    if (disguise === null) return true;
    const { paths, pieces, behindScheme } = disguise;
    if (behindScheme !== null && this.#includesOther(verb, behindScheme)) return true;
    for (const include of this.#includes) {
      if (!include.appliesTo(verb)) continue;
      if (include.matches(views.sent(this.#rules)) || paths.some((path) => include.matchesDisguised(path))) return true;
      if (pieces !== null && include.mayStandIn(pieces)) return true;
    }
    return false;
  }

  #excludesPlain(verb: string, views: TargetViews): boolean {
    for (const exclude of this.#excludes) if (exclude.appliesTo(verb) && exclude.matches(views.sent(EXACT))) return true;
    return false;
  }
}
