import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Duplex, PassThrough, Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import compression from 'compression';
import cookieParser from 'cookie-parser';
import express from 'express';
import fc from 'fast-check';
import morgan from 'morgan';
import multer from 'multer';
import { type Application, createServer, type CreateServerOptions, type InjectOptions, json, Request, Response, Router, signRequest } from 'waypost';
import { makeCertificate } from './support/certificate';
import { LogRecorder, Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const SECRET = 's'.repeat(32);

function silent(options: CreateServerOptions = {}): Application {
  return createServer({ env: 'test', logging: { level: 'silent' }, ...options });
}

/** An application that does most of what an application can do. */
function everything(options: CreateServerOptions = {}): Application {
  const app = silent(options);
  app.use('/zip', compression({ threshold: 0 }));
  app.use('/zip', (_req, res) => void res.type('txt').send('text '.repeat(1000)));
  app.use(cookieParser('secret') as never);
  app.get('/json', (req, res) => res.json({ url: req.url, query: req.query, cookies: req.cookies, ip: req.ip, host: req.get('x-name'), distinct: req.headersDistinct['x-name'] }));
  app.get('/empty', (_req, res) => res.status(204).end('never sent'));
  app.get('/write', (_req, res) => {
    res.write('one ');
    res.write(Buffer.from('two '));
    res.end(() => undefined);
  });
  app.get('/end', (_req, res) => res.set('X-A', ['1', '2']).cookie('a', 'b', { signed: false }).end('äöü', 'latin1'));
  app.get('/raw', (_req, res) => {
    res.writeHead(201, { 'content-type': 'text/plain' });
    res.end('raw');
  });
  app.get('/stream', (_req, res) => void Readable.from(['a', 'b', 'c'.repeat(100_000)]).pipe(res));
  app.get('/big', (_req, res) => res.xJson({ items: Array.from({ length: 20_000 }, (_, id) => ({ id: BigInt(id) })) }));
  app.get('/file', (_req, res) => void res.sendFile(__filename));
  app.get('/fail', () => { throw new Error('inside'); });
  app.get('/twice', (_req, res, next) => { res.send('once'); next(); });
  app.post('/echo', (req, res) => res.json({ body: req.body, raw: req.rawBody?.length, type: req.headers['content-type'] }));
  app.post('/parser', json({ limit: '5mb' }), (req, res) => res.json({ length: (req.body as unknown[]).length }));
  app.post('/pipe', (req, res) => void req.pipe(res));
  app.post('/unread', (_req, res) => res.send('not read'));
  app.post('/upload', multer().any() as never, (req, res) => res.json({ body: req.body, files: (req as unknown as { files: { size: number }[] }).files.map(({ size }) => size) }));
  const inner = silent();
  inner.get('/see', (req, res) => res.json([req.baseUrl, req.app === inner]));
  app.use('/inner', inner);
  const foreign = express().disable('etag');
  foreign.get('/see', (req, res) => { res.json([req.baseUrl, req.app === (foreign as unknown)]); });
  app.use('/express', foreign);
  const router = Router();
  router.get('/:id', (req, res) => res.json(req.params));
  app.use('/router', router);
  app.fallback((req, res) => {
    res.statusCode = 404;
    res.end(`nothing at ${req.url}`);
  });
  return app;
}

/** What of an answer does not depend on the connection. */
function portrait(status: number, headers: object, body: Buffer): unknown {
  const { date: _date, connection: _connection, 'keep-alive': _alive, ...rest } = headers as Record<string, unknown>;
  // An injected answer tells several fields of one name as they were set.
  const told = Object.entries(rest).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]);
  return { status, headers: Object.fromEntries(told), body: body.toString('latin1') };
}

/** Sends one request over a socket and without one; answers what both gave. */
async function same(app: Application, port: number, question: { method?: string; url: string; headers?: Record<string, string>; payload?: string | Buffer }): Promise<{ status: number; body: string }> {
  const { method = 'GET', url, headers = {}, payload } = question;
  const length = payload === undefined ? {} : { 'content-length': String(Buffer.byteLength(payload)) };
  const wire = await ask(port, url, { method, headers: { ...headers, ...length }, ...(payload === undefined ? {} : { body: payload }) });
  const injected = await app.inject({ method: method as 'GET', url, headers, ...(payload === undefined ? {} : { payload }) });
  const expected = portrait(wire.status, wire.headers, wire.bytes);
  expect(portrait(injected.statusCode, injected.headers, injected.rawPayload)).toEqual(expected);
  return expected as { status: number; body: string };
}

