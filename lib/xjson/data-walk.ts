import { types } from 'node:util';
import type { Rules } from './rules';
import { bufferToJson, lengthOf } from './value';

/** Units of a string that cost as much as one value, as a power of two. */
const UNITS = 6;
/** Strings up to this length are hardly any work. */
const SHORT = 64;
const NONE: object[] = [];

/** Values that a call of a toJSON counts for: how long it takes nobody knows. */
const CONVERSION = 32;
/** Levels that are walked: deeper, recursion might overflow the stack of who has called deep in it. */
const DEEPEST = 400;
/** Levels that are walked without looking for cycles: few data is deeper, and a cycle always is. */
const SHALLOW = 50;

// eslint-disable-next-line @typescript-eslint/unbound-method -- compared, never called
const { toJSON: dateToJson } = Date.prototype;

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
 *
 * It looks at no more than it may, so that it keeps nobody waiting.
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
  readonly path: object[];
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
    this.path = isCareful ? [] : NONE;
    const { depth, string } = rules.safe;
    this.#calm = isCareful ? 0 : Math.min(depth, SHALLOW);
    this.#short = Math.min(string, SHORT);
  }

  /** What stands for the value, whose toJSON has not been asked. */
  value(given: unknown, key: string | number, level: number): unknown {
    return typeof given === 'object' && given !== null ? this.#container(given, key, level) : this.#primitive(given);
  }

  /** What stands for the value, where its toJSON is not to be asked any more. */
  resolved(given: unknown, level: number): unknown {
    if (typeof given === 'bigint') return this.#digits(given);
    if (typeof given !== 'object' || given === null) return this.#primitive(given);
    const seen = this.#inside(given, level);
    return typeof (seen as { toJSON?: unknown }).toJSON === 'function' ? { toJSON: () => seen } : seen;
  }

  /** What stands for a value that is no container. */
  #primitive(given: unknown): unknown {
    this.left--;
    if (typeof given === 'string') this.#string(given);
    return typeof given === 'bigint' ? this.#bigInt(given) : given;
  }

  #container(given: object, key: string | number, level: number): unknown {
    const { toJSON } = given as { toJSON?: unknown };
    if (typeof toJSON !== 'function') return this.#inside(given, level);
    if (toJSON === dateToJson || toJSON === bufferToJson) {
      // Of a short string that they may hold.
      if (this.#rules.limits.string < SHORT) this.isCut = true;
      if (toJSON === dateToJson) {
        this.left--;
        return given;
      }
      this.left -= (given as Buffer).byteLength;
      // Of the array of its bytes.
      this.#isBeyond(level + 1);
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
    return seen;
  }

  /** Whether the container is not looked into. */
  #stops(source: object, level: number): boolean {
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
      if (typeof value === 'object') {
        if (value !== null) {
          seen = this.#container(value, i, level);
          if (this.left < 0) return source;
        }
      } else if (typeof value === 'string') {
        if (value.length > this.#short) this.#string(value);
      } else if (typeof value === 'bigint') {
        seen = this.#bigInt(value);
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
    // Names that are inherited, which hardly any data has, are looked at in vain: V8 has those of its own at hand.
    for (const key in source) {
      const value = source[key];
      count++;
      if (typeof value === 'string') {
        if (value.length > this.#short) this.#string(value);
      } else if (typeof value === 'object') {
        if (value === null) continue;
        const seen = this.#container(value, key, level);
        if (this.left < 0) return source;
        if (seen !== value && Object.hasOwn(source, key)) (copy ??= { ...source })[key] = seen;
      } else if (typeof value === 'bigint') {
        const digits = this.#bigInt(value);
        if (Object.hasOwn(source, key)) (copy ??= { ...source })[key] = digits;
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

  #bigInt(value: bigint): unknown {
    return typeof (value as { toJSON?: unknown }).toJSON === 'function' ? value : this.#digits(value);
  }

  #digits(value: bigint): string {
    this.left--;
    this.hasBigInt = true;
    return String(value);
  }
}
