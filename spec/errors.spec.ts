import { join } from 'node:path';
import type { RequestHandler } from 'express';
import { type Application, createServer, type ErrorHandler, type Handler, HttpError } from 'waypost';
import { ExpressOracle } from './support/express-oracle';
import { LogRecorder, Running } from './support/running';
import { ask, head, post, Wire } from './support/wire';

const running = new Running();

afterEach(() => running.close());

const PLAIN_500 = { error: 'Internal Server Error', message: 'Internal Server Error' };

/** Throws what no rule of lint would let one throw. */
function raise(value: unknown): never {
  throw value;
}

/** Error middleware with its types; the four parameters are what makes it such. */
function caught(handler: ErrorHandler): ErrorHandler {
  return handler;
}

/** Ways in which a handler fails. */
const FAILURES: Record<string, Handler> = {
  throw: () => raise(new Error('inner detail')),
  reject: async () => {
    await null;
    raise(new Error('inner detail'));
  },
  next: (_req, _res, next) => next(new Error('inner detail')),
  'late next': (_req, _res, next) => void setImmediate(() => next(new Error('inner detail'))),
  'thenable that throws': () => ({ then: () => raise(new Error('inner detail')) }),
  'thenable that can not be asked': () => Object.defineProperty({}, 'then', { get: () => raise(new Error('inner detail')) }),
  thenable: () => ({ then: (_: unknown, failed: (error: Error) => void) => failed(new Error('inner detail')) }),
};

describe('an unexpected error', () => {
  test.each(Object.keys(FAILURES))('by %s is 500, with no detail, in a route and in middleware', async (way) => {
    const log = new LogRecorder();
    const port = await running.app((app) => {
      app.get('/route', FAILURES[way] as Handler);
      app.use('/middleware', FAILURES[way] as Handler);
    }, { logging: { logger: log } });
    for (const path of ['/route', '/middleware']) {
      const answer = await ask(port, path);
      expect(answer.status).toBe(500);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(answer.json).toEqual(PLAIN_500);
    }
    const errors = log.lines.filter(({ level }) => level === 'error');
    expect(errors.map(({ fields }) => String(fields.err))).toEqual(['Error: inner detail', 'Error: inner detail']);
    expect(errors[0]?.fields).toMatchObject({ method: 'GET', url: '/route' });
  });

  test.each([undefined, null, 0, '', false, NaN])('thrown or rejected as %p is one all the same', async (value) => {
    const after = jest.fn();
    const port = await running.app((app) => {
      app.get('/throw', () => raise(value), after);
      app.get('/reject', async () => raise(value), after);
    });
    for (const path of ['/throw', '/reject']) expect(await ask(port, path)).toMatchObject({ status: 500, json: PLAIN_500 });
    expect(after).not.toHaveBeenCalled();
  });

  test.each([undefined, null, 0, ''])('thrown as %p reaches error middleware as an Error', async (value) => {
    const port = await running.app((app) => {
      app.get('/', () => raise(value));
      app.use(caught((error, _req, res, _next) => res.json(error instanceof Error)));
    });
    expect((await ask(port, '/')).json).toBe(true);
  });

  test.each(['text', 7, { status: 400.5 }, { status: 'x' }, { status: 200 }, { status: 99 }, { statusCode: 700 }, Symbol('s'), Object.create(null)])(
    'of an odd kind (%p) is 500 with no detail',
    async (value) => {
      const port = await running.app((app) => app.get('/', () => raise(value)));
      expect(await ask(port, '/')).toMatchObject({ status: 500, json: PLAIN_500 });
    },
  );

  test('whose fields throw when they are read is 500', async () => {
    const hostile = new Proxy(new Error('x'), { get: () => raise(new Error('trap')), has: () => raise(new Error('trap')), getPrototypeOf: () => raise(new Error('trap')) });
    const port = await running.app((app) => app.get('/', () => raise(hostile)));
    expect(await ask(port, '/')).toMatchObject({ status: 500 });
  });

  test('shows message and stack in development only', async () => {
    const broken = (app: Application): void => void app.get('/', FAILURES['throw'] as Handler);
    const shown = (await ask(await running.app(broken, { env: 'development' }), '/')).json;
    expect(shown).toEqual({ error: 'Internal Server Error', message: 'inner detail', stack: expect.stringContaining('errors.spec') as unknown });
    for (const env of ['production', 'test', 'staging', 'dev']) expect((await ask(await running.app(broken, { env }), '/')).json).toEqual(PLAIN_500);
  });

  test('has no body for HEAD', async () => {
    const port = await running.app((app) => app.get('/', FAILURES['throw'] as Handler));
    expect(await Wire.tell(port, head('HEAD /', { Connection: 'close' }))).toMatch(/^HTTP\/1\.1 500 [\s\S]*\r\n\r\n$/);
  });

  test('takes back the status that was set for the answer that was to come', async () => {
    const port = await running.app((app) => app.get('/', (_req, res) => {
      res.status(201);
      res.statusMessage = 'Fine';
      throw new Error('x');
    }));
    expect(await Wire.tell(port, head('GET /', { Connection: 'close' }))).toMatch(/^HTTP\/1\.1 500 Internal Server Error\r\n/);
  });
});

