import { configure } from 'safe-stable-stringify';
import type { Place } from './data-walk';
import type { Rules } from './rules';
import { ByteList, isBox, isRawJson, truncated, unboxed } from './value';

const CIRCULAR = '[Circular]';

/**
 * JSON text of data that JSON.stringify cannot handle, or may not write whole:
 * by safe-stable-stringify, which knows cycles, depth and sorted names. Its
 * replacer mends what it lacks: a BigInt becomes its digits, a box what is in
 * it, a long string is cut, hidden properties are shown, and what leads back to
 * a container around the data is a cycle too. Recurses as deep as the limit lets it.
 *
 * @param place Where the data stands, and that its toJSON has been asked. @default the root
 * @returns The text; undefined where data at the root has no JSON form.
 * @throws What a getter, a `toJSON` or a proxy of the data throws.
 */
export function safeText(data: unknown, rules: Rules, place?: Place): string | undefined {
  const { limits, sorted } = rules;
  const options = { bigint: true, deterministic: sorted, circularValue: CIRCULAR };
  if (place === undefined) {
    const write = configure(limits.depth === Infinity ? options : { ...options, maximumDepth: limits.depth });
    return write(data, replacerOf(rules, undefined));
  }
  // In an array, since the library takes no limit of no level at all.
  const write = configure(limits.depth === Infinity ? options : { ...options, maximumDepth: limits.depth - place.level + 1 });
  const text = write([{ toJSON: () => data }], replacerOf(rules, place)) as string;
  return text.slice(1, -1);
}

function replacerOf({ limits, hidden }: Rules, place: Place | undefined): (key: string, value: unknown) => unknown {
  // One for each object, by which the library knows a cycle.
  const shown = hidden ? new Map<object, object>() : null;
  return (key, given) => {
    const value = plain(given, key);
    if (typeof value === 'bigint') return String(value);
    if (typeof value === 'string') return value.length > limits.string ? truncated(value, limits.string) : value;
    if (typeof value !== 'object' || value === null) return value;
    if (place?.around.has(value) === true) return CIRCULAR;
    // It is only met where it is not written.
    if (value instanceof ByteList) return Array.of(0);
    if (isRawJson(value)) return rawValue(value as { rawJSON: string });
    return shown === null || Array.isArray(value) ? value : unhidden(value, shown);
  };
}

/** What ECMA-262 (SerializeJSONProperty) makes of a value beyond what the library does: it asks no BigInt and no function for a toJSON, and opens no box. */
function plain(given: unknown, key: string): unknown {
  if (typeof given === 'object' && given !== null) return isBox(given) ? unboxed(given) : given;
  if (typeof given !== 'bigint' && typeof given !== 'function') return given;
  const { toJSON } = given as { toJSON?: unknown };
  return typeof toJSON === 'function' ? plain(Reflect.apply(toJSON as (key: string) => unknown, given, [key]), key) : given;
}

/** The nearest value to text made by JSON.rawJSON: the library writes a BigInt as bare digits, but has nothing for a longer fraction. */
function rawValue({ rawJSON }: { rawJSON: string }): unknown {
  return /^-?[1-9]\d*$/.test(rawJSON) ? BigInt(rawJSON) : JSON.parse(rawJSON);
}

/** The object with its non-enumerable properties shown. */
function unhidden(source: object, shown: Map<object, object>): object {
  let copy = shown.get(source);
  if (copy === undefined) {
    copy = Object.create(null) as object;
    shown.set(source, copy);
    for (const name of Object.getOwnPropertyNames(source)) {
      Object.defineProperty(copy, name, { value: (source as Record<string, unknown>)[name], enumerable: true });
    }
  }
  return copy;
}
