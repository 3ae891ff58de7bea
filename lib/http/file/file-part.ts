import { close, fstat, open, read, type Stats } from 'node:fs';

/** Called with the bytes or the error; and, where asked for, with the file's stats. The bytes are fewer than asked for where the file ends before. */
export type PartListener = (error: NodeJS.ErrnoException | null, bytes: Buffer, stats?: Stats) => void;

const NONE = Buffer.alloc(0);

/**
 * Reads a part of a file in one piece: a stream of `node:fs` does the same with some thirty objects and listeners around it.
 * @param start First byte, counted from 0; an integer.
 * @param length Bytes to read.
 * @param looks Takes the stats after the bytes: another file may be at the path since.
 */
export function readPart(path: string, start: number, length: number, looks: boolean, done: PartListener): void {
  open(path, 'r', (error, descriptor) => {
    if (error !== null) return done(error, NONE);
    // Memory of its own: a slow client would otherwise keep a slab of others' bytes. Allocated just before its use, since what lives longer is more work to collect.
    const bytes = Buffer.allocUnsafeSlow(length);
    let at = 0;
    const end = (failure: NodeJS.ErrnoException | null, stats?: Stats): void => {
      // A failed close is of no use to anybody: the bytes are here. Without a callback Node raises an error.
      close(descriptor, () => undefined);
      if (failure === null) done(null, bytes.subarray(0, at), stats);
      else done(failure, NONE);
    };
    const next = (): void => read(descriptor, bytes, at, length - at, start + at, (failure, count) => {
      if (failure !== null) return end(failure);
      at += count;
      // Some file systems answer less than is asked for; none at all is the file's end.
      if (count > 0 && at < length) next();
      else if (looks) fstat(descriptor, (_, stats?: Stats) => end(null, stats));
      else end(null);
    });
    next();
  });
}
