import { randomUUID } from 'node:crypto';
import { createClient, createCluster } from 'redis';
import { RedisReplayStore, signRequest } from 'waypost';
import { ChildProgram } from '../support/child-program';
import { type Answer, ask } from '../support/wire';
import { RedisServer } from './redis-server';

const SECRET = 'correct horse battery staple 0123456789';
const INVALID = { error: 'Invalid signature', message: 'Request signature verification failed' };
const UNAVAILABLE = { error: 'Service Unavailable', message: 'The request signature could not be checked' };

let redis: RedisServer;

beforeAll(async () => {
  redis = await RedisServer.start();
});

afterAll(() => redis.close());

describe('two processes that share one Redis', () => {
  let programs: ChildProgram[] = [];

  beforeAll(async () => {
    const environment = { NODE_OPTIONS: '--require ts-node/register', TS_NODE_TRANSPILE_ONLY: '1', REDIS_SOCKET: redis.socket, SECRET };
    programs = await Promise.all([1, 2].map(() => ChildProgram.serve('spec/redis/program.ts', environment)));
    // Each compiles the library first.
  }, 120_000);

  afterAll(async () => {
    redis.thaw();
    for (const program of programs) await program.stop();
  });

  /** A signed request of its own, to be sent to the programs in turn. */
  function signed(): (index: number) => Promise<Answer> {
    const body = JSON.stringify({ payment: randomUUID() });
    const headers = { ...signRequest({ secret: SECRET, method: 'POST', url: '/pay', body }), 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    return (index) => ask(programs[index % programs.length]!.port, '/pay', { method: 'POST', headers, body });
  }

  function both(path: string): Promise<unknown[]> {
    return Promise.all(programs.map(async ({ port }) => (await ask(port, path)).json));
  }

  async function runs(): Promise<number> {
    return (await both('/runs') as number[]).reduce((sum, each) => sum + each, 0);
  }

  test('let one of 200 parallel replays through', async () => {
    for (let round = 0; round < 3; round++) {
      const before = await runs();
      const send = signed();
      const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => send(index)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(199).fill(401)]);
      for (const { json } of answers.filter(({ status }) => status === 401)) expect(json).toEqual(INVALID);
      expect(await runs()).toBe(before + 1);
    }
  });

  test('let 200 signatures through that differ', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => signed()(index)));
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(200).fill(200));
  });

  test('answer 503 while Redis does not answer, and serve again when it does', async () => {
    const before = await runs();
    const [used, fresh] = [signed(), signed()];
    expect((await used(0)).status).toBe(200);
    redis.freeze();
    const answers = await Promise.all([used(0), used(1), fresh(0), fresh(1)]);
    expect(answers.map(({ status, json }) => [status, json])).toEqual(Array<unknown>(4).fill([503, UNAVAILABLE]));
    expect(await runs()).toBe(before + 1);
    redis.thaw();
    expect([(await used(0)).status, (await used(1)).status]).toEqual([401, 401]);
    expect((await signed()(0)).status).toBe(200);
    expect(await runs()).toBe(before + 2);
  });

  test('answer 503 while Redis is gone, and let no used signature through when it is back', async () => {
    const before = await runs();
    const [used, fresh] = [signed(), signed()];
    expect((await used(0)).status).toBe(200);
    await redis.kill();
    for (const send of [used, fresh]) {
      for (const { status, json } of await Promise.all(Array.from({ length: 20 }, (_, index) => send(index)))) expect([status, json]).toEqual([503, UNAVAILABLE]);
    }
    expect(await runs()).toBe(before + 1);
    await redis.start();
    await both('/connected');
    expect([(await used(0)).status, (await used(1)).status]).toEqual([401, 401]);
    expect((await signed()(0)).status).toBe(200);
    expect((await signed()(1)).status).toBe(200);
    expect(await runs()).toBe(before + 3);
  });
});

describe('RedisReplayStore', () => {
  const client = () => createClient({ socket: { path: redis.socket, tls: false } }).on('error', () => undefined);

  test('remembers a signature for the time that is left, by a key of its own', async () => {
    const connected = await client().connect();
    const [left, digest] = [60_000, randomUUID()];
    expect(await new RedisReplayStore(connected).claim(digest, Date.now() + left)).toBe(true);
    expect(await new RedisReplayStore(connected).claim(digest, Date.now() + left)).toBe(false);
    expect(await connected.get(`waypost:replay:${digest}`)).toBe('1');
    const kept = await connected.pTTL(`waypost:replay:${digest}`);
    expect(kept).toBeLessThanOrEqual(left);
    expect(kept).toBeGreaterThan(left - 30_000);
    expect(await new RedisReplayStore(connected, { prefix: 'another:' }).claim(digest, Date.now() + left)).toBe(true);
    connected.destroy();
  });

  test('lets a signature be forgotten when it has expired', async () => {
    const connected = await client().connect();
    const watcher = await client().connect();
    await connected.configSet('notify-keyspace-events', 'Ex');
    const digest = randomUUID();
    const expired = new Promise<void>((resolve) => void watcher.pSubscribe('__keyevent@*__:expired', (key) => {
      if (key === `waypost:replay:${digest}`) resolve();
    }));
    await watcher.ping();
    const expires = Date.now() + 200;
    const store = new RedisReplayStore(connected);
    expect(await store.claim(digest, expires)).toBe(true);
    await expired;
    expect(Date.now()).toBeGreaterThanOrEqual(expires);
    expect(await store.claim(digest, Date.now() + 60_000)).toBe(true);
    connected.destroy();
    watcher.destroy();
  });

  test('rejects what Redis answers by an error, such as to a user who may only read', async () => {
    const connected = await client().connect();
    await connected.aclSetUser('reader', ['on', '>password', '~*', '+@read']);
    const reader = await createClient({ username: 'reader', password: 'password', socket: { path: redis.socket, tls: false } }).connect();
    await expect(new RedisReplayStore(reader).claim(randomUUID(), Date.now() + 60_000)).rejects.toThrow('NOPERM');
    connected.destroy();
    reader.destroy();
  });

  test('rejects at once with a client that was never connected, or is closed', async () => {
    const idle = client();
    await expect(new RedisReplayStore(idle).claim(randomUUID(), Date.now() + 60_000)).rejects.toThrow('not connected');
    const closed = await client().connect();
    await closed.close();
    await expect(new RedisReplayStore(closed).claim(randomUUID(), Date.now() + 60_000)).rejects.toThrow('not connected');
  });

  test('takes the clients of the redis package as they are typed', () => {
    expect(new RedisReplayStore(createClient())).toBeInstanceOf(RedisReplayStore);
    expect(new RedisReplayStore(createCluster({ rootNodes: [{}] }))).toBeInstanceOf(RedisReplayStore);
  });
});
