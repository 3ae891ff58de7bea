import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type Application, createServer, type CreateServerOptions, MemoryReplayStore, type ReplayStore, signRequest } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { type Answer, ask, head, Wire } from './support/wire';

const SECRET = 'correct horse battery staple 0123456789';
const INVALID = { error: 'Invalid signature', message: 'Request signature verification failed' };
const UNAVAILABLE = { error: 'Service Unavailable', message: 'The request signature could not be checked' };

const running = new Running();
let runs = 0;

beforeEach(() => {
  runs = 0;
});

afterEach(() => running.close());

const count = (app: Application): void => {
  app.use((_req, _res, next) => {
    runs += 1;
    next();
  });
  app.all(['/', '/**'] as string[], (_req, res) => res.json({ ok: true }));
};

function single(store: ReplayStore, options: CreateServerOptions = {}): CreateServerOptions {
  return { ...options, security: { requestSignature: { secret: SECRET, replay: { store } } } };
}

/** Claims what that function answers. */
function storeOf(claim: (digest: string, expires: number) => unknown): ReplayStore {
  return { claim: claim as ReplayStore['claim'] };
}

function headersOf(method: string, url: string, body = '', timestamp = Date.now()): Record<string, string> {
  return { ...signRequest({ secret: SECRET, method, url, body, timestamp }), ...(body !== '' && { 'Content-Length': String(Buffer.byteLength(body)) }) };
}

function statuses(answers: readonly Answer[]): number[] {
  return answers.map(({ status }) => status).sort();
}

