import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { Chunks } from '../lib/http/chunks';
import type { FailureReport } from '../lib/http/serialization-failure';
import { sendXJson } from '../lib/http/xjson-stream';
import { Serializer } from '../lib/xjson/serializer';
import { PlainServer } from './support/plain-server';
import { runs } from './support/runs';

/** The longest string that V8 makes on 64-bit machines with pointer compression off. */
const LONGEST_STRING = 536_870_888;

const report: FailureReport = { development: true, onError: (error) => { throw error; } };
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const server = new PlainServer();

beforeAll(() => server.start());
afterAll(() => server.close());

async function ask(method = 'GET'): Promise<IncomingMessage> {
  const sent = request({ port: server.port, host: '127.0.0.1', agent: false, method }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return answer;
}

describe('JSON longer than the longest string', () => {
  const data = Array.from({ length: 57 }, () => 'é'.repeat(5_000_000));
  const bytes = 57 * 10_000_002 + 58;

  it('is sent whole', async () => {
    expect(bytes).toBeGreaterThan(LONGEST_STRING);
    server.listener = (_req, res) => sendXJson(res, data, undefined, undefined, report);
    const answer = await ask();
    expect(answer.headers['content-length']).toBe(String(bytes));
    let received = 0;
    let wrong = 0;
    const row = Buffer.from(`"${'é'.repeat(5_000_000)}",`);
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      for (let i = 0; i < chunk.length; ) {
        const at = received + i - 1;
        const from = at < 0 ? 0 : at % row.length;
        const length = at < 0 ? 1 : Math.min(chunk.length - i, row.length - from);
        const isLast = received + i + length === bytes;
        const expected = at < 0 ? Buffer.from('[') : isLast ? Buffer.concat([row.subarray(from, from + length - 1), Buffer.from(']')]) : row.subarray(from, from + length);
        if (chunk.compare(expected, 0, length, i, i + length) !== 0) wrong++;
        i += length;
      }
      received += chunk.length;
    }
    expect(received).toBe(bytes);
    expect(wrong).toBe(0);
  }, 120_000);

  it('is measured for HEAD', async () => {
    // At length, longer than 32 bits can say.
    const times = runs(1) > 1 ? 8 : 1;
    server.listener = (_req, res) => sendXJson(res, Array.from({ length: times }, () => data), undefined, undefined, report);
    const answer = await ask('HEAD');
    expect(answer.headers['content-length']).toBe(String(times * (bytes + 1) + 1));
    answer.resume();
    await once(answer, 'end');
  }, 120_000);
});

