import { once } from 'node:events';
import { IncomingMessage, request, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import bodyParser from 'body-parser';
import express from 'express';
import fc from 'fast-check';
import { type Application, createServer, type CreateServerOptions, type ErrorHandler, type Handler, type HttpError, type Request, type Response, Router } from 'waypost';
import { noise } from './support/noise';
import { Running } from './support/running';
import { ask, head, post, Wire } from './support/wire';

const running = new Running();

afterEach(() => running.close());

/** Answers with what a route's handler finds. */
const show: Handler = (req, res) => res.json({ body: req.body ?? null, raw: req.rawBody?.toString('latin1') ?? null });

function serve(register: (app: Application) => void = (app) => app.post('/', show), options: CreateServerOptions = {}): Promise<number> {
  return running.app(register, options);
}

describe('a body is parsed by its type', () => {
  test.each([
    ['application/json', '{"a":[1,null]}', { a: [1, null] }],
    ['application/json; charset=utf-8', '"\u00e9"', '\u00e9'],
    ['APPLICATION/JSON', '1', 1],
    ['application/merge-patch+json', '[]', []],
    ['application/x-www-form-urlencoded', 'a=1&b=x+y&a=%26', { a: ['1', '&'], b: 'x y' }],
    ['text/plain', 'plain', 'plain'],
    ['text/csv; charset=latin1', Buffer.from('\u00e9', 'latin1'), '\u00e9'],
  ])('%s', async (type, body, expected) => {
    const port = await serve();
    expect((await post(port, '/', body, type)).json).toEqual({ body: expected, raw: Buffer.from(body as string).toString('latin1') });
  });

  test.each(['image/png', 'application/octet-stream', 'multipart/form-data; boundary=x', 'application/xml', 'application/jsonp', 'x application/json', '', 'json'])(
    'another (%p) is left on the stream, whole',
    async (type) => {
      const port = await serve((app) => app.post('/', async (req, res) => {
        const parsed: unknown = req.body;
        res.json({ body: parsed ?? null, stream: (await buffer(req)).toString() });
      }));
      expect((await post(port, '/', '{"a":1}', type)).json).toEqual({ body: null, stream: '{"a":1}' });
    },
  );

  test('in chunks as with a length, and in a body of a request with any method', async () => {
    const port = await serve((app) => app.all('/', show));
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'GET', 'OPTIONS']) {
      const sent = request({ port, host: '127.0.0.1', method, agent: false, headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' } });
      sent.write('[1');
      sent.end(',2]');
      const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream];
      expect([method, JSON.parse((await buffer(response)).toString()).body]).toEqual([method, [1, 2]]);
    }
  });

  test('that is empty or absent is undefined, and no error', async () => {
    const port = await serve();
    expect((await post(port, '/', '')).json).toEqual({ body: null, raw: null });
    expect((await ask(port, '/', { method: 'POST' })).json).toMatchObject({ body: null });
    expect(await Wire.tell(port, head('POST /', { Connection: 'close', 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }) + '0\r\n\r\n')).toContain('"body":null');
  });

  test('whatever JSON there is comes out as JSON.parse reads it', async () => {
    const port = await serve();
    await fc.assert(
      // The keys that are refused have rows of their own below.
      fc.asyncProperty(fc.json().filter((text) => !/__proto__|constructor/.test(text)), async (text) => {
        const { body } = (await post(port, '/', text)).json as { body: unknown };
        expect(body).toEqual(JSON.parse(text) ?? null);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a body that cannot be parsed', () => {
  const BAD: [string, number, string, string | Buffer, string, Record<string, string>][] = [
    ['malformed JSON', 400, 'MALFORMED_BODY', '{"a":', 'application/json', {}],
    ['__proto__ in JSON', 400, 'FORBIDDEN_KEY', '{"a":{"__proto__":{"x":1}}}', 'application/json', {}],
    ['an escaped __proto__', 400, 'FORBIDDEN_KEY', '{"\\u005f_proto__":1}', 'application/json', {}],
    ['constructor.prototype in JSON', 400, 'FORBIDDEN_KEY', '{"constructor":{"prototype":{"x":1}}}', 'application/json', {}],
    ['__proto__ in a form', 400, 'FORBIDDEN_KEY', '__proto__=1', 'application/x-www-form-urlencoded', {}],
    ['an unknown encoding', 415, 'UNSUPPORTED_ENCODING', '1', 'application/json', { 'content-encoding': 'compress' }],
    ['an unknown charset', 415, 'UNSUPPORTED_CHARSET', '1', 'application/json; charset=klingon', {}],
    ['broken gzip', 400, 'MALFORMED_BODY', 'no gzip', 'application/json', { 'content-encoding': 'gzip' }],
    ['too many bytes', 413, 'BODY_TOO_LARGE', `"${'x'.repeat(200)}"`, 'application/json', {}],
    ['too many bytes of text', 413, 'BODY_TOO_LARGE', 'x'.repeat(101), 'text/plain', {}],
    ['too many bytes after inflating', 413, 'BODY_TOO_LARGE', gzipSync('x'.repeat(5000)), 'text/plain', { 'content-encoding': 'gzip' }],
    ['too many bytes in br', 413, 'BODY_TOO_LARGE', brotliCompressSync('x'.repeat(5000)), 'text/plain', { 'content-encoding': 'br' }],
    ['too many bytes in deflate', 413, 'BODY_TOO_LARGE', deflateSync('x'.repeat(5000)), 'text/plain', { 'content-encoding': 'deflate' }],
  ];

  test.each(BAD)('%s is %i %s: middleware runs, the handler does not, error middleware sees it', async (_, status, code, body, type, headers) => {
    const ran: string[] = [];
    const watch: ErrorHandler = (error, _req, _res, next) => {
      ran.push(`error ${(error as HttpError).status} ${(error as HttpError).code}`);
      next(error);
    };
    const port = await serve((app) => {
      app.use((_req, _res, next) => {
        ran.push('before');
        next();
      });
      app.post('/', () => void ran.push('handler'));
      app.use((_req, _res, next) => {
        ran.push('after');
        next();
      });
      app.use(watch);
    }, { body: { limit: 100 } });
    const answer = await post(port, '/', body, type, headers);
    expect(answer.status).toBe(status);
    expect(answer.json).toEqual({ error: expect.any(String) as unknown, message: expect.any(String) as unknown });
    expect(ran).toEqual(['before', `error ${status} ${code}`]);
    if (status === 413) expect(answer.headers.connection).toBe('close');
  });

  test('is no matter where middleware set req.body first', async () => {
    const port = await serve((app) => {
      app.use((req, _res, next) => {
        req.body = 'set';
        next();
      });
      app.post('/', (req, res) => res.json(req.body));
    }, { body: { limit: 10 } });
    for (const body of ['{', '{"__proto__":1}', '"12345678901234567890"']) expect(await post(port, '/', body)).toMatchObject({ status: 200, body: '"set"' });
  });

  test('is no matter where middleware answers', async () => {
    const port = await serve((app) => {
      app.use((_req, res) => res.status(403).send('stop'));
      app.post('/', show);
    });
    expect(await post(port, '/', '{')).toMatchObject({ status: 403, body: 'stop' });
  });

  test('is no matter on a path of no route', async () => {
    expect((await post(await serve(), '/none', '{')).status).toBe(404);
  });
});

describe('body.limit', () => {
  test('is 1 MiB by default, to the byte', async () => {
    const port = await serve((app) => app.post('/', (req, res) => res.json((req.body as string).length)));
    expect((await post(port, '/', 'x'.repeat(1_048_576), 'text/plain')).json).toBe(1_048_576);
    expect((await post(port, '/', 'x'.repeat(1_048_577), 'text/plain')).status).toBe(413);
  });

  test.each([[7, 7], ['2kb', 2048]])('%p is %i bytes, with a length and in chunks', async (limit, bytes) => {
    const handler = jest.fn();
    const port = await serve((app) => app.post('/', (req, res) => {
      handler();
      res.json((req.body as string).length);
    }), { body: { limit } });
    const chunked = (length: number): Promise<string> =>
      Wire.tell(port, head('POST /', { Connection: 'close', 'Content-Type': 'text/plain', 'Transfer-Encoding': 'chunked' }) + `1\r\nx\r\n${(length - 1).toString(16)}\r\n${'x'.repeat(length - 1)}\r\n0\r\n\r\n`);
    expect((await post(port, '/', 'x'.repeat(bytes), 'text/plain')).json).toBe(bytes);
    expect(await chunked(bytes)).toMatch(/ 200 OK/);
    expect(handler).toHaveBeenCalledTimes(2);
    expect((await post(port, '/', 'x'.repeat(bytes + 1), 'text/plain')).status).toBe(413);
    expect(await chunked(bytes + 1)).toMatch(/ 413 /);
    expect(handler).toHaveBeenCalledTimes(2);
  });

  test('holds before the body has come, and the connection is closed', async () => {
    const port = await serve(undefined, { body: { limit: 10 } });
    const text = await Wire.tell(port, head('POST /', { 'Content-Type': 'text/plain', 'Content-Length': 1000 }));
    expect(text).toMatch(/^HTTP\/1\.1 413 Payload Too Large\r\n/);
    expect(text).toMatch(/\r\nConnection: close\r\n/i);
    expect(text).toContain('{"error":"Payload Too Large","message":"The request body is larger than the limit"}');
  });

  test('does not bind a parser that stands as middleware, larger or smaller', async () => {
    const port = await serve((app) => {
      app.use('/large', bodyParser.json({ limit: '1mb' }));
      app.use('/small', bodyParser.json({ limit: 5 }));
      app.post('/**', (req, res) => res.json(JSON.stringify(req.body).length));
    }, { body: { limit: 100 } });
    const body = JSON.stringify(['x'.repeat(300_000)]);
    expect((await post(port, '/large/x', body)).json).toBe(body.length);
    expect((await post(port, '/small/x', '[123456]')).status).toBe(413);
    expect((await post(port, '/other', body)).status).toBe(413);
  });

  const LONG = 1_200_000;
  const HOSTS: Record<string, (routes: (app: Pick<Application, 'post'>) => unknown) => Promise<number>> = {
    'its own server': (routes) => serve((app) => void routes(app)),
    'a server of Node': (routes) => {
      const app = createServer({ logging: { level: 'silent' } });
      routes(app);
      return running.serve(app);
    },
  };

  test.each(Object.entries(HOSTS))('is said to close the connection where nobody reads a longer body, and only there, on %s', async (_, host) => {
    const port = await host((app) => app
      .post('/unread', (_req, res) => res.send('unread'))
      .post('/read', (req, res) => {
        req.resume().on('end', () => res.end('end'));
        res.write('begin ');
      })
      .post('/later', (req, res) => req.resume().on('end', () => res.send('later')))
      .post('/paused', (req, res) => {
        req.pause();
        res.send('paused');
      }));
    for (const path of ['/unread', '/nowhere', '/paused']) {
      const wire = (await Wire.open(port)).write(head(`POST ${path}`, { 'Content-Length': LONG }) + 'x'.repeat(1000));
      await wire.until(/^HTTP.1.1 [24][^]*\r\n\r\n./);
      expect(wire.text).toMatch(/\r\nConnection: close\r\n/);
      wire.cut();
    }
    const kept = await Wire.open(port);
    kept.write(head('POST /read', { 'Content-Length': LONG }) + 'x'.repeat(LONG));
    await kept.until(/begin [^]*end/);
    kept.write(head('POST /later', { 'Content-Length': LONG }) + 'x'.repeat(LONG));
    await kept.until(/later$/);
    kept.write(head('POST /unread', { 'Content-Length': 4 }) + 'text');
    await kept.until(/unread$/);
    expect(kept.text).not.toContain('Connection: close');
    kept.cut();
  });

  test.each<[string, (req: Request) => Promise<Buffer>]>([
    ['listens', (req) => new Promise((resolve) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => resolve(Buffer.concat(chunks)));
    })],
    ['iterates', (req) => buffer(req)],
    ['pipes', (req) => buffer(req.pipe(new PassThrough()))],
  ])('leaves a longer body to a handler that answers first and %s then', async (_, take) => {
    let taken: Promise<Buffer> | undefined;
    let behind = 0;
    const port = await serve((app) => app.post('/', (req, res) => {
      res.status(202).send('taken');
      taken = take(req);
    }).get('/', () => void behind++));
    const wire = await Wire.open(port);
    wire.write(head('POST /', { 'Content-Length': LONG }) + 'x'.repeat(1000));
    await wire.until(/taken$/);
    wire.write('x'.repeat(LONG - 1000) + head('GET /'));
    expect(await taken).toHaveLength(LONG);
    await wire.end;
    expect(behind).toBe(0);
    expect(wire.text).toMatch(/\r\nConnection: close\r\n/);
  });

  /** What a program, a logger or a debugger may do to a response before its head is made. */
  const LOOKS: Record<string, (res: Response) => unknown> = {
    'nothing': () => undefined,
    'read': (res) => res.shouldKeepAlive,
    'spread': (res) => ({ ...res }),
    'inspected': (res) => inspect(res, { getters: true }),
    'read by its names': (res) => Object.entries(res),
  };

  describe.each(Object.entries(HOSTS))('is told by the head alone, on %s', (_host, host) => {
    test.each(Object.entries(LOOKS))('where the response was looked at while the body was under way, and the body is read: %s', async (_way, look) => {
      let begun: () => void = () => undefined;
      const port = await host((app) => app.post('/', (req, res) => {
        look(res);
        begun();
        setImmediate(() => req.resume().on('end', () => {
          look(res);
          if (req.headers['x-own'] !== undefined) res.setHeader('Connection', 'keep-alive');
          res.send('read');
        }));
      }).post('/unread', (_req, res) => {
        look(res);
        res.send('unread');
        look(res);
      }));
      const wire = await Wire.open(port);
      for (const [index, [headers, first, rest]] of [
        [{ 'Transfer-Encoding': 'chunked' }, '1\r\nx\r\n', '0\r\n\r\n'],
        [{ 'Transfer-Encoding': 'chunked', 'X-Own': 'yes' }, '1\r\nx\r\n', '0\r\n\r\n'],
        [{ 'Content-Length': LONG }, 'x', 'x'.repeat(LONG - 1)],
        [{ 'Content-Length': LONG, 'X-Own': 'yes' }, 'x', 'x'.repeat(LONG - 1)],
      ].entries() as Iterable<[number, [Record<string, string | number>, string, string]]>) {
        const called = new Promise<void>((resolve) => (begun = resolve));
        wire.write(head('POST /', headers) + first);
        await called;
        wire.write(rest);
        await wire.until(new RegExp(`(?:\\r\\n\\r\\nread[^]*){${index + 1}}`));
        expect(wire.text).not.toMatch(/\r\nConnection: close/i);
      }
      wire.write(head('POST /unread', { 'Transfer-Encoding': 'chunked' }) + '1\r\nx\r\n');
      await wire.until(/unread$/);
      expect(wire.text).toMatch(/\r\nConnection: close\r\n/);
      wire.write(`0\r\n\r\n${head('POST /', { 'Content-Length': 0 })}`);
      await wire.end;
      expect(wire.text).toMatch(/unread$/);
    });
  });

  test.each(['at once', 'once the body is in'])('costs the answer no byte where the client has asked for more behind the body: taken %s', async (when) => {
    const SIZE = 20_000_000;
    const port = await serve((app) => app.post('/', (req, res) => {
      res.send('x'.repeat(SIZE));
      if (when !== 'at once') req.resume();
    }));
    for (const more of ['x'.repeat(200), 'x'.repeat(900_000)]) {
      const wire = await Wire.open(port);
      wire.write(`${head('POST /', { 'Transfer-Encoding': 'chunked' })}1\r\nx\r\n`);
      await wire.until(/\r\nConnection: close\r\n/);
      wire.pause();
      wire.write(`0\r\n\r\n${head('POST /', { 'Content-Length': more.length })}`);
      await wire.flushed();
      wire.write(more).resume();
      await wire.end;
      expect(wire.text.length - wire.text.indexOf('\r\n\r\n') - 4).toBe(SIZE);
    }
  });

  test('is said to close the connection where the signature of a longer body is refused', async () => {
    const port = await serve(undefined, { security: { requestSignature: { secret: 'a secret of more than thirty-two bytes' } } });
    const wire = await Wire.open(port);
    wire.write(head('POST /', { 'Content-Length': LONG }) + 'x'.repeat(1000));
    await wire.until(/^HTTP.1.1 401[^]*\}/);
    expect(wire.text).toMatch(/\r\nConnection: close\r\n/);
    wire.cut();
  });

  test('ends no connection whose body was within it', async () => {
    const wire = await Wire.open(await serve((app) => app.post('/', (_req, res) => res.send('done')), { body: { limit: 10 } }));
    for (const count of [1, 2, 3]) {
      wire.write(head('POST /', { 'Content-Type': 'text/plain', 'Content-Length': 4 }) + 'text');
      await wire.until(new RegExp(`(?:done[\\s\\S]*){${count}}$`));
    }
    wire.cut();
  });
});

describe('a request that no server has received, as an adapter makes it of an event', () => {
  /** Its stream gives the body when it is read, and in some `body` has the bytes meanwhile. */
  function made(body: string, type: string, isBeside: boolean, complete: boolean): { req: IncomingMessage; res: ServerResponse } {
    const req = new IncomingMessage(new Socket());
    const bytes = Buffer.from(body);
    const headers = { host: 'localhost', 'content-type': type, 'content-length': String(bytes.length) };
    Object.assign(req, { method: 'POST', url: '/', complete, httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1, headers, ...(isBeside ? { body: bytes } : {}) });
    req._read = () => {
      req.push(bytes);
      req.push(null);
    };
    return { req, res: new ServerResponse(req) };
  }

  test.each([
    ['application/json', '{"a":1}', { a: 1 }],
    ['application/x-www-form-urlencoded', 'a=1', { a: '1' }],
    ['text/plain', 'text', 'text'],
    ['application/octet-stream', 'bytes', Buffer.from('bytes')],
    ['application/json', '{', 400],
    ['application/json', '{"__proto__":{}}', 400],
  ])('has its body parsed: %s %s', async (type, body, expected) => {
    for (const [isBeside, complete] of [[true, true], [true, false], [false, true], [false, false]] as const) {
      const { req, res } = made(body, type, isBeside, complete);
      const app = createServer({ logging: { level: 'silent' } });
      const taken = new Promise((resolve) => {
        // What nothing parses is left on the stream, and in `body` as the adapter has left it.
        app.post('/', (request) => resolve(Buffer.isBuffer(expected) && !isBeside ? buffer(request) : request.body));
        app.use((error: HttpError, _req: Request, _res: unknown, _next: unknown) => resolve(error.status));
      });
      app(req, res);
      expect(await taken).toEqual(expected);
    }
  });

  test('has its body asked for piece by piece, as its stream would ask', async () => {
    for (const size of [1, 3, 7]) {
      const { req, res } = made('{"a":1}', 'application/json', false, true);
      let text = '{"a":1}';
      req._read = () => {
        req.push(text === '' ? null : Buffer.from(text.slice(0, size)));
        text = text.slice(size);
      };
      const app = createServer({ logging: { level: 'silent' } });
      const taken = new Promise((resolve) => void app.post('/', (request) => resolve(request.body)));
      app(req, res);
      expect(await taken).toEqual({ a: 1 });
    }
  });

  test('whose stream fails when it is asked again ends nothing but itself', async () => {
    const { req, res } = made('{"a":1}', 'application/json', false, true);
    let asked = 0;
    req._read = () => {
      if (asked++ > 0) throw new Error('of the stream');
      req.push(Buffer.from('{'));
    };
    const failed = new Promise((resolve) => req.once('error', resolve));
    createServer({ logging: { level: 'silent' } }).post('/', show)(req, res);
    expect(await failed).toEqual(new Error('of the stream'));
  });
});


test('a request whose push is replaced behind a capture, and whose body nobody reads, closes its connection as it says', async () => {
  const counted: number[] = [];
  const router = Router();
  router.use((req, res) => {
    const { push } = req;
    req.push = function (this: typeof req, chunk: unknown, ...rest) {
      counted.push((chunk as Buffer | null)?.length ?? 0);
      return push.call(this, chunk, ...rest);
    };
    res.send('unread');
  });
  router.post('/', show);
  // What Express has put its prototype on is captured by a push of the request's own.
  const port = await serve((app) => app.use(express().use(router as never) as never), { body: { limit: 100 } });
  const wire = await Wire.open(port);
  wire.write(`${head('POST /', { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' })}ff\r\n${'x'.repeat(255)}\r\n`);
  await wire.until('unread');
  wire.write(`ff\r\n${'x'.repeat(255)}\r\n0\r\n\r\n`);
  await wire.end;
  expect(wire.text).toMatch(/^HTTP\/1\.1 200 [^]*\r\nConnection: close\r\n[^]*unread$/i);
  expect(counted.length).toBeLessThan(10);
});

describe('a body that is read behind an answer of the same turn', () => {
  const READERS: Record<string, (req: IncomingMessage, take: (chunk: Buffer) => void) => unknown> = {
    'data': (req, take) => req.on('data', take),
    'readable': (req, take) => req.on('readable', () => {
      for (let chunk = req.read() as Buffer | null; chunk !== null; chunk = req.read() as Buffer | null) take(chunk);
    }),
  };
  const answer = (name: string, told: (text: string) => void) => (req: IncomingMessage, res: ServerResponse): void => {
    res.end('done');
    let text = '';
    req.on('end', () => told(text));
    READERS[name]?.(req, (chunk) => (text += String(chunk)));
  };

  test.each(Object.keys(READERS))('comes whole, as on node:http, to who listens for %s', async (name) => {
    for (const serve of [
      (told: (text: string) => void) => running.serve(answer(name, told)),
      (told: (text: string) => void) => running.app((app) => app.post('/', answer(name, told) as never)),
    ]) {
      let told: ((text: string) => void) | undefined;
      const read = new Promise<string>((resolve) => (told = resolve));
      const port = await serve((text) => told?.(text));
      await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"a":1}' });
      expect(await read).toBe('{"a":1}');
    }
  });
});

describe('parsers of other makers', () => {
  test.each([
    ['json', bodyParser.json(), 'application/json', '{"a":1}', { a: 1 }],
    ['urlencoded', bodyParser.urlencoded({ extended: false }), 'application/x-www-form-urlencoded', 'a=1', { a: '1' }],
    ['text', bodyParser.text(), 'text/plain', 'x', 'x'],
    ['raw', bodyParser.raw({ type: '*/*' }), 'application/json', '{', { type: 'Buffer', data: [123] }],
  ])('%s as middleware, and beside a route', async (_, parser, type, body, expected) => {
    const port = await serve((app) => {
      app.post('/beside', parser as Handler, (req, res) => res.json(req.body));
      app.use(parser as Handler);
      app.post('/below', (req, res) => res.json(req.body));
    });
    expect((await post(port, '/below', body, type)).json).toEqual(expected);
    expect((await post(port, '/beside', body, type)).json).toEqual(expected);
  });

  test('inflate a body that was captured', async () => {
    const port = await serve((app) => {
      app.use(bodyParser.json());
      app.post('/', (req, res) => res.json(req.body));
    });
    expect((await post(port, '/', gzipSync('{"a":1}'), 'application/json', { 'content-encoding': 'gzip' })).json).toEqual({ a: 1 });
  });
});

describe('options', () => {
  test('body: false leaves every body on the stream, unlimited', async () => {
    const port = await serve((app) => app.post('/', async (req, res) => {
      const parsed: unknown = req.body;
      res.json([parsed === undefined, req.rawBody === undefined, (await buffer(req)).length]);
    }), { body: false });
    expect((await post(port, '/', `"${'x'.repeat(3_000_000)}"`)).json).toEqual([true, true, 3_000_002]);
  });

  test('body.bigint makes BigInt of integers beyond 2^53, and is off by default', async () => {
    const text = '{"id":12345678901234567890,"small":9007199254740991,"float":1.5}';
    const types: Handler = (req, res) => {
      const { id, small, float } = req.body as Record<string, unknown>;
      res.xJson([typeof id, id, typeof small, typeof float]);
    };
    expect((await post(await serve((app) => app.post('/', types), { body: { bigint: true } }), '/', text)).json).toEqual(['bigint', '12345678901234567890', 'number', 'number']);
    expect((await post(await serve((app) => app.post('/', types)), '/', text)).json).toEqual(['number', 12345678901234567000, 'number', 'number']);
  });
});

describe('rawBody', () => {
  test('is the bytes as received, before inflating', async () => {
    const port = await serve((app) => app.post('/', (req, res) => res.send(req.rawBody)));
    const packed = gzipSync('{"a":1}');
    expect((await post(port, '/', packed, 'application/json', { 'content-encoding': 'gzip' })).bytes.equals(packed)).toBe(true);
    expect((await post(port, '/', '{ "a" : 1.0 }')).body).toBe('{ "a" : 1.0 }');
  });
});

describe('a captured body stays readable', () => {
  const READERS: Record<string, (req: Request) => Promise<Buffer>> = {
    'data and end': (req) => new Promise((resolve) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => resolve(Buffer.concat(chunks)));
    }),
    pipe: (req) => buffer(req.pipe(new PassThrough())),
    'for await': (req) => buffer(req),
    read: (req) => new Promise((resolve) => {
      const chunks: Buffer[] = [];
      req.on('readable', () => {
        for (let chunk = req.read() as Buffer | null; chunk !== null; chunk = req.read() as Buffer | null) chunks.push(chunk);
      }).on('end', () => resolve(Buffer.concat(chunks)));
    }),
    late: async (req) => {
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
      return buffer(req);
    },
  };

  test.each(Object.keys(READERS))('by %s: the same wire bytes, beside the parsed body', async (name) => {
    const port = await serve((app) => app.post('/', async (req, res) => {
      const read = await READERS[name]?.(req as Request);
      res.json([typeof req.body, read?.equals(req.rawBody as Buffer), read?.length]);
    }));
    for (const size of [1, 100, 70_000, 900_000]) {
      const text = JSON.stringify({ x: noise(size).toString('latin1', 0, size).replace(/[^a-z]/g, 'y') });
      expect((await post(port, '/', text)).json).toEqual(['object', true, text.length]);
      const packed = gzipSync(text);
      expect((await post(port, '/', packed, 'application/json', { 'content-encoding': 'gzip' })).json).toEqual(['object', true, packed.length]);
    }
  });

  test('when there is no body, a reader comes to its end', async () => {
    const port = await serve((app) => app.all('/', async (req, res) => res.json((await buffer(req)).length)));
    for (const method of ['GET', 'POST']) expect((await ask(port, '/', { method })).json).toBe(0);
  });
});

