import { configureStringify, crypto } from '../packages';
import type { DataWalk, Place } from './data-walk';
import type { Rules } from './rules';
import { ByteList, isRawJson, lengthOf, resolve, silent, truncated, unboxed } from './value';

const CIRCULAR = '[Circular]';

/**
 * JSON text of data that JSON.stringify cannot handle, or may not write whole:
 * by safe-stable-stringify, which knows cycles, depth and sorted names. Its
 * replacer mends what it lacks: a BigInt becomes its digits, a box what is in
 * it, a long string is cut, hidden properties are shown, and what leads back to
 * a container around the data is a cycle too. Recurses as deep as the limit lets it.
 *
 * @param walk What a walk has made of the data. Is told of a BigInt that it could not see, with which the defaults are in force.
 * @param place Where the data stands, and that its toJSON has been asked. @default the root
 * @returns The text; undefined where data at the root has no JSON form.
 * @throws What a getter, a `toJSON` or a proxy of the data throws.
 */
export function safeText(data: unknown, rules: Rules, walk: DataWalk, place?: Place): string | undefined {
  const { limits, sorted } = rules;
  const options = { deterministic: sorted, circularValue: CIRCULAR };
  // Beneath the root it stands in an array, since the library takes no limit of no level: one that has no toJSON, whatever all arrays have.
  const root = place === undefined ? data : Object.assign([silent(data)], { toJSON: undefined });
  const raw: string[] = [];
  const mark = crypto().randomUUID();
  const maximumDepth = place === undefined ? limits.depth : Math.max(1, limits.depth - place.level + 1);
  const write = configureStringify()(limits.depth === Infinity ? options : { ...options, maximumDepth });
  let text = write(root, replacerOf(rules, walk, place, (rawJSON) => `${mark}${raw.push(rawJSON) - 1}`));
  if (walk.isRefused && !rules.isGuarded) return safeText(data, rules.guarded(), walk, place);
  if (raw.length > 0) text = text?.replace(new RegExp(`"${mark}(\\d+)"`, 'g'), (_, index: string) => raw[Number(index)] as string);
  return place === undefined ? text : text?.slice(1, -1);
}

/** @param marked Gives the string that stands for text made by JSON.rawJSON, for which the library has no form. */
function replacerOf({ limits, hidden }: Rules, walk: DataWalk, place: Place | undefined, marked: (rawJSON: string) => string) {
  // One for each object, by which the library knows a cycle.
  const copies = new Map<object, object>();
  return function (this: Record<string, unknown>, key: string, given: unknown): unknown {
    // What ECMA-262 (SerializeJSONProperty) does and the library does not: it asks no BigInt and no function for a toJSON, and opens no box.
    const isAsked = (typeof given !== 'bigint' && typeof given !== 'function') || this[key] !== given;
    const value = isAsked ? unboxed(given) : resolve(given, key, Infinity);
    if (typeof value === 'bigint') {
      walk.isRefused = true;
      return String(value);
    }
    if (typeof value === 'string') return value.length > limits.string ? truncated(value, limits.string) : value;
    if (typeof value !== 'object' || value === null) return value;
    if (place?.around.has(value) === true) return CIRCULAR;
    // It is only met where it is not written.
    if (value instanceof ByteList) return Array.of(0);
    if (isRawJson(value)) return marked((value as { rawJSON: string }).rawJSON);
    const isOdd = Array.isArray(value) ? lengthOf(value) !== value.length : hidden;
    return isOdd ? copyOf(value, copies) : value;
  };
}

/** An array with a length that is one, or an object whose non-enumerable properties are shown. */
function copyOf(source: object, copies: Map<object, object>): object {
  const known = copies.get(source);
  if (known !== undefined) return known;
  const copy = Array.isArray(source) ? new Array<unknown>(lengthOf(source)) : (Object.create(null) as object);
  copies.set(source, copy);
  for (const name of Array.isArray(copy) ? copy.keys() : Object.getOwnPropertyNames(source)) {
    // What is too deep to be written is not read.
    Object.defineProperty(copy, name, { get: () => (source as Record<string | number, unknown>)[name], enumerable: true });
  }
  return copy;
}