describe('an injected request is answered as one over a socket', () => {
  const app = everything();
  let port: number;
  beforeAll(async () => {
    port = await new Running().start(app);
  });
  afterAll(() => app.close({ timeout: 0 }));

  test.each([
    '/json?a=1&b=%C3%A4', '/empty', '/write', '/end', '/raw', '/stream', '/big', '/file', '/fail', '/twice', '/inner/see', '/express/see', '/inner/none', '/express/none', '/router/7', '/router/7.xJson', '/none', '/%zz',
  ])('GET %s', async (url) => {
    await same(app, port, { url });
    await same(app, port, { url, method: 'HEAD' });
  });

  test('with headers, cookies, ranges and conditions', async () => {
    await same(app, port, { url: '/json', headers: { 'x-name': 'Ada', cookie: 'a=b; c=d' } });
    expect((await same(app, port, { url: '/file', headers: { range: 'bytes=0-9' } })).status).toBe(206);
    const { headers } = await app.inject('/file');
    expect((await same(app, port, { url: '/file', headers: { 'if-none-match': String(headers['etag']) } })).status).toBe(304);
    await same(app, port, { url: '/zip', headers: { 'accept-encoding': 'gzip' } });
  });

  test.each<[string, string, string, string | Buffer, Record<string, string>]>([
    ['JSON', '/echo', 'application/json', '{"a":[1,2]}', {}],
    ['broken JSON', '/echo', 'application/json', '{"a":', {}],
    ['a form', '/echo', 'application/x-www-form-urlencoded', 'a=1&a=2', {}],
    ['text', '/echo', 'text/plain', 'some text', {}],
    ['gzip', '/echo', 'application/json', gzipSync('{"a":1}'), { 'content-encoding': 'gzip' }],
    ['too much', '/echo', 'application/json', JSON.stringify('x'.repeat(1_100_000)), {}],
    ['much for a parser of its own', '/parser', 'application/json', JSON.stringify(Array.from({ length: 400_000 }, () => 1.5)), {}],
    ['bytes to be piped', '/pipe', 'application/octet-stream', Buffer.alloc(300_000, 7), {}],
    ['what nobody reads', '/unread', 'application/octet-stream', Buffer.alloc(300_000, 7), {}],
    ['what nothing takes', '/none', 'application/json', '{"a":1}', {}],
  ])('POST of %s', async (_name, url, type, payload, headers) => {
    await same(app, port, { method: 'POST', url, headers: { 'content-type': type, ...headers }, payload });
  });

  test('with any JSON', async () => {
    await fc.assert(fc.asyncProperty(fc.jsonValue(), async (value) => {
      await same(app, port, { method: 'POST', url: '/echo', headers: { 'content-type': 'application/json' }, payload: JSON.stringify(value) });
    }), { numRuns: 40 });
  });
});

