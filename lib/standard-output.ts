import { constants, fstatSync, openSync, writeSync } from 'node:fs';

/** Longest that all lines of a second wait for a reader of standard output who is slow, in milliseconds, and the pause between two tries. */
const PATIENCE = 100;
const SECOND = 1000;
const PAUSE = 5;
/** Where lines are written to, once it is known. */
let descriptor: number | undefined;

/**
 * Standard output as a log's destination: each line is written before `write`
 * returns. A line that can't be written is lost, whatever the reason: a disk
 * that is full, a pipe that is closed, a reader who has stopped reading. pino's
 * own destination keeps such lines, and tries again at the exit without an end.
 */
export class StandardOutput {
  readonly #format: (line: string) => string;
  /** Lines lost since one was written. */
  #lost = 0;
  /** Whether a line has been cut short, so that the next has to begin with a line end. */
  #cut = false;
  /** What is left of the patience, and when it was last whole, by `performance.now()`. */
  #patience = PATIENCE;
  #since = -Infinity;

  /** @param format Makes what is written of a line of pino's. @default the line */
  constructor(format: (line: string) => string = (line) => line) {
    this.#format = format;
  }

  write(given: string): void {
    const { stdout } = process;
    const line = this.#format(given);
    // Who puts a `write` of their own there wants to hear of every line.
    if (stdout.write !== (Object.getPrototypeOf(stdout) as typeof stdout).write) {
      stdout.write(line);
      return;
    }
    // With what it reports in one write: else the line behind could be the next that is lost.
    const text = this.#lost === 0 ? line : this.#format(lossOf(this.#lost)) + line;
    if (this.#isWritten(Buffer.from(this.#cut ? `\n${text}` : text))) this.#lost = 0;
    else this.#lost++;
  }

  #isWritten(bytes: Buffer): boolean {
    let from = 0;
    const now = performance.now();
    if (now - this.#since > SECOND) {
      this.#since = now;
      this.#patience = PATIENCE;
    }
    try {
      while (from < bytes.length) {
        const count = tryToWrite(bytes, from);
        from += count;
        if (count > 0) continue;
        if (this.#patience <= 0) break;
        this.#patience -= PAUSE;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE);
      }
      return from === bytes.length;
    } catch {
      return false;
    } finally {
      // Nothing of it leaves what was before as it is.
      if (from > 0) this.#cut = from < bytes.length;
    }
  }
}

/** A line of pino's shape that tells of those that are not there. */
function lossOf(lost: number): string {
  return `${JSON.stringify({ level: 40, time: Date.now(), msg: `${lost} ${lost === 1 ? 'line of the log was' : 'lines of the log were'} lost: standard output took none` })}\n`;
}

/**
 * Standard output, never waiting. Of a pipe it is opened anew where the system
 * allows that: whether a write waits is said of all who share what was opened,
 * and a child process that is given it has it wait, for ever if nobody reads.
 */
function opened(): number {
  try {
    if (fstatSync(1).isFIFO()) return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // Another system than Linux, or nobody reads any more.
  }
  return 1;
}

/** Returns how many bytes were taken: none where the reader of a pipe is behind. @throws Error of the system for anything else. */
function tryToWrite(bytes: Buffer, from: number): number {
  try {
    return writeSync((descriptor ??= opened()), bytes, from);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EAGAIN' || code === 'EBUSY') return 0;
    throw error;
  }
}
