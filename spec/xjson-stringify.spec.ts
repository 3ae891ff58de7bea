import fc from 'fast-check';
import { configure } from 'safe-stable-stringify';
import { stringify } from '../lib/xjson/serializer';
import { expectSame } from './support/expect-same';
import { runs } from './support/runs';
import { serialize } from './support/xjson-text';
import { bigData, cyclicData, oracle, plainData, text } from './support/xjson-values';

const NO_LIMITS = { maxDepth: 1e6, truncateStrings: 1e9 };
const many = (arbitrary: fc.Arbitrary<unknown>) => fc.array(arbitrary, { minLength: 20, maxLength: 20, size: 'max' });

describe('data that JSON.stringify handles', () => {
  it('comes out as JSON.stringify has it', () => {
    let compared = 0;
    fc.assert(
      fc.property(many(plainData), (values) => {
        for (const value of values) {
          const expected = (JSON.stringify(value) as string | undefined) ?? 'null';
          expectSame(serialize(value), expected);
          expectSame(stringify(value), expected);
          compared++;
        }
      }),
      // At length, more than 50,000 values.
      { numRuns: runs(160) },
    );
    expect(compared).toBe(20 * runs(160));
  });

  it('comes out the same when the work stops after every value', () => {
    fc.assert(
      fc.property(many(plainData), (values) => {
        expectSame(serialize(values, {}, 2), JSON.stringify(values));
      }),
      { numRuns: runs(40) },
    );
  });
});

describe('data with BigInts and cycles', () => {
  it('equals a replacer on JSON.stringify', () => {
    fc.assert(
      fc.property(many(bigData), (values) => {
        for (const value of values) {
          const expected = oracle(value);
          expectSame(serialize(value, NO_LIMITS), expected);
          expectSame(stringify(value, NO_LIMITS), expected);
        }
      }),
      { numRuns: runs(40) },
    );
  });

  it('equals it with cycles and under any limits, however the work is cut', () => {
    fc.assert(
      fc.property(cyclicData, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 30 }), fc.integer({ min: 2, max: 9 }), (data, maxDepth, truncateStrings, fuel) => {
        expectSame(serialize(data, NO_LIMITS), oracle(data));
        const limits = { maxDepth, truncateStrings };
        const expected = oracle(data, limits);
        expectSame(serialize(data, limits), expected);
        expectSame(serialize(data, limits, fuel), expected);
        expectSame(stringify(data, limits), expected);
      }),
      { numRuns: runs(400) },
    );
  });

  it('agrees with safe-stable-stringify where that is exact', () => {
    const peer = configure({ bigint: 'string', deterministic: false, circularValue: '[Circular]', maximumDepth: 50 } as never);
    const value = fc.letrec((tie) => ({
      node: fc.oneof({ maxDepth: 6 }, text, fc.integer(), fc.bigInt(), fc.constant(null), fc.array(tie('node'), { maxLength: 4 }), fc.dictionary(fc.string({ maxLength: 5 }), tie('node'), { maxKeys: 4, noNullPrototype: true })),
    })).node;
    fc.assert(fc.property(value, (data) => expectSame(serialize(data, NO_LIMITS), peer(data))), { numRuns: runs(750) });
  });
});

describe('strings', () => {
  it('of every length around the edges of pieces and segments', () => {
    const unit = fc.constantFrom('a', 'é', '€', '😀', '\ud83d', '"', '\u0001');
    const length = fc.oneof(fc.integer({ min: 60, max: 100 }), fc.integer({ min: 4090, max: 4100 }), fc.integer({ min: 65_400, max: 65_560 }));
    fc.assert(
      fc.property(fc.array(fc.tuple(unit, length, unit), { minLength: 1, maxLength: 3 }), (parts) => {
        const data = parts.map(([fill, times, end]) => ({ [fill.repeat(times)]: fill.repeat(times) + end + fill }));
        expectSame(serialize(data), JSON.stringify(data));
      }),
      { numRuns: runs(30) },
    );
  });

  it('with names and values that need six bytes a unit, across the end of a piece', () => {
    const wide = '\u0001'.repeat(80);
    const inner = [{ [wide]: { [wide]: { [wide]: [wide, wide, { [wide]: wide }], b: -Number.MIN_VALUE } } }];
    for (let before = 62_000; before < 65_600; before += 7) {
      const data = ['x'.repeat(before), inner, wide];
      expectSame(serialize(data), JSON.stringify(data));
    }
  });

  it('never lose half of a surrogate pair', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('😀', 'a', '\ud83d', '\ude00'), maxLength: 20 }), fc.integer({ min: 1, max: 20 }), (value, truncateStrings) => {
        const written = JSON.parse(serialize(value, { truncateStrings })) as string;
        expect(written.length).toBeLessThanOrEqual(truncateStrings);
        if (value.length <= truncateStrings) return expect(written).toBe(value);
        expect(written.endsWith('…')).toBe(true);
        const kept = written.slice(0, -1);
        expect(value.startsWith(kept)).toBe(true);
        const splits = /[\ud800-\udbff]$/.test(kept) && /^[\udc00-\udfff]/.test(value.slice(kept.length));
        expect(splits).toBe(false);
        expect(kept.length).toBeGreaterThanOrEqual(truncateStrings - 2);
      }),
      { numRuns: runs(250) },
    );
  });
});

