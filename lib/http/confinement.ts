import { realpath, type Stats } from 'node:fs';
import { resolve, sep } from 'node:path';

/** Told whether the file stands beneath the root, or why nobody knows. */
export type ConfinementListener = (error: NodeJS.ErrnoException | null, inside: boolean) => void;

/** What tells a file from another in its place, and when that was found. Numbers are given again; with the times of change, and the size where those are coarse, they tell. */
interface Finding extends Pick<Stats, 'ctimeMs' | 'dev' | 'ino' | 'size'> {
  readonly at: number;
}

/** How long a finding holds, in milliseconds: a directory above the file may be moved, and leaves no trace on the file. */
const HOLDS = 1000;

/** Files that are kept in mind; then it begins anew. */
const MOST = 1000;

/**
 * Holds files to a root by where links lead. A file that was found beneath it
 * within the last second, and is the same still, needs no second look, which is
 * a fifth of the work of sending a small one.
 */
export class Confinement {
  readonly #found = new Map<string, Finding>();

  /**
   * @param path The file, beneath the root by its name.
   * @param stats Of the file that the path leads to.
   */
  check(root: string, path: string, stats: Stats, done: ConfinementListener): void {
    const key = `${root}\0${path}`;
    if (holds(this.#found.get(key), stats)) {
      done(null, true);
      return;
    }
    findBeneath(resolve(root), path, (error, inside) => {
      if (inside) this.#keep(key, stats);
      done(error, inside);
    });
  }

  #keep(key: string, { ctimeMs, dev, ino, size }: Stats): void {
    // Windows has numbers that a double can't tell apart.
    if (!Number.isSafeInteger(ino) || ino === 0) return;
    if (this.#found.size >= MOST) this.#found.clear();
    this.#found.set(key, { ctimeMs, dev, ino, size, at: performance.now() });
  }
}

function holds(found: Finding | undefined, { ctimeMs, dev, ino, size }: Stats): boolean {
  if (found === undefined || performance.now() - found.at > HOLDS) return false;
  return found.ino === ino && found.ctimeMs === ctimeMs && found.dev === dev && found.size === size;
}

/** Compares real places. */
function findBeneath(root: string, path: string, done: ConfinementListener): void {
  realpath.native(path, (error, real) => {
    if (error !== null) {
      done(error, false);
      return;
    }
    // No link on the way, so none in the root's part of it.
    if (real === path && isBeneath(root, path)) {
      done(null, true);
      return;
    }
    realpath.native(root, (rootError, realRoot) => done(rootError, rootError === null && isBeneath(realRoot, real)));
  });
}

function isBeneath(root: string, path: string): boolean {
  return path.startsWith(root.endsWith(sep) ? root : root + sep);
}
