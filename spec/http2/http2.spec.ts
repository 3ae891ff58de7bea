import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, createServer as createHttp2Server, type IncomingHttpHeaders } from 'node:http2';
import { OutgoingMessage } from 'node:http';
import { get as getHttps } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import realExpress from 'express';
import { type Application, createServer, type CreateServerOptions, express, HttpError, type Request, Router, signRequest } from 'waypost';
import { makeCertificate } from '../support/certificate';
import { askHttp2, askOn, openSession } from '../support/http2-client';
import { LogRecorder, portOf, Running } from '../support/running';
import { ask, Wire } from '../support/wire';

const SECRET = 'a secret of thirty-two bytes and more';
const CLEARTEXT = { server: { http2: 'cleartext' } } as const;
const running = new Running();
const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
let session: ClientHttp2Session;

beforeAll(() => writeFileSync(join(folder, 'digits.txt'), '0123456789'.repeat(20_000)));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(async () => {
  session?.destroy();
  await running.close();
});

/** Starts an application without TLS, and a session to it. */
async function start(register: (app: Application) => void, options: CreateServerOptions = {}): Promise<number> {
  const port = await running.app(register, { ...options, server: { ...CLEARTEXT.server, ...options.server } });
  session = await openSession(port);
  return port;
}

/** What came of a stream: its answer, or the code that it was reset by. */
async function outcome(stream: ClientHttp2Stream): Promise<{ status: number | undefined; body: string; code: number }> {
  let [status, body]: [number | undefined, string] = [undefined, ''];
  stream.on('response', (headers: IncomingHttpHeaders & { ':status'?: number }) => (status = headers[':status'])).on('data', (chunk: Buffer) => (body += chunk.toString())).on('error', () => undefined);
  await new Promise((resolve) => void stream.on('close', resolve));
  return { status, body, code: stream.rstCode ?? 0 };
}

describe('the protocol is chosen', () => {
  test('by ALPN, beside HTTP/1.1 on the same port', async () => {
    const { key, cert } = makeCertificate();
    const port = await running.app((app) => app.get('/', (req, res) => res.json([req.httpVersion, req.protocol, req.secure, req.host])), { server: { http2: true, https: { key, cert } } });
    session = connect(`https://localhost:${port}`, { ca: cert });
    expect((await askOn(session, '/')).json).toEqual(['2.0', 'https', true, `localhost:${port}`]);
    const [response] = (await once(getHttps({ port, ca: cert, path: '/', agent: false }), 'response')) as [NodeJS.ReadableStream];
    expect(JSON.parse(await text(response))).toEqual(['1.1', 'https', true, `localhost:${port}`]);
  });

  test('with address and protocol of the client when the answer has gone out', async () => {
    const { key, cert } = makeCertificate();
    const read = (req: Request): unknown[] => [req.ip, req.protocol, req.secure, req.host];
    const seen: unknown[][] = [];
    let tell = (): void => undefined;
    const port = await running.app((app) => app.get('/', (req, res) => {
      for (const event of ['finish', 'close']) res.on(event, () => seen.push(read(req)));
      res.on('close', () => tell());
      res.send('x');
    }), { server: { http2: true, https: { key, cert }, trustProxy: 'loopback' } });
    session = connect(`https://127.0.0.1:${port}`, { ca: cert, servername: 'localhost' });
    for (const [headers, wanted] of [[{}, ['127.0.0.1', 'https', true, `localhost:${port}`]], [{ 'x-forwarded-for': '192.0.2.1', 'x-forwarded-host': 'a.example' }, ['192.0.2.1', 'https', true, 'a.example']]] as const) {
      const closed = new Promise<void>((resolve) => (tell = resolve));
      await askOn(session, '/', { headers });
      await closed;
      expect(seen.splice(0)).toEqual([wanted, wanted]);
    }
  });

  test('by the first bytes, however they come, beside HTTP/1.1 on the same port', async () => {
    const port = await start((app) => app.all('/', (req, res) => res.json([req.httpVersion, req.protocol, req.secure, req.ip, req.body ?? null])));
    expect((await askOn(session, '/')).json).toEqual(['2.0', 'http', false, '127.0.0.1', null]);
    expect((await ask(port, '/')).json).toEqual(['1.1', 'http', false, '127.0.0.1', null]);
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}';
    for (const first of [1, 2, 40]) {
      const wire = await Wire.open(port);
      wire.write(head.slice(0, first));
      await wire.flushed();
      wire.write(head.slice(first));
      await wire.end;
      expect(wire.text).toContain('["1.1","http",false,"127.0.0.1",{}]');
    }
    const socket = connectTcp(port, '127.0.0.1');
    for (const byte of Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')) await new Promise((sent) => socket.write(Buffer.of(byte), sent));
    socket.write(Buffer.from('000000040000000000', 'hex'));
    const [settings] = (await once(socket, 'data')) as [Buffer];
    expect(settings[3]).toBe(4);
    socket.destroy();
  });

  test('by a server of Node that calls the application', async () => {
    for (const app of [createServer(), express()]) {
      app.get('/:id', (req, res) => res.status(201).json({ id: req.params['id'], version: req.httpVersion, is: [req.get('Host') !== undefined, Object.keys(req.headers).every((name) => !name.startsWith(':'))] }));
      const server = createHttp2Server(app as never);
      await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
      const { status, json } = await askHttp2((server.address() as { port: number }).port, '/7');
      expect([status, json]).toEqual([201, { id: '7', version: '2.0', is: [true, true] }]);
      await new Promise((resolve) => void server.close(resolve));
    }
  });
});

