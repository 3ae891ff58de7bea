import type { ScopeEntry } from '../../options/options';
import { Path, type PathRules } from '../../routing/patterns/path';
import { pathOf, pathStart } from '../../target';
import { parsePattern, type Pattern } from '../../routing/patterns/pattern';
import type { Segment } from '../../routing/patterns/segment';
import { canonical, tokens } from './canonical';
import { coarseSegments, EXACT, Exclude, Include, LOOSE, withoutEmpty } from './scope-entry';

// A path that every server reads alike but for the case of its letters: no
// escape, no backslash, `;`, `?`, `#`, control or non-ASCII character, no empty
// or dot segment, no trailing slash, no `.xJson`.
const PLAIN = /^(?:\/|(?:\/(?!\.{1,2}(?:\/|$))[!"$&-.0-:<->@-[\]-~]+)+)$/;
// RFC 9112 section 3.2.2. Where such a target's authority ends, URL parsers agree on only if it is a plain host and port.
const ORIGIN = /^https?:\/\/(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?(?=[/?#]|$)/i;
const SUFFIX = /\.xjson$/i;
const ASCII = /^[\0-\x7f]*$/;

/** Whether every server reads a path alike but for the case of its letters. */
export function isPlain(path: string): boolean {
  return PLAIN.test(path) && !SUFFIX.test(path);
}

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
   * @param path The target as sent, up to its query.
   */
  requires(method: string, path: string): boolean {
    if (this.#includes.length === 0 && this.#excludes.length === 0) return true;
    // What takes the request may compare by small letters or by capitals, which beyond ASCII is not the same.
    const isOdd = !ASCII.test(method);
    const verb = method.toUpperCase();
    const plain = isPlain(path);
    const includes = (one: string): boolean => (plain ? this.#includesPlain(one, path) : this.#includesOther(one, path));
    if (this.#includes.length > 0 && !includes(verb) && !(isOdd && includes(method.toLowerCase().toUpperCase()))) return false;
    // Of a path that is not plain the router may see an excluded side, and
    // what takes the request another: `/public/..%2fapi`.
    return !(plain && this.#excludesPlain(isOdd ? method : verb, path));
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

  #includesPlain(verb: string, path: string): boolean {
    const folded = path.toLowerCase();
    let loose: Path | undefined;
    let own: Path | undefined;
    for (const include of this.#includes) {
      if (!include.appliesTo(verb) || !include.mayHold(folded)) continue;
      if (include.matchesLoosely((loose ??= new Path(folded, LOOSE)))) return true;
      if (include.tellsCase && include.matches((own ??= new Path(path, this.#rules)))) return true;
    }
    return false;
  }

  #includesOther(verb: string, path: string): boolean {
    const sent = path.slice(pathStart(path)) || '/';
    const routed = pathOf(path);
    // RFC 9112 section 3.2: a target may be `*` or `host:port`. Neither holds a path to judge by.
    if (!sent.startsWith('/') || !routed.startsWith('/')) return true;
    if (path !== '' && !path.startsWith('/') && !ORIGIN.test(path)) return true;
    const form = canonical(sent);
    const pieces = form.ambiguous ? tokens(form.text) : undefined;
    const own = new Path(routed, this.#rules);
    const bare = new Path(form.path, LOOSE);
    const suffixed = form.suffixed === form.path ? bare : new Path(form.suffixed, LOOSE);
    // An Express router matches the path undecoded: to it `/a%3a` ends in `a`.
    const undecoded = new Path(sent.toLowerCase().replaceAll('%', '%25'), LOOSE);
    for (const include of this.#includes) {
      if (!include.appliesTo(verb)) continue;
      if (include.matches(own) || include.matchesDisguised(bare) || (suffixed !== bare && include.matchesDisguised(suffixed)) || include.matchesDisguised(undecoded)) return true;
      if (pieces !== undefined && include.mayStandIn(pieces)) return true;
    }
    return false;
  }

  #excludesPlain(verb: string, path: string): boolean {
    let exact: Path | undefined;
    for (const exclude of this.#excludes) {
      if (exclude.appliesTo(verb) && exclude.matches((exact ??= new Path(path, EXACT)))) return true;
    }
    return false;
  }
}
