import { XJsonResponseHandler } from '../lib/http/xjson-response';
import { checkXJsonOptions, mergeXJsonOptions, XJSON_DEFAULTS, type XJsonOptions } from '../lib/xjson/options';
import { stringify } from '../lib/xjson/serializer';
import { serialize } from './support/xjson-text';
import { oracle } from './support/xjson-values';

/** Both ways to the text must agree. */
function written(data: unknown, options?: XJsonOptions): string {
  const text = stringify(data, options);
  expect(serialize(data, options)).toBe(text);
  expect(XJsonResponseHandler.stringify(data, options)).toBe(text);
  return text;
}

function nested(levels: number, core: unknown = 1, wrap: (inner: unknown) => unknown = (inner) => [inner]): unknown {
  let data = core;
  for (let i = 0; i < levels; i++) data = wrap(data);
  return data;
}

const long = 'x'.repeat(20_000);
const cyclic = (): Record<string, unknown> => {
  const data: Record<string, unknown> = { name: 'loop' };
  data['self'] = data;
  return data;
};

describe('the default limits', () => {
  it('are those of the contract', () => {
    expect(XJSON_DEFAULTS).toEqual({ maxDepth: 20, truncateStrings: 10_000, includeNonEnumerable: false, enableStreaming: true, chunkSize: 65_536, stable: false });
  });

  it('take no character from data that JSON.stringify handles', () => {
    const data = { long, deep: nested(100), longer: long.repeat(10) };
    expect(written(data)).toBe(JSON.stringify(data));
    expect(written(data, {})).toBe(JSON.stringify(data));
    expect(written(data, { maxDepth: undefined, includeNonEnumerable: false })).toBe(JSON.stringify(data));
  });

  const safe = { maxDepth: 20, truncateStrings: 10_000 };
  it.each([
    ['a BigInt before what is cut', () => [1n, long, nested(30)]],
    ['a BigInt behind what is cut', () => [long, nested(30), 1n]],
    ['a boxed BigInt', () => [long, nested(30), Object(1n) as unknown]],
    ['a cycle before', () => [cyclic(), long, nested(30)]],
    ['a cycle behind', () => [long, nested(30), cyclic()]],
    ['a BigInt from a toJSON', () => [long, { toJSON: () => 1n }]],
    ['a BigInt of a typed array', () => [long, new BigInt64Array(2)]],
    ['a BigInt below what is cut', () => [long, nested(30, 1n)]],
  ])('guard the whole of data with %s', (_name, make) => {
    expect(written(make())).toBe(oracle(make(), safe));
  });

  it('leave strings of 10,000 units and containers of level 20', () => {
    expect(written([1n, 'y'.repeat(10_000)])).toBe(`["1","${'y'.repeat(10_000)}"]`);
    expect(written([1n, 'y'.repeat(10_001)])).toBe(`["1","${'y'.repeat(9999)}…"]`);
    expect(written({ big: 1n, deep: nested(19) })).toBe(`{"big":"1","deep":${JSON.stringify(nested(19))}}`);
    expect(written({ big: 1n, deep: nested(20) })).toBe(`{"big":"1","deep":${JSON.stringify(nested(19, '[Array]'))}}`);
    expect(written({ big: 1n, deep: nested(20, 1, (a) => ({ a })) })).toBe(`{"big":"1","deep":${JSON.stringify(nested(19, '[Object]', (a) => ({ a })))}}`);
  });

  it('cut no name and no digits', () => {
    const data = { ['k'.repeat(20_000)]: 10n ** 12_000n };
    expect(written(data)).toBe(`{"${'k'.repeat(20_000)}":"${10n ** 12_000n}"}`);
  });

  it('guard data too deep for JSON.stringify, which since Node 26 knows no depth', () => {
    for (const wrap of [(inner: unknown) => [inner], (a: unknown) => ({ a })]) {
      const data = nested(100_000, 1, wrap);
      expect(written(data)).toBe(JSON.stringify(nested(20, Array.isArray(data) ? '[Array]' : '[Object]', wrap)));
    }
  });

  it('take no character from ordinary data whose hidden properties are shown', () => {
    const options = { includeNonEnumerable: true };
    for (const data of [[long, nested(30)], nested(1000), Array.from({ length: 600 }, () => ({ long, deep: nested(25) }))]) {
      expect(written(data, options)).toBe(JSON.stringify(data));
    }
    const open = nested(30, Object.defineProperty({}, 'hidden', { value: long }));
    expect(written(open, options)).toBe(JSON.stringify(nested(30, { hidden: long })));
    expect(written([long, nested(30)], { ...options, truncateStrings: 5 })).toBe(JSON.stringify(['xxxx…', nested(30)]));
  });

  it('guard what includeNonEnumerable lays open that JSON.stringify can not write', () => {
    for (const hidden of [1n, cyclic()]) {
      const data = [long, nested(30), Object.defineProperty({}, 'hidden', { value: hidden })];
      expect(written(data, { includeNonEnumerable: true })).toBe(oracle([long, nested(30), { hidden }], safe));
    }
  });
});

