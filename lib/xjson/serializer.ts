import { encodeBigInt, encodeBoolean, encodeLiteral, encodeNull, encodeNumber, encodeString, isHighSurrogate, SHORT } from './encode';
import { Name } from './name';
import { XJSON_DEFAULTS, type XJsonOptions } from './options';
import type { Page } from './page';
import { ByteList, isBox, isLargeBuffer, isOmitted, isRawJson, lengthOf, type Numbers, numbersIn, truncated, unboxed } from './value';

/** Values visited between two looks at the clock: a fraction of a millisecond. */
const FUEL = 4096;
/** Units of a long string that are written at a time. */
const SEGMENT = 4096;
/** Deeper than this, JSON.stringify overflowed V8's stack before Node 26: the data is none that it can handle. */
const DEEPEST_PLAIN = 5000;
/** Containers entered by recursion before their places are kept on a stack of our own instead. */
const DEEPEST_CALL = 100;
/** Up to this depth ancestors are compared one by one; deeper, a set is quicker. */
const FEW_ANCESTORS = 32;

const ARRAY_OPEN = 0x5b;
const ARRAY_CLOSE = 0x5d;
const OBJECT_OPEN = 0x7b;
const OBJECT_CLOSE = 0x7d;
const QUOTE = 0x22;
const COLON = 0x3a;
const COMMA = 0x2c;

/** Names and strings up to this length take the short way. A constant of this module, for the reason that encode.ts gives. */
const SHORT_TEXT = SHORT;

/** Stands for the names of a typed array's elements. */
const INDICES: readonly string[] = [];

/** The place where the writing of a container goes on. */
interface Frame {
  readonly source: object;
  /** Names of the properties; null for an array, and {@link INDICES} for a large typed array. */
  readonly keys: readonly string[] | null;
  readonly index: number;
  readonly length: number;
  /** Whether nothing of it is written yet. */
  readonly first: boolean;
  /** The name that was written last, or that an array is in. */
  readonly name: Name;
}

/**
 * Writes data as JSON into a {@link Page}: what JSON.stringify gives, byte for
 * byte, with a BigInt as a string of its digits, a cycle as `"[Circular]"`, and
 * the limits of the options (INTERFACE sections 2.3 and 4.3). It reads every
 * property once, so that getters may count.
 *
 * It can stop between any two values and go on later: each call then leaves a
 * frame behind and answers false. By the same way out of a deep recursion,
 * depth is bounded by memory only.
 */
export class Serializer {
  readonly #data: unknown;
  readonly #out: Page;
  readonly #hidden: boolean;
  /** The limits for data that JSON.stringify does not handle. */
  readonly #safeDepth: number;
  readonly #safeString: number;
  /** The limits in force. */
  #maxDepth: number;
  #maxString: number;
  /** Whether the data is known to be such. */
  #safe: boolean;
  /** Whether something is written that the safe limits would have cut. */
  #passed = false;
  /** Strings up to this length take the short way. */
  readonly #short: number;

  #begun = false;
  #anew = false;
  #until = 0;
  #late = false;
  readonly #tank: number;
  #fuel: number;
  /** The containers from the root to where the writing is. */
  readonly #path: object[] = [];
  #depth = 0;
  #ancestors: Set<object> | null = null;
  #calls = 0;
  /** Frames left behind by the way out, the innermost first; and those to resume, the innermost last. */
  #left: Frame[] = [];
  #waiting: Frame[] = [];
  /** The name under which the next value is written. */
  #name = new Name();
  /** The long string being written, and how far it has come. */
  #long = '';
  #longAt = 0;
  /** Whether it is a name, and the value that belongs to it. */
  #named = false;
  #value: unknown;
  /** The last that was made. */
  #bytes: ByteList | null = null;

  /** @param fuel Values visited between two looks at the clock; at least 2. */
  constructor(data: unknown, options: XJsonOptions, out: Page, fuel = FUEL) {
    this.#tank = fuel;
    this.#fuel = fuel;
    this.#data = data;
    this.#out = out;
    this.#hidden = options.includeNonEnumerable === true;
    this.#safe = this.#hidden;
    this.#safeDepth = options.maxDepth ?? XJSON_DEFAULTS.maxDepth;
    this.#safeString = options.truncateStrings ?? XJSON_DEFAULTS.truncateStrings;
    this.#maxDepth = options.maxDepth ?? (this.#safe ? this.#safeDepth : Infinity);
    this.#maxString = options.truncateStrings ?? (this.#safe ? this.#safeString : Infinity);
    this.#short = Math.min(SHORT_TEXT, this.#safeString);
  }

