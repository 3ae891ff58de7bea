import type { RequestHandler } from 'express';
import theirs from 'express';
import fc from 'fast-check';
import { createServer, express, type Handler, type IRouter, type NextFunction, type Request, type Response, Router } from 'waypost';
import { answersOf, type ExpressModule, onBoth } from './support/both-expresses';
import { Running } from './support/running';
import { runs } from './support/runs';
import { ask } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const seen: RequestHandler = (req, res) => void res.end(JSON.stringify([req.url.slice(0, 1), req.originalUrl, req.baseUrl, req.params]));

describe('a router is a function', () => {
  test('made with and without new, an instance of Router, extended', () => {
    class Named extends Router {
      readonly title = 'named';
    }
    for (const router of [Router(), new Router(), new Named()]) {
      expect([typeof router, router instanceof Router, router instanceof express.Router, router.name]).toEqual(['function', true, true, 'router']);
      expect(router.get('/a', () => undefined)).toBe(router);
    }
    expect([new Named().title, new Named() instanceof Named, Router().constructor]).toEqual(['named', true, Router]);
  });

  test('that needs a next: served by itself it is mounted in an application', async () => {
    const router = Router().get('/u/:id', (req, res) => res.json(req.params));
    for (const next of [undefined, null, {}]) expect(() => (router as unknown as (...given: unknown[]) => void)({ method: 'GET', url: '/u/7' }, {}, next)).toThrow(/^argument callback is required.*createServer\(\)\.use\(router\)/);
    const port = await running.serve(createServer({ logging: { level: 'silent' } }).use(router));
    expect((await ask(port, '/u/7')).body).toBe('{"id":"7"}');
    await onBoth((lib) => {
      expect(() => (lib.Router() as unknown as (...given: unknown[]) => void)({ method: 'GET', url: '/' }, {})).toThrow(TypeError);
      return Promise.resolve(null);
    });
  });

  test('and is answered for behind an application of Express, which leaves its own prototypes on, whatever comes of the request', async () => {
    const fails = (): Error => Object.assign(new Error('no'), { status: 418, expose: true });
    const fill = <Self extends IRouter>(router: Self): Self => router
      .get('/next', (_req, _res, next) => next())
      .get('/json', (_req, res) => res.xJson({ big: 1n }))
      .get('/throws', () => { throw fails(); })
      .get('/rejects', () => Promise.reject(fails()))
      .get('/late', (_req, _res, next) => void setImmediate(next, fails()))
      .get('/file', (_req, res) => res.sendFile('/none'))
      .get('/twice', (_req, res, next) => { res.send('once'); next(); setImmediate(next, fails()); })
      .get('/last', theirs().use((_req, _res, next) => next(fails())) as unknown as Handler);
    const passing = (): Handler => theirs().use((_req, _res, next) => next()) as unknown as Handler;
    const quiet = { logging: { level: 'silent' } } as const;
    const shapes = [
      fill(createServer(quiet).use(passing())),
      createServer(quiet).use(passing(), fill(Router())),
      createServer(quiet).use(Router().use(passing(), fill(createServer(quiet)) as Handler)),
      createServer(quiet).use(passing(), (req, res, next) => fill(Router())(req, res, next)),
    ];
    for (const shape of shapes) {
      const port = await running.serve(shape);
      const statuses: unknown[] = [];
      for (const path of ['/none', '/next', '/json', '/throws', '/rejects', '/late', '/file', '/twice', '/last', '/json']) statuses.push((await ask(port, path)).status);
      expect(statuses).toEqual([404, 404, 200, 418, 418, 418, 404, 200, 418, 200]);
    }
  });

  test('in which error middleware hears what goes wrong with files and streams, also when an application of Express has the request by then', async () => {
    const holding = theirs().use(() => undefined) as unknown as Handler;
    const router = Router();
    const failing = async function* (): AsyncGenerator<string> {
      await new Promise(setImmediate);
      throw Object.assign(new Error('no'), { status: 418 });
      yield '';
    };
    router.get('/file', (_req, res) => res.sendFile('/none'));
    router.get('/stream', (_req, res) => res.stream(failing()));
    router.get('/passed/file', (_req, res, next) => { res.sendFile('/none'); next(); }, holding);
    router.get('/passed/stream', (_req, res, next) => { res.stream(failing()); next(); }, holding);
    router.use((error: Error & { status: number }, _req: Request, res: Response, _next: NextFunction) => void res.status(error.status).json({ heard: error.status }));
    const port = await running.serve(createServer({ logging: { level: 'silent' } }).use(router));
    const answers: unknown[] = [];
    for (const path of ['/file', '/stream', '/passed/file', '/passed/stream']) answers.push((await ask(port, path)).json);
    expect(answers).toEqual([{ heard: 404 }, { heard: 418 }, { heard: 404 }, { heard: 418 }]);
  });

  test('and other frameworks, in which it is as Express\'s', async () => {
    await onBoth((lib) => {
      const router = lib.Router({ mergeParams: true });
      router.use((req, res, next) => { res.setHeader('X-Saw', `${req.baseUrl} ${req.url}`); next(); });
      router.get('/u/:id', seen);
      router.get('/fails', (_req, _res, next) => next(new Error('no')));
      const around = theirs();
      around.use('/m/:k', router);
      around.use((req, res) => void res.status(200).send(`around ${req.url} ${req.baseUrl} ${JSON.stringify(req.params)}`));
      around.use(((_error, _req, res, _next) => void res.status(200).send('failed')) as theirs.ErrorRequestHandler);
      return answersOf(around, ['/m/1/u/2', '/m/1/none', '/m/1/fails', '/other'], ['x-saw']);
    });
  });

  test('handle goes on with what it has not taken, and needs something to go on with', async () => {
    await onBoth(async (lib) => {
      const router = lib.Router();
      router.get('/a', (_req, _res, next) => next());
      router.get('/b', (_req, _res, next) => next('router'));
      router.get('/c', () => Promise.reject(new Error('c')));
      const ends: unknown[] = [];
      for (const url of ['/a', '/b', '/c', '', undefined]) {
        const req = { method: 'GET', url, params: { outer: '1' } };
        ends.push(await new Promise((resolve) => (router as unknown as { handle(...given: unknown[]): void }).handle(req, {}, (error?: Error) => resolve([error?.message, req.params]))));
      }
      expect(() => (router as unknown as { handle(...given: unknown[]): void }).handle({ method: 'GET', url: '/' }, {})).toThrow(TypeError);
      return ends;
    });
  });

  test('called by a handler of an application, its routes have their bodies parsed', async () => {
    const router = Router();
    router.post('/echo', (req, res) => res.json(req.body));
    const port = await running.app((app) => app.use('/in', (req, res, next) => router(req, res, next)));
    expect((await ask(port, '/in/echo', { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } })).body).toBe('{"a":1}');
    expect((await ask(port, '/in/echo', { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } })).status).toBe(400);
  });

  test('what it rewrites, the application around checks', async () => {
    const router = Router();
    router.use((req, _res, next) => { req.url = '/secret'; next(); });
    router.get('/secret', (_req, res) => res.end('secret'));
    const security = {
      requestSignature: { secret: 'a secret that is long enough for the check' },
      routeConfig: { requestSignature: { includeRoutes: ['/api/secret'] } },
    };
    const port = await running.app((app) => app.use('/api', (req, res, next) => router(req, res, next)), { security });
    expect((await ask(port, '/api/open')).status).toBe(401);
  });
});

