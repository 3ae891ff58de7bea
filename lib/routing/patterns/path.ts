import { foldLetters } from './case';
import { decodeStatic, isWellEncoded } from './decoding';

/** Strictness of path comparison: the `routing` options of createServer. */
export interface PathRules {
  readonly caseSensitive: boolean;
  readonly ignoreTrailingSlash: boolean;
  readonly ignoreDuplicateSlashes: boolean;
  /**
   * True to read patterns as Express does. Then the first of several parameters
   * in a segment is greedy (else each is lazy), and `/` among several paths of
   * middleware is that path alone (else every path).
   */
  readonly asExpress?: boolean;
}

/** Rules for an exact comparison. */
export const EXACT: PathRules = Object.freeze({ caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false });

/**
 * A request path cut into segments. `raw` holds them as sent, `text` for
 * comparison with static text: percent-decoded except reserved characters and
 * `%` itself (RFC 3986 section 2.2: `%2F` is not `/`), and folded to lower case
 * where case does not matter.
 */
export class Path {
  /** The path as sent. */
  readonly sent: string;
  readonly rules: PathRules;
  readonly raw: readonly string[];
  readonly text: readonly string[];
  /** The engine's key: no escapes left, folded; see {@link engineText}. */
  readonly lookup: string;
  /** True when `lookup` is the path as sent: the engine's captures are the values. */
  readonly isPlain: boolean;
  /** True when it begins with a slash: a target such as `*` is no path. */
  readonly isPath: boolean;
  /** Results of {@link rest} and {@link by}: many patterns ask for the same. */
  #rests: Map<number, string> | null = null;
  #variants: Path[] | null = null;

  constructor(path: string, rules: PathRules) {
    const raw = splitPath(path, rules);
    const encoded = path.includes('%');
    this.sent = path;
    // 47 is "/".
    this.isPath = path.charCodeAt(0) === 47;
    this.rules = rules;
    this.raw = raw;
    this.text = !encoded && rules.caseSensitive ? raw : staticTexts(path, raw, encoded, rules);
    const lookup = '/' + this.text.join('/');
    this.lookup = encoded ? engineText(lookup) : lookup;
    this.isPlain = this.lookup === path;
  }

  /** End of the first `count` segments in the path as sent. */
  endOf(count: number): number {
    return prefixEnd(this.sent, count, this.rules);
  }

  /**
   * The rest of the path behind `count` segments, for an expression: decoded as
   * {@link text}, with its case and a slash at the end as sent, whatever the rules.
   */
  rest(count: number): string {
    const known = this.#rests?.get(count);
    if (known !== undefined) return known;
    const found = this.isPath ? this.#restText(count) : decodeStatic(this.sent);
    (this.#rests ??= new Map()).set(count, found);
    return found;
  }

  #restText(count: number): string {
    const segments = this.raw.slice(count);
    const text = segments.length === 0 ? '' : '/' + segments.map(decodeStatic).join('/');
    return this.#isSlashCut ? text + '/' : text;
  }

  /** The same path, compared by other rules. */
  by(rules: PathRules): Path {
    if (comparesAlike(this.rules, rules)) return this;
    const known = this.#variants?.find((other) => comparesAlike(other.rules, rules));
    if (known !== undefined) return known;
    const found = new Path(this.sent, rules);
    (this.#variants ??= []).push(found);
    return found;
  }

  get #isSlashCut(): boolean {
    const { sent, raw, rules } = this;
    if (!rules.ignoreTrailingSlash || sent.length < 2 || !sent.endsWith('/')) return false;
    // "//" is "/" when doubled slashes are one.
    return raw[0] !== '' || raw.length > 1 || !rules.ignoreDuplicateSlashes;
  }
}

function comparesAlike(a: PathRules, b: PathRules): boolean {
  return a.caseSensitive === b.caseSensitive && a.ignoreTrailingSlash === b.ignoreTrailingSlash && a.ignoreDuplicateSlashes === b.ignoreDuplicateSlashes;
}

/**
 * Segments for comparison with static text. Decoding and folding the whole path takes a third of the time of thousands of segments; no
 * escape becomes a slash. With malformed encoding each segment is decoded by itself, so that the others still are.
 */
function staticTexts(path: string, raw: string[], encoded: boolean, rules: PathRules): string[] {
  if (encoded && !(path.startsWith('/') && isWellEncoded(path))) return raw.map((segment) => fold(decodeStatic(segment), rules));
  const text = fold(encoded ? decodeStatic(path) : path, rules);
  return text === path ? raw : splitPath(text, rules);
}

/** Cuts a path that starts with `/` into segments by the rules. */
function splitPath(path: string, rules: PathRules): string[] {
  const rest = path.slice(1);
  let segments = rest.split('/');
  if (rules.ignoreDuplicateSlashes && (rest.startsWith('/') || rest.includes('//'))) {
    segments = segments.filter((segment, index) => segment !== '' || index === segments.length - 1);
  }
  if (rules.ignoreTrailingSlash && segments.length > 1 && segments[segments.length - 1] === '') segments.pop();
  return segments;
}

function prefixEnd(path: string, count: number, rules: PathRules): number {
  let end = 0;
  for (let taken = 0; taken < count; taken++) {
    let start = end + 1;
    if (rules.ignoreDuplicateSlashes) while (path[start] === '/') start++;
    end = path.indexOf('/', start);
    if (end === -1) return path.length;
  }
  return end;
}

/** Folds text where the rules ignore case. */
export function fold(text: string, rules: PathRules): string {
  return rules.caseSensitive ? text : foldLetters(text);
}

/**
 * Makes the engine's key of a path. The engine decodes its input; without any
 * `%` it has nothing to decode. Only segments that equal no static text still
 * hold a `%` here, so any replacement does.
 */
function engineText(path: string): string {
  return path.replace(/%/g, '\u0000');
}
