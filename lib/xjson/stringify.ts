import { types } from 'node:util';

import { checkXJsonOptions, type XJsonOptions } from './options';
import { Serializer } from './serializer';
import { Text } from './text';

/** Elements of an array from which JSON.stringify is tried first: by then its error, if it fails, is cheap against the work. */
const MANY = 32;
/** Levels at which such an array is looked for, and properties that an object around it may have. */
const LEVELS = 3;
const ENVELOPE = 4;
/** Values of an element that are looked at for a BigInt. */
const GLANCE = 16;

/**
 * JSON text of any data, as `res.xJson` would send it (INTERFACE section 4.3):
 * what `JSON.stringify` gives where it can, else with a BigInt as a string, a
 * cycle as `"[Circular]"` and the limits of the options. What has no JSON form,
 * such as `undefined`, is `null`. Works in one go; `res.xJson` does not. Reads
 * each property once; twice, where a long array turns out to be none that
 * `JSON.stringify` can handle.
 *
 * @throws TypeError for a wrong option; RangeError for text longer than V8's
 * longest string; and what a getter, a `toJSON` or a proxy of the data throws.
 */
export function stringify(data: unknown, options?: XJsonOptions): string {
  const given = options === undefined ? {} : checkXJsonOptions(options);
  const plain = given.maxDepth === undefined && given.truncateStrings === undefined && given.includeNonEnumerable !== true;
  if (plain && isLong(data)) {
    try {
      return (JSON.stringify(data)) ?? 'null';
    } catch (error) {
      if (error instanceof RangeError && error.message === 'Invalid string length') throw error;
      // A BigInt, a cycle or great depth; if it was the data's own error, it comes again below.
    }
  }
  const out = new Text();
  try {
    new Serializer(data, given, out).run(Infinity);
    return out.take();
  } finally {
    out.release();
  }
}

/**
 * Whether the data is a long array, or an object or two around one, with no
 * BigInt in its first or last element. V8's own code is then the quicker; for
 * less, what it does better is spent on an error. Reads no getter and no proxy.
 */
function isLong(data: unknown): boolean {
  let source = data;
  for (let level = 0; level < LEVELS && isOpen(source); level++) {
    if (Array.isArray(source)) return source.length >= MANY && !holdsBigInt(own(source, 0)) && !holdsBigInt(own(source, source.length - 1));
    source = enclosed(source);
  }
  return false;
}

/** What an envelope is likely to be around: its long array, or else its first object. */
function enclosed(envelope: object): unknown {
  const keys = Object.keys(envelope);
  if (keys.length > ENVELOPE) return undefined;
  let inner: object | undefined;
  for (const key of keys) {
    const value = own(envelope, key);
    if (!isOpen(value)) continue;
    if (Array.isArray(value) && value.length >= MANY) return value;
    inner ??= value;
  }
  return inner;
}

/** Whether a BigInt is among the first few values. */
function holdsBigInt(element: unknown): boolean {
  let source = element;
  for (let left = GLANCE; isOpen(source); ) {
    let inner: unknown;
    for (const key of Array.isArray(source) ? FIRST : Object.keys(source)) {
      if (left-- === 0) return false;
      const value = own(source, key);
      if (typeof value === 'bigint') return true;
      if (typeof value === 'object' && value !== null) inner ??= value;
    }
    source = inner;
  }
  return typeof source === 'bigint';
}

const FIRST = [0] as const;

/** Whether it can be looked into without any code of its own, and in short. */
function isOpen(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !types.isProxy(value) && !ArrayBuffer.isView(value);
}

/** The value of a property of its own, unless a getter makes it. */
function own(source: object, key: string | number): unknown {
  return Object.getOwnPropertyDescriptor(source, key)?.value;
}
