import { types } from 'node:util';

import { isHighSurrogate, isLowSurrogate } from './encode';

/** JSON.isRawJSON, where the engine has it. */
const nativeIsRawJson = (JSON as { isRawJSON?: (value: unknown) => boolean }).isRawJSON;

/** Whether the object stands for JSON text of its own, made by JSON.rawJSON. */
export function isRawJson(value: object): boolean {
  return nativeIsRawJson !== undefined && nativeIsRawJson(value);
}

/** Whether the value has no JSON form. */
export function isOmitted(value: unknown): boolean {
  return value === undefined || typeof value === 'function' || typeof value === 'symbol';
}

/** Whether it is a Number, String, Boolean, BigInt or Symbol object. Runs no trap of a proxy. */
export function isBox(value: unknown): value is object {
  return typeof value === 'object' && !Array.isArray(value) && types.isBoxedPrimitive(value);
}

/** The primitive in a box. As JSON.stringify has it: numbers and strings are converted, which an application may override. */
export function unboxed(box: object): unknown {
  if (types.isNumberObject(box)) return +(box as unknown as number);
  if (types.isStringObject(box)) return String(box);
  if (types.isBooleanObject(box)) return Boolean.prototype.valueOf.call(box);
  if (types.isBigIntObject(box)) return BigInt.prototype.valueOf.call(box);
  return box;
}

/** How many elements there are. A proxy may answer anything for its length (ECMA-262, LengthOfArrayLike). */
export function lengthOf(array: readonly unknown[]): number {
  const given = array.length;
  if ((given >>> 0) === given) return given;
  const length = Math.trunc(+given);
  return length > 0 ? Math.min(length, Number.MAX_SAFE_INTEGER) : 0;
}

/** Cuts a string to that many units, the last one `…`, and never between the halves of a surrogate pair. */
export function truncated(text: string, units: number): string {
  let kept = units - 1;
  if (kept > 0 && isHighSurrogate(text.charCodeAt(kept - 1)) && isLowSurrogate(text.charCodeAt(kept))) kept--;
  return `${text.slice(0, kept)}…`;
}
