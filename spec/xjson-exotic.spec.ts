import fc from 'fast-check';
import type { XJsonOptions } from '../lib/xjson/options';
import { stringify } from '../lib/xjson/serializer';
import { expectSame } from './support/expect-same';
import { withProperty } from './support/with-property';
import { serialize } from './support/xjson-text';
import { bigData, expected, linked, oracle, rawJSON } from './support/xjson-values';

const LONG = 'x'.repeat(10_500);
const bufferToJson: unknown = Reflect.get(Buffer.prototype, 'toJSON');

function nested(levels: number, core: unknown = 1): unknown {
  let data = core;
  for (let i = 0; i < levels; i++) data = [data];
  return data;
}

const many = <T>(make: (index: number) => T): T[] => Array.from({ length: 40 }, (_, index) => make(index));
const callable = (toJSON: (key: string) => unknown) => Object.assign(() => 1, { toJSON });

/** Data that leads back to itself, so that JSON.stringify refuses it. */
function looped(more: object): object {
  const data: Record<string, unknown> = { ...more };
  data['loop'] = data;
  return data;
}

/** Every way to the text, made anew for each. */
function expectAll(make: () => unknown, text: string, options: XJsonOptions = {}): void {
  for (const piece of [undefined, 1, 2, 5, 17, 60, 200]) expectSame(serialize(make(), options, piece), text, piece);
  expectSame(stringify(make(), options), text);
}

describe('what JSON.stringify does not read', () => {
  it.each<[string, () => unknown, unknown]>([
    ['an inherited BigInt', () => Object.create({ a: 1n }), {}],
    ['an inherited cycle', () => Object.create(looped({})), {}],
    ['a BigInt beside what is in a box', () => Object.assign(new Number(1), { x: 1n }), 1],
    ['a BigInt deeper in such a property', () => Object.assign(new Boolean(true), { x: { y: [1n] } }), true],
    ['a cycle in such a property', () => { const box: { self?: unknown } = Object(1) as object; box.self = [box]; return box; }, 1],
    ['a toJSON in such a property', () => Object.assign(new String('s'), { x: { toJSON: () => 2 } }), 's'],
  ])('is not looked for: %s', (_name, make, written) => {
    expectAll(() => [LONG, make()], JSON.stringify([LONG, written]));
  });

  it('is not called: an inherited getter', () => {
    expectAll(() => [Object.create({ get a() { throw new Error('asked'); } })], '[{}]');
  });

  it('is not called: a hidden getter below the deepest level', () => {
    const make = () => [[Object.defineProperty({ a: 1 }, 'hidden', { get() { throw new Error('asked'); } })]];
    expectAll(make, '[["[Object]"]]', { maxDepth: 2, includeNonEnumerable: true });
  });

  it('stays behind: what a boxed BigInt has of its own', () => {
    expectAll(() => [Object.assign(Object(1n) as object, { x: 2n })], '["1"]');
  });
});

describe('what a toJSON gives, whoever has it', () => {
  const deep = { a: { b: 'long text' } };

  it.each<[string, (value: unknown) => unknown]>([
    ['an object', (value) => ({ toJSON: () => value })],
    ['a function', (value) => callable(() => value)],
    ['a date with a toISOString of its own', (value) => Object.assign(new Date(0), { toISOString: () => value })],
    ['an object that gives a function', (value) => ({ toJSON: () => Object.assign(() => 1, { toJSON: () => value }) })],
    ['an object that gives itself', (value) => ({ value, toJSON() { return this; } })],
  ])('is under the limits, and may hold BigInts and cycles: %s', (_name, wrap) => {
    for (const value of [LONG, deep, 1n, [LONG, 1n], nested(25), looped({ LONG }), Object(2n), undefined]) {
      for (const make of [() => wrap(value), () => [1n, wrap(value)], () => [LONG, { in: wrap(value) }]]) {
        for (const options of [{}, { maxDepth: 2 }, { maxDepth: 1 }, { truncateStrings: 100 }, { truncateStrings: 1 }]) expectAll(make, expected(make(), options), options);
      }
    }
  });

  it('is asked for with the key that it stands under', () => {
    const make = () => [many(() => callable((key) => key)), { ...many(() => ({ toJSON: (key: string) => key })) }];
    expectAll(make, JSON.stringify(make()));
  });

  it('of a BigInt is written as it is', () => {
    for (const toJSON of [function (this: bigint) { return BigInt(this) + 1n; }, () => deep, () => LONG, (key: string) => key]) {
      const make = () => [1n, { a: many(() => 2n) }, { toJSON: () => 3n }, looped({ big: 4n, of: { toJSON: () => 5n } })];
      withProperty(BigInt.prototype, 'toJSON', toJSON, () => {
        for (const options of [{}, { maxDepth: 2 }, { truncateStrings: 3 }]) expectAll(make, expected(make(), options), options);
      });
    }
  });

  it('of a Buffer, borrowed by what is none, is data like any, or throws as of Node 26', () => {
    const make = () => [1n, { toJSON: bufferToJson, length: 1, 0: LONG }];
    try {
      JSON.stringify(make()[1]);
    } catch (error) {
      expect(() => serialize(make())).toThrow((error as Error).message);
      return;
    }
    expectAll(make, expected(make()));
  });
});

