import { writeSync } from 'node:fs';
import { LevelMethods, type LineLevel, type Logger, logs } from './logger';

/** Longest text of a value that a logger could not write, in UTF-16 units. */
const LONGEST = 10_000;

/**
 * Writes an application's own lines with the logger it was given. What is
 * thrown may be anything, such as a proxy that was revoked, and a logger may
 * fail by itself: a line that it can't write is written with the stack of its
 * error alone, else without its fields. Where the logger writes nothing at all, as
 * pino that can't be loaded since no descriptor is left, standard error takes the
 * message. Nothing here throws.
 */
export class SafeLog extends LevelMethods {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    super();
    this.#logger = logger;
  }

  /** True where the logger writes lines of that level. */
  writes(level: LineLevel): boolean {
    try {
      return logs(this.#logger, level);
    } catch {
      return false;
    }
  }

  protected override write(level: LineLevel, fields: object | string, message: string | undefined): void {
    if (this.#tries(level, fields, message) || typeof fields === 'string') return;
    if (this.#tries(level, withStacks(fields), message)) return;
    const line = `${message ?? 'A line'} (its fields could not be logged)`;
    if (this.#tries(level, line, undefined)) return;
    const { err = '' } = withStacks(fields) as { err?: unknown };
    try {
      writeSync(2, `${line}\n${String(err)}\n`);
    } catch {
      // Standard error takes nothing either: the line is lost.
    }
  }

  #tries(level: LineLevel, fields: object | string, message: string | undefined): boolean {
    try {
      const written: unknown = (this.#logger[level] as (fields: object | string, message?: string) => unknown)(fields, message);
      // The line of an asynchronous logger that fails is lost; its rejection would end the process.
      if (typeof written === 'object' && written !== null) Promise.resolve(written).then(undefined, () => undefined);
      return true;
    } catch {
      return false;
    }
  }
}

/** Replaces each object by its stack alone: any other member may be what has failed. */
function withStacks(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, typeof value === 'object' || typeof value === 'function' ? stackOf(value) : value]));
}

function stackOf(value: unknown): string {
  try {
    return String((value as Error).stack ?? 'a value that cannot be written').slice(0, LONGEST);
  } catch {
    return 'a value that cannot be read';
  }
}