describe('with a replay store, a signature', () => {
  test('passes once of 50 at the same time, and the others are answered as invalid', async () => {
    const port = await running.app(count, single(new MemoryReplayStore()));
    const body = '{"amount":1}';
    const headers = { ...headersOf('POST', '/pay?to=1', body), 'Content-Type': 'application/json' };
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask(port, '/pay?to=1', { method: 'POST', headers, body })));
    expect(statuses(answers)).toEqual([200, ...Array<number>(49).fill(401)]);
    for (const { json } of answers.filter(({ status }) => status === 401)) expect(json).toEqual(INVALID);
    expect(runs).toBe(1);
  });

  test('passes once when they are sent down one connection', async () => {
    const port = await running.app(count, single(new MemoryReplayStore()));
    const now = Date.now();
    const request = head('GET /a', headersOf('GET', '/a', '', now));
    const last = head('GET /a', { ...headersOf('GET', '/a', '', now - 1), Connection: 'close' });
    const text = await Wire.tell(port, request.repeat(5) + last);
    expect(text.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 200', ...Array<string>(4).fill('HTTP/1.1 401'), 'HTTP/1.1 200']);
    expect(runs).toBe(2);
  });

  test('passes once of all requests that it stands for', async () => {
    const port = await running.app(count, single(new MemoryReplayStore()));
    const timestamp = Date.now();
    // Nothing separates URL and body in the signed text, so this signature is that of all of them.
    const signed = '/pay?to=12345';
    const headers = { 'Svc-Request-Sig': createHmac('sha256', SECRET).update(`POST${signed}${timestamp}`).digest('hex'), 'X-Timestamp': String(timestamp) };
    const shifted = (at: number): Promise<Answer> => ask(port, signed.slice(0, at), { method: 'POST', headers: { ...headers, 'Content-Length': String(signed.length - at) }, body: signed.slice(at) });
    const cuts = Array.from({ length: signed.length - 1 }, (_, i) => i + 1);
    const alone = await running.app(count, { security: { requestSignature: { secret: SECRET } } });
    const without = await Promise.all(cuts.map((at) => ask(alone, signed.slice(0, at), { method: 'POST', headers: { ...headers, 'Content-Length': String(signed.length - at) }, body: signed.slice(at) })));
    expect(statuses(without)).toEqual(cuts.map(() => 200));
    runs = 0;
    expect(statuses(await Promise.all(cuts.map(shifted)))).toEqual([200, ...cuts.slice(1).map(() => 401)]);
    expect(runs).toBe(1);
  });

  test('passes once however method, headers and connection are written', async () => {
    const port = await running.app(count, single(new MemoryReplayStore()));
    const headers = headersOf('GET', '/a');
    expect((await ask(port, '/a', { headers })).status).toBe(200);
    const upper = { 'SVC-REQUEST-SIG': headers['Svc-Request-Sig'] as string, 'x-timestamp': headers['X-Timestamp'] as string };
    expect((await ask(port, '/a', { headers: upper })).json).toEqual(INVALID);
    expect((await ask(port, '/a', { headers: { ...headers, Cookie: 'a=b', 'X-Other': '1' } })).json).toEqual(INVALID);
    const padded = await Wire.tell(port, `GET /a HTTP/1.1\r\nHost: b\r\nSvc-Request-Sig: \t ${headers['Svc-Request-Sig']} \t\r\nX-Timestamp:${headers['X-Timestamp']}\r\nConnection: close\r\n\r\n`);
    expect(padded).toMatch(/^HTTP\/1\.1 401 /);
    const mangled = { ...headers, 'Svc-Request-Sig': (headers['Svc-Request-Sig'] as string).toUpperCase() };
    expect((await ask(port, '/a', { headers: mangled })).json).toEqual(INVALID);
    expect(runs).toBe(1);
  });

  test('is used up only by a request whose signature holds', async () => {
    const store = new MemoryReplayStore();
    const port = await running.app(count, single(store));
    const headers = headersOf('POST', '/a', 'x');
    expect((await ask(port, '/a', { method: 'POST', headers, body: 'y' })).status).toBe(401);
    expect((await ask(port, '/b', { method: 'POST', headers, body: 'x' })).status).toBe(401);
    expect((await ask(port, '/a', { method: 'POST', headers: { 'X-Timestamp': headers['X-Timestamp'] as string } })).status).toBe(401);
    expect(store.size).toBe(0);
    expect((await ask(port, '/a', { method: 'POST', headers, body: 'x' })).status).toBe(200);
  });

  test('is used up by a request that no route takes', async () => {
    const port = await running.app((app) => app.get('/a', (_req, res) => res.json(1)), single(new MemoryReplayStore()));
    const headers = headersOf('GET', '/none');
    expect((await ask(port, '/none', { headers })).status).toBe(404);
    expect((await ask(port, '/none', { headers })).status).toBe(401);
  });

  test('passes once of requests to upgrade', async () => {
    const store = new MemoryReplayStore();
    const app = createServer({ env: 'test', logging: { level: 'silent' }, ...single(store) });
    app.on('upgrade', (_req, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: close\r\n\r\n'));
    const port = await running.start(app);
    const request = head('GET /socket', { ...headersOf('GET', '/socket'), Connection: 'Upgrade', Upgrade: 'websocket' });
    const answers = await Promise.all(Array.from({ length: 10 }, () => Wire.tell(port, request)));
    expect(answers.map((text) => text.slice(9, 12)).sort()).toEqual(['101', ...Array<string>(9).fill('401')]);
  });

  test('is remembered until no server accepts it any more', async () => {
    const asked: [string, number][] = [];
    const store = storeOf((...given: [string, number]) => asked.push(given) > 0);
    const port = await running.app(count, { security: { requestSignature: { secret: SECRET, maxAge: 10_000, clockSkew: 2000, replay: { store } } } });
    const timestamp = Date.now() + 1000;
    const headers = headersOf('GET', '/a', '', timestamp);
    expect((await ask(port, '/a', { headers })).status).toBe(200);
    expect(asked.map(([digest]) => digest)).toEqual([headers['Svc-Request-Sig']]);
    expect(asked[0]?.[1]).toBeGreaterThanOrEqual(timestamp + 10_000);
  });

  test('without the option it passes as often as it is sent', async () => {
    const port = await running.app(count, { security: { requestSignature: { secret: SECRET } } });
    const headers = headersOf('GET', '/a');
    expect(statuses(await Promise.all([1, 2, 3].map(() => ask(port, '/a', { headers }))))).toEqual([200, 200, 200]);
  });
});

describe('a replay store', () => {
  test('may answer later, and the request waits for it', async () => {
    const memory = new MemoryReplayStore();
    const port = await running.app(count, single(storeOf(async (digest, expires) => {
      await new Promise(setImmediate);
      return memory.claim(digest, expires);
    })));
    const headers = headersOf('POST', '/a', 'body');
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask(port, '/a', { method: 'POST', headers, body: 'body' })));
    expect(statuses(answers)).toEqual([200, ...Array<number>(49).fill(401)]);
    expect(runs).toBe(1);
  });

  const failures: [string, (digest: string, expires: number) => unknown][] = [
    ['throws', () => { throw new Error('redis://user:password@host is down'); }],
    ['rejects', async () => Promise.reject(new Error('redis://user:password@host is down'))],
    ['rejects with nothing', async () => Promise.reject(undefined)],
    ['is full', (digest, expires) => {
      const store = new MemoryReplayStore({ maxEntries: 1 });
      store.claim('another', expires);
      return store.claim(digest, expires);
    }],
  ];

  test.each(failures)('that %s has the request answered by 503, without a word on why', async (_, claim) => {
    for (const env of ['production', 'development']) {
      const recorder = new LogRecorder();
      const port = await running.app(count, single(storeOf(claim), { env, logging: { logger: recorder } }));
      const answer = await ask(port, '/a', { headers: headersOf('GET', '/a') });
      expect([answer.status, answer.json]).toEqual([503, UNAVAILABLE]);
      expect(recorder.messages('error')).toEqual(['The request signature could not be checked']);
    }
    expect(runs).toBe(0);
  });

  test.each(failures)('that %s refuses upgrades by 503', async (_, claim) => {
    const app = createServer({ env: 'test', logging: { level: 'silent' }, ...single(storeOf(claim)) });
    app.on('upgrade', (_req, socket) => {
      runs += 1;
      socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
    });
    const port = await running.start(app);
    const text = await Wire.tell(port, head('GET /socket', { ...headersOf('GET', '/socket'), Connection: 'Upgrade', Upgrade: 'websocket' }));
    expect(text).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
    expect(text.endsWith(JSON.stringify(UNAVAILABLE))).toBe(true);
    expect(runs).toBe(0);
  });

  test.each([['nothing', undefined], ['a text', 'OK'], ['a number', 1], ['an object', {}], ['null', null], ['nothing after a while', Promise.resolve()]])(
    'that answers %s does not know, so it is 503 and a line in the log',
    async (_, answer) => {
      const recorder = new LogRecorder();
      const port = await running.app(count, single(storeOf(() => answer), { logging: { logger: recorder } }));
      const { status, json } = await ask(port, '/a', { headers: headersOf('GET', '/a') });
      expect([status, json]).toEqual([503, UNAVAILABLE]);
      expect(recorder.text).toContain('claim() must return true or false');
      expect(runs).toBe(0);
    },
  );

  test('may answer by a thenable that is no promise of this realm', async () => {
    const memory = new MemoryReplayStore();
    const store = storeOf((digest, expires) => ({ then: (resolve: (first: boolean) => void) => resolve(memory.claim(digest, expires)) }));
    const port = await running.app(count, single(store));
    const headers = headersOf('GET', '/a');
    expect(statuses(await Promise.all([1, 2, 3].map(() => ask(port, '/a', { headers }))))).toEqual([200, 401, 401]);
  });

  test('that an application shares with one mounted in it lets a request through both, once', async () => {
    const store = new MemoryReplayStore();
    const inner = createServer({ env: 'test', logging: { level: 'silent' }, ...single(store) });
    count(inner);
    const port = await running.app((app) => app.use('/inner', inner), single(store));
    const headers = headersOf('GET', '/inner/a');
    expect(statuses(await Promise.all([1, 2, 3].map(() => ask(port, '/inner/a', { headers }))))).toEqual([200, 401, 401]);
    expect(runs).toBe(1);
  });

  test('that answers later is asked once for a request that two applications lead into the scope at a time', async () => {
    const memory = new MemoryReplayStore();
    const store = storeOf(async (digest, expires) => {
      await new Promise(setImmediate);
      return memory.claim(digest, expires);
    });
    const [one, other] = [1, 2].map(() => {
      const inner = createServer({ env: 'test', logging: { level: 'silent' } });
      inner.use((req, _res, next) => { req.url = '/secret'; next(); });
      return inner;
    }) as [Application, Application];
    const port = await running.app((app) => {
      app.use(async (req, res, next) => {
        const handed = (inner: Application): Promise<void> => new Promise((resolve, reject) => {
          req.url = '/open';
          inner(req, res, (error) => (error === undefined ? resolve() : reject(error as Error)));
        });
        // While the check of one is pending, no call of next counts: the other does not come back.
        await Promise.race([handed(one), handed(other)]);
        next();
      });
      count(app);
    }, { security: { requestSignature: { secret: SECRET, replay: { store } }, routeConfig: { requestSignature: { includeRoutes: ['/secret'] } } } });
    const headers = headersOf('GET', '/open');
    expect(statuses(await Promise.all([1, 2, 3].map(() => ask(port, '/open', { headers }))))).toEqual([200, 401, 401]);
    expect(runs).toBe(1);
  });

  test('that never answers lets nothing through', async () => {
    let asked: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => (asked = resolve));
    const store = storeOf(() => {
      asked();
      return new Promise(() => undefined);
    });
    const port = await running.app(count, single(store));
    const wire = await Wire.open(port);
    wire.write(head('GET /a', headersOf('GET', '/a')));
    await waiting;
    await running.close();
    await wire.end;
    expect(wire.text).toBe('');
    expect(runs).toBe(0);
  });

  test('that answers when the client is gone fails nothing', async () => {
    let answer: (first: boolean) => void = () => undefined;
    let asked: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => (asked = resolve));
    const recorder = new LogRecorder();
    const store = storeOf(() => {
      asked();
      return new Promise((resolve) => (answer = resolve));
    });
    const app = createServer({ env: 'test', ...single(store, { logging: { logger: recorder } }) });
    count(app);
    const port = await running.start(app);
    const gone = once(app.server as Server, 'connection').then(([socket]: Socket[]) => once(socket as Socket, 'close'));
    const wire = await Wire.open(port);
    wire.write(head('GET /a', headersOf('GET', '/a')));
    await waiting;
    wire.reset();
    await gone.catch(() => undefined);
    answer(true);
    await running.close();
    expect(recorder.messages('error')).toEqual([]);
  });
});