describe('requests', () => {
  test('have the fields of HTTP/1.1, and none of a colon', async () => {
    await start((app) => app.get('/p', (req, res) => res.json({ ...req.headers, raw: req.rawHeaders, url: req.url, method: req.method, target: req.originalUrl, distinct: req.headersDistinct })));
    const { json } = await askOn(session, '/p?q=1', { headers: { host: 'way.example', 'x-a': '1', cookie: ['a=1', 'b=2'] as never } });
    expect(json).toEqual({ host: 'way.example', 'x-a': '1', cookie: 'a=1; b=2', raw: ['host', 'way.example', 'x-a', '1', 'cookie', 'a=1; b=2'], url: '/p?q=1', method: 'GET', target: '/p?q=1', distinct: { host: ['way.example'], 'x-a': ['1'], cookie: ['a=1; b=2'] } });
  });

  test('whose Host and :authority differ are refused', async () => {
    await start((app) => app.get('/', (_req, res) => res.send('reached')));
    const stream = session.request({ ':path': '/', ':authority': 'a.example', host: 'b.example' });
    expect(await outcome(stream)).toMatchObject({ status: 400 });
    expect(await outcome(session.request({ ':path': '/', ':authority': 'a.example', host: 'a.example' }))).toMatchObject({ status: 200 });
    // From Node 22 on nghttp2 resets the stream before.
    expect((await outcome(session.request({ ':path': '/', ':authority': 'user@a.example' }))).body).not.toBe('reached');
  });

  test.each<[string, string | Buffer, Record<string, string>, unknown]>([
    ['JSON', '{"a":1}', { 'content-type': 'application/json' }, { a: 1 }],
    ['a form', 'a=1&b=2', { 'content-type': 'application/x-www-form-urlencoded' }, { a: '1', b: '2' }],
    ['gzip', gzipSync('{"a":1}'), { 'content-type': 'application/json', 'content-encoding': 'gzip' }, { a: 1 }],
  ])('with a body of %s are parsed, with and without a length, and left readable', async (_name, body, headers, parsed) => {
    await start((app) => app.post('/', async (req, res) => {
      const read = await text(req);
      res.json({ body: req.body as unknown, raw: req.rawBody?.toString('latin1') === Buffer.from(body).toString('latin1'), read: read.length > 0, chunked: req.get('Transfer-Encoding') });
    }));
    for (const length of [undefined, String(Buffer.byteLength(body))]) {
      const { json } = await askOn(session, '/', { method: 'POST', body, headers: { ...headers, ...(length === undefined ? {} : { 'content-length': length }) } });
      expect(json).toEqual({ body: parsed, raw: true, read: true, ...(length === undefined ? { chunked: 'chunked' } : {}) });
    }
  });

  test('that are too large are answered by 413, announced or not, and the session lives on', async () => {
    await start((app) => app.post('/', (_req, res) => res.send('reached')), { body: { limit: 100_000 } });
    for (const length of [{}, { 'content-length': '300000' }]) {
      const stream = session.request({ ':path': '/', ':method': 'POST', 'content-type': 'application/json', ...length });
      stream.on('error', () => undefined).end(JSON.stringify('x'.repeat(299_998)));
      const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }];
      expect([headers[':status'], JSON.parse(await text(stream))]).toEqual([413, { error: 'Payload Too Large', message: 'The request body is larger than the limit' }]);
    }
    expect((await askOn(session, '/', { method: 'POST' })).body).toBe('reached');
  });

  test('whose client leaves before the body is in reach no handler, and fail who reads them', async () => {
    const heard: unknown[] = [];
    let tell = (): void => undefined;
    const told = new Promise<void>((resolve) => (tell = resolve));
    await start((app) => {
      app.post('/parsed', () => void heard.push('reached'));
      app.post('/read', (req) => {
        req.resume().on('error', (error: NodeJS.ErrnoException) => heard.push(error.code)).on('end', () => heard.push('end')).on('close', tell);
      });
    });
    for (const [path, type] of [['/parsed', 'application/json'], ['/read', 'video/mp4']]) {
      const stream = session.request({ ':path': path, ':method': 'POST', 'content-type': type });
      // A whole body, but for its end.
      await new Promise((sent) => stream.on('error', () => undefined).write('{"a":1}', sent));
    }
    await new Promise((answered) => void session.ping(answered as () => void));
    // By `close` of a stream Node's client would end it.
    session.destroy();
    await told;
    expect(heard).toEqual(['ECONNRESET']);
  });

  test.each<[string, (req: Request) => Promise<unknown>]>([
    ['a loop that throws', async (req) => {
      for await (const chunk of req) throw new HttpError(413, 'OF_THE_PROGRAM', `too much: ${(chunk as Buffer).length > 0}`);
    }],
    ['a loop that breaks', async (req) => {
      for await (const _ of req) break;
      throw new HttpError(413, 'OF_THE_PROGRAM', 'too much: true');
    }],
    ['a pipeline that fails', (req) => pipeline(req, new Writable({ write: (_chunk, _encoding, done) => done(new HttpError(413, 'OF_THE_PROGRAM', 'too much: true')) }))],
  ])('that %s leaves are answered, as over HTTP/1.1', async (_how, read) => {
    const port = await start((app) => app.put('/', async (req) => read(req)), { body: false });
    const body = Buffer.alloc(1_000_000, 'x');
    const expected = { status: 413, json: { error: 'Payload Too Large', message: 'too much: true' } };
    expect(await ask(port, '/', { method: 'PUT', body })).toMatchObject(expected);
    const stream = session.request({ ':method': 'PUT', ':path': '/' });
    const answered = outcome(stream);
    stream.write(body);
    const { status, body: told, code } = await answered;
    expect([status, JSON.parse(told), code]).toEqual([413, expected.json, constants.NGHTTP2_NO_ERROR]);
    expect((await askOn(session, '/none')).status).toBe(404);
  });

  test('with Expect: 100-continue are told to go on', async () => {
    await start((app) => app.post('/', (req, res) => res.json(req.body)));
    const stream = session.request({ ':path': '/', ':method': 'POST', 'content-type': 'application/json', expect: '100-continue' });
    await once(stream, 'continue');
    stream.end('[1]');
    expect(await text(stream)).toBe('[1]');
  });

  test.each([['1', {}], ['2', { version: 2 }]] as const)('are checked by signatures of version %s over path and authority', async (_name, version) => {
    const port = await start((app) => app.post('/orders/:id', (req, res) => res.json(req.body)), { security: { requestSignature: { secret: SECRET, ...version } } });
    const body = '{"a":1}';
    const sign = (path: string) => signRequest({ secret: SECRET, method: 'POST', url: `http://127.0.0.1:${port}${path}`, body, ...version, ...('version' in version ? { headers: { 'Content-Type': 'application/json' } } : {}) });
    const send = (path: string, fields: object) => askOn(session, path, { method: 'POST', body, headers: { 'content-type': 'application/json', ...fields } });
    expect((await send('/orders/1?q=%20', sign('/orders/1?q=%20'))).json).toEqual({ a: 1 });
    expect((await send('/orders/2', sign('/orders/1'))).status).toBe(401);
    expect((await send('/orders/1', {})).status).toBe(401);
  });
});