describe('a request that no route can take', () => {
  test('keeps its body on the stream, unlimited, for middleware', async () => {
    const port = await serve((app) => {
      app.get('/up', show);
      app.use('/up', async (req, res) => res.json([req.body === undefined, req.rawBody === undefined, (await buffer(req)).length]));
    }, { body: { limit: 10 } });
    expect((await post(port, '/up', `"${'x'.repeat(5_000_000)}"`)).json).toEqual([true, true, 5_000_002]);
  });

  test('reaches middleware before its body has come', async () => {
    const port = await serve((app) => app.use((_req, res) => res.send('at once')));
    const wire = await Wire.open(port);
    wire.write(head('POST /', { 'Content-Type': 'text/plain', 'Content-Length': 5 }));
    await wire.until('at once');
    wire.cut();
  });

  test('a route waits for the whole body before middleware runs', async () => {
    const seen: unknown[] = [];
    const port = await serve((app) => {
      app.use((req, _res, next) => {
        seen.push(req.body);
        next();
      });
      app.post('/', (_req, res) => res.send('done'));
    });
    const wire = await Wire.open(port);
    wire.write(head('POST /', { 'Content-Type': 'text/plain', 'Content-Length': 4, Connection: 'close' }) + 'ha');
    await wire.flushed();
    wire.write('lf');
    await wire.end;
    expect(seen).toEqual(['half']);
  });

  test('that nobody reads is discarded within the limit, and the connection lives on', async () => {
    const wire = await Wire.open(await serve(undefined, { body: { limit: 100 } }));
    wire.write(head('POST /none', { 'Content-Length': 100 }) + 'x'.repeat(100));
    await wire.until('404');
    wire.write(head('GET /none'));
    await wire.until(/404[\s\S]*404/);
    wire.cut();
  });

  test('that nobody reads closes the connection past the limit', async () => {
    const text = await Wire.tell(await serve(undefined, { body: { limit: 100 } }), head('POST /none', { 'Content-Length': 100_000 }) + 'x'.repeat(1000));
    expect(text).toMatch(/^HTTP\/1\.1 404 /);
  });

  test('that an Express application answers before it is in closes the connection past the limit, as it says', async () => {
    const port = await serve((app) => app.use(express().use((_req, res) => void res.send('early')) as never), { body: { limit: 100 } });
    for (const [field, value] of [['Content-Length', 100_000], ['Transfer-Encoding', 'chunked']] as const) {
      const text = await Wire.tell(port, `${head('POST /', { [field]: value })}ff\r\n${'x'.repeat(255)}\r\n`);
      expect(text).toMatch(/^HTTP\/1\.1 200 [^]*\r\nConnection: close\r\n\r\nearly$/);
    }
  });
});

