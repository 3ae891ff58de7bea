import { dirname } from 'node:path';
import type { WriteStream } from 'node:tty';
import { pino } from '../packages';

/** Fields of pino's that a developer has no use for. */
const OWN: readonly string[] = ['time', 'pid', 'hostname'];

/** The part of the package pino-pretty that is used: it makes a function that makes text of a line's fields. */
interface PinoPretty {
  prettyFactory(options: object): (fields: object) => string;
}

/** Characters that a terminal obeys: control characters, ends of lines, marks that reverse the order of letters. */
const OBEYED = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * Formats pino's lines of JSON for a terminal: by the package pino-pretty where it is installed, else as level,
 * message and fields. Control characters that a client has sent become escapes.
 */
export function lineFormat(terminal: Pick<WriteStream, 'hasColors'>): (line: string) => string {
  const format = prettyFormat(terminal) ?? plainText;
  return (line) => format(harmless('', JSON.parse(line)) as Line);
}

/** The fields of pino's lines that are more than shown. */
interface Line {
  readonly level: number;
  readonly msg?: string;
  readonly err?: { readonly stack?: string };
}

function prettyFormat(terminal: Pick<WriteStream, 'hasColors'>): ((fields: Line) => string) | undefined {
  try {
    const path = require.resolve('pino-pretty', { paths: [process.cwd(), dirname(process.argv[1] ?? '')] });
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- the program's choice, known only now
    return (require(path) as PinoPretty).prettyFactory({ colorize: terminal.hasColors(), ignore: 'pid,hostname' });
  } catch {
    return undefined;
  }
}

function plainText({ level, msg = '', err, ...given }: Line): string {
  const fields = Object.entries(given).filter(([name]) => !OWN.includes(name)).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  return `${pino().levels.labels[level] ?? level}: ${msg}${fields.join('')}\n${err?.stack === undefined ? '' : `${err.stack.replaceAll(/^/gm, '    ')}\n`}`;
}

/** A copy with such characters escaped; the lines of a stack stay lines. */
function harmless(name: string, value: unknown): unknown {
  if (typeof value === 'string') return name === 'stack' ? value.split('\n').map(escaped).join('\n') : escaped(value);
  if (Array.isArray(value)) return value.map((entry) => harmless('', entry));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [escaped(key), harmless(key, entry)]));
}

/** Escapes as JSON does, and by number C1 and the marks, which JSON leaves. */
function escaped(text: string): string {
  return text.replace(OBEYED, (character) => (character < ' ' ? JSON.stringify(character).slice(1, -1) : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`));
}
