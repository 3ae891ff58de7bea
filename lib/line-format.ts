import { dirname } from 'node:path';
import type { WriteStream } from 'node:tty';

/** A line of the built-in logger, as pino has written it. */
interface Fields {
  readonly level?: unknown;
  readonly time?: unknown;
  readonly msg?: unknown;
  readonly err?: unknown;
  readonly [name: string]: unknown;
}

/** The part of the package pino-pretty that is used: it makes a function that makes text of a line's fields. */
interface PinoPretty {
  prettyFactory?(options: object): (fields: unknown) => string | undefined;
}

const LEVELS: Readonly<Record<number, readonly [name: string, colour: number]>> = {
  10: ['TRACE', 90], 20: ['DEBUG', 36], 30: ['INFO', 32], 40: ['WARN', 33], 50: ['ERROR', 31], 60: ['FATAL', 35],
};

/** What a terminal obeys in place of showing it: control characters, ends of lines, marks that turn the order of letters round. */
const OBEYED = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Values that need no quotes. */
const BARE = /^[\w./:?&=%@+,~*()-]+$/;

/**
 * Makes what a developer reads on a terminal of pino's lines of JSON: by the
 * package pino-pretty where the program has it, else one line of text each. What
 * a client has sent stands there with its control characters as escapes.
 */
export function lineFormat(terminal: Pick<WriteStream, 'hasColors'>): (line: string) => string {
  // Node's own answer minds NO_COLOR and its kin.
  const colours = terminal.hasColors();
  const pretty = loadPretty(colours);
  return (line) => {
    const fields = fieldsOf(line);
    if (fields === undefined) return `${harmless(line.trimEnd())}\n`;
    return pretty?.(fields) ?? plainLine(fields, colours);
  };
}

function fieldsOf(line: string): Fields | undefined {
  try {
    return JSON.parse(line) as Fields;
  } catch {
    return undefined;
  }
}

/** pino-pretty as the program would load it; undefined where it has none that works. */
function loadPretty(colorize: boolean): ((fields: Fields) => string | undefined) | undefined {
  try {
    const path = require.resolve('pino-pretty', { paths: [process.cwd(), dirname(process.argv[1] ?? '')] });
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- the program's choice, known only now
    const format = (require(path) as PinoPretty).prettyFactory?.({ colorize, ignore: 'pid,hostname' });
    return format && ((fields) => {
      try {
        return format(harmlessValue('', fields));
      } catch {
        return undefined;
      }
    });
  } catch {
    return undefined;
  }
}

/** A copy without what a terminal obeys; the lines of a stack stay lines. */
function harmlessValue(name: string, value: unknown): unknown {
  if (typeof value === 'string') return name === 'stack' ? value.split('\n').map(harmless).join('\n') : harmless(value);
  if (Array.isArray(value)) return value.map((entry) => harmlessValue('', entry));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [harmless(key), harmlessValue(key, entry)]));
}

/** `12:34:56.789 INFO  The server has started port=3000`, and beneath it the stack of an error, indented. */
function plainLine({ level, time, msg, err, pid: _pid, hostname: _hostname, ...rest }: Fields, colours: boolean): string {
  const [name, colour] = LEVELS[Number(level)] ?? [harmless(String(level)), 0];
  const clock = typeof time === 'number' ? new Date(time) : new Date();
  const head = `${clock.toTimeString().slice(0, 8)}.${String(clock.getMilliseconds()).padStart(3, '0')} ${colours ? `\x1b[${colour}m${name.padEnd(5)}\x1b[0m` : name.padEnd(5)}`;
  const { stack, error } = errorOf(err);
  const parts = Object.entries({ ...rest, ...error }).map(([key, value]) => `${harmless(key)}=${written(value)}`);
  const line = [head, ...(typeof msg === 'string' ? [harmless(msg)] : []), ...parts].join(' ');
  return [line, ...stack.map((one) => `    ${harmless(one)}`)].map((one) => `${one}\n`).join('');
}

/** The lines of an error's stack, and what else is known of it. */
function errorOf(err: unknown): { stack: readonly string[]; error: object } {
  if (err === undefined) return { stack: [], error: {} };
  const { type: _type, message: _message, stack, ...error } = (err ?? {}) as { type?: unknown; message?: unknown; stack?: unknown };
  return typeof stack === 'string' ? { stack: stack.split('\n'), error } : { stack: [], error: { err } };
}

function written(value: unknown): string {
  if (typeof value === 'string' && BARE.test(value)) return value;
  return harmless(JSON.stringify(value));
}

function harmless(text: string): string {
  return text.replace(OBEYED, (character) => SHORT[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
