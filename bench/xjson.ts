/**
 * Compares xJson with its peers in one run: `npx ts-node bench/xjson.ts [rounds]`.
 * Rounds alternate, and every figure is the median of pairwise ratios, so that
 * a busy machine slows both sides of each. Run it with `node --expose-gc -r
 * ts-node/register` for the memory figures.
 */
import { createServer, request, type Agent, Agent as HttpAgent, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { configure } from 'safe-stable-stringify';
import { Blocks } from '../lib/xjson/blocks';
import { XJsonResponseHandler } from '../lib/xjson/handler';
import { Serializer } from '../lib/xjson/serializer';
import { stringify } from '../lib/xjson/stringify';

const rounds = Number(process.argv[2] ?? 15);

type Row = Record<string, unknown>;

function row(id: number, big: boolean): Row {
  const balance = BigInt(id) * 1_000_000_007n;
  return {
    id,
    name: `User number ${id}`,
    email: `user${id}@example.com`,
    active: id % 2 === 0,
    score: id * 1.5,
    balance: big ? balance : String(balance),
    tags: ['alpha', 'beta', 'gamma'],
    address: { city: 'Zürich', zip: '8000' },
    created: '2024-01-01T00:00:00.000Z',
  };
}

/** Rows whose JSON is about that long; BigInts in all rows, in the last one or in none. */
function rows(bytes: number, big: 'all' | 'last' | 'none'): Row[] {
  const made: Row[] = [];
  for (let length = 0; length < bytes; ) {
    // Parsed, as from a database driver: strings that were joined a moment ago are slower to read.
    const plain = JSON.parse(JSON.stringify(row(made.length, false))) as Row;
    length += JSON.stringify(plain).length + 1;
    if (big === 'all') plain['balance'] = BigInt(plain['balance'] as string);
    made.push(plain);
  }
  const last = made[made.length - 1];
  if (big === 'last' && last !== undefined) last['balance'] = BigInt(last['balance'] as string);
  return made;
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] as number;
}

const line = (name: string, figure: number | string, goal = '') =>
  console.log(`${name.padEnd(62)} ${typeof figure === 'number' ? figure.toFixed(2).padStart(7) : figure.padStart(7)}${goal === '' ? '' : `   goal ${goal}`}`);

function time(work: () => unknown, times: number): number {
  const start = process.hrtime.bigint();
  for (let i = 0; i < times; i++) work();
  return Number(process.hrtime.bigint() - start) / times;
}

/** The median of the ratios of the two times, taken in turn. */
function ratio(work: () => unknown, against: () => unknown, times: number): number {
  time(work, times * 3);
  time(against, times * 3);
  const ratios: number[] = [];
  for (let i = 0; i < rounds; i++) ratios.push(i % 2 === 0 ? time(work, times) / time(against, times) : 1 / (time(against, times) / time(work, times)));
  return median(ratios);
}

/** The bytes of a response, as the serializer makes them. */
function bytesOf(data: unknown): number {
  const out = new Blocks(true);
  new Serializer(data, {}, out).run(Infinity);
  const { length } = out;
  if (length <= 65_536) out.whole();
  return length;
}

