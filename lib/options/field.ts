import { constants } from 'node:buffer';
import { validateHeaderName } from 'node:http';
import type { UnknownOption } from './hint';
import { late } from '../packages';

/** @internal */
export const unknown = late(() => require('./hint') as typeof import('./hint'));

/** A warning logged at start: a sentence, or an unknown key, whose place all the options tell. */
export type Warning = string | UnknownOption;

/** Reads one option: returns its value, or its default where nothing was given, or throws a TypeError. */
export type Field<T> = (given: unknown, name: string, warnings: Warning[]) => T;
export type Fields<T> = { readonly [K in keyof T]-?: Field<T[K]> };

export function refuse(name: string, expected: string, got: string): never {
  throw new TypeError(`${name} must be ${expected}, got ${got}`);
}

export function describe(given: unknown): string {
  if (typeof given === 'string' && given !== '') return JSON.stringify(given.length > 60 ? `${given.slice(0, 60)}…` : given);
  if (typeof given === 'number' || typeof given === 'boolean') return String(given);
  if (typeof given === 'bigint') return `${given}n`;
  return describeKind(given);
}

/** Names the kind of a value, never the value, which could be a secret. */
export function describeKind(given: unknown): string {
  if (given === null || given === undefined) return String(given);
  if (given === '') return 'an empty string';
  const kind = Array.isArray(given) ? 'array' : typeof given;
  return `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`;
}

/** A field that returns a value unchanged when the test holds; the test vouches for T. */
export function matching<T>(expected: string, test: (given: unknown) => boolean, tell = describe): Field<T> {
  return (given, name) => (test(given) ? (given as T) : refuse(name, expected, tell(given)));
}

export function oneOf<const T>(...values: readonly T[]): Field<T> {
  return matching(`one of ${values.map((value) => JSON.stringify(value)).join(', ')}`, (given) => values.includes(given as T));
}

export function integer(min: number, max: number, unit = ''): Field<number> {
  return matching(`an integer${unit} from ${min} to ${max}`, (given) => Number.isInteger(given) && Number(given) >= min && Number(given) <= max);
}

export function otherwise<T, D>(fallback: D, field: Field<T>): Field<T | D> {
  return (given, name, warnings) => (given === undefined ? fallback : field(given, name, warnings));
}

export function optional<T>(field: Field<T>): Field<T | undefined> {
  return otherwise(undefined, field);
}

export function refined<A, B>(field: Field<A>, next: (value: A, name: string, warnings: Warning[]) => B): Field<B> {
  return (given, name, warnings) => next(field(given, name, warnings), name, warnings);
}

export function listOf<T>(item: Field<T>, expected: string): Field<readonly T[]> {
  return (given, name, warnings) => {
    if (!Array.isArray(given)) return refuse(name, expected, describeKind(given));
    // Array.from visits holes too, which map would leave unread.
    return Object.freeze(Array.from(given, (value: unknown, index) => item(value, `${name}[${index}]`, warnings)));
  };
}

/** Tells where a misplaced option of a guard belongs, if the key is one. */
export type HomeOf = (key: string) => string | undefined;

const nowhere: HomeOf = () => undefined;

/** Path of a guard that was given in a section which is none. */
export const strayHome: HomeOf = (key) => unknown().strayHome(key);

/** An object of options, each read by its field. A key that belongs elsewhere throws, and in a guard a misspelt one too; other unknown keys are warned of. */
export function section<T extends object>(fields: Fields<T>, homeOf: HomeOf = nowhere, isGuard = false): Field<Readonly<T>> {
  const known = Object.keys(fields) as (keyof T & string)[];
  return (given, name, warnings) => {
    const source = given === undefined ? {} : plainObject(given, name);
    const prefix = name === ROOT ? '' : `${name}.`;
    for (const key of Object.keys(source)) {
      if (Object.hasOwn(fields, key)) continue;
      unknown().checkUnknown(key, prefix, known, homeOf, isGuard);
      warnings.push({ prefix, key });
    }
    const resolved: Partial<T> = {};
    for (const key of known) {
      resolved[key] = fields[key](isGiven(source, key) ? source[key] : undefined, prefix + key, warnings);
    }
    return Object.freeze(resolved as T);
  };
}

/** True for an option that is given: undefined is not, nor what a polluted Object.prototype has. */
export function isGiven(source: unknown, key: string): boolean {
  return Object.hasOwn(source as object, key) && (source as Record<string, unknown>)[key] !== undefined;
}

function plainObject(given: unknown, name: string): Record<string, unknown> {
  if (isPlainObject(given)) return given;
  return typeof given !== 'object' || given === null || Array.isArray(given) ? refuse(name, 'an object', describeKind(given)) : refuse(name, 'a plain object', 'an instance of a class');
}

/** True for an object that is neither array nor instance of a class. */
export function isPlainObject(given: unknown): given is Record<string, unknown> {
  if (typeof given !== 'object' || given === null) return false;
  const prototype = Object.getPrototypeOf(given) as object | null;
  // An Object.prototype of another realm is as good as ours.
  return prototype === null || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf'));
}

/** True for the name of a header (RFC 9110 section 5.1). */
export function isHeaderName(given: unknown): boolean {
  try {
    validateHeaderName(given as string);
    return true;
  } catch {
    return false;
  }
}

export const ROOT = 'the options of createServer';
export const flag = matching<boolean>('a boolean', (given) => typeof given === 'boolean');
export const text = matching<string>('a non-empty string', (given) => typeof given === 'string' && given !== '');
export const callback = matching<never>('a function', (given) => typeof given === 'function');
export const hidden = matching<string>('a string', (given) => typeof given === 'string', describeKind);
/** The longest delay of a timer, in milliseconds: Node's fire at once for a longer one. */
export const LONGEST_DELAY = 2 ** 31 - 1;
export const milliseconds = integer(0, LONGEST_DELAY, ' of milliseconds');
export const count = integer(0, LONGEST_DELAY);

const UNITS: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };

/** Bytes as a number, or as text such as `'1.5mb'`. */
export const bytes: Field<number> = (given, name, warnings) => {
  if (typeof given !== 'string') return integer(1, constants.MAX_LENGTH, ' of bytes')(given, name, warnings);
  const [, amount, unit = 'b'] = /^(\d+(?:\.\d+)?) ?([kmg]?b)?$/i.exec(given) ?? [];
  const size = Math.floor(Number(amount) * (UNITS[unit.toLowerCase()] ?? NaN));
  return size >= 1 && size <= constants.MAX_LENGTH ? size : refuse(name, "a number of bytes or text such as '100kb' or '1mb'", describe(given));
};

/** The fields that were given; lists are copied, so that they can be frozen. */
export function onlyGiven<T extends object>(options: T, fields: Fields<T>): Readonly<T> {
  const given = Object.entries(options).filter(([name, value]) => value !== undefined && Object.hasOwn(fields, name));
  return Object.freeze(Object.fromEntries(given.map(([name, value]) => [name, Array.isArray(value) ? Object.freeze([...(value as unknown[])]) : (value as unknown)])) as T);
}
