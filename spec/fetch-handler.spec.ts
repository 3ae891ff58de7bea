import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import compression from 'compression';
import theirs from 'express';
import fc from 'fast-check';
import { type Application, createServer, type CreateServerOptions, express, type FetchFunction } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { ask, head, post, Wire, stalled } from './support/wire';

const running = new Running();

afterEach(() => running.close());

const MAKERS = [['createServer', createServer], ['express', express]] as const;

async function started(make: typeof createServer, register: (app: Application) => void, options: CreateServerOptions = {}): Promise<{ app: Application; port: number; log: LogRecorder }> {
  const log = new LogRecorder();
  const app = make({ env: 'test', ...options, logging: { logger: log } });
  register(app);
  return { app, port: await running.start(app), log };
}

/** Tells what it was given. */
const echo: FetchFunction = async (request) => Response.json({ method: request.method, url: request.url, body: await request.text(), header: request.headers.get('x-a') });

describe.each(MAKERS)('%s: app.mount', (_name, make) => {
  test('hands the whole request to a function, or to what has fetch', async () => {
    const { port } = await started(make, (app) => app.mount('/a', echo).mount('/b', { fetch: echo as (request: Request) => Promise<Response> }));
    for (const path of ['/a/deep?x=1', '/b', '/a//x%2Fy']) {
      const { status, json } = await ask(port, path, { method: 'PUT', body: 'hello', headers: { host: 'h.test:81', 'x-a': '1', 'content-length': '5' } });
      expect([status, json]).toEqual([200, { method: 'PUT', url: `http://h.test:81${path}`, body: 'hello', header: '1' }]);
    }
    expect((await ask(port, '/c')).status).toBe(404);
  });

  test('goes by what a trusted proxy says of scheme and host', async () => {
    const headers = { 'host': 'inner', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'outer.test' };
    const urls: unknown[] = [];
    for (const trustProxy of ['loopback', false] as const) {
      const { port } = await started(make, (app) => app.mount('/', echo), { server: { trustProxy } });
      urls.push(((await ask(port, '/x', { headers })).json as { url: string }).url);
      urls.push(((await ask(port, '/x', { headers: { ...headers, 'x-forwarded-host': 'a/b', 'x-forwarded-proto': 'javascript' } })).json as { url: string }).url);
    }
    expect(urls).toEqual(['https://outer.test/x', 'http://inner/x', 'http://inner/x', 'http://inner/x']);
  });

  test('whatever host and target are sent, the URL has that host and that path, or the answer is 400', async () => {
    const { port } = await started(make, (app) => app.mount('/', (request) => new Response(request.url)));
    const part = fc.constantFrom('a', '..', '.', '%2e', '%2E%2e', '//', '/', '\\', '@', ':', '?', '#', 'evil.test', '%2f', 'http://', ';', '%');
    await fc.assert(fc.asyncProperty(fc.array(part, { maxLength: 6 }), fc.constantFrom('h.test', 'h.test:1', '[::1]', 'h.test@evil.test', 'h.test/evil', 'h.test#', 'h.test:0x'), async (parts, host) => {
      const target = `/${parts.join('')}`;
      const text = await Wire.tell(port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      const [, status = ''] = /^HTTP\/1.1 (\d+)/.exec(text) ?? [];
      if (status === '400') return;
      expect(status).toBe('200');
      const url = text.slice(text.indexOf('\r\n\r\n') + 4);
      // A `#` begins a fragment, which is no part of the path for anybody.
      expect(url.split('#')[0]).toBe(`http://${host}${target.split('#')[0]}`);
    }), { numRuns: 300 });
  });

  test('answers what a URL would hold as another path by 400: a guard has seen the one that was sent', async () => {
    const { port } = await started(make, (app) => app.use('/api/admin', (_req, res) => void res.status(403).end()).mount('/api', (request) => new Response(request.url)));
    const statuses: number[] = [];
    for (const path of ['/api/x/../admin', '/api/./admin', '/api/x/%2E%2e/admin', '/api/x\\admin', '/api/x/..', '/api/admin', '/api/a..b', '/api/...']) {
      statuses.push(Number(/^HTTP\/1.1 (\d+)/.exec(await Wire.tell(port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`))?.[1]));
    }
    expect(statuses).toEqual([400, 400, 400, 400, 400, 403, 200, 200]);
  });

  test('has headers as middleware has left them, and none for what fetch has no Request for', async () => {
    const { port } = await started(make, (app) => app.use((req, _res, next) => {
      delete req.headers['x-a'];
      next();
    }).mount('/', echo));
    expect((await ask(port, '/', { headers: { 'x-a': 'of the client' } })).json).toMatchObject({ header: null });
    expect((await ask(port, '/', { method: 'TRACE' })).status).toBe(404);
  });

  test('has a body that a parser has captured, and one that nobody has', async () => {
    const { port } = await started(make, (app) => app.use(express.json(), express.urlencoded()).mount('/', echo), { body: false });
    const long = 'x'.repeat(3_000_000);
    expect((await post(port, '/', '{"a":1}')).json).toMatchObject({ body: '{"a":1}' });
    expect((await post(port, '/', long, 'text/plain')).json).toMatchObject({ body: long });
  });

  test('reads no byte before it is asked for: what it leaves is there for others', async () => {
    const { port } = await started(make, (app) => app.mount('/', () => undefined).post('/', async (req, res) => {
      let text = '';
      for await (const chunk of req) text += String(chunk);
      res.send(text);
    }), { body: false });
    expect((await post(port, '/', 'hello', 'text/plain')).body).toBe('hello');
  });

  test('keeps several Set-Cookie, and what middleware has set', async () => {
    const { port } = await started(make, (app) => app.use((_req, res, next) => {
      res.cookie('m', '1').vary('Origin').set('X-A', 'before');
      next();
    }).mount('/', () => new Response('x', { status: 201, statusText: 'Made', headers: [['set-cookie', 'a=1'], ['set-cookie', 'b=2'], ['vary', 'Accept'], ['x-a', 'after']] })));
    const text = await Wire.tell(port, head('GET /', { Connection: 'close' }));
    expect(text.startsWith('HTTP/1.1 201 Made\r\n')).toBe(true);
    const { headers } = await ask(port, '/');
    expect([headers['set-cookie'], headers.vary, headers['x-a'], headers['content-length']]).toEqual([['m=1; Path=/', 'a=1', 'b=2'], 'Origin, Accept', 'after', '1']);
  });

  test('asks the body as fast as the client reads, and cancels it when the client goes', async () => {
    let asked = 0;
    let told: () => void = () => undefined;
    const cancelled = new Promise<void>((resolve) => (told = resolve));
    const { port, log } = await started(make, (app) => app.mount('/', () => new Response(new ReadableStream({
      pull(control) {
        asked++;
        control.enqueue(new Uint8Array(100_000));
      },
      cancel: () => told(),
    }))));
    const wire = await Wire.open(port);
    wire.pause();
    wire.write(head('GET /'));
    await stalled(() => asked);
    expect(asked).toBeLessThan(200);
    wire.cut();
    await cancelled;
    expect(log.messages('error')).toEqual([]);
  });

  test('cancels a body that waits, and aborts the signal, when the client goes', async () => {
    const heard: unknown[] = [];
    let told: () => void = () => undefined;
    const cancelled = new Promise<void>((resolve) => (told = resolve));
    const { port } = await started(make, (app) => app.mount('/', (request) => {
      request.signal.addEventListener('abort', () => heard.push((request.signal.reason as { code: string }).code));
      return new Response(new ReadableStream({ start: (control) => control.enqueue(Buffer.from('first')), cancel: () => told() }));
    }));
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await wire.until('first');
    wire.cut();
    await cancelled;
    expect(heard).toEqual(['CLIENT_GONE']);
  });

  test('an error is one of the request; in a body that has begun it resets the connection', async () => {
    const failing = (before: string[]): ReadableStream => new ReadableStream({
      async pull(control) {
        await wait(1);
        const next = before.shift();
        if (next === undefined) control.error(new Error('of the body'));
        else control.enqueue(Buffer.from(next));
      },
    });
    const { port, log } = await started(make, (app) => {
      app.mount('/throws', () => { throw new Error('thrown'); });
      app.mount('/first', () => new Response(failing([])));
      app.mount('/later', () => new Response(failing(['one', 'two'])));
      app.mount('/wrong', (() => ({})) as never);
      app.mount('/error', () => Response.error());
      app.mount('/used', async () => {
        const response = new Response('a');
        await response.text();
        return response;
      });
    });
    const statuses: number[] = [];
    for (const path of ['/throws', '/first', '/wrong', '/error', '/used']) statuses.push((await ask(port, path)).status);
    expect(statuses).toEqual([500, 500, 500, 500, 500]);
    expect(await Wire.tell(port, head('GET /later'))).toMatch(/one\r\n3\r\ntwo\r\n$/);
    expect(log.messages('error')).toHaveLength(6);
  });

  test('frames by the bytes that there are', async () => {
    const { port } = await started(make, (app) => {
      app.mount('/short', () => new Response('abc', { headers: { 'content-length': '9', 'transfer-encoding': 'gzip', 'connection': 'close' } }));
      app.mount('/none', () => new Response(null, { headers: { 'content-length': '9' } }));
      app.mount('/empty', () => new Response(null, { status: 204 }));
    });
    const wire = await Wire.open(port);
    wire.write(head('GET /short') + head('GET /none') + head('GET /empty') + head('HEAD /short') + head('GET /short'));
    await wire.until(/(?:abc[\s\S]*){2}/);
    const lengths = [...wire.text.matchAll(/content-length: (\d+)/gi)].map(([, length]) => length);
    expect([lengths, /transfer-encoding|connection: close/i.test(wire.text)]).toEqual([['3', '0', '9', '3'], false]);
    wire.cut();
  });

  test('is compressed by compression', async () => {
    const { port } = await started(make, (app) => app.use(compression({ threshold: 0 })).mount('/', () => new Response('long '.repeat(1000))));
    const { headers, bytes } = await ask(port, '/', { headers: { 'accept-encoding': 'gzip' } });
    expect([headers['content-encoding'], bytes.length < 500]).toEqual(['gzip', true]);
  });

  test('a handler that returns nothing leaves the request to what is below', async () => {
    const { port } = await started(make, (app) => app.mount('/', () => undefined).mount(async () => Promise.resolve(null)).get('/x', (_req, res) => res.send('below')));
    expect((await ask(port, '/x')).body).toBe('below');
  });

  test('works in an application in Express', async () => {
    const inner = make({ logging: { level: 'silent' } });
    inner.mount('/b', echo);
    const port = await running.serve(theirs().use('/a', inner as unknown as theirs.Handler));
    expect((await post(port, '/a/b/c', '{}')).json).toMatchObject({ url: `http://127.0.0.1:${port}/a/b/c`, body: '{}' });
  });

  test('throws for what is no fetch handler', () => {
    const app = make({ logging: { level: 'silent' } });
    expect(() => app.mount('/', {} as never)).toThrow('app.mount() needs a function (Request) => Response, or what has it as fetch, got an object');
    expect(() => app.mount('/', make({ logging: { level: 'silent' } }) as never)).toThrow('write app.use(path, application)');
  });

  test('is under a check of signatures', async () => {
    const secret = 's'.repeat(32);
    let calls = 0;
    const { port } = await started(make, (app) => app.mount('/in', () => (calls++, new Response('x'))), { security: { requestSignature: { secret } } });
    expect([(await ask(port, '/in')).status, calls]).toEqual([401, 0]);
  });
});

describe.each(MAKERS)('%s: a Response of a handler', (_name, make) => {
  test('is sent by res.send, and where it is returned', async () => {
    const { port } = await started(make, (app) => {
      app.get('/send', (_req, res) => res.send(new Response('sent', { status: 202 })));
      app.get('/returned', () => new Response('returned'));
      app.get('/resolved', async (_req) => Response.json(await Promise.resolve({ a: 1 })));
      app.use('/middleware', () => new Response('of middleware'));
    });
    const answers = [];
    for (const path of ['/send', '/returned', '/resolved', '/middleware']) {
      const { status, headers, body } = await ask(port, path);
      answers.push([status, headers['content-type'], body]);
    }
    expect(answers).toEqual([[202, 'text/plain;charset=UTF-8', 'sent'], [200, 'text/plain;charset=UTF-8', 'returned'], [200, 'application/json', '{"a":1}'], [200, 'text/plain;charset=UTF-8', 'of middleware']]);
  });

  test('of fetch goes without the coding that fetch has taken off', async () => {
    const upstream = await running.serve((_req, res) => {
      const body = gzipSync('unzipped');
      res.writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Length': body.length, 'X-A': '1' }).end(body);
    });
    const { port } = await started(make, (app) => app.get('/', (req) => fetch(`http://127.0.0.1:${upstream}`, { signal: req.signal })));
    const { headers, body } = await ask(port, '/');
    expect([headers['content-encoding'], headers['x-a'], body]).toEqual([undefined, '1', 'unzipped']);
  });

  test('is not sent behind an answer, nor of a handler that takes next, which may have gone on', async () => {
    const { port, log } = await started(make, (app) => {
      app.get('/answered', (_req, res) => (res.send('answered'), new Response('x')));
      app.get('/next', async (_req, _res, next) => (next(), Promise.resolve(new Response('x'))));
      app.get('/next', (_req, res) => setImmediate(() => res.send('next')));
      app.use((_error: unknown, _req: unknown, res: { end(text: string): void }, _next: unknown) => (res.end('error middleware'), new Response('x')));
      app.get('/later', (_req, res) => void setImmediate(() => res.send('later')));
    });
    expect([(await ask(port, '/answered')).body, (await ask(port, '/next')).body, (await ask(port, '/later')).body, log.messages('error')]).toEqual(['answered', 'next', 'later', []]);
  });
});

describe.each(MAKERS)('%s: app.fetch', (_name, make) => {
  const app = make({ logging: { level: 'silent' }, server: { trustProxy: 'loopback' } });
  app.use(express.json());
  app.post('/echo', (req, res) => void res.status(201).cookie('a', '1').cookie('b', '2').json({ body: req.body, raw: req.rawBody?.toString(), host: req.host, secure: req.secure, ip: req.ip, url: req.url }));
  app.get('/bytes', (_req, res) => res.stream((async function* () {
    for (;;) yield await Promise.resolve(Buffer.alloc(100_000));
  })()));
  app.get('/none', (_req, res) => res.status(204).end());
  app.get('/cut', (_req, res) => void res.write('a', () => res.destroy()));
  app.get('/gone', (_req, res) => void res.destroy());
  app.get('/continue', (_req, res) => {
    res.writeContinue();
    res.end('x');
  });
  app.get('/odd', (_req, res) => res.status(999).end());
  app.post('/unread', (_req, res) => res.send('answered'));

  test('answers a Request without a socket, as a function by itself', async () => {
    const { fetch: answer } = app;
    const response = await answer(new Request('https://h.test:8443/echo?x=1', { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json', 'x-forwarded-for': '192.0.2.1' } }), { remoteAddress: '203.0.113.7' });
    expect([response.status, response.statusText, response.headers.getSetCookie(), response.headers.get('connection'), response.headers.get('transfer-encoding')]).toEqual([201, 'Created', ['a=1; Path=/', 'b=2; Path=/'], null, null]);
    expect(await response.json()).toEqual({ body: { a: 1 }, raw: '{"a":1}', host: 'h.test:8443', secure: true, ip: '203.0.113.7', url: '/echo?x=1' });
    expect((await answer(new Request('http://h/nowhere'))).status).toBe(404);
  });

  test('has no body for HEAD and 204, and leaves interim heads out', async () => {
    const answers = [await app.fetch(new Request('http://h/none')), await app.fetch(new Request('http://h/continue', { method: 'HEAD' })), await app.fetch(new Request('http://h/continue'))];
    expect(await Promise.all(answers.map(async (response) => [response.status, response.body === null, await response.text()]))).toEqual([[204, true, ''], [200, true, ''], [200, false, 'x']]);
  });

  test('streams as fast as the body is read, and closes the response when its reader stops', async () => {
    let made = 0;
    let closed: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => (closed = resolve));
    const own = make({ logging: { level: 'silent' } });
    own.get('/', (req, res) => {
      req.signal.addEventListener('abort', () => closed());
      res.stream((async function* () {
        for (;;) {
          made++;
          yield await Promise.resolve(Buffer.alloc(100_000));
        }
      })());
    });
    const response = await own.fetch(new Request('http://h/'));
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    expect((await reader.read()).done).toBe(false);
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
    expect(made).toBeLessThan(20);
    await reader.cancel();
    await gone;
  });

  test('tells of a response that is cut off, and of a caller that goes', async () => {
    await expect(app.fetch(new Request('http://h/gone'))).rejects.toThrow('The response was cut off');
    await expect((await app.fetch(new Request('http://h/cut'))).text()).rejects.toThrow();
    await expect(app.fetch(new Request('http://h/odd'))).rejects.toThrow('range of 200 to 599');
    const controller = new AbortController();
    let told: (reason: unknown) => void = () => undefined;
    const reason = new Promise((resolve) => (told = resolve));
    const own = make({ logging: { level: 'silent' } });
    own.get('/', (req) => {
      req.signal.addEventListener('abort', () => told((req.signal.reason as { code: string }).code));
      controller.abort();
    });
    await expect(own.fetch(new Request('http://h/', { signal: controller.signal }))).rejects.toThrow();
    expect(await reason).toBe('CLIENT_GONE');
  });

  test('cancels a body that nobody reads', async () => {
    let told: () => void = () => undefined;
    const cancelled = new Promise<void>((resolve) => (told = resolve));
    const body = new ReadableStream({ pull: (control) => control.enqueue(new Uint8Array(1000)), cancel: () => told() });
    const response = await app.fetch(new Request('http://h/unread', { method: 'POST', body, duplex: 'half', headers: { 'content-type': 'x/y' } } as RequestInit));
    expect(await response.text()).toBe('answered');
    await cancelled;
  });

  test('answers what another application mounts', async () => {
    const { port } = await started(make, (outer) => outer.mount('/', (request) => app.fetch(request)));
    expect((await post(port, '/echo', '{"b":2}')).json).toMatchObject({ body: { b: 2 } });
  });
});
