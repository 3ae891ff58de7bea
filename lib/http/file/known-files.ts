import { AsyncResource } from 'node:async_hooks';
import type { Stats } from 'node:fs';
import { type PartListener, readPart } from './file-part';

/**
 * Fields that tell a file from its successor, and from itself before a change: numbers
 * are given again, and on some file systems the time of change does not move.
 */
type Identity = Pick<Stats, 'ctimeMs' | 'dev' | 'ino' | 'mtimeMs' | 'size'>;

/** How long what is known of a file holds, in milliseconds: a move of a directory above it, or a write through mmap, leaves no trace on the file. */
const KNOWN_FOR = 1000;

/** Files that are kept in mind; then it begins anew. */
const MOST_FILES = 1000;

/** Bytes of files that are kept in mind; then no more are until others are forgotten. */
const MOST_BYTES = 4_194_304;

/** Steps in which file systems tell times, in milliseconds, at the longest (FAT): within one, a file may change again and look the same. */
const CLOCK_STEP = 2000;

/** A file as it was found. */
export class KnownFile {
  /** Directory that it was found beneath, by where links lead. */
  root: string | undefined = undefined;
  /** All that is in it: one buffer for all who ask meanwhile, since a copy for each takes twice the time of the whole answer. */
  bytes: Buffer | undefined = undefined;
  /** True if it was asked for more than once. */
  isAskedAgain = false;
  readonly #identity: Identity;
  readonly #at = performance.now();

  constructor({ ctimeMs, dev, ino, mtimeMs, size }: Identity) {
    this.#identity = { ctimeMs, dev, ino, mtimeMs, size };
  }

  get isOld(): boolean {
    return performance.now() - this.#at >= KNOWN_FOR;
  }

  /** True for stats of the same file, unchanged. */
  matches({ ctimeMs, dev, ino, mtimeMs, size }: Identity): boolean {
    const own = this.#identity;
    return own.ino === ino && own.ctimeMs === ctimeMs && own.mtimeMs === mtimeMs && own.dev === dev && own.size === size;
  }

  /** True if another change would show in the times. */
  get isSteady(): boolean {
    const { ctimeMs, mtimeMs } = this.#identity;
    return Date.now() - Math.max(ctimeMs, mtimeMs) > CLOCK_STEP;
  }

  get size(): number {
    return this.#identity.size;
  }
}

/**
 * Cache of what the last second found out about files: for a small one that many
 * ask for, that is most of the work. Each request still looks at its file, and a
 * changed one is forgotten.
 */
export class KnownFiles {
  readonly #files = new Map<string, KnownFile>();
  #bytes = 0;
  /** True while a timer is set that forgets old files. */
  #expires = false;
  /** The timer's, which would else keep alive what a request has in its own. */
  readonly #scope = new AsyncResource('waypost.files');

  /** @param stats Just taken. @returns What is known of the file; it is the caller's to fill in. */
  find(path: string, stats: Identity): KnownFile {
    const known = this.#files.get(path);
    if (known !== undefined) {
      if (!known.isOld && known.matches(stats)) {
        known.isAskedAgain = true;
        return known;
      }
      this.#forget(path, known);
    }
    const found = new KnownFile(stats);
    // Windows has numbers that a double can't tell apart.
    if (!Number.isSafeInteger(stats.ino) || stats.ino === 0) return found;
    if (this.#files.size >= MOST_FILES) {
      this.#files.clear();
      this.#bytes = 0;
    }
    this.#files.set(path, found);
    return found;
  }

  /** Reads a part of a file, as {@link readPart}, into bytes that may be shared. @param file What is known of it. */
  read(path: string, file: KnownFile, start: number, length: number, done: PartListener): void {
    if (file.bytes !== undefined) {
      done(null, file.bytes.subarray(start, start + length));
      return;
    }
    const keeps = file.isAskedAgain && length === file.size && file.isSteady;
    readPart(path, start, length, keeps, (error, bytes, stats) => {
      // A link may have led elsewhere in between.
      if (bytes.length === length && stats !== undefined && file.matches(stats)) this.#keep(path, file, bytes);
      done(error, bytes);
    });
  }

  #keep(path: string, file: KnownFile, bytes: Buffer): void {
    if (file.bytes !== undefined || this.#files.get(path) !== file || this.#bytes + bytes.length > MOST_BYTES) return;
    file.bytes = bytes;
    this.#bytes += bytes.length;
    if (!this.#expires) this.#expireLater();
  }

  /** Nobody may ask for a file again, and its bytes would stay. */
  #expireLater(): void {
    this.#expires = true;
    this.#scope.runInAsyncScope(setTimeout, null, () => this.#expire(), KNOWN_FOR).unref();
  }

  #expire(): void {
    for (const [path, file] of this.#files) {
      if (file.isOld) this.#forget(path, file);
    }
    this.#expires = false;
    if (this.#bytes > 0) this.#expireLater();
  }

  #forget(path: string, file: KnownFile): void {
    this.#files.delete(path);
    this.#bytes -= file.bytes?.length ?? 0;
  }
}
