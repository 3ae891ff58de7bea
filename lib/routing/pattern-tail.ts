import { decoded } from './pattern-segment';
import { expressionOf, type Piece } from './pattern-expression';
import type { Params } from './pattern';
import type { Segment } from './pattern-parser';
import type { Path, PathRules } from './path';

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
   * @param atMount Whether a mount path ends there: as in Express, the rest is a path by itself then.
   */
  end(path: Path, from: number, prefix: boolean, atMount: boolean): number;
  /** Adds what it captures of a path that it matches. */
  capture(path: Path, from: number, prefix: boolean, atMount: boolean, strict: boolean, params: Params): void;
  /** How much of the path as sent lies in a mount path within it; 0 where it has none. */
  mountEnd(path: Path): number;
}

/** What Express writes: wildcards by name, and optional slashes. */
export class ExpressionTail implements Tail {
  readonly kind = 'tail';
  readonly names: readonly string[];
  readonly source: string;
  readonly takesAll: boolean;
  readonly mayBeBare: boolean;
  readonly isGiven = false;
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
    this.mayBeBare = this.#whole.test('/') || this.#prefix.test('/');
  }

  end(path: Path, from: number, prefix: boolean, atMount: boolean): number {
    const found = this.#find(path, from, prefix, atMount);
    if (found === null) return -1;
    if (!prefix) return path.sent.length;
    const taken = found[0].split('/').length - 1;
    return path.endOf(from + (found[0].endsWith('/') ? taken - 1 : taken));
  }

  capture(path: Path, from: number, prefix: boolean, atMount: boolean, strict: boolean, params: Params): void {
    const found = this.#find(path, from, prefix, atMount) as RegExpExecArray;
    this.#captures.forEach(({ name, wild }, index) => {
      const value = found[index + 1] as string;
      (params as Record<string, string | string[]>)[name] = wild ? value.split('/').map((segment) => decoded(segment, strict)) : decoded(value, strict);
    });
  }

  mountEnd(): number {
    return 0;
  }

  #find(path: Path, from: number, prefix: boolean, atMount: boolean): RegExpExecArray | null {
    const rest = path.behind(from);
    return (prefix ? this.#prefix : this.#whole).exec(rest === '' && atMount ? '/' : rest);
  }
}

/** An escape, a bracket of a class, or what opens a group that captures. */
const GROUP = /\\[^]|\[|\]|\((?!\?)|\(\?<(?![=!])([^>\]]+)>/g;

/** A RegExp that a program has given, tested on the path as sent; its captures go by the names of their groups, the others by index. */
export class RegExpTail implements Tail {
  readonly kind = 'tail';
  readonly names: readonly string[];
  readonly source: string;
  readonly takesAll = false;
  readonly mayBeBare = true;
  readonly isGiven = true;
  readonly segments = null;
  readonly #expression: RegExp;

  /** @throws TypeError for a group named `__proto__`. */
  constructor(given: RegExp) {
    this.#expression = new RegExp(given);
    this.source = String(given);
    this.names = namesOf(given);
    if (this.names.includes('__proto__')) throw new TypeError(`the RegExp ${String(given)} may not name a group "__proto__"; choose another name`);
  }

  end(path: Path, from: number, prefix: boolean): number {
    const start = path.endOf(from);
    const rest = path.sent.slice(start) || '/';
    const taken = this.#find(rest)?.[0];
    if (taken === undefined) return -1;
    if (!prefix) return path.sent.length;
    // As in Express: what it takes must be the beginning of the path, up to the end of a segment.
    const next = rest[taken.length];
    if (taken !== '' && (!rest.startsWith(taken) || (next !== undefined && next !== '/'))) return -1;
    return start + taken.length - (taken.endsWith('/') ? 1 : 0);
  }

  capture(path: Path, from: number, _prefix: boolean, _atMount: boolean, strict: boolean, params: Params): void {
    const found = this.#find(path.sent.slice(path.endOf(from)) || '/') as RegExpExecArray;
    this.names.forEach((name, index) => {
      const value = found[index + 1];
      if (value !== undefined) params[name] = decoded(value, strict);
    });
  }

  mountEnd(): number {
    return 0;
  }

  #find(rest: string): RegExpExecArray | null {
    // With the flags "g" and "y" an expression goes on from where it was.
    this.#expression.lastIndex = 0;
    return this.#expression.exec(rest);
  }
}

/** The names of the groups of an expression in order; a group without one has the number of those before it. */
function namesOf({ source, flags }: RegExp): string[] {
  const names: string[] = [];
  let unnamed = 0;
  let classes = 0;
  for (const [text, name] of source.matchAll(GROUP)) {
    if (text === '[') classes = flags.includes('v') ? classes + 1 : 1;
    else if (text === ']') classes = Math.max(0, classes - 1);
    else if (classes === 0 && text.startsWith('(')) names.push(name ?? String(unnamed++));
  }
  return names;
}
