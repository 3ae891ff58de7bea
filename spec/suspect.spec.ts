import { createServer as createHttpServer } from 'node:http';
import cors from 'cors';
import oracle from 'express';
import { type Application, createServer, type ErrorHandler, express, type Handler, json, raw, Router, static as staticFiles, text, urlencoded } from 'waypost';
import { LogRecorder, Running } from './support/running';

const running = new Running();

afterEach(() => running.close());

/** What the start of an application warns of. */
async function warnings(register: (app: Application) => void, make: typeof createServer = createServer): Promise<string[]> {
  const logger = new LogRecorder();
  const app = make({ env: 'production', logging: { logger } });
  register(app);
  await running.start(app);
  return logger.messages('warn');
}

const HERE = expect.stringMatching(/suspect\.spec\.ts:\d+:\d+/) as unknown;
const plain: Handler = (_req, res) => res.send('fine');
const catches: ErrorHandler = (_error, _req, res, _next) => res.send('caught');

describe('start warns of what makes middleware and was not called', () => {
  test.each([
    ['json()', json], ['urlencoded()', urlencoded], ['text()', text], ['raw()', raw], ['static(root)', staticFiles], ['Router()', Router], ['express()', express],
  ])('%s', async (call, make) => {
    const said = await warnings((app) => app.use(make as unknown as Handler));
    expect(said).toEqual([expect.stringContaining(`${call} makes middleware, and is registered without its call`)]);
    expect(said).toEqual([HERE]);
    expect(said).toEqual([expect.stringContaining(`Write ${call}`)]);
  });

  test('as express.json in an Express program, and among the handlers of a route', async () => {
    const said = await warnings((app) => app.post('/', express.json as unknown as Handler, plain), express);
    expect(said).toEqual([expect.stringContaining('json() makes middleware')]);
  });

  test('not of what it makes', async () => {
    expect(await warnings((app) => {
      app.use(json(), urlencoded(), text(), raw(), staticFiles(__dirname), Router(), express());
      app.get('/', plain);
    })).toEqual([]);
  });
});

describe('start warns of error middleware without its fourth parameter', () => {
  test.each<[string, (...given: never[]) => unknown]>([
    ['a function', function handle(err: unknown) { return err; }],
    ['an asynchronous function', async function handle(error: unknown) { return error; }],
    ['an arrow function', (_err: unknown, _req: unknown, _res: unknown) => undefined],
    ['a method', { handle(error: unknown, _req: unknown, _res: unknown) { return error; } }.handle],
    ['a function whose fourth has a default', (err: unknown, _req: unknown, _res: unknown, _next = 1) => err],
  ])('%s', async (_name, given) => {
    const wide = Object.defineProperty(given, 'length', { value: 3 });
    const said = await warnings((app) => app.get('/', plain).use(wide as Handler));
    expect(said).toEqual([expect.stringContaining('looks like error middleware, but has 3 parameters: it is called as (req, res, next), and for no error')]);
    expect(said).toEqual([HERE]);
  });

  test('not of middleware, whatever its parameters are called', async () => {
    expect(await warnings((app) => {
      app.use((req, _res, next) => next(req.body), (e, _t, n) => n(e.body), function (erring, _res, next) { next(erring.query); } as Handler, cors());
      app.get('/', plain).use(catches);
    })).toEqual([]);
  });
});

describe('start warns of error middleware above all routes', () => {
  test('whose errors it does not meet, as in Express', async () => {
    const register = (app: { use(...given: unknown[]): unknown; get(path: string, handler: unknown): unknown }): void => {
      app.use(catches);
      app.get('/', (_req: unknown, _res: unknown, next: (error: unknown) => void) => next(new Error('not met')));
    };
    const said = await warnings(register as never);
    expect(said).toEqual([expect.stringMatching(/^The error middleware catches \(.*suspect\.spec\.ts:\d+:\d+\) stands above all routes, whose errors do not reach it: register it behind them$/)]);
    const theirs = oracle().set('env', 'test');
    register(theirs as never);
    const port = await running.listen(createHttpServer(theirs as never));
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    expect([answer.status, await answer.text()]).not.toEqual([200, 'caught']);
  });

  test('in a router too, once where that is mounted twice', async () => {
    const router = Router().use(catches).get('/', plain);
    expect(await warnings((app) => app.use('/a', router).use('/b', router))).toHaveLength(1);
  });

  test.each<[string, (app: Application) => unknown]>([
    ['behind a route', (app) => app.get('/', plain).use(catches).get('/more', plain)],
    ['behind a router', (app) => app.use('/api', Router().get('/', plain)).use(catches).get('/', plain)],
    ['behind an application that is mounted', (app) => app.use('/api', createServer()).use(catches).get('/', plain)],
    ["behind one of Express's", (app) => app.use('/api', oracle()).use(catches).get('/', plain)],
    ['behind middleware, where another stands behind the routes', (app) => app.use(plain).use(catches).get('/', plain).use(catches)],
    ['in a router, where another stands around it', (app) => app.use(Router().use(catches).get('/', plain)).use(catches)],
    ['where there is no route', (app) => app.use(catches)],
    ['in a route', (app) => app.get('/', catches as unknown as Handler, plain)],
  ])('not %s', async (_name, register) => {
    expect(await warnings((app) => void register(app))).toEqual([]);
  });
});
