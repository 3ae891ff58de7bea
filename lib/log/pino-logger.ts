import { pino } from '../packages';
import { lineFormat } from './line-format';
import { errorSerializer } from './logged-error';
import type { Logger, LogLevel } from './logger';
import { type LogDestination, standardOutput } from './standard-output';

/** Makes pino write to the destination, or to standard output: there as text on a terminal where hints are logged. */
export function pinoLogger(level: LogLevel, hints: boolean, destination: LogDestination = outputOf(hints)): Logger & { readonly levelVal: number } {
  return pino()({ level, serializers: { err: errorSerializer() } }, destination);
}

function outputOf(hints: boolean): LogDestination {
  const output = standardOutput();
  if (!hints || !process.stdout.isTTY) return output;
  const format = lineFormat(process.stdout);
  return { write: (line) => output.write(format(line)) };
}
