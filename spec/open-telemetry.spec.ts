import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type Application, createServer, type ErrorHandler, Router } from 'waypost';
import { Running } from './support/running';
import { ask, post } from './support/wire';

/** What stands here for OpenTelemetry is what its packages find each other by; `npm run test:tracers` tries the real ones. */
const API = Symbol.for('opentelemetry.js.api.1');
const RPC_METADATA = Symbol.for('OpenTelemetry SDK Context Key RPC_METADATA');

class Context {
  readonly #values: Readonly<Record<symbol, unknown>>;

  constructor(values: Readonly<Record<symbol, unknown>>) {
    this.#values = values;
  }

  getValue(key: symbol): unknown {
    return this.#values[key];
  }
}

const contexts = new AsyncLocalStorage<Context>();
const running = new Running();

beforeEach(() => {
  Object.assign(globalThis, { [API]: { context: { active: () => contexts.getStore() ?? new Context({}) } } });
});

afterEach(async () => {
  delete (globalThis as Record<symbol, unknown>)[API];
  await running.close();
});

/** Listens as the http instrumentation does, and keeps the routes that it would have read at the end of each response. */
async function instrumented(app: Application): Promise<{ port: number; routes: unknown[] }> {
  const routes: unknown[] = [];
  const listener: RequestListener = (req, res) => {
    const metadata: { route?: string } = {};
    res.once('close', () => routes.push(metadata.route));
    contexts.run(new Context({ [RPC_METADATA]: metadata }), () => app(req, res));
  };
  return { port: await running.listen(createHttpServer(listener)), routes };
}

function silent(): Application {
  return createServer({ logging: { level: 'silent' } });
}

test('the http instrumentation finds the route with its mount path', async () => {
  const app = silent().use('/shops/:shop', Router().get('/orders/:id', async (_req, res) => {
    await new Promise((resolve) => setImmediate(resolve));
    res.json({});
  })).use('/in', silent().get('/:a', (_req, res) => res.send('inner')));
  const { port, routes } = await instrumented(app);
  await ask(port, '/shops/7/orders/3');
  await ask(port, '/in/1');
  await ask(port, '/none');
  expect(routes).toEqual(['/shops/:shop/orders/:id', '/in/:a', undefined]);
});

test('after errors too: of a handler, of middleware of a route, of a body', async () => {
  const app = silent()
    .get('/thrown/:a', () => { throw new Error('inner'); })
    .get('/rejected/:a', async () => { await Promise.reject(new Error('inner')); })
    .get('/passed/:a', (_req, _res, next) => next(new Error('inner')), (_req, res) => res.send('never'))
    .post('/body/:a', (_req, res) => res.send('never'))
    .use(((error: Error, _req, res, _next) => res.status(418).send(error.message)) as ErrorHandler as never);
  const { port, routes } = await instrumented(app);
  for (const path of ['/thrown/1', '/rejected/1', '/passed/1']) expect((await ask(port, path)).status).toBe(418);
  expect((await post(port, '/body/1', '{')).status).toBe(418);
  expect(routes).toEqual(['/thrown/:a', '/rejected/:a', '/passed/:a', '/body/:a']);
});

test('a request that nobody instruments goes on without', async () => {
  const port = await running.app((app) => app.get('/', (_req, res) => res.send('fine')));
  expect((await ask(port, '/')).body).toBe('fine');
});
