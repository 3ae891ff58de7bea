import fc from 'fast-check';
import { configure } from 'safe-stable-stringify';
import { stringify } from '../lib/xjson/serializer';
import { expectSame } from './support/expect-same';
import { Running } from './support/running';
import { runs } from './support/runs';
import { ask } from './support/wire';
import { serialize } from './support/xjson-text';
import { bigData, cyclicData, expected, plainData, text } from './support/xjson-values';

const running = new Running();

afterEach(() => running.close());

const STABLE = { stable: true };

const key = fc.oneof(fc.constantFrom('a', 'b', 'B', '10', '2', '0', '__proto__', 'constructor', 'toString', 'é', '😀', ''), text);
const leaf = fc.oneof(text, fc.integer(), fc.double(), fc.boolean(), fc.constant(null));

/** Data of own names alone, some of it large. */
function tree(leaves: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      leaves,
      fc.array(tie('node'), { maxLength: 5 }),
      fc.uniqueArray(fc.tuple(key, tie('node')), { maxLength: 6, selector: ([name]) => name }).map(owning),
      fc.tuple(tie('node'), fc.integer({ min: 18, max: 25 })).map(([value, times]) => owning(Array.from({ length: times }, (_, i) => [`k${i}`, value]))),
    ),
  })).node;
}

function owning(entries: readonly (readonly [string, unknown])[]): object {
  const made = {};
  for (const [name, value] of entries) Object.defineProperty(made, name, { value, enumerable: true, writable: true, configurable: true });
  return made;
}

/** The same data, its names in another order all the way down: the next number says which comes next. */
function shuffled(data: unknown, next: () => number): unknown {
  if (typeof data !== 'object' || data === null) return data;
  if (Array.isArray(data)) return data.map((value) => shuffled(value, next));
  const left = Object.entries(data);
  const entries: [string, unknown][] = [];
  while (left.length > 0) {
    const [name, value] = left.splice(next() % left.length, 1)[0] as [string, unknown];
    entries.push([name, shuffled(value, next)]);
  }
  return owning(entries);
}

const order = fc.array(fc.nat(), { minLength: 10, maxLength: 10 }).map((numbers) => {
  let at = 0;
  return () => numbers[at++ % numbers.length] as number;
});

/** Every way there is. */
function all(data: unknown, piece: number, options: object = {}): string[] {
  const given = { ...STABLE, ...options };
  return [serialize(data, given), serialize(data, given, piece), stringify(data, given)];
}

const piece = fc.integer({ min: 1, max: 200 });

describe('stable: true', () => {
  it('gives equal bytes for equal data, whatever the order of its names', () => {
    fc.assert(
      fc.property(tree(fc.oneof(leaf, fc.bigInt())), order, piece, (data, next, size) => {
        const texts = [...all(data, size), ...all(shuffled(data, next), size)];
        expect(new Set(texts).size).toBe(1);
        expect(JSON.parse(texts[0] as string)).toEqual(JSON.parse(stringify(data)));
      }),
      { numRuns: runs(40) },
    );
  });

  it('is what safe-stable-stringify makes of data that JSON.stringify handles', () => {
    const peer = configure({ deterministic: true });
    fc.assert(
      fc.property(tree(leaf), piece, (data, size) => {
        const written = peer(data) as string;
        for (const made of all(data, size)) expectSame(made, written);
      }),
      { numRuns: runs(40) },
    );
  });

  it('is what it makes of BigInts and cycles, within the limits', () => {
    const peer = configure({ deterministic: true, bigint: 'string', circularValue: '[Circular]', maximumDepth: 6 } as never);
    fc.assert(
      fc.property(tree(fc.oneof(leaf, fc.bigInt())), fc.array(fc.nat(50), { maxLength: 3 }), piece, (data, links, size) => {
        const root: Record<string, unknown> = { z: data, big: 1n };
        const containers: object[] = [root];
        for (const container of containers) for (const value of Object.values(container) as unknown[]) if (typeof value === 'object' && value !== null && !containers.includes(value)) containers.push(value);
        // Written into the data, for the link to stand in the order of its names.
        for (const to of links) Object.defineProperty(containers[to % containers.length], '5', { value: containers[(to * 7) % containers.length], enumerable: true, configurable: true, writable: true });
        const written = peer(root) as string;
        fc.pre(written.length < 500_000);
        for (const made of all(root, size, { maxDepth: 6 })) expectSame(made, written);
      }),
      { numRuns: runs(40) },
    );
  });

  it('changes nothing but the order of names', () => {
    const sorted = (json: string): unknown => JSON.parse(json);
    fc.assert(
      fc.property(fc.oneof(plainData, bigData, cyclicData), piece, (data, size) => {
        const made = all(data, size);
        expect(new Set(made).size).toBe(1);
        const plain = expected(data);
        expect(sorted(made[0] as string)).toEqual(sorted(plain));
        expectSame((made[0] as string).length, plain.length);
      }),
      { numRuns: runs(100) },
    );
  });
});

