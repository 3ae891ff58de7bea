import { crypto, safeStableStringify } from '../packages';
import type { Ancestors, DataWalk } from './data-walk';
import type { Rules } from './rules';
import { ByteList, isRawJson, resolve, suppressToJson, truncated, unboxed } from './value';

const CIRCULAR = '[Circular]';

/**
 * JSON text of data that JSON.stringify cannot handle, or may not write whole:
 * by safe-stable-stringify, which knows cycles, depth and sorted names. Its
 * replacer adds the rest: digits for a BigInt, the primitive of a box, cut
 * strings, hidden properties, and cycles through a container around the data.
 * Recurses as deep as the limit allows.
 *
 * @param walk Walk over the data; `isRefused` is set for a BigInt that it could not see, which puts the defaults in force.
 * @param ancestors Ancestors of data whose toJSON has been called. @default the root's: none
 * @returns The text; undefined where data at the root has no JSON form.
 * @throws What a getter, a `toJSON` or a proxy of the data throws.
 */
export function safeText(data: unknown, rules: Rules, walk: DataWalk, ancestors?: Ancestors): string | undefined {
  const { limits, sorted } = rules;
  const options = { deterministic: sorted, circularValue: CIRCULAR };
  // An array around data beneath the root: the library has no limit of no level.
  const root = ancestors === undefined ? data : [suppressToJson(data)];
  const raw: string[] = [];
  const mark = crypto().randomUUID();
  const maximumDepth = ancestors === undefined ? limits.depth : Math.max(1, limits.depth - ancestors.level + 1);
  const write = safeStableStringify().configure(limits.depth === Infinity ? options : { ...options, maximumDepth });
  let text = write(root, replacerOf(rules, walk, ancestors, (rawJSON) => `${mark}${raw.push(rawJSON) - 1}`));
  if (walk.isRefused && !rules.isGuarded) return safeText(data, rules.guarded(), walk, ancestors);
  if (raw.length > 0) text = text?.replace(new RegExp(`"${mark}(\\d+)"`, 'g'), (_, index: string) => raw[Number(index)] as string);
  return ancestors === undefined ? text : text?.slice(1, -1);
}

/** @param placeholder Returns the placeholder for text of JSON.rawJSON: the library has no form for it. */
function replacerOf({ limits, hidden }: Rules, walk: DataWalk, ancestors: Ancestors | undefined, placeholder: (rawJSON: string) => string) {
  // One copy for each object: by its identity the library knows a cycle.
  const copies = new Map<object, object>();
  return function (this: Record<string, unknown>, key: string, given: unknown): unknown {
    // ECMA-262, SerializeJSONProperty: the library calls no toJSON of a BigInt or a function, and unboxes nothing.
    const isConverted = (typeof given !== 'bigint' && typeof given !== 'function') || this[key] !== given;
    const value = isConverted ? unboxed(given) : resolve(given, key, Infinity);
    if (typeof value === 'bigint') {
      walk.isRefused = true;
      return String(value);
    }
    if (typeof value === 'string') return value.length > limits.string ? truncated(value, limits.string) : value;
    if (typeof value !== 'object' || value === null) return value;
    if (ancestors?.containers.has(value) === true) return CIRCULAR;
    // A ByteList is met only beyond the depth, where it is not written.
    if (value instanceof ByteList) return Array.of(0);
    if (isRawJson(value)) return placeholder((value as { rawJSON: string }).rawJSON);
    return hidden && !Array.isArray(value) ? copyOf(value, copies) : value;
  };
}

/** Copies an object with its non-enumerable properties. */
function copyOf(source: object, copies: Map<object, object>): object {
  const known = copies.get(source);
  if (known !== undefined) return known;
  const copy = Object.create(null) as object;
  copies.set(source, copy);
  for (const name of Object.getOwnPropertyNames(source)) {
    // A getter: a value too deep to be written is not read.
    Object.defineProperty(copy, name, { get: () => (source as Record<string, unknown>)[name], enumerable: true });
  }
  return copy;
}
