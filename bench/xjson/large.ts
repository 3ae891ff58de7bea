import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PerformanceObserver } from 'node:perf_hooks';
import { XJsonResponseHandler } from '../../lib/http/xjson-response';
import type { Sight } from './client';
import { rows } from './data';
import { line, median, percentile, ratio } from './figures';
import { bytesOf } from './serializers';

const SIZE = 38_000_000;
const MB = 1_048_576;

/** 38 MB: time, memory, and a server that stays awake. */
export async function compareLarge(): Promise<void> {
  for (const big of ['none', 'all'] as const) {
    const data = rows(SIZE, big);
    const plain = big === 'none' ? data : rows(SIZE, 'none');
    console.log(`\n${SIZE / 1e6} MB of rows${big === 'all' ? ', a BigInt in every row' : ''}`);
    line('response bytes against Buffer.from(JSON.stringify(x))', await ratio(collected(() => bytesOf(data)), collected(() => Buffer.from(JSON.stringify(plain))), 1, 5), big === 'none' ? 1.1 : 1.25);
    if (big === 'none') await watchLarge(data, Buffer.byteLength(JSON.stringify(data)));
  }
}

function collected(work: () => unknown): () => unknown {
  return () => {
    globalThis.gc?.();
    return work();
  };
}

async function watchLarge(data: unknown, body: number): Promise<void> {
  const seen = [];
  for (let i = 0; i < 3; i++) seen.push(await send(data));
  console.log('  sent to a client in a process of its own, which asks for something small all the while');
  line('peak memory above the loaded level, against the body', median(seen.map(({ above }) => above / body)), 1.5);
  line('longest gap of the event loop', median(seen.map(({ gap }) => gap)), 30, ' ms');
  line('the same less the garbage collection in it', median(seen.map(({ net }) => net)), 30, ' ms');
  const waits = seen.flatMap((one) => one.waits);
  line(`another request, 99th percentile of ${waits.length}`, percentile(waits, 0.99), 100, ' ms');
  line('another request, median', median(waits), undefined, ' ms');
  line('the large response, from request to last byte', median(seen.map(({ took }) => took)), undefined, ' ms');
}

interface Seen extends Sight {
  /** Bytes. */
  above: number;
  /** ms. */
  gap: number;
  net: number;
}

async function send(data: unknown): Promise<Seen> {
  const handler = new XJsonResponseHandler();
  const server = createServer((req, res) => handler.send(res, req.url === '/large' ? data : { ok: true })).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = fork(join(__dirname, 'client.ts'));
  const exited = once(client, 'exit');
  await once(client, 'spawn');
  await settle();
  const watch = new LoopWatch();
  client.send((server.address() as AddressInfo).port);
  const [sight] = (await once(client, 'message')) as [Sight];
  const { above, gap, net } = await watch.end();
  await exited;
  server.close();
  return { ...sight, above, gap, net };
}

/** Lets go of what the figure before has left: the memory of buffers is given back a while after they are collected. */
async function settle(): Promise<void> {
  for (let i = 0; i < 2; i++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Looks at the memory and the clock in every turn of the event loop. */
class LoopWatch {
  readonly #loaded = memory();
  readonly #gaps: { from: number; to: number }[] = [];
  readonly #collections: { from: number; to: number }[] = [];
  readonly #observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) this.#collections.push({ from: startTime, to: startTime + duration });
  });
  #peak = this.#loaded;
  #last = performance.now();
  #watching = true;

  constructor() {
    this.#observer.observe({ entryTypes: ['gc'] });
    this.#turn();
  }

  async end(): Promise<{ above: number; gap: number; net: number }> {
    this.#watching = false;
    // The observer hears of the last collections a turn later.
    await new Promise((resolve) => setTimeout(resolve, 50));
    this.#observer.disconnect();
    const net = this.#gaps.map(({ from, to }) => to - from - this.#collectedIn(from, to));
    return { above: this.#peak - this.#loaded, gap: Math.max(...this.#gaps.map(({ from, to }) => to - from)), net: Math.max(...net) };
  }

  readonly #turn = (): void => {
    const now = performance.now();
    if (now - this.#last > 5) this.#gaps.push({ from: this.#last, to: now });
    this.#last = now;
    this.#peak = Math.max(this.#peak, memory());
    if (this.#watching) setImmediate(this.#turn);
  };

  #collectedIn(from: number, to: number): number {
    let sum = 0;
    for (const one of this.#collections) sum += Math.max(0, Math.min(to, one.to) - Math.max(from, one.from));
    return sum;
  }
}

function memory(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Steps that cannot be cut: each is one call into V8. */
export function measureUncut(): void {
  console.log('\nsteps that no slice can cut, in ms');
  const once = (name: string, work: () => unknown): void => {
    globalThis.gc?.();
    const start = performance.now();
    work();
    line(name, performance.now() - start, undefined, ' ms');
  };
  for (const count of [100_000, 1_000_000]) {
    const table = Object.fromEntries(Array.from({ length: count }, (_, i) => [`id${i}`, i]));
    once(`Object.keys of an object with ${count.toLocaleString('en')} properties`, () => Object.keys(table));
  }
  let rope = '';
  for (let i = 0; i < 100 * 1024; i++) rope += 'x'.repeat(1024);
  once(`the first look into a string of ${rope.length / MB} MB that was joined of pieces`, () => rope.charCodeAt(0));
}
