import { types } from 'node:util';
import type { Path, PathRules } from './path';
import { parseAlternatives } from './parser';
import type { Params } from './params';
import { captureSent, matchesSegment, namesOf, type Segment, type Tail } from './segment';
import { decodeCapture, decodeDeepCapture } from './decoding';
import { RegExpTail } from './regexp';

/**
 * A parsed route pattern (INTERFACE section 4.2), or one alternative of it.
 * Without the engine it matches paths and captures their parameters, in time
 * linear in the path.
 */
export class Pattern {
  /** The pattern as written; alternatives of one pattern share it. */
  readonly text: string;
  readonly segments: readonly Segment[];
  /** Indices of the `**` segments. */
  readonly deepIndices: readonly number[];
  /** The last segment, if it takes the rest of a path. */
  readonly tail: Tail | undefined;
  /** True when it captures nothing. */
  readonly capturesNothing: boolean;
  /** Names of its captures, in order. */
  readonly names: readonly string[];

  constructor(text: string, segments: readonly Segment[]) {
    this.text = text;
    this.segments = segments;
    this.deepIndices = segments.flatMap((segment, index) => (segment.kind === 'deep' ? [index] : []));
    const last = segments[segments.length - 1];
    this.tail = last?.kind === 'tail' ? last : undefined;
    this.names = [...new Set(namesOf(segments))];
    this.capturesNothing = this.names.length === 0;
  }

  /** True for a RegExp, whose text is not a pattern. */
  get isRegExp(): boolean {
    return this.tail?.isRegExp === true;
  }

  /** True for an expression alone, a RegExp or a wildcard without a slash before it: it may match targets that are no path. */
  get isExpression(): boolean {
    return this.tail !== undefined && this.segments.length === 1;
  }

  /** Returns true when the whole path matches. */
  matches(path: Path): boolean {
    return this.matchLength(path, false) !== -1;
  }

  /** Returns true when the path begins with a match. */
  matchesPrefix(path: Path): boolean {
    return this.matchLength(path, true) !== -1;
  }

  /** End of the match in a path as sent that begins with one. */
  prefixEnd(path: Path): number {
    const { tail } = this;
    return tail === undefined ? path.endOf(this.matchLength(path, true)) : this.tailEnd(tail, path, true);
  }

  /**
   * Captures the parameters of a path that matches.
   * @throws HttpError 400 when `strict` and a captured segment is malformed; else such a value is as sent.
   */
  capture(path: Path, prefix: boolean, strict: boolean): Params {
    const params: Params = {};
    const starts = this.starts(path, prefix);
    for (let i = 0; i < this.segments.length; i++) {
      const segment = this.segments[i] as Segment;
      const start = starts[i] as number;
      if (segment.kind === 'param') {
        params[segment.name] = decodeCapture(path.raw[start] as string, strict);
      } else if (segment.kind === 'mixed') {
        captureSent(segment, path.raw[start] as string, strict, params);
      } else if (segment.kind === 'deep') {
        const taken = path.raw.slice(start, starts[i + 1]);
        params['**'] = decodeDeepCapture(taken, strict);
      } else if (segment.kind === 'tail') {
        segment.capture(path, i, prefix, strict, params);
      }
    }
    return params;
  }

  /** Number of segments that match from the start, with a tail any number; -1 for no match (of all unless `prefix`). */
  private matchLength(path: Path, prefix: boolean): number {
    if (!path.isPath && !this.isExpression) return prefix && this.segments.length === 0 ? 0 : -1;
    if (this.tail !== undefined) return this.tailEnd(this.tail, path, prefix);
    if (this.deepIndices.length > 0) {
      const starts = this.placeDeep(path, prefix);
      return starts === undefined ? -1 : starts[this.segments.length] as number;
    }
    const { length } = this.segments;
    const available = path.raw.length;
    if (prefix ? available < length : available !== length) return -1;
    return this.matchesBlock(path, 0, length, 0) ? length : -1;
  }

  private tailEnd(tail: Tail, path: Path, prefix: boolean): number {
    const head = this.segments.length - 1;
    if (path.raw.length < head || !this.matchesBlock(path, 0, head, 0)) return -1;
    return tail.end(path, head, prefix);
  }

  /** Matches the pattern's segments `from` to `to` against the path's from `start` on. */
  private matchesBlock(path: Path, from: number, to: number, start: number): boolean {
    for (let i = from; i < to; i++) {
      if (!matchesSegment(this.segments[i] as Segment, path, start + i - from)) return false;
    }
    return true;
  }

  private starts(path: Path, prefix: boolean): readonly number[] {
    if (this.deepIndices.length > 0) return this.placeDeep(path, prefix) as readonly number[];
    return Array.from({ length: this.segments.length + 1 }, (_, index) => index);
  }

  /**
   * Finds the start of each segment in the path, and the end of the last. `**`
   * is greedy, the first one most: the blocks between are placed from the
   * right, each as far right as it fits. That leaves the most room for those on
   * its left, so the search never backtracks and stays linear.
   */
  private placeDeep(path: Path, prefix: boolean): number[] | undefined {
    const { segments, deepIndices } = this;
    const total = path.raw.length;
    const starts = new Array<number>(segments.length + 1);
    let right = total;
    for (let d = deepIndices.length - 1; d >= 0; d--) {
      const from = (deepIndices[d] as number) + 1;
      const last = d === deepIndices.length - 1;
      const to = last ? segments.length : deepIndices[d + 1] as number;
      const floor = deepIndices[0] as number;
      const start = this.placeBlock(path, from, to, right, floor + 1, last, last && !(prefix && to > from));
      if (start === -1) return undefined;
      for (let i = from; i <= to; i++) starts[i] = start + i - from;
      right = start - 1;
    }
    const head = deepIndices[0] as number;
    if (!this.matchesBlock(path, 0, head, 0) || path.raw[head] === '' || head >= (starts[head + 1] as number)) return undefined;
    for (let i = 0; i <= head; i++) starts[i] = i;
    return starts;
  }

  private placeBlock(path: Path, from: number, to: number, right: number, floor: number, last: boolean, anchored: boolean): number {
    for (let start = right - (to - from); start >= floor; start--) {
      const room = last || path.raw[start + to - from] !== '';
      if (room && this.matchesBlock(path, from, to, start)) return start;
      if (anchored) return -1;
    }
    return -1;
  }
}

/**
 * Parses the path of a route: the alternatives of a pattern, of which the first
 * that matches counts, or a RegExp.
 * @throws TypeError that names the pattern and says what to write instead.
 */
export function parsePattern(given: unknown, rules: PathRules): Pattern[] {
  return parse(given, rules, false);
}

/** Parses the path of middleware or a mount: `/` and a trailing slash add no segment. */
export function parsePrefix(given: unknown, rules: PathRules): Pattern[] {
  return parse(given, rules, true);
}

/** Parses several such paths: in Express's dialect `/` among them is that path alone. */
export function parsePrefixes(given: readonly unknown[], rules: PathRules): Pattern[] {
  const isList = given.length > 1 && rules.asExpress === true;
  return given.flatMap((path) => parse(path, rules, true, isList && path === '/' ? '/{}' : path));
}

/** @param read The text to parse, if not the given one. */
function parse(given: unknown, rules: PathRules, prefix: boolean, read = given): Pattern[] {
  if (types.isRegExp(given)) return [new Pattern(String(given), [new RegExpTail(given)])];
  // As in Express an empty path is "/".
  const text = given === '' ? '/' : (given as string);
  return parseAlternatives(read === '' ? '/' : read, rules, prefix).map((segments) => new Pattern(text, segments));
}