  /**
   * Goes on writing until all is written or the time has come.
   * @param until A time of `performance.now()`, in ms.
   * @returns Whether all is written.
   * @throws What a getter, a `toJSON` or a proxy of the data throws.
   */
  run(until: number): boolean {
    this.#until = until;
    this.#late = false;
    for (;;) {
      const done = this.#begun ? this.#resume() : this.#begin();
      if (done) return true;
      if (this.#anew) this.#forget();
      else while (this.#left.length > 0) this.#waiting.push(this.#left.pop() as Frame);
      if (this.#late) return false;
    }
  }

  #begin(): boolean {
    this.#begun = true;
    this.#calls = 0;
    const value = this.#resolve(this.#data, '');
    return this.#write(isOmitted(value) ? null : value);
  }

  #resume(): boolean {
    this.#calls = 0;
    if (this.#long !== '' && !this.#segments()) return false;
    if (this.#out.at >= this.#out.limit) this.#out.turn();
    for (let frame = this.#waiting.pop(); frame !== undefined; frame = this.#waiting.pop()) {
      this.#calls = 0;
      if (!this.#proceed(frame)) return false;
    }
    return true;
  }

  #proceed({ source, keys, index, length, first, name }: Frame): boolean {
    if (keys === null) return this.#elements(source as readonly unknown[], index, length, name);
    if (keys === INDICES) return this.#numbers(source as Numbers, index, length, first, name);
    return this.#members(source as Readonly<Record<string, unknown>>, keys, index, first, name);
  }

  #elements(source: readonly unknown[], from: number, length: number, name: Name): boolean {
    const out = this.#out;
    for (let i = from; i < length; i++) {
      if (--this.#fuel <= 0 && this.#isLate()) return this.#leave(source, null, i, length, false, name);
      const value = source[i];
      if (i !== 0) out.block[out.at++] = COMMA;
      if (typeof value === 'string' && value.length <= this.#short) {
        encodeString(out, value);
      } else if (typeof value === 'number') {
        encodeNumber(out, value);
      } else if (typeof value === 'boolean') {
        encodeBoolean(out, value);
      } else {
        const resolved = this.#resolve(value, i);
        if (isOmitted(resolved)) encodeNull(out);
        else {
          this.#name = name;
          if (!this.#write(resolved)) return this.#leave(source, null, i + 1, length, false, name);
        }
      }
      if (out.at >= out.limit) out.turn();
    }
    return this.#close(source, ARRAY_CLOSE);
  }

  #members(source: Readonly<Record<string, unknown>>, keys: readonly string[], from: number, first: boolean, before: Name): boolean {
    const out = this.#out;
    let name = before;
    let opened = !first;
    for (let i = from; i < keys.length; i++) {
      if (--this.#fuel <= 0 && this.#isLate()) return this.#leave(source, keys, i, keys.length, !opened, name);
      const key = keys[i] as string;
      let value = source[key];
      if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
        value = this.#resolve(value, key);
        if (isOmitted(value)) continue;
      }
      if (opened) out.block[out.at++] = COMMA;
      else opened = true;
      if (key.length > SHORT_TEXT) {
        this.#name = name;
        if (!this.#longName(key, value)) return this.#leave(source, keys, i + 1, keys.length, false, name);
      } else if (typeof value === 'string' && value.length <= this.#short) {
        name = name.writeString(out, key, value);
      } else {
        name = name.write(out, key);
        if (typeof value === 'number') encodeNumber(out, value);
        else if (typeof value === 'boolean') encodeBoolean(out, value);
        else {
          this.#name = name;
          if (!this.#write(value)) return this.#leave(source, keys, i + 1, keys.length, false, name);
        }
      }
      if (out.at >= out.limit) out.turn();
    }
    return this.#close(source, OBJECT_CLOSE);
  }

  /** The elements of a typed array, as the properties of an object that they are. */
  #numbers(source: Numbers, from: number, length: number, first: boolean, name: Name): boolean {
    const out = this.#out;
    let opened = !first;
    for (let i = from; i < length; i++) {
      if (--this.#fuel <= 0 && this.#isLate()) return this.#leave(source, INDICES, i, length, !opened, name);
      const given = source[i];
      const value = typeof given === 'number' ? given : this.#resolve(given, i);
      if (isOmitted(value)) continue;
      encodeLiteral(out, opened ? `,"${i}":` : `"${i}":`);
      opened = true;
      this.#name = name;
      if (!this.#write(value)) return this.#leave(source, INDICES, i + 1, length, false, name);
      if (out.at >= out.limit) out.turn();
    }
    return this.#close(source, OBJECT_CLOSE);
  }

  /** Applies toJSON and takes primitives out of their boxes (ECMA-262, SerializeJSONProperty). */
  #resolve(given: unknown, key: string | number): unknown {
    if (typeof given === 'object') {
      if (given === null) return null;
      const { toJSON } = given as { toJSON?: unknown };
      if (typeof toJSON === 'function') return this.#convert(given, toJSON, key);
      return isBox(given) ? unboxed(given) : given;
    }
    let toJSON: unknown;
    // A place for BigInts alone: V8 then knows what it finds, as it does not among functions and objects of many shapes.
    if (typeof given === 'bigint') ({ toJSON } = given as { toJSON?: unknown });
    else if (typeof given === 'function') ({ toJSON } = given as { toJSON?: unknown });
    return typeof toJSON === 'function' ? this.#convert(given, toJSON, key) : given;
  }

  /** What a toJSON makes of a value. How long it takes nobody knows: it counts as 32 values. */
  #convert(given: unknown, toJSON: unknown, key: string | number): unknown {
    this.#fuel -= 32;
    if (isLargeBuffer(given, toJSON)) return { type: 'Buffer', data: (this.#bytes = new ByteList(given)) };
    const value: unknown = Reflect.apply(toJSON as (key: string) => unknown, given, [String(key)]);
    return typeof value === 'object' && value !== null && isBox(value) ? unboxed(value) : value;
  }

  /** Writes a resolved value. Answers whether its container may go on at once. */
  #write(value: unknown): boolean {
    // One question after the other: V8 calls out for a switch over typeof.
    if (typeof value === 'object' && value !== null) return this.#enter(value);
    if (typeof value === 'string') return this.#string(value);
    if (typeof value === 'bigint') {
      if (!this.#safe && this.#beginsAnew()) return false;
      return this.#digits(value);
    }
    if (value === null) encodeNull(this.#out);
    else if (typeof value === 'boolean') encodeBoolean(this.#out, value);
    else encodeNumber(this.#out, value as number);
    return true;
  }

  /** Not with its quotes in one string: V8 would join them only to take them apart. */
  #digits(value: bigint): boolean {
    const out = this.#out;
    out.block[out.at++] = QUOTE;
    if (!encodeBigInt(out, value)) this.#literal(value.toString());
    out.block[out.at++] = QUOTE;
    return true;
  }

  #literal(text: string): boolean {
    const out = this.#out;
    if (text.length <= SHORT_TEXT) encodeLiteral(out, text);
    else out.literal(text);
    return true;
  }

  /** Writes a long name, and its value once that is done. */
  #longName(key: string, value: unknown): boolean {
    this.#named = true;
    this.#value = value;
    return this.#longText(key);
  }

  #string(value: string): boolean {
    const out = this.#out;
    let text = value;
    if (text.length > this.#safeString) {
      if (text.length > this.#maxString) text = truncated(text, this.#maxString);
      else this.#passed = true;
    }
    if (text.length <= SHORT_TEXT) {
      encodeString(out, text);
      return true;
    }
    return this.#longText(text);
  }

  #longText(text: string): boolean {
    this.#out.block[this.#out.at++] = QUOTE;
    this.#long = text;
    this.#longAt = 0;
    return this.#segments();
  }

  #segments(): boolean {
    const text = this.#long;
    const out = this.#out;
    while (this.#longAt < text.length) {
      const end = segmentEnd(text, this.#longAt);
      out.text(this.#longAt === 0 && end === text.length ? text : text.slice(this.#longAt, end));
      this.#longAt = end;
      this.#fuel -= SEGMENT >> 6;
      if (this.#fuel <= 0 && end < text.length && this.#isLate()) return false;
    }
    this.#long = '';
    out.block[out.at++] = QUOTE;
    if (!this.#named) return true;
    this.#named = false;
    out.block[out.at++] = COLON;
    const value = this.#value;
    this.#value = undefined;
    return this.#write(value);
  }

  #enter(container: object): boolean {
    const bytes = container === this.#bytes ? this.#bytes.bytes : null;
    const isArray = bytes !== null || Array.isArray(container);
    const out = this.#out;
    if (this.#isAncestor(container)) {
      if (!this.#safe && this.#beginsAnew()) return false;
      return this.#literal('"[Circular]"');
    }
    if (this.#depth >= this.#safeDepth) {
      if (this.#depth >= this.#maxDepth) return this.#literal(isArray ? '"[Array]"' : '"[Object]"');
      this.#passed = true;
      if (this.#depth >= DEEPEST_PLAIN && !this.#safe && this.#beginsAnew()) return false;
    }
    if (isRawJson(container)) return this.#literal(JSON.stringify(container));
    this.#path[this.#depth++] = container;
    if (this.#ancestors !== null) this.#ancestors.add(container);
    out.block[out.at++] = isArray ? ARRAY_OPEN : OBJECT_OPEN;
    if (out.at >= out.limit) out.turn();
    if (isArray) return this.#go(bytes ?? container, null, lengthOf((bytes ?? container) as readonly unknown[]), this.#name);
    const numbers = this.#hidden ? -1 : numbersIn(container);
    if (numbers >= 0) return this.#go(container, INDICES, numbers, this.#name.inner);
    const keys = this.#hidden ? Object.getOwnPropertyNames(container) : Object.keys(container);
    return this.#go(container, keys, keys.length, this.#name.inner);
  }

  /** Goes on with what a container holds, by recursion as long as that is not deep. */
  #go(source: object, keys: readonly string[] | null, length: number, name: Name): boolean {
    if (this.#calls >= DEEPEST_CALL) return this.#leave(source, keys, 0, length, true, name);
    this.#calls++;
    if (keys === null) return this.#elements(source as readonly unknown[], 0, length, name);
    if (keys === INDICES) return this.#numbers(source as Numbers, 0, length, true, name);
    return this.#members(source as Readonly<Record<string, unknown>>, keys, 0, true, name);
  }

  #close(container: object, sign: number): boolean {
    const out = this.#out;
    out.block[out.at++] = sign;
    if (out.at >= out.limit) out.turn();
    this.#depth--;
    this.#calls--;
    if (this.#ancestors !== null) this.#ancestors.delete(container);
    return true;
  }

  /** Leaves the container for now. */
  #leave(source: object, keys: readonly string[] | null, index: number, length: number, first: boolean, name: Name): false {
    this.#left.push({ source, keys, index, length, first, name });
    return false;
  }

  #isLate(): boolean {
    this.#fuel = this.#tank;
    this.#late = performance.now() >= this.#until;
    return this.#late;
  }

  #isAncestor(container: object): boolean {
    const depth = this.#depth;
    if (depth > FEW_ANCESTORS) return (this.#ancestors ??= new Set(this.#path.slice(0, depth))).has(container);
    for (let i = 0; i < depth; i++) {
      if (this.#path[i] === container) return true;
    }
    return false;
  }

  /**
   * Called where JSON.stringify would have failed: from here on the defaults
   * guard. If something they cut is already written, all is written anew.
   */
  #beginsAnew(): boolean {
    this.#safe = true;
    this.#maxDepth = this.#safeDepth;
    this.#maxString = this.#safeString;
    this.#anew = this.#passed;
    return this.#anew;
  }

  #forget(): void {
    this.#out.clear();
    this.#begun = false;
    this.#anew = false;
    this.#left = [];
    this.#waiting = [];
    this.#long = '';
    this.#named = false;
    this.#depth = 0;
    this.#ancestors = null;
  }
}

/** Where the segment that begins there ends: between characters. */
function segmentEnd(text: string, from: number): number {
  const end = Math.min(from + SEGMENT, text.length);
  return end < text.length && isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end;
}