describe('limits that are given', () => {
  it('apply to data that JSON.stringify handles', () => {
    expect(written({ a: [1], b: { c: 1 }, d: 'text' }, { maxDepth: 1, truncateStrings: 3 })).toBe('{"a":"[Array]","b":"[Object]","d":"te…"}');
    expect(written('text', { truncateStrings: 1 })).toBe('"…"');
    expect(written('text', { truncateStrings: 4 })).toBe('"text"');
    expect(written([[1], {}, []], { maxDepth: 1 })).toBe('["[Array]",{},[]]');
    expect(written(new Date(0), { truncateStrings: 5 })).toBe('"1970…"');
    expect(written(new String('boxed'), { truncateStrings: 3 })).toBe('"bo…"');
  });

  it('apply even when they equal the defaults', () => {
    expect(written(nested(30), { maxDepth: 20 })).toBe(JSON.stringify(nested(20, '[Array]')));
    expect(written(long, { truncateStrings: 10_000 })).toBe(`"${'x'.repeat(9999)}…"`);
  });

  it('apply one without the other', () => {
    const data = { long, deep: nested(30) };
    expect(written(data, { maxDepth: 3 })).toBe(oracle(data, { maxDepth: 3 }));
    expect(written(data, { truncateStrings: 3 })).toBe(oracle(data, { truncateStrings: 3 }));
    expect(written({ ...data, big: 1n }, { maxDepth: 3 })).toBe(oracle({ ...data, big: 1n }, { maxDepth: 3, truncateStrings: 10_000 }));
    expect(written({ ...data, big: 1n }, { truncateStrings: 3 })).toBe(oracle({ ...data, big: 1n }, { maxDepth: 20, truncateStrings: 3 }));
  });

  it('may be wider than the defaults', () => {
    const data = { long, deep: nested(30), big: 1n };
    expect(written(data, { maxDepth: 100, truncateStrings: 100_000 })).toBe(oracle(data));
  });

  it('let data 100,000 levels deep through without a stack overflow', () => {
    const textOf = (levels: number): string => `${'['.repeat(levels)}"1"${']'.repeat(levels)}`;
    expect(serialize(nested(100_000, 1n), { maxDepth: 1_000_000 })).toBe(textOf(100_000));
    // Beyond V8's stack too.
    expect(stringify(nested(20_000, 1n), { maxDepth: 1_000_000 })).toBe(textOf(20_000));
  });

  it('name a cycle as one even below the deepest level', () => {
    expect(written(cyclic(), { maxDepth: 1 })).toBe('{"name":"loop","self":"[Circular]"}');
  });

  it('find a cycle at any depth', () => {
    const root: unknown[] = [];
    root.push(nested(500, root));
    expect(written(root, { maxDepth: 1000 })).toBe(`${'['.repeat(501)}"[Circular]"${']'.repeat(501)}`);
    const twice = { shared: nested(60, {}) };
    expect(written([twice, twice, 1n], { maxDepth: 1000 })).toBe(JSON.stringify([twice, twice, '1']));
  });
});

