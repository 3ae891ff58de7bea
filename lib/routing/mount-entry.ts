import type { Mount } from './mount';
import type { Path } from './path';
import { areGreedy, type Pattern } from './pattern';
import { areSameParams, type Params } from './pattern-params';

/** How a target enters a mount: by which of its paths, how much of the target that takes, and what it captures. */
interface MountEntry {
  readonly pattern: Pattern;
  readonly end: number;
  readonly params: Params | null;
}

/** Whether two targets enter a mount, and all that it is in, alike: what runs there, and has run, has been asked about the one. */
export function entersAlike(innermost: Mount, one: Path, other: Path): boolean {
  for (let mount = innermost; mount.parent !== null; mount = mount.parent) {
    if (!areGreedy(mount.patterns)) continue;
    const [before, after] = [entryOf(mount, one), entryOf(mount, other)];
    if (before !== null && (after === null || !isSame(before, after))) return false;
  }
  return true;
}

/** Null where the mount is not on the way. */
function entryOf({ patterns }: Mount, path: Path): MountEntry | null {
  const pattern = patterns.find((each) => each.matchesPrefix(path));
  if (pattern === undefined) return null;
  return { pattern, end: pattern.prefixEnd(path), params: pattern.bare ? null : pattern.capture(path, true, false) };
}

function isSame(one: MountEntry, other: MountEntry): boolean {
  return one.pattern === other.pattern && one.end === other.end && areSameParams(one.params ?? {}, other.params ?? {});
}