describe('an error with a status', () => {
  test('of HttpError shows its message below 500, and none from 500 on', async () => {
    const port = await running.app((app) => {
      app.get('/teapot', () => raise(new HttpError(418, 'TEAPOT', 'short and stout')));
      app.get('/down', () => raise(new HttpError(503, 'DOWN', 'the database at 10.0.0.7')));
    });
    expect(await ask(port, '/teapot')).toMatchObject({ status: 418, json: { error: "I'm a Teapot", message: 'short and stout' } });
    expect(await ask(port, '/down')).toMatchObject({ status: 503, json: { error: 'Service Unavailable', message: 'Service Unavailable' } });
  });

  test('that is not to be exposed shows no message', async () => {
    const port = await running.app((app) => app.get('/', () => raise(Object.assign(new Error('inner detail'), { status: 404, expose: false }))));
    expect(await ask(port, '/')).toMatchObject({ status: 404, json: { error: 'Not Found', message: 'Not Found' } });
  });

  test('of a missing file tells no path of the server', async () => {
    const port = await running.app((app) => app.get('/', (_req, res) => res.sendFile(join(__dirname, 'no-such-file'))));
    const answer = await ask(port, '/');
    expect(answer.status).toBe(404);
    expect(answer.body).not.toMatch(/no-such-file|ENOENT|spec/);
  });
});