describe('includeNonEnumerable', () => {
  const hidden = (value: unknown) => Object.defineProperty({ seen: 1 }, 'hidden', { value, enumerable: false });

  it('writes own properties that are not enumerable', () => {
    expect(written(hidden(2))).toBe('{"seen":1}');
    expect(written(hidden(2), { includeNonEnumerable: true })).toBe('{"seen":1,"hidden":2}');
    expect(written([hidden(1n)], { includeNonEnumerable: true })).toBe('[{"seen":1,"hidden":"1"}]');
    const error = JSON.parse(written(new RangeError('too far'), { includeNonEnumerable: true })) as Record<string, unknown>;
    expect(error['message']).toBe('too far');
  });

  it('leaves arrays, dates and boxes as they are', () => {
    const data = [[1], new Date(0), new String('s'), Buffer.from('b')];
    expect(written(data, { includeNonEnumerable: true })).toBe(JSON.stringify(data));
  });

  it('ends on a cycle that only it can see', () => {
    const data = hidden(null);
    Object.defineProperty(data, 'self', { value: data, enumerable: false });
    expect(written(data, { includeNonEnumerable: true })).toBe('{"seen":1,"hidden":null,"self":"[Circular]"}');
    class Node { constructor(readonly child?: Node) {} }
    expect(written(Node.prototype, { includeNonEnumerable: true })).toBe('{}');
  });
});

describe('wrong options', () => {
  it.each<[unknown, string]>([
    [{ maxDepth: -1 }, 'xJson option maxDepth must be a positive integer, got -1'],
    [{ maxDepth: 0 }, 'xJson option maxDepth must be a positive integer, got 0'],
    [{ maxDepth: '20' }, 'xJson option maxDepth must be a positive integer, got "20"'],
    [{ maxDepth: null }, 'xJson option maxDepth must be a positive integer, got null'],
    [{ truncateStrings: 1.5 }, 'xJson option truncateStrings must be a positive integer, got 1.5'],
    [{ truncateStrings: NaN }, 'xJson option truncateStrings must be a positive integer, got NaN'],
    [{ chunkSize: 0 }, 'xJson option chunkSize must be a positive integer, got 0'],
    [{ chunkSize: 10n }, 'xJson option chunkSize must be a positive integer, got 10n'],
    [{ chunkSize: {} }, 'xJson option chunkSize must be a positive integer, got an object'],
    [{ enableStreaming: 1 }, 'xJson option enableStreaming must be true or false, got 1'],
    [{ includeNonEnumerable: 'yes' }, 'xJson option includeNonEnumerable must be true or false, got "yes"'],
    [null, 'xJson options must be an object such as { maxDepth: 20 }, got null'],
    [[], 'xJson options must be an object such as { maxDepth: 20 }, got an array'],
    [20, 'xJson options must be an object such as { maxDepth: 20 }, got 20'],
  ])('%p throw a TypeError that says so', (options, message) => {
    const expected = new TypeError(message);
    expect(() => checkXJsonOptions(options)).toThrow(expected);
    expect(() => stringify(1, options as XJsonOptions)).toThrow(expected);
    expect(() => new XJsonResponseHandler(options as XJsonOptions)).toThrow(expected);
    expect(() => XJsonResponseHandler.createMiddleware(options as XJsonOptions)).toThrow(expected);
  });

  it('are not those left undefined, nor names of others', () => {
    expect(checkXJsonOptions({ maxDepth: undefined, other: 1 })).toEqual({ other: 1 });
  });
});

describe('options laid over options', () => {
  it('win where they are given', () => {
    expect(mergeXJsonOptions({ maxDepth: 1, chunkSize: 5 }, { maxDepth: 2, truncateStrings: undefined })).toMatchObject({ maxDepth: 2, chunkSize: 5 });
    expect(mergeXJsonOptions({ includeNonEnumerable: true }, { includeNonEnumerable: false })).toMatchObject({ includeNonEnumerable: false });
    expect(mergeXJsonOptions(undefined, { maxDepth: 2 })).toEqual({ maxDepth: 2 });
    expect(mergeXJsonOptions({ maxDepth: 2 }, undefined)).toEqual({ maxDepth: 2 });
    expect(mergeXJsonOptions(undefined, undefined)).toEqual({});
  });
});
