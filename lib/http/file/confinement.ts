import { realpath } from 'node:fs';
import { sep } from 'node:path';

/**
 * Finds out if a file lies beneath a root, with links resolved.
 * @param root An absolute path, normalized.
 * @param path The file, beneath the root by its name.
 * @param done Called with the result, or with the error that hides it.
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

/** True for a path beneath a root, both absolute and normalized. */
export function isBeneath(root: string, path: string): boolean {
  return path.startsWith(root.endsWith(sep) ? root : root + sep);
}