describe('inject', () => {
  test('takes a target alone, a query, cookies and data for JSON', async () => {
    const app = everything();
    expect((await app.inject('/json?a=1')).json()).toMatchObject({ query: { a: '1' }, ip: '127.0.0.1' });
    expect((await app.inject({ url: '/json', query: { a: 'ä b' }, cookies: { c: 'd' }, remoteAddress: '192.0.2.1' })).json()).toMatchObject({ query: { a: 'ä b' }, cookies: { c: 'd' }, ip: '192.0.2.1' });
    expect((await app.inject({ method: 'POST', url: '/echo', payload: { a: 1 } })).json()).toMatchObject({ body: { a: 1 } });
  });

  test('takes streams and forms with files', async () => {
    const app = everything();
    const stream = Readable.from([Buffer.from('{"a":'), Buffer.from('1}')]);
    expect((await app.inject({ method: 'POST', url: '/echo', headers: { 'content-type': 'application/json' }, payload: stream })).json()).toMatchObject({ body: { a: 1 }, raw: 7 });
    const form = new FormData();
    form.append('name', 'Ada');
    form.append('file', new Blob([new Uint8Array(100_000)]), 'zeros.bin');
    expect((await app.inject({ method: 'POST', url: '/upload', payload: form as never })).json()).toEqual({ body: { name: 'Ada' }, files: [100_000] });
  });

  test('takes no more of a stream than is read', async () => {
    const app = silent({ body: false });
    let made = 0;
    const payload = Readable.from((function* chunks() {
      for (; made < 1000; made++) yield Buffer.alloc(16_384);
    })());
    app.post('/', async (_req, res) => {
      for (let turn = 0; turn < 500; turn++) await new Promise((resolve) => void setImmediate(resolve));
      res.json(made);
    });
    expect((await app.inject({ method: 'POST', url: '/', payload })).json()).toBeLessThan(100);
  });

  test('gives handlers instances of the application\'s own classes, and of Node\'s', async () => {
    const app = silent();
    const seen: unknown[] = [];
    app.get('/', (req, res) => {
      seen.push(req instanceof Request, req instanceof IncomingMessage, res instanceof Response, res instanceof ServerResponse, req.res === res, res.req === req, req.app === app, res.app === app);
      res.end();
    });
    const { raw } = await app.inject('/');
    expect(seen).toEqual(new Array(8).fill(true));
    expect([raw.req instanceof Request, raw.res instanceof Response]).toEqual([true, true]);
  });

  test('hands the payload on as it comes', async () => {
    const app = silent();
    const more = new PassThrough();
    app.get('/', (_req, res) => { more.pipe(res); });
    const answer = app.inject({ url: '/', payloadAsStream: true });
    more.write('one ');
    const stream = (await answer).stream();
    const [first] = (await once(stream, 'data')) as [Buffer];
    more.end('two');
    expect(String(first) + (await text(stream))).toBe('one two');
  });

  test('checks signatures', async () => {
    const app = silent({ security: { requestSignature: { secret: SECRET } } });
    app.post('/', (req, res) => res.json(req.body));
    const payload = '{"a":1}';
    const request: InjectOptions = { method: 'POST', url: '/', payload, headers: { 'content-type': 'application/json' } };
    expect((await app.inject(request)).statusCode).toBe(401);
    const headers = { ...request.headers, ...signRequest({ secret: SECRET, method: 'POST', url: '/', body: payload }) };
    expect((await app.inject({ ...request, headers })).json()).toEqual({ a: 1 });
    expect((await app.inject({ ...request, headers, payload: '{"a":2}' })).statusCode).toBe(401);
  });

  test('tells the handlers when it is over, once', async () => {
    const app = silent();
    const lines: string[] = [];
    app.use(morgan(':method :url :status :res[content-length]', { stream: { write: (line) => void lines.push(line) } }) as never);
    const events: string[] = [];
    app.get('/', (req, res) => {
      for (const event of ['finish', 'close']) res.on(event, () => events.push(`response ${event}`));
      req.on('close', () => events.push('request close'));
      res.send('four');
    });
    const { raw } = await app.inject('/');
    if (!raw.res.closed) await once(raw.res, 'close');
    expect(events.filter((event) => event.startsWith('response'))).toEqual(['response finish', 'response close']);
    expect(lines).toEqual(['GET / 200 4\n']);
  });

  test('is rejected when the response is cut off, and answers the next', async () => {
    const app = silent();
    app.get('/cut', (_req, res) => void res.destroy());
    app.get('/half', (_req, res) => {
      res.write('half');
      res.destroy(new Error('lost'));
    });
    app.get('/', (_req, res) => res.send('there'));
    await expect(app.inject('/cut')).rejects.toThrow(/destroyed before completion/);
    await expect(app.inject('/half')).rejects.toThrow('lost');
    expect((await app.inject('/')).body).toBe('there');
  });

  test.each<[string, InjectOptions, (res: Response, abort: () => void) => unknown]>([
    ['in its handler', {}, (_res, abort) => abort()],
    ['later', {}, () => undefined],
    ['when its body is there', { method: 'POST', payload: { a: 1 } }, () => undefined],
    ['when its head is out', {}, (res) => res.write('begun')],
  ])('can be aborted: %s', async (_, options, begin) => {
    const app = silent();
    const aborts = new AbortController();
    const gone = new Promise<unknown>((resolve) => {
      app.all('/', (req, res) => {
        const heard = [new Promise((hear) => void req.on('close', hear)), new Promise((hear) => void res.on('close', hear))];
        begin(res, () => aborts.abort());
        resolve(Promise.all(heard));
        setImmediate(() => aborts.abort());
      });
    });
    await expect(app.inject({ ...options, url: '/', signal: aborts.signal })).rejects.toThrow(/abort/);
    await gone;
  });

  test('writing late is logged, as over a socket, and ends nothing', async () => {
    const log = new LogRecorder();
    const app = silent({ logging: { logger: log } });
    app.get('/', (_req, res) => {
      res.send('done');
      res.write('late');
      res.end('later');
    });
    expect((await app.inject('/')).body).toBe('done');
    expect(log.messages('error')).toEqual(['Data was written after the response had ended', 'Data was written after the response had ended']);
  });

  test('keeps trailers', async () => {
    const app = silent();
    app.get('/', (_req, res) => {
      res.writeHead(200, { trailer: 'x-sum' });
      res.write('a');
      res.addTrailers({ 'X-Sum': '1' });
      res.end();
    });
    expect((await app.inject('/')).trailers).toEqual({ 'x-sum': '1' });
  });

  test('is secure where the server would be', async () => {
    const app = silent({ server: { https: makeCertificate() } });
    app.get('/', (req, res) => res.json([req.protocol, req.secure]));
    expect((await app.inject('/')).json()).toEqual(['https', true]);
  });

  test('refuses wrong options', async () => {
    await expect(silent().inject({ method: 'GET' })).rejects.toThrow(/url/);
    await expect(silent().inject({ method: 'NONE' as never, url: '/' })).rejects.toThrow(/allowed values/);
  });

  test('leaves all classes as they were, with and without Express among what is mounted', async () => {
    const app = everything();
    let own: [object, object] | undefined;
    app.get('/mine', (req, res) => {
      own = [Object.getPrototypeOf(req) as object, Object.getPrototypeOf(res) as object];
      res.end();
    });
    await app.inject('/mine');
    const classes = [Request, Response, IncomingMessage, ServerResponse, Readable, Duplex, express.request, express.response, ...own!].map((one) => (typeof one === 'function' ? one.prototype as object : one));
    const shape = (): unknown[] => classes.map((one) => [Object.getPrototypeOf(one), Object.getOwnPropertyDescriptors(one)]);
    const before = shape();
    for (const url of ['/json', '/stream', '/express/see', '/inner/see', '/none']) await app.inject(url);
    await app.inject({ method: 'POST', url: '/echo', payload: { a: 1 } });
    expect(shape()).toEqual(before);
    const [request, response] = own!;
    await app.inject('/mine');
    expect([own![0] === request, own![1] === response]).toEqual([true, true]);
    const port = await running.start(app);
    expect((await ask(port, '/json?a=1')).json).toMatchObject({ query: { a: '1' } });
    expect(await buffer(Readable.from([Buffer.from('x')]))).toEqual(Buffer.from('x'));
  });
});

