import { writeSync } from 'node:fs';

/** Longest that a line waits for a reader of standard output who is slow, in milliseconds, and the pause between two tries. */
const PATIENCE = 100;
const PAUSE = 5;

/**
 * Standard output as a log's destination: each line is written before `write`
 * returns. A line that can't be written is lost, whatever the reason: a disk
 * that is full, a pipe that is closed, a reader who has stopped reading. pino's
 * own destination keeps such lines, and tries again at the exit without an end.
 */
export class StandardOutput {
  /** Whether a line has been cut short, so that the next has to begin with a line end. */
  #cut = false;
  /** Whether the last line was lost to a slow reader: the next is not waited for again. */
  #stalled = false;

  write(line: string): void {
    const { stdout } = process;
    // Who puts a `write` of their own there wants to hear of every line.
    if (stdout.write !== (Object.getPrototypeOf(stdout) as typeof stdout).write) {
      stdout.write(line);
      return;
    }
    try {
      this.#writeAll(Buffer.from(this.#cut ? `\n${line}` : line));
    } catch {
      // The line is lost.
    }
  }

  #writeAll(bytes: Buffer): void {
    let from = 0;
    let patience = this.#stalled ? 0 : PATIENCE;
    try {
      while (from < bytes.length) {
        const count = tryToWrite(bytes, from);
        from += count;
        if (count > 0) continue;
        patience -= PAUSE;
        if (patience < 0) break;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE);
      }
    } finally {
      this.#stalled = from < bytes.length;
      // Nothing of it leaves what was before as it is.
      if (from > 0) this.#cut = this.#stalled;
    }
  }
}

/** Answers how many bytes were taken: none where the reader of a pipe is behind. @throws Error of the system for anything else. */
function tryToWrite(bytes: Buffer, from: number): number {
  try {
    return writeSync(1, bytes, from);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EAGAIN' || code === 'EBUSY') return 0;
    throw error;
  }
}
