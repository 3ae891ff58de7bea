import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import express from 'express';
import { type Application, createServer, type CreateServerOptions, signRequest, static as staticFiles } from 'waypost';
import { makeCertificate } from './support/certificate';
import { LogRecorder, Running } from './support/running';
import { head, Wire } from './support/wire';

const COUNT = 30;
const LIMITS = [1, 2, 3, 8, 100];
const OTHER_TIMERS = ['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate', 'setInterval', 'clearInterval'] as const;
const tls = makeCertificate();
const running = new Running();

afterEach(async () => {
  jest.restoreAllMocks();
  jest.useRealTimers();
  await running.close();
});

const silent = (pipelining: number | undefined, options: CreateServerOptions = {}): CreateServerOptions => ({
  env: 'production', logging: { level: 'silent' }, ...options, server: { ...options.server, ...(pipelining !== undefined && { pipelining }) },
});

/** Turns of the event loop in which whatever would begin begins. */
async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise(setImmediate);
}

/** What is asked of a server that is listening. */
interface Host {
  readonly port: number;
  readonly server: Server;
}

const own = async (app: Application): Promise<Host> => ({ port: await running.start(app), server: app.server as Server });

async function hosted(server: Server): Promise<Host> {
  return { port: await running.listen(server), server };
}

/** Who calls the application. */
const HOSTS: Record<string, (app: Application) => Promise<Host>> = {
  'its own server': own,
  'a server of node:http': (app) => hosted(createHttpServer(app)),
  'Express': (app) => hosted(createHttpServer(express().disable('x-powered-by').use(app as unknown as RequestListener) as unknown as RequestListener)),
};

/** Requests that have begun, in their order, each to be answered when the test says so. */
class Gate {
  readonly begun: string[] = [];
  /** Most that had begun and were not answered. */
  most = 0;
  #open = 0;
  readonly #responses = new Map<string, ServerResponse>();
  #heard: () => void = () => undefined;

