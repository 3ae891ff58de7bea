import { isDeepStrictEqual, types } from 'node:util';

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

/** Looked up once: what Node exports has so many properties that V8 would search it for each value. */
const { isBoxedPrimitive } = types;

/** Whether it is a Number, String, Boolean, BigInt or Symbol object. Runs no trap of a proxy. */
export function isBox(value: object): boolean {
  return !Array.isArray(value) && isBoxedPrimitive(value);
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

/** Elements from which arrays of bytes and numbers are not left to steps that cannot be cut into slices. */
const MANY = 4096;

/** Inherits what all arrays do. */
const LIST: object = [];
const bufferToJson: unknown = Reflect.get(Buffer.prototype as object, 'toJSON');

/** What stands for the array that a Buffer's toJSON makes of its bytes, which would take eight times their memory. */
export class ByteList {
  constructor(readonly bytes: Uint8Array) {}
}

/** Whether it is a large Buffer, and its toJSON is Node's own, as are all that what it makes would be asked for. */
export function isLargeBuffer(given: unknown, toJSON: unknown): given is Buffer {
  return (
    toJSON === bufferToJson && types.isUint8Array(given) && Object.getPrototypeOf(given) === Buffer.prototype &&
    !Object.hasOwn(given, 'length') && given.length > MANY && !('toJSON' in LIST)
  );
}

/** What the engine itself says of a typed array, whatever its class overrides. */
const TypedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
const nameOf = getterOf(Symbol.toStringTag) as Getter<string | undefined>;
const lengthIn = getterOf('length') as Getter<number>;

/** A large typed array, as far as it matters here. */
export type Numbers = Readonly<Record<number, number | bigint | undefined>>;

/**
 * How many elements it has, if it is a large typed array with no properties but
 * them, so that their names need not be made at once; otherwise -1. There is no
 * way to ask for the others alone, but by comparing it with an array on the
 * same memory.
 */
export function numbersIn(container: object): number {
  if (!ArrayBuffer.isView(container)) return -1;
  const name = nameOf.call(container);
  if (name === undefined) return -1;
  const length = lengthIn.call(container);
  if (length <= MANY) return -1;
  const Elements = (globalThis as unknown as Record<string, Uint8ArrayConstructor>)[name];
  if (Elements === undefined) return -1;
  const bare = new Elements(container.buffer, container.byteOffset, length);
  Object.setPrototypeOf(bare, Object.getPrototypeOf(container) as object);
  return isDeepStrictEqual(container, bare) ? length : -1;
}

type Getter<T> = (this: unknown) => T;

function getterOf(key: PropertyKey): unknown {
  return Reflect.get(Object.getOwnPropertyDescriptor(TypedArray, key) ?? {}, 'get');
}
