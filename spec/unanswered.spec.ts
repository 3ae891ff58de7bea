import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { createReadStream } from 'node:fs';
import { ServerResponse } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import cors from 'cors';
import { type Application, createServer, type CreateServerOptions, type Handler, type Response as OwnResponse, Router } from 'waypost';
import { Running } from './support/running';
import { WarningLog } from './support/warning-log';
import { ask, post, Wire, head } from './support/wire';

const running = new Running();

afterEach(() => running.close());

async function developed(register: (app: Application) => void, slowAfter = 60_000, options: CreateServerOptions = {}): Promise<{ logger: WarningLog; port: number; app: Application }> {
  const logger = new WarningLog();
  const app = createServer({ env: 'development', ...options, logging: { logger, slowAfter } });
  register(app);
  return { logger, app, port: await running.start(app) };
}

/** Asks, and leaves when the warnings are there. */
async function leaveAfter(logger: WarningLog, port: number, path: string, count: number): Promise<string[]> {
  const wire = await Wire.open(port);
  wire.write(head(`GET ${path}`));
  const warnings = await logger.warned(count);
  wire.cut();
  return warnings;
}

describe('in development a value that nobody sends is warned of', () => {
  test.each<[string, string, Handler]>([
    ['an object', 'returned an object, and neither answered nor called next(): return values are not sent; call res.json(…)', () => ({ id: 1, at: new Date(), tags: ['a'] })],
    ['an array', 'returned an array, and neither answered nor called next(): return values are not sent; call res.json(…)', () => [{ id: 1 }]],
    ['a string', 'returned a string, and neither answered nor called next(): return values are not sent; call res.send(…)', () => 'hello'],
    ['bytes', 'returned bytes, and neither answered nor called next(): return values are not sent; call res.send(…)', () => Buffer.from('a')],
    ['a Response of fetch', 'returned a Response of fetch, and neither answered nor called next(): return values are not sent; call res.send(…), or leave out the parameter next', (_req, _res, _next) => new Response('a')],
    ['what a promise resolves to', 'resolved to an object, and neither answered nor called next(): return values are not sent; call res.json(…)', async () => ({ id: 1 })],
    ['what a thenable resolves to', 'resolved to an array, and neither answered nor called next()', () => ({ then: (done: (rows: unknown[]) => void) => done([]) })],
    ['middleware, of a factory', 'returned a function, and neither answered nor called next(): it makes middleware, and was given in its place; call it where it is registered', cors as unknown as Handler],
    ['middleware, of an asynchronous factory', 'resolved to a function', async () => (_req: unknown, _res: unknown, next: () => void) => next()],
  ])('%s', async (_name, said, handler) => {
    const { logger, port } = await developed((app) => app.get('/list/:id', handler));
    const [warning] = await leaveAfter(logger, port, '/list/1', 1);
    expect(warning).toContain(said);
    expect(warning).toMatch(/^The route handler \S+ of GET \/list\/:id \(.*unanswered\.spec\.ts:\d+:\d+\) has /);
  });

  test('once for each place that it is registered at', async () => {
    const list: Handler = () => [];
    const { logger, port } = await developed((app) => app.get('/a/:id', list).get('/b', list));
    await leaveAfter(logger, port, '/a/1', 1);
    await leaveAfter(logger, port, '/a/2', 1);
    expect(await leaveAfter(logger, port, '/b', 2)).toEqual([expect.stringContaining('list of GET /a/:id ('), expect.stringContaining('list of GET /b (')]);
  });

  test('of middleware in a router and in an application that are mounted, with the whole path', async () => {
    const inner = createServer({ logging: { level: 'silent' } });
    inner.use('/deep', function values() { return {}; });
    const { logger, port } = await developed((app) => app.use('/a/:b', Router().use('/c', inner)));
    expect(await leaveAfter(logger, port, '/a/1/c/deep/er', 1)).toEqual([expect.stringContaining('middleware values of /a/:b/c/deep (')]);
  });

  const bus = new EventEmitter();
  const kept = new Map<string, unknown>();
  const later = (res: Parameters<Handler>[1]): NodeJS.Immediate => setImmediate(() => setImmediate(() => res.send('late')));
  test.each<[string, Handler]>([
    ['has a timer under way', (_req, res) => later(res)],
    ['pipes a stream', (_req, res) => createReadStream(__filename, { end: 3 }).pipe(res)],
    ['waits for a promise by itself', (_req, res) => void wait(5).then(() => res.send('late'))],
    ['resolves while a timer runs', async (_req, res) => void later(res)],
    ['keeps the response, and returns how many it has', (_req, res) => (later(res), [res].push(res))],
    ['keeps the response in an object', (_req, res) => (later(res), Object.assign({}, { res }))],
    ['keeps the response in a map', (_req, res) => (later(res), kept.set('a', res))],
    ['listens to an emitter', (_req, res) => (later(res), bus.once('x', () => undefined))],
    ['returns how to take back a subscription', (_req, res) => (later(res), () => bus.removeAllListeners())],
    ['starts several', (_req, res) => [wait(5).then(() => res.send('late'))]],
    ['answers, and returns a value', (_req, res) => (res.send('sent'), { id: 1 })],
    ['answers in the same turn, after its return', (_req, res) => (queueMicrotask(() => res.send('soon')), 'value')],
    ['goes on, and returns a value', (_req, _res, next) => (next(), 'value')],
    ['returns the response', (_req, res) => res.json({})],
    ['returns null', (_req, res) => (later(res), null)],
  ])('not of a handler that %s', async (_name, handler) => {
    const { logger, port } = await developed((app) => app.get('/', handler).get('/', (_req, res) => res.send('next')));
    await ask(port, '/');
    // Whatever was to be warned of has been by now.
    await new Promise((resolve) => setImmediate(resolve));
    expect(logger.messages('warn').filter((text) => !text.includes('is covered by'))).toEqual([]);
  });

  test('not in production', async () => {
    const logger = new WarningLog();
    const app = createServer({ env: 'production', logging: { logger } });
    app.get('/', () => 'value');
    const port = await running.start(app);
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await ask(port, '/none');
    await ask(port, '/none');
    wire.cut();
    expect(logger.messages('warn')).toEqual([]);
  });
});

