import type { Tail } from './segment';
import { decoded } from './decoding';
import type { Params } from './params';
import { UnicodeCase } from './case';
import type { Path } from './path';

/** An escape, a bracket of a class, or what opens a group that captures. */
const GROUP = /\\[^]|\[|\]|\((?!\?)|\(\?<(?![=!])([^>\]]+)>/g;

/** A group that ignores case where the expression does not. */
const MODIFIER = /\(\?[a-z]*i/;

/** A RegExp that a program has given, tested on the path as sent, and where that does not match, decoded; its captures go by the names of their groups, the others by index. */
export class RegExpTail implements Tail {
  readonly kind = 'tail';
  readonly names: readonly string[];
  readonly source: string;
  readonly takesAll = false;
  readonly mayBeBare = true;
  readonly isGiven = true;
  readonly segments = null;
  readonly #expression: RegExp;
  readonly #unicodeCase: UnicodeCase | null;

  /** @throws TypeError for a group named `__proto__`. */
  constructor(given: RegExp) {
    this.#expression = new RegExp(given);
    const ignoresCase = given.ignoreCase || MODIFIER.test(given.source);
    this.#unicodeCase = ignoresCase && /[uv]/.test(given.flags) ? new UnicodeCase(given.source) : null;
    this.source = String(given);
    this.names = namesOf(given);
    if (this.names.includes('__proto__')) throw new TypeError(`the RegExp ${String(given)} may not name a group "__proto__"; choose another name`);
  }

  end(path: Path, from: number, prefix: boolean): number {
    const found = this.#look(path, from, prefix);
    if (found === null) return -1;
    if (!prefix) return path.sent.length;
    const { taken, isDecoded } = found;
    const slash = taken[0].endsWith('/') ? 1 : 0;
    if (isDecoded && !path.isPath) return path.sent.length;
    // Nothing that is decoded is a slash, so it is as many segments.
    return isDecoded ? path.endOf(from + taken[0].split('/').length - 1 - slash) : path.endOf(from) + taken[0].length - slash;
  }

  capture(path: Path, from: number, prefix: boolean, strict: boolean, params: Params): void {
    const { taken } = this.#look(path, from, prefix) as Look;
    this.names.forEach((name, index) => {
      const value = taken[index + 1];
      if (value !== undefined) params[name] = decoded(value, strict);
    });
  }

  /** As it was sent, and where it does not match so, decoded as text of patterns is: an escape must lead past no guard. */
  #look(path: Path, from: number, prefix: boolean): Look | null {
    const sent = path.sent.slice(path.endOf(from)) || '/';
    const taken = this.#find(sent, prefix);
    if (taken !== null) return { taken, isDecoded: false };
    const decodedRest = path.behind(from) || '/';
    const read = this.#unicodeCase?.hide(decodedRest) ?? decodedRest;
    const other = read === sent ? null : this.#find(read, prefix);
    return other && { taken: other, isDecoded: true };
  }

  #find(rest: string, prefix: boolean): RegExpExecArray | null {
    // With the flags "g" and "y" an expression goes on from where it was.
    this.#expression.lastIndex = 0;
    const found = this.#expression.exec(rest);
    if (found === null || !prefix) return found;
    // As in Express: what it takes must be the beginning of the path, up to the end of a segment.
    const [{ length }] = found;
    return length === 0 || (rest.startsWith(found[0]) && (length === rest.length || rest[length] === '/')) ? found : null;
  }
}

/** What an expression takes of a path, and whether that had to be decoded. */
interface Look {
  readonly taken: RegExpExecArray;
  readonly isDecoded: boolean;
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
