import { types } from 'node:util';
import fc from 'fast-check';
import { anyCharacter } from './any-character';

/** How a response is to look, for the oracle. */
export interface OracleOptions {
  maxDepth?: number;
  truncateStrings?: number;
  includeNonEnumerable?: boolean;
  /** Is told of a BigInt or a cycle, which JSON.stringify would refuse. */
  onRefusal?: () => void;
}

/** JSON.rawJSON and its like, which Node 20 has not. */
export const { rawJSON, isRawJSON } = JSON as { rawJSON?: (text: string) => object; isRawJSON?: (value: unknown) => boolean };

/**
 * JSON of any data by a replacer on the engine's own JSON.stringify: slow and
 * plain. It knows nothing of when the default limits apply.
 */
export function oracle(data: unknown, options: OracleOptions = {}): string {
  const { maxDepth = Infinity, truncateStrings = Infinity, onRefusal } = options;
  const path: unknown[] = [];
  const text = JSON.stringify(data, function (this: unknown, _key, given: unknown) {
    while (path.length > 0 && path[path.length - 1] !== this) path.pop();
    const value = types.isBigIntObject(given) ? BigInt.prototype.valueOf.call(given) : types.isStringObject(given) ? String(given) : given;
    if (typeof value === 'bigint') {
      onRefusal?.();
      return String(value);
    }
    if (typeof value === 'string') return cut(value, truncateStrings);
    if (typeof value !== 'object' || value === null || types.isBoxedPrimitive(value) || isRawJSON?.(value) === true) return value;
    if (path.includes(value)) {
      onRefusal?.();
      return '[Circular]';
    }
    // What holds nothing is nothing to leave out.
    if (path.length >= maxDepth && Object.keys(Array.isArray(value) ? Array.from(value) : value).length > 0) return Array.isArray(value) ? '[Array]' : '[Object]';
    path.push(value);
    return value;
  }) as string | undefined;
  return text ?? 'null';
}

/** The same, with the default limits where JSON.stringify would refuse what is written. */
export function expected(data: unknown, options: OracleOptions = {}): string {
  let isRefused = false;
  const text = oracle(data, { ...options, onRefusal: () => (isRefused = true) });
  return isRefused ? oracle(data, { maxDepth: 20, truncateStrings: 10_000, ...options }) : text;
}

function cut(text: string, units: number): string {
  if (text.length <= units) return text;
  const kept = text.slice(0, units - 1);
  const splits = /[\ud800-\udbff]$/.test(kept) && /^[\udc00-\udfff]/.test(text.slice(units - 1));
  return `${splits ? kept.slice(0, -1) : kept}…`;
}

/** Any UTF-16 text: ASCII, what must be escaped, halves of surrogate pairs, long and short. */
export const text: fc.Arbitrary<string> = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 12 }),
  fc.string({ unit: fc.constantFrom('\ud83d', '\ude00', '"', '\\', '\n', '\u0007', '\u007f', 'é', '€', '\u2028', 'a'), maxLength: 100 }),
  fc.tuple(fc.string({ minLength: 1, maxLength: 5 }), fc.nat(40)).map(([part, times]) => part.repeat(times)),
);

const number: fc.Arbitrary<number> = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -0, NaN, Infinity, -Infinity, 9, 10, 99, 100, 999_999_999, 1_000_000_000, 2 ** 31, -(2 ** 31), 2 ** 31 - 1, 2 ** 53, 1e21, 1e-7, 5e-324),
);

class Account {
  #secret = 1;
  constructor(readonly id: unknown, readonly owner: unknown) {}
  get secret(): number {
    return this.#secret;
  }
}

class Items extends Array<unknown> {}

class Stamp {
  constructor(readonly inner: unknown) {}
  toJSON(key: string): unknown {
    return [key, this.inner];
  }
}

