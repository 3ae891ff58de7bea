import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer as createHttpServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import fc from 'fast-check';
import { type Application, createServer } from 'waypost';
import { makeCertificate } from './support/certificate';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const QUIET = { env: 'test', logging: { level: 'silent' } } as const;

/** Notes what is read. */
function noteReads(app: Application, notes: string[]): void {
  aroundEmit(app.server as Server, ({ url }, emit) => {
    if (url !== '/accepted') notes.push(`read ${url}`);
    return emit();
  });
}

/** Puts itself around a server's requests, as tracers do. */
function aroundEmit(server: Server, around: (req: IncomingMessage, emit: () => boolean) => boolean): void {
  const emit = server.emit.bind(server) as (event: string, ...given: unknown[]) => boolean;
  server.emit = (event: string, ...given: unknown[]): boolean => (event === 'request' ? around(given[0] as IncomingMessage, () => emit(event, ...given)) : emit(event, ...given));
}

/** An application that notes what runs. */
function noting(notes: string[]): Application {
  const app = createServer(QUIET);
  app.all('/**', (req, res) => {
    if (req.url !== '/accepted') notes.push(`run ${req.url}`);
    res.send(req.url);
  });
  return app;
}

/** Sends requests on connections of their own, all before the server's event loop looks again. */
async function atOnce(port: number, requests: readonly string[]): Promise<void> {
  const wires = await Promise.all(requests.map(() => Wire.open(port)));
  for (const wire of wires) wire.write(head('GET /accepted'));
  await Promise.all(wires.map((wire) => wire.until(/\r\n\r\n/)));
  for (const [index, wire] of wires.entries()) wire.write(requests[index] ?? '');
  await Promise.all(wires.map((wire) => wire.end));
}

const closing = (target: string): string => head(`GET ${target}`, { Connection: 'close' });
const TARGETS = ['/0', '/1', '/2'];

test('an own server reads what has come on all connections before it runs the first', async () => {
  const notes: string[] = [];
  const app = noting(notes);
  const port = await running.start(app);
  noteReads(app, notes);
  await atOnce(port, TARGETS.map(closing));
  expect(notes).toEqual([...TARGETS.map((target) => `read ${target}`), ...TARGETS.map((target) => `run ${target}`)]);
});

test('a body that comes with its head is captured, and waits as well', async () => {
  const notes: string[] = [];
  const app = createServer(QUIET);
  app.post('/**', (req, res) => {
    notes.push(`run ${req.url}`);
    res.json(req.body);
  });
  const port = await running.start(app);
  noteReads(app, notes);
  await atOnce(port, TARGETS.map((target) => `${head(`POST ${target}`, { 'Connection': 'close', 'Content-Type': 'application/json', 'Content-Length': 7 })}{"a":1}`));
  expect(notes).toEqual([...TARGETS.map((target) => `read ${target}`), ...TARGETS.map((target) => `run ${target}`)]);
});

test('what a handler leaves to ticks and promises goes on before the next begins', async () => {
  const notes: string[] = [];
  const app = createServer(QUIET);
  app.get('/accepted', (_req, res) => void res.send('yes'));
  app.get('/**', async ({ url }, res) => {
    notes.push(`begin ${url}`);
    res.once('finish', () => notes.push(`finish ${url}`)).send(url);
    await null;
    notes.push(`promise ${url}`);
  });
  await atOnce(await running.start(app), TARGETS.map(closing));
  expect(notes).toEqual(TARGETS.flatMap((target) => [`begin ${target}`, `finish ${target}`, `promise ${target}`]));
});

test('a program that calls the application has it run at once', async () => {
  const app = noting([]);
  const after: boolean[] = [];
  const port = await running.serve((req, res) => {
    app(req, res);
    after.push(res.writableEnded);
  });
  await atOnce(port, TARGETS.map(closing));
  expect(new Set(after)).toEqual(new Set([true]));
});

test('a request that the application hands to itself again runs at once', async () => {
  const after: boolean[] = [];
  const app = createServer(QUIET);
  app.get('/old', (req, res) => {
    req.url = '/new';
    app(req, res);
    after.push(res.writableEnded);
  });
  app.get('/new', (_req, res) => res.send('new'));
  expect(await Wire.tell(await running.start(app), closing('/old'))).toMatch(/new$/);
  expect(after).toEqual([true]);
});