describe('responses', () => {
  test('drop what HTTP/2 forbids, in silence', async () => {
    const warned: unknown[] = [];
    const hear = (warning: Error): void => void warned.push(warning.message);
    process.on('warning', hear);
    const fields = { Connection: 'close', 'Keep-Alive': 'timeout=5', 'Transfer-Encoding': 'chunked', Upgrade: 'h2c', 'X-A': '1' };
    await start((app) => {
      app.get('/set', (_req, res) => {
        res.statusMessage = 'Fine';
        res.set(fields).appendHeader('Connection', 'x').send(res.statusMessage);
      });
      app.get('/head', (_req, res) => void res.writeHead(200, 'Fine', fields).end('head'));
      app.get('/list', (_req, res) => void res.writeHead(200, Object.entries(fields).flat()).end('list'));
    });
    for (const path of ['/set', '/head', '/list']) {
      const { headers, body } = await askOn(session, path);
      expect(Object.keys(headers).filter((name) => !['content-length', 'content-type', 'date', 'x-a'].includes(name))).toEqual([]);
      expect([headers['x-a'], body]).toEqual(['1', path === '/set' ? '' : path.slice(1)]);
    }
    await new Promise((resolve) => void setImmediate(resolve));
    process.off('warning', hear);
    expect(warned).toEqual([]);
  });

  test('take the fields that packages set by OutgoingMessage.prototype', async () => {
    const { appendHeader, getHeader, hasHeader, removeHeader, setHeader } = OutgoingMessage.prototype;
    await start((app) => app.get('/', (_req, res) => {
      setHeader.call(res, 'Set-Cookie', ['a=1']);
      appendHeader.call(res, 'Set-Cookie', 'b=2');
      setHeader.call(res, 'X-Gone', '1');
      removeHeader.call(res, 'X-Gone');
      setHeader.call(res, 'Connection', 'close');
      res.json([hasHeader.call(res, 'set-cookie'), hasHeader.call(res, 'x-gone'), getHeader.call(res, 'Set-Cookie'), res.get('Set-Cookie')]);
    }));
    const { headers, json } = await askOn(session, '/');
    expect([headers['set-cookie'], headers['x-gone'], headers['connection']]).toEqual([['a=1', 'b=2'], undefined, undefined]);
    expect(json).toEqual([true, false, ['a=1', 'b=2'], ['a=1', 'b=2']]);
  });

  test('have early hints, trailers, and no body where there is none', async () => {
    await start((app) => {
      app.get('/hints', (_req, res) => {
        res.writeEarlyHints({ link: '</a.css>; rel=preload' });
        res.send('ok');
      });
      app.get('/trailers', (_req, res) => {
        res.write('a');
        res.addTrailers({ 'x-t': '1' });
        res.end('b');
      });
      for (const status of [204, 205, 304]) app.get(`/${status}`, (_req, res) => void res.status(status).end('dropped'));
      app.get('/head', (_req, res) => res.send('body'));
    });
    const hints = session.request({ ':path': '/hints' });
    const [early] = (await once(hints, 'headers')) as [IncomingHttpHeaders & { ':status'?: number }];
    expect([early[':status'], early['link'], await text(hints)]).toEqual([103, '</a.css>; rel=preload', 'ok']);
    const trailers = session.request({ ':path': '/trailers' });
    const sent = once(trailers, 'trailers') as Promise<[IncomingHttpHeaders]>;
    expect([await text(trailers), (await sent)[0]['x-t']]).toEqual(['ab', '1']);
    for (const status of [204, 205, 304]) expect(await outcome(session.request({ ':path': `/${status}` }))).toEqual({ status, body: '', code: 0 });
    const { headers, body } = await askOn(session, '/head', { method: 'HEAD' });
    expect([headers['content-length'], body]).toEqual(['4', '']);
  });

  test('of large data, files, ranges and streams are whole', async () => {
    const rows = Array.from({ length: 50_000 }, (_, id) => ({ id: BigInt(id) }));
    await start((app) => {
      app.get('/rows', (_req, res) => res.xJson(rows));
      app.get('/file', (_req, res) => res.sendFile(join(folder, 'digits.txt')));
      app.get('/stream', (_req, res) => res.stream((async function* () { for (let i = 0; i < 100; i++) yield await Promise.resolve('x'.repeat(10_000)); })()));
      app.get('/fetch', () => new globalThis.Response('hello', { headers: { 'X-A': '1' } }));
    });
    const large = await askOn(session, '/rows');
    expect([large.headers['content-length'], (large.json as unknown[]).length]).toEqual([String(large.bytes.length), 50_000]);
    expect((await askOn(session, '/file')).bytes).toHaveLength(200_000);
    const range = await askOn(session, '/file', { headers: { range: 'bytes=15-24' } });
    expect([range.status, range.body, range.headers['content-range']]).toEqual([206, '5678901234', 'bytes 15-24/200000']);
    expect((await askOn(session, '/stream')).bytes).toHaveLength(1_000_000);
    expect(await askOn(session, '/fetch')).toMatchObject({ status: 200, headers: { 'x-a': '1', 'content-length': '5' } });
  });

  test('that are cut off are no whole ones, and errors are answered', async () => {
    await start((app) => {
      app.get('/cut', (_req, res) => {
        res.write('part');
        setImmediate(() => res.destroy());
      });
      app.get('/late', (_req, res) => {
        res.write('part');
        throw new Error('too late');
      });
      app.get('/thrown', () => { throw new Error('inside'); });
    });
    for (const path of ['/cut', '/late']) expect((await outcome(session.request({ ':path': path }))).code).toBe(constants.NGHTTP2_INTERNAL_ERROR);
    expect(await askOn(session, '/thrown')).toMatchObject({ status: 500 });
    expect(await askOn(session, '/none')).toMatchObject({ status: 404 });
  });

  test('end once: what is written later is logged, and the stream stays whole', async () => {
    const log = new LogRecorder();
    await start((app) => app.get('/', (_req, res) => {
      res.end('whole');
      res.write('more');
      res.end('more');
    }), { logging: { logger: log } });
    expect((await askOn(session, '/')).body).toBe('whole');
    await new Promise((resolve) => void setImmediate(resolve));
    expect(log.messages('error')).toContain('Data was written after the response had ended');
  });

  test('of events come one by one, and end with the client', async () => {
    let [returned, gone] = [(): void => undefined, (): void => undefined];
    const [hasReturned, isGone] = [new Promise<void>((resolve) => (returned = resolve)), new Promise<unknown>((resolve) => (gone = resolve as () => void))];
    await start((app) => app.get('/events', (req, res) => {
      req.signal.addEventListener('abort', () => (gone as (reason: unknown) => void)(req.signal.reason));
      res.events((async function* () {
        try {
          for (let id = 0; ; id++) yield await Promise.resolve({ id });
        } finally {
          returned();
        }
      })());
    }));
    const stream = session.request({ ':path': '/events' });
    const [chunk] = (await once(stream, 'data')) as [Buffer];
    expect(chunk.toString()).toContain('data: {"id":0}\n\n');
    stream.close(constants.NGHTTP2_CANCEL);
    await hasReturned;
    expect(await isGone).toMatchObject({ code: 'CLIENT_GONE' });
  });
});

