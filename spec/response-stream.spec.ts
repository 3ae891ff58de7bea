import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable, Stream, Writable } from 'node:stream';
import { types } from 'node:util';
import compression from 'compression';
import fc from 'fast-check';
import { express, type NextFunction, type Request, type Response, type StreamSource } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { runs } from './support/runs';
import { ask, head, Wire } from './support/wire';

const running = new Running();
const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
const FILE = join(folder, 'file.txt');
writeFileSync(FILE, 'some text');

afterEach(() => running.close());
afterAll(() => rmSync(folder, { recursive: true }));

/** Serves one source, made for each request; error middleware answers what reaches it. */
function serve(make: (res: Response) => StreamSource, log = new LogRecorder(), prepare: (res: Response) => void = () => undefined): Promise<number> {
  return running.app((app) => {
    app.get('/', (_req, res) => {
      prepare(res);
      res.stream(make(res));
    });
  }, { logging: { logger: log } });
}

const errorsOf = (log: LogRecorder): unknown[] => log.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields.err);

async function* letters(): AsyncGenerator<string> {
  yield 'a';
  yield 'b';
}

const SOURCES: Record<string, readonly [make: () => StreamSource, body: string]> = {
  'a Readable': [() => Readable.from([Buffer.from('a'), Buffer.from('b')]), 'ab'],
  'text with an encoding': [() => Readable.from(['ä', 'ö']), 'äö'],
  'a file': [() => createReadStream(FILE), 'some text'],
  'an empty stream': [() => Readable.from([]), ''],
  'chunks without bytes': [() => Readable.from(['', 'a', Buffer.alloc(0), 'b']), 'ab'],
  'a PassThrough': [() => new PassThrough().end('ab'), 'ab'],
  'a ReadableStream': [() => new Blob(['some text']).stream(), 'some text'],
  'the body of a Response': [() => new Response_('some text').body as StreamSource, 'some text'],
  'an asynchronous generator': [() => letters(), 'ab'],
  'a stream of old': [() => {
    const old = new Stream() as Stream & { readable: boolean; resume(): void; pause(): void };
    Object.assign(old, { readable: true, pause() { /* It can't. */ }, resume() { /* Nor this. */ } });
    setImmediate(() => { old.emit('data', 'a'); old.emit('data', 'b'); old.emit('end'); });
    return old as unknown as StreamSource;
  }, 'ab'],
};
const Response_ = globalThis.Response;

test.each(Object.entries(SOURCES))('%s is sent', async (_, [make, body]) => {
  const log = new LogRecorder();
  const answer = await ask(await serve(make, log), '/');
  expect([answer.status, answer.headers['content-type'], answer.body]).toEqual([200, 'application/octet-stream', body]);
  expect(errorsOf(log)).toEqual([]);
});

test('any chunks arrive as they were, whatever their lengths', async () => {
  let chunks: Uint8Array[] = [];
  const port = await serve(() => Readable.from(chunks));
  await fc.assert(fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 70_000 }), { maxLength: 8 }), async (given) => {
    chunks = given;
    expect((await ask(port, '/')).bytes.equals(Buffer.concat(given))).toBe(true);
  }), { numRuns: 30 });
});

test('type, status and length that were set stand', async () => {
  const port = await serve(() => createReadStream(FILE), undefined, (res) => void res.status(201).type('txt').set('Content-Length', '9'));
  const { status, headers, body } = await ask(port, '/');
  expect([status, headers['content-type'], headers['content-length'], headers['transfer-encoding'], body]).toEqual([201, 'text/plain; charset=utf-8', '9', undefined, 'some text']);
});

test('goes by its length alone where a coding and a trailer stand beside that', async () => {
  const port = await serve(() => createReadStream(FILE), undefined, (res) => void res.set({ 'Content-Length': '9', 'Transfer-Encoding': 'chunked', Trailer: 'X' }));
  const { headers, body } = await ask(port, '/');
  expect([headers['content-length'], headers['transfer-encoding'], headers.trailer, body]).toEqual(['9', undefined, undefined, 'some text']);
});