test('one runs before the next of its connection begins, each in its own async context', async () => {
  const storage = new AsyncLocalStorage<string>();
  const notes: string[] = [];
  const app = createServer(QUIET);
  app.get('/**', (req, res) => {
    notes.push(`${req.url} in ${storage.getStore()}`);
    res.send(req.url);
  });
  const port = await running.start(app);
  aroundEmit(app.server as Server, ({ url = '' }, emit) => storage.run(url, emit));
  await fc.assert(fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 }), async (lengths) => {
    notes.length = 0;
    const pipelines = lengths.map((length, connection) => Array.from({ length }, (_, i) => `/${connection}/${i}`));
    await atOnce(port, pipelines.map((targets) => targets.map((target, i) => (i < targets.length - 1 ? head(`GET ${target}`) : closing(target))).join('')));
    for (const [connection, targets] of pipelines.entries()) expect(notes.filter((note) => note.startsWith(`/${connection}/`))).toEqual(targets.map((target) => `${target} in ${target}`));
  }), { numRuns: 30 });
});

test('what a request has decided for its connection holds for the next', async () => {
  const app = createServer(QUIET);
  app.use((_req, res) => void res.set('Connection', 'close').send('last'));
  expect((await Wire.tell(await running.start(app), head('GET /').repeat(3))).match(/HTTP\/1\.1 200/g)).toHaveLength(1);
});

const ANSWERS: Record<string, RequestListener> = {
  'at once': (_req, res) => res.end('answer'),
  'later': (_req, res) => void setImmediate(() => setImmediate(() => res.end('answer'))),
  'in parts': (_req, res) => void res.write('a part', () => setImmediate(() => res.end('another'))),
};
const BROKEN: Record<string, string> = {
  'garbage': 'garbage\r\n\r\n',
  'a head that is too long': head('GET /', { 'X-Long': 'x'.repeat(20_000) }),
  'a malformed length': head('POST /', { 'Content-Length': 'x' }),
  'a malformed chunk': `${head('POST /', { 'Transfer-Encoding': 'chunked' })}x\r\n`,
  'a chunk with too long an extension': `${head('POST /', { 'Transfer-Encoding': 'chunked' })}1;${'x'.repeat(20_000)}\r\n`,
  'a head that does not end': 'GET / HTTP/1.1\r\nHost: a\r\n',
  'a body that does not end': `${head('POST /', { 'Content-Length': 7 })}{`,
};

/** Settings by which Node gives up soon. */
const SOON = { requestTimeout: 60, headersTimeout: 60, connectionsCheckingInterval: 10 };

describe.each(Object.keys(ANSWERS))('what cannot be parsed, or does not end, where requests are answered %s', (name) => {
  test.each(Object.entries(BROKEN))('is answered as by node:http, with no request before it and with some: %s', async (_, broken) => {
    const answer = ANSWERS[name] as RequestListener;
    const ran: string[] = [];
    const listener: RequestListener = (req, res) => {
      ran.push(`${req.method} ${req.url}`);
      req.on('error', () => undefined).resume();
      answer(req, res);
    };
    const app = createServer({ ...QUIET, server: SOON });
    app.use(listener);
    const ports = [await running.start(app), await running.listen(createHttpServer(SOON, listener))];
    for (const count of [0, 1, 3]) {
      const [ours, theirs] = await Promise.all(ports.map((port) => Wire.tell(port, head('GET /').repeat(count) + broken)));
      expect(dated(ours)).toBe(dated(theirs));
    }
    expect(ran.length % 2).toBe(0);
  });
});

function dated(text: string | undefined): string | undefined {
  return text?.replace(/Date: .*/g, 'Date');
}

