import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { type Application, createServer, type CreateServerOptions, express, type Handler, HttpError, type NextFunction, type Request, type Response, Router, signRequest } from 'waypost';
import { tracing } from '../lib/tracing';
import { LogRecorder, Running } from './support/running';
import { head, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

type Change = (req: Request, res: Response) => unknown;

function throwing(target: object, name: string): void {
  Object.defineProperty(target, name, {
    configurable: true,
    get: () => {
      throw new Error(`${name} can't be read`);
    },
    set: () => undefined,
  });
}

function fixed(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: false, configurable: true });
}

const ODD: Record<string, unknown> = { undefined: undefined, null: null, 'a number': 5, 'an object': {}, 'a symbol': Symbol('odd'), 'a URL': new URL('http://a/b'), 'an empty string': '' };

/** What a program may leave on a request or response, by mistake or to replace it. */
const CHANGES: Record<string, Change> = {
  ...Object.fromEntries(['url', 'originalUrl', 'method', 'baseUrl'].flatMap((name) => [
    ...Object.entries(ODD).map(([kind, value]) => [`req.${name} = ${kind}`, (req: Request) => Object.assign(req, { [name]: value })] as const),
    // Node's own server reads the method again.
    ...(name === 'method' ? [] : [[`req.${name} that throws`, (req: Request) => throwing(req, name)] as const]),
    [`req.${name} that can't be written`, (req: Request) => fixed(req, name, req[name as 'url'])] as const,
  ])),
  ...Object.fromEntries(['undefined', 'null', 'a number'].map((kind) => [`req.params = ${kind}`, (req: Request) => Object.assign(req, { params: ODD[kind] })] as const)),
  'req.params that throws': (req) => throwing(req, 'params'),
  'req.params that throw within': (req) => throwing(req.params, 'b'),
  ...Object.fromEntries(['params', 'next', 'body', 'route'].map((name) => [`req.${name} that can't be written`, (req: Request) => fixed(req, name, 1)])),
  ...Object.fromEntries(['writableEnded', 'writableFinished', 'headersSent'].map((name) => [`res.${name} that throws`, (_req: Request, res: Response) => throwing(res, name)])),
  'res.req = {}': (_req, res) => Object.assign(res, { req: {} }),
  'res.req = null': (_req, res) => Object.assign(res, { req: null }),
  'no res.req': (_req, res) => Reflect.deleteProperty(res, 'req'),
  'req.res = null': (req) => Object.assign(req, { res: null }),
  'req.socket = null': (req) => Object.assign(req, { socket: null }),
  'req.socket = {}': (req) => Object.assign(req, { socket: {} }),
  'req.body that throws': (req) => throwing(req, 'body'),
  'req.id that throws': (req) => throwing(req, 'id'),
  'req.route that throws': (req) => throwing(req, 'route'),
  'req.headers that throws': (req) => throwing(req, 'headers'),
  'req.headers = null': (req) => Object.assign(req, { headers: null }),
  'req.readableFlowing that throws': (req) => throwing(req, 'readableFlowing'),
  'res.socket = {}': (_req, res) => Object.assign(res, { socket: {} }),
  'res.socket that throws': (_req, res) => throwing(res, 'socket'),
  'res.listenerCount = 5': (_req, res) => Object.assign(res, { listenerCount: 5 }),
  'res.listenerCount that throws': (_req, res) => throwing(res, 'listenerCount'),
  'res.statusCode = a symbol': (_req, res) => Object.assign(res, { statusCode: Symbol('odd') }),
  'res.statusMessage with a line feed': (_req, res) => Object.assign(res, { statusMessage: 'a\r\nb' }),
};

/** Where the request goes when `next` is called in a later turn. */
const WAYS: Record<string, { register: (app: Application, change: (req: Request, res: Response, next: NextFunction) => void) => unknown; request: string }> = {
  'nothing takes it': { register: (app, change) => app.use(change), request: head('GET /none') },
  'nothing takes it behind a route': { register: (app, change) => app.get('/a/b', change), request: head('GET /a/b') },
  'nothing takes it behind a router': { register: (app, change) => app.use('/a', Router().use(change)), request: head('GET /a/b') },
  'nothing takes it behind a router that is called': { register: (app, change) => app.use('/:a', called(Router({ mergeParams: true }).use('/:b', change))), request: head('GET /a/b') },
  'nothing takes it behind a router that answers by itself': { register: (app, change) => app.use(called(Router().use(change), false)), request: head('GET /a/b') },
  'nothing takes it behind a mounted application': { register: (app, change) => app.use('/a', createServer(quiet()).use(change)), request: head('GET /a/b') },
  'nothing takes it behind a handler of a parameter': { register: (app, change) => app.param('b', change).use('/a/:b', (_req, _res, next) => next()), request: head('GET /a/b') },
  'its body is too large': { register: (app, change) => app.use(change).post('/a', (_req, res) => res.send('a')), request: `${head('POST /a', { 'Content-Type': 'text/plain', 'Content-Length': 40 })}${'x'.repeat(40)}` },
  'its body is malformed': { register: (app, change) => app.use(change).post('/a', (_req, res) => res.send('a')), request: `${head('POST /a', { 'Content-Type': 'application/json', 'Content-Length': 1 })}{` },
  'an error is raised': { register: (app, change) => app.use((req, res, next) => change(req, res, () => next(new Error('raised')))), request: head('GET /a') },
};