describe('a default answer has Express\'s status, and the headers that the error brings', () => {
  const error = (fields: object): never => raise(Object.assign(new Error('inner detail'), fields));

  test.each<[string, RequestHandler]>([
    ['a status that was set', (_req, res) => error({ sent: Boolean(res.status(404)) })],
    ['a status of 5xx that was set', (_req, res) => error({ sent: Boolean(res.status(503)) })],
    ['a status that says nothing failed', (_req, res) => error({ sent: Boolean(res.status(302)) })],
    ['a status that was set, and a text', (_req, res) => raise(res.status(403) && 'inner detail')],
    ['a status of its own before it', (_req, res) => error({ status: 401, sent: Boolean(res.status(404)) })],
    ['statusCode where status is none', () => error({ status: 200, statusCode: 404 })],
    ['headers', () => error({ status: 429, expose: true, headers: { 'X-Brought': '5', 'Set-Cookie': ['a=b', 'c=d'] } })],
    ['headers without a status', () => error({ headers: { 'X-Brought': '5' } })],
    ['headers of the body', () => error({ status: 400, expose: true, headers: { 'Content-Length': '1', 'Content-Type': 'x/y', 'X-Brought': '1' } })],
    ['headers that are none', () => error({ status: 400, headers: 'odd' })],
    ['what was set before', (_req, res) => error({ set: Boolean(res.set({ 'X-Brought': '1', Vary: 'X' })), status: 400, expose: true, headers: { 'X-Brought': '2' } })],
  ])('%s', async (_what, handler) => {
    const oracle = await ExpressOracle.start((app) => app.get('/', handler));
    try {
      await oracle.each(async (port) => {
        const { status, headers } = await ask(port, '/');
        return [status, headers['x-brought'], headers['set-cookie'], headers.vary];
      });
    } finally {
      await oracle.close();
    }
  });

  test('a status that was set shows no message: the error was not made to be shown', async () => {
    const log = new LogRecorder();
    const port = await running.app((app) => app.get('/', (_req, res) => {
      res.status(404);
      throw new Error('inner detail');
    }), { logging: { logger: log } });
    expect(await ask(port, '/')).toMatchObject({ status: 404, json: { error: 'Not Found', message: 'Not Found' } });
    expect(log.text).toContain('inner detail');
  });

  test('headers that can\'t be sent, or belie the body, are left out', async () => {
    const headers = { 'bad name': '1', 'X-Bad': 'a\r\nb', 'Content-Encoding': 'gzip', 'Transfer-Encoding': 'chunked', 'X-Good': '1' };
    const port = await running.app((app) => {
      app.get('/', () => raise(Object.assign(new HttpError(429, 'SLOW', 'slow'), { headers })));
    });
    const answer = await ask(port, '/');
    expect([answer.status, answer.json, answer.headers['x-good']]).toEqual([429, { error: 'Too Many Requests', message: 'slow' }, '1']);
    expect(Object.keys(answer.headers)).not.toEqual(expect.arrayContaining([expect.stringMatching(/bad|encoding/)]));
  });
});

describe('error middleware', () => {
  test('gets the error, the request and the response', async () => {
    const port = await running.app((app) => {
      app.get('/:id', FAILURES['reject'] as Handler);
      app.use(caught((error, req, res, _next) => res.status(502).json({ caught: (error as Error).message, path: req.path })));
    });
    expect(await ask(port, '/7')).toMatchObject({ status: 502, json: { caught: 'inner detail', path: '/7' } });
  });

  test('below runs in order; what stands above does not', async () => {
    const seen: string[] = [];
    const note = (name: string): ErrorHandler => (error, _req, _res, next) => {
      seen.push(name);
      next(error);
    };
    const port = await running.app((app) => {
      app.use(note('above'));
      app.get('/', FAILURES['throw'] as Handler);
      app.use(() => void seen.push('plain'));
      app.use(note('first'), note('second'));
    });
    expect((await ask(port, '/')).status).toBe(500);
    expect(seen).toEqual(['first', 'second']);
  });

  test('that throws or rejects hands its own error on', async () => {
    const failing: ErrorHandler[] = [
      (_error, _req, _res, _next) => raise(new Error('second')),
      async (_error, _req, _res, _next) => raise(new Error('second')),
    ];
    for (const handler of failing) {
      const port = await running.app((app) => {
        app.get('/', FAILURES['throw'] as Handler);
        app.use(handler);
        app.use(caught((error, _req, res, _next) => res.json((error as Error).message)));
      });
      expect((await ask(port, '/')).json).toBe('second');
    }
  });

  test('that throws last is 500', async () => {
    const port = await running.app((app) => {
      app.get('/', () => raise(new HttpError(418, 'TEAPOT', 'short')));
      app.use(caught((_error, _req, _res, _next) => raise(new Error('second'))));
    });
    expect(await ask(port, '/')).toMatchObject({ status: 500, json: PLAIN_500 });
  });

  test('that calls next() makes the request go on', async () => {
    const port = await running.app((app) => {
      app.get('/', FAILURES['throw'] as Handler);
      app.use(caught((_error, _req, _res, next) => next()));
      app.use((_req, res) => res.send('went on'));
    });
    expect((await ask(port, '/')).body).toBe('went on');
  });

  test('does not run without an error', async () => {
    const ran = jest.fn();
    const port = await running.app((app) => {
      app.use(caught((_error, _req, _res, _next) => ran()));
      app.get('/', (_req, res) => res.send('fine'));
    });
    expect((await ask(port, '/')).body).toBe('fine');
    expect((await ask(port, '/none')).status).toBe(404);
    expect(ran).not.toHaveBeenCalled();
  });

  test('sees errors of the framework with status, code and a message that may be shown', async () => {
    const port = await running.app((app) => {
      app.post('/:x', (_req, res) => res.send('ran'));
      app.use(caught((error, _req, res, _next) => {
        if (!(error instanceof HttpError)) return res.end();
        return res.status(299).json([error.status, error.code, error.expose, error.message]);
      }));
    }, { body: { limit: 10 } });
    const told = async (path: string, body: string, headers: Record<string, string> = {}): Promise<unknown> => (await post(port, path, body, 'application/json', headers)).json;
    expect(await told('/a', '{')).toEqual([400, 'MALFORMED_BODY', true, expect.stringContaining('not valid JSON')]);
    expect(await told('/a', '{"a":"123456789"}')).toEqual([413, 'BODY_TOO_LARGE', true, expect.stringContaining('limit')]);
    expect(await told('/a', '1', { 'content-encoding': 'compress' })).toEqual([415, 'UNSUPPORTED_ENCODING', true, expect.any(String)]);
    expect(await told('/%zz', '1')).toEqual([400, 'MALFORMED_PATH', true, expect.any(String)]);
  });
});

