import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { MemoryReplayStore, type RedisReplayClient, RedisReplayStore } from 'waypost';
import { ChildProgram, FROM_LIB } from './support/child-program';
import { read } from './support/document';
import { runs } from './support/runs';

const NOW = 1_700_000_000_000;

function digest(of: string | number): string {
  return createHash('sha256').update(String(of)).digest('hex');
}

/** A store of that size whose time is set by hand. */
function memory(maxEntries?: number): { store: MemoryReplayStore; clock: { now: number } } {
  const clock = { now: NOW };
  return { store: new MemoryReplayStore({ ...(maxEntries !== undefined && { maxEntries }), now: () => clock.now }), clock };
}

/** What a memory store is to answer: a plain Map that looks at every entry. */
class Reference {
  readonly #expiries = new Map<string, number>();

  constructor(readonly maxEntries: number) {}

  claim(digest: string, expires: number, now: number): boolean | 'full' {
    for (const [key, until] of this.#expiries) if (until < now) this.#expiries.delete(key);
    if (expires < now || this.#expiries.has(digest)) return false;
    if (this.#expiries.size >= this.maxEntries) return 'full';
    this.#expiries.set(digest, expires);
    return true;
  }
}

describe('MemoryReplayStore', () => {
  test('grants the first claim of a signature, and no other until it expires', () => {
    const { store, clock } = memory();
    expect(store.claim(digest(1), NOW + 1000)).toBe(true);
    expect(store.claim(digest(1), NOW + 1000)).toBe(false);
    expect(store.claim(digest(2), NOW + 1000)).toBe(true);
    clock.now = NOW + 1000;
    expect(store.claim(digest(1), NOW + 1000)).toBe(false);
    expect(store.claim(digest(1), NOW + 5000)).toBe(false);
    clock.now = NOW + 1001;
    expect(store.claim(digest(1), NOW + 5000)).toBe(true);
  });

  test('holds a signature that is granted anew once', () => {
    const { store, clock } = memory();
    for (let i = 0; i < 10; i++) {
      expect(store.claim(digest(1), clock.now)).toBe(true);
      expect(store.size).toBe(1);
      clock.now += 1;
    }
  });

  test('grants no claim of what has expired, or expires at no time', () => {
    const { store } = memory();
    for (const expires of [NOW - 1, 0, -1, NaN, -Infinity]) expect(store.claim(digest(1), expires)).toBe(false);
    expect(store.size).toBe(0);
    expect(store.claim(digest(1), NOW)).toBe(true);
  });

  test('tells any two texts apart, the long ones of sha512 too', () => {
    const { store } = memory();
    const long = createHash('sha512').update('1').digest('hex');
    const texts = [long, `${long.slice(0, 127)}x`, long.slice(0, 64), long.slice(0, 32), long.toUpperCase(), '', '0', 'é', 'e'];
    for (const text of texts) expect(store.claim(text, NOW + 1)).toBe(true);
    for (const text of texts) expect(store.claim(text, NOW + 1)).toBe(false);
  });

  test('answers as a Map would whose every entry is looked at', () => {
    const step = fc.record({ id: fc.nat(60), life: fc.integer({ min: -5, max: 60 }), wait: fc.nat(12) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.array(step, { maxLength: 300 }), (maxEntries, steps) => {
        const { store, clock } = memory(maxEntries);
        const reference = new Reference(maxEntries);
        for (const { id, life, wait } of steps) {
          clock.now += wait;
          const expires = clock.now + life;
          const expected = reference.claim(digest(id), expires, clock.now);
          if (expected === 'full') expect(() => store.claim(digest(id), expires)).toThrow('full');
          else expect(store.claim(digest(id), expires)).toBe(expected);
          expect(store.size).toBeLessThanOrEqual(maxEntries);
        }
      }),
      { numRuns: runs(60) },
    );
  });

  test('grants a signature once, however the clock is set', () => {
    const step = fc.record({ id: fc.nat(60), jump: fc.integer({ min: -80, max: 80 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const { store, clock } = memory(100);
        const granted = new Set<number>();
        for (const { id, jump } of steps) {
          clock.now += jump;
          // A signature's expiry follows from its timestamp, which is signed: it is always the same.
          if (!store.claim(digest(id), NOW + id)) continue;
          expect(granted.has(id)).toBe(false);
          granted.add(id);
        }
      }),
      { numRuns: runs(60) },
    );
  });

  test('grants new signatures after the clock was wrong for a while', () => {
    const { store, clock } = memory(2);
    store.claim(digest(1), NOW + 300);
    clock.now = NOW + 1e9;
    expect(store.claim(digest(2), clock.now + 300)).toBe(true);
    clock.now = NOW + 10;
    expect(store.claim(digest(1), NOW + 300)).toBe(false);
    expect(store.claim(digest(3), NOW + 310)).toBe(true);
  });

  test('refuses by an error when it is full, and forgets nothing for it', () => {
    const { store, clock } = memory(100);
    for (let i = 0; i < 100; i++) expect(store.claim(digest(i), NOW + 1000 + i)).toBe(true);
    expect(() => store.claim(digest('more'), NOW + 1000)).toThrow('The MemoryReplayStore is full: all of its 100 signatures');
    for (let i = 0; i < 100; i++) expect(store.claim(digest(i), NOW + 1000 + i)).toBe(false);
    expect(store.size).toBe(100);
    clock.now = NOW + 1001;
    expect(store.claim(digest('more'), NOW + 2000)).toBe(true);
    expect(() => store.claim(digest('and more'), NOW + 2000)).toThrow('full');
  });

  test('goes on for ever in its bound, when what has expired makes room', () => {
    const maxEntries = 10_000;
    const { store, clock } = memory(maxEntries);
    const life = 8_000;
    let granted = 0;
    let again = 0;
    for (let i = 0; i < 5 * maxEntries; i++) {
      clock.now += 1;
      granted += Number(store.claim(digest(i), clock.now + life));
      again += Number(i >= life && store.claim(digest(i - life), clock.now));
    }
    expect([granted, again]).toEqual([5 * maxEntries, 0]);
    expect(store.size).toBeLessThanOrEqual(maxEntries);
  });

  test('holds a signature in the bytes that the documents say', async () => {
    // In a process of its own, whose heap nothing else changes.
    const program = `
      const { createHash } = require('node:crypto');
      const { MemoryReplayStore } = require('./lib/signature/replay/memory-replay-store');
      const memory = () => {
        for (let round = 0; round < 3; round++) gc();
        const { heapUsed, arrayBuffers } = process.memoryUsage();
        return heapUsed + arrayBuffers;
      };
      const fill = (entries) => {
        const store = new MemoryReplayStore({ maxEntries: entries });
        const expires = Date.now() + 600_000;
        for (let i = 0; i < entries; i++) store.claim(createHash('sha256').update(String(i)).digest('hex'), expires);
        return store;
      };
      fill(1000);
      const before = memory();
      const store = fill(300_000);
      console.log(store.size, (memory() - before) / store.size);`;
    const { output, errors } = await ChildProgram.run(['--expose-gc', ...FROM_LIB, '-e', program]);
    expect(errors + output).toMatch(/^300000 [\d.]+\n$/m);
    const said = [/(\d+) bytes each/.exec(read('docs/signature-keys.md')), /(\d+) bytes each/.exec(read('lib/signature/replay/memory-replay-store.ts'))].map((match) => Number(match?.[1]));
    expect(said).toEqual([32, 32]);
    // Beside the store some hundred kilobytes of the heap come and go.
    const bytes = Number(output.split(' ')[1]);
    expect(bytes).toBeGreaterThan(32 * 0.75);
    expect(bytes).toBeLessThan(32 * 1.25);
  });

  test('drops what has expired a few at a time', () => {
    const { store, clock } = memory(1000);
    for (let i = 0; i < 1000; i++) store.claim(digest(i), NOW + 1);
    clock.now = NOW + 2;
    store.claim(digest('next'), NOW + 1000);
    expect(store.size).toBeGreaterThan(900);
    // A table of 1,334 slots, 8 looked at by each claim.
    for (let i = 0; i < 400; i++) store.claim(digest('next'), NOW + 1000);
    expect(store.size).toBe(1);
  });

  test('keeps nothing running', () => {
    const before = process.getActiveResourcesInfo();
    memory().store.claim(digest(1), NOW + 1000);
    expect(process.getActiveResourcesInfo()).toEqual(before);
  });

  test('takes the time of the system by default', () => {
    const store = new MemoryReplayStore();
    const now = jest.spyOn(Date, 'now').mockReturnValue(NOW);
    expect(store.claim(digest(1), NOW - 1)).toBe(false);
    expect(store.claim(digest(1), NOW)).toBe(true);
    now.mockRestore();
  });

  test('throws for a bound that is none', () => {
    for (const maxEntries of [0, -1, 1.5, NaN, Infinity, 50_000_001, '10' as never, null as never]) {
      expect(() => new MemoryReplayStore({ maxEntries })).toThrow(new RangeError(`MemoryReplayStore: maxEntries must be a whole number from 1 to 50000000, and was ${String(maxEntries)}`));
    }
  });
});

/** A client that answers what it is told to, and keeps what it was asked. */
class ScriptedClient implements RedisReplayClient {
  readonly isReady: boolean = true;
  readonly asked: [string, string, object][] = [];

  constructor(private readonly answer: () => unknown) {}

  set(key: string, value: string, options: object): Promise<unknown> {
    this.asked.push([key, value, options]);
    return this.answer() as Promise<unknown>;
  }
}

// What real clients and servers answer is held by spec/redis.
describe('RedisReplayStore', () => {
  test('asks by SET NX PX, with the time that is left in whole milliseconds', async () => {
    const now = jest.spyOn(Date, 'now').mockReturnValue(NOW);
    const client = new ScriptedClient(async () => 'OK');
    const store = new RedisReplayStore(client);
    await store.claim('ab', NOW + 1000);
    await new RedisReplayStore(client, { prefix: 'p:' }).claim('ab', NOW + 1.5);
    await store.claim('ab', NOW);
    expect(client.asked).toEqual([
      ['waypost:replay:ab', '1', { NX: true, PX: 1000 }],
      ['p:ab', '1', { NX: true, PX: 2 }],
      ['waypost:replay:ab', '1', { NX: true, PX: 1 }],
    ]);
    now.mockRestore();
  });

  test('grants for OK, refuses for null, and takes nothing else for an answer', async () => {
    const expires = Date.now() + 60_000;
    expect(await new RedisReplayStore(new ScriptedClient(async () => 'OK')).claim('ab', expires)).toBe(true);
    expect(await new RedisReplayStore(new ScriptedClient(async () => null)).claim('ab', expires)).toBe(false);
    for (const other of ['ok', 'QUEUED', '', Buffer.from('OK'), true, 1, undefined, {}]) {
      await expect(new RedisReplayStore(new ScriptedClient(async () => other)).claim('ab', expires)).rejects.toThrow(`a value of type ${typeof other}`);
      await expect(new RedisReplayStore(new ScriptedClient(() => other)).claim('ab', expires)).rejects.toThrow(`a value of type ${typeof other}`);
    }
  });

  test('grants no claim of what has expired, and does not ask for it', async () => {
    const client = new ScriptedClient(async () => 'OK');
    for (const expires of [Date.now() - 1, 0, NaN, -Infinity]) expect(await new RedisReplayStore(client).claim('ab', expires)).toBe(false);
    expect(client.asked).toEqual([]);
  });

  test('rejects when the client fails, or throws', async () => {
    const expires = Date.now() + 60_000;
    const failing = new ScriptedClient(async () => Promise.reject(new Error('the socket closed')));
    const throwing = new ScriptedClient(() => {
      throw new Error('the client is closed');
    });
    await expect(new RedisReplayStore(failing).claim('ab', expires)).rejects.toThrow('the socket closed');
    await expect(new RedisReplayStore(throwing).claim('ab', expires)).rejects.toThrow('the client is closed');
  });

  test('does not ask a client that is not connected', async () => {
    const client = Object.assign(new ScriptedClient(async () => 'OK'), { isReady: false });
    await expect(new RedisReplayStore(client).claim('ab', Date.now() + 60_000)).rejects.toThrow('is not connected');
    expect(client.asked).toEqual([]);
  });

  test('waits for an answer no longer than its timeout, and an answer after it changes nothing', async () => {
    let answer: (reply: string) => void = () => undefined;
    const late = new Promise((resolve) => (answer = resolve));
    const store = new RedisReplayStore(new ScriptedClient(() => late), { timeout: 5 });
    const claimed = store.claim('ab', Date.now() + 60_000);
    await expect(claimed).rejects.toThrow('Redis did not answer the RedisReplayStore within 5 ms');
    answer('OK');
    await late;
    await expect(claimed).rejects.toThrow('within 5 ms');
  });

  test('leaves no timer behind once it has an answer', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const expires = Date.now() + 60_000;
    let answer: (reply: string) => void = () => undefined;
    const claimed = new RedisReplayStore(new ScriptedClient(() => new Promise((resolve) => (answer = resolve)))).claim('ab', expires);
    expect(timers()).toBe(before + 1);
    answer('OK');
    expect(await claimed).toBe(true);
    await new RedisReplayStore(new ScriptedClient(() => undefined)).claim('ab', expires).catch(() => undefined);
    await new RedisReplayStore(new ScriptedClient(async () => Promise.reject(new Error('down')))).claim('ab', expires).catch(() => undefined);
    await new Promise(setImmediate);
    expect(timers()).toBe(before);
  });

  test('throws for what is no client, and for wrong options', () => {
    const client = new ScriptedClient(async () => 'OK');
    for (const given of [undefined, null, {}, 'redis://localhost', { set: true }]) {
      expect(() => new RedisReplayStore(given as never)).toThrow('the client must be one of the redis package');
    }
    expect(() => new RedisReplayStore(client, { prefix: 1 as never })).toThrow('prefix must be a string, and was number');
    for (const timeout of [0, -1, NaN, Infinity, 2 ** 31, '5' as never]) {
      expect(() => new RedisReplayStore(client, { timeout })).toThrow(`timeout must be milliseconds, more than 0 and at most 2147483647, and was ${String(timeout)}`);
    }
  });
});
