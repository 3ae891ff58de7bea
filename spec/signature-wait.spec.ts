import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { inject } from 'light-my-request';
import pino from 'pino';
import { createServer, type CreateServerOptions, MemoryReplayStore, type ReplayStore, type RequestSignatureConfig, type SecretLookup, signRequest } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { ask, head, Wire } from './support/wire';

const SECRET = 'the secret of these specs, 32 bytes or more';
const UNAVAILABLE = { error: 'Service Unavailable', message: 'The request signature could not be checked' };
const WAITED = 'Nobody waits any more for the check of the request signature';

const running = new Running();
let logger: LogRecorder;
let ran: string[];

beforeEach(() => {
  logger = new LogRecorder();
  ran = [];
});

afterEach(async () => {
  jest.restoreAllMocks();
  await running.close();
});

function sign(url: string): Record<string, string> {
  return signRequest({ secret: SECRET, keyId: 'ann', method: 'GET', url });
}

/** Something that is asked and answers when it is told to. */
class Gate<T> {
  readonly asked: Promise<void>;
  #heard!: () => void;
  #answer!: (value: T | PromiseLike<T>) => void;
  readonly #answered = new Promise<T>((resolve) => (this.#answer = resolve));

  constructor() {
    this.asked = new Promise((resolve) => (this.#heard = resolve));
  }

  readonly ask = (): Promise<T> => {
    this.#heard();
    return this.#answered;
  };

  open(value: T | PromiseLike<T>): Promise<void> {
    this.#answer(value);
    // Whatever follows on it has happened by the next turn.
    return new Promise((resolve) => void setImmediate(resolve));
  }
}

function serve(config: RequestSignatureConfig, options: CreateServerOptions = {}): Promise<number> {
  return start(config, options).then(({ port }) => port);
}

async function start(config: RequestSignatureConfig, options: CreateServerOptions = {}) {
  const app = createServer({ env: 'test', logging: { logger }, security: { requestSignature: config, routeConfig: { requestSignature: { excludeRoutes: ['/open'] } } }, ...options });
  app.get('/open', () => void ran.push('open'));
  app.get('/*', (req, res) => {
    ran.push(req.url);
    res.json({ ok: true });
  });
  app.on('upgrade', (req, socket) => {
    ran.push(req.url);
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: close\r\n\r\n');
  });
  return { port: await running.start(app), app };
}

const never = (): Promise<never> => new Promise(() => undefined);
const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket' };

describe('what never answers', () => {
  const waits: [string, Partial<RequestSignatureConfig>][] = [
    ['a lookup of secrets', { secret: never }],
    ['a store', { replay: { store: { claim: never } } }],
    ['a store behind an asynchronous lookup', { secret: async () => Promise.resolve(SECRET), replay: { store: { claim: never } } }],
    ['a thenable', { secret: (() => ({ then: () => undefined })) as unknown as SecretLookup }],
  ];

  test.each(waits)('%s: 503 once the time is up, and nothing runs', async (_, config) => {
    const port = await serve({ secret: SECRET, timeout: 1, ...config });
    const answer = await ask(port, '/a', { headers: sign('/a') });
    expect([answer.status, answer.json, ran]).toEqual([503, UNAVAILABLE, []]);
    expect(logger.messages('error')).toEqual(['The request signature could not be checked']);
    expect(logger.text).toContain('longer than 1 ms');
  });

  test.each(waits)('%s: an upgrade is refused by 503', async (_, config) => {
    const port = await serve({ secret: SECRET, timeout: 1, ...config });
    const text = await Wire.tell(port, head('GET /a', { ...sign('/a'), ...upgrade }));
    expect(text).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
    expect(ran).toEqual([]);
  });

  test('an upgrade whose listeners have gone meanwhile is closed', async () => {
    const gate = new Gate<string>();
    const { app, port } = await start({ secret: gate.ask });
    const wire = (await Wire.open(port)).write(head('GET /a', { ...sign('/a'), ...upgrade }));
    await gate.asked;
    app.removeAllListeners('upgrade');
    await gate.open(SECRET);
    await wire.end;
    expect([wire.text, ran]).toEqual(['', []]);
  });

  test('a lookup and a store share the time', async () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const port = await serve({ secret: async () => Promise.resolve(SECRET), timeout: 43_210, replay: { store: { claim: async () => Promise.resolve(true) } } });
    expect((await ask(port, '/a', { headers: sign('/a') })).status).toBe(200);
    expect(timers.mock.calls.filter(([, delay]) => delay === 43_210)).toHaveLength(1);
  });

  test('a timer is set where something is waited for, and cleared when it is there; else none', async () => {
    const set = jest.spyOn(globalThis, 'setTimeout');
    const cleared = jest.spyOn(globalThis, 'clearTimeout');
    const waits = (): unknown[] => set.mock.results.filter((_, index) => set.mock.calls[index]?.[1] === 43_210).map(({ value }) => value as unknown);
    const direct = await serve({ secret: () => SECRET, timeout: 43_210, replay: { store: new MemoryReplayStore() } });
    expect((await ask(direct, '/a', { headers: sign('/a') })).status).toBe(200);
    expect(waits()).toEqual([]);
    const later = await serve({ secret: async () => Promise.resolve(SECRET), timeout: 43_210 });
    expect((await ask(later, '/a', { headers: sign('/a') })).status).toBe(200);
    const [timer] = waits();
    expect(timer).toBeDefined();
    expect(cleared.mock.calls.map(([given]) => given)).toContain(timer);
  });
});

describe('what answers after the time', () => {
  test('a secret: nothing is claimed with it, so the same signature passes later', async () => {
    const gate = new Gate<string>();
    const store = new MemoryReplayStore();
    let secret: SecretLookup = gate.ask;
    const port = await serve({ secret: (keyId) => secret(keyId), timeout: 1, replay: { store } });
    const headers = sign('/a');
    expect((await ask(port, '/a', { headers })).status).toBe(503);
    await gate.open(SECRET);
    expect([store.size, ran]).toEqual([0, []]);
    secret = () => SECRET;
    expect((await ask(port, '/a', { headers })).status).toBe(200);
  });

  test.each<[string, (gate: Gate<boolean>) => Promise<void>]>([
    ['true', (gate) => gate.open(true)], ['false', (gate) => gate.open(false)], ['an error', (gate) => gate.open(Promise.reject(new Error('down')))],
  ])('a store that answers %s: nothing runs and nothing fails', async (_, open) => {
    const gate = new Gate<boolean>();
    const port = await serve({ secret: SECRET, timeout: 1, replay: { store: { claim: gate.ask } } });
    expect((await ask(port, '/a', { headers: sign('/a') })).status).toBe(503);
    await open(gate);
    expect([ran, logger.messages('error')]).toEqual([[], ['The request signature could not be checked']]);
  });
});

describe('a client that leaves', () => {
  /** Sends, waits until something is asked, and leaves; resolves when the server has seen it go. */
  async function leave(app: { server: unknown }, port: number, text: string, asked: Promise<void>): Promise<void> {
    const accepted = once(app.server as Server, 'connection') as Promise<[Socket]>;
    const wire = await Wire.open(port);
    const [socket] = await accepted;
    wire.write(text);
    await asked;
    const gone = new Promise((resolve) => void socket.once('close', resolve));
    wire.reset();
    await gone;
  }

  const targets: [string, (headers: Record<string, string>) => string][] = [
    ['with its request', (headers) => head('GET /a', headers)],
    ['with a request that waits behind another', (headers) => head('GET /open') + head('GET /a', headers)],
    ['with a request to upgrade', (headers) => head('GET /a', { ...headers, ...upgrade })],
  ];

  test.each(targets)('while its secret is looked up, %s: no handler runs and nothing is claimed', async (_, request) => {
    const gate = new Gate<string>();
    const claim = jest.fn(() => true);
    const { app, port } = await start({ secret: gate.ask, replay: { store: { claim } } });
    const headers = sign('/a');
    await leave(app, port, request(headers), gate.asked);
    await gate.open(SECRET);
    expect(claim).not.toHaveBeenCalled();
    expect(ran.filter((url) => url !== 'open')).toEqual([]);
    expect(logger.messages('debug')).toContain(WAITED);
    expect(logger.messages('error')).toEqual([]);
    expect((await ask(port, '/a', { headers })).status).toBe(200);
  });

  test.each(targets)('while the store is asked, %s: no handler runs', async (_, request) => {
    const gate = new Gate<boolean>();
    const { app, port } = await start({ secret: SECRET, replay: { store: { claim: gate.ask } } });
    await leave(app, port, request(sign('/a')), gate.asked);
    await gate.open(true);
    expect(ran.filter((url) => url !== 'open')).toEqual([]);
    expect(logger.messages('debug')).toContain(WAITED);
  });

  test('ends the wait, so that no timer holds the process', async () => {
    const set = jest.spyOn(globalThis, 'setTimeout');
    const cleared = jest.spyOn(globalThis, 'clearTimeout');
    const gate = new Gate<string>();
    const { app, port } = await start({ secret: gate.ask, timeout: 43_210 });
    await leave(app, port, head('GET /a', sign('/a')), gate.asked);
    const timer: unknown = set.mock.results[set.mock.calls.findIndex(([, delay]) => delay === 43_210)]?.value;
    expect(cleared.mock.calls.map(([given]) => given)).toContain(timer);
  });

  test('leaves no listener behind on a connection that goes on', async () => {
    const store: ReplayStore = { claim: async () => Promise.resolve(true) };
    const { app, port } = await start({ secret: SECRET, replay: { store } });
    const accepted = once(app.server as Server, 'connection') as Promise<[Socket]>;
    const wire = await Wire.open(port);
    const [socket] = await accepted;
    await wire.flushed();
    const before = socket.listenerCount('close');
    const warned = jest.fn();
    process.on('warning', warned);
    const urls = Array.from({ length: 20 }, (_, index) => `/${index}`);
    wire.write(urls.map((url) => head(`GET ${url}`, sign(url))).join(''));
    await wire.until(/(?:HTTP\/1\.1 200(?:(?!HTTP)[^])*){20}/);
    process.removeListener('warning', warned);
    expect(socket.listenerCount('close')).toBeLessThanOrEqual(before + 1);
    expect([ran, warned.mock.calls]).toEqual([urls, []]);
    wire.cut();
  });
});

describe('what the log cannot read', () => {
  const unreadable = (): unknown => new Proxy({}, { get() { throw new Error('not to be read'); }, getPrototypeOf() { throw new Error('not to be read'); } });
  const message = (): unknown => Object.defineProperty(new Error(), 'message', { get() { throw new Error('not to be read'); } });

  const causes: [string, (error: unknown) => Partial<RequestSignatureConfig>][] = [
    ['a lookup throws', (error) => ({ secret: () => { throw error; } })],
    ['a lookup rejects with', (error) => ({ secret: async () => Promise.reject(error) })],
    ['a store throws', (error) => ({ replay: { store: { claim: () => { throw error; } } } })],
    ['a store rejects with', (error) => ({ replay: { store: { claim: async () => Promise.reject(error) } } })],
  ];

  test.each(causes)('%s: 503, and the process lives on', async (_, config) => {
    const lines: string[] = [];
    const written = pino(new Writable({ write(chunk: Buffer, _encoding, done) { lines.push(chunk.toString()); done(); } }));
    for (const error of [unreadable(), message()]) {
      const port = await serve({ secret: SECRET, ...config(error) }, { logging: { logger: written } });
      const answer = await ask(port, '/a', { headers: sign('/a') });
      expect([answer.status, answer.json]).toEqual([503, UNAVAILABLE]);
      expect(await Wire.tell(port, head('GET /a', { ...sign('/a'), ...upgrade }))).toMatch(/^HTTP\/1\.1 503 /);
    }
    expect(lines.filter((line) => line.includes('could not be checked'))).toHaveLength(4);
    expect(ran).toEqual([]);
  });

  test.each([true, false])('a logger that throws changes no verdict (debug: %p)', async (debug) => {
    const { app, port } = await start({ secret: SECRET, debug });
    for (const level of ['debug', 'info', 'warn', 'error'] as const) {
      Object.defineProperty(logger, level, { value: (_fields: object, message = '') => {
        if (message.includes('request signature')) throw new Error('the log is full');
      } });
    }
    expect(app.log).toBe(logger);
    expect((await ask(port, '/a')).status).toBe(401);
    expect((await ask(port, '/a', { headers: sign('/a') })).status).toBe(200);
    expect(await Wire.tell(port, head('GET /a', upgrade))).toMatch(/^HTTP\/1\.1 401 /);
    expect(ran).toEqual(['/a']);
  });
});

test('without debug a refusal is a line at level debug', async () => {
  const port = await serve({ secret: SECRET });
  await ask(port, '/a');
  expect(logger.lines.filter(({ message }) => message === 'The request signature was refused')).toEqual([
    { level: 'debug', fields: { method: 'GET', url: '/a', reason: 'the Svc-Request-Sig header is absent', hint: expect.stringContaining('debug') as string }, message: 'The request signature was refused' },
  ]);
});

test('an adapter may push an empty chunk into a request without a body, and no byte', async () => {
  const make = (): ReturnType<typeof createServer> => createServer({ logging: { level: 'silent' }, security: { requestSignature: { secret: SECRET } } });
  const app = make().post('/', async (req, res) => {
    let length = 0;
    for await (const chunk of req) length += (chunk as Buffer).length;
    res.send(String(length));
  });
  const headers = signRequest({ secret: SECRET, keyId: 'ann', method: 'POST', url: '/' });
  const { statusCode, body } = await inject(app, { method: 'POST', url: '/', headers, payload: Buffer.alloc(0) });
  expect([statusCode, body]).toEqual([200, '0']);
});

