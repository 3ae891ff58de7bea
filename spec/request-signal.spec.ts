import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer as createHttpServer } from 'node:http';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import theirs from 'express';
import { type Application, createServer, type CreateServerOptions, express, type Handler, HttpError } from 'waypost';
import { portOf, LogRecorder, Running } from './support/running';
import { ask, head, Wire } from './support/wire';

const running = new Running();

afterEach(() => running.close());

/** Longer than any spec may run. */
const NEVER = 2_000_000_000;

const MAKERS = [['createServer', createServer], ['express', express]] as const;

interface Started {
  readonly app: Application;
  readonly port: number;
  readonly log: LogRecorder;
  readonly passedOn: unknown[];
}

/** An application whose route `/` has the handler, with error middleware that notes what it gets. */
async function started(make: typeof createServer, handler: Handler, options: CreateServerOptions = {}): Promise<Started> {
  const log = new LogRecorder();
  const passedOn: unknown[] = [];
  const app = make({ env: 'test', ...options, logging: { logger: log } });
  app.get('/', handler);
  app.use((error: unknown, _req: unknown, _res: unknown, next: (error: unknown) => void) => {
    passedOn.push(error);
    next(error);
  });
  return { app, port: await running.start(app), log, passedOn };
}

/** The reason by which a signal has aborted, or will. */
async function reasonOf(signal: AbortSignal): Promise<unknown> {
  if (!signal.aborted) await once(signal, 'abort');
  return signal.reason;
}

