import { types } from 'node:util';
import type { Rules } from './rules';
import { bufferToJson, isConvertible, lengthOf, silent, unboxed } from './value';

/** Units of a string that cost as much as one value, as a power of two. */
const UNITS = 6;
/** Strings up to this length are hardly any work. */
const SHORT = 64;

/** Values that a call of a toJSON counts for: how long it takes nobody knows. */
const CONVERSION = 32;
/** Levels that are walked: deeper, recursion might overflow the stack of who has called deep in it. */
const DEEPEST = 400;
/** Levels that are walked without looking for cycles: few data is deeper, and a cycle always is. */
const SHALLOW = 16;

const { toJSON: dateToJson, toISOString: dateToText } = Date.prototype as unknown as Readonly<Record<string, unknown>>;
// eslint-disable-next-line @typescript-eslint/unbound-method -- called for others
const { hasOwnProperty } = Object.prototype;

/** Has a toJSON where a program has given all arrays or objects one. */
const EMPTY_LIST = [] as { readonly toJSON?: unknown };

/** What a walk goes by that begins beneath the root. */
export interface Place {
  /** Containers around, which data may lead back to. */
  readonly around: ReadonlySet<object>;
  /** How many they are. */
  readonly level: number;
}

/**
 * One pass over data that says how it can be written as JSON. It copies, from
 * the root down, what `JSON.stringify` would refuse or would have to ask again:
 * a container of a BigInt, whose digits stand in its place, and one of a value
 * with a `toJSON`, whose result does. All else stays the same reference.
 */
export class DataWalk {
  /** Values that may still be looked at; below zero once there were more. */
  left: number;
  /** Whether it ended at its depth. */
  tooDeep = false;
  /** Whether there is a BigInt that JSON.stringify would refuse. */
  hasBigInt = false;
  isCyclic = false;
  /** Whether something is beyond the limits in force; it is not looked into. */
  isCut = false;
  /** Whether something is beyond the defaults that are not in force. */
  passesDefaults = false;
  /** Whether JSON.stringify has refused what the walk could not see. */
  isRefused = false;
  /** The containers from the root to where the walk is, or where it became too much; empty where it looks for no cycle. */
  readonly path: object[] = [];
  readonly #rules: Rules;
  readonly #isCareful: boolean;
  readonly #place: Place | undefined;
  /** Levels below this need no look. */
  readonly #calm: number;
  /** Strings up to this length need no look. */
  readonly #short: number;

  /**
   * @param left Values that may be looked at.
   * @param isCareful Whether it looks for cycles, and goes deeper.
   * @param place Where it begins. @default the root
   */
  constructor(rules: Rules, left: number, isCareful: boolean, place?: Place) {
    this.left = left;
    this.#rules = rules;
    this.#isCareful = isCareful;
    this.#place = place;
    const { depth, string } = rules.safe;
    this.#calm = isCareful ? 0 : Math.min(depth, SHALLOW);
    this.#short = Math.min(string, SHORT);
  }

  /** What stands for the value, whose toJSON has not been asked. */
  value(given: unknown, key: string | number, level: number): unknown {
    return isConvertible(given) ? this.#converted(given, key, level) : this.#primitive(given);
  }

  /** What stands for the value, where its toJSON is not to be asked any more. */
  resolved(given: unknown, level: number): unknown {
    if (typeof given === 'bigint') return this.#digits(given);
    if (typeof given !== 'object' || given === null) return silent(this.#primitive(given));
    const seen = this.#inside(given, level);
    return seen === given || EMPTY_LIST.toJSON === undefined ? silent(seen) : seen;
  }

  /** What stands for a value that is no container, and has no toJSON. */
  #primitive(given: unknown): unknown {
    this.left--;
    if (typeof given === 'string') this.#string(given);
    return given;
  }

  /** What stands for the value, or for what its toJSON makes of it. */
  #converted(given: object | bigint, key: string | number, level: number): unknown {
    const { toJSON } = given as { toJSON?: unknown };
    if (typeof toJSON !== 'function') return typeof given === 'object' ? this.#inside(given, level) : typeof given === 'bigint' ? this.#digits(given) : given;
    const isDate = toJSON === dateToJson && (given as Date).toISOString === dateToText;
    if (isDate || (toJSON === bufferToJson && types.isUint8Array(given))) {
      // Of a short string that they may hold.
      if (this.#rules.limits.string < SHORT) this.isCut = true;
      this.left -= isDate ? 1 : (given as Buffer).byteLength;
      // Of the array of its bytes.
      if (!isDate) this.#isBeyond(level + 1);
      return given;
    }
    this.left -= CONVERSION;
    return this.resolved(Reflect.apply(toJSON as (key: string) => unknown, given, [String(key)]), level);
  }