describe('data that JSON.stringify handles', () => {
  const nested = (levels: number): unknown => {
    let data: unknown = 1;
    for (let i = 0; i < levels; i++) data = i % 2 === 0 ? [data] : { a: data };
    return data;
  };

  it.each<[string, unknown]>([
    ['a string over 10,000', { a: 'x'.repeat(1_000_000) }],
    ['a name over 10,000', { ['n'.repeat(20_000)]: 1 }],
    ['depth over 20', nested(30)],
    ['depth over 400', nested(1000)],
    ['depth of thousands', nested(4000)],
    ['many rows', Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row ${id}` }))],
    ['many names', Object.fromEntries(Array.from({ length: 20_000 }, (_, id) => [`n${String(id).padStart(5, '0')}`, { a: id }]))],
  ])('loses no character: %s', (_name, data) => {
    for (const made of all(data, 50)) expect(made).toBe(JSON.stringify(data));
  });

  it('is cut where limits are given, and where a BigInt puts the defaults in force', () => {
    const data = { b: 'x'.repeat(20_000), a: nested(30) };
    for (const made of all(data, 3, { truncateStrings: 3, maxDepth: 2 })) expect(made).toBe('{"a":{"a":"[Array]"},"b":"xx…"}');
    for (const made of all({ ...data, B: 1n }, 3)) expect(made).toBe(`{"B":"1","a":${JSON.stringify((JSON.parse(expected({ ...data, B: 1n })) as { a: unknown }).a)},"b":"${'x'.repeat(9999)}…"}`);
  });
});

describe('work on large data', () => {
  it('is cut into pieces', () => {
    const data = Array.from({ length: 20_000 }, (_, id) => ({ name: `row ${id}`, id: BigInt(id) }));
    const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
    try {
      serialize(data, STABLE);
      expect(clock.mock.calls.length).toBeGreaterThan(10);
    } finally {
      clock.mockRestore();
    }
  });
});

describe('res.xJson', () => {
  it('sends the same bytes for the same data, small and large', async () => {
    const rows = (turn: boolean): unknown => {
      const row = (id: number): object => (turn ? { id: BigInt(id), at: { x: 1, y: 2 } } : { at: { y: 2, x: 1 }, id: BigInt(id) });
      const list = Array.from({ length: 20_000 }, (_, id) => row(id));
      return turn ? { list, first: row(0) } : { first: row(0), list };
    };
    const port = await running.app((app) => {
      app.get('/small/:turn', (req, res) => res.xJson(req.params['turn'] === '1' ? { b: 1n, a: [2] } : { a: [2], b: 1n }, STABLE));
      app.get('/large/:turn', (req, res) => res.xJson(rows(req.params['turn'] === '1'), STABLE));
    });
    const [one, two] = [await ask(port, '/small/1'), await ask(port, '/small/2')];
    expect(one.body).toBe('{"a":[2],"b":"1"}');
    expect(two.body).toBe(one.body);
    const [long, same] = [await ask(port, '/large/1'), await ask(port, '/large/2')];
    expect(long.headers['content-length']).toBe(String(long.bytes.length));
    expect(long.body.slice(0, 60)).toBe('{"first":{"at":{"x":1,"y":2},"id":"0"},"list":[{"at":{"x":1,');
    expect(same.bytes.equals(long.bytes)).toBe(true);
  });
});