test('the length of a source that fails before its first byte is not that of what is sent in its place', async () => {
  const port = await running.app((app) => {
    app.get('/', (_req, res) => res.set('Content-Length', '9').stream(createReadStream(join(folder, 'none'))));
    app.use(((_error: unknown, _req: unknown, res: ServerResponse, _next: unknown) => void res.end('another')) as never);
  });
  expect((await ask(port, '/')).body).toBe('another');
});

test('a HEAD request, a 204 and a 304 have no body, and the source is let go of', async () => {
  const made: Readable[] = [];
  const missing = (): Readable => {
    const stream = createReadStream(join(folder, 'none'));
    made.push(stream);
    return stream;
  };
  let status = 200;
  const port = await serve(missing, undefined, (res) => void res.status(status));
  const answers = [await ask(port, '/', { method: 'HEAD' })];
  for (status of [204, 304]) answers.push(await ask(port, '/'));
  expect(answers.map((answer) => [answer.status, answer.headers['content-type'], answer.body])).toEqual([[200, 'application/octet-stream', ''], [204, undefined, ''], [304, undefined, '']]);
  expect(made.map(({ destroyed }) => destroyed)).toEqual([true, true, true]);
});

test('a request that is to be echoed takes no connection along where its response has no body, or was sent before', async () => {
  const clients = new Set<number | undefined>();
  const port = await running.app((app) => {
    app.use((req, _res, next) => {
      clients.add(req.socket.remotePort);
      next();
    });
    app.all('/echo/:status', (req, res) => res.status(Number(req.params.status)).stream(req));
    app.all('/sent', (req, res) => {
      res.send('x'.repeat(1_000_000));
      res.stream(req);
    });
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const outcomes: unknown[] = [];
  for (const [method, target, body] of [['POST', '/echo/204', '{}'], ['POST', '/echo/304', '{}'], ['POST', '/sent', '{}'], ['POST', '/echo/201', '{}'], ['HEAD', '/echo/200']] as const) {
    const answer = await ask(port, target, { method, agent, headers: { 'content-type': 'application/json' }, ...(body && { body }) });
    outcomes.push([answer.status, answer.body.length]);
  }
  agent.destroy();
  expect([outcomes, clients.size]).toEqual([[[204, 0], [304, 0], [200, 1_000_000], [201, 2], [200, 0]], 1]);
});

describe('an error before the first byte', () => {
  const failing: Record<string, () => StreamSource> = {
    'of a file that is not there': () => createReadStream(join(folder, 'none')),
    'of a stream that has failed before': () => new Readable({ read() { /* Nothing comes. */ } }).destroy(new Error('of the source')),
    'of a generator': async function* () {
      await Promise.resolve();
      throw new Error('of the source');
      yield 'a';
    },
    'of a ReadableStream': () => new ReadableStream({ start: (control) => control.error(new Error('of the source')) }),
    'since it holds no bytes': () => Readable.from([{ a: 1 }]),
    'since it was closed': () => new Readable({ read() { /* Nothing comes. */ } }).destroy(),
  };

  test.each(Object.entries(failing))('is answered by 500 and logged, %s', async (_, make) => {
    const log = new LogRecorder();
    const { status, headers, json } = await ask(await serve(make, log), '/');
    expect([status, headers['content-type'], json]).toEqual([500, 'application/json; charset=utf-8', { error: 'Internal Server Error', message: 'Internal Server Error' }]);
    // Node's own errors are none of the realm that jest runs specs in.
    expect(errorsOf(log).map((error) => types.isNativeError(error))).toEqual([true]);
  });

  test('goes to error middleware, in the async context of its request wherever it arose, and nothing was said of a body', async () => {
    const context = new AsyncLocalStorage<string>();
    const source = new PassThrough();
    let asked: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => { asked = resolve; });
    const port = await running.app((app) => {
      app.use((_req, _res, next) => context.run('of the request', next));
      app.get('/', (_req, res) => {
        res.stream(source);
        asked();
      });
      app.use((error: NodeJS.ErrnoException, _req: Request, res: Response, _next: NextFunction) => void res.status(404).send(`${String(error.code)} ${String(context.getStore())}`));
    });
    const answer = ask(port, '/');
    await begun;
    source.destroy(Object.assign(new Error('gone'), { code: 'EGONE' }));
    const { status, headers, body } = await answer;
    expect([status, headers['content-type'], body]).toEqual([404, 'text/html; charset=utf-8', 'EGONE of the request']);
  });

  test('names what the stream held', async () => {
    const log = new LogRecorder();
    await ask(await serve(() => Readable.from([{ a: 1 }]), log), '/');
    expect(String(errorsOf(log)[0])).toContain('res.stream sends text and bytes, and was given an object by the stream: for data, write res.xJson');
  });
});

describe('an error after the first byte', () => {
  async function* half(): AsyncGenerator<string> {
    yield 'half';
    await Promise.resolve();
    throw new Error('of the source');
  }

  test('cuts the response off, and is logged', async () => {
    const log = new LogRecorder();
    const text = await Wire.tell(await serve(half, log), head('GET /'));
    expect(text).toContain('half');
    expect(text).not.toContain('\r\n0\r\n');
    expect(errorsOf(log).map(String)).toEqual(['Error: of the source']);
  });

  test('cuts it off, too, where error middleware leaves it alone', async () => {
    const heard: string[] = [];
    const port = await running.app((app) => {
      app.get('/', (_req, res) => res.stream(half()));
      app.use((error: Error, _req: Request, _res: Response, _next: NextFunction) => void heard.push(error.message));
    });
    expect(await Wire.tell(port, head('GET /'))).not.toContain('\r\n0\r\n');
    expect(heard).toEqual(['of the source']);
  });

  test.each([['fewer', '10', 0], ['more', '3', 2]])('is one of a source with %s bytes than were announced: the next response is not taken for them', async (_, length, most) => {
    const log = new LogRecorder();
    const port = await serve(() => Readable.from(['four']), log, (res) => void res.set('Content-Length', length));
    const text = await Wire.tell(port, head('GET /') + head('GET /', { Connection: 'close' }));
    expect(text.match(/HTTP\/1\.1 500/g)?.length ?? 0).toBe(most);
    expect((errorsOf(log)[0] as NodeJS.ErrnoException).code).toBe('ERR_HTTP_CONTENT_LENGTH_MISMATCH');
  });
});

describe('a Content-Length that was set', () => {
  /** What may stand between: nothing, middleware that hands on what is written, and some that looks at the head. */
  const BETWEEN: Record<string, (res: Response) => void> = {
    nothing: () => undefined,
    'write and end of another': (res) => {
      const { write, end } = res;
      res.write = ((...args: Parameters<typeof write>) => write.apply(res, args)) as typeof write;
      res.end = ((...args: Parameters<typeof end>) => end.apply(res, args)) as typeof end;
    },
    'a write that returns nothing': (res) => {
      const { write } = res;
      res.write = ((...args: Parameters<typeof write>) => void write.apply(res, args)) as unknown as typeof write;
    },
    'an end that comes later, as that of sessions': (res) => {
      const { end } = res;
      res.end = ((...args: Parameters<typeof end>) => {
        setImmediate(() => end.apply(res, args));
        return res;
      }) as typeof end;
    },
    'writeHead of another': (res) => {
      const { writeHead } = res;
      res.writeHead = ((...args: Parameters<typeof writeHead>) => {
        res.set('X-Seen', '1');
        return writeHead.apply(res, args);
      }) as typeof writeHead;
    },
  };

  test.each(Object.entries(BETWEEN))('is never gone beyond, and what falls short of it is followed by nothing: behind %s', async (_, between) => {
    let given = { parts: [''], length: 0 };
    const log = new LogRecorder();
    const port = await running.app((app) => {
      app.get('/', (_req, res) => {
        between(res);
        res.set('Content-Length', String(given.length)).stream(Readable.from(given.parts));
      });
      app.get('/next', (_req, res) => res.send('next'));
    }, { logging: { logger: log } });
    await fc.assert(fc.asyncProperty(fc.array(fc.nat(3), { maxLength: 4 }), fc.integer({ min: -3, max: 3 }), async (lengths, more) => {
      const parts = lengths.map((length) => 'x'.repeat(length));
      const whole = parts.join('').length;
      given = { parts, length: Math.max(0, whole + more) };
      log.lines.length = 0;
      const text = await Wire.tell(port, head('GET /') + head('GET /next', { Connection: 'close' }));
      const found = [];
      for (let rest = text; rest !== '';) {
        const [, status, length, after] = /^HTTP\/1\.1 (\d+)(?:.*\r\n)*?Content-Length: (\d+)\r\n(?:.+\r\n)*\r\n([^]*)$/.exec(rest) as unknown as [string, string, string, string];
        found.push([status, after.slice(0, Number(length))]);
        rest = after.slice(Number(length));
      }
      expect(errorsOf(log).map((error) => (error as NodeJS.ErrnoException).code)).toEqual(given.length === whole ? [] : ['ERR_HTTP_CONTENT_LENGTH_MISMATCH']);
      if (given.length === whole) expect(found).toEqual([['200', parts.join('')], ['200', 'next']]);
      else if (found[0]?.[0] === '500') expect([found.length, given.length < whole || whole === 0]).toEqual([2, true]);
      else expect([found.length <= 1, 'x'.repeat(whole).startsWith(found[0]?.[1] ?? '')]).toEqual([true, true]);
    }), { numRuns: runs(100), examples: [[[3], -1], [[1, 3], -1], [[], 2], [[3], 2]] });
  });

  test('has nobody who ends the response when the client has gone met by an error', async () => {
    const log = new LogRecorder();
    const ended: unknown[] = [];
    const events = ['res', 'req', 'socket'];
    let settled: () => void = () => undefined;
    const all = new Promise<void>((resolve) => { settled = resolve; });
    const port = await running.app((app) => app.get('/:event', (req, res) => {
      const emitter = { res, req, socket: req.socket }[req.params.event as string] as NodeJS.EventEmitter;
      emitter.once('close', () => {
        try {
          ended.push(res.end().destroyed);
        } catch (error) {
          ended.push(error);
        }
        if (ended.length === events.length) settled();
      });
      res.set('Content-Length', '1000000000').stream(new Readable({ read() { this.push(Buffer.alloc(65_536)); } }));
    }), { logging: { logger: log } });
    for (const event of events) {
      const wire = (await Wire.open(port)).write(head(`GET /${event}`));
      await wire.until('\r\n\r\n');
      wire.cut();
    }
    await all;
    expect([ended, errorsOf(log)]).toEqual([[true, true, true], []]);
  });

  test('of a head that the program has sent meanwhile is met by nothing more, and the client is told', async () => {
    const log = new LogRecorder();
    const heard: unknown[] = [];
    const port = await running.app((app) => {
      app.get('/', (_req, res) => {
        res.set('Content-Length', '4').stream(Readable.from(['four']));
        res.flushHeaders();
      });
      app.use((error: NodeJS.ErrnoException, _req: Request, res: Response, _next: NextFunction) => {
        heard.push(error.code, res.headersSent);
      });
    }, { logging: { logger: log } });
    expect(await Wire.tell(port, head('GET /'))).toMatch(/^HTTP\/1\.1 200 [^]*\r\n\r\n$/);
    expect(heard).toEqual(['ERR_HTTP_HEADERS_SENT', true]);
  });

  test.each(['at once', 'later'])('leaves the response to error middleware where the head is refused: %s', async (when) => {
    const port = await running.app((app) => {
      app.get('/trailer', (_req, res) => res.set('Trailer', 'X-Sum').stream(Readable.from(['some', 'rows'])));
      app.get('/message', (_req, res) => {
        res.statusMessage = 'a\nb';
        res.stream(Readable.from(['some', 'rows']));
      });
      app.use((_error: Error, _req: Request, res: Response, _next: NextFunction) => {
        res.removeHeader('Trailer');
        res.statusMessage = '';
        const answer = (): unknown => res.set('Content-Length', '4').status(503).stream(Readable.from(['page']));
        if (when === 'later') setImmediate(() => setImmediate(answer));
        else answer();
      });
    }, { logging: { level: 'silent' } });
    for (const request of ['GET /trailer HTTP/1.0\r\n\r\n', head('GET /message', { Connection: 'close' })]) {
      expect(await Wire.tell(port, request)).toMatch(/^HTTP\/1\.1 503 [^]*\r\n\r\npage$/);
    }
  });
});

test('a slow client holds the source back, and it goes on when the client reads', async () => {
  let read = 0;
  const TOTAL = 64 * 1024 * 1024;
  const part = Buffer.alloc(65_536, 'x');
  const source = (): Readable => new Readable({
    read() {
      read += part.length;
      this.push(read > TOTAL ? null : part);
    },
  });
  const port = await serve(source, undefined, (res) => void res.set('Content-Length', String(TOTAL)));
  const wire = (await Wire.open(port)).pause();
  wire.write(head('GET /', { Connection: 'close' }));
  let before = -1;
  // Until it stands still: what fits into the sockets' buffers is read at once.
  while (before !== read || read === 0) {
    before = read;
    for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
  }
  expect(read).toBeLessThan(TOTAL / 2);
  wire.resume();
  await wire.end;
  expect(wire.text.length).toBeGreaterThan(TOTAL);
});

test('a source cleans up in the async context of its request, though its client has gone', async () => {
  const context = new AsyncLocalStorage<string>();
  let left: (store: string | undefined) => void = () => undefined;
  const cleaned = new Promise<string | undefined>((resolve) => { left = resolve; });
  const port = await running.app((app) => {
    app.use((req, _res, next) => context.run(req.url, next));
    app.get('/endless', (_req, res) => res.stream((async function* () {
      try {
        for (;;) yield Buffer.alloc(65_536);
      } finally {
        left(context.getStore());
      }
    })()));
  });
  const wire = (await Wire.open(port)).write(head('GET /endless'));
  await wire.until('\r\n\r\n');
  wire.cut();
  expect(await cleaned).toBe('/endless');
});

test('a source that has waited behind another response goes on in the async context of its own request', async () => {
  const context = new AsyncLocalStorage<string>();
  const seen = new Set<string | undefined>();
  let parts = 0;
  let first: Response | undefined;
  const port = await running.app((app) => {
    app.use((req, _res, next) => context.run(req.url, next));
    app.get('/first', (_req, res) => { first = res; });
    app.get('/second', (_req, res) => {
      res.stream(new Readable({
        read() {
          seen.add(context.getStore());
          this.push(++parts > 100 ? null : Buffer.alloc(65_536));
        },
      }));
      // Behind the first parts, which wait for their turn.
      setImmediate(() => setImmediate(() => context.run('/first', () => void first?.send('first'))));
    });
  });
  const wire = await Wire.open(port);
  wire.write(head('GET /first') + head('GET /second', { Connection: 'close' }));
  await wire.end;
  expect(wire.text.length).toBeGreaterThan(100 * 65_536);
  expect([...seen]).toEqual(['/second']);
});

describe('a client that goes', () => {
  function endless(): Readable {
    return new Readable({ read() { this.push(Buffer.alloc(65_536)); } });
  }

  test.each<[string, (made: { stream?: Readable; cancelled?: Promise<unknown> }) => StreamSource]>([
    ['a Readable', (made) => (made.stream = endless())],
    ['one that waits', (made) => (made.stream = new Readable({ read() { /* Nothing comes. */ } }))],
    ['a ReadableStream', (made) => {
      let cancel: (reason: unknown) => void = () => undefined;
      made.cancelled = new Promise((resolve) => { cancel = resolve; });
      return new ReadableStream({ pull: (control) => control.enqueue(new Uint8Array(65_536)), cancel: (reason) => cancel(reason) });
    }],
  ])('has the source destroyed, and is nobody\'s error: %s', async (_, make) => {
    const log = new LogRecorder();
    const made: { stream?: Readable; cancelled?: Promise<unknown> } = {};
    let response: Response | undefined;
    const port = await serve(() => make(made), log, (res) => { response = res; });
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    while (response === undefined) await new Promise(setImmediate);
    const closed = once(response, 'close');
    const gone = made.stream === undefined ? made.cancelled : once(made.stream, 'close').catch(() => undefined);
    wire.cut();
    await Promise.all([closed, gone]);
    await new Promise(setImmediate);
    if (made.stream !== undefined) expect(made.stream.destroyed).toBe(true);
    expect(errorsOf(log)).toEqual([]);
  });

  test('and has gone before: the source is not read', async () => {
    const source = endless();
    let asked: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => { asked = resolve; });
    const log = new LogRecorder();
    const port = await running.app((app) => app.get('/', async (_req, res) => {
      asked();
      await once(res, 'close');
      res.stream(source);
    }), { logging: { logger: log } });
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await begun;
    wire.cut();
    await once(source, 'close');
    expect([source.readableDidRead, errorsOf(log)]).toEqual([false, []]);
  });
});

