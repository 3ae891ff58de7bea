import { isDeepStrictEqual, types } from 'node:util';

/** Whether the object stands for JSON text of its own, made by JSON.rawJSON, where the engine has that. */
export const isRawJson = (JSON as { isRawJSON?: (value: object) => boolean }).isRawJSON ?? ((): boolean => false);

/** Whether the value has no JSON form. */
export function isOmitted(value: unknown): boolean {
  return value === undefined || typeof value === 'function' || typeof value === 'symbol';
}

/** Whether JSON.stringify would look for a toJSON of the value. */
export function isConvertible(value: unknown): value is object | bigint {
  return typeof value === 'object' ? value !== null : typeof value === 'bigint' || typeof value === 'function';
}

/** The value as a toJSON gives it, which is not asked for its own. */
export function silent(value: unknown): unknown {
  return isConvertible(value) && typeof (value as { toJSON?: unknown }).toJSON === 'function' ? { toJSON: () => value } : value;
}

/** The primitive in a box, or the value itself. As JSON.stringify has it: numbers and strings are converted, which an application may override. */
export function unboxed(box: unknown): unknown {
  if (typeof box !== 'object' || !types.isBoxedPrimitive(box)) return box;
  if (types.isNumberObject(box)) return +(box as unknown as number);
  if (types.isStringObject(box)) return String(box);
  if (types.isBooleanObject(box)) return Boolean.prototype.valueOf.call(box);
  if (types.isBigIntObject(box)) return BigInt.prototype.valueOf.call(box);
  return box;
}

/** How many elements there are. A proxy may return anything for its length (ECMA-262, LengthOfArrayLike). */
export function lengthOf(array: { readonly length: number }): number {
  const given = array.length;
  if ((given >>> 0) === given) return given;
  const length = Math.trunc(+given);
  return length > 0 ? Math.min(length, Number.MAX_SAFE_INTEGER) : 0;
}

/** Cuts a string to that many units, the last one `…`, and never between the halves of a surrogate pair. */
export function truncated(text: string, units: number): string {
  return `${text.slice(0, wholeEnd(text, units - 1))}…`;
}

/** That place in the text, or the one before if it lies between the halves of a surrogate pair. */
export function wholeEnd(text: string, at: number): number {
  return at > 0 && (text.codePointAt(at - 1) as number) > 0xffff ? at - 1 : at;
}

/** Node's own, which its types give no name. */
export const bufferToJson: unknown = Reflect.get(Buffer.prototype as object, 'toJSON');

/** Stands for the array that a Buffer's toJSON makes of its bytes, which would take eight times their memory. */
export class ByteList extends Uint8Array {}

/** Applies toJSON and takes primitives out of their boxes (ECMA-262, SerializeJSONProperty). @param many Bytes from which a Buffer is left in one piece. */
export function resolve(given: unknown, key: string, many: number): unknown {
  let value = given;
  if (isConvertible(given)) {
    const { toJSON } = given as { toJSON?: unknown };
    if (toJSON === bufferToJson && isLargeBuffer(given, many)) return { type: 'Buffer', data: new ByteList(given.buffer, given.byteOffset, given.length) };
    if (typeof toJSON === 'function') value = Reflect.apply(toJSON as (key: string) => unknown, given, [key]);
  }
  return unboxed(value);
}

/** Whether it is one that is written as Node writes it, as is all that its toJSON would make. */
function isLargeBuffer(given: unknown, many: number): given is Buffer<ArrayBuffer> {
  return types.isUint8Array(given) && given.length > many && Object.getPrototypeOf(given) === Buffer.prototype && !Object.hasOwn(given, 'length')
    && !('toJSON' in []) && JSON.stringify(Buffer.of(1)) === '{"type":"Buffer","data":[1]}';
}

/** What the engine itself says of a typed array, whatever its class overrides. */
const TypedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
const nameOf = getterOf(Symbol.toStringTag) as (this: unknown) => string | undefined;
const lengthIn = getterOf('length') as (this: unknown) => number;

function getterOf(key: PropertyKey): unknown {
  return Reflect.get(Object.getOwnPropertyDescriptor(TypedArray, key) ?? {}, 'get');
}

/**
 * How many elements it has, if it is a typed array with no properties but them, so that their names need not be made at
 * once; otherwise -1. There is no way to ask for the others alone, but by comparing it with an array on the same memory.
 */
export function numbersIn(container: object): number {
  const name = ArrayBuffer.isView(container) ? nameOf.call(container) : undefined;
  const Elements = name === undefined ? undefined : (globalThis as unknown as Record<string, Uint8ArrayConstructor | undefined>)[name];
  if (Elements === undefined) return -1;
  const { buffer, byteOffset } = container as Uint8Array<ArrayBuffer>;
  const length = lengthIn.call(container);
  const bare = new Elements(buffer, byteOffset, length);
  Object.setPrototypeOf(bare, Object.getPrototypeOf(container) as object);
  return isDeepStrictEqual(container, bare) ? length : -1;
}
