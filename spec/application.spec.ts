import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener, Server } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import express from 'express';
import { type Application, createServer, type CreateServerOptions, Request, Response } from 'waypost';
import { FROM_LIB } from './support/child-program';
import { LogRecorder, portOf, Running } from './support/running';
import { ask, head, post, Wire } from './support/wire';

const running = new Running();
const SILENT = { env: 'test', logging: { level: 'silent' } } as const;

afterEach(() => running.close());

/** A silent application that answers `GET /` with its name. */
function named(name: string, options: CreateServerOptions = {}): Application {
  const app = createServer({ ...SILENT, ...options });
  app.get('/', (_req, res) => res.send(name));
  return app;
}

async function taken(): Promise<number> {
  return running.serve((_req, res) => res.end('other'));
}

describe('createServer', () => {
  test('throws at once for a wrong value, naming the option and what it must be', () => {
    expect(() => createServer({ security: { requestSignature: { secret: '' } } })).toThrow(
      /^security\.requestSignature\.secret must be a non-empty string/,
    );
    expect(() => createServer({ body: { limit: -1 } })).toThrow(/^body\.limit must be /);
    expect(() => createServer(7 as never)).toThrow(TypeError);
  });

  test('takes an unknown key, and warns of it with the nearest known one', () => {
    const logger = new LogRecorder();
    createServer({ logging: { logger }, rooting: {}, server: { hots: 'x' } } as CreateServerOptions);
    expect(logger.messages('warn')).toEqual([
      expect.stringMatching(/unknown option "rooting".*"routing"/),
      expect.stringMatching(/unknown option "server\.hots".*"server\.host"/),
    ]);
  });

  test.each([
    { security: { requestSignatur: { secret: 'x'.repeat(32) } } },
    { security: { requestSignature: { secret: 'x'.repeat(32), maxAgee: 5 } } },
    { security: { requestSignature: { secret: 'x'.repeat(32) }, routeConfig: { requestSignature: { includeRoute: ['/a'] } } } },
  ])('does not start with a misspelt guard: %j', (options) => {
    expect(() => createServer(options as CreateServerOptions)).toThrow(/did you mean/);
  });

  test('needs no options, and makes applications that share nothing', async () => {
    const one = named('one');
    const two = named('two');
    one.get('/only', (_req, res) => res.end());
    const [first, second] = [await running.start(one), await running.start(two)];
    expect([(await ask(first, '/')).body, (await ask(second, '/')).body]).toEqual(['one', 'two']);
    expect((await ask(second, '/only')).status).toBe(404);
    expect(typeof createServer()).toBe('function');
  });
});

describe('the application as a request listener', () => {
  test('of http.createServer', async () => {
    const app = named('listener');
    app.get('/x', (req, res) => res.xJson({ big: 1n, path: req.path, query: req.query }));
    const port = await running.serve(app);
    expect((await ask(port, '/')).body).toBe('listener');
    expect((await ask(port, '/x?a=1')).json).toEqual({ big: '1', path: '/x', query: { a: '1' } });
    expect((await ask(port, '/none')).status).toBe(404);
  });

  test('called with req and res', async () => {
    const app = named('called');
    const port = await running.serve((req, res) => app(req, res));
    expect((await ask(port, '/')).body).toBe('called');
  });

  test('calls next when it has nothing for the request', async () => {
    const app = named('called');
    const port = await running.serve((req, res) => app(req, res, (error) => res.end(error === undefined ? 'unmatched' : String(error))));
    expect((await ask(port, '/')).body).toBe('called');
    expect((await ask(port, '/none')).body).toBe('unmatched');
  });

  test('calls next with an error that nothing took', async () => {
    const app = named('called');
    app.get('/broken', () => {
      throw new Error('broken');
    });
    const port = await running.serve((req, res) => app(req, res, (error) => res.end(String(error))));
    expect((await ask(port, '/broken')).body).toBe('Error: broken');
  });

  test('refuses what is no request, saying what it is for', () => {
    expect(() => named('x')({} as never, {} as never)).toThrow(/http\.createServer/);
  });
});

