import type { ScopeEntry } from '../../options/options';
import { EXACT, Path, type PathRules } from '../../routing/patterns/path';
import { parsePattern, Pattern } from '../../routing/patterns/pattern';
import type { Segment } from '../../routing/patterns/segment';
import { canonicalPath, tokens } from './canonical';

/** Rules of the most lenient router. */
export const LOOSE: PathRules = { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true };

/** Rules of Express, in which a wildcard matches empty segments. */
const EXPRESS: PathRules = { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: false };

abstract class Entry {
  /** One alternative of the pattern under {@link LOOSE}: static text in lower case, no redundant empty segment. */
  protected readonly loose: Pattern;
  protected readonly methods: readonly string[] | undefined;

  constructor(loose: Pattern, methods: readonly string[] | undefined) {
    this.loose = new Pattern(loose.text, plainSegments(loose.segments));
    this.methods = methods?.map((method) => method.toUpperCase());
  }

  abstract appliesTo(method: string): boolean;

  /** True if the entry surely matches every request of a route. */
  covers(method: string | null, route: readonly Segment[]): boolean {
    if (method === null ? this.methods !== undefined : !this.appliesTo(method)) return false;
    const own = withoutEmpty(this.loose.segments);
    if (own.length === route.length && own.every((segment, index) => shapeOf(segment) === shapeOf(route[index]))) return true;
    const deep = own.findIndex((segment) => segment.kind === 'deep');
    if (deep === -1) return own.length === route.length && own.every((segment, index) => coversSegment(segment, route[index]));
    return deep === own.length - 1 && own.slice(0, deep).every((segment, index) => coversSegment(segment, route[index]));
  }

  /** True if the entry may match some request of a route. */
  meets(method: string, route: readonly Segment[]): boolean {
    return this.appliesTo(method) && patternsOverlap(withoutEmpty(this.loose.segments), route);
  }
}

/** An entry of `includeRoutes`. */
export class Include extends Entry {
  readonly #own: Pattern;
  /** The pattern by {@link EXPRESS}, if its wildcard may match only slashes; else undefined. */
  readonly #lenient: Pattern | undefined;
  readonly #views: readonly Pattern[];
  /** The widest match for ambiguous paths, if a wildcard shares its segment; else undefined. */
  readonly #coarse: Pattern | undefined;
  readonly #head: readonly string[];
  readonly #start: string;
  readonly #tokens: readonly string[];
  readonly #isCaseSensitive: boolean;

  private constructor(loose: Pattern, own: Pattern, lenient: Pattern, methods: readonly string[] | undefined) {
    super(loose, methods);
    const { segments } = this.loose;
    this.#own = own;
    this.#lenient = lenient.tail === undefined ? undefined : lenient;
    const decoded = decodedPattern(this.loose);
    this.#views = (decoded === this.loose ? [decoded] : [this.loose, decoded]).flatMap(withParent);
    this.#coarse = this.loose.tail === undefined ? undefined : new Pattern(loose.text, coarseSegments(segments));
    const end = segments.findIndex((segment) => segment.kind !== 'static');
    this.#head = withoutEmpty(segments.slice(0, end === -1 ? undefined : end)).map(textOf);
    this.#start = decoded === this.loose ? '/' + this.#head.join('/') : '/';
    this.#tokens = segments.flatMap((segment) => (segment.kind === 'static' ? tokens(segment.text) : []));
    // A wildcard within a segment ends at its following text, whose case can decide.
    this.#isCaseSensitive = segments.some((segment) => segment.kind === 'tail' || (segment.kind === 'mixed' && segment.regex !== undefined));
  }

  /** One for each alternative of an entry's pattern. @param rules How the router compares paths. */
  static of(entry: ScopeEntry, rules: PathRules): Include[] {
    const { path, methods } = read(entry);
    const own = parsePattern(path, rules);
    const lenient = parsePattern(path, EXPRESS);
    return parsePattern(path, LOOSE).map((loose, index) => new Include(loose, own[index] as Pattern, lenient[index] as Pattern, methods));
  }

  /** A GET route answers HEAD too. */
  appliesTo(method: string): boolean {
    return this.methods === undefined || this.methods.includes(method) || (method === 'HEAD' && this.methods.includes('GET'));
  }

  /** A cheap necessary test for a plain path in lower case. */
  mayMatch(folded: string): boolean {
    return folded.startsWith(this.#start);
  }

  /** The router's view. */
  matches(path: Path): boolean {
    return this.#own.matches(path) || this.#lenient?.matches(path.by(EXPRESS)) === true;
  }

  /** True if the router may match plain paths that the loose view does not: a constraint may require capitals. */
  get isCaseSensitive(): boolean {
    return this.#isCaseSensitive;
  }

  /** The view of the most lenient server; `/p/**` matches `/p` too. */
  matchesLoosely(path: Path): boolean {
    for (const view of this.#views) if (view.matches(path)) return true;
    return false;
  }

  /** The same for a path that is not plain. */
  matchesAmbiguous(path: Path): boolean {
    return this.matchesLoosely(path) || this.#coarse?.matches(path) === true;
  }

  /** True if some reading of an ambiguous path might match: all static segments occur, in order. */
  mayMatchTokens(tokens: readonly string[]): boolean {
    let next = 0;
    return this.#tokens.every((token) => (next = tokens.indexOf(token, next) + 1) > 0);
  }

  /** True for a route with the same leading static segments. */
  startsRoute(route: readonly Segment[]): boolean {
    return this.#head.every((text, index) => {
      const segment = route[index];
      return segment?.kind === 'static' && segment.text.toLowerCase() === text;
    });
  }

