import type { Path } from './path';
import type { Pattern } from './pattern';
import type { Params } from './pattern-params';
import { namesOf, structureOf, type Tail } from './pattern-segment';

/**
 * What is registered in a router whose mount path is an expression: as in
 * Express, the mount path takes what it can of a path, and what is left is
 * looked at by itself.
 */
export class NestedTail implements Tail {
  readonly kind = 'tail';
  readonly names: readonly string[];
  readonly source: string;
  readonly takesAll = false;
  readonly mayBeBare = true;
  readonly isGiven: boolean;
  readonly segments = null;
  readonly mounts: readonly Pattern[];
  readonly inner: readonly Pattern[];

  /** @param mounts Alternatives of the mount path; the first that matches counts, whatever is left. @param inner Alternatives of what is registered. */
  constructor(mounts: readonly Pattern[], inner: readonly Pattern[]) {
    this.mounts = mounts;
    this.inner = inner;
    const patterns = [...mounts, ...inner];
    this.names = patterns.flatMap(({ segments }) => namesOf(segments));
    this.isGiven = patterns.some(({ isGiven }) => isGiven);
    this.source = JSON.stringify([mounts, inner].map((list) => list.map(({ segments }) => structureOf(segments))));
  }

  // It looks at the whole path by itself, whatever segments stand before it.
  end(path: Path, _from: number, prefix: boolean): number {
    const found = this.#find(path, prefix);
    if (found === undefined) return -1;
    if (!prefix) return path.sent.length;
    return Math.min(path.sent.length, found.start + found.inner.prefixEnd(found.rest));
  }

  /** Across a mount the inner value of a name wins; groups without a name are counted on, as in Express. */
  capture(path: Path, _from: number, prefix: boolean, _atMount: boolean, strict: boolean, params: Params): void {
    const { mount, inner, rest } = this.#find(path, prefix) as Found;
    Object.assign(params, mount.capture(path, true, strict));
    const own = inner.capture(rest, prefix, strict);
    const count = Object.hasOwn(own, '0') ? countOf(params) : 0;
    for (const [name, value] of Object.entries(own)) {
      params[count > 0 && INDEX.test(name) ? String(Number(name) + count) : name] = value;
    }
  }

  mountEnd(path: Path): number {
    const { start, inner, rest } = this.#find(path, false) as Found;
    return start + inner.mountEnd(rest);
  }

  #find(path: Path, prefix: boolean): Found | undefined {
    const mount = this.mounts.find((pattern) => endOf(pattern, path) !== -1);
    if (mount === undefined) return undefined;
    const start = endOf(mount, path);
    const rest = path.after(start);
    const inner = this.inner.find((pattern) => (prefix ? pattern.matchesPrefix(rest) : pattern.matches(rest)));
    return inner === undefined ? undefined : { mount, start, inner, rest };
  }
}

/** Where a mount path ends; -1 where the path does not begin with it. */
function endOf(mount: Pattern, path: Path): number {
  return path.endOfMount(mount, () => (mount.matchesPrefix(path) ? mount.prefixEnd(path) : -1));
}

const INDEX = /^\d+$/;

/** How many groups without a name have a value, up to the first that has none. */
function countOf(params: Params): number {
  let count = 0;
  while (Object.hasOwn(params, String(count))) count++;
  return count;
}

interface Found {
  readonly mount: Pattern;
  /** Where the mount path ends. */
  readonly start: number;
  readonly inner: Pattern;
  /** What is left. */
  readonly rest: Path;
}
