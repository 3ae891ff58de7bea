import type { Segment, Tail } from './segment';
import { decodeCapture } from './decoding';
import type { Params } from './params';
import type { Path, PathRules } from './path';

/** A piece of an expression: text, or a parameter, which as a wildcard may hold slashes. */
export type Piece = string | { readonly name: string; readonly wild: boolean };

const SPECIAL = /[\\^$.*+?()[\]{}|/-]/g;

/** Tail of a pattern in Express's dialect: wildcards by name, and optional slashes. */
export class ExpressionTail implements Tail {
  readonly kind = 'tail';
  readonly names: readonly string[];
  readonly source: string;
  readonly takesAll: boolean;
  readonly mayBeEmpty: boolean;
  readonly isRegExp = false;
  readonly segments: readonly Segment[] | null;
  readonly #captures: readonly Exclude<Piece, string>[];
  readonly #whole: RegExp;
  readonly #prefix: RegExp;

  constructor(pieces: readonly Piece[], segments: readonly Segment[] | null, rules: PathRules) {
    const source = expressionOf(pieces, '/');
    const flags = rules.caseSensitive ? '' : 'i';
    this.#captures = pieces.filter((piece) => typeof piece !== 'string');
    this.#whole = new RegExp(`^${source}${rules.ignoreTrailingSlash ? '(?:\\/$)?' : ''}$`, flags);
    // As in Express a slash at the end never matters to middleware.
    this.#prefix = new RegExp(`^${source}(?:\\/$)?(?=\\/|$)`, flags);
    this.names = this.#captures.map(({ name }) => name);
    this.source = source;
    this.segments = segments;
    this.takesAll = pieces.length === 2 && pieces[0] === '/' && this.#captures[0]?.wild === true;
    this.mayBeEmpty = this.#whole.test('/') || this.#prefix.test('/');
  }

  end(path: Path, from: number, prefix: boolean): number {
    const found = this.#find(path, from, prefix);
    if (found === null) return -1;
    if (!prefix) return path.sent.length;
    if (!path.isPath) return path.sent.length;
    const taken = found[0].split('/').length - 1;
    return path.endOf(from + (found[0].endsWith('/') ? taken - 1 : taken));
  }

  capture(path: Path, from: number, prefix: boolean, strict: boolean, params: Params): void {
    const found = this.#find(path, from, prefix) as RegExpExecArray;
    this.#captures.forEach(({ name, wild }, index) => {
      const value = found[index + 1] as string;
      (params as Record<string, string | string[]>)[name] = wild ? value.split('/').map((segment) => decodeCapture(segment, strict)) : decodeCapture(value, strict);
    });
  }

  #find(path: Path, from: number, prefix: boolean): RegExpExecArray | null {
    return (prefix ? this.#prefix : this.#whole).exec(path.rest(from));
  }
}

/**
 * The source of an expression for pieces in a row, one group for each parameter.
 * It matches and captures as path-to-regexp 8 does: the first parameter of a
 * segment, and the first wildcard, are greedy; a later one stops where the text
 * before it comes again. So it hardly backtracks, however often a text repeats
 * in a path.
 * @param separator Text that only wildcards may hold; empty for none.
 */
export function expressionOf(pieces: readonly Piece[], separator: string): string {
  const simple = run([separator]);
  let source = '';
  /** Text since the last parameter, and between the last wildcard and what follows it. */
  let between = '';
  let behindWildcard = '';
  let previous: 'none' | 'param' | 'wildcard' = 'none';
  /** Parameters of the segment so far. */
  let holdsParam = false;
  let holdsWildcard = false;
  pieces.forEach((piece, index) => {
    if (typeof piece === 'string') {
      source += quoted(piece);
      between += piece;
      if (previous === 'wildcard') behindWildcard += piece;
      if (separator !== '' && piece.includes(separator)) holdsParam = holdsWildcard = false;
      return;
    }
    if (piece.wild) {
      if (holdsWildcard) source += `(${run([between])})`;
      else source += behindWildcard === '' ? '([^]+)' : `(${run([behindWildcard])}|${simple})`;
      behindWildcard = '';
      holdsWildcard = true;
    } else {
      if (holdsWildcard) source += `(${run([separator, between])})`;
      else if (isBeforeWildcard(pieces, index, separator)) source += `(${run([separator, textBehind(pieces, index)])})`;
      else source += holdsParam ? `(${run([separator, between])}|${quoted(between)})` : `(${simple})`;
      holdsParam = true;
    }
    previous = piece.wild ? 'wildcard' : 'param';
    between = '';
  });
  return source;
}

/** Escapes text for an expression. */
export function quoted(text: string): string {
  return text.replace(SPECIAL, '\\$&');
}

/** One or more characters, up to where one of the texts begins. */
function run(stops: readonly string[]): string {
  const texts = stops.filter((stop) => stop !== '').map(quoted);
  return texts.length === 0 ? '[^]+' : `(?:(?!${texts.join('|')})[^])+`;
}

function isBeforeWildcard(pieces: readonly Piece[], index: number, separator: string): boolean {
  for (const piece of pieces.slice(index + 1)) {
    if (typeof piece !== 'string') {
      if (piece.wild) return true;
    } else if (separator !== '' && piece.includes(separator)) {
      return false;
    }
  }
  return false;
}

function textBehind(pieces: readonly Piece[], index: number): string {
  const next = pieces[index + 1];
  return typeof next === 'string' ? next : '';
}