describe('a BigInt in a box, which no walk sees', () => {
  it('puts the default in force for the limit that was not given', () => {
    const make = () => [many((i) => i), Object(1n), LONG, nested(30)];
    for (const options of [{}, { truncateStrings: 3 }, { maxDepth: 5 }]) expectAll(make, expected(make(), options), options);
    expectAll(() => [many((i) => i), LONG, Object(1n)], oracle([many((i) => i), LONG, 1n], { truncateStrings: 10_000 }), { stable: true });
  });
});

describe('text made by JSON.rawJSON', () => {
  // Node 20 has none: there it is data like any.
  const texts = ['1e400', '-0', '1.00000000000000000001', '123456789012345678901234567890', '"a\\u0041"', 'true', 'null', `"${LONG}"`];

  it.each(texts)('%s is written as it is, anywhere', (text) => {
    const raw = () => (rawJSON ?? JSON.parse)(text);
    if (rawJSON === undefined) return expectAll(raw, JSON.stringify(raw()));
    expectAll(raw, text);
    expectAll(() => looped({ raw: raw(), 'a"b': [raw()] }), `{"raw":${text},"a\\"b":[${text}],"loop":"[Circular]"}`);
    expectAll(() => [[raw()], raw()], `["[Array]",${text}]`, { maxDepth: 1, truncateStrings: 2 });
    expectAll(() => many(() => [raw(), 1n]), `[${many(() => `[${text},"1"]`).join()}]`);
    expectAll(() => ({ raw: raw(), a: raw() }), `{"a":${text},"raw":${text}}`, { stable: true });
  });
});

describe('any of it, in pieces of any size and under any limits', () => {
  const node = fc.letrec((tie) => {
    const inner = tie('node');
    const row = fc.tuple(inner, fc.integer({ min: 15, max: 40 }));
    return {
      node: fc.oneof(
        { maxDepth: 4, depthSize: 'small' },
        { weight: 6, arbitrary: bigData },
        fc.constantFrom(LONG, 'short', 1, null),
        inner.map((value) => ({ toJSON: () => value })),
        inner.map((value) => callable(() => value)),
        inner.map((value) => Object.assign(new Date(0), { toISOString: () => value })),
        inner.map((value) => Object.assign(new Number(1), { value })),
        inner.map((value) => Object.assign(Object(1n) as object, { value })),
        inner.map((value) => Object.create({ value }) as unknown),
        inner.map((value) => ({ value, toJSON() { return this; } })),
        inner.map((value) => nested(22, value)),
        row.map(([value, times]) => Array.from({ length: times }, () => value)),
        row.map(([value, times]) => Object.fromEntries(Array.from({ length: times }, (_, i) => [`${i % 3 === 0 ? '' : 'k'}${i}`, value]))),
        fc.constantFrom('1e400', '-0', '"raw"', `"${LONG}"`).map((text) => rawJSON?.(text) ?? text),
        fc.integer({ min: 0, max: 90 }).map((size) => Buffer.alloc(size)),
        fc.integer({ min: 0, max: 90 }).map((size) => new BigInt64Array(size)),
      ),
    };
  }).node;
  const limits: fc.Arbitrary<{ maxDepth?: number; truncateStrings?: number }> = fc.record({ maxDepth: fc.integer({ min: 1, max: 30 }), truncateStrings: fc.integer({ min: 1, max: 20_000 }) }, { requiredKeys: [] });
  const links = fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { maxLength: 2 });

  /** None where rows of rows of long strings are longer than any string can be. */
  function textOf(data: unknown, options: XJsonOptions): string | undefined {
    try {
      return expected(data, options);
    } catch (error) {
      if (error instanceof RangeError && error.message === 'Invalid string length') return undefined;
      throw error;
    }
  }

  it('comes out as a replacer on JSON.stringify has it', () => {
    fc.assert(
      fc.property(fc.array(node, { maxLength: 5 }), links, fc.oneof(fc.constant({}), limits), fc.integer({ min: 1, max: 200 }), (values, ends, options, piece) => {
        const data = linked([LONG, ...values], ends);
        const text = textOf(data, options);
        // What grows by cycles alone is compared elsewhere.
        fc.pre(text !== undefined && text.length < 1_000_000);
        expectSame(serialize(data, options, piece), text);
        expectSame(serialize(data, options), text);
        expectSame(stringify(data, options), text);
      }),
      { numRuns: Number(process.env['EXOTIC_RUNS'] ?? 400) },
    );
  });
});
