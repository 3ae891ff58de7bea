import { realpath, type Stats } from 'node:fs';
import { resolve, sep } from 'node:path';

/** Told whether the file stands beneath the root, or why nobody knows. */
export type ConfinementListener = (error: NodeJS.ErrnoException | null, inside: boolean) => void;

/** What tells a file from another that stands in its place: inode numbers are given again, times of change are not. */
type Identity = Pick<Stats, 'ctimeMs' | 'dev' | 'ino' | 'size'>;

/** Files that are kept in mind; then it begins anew. */
const MOST = 1000;

/**
 * Holds files to a root by where links lead. A file that was found beneath it
 * and is the same still needs no second look, which is a fifth of the work of
 * sending a small one.
 */
export class Confinement {
  readonly #found = new Map<string, Identity>();

  /**
   * @param path The file, beneath the root by its name.
   * @param stats Of the file that the path leads to.
   */
  check(root: string, path: string, stats: Stats | undefined, done: ConfinementListener): void {
    const key = `${root}\0${path}`;
    if (stats !== undefined && isSame(this.#found.get(key), stats)) {
      done(null, true);
      return;
    }
    findBeneath(resolve(root), path, (error, inside) => {
      if (inside && stats !== undefined) this.#keep(key, stats);
      done(error, inside);
    });
  }

  #keep(key: string, { ctimeMs, dev, ino, size }: Stats): void {
    // Windows has numbers that a double can't tell apart.
    if (!Number.isSafeInteger(ino) || ino === 0) return;
    if (this.#found.size >= MOST) this.#found.clear();
    this.#found.set(key, { ctimeMs, dev, ino, size });
  }
}

function isSame(known: Identity | undefined, stats: Stats): boolean {
  return known !== undefined && known.ino === stats.ino && known.ctimeMs === stats.ctimeMs && known.dev === stats.dev && known.size === stats.size;
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
