import { types } from 'node:util';
import type { Rules } from './rules';
import { bufferToJson, mayHaveToJson, suppressToJson, unboxed } from './value';

/** Units of a string that cost as much as one value, in bits. */
const STRING_COST_BITS = 6;
/** Strings up to this length cost hardly any work. */
const SHORT_STRING = 64;

/** Values that a call of a toJSON counts for: its duration is unknown. */
const TO_JSON_COST = 32;
/** Levels that are walked: deeper recursion might overflow a caller's nearly full stack. */
const MAX_DEPTH = 400;
/** Levels that are walked without tracking cycles: few data is deeper, and a cycle always is. */
const UNTRACKED_DEPTH = 16;

const { toJSON: dateToJson, toISOString: dateToIsoString } = Date.prototype as unknown as Readonly<Record<string, unknown>>;
// eslint-disable-next-line @typescript-eslint/unbound-method -- called for others
const { hasOwnProperty } = Object.prototype;

/** Ancestors of a walk that begins beneath the root. */
export interface Ancestors {
  /** Containers around, which data may lead back to. */
  readonly containers: ReadonlySet<object>;
  /** Number of containers around. */
  readonly level: number;
}

/**
 * One pass over data that says how it can be written as JSON. From the root
 * down it copies containers that hold a BigInt or a value with a `toJSON`, with
 * the digits or the result instead: `JSON.stringify` would refuse the one and
 * call the other again. All else stays the same reference.
 */
export class DataWalk {
  /** Values that may still be visited; below zero once there were more. */
  budget: number;
  /** True when the walk ended at its depth. */
  isTooDeep = false;
  /** True for data with a BigInt that JSON.stringify would refuse. */
  hasBigInt = false;
  isCyclic = false;
  /** True for data beyond the limits in force; that is not visited. */
  isCut = false;
  /** True for data beyond the defaults that are not in force. */
  exceedsDefaults = false;
  /** Set when JSON.stringify has refused something that the walk could not see. */
  isRefused = false;
  /** Containers from the root to the current one, or to the one beyond the budget; empty where cycles are not tracked. */
  readonly path: object[] = [];
  readonly #rules: Rules;
  readonly #tracksCycles: boolean;
  readonly #ancestors: Ancestors | undefined;
  /** Levels below this are not checked. */
  readonly #uncheckedDepth: number;
  /** Strings up to this length are not checked. */
  readonly #uncheckedLength: number;

  /**
   * @param budget Values that may be visited.
   * @param tracksCycles True to track cycles and to go deeper.
   * @param ancestors Ancestors of the data. @default the root's: none
   */
  constructor(rules: Rules, budget: number, tracksCycles: boolean, ancestors?: Ancestors) {
    this.budget = budget;
    this.#rules = rules;
    this.#tracksCycles = tracksCycles;
    this.#ancestors = ancestors;
    const { depth, string } = rules.safe;
    this.#uncheckedDepth = tracksCycles ? 0 : Math.min(depth, UNTRACKED_DEPTH);
    this.#uncheckedLength = Math.min(string, SHORT_STRING);
  }

  /** Returns the value to write, after its toJSON. */
  visit(given: unknown, key: string | number, level: number): unknown {
    return mayHaveToJson(given) ? this.#convert(given, key, level) : this.#primitive(given);
  }