/** A router that is called as a function, and stands in no list. */
function called(router: Router, goesOn = true): Handler {
  return (req, res, next) => (goesOn ? router(req, res, next) : router(req, res));
}

const quiet = (): CreateServerOptions => ({ env: 'production', logging: { level: 'silent' } });
/** Nothing of a request goes unseen. */
const watching = (): CreateServerOptions => ({
  env: 'development', logging: { logger: new LogRecorder(), requests: 'info', requestId: { header: 'x-request-id' }, slowAfter: 1 }, server: { handlerTimeout: 2 },
});
const subscriber = (): void => undefined;

beforeAll(() => Object.values(tracing).forEach(({ name }) => subscribe(name, subscriber)));
afterAll(() => Object.values(tracing).forEach(({ name }) => unsubscribe(name, subscriber)));

// An error that nobody catches fails the test, as it would end a process.
describe.each(Object.keys(WAYS))('where %s, what a program has left ends nothing', (way) => {
  test.each(Object.keys(CHANGES))('%s', async (name) => {
    const { register, request } = WAYS[way] as (typeof WAYS)[string];
    await Promise.all(([[createServer, quiet], [createServer, watching], [express, quiet], [express, watching]] as const).map(async ([make, options]) => {
      const app = make({ ...options(), body: { limit: 20 } }) as Application;
      app.get('/well', (_req, res) => res.send('well'));
      const gone = new Promise<void>((resolve) => {
        register(app, (req, res, next) => {
          const { socket } = req;
          CHANGES[name]?.(req, res);
          setImmediate(() => {
            next();
            // A response whose request was taken away may stay open, as it does under Node itself.
            setImmediate(() => setImmediate(() => {
              socket.end();
              resolve();
            }));
          });
        });
      });
      const port = await running.start(app);
      const wire = await Wire.open(port);
      wire.write(request);
      await gone;
      await wire.end;
      expect(await Wire.tell(port, head('GET /well', { Connection: 'close' }))).toMatch(/^HTTP\/1\.1 200 [^]*well$/);
    }));
  });
});

test.each(Object.keys(CHANGES))('a request that nobody answers, whose time is over, ends nothing: %s', async (name) => {
  const app = createServer(watching());
  app.get('/well', (_req, res) => res.send('well'));
  app.get('/', (req, res) => {
    const { socket } = req;
    CHANGES[name]?.(req, res);
    // Longer than it may take: where nobody can tell whether it is answered, it is not.
    setTimeout(() => socket.end(), 10);
  });
  const port = await running.start(app);
  await Wire.tell(port, head('GET /'));
  expect(await Wire.tell(port, head('GET /well', { Connection: 'close' }))).toMatch(/^HTTP\/1\.1 200 [^]*well$/);
});

test('a body that can not be read harms nobody, where the target is made another that is signed while the bytes come in', async () => {
  const secret = 'the secret of these specs, 32 bytes or more';
  const port = await running.app((app) => {
    app.get('/well', (_req, res) => res.send('well'));
    app.use((req, _res, next) => {
      throwing(req, 'body');
      req.url = '/signed';
      next();
    });
    app.post('/signed', (_req, res) => res.send('in'));
  }, { security: { requestSignature: { secret }, routeConfig: { requestSignature: { includeRoutes: ['/signed'] } } } });
  const body = '{"a":1}';
  const wire = await Wire.open(port);
  wire.write(head('POST /', { ...signRequest({ secret, method: 'POST', url: '/', body }), 'Content-Type': 'application/json', 'Content-Length': body.length, Connection: 'close' }));
  await wire.flushed();
  wire.write(body);
  await wire.end;
  expect(wire.text).toMatch(/^HTTP\/1\.1 500 /);
  expect(await Wire.tell(port, head('GET /well', { Connection: 'close' }))).toMatch(/^HTTP\/1\.1 200 /);
});

test.each(['req.id that throws', 'req.originalUrl that throws', 'req.headers = null'])('a line of the log that can not name its request leaves the answer what it is: %s', async (name) => {
  for (const options of [quiet, watching]) {
    const port = await running.app((app) => {
      app.use((req, res, next) => {
        CHANGES[name]?.(req, res);
        next();
      });
      app.get('/415', () => {
        throw new HttpError(415, 'UNFIT', 'unfit');
      });
      app.get('/500', () => {
        throw new Error('raised');
      });
    }, options());
    for (const status of [415, 500]) expect(await Wire.tell(port, head(`GET /${status}`, { Connection: 'close' }))).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  }
});