describe('a rewrite', () => {
  test('to a route has the body captured then', async () => {
    const port = await serve((app) => {
      app.use((req, _res, next) => {
        if (req.url === '/old') req.url = '/new';
        next();
      });
      app.post('/new', show);
    });
    expect((await post(port, '/old', '{"a":1}')).json).toEqual({ body: { a: 1 }, raw: '{"a":1}' });
    expect((await post(port, '/old', '{')).status).toBe(400);
  });

  test('of the method has the body captured then', async () => {
    const port = await serve((app) => {
      app.use((req, _res, next) => {
        req.method = String(req.headers['x-http-method-override']);
        next();
      });
      app.put('/', show);
    });
    expect((await post(port, '/', '{"a":1}', 'application/json', { 'x-http-method-override': 'PUT' })).json).toMatchObject({ body: { a: 1 } });
  });
});

describe('Expect: 100-continue', () => {
  const EXPECT = { Expect: '100-continue', 'Content-Type': 'text/plain', 'Content-Length': 4, Connection: 'close' };

  test('is answered, then the body is taken', async () => {
    const wire = await Wire.open(await serve());
    wire.write(head('POST /', EXPECT));
    await wire.until('HTTP/1.1 100 Continue\r\n\r\n');
    wire.write('body');
    await wire.end;
    expect(wire.text).toContain('{"body":"body","raw":"body"}');
    expect(wire.text.match(/100 Continue/g)).toHaveLength(1);
  });

  test('closes no connection where there is no body', async () => {
    const wire = await Wire.open(await serve((app) => app.use((_req, res) => res.send('done'))));
    wire.write(head('GET /', { Expect: '100-continue' }) + head('POST /', { Expect: '100-continue', 'Content-Length': 0 }) + head('GET /'));
    await wire.until(/(?:\r\n\r\ndone[^]*){3}/);
    expect(wire.text).not.toContain('Connection: close');
    wire.cut();
  });

  test('is left to a listener of the server, as on node:http: what it refuses reaches no handler', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    let ran = 0;
    app.post('/', (_req, res) => { ran++; res.end(); });
    const port = await running.start(app);
    app.server?.on('checkContinue', (req, res) => {
      if (req.url === '/') {
        res.writeHead(413, { Connection: 'close' }).end('too big');
        return;
      }
      // Whether it asks for the body by itself or leaves that to the application, it is asked for once.
      if (req.url === '/asked') res.writeContinue();
      req.url = '/';
      app(req, res);
    });
    const wire = await Wire.open(port);
    wire.write(head('POST /', EXPECT));
    await wire.end;
    expect(wire.text).toMatch(/^HTTP\/1\.1 413 [\s\S]*too big/);
    expect([ran, wire.text.includes('100 Continue')]).toEqual([0, false]);

    for (const path of ['/asked', '/left']) {
      const other = await Wire.open(port);
      other.write(head(`POST ${path}`, EXPECT));
      await other.until('HTTP/1.1 100 Continue\r\n\r\n');
      other.write('body');
      await other.end;
      expect(other.text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 200']);
    }
    expect(ran).toBe(2);
  });

  test('is answered for a body that stays on the stream', async () => {
    const wire = await Wire.open(await serve((app) => app.use(async (req, res) => res.send(await buffer(req)))));
    wire.write(head('POST /', EXPECT));
    await wire.until('100 Continue');
    wire.write('body');
    await wire.end;
    expect(wire.text).toMatch(/200 OK[\s\S]*body$/);
  });
});