  /** Returns the value to write for a result of toJSON, without calling its own toJSON. */
  visitResolved(given: unknown, level: number): unknown {
    if (typeof given === 'bigint') return this.#digits(given);
    if (typeof given !== 'object' || given === null) return suppressToJson(this.#primitive(given));
    return suppressToJson(this.#container(given, level));
  }

  /** Visits a value that is no container and has no toJSON. */
  #primitive(given: unknown): unknown {
    this.budget--;
    if (typeof given === 'string') this.#string(given);
    return given;
  }

  /** Returns the value to write: the value, or the result of its toJSON. */
  #convert(given: object | bigint, key: string | number, level: number): unknown {
    const { toJSON } = given as { toJSON?: unknown };
    if (typeof toJSON !== 'function') return typeof given === 'object' ? this.#container(given, level) : typeof given === 'bigint' ? this.#digits(given) : given;
    const isDate = toJSON === dateToJson && (given as Date).toISOString === dateToIsoString;
    if (isDate || (toJSON === bufferToJson && types.isUint8Array(given))) {
      // A limit this low may cut the text of a Date or a Buffer's type.
      if (this.#rules.limits.string < SHORT_STRING) this.isCut = true;
      this.budget -= isDate ? 1 : (given as Buffer).byteLength;
      // The array of its bytes is one level deeper.
      if (!isDate) this.#exceedsDepth(level + 1);
      return given;
    }
    this.budget -= TO_JSON_COST;
    return this.visitResolved(Reflect.apply(toJSON as (key: string) => unknown, given, [String(key)]), level);
  }

  #container(source: object, level: number): unknown {
    if (level >= this.#uncheckedDepth && this.#stopsAt(source, level)) return source;
    const result = Array.isArray(source) ? this.#array(source, level + 1) : this.#object(source as Record<string, unknown>, level + 1);
    // Beyond the budget the path is kept: it tells which containers are large.
    if (this.#tracksCycles && this.budget >= 0) this.path.pop();
    return result;
  }

  /** Returns true for a container that is not visited. */
  #stopsAt(source: object, level: number): boolean {
    const bare = this.#tracksCycles ? unboxed(source) : source;
    if (bare !== source) {
      this.visitResolved(bare, level);
      return true;
    }
    if (this.#tracksCycles && (this.path.includes(source) || this.#ancestors?.containers.has(source) === true)) {
      this.isCyclic = true;
      // Other limits apply from now on: the walk begins anew with them.
      if (!this.#rules.isGuarded) this.budget = -1;
      return true;
    }
    if (this.#exceedsDepth(level)) return true;
    if (level >= (this.#ancestors?.level ?? 0) + (this.#tracksCycles ? MAX_DEPTH : UNTRACKED_DEPTH)) {
      this.isTooDeep = true;
      this.budget = -1;
      return true;
    }
    if (this.#tracksCycles) this.path.push(source);
    return this.#rules.hidden && !Array.isArray(source) && this.#hiddenProperties(source as Record<string, unknown>, level + 1);
  }

  /** Returns true for a container too deep to be written. */
  #exceedsDepth(level: number): boolean {
    if (level < this.#rules.safe.depth) return false;
    const isCut = level >= this.#rules.limits.depth;
    if (isCut) this.isCut = true;
    else this.exceedsDefaults = true;
    return isCut;
  }

  #array(source: readonly unknown[], level: number): unknown {
    const { length } = source;
    if ((this.budget -= length + 1) < 0) return source;
    let copy: unknown[] | null = null;
    for (let i = 0; i < length; i++) {
      const value = source[i];
      let result = value;
      if (typeof value === 'string') {
        if (value.length > this.#uncheckedLength) this.#string(value);
      } else if (mayHaveToJson(value)) {
        result = typeof value === 'bigint' ? this.#bigInt(value, i, level) : this.#convert(value, i, level);
        if (this.budget < 0) return source;
      }
      if (copy !== null) copy.push(result);
      else if (result !== value && value === value) {
        copy = [];
        for (let before = 0; before < i; before++) copy.push(source[before]);
        copy.push(result);
      }
    }
    return copy ?? source;
  }

  #object(source: Readonly<Record<string, unknown>>, level: number): unknown {
    // A large typed array: making all its names at once would take too long.
    if (ArrayBuffer.isView(source) && (this.budget -= source.byteLength) < 0) return source;
    let copy: Record<string, unknown> | null = null;
    let count = 1;
    const { budget, hasBigInt } = this;
    for (const key in source) {
      // Free in a for-in: V8 knows that the name is the object's own.
      if (!hasOwnProperty.call(source, key)) continue;
      if (++count > budget) {
        this.budget = -1;
        return source;
      }
      const value = source[key];
      if (typeof value === 'string') {
        if (value.length > this.#uncheckedLength) this.#string(value);
      } else if (mayHaveToJson(value)) {
        const result = typeof value === 'bigint' ? this.#bigInt(value, key, level) : this.#convert(value, key, level);
        if (this.budget < 0) return source;
        if (result === value) continue;
        // JSON holds only the primitive of a box.
        if (copy === null && Object.getPrototypeOf(source) !== Object.prototype && types.isBoxedPrimitive(source)) {
          this.hasBigInt = hasBigInt;
          break;
        }
        (copy ??= { ...source })[key] = result;
      }
    }
    this.budget -= count;
    // The count is that of its characters.
    if (count > this.#uncheckedLength && types.isStringObject(source)) this.#string(String(source));
    return copy ?? source;
  }

  /** Visits hidden properties too. Nothing is copied: the safe path writes them. */
  #hiddenProperties(source: Readonly<Record<string, unknown>>, level: number): true {
    const names = Object.getOwnPropertyNames(source);
    this.budget -= names.length;
    for (let i = 0; i < names.length && this.budget >= 0; i++) this.visit(source[names[i] as string], names[i] as string, level);
    if (this.budget >= 0) this.path.pop();
    return true;
  }

  #string({ length }: string): void {
    const most = this.#rules.limits.string;
    this.budget -= Math.min(length, most) >> STRING_COST_BITS;
    if (length > most) this.isCut = true;
    else if (length > this.#rules.safe.string) this.exceedsDefaults = true;
  }

  /** Call site for BigInts alone: V8 keeps the inline cache monomorphic. */
  #bigInt(value: bigint, key: string | number, level: number): unknown {
    return typeof (value as { toJSON?: unknown }).toJSON === 'function' ? this.#convert(value, key, level) : this.#digits(value);
  }

  #digits(value: bigint): string {
    this.budget--;
    this.hasBigInt = true;
    const digits = String(value);
    // The safe path would cut so long a string.
    if (digits.length > this.#rules.limits.string) this.isCut = true;
    return digits;
  }
}
