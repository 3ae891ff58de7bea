import fc from 'fast-check';
import type { XJsonOptions } from '../lib/xjson/options';
import { stringify } from '../lib/xjson/serializer';
import { expectSame } from './support/expect-same';
import { runs } from './support/runs';
import { withProperty } from './support/with-property';
import { serialize } from './support/xjson-text';
import { bigData, oracle, type OracleOptions, plainData, text } from './support/xjson-values';

const NO_LIMITS = { maxDepth: 1e6, truncateStrings: 1e9 };

/** Every way there is, each held against what is expected. */
function expectAll(data: unknown, expected: string, options: XJsonOptions = {}): void {
  for (const piece of [undefined, 1, 5, 60]) expectSame(serialize(data, options, piece), expected, piece);
  expectSame(stringify(data, options), expected);
}

describe('long arrays, which JSON.stringify is asked for first', () => {
  it('come out as JSON.stringify has them', () => {
    let compared = 0;
    fc.assert(
      fc.property(fc.array(plainData, { minLength: 32, maxLength: 70, size: 'max' }), (values) => {
        const expected = JSON.stringify(values);
        expectSame(stringify(values), expected);
        expectSame(serialize(values), expected);
        compared += values.length;
      }),
      // At length, more than 50,000 elements.
      { numRuns: runs(60) },
    );
    expect(compared).toBeGreaterThanOrEqual(32 * runs(60));
  });

  it('equal a replacer on JSON.stringify where they hold BigInts, at the root and in envelopes', () => {
    fc.assert(
      fc.property(fc.array(bigData, { minLength: 32, maxLength: 50, size: 'max' }), fc.nat(3), (values, depth) => {
        let data: unknown = values;
        for (let i = 0; i < depth; i++) data = { page: i, items: data };
        // Deeper than the default limit is nothing here, and no string is longer.
        expectSame(stringify(data), oracle(data));
      }),
      { numRuns: runs(30) },
    );
  });

  it('of errors: what the data itself throws is passed on, and so is a text that is too long', () => {
    const failure = new Error('broken');
    const list = Array.from({ length: 40 }, () => 1);
    expect(() => stringify([...list, { get a() { throw failure; } }])).toThrow(failure);
    const long = 'x'.repeat(268_435_450);
    expect(() => stringify([...list, long, long])).toThrow(new RangeError('Invalid string length'));
  });
});

describe('what is read', () => {
  it('is read twice at most, and a toJSON is called once where nothing is on the safe path', () => {
    for (const big of [1, 1n]) {
      const reads: string[] = [];
      const data = { get a() { reads.push('a'); return 1; }, b: [{ toJSON: () => reads.push('toJSON') && 2 }, big], get c() { reads.push('c'); return 3; } };
      expect(JSON.parse(stringify(data))).toEqual({ a: 1, b: [2, typeof big === 'bigint' ? '1' : 1], c: 3 });
      expect(reads.filter((read) => read === 'toJSON')).toHaveLength(1);
      for (const name of ['a', 'c']) expect(reads.filter((read) => read === name).length).toBeLessThanOrEqual(2);
    }
  });
});

describe('data that is another each time it is read', () => {
  it('is written as one of the times had it', () => {
    let deep: unknown = 'end';
    for (let i = 0; i < 600; i++) deep = [deep];
    for (const most of [1, 2, 3, 4]) {
      let reads = 0;
      const text = stringify({ get a() { return reads++ < most ? deep : 1; } });
      expect([JSON.stringify({ a: deep }), '{"a":1}']).toContain(text);
    }
  });

  it('is read a bounded number of times where it is cyclic', () => {
    let reads = 0;
    let calls = 0;
    const data: Record<string, unknown> = { get x() { return ++reads; }, o: { toJSON: () => ++calls } };
    data['y'] = data;
    expect(stringify(data)).toMatch(/^\{"x":\d+,"o":\d+,"y":"\[Circular\]"\}$/);
    expect(Math.max(reads, calls)).toBeLessThanOrEqual(40);
  });
});

test('a proxy of many names has them in the order that it gives them', () => {
  const names = [...Array.from({ length: 5000 }, (_, i) => `name${i}`), '5', '3'];
  const data = new Proxy(Object.fromEntries(names.map((name) => [name, name])), { ownKeys: () => names });
  expect(stringify(data)).toBe(JSON.stringify(data));
});

