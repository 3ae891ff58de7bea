import { close, fstat, open, read, type Stats } from 'node:fs';

/**
 * Told of the bytes, fewer than were asked for where the file ends before, or
 * why there are none; and of the file that they were read from, where that was
 * asked for and is known.
 */
export type PartListener = (error: NodeJS.ErrnoException | null, bytes: Buffer, stats?: Stats) => void;

const NONE = Buffer.alloc(0);

/**
 * Reads a part of a file in one piece. A stream of `node:fs` does the same for
 * a part of no more than its chunk, with some thirty objects and listeners
 * around it.
 *
 * @param start First byte, counted from 0; an integer.
 * @param length Bytes to read.
 * @param looks Whether to look at the file once they are read: by then another may stand at the path.
 * @throws RangeError for a length that no buffer has.
 */
export function readPart(path: string, start: number, length: number, looks: boolean, done: PartListener): void {
  open(path, 'r', (error, descriptor) => {
    // Its own memory, since a client that takes long would else keep a slab of others' bytes; and no sooner than it is used, since what lives longer is more work to collect.
    if (error === null) new PartReader(descriptor, start, Buffer.allocUnsafeSlow(length), looks, done).next();
    else done(error, NONE);
  });
}

class PartReader {
  readonly #descriptor: number;
  readonly #start: number;
  readonly #bytes: Buffer;
  readonly #looks: boolean;
  readonly #done: PartListener;
  #length = 0;

  constructor(descriptor: number, start: number, bytes: Buffer, looks: boolean, done: PartListener) {
    this.#descriptor = descriptor;
    this.#start = start;
    this.#bytes = bytes;
    this.#looks = looks;
    this.#done = done;
  }

  next(): void {
    const missing = this.#bytes.length - this.#length;
    read(this.#descriptor, this.#bytes, this.#length, missing, this.#start + this.#length, (error, count) => this.#take(error, count));
  }

  /** Some file systems answer less than is asked for; none at all is the file's end. */
  #take(error: NodeJS.ErrnoException | null, count: number): void {
    if (error === null) {
      this.#length += count;
      if (count > 0 && this.#length < this.#bytes.length) return this.next();
    }
    if (error === null && this.#looks) fstat(this.#descriptor, (_, stats?: Stats) => this.#end(null, stats));
    else this.#end(error);
  }

  #end(error: NodeJS.ErrnoException | null, stats?: Stats): void {
    // What it says is of no use to anybody: the bytes are here.
    close(this.#descriptor, nothing);
    if (error === null) this.#done(null, this.#bytes.subarray(0, this.#length), stats);
    else this.#done(error, NONE);
  }
}

function nothing(): void {
  // Node raises an error where no callback is given.
}
