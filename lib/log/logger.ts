import { late } from '../packages';
import type { LogDestination } from './standard-output';

const pinoLoggers = late(() => require('./pino-logger') as typeof import('./pino-logger'));

/** The levels of pino, lowest first; `silent` logs nothing. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** The name of a log level; see `LOG_LEVELS`. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** One line of the log: fields and a message, or a message alone. */
export interface LogMethod {
  (fields: object, message?: string): void;
  (message: string): void;
}

/** A logger in the shape of pino's, as `logging.logger` takes it (INTERFACE section 2.6). */
export interface Logger {
  /** Writes a line at `trace`. */
  trace: LogMethod;
  /** Writes a line at `debug`. */
  debug: LogMethod;
  /** Writes a line at `info`. */
  info: LogMethod;
  /** Writes a line at `warn`. */
  warn: LogMethod;
  /** Writes a line at `error`. */
  error: LogMethod;
  /** Writes a line at `fatal`. */
  fatal: LogMethod;
  /** The lowest level that is written, where the logger tells it. */
  level?: string | undefined;
  /** Says whether a line at that level would be written, where the logger tells it. */
  isLevelEnabled?(level: string): boolean;
  /** Makes a logger that adds these fields to every line, where the logger can. */
  child?(fields: Record<string, unknown>): Logger;
}

/** A level at which a line can be written. */
export type LineLevel = Exclude<LogLevel, 'silent'>;

const METHODS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const satisfies readonly (keyof Logger)[];

/** pino's numbers of its levels. */
const NUMBERS: Readonly<Record<LogLevel, number>> = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60, silent: Infinity };

/** The methods of a logger that writes lines of all levels in one way. */
export abstract class LevelMethods implements Logger {
  protected abstract write(level: LineLevel, fields: object | string, message: string | undefined): void;

  trace(fields: object | string, message?: string): void {
    this.write('trace', fields, message);
  }

  debug(fields: object | string, message?: string): void {
    this.write('debug', fields, message);
  }

  info(fields: object | string, message?: string): void {
    this.write('info', fields, message);
  }

  warn(fields: object | string, message?: string): void {
    this.write('warn', fields, message);
  }

  error(fields: object | string, message?: string): void {
    this.write('error', fields, message);
  }

  fatal(fields: object | string, message?: string): void {
    this.write('fatal', fields, message);
  }
}

/** pino, loaded with the first line: to load it takes longer than all else at the start of a server. */
export class LatePino extends LevelMethods {
  readonly #level: LogLevel;
  readonly #hints: boolean;
  readonly #destination: LogDestination | undefined;
  #pino: (Logger & { readonly levelVal: number }) | undefined;

  constructor(level: LogLevel, hints: boolean, destination: LogDestination | undefined) {
    super();
    this.#level = level;
    this.#hints = hints;
    this.#destination = destination;
  }

  /** pino itself, with its whole surface. */
  get whole(): Logger & { readonly levelVal: number } {
    return (this.#pino ??= pinoLoggers().pinoLogger(this.#level, this.#hints, this.#destination));
  }

  get level(): string | undefined {
    return this.#pino === undefined ? this.#level : this.#pino.level;
  }

  get levelVal(): number {
    return this.#pino === undefined ? NUMBERS[this.#level] : this.#pino.levelVal;
  }

  protected override write(level: LineLevel, fields: object | string, message: string | undefined): void {
    if (NUMBERS[level] >= this.levelVal) (this.whole[level] as (fields: object | string, message?: string) => void)(fields, message);
  }
}

/**
 * The logger of an application: the given one as it is, else pino, which writes
 * one line at a time to standard output, synchronously: of JSON, or on a
 * terminal as text where hints are logged.
 *
 * @param options The level and logger of `logging`, and whether hints are logged, checked before.
 * @param destination pino's destination. @default standard output
 */
export function createLogger(
  options: { readonly level?: LogLevel; readonly logger?: Logger | undefined; readonly hints?: boolean } = {},
  destination?: LogDestination,
): Logger {
  const { level = 'info', logger, hints = false } = options;
  return logger ?? new LatePino(level, hints, destination);
}

/**
 * Returns the value if it has every method of a {@link Logger}.
 *
 * @param name Name of the option in the error.
 * @throws TypeError that names the methods it lacks.
 */
export function checkLogger(value: unknown, name: string): Logger {
  const candidate = (typeof value === 'object' && value !== null) || typeof value === 'function' ? (value as Partial<Logger>) : {};
  const lacking = METHODS.filter((method) => typeof candidate[method] !== 'function');
  if (lacking.length > 0) {
    throw new TypeError(`${name} must have the methods ${METHODS.join(', ')} as pino has them; it lacks ${lacking.join(', ')}`);
  }
  return candidate as Logger;
}

/** True where the logger writes lines of that level, or does not tell. */
export function logs(logger: Logger, level: LineLevel): boolean {
  const { levelVal } = logger as { levelVal?: unknown };
  const rank = NUMBERS[level];
  // pino's number for the level costs a read, its name a search.
  if (typeof levelVal === 'number') return levelVal <= rank;
  const lowest = (NUMBERS as Readonly<Record<string, number>>)[logger.level ?? ''];
  if (lowest !== undefined) return lowest <= rank;
  return logger.isLevelEnabled?.(level) ?? logger.level === undefined;
}

/** A logger that adds the fields to every line: the logger's own child, else one that hands its lines on. */
export function childOf(given: Logger, fields: Readonly<Record<string, unknown>>): Logger {
  const logger = given instanceof LatePino ? given.whole : given;
  if (typeof logger.child === 'function') return logger.child({ ...fields });
  return Object.fromEntries(METHODS.map((method) => [method, (first: object | string, message?: string): void => {
    if (typeof first === 'string') logger[method](fields, first);
    else logger[method]({ ...fields, ...(first instanceof Error ? { err: first } : first) }, message);
  }])) as unknown as Logger;
}