describe('rows with names and strings as in the row before', () => {
  const NAMES = ['id', 'name', 'é', 'größe', '€', '名前', '😀', '\ud83d', 'a"b', 'line\n', '', 'x'.repeat(80), 'x'.repeat(81), 'é'.repeat(80), '\u0001'.repeat(80), 'k'.repeat(4097), '0', '__proto__', 'constructor'];
  const value = fc.oneof({ weight: 5, arbitrary: fc.oneof(text, fc.integer(), fc.constant(undefined), fc.double()) }, { weight: 1, arbitrary: fc.constant('é'.repeat(200)) });
  const row = fc.letrec((tie) => ({
    row: fc.oneof(
      { maxDepth: 2 },
      value,
      fc.subarray(NAMES, { maxLength: 5 }).chain((names) => fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), tie('row')))).map((entries) => Object.fromEntries(entries) as unknown)),
      fc.array(tie('row'), { maxLength: 3 }),
    ),
  })).row;

  it('of shapes that change at random', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 4 }), fc.array(fc.nat(3), { minLength: 5, maxLength: 12, size: 'max' }), (kinds, order) => {
        const data = { rows: order.map((i) => kinds[i % Math.max(kinds.length, 1)]), last: kinds };
        const expected = JSON.stringify(data);
        expectAll(data, expected);
        expectAll({ data, big: 1n }, `{"data":${expected},"big":"1"}`, NO_LIMITS);
      }),
      { numRuns: runs(30) },
    );
  });

  it('across the ends of pieces', () => {
    const rows = Array.from({ length: 12 }, (_, id) => ({ id, größe: 1.5, ['n'.repeat(79)]: 'wide €', inner: { id, z: ['a', { id }] } }));
    for (let before = 64_000; before < 65_700; before += 13) {
      const data = ['x'.repeat(before), rows];
      const expected = JSON.stringify(data);
      expectSame(serialize(data), expected);
      expectSame(serialize(data), expected);
    }
  });

  it('whose strings repeat, change, and repeat again', () => {
    const cell = fc.constantFrom('', 'a', 'b', 'ab', 'ba', 'a"b', 'Zürich', 'Zurich', '名前', '\ud83d', '\u0001', 'é'.repeat(80), 'é'.repeat(81), '€'.repeat(80), 7, true, false, null, 10n);
    const run = fc.tuple(fc.record({ one: cell, two: cell, '名': cell, in: fc.record({ one: cell }) }, { requiredKeys: ['one'] }), fc.integer({ min: 1, max: 7 }));
    fc.assert(
      fc.property(fc.array(run, { maxLength: 12 }), fc.constantFrom(0, 65_000, 65_300, 65_500), (given, before) => {
        const rows = given.flatMap(([row, times]) => Array.from({ length: times }, () => ({ ...row })));
        const data = [...Array.from({ length: before / 100 }, () => 'x'.repeat(97)), ...rows];
        expectAll(data, oracle(data), NO_LIMITS);
      }),
      { numRuns: runs(30) },
    );
  });

  it('that stop after a long name, at the end of a piece', () => {
    const wide = (unit: string): string => unit.repeat(80);
    const row = { ['k'.repeat(4097)]: wide('\u0001'), [wide('\u0002')]: wide('\u0003') };
    for (let before = 61_380; before < 61_460; before++) {
      const data = ['x'.repeat(before), row];
      const expected = JSON.stringify(data);
      expectSame(serialize(data, {}, 2), expected);
      expectSame(serialize(data, {}, 2), expected);
    }
  });

  it('with many different names', () => {
    const data = Array.from({ length: 3 }, () => Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`name${i}`, { [`inner${i}`]: i, text: i % 3 === 0 ? 'same' : `other${i % 5}` }])));
    expectAll(data, JSON.stringify(data));
  });

  it('that begin anew under the default limits', () => {
    const rows = Array.from({ length: 20 }, (_, id) => ({ id, body: 'y'.repeat(11_000) }));
    const short = Array.from({ length: 9 }, (_, id) => ({ kind: id < 5 ? 'a' : 'b' }));
    const data = [...short, ...rows, { id: 1n }, ...short];
    expectAll(data, oracle(data, { maxDepth: 20, truncateStrings: 10_000 }));
  });
});

describe('text', () => {
  it('changes between Latin-1 and all of Unicode, anywhere', () => {
    const part = fc.oneof(
      fc.tuple(fc.constantFrom('a', 'ÿ', 'é"', 'Ā', '€', '😀', '\ude00'), fc.constantFrom(1, 30, 79, 80, 81, 500, 5000)).map(([fill, times]) => fill.repeat(times)),
      text,
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(part, fc.record({ é: part, k: part })), { minLength: 1, maxLength: 60, size: 'max' }), (data) => {
        expectAll([data, data], JSON.stringify([data, data]));
      }),
      { numRuns: runs(12) },
    );
  });

  it('made while other text is being made', () => {
    const inner = { toJSON: () => ({ text: stringify({ big: 1n, é: '€' }) }) };
    const data = ['before', 'é', inner, '€', inner, 'after'];
    expectAll(data, JSON.stringify(data));
  });
});