describe('an error after the head is out', () => {
  test.each(Object.keys(FAILURES))('by %s cuts the connection, and is logged', async (way) => {
    const log = new LogRecorder();
    const port = await running.app((app) => app.get('/', (req, res, next) => {
      res.write('begun');
      return (FAILURES[way] as Handler)(req, res, next);
    }), { logging: { logger: log } });
    const text = await Wire.tell(port, head('GET /'));
    expect(text).not.toContain('inner detail');
    // What was written before is there, as on Express, and is seen to be cut.
    expect(text).toMatch(/^HTTP\/1\.1 200 OK[^]*begun/);
    // The end of a chunked body would say that it is whole.
    expect(text).not.toMatch(/0\r\n\r\n$/);
    expect(log.lines.filter(({ level }) => level === 'error').map(({ fields }) => String(fields.err))).toEqual(['Error: inner detail']);
  });

  test('by data that can not be written shows what was written before, too', async () => {
    const port = await running.app((app) => app.get('/', (_req, res) => {
      res.write('begun');
      res.json({ big: 1n });
    }));
    const text = await Wire.tell(port, head('GET /'));
    expect(text).toMatch(/^HTTP\/1\.1 200 OK[^]*begun/);
    expect(text).not.toMatch(/0\r\n\r\n$/);
  });

  test('still meets error middleware, which may see that the head is out', async () => {
    const seen: boolean[] = [];
    const port = await running.app((app) => {
      app.get('/', (_req, res) => {
        res.write('begun');
        throw new Error('x');
      });
      app.use(caught((error, _req, res, next) => {
        seen.push(res.headersSent);
        next(error);
      }));
    });
    await Wire.tell(port, head('GET /'));
    expect(seen).toEqual([true]);
  });

  test('after the response has ended is logged, and harms nothing', async () => {
    const log = new LogRecorder();
    const port = await running.app((app) => app.get('/', async (_req, res) => {
      res.send('whole');
      await null;
      throw new Error('too late');
    }), { logging: { logger: log } });
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await wire.until(/whole$/);
    wire.write(head('GET /'));
    await wire.until(/whole[\s\S]*whole$/);
    expect(log.text).toContain('too late');
    wire.cut();
  });
});

