import type { Mount } from './mount';
import type { Path } from './path';
import type { Pattern } from './pattern';
import { areSameParams, type Params } from './pattern-params';

/** How a target enters a mount: by which of its paths, how much of the target that takes, and what it captures. */
export interface MountEntry {
  readonly pattern: Pattern;
  readonly end: number;
  readonly params: Params | null;
}

/** Null where the mount is not on the way. */
export function entryOf({ patterns }: Mount, path: Path): MountEntry | null {
  const pattern = patterns.find((each) => each.matchesPrefix(path));
  if (pattern === undefined) return null;
  return { pattern, end: pattern.prefixEnd(path), params: pattern.bare ? null : pattern.capture(path, true, false) };
}

export function isSameEntry(one: MountEntry, other: MountEntry): boolean {
  return one.pattern === other.pattern && one.end === other.end && areSameParams(one.params ?? {}, other.params ?? {});
}