describe('start', () => {
  test('without arguments takes server.port and server.host', async () => {
    const app = named('a', { server: { port: 0, host: '127.0.0.1' } });
    const server = await app.start();
    expect(server).toBeInstanceOf(Server);
    expect(server.address()).toMatchObject({ address: '127.0.0.1' });
    expect((await ask(portOf(server), '/')).body).toBe('a');
    await app.close();
  });

  test('takes PORT where no port is given, and server.port before it', async () => {
    const kept = process.env['PORT'];
    const free = await taken();
    await running.close();
    process.env['PORT'] = String(free);
    try {
      const app = named('a', { server: { host: '127.0.0.1' } });
      expect(portOf(await app.start())).toBe(free);
      // While that one listens: a port that is free again may be given out at once.
      const other = named('b', { server: { port: 0, host: '127.0.0.1' } });
      expect(portOf(await other.start())).not.toBe(free);
      await other.close();
      await app.close();
    } finally {
      if (kept === undefined) delete process.env['PORT'];
      else process.env['PORT'] = kept;
    }
  });

  const FORMS: Record<string, (app: Application, callback?: (error?: unknown) => void) => Promise<Server>> = {
    '(port)': (app, callback) => app.start(0, callback) as Promise<Server>,
    '(port, host)': (app, callback) => app.start(0, '127.0.0.1', callback) as Promise<Server>,
    '({port, host})': (app, callback) => app.start({ port: 0, host: '127.0.0.1' }, callback) as Promise<Server>,
    '()': (app, callback) => app.start(callback) as Promise<Server>,
  };

  test.each(Object.keys(FORMS))('%s listens, with and without a last callback', async (form) => {
    for (const callback of [undefined, jest.fn()]) {
      const app = named('here', { server: { port: 0 } });
      const server = await FORMS[form]?.(app, callback) as Server;
      expect(server.listening).toBe(true);
      expect(app.server).toBe(server);
      if (callback !== undefined) expect(callback.mock.calls).toEqual([[]]);
      if (form.includes('host')) expect(server.address()).toMatchObject({ address: '127.0.0.1' });
      expect((await ask(portOf(server), '/')).body).toBe('here');
      await app.close();
    }
  });

  test('rejects with the system error for a port in use, and succeeds later', async () => {
    const app = named('late');
    await expect(app.start(await taken(), '127.0.0.1')).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(app.server).toBeNull();
    expect((await ask(await running.start(app), '/')).body).toBe('late');
  });

  test('gives the callback the error too', async () => {
    const app = named('late');
    const port = await taken();
    const callback = jest.fn();
    await expect(app.start(port, '127.0.0.1', callback)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(callback.mock.calls).toEqual([[expect.objectContaining({ code: 'EADDRINUSE' })]]);
  });

  test('with a callback leaves no rejection unhandled', async () => {
    const app = named('late');
    const port = await taken();
    const error = await new Promise((resolve) => void app.start(port, '127.0.0.1', resolve));
    expect(error).toMatchObject({ code: 'EADDRINUSE' });
    // Jest fails a test in which a rejection comes out unhandled; by the next turn it has.
    await new Promise(setImmediate);
  });

  test('a second time while it runs rejects, and leaves the first alone', async () => {
    const app = named('one');
    const port = await running.start(app);
    await expect(app.start(0)).rejects.toThrow(/running already/);
    expect((await ask(port, '/')).body).toBe('one');
  });

  test.each([-1, 65_536, 1.5, 'abc', NaN])('refuses the port %p, naming it', async (port) => {
    await expect((async () => named('x').start(port as number))()).rejects.toThrow(/port must be an integer from 0 to 65535/);
  });

  test('works again after close', async () => {
    const app = named('again');
    await running.start(app);
    await app.close();
    expect((await ask(await running.start(app), '/')).body).toBe('again');
  });

  test('takes routes registered while the server runs', async () => {
    const app = named('a');
    const port = await running.start(app);
    expect((await ask(port, '/later')).status).toBe(404);
    app.get('/later', (_req, res) => res.send('now'));
    expect((await ask(port, '/later')).body).toBe('now');
  });
});

describe('listen', () => {
  test('answers the server at once', async () => {
    const app = named('listen');
    const server = app.listen(0, '127.0.0.1');
    expect(server).toBeInstanceOf(Server);
    expect(app.server).toBe(server);
    await once(server, 'listening');
    expect((await ask(portOf(server), '/')).body).toBe('listen');
    await app.close();
  });

  test('calls back when it listens', async () => {
    const app = named('listen');
    let server: ReturnType<Application['listen']> | undefined;
    await new Promise<void>((resolve) => {
      server = app.listen(0, () => resolve());
    });
    expect(server?.listening).toBe(true);
    await app.close();
  });

  test('calls back with the error, and may succeed later', async () => {
    const app = named('listen');
    const port = await taken();
    const error = await new Promise((resolve) => void app.listen(port, '127.0.0.1', resolve));
    expect(error).toMatchObject({ code: 'EADDRINUSE' });
    expect((await ask(await running.start(app), '/')).body).toBe('listen');
  });

  const socket = (name: string): string => join(tmpdir(), `waypost-${process.pid}-${name}`);

  /** What Node's `server.listen` takes, and Express with it; each side has a path of its own. */
  const TARGETS: Record<string, (side: string) => unknown[]> = {
    '(path)': (side) => [socket(side)],
    '(path, backlog)': (side) => [socket(side), 5],
    '({ path })': (side) => [{ path: socket(side), readableAll: true }],
    '({ path, port: undefined })': (side) => [{ path: socket(side), port: undefined }],
    '(port, backlog)': () => [0, 5],
    '(port, host, backlog)': () => [0, '127.0.0.1', 5],
    '("port")': () => ['0'],
    '({ port, host, backlog, exclusive })': () => [{ port: 0, host: '127.0.0.1', backlog: 5, exclusive: true }],
    '({ port, host, ipv6Only })': () => [{ port: 0, host: '::1', ipv6Only: true }],
    '(server)': () => [createNetServer().listen(0)],
    '({ fd })': () => [{ fd: 9999 }],
    '({ fd: -1 })': () => [{ fd: -1 }],
    '({ path: "" })': () => [{ path: '' }],
  };

  /** Where it came to listen, or the code of the error, wherever that was told. */
  async function outcome(app: { listen(...given: unknown[]): unknown }, given: unknown[]): Promise<unknown> {
    let server: Server | undefined;
    try {
      const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
        server = app.listen(...given, resolve) as Server;
      });
      if (error !== undefined) return error.code;
      const address = server?.address();
      return typeof address === 'string' ? basename(address).replace(/\w+$/, '') : address?.address;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code;
    } finally {
      if (server?.listening === true) await new Promise((resolve) => server?.close(resolve));
    }
  }

  test.each(Object.entries(TARGETS))('%s listens where Express does', async (_form, make) => {
    const app = named('waypost');
    const expected = await outcome(express(), make('express'));
    expect(expected).toBeDefined();
    expect(await outcome(app as never, make('waypost'))).toBe(expected);
    // Whatever came of it, it may be started again.
    expect((await ask(await running.start(app), '/')).body).toBe('waypost');
  });

  test('by start, too, takes the path of a socket, and no port is opened', async () => {
    const app = named('a');
    const server = await app.start({ path: socket('start') });
    expect(server.address()).toBe(socket('start'));
    await app.close();
    await expect(named('b').start({ fd: 9999 })).rejects.toThrow(/EINVAL|EBADF/);
  });

  test('without a callback emits the error on the server, and logs it', async () => {
    const logger = new LogRecorder();
    const app = createServer({ logging: { logger } });
    const server = app.listen(await taken(), '127.0.0.1');
    const [error] = (await once(server, 'error').catch((thrown: unknown) => [thrown])) as [unknown];
    expect(error).toMatchObject({ code: 'EADDRINUSE' });
    expect(logger.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  });
});

