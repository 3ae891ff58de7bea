import { fold, type Path } from './path';
import { decodeCapture, decodeKeepingReserved, decodeSegment, restoreReserved } from './decoding';
import type { Params } from './params';

/** One segment of a pattern. */
export type Segment =
  /** Text that must be equal; see `Path.text`. */
  | { readonly kind: 'static'; readonly text: string }
  /** `:name`, or `*` under the name `*`: one segment that is not empty. */
  | { readonly kind: 'param'; readonly name: string }
  /**
   * Parameters that share a segment with text, or that have a constraint.
   * `regex` matches where there is a constraint; `greedy` divides the segment as
   * Express does. With `literal` its text holds reserved characters, whose
   * escapes, such as `%40`, are not equivalent.
   */
  | { readonly kind: 'mixed'; readonly parts: readonly Part[]; readonly regex: RegExp | undefined; readonly greedy: RegExp | undefined; readonly folded: boolean; readonly literal: boolean }
  /** `**`: one or more segments, the first not empty. */
  | { readonly kind: 'deep' }
  | Tail;

/** A piece of a mixed segment. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'param'; readonly name: string; readonly constraint: string | undefined };

/** Rules that fold text as static text is folded. */
const FOLDED = { caseSensitive: false, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false };

type Mixed = Extract<Segment, { kind: 'mixed' }>;

/** The end of a pattern that matches the rest of a path by one expression. */
export interface Tail {
  readonly kind: 'tail';
  /** Names of its captures. */
  readonly names: readonly string[];
  /** Source without the names: equal for tails that take the same. */
  readonly source: string;
  /** True when it takes every rest that is more than a slash. */
  readonly takesAll: boolean;
  /** True when it may take an empty rest, or a slash alone. */
  readonly mayBeEmpty: boolean;
  /** True for a RegExp of the program. */
  readonly isRegExp: boolean;
  /** Equivalent segments of other kinds, `**` for each wildcard, which may take more; null for none. */
  readonly segments: readonly Segment[] | null;
  /**
   * End of the match in the path as sent; -1 for none.
   * @param from Number of segments before it.
   */
  end(path: Path, from: number, prefix: boolean): number;
  /** Adds the captures of a path that matches. */
  capture(path: Path, from: number, prefix: boolean, strict: boolean, params: Params): void;
}

/** Matches one segment of a path against a pattern's segment for one. */
export function matchesSegment(segment: Segment, path: Path, index: number): boolean {
  if (segment.kind === 'static') return path.text[index] === segment.text;
  const raw = path.raw[index] as string;
  if (raw === '') return false;
  if (segment.kind === 'param') return true;
  return segment.kind === 'mixed' && captureMixed(segment, segment.literal ? decodeKeepingReserved(raw) : decodeSegment(raw) ?? raw, undefined);
}

/** Names of the captures of segments, in order. */
export function namesOf(segments: readonly Segment[]): string[] {
  return segments.flatMap((segment) => {
    if (segment.kind === 'param') return [segment.name];
    if (segment.kind === 'deep') return ['**'];
    if (segment.kind === 'tail') return segment.names;
    return segment.kind === 'mixed' ? segment.parts.flatMap((part) => (part.kind === 'param' ? [part.name] : [])) : [];
  });
}

/** Segments as text without the names: equal for segments that take the same paths. */
export function structureOf(segments: readonly Segment[]): string {
  return JSON.stringify(segments.map((segment) => {
    if (segment.kind === 'static') return segment.text;
    if (segment.kind === 'tail') return [segment.kind, segment.source];
    if (segment.kind !== 'mixed') return [segment.kind];
    return segment.parts.map((part) => (part.kind === 'text' ? part.text : [part.constraint ?? null]));
  }));
}

/** Captures a segment as sent that matches a mixed one. @throws HttpError 400 as {@link decodeCapture} does. */
export function captureSent(segment: Mixed, raw: string, strict: boolean, params: Params): void {
  const text = decodeCapture(raw, strict);
  if (!segment.literal) {
    captureMixed(segment, text, params);
    return;
  }
  const found: Params = {};
  captureMixed(segment, decodeKeepingReserved(raw), found);
  for (const [name, value] of Object.entries(found)) params[name] = restoreReserved(value);
}

/** Matches one decoded segment against a mixed one; writes its captures into `params`. */
function captureMixed(segment: Mixed, text: string, params: Params | undefined): boolean {
  if (segment.regex !== undefined) return captureByRegex(segment.parts, segment.regex, text, params);
  if (segment.greedy !== undefined) return captureGreedy(segment.parts, segment.greedy, text, segment.folded ? fold(text, FOLDED) : text, params);
  return captureLazy(segment.parts, text, segment.folded ? fold(text, FOLDED) : text, params);
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

/** Matches as Express does: the first parameter is greedy. The expression is for folded text, in which positions hold. */
function captureGreedy(parts: readonly Part[], expression: RegExp, text: string, folded: string, params: Params | undefined): boolean {
  const found = expression.exec(folded);
  if (found === null) return false;
  if (params === undefined) return true;
  let at = 0;
  let group = 1;
  for (const part of parts) {
    const { length } = part.kind === 'text' ? part.text : found[group++] as string;
    if (part.kind === 'param') params[part.name] = text.slice(at, at + length);
    at += length;
  }
  return true;
}

/**
 * Matches parameters with text between them and no constraint: each is lazy,
 * with at least one character. No expression and no backtracking, so that no
 * path makes it slow.
 */
function captureLazy(parts: readonly Part[], text: string, folded: string, params: Params | undefined): boolean {
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
