import type { Tail } from './segment';
import { decodeCapture } from './decoding';
import type { Params } from './params';
import { UnicodeCase } from './case';
import type { Path } from './path';

/** An escape, a bracket of a class, or the start of a capturing group. */
const GROUP = /\\[^]|\[|\]|\((?!\?)|\(\?<(?![=!])([^>\]]+)>/g;

/** A group that ignores case where the expression does not. */
const MODIFIER = /\(\?[a-z]*i/;

/** A RegExp as a path: it is tested on the path as sent, then decoded. Named groups capture by name, others by index. */
export class RegExpTail implements Tail {
  readonly kind = 'tail';
  readonly names: readonly string[];
  readonly source: string;
  readonly takesAll = false;
  readonly mayBeEmpty = true;
  readonly isRegExp = true;
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
    // Decoding makes no slash, so the number of segments is the same.
    return isDecoded ? path.endOf(from + taken[0].split('/').length - 1 - slash) : path.endOf(from) + taken[0].length - slash;
  }

  capture(path: Path, from: number, prefix: boolean, strict: boolean, params: Params): void {
    const { taken } = this.#look(path, from, prefix) as Look;
    this.names.forEach((name, index) => {
      const value = taken[index + 1];
      if (value !== undefined) params[name] = decodeCapture(value, strict);
    });
  }

  /** Tests the path as sent, then decoded as text of patterns: guards match escaped paths too. */
  #look(path: Path, from: number, prefix: boolean): Look | null {
    const sent = path.sent.slice(path.endOf(from)) || '/';
    const taken = this.#find(sent, prefix);
    if (taken !== null) return { taken, isDecoded: false };
    const decodedRest = path.rest(from) || '/';
    const read = this.#unicodeCase?.hide(decodedRest) ?? decodedRest;
    const other = read === sent ? null : this.#find(read, prefix);
    return other && { taken: other, isDecoded: true };
  }

  #find(rest: string, prefix: boolean): RegExpExecArray | null {
    // The flags "g" and "y" begin at lastIndex.
    this.#expression.lastIndex = 0;
    const found = this.#expression.exec(rest);
    if (found === null || !prefix) return found;
    // As in Express a match must begin the path, and end with a segment.
    const [{ length }] = found;
    return length === 0 || (rest.startsWith(found[0]) && (length === rest.length || rest[length] === '/')) ? found : null;
  }
}

/** The match of an expression, in the path as sent or decoded. */
interface Look {
  readonly taken: RegExpExecArray;
  readonly isDecoded: boolean;
}

/** Names of an expression's groups in order; unnamed groups are numbered from 0. */
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