  #inside(source: object, level: number): unknown {
    if (level >= this.#calm && this.#stops(source, level)) return source;
    const seen = Array.isArray(source) ? this.#array(source, level + 1) : this.#object(source as Record<string, unknown>, level + 1);
    // Where it was too much, the path tells what is large.
    if (this.#isCareful && this.left >= 0) this.path.pop();
    // A copy inherits what its source may not.
    return seen === source || EMPTY_LIST.toJSON === undefined ? seen : silent(seen);
  }

  /** Whether the container is not looked into. */
  #stops(source: object, level: number): boolean {
    const bare = this.#isCareful ? unboxed(source) : source;
    if (bare !== source) {
      this.resolved(bare, level);
      return true;
    }
    if (this.#isCareful && (this.path.includes(source) || this.#place?.around.has(source) === true)) {
      this.isCyclic = true;
      // Other limits hold from now on: with them it begins anew.
      if (!this.#rules.isGuarded) this.left = -1;
      return true;
    }
    if (this.#isBeyond(level)) return true;
    if (level >= (this.#place?.level ?? 0) + (this.#isCareful ? DEEPEST : SHALLOW)) {
      this.tooDeep = true;
      this.left = -1;
      return true;
    }
    if (this.#isCareful) this.path.push(source);
    return this.#rules.hidden && !Array.isArray(source) && this.#named(source as Record<string, unknown>, level + 1);
  }

  /** Whether a container with so many around it is not written. */
  #isBeyond(level: number): boolean {
    if (level < this.#rules.safe.depth) return false;
    const isCut = level >= this.#rules.limits.depth;
    if (isCut) this.isCut = true;
    else this.passesDefaults = true;
    return isCut;
  }

  #array(source: readonly unknown[], level: number): unknown {
    const length = lengthOf(source);
    if ((this.left -= length + 1) < 0) return source;
    let copy: unknown[] | null = null;
    for (let i = 0; i < length; i++) {
      const value = source[i];
      let seen = value;
      if (typeof value === 'string') {
        if (value.length > this.#short) this.#string(value);
      } else if (isConvertible(value)) {
        seen = typeof value === 'bigint' ? this.#bigInt(value, i, level) : this.#converted(value, i, level);
        if (this.left < 0) return source;
      }
      if (copy !== null) copy.push(seen);
      else if (seen !== value && value === value) {
        copy = [];
        for (let before = 0; before < i; before++) copy.push(source[before]);
        copy.push(seen);
      }
    }
    return copy ?? source;
  }

  #object(source: Readonly<Record<string, unknown>>, level: number): unknown {
    // The names of a large one are not to be made at once.
    if (ArrayBuffer.isView(source) && (this.left -= source.byteLength) < 0) return source;
    let copy: Record<string, unknown> | null = null;
    let count = 1;
    const { left: most, hasBigInt } = this;
    for (const key in source) {
      // Costs nothing, called like this: V8 sees that the name comes from the object's own.
      if (!hasOwnProperty.call(source, key)) continue;
      if (++count > most) {
        this.left = -1;
        return source;
      }
      const value = source[key];
      if (typeof value === 'string') {
        if (value.length > this.#short) this.#string(value);
      } else if (isConvertible(value)) {
        const seen = typeof value === 'bigint' ? this.#bigInt(value, key, level) : this.#converted(value, key, level);
        if (this.left < 0) return source;
        if (seen === value) continue;
        // Of a box only what is in it is written.
        if (copy === null && Object.getPrototypeOf(source) !== Object.prototype && types.isBoxedPrimitive(source)) {
          this.hasBigInt = hasBigInt;
          break;
        }
        (copy ??= { ...source })[key] = seen;
      }
    }
    this.left -= count;
    // The names of its characters are what was counted.
    if (count > this.#short && types.isStringObject(source)) this.#string(String(source));
    return copy ?? source;
  }

  /** Looks at hidden properties too. Nothing is copied: the safe path writes them. */
  #named(source: Readonly<Record<string, unknown>>, level: number): true {
    const names = Object.getOwnPropertyNames(source);
    this.left -= names.length;
    for (let i = 0; i < names.length && this.left >= 0; i++) this.value(source[names[i] as string], names[i] as string, level);
    if (this.left >= 0) this.path.pop();
    return true;
  }

  #string({ length }: string): void {
    const most = this.#rules.limits.string;
    this.left -= Math.min(length, most) >> UNITS;
    if (length > most) this.isCut = true;
    else if (length > this.#rules.safe.string) this.passesDefaults = true;
  }

  /** A place for BigInts alone: V8 then knows what it finds, as it does not among objects of many shapes. */
  #bigInt(value: bigint, key: string | number, level: number): unknown {
    return typeof (value as { toJSON?: unknown }).toJSON === 'function' ? this.#converted(value, key, level) : this.#digits(value);
  }

  #digits(value: bigint): string {
    this.left--;
    this.hasBigInt = true;
    const digits = String(value);
    // What writes this as a string would cut it.
    if (digits.length > this.#rules.limits.string) this.isCut = true;
    return digits;
  }
}