describe('next', () => {
  test('called twice runs nothing twice', async () => {
    const ran: string[] = [];
    const port = await running.app((app) => {
      app.use((_req, _res, next) => {
        next();
        next();
      });
      app.get('/', (_req, res) => {
        ran.push('route');
        res.send('once');
      });
    });
    expect((await ask(port, '/')).body).toBe('once');
    expect(ran).toEqual(['route']);
  });

  test('after the response does no harm', async () => {
    const port = await running.app((app) => app.get('/', (_req, res, next) => {
      res.send('sent');
      next();
    }));
    expect(await ask(port, '/')).toMatchObject({ status: 200, body: 'sent' });
  });

  test('with an error after the response is logged', async () => {
    const log = new LogRecorder();
    const port = await running.app((app) => app.get('/', (_req, res, next) => {
      res.send('sent');
      next(new Error('too late'));
    }), { logging: { logger: log } });
    expect((await ask(port, '/')).body).toBe('sent');
    // As in Express a router is left in a further turn.
    await new Promise(setImmediate);
    expect(log.text).toContain('too late');
  });

  test('called and then thrown or rejected: answered once', async () => {
    const port = await running.app((app) => {
      app.get('/throw', (_req, _res, next) => {
        next();
        throw new Error('x');
      }, (_req, res) => res.send('second'));
      app.get('/reject', async (_req, _res, next) => {
        next();
        throw new Error('x');
      }, (_req, res) => res.send('second'));
    });
    for (const path of ['/throw', '/reject']) expect(await ask(port, path)).toMatchObject({ status: 200, body: 'second' });
  });

  test('with a falsy value goes on, as in Express', async () => {
    const port = await running.app((app) => {
      app.use((req, _res, next) => next([null, 0, '', false][Number(req.query['i'])]));
      app.get('/', (_req, res) => res.send('on'));
    });
    for (const index of [0, 1, 2, 3]) expect((await ask(port, `/?i=${index}`)).body).toBe('on');
  });

  test('nested ten thousand deep does not overflow the stack', async () => {
    const port = await running.app((app) => {
      for (let index = 0; index < 10_000; index++) app.use((_req, _res, next) => next());
      app.get('/', (_req, res) => res.send('bottom'));
    });
    expect((await ask(port, '/')).body).toBe('bottom');
  });
});

describe('no match', () => {
  test('is 404 with the default body, whatever the method', async () => {
    const port = await running.app((app) => app.get('/a', (_req, res) => res.end()));
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await ask(port, '/none/x?q=secret', { method });
      expect([answer.status, answer.headers['content-type'], answer.json]).toEqual([404, 'application/json; charset=utf-8', { error: 'Not Found', message: `Cannot ${method} /none/x` }]);
    }
    expect((await ask(port, '/a', { method: 'POST' })).status).toBe(404);
    expect(await Wire.tell(port, head('HEAD /none', { Connection: 'close' }))).toMatch(/^HTTP\/1\.1 404 [\s\S]*\r\n\r\n$/);
  });

  test('echoes the path as JSON only', async () => {
    const port = await running.app(() => undefined);
    const text = await Wire.tell(port, head('GET /<script>"\\', { Connection: 'close' }));
    expect(text).toMatch(/Content-Type: application\/json/i);
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toEqual({ error: 'Not Found', message: 'Cannot GET /<script>"\\' });
  });
});