function optional(name: string): Record<string, unknown> | undefined {
  try {
    return require(name) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

const replacer = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value);

function peers(): [string, (data: unknown) => unknown][] {
  const found: [string, (data: unknown) => unknown][] = [
    ['JSON.stringify with a replacer', (data) => JSON.stringify(data, replacer)],
    ['safe-stable-stringify', configure({ bigint: 'string', deterministic: false, circularValue: '[Circular]' } as never) as (data: unknown) => unknown],
  ];
  const jsonBigInt = optional('json-bigint');
  if (jsonBigInt !== undefined) found.push(['json-bigint', jsonBigInt['stringify'] as (data: unknown) => unknown]);
  const jsonExt = optional('@discoveryjs/json-ext');
  if (jsonExt !== undefined) {
    const chunked = jsonExt['stringifyChunked'] as (data: unknown, replacer: unknown) => Iterable<string>;
    found.push(['@discoveryjs/json-ext', (data) => [...chunked(data, replacer)].join('')]);
  }
  return found;
}

function compareSerializers(): void {
  for (const [size, times] of [[1000, 3000], [10_000, 400], [1_000_000, 4]] as const) {
    const plain = rows(size, 'none');
    const big = rows(size, 'all');
    const last = rows(size, 'last');
    const native = () => JSON.stringify(plain);
    const nativeBytes = () => Buffer.from(JSON.stringify(plain));
    console.log(`\n${size.toLocaleString('en')} bytes of rows, time against JSON.stringify of the same without BigInts`);
    line('stringify', ratio(() => stringify(plain), native, times), size === 1_000_000 ? '1.05' : '1.20');
    line('stringify, a BigInt in every row', ratio(() => stringify(big), native, times), size === 1000 ? '1.80' : '1.60');
    line('stringify, a BigInt in the last row', ratio(() => stringify(last), native, times), '2.70');
    for (const [name, peer] of peers()) {
      line(name, ratio(() => peer(plain), native, times));
      line(`${name}, a BigInt in every row`, ratio(() => peer(big), native, times));
    }
    console.log(`bytes of a response, time against Buffer.from(JSON.stringify(x))`);
    line('response bytes', ratio(() => bytesOf(plain), nativeBytes, times));
    line('response bytes, a BigInt in every row', ratio(() => bytesOf(big), nativeBytes, times));
    line('response bytes, a BigInt in the last row', ratio(() => bytesOf(last), nativeBytes, times));
  }
}

async function compareResponses(): Promise<void> {
  const handler = new XJsonResponseHandler();
  let respond: (res: ServerResponse) => void = (res) => res.end();
  const server = createServer((_req, res) => respond(res)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 });
  const { port } = server.address() as AddressInfo;
  const measure = async (work: (res: ServerResponse) => void, times: number): Promise<number> => {
    respond = work;
    const start = process.hrtime.bigint();
    for (let i = 0; i < times; i++) await ask(port, agent);
    return Number(process.hrtime.bigint() - start) / times;
  };
  console.log('\nwhole responses, client and all, time against res.end(JSON.stringify(x)) without BigInts');
  for (const [size, times] of [[1000, 400], [10_000, 300], [1_000_000, 12]] as const) {
    const plain = rows(size, 'none');
    const native = (res: ServerResponse): void => {
      res.setHeader('Content-Type', 'application/json');
      res.end(JSON.stringify(plain));
    };
    const cases: [string, Row[], string][] = [
      ['', plain, '1.05'],
      [', a BigInt in every row', rows(size, 'all'), size === 1000 ? '1.80' : '1.60'],
      [', a BigInt in the last row', rows(size, 'last'), '2.70'],
    ];
    for (const [name, data, goal] of cases) {
      const mine = (res: ServerResponse): void => handler.send(res, data);
      const ratios: number[] = [];
      await measure(mine, times);
      await measure(native, times);
      for (let i = 0; i < rounds; i++) {
        if (i % 2 === 0) ratios.push((await measure(mine, times)) / (await measure(native, times)));
        else ratios.push(1 / ((await measure(native, times)) / (await measure(mine, times))));
      }
      line(`${size.toLocaleString('en')} bytes${name}`, median(ratios), goal);
    }
  }
  agent.destroy();
  server.close();
}

function ask(port: number, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, agent }, (res) => {
      let bytes = 0;
      res.on('data', (chunk: Buffer) => { bytes += chunk.length; });
      res.on('end', () => resolve(bytes));
    });
    sent.on('error', reject);
    sent.end();
  });
}

const MB = 1_048_576;
const memory = (): number => { const { heapUsed, external } = process.memoryUsage(); return heapUsed + external; };

async function compareLarge(): Promise<void> {
  const data = rows(100_000_000, 'none');
  const body = Buffer.byteLength(JSON.stringify(data));
  console.log(`\n${(body / 1e6).toFixed(0)} MB of rows`);
  const ratios: number[] = [];
  for (let i = 0; i < 5; i++) {
    globalThis.gc?.();
    const mine = time(() => bytesOf(data), 1);
    globalThis.gc?.();
    ratios.push(mine / time(() => Buffer.from(JSON.stringify(data)), 1));
  }
  line('response bytes against Buffer.from(JSON.stringify(x))', median(ratios), '1.20');
  await sendLarge(data, body);
}

/** Sends it to a client that only counts, which runs in the same process: its gaps are ours too. */
async function sendLarge(data: unknown, body: number): Promise<void> {
  const handler = new XJsonResponseHandler();
  const server = createServer((_req, res) => handler.send(res, data)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  globalThis.gc?.();
  const loaded = memory();
  let peak = loaded;
  let collected = 0;
  const observer = new PerformanceObserver((list) => { for (const entry of list.getEntries()) collected = Math.max(collected, entry.duration); });
  observer.observe({ entryTypes: ['gc'] });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let longest = 0;
  let last = performance.now();
  let watching = true;
  const watch = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    peak = Math.max(peak, memory());
    if (watching) setImmediate(watch);
  };
  watch();
  await ask((server.address() as AddressInfo).port, new HttpAgent());
  watching = false;
  delay.disable();
  await new Promise((resolve) => setImmediate(resolve));
  observer.disconnect();
  server.close();
  line('peak memory above the loaded level, against the body', (peak - loaded) / body, '1.50');
  console.log(`  loaded ${(loaded / MB).toFixed(0)} MB, peak ${(peak / MB).toFixed(0)} MB`);
  line('longest gap of the event loop, ms', longest, '50 less GC');
  line('longest garbage collection in that time, ms', collected);
}

async function main(): Promise<void> {
  compareSerializers();
  await compareResponses();
  await compareLarge();
}

void main();
