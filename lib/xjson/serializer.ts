import type { Blocks } from './blocks';
import { QUOTE, SHORT, encodeLiteral, encodeNumber, encodeString, isHighSurrogate } from './encode';
import { XJSON_DEFAULTS, type XJsonOptions } from './options';
import { isBox, isOmitted, isRawJson, lengthOf, truncated, unboxed } from './value';

/** Values visited between two looks at the clock: a fraction of a millisecond. */
const FUEL = 4096;
/** Units of a long string that are written at a time. */
const SEGMENT = 4096;
/** Deeper than this, JSON.stringify overflows V8's stack: the data is none that it can handle. */
const DEEPEST_PLAIN = 5000;
/** Containers entered by recursion before their places are kept on a stack of our own instead. */
const DEEPEST_CALL = 100;
/** Up to this depth ancestors are compared one by one; deeper, a set is quicker. */
const FEW_ANCESTORS = 32;

const ARRAY_OPEN = 0x5b;
const ARRAY_CLOSE = 0x5d;
const OBJECT_OPEN = 0x7b;
const OBJECT_CLOSE = 0x7d;
const COLON = 0x3a;
const COMMA = 0x2c;

/** The place where the writing of a container goes on. */
interface Frame {
  readonly source: object;
  /** Names of the properties; null for an array. */
  readonly keys: readonly string[] | null;
  readonly index: number;
  readonly length: number;
  /** Whether nothing of it is written yet. */
  readonly first: boolean;
}

