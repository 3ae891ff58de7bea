import { HttpError } from '../errors';
import { decodeSegment, decodeSegments, foldCase, type Path, type PathRules } from './path';
import { parseSegments, type Part, type Segment } from './pattern-parser';

/** Captured values by name (INTERFACE section 2.1: `params`). */
export type Params = Record<string, string>;

/**
 * Makes an object like `{}`. V8 keeps room for four properties in a literal; one
 * that a function has made has as much as those before it were given. Each
 * middleware gets such an object, and hardly any looks at it.
 */
export const NoParams = function (): void {} as unknown as new () => Params;
NoParams.prototype = Object.prototype;

/**
 * A parsed route pattern (INTERFACE section 4.2). It knows no engine: it tells
 * by itself whether a path matches and what is captured, in time linear in the
 * path, so that whatever the engine can't express is decided here.
 */
export class Pattern {
  /** As written; across mounts, the parts joined. */
  readonly text: string;
  readonly segments: readonly Segment[];
  /** How many leading segments belong to the mount path of the router. */
  readonly mountLength: number;
  /** Where `**` stands. */
  readonly deeps: readonly number[];
  /** Whether it captures nothing. */
  readonly bare: boolean;

  constructor(text: string, segments: readonly Segment[], mountLength: number) {
    this.text = text;
    this.segments = segments;
    this.mountLength = mountLength;
    this.deeps = segments.flatMap((segment, index) => (segment.kind === 'deep' ? [index] : []));
    this.bare = segments.every((segment) => segment.kind === 'static');
  }

  /** Whether the whole path matches. */
  matches(path: Path): boolean {
    return this.locate(path, false) !== -1;
  }

  /** How many leading segments of the path match, -1 when they do not. */
  matchesPrefix(path: Path): number {
    return this.locate(path, true);
  }

  /**
   * What the pattern captures from a path that it matches.
   * @throws HttpError 400 when `strict` and a captured segment is malformed; else such a value is as sent.
   */
  capture(path: Path, prefix: boolean, strict: boolean): Params {
    const params: Params = {};
    const starts = this.starts(path, prefix);
    for (let i = 0; i < this.segments.length; i++) {
      const segment = this.segments[i] as Segment;
      const start = starts[i] as number;
      if (segment.kind === 'param') {
        params[segment.name] = decoded(path.raw[start] as string, strict);
      } else if (segment.kind === 'mixed') {
        captureMixed(segment, decoded(path.raw[start] as string, strict), params);
      } else if (segment.kind === 'deep') {
        const taken = path.raw.slice(start, starts[i + 1]);
        params['**'] = decodeSegments(taken) ?? refuseEncoding(taken.join('/'), strict);
      }
    }
    return params;
  }

  /** How many segments of a path that it matches as a whole lie in the mount path. */
  mountEnd(path: Path): number {
    return this.deeps.length === 0 ? this.mountLength : this.starts(path, false)[this.mountLength] as number;
  }

  /** How many segments match from the start, -1 when not (all of them unless `prefix`). */
  private locate(path: Path, prefix: boolean): number {
    if (this.deeps.length > 0) {
      const starts = this.place(path, prefix);
      return starts === undefined ? -1 : starts[this.segments.length] as number;
    }
    const { length } = this.segments;
    const available = path.raw.length;
    if (prefix ? available < length : available !== length) return -1;
    return this.blockAt(path, 0, length, 0) ? length : -1;
  }

  /** Whether the pattern's segments `from` to `to` match the path's from `start` on. */
  private blockAt(path: Path, from: number, to: number, start: number): boolean {
    for (let i = from; i < to; i++) {
      if (!matchesSegment(this.segments[i] as Segment, path, start + i - from)) return false;
    }
    return true;
  }

  private starts(path: Path, prefix: boolean): readonly number[] {
    if (this.deeps.length > 0) return this.place(path, prefix) as readonly number[];
    return Array.from({ length: this.segments.length + 1 }, (_, index) => index);
  }

  /**
   * Where each segment begins in the path, and where the last ends. `**` takes
   * as much as it can, the first one most: so the blocks between are placed
   * from the right, each as far right as it fits. That leaves the most room
   * for those on its left, so no placement ever has to be taken back and the
   * search stays linear.
   */
  private place(path: Path, prefix: boolean): number[] | undefined {
    const { segments, deeps } = this;
    const total = path.raw.length;
    const starts = new Array<number>(segments.length + 1);
    let right = total;
    for (let d = deeps.length - 1; d >= 0; d--) {
      const from = (deeps[d] as number) + 1;
      const last = d === deeps.length - 1;
      const to = last ? segments.length : deeps[d + 1] as number;
      const floor = deeps[0] as number;
      const start = this.placeBlock(path, from, to, right, floor + 1, last, last && !(prefix && to > from));
      if (start === -1) return undefined;
      for (let i = from; i <= to; i++) starts[i] = start + i - from;
      right = start - 1;
    }
    const head = deeps[0] as number;
    if (!this.blockAt(path, 0, head, 0) || path.raw[head] === '' || head >= (starts[head + 1] as number)) return undefined;
    for (let i = 0; i <= head; i++) starts[i] = i;
    return starts;
  }

