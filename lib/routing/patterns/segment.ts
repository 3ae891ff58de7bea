import { fold, type Path } from './path';
import { decodeApart, decoded, decodeSegment, joinApart } from './decoding';
import type { Params } from './params';

/** One segment of a pattern. */
export type Segment =
  /** Text that must be equal; see `Path.text`. */
  | { readonly kind: 'static'; readonly text: string }
  /** `:name`, or `*` under the name `*`: one segment that is not empty. */
  | { readonly kind: 'param'; readonly name: string }
  /**
   * Parameters that share a segment with text, or that have a constraint. What
   * they take is told by `regex` where there is a constraint, by `late` where
   * they divide the segment as in Express. With `literal` its text holds reserved
   * characters, of which `%40` and its like are no other spelling.
   */
  | { readonly kind: 'mixed'; readonly parts: readonly Part[]; readonly regex: RegExp | undefined; readonly late: RegExp | undefined; readonly folded: boolean; readonly literal: boolean }
  /** `**`: one or more segments, the first not empty. */
  | { readonly kind: 'deep' }
  | Tail;

/** A piece of a mixed segment. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'param'; readonly name: string; readonly constraint: string | undefined };

/** To fold as static text is folded, into which no letter beyond ASCII may turn. */
const FOLDED = { caseSensitive: false, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false };

type Mixed = Extract<Segment, { kind: 'mixed' }>;

/** The end of a pattern that is not told segment by segment: from some segment on it takes the rest of a path by an expression. */
export interface Tail {
  readonly kind: 'tail';
  /** Names of its captures. */
  readonly names: readonly string[];
  /** What two that take the same have in common: all but the names. */
  readonly source: string;
  /** Whether it takes every rest that is more than a slash. */
  readonly takesAll: boolean;
  /** Whether it may take a rest that is nothing, or but a slash. */
  readonly mayBeBare: boolean;
  /** Whether it is a RegExp that the program has given. */
  readonly isGiven: boolean;
  /** The same in segments of other kinds, `**` for each wildcard; null where there are none. It may take more. */
  readonly segments: readonly Segment[] | null;
  /**
   * Where in the path as sent it ends; -1 where it does not match.
   * @param from How many segments stand before it.
   */
  end(path: Path, from: number, prefix: boolean): number;
  /** Adds what it captures of a path that it matches. */
  capture(path: Path, from: number, prefix: boolean, strict: boolean, params: Params): void;
}

/** Whether one segment of a path matches one of a pattern that stands for one. */
export function matchesSegment(segment: Segment, path: Path, index: number): boolean {
  if (segment.kind === 'static') return path.text[index] === segment.text;
  const raw = path.raw[index] as string;
  if (raw === '') return false;
  if (segment.kind === 'param') return true;
  return segment.kind === 'mixed' && captureMixed(segment, segment.literal ? decodeApart(raw) : decodeSegment(raw) ?? raw, undefined);
}

/** Names of what segments capture, in order. */
export function namesOf(segments: readonly Segment[]): string[] {
  return segments.flatMap((segment) => {
    if (segment.kind === 'param') return [segment.name];
    if (segment.kind === 'deep') return ['**'];
    if (segment.kind === 'tail') return segment.names;
    return segment.kind === 'mixed' ? segment.parts.flatMap((part) => (part.kind === 'param' ? [part.name] : [])) : [];
  });
}

/** What segments have in common with others that take the same paths: all but the names. */
export function structureOf(segments: readonly Segment[]): string {
  return JSON.stringify(segments.map((segment) => {
    if (segment.kind === 'static') return segment.text;
    if (segment.kind === 'tail') return [segment.kind, segment.source];
    if (segment.kind !== 'mixed') return [segment.kind];
    return segment.parts.map((part) => (part.kind === 'text' ? part.text : [part.constraint ?? null]));
  }));
}

/** What a mixed segment captures of one as sent that it matches. @throws HttpError 400 as {@link decoded} does. */
export function captureSent(segment: Mixed, raw: string, strict: boolean, params: Params): void {
  const text = decoded(raw, strict);
  if (!segment.literal) {
    captureMixed(segment, text, params);
    return;
  }
  const found: Params = {};
  captureMixed(segment, decodeApart(raw), found);
  for (const [name, value] of Object.entries(found)) params[name] = joinApart(value);
}

/** Matches one decoded segment against a mixed one; writes what it captures into `params`. */
function captureMixed(segment: Mixed, text: string, params: Params | undefined): boolean {
  if (segment.regex !== undefined) return captureByRegex(segment.parts, segment.regex, text, params);
  if (segment.late !== undefined) return captureLate(segment.parts, segment.late, text, segment.folded ? fold(text, FOLDED) : text, params);
  return captureBetween(segment.parts, text, segment.folded ? fold(text, FOLDED) : text, params);
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

/** As in Express: the first parameter takes the most it can. The expression is for folded text, in which positions hold. */
function captureLate(parts: readonly Part[], expression: RegExp, text: string, folded: string, params: Params | undefined): boolean {
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
