import { decoded, type Tail } from './pattern-segment';
import type { Params } from './pattern';
import type { Path } from './path';

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
