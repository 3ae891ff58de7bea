import type { Stats } from 'node:fs';
import { type PartListener, readPart } from './file-part';

/** What tells a file from another in its place. Numbers are given again; with the times of change, and the size where those are coarse, they tell. */
type Identity = Pick<Stats, 'ctimeMs' | 'dev' | 'ino' | 'size'>;

/** How long what is known of a file holds, in milliseconds: a directory above it may be moved, and leaves no trace on the file. */
const HOLDS = 1000;

/** Files that are kept in mind; then it begins anew. */
const MOST_FILES = 1000;

/** Bytes of files that are kept in mind; then it begins anew. */
const MOST_BYTES = 4_194_304;

/**
 * Steps in which file systems tell times, in milliseconds, at the longest (FAT).
 * A file that was changed within the last of them may be changed again and look
 * the same.
 */
const STEP = 2000;

/** A file as it was found. */
export class KnownFile {
  /** Directory that it was found beneath, by where links lead. */
  root: string | undefined = undefined;
  /** All that is in it. */
  bytes: Buffer | undefined = undefined;
  /** Whether it was asked for more than once. */
  isAskedAgain = false;
  readonly #identity: Identity;
  readonly #at = performance.now();

  constructor({ ctimeMs, dev, ino, size }: Identity) {
    this.#identity = { ctimeMs, dev, ino, size };
  }

  /** Whether all this is true still of the file that looks so. */
  holds({ ctimeMs, dev, ino, size }: Identity): boolean {
    const own = this.#identity;
    return performance.now() - this.#at <= HOLDS && own.ino === ino && own.ctimeMs === ctimeMs && own.dev === dev && own.size === size;
  }

  /** Whether another change would show. */
  get isSteady(): boolean {
    return Date.now() - this.#identity.ctimeMs > STEP;
  }

  get size(): number {
    return this.#identity.size;
  }
}

/**
 * What was found out about files within the last second: for a small file that
 * many ask for, where it really stands and what is in it is more work than all
 * the rest. Each is looked at for every request all the same, and what is known
 * of one that has changed is forgotten.
 */
export class KnownFiles {
  readonly #files = new Map<string, KnownFile>();
  #bytes = 0;

  /**
   * @param stats Of the file that the path leads to, just taken.
   * @returns What is known of it; it is the caller's to fill in.
   */
  find(path: string, stats: Identity): KnownFile {
    const known = this.#files.get(path);
    if (known !== undefined) {
      if (known.holds(stats)) {
        known.isAskedAgain = true;
        return known;
      }
      this.#forget(path, known);
    }
    const found = new KnownFile(stats);
    // Windows has numbers that a double can't tell apart.
    if (Number.isSafeInteger(stats.ino) && stats.ino !== 0) this.#remember(path, found);
    return found;
  }

  /**
   * Reads a part of a file in one piece, which nobody may write to.
   *
   * @param file What is known of it.
   * @param start First byte, counted from 0; an integer.
   * @param length Bytes to read.
   */
  read(path: string, file: KnownFile, start: number, length: number, done: PartListener): void {
    if (file.bytes !== undefined) {
      done(null, file.bytes.subarray(start, start + length));
      return;
    }
    // Asked before it is read: what is changed meanwhile has another time then.
    const keeps = file.isAskedAgain && file.isSteady && length === file.size;
    readPart(path, start, length, (error, bytes) => {
      if (keeps && bytes.length === length) this.#keep(path, file, bytes);
      done(error, bytes);
    });
  }

  #keep(path: string, file: KnownFile, bytes: Buffer): void {
    if (file.bytes !== undefined || this.#files.get(path) !== file) return;
    if (this.#bytes + bytes.length > MOST_BYTES) {
      this.#clear();
      return;
    }
    file.bytes = bytes;
    this.#bytes += bytes.length;
  }

  #remember(path: string, file: KnownFile): void {
    if (this.#files.size >= MOST_FILES) this.#clear();
    this.#files.set(path, file);
  }

  #forget(path: string, file: KnownFile): void {
    this.#files.delete(path);
    this.#bytes -= file.bytes?.length ?? 0;
  }

  #clear(): void {
    this.#files.clear();
    this.#bytes = 0;
  }
}