  /** True if the entry may match paths beneath a route, judged by leading static segments. */
  mayMatchBeneath(route: readonly Segment[]): boolean {
    return this.#head.every((text, index) => {
      const segment = route[index];
      return segment?.kind !== 'static' || segment.text.toLowerCase() === text;
    });
  }
}

/** An entry of `excludeRoutes`. */
export class Exclude extends Entry {
  readonly #exact: Pattern;

  private constructor(loose: Pattern, exact: Pattern, methods: readonly string[] | undefined) {
    super(loose, methods);
    this.#exact = exact;
  }

  /** One for each alternative of an entry's pattern. */
  static of(entry: ScopeEntry): Exclude[] {
    const { path, methods } = read(entry);
    const exact = parsePattern(path, EXACT);
    return parsePattern(path, LOOSE).map((loose, index) => new Exclude(loose, exact[index] as Pattern, methods));
  }

  /** Unlike in an include, GET does not imply HEAD. */
  appliesTo(method: string): boolean {
    return this.methods === undefined || this.methods.includes(method);
  }

  /** Unlike an include's, its `/p/**` does not match `/p`. */
  override covers(method: string | null, route: readonly Segment[]): boolean {
    return route.length >= withoutEmpty(this.loose.segments).length && super.covers(method, route);
  }

  matches(path: Path): boolean {
    return this.#exact.matches(path);
  }
}

function read(entry: ScopeEntry): Extract<ScopeEntry, object> {
  return typeof entry === 'string' ? { path: entry } : entry;
}

/** Segments with a tail replaced by its wider segments, if it has any; never empty. */
function plainSegments(segments: readonly Segment[]): readonly Segment[] {
  const last = segments[segments.length - 1];
  if (last?.kind !== 'tail' || last.segments === null) return segments;
  const plain = [...segments.slice(0, -1), ...last.segments];
  return plain.length === 0 ? [{ kind: 'static', text: '' }] : plain;
}

/** The same, with `**` for a tail without segments. */
export function coarseSegments(segments: readonly Segment[]): readonly Segment[] {
  return plainSegments(segments).map((segment) => (segment.kind === 'tail' ? { kind: 'deep' } : segment));
}

/** Segments without the empty ones of a trailing slash or of `/` itself. */
export function withoutEmpty(segments: readonly Segment[]): Segment[] {
  return segments.filter((segment) => segment.kind !== 'static' || segment.text !== '');
}

/** The pattern with its static text in canonical form; itself if unchanged. */
function decodedPattern(pattern: Pattern): Pattern {
  let same = true;
  const segments = pattern.segments.flatMap((segment): Segment | Segment[] => {
    if (segment.kind !== 'static') return segment;
    const text = canonicalPath('/' + segment.text).slice(1);
    if (text === segment.text) return segment;
    same = false;
    return text.split('/').filter((part) => part !== '').map((part) => ({ kind: 'static', text: part }));
  });
  return same ? pattern : new Pattern(pattern.text, segments);
}

/** The pattern, and for `/p/**` that of `/p`. */
function withParent(pattern: Pattern): Pattern[] {
  const { segments, text } = pattern;
  if (segments[segments.length - 1]?.kind !== 'deep') return [pattern];
  const above: readonly Segment[] = segments.length === 1 ? [{ kind: 'static', text: '' }] : segments.slice(0, -1);
  return [pattern, new Pattern(text, above)];
}

function coversSegment(own: Segment, other: Segment | undefined): boolean {
  if (other === undefined || other.kind === 'deep') return false;
  return own.kind === 'param' || shapeOf(own) === shapeOf(other);
}

/** A comparable text of a segment, without parameter names. */
export function shapeOf(segment: Segment | undefined): string {
  if (segment === undefined) return '';
  if (segment.kind === 'static') return `=${segment.text.toLowerCase()}`;
  if (segment.kind === 'tail') return `${segment.kind} ${segment.source}`;
  if (segment.kind !== 'mixed') return segment.kind;
  return JSON.stringify(segment.parts.map((part) => (part.kind === 'text' ? part.text.toLowerCase() : [part.constraint ?? null])));
}

function textOf(segment: Segment): string {
  return segment.kind === 'static' ? segment.text : '';
}

/**
 * True if some path is in the scope of both patterns. As in the scope, a final
 * `**` may match nothing. Two unlike segments with parts or constraints count as
 * disjoint; a request that matches both is refused when it comes.
 */
export function patternsOverlap(a: readonly Segment[], b: readonly Segment[]): boolean {
  const [first, ...rest] = a;
  const [other, ...others] = b;
  if (first === undefined && other === undefined) return true;
  if (other?.kind === 'deep' && first?.kind !== 'deep') return patternsOverlap(b, a);
  if (first?.kind === 'deep') {
    if (rest.length === 0 && patternsOverlap(rest, b)) return true;
    if (other === undefined) return false;
    // The `**` takes one segment of the path, as its last one or not.
    return patternsOverlap(rest, others) || patternsOverlap(a, others) || (other.kind === 'deep' && patternsOverlap(rest, b));
  }
  return first !== undefined && other !== undefined && segmentsOverlap(first, other) && patternsOverlap(rest, others);
}

/** True if one segment of a path may match both. */
function segmentsOverlap(a: Segment, b: Segment): boolean {
  if (a.kind === 'param' || b.kind === 'param') return true;
  if (a.kind === 'static') return new Pattern('', [b]).matches(new Path(`/${a.text}`, LOOSE));
  if (b.kind === 'static') return segmentsOverlap(b, a);
  return shapeOf(a) === shapeOf(b);
}