describe('numbers', () => {
  it('every small integer, and digits at each power of ten', () => {
    const values: number[] = [];
    for (let i = -1200; i <= 1200; i++) values.push(i);
    for (let power = 1; power <= 22; power++) for (const near of [-1, 0, 1]) values.push(10 ** power + near, -(10 ** power) + near, 10 ** power + 0.5);
    expect(serialize(values)).toBe(JSON.stringify(values));
  });
});

describe('BigInts', () => {
  const quoted = (values: readonly bigint[]): string => JSON.stringify(values.map(String));

  it('around each power of two and of ten, and where zeros stand within', () => {
    const values: bigint[] = [];
    for (let bits = 0n; bits <= 130n; bits++) for (let near = -2n; near <= 2n; near++) values.push(2n ** bits + near, -(2n ** bits) + near);
    for (let zeros = 0n; zeros <= 40n; zeros++) for (const times of [1n, 7n, 10_203n]) for (const near of [-1n, 0n, 1n]) values.push(times * 10n ** zeros + near, near - times * 10n ** zeros);
    expect(serialize(values)).toBe(quoted(values));
    expect(JSON.parse(serialize({ values, long: 10n ** 5000n }))).toEqual({ values: values.map(String), long: String(10n ** 5000n) });
  });

  it('of any 64 bits', () => {
    const half = fc.oneof(fc.constantFrom(0n, 1n, 0xffff_ffffn), fc.bigInt({ min: 0n, max: 0xffff_ffffn }));
    const word = fc.tuple(half, half, fc.boolean()).map(([high, low, minus]) => ((high << 32n) | low) * (minus ? -1n : 1n));
    fc.assert(fc.property(fc.array(word, { minLength: 1, maxLength: 50 }), (values) => {
      expectSame(serialize(values), quoted(values));
    }), { numRuns: runs(1000) });
  });
});

describe('decimals', () => {
  const scale = fc.integer({ min: 0, max: 9 }).map((places) => 10 ** places);
  const digits = fc.oneof(fc.maxSafeInteger(), fc.integer(), fc.integer({ min: -999_999, max: 999_999 }));
  /** Decimals of few digits, and the doubles right beside them, which need many. */
  const decimal = fc.tuple(digits, scale, fc.constantFrom(-1, 0, 0, 1)).map(([whole, divisor, step]) => beside(whole / divisor, step));

  it('are written as JSON.stringify writes them, and so are their neighbours', () => {
    fc.assert(fc.property(fc.array(fc.oneof(decimal, fc.double()), { minLength: 1, maxLength: 20 }), (values) => {
      expectSame(serialize(values), JSON.stringify(values));
    }), { numRuns: runs(2500) });
  });

  it('integers of more than 32 bits, where eight digits end and where zeros stand within', () => {
    const values = [9_007_198_999_999_999, 5_000_000_001, 10_000_000_000, 1_000_000_000_000_001, Number.MAX_SAFE_INTEGER, 2 ** 31, 2 ** 32, 2 ** 53 + 2, 1_700_000_000_000];
    for (let billions = 3; billions < 9_007_199; billions += 4999) values.push(billions * 1e9 - 1, billions * 1e9, billions * 1e9 + 7);
    expect(serialize(values)).toBe(JSON.stringify(values));
    expect(serialize(values.map((value) => -value))).toBe(JSON.stringify(values.map((value) => -value)));
  });

  it('at the ends of what is short', () => {
    const ends = [1e-6, 1e-7, 1.5e-7, 9.99999e-7, 0.5, 0.25, 0.1, 0.01, 0.999999, 0.9999995, 19.99, 100.000001, 1.0000001, 999_999_999.999999, 999_999_999.9999999, 1e9 + 0.5, 1e9 - 0.5, 2 ** 31 + 0.5, 4503599627370495.5, 21474836.48, 2147483648.5, 5e-324, 1.7976931348623157e308];
    const values = ends.flatMap((end) => [-1, 0, 1].flatMap((step) => [beside(end, step), -beside(end, step)]));
    expect(serialize(values)).toBe(JSON.stringify(values));
  });
});

