import { constants, fstatSync, openSync } from 'node:fs';
import { pino } from '../packages';

/** Where the built-in logger writes: each line is one call. */
export interface LogDestination {
  write(line: string): void;
}

/** Most text that waits for standard output, in bytes. */
const MOST_HELD = 1_048_576;
/** Pause before what waits is tried again, in milliseconds. */
const PAUSE = 100;
/** Tries at the exit, each behind a pause of pino's of 100 ms. */
const LAST_TRIES = 10;

/** What is made of pino's for all of a process, with the first line. */
let stream: LogDestination | undefined;

/**
 * Standard output as a log's destination, which is pino's own: a line is written
 * before `write` returns. What a full disk or a slow reader does not take waits,
 * up to a limit; a request never does. A process that exits waits for a reader
 * for a second. Nothing is written any more to a pipe that is closed.
 */
export function standardOutput(): LogDestination {
  const own = (stream ??= makeStream());
  return {
    // Its `flushSync`, which pino calls for `fatal`, is not given away: it tries a full disk for ever.
    write(line) {
      const { stdout } = process;
      // Who puts a `write` of their own there wants to hear of every line.
      if (stdout.write === (Object.getPrototypeOf(stdout) as typeof stdout).write) own.write(line);
      else stdout.write(line);
    },
  };
}

function makeStream(): LogDestination {
  let tries = 0;
  let lost = 0;
  let isWaiting = false;
  const stream = pino().destination({ dest: opened(), sync: true, maxLength: MOST_HELD, retryEAGAIN: () => tries-- > 0 });
  const report = (): void => {
    stream.write(`${JSON.stringify({ level: 40, time: Date.now(), msg: `${lost} ${lost === 1 ? 'line of the log was' : 'lines of the log were'} lost: standard output took none` })}\n`);
    lost = 0;
  };
  const leave = (): void => {
    tries = LAST_TRIES;
    stream.write('');
  };
  stream.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (isWaiting || code === 'EPIPE') return;
    isWaiting = true;
    process.once('exit', leave);
    setTimeout(() => {
      isWaiting = false;
      process.removeListener('exit', leave);
      stream.write('');
    }, PAUSE).unref();
  });
  stream.on('drop', () => {
    if (lost++ === 0) stream.once('drain', report);
  });
  return stream;
}

/**
 * Standard output, never waiting. Of a pipe it is opened anew where the system
 * allows that: whether a write waits is said of all who share what was opened,
 * and a child process that is given it has it wait, for ever if nobody reads.
 */
function opened(): number {
  try {
    // In numbers, as for itself, Node 20 and 22 would take the pipe for a part of the next path that `require` resolves.
    if (fstatSync(1, { bigint: true }).isFIFO()) return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // Another system than Linux, or nobody reads any more.
  }
  return 1;
}
