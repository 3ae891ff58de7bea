import { constants, fstatSync, openSync } from 'node:fs';
import { pino } from '../packages';

/** Destination of the built-in logger: each line is one call. */
export interface LogDestination {
  write(line: string): void;
}

/** Most text that waits for standard output, in bytes. */
const MOST_HELD = 1_048_576;
/** Pause before waiting text is tried again, in milliseconds. */
const PAUSE = 100;
/** Tries at the exit, each behind a pause of pino's of 100 ms. */
const LAST_TRIES = 10;

/** pino's destination, one for a process, made with the first line. */
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
      // A `write` of the program's own receives every line.
      if (stdout.write === (Object.getPrototypeOf(stdout) as typeof stdout).write) own.write(line);
      else stdout.write(line);
    },
  };
}

function makeStream(): LogDestination {
  let tries = 0;
  let lost = 0;
  let isWaiting = false;
  const stream = pino().destination({ dest: openOutput(), sync: true, maxLength: MOST_HELD, retryEAGAIN: () => tries-- > 0 });
  const report = (): void => {
    stream.write(`${JSON.stringify({ level: 40, time: Date.now(), msg: `${lost} ${lost === 1 ? 'line of the log was' : 'lines of the log were'} lost: standard output took none` })}\n`);
    lost = 0;
  };
  const flushAtExit = (): void => {
    tries = LAST_TRIES;
    stream.write('');
  };
  stream.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (isWaiting || code === 'EPIPE') return;
    isWaiting = true;
    process.once('exit', flushAtExit);
    setTimeout(() => {
      isWaiting = false;
      process.removeListener('exit', flushAtExit);
      stream.write('');
    }, PAUSE).unref();
  });
  stream.on('drop', () => {
    if (lost++ === 0) stream.once('drain', report);
  });
  return stream;
}

/**
 * Opens standard output without blocking. A pipe is opened anew where the system
 * allows that: the mode belongs to all who share the open file, and a child
 * process that is given it makes it block, for ever if nobody reads.
 */
function openOutput(): number {
  try {
    // Numbers would mislead Node 20 and 22: `require` would take the pipe for a part of the next path it resolves.
    if (fstatSync(1, { bigint: true }).isFIFO()) return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // The system is not Linux, or nobody reads any more.
  }
  return 1;
}