describe.each(MAKERS)('%s: req.signal', (_name, make) => {
  test('aborts when the client goes, and what fails by it is no error', async () => {
    let heard: (signal: AbortSignal) => void = () => undefined;
    const signal = new Promise<AbortSignal>((resolve) => (heard = resolve));
    let failed: unknown;
    const { port, log, passedOn } = await started(make, async (req) => {
      heard(req.signal);
      await wait(NEVER, undefined, { signal: req.signal }).catch((error: unknown) => {
        failed = error;
        throw error;
      });
    });
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    const aborted = await signal;
    expect(aborted.aborted).toBe(false);
    wire.cut();
    const reason = await reasonOf(aborted);
    expect(reason).toBeInstanceOf(HttpError);
    expect(reason).toMatchObject({ code: 'CLIENT_GONE', status: 499 });
    await new Promise(setImmediate);
    expect((failed as Error).cause).toBe(reason);
    expect([passedOn, log.messages('error')]).toEqual([[], []]);
  });

  test.each<[string, (signal: AbortSignal, upstream: string) => Promise<unknown>]>([
    ['fetch', (signal, upstream) => fetch(upstream, { signal })],
    ['a body of fetch', async (signal, upstream) => (await fetch(`${upstream}/begun`, { signal })).text()],
    ['a pipeline', (signal) => pipeline(new Readable({ read() { /* Nothing comes. */ } }), async (source) => { for await (const chunk of source) void chunk; }, { signal })],
    ['an event', (signal) => once(new EventTarget(), 'never', { signal })],
    ['a signal of several', (signal, upstream) => fetch(upstream, { signal: AbortSignal.any([signal, new AbortController().signal]) })],
  ])('stops %s', async (_what, act) => {
    const upstream = await running.serve((req, res) => {
      if (req.url === '/begun') res.write('a');
    });
    let entered: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (entered = resolve));
    let settled: (outcome: string) => void = () => undefined;
    const outcome = new Promise<string>((resolve) => (settled = resolve));
    const { port, log, passedOn } = await started(make, async (req) => {
      entered();
      await act(req.signal, `http://127.0.0.1:${upstream}`).finally(() => settled((req.signal.reason as HttpError).code));
    });
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await begun;
    wire.cut();
    expect(await outcome).toBe('CLIENT_GONE');
    await new Promise(setImmediate);
    expect([passedOn, log.messages('error')]).toEqual([[], []]);
  });

  test('aborts when the time limit strikes, once 503 is answered', async () => {
    const reasons: unknown[] = [];
    const { port, log, passedOn } = await started(make, async (req) => {
      try {
        await wait(NEVER, undefined, { signal: req.signal });
      } finally {
        reasons.push(req.signal.reason);
      }
    }, { server: { handlerTimeout: 20 } });
    expect((await ask(port, '/')).status).toBe(503);
    await new Promise(setImmediate);
    expect(reasons).toEqual([expect.objectContaining({ code: 'HANDLER_TIMEOUT', status: 503 })]);
    // The one line is of the limit itself.
    expect([passedOn, log.messages('error')]).toEqual([[], ['The response failed']]);
  });

  test('is aborted by the time limit where it is first read behind it', async () => {
    let told: (reason: unknown) => void = () => undefined;
    const reason = new Promise((resolve) => (told = resolve));
    const { port } = await started(make, (req, res) => {
      res.once('close', () => told(req.signal.reason));
    }, { server: { handlerTimeout: 20 } });
    expect((await ask(port, '/')).status).toBe(503);
    expect(await reason).toMatchObject({ code: 'HANDLER_TIMEOUT' });
  });

  test('aborts when close() cuts the connection off', async () => {
    let heard: (signal: AbortSignal) => void = () => undefined;
    const signal = new Promise<AbortSignal>((resolve) => (heard = resolve));
    const { app, port } = await started(make, (req, res) => {
      res.write('begun');
      heard(req.signal);
    });
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    const aborted = await signal;
    await app.close({ timeout: 0 });
    expect(await reasonOf(aborted)).toMatchObject({ code: 'SERVER_CLOSING' });
  });

  test('never aborts behind a whole answer, however the connection ends', async () => {
    const signals: AbortSignal[] = [];
    const { app, port } = await started(make, (req, res) => {
      signals.push(req.signal);
      res.on('close', () => signals.push(req.signal));
      res.send('whole');
    });
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await wire.until('whole');
    wire.reset();
    await ask(port, '/');
    await app.close({ timeout: 0 });
    await new Promise(setImmediate);
    expect(signals.length).toBe(4);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false, false]);
  });

  test('is aborted where it is first read when the client has gone', async () => {
    let told: (reason: unknown) => void = () => undefined;
    const reason = new Promise((resolve) => (told = resolve));
    let entered: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (entered = resolve));
    const { port } = await started(make, (req, res) => {
      res.once('close', () => setImmediate(() => told(req.signal.reason)));
      entered();
    });
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await begun;
    wire.cut();
    expect(await reason).toMatchObject({ code: 'CLIENT_GONE' });
  });

  test('aborts for a request that waits behind another of its connection', async () => {
    const reasons: Promise<unknown>[] = [];
    let entered: () => void = () => undefined;
    const both = new Promise<void>((resolve) => (entered = resolve));
    const { port } = await started(make, (req) => {
      reasons.push(reasonOf(req.signal));
      if (reasons.length === 2) entered();
    });
    const wire = await Wire.open(port);
    wire.write(head('GET /') + head('GET /'));
    await both;
    wire.cut();
    expect(await Promise.all(reasons)).toMatchObject([{ code: 'CLIENT_GONE' }, { code: 'CLIENT_GONE' }]);
  });

  test('tells in the async context of the handler', async () => {
    const storage = new AsyncLocalStorage<string>();
    let told: (store: unknown) => void = () => undefined;
    const store = new Promise((resolve) => (told = resolve));
    let entered: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (entered = resolve));
    const { port } = await started(make, (req) => storage.run('mine', () => {
      req.signal.addEventListener('abort', () => told(storage.getStore()));
      entered();
    }));
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await begun;
    wire.cut();
    expect(await store).toBe('mine');
  });

  test.each([
    ['waypost', (inner: Application) => createServer({ logging: { level: 'silent' } }).use('/in', inner)],
    ['Express', (inner: Application) => theirs().use('/in', inner as unknown as theirs.Handler)],
    ['a server of node:http', (inner: Application) => inner],
  ])('aborts in an application in %s', async (outer, around) => {
    let heard: (signal: AbortSignal) => void = () => undefined;
    const signal = new Promise<AbortSignal>((resolve) => (heard = resolve));
    const inner = make({ logging: { level: 'silent' } });
    inner.get('/', (req) => heard(req.signal));
    const server = createHttpServer(around(inner) as Parameters<typeof createHttpServer>[1]);
    await running.listen(server);
    const wire = await Wire.open(portOf(server));
    wire.write(head(outer.startsWith('a server') ? 'GET /' : 'GET /in'));
    const aborted = await signal;
    wire.cut();
    expect(await reasonOf(aborted)).toMatchObject({ code: 'CLIENT_GONE' });
  });
});

test('other errors of a handler are errors, behind the client too', async () => {
  let entered: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (entered = resolve));
  const { port, log, passedOn } = await started(createServer, async (req) => {
    entered();
    await reasonOf(req.signal);
    throw new Error('of the program');
  });
  const wire = await Wire.open(port);
  wire.write(head('GET /'));
  await begun;
  wire.cut();
  while (log.messages('error').length === 0) await new Promise(setImmediate);
  expect(passedOn).toEqual([expect.objectContaining({ message: 'of the program' })]);
});

test('a program may assign another', async () => {
  const own = new AbortController().signal;
  const { port } = await started(createServer, (req, res) => {
    Object.assign(req, { signal: own });
    res.json(req.signal === own);
  });
  expect((await ask(port, '/')).body).toBe('true');
});