test.each<[string, unknown, RegExp]>([
  ['data', { a: 1 }, /res\.stream needs a Readable, a ReadableStream or an asynchronous iterable, got an object: other bodies are sent by res\.send and res\.json/],
  ['what can only be written to', new Writable(), /res\.stream needs a stream to read from, and got one that can only be written to/],
  ['a response', new ServerResponse(new IncomingMessage(new Socket())), /can only be written to/],
  ['text', 'text', /got a string/], ['nothing', undefined, /got undefined/], ['null', null, /got null/], ['bytes', Buffer.from('x'), /got an object/],
])('%s is refused, with what to write', async (_, given, words) => {
  const log = new LogRecorder();
  const port = await serve(() => given as StreamSource, log);
  expect((await ask(port, '/')).status).toBe(500);
  expect(String(errorsOf(log)[0])).toMatch(words);
});

test('a stream of the web that somebody reads is refused', async () => {
  const log = new LogRecorder();
  const port = await serve(() => {
    const stream = new Blob(['x']).stream();
    stream.getReader();
    return stream;
  }, log);
  expect((await ask(port, '/')).status).toBe(500);
  expect(String(errorsOf(log)[0])).toMatch(/locked/);
});

test('where the head is out it throws as Express\'s methods do, and lets the source go', async () => {
  const source = new Readable({ read() { /* Nothing comes. */ } });
  const port = await running.app((app) => app.get('/', (_req, res) => {
    res.write('begun ');
    try {
      res.stream(source);
    } catch (error) {
      res.end((error as NodeJS.ErrnoException).code);
    }
  }));
  expect((await ask(port, '/')).body).toBe('begun ERR_HTTP_HEADERS_SENT');
  expect(source.destroyed).toBe(true);
});

test('what has answered meanwhile is not added to', async () => {
  const log = new LogRecorder();
  const source = new PassThrough();
  const port = await running.app((app) => app.get('/', (_req, res) => {
    res.stream(source);
    res.send('answered');
    source.end('more');
  }), { logging: { logger: log } });
  expect((await ask(port, '/')).body).toBe('answered');
  if (!source.closed) await once(source, 'close');
  expect(source.destroyed).toBe(true);
});

test('middleware that replaces write and end takes part: compression', async () => {
  const app = express({ logging: { level: 'silent' } });
  app.use(compression({ threshold: 0 }));
  app.get('/', (_req, res) => res.type('txt').stream(Readable.from(Array.from({ length: 300 }, () => 'x'.repeat(10_000)))));
  const port = await running.start(app);
  const { headers, bytes } = await ask(port, '/', { headers: { 'accept-encoding': 'gzip' } });
  expect([headers['content-encoding'], bytes.length < 100_000]).toEqual(['gzip', true]);
});

test('app.inject gives the whole body', async () => {
  const app = express({ logging: { level: 'silent' } });
  app.get('/', (_req, res) => res.stream(createReadStream(FILE)));
  expect((await app.inject('/')).payload).toBe('some text');
});