/** A router, or one in another, with what Express and waypost share. */
const options = fc.record({ caseSensitive: fc.boolean(), strict: fc.boolean(), mergeParams: fc.boolean() }, { requiredKeys: [] });
const segment = fc.constantFrom('a', 'A', ':x', ':y');
const path = fc.array(segment, { minLength: 1, maxLength: 2 }).map((segments) => `/${segments.join('/')}`);
const nested = fc.record({ options, mount: path, route: path, inner: fc.option(fc.record({ options, mount: path, route: path })), sensitive: fc.boolean() });
const target = fc.tuple(fc.array(fc.constantFrom('a', 'A', 'b'), { minLength: 1, maxLength: 5 }), fc.boolean()).map(([segments, slash]) => `/${segments.join('/')}${slash ? '/' : ''}`);

/** Unique in one path: Express refuses others as waypost does. */
function apart(text: string, suffix: string): string {
  return text.split('/').map((each, i) => (each.startsWith(':') ? `${each}${i}${suffix}` : each)).join('/');
}

test('options of routers are as in Express, in any nesting', async () => {
  await fc.assert(fc.asyncProperty(nested, fc.array(target, { minLength: 1, maxLength: 6 }), async (program, targets) => {
    await onBoth((lib: ExpressModule) => {
      const app = lib();
      if (program.sensitive) app.enable('case sensitive routing');
      const router = lib.Router(program.options);
      router.use((req, res, next) => { res.setHeader('X-Router', JSON.stringify([req.baseUrl, req.params])); next(); });
      router.get(apart(program.route, 'r'), seen);
      if (program.inner !== null) {
        const inner = lib.Router(program.inner.options);
        inner.get(apart(program.inner.route, 'r'), seen);
        router.use(apart(program.inner.mount, 'i'), inner);
      }
      app.use(apart(program.mount, 'm'), router);
      app.get('/:last', seen);
      return answersOf(app, targets, ['x-router']);
    });
  }), { numRuns: runs(60) });
});

test('options that would loosen what the scope of a signature was worked out by are refused', () => {
  const app = createServer({ logging: { level: 'silent' }, security: { requestSignature: { secret: 'a secret that is long enough for the check' } } });
  const outer = Router();
  app.use(outer);
  for (const given of [{ caseSensitive: false }, { strict: false }]) {
    expect(() => app.use(Router(given))).toThrow(/can't be used where request signatures are checked/);
    expect(() => app.use(Router().use(Router(given)))).toThrow(/can't be used where/);
  }
  app.use(Router({ caseSensitive: true, strict: true, mergeParams: false }), Router());
  expect(app.routes()).toEqual([]);
});