describe('a client that goes away', () => {
  test('in mid-body: the handler does not run, and the server goes on', async () => {
    const ran = jest.fn();
    const port = await serve((app) => {
      app.use((_req, _res, next) => {
        ran();
        next();
      });
      app.post('/', ran);
      app.get('/', (_req, res) => res.send('alive'));
    });
    for (const leave of ['cut', 'reset'] as const) {
      const wire = await Wire.open(port);
      wire.write(head('POST /', { 'Content-Type': 'application/json', 'Content-Length': 100 }) + '{"a"');
      await wire.flushed();
      wire[leave]();
      await wire.end;
    }
    expect((await ask(port, '/')).body).toBe('alive');
    expect(ran).toHaveBeenCalledTimes(1);
  });
});

describe('headers made to choose or dodge the parser', () => {
  test.each([
    'Content-Type: text/plain\r\nContent-Type: application/json\r\n',
    'Content-Type:\tapplication/json\t\r\n',
    'Content-Type:    application/json   \r\n',
    'Content-Type: application/json;\r\n',
    'Content-Type: application/json ; charset=utf-8\r\n',
    'Content-Type: application/json; charset="utf-8"\r\n',
  ])('%j: parsed as its first type, or refused, never run on with a broken body', async (headers) => {
    const port = await serve();
    const text = await Wire.tell(port, `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}Content-Length: 2\r\n\r\n{}`);
    expect(text).toMatch(headers.startsWith('Content-Type: text') ? /"body":"\{\}"/ : /"body":\{\}/);
    const broken = await Wire.tell(port, `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}Content-Length: 2\r\n\r\n{x`);
    expect(broken).toMatch(headers.startsWith('Content-Type: text') ? /"body":"\{x"/ : / 400 /);
  });

  test('a length beside chunks is refused by Node', async () => {
    const port = await serve();
    expect(await Wire.tell(port, head('POST /', { 'Content-Length': 2, 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' }) + '2\r\n{}\r\n0\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
  });
});
