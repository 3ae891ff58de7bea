import { realpath } from 'node:fs';
import { sep } from 'node:path';

/**
 * Finds whether a file stands beneath a root by where links lead.
 * @param root An absolute path, normalized.
 * @param path The file, beneath the root by its name.
 * @param done Told whether it does, or why nobody knows.
 */
export function findBeneath(root: string, path: string, done: (error: NodeJS.ErrnoException | null, inside: boolean) => void): void {
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

/** Whether a path stands beneath a root, both absolute and normalized. */
export function isBeneath(root: string, path: string): boolean {
  return path.startsWith(root.endsWith(sep) ? root : root + sep);
}