describe('where nobody has named an environment', () => {
  /** An application made while NODE_ENV is unset. */
  function unnamed(options: CreateServerOptions = {}): { logger: WarningLog; app: Application } {
    const logger = new WarningLog();
    const named = process.env['NODE_ENV'];
    delete process.env['NODE_ENV'];
    try {
      return { logger, app: createServer({ ...options, logging: { logger, ...options.logging } }) };
    } finally {
      process.env['NODE_ENV'] = named;
    }
  }

  test('hints are logged, the start says so, and clients are shown what production shows', async () => {
    const { logger, app } = unnamed();
    app.get('/list', () => []).get('/', () => { throw new Error('of the inside'); });
    const port = await running.start(app);
    expect(logger.messages('info')).toEqual([expect.stringMatching(/^NODE_ENV is not set: .* Set it to development or production$/), expect.stringContaining('The server has started at ')]);
    expect(await leaveAfter(logger, port, '/list', 1)).toEqual([expect.stringContaining('returned an array, and neither answered nor called next()')]);
    expect((await ask(port, '/')).body).toBe('{"error":"Internal Server Error","message":"Internal Server Error"}');
    expect(app.get('env')).toBe('production');
  });

  test.each(['production', 'development', 'test'])('with NODE_ENV=%s the start says nothing of it', async (env) => {
    const logger = new WarningLog();
    await running.start(createServer({ env, logging: { logger } }));
    expect(logger.messages('info')).toEqual([expect.stringContaining('The server has started at ')]);
  });

  const values = (count: number): ((app: Application) => void) => (app) => {
    // Registered in places of their own, each of which is warned of once.
    for (let at = 0; at < count; at++) app.get(`/${at}`, () => 'value');
  };
  test.each<[string, CreateServerOptions, number]>([
    ['100 requests of each second', {}, 100],
    ['every request where logging.slowAfter is given', { logging: { slowAfter: 60_000 } }, 150],
    ['every request where server.handlerTimeout is given', { server: { handlerTimeout: 60_000 } }, 150],
  ])('%s are watched', async (_, options, expected) => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      const { logger, app } = unnamed(options);
      values(160)(app);
      const send = async (from: number, to: number): Promise<number> => {
        for (let at = from; at < to; at++) void app.inject(`/${at}`);
        // In turns: the request, its handler, what it has come to.
        for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
        return logger.messages('warn').length;
      };
      expect(await send(0, 150)).toBe(expected);
      jest.advanceTimersByTime(1000);
      expect(await send(150, 160)).toBe(expected + 10);
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('logging.slowAfter warns of a request that is open without an answer', () => {
  test.each<[string, Handler, RegExp]>([
    ['has returned nothing', function quiet() {}, /^A request is open for more than 20 ms without an answer: the route handler quiet of GET \/:id \(.*spec\.ts:\d+:\d+\) has returned nothing, and has neither answered nor called next\(\)$/],
    ['has resolved to nothing', async function quiet() {}, /quiet of GET \/:id .* has resolved to nothing, and has neither answered nor called next\(\)$/],
    ['still waits', function quiet() { return new Promise(() => undefined); }, /quiet of GET \/:id .* has it, and still waits$/],
    ['has returned a number', function quiet() { return 3; }, /has returned a number, and/],
  ])('that says of its handler that it %s', async (_name, handler, said) => {
    const { logger, port } = await developed((app) => app.get('/:id', handler), 20);
    expect(await leaveAfter(logger, port, '/7', 1)).toEqual([expect.stringMatching(said)]);
    expect(logger.lines.find(({ level }) => level === 'warn')?.fields).toEqual({ method: 'GET', url: '/7' });
  });

  test('once for each place', async () => {
    const { logger, port } = await developed((app) => app.get('/a/:id', () => undefined).get('/b', () => undefined), 20);
    await leaveAfter(logger, port, '/a/1', 1);
    const again = await Wire.open(port);
    again.write(head('GET /a/2'));
    expect(await leaveAfter(logger, port, '/b', 2)).toHaveLength(2);
    again.cut();
  });

  test('names the middleware that has it, of those that have gone on none', async () => {
    const { logger, port } = await developed((app) => {
      app.use(function passes(_req, _res, next) { next(); }, function holds() {});
      app.get('/', (_req, res) => res.send('never'));
    }, 20);
    expect(await leaveAfter(logger, port, '/', 1)).toEqual([expect.stringContaining('the middleware holds of / (')]);
  });

  test('and of one whose body does not come', async () => {
    const { logger, port } = await developed((app) => app.post('/', (_req, res) => res.send('never')), 20);
    const wire = await Wire.open(port);
    wire.write(head('POST /', { 'Content-Type': 'application/json', 'Content-Length': 10 }));
    expect(await logger.warned(1)).toEqual([expect.stringContaining('no handler has it; it waits for its body')]);
    wire.cut();
  });

  test('not of an answer that has begun', async () => {
    const { logger, port } = await developed((app) => {
      app.get('/stream', (_req, res) => void res.writeHead(200).write('begun'));
      app.get('/silent', () => undefined);
    }, 20);
    const stream = await Wire.open(port);
    stream.write(head('GET /stream'));
    await stream.until('begun');
    expect(await leaveAfter(logger, port, '/silent', 1)).toEqual([expect.stringContaining('GET /silent')]);
    stream.cut();
  });

  test('is 10 seconds in development, and off elsewhere unless it is given', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      const warnings: Record<string, number[]> = {};
      for (const env of ['development', 'production']) {
        const logger = new WarningLog();
        const app = createServer({ env, logging: { logger } });
        let reached = (): void => undefined;
        const held = new Promise<void>((resolve) => (reached = resolve));
        let answer = (): void => undefined;
        app.get('/', (_req, res) => {
          answer = () => void res.end();
          reached();
        });
        const answered = app.inject('/');
        await held;
        jest.advanceTimersByTime(9_999);
        const before = logger.messages('warn').length;
        jest.advanceTimersByTime(1);
        warnings[env] = [before, logger.messages('warn').length];
        answer();
        await answered;
      }
      expect(warnings).toEqual({ development: [0, 1], production: [0, 0] });
    } finally {
      jest.useRealTimers();
    }
  });

  test('in production where it is given; 0 is never', async () => {
    const { logger, port } = await developed((app) => app.get('/', () => 'value'), 20, { env: 'production' });
    expect(await leaveAfter(logger, port, '/', 1)).toEqual([expect.stringContaining('has returned a string, and has neither')]);
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      const never = createServer({ env: 'development', logging: { logger: new WarningLog(), slowAfter: 0 } });
      never.get('/', (_req, res) => {
        expect(jest.getTimerCount()).toBe(0);
        res.end();
      });
      await never.inject('/');
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('server.handlerTimeout', () => {
  const limited = (register: (app: Application) => void, env = 'production') => developed(register, 0, { env, server: { handlerTimeout: 30 } });

  test('answers 503 and logs which handler had the request, where it was registered and what it came to', async () => {
    const { logger, port } = await limited((app) => app.use('/shops/:shop', Router().get('/:id', function order() { return new Promise(() => undefined); })));
    const answer = await ask(port, '/shops/7/3');
    expect([answer.status, answer.json]).toEqual([503, { error: 'Service Unavailable', message: 'Service Unavailable' }]);
    const [line] = logger.lines.filter(({ level }) => level === 'error');
    expect(line).toMatchObject({ fields: { method: 'GET', url: '/shops/7/3', err: { code: 'HANDLER_TIMEOUT', status: 503 } } });
    expect((line?.fields.err as Error).message).toMatch(/^No answer has begun within server\.handlerTimeout \(30 ms\): the route handler order of GET \/shops\/:shop\/:id \(.*unanswered\.spec\.ts:\d+:\d+\) has it, and still waits$/);
  });

  test('once: what the handler does later is too late, and nothing below it is called', async () => {
    const seen: string[] = [];
    let goOn = (): void => undefined;
    const { logger, port } = await limited((app) => {
      app.use('/in', Router().use((_req, _res, next) => void (goOn = next)));
      app.use(() => void seen.push('below'));
      app.get('/late', async (_req, res) => {
        await new Promise<void>((resolve) => (goOn = resolve));
        seen.push('late');
        res.json({ late: true });
      });
    });
    app503(await ask(port, '/in'));
    goOn();
    expect(seen).toEqual([]);
    const wire = await Wire.open(port);
    wire.write(head('GET /late'));
    await wire.until('503');
    expect(seen).toEqual(['below']);
    wire.cut();
    expect(logger.messages('error')).toHaveLength(2);
  });

  /** What a handler may still do, of which nothing may reach the client. */
  const LATE: Record<string, (res: OwnResponse) => unknown> = {
    json: (res) => res.json({ late: true }),
    'fields and an end': (res) => res.status(201).set('X-Late', '1').end('late'),
    'a head': (res) => res.writeHead(200, { 'Content-Length': 4 }).end('late'),
    write: (res) => res.write('late'),
    pipe: (res) => Readable.from(['la', 'te']).pipe(res),
    stream: (res) => res.stream(Readable.from(['la', 'te'])),
    'a file': (res) => res.sendFile(__filename),
    xJson: (res) => res.xJson({ late: 1n }),
    'data that can\'t be written': (res) => res.json({ late: 1n }),
    'a throw': () => { throw new Error('late'); },
    'a flush': (res) => res.flushHeaders(),
  };
  /** Middleware whose `end` takes a while: as that of sessions, which saves, or of what sends its head then. */
  const WHILE: Record<string, (res: OwnResponse, done: Promise<void>) => void> = {
    'the end of another that comes later': (res, done) => {
      const { end } = res;
      res.end = ((...given: Parameters<typeof end>) => {
        void done.then(() => end.apply(res, given));
        return res;
      }) as typeof end;
    },
    'one that has written its head by then': (res, done) => {
      const { end, write } = res;
      res.end = ((given: Buffer | string) => {
        const chunk = Buffer.from(given ?? 'late');
        (write as (chunk: Buffer) => boolean).call(res, chunk.subarray(0, -1));
        void done.then(() => (end as (chunk: Buffer) => OwnResponse).call(res, chunk.subarray(-1)));
        return res;
      }) as typeof end;
    },
  };

  describe.each(Object.entries(WHILE))('reaches the client whole behind %s, whatever the handler still does:', (_, between) => {
    test.each(Object.entries(LATE))('%s', async (__, act) => {
      let ended: () => void = () => undefined;
      const done = new Promise<void>((resolve) => { ended = resolve; });
      let goOn: () => void = () => undefined;
      const over = new Promise<void>((resolve) => { goOn = resolve; });
      const { port } = await limited((app) => {
        app.get('/late', (_req, res, next) => {
          between(res, done);
          next();
        }, async (_req, res) => {
          await over;
          await act(res);
        });
        app.get('/next', (_req, res) => res.send('next'));
      });
      const wire = (await Wire.open(port)).write(head('GET /late') + head('GET /next', { Connection: 'close' }));
      await wire.until('503');
      goOn();
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
      ended();
      await wire.end;
      expect(wire.text).toMatch(/^HTTP\/1\.1 503 .+\r\n(?:.+\r\n)*Content-Length: 63\r\n(?:.+\r\n)*\r\n.{63}HTTP\/1\.1 200 OK\r\n(?:.+\r\n)*\r\nnext$/);
      expect(wire.text).not.toContain('X-Late');
    });
  });

  test('answers in the async context that middleware has opened', async () => {
    const context = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const { port } = await limited((app) => {
      app.use((req, _res, next) => context.run(req.url, next));
      app.use((_req, res, next) => {
        res.on('finish', () => seen.push(context.getStore()));
        next();
      });
      app.get('/:user', () => new Promise(() => undefined));
    });
    const answers = await Promise.all(['/a', '/b'].map((path) => ask(port, path)));
    expect([answers.map(({ status }) => status), seen.sort()]).toEqual([[503, 503], ['/a', '/b']]);
  });

  test('an error that a handler raises later is logged, and not answered', async () => {
    let fail = (_error: Error): void => undefined;
    const { logger, port } = await limited((app) => app.get('/', () => new Promise((_resolve, reject) => (fail = reject))));
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await wire.until('Unavailable"}');
    fail(new Error('too late'));
    wire.write(head('GET /none'));
    await wire.until('404');
    expect(logger.messages('error')).toEqual(['The response failed', 'An error was raised after the response had ended']);
    expect(wire.text.match(/HTTP\/1\.1 /g)).toHaveLength(2);
    wire.cut();
  });

  test('what the late handler sends from a callback of its own goes nowhere, and throws nothing there', async () => {
    const [source, events] = [new PassThrough(), new PassThrough()];
    let isCancelled = false;
    const locked = new ReadableStream();
    locked.getReader();
    const body = new ReadableStream({ cancel: () => void (isCancelled = true) });
    const ways: ((res: OwnResponse) => unknown)[] = [
      (res) => res.json({}), (res) => res.send('late'), (res) => res.status(201).cookie('a', 'b').vary('Accept').redirect('/'), (res) => void res.xJson({}),
      (res) => void res.stream(source), (res) => void res.events(events), (res) => void res.events(locked), (res) => void res.send(new globalThis.Response(body)), (res) => void res.sendFile(__filename), (res) => res.writeHead(200, { 'X-Late': '1' }).end('late'), (res) => res.sendStatus(200),
      (res) => { res.writeContinue(); res.writeEarlyHints({ link: '</late.css>; rel=preload' }); res.removeHeader('Content-Type'); res.write('late'); },
      // As it is given to an application of Express that is mounted.
      (res) => { Object.setPrototypeOf(res, ServerResponse.prototype); res.setHeader('X-Late', '1'); res.appendHeader('X-Late', '2'); res.end('late'); },
    ];
    let late = (): unknown => undefined;
    const { port } = await limited((app) => {
      app.get('/next', (_req, res) => void res.send('next'));
      ways.forEach((way, index) => app.get(`/${index}`, (_req, res) => void (late = () => way(res))));
    });
    for (const index of ways.keys()) {
      const wire = await Wire.open(port);
      wire.write(head(`GET /${index}`));
      await wire.until('Unavailable"}');
      late();
      wire.write(head('GET /next', { Connection: 'close' }));
      await wire.end;
      expect(wire.text.split(/(?=HTTP\/1\.1 )/).map((answer) => answer.slice(9, 12))).toEqual(['503', '200']);
      expect(wire.text).not.toMatch(/late/i);
    }
    expect([source.destroyed, events.destroyed, isCancelled]).toEqual([true, true, true]);
  });

  test('leaves an answer alone that has begun, and the time that a body takes', async () => {
    let end = (): unknown => undefined;
    const { logger, port } = await limited((app) => {
      app.get('/stream', (_req, res) => {
        res.write('begun, ');
        end = () => res.end('ended');
      });
      app.get('/held', () => undefined);
      app.post('/', (req, res) => res.json(req.body));
    });
    const stream = await Wire.open(port);
    stream.write(head('GET /stream'));
    await stream.until('begun, ');
    app503(await ask(port, '/held'));
    end();
    await stream.until('ended');
    stream.cut();
    const wire = await Wire.open(port);
    wire.write(head('POST /', { 'Content-Type': 'application/json', 'Content-Length': 7 }));
    app503(await ask(port, '/held'));
    wire.write('{"a":1}');
    await wire.until('{"a":1}');
    expect(wire.text).toContain('200 OK');
    // Those two that were held to wait for the time to pass.
    expect(logger.messages('error')).toHaveLength(2);
    wire.cut();
  });

  test.each<[string, (app: Application) => unknown]>([
    ['a handler of a parameter', (app) => app.param('id', () => undefined).get('/:id', (_req, res) => res.send('never'))],
    ['the fallback', (app) => app.fallback(() => undefined)],
  ])('holds for %s too', async (_name, register) => {
    const { logger, port } = await limited((app) => void register(app));
    app503(await ask(port, '/1'));
    expect(logger.text).toContain('no handler has it; it waits for its body, the check of its signature, a handler of app.param or the fallback');
  });

  test('is off unless it is given', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      const timers: number[] = [];
      for (const server of [{}, { handlerTimeout: 30 }]) {
        const app = createServer({ logging: { level: 'silent' }, server });
        app.get('/', (_req, res) => {
          timers.push(jest.getTimerCount());
          res.end();
        });
        await app.inject('/');
        timers.push(jest.getTimerCount());
      }
      expect(timers).toEqual([0, 0, 1, 0]);
    } finally {
      jest.useRealTimers();
    }
  });

  test('of a body that was read first it says nothing else', async () => {
    const { port } = await limited((app) => app.post('/', () => undefined));
    app503(await post(port, '/', '{}'));
  });

  function app503(answer: { status: number }): void {
    expect(answer.status).toBe(503);
  }
});

/** As tests make one without a server: it emits no events. */
class MadeResponse {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  body = '';
  readonly #fields = new Map<string, unknown>();

  setHeader(name: string, value: unknown): this {
    this.#fields.set(name.toLowerCase(), value);
    return this;
  }

  getHeader(name: string): unknown {
    return this.#fields.get(name.toLowerCase());
  }

  removeHeader(name: string): void {
    this.#fields.delete(name.toLowerCase());
  }

  end(body = ''): this {
    this.body = String(body);
    this.headersSent = this.writableEnded = true;
    return this;
  }
}

test.each<CreateServerOptions>([
  { env: 'development' }, { server: { handlerTimeout: 30 } }, { logging: { slowAfter: 30 } }, { logging: { requests: 'info', requestId: true } },
])('a response that emits no events is answered, and not watched: %j', async (options) => {
  const app = createServer({ ...options, logging: { ...options.logging, logger: new WarningLog() } });
  app.get('/', (_req, res) => void res.end('answered'));
  app.get('/send', (_req, res) => void res.send('sent'));
  app.get('/json', (_req, res) => void res.type('json').json({ sent: true }));
  const bodies = await Promise.all(['/', '/send', '/json', '/none'].map(async (url) => {
    const res = new MadeResponse();
    app({ method: 'GET', url, headers: {}, httpVersionMajor: 1 } as never, res as never);
    await new Promise(setImmediate);
    return res.body;
  }));
  expect(bodies).toEqual(['answered', 'sent', '{"sent":true}', '{"error":"Not Found","message":"Cannot GET /none"}']);
});
