import { foldLetters } from './case';
import { decodeStatic, isWellEncoded } from './decoding';

/** How strictly paths are compared; the `routing` options of createServer. */
export interface PathRules {
  readonly caseSensitive: boolean;
  readonly ignoreTrailingSlash: boolean;
  readonly ignoreDuplicateSlashes: boolean;
  /**
   * Whether patterns that Express reads otherwise are read as there. Of several
   * parameters in a segment the first takes the most it can (else each takes
   * the least), and of several paths of middleware `/` is that path alone (else every path).
   */
  readonly asExpress?: boolean;
}

/**
 * A request path cut into segments. `raw` holds them as sent, `text` as static
 * parts of patterns are compared: percent-decoded but for reserved characters
 * and `%` itself (RFC 3986 section 2.2: `%2F` is not `/`), folded to lower
 * case where case does not matter.
 */
export class Path {
  /** As given. */
  readonly sent: string;
  readonly rules: PathRules;
  readonly raw: readonly string[];
  readonly text: readonly string[];
  /** What the engine is asked for: no escapes left, folded; see {@link engineText}. */
  readonly lookup: string;
  /**
   * Whether `lookup` is the path as sent, so that what the engine captured is
   * the value itself and need not be worked out again.
   */
  readonly plain: boolean;
  /** Whether it begins with a slash: a target such as `*` is no path, whatever follows in it. */
  readonly isPath: boolean;
  /** What was asked for behind some number of segments, and by other rules: many patterns ask for the same. */
  #behind: Map<number, string> | null = null;
  #others: Path[] | null = null;

  constructor(path: string, rules: PathRules) {
    const raw = splitPath(path, rules);
    const encoded = path.includes('%');
    this.sent = path;
    // 47 is "/".
    this.isPath = path.charCodeAt(0) === 47;
    this.rules = rules;
    this.raw = raw;
    this.text = !encoded && rules.caseSensitive ? raw : textOf(path, raw, encoded, rules);
    const lookup = '/' + this.text.join('/');
    this.lookup = encoded ? engineText(lookup) : lookup;
    this.plain = this.lookup === path;
  }

  /** Where in the path as sent its first `count` segments end. */
  endOf(count: number): number {
    return prefixEnd(this.sent, count, this.rules);
  }

  /**
   * What stands behind the first `count` segments, as an expression sees it: as
   * {@link text}, but in the case that was sent, and with a slash at its end though the rules ignore that.
   */
  behind(count: number): string {
    const known = this.#behind?.get(count);
    if (known !== undefined) return known;
    const found = this.isPath ? this.#textBehind(count) : decodeStatic(this.sent);
    (this.#behind ??= new Map()).set(count, found);
    return found;
  }

  #textBehind(count: number): string {
    const segments = this.raw.slice(count);
    const text = segments.length === 0 ? '' : '/' + segments.map(decodeStatic).join('/');
    return this.#isSlashCut ? text + '/' : text;
  }

  /** The same path, compared by other rules. */
  by(rules: PathRules): Path {
    if (cutsAlike(this.rules, rules)) return this;
    const known = this.#others?.find((other) => cutsAlike(other.rules, rules));
    if (known !== undefined) return known;
    const found = new Path(this.sent, rules);
    (this.#others ??= []).push(found);
    return found;
  }

  get #isSlashCut(): boolean {
    const { sent, raw, rules } = this;
    if (!rules.ignoreTrailingSlash || sent.length < 2 || !sent.endsWith('/')) return false;
    // Where doubled slashes are one, "//" is "/".
    return raw[0] !== '' || raw.length > 1 || !rules.ignoreDuplicateSlashes;
  }
}

function cutsAlike(a: PathRules, b: PathRules): boolean {
  return a.caseSensitive === b.caseSensitive && a.ignoreTrailingSlash === b.ignoreTrailingSlash && a.ignoreDuplicateSlashes === b.ignoreDuplicateSlashes;
}

/**
 * The segments as static parts of patterns are compared. Decoded and folded as a whole, which takes a third of the time where a client sends
 * thousands: no escape becomes a slash. Where some encoding is malformed, each by itself, since the others are decoded.
 */
function textOf(path: string, raw: string[], encoded: boolean, rules: PathRules): string[] {
  if (encoded && !(path.startsWith('/') && isWellEncoded(path))) return raw.map((segment) => fold(decodeStatic(segment), rules));
  const text = fold(encoded ? decodeStatic(path) : path, rules);
  return text === path ? raw : splitPath(text, rules);
}

/** Cuts a path that starts with `/` into segments, as the rules have it. */
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

/** Folds text as the rules have it, where they do. */
export function fold(text: string, rules: PathRules): string {
  return rules.caseSensitive ? text : foldLetters(text);
}

/**
 * A path as the engine may see it. The engine decodes what it is given; with
 * every `%` gone it has nothing to decode, and no trap of its decoding is met.
 * Only segments that no static text equals still hold a `%` here, so which
 * character takes its place is of no account.
 */
function engineText(path: string): string {
  return path.replace(/%/g, '\u0000');
}