/** Values that are no containers of others. */
const leaf: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 3, arbitrary: number },
  fc.boolean(),
  fc.constantFrom(null, undefined, Symbol('s'), () => 1),
  // Made anew each time: a link written into one must not reach the next run.
  fc.constantFrom<() => unknown>(() => new Date(NaN), () => /x/g, () => new Map([[1, 2]]), () => new Set([1]), () => new Error('no'), () => new WeakMap()).map((make) => make()),
  fc.constantFrom<() => unknown>(() => new URL('http://h/?q'), () => new Number(1), () => Object.assign(Object.create(Number.prototype) as object, { a: 1 }), () => new Items(3)).map((make) => make()),
  fc.date({ noInvalidDate: false }),
  number.map((value) => Object.assign(new Number(value), { extra: 1 })),
  text.map((value) => Object.assign(new String(value), { extra: 1 })),
  fc.boolean().map((value) => new Boolean(value)),
  fc.uint8Array({ maxLength: 4 }),
  fc.float32Array({ maxLength: 4 }),
  fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
  number.map((value) => Object.assign(() => 1, { toJSON: () => value })),
);

const bigint: fc.Arbitrary<unknown> = fc.oneof(
  fc.bigInt(),
  fc.bigInt({ min: 0n, max: 2n ** 64n }).map((value) => Object(value) as unknown),
  fc.constant(10n ** 200n),
  fc.bigUint64Array({ maxLength: 3 }),
);

function containers(inner: fc.Arbitrary<unknown>): fc.Arbitrary<unknown>[] {
  const key = fc.oneof(fc.constantFrom('a', 'b', '0', '10', '2', '__proto__', 'constructor', 'length', 'toString'), text);
  const entries = fc.array(fc.tuple(key, inner), { maxLength: 5 });
  return [
    fc.array(inner, { maxLength: 5 }),
    fc.array(inner, { maxLength: 3 }).map((items) => Object.assign([], items, { 7: 1, named: 2 })),
    entries.map((all) => define({}, all)),
    entries.map((all) => define(Object.create(null) as object, all)),
    entries.map((all) => define(Object.create({ inherited: 1, toString: null }) as object, all)),
    entries.map((all) => {
      const made = define({}, all);
      Object.defineProperty(made, 'hidden', { value: 'h', enumerable: false });
      Object.defineProperty(made, Symbol('k'), { value: 1, enumerable: true });
      return made;
    }),
    fc.tuple(key, inner).map(([name, value]) => Object.defineProperty({}, name, { get: () => value, enumerable: true })),
    entries.map((all) => new Proxy(define({}, all), {})),
    fc.array(inner, { maxLength: 3 }).map((items) => new Proxy(items, {})),
    fc.tuple(inner, inner).map(([id, owner]) => new Account(id, owner)),
    inner.map((value) => new Stamp(value)),
  ];
}

function define<T extends object>(target: T, entries: readonly (readonly [string, unknown])[]): T {
  for (const [key, value] of entries) Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
  return target;
}

/** Data that JSON.stringify handles. */
export const plainData: fc.Arbitrary<unknown> = tree(leaf);

/** Data with BigInts in it, here and there. */
export const bigData: fc.Arbitrary<unknown> = tree(fc.oneof({ weight: 4, arbitrary: leaf }, { weight: 1, arbitrary: bigint }));

/** Data with BigInts, values that occur twice, and cycles. */
export const cyclicData: fc.Arbitrary<unknown> = fc
  .tuple(fc.array(bigData, { minLength: 1, maxLength: 4 }), fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 4 }))
  .map(([roots, links]) => linked(roots, links));

/** The data with links written into its containers, to any of them. */
export function linked<T extends object>(data: T, links: readonly (readonly [number, number])[]): T {
  const all = openContainers(data);
  for (const [from, to] of links) {
    // One that has a getter of that name stays as it is.
    Reflect.set(all[from % all.length] as object, '3', all[to % all.length]);
  }
  return data;
}

function tree(leaves: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.letrec((tie) => ({
    node: fc.oneof({ maxDepth: 4, depthSize: 'small' }, { weight: 2, arbitrary: leaves }, ...containers(tie('node')).map((arbitrary) => ({ weight: 1, arbitrary }))),
  })).node;
}

/** The arrays and objects that a link may be written into. */
function openContainers(root: object): object[] {
  const found = new Set<object>([root]);
  for (const container of found) {
    for (const key of Object.keys(container)) {
      const descriptor = Object.getOwnPropertyDescriptor(container, key);
      const value: unknown = descriptor?.value;
      if (typeof value !== 'object' || value === null || types.isBoxedPrimitive(value) || ArrayBuffer.isView(value)) continue;
      found.add(value);
    }
  }
  return [...found];
}