  private placeBlock(path: Path, from: number, to: number, right: number, floor: number, last: boolean, anchored: boolean): number {
    for (let start = right - (to - from); start >= floor; start--) {
      const room = last || path.raw[start + to - from] !== '';
      if (room && this.blockAt(path, from, to, start)) return start;
      if (anchored) return -1;
    }
    return -1;
  }
}

/**
 * Parses a pattern as it is written in a registration.
 * @throws TypeError that names the pattern and says what to write instead.
 */
export function parsePattern(text: unknown, rules: PathRules): Pattern {
  return new Pattern(text as string, parseSegments(text, rules), 0);
}

/** A pattern as a prefix: `/` and a trailing slash add no segment. */
export function parsePrefix(text: unknown, rules: PathRules): Pattern {
  return trimmed(parsePattern(text, rules));
}

function trimmed(pattern: Pattern): Pattern {
  const last = pattern.segments[pattern.segments.length - 1];
  if (last?.kind !== 'static' || last.text !== '') return pattern;
  return new Pattern(pattern.text, pattern.segments.slice(0, -1), 0);
}

/**
 * The pattern of something registered in a router, under the path the router
 * is mounted at. A route `/` is the mount path itself (INTERFACE section 4.1).
 * @param prefix Whether `inner` is the path of middleware or a mount.
 */
export function joinPatterns(mount: Pattern, inner: Pattern, prefix: boolean): Pattern {
  const root = !prefix && inner.segments.length === 1 && mount.segments.length > 0 && isEmpty(inner.segments[0] as Segment);
  const segments = root ? mount.segments : [...mount.segments, ...inner.segments];
  const head = mount.text === '/' ? '' : mount.text.replace(/\/$/, '');
  const text = head + (inner.text === '/' && head !== '' ? '' : inner.text);
  return new Pattern(text, segments, mount.segments.length);
}

/** Everything beneath a pattern. */
export function beneath(pattern: Pattern): Pattern {
  return new Pattern(`${pattern.text}/**`, [...pattern.segments, { kind: 'deep' }], 0);
}

function isEmpty(segment: Segment): boolean {
  return segment.kind === 'static' && segment.text === '';
}

function matchesSegment(segment: Segment, path: Path, index: number): boolean {
  if (segment.kind === 'static') return path.text[index] === segment.text;
  const raw = path.raw[index] as string;
  if (raw === '') return false;
  if (segment.kind === 'param') return true;
  return segment.kind === 'mixed' && captureMixed(segment, decodeSegment(raw) ?? raw, undefined);
}

function decoded(raw: string, strict: boolean): string {
  return decodeSegment(raw) ?? refuseEncoding(raw, strict);
}

function refuseEncoding(raw: string, strict: boolean): string {
  if (strict) throw HttpError.of('MALFORMED_PATH');
  return raw;
}

type Mixed = Extract<Segment, { kind: 'mixed' }>;

/** Matches one decoded segment against a mixed one; writes what it captures into `params`. */
function captureMixed(segment: Mixed, text: string, params: Params | undefined): boolean {
  if (segment.regex !== undefined) return captureByRegex(segment.parts, segment.regex, text, params);
  return captureBetween(segment.parts, text, segment.folded ? foldCase(text) : text, params);
}

function captureByRegex(parts: readonly Part[], regex: RegExp, text: string, params: Params | undefined): boolean {
  const groups = regex.exec(text)?.groups;
  if (groups === undefined) return false;
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] as Part;
    if (part.kind !== 'param') continue;
    const value = groups[`waypost${i}`];
    if (value === undefined || value === '') return false;
    if (params !== undefined) params[part.name] = value;
  }
  return true;
}

/**
 * Parameters with text between them and no constraint: each takes the least it
 * can, but one character. No expression and no backtracking, so no path makes
 * it slow.
 */
function captureBetween(parts: readonly Part[], text: string, folded: string, params: Params | undefined): boolean {
  let at = 0;
  let open: string | undefined;
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] as Part;
    if (part.kind === 'param') {
      open = part.name;
      continue;
    }
    const found = i === parts.length - 1 ? lastIndex(folded, part.text, at) : folded.indexOf(part.text, open === undefined ? at : at + 1);
    if (found === -1 || (open === undefined ? found !== at : found <= at)) return false;
    if (open !== undefined && params !== undefined) params[open] = text.slice(at, found);
    open = undefined;
    at = found + part.text.length;
  }
  if (open === undefined) return at === text.length;
  if (at >= text.length) return false;
  if (params !== undefined) params[open] = text.slice(at);
  return true;
}

function lastIndex(text: string, end: string, from: number): number {
  const start = text.length - end.length;
  return start >= from && text.endsWith(end) ? start : -1;
}