describe('large Buffers and typed arrays, whose elements are written one by one', () => {
  const floats = (): Float64Array => Float64Array.from({ length: 5000 }, (_, i) => [i / 3, -0, NaN, Infinity][i % 4] as number);
  const extra = <T extends object>(made: T, key: PropertyKey): T => Object.defineProperty(made, key, { value: ['x'], enumerable: true });
  const hidden = <T extends object>(made: T, key: string, value: unknown): T => Object.defineProperty(made, key, { value });
  const detached = (): unknown => {
    const view = new Uint8Array(5000);
    structuredClone(view.buffer, { transfer: [view.buffer] });
    return view;
  };
  const cases: [string, () => unknown][] = [
    ['a Buffer', () => Buffer.alloc(5000, 'é')],
    ['a Buffer with properties of its own', () => extra(Buffer.alloc(5000), 'x')],
    ['a Buffer with a toJSON of its own', () => hidden(Buffer.alloc(5000), 'toJSON', () => 'own')],
    ['a Buffer twice', () => { const twice = Buffer.alloc(5000, 1); return [twice, { twice }, twice]; }],
    ['a Uint8Array', () => new Uint8Array(5000).fill(200)],
    ['part of a larger one', () => new Int16Array(new ArrayBuffer(20_000), 100, 5000).fill(-7)],
    ['a Float64Array', floats],
    ['a Float64Array with a name of its own', () => extra(floats(), 'x')],
    ['a Float64Array with a symbol of its own', () => extra(floats(), Symbol('x'))],
    ['a Float64Array with a toJSON', () => hidden(floats(), 'toJSON', (key: string) => ({ key }))],
    ['one in a proxy', () => new Proxy(floats(), {})],
    ['a DataView', () => new DataView(new ArrayBuffer(5000))],
    ['one whose memory was given away', detached],
    ['a BigInt64Array', () => BigInt64Array.from({ length: 5000 }, (_, i) => BigInt(i) - 9n)],
  ];

  it.each(cases)('%s', (_name, make) => {
    for (const wrap of [(data: unknown) => data, (data: unknown) => ({ before: 1, data, after: [data] })]) {
      expectAll(wrap(make()), oracle(wrap(make())), NO_LIMITS);
    }
  });

  it('under limits', () => {
    const limits: OracleOptions[] = [{ maxDepth: 1 }, { maxDepth: 2 }, { maxDepth: 3, truncateStrings: 2 }, { includeNonEnumerable: true }];
    for (const options of limits) {
      for (const make of [() => Buffer.alloc(5000), floats]) expectAll([make(), make()], oracle([make(), make()], options), options);
    }
    const open = hidden(floats(), 'hidden', 1);
    const shown = JSON.parse(serialize(open, { includeNonEnumerable: true })) as Record<string, unknown>;
    expect(shown['hidden']).toBe(1);
    const data = ['z'.repeat(10_001), new BigInt64Array(5000)];
    expectAll(data, oracle(data, { truncateStrings: 10_000 }));
  });

  it.each<[string, () => object]>([['Array', () => Array.prototype as object], ['Object', () => Object.prototype]])('where %s.prototype has a toJSON', (_name, prototype) => {
    const data = { buffer: Buffer.alloc(5000), floats: floats(), list: [1] };
    let expected = '';
    let got: string[] = [];
    withProperty(prototype(), 'toJSON', function (this: unknown) { return Array.isArray(this) ? `list of ${this.length}` : this; }, () => {
      expected = JSON.stringify(data);
      got = [serialize(data), serialize(data, {}, 2), serialize(data), stringify(data)];
    });
    expect(got).toEqual([expected, expected, expected, expected]);
  });

  it('where BigInt.prototype has a toJSON', () => {
    const data = [new BigInt64Array(5000).fill(3n), ...Array.from({ length: 40 }, (_, i) => BigInt(i))];
    for (const toJSON of [function (this: bigint) { return Number(this); }, function (this: bigint, key: string) { return `${this}@${key}`; }, () => undefined]) {
      let pair: string[] = [];
      withProperty(BigInt.prototype, 'toJSON', toJSON, () => { pair = [JSON.stringify(data), serialize(data), serialize(data, {}, 2), serialize(data), stringify(data)]; });
      expect(new Set(pair).size).toBe(1);
    }
  });
});