/** The next double above or below, or the number itself. */
function beside(value: number, step: number): number {
  if (value === 0 || !Number.isFinite(value)) return value;
  const bits = new BigInt64Array(new Float64Array([value]).buffer);
  bits[0] = (bits[0] as bigint) + BigInt(step);
  return new Float64Array(bits.buffer)[0] as number;
}

describe('what JSON.stringify asks of objects', () => {
  it('asks in its order, and each thing twice at most', () => {
    const calls: string[] = [];
    const traced = <T extends object>(name: string, target: T): T => new Proxy(target, {
      get(of, key) {
        calls.push(`${name} ${String(key)}`);
        return Reflect.get(of, key) as unknown;
      },
    });
    const data = { first: traced('first', { a: 1n, b: [1] }), get once() { return calls.push('once') && 4; }, stamp: { toJSON: (key: string) => calls.push(`stamp ${key}`) && 5 }, list: traced('list', [7]) };
    expect(serialize(data)).toBe('{"first":{"a":"1","b":[1]},"once":4,"stamp":5,"list":[7]}');
    const seen = new Set(calls);
    expect([...seen].filter((call) => !call.endsWith('toJSON'))).toEqual(['first a', 'first b', 'once', 'stamp stamp', 'list length', 'list 0']);
    for (const call of seen) expect(calls.filter((other) => other === call).length).toBeLessThanOrEqual(call.endsWith('toJSON') ? 3 : 2);
    expect(calls.filter((call) => call === 'stamp stamp')).toHaveLength(1);
  });

  it('gives toJSON its key, the array index as text', () => {
    const stamp = { toJSON: (key: unknown) => ({ key, type: typeof key }) };
    const data = [stamp, { name: stamp, 1: stamp }, 1n];
    expect(serialize(data)).toBe(oracle(data));
    expect(serialize(stamp)).toBe(JSON.stringify(stamp));
  });

  it('honours BigInt.prototype.toJSON, and then the data is plain', () => {
    const long = 'x'.repeat(10_001);
    Object.defineProperty(BigInt.prototype, 'toJSON', { configurable: true, value: function (this: bigint) { return Number(this); } });
    try {
      const data = [1n, Object(2n), long];
      expect(serialize(data)).toBe(JSON.stringify(data));
      expect(stringify(data)).toBe(JSON.stringify(data));
    } finally {
      delete (BigInt.prototype as { toJSON?: unknown }).toJSON;
    }
  });

  it('keeps to the length that was there at first', () => {
    const shrinks: unknown[] = [{ toJSON() { shrinks.length = 1; return 1; } }, 2, 3];
    expect(serialize(shrinks)).toBe('[1,null,null]');
  });

  it('converts overridden boxes as JSON.stringify does', () => {
    const boxes = [Object.assign(new Number(1), { valueOf: () => 7 }), Object.assign(new String('s'), { toString: () => 't' }), Object.assign(new Boolean(false), { valueOf: () => true })];
    expect(serialize(boxes)).toBe(JSON.stringify(boxes));
    const wrong = Object.assign(new Number(1), { valueOf: () => 1n });
    expect(() => serialize(wrong)).toThrow(TypeError);
  });

  it('takes primitives out of the boxes that a toJSON gives', () => {
    const give = (value: unknown) => ({ toJSON: () => value });
    const data = [give(new Number(5)), give(new String('s')), give(new Boolean(false)), { in: give(new Number(-0)) }, give([new Number(6)]), give(Object(Symbol('s')))];
    expect(serialize(data)).toBe(JSON.stringify(data));
    expect(serialize([give(Object(7n))])).toBe('["7"]');
  });

  it('passes on what a getter, a toJSON or a proxy throws', () => {
    const failure = new Error('broken');
    const fail = () => { throw failure; };
    for (const data of [{ get a() { return fail(); } }, { toJSON: fail }, new Proxy({}, { ownKeys: fail }), [1n, { get a() { return fail(); } }]]) {
      expect(() => serialize(data)).toThrow(failure);
      expect(() => stringify(data)).toThrow(failure);
    }
    const revoked = Proxy.revocable([], {});
    revoked.revoke();
    expect(() => stringify([revoked.proxy])).toThrow(TypeError);
  });

  it('writes a boxed symbol as an object', () => {
    expect(serialize([Object(Symbol('s'))])).toBe('[{}]');
  });

  it('writes null for what has no JSON form', () => {
    for (const data of [undefined, () => 1, Symbol('s'), { toJSON: () => undefined }]) {
      expect(serialize(data)).toBe('null');
      expect(stringify(data)).toBe('null');
    }
  });
});