/**
 * Writes data as JSON into {@link Blocks}: what JSON.stringify gives, byte for
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
  readonly #out: Blocks;
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
  /** The long string being written, and how far it has come. */
  #long = '';
  #longAt = 0;

  /** @param fuel Values visited between two looks at the clock; at least 2. */
  constructor(data: unknown, options: XJsonOptions, out: Blocks, fuel = FUEL) {
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
    this.#short = Math.min(SHORT, this.#safeString);
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
    if (isOmitted(value)) return this.#literal('null');
    return this.#write(value);
  }

  #resume(): boolean {
    if (this.#long !== '' && !this.#segments()) return false;
    for (let frame = this.#waiting.pop(); frame !== undefined; frame = this.#waiting.pop()) {
      this.#calls = 0;
      if (!this.#proceed(frame)) return false;
    }
    return true;
  }

  #proceed({ source, keys, index, length, first }: Frame): boolean {
    if (keys === null) return this.#elements(source as readonly unknown[], index, length);
    return this.#members(source as Readonly<Record<string, unknown>>, keys, index, first);
  }

  #elements(source: readonly unknown[], from: number, length: number): boolean {
    const out = this.#out;
    for (let i = from; i < length; i++) {
      if (--this.#fuel <= 0 && this.#isLate()) return this.#leave(source, null, i, length, false);
      const value = source[i];
      if (i !== 0) out.block[out.at++] = COMMA;
      if (typeof value === 'string' && value.length <= this.#short) {
        out.at = encodeString(out.block, out.at, value);
      } else if (typeof value === 'number') {
        out.at = encodeNumber(out.block, out.at, value);
      } else {
        const resolved = this.#resolve(value, i);
        if (isOmitted(resolved)) out.at = encodeLiteral(out.block, out.at, 'null');
        else if (!this.#write(resolved)) return this.#leave(source, null, i + 1, length, false);
      }
      if (out.at >= out.limit) out.turn();
    }
    return this.#close(source, ARRAY_CLOSE);
  }

  #members(source: Readonly<Record<string, unknown>>, keys: readonly string[], from: number, first: boolean): boolean {
    const out = this.#out;
    let opened = !first;
    for (let i = from; i < keys.length; i++) {
      if (--this.#fuel <= 0 && this.#isLate()) return this.#leave(source, keys, i, keys.length, !opened);
      const key = keys[i] as string;
      let value = source[key];
      const isShort = typeof value === 'string' && value.length <= this.#short;
      if (!isShort && typeof value !== 'number') {
        value = this.#resolve(value, key);
        if (isOmitted(value)) continue;
      }
      if (opened) out.block[out.at++] = COMMA;
      else opened = true;
      if (key.length <= SHORT) out.at = encodeString(out.block, out.at, key);
      else this.#longKey(key);
      out.block[out.at++] = COLON;
      if (isShort) out.at = encodeString(out.block, out.at, value as string);
      else if (typeof value === 'number') out.at = encodeNumber(out.block, out.at, value);
      else if (!this.#write(value)) return this.#leave(source, keys, i + 1, keys.length, false);
      if (out.at >= out.limit) out.turn();
    }
    return this.#close(source, OBJECT_CLOSE);
  }

  /** Applies toJSON and takes primitives out of their boxes (ECMA-262, SerializeJSONProperty). */
  #resolve(given: unknown, key: string | number): unknown {
    switch (typeof given) {
      case 'object':
        if (given === null) return given;
        break;
      case 'function':
      case 'bigint':
        break;
      default:
        return given;
    }
    let value: unknown = given;
    const { toJSON } = given as { toJSON?: unknown };
    if (typeof toJSON === 'function') {
      this.#fuel -= 32;
      value = Reflect.apply(toJSON, given, [String(key)]);
    }
    return isBox(value) ? unboxed(value) : value;
  }

  /** Writes a resolved value. Answers whether its container may go on at once. */
  #write(value: unknown): boolean {
    switch (typeof value) {
      case 'string':
        return this.#string(value);
      case 'number':
        this.#out.at = encodeNumber(this.#out.block, this.#out.at, value);
        return true;
      case 'boolean':
        return this.#literal(value ? 'true' : 'false');
      case 'bigint':
        if (!this.#safe && this.#beginsAnew()) return false;
        return this.#literal(`"${value}"`);
      default:
        return value === null ? this.#literal('null') : this.#enter(value as object);
    }
  }

  #literal(text: string): boolean {
    const out = this.#out;
    if (text.length <= SHORT) out.at = encodeLiteral(out.block, out.at, text);
    else out.literal(text);
    return true;
  }

  #longKey(key: string): void {
    const out = this.#out;
    out.block[out.at++] = QUOTE;
    for (let at = 0; at < key.length; ) {
      const end = segmentEnd(key, at);
      out.text(key.slice(at, end));
      at = end;
    }
    out.block[out.at++] = QUOTE;
  }

  #string(value: string): boolean {
    const out = this.#out;
    let text = value;
    if (text.length > this.#safeString) {
      if (text.length > this.#maxString) text = truncated(text, this.#maxString);
      else this.#passed = true;
    }
    if (text.length <= SHORT) {
      out.at = encodeString(out.block, out.at, text);
      return true;
    }
    out.block[out.at++] = QUOTE;
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
    return true;
  }

  #enter(container: object): boolean {
    const isArray = Array.isArray(container);
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
    const keys = isArray ? null : this.#hidden ? Object.getOwnPropertyNames(container) : Object.keys(container);
    const length = keys === null ? lengthOf(container as readonly unknown[]) : keys.length;
    if (this.#calls >= DEEPEST_CALL) return this.#leave(container, keys, 0, length, true);
    this.#calls++;
    if (keys === null) return this.#elements(container as readonly unknown[], 0, length);
    return this.#members(container as Readonly<Record<string, unknown>>, keys, 0, true);
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
  #leave(source: object, keys: readonly string[] | null, index: number, length: number, first: boolean): false {
    this.#left.push({ source, keys, index, length, first });
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
    this.#depth = 0;
    this.#ancestors = null;
  }
}

/** Where the segment that begins there ends: between characters. */
function segmentEnd(text: string, from: number): number {
  const end = Math.min(from + SEGMENT, text.length);
  return end < text.length && isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end;
}