  readonly listener: RequestListener = (req, res) => {
    const { url = '' } = req;
    this.begun.push(url);
    this.#responses.set(url, res);
    this.most = Math.max(this.most, ++this.#open);
    // Before Node's listener, by which the next begins.
    res.prependOnceListener('finish', () => this.#open--);
    this.#heard();
  };

  async until(count: number): Promise<void> {
    while (this.begun.length < count) await new Promise<void>((resolve) => (this.#heard = resolve));
  }

  response(url: string): ServerResponse {
    return this.#responses.get(url) as ServerResponse;
  }

  answer(url: string): void {
    this.response(url).end(`<${url}>`);
  }
}

const targets = (count: number, from = 0): string[] => Array.from({ length: count }, (_, index) => `/${from + index}`);
const gets = (of: readonly string[]): string => of.map((target) => head(`GET ${target}`)).join('');
const bodies = (text: string): string[] => [...text.matchAll(/<([^>]+)>/g)].map(([, body = '']) => body);

/** Sends so many, and waits until the server has them all. */
async function send({ port, server }: Host, count: number): Promise<Wire> {
  const wire = await Wire.open(port);
  const read = counted(server, count);
  wire.write(gets(targets(count)));
  await read;
  await turns();
  return wire;
}

function counted(server: Server, count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => server.on('request', () => --left === 0 && resolve()));
}

function gated(pipelining?: number, options?: CreateServerOptions): { app: Application; gate: Gate } {
  const gate = new Gate();
  const app = createServer(silent(pipelining, options));
  app.use(gate.listener);
  return { app, gate };
}

describe.each(Object.entries(HOSTS))('requests pipelined to %s', (_, host) => {
  test.each([undefined, ...LIMITS])('at most so many have begun and are not answered, and begin in their order: %s', async (limit) => {
    const { app, gate } = gated(limit);
    const wire = await send(await host(app), COUNT);
    const most = Math.min(limit ?? 8, COUNT);
    expect(gate.begun).toEqual(targets(most));
    for (const [index, target] of targets(COUNT).entries()) {
      gate.answer(target);
      await gate.until(Math.min(most + index + 1, COUNT));
      await turns();
      expect(gate.begun).toEqual(targets(Math.min(most + index + 1, COUNT)));
    }
    await wire.until(`<${targets(COUNT).at(-1) as string}>`);
    expect([bodies(wire.text), gate.most]).toEqual([targets(COUNT), most]);
    // The connection lives on.
    wire.write(head('GET /more'));
    await gate.until(COUNT + 1);
    gate.answer('/more');
    await wire.until('</more>');
  });

  test('one that is answered and waits for its turn makes no room', async () => {
    const { app, gate } = gated(3);
    const wire = await send(await host(app), 10);
    gate.answer('/2');
    gate.answer('/1');
    await turns();
    expect(gate.begun).toEqual(targets(3));
    gate.answer('/0');
    await gate.until(6);
    await turns();
    expect(gate.begun).toEqual(targets(6));
    wire.cut();
  });

  test('none begins once the client has gone, and those that have begun are told', async () => {
    const { app, gate } = gated(3);
    const wire = await send(await host(app), COUNT);
    const closed = Promise.all(targets(3).map((target) => once(gate.response(target), 'close')));
    wire.reset();
    await closed;
    await turns();
    expect(gate.begun).toEqual(targets(3));
  });

  test.each(LIMITS)('none begins behind one whose handler has destroyed the connection: %s', async (limit) => {
    const begun: string[] = [];
    const app = createServer(silent(limit));
    app.use((req) => {
      begun.push(req.url);
      if (req.url === '/0') req.socket.destroy();
    });
    const { port } = await host(app);
    await Wire.tell(port, gets(targets(COUNT)));
    await turns();
    expect(begun).toEqual(['/0']);
  });

  test.each(LIMITS)('nor behind one that is answered, and then destroys it: %s', async (limit) => {
    const begun: string[] = [];
    const app = createServer(silent(limit));
    app.use((req, res) => {
      begun.push(req.url);
      if (begun.length > 1) return;
      const { socket } = req;
      res.once('close', () => socket.destroy()).end('answered');
    });
    const { port } = await host(app);
    await Wire.tell(port, gets(targets(COUNT)));
    await turns();
    expect(begun).toEqual(targets(limit === 100 ? COUNT : limit));
  });

  test('none begins behind one that closes the connection', async () => {
    const { app, gate } = gated(2);
    const wire = await send(await host(app), COUNT);
    gate.response('/1').setHeader('Connection', 'close');
    gate.answer('/1');
    gate.answer('/0');
    await wire.end;
    await turns();
    expect([bodies(wire.text), gate.begun]).toEqual([['/0', '/1'], ['/0', '/1', '/2']]);
  });

  test('a flood is read no further than it waits, and answered whole', async () => {
    const { app, gate } = gated();
    const { port, server } = await host(app);
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const wire = await Wire.open(port);
    const [socket] = await accepted;
    const flood = targets(5_000, 10_000);
    const paused = once(socket, 'pause');
    const text = gets(flood);
    wire.write(text);
    await paused;
    await turns();
    expect([gate.begun.length, socket.bytesRead < 70_000, text.length > 190_000]).toEqual([8, true, true]);
    for (const [index, target] of flood.entries()) {
      await gate.until(index + 1);
      gate.answer(target);
    }
    await wire.until(`<${flood.at(-1) as string}>`);
    expect([bodies(wire.text).length, gate.begun, gate.most]).toEqual([flood.length, flood, 8]);
    wire.write(head('GET /more'));
    await gate.until(flood.length + 1);
    wire.cut();
  });

  test('a connection that is read no further and is sent nothing for ten seconds is closed, though its client can not be heard to go', async () => {
    const { app, gate } = gated(2, { server: { requestTimeout: 0, headersTimeout: 0 } });
    const { port, server } = await host(app);
    const flooded = async (names: string): Promise<Socket> => {
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const wire = await Wire.open(port);
      const [socket] = await accepted;
      const paused = once(socket, 'pause');
      wire.write(head(`GET /${names}`) + gets(targets(3_000, 10_000)));
      await paused;
      return socket;
    };
    jest.useFakeTimers({ doNotFake: [...OTHER_TIMERS] });
    const [left, served] = [await flooded('left'), await flooded('served')];
    gate.response('/served').write('a part');
    await turns();
    jest.advanceTimersByTime(9_999);
    expect([left.destroyed, served.destroyed]).toEqual([false, false]);
    jest.advanceTimersByTime(1);
    expect([left.destroyed, served.destroyed]).toEqual([true, false]);
    jest.advanceTimersByTime(10_000);
    expect(served.destroyed).toBe(true);
  });
});

/** What handlers do, by targets; written for plain Node. */
const program: RequestListener = (req, res) => void answer(req, res);

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(req.url ?? '/', 'http://localhost');
  for (let left = Number(searchParams.get('turns')); left > 0; left--) await new Promise(setImmediate);
  if (pathname === '/echo') {
    const bytes = await buffer(req);
    res.writeHead(201, { 'Content-Length': bytes.length }).end(bytes);
  } else if (pathname === '/chunks') {
    for (const part of ['a', 'bc', 'def']) {
      res.write(part);
      await new Promise(setImmediate);
    }
    res.end();
  } else if (pathname === '/large') res.end('y'.repeat(300_000));
  else if (pathname === '/close') res.writeHead(200, { 'Connection': 'close', 'Content-Length': 4 }).end('last');
  else res.writeHead(200, { 'Content-Length': 2 }).end('ok');
}

const BODY = 'b'.repeat(100_000);
const chunked = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
const REQUESTS: readonly ((turns: number) => string)[] = [
  (n) => head(`GET /?turns=${n}`),
  (n) => head(`HEAD /?turns=${n}`),
  (n) => head(`POST /echo?turns=${n}`, { 'Content-Length': 5, 'Content-Type': 'text/plain' }) + 'small',
  (n) => head(`POST /echo?turns=${n}`, { 'Content-Length': BODY.length, 'Content-Type': 'text/plain' }) + BODY,
  (n) => head(`POST /echo?turns=${n}`, { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/octet-stream' }) + chunked,
  (n) => head(`POST /?turns=${n}`, { 'Content-Length': 5 }) + 'never',
  (n) => head(`POST /echo?turns=${n}`, { 'Content-Length': 5, 'Expect': '100-continue', 'Content-Type': 'text/plain' }) + 'asked',
  (n) => head(`GET /?turns=${n}`, { Expect: '100-continue' }),
  (n) => head(`GET /?turns=${n}`, { Expect: 'the impossible' }),
  (n) => head(`GET /chunks?turns=${n}`),
  (n) => head(`GET /large?turns=${n}`),
];

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const dated = (text: string): string => text.replaceAll(/^Date: [^\r]+\r\n/gm, '');

/** All of them twice, each taking its time, in an order that leads through all neighbours, and one that closes. */
function mixed(): string {
  const requests = [...REQUESTS, ...REQUESTS.toReversed()].map((request, index) => request((index * 7) % 11));
  return requests.join('') + head('GET /close') + gets(['/behind']);
}

/** Servers of the program with such a limit. */
const SERVERS: Record<string, (limit: number) => Promise<Host>> = {
  'its own server': (limit) => own(createServer(silent(limit)).fallback(program)),
  'a server of node:http': (limit) => hosted(createHttpServer(createServer(silent(limit)).fallback(program))),
  'Express': (limit) => hosted(createHttpServer(express().disable('x-powered-by').use(createServer(silent(limit)).use(program) as unknown as RequestListener) as unknown as RequestListener)),
};

describe.each(Object.entries(SERVERS))('%s sends what node:http sends', (_, serve) => {
  test.each(LIMITS)('whatever is pipelined, with bodies, expectations and bodies that nobody reads: %s', async (limit) => {
    const expected = dated(await Wire.tell((await hosted(createHttpServer(program))).port, mixed()));
    const wire = await Wire.open((await serve(limit)).port);
    wire.write(mixed());
    await wire.end;
    // Node itself puts the head of an answer that waits before these.
    const unasked = (text: string): string => text.replaceAll(CONTINUE, '');
    expect(unasked(dated(wire.text))).toBe(unasked(expected));
    expect(wire.text.split(CONTINUE).length).toBe(expected.split(CONTINUE).length);
  });

  test.each([true, false])('to a client that ends its side: half-open %s', async (httpAllowHalfOpen) => {
    const got: string[] = [];
    for (const { port, server } of [await hosted(createHttpServer(program)), await serve(3)]) {
      Object.assign(server, { httpAllowHalfOpen });
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      const wire = new Wire(socket);
      socket.end(Array.from({ length: 20 }, (_, index) => head(`GET /?turns=${httpAllowHalfOpen ? index % 3 : 0}`)).join(''));
      await wire.end;
      got.push(dated(wire.text));
    }
    expect(got[1]).toBe(got[0]);
  });
});

test('a request that is handed on, and answered with a file behind the application, counts once', async () => {
  const begun: ServerResponse[] = [];
  const app = createServer(silent(undefined)).use((_req, res, next) => {
    begun.push(res);
    next();
  });
  const front: ServerResponse[] = [];
  const outer = express().use(app as unknown as RequestListener).get('/front', (_req, res) => void front.push(res)).use(staticFiles(__dirname) as unknown as RequestListener);
  const { port, server } = await hosted(createHttpServer(outer as unknown as RequestListener));
  const wire = await Wire.open(port);
  for (const target of ['/front', ...Array<string>(9).fill('/slots.spec.ts')]) {
    const read = once(server, 'request');
    wire.write(head(`GET ${target}`));
    await read;
    // A file that has been read waits for its turn.
    while (begun.length < 8 && target !== '/front' && begun.at(-1)?.writableEnded !== true) await turns();
  }
  await turns();
  expect(begun).toHaveLength(8);
  front[0]?.end('<front>');
  await wire.until(/(?:HTTP\/1.1 200[^]*){10}/);
  expect(begun).toHaveLength(10);
  wire.cut();
});

test('over TLS a flood is answered whole, a few at a time', async () => {
  const { app, gate } = gated(undefined, { server: { https: tls } });
  const { port } = await own(app);
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const wire = new Wire(socket);
  const flood = targets(5_000, 10_000);
  wire.write(gets(flood));
  for (const [index, target] of flood.entries()) {
    await gate.until(index + 1);
    gate.answer(target);
  }
  await wire.until(`<${flood.at(-1) as string}>`);
  expect([bodies(wire.text).length, gate.most]).toEqual([flood.length, 8]);
});

describe('a request that is held', () => {
  test('is asked for its body when it begins', async () => {
    const { app, gate } = gated(1);
    const host = await own(app);
    const read = counted(host.server, 2);
    const wire = await Wire.open(host.port);
    wire.write(head('GET /0') + head('POST /1', { 'Expect': '100-continue', 'Content-Length': 4, 'Content-Type': 'text/plain' }));
    await read;
    await turns();
    gate.answer('/0');
    await gate.until(2);
    const body = buffer(gate.response('/1').req);
    await wire.until(/<\/0>HTTP\/1.1 100 Continue\r\n\r\n$/);
    wire.write('text');
    expect((await body).toString()).toBe('text');
    gate.answer('/1');
    await wire.until('</1>');
  });

  test('begins in the async context in which the application was called', async () => {
    const context = new AsyncLocalStorage<string | undefined>();
    const app = createServer(silent(2));
    app.use((req, res) => void setImmediate(() => res.end(`<${req.url === context.getStore() ? 'own' : 'another'}>${req.url}`)));
    const { port } = await hosted(createHttpServer((req, res) => context.run(req.url, () => app(req, res))));
    const wire = (await Wire.open(port)).write(gets(targets(COUNT)));
    await wire.until(`>/${COUNT - 1}`);
    expect(new Set(bodies(wire.text))).toEqual(new Set(['own']));
  });

  test.each(LIMITS)('begins at its turn where what stands around has handed those behind on before it: %s', async (limit) => {
    const app = createServer(silent(limit)).use((req, res) => void setImmediate(() => res.end(`<${req.url}>`)));
    const around = express().use((req, _res, next) => {
      const wait = (left: number): unknown => (left === 0 ? next() : setImmediate(wait, left - 1));
      wait((Number(req.url.slice(1)) * 7) % 5);
    }, app as unknown as RequestListener);
    const wire = await Wire.open((await hosted(createHttpServer(around as unknown as RequestListener))).port);
    wire.write(gets(targets(COUNT)));
    await wire.until(`</${COUNT - 1}>`);
    expect(bodies(wire.text)).toEqual(targets(COUNT));
  });

  test('does not begin once the application drains; the last that has says so', async () => {
    const { app, gate } = gated(3);
    const wire = await send(await own(app), COUNT);
    const closed = app.close({ timeout: 2_000_000_000 });
    for (const target of targets(3)) gate.answer(target);
    await Promise.all([wire.end, closed]);
    expect([gate.begun, bodies(wire.text)]).toEqual([targets(3), targets(3)]);
    expect(wire.text.match(/^Connection: [^\r]+/gm)).toEqual(['Connection: keep-alive', 'Connection: keep-alive', 'Connection: close']);
  });

  test('of a flood costs no answer when the application drains', async () => {
    const { app, gate } = gated(3);
    const { port, server } = await own(app);
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const wire = await Wire.open(port);
    const [socket] = await accepted;
    const paused = once(socket, 'pause');
    wire.write(gets(targets(5_000)));
    await paused;
    const closed = app.close({ timeout: 2_000_000_000 });
    for (const target of targets(3)) gate.answer(target);
    await wire.end;
    wire.cut();
    await closed;
    expect([gate.begun, bodies(wire.text)]).toEqual([targets(3), targets(3)]);
  });

  test('has its line in the log when it has begun, and none before', async () => {
    const log = new LogRecorder();
    const { app, gate } = gated(2, { logging: { logger: log, requests: 'info' } });
    const wire = await send(await own(app), 10);
    gate.answer('/0');
    await gate.until(3);
    const closed = once(gate.response('/2'), 'close');
    wire.reset();
    await closed;
    await turns();
    const lines = log.lines.filter(({ message }) => message.startsWith('Request ')).map(({ message, fields }) => `${fields['url'] as string} ${message}`);
    expect(lines.toSorted()).toEqual(['/0 Request completed', '/1 Request aborted', '/2 Request aborted']);
  });

  test('has all of its handlers\' time when it begins', async () => {
    const gate = new Gate();
    const app = createServer(silent(2, { server: { handlerTimeout: 50 } }));
    app.get('/:n', gate.listener);
    const host = await own(app);
    const wire = await Wire.open(host.port);
    const read = counted(host.server, 3);
    wire.write(gets(targets(3)));
    await read;
    gate.response('/0').flushHeaders();
    gate.answer('/1');
    // By then its time is over as well.
    expect((await fetch(`http://127.0.0.1:${host.port}/slow`)).status).toBe(503);
    gate.answer('/0');
    await gate.until(4);
    gate.answer('/2');
    await wire.until(/<\/0>[^]*HTTP\/1.1 200 OK[^]*<\/1>HTTP\/1.1 200 OK[^]*<\/2>$/);
  });

  test('is checked for its signature when it begins', async () => {
    const [secret, maxAge] = ['a secret of more than thirty-two bytes', 60_000];
    const { app, gate } = gated(2, { security: { requestSignature: { secret, maxAge } } });
    const host = await own(app);
    const timestamp = Date.now();
    const now = jest.spyOn(Date, 'now').mockReturnValue(timestamp);
    const read = counted(host.server, 3);
    const wire = await Wire.open(host.port);
    wire.write(targets(3).map((url) => head(`GET ${url}`, signRequest({ secret, method: 'GET', url, timestamp }))).join(''));
    await read;
    await gate.until(2);
    now.mockReturnValue(timestamp + maxAge + 1);
    for (const target of targets(2)) gate.answer(target);
    await wire.until(/<\/0>[^]*<\/1>HTTP\/1.1 401 [^]*Signature expired/);
    expect(gate.begun).toEqual(targets(2));
  });

  test('is answered before the connection closes for a request to switch protocols behind it, which is left alone', async () => {
    const { app, gate } = gated(2);
    const taken: string[] = [];
    app.on('upgrade', (req, socket: Duplex) => {
      taken.push(req.url);
      socket.destroy();
    });
    const host = await own(app);
    const upgraded = once(host.server, 'upgrade');
    const wire = await Wire.open(host.port);
    wire.write(gets(targets(10)) + head('GET /upgrade', { Connection: 'Upgrade', Upgrade: 'websocket' }));
    await upgraded;
    for (const [index, target] of targets(10).entries()) {
      await gate.until(index + 1);
      gate.answer(target);
    }
    await wire.end;
    expect([bodies(wire.text), gate.most, taken]).toEqual([targets(10), 2, []]);
  });

  test('has its body when it begins, which is read no further before', async () => {
    const { app, gate } = gated(1, { body: { limit: '20mb' } });
    app.post('/body', (req, res) => void res.send(`<${(req.body as string).length}>`));
    const { port, server } = await own(app);
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const wire = await Wire.open(port);
    const [socket] = await accepted;
    const paused = once(socket, 'pause');
    const length = 10_000_000;
    wire.write(head('GET /0') + head('POST /body', { 'Content-Length': length, 'Content-Type': 'text/plain' }) + 'b'.repeat(length));
    await paused;
    await turns();
    expect([gate.begun, socket.bytesRead < 400_000]).toEqual([['/0'], true]);
    gate.answer('/0');
    await gate.until(2);
    expect((await buffer(gate.response('/body').req)).length).toBe(length);
    gate.answer('/body');
    await wire.until('</body>');
  });
});
