import { close, open, read } from 'node:fs';

/** Told of the bytes, fewer than were asked for where the file ends before; or why there are none. */
export type PartListener = (error: NodeJS.ErrnoException | null, bytes: Buffer) => void;

const NONE = Buffer.alloc(0);

/**
 * Reads a part of a file in one piece. A stream of `node:fs` does the same for
 * a part of no more than its chunk, with some thirty objects and listeners
 * around it.
 *
 * @param start First byte, counted from 0; an integer.
 * @param length Bytes to read.
 * @throws RangeError for a length that no buffer has.
 */
export function readPart(path: string, start: number, length: number, done: PartListener): void {
  open(path, 'r', (error, descriptor) => {
    // Its own memory, since a client that takes long would else keep a slab of others' bytes; and no sooner than it is used, since what lives longer is more work to collect.
    if (error === null) new PartReader(descriptor, start, Buffer.allocUnsafeSlow(length), done).next();
    else done(error, NONE);
  });
}

class PartReader {
  readonly #descriptor: number;
  readonly #start: number;
  readonly #bytes: Buffer;
  readonly #done: PartListener;
  #length = 0;

  constructor(descriptor: number, start: number, bytes: Buffer, done: PartListener) {
    this.#descriptor = descriptor;
    this.#start = start;
    this.#bytes = bytes;
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
    // What it says is of no use to anybody: the bytes are here.
    close(this.#descriptor, nothing);
    if (error === null) this.#done(null, this.#bytes.subarray(0, this.#length));
    else this.#done(error, NONE);
  }
}

function nothing(): void {
  // Node raises an error where no callback is given.
}
