import type { ScopeEntry } from '../../options/options';
import type { Path, PathRules } from '../../routing/patterns/path';
import { parsePattern, Pattern } from '../../routing/patterns/pattern';
import type { Segment } from '../../routing/patterns/segment';
import { canonicalPath, tokens } from './canonical';

/** Compares exactly; for paths that leave nothing to canonicalise. */
export const EXACT: PathRules = { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false };
/** Compares what the most lenient of routers would take for equal. */
export const LOOSE: PathRules = { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true };

/** Compares as Express does, in which a wildcard takes empty segments. */
const EXPRESS: PathRules = { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: false };

abstract class Entry {
  /** One alternative of the pattern under {@link LOOSE}: static text in lower case, no needless empty segment. */
  protected readonly loose: Pattern;
  protected readonly methods: readonly string[] | undefined;

  constructor(loose: Pattern, methods: readonly string[] | undefined) {
    this.loose = new Pattern(loose.text, plainSegments(loose.segments));
    this.methods = methods?.map((method) => method.toUpperCase());
  }

  abstract appliesTo(method: string): boolean;

  /** Whether every request that a route takes is surely one of this entry's. */
  covers(method: string | null, route: readonly Segment[]): boolean {
    if (method === null ? this.methods !== undefined : !this.appliesTo(method)) return false;
    const own = withoutEmpty(this.loose.segments);
    if (own.length === route.length && own.every((segment, index) => shapeOf(segment) === shapeOf(route[index]))) return true;
    const deep = own.findIndex((segment) => segment.kind === 'deep');
    if (deep === -1) return own.length === route.length && own.every((segment, index) => coversSegment(segment, route[index]));
    return deep === own.length - 1 && own.slice(0, deep).every((segment, index) => coversSegment(segment, route[index]));
  }
}

/** An entry of `includeRoutes`: what is checked. */
export class Include extends Entry {
  readonly #own: Pattern;
  /** For a path with a wildcard that may take no more than slashes, which no other view would show; else undefined. */
  readonly #lenient: Pattern | undefined;
  readonly #views: readonly Pattern[];
  /** Where a wildcard shares its segment: all that may be meant by a path that servers read in several ways. */
  readonly #coarse: Pattern | undefined;
  readonly #head: readonly string[];
  readonly #start: string;
  readonly #tokens: readonly string[];
  readonly #mindsCase: boolean;

  private constructor(loose: Pattern, own: Pattern, lenient: Pattern, methods: readonly string[] | undefined) {
    super(loose, methods);
    const { segments } = this.loose;
    this.#own = own;
    this.#lenient = lenient.tail === undefined ? undefined : lenient;
    const decoded = decodedPattern(this.loose);
    this.#views = (decoded === this.loose ? [decoded] : [this.loose, decoded]).flatMap(withAbove);
    this.#coarse = this.loose.tail === undefined ? undefined : new Pattern(loose.text, coarseSegments(segments));
    const end = segments.findIndex((segment) => segment.kind !== 'static');
    this.#head = withoutEmpty(segments.slice(0, end === -1 ? undefined : end)).map(textOf);
    this.#start = decoded === this.loose ? '/' + this.#head.join('/') : '/';
    this.#tokens = segments.flatMap((segment) => (segment.kind === 'static' ? tokens(segment.text) : []));
    // What follows a wildcard within a segment ends where a text comes again, in whatever case: capitals may keep it from ending.
    this.#mindsCase = segments.some((segment) => segment.kind === 'tail' || (segment.kind === 'mixed' && segment.regex !== undefined));
  }

  /** One for each alternative that an entry's pattern has. @param rules How the router compares paths. */
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

