import { types } from 'node:util';

import { Blocks } from './blocks';
import { checkXJsonOptions, type XJsonOptions } from './options';
import { Serializer } from './serializer';

/** Values looked at before JSON.stringify is tried. */
const GLANCE = 16;

/**
 * JSON text of any data, as `res.xJson` would send it (INTERFACE section 4.3):
 * what `JSON.stringify` gives where it can, else with a BigInt as a string, a
 * cycle as `"[Circular]"` and the limits of the options. What has no JSON form,
 * such as `undefined`, is `null`. Works in one go; `res.xJson` does not.
 *
 * @throws TypeError for a wrong option; RangeError for text longer than V8's
 * longest string; and what a getter, a `toJSON` or a proxy of the data throws.
 */
export function stringify(data: unknown, options?: XJsonOptions): string {
  const given = options === undefined ? {} : checkXJsonOptions(options);
  const plain = given.maxDepth === undefined && given.truncateStrings === undefined && given.includeNonEnumerable !== true;
  if (plain && !holdsBigInt(data)) {
    try {
      return (JSON.stringify(data)) ?? 'null';
    } catch (error) {
      if (error instanceof RangeError && error.message === 'Invalid string length') throw error;
      // A BigInt, a cycle or great depth; if it was the data's own error, it comes again below.
    }
  }
  const out = new Blocks(true);
  try {
    new Serializer(data, given, out).run(Infinity);
    return out.toString();
  } finally {
    out.release();
  }
}

/**
 * Whether a BigInt is among the first few values: then there is no point in
 * trying JSON.stringify, whose error costs as much as a small body. Reads no
 * getter and no proxy.
 */
function holdsBigInt(data: unknown): boolean {
  let source = data;
  for (let left = GLANCE; typeof source === 'object' && source !== null && !types.isProxy(source); ) {
    let inner: unknown;
    const keys = Array.isArray(source) ? FIRST : Object.keys(source);
    for (let i = 0; i < keys.length && left > 0; i++, left--) {
      const value: unknown = Object.getOwnPropertyDescriptor(source, keys[i] as string)?.value;
      if (typeof value === 'bigint') return true;
      if (typeof value === 'object' && value !== null) inner ??= value;
    }
    if (left === 0) return false;
    source = inner;
  }
  return typeof source === 'bigint';
}

const FIRST = ['0'] as const;
