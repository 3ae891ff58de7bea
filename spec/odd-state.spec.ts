import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type Application, createServer, type CreateServerOptions, express, type NextFunction, type Request, type Response } from 'waypost';
import { tracing } from '../lib/tracing/tracing';
import { LogRecorder, Running } from './support/running';
import { head, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

type Change = (req: Request, res: Response) => unknown;

const ODD: Record<string, unknown> = { undefined: undefined, null: null, 'a number': 5, 'an object': {}, 'a URL': new URL('http://a/b'), 'an empty string': '' };

/** What a program may leave on a request or response by mistake. */
const CHANGES: Record<string, Change> = {
  ...Object.fromEntries(['url', 'originalUrl', 'method', 'baseUrl'].flatMap((name) => Object.entries(ODD).map(([kind, value]) => [`req.${name} = ${kind}`, (req: Request) => Object.assign(req, { [name]: value })] as const))),
  ...Object.fromEntries(['undefined', 'null', 'a number'].map((kind) => [`req.params = ${kind}`, (req: Request) => Object.assign(req, { params: ODD[kind] })] as const)),
  'req.headers = null': (req) => Object.assign(req, { headers: null }),
  'res.statusCode = a symbol': (_req, res) => Object.assign(res, { statusCode: Symbol('odd') }),
  'res.statusMessage with a line feed': (_req, res) => Object.assign(res, { statusMessage: 'a\r\nb' }),
};

/** Where the request goes when `next` is called in a later turn. */
const WAYS: Record<string, { register: (app: Application, change: (req: Request, res: Response, next: NextFunction) => void) => unknown; request: string }> = {
  'nothing takes it': { register: (app, change) => app.use(change), request: head('GET /none') },
  'its body is too large': { register: (app, change) => app.use(change).post('/a', (_req, res) => res.send('a')), request: `${head('POST /a', { 'Content-Type': 'text/plain', 'Content-Length': 40 })}${'x'.repeat(40)}` },
  'its body is malformed': { register: (app, change) => app.use(change).post('/a', (_req, res) => res.send('a')), request: `${head('POST /a', { 'Content-Type': 'application/json', 'Content-Length': 1 })}{` },
  'an error is raised': { register: (app, change) => app.use((req, res, next) => change(req, res, () => next(new Error('raised')))), request: head('GET /a') },
};

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

test.each(Object.entries(ODD).filter(([kind]) => kind !== 'an empty string'))('an originalUrl that is %s leaves the default answer what it is', async (_kind, value) => {
  const port = await running.app((app) => app.use((req, _res, next) => {
    Object.assign(req, { originalUrl: value });
    setImmediate(next);
  }));
  expect(await Wire.tell(port, head('GET /none', { Connection: 'close' }))).toMatch(/^HTTP\/1\.1 404 [^]*"Cannot GET \/none"\}$/);
});