  /** A cheap test that a plain path in lower case must pass to match. */
  mayHold(folded: string): boolean {
    return folded.startsWith(this.#start);
  }

  /** The router's view. */
  matches(path: Path): boolean {
    return this.#own.matches(path) || this.#lenient?.matches(path.by(EXPRESS)) === true;
  }

  /** Whether the router's view may see more of plain paths than the loose one: a constraint may ask for capitals. */
  get tellsCase(): boolean {
    return this.#mindsCase;
  }

  /** The view of the most lenient server; `/p/**` matches `/p` too. */
  matchesLoosely(path: Path): boolean {
    for (const view of this.#views) if (view.matches(path)) return true;
    return false;
  }

  /** The same of a path that is not plain. */
  matchesDisguised(path: Path): boolean {
    return this.matchesLoosely(path) || this.#coarse?.matches(path) === true;
  }

  /** Whether some reading of an ambiguous path might match: all static segments are there, in their order. */
  mayStandIn(pieces: readonly string[]): boolean {
    let next = 0;
    return this.#tokens.every((token) => (next = pieces.indexOf(token, next) + 1) > 0);
  }

  /** Whether a route begins with the static segments that this entry begins with. */
  isAbove(route: readonly Segment[]): boolean {
    return this.#head.every((text, index) => {
      const segment = route[index];
      return segment?.kind === 'static' && segment.text.toLowerCase() === text;
    });
  }

  /** Whether what this entry names may lie beneath a route, as far as the static segments at the head of both tell. */
  mayLieBeneath(route: readonly Segment[]): boolean {
    return this.#head.every((text, index) => {
      const segment = route[index];
      return segment?.kind !== 'static' || segment.text.toLowerCase() === text;
    });
  }
}

/** An entry of `excludeRoutes`: what is taken away from it. */
export class Exclude extends Entry {
  readonly #exact: Pattern;

  private constructor(loose: Pattern, exact: Pattern, methods: readonly string[] | undefined) {
    super(loose, methods);
    this.#exact = exact;
  }

  /** One for each alternative that an entry's pattern has. */
  static of(entry: ScopeEntry): Exclude[] {
    const { path, methods } = read(entry);
    const exact = parsePattern(path, EXACT);
    return parsePattern(path, LOOSE).map((loose, index) => new Exclude(loose, exact[index] as Pattern, methods));
  }

  /** HEAD is not exempt by GET: it must be named. */
  appliesTo(method: string): boolean {
    return this.methods === undefined || this.methods.includes(method);
  }

  /** Only an include's `/p/**` holds `/p` too. */
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

/** Segments with those in the place of a tail that take at least the same, where there are some; never none. */
function plainSegments(segments: readonly Segment[]): readonly Segment[] {
  const last = segments[segments.length - 1];
  if (last?.kind !== 'tail' || last.segments === null) return segments;
  const plain = [...segments.slice(0, -1), ...last.segments];
  return plain.length === 0 ? [{ kind: 'static', text: '' }] : plain;
}

/** The same, with `**` for a tail that has none. */
export function coarseSegments(segments: readonly Segment[]): readonly Segment[] {
  return plainSegments(segments).map((segment) => (segment.kind === 'tail' ? { kind: 'deep' } : segment));
}

/** Segments without the empty ones, which a trailing slash or `/` itself leaves. */
export function withoutEmpty(segments: readonly Segment[]): Segment[] {
  return segments.filter((segment) => segment.kind !== 'static' || segment.text !== '');
}

/** The pattern with its static text as the canonical form of a path would hold it; itself when that is the same. */
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
function withAbove(pattern: Pattern): Pattern[] {
  const { segments, text } = pattern;
  if (segments[segments.length - 1]?.kind !== 'deep') return [pattern];
  const above: readonly Segment[] = segments.length === 1 ? [{ kind: 'static', text: '' }] : segments.slice(0, -1);
  return [pattern, new Pattern(text, above)];
}

function coversSegment(own: Segment, other: Segment | undefined): boolean {
  if (other === undefined || other.kind === 'deep') return false;
  return own.kind === 'param' || shapeOf(own) === shapeOf(other);
}

/** A segment without the names of its parameters, as text to compare. */
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