describe('app.server', () => {
  test('is the server while it runs, and null before and after', async () => {
    const app = named('a');
    expect(app.server).toBeNull();
    const server = await app.start(0);
    expect(app.server).toBe(server);
    await app.close();
    expect(app.server).toBeNull();
  });
});

describe('the server', () => {
  test('gets the options of node:http by their own names', async () => {
    const app = named('a', {
      server: {
        headersTimeout: 1111, requestTimeout: 2222, keepAliveTimeout: 333, connectionsCheckingInterval: 44, maxHeadersCount: 55,
        maxRequestsPerSocket: 6, timeout: 7777, maxHeaderSize: 4096,
      },
    });
    const port = await running.start(app);
    expect(app.server).toMatchObject({
      headersTimeout: 1111, requestTimeout: 2222, keepAliveTimeout: 333, maxHeadersCount: 55, maxRequestsPerSocket: 6, timeout: 7777,
    });
    expect((await ask(port, '/', { headers: { big: 'x'.repeat(5000) } })).status).toBe(431);
  });

  test('cuts a request off by those timeouts', async () => {
    const port = await running.app((app) => app.post('/', (req, res) => res.send(req.body)), {
      server: { headersTimeout: 50, requestTimeout: 100, connectionsCheckingInterval: 20 },
    });
    expect(await Wire.tell(port, 'GET / HTTP/1.1\r\nHost: x\r\n')).toMatch(/^HTTP\/1\.1 408 /);
    const body = head('POST /', { 'Content-Type': 'text/plain', 'Content-Length': 10 });
    expect(await Wire.tell(port, `${body}half`)).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('keeps maxHeadersCount headers, or refuses more, as node:http does', async () => {
    const names: RequestListener = (req, res) => res.end(Object.keys(req.headers).join());
    const node = createHttpServer(names);
    node.maxHeadersCount = 3;
    const ports = [await running.listen(node), await running.app((app) => app.get('/', names), { server: { maxHeadersCount: 3 } })];
    // Later Nodes answer 431, those before pass over what is too much.
    const outcome = async (port: number): Promise<unknown> => /^HTTP\/1\.1 431 |host,connection,a\n?$/.exec(await Wire.tell(port, head('GET /', { Connection: 'close', A: 1, B: 2, C: 3 })))?.[0];
    const [expected, ours] = await Promise.all(ports.map(outcome));
    expect(expected).toBeDefined();
    expect(ours).toBe(expected);
  });

  test('believes forwarded headers only of a trusted proxy', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'front.example' };
    const show = (app: Application): void => void app.get('/', (req, res) => res.json([req.ip, req.protocol, req.hostname]));
    const trusting = await running.app(show, { server: { trustProxy: 'loopback' } });
    const wary = await running.app(show);
    expect((await ask(trusting, '/', { headers })).json).toEqual(['203.0.113.7', 'https', 'front.example']);
    expect((await ask(wary, '/', { headers })).json).toEqual(['127.0.0.1', 'http', '127.0.0.1']);
  });

  test('makes its requests and responses of subclasses, for who listens to its server too', async () => {
    const app = createServer({ logging: { level: 'silent' } }).get('/', (_req, res) => res.json({}));
    const port = await running.start(app);
    const made: boolean[] = [];
    (app.server as Server).prependListener('request', (req, res) => made.push(req instanceof Request, res instanceof Response));
    expect((await ask(port, '/')).status).toBe(200);
    expect(made).toEqual([true, true]);
  });
});