test.each(Object.entries(ODD).filter(([kind]) => kind !== 'an empty string'))('an originalUrl that is %s leaves the default answer what it is', async (_kind, value) => {
  const port = await running.app((app) => app.use((req, _res, next) => {
    Object.assign(req, { originalUrl: value });
    setImmediate(next);
  }));
  expect(await Wire.tell(port, head('GET /none', { Connection: 'close' }))).toMatch(/^HTTP\/1\.1 404 [^]*"Cannot GET \/none"\}$/);
});

test.each(['parsed', 'signed', 'coded'])('a request that a program has made without a socket is refused: its body is %s', async (kind) => {
  const secret = 'the secret of these specs, 32 bytes or more';
  const app = createServer({ env: 'production', logging: { level: 'silent' }, body: { limit: 10 }, ...(kind === 'signed' ? { security: { requestSignature: { secret } } } : {}) });
  app.post('/', (_req, res) => res.send('in'));
  const Message = IncomingMessage as unknown as new () => IncomingMessage;
  const req = Object.assign(new Message(), { method: 'POST', url: '/', httpVersionMajor: 1, httpVersionMinor: 1 });
  const fields = kind === 'coded' ? ['Transfer-Encoding', 'gzip, chunked'] : ['Content-Type', 'text/plain', 'Content-Length', '20'];
  req.rawHeaders.push(...fields);
  for (let i = 0; i < fields.length; i += 2) req.headers[(fields[i] as string).toLowerCase()] = fields[i + 1];
  const res = new ServerResponse(req);
  app(req, res);
  expect([res.writableEnded, res.statusCode]).toEqual([true, kind === 'coded' ? 501 : kind === 'signed' ? 401 : 413]);
});

describe('a mounted application that parses a body ends nothing by what the one around has left on the request', () => {
  const inherits = (app: Application, name: string): void => {
    Object.defineProperty(app.request, name, { configurable: true, get: () => undefined });
  };
  const LEFT: Record<string, readonly [change: (req: Request, app: Application) => void, status: number]> = {
    'req.body that can only be read': [(req) => Object.defineProperty(req, 'body', { get: () => undefined }), 500],
    'req.rawBody that can only be read': [(req) => Object.defineProperty(req, 'rawBody', { get: () => undefined }), 200],
    'a rawBody of its own class that can only be read': [(_req, app) => inherits(app, 'rawBody'), 200],
    'req.rawBody that throws when it is written': [(req) => Object.defineProperty(req, 'rawBody', { get: () => undefined, set: () => { throw new Error('written'); } }), 200],
    'req.headers that throws, later': [(req) => process.nextTick(throwing, req, 'headers'), 500],
    'req.headers that throw within, later': [(req) => process.nextTick(() => Object.assign(req, { headers: new Proxy({}, { get: () => { throw new Error('read'); } }) })), 500],
    'a Content-Type that is no text, later': [(req) => process.nextTick(() => Object.assign(req.headers, { 'content-type': 5 })), 500],
    'a Content-Length that is no number': [(req) => void (req.headers['content-length'] = 'undefined'), 200],
    'a Content-Length that is too small': [(req) => void (req.headers['content-length'] = '1'), 200],
  };
  const SENT = [[false, false], [true, false], [false, true], [true, true]] as const;

  test.each(Object.entries(LEFT).flatMap(([name, given]) => SENT.map(([gzips, divides]) => (
    [`${name}${gzips ? ', with gzip' : ''}${divides ? ', in two chunks' : ''}`, ...given, gzips, divides] as const
  ))))('%s', async (_, change, status, gzips, divides) => {
    const inner = createServer(quiet());
    inner.post('/', (req, res) => res.json(req.body));
    let left: () => void = () => undefined;
    const isLeft = new Promise<void>((resolve) => { left = resolve; });
    const port = await running.app((app) => {
      app.get('/well', (_req, res) => res.send('well'));
      app.use((req, _res, next) => {
        change(req, inner);
        next();
        setImmediate(left);
      }, inner);
    }, { ...quiet(), body: false });
    const whole = gzips ? gzipSync('{"a":1}') : Buffer.from('{"a":1}');
    const chunks = [whole.subarray(0, 3), whole.subarray(3), Buffer.alloc(0)].map((chunk) => Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]));
    const [body, framing] = divides ? [Buffer.concat(chunks), { 'Transfer-Encoding': 'chunked' }] : [whole, { 'Content-Length': whole.length }];
    const wire = await Wire.open(port);
    wire.write(head('POST /', { 'Content-Type': 'application/json', ...(gzips ? { 'Content-Encoding': 'gzip' } : {}), ...framing, Connection: 'close' }));
    // The parser brings the bytes when the program has done its work.
    await isLeft;
    wire.write(body);
    await wire.end;
    expect(wire.text).toMatch(status === 200 ? /^HTTP\/1\.1 200 [^]*\{"a":1\}$/ : /^HTTP\/1\.1 500 /);
    expect(await Wire.tell(port, head('GET /well', { Connection: 'close' }))).toMatch(/^HTTP\/1\.1 200 /);
  });
});