test('a listener of clientError decides alone what is sent', async () => {
  const app = noting([]);
  const port = await running.start(app);
  const server = app.server as Server;
  server.on('clientError', (_error: Error, socket: Duplex) => socket.end('HTTP/1.1 418 Own\r\n\r\n'));
  expect(await Wire.tell(port, 'garbage\r\n\r\n')).toBe('HTTP/1.1 418 Own\r\n\r\n');
  expect(await Wire.tell(port, `${head('GET /a')}garbage\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 [^]*\/aHTTP\/1\.1 418 Own\r\n\r\n$/);
});

test('a listener of upgrades that the program sets on the server hears of one behind the answer before it', async () => {
  const app = noting([]);
  const port = await running.start(app);
  app.server?.on('upgrade', (_req, socket) => socket.end('HTTP/1.1 101 Own\r\n\r\n'));
  expect(await Wire.tell(port, head('GET /a') + head('GET /ws', { Connection: 'Upgrade', Upgrade: 'websocket' }))).toMatch(/^HTTP\/1\.1 200 [^]*\/aHTTP\/1\.1 101 Own\r\n\r\n$/);
});

/** Listeners that may count on what the application has done. */
const OTHERS: Record<string, (server: Server, app: Application, note: (ended: boolean) => void) => void> = {
  'beside it': (server, _app, note) => void server.on('request', (_req, res) => note(res.writableEnded)),
  'in its place': (server, app, note) => void server.removeAllListeners('request').on('request', (req, res) => {
    app(req, res);
    note(res.writableEnded);
  }),
  'in its place, later': (server, app, note) => void server.removeAllListeners('request').on('request', async (req, res) => {
    await null;
    app(req, res);
    note(res.writableEnded);
  }),
};

test.each(Object.entries(OTHERS))('none waits where another listener hears of requests, %s', async (_, listen) => {
  const notes: string[] = [];
  const app = noting(notes);
  const ended: boolean[] = [];
  const port = await running.start(app);
  listen(app.server as Server, app, (is) => ended.push(is));
  expect((await Wire.tell(port, head('GET /0') + head('GET /1') + closing('/2'))).match(/HTTP\/1\.1 200/g)).toHaveLength(3);
  expect(notes).toEqual(TARGETS.map((target) => `run ${target}`));
  expect(ended).toEqual([true, true, true]);
});

test('none waits on a connection of another server, whose events nobody sees', async () => {
  const app = noting([]);
  await running.start(app);
  const port = await running.serve((req, res) => app.server?.emit('request', req, res));
  expect(await Wire.tell(port, `${head('GET /a')}garbage\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 [^]*\/a$/);
});

test('a server takes an event of any kind, and a request without a socket', async () => {
  const app = noting([]);
  await running.start(app);
  const heard: unknown[] = [];
  app.server?.on('custom', (given) => heard.push(given));
  for (const given of [null, undefined, 1, 'text']) app.server?.emit('custom', given);
  expect(heard).toEqual([null, undefined, 1, 'text']);
  const req = Object.assign(new IncomingMessage(null as unknown as Socket), { method: 'GET', url: '/a' });
  const res = new ServerResponse(req);
  app.server?.emit('request', req, res);
  expect(res.writableEnded).toBe(true);
});

describe('a client that ends its side behind its request is answered', () => {
  const https = makeCertificate();

  test('as by node:http', async () => {
    const wire = await Wire.open(await running.start(noting([])));
    wire.write(head('GET /a')).finish();
    await wire.end;
    expect(wire.text).toMatch(/\/a$/);
  });

  // With TLS the end may be read together with the request.
  test('over TLS', async () => {
    const app = createServer({ ...QUIET, server: { https } });
    app.get('/a', async (_req, res) => {
      await null;
      res.send('/a');
    });
    const socket = connect({ port: await running.start(app), host: '127.0.0.1', servername: 'localhost', ca: https.cert });
    await once(socket, 'secureConnect');
    const wire = new Wire(socket as Socket);
    socket.end(head('GET /a'));
    await wire.end;
    expect(wire.text).toMatch(/\/a$/);
  });

  test('where a read brings all that fits at once', async () => {
    const text = head('POST /a', { 'Content-Length': 65_000, 'Connection': 'close' });
    const app = createServer(QUIET);
    app.post('/a', (_req, res) => res.send('/a'));
    const wire = await Wire.open(await running.start(app));
    wire.write(head('POST /a', { 'Content-Length': 65_536 - text.length, 'Connection': 'close' }) + 'x'.repeat(65_536 - text.length)).finish();
    await wire.end;
    expect(wire.text).toMatch(/\/a$/);
  });
});