describe('an application', () => {
  test('logs each request, and gives its own prototypes, mounted ones and those of Express included', async () => {
    const log = new LogRecorder();
    const inner: Application = createServer({ logging: { level: 'silent' } });
    inner.get('/who', (req, res) => res.json([req.baseUrl, res.app === inner]));
    const foreign = realExpress().get('/who', (req, res) => void res.json([req.baseUrl, req.url, req.get('host') !== undefined]));
    const router = Router();
    router.get('/who', (req, res) => res.json([req.baseUrl]));
    await start((app) => {
      Object.assign(app.response, { shout(this: { send(text: string): void }, words: string) { this.send(words.toUpperCase()); } });
      app.use('/inner', inner).use('/express', foreign as never).use('/router', router);
      app.post('/body', (req, res) => res.json([req.body, typeof req.id, req.log !== undefined]));
      app.get('/own', (_req, res) => (res as unknown as { shout(words: string): void }).shout('loud'));
    }, { logging: { logger: log, requests: 'info', requestId: true } });
    expect([(await askOn(session, '/inner/who')).json, (await askOn(session, '/express/who')).json, (await askOn(session, '/router/who')).json]).toEqual([['/inner', true], ['/express', '/who', true], ['/router']]);
    expect((await askOn(session, '/express/none')).status).toBe(404);
    expect((await askOn(session, '/own')).body).toBe('LOUD');
    expect((await askOn(session, '/body', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })).json).toEqual([{}, 'string', true]);
    expect(log.messages('info').filter((message) => message.startsWith('Request '))).toEqual(Array(6).fill('Request completed'));
    expect(log.lines.filter(({ message }) => message === 'Request completed').map(({ fields }) => [fields['url'], fields['status']])).toEqual([['/inner/who', 200], ['/express/who', 200], ['/router/who', 200], ['/express/none', 404], ['/own', 200], ['/body', 200]]);
  });

  test('tells followers what happens to each request', async () => {
    const heard: string[] = [];
    const listeners = ['request:start', 'request:route', 'request:body', 'handler:start', 'request:end'].map((name) => {
      const listener = (message: unknown): void => void heard.push(`${name} ${String((message as { aborted?: boolean }).aborted)}`);
      subscribe(`waypost:${name}`, listener);
      return [`waypost:${name}`, listener] as const;
    });
    await start((app) => app.post('/', (req, res) => res.json(req.body)));
    expect((await askOn(session, '/', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })).json).toEqual({});
    for (const [name, listener] of listeners) unsubscribe(name, listener);
    expect(heard).toEqual(['request:start undefined', 'request:route undefined', 'request:body undefined', 'handler:start undefined', 'request:end false']);
  });

  test('answers 503 for a handler that takes too long', async () => {
    await start((app) => app.get('/', () => new Promise(() => undefined)), { server: { handlerTimeout: 20 } });
    expect((await askOn(session, '/')).status).toBe(503);
  });

  test('resets streams whose client takes nothing, and those whose body never ends; the session lives on', async () => {
    await start((app) => {
      app.get('/large', (_req, res) => res.send(Buffer.alloc(1_000_000)));
      app.post('/slow', (req, res) => void req.resume().on('end', () => res.send('end')));
      app.get('/', (_req, res) => res.send('here'));
    }, { server: { writeTimeout: 40, requestTimeout: 40, headersTimeout: 40 } });
    const large = session.request({ ':path': '/large' });
    large.pause();
    const slow = session.request({ ':path': '/slow', ':method': 'POST' });
    slow.write('a');
    const codes = await Promise.all([large, slow].map((stream) => new Promise((resolve) => void stream.on('error', () => undefined).on('close', () => resolve(stream.rstCode)))));
    expect(codes).toEqual([constants.NGHTTP2_CANCEL, constants.NGHTTP2_CANCEL]);
    expect((await askOn(session, '/')).body).toBe('here');
  });

  test('closes: it answers what has begun, tells the session, and waits for no idle one', async () => {
    let finish = (): void => undefined;
    const app = createServer({ logging: { level: 'silent' }, ...CLEARTEXT }).get('/', (_req, res) => { finish = () => void res.send('answered'); });
    const port = portOf(await app.start(0, '127.0.0.1'));
    const [busy, idle] = [await openSession(port), await openSession(port)];
    const [isGone, isIdleGone] = [once(busy, 'goaway'), once(idle, 'goaway')];
    const answered = askOn(busy, '/');
    await new Promise((resolve) => busy.ping(resolve as () => void));
    const closed = app.close();
    await Promise.all([isGone, isIdleGone]);
    finish();    expect((await answered).body).toBe('answered');
    await closed;
  });

  test('closes: at the deadline it cuts off, and tells the handlers', async () => {
    let reason: unknown;
    const app = createServer({ logging: { level: 'silent' }, ...CLEARTEXT }).get('/', (req) => void req.signal.addEventListener('abort', () => (reason = req.signal.reason)));
    session = await openSession(portOf(await app.start(0, '127.0.0.1')));
    const over = outcome(session.request({ ':path': '/' }));
    await new Promise((resolve) => session.ping(resolve as () => void));
    await app.close({ timeout: 20 });
    expect(await over).toMatchObject({ status: undefined });
    expect(reason).toMatchObject({ code: 'SERVER_CLOSING' });
  });

  test.each<[unknown, string]>([
    [{ http2: true }, "server.http2 needs server.https: give it key and cert, or write http2: 'cleartext'"],
    [{ http2: 'h2c' }, 'server.http2 must be true, \'cleartext\', false or an object of options, got "h2c"'],
    [{ http2: 2 }, "server.http2 must be true, 'cleartext', false or an object of options, got 2"],
    [{ http2: { cleartext: true, maxConcurrentStreams: 0 } }, 'server.http2.maxConcurrentStreams must be an integer from 1 to 4294967295, got 0'],
    [{ http2: { cleartext: true, idleTimeout: -1 } }, 'server.http2.idleTimeout must be an integer of milliseconds from 0 to 2147483647, got -1'],
  ])('refuses %j', (server, message) => {
    expect(() => createServer({ server } as never)).toThrow(new TypeError(message));
  });

  test('refuses cleartext beside TLS, and warns of an unknown limit', () => {
    const { key, cert } = makeCertificate();
    expect(() => createServer({ server: { http2: 'cleartext', https: { key, cert } } })).toThrow('server.http2 is cleartext, and server.https asks for TLS: write http2: true');
    const log = new LogRecorder();
    createServer({ logging: { logger: log }, server: { http2: { cleartext: true, maxStreams: 3 } as never } });
    expect(log.messages('warn')).toEqual([expect.stringContaining('unknown option "server.http2.maxStreams"')]);
  });
});