test('keeps the body of an answer that the framework gives in the place of a handler', async () => {
  const app = silent({ server: { handlerTimeout: 30 } });
  app.get('/', () => new Promise(() => undefined));
  const port = await running.start(app);
  const { status, json: expected } = await ask(port, '/');
  const injected = await app.inject('/');
  expect([injected.statusCode, injected.json()]).toEqual([status, expected]);
});

test('rejects for options that it refuses, as a client may give them to a program that answers many at once', async () => {
  const app = silent();
  app.post('/batch', async (req, res) => {
    const answers: unknown[] = [];
    for (const one of req.body as InjectOptions[]) {
      try {
        answers.push((await app.inject(one)).statusCode);
      } catch (error) {
        answers.push(typeof (error as Error).message);
      }
    }
    res.json(answers);
  });
  app.all('/**', (req, res) => res.json(req.url));
  const port = await running.start(app);
  const batch = async (given: unknown[]): Promise<unknown> => (await ask(port, '/batch', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(given) })).json;
  expect(await batch([{}, 5, null, '', [], { url: '/a' }, { url: '/a', method: 5 }, { url: '/a', method: 'LIST' }, { url: '/a', path: '/b' }, { url: '/a', remoteAddress: 5, authority: {} }]))
    .toEqual(['string', 'string', 'string', 'string', 'string', 200, 'string', 'string', 'string', 'string']);
  const value = fc.oneof(fc.constantFrom<unknown>(null, true, 5, '', '/a', 'x y', 'http://[', 'GET', 'LIST', 'a\r\nb'), fc.constant([]), fc.constant(['a']), fc.constant({}), fc.constant({ pathname: '/p' }), fc.constant({ toString: 1 }), fc.constant({ pipe: 1 }), fc.constant({ then: 1 }));
  const name = fc.constantFrom('url', 'path', 'method', 'headers', 'query', 'cookies', 'payload', 'body', 'authority', 'remoteAddress', 'server', 'signal', 'validate', 'payloadAsStream', 'Request', 'autoStart');
  await fc.assert(fc.asyncProperty(fc.dictionary(name, value, { maxKeys: 5 }), fc.boolean(), async (given, hasUrl) => {
    const [answer] = await batch([hasUrl ? { url: '/a', ...given } : given]) as unknown[];
    expect(['number', 'string']).toContain(answer === 'string' ? answer : typeof answer);
  }), { numRuns: 300 });
});
