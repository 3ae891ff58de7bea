import { type Application, createServer, express, type Handler, signRequest } from 'waypost';
import { SignatureCheck } from '../lib/signature/check';
import type { SignatureHook } from '../lib/signature/hook';
import { SignatureScope } from '../lib/signature/scope/scope';
import type { TargetViews } from '../lib/signature/scope/target-views';
import { Running } from './support/running';
import { ask } from './support/wire';
import { workOf } from './support/work-meter';

const SECRET = 'the secret of these specs, 32 bytes or more';
/** Characters that may be looked through for one request. */
const MOST = 200_000;
/** As much as Node takes of a head, less the rest of it. */
const LONGEST = 15_600;

const running = new Running();
afterEach(async () => {
  jest.restoreAllMocks();
  await running.close();
});

const silent = { logging: { level: 'silent' } } as const;
const checking = { ...silent, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/api/**', '/:tenant/api/**'] } } } } as const;

/** Programs in which one request is checked again and again, each about as often as it is told. */
const PROGRAMS: Record<string, (times: number) => Application> = {
  'rewrites in one application': (times) => {
    const app = createServer(checking);
    for (let time = 0; time < times; time++) app.use((req, _res, next) => { req.url = `/v${time}${req.url}`; next(); });
    return app;
  },
  'rewrites in a mounted application': (times) => {
    const mounted = express(silent);
    for (let time = 0; time < times; time++) mounted.use((req, _res, next) => { req.url = `/v${time}${req.url}`; next(); });
    return createServer(checking).use(mounted as never);
  },
  'applications in one another': (times) => {
    let app = createServer(checking);
    for (let time = 0; time < times; time++) app = createServer(checking).use(app);
    return app;
  },
  'applications called by hand': (times) => {
    let app = createServer(checking);
    for (let time = 0; time < Math.min(times, 40); time++) {
      const inner = app as unknown as Handler;
      app = createServer(checking).use((req, res, next) => {
        const [first = ''] = /^\/[^/]+(?=\/)/.exec(req.url) ?? [];
        req.baseUrl += first;
        req.url = req.url.slice(first.length);
        return inner(req, res, next);
      });
    }
    return app;
  },
  'an application that calls itself': (times) => {
    const app = createServer(checking);
    let left = times;
    return app.use((req, res, next) => {
      if (left-- <= 0) return next();
      const end = req.url.indexOf('/', 1);
      if (end === -1) return next();
      req.baseUrl += req.url.slice(0, end);
      req.url = req.url.slice(end);
      return (app as unknown as Handler)(req, res, next);
    });
  },
};

const UNITS = ['%C3%A9', '%25', '/%61', '//;'];

describe('a check that is made again and again for one request', () => {
  test.each(Object.keys(PROGRAMS).flatMap((name) => UNITS.map((unit) => [name, unit] as const)))('%s: so much of %s is looked through, and no more', async (name, unit) => {
    let looked = 0;
    const requires = jest.spyOn(SignatureScope.prototype, 'requires');
    const path = `${'/s'.repeat(60)}/${unit.repeat((LONGEST - 200) / unit.length)}`;
    const port = await running.start((PROGRAMS[name] as (times: number) => Application)(50));
    const { status } = await ask(port, path);
    const asked = new Set(requires.mock.calls.map(([, target]) => target as TargetViews));
    for (const { isPlain, target } of asked) if (!isPlain) looked += target.length;
    expect(looked).toBeGreaterThan(LONGEST - 500);
    expect(looked).toBeLessThanOrEqual(MOST);
    // Of `%2f` and the like none can tell what it means, and a scope with a parameter in front asks for a signature at once.
    expect([400, 401, 500]).toContain(status);
  });

  test.each(Object.keys(PROGRAMS))('%s: paths as clients send them are answered, however often they are checked', async (name) => {
    const path = `/${Array.from({ length: 20 }, (_, index) => `s${index}`).join('/')}/${'caf%C3%A9/'.repeat(8)}`;
    const port = await running.start((PROGRAMS[name] as (times: number) => Application)(6));
    expect((await ask(port, path)).status).toBe(404);
  });

  test('a plain path is looked through without end', async () => {
    const app = createServer(checking).get('/api/x', (_req, res) => res.send('reached'));
    for (let time = 0; time < 50; time++) app.use((req, _res, next) => { req.url = `/v${time}${req.url}`; next(); });
    app.use((req, _res, next) => { req.url = '/api/x'; next(); });
    app.get('/api/x', (_req, res) => res.send('reached'));
    const port = await running.start(app);
    const url = `/${'a'.repeat(LONGEST - 100)}`;
    expect((await ask(port, url)).status).toBe(401);
    expect((await ask(port, url, { headers: { ...signRequest({ secret: SECRET, method: 'GET', url }) } })).status).toBe(200);
  });
});

describe('a target that many hooks are asked about', () => {
  const RULES = { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false };

  /** Work of one check by so many hooks, none of which takes the target. */
  function workFor(hooks: number, path: string): number {
    const host = { sendContinue: jest.fn(), limitOf: () => undefined, failed: jest.fn() };
    const admitted = jest.fn();
    const scopes = Array.from({ length: hooks }, (_, index) => new SignatureScope([`/hooks/h${index}`], [], RULES));
    const check = new SignatureCheck(scopes.map((scope) => ({ scope }) as unknown as SignatureHook), 0, host);
    const work = workOf(() => check.run({ req: {}, res: {}, method: 'GET', url: path, passed: [], admitted } as never));
    expect(admitted).toHaveBeenCalledTimes(1);
    return work;
  }

  test.each([...UNITS, '/%61%62', '..%2e/', '%u0041', '\\', 'a'])('is worked out once for all: %s', (unit) => {
    const path = `/${unit.repeat(LONGEST / unit.length)}`;
    expect(workFor(66, path) / workFor(2, path)).toBeLessThan(3);
  });

  test('is answered as by one, however long it is', async () => {
    const webhooks = Array.from({ length: 40 }, (_, index) => ({ path: `/hooks/h${index}`, preset: 'github', secret: SECRET } as const));
    const port = await running.start(createServer({ ...silent, security: { webhooks } }).get('/open/**', (_req, res) => res.send('open')));
    for (const unit of UNITS) {
      const { status } = await ask(port, `/open/${unit.repeat((LONGEST - 200) / unit.length)}`);
      expect([200, 404]).toContain(status);
    }
    expect((await ask(port, `/hooks/h39/${'%2e/'.repeat(3000)}`)).status).toBe(401);
  });
});