describe('the work on large data', () => {
  /** The bytes of each slice, when a slice ends at the first look at the clock. */
  function slices(data: unknown): number[] {
    const sizes: number[] = [];
    let now = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => ++now);
    try {
      const out = new Chunks(false);
      const serializer = new Serializer(data, { maxDepth: 1e6, truncateStrings: 1e9 }, out);
      for (let before = 0, done = false; !done; before = out.length) {
        done = serializer.run(now + 1);
        sizes.push(out.length - before);
      }
    } finally {
      clock.mockRestore();
    }
    return sizes;
  }

  const shared = (levels: number): unknown => {
    let data: unknown = { leaf: 1 };
    for (let i = 0; i < levels; i++) data = [data, data];
    return data;
  };
  const deep = (levels: number): unknown => {
    let data: unknown = [];
    for (let i = 0; i < levels; i++) data = [data];
    return data;
  };
  const cases: [string, () => unknown, number][] = [
    ['many rows', () => Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row ${id}`, big: BigInt(id) })), 10],
    ['one long string', () => 'x'.repeat(20_000_000), 50],
    ['one long string that must be escaped', () => '"\n'.repeat(5_000_000), 20],
    ['subtrees that occur again and again', () => shared(17), 50],
    ['a small object that is shared by everything', () => Array.from({ length: 300_000 }, () => SMALL), 50],
    ['long arrays of nothing', () => new Array(1_000_000), 50],
    ['properties that are left out', () => Array.from({ length: 50_000 }, () => ({ a: undefined, b: undefined, c: undefined, d: undefined })), 20],
    ['great depth', () => deep(20_000), 30],
    ['BigInts everywhere', () => Array.from({ length: 200_000 }, (_, i) => BigInt(i)), 24],
    ['a large Buffer', () => Buffer.alloc(1_000_000), 100],
    ['a large typed array', () => new Float64Array(200_000), 100],
    ['a large typed array of BigInts', () => new BigUint64Array(150_000), 50],
    ['toJSON everywhere', () => Array.from({ length: 50_000 }, () => ({ toJSON: () => 1 })), 50],
  ];

  it.each(cases)('is cut into slices: %s', (_name, make, least) => {
    const sizes = slices(make());
    expect(sizes.length).toBeGreaterThanOrEqual(least);
    expect(sizes.reduce((most, size) => Math.max(most, size))).toBeLessThan(1_000_000);
  });

  it('does not copy a large Buffer or typed array at once: what changes later is seen', () => {
    const buffer = Buffer.alloc(100_000);
    const floats = new Float64Array(100_000);
    const out = new Chunks(true);
    const serializer = new Serializer([buffer, floats], {}, out);
    // One look at the clock, which is late already, and the rest at once.
    expect(serializer.run(-Infinity)).toBe(false);
    buffer[99_999] = 7;
    floats[99_999] = 7;
    expect(serializer.run(Infinity)).toBe(true);
    expect(out.take(out.length).toString()).toBe(JSON.stringify([buffer, floats]));
  });

  it('goes over no more than 4096 values between two looks at the clock', () => {
    let seen = 0;
    const most: number[] = [];
    const row = new Proxy({ a: 1, b: 'two', c: [3], d: 4n }, { get: (target, key) => { if (key !== 'toJSON') seen++; return Reflect.get(target, key) as unknown; } });
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => { most.push(seen); seen = 0; return 0; });
    try {
      new Serializer(Array.from({ length: 20_000 }, () => row), {}, new Chunks(false)).run(1);
    } finally {
      clock.mockRestore();
    }
    expect(most.length).toBeGreaterThan(20);
    expect(Math.max(...most)).toBeLessThanOrEqual(2 * 4096);
  });

  it('of several responses takes one slice a turn', async () => {
    const data = Array.from({ length: 150_000 }, (_, id) => ({ id, name: `row ${id}`, on: true }));
    let current = 0;
    let counting = true;
    const count = (): void => {
      current++;
      if (counting) setImmediate(count);
    };
    count();
    const turns: number[] = [];
    const { run } = Serializer.prototype;
    const spy = jest.spyOn(Serializer.prototype, 'run').mockImplementation(function (this: Serializer, until) {
      if (started.has(this)) turns.push(current);
      started.add(this);
      return run.call(this, until);
    });
    const started = new Set<Serializer>();
    server.listener = (_req, res) => sendXJson(res, data, undefined, undefined, report);
    try {
      const answers = await Promise.all(Array.from({ length: 5 }, () => ask()));
      const bodies = await Promise.all(answers.map(async (answer) => {
        const parts: Buffer[] = [];
        for await (const part of answer as AsyncIterable<Buffer>) parts.push(part);
        return Buffer.concat(parts).toString();
      }));
      expect(new Set(bodies)).toEqual(new Set([JSON.stringify(data)]));
    } finally {
      counting = false;
      spy.mockRestore();
    }
    expect(turns.length).toBeGreaterThan(5);
    expect(new Set(turns).size).toBe(turns.length);
    await turn();
  }, 60_000);

  it('lets other requests be answered meanwhile', async () => {
    const data = Array.from({ length: 200_000 }, (_, id) => ({ id, name: `row ${id}` }));
    const order: string[] = [];
    let small: Promise<void> = Promise.resolve();
    server.listener = (req, res) => {
      if (req.method === 'OPTIONS') return void res.end();
      sendXJson(res, data, undefined, undefined, report);
      small = ask('OPTIONS').then((answer) => { order.push('small'); answer.resume(); });
    };
    const large = await ask();
    order.push('large');
    large.resume();
    await once(large, 'end');
    await small;
    expect(order).toEqual(['small', 'large']);
  }, 60_000);
});

const SMALL = { a: 1, b: 'two' };