describe('what ends a plain node:http process', () => {
  const BROKEN = `500 ${JSON.stringify(PLAIN_500)}`;

  /** Handlers from which a careless server does not recover, and what each answers: status and body, or how the connection ends. */
  test.each<[string, string, Handler]>([
    ['ending twice', '200 first', (_req, res) => {
      res.end('first');
      res.end('second');
    }],
    ['a header after the end', '200 first', (_req, res) => {
      res.end('first');
      res.setHeader('X-Late', '1');
    }],
    ['a line end in a header', BROKEN, (_req, res) => {
      res.setHeader('X-Own', 'a\r\nSet-Cookie: b');
      res.end();
    }],
    ['a wide character in a header', BROKEN, (_req, res) => {
      res.setHeader('X-Own', '\u4f60');
      res.end();
    }],
    ['status 99', BROKEN, (_req, res) => {
      res.status(99).end();
    }],
    ['a status set past the method', BROKEN, (_req, res) => {
      res.statusCode = 99;
      res.end();
    }],
    ['sending nothing that can be sent', BROKEN, (_req, res) => res.send((() => undefined) as never)],
    ['writing the head twice', 'ECONNRESET', (_req, res) => {
      res.writeHead(200);
      res.writeHead(200);
    }],
    ['a stream of no file', '404 {"error":"Not Found","message":"Not Found"}', (_req, res) => res.sendFile('/nowhere/at/all')],
    ['answering twice', '200 1', (_req, res) => {
      res.json(1);
      res.json(2);
    }],
    ['redirecting to a line end', '302 Found. Redirecting to /a%0D%0AX:%20y', (_req, res) => res.redirect('/a\r\nX: y')],
  ])('%s leaves the server alive', async (_name, expected, handler) => {
    const port = await running.app((app) => {
      app.get('/deadly', handler);
      app.get('/alive', (_req, res) => res.send('alive'));
    });
    const answered = ask(port, '/deadly').then(({ status, body }) => `${status} ${body}`, (error: NodeJS.ErrnoException) => error.code);
    expect(await answered).toBe(expected);
    expect((await ask(port, '/alive')).body).toBe('alive');
  });

  test('a client that resets while its body is read for await', async () => {
    let seen: (error: unknown) => void = () => undefined;
    const failed = new Promise((resolve) => {
      seen = resolve;
    });
    const port = await running.app((app) => {
      app.put('/', async (req) => {
        for await (const chunk of req) void chunk;
      });
      app.use(caught((error, _req, _res, next) => {
        seen(error);
        next(error);
      }));
      app.get('/alive', (_req, res) => res.send('alive'));
    });
    const wire = await Wire.open(port);
    wire.write(head('PUT /', { 'Content-Length': 1000, 'Content-Type': 'image/png' }) + 'part');
    await wire.flushed();
    wire.reset();
    expect(await failed).toMatchObject({ code: 'ECONNRESET' });
    expect((await ask(port, '/alive')).body).toBe('alive');
  });
});

test('HttpError refuses nothing it is documented to take, and is an Error', () => {
  const error = new HttpError(404, 'GONE_FISHING', 'away', { cause: 'river' });
  expect(error).toBeInstanceOf(Error);
  expect({ ...error, message: error.message, name: error.name, cause: error.cause }).toEqual({
    name: 'HttpError', message: 'away', cause: 'river', status: 404, statusCode: 404, code: 'GONE_FISHING', expose: true,
  });
});

test('an application without options hides details', async () => {
  const kept = process.env['NODE_ENV'];
  delete process.env['NODE_ENV'];
  try {
    const app = createServer({ logging: { level: 'silent' } });
    app.get('/', FAILURES['throw'] as Handler);
    expect((await ask(await running.start(app), '/')).json).toEqual(PLAIN_500);
  } finally {
    process.env['NODE_ENV'] = kept;
  }
});

test('an error passed on after the list has ended is logged, and the answer stands', async () => {
  const log = new LogRecorder();
  let late: (error: unknown) => void = () => undefined;
  const port = await running.app((app) => {
    app.use((_req, _res, next) => {
      late = next;
      next();
    });
  }, { logging: { logger: log } });
  expect((await ask(port, '/')).status).toBe(404);
  late(new Error('came late'));
  late('route');
  await new Promise(setImmediate);
  expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
});
