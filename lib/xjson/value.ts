import { types } from 'node:util';

/** Returns true for an object made by JSON.rawJSON, where the engine has that. */
export const isRawJson = (JSON as { isRawJSON?: (value: object) => boolean }).isRawJSON ?? ((): boolean => false);

/** Returns true for a value without a JSON form. */
export function isOmitted(value: unknown): boolean {
  return value === undefined || typeof value === 'function' || typeof value === 'symbol';
}

/** Returns true for a value whose toJSON JSON.stringify would look for. */
export function mayHaveToJson(value: unknown): value is object | bigint {
  return typeof value === 'object' ? value !== null : typeof value === 'bigint' || typeof value === 'function';
}

/** Wraps a value with a toJSON, so that JSON.stringify does not call that. */
export function suppressToJson(value: unknown): unknown {
  return mayHaveToJson(value) && typeof (value as { toJSON?: unknown }).toJSON === 'function' ? { toJSON: () => value } : value;
}

/** The primitive in a box, or the value itself; Number and String objects are converted (ECMA-262, SerializeJSONProperty). */
export function unboxed(box: unknown): unknown {
  if (typeof box !== 'object' || !types.isBoxedPrimitive(box)) return box;
  if (types.isNumberObject(box)) return +(box as unknown as number);
  if (types.isStringObject(box)) return String(box);
  if (types.isBooleanObject(box)) return Boolean.prototype.valueOf.call(box);
  if (types.isBigIntObject(box)) return BigInt.prototype.valueOf.call(box);
  return box;
}

/** Cuts a string to that many units, with `…` last, never within a surrogate pair. */
export function truncated(text: string, units: number): string {
  return `${text.slice(0, alignToCodePoint(text, units - 1))}…`;
}

/** The position, or the one before if it lies within a surrogate pair. */
export function alignToCodePoint(text: string, at: number): number {
  return at > 0 && (text.codePointAt(at - 1) as number) > 0xffff ? at - 1 : at;
}

/** Node's own toJSON of a Buffer, which its types do not name. */
export const bufferToJson: unknown = Reflect.get(Buffer.prototype as object, 'toJSON');

/** View of a Buffer's bytes: the array that its toJSON makes takes eight times their memory. */
export class ByteList extends Uint8Array {}

/** Applies toJSON and unboxes primitives (ECMA-262, SerializeJSONProperty). @param threshold Length in bytes above which a Buffer becomes a {@link ByteList}. */
export function resolve(given: unknown, key: string, threshold: number): unknown {
  let value = given;
  if (mayHaveToJson(given)) {
    const { toJSON } = given as { toJSON?: unknown };
    if (toJSON === bufferToJson && Buffer.isBuffer(given) && given.length > threshold) return { type: 'Buffer', data: new ByteList(given.buffer as ArrayBuffer, given.byteOffset, given.length) };
    if (typeof toJSON === 'function') value = Reflect.apply(toJSON as (key: string) => unknown, given, [key]);
  }
  return unboxed(value);
}
