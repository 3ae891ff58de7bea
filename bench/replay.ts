/**
 * Fills a memory store of replay protection, and prints bytes per entry and
 * time per claim, beside a plain Map of the same entries:
 * `node --expose-gc -r ts-node/register bench/replay.ts [entries]`.
 */
import { createHash } from 'node:crypto';
import { MemoryReplayStore } from '../lib/signature/replay/memory-replay-store';

const entries = Number(process.argv[2] ?? 1_000_000);
const LIFE = 330_000;

interface Claims {
  claim(digest: string, expires: number): boolean;
}

/** What a first idea of such a store is: never bounded, never swept. */
class MapStore implements Claims {
  readonly #expiries = new Map<string, number>();

  claim(digest: string, expires: number): boolean {
    if (this.#expiries.has(digest)) return false;
    this.#expiries.set(digest, expires);
    return true;
  }
}

function digest(index: number): string {
  return createHash('sha256').update(String(index)).digest('hex');
}

/** Heap and array buffers, in bytes. */
function memory(): number {
  for (let round = 0; round < 3; round++) globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const line = (name: string, figure: string): void => console.log(`  ${name.padEnd(58)} ${figure.padStart(12)}`);

/** Claims that many signatures, one every `step` ms; returns ns per claim, without the making of digests. */
function fill(store: Claims, from: number, count: number, step: number, clock: { now: number }): number {
  let total = 0;
  for (let index = from; index < from + count; index++) {
    const given = digest(index);
    clock.now += step;
    const start = process.hrtime.bigint();
    store.claim(given, clock.now + LIFE);
    total += Number(process.hrtime.bigint() - start);
  }
  return total / count;
}

function report(name: string, make: (clock: { now: number }) => Claims): Claims {
  const clock = { now: Date.now() };
  const before = memory();
  const resident = process.memoryUsage.rss();
  const store = make(clock);
  const taken = process.memoryUsage.rss() - resident;
  const each = fill(store, 0, entries, 0, clock);
  console.log(`\n${name}, ${entries.toLocaleString('en')} entries`);
  line('memory per entry, heap and array buffers', `${((memory() - before) / entries).toFixed(1)} bytes`);
  line('resident when it is made', `${(taken / 1e6).toFixed(1)} MB`);
  line('time of a claim', `${(each / 1000).toFixed(2)} µs`);
  return store;
}

/** As many claims again as in a server at its bound: each old entry has expired when a new one comes. */
function turnOver(): void {
  const clock = { now: Date.now() };
  const store = new MemoryReplayStore({ maxEntries: entries, now: () => clock.now });
  // A little under the bound, as what has expired is dropped some claims later.
  const step = (LIFE / entries) * 1.25;
  fill(store, 0, entries, step, clock);
  const each = fill(store, entries, 2 * entries, step, clock);
  console.log(`\nMemoryReplayStore at four fifths of its bound, ${(2 * entries).toLocaleString('en')} more claims`);
  line('held, live and expired', store.size.toLocaleString('en'));
  line('time of a claim', `${(each / 1000).toFixed(2)} µs`);
}

// Compiles what is measured, and grows the heap to what the making of digests takes.
for (const store of [new MemoryReplayStore(), new MapStore()]) fill(store, 0, 200_000, 0, { now: Date.now() });

// Each store is kept until all is measured, so that none is measured in the room that another left.
const kept = [
  report('MemoryReplayStore', (clock) => new MemoryReplayStore({ maxEntries: entries, now: () => clock.now })),
  report('Map of the digests', () => new MapStore()),
];
turnOver();
if (kept.length === 0) console.log(kept);