describe('env', () => {
  /** What a client of a fresh process reads of an error. */
  async function body(env: string | undefined, NODE_ENV: string | undefined): Promise<string> {
    const kept = process.env['NODE_ENV'];
    if (NODE_ENV === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = NODE_ENV;
    try {
      const app = createServer({ logging: { level: 'silent' }, ...(env === undefined ? {} : { env }) });
      app.get('/', () => {
        throw new Error('inner detail');
      });
      return (await ask(await running.start(app), '/')).body;
    } finally {
      process.env['NODE_ENV'] = kept;
    }
  }

  test.each([
    [undefined, undefined, false],
    [undefined, 'production', false],
    [undefined, 'test', false],
    [undefined, 'development', true],
    ['development', 'production', true],
    ['production', 'development', false],
    ['Development', undefined, false],
  ])('env %p under NODE_ENV %p shows details: %p', async (env, NODE_ENV, shown) => {
    const text = await body(env, NODE_ENV);
    expect(JSON.parse(text)).toMatchObject({ error: 'Internal Server Error' });
    expect(text.includes('inner detail')).toBe(shown);
    expect(text.includes('.ts')).toBe(shown);
  });
});

describe('req and res in a handler', () => {
  test('have the fields of INTERFACE section 2.1', async () => {
    const port = await running.app((app) => {
      app.post('/a/:id/**', (req, res) => res.json({
        params: req.params, query: req.query, body: req.body, header: req.headers['x-own'], method: req.method,
        path: req.path, url: req.url, user: req.user === undefined, cookies: 'cookies' in req,
      }));
    });
    const answer = await post(port, '/a/7/b/c?q=1&q=2&r=', '{"k":[1]}', 'application/json', { 'x-own': 'y' });
    expect(answer.json).toEqual({
      params: { id: '7', '**': 'b/c' }, query: { q: ['1', '2'], r: '' }, body: { k: [1] }, header: 'y', method: 'POST',
      path: '/a/7/b/c', url: '/a/7/b/c?q=1&q=2&r=', user: true, cookies: false,
    });
  });

  test('query, params, body and user may be assigned', async () => {
    const port = await running.app((app) => {
      app.use((req, _res, next) => {
        req.query = { own: '1' };
        req.body = 'mine';
        req.user = { name: 'u' };
        next();
      });
      app.get('/:id', (req, _res, next) => {
        req.params = { id: 'other' };
        next();
      }, (req, res) => res.json([req.query, req.params, req.body, req.user]));
    });
    expect((await ask(port, '/7?a=1')).json).toEqual([{ own: '1' }, { id: 'other' }, 'mine', { name: 'u' }]);
  });

  test('res has the members of INTERFACE section 2.2', async () => {
    const port = await running.app((app) => {
      app.get('/xjson', (_req, res) => {
        const result: unknown = res.xJson({ age: 18n });
        if (result !== undefined) throw new Error('xJson returns nothing');
      });
      app.get('/json', (_req, res) => res.status(201).json({ a: 1 }));
      app.get('/send', (_req, res) => res.send('<p>'));
      app.get('/bytes', (_req, res) => res.send(Buffer.from('b')));
      app.get('/object', (_req, res) => res.send({ a: 1 }));
      app.get('/header', (_req, res) => {
        res.setHeader('X-Own', 'y');
        res.status(204).end();
      });
      app.get('/away', (_req, res) => res.redirect('/there'));
      app.get('/moved', (_req, res) => res.redirect(301, '/there'));
      app.get('/file', (_req, res) => res.sendFile(join(__dirname, '../package.json')));
    });
    const seen = async (path: string): Promise<unknown[]> => {
      const { status, headers, body } = await ask(port, path);
      return [status, headers['content-type'], path === '/file' ? JSON.parse(body).name : body];
    };
    expect(await seen('/xjson')).toEqual([200, 'application/json', '{"age":"18"}']);
    expect(await seen('/json')).toEqual([201, 'application/json; charset=utf-8', '{"a":1}']);
    expect(await seen('/send')).toEqual([200, 'text/html; charset=utf-8', '<p>']);
    expect(await seen('/bytes')).toEqual([200, 'application/octet-stream', 'b']);
    expect(await seen('/object')).toEqual([200, 'application/json; charset=utf-8', '{"a":1}']);
    expect((await ask(port, '/header'))).toMatchObject({ status: 204, headers: { 'x-own': 'y' } });
    expect((await ask(port, '/away'))).toMatchObject({ status: 302, headers: { location: '/there' } });
    expect((await ask(port, '/moved')).status).toBe(301);
    expect(await seen('/file')).toEqual([200, 'application/json; charset=utf-8', 'waypost']);
  });
});

describe('the fallback', () => {
  test('gets what nothing took, its body unread', async () => {
    const port = await running.app((app) => {
      app.post('/taken', (req, res) => res.json(req.body));
      app.fallback((req, res) => {
        let text = '';
        req.setEncoding('utf8').on('data', (chunk: string) => (text += chunk)).on('end', () => res.end(`${req.method} ${req.url} ${text}`));
      });
    });
    expect((await post(port, '/old?x=1', '{broken')).body).toBe('POST /old?x=1 {broken');
    expect((await post(port, '/taken', '[1]')).json).toEqual([1]);
  });

  test('may fail: 500, thrown or rejected', async () => {
    for (const listener of [() => { throw new Error('x'); }, async () => { throw new Error('x'); }]) {
      const port = await running.app((app) => app.fallback(listener));
      expect(await ask(port, '/')).toMatchObject({ status: 500 });
    }
  });

  test('must be a function', () => {
    expect(() => createServer(SILENT).fallback('x' as never)).toThrow(TypeError);
  });
});

describe('a process', () => {
  test('ends by itself after close, and imports without listening', async () => {
    const program = `
      const { createServer } = require('./lib/index');
      const app = createServer({ logging: { level: 'silent' } });
      app.get('/', (req, res) => res.send('x'));
      app.start(0).then(async (server) => {
        const answer = await fetch('http://127.0.0.1:' + server.address().port);
        process.stdout.write(await answer.text());
        await app.close();
      });`;
    const child = spawn(process.execPath, [...FROM_LIB, '-e', program], { cwd: join(__dirname, '..') });
    let text = '';
    child.stdout.on('data', (chunk) => (text += String(chunk)));
    child.stderr.on('data', (chunk) => (text += String(chunk)));
    const [code] = (await once(child, 'close')) as [number];
    expect([code, text]).toEqual([0, 'x']);
  });
});
