import { once } from 'node:events';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { connect as connectTls } from 'node:tls';
import compression from 'compression';
import connectExpress from 'express';
import pino from 'pino';
import { type Application, createServer, type CreateServerOptions, type LoggingOptions, Router, signRequest } from 'waypost';
import { makeCertificate } from './support/certificate';
import { LogRecorder, Running } from './support/running';
import { Users } from './support/users';
import { ask, head, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

interface Line {
  readonly level: string;
  readonly message: string;
  readonly reqId?: unknown;
  readonly method: string;
  readonly url: string;
  readonly route?: string;
  readonly status?: number;
  readonly ms: number;
  readonly bytes?: number;
}

/** Keeps the lines of requests, and tells when there are so many. */
class AccessRecorder extends LogRecorder {
  #heard: () => void = () => undefined;

  constructor() {
    super();
    const { push } = this.lines;
    this.lines.push = (...lines) => {
      const length = push.apply(this.lines, lines);
      this.#heard();
      return length;
    };
  }

  get accesses(): Line[] {
    return this.lines.filter(({ message }) => /^Request (completed|aborted)$/.test(message)).map(({ level, message, fields }) => ({ level, message, ...fields }) as unknown as Line);
  }

  async until(count: number): Promise<Line[]> {
    while (this.accesses.length < count) await new Promise<void>((resolve) => { this.#heard = resolve; });
    return this.accesses;
  }
}

async function serve(register: (app: Application) => void, options: CreateServerOptions = {}): Promise<{ port: number; log: AccessRecorder }> {
  const log = new AccessRecorder();
  const port = await running.app(register, { ...options, logging: { logger: log, requests: true, ...options.logging } });
  return { port, log };
}

function routes(app: Application): void {
  app.get('/users/:id', (req, res) => res.send(req.params.id));
  app.get('/broken', () => { throw new Error('inner'); });
  app.get('/chunks', (_req, res) => {
    res.write('one');
    res.end('two');
  });
  app.get('/empty', (_req, res) => res.status(204).end());
  app.post('/users', (req, res) => res.status(201).json(req.body));
}

describe('a request is logged once, when it is over', () => {
  test('with method, target, route, status, time and bytes', async () => {
    const { port, log } = await serve(routes);
    await ask(port, '/users/7?page=1');
    const [line] = await log.until(1);
    expect(line).toEqual({ level: 'info', message: 'Request completed', method: 'GET', url: '/users/7?page=1', route: '/users/:id', status: 200, ms: expect.any(Number), bytes: expect.any(Number) });
    expect(Object.keys(line!)).toEqual(['level', 'message', 'method', 'url', 'route', 'status', 'ms', 'bytes']);
  });

  test('whatever came of it', async () => {
    const { port, log } = await serve(routes);
    await ask(port, '/broken');
    await ask(port, '/nowhere');
    await ask(port, '/users', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' });
    await ask(port, '/users/1', { method: 'HEAD' });
    await Wire.tell(port, 'POST /users HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n');
    expect((await log.until(5)).map(({ method, url, route, status }) => [method, url, route, status])).toEqual([
      ['GET', '/broken', '/broken', 500], ['GET', '/nowhere', undefined, 404], ['POST', '/users', '/users', 400], ['HEAD', '/users/1', '/users/:id', 200], ['POST', '/users', undefined, 501],
    ]);
  });

  test('a refused signature too', async () => {
    const secret = 's'.repeat(32);
    const { port, log } = await serve(routes, { security: { requestSignature: { secret } } });
    await ask(port, '/users/1');
    await ask(port, '/users/1', { headers: signRequest({ secret, method: 'GET', url: '/users/1' }) });
    expect((await log.until(2)).map(({ status, route }) => [status, route])).toEqual([[401, undefined], [200, '/users/:id']]);
  });

  test('as aborted, without a status, where the client has gone before the head of an answer was made', async () => {
    let reached: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => { reached = resolve; });
    const { port, log } = await serve((app) => app.get('/slow', () => reached()));
    const wire = await Wire.open(port);
    wire.write('GET /slow HTTP/1.1\r\nHost: h\r\n\r\n');
    await asked;
    wire.cut();
    expect(await log.until(1)).toEqual([{ level: 'info', message: 'Request aborted', method: 'GET', url: '/slow', route: '/slow', ms: expect.any(Number), bytes: 0 }]);
  });

  test('as aborted, with its status, where it has gone within an answer', async () => {
    const { port, log } = await serve((app) => app.get('/slow', (_req, res) => void res.write('first')));
    const wire = await Wire.open(port);
    wire.write('GET /slow HTTP/1.1\r\nHost: h\r\n\r\n');
    await wire.until('first');
    const { length } = wire.text;
    wire.cut();
    expect(await log.until(1)).toEqual([expect.objectContaining({ message: 'Request aborted', status: 200, bytes: length })]);
  });

  test('with its id where it has one', async () => {
    const { port, log } = await serve(routes, { logging: { requestId: true } });
    await ask(port, '/users/1', { headers: { 'x-request-id': 'abc' } });
    expect((await log.until(1))[0]?.reqId).toBe('abc');
  });
});

test('a line is written in no other request\'s async context, nor is an id made there', async () => {
  const users = new Users();
  const log = new AccessRecorder();
  const { info } = log;
  const written: (string | undefined)[] = [];
  Object.assign(log, {
    info(fields: object, message?: string) {
      if (message?.startsWith('Request ') === true) written.push(users.current);
      info(fields, message);
    },
  });
  const app = createServer({ env: 'test', logging: { logger: log, requests: true, requestId: { header: false, generate: () => String(users.current) } } });
  let reached: (name: string) => void = () => undefined;
  const asked = (name: string): Promise<void> => new Promise((resolve) => {
    reached = (which) => { if (which === name) resolve(); };
  });
  const second = asked('second');
  app.get('/first', async (_req, res) => {
    await second;
    res.send('first');
  });
  app.get('/second', (_req, res) => {
    res.send('second');
    reached('second');
  });
  app.get('/left', () => reached('left'));
  const wire = await Wire.open(await running.serve(users.around(app)));
  wire.write(['first', 'second'].map((name) => head(`GET /${name}`, { 'x-user': name })).join(''));
  await log.until(2);
  const left = asked('left');
  wire.write(head('GET /left', { 'x-user': 'left' }));
  await left;
  wire.cut();
  const lines = await log.until(3);
  expect(lines.map(({ message, url, reqId }) => [message, url, reqId])).toEqual([['Request completed', '/first', 'first'], ['Request completed', '/second', 'second'], ['Request aborted', '/left', 'left']]);
  expect(written).toEqual(['first', 'second', 'left']);
});

describe('the bytes are those of the response, head included', () => {
  /** What came over a connection for each target, and what the log says of each. */
  async function compared(register: (app: Application) => void, targets: readonly string[], options: CreateServerOptions = {}, headers = ''): Promise<void> {
    const { port, log } = await serve(register, options);
    const wire = await Wire.open(port);
    const lengths: number[] = [];
    for (const target of targets) {
      const before = log.accesses.length;
      wire.text = '';
      wire.write(`GET ${target} HTTP/1.1\r\nHost: h\r\n${headers}\r\n`);
      await log.until(before + 1);
      // What is written before the line arrives before what is written behind it.
      await ask(port, '/empty');
      await log.until(before + 2);
      await wire.until(/\r\n\r\n/);
      lengths.push(wire.text.length);
    }
    wire.cut();
    expect(log.accesses.filter(({ url }) => url !== '/empty').map(({ bytes }) => bytes)).toEqual(lengths);
  }

  test('of whole answers, chunks, errors and none', () => compared(routes, ['/users/1', '/chunks', '/broken', '/nowhere', '/users/22']));

  test('behind compression as it was sent', () => compared((app) => {
    app.use(compression({ threshold: 0 }));
    routes(app);
    app.get('/long', (_req, res) => res.send('x'.repeat(20_000)));
  }, ['/long', '/users/1'], {}, 'Accept-Encoding: gzip\r\n'));

  test('of pipelined requests each its own', async () => {
    const { port, log } = await serve((app) => {
      routes(app);
      app.get('/later', (_req, res) => void setImmediate(() => res.send('later')));
    });
    const wire = await Wire.open(port);
    const targets = ['/later', '/users/1', '/chunks', '/later', '/users/4444'];
    wire.write(targets.map((target) => `GET ${target} HTTP/1.1\r\nHost: h\r\n\r\n`).join(''));
    await log.until(5);
    await wire.until('4444');
    const parts = wire.text.split(/(?=HTTP\/1\.1 )/);
    expect(log.accesses.map(({ url, bytes }) => [url, bytes])).toEqual(targets.map((target, index) => [target, parts[index]?.length]));
    wire.cut();
  });

  test('over TLS before it is encrypted', async () => {
    const { port, log } = await serve(routes, { server: { https: makeCertificate() } });
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.write('GET /users/1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
    await once(socket, 'close');
    expect((await log.until(1))[0]?.bytes).toBe(text.length);
  });
});

describe('the route is the pattern', () => {
  test('with the paths that its routers and applications are mounted at', async () => {
    const inner = createServer({ logging: { level: 'silent' } });
    inner.get('/things/:thing', (_req, res) => res.end());
    inner.get('/', (_req, res) => res.end());
    const router = Router();
    router.get('/:user', (_req, res) => res.end());
    const { port, log } = await serve((app) => {
      app.use('/:tenant/users', router);
      app.use('/v1', inner);
      app.get(['/a', '/b/:x'], (_req, res) => res.end());
    });
    for (const path of ['/acme/users/7', '/v1/things/3', '/v1/', '/b/1', '/a']) await ask(port, path);
    expect((await log.until(5)).map(({ route }) => route)).toEqual(['/:tenant/users/:user', '/v1/things/:thing', '/v1', '/b/:x', '/a']);
  });

  test('behind error middleware still', async () => {
    const { port, log } = await serve((app) => {
      app.get('/users/:id', () => { throw new Error('inner'); });
      app.use((_error: unknown, _req: unknown, res: ServerResponse, _next: unknown) => {
        res.statusCode = 418;
        res.end();
      });
    });
    await ask(port, '/users/1');
    expect((await log.until(1)).map(({ route, status }) => [route, status])).toEqual([['/users/:id', 418]]);
  });
});

describe('logging.requests', () => {
  async function levelsOf(requests: LoggingOptions['requests'], level: string): Promise<number[]> {
    const lines: { level: number; msg: string }[] = [];
    const logger = pino({ level }, { write: (line: string) => void lines.push(JSON.parse(line) as { level: number; msg: string }) });
    const port = await running.app(routes, { logging: { logger, ...(requests !== undefined && { requests }) } });
    await ask(port, '/users/1');
    await running.close();
    return lines.filter(({ msg }) => msg === 'Request completed').map((line) => line.level);
  }

  test.each([
    [undefined, 'info', []], [undefined, 'debug', [20]], [true, 'info', [30]], [true, 'warn', []], ['warn', 'warn', [40]], ['trace', 'debug', []], [false, 'trace', []],
  ] as const)('%p writes with a logger at %s these levels: %j', async (requests, level, expected) => {
    expect(await levelsOf(requests, level)).toEqual(expected);
  });

  test('adds no listener to a response where it is off, or the level is not written', async () => {
    const counts: number[] = [];
    const logger = pino({ level: 'info' }, { write: () => undefined });
    for (const requests of [false, 'debug', true] as const) {
      const port = await running.app((app) => app.get('/', (_req, res) => {
        counts.push(res.listenerCount('finish') + res.listenerCount('close'));
        res.end();
      }), { logging: { logger, requests } });
      await ask(port, '/');
    }
    expect(counts[1]).toBe(counts[0]);
    expect(counts[2]).toBe(counts[0]! + 2);
  });

  test('of mounted applications has the outermost write, and the inner where the outer does not', async () => {
    for (const [outer, inner, count] of [[true, true, [1, 0]], [false, true, [0, 1]]] as const) {
      const [one, other] = [new AccessRecorder(), new AccessRecorder()];
      const mounted = createServer({ logging: { logger: other, requests: inner } });
      mounted.get('/', (_req, res) => res.end());
      const app = createServer({ logging: { logger: one, requests: outer } });
      app.use('/in', mounted);
      const port = await running.start(app);
      await ask(port, '/in/');
      await Promise.race([one.until(1), other.until(1)]);
      expect([one.accesses.length, other.accesses.length]).toEqual(count);
    }
  });

  test('writes of adopted requests, those that go on to another framework among them', async () => {
    const log = new AccessRecorder();
    const app = createServer({ logging: { logger: log, requests: true } });
    routes(app);
    const outer = connectExpress();
    outer.use(app);
    outer.get('/express', (_req, res) => void res.send('theirs'));
    for (const listener of [createHttpServer(app), createHttpServer(outer)]) await ask(await running.listen(listener), '/users/1');
    await ask((running.servers[1]!.address() as { port: number }).port, '/express');
    expect((await log.until(3)).map(({ url, route, status }) => [url, route, status])).toEqual([['/users/1', '/users/:id', 200], ['/users/1', '/users/:id', 200], ['/express', undefined, 200]]);
  });

  test('writes of injected requests', async () => {
    const log = new AccessRecorder();
    const app = createServer({ logging: { logger: log, requests: true } });
    routes(app);
    await app.inject('/users/1');
    expect((await log.until(1)).map(({ url, route, status }) => [url, route, status])).toEqual([['/users/1', '/users/:id', 200]]);
  });

  test('keeps a logger that throws from harming a request', async () => {
    const log = new LogRecorder();
    Object.assign(log, { info: () => { throw new Error('no'); } });
    const port = await running.app(routes, { logging: { logger: log, requests: true } });
    expect((await ask(port, '/users/1')).body).toBe('1');
  });
});
