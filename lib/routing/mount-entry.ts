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

/** The mounts, from one outward, that a target may enter by more or less of it. */
export function greedyAround(innermost: Mount | undefined): Mount[] {
  const greedy: Mount[] = [];
  for (let mount = innermost; mount !== undefined && mount.parent !== null; mount = mount.parent) if (areGreedy(mount.patterns)) greedy.push(mount);
  return greedy;
}

/** Whether two targets enter mounts alike: what runs there, and has run, has been asked about the one. */
export function enterAlike(mounts: readonly Mount[], one: Path, other: Path): boolean {
  return mounts.every((mount) => {
    const [before, after] = [entryOf(mount, one), entryOf(mount, other)];
    return before === null || (after !== null && isSame(before, after));
  });
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
