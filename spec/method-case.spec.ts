import expressOwn, { Router as ExpressRouter } from 'express';
import fc from 'fast-check';
import { createServer, express, Router } from 'waypost';
import { Running } from './support/running';
import { runs } from './support/runs';
import { ask } from './support/wire';

const running = new Running();

afterEach(() => running.close());

type Use = (...given: unknown[]) => unknown;
type Next = () => void;
interface Sent { headers: Record<string, unknown>; method: string }
interface Sending { statusCode: number; end(text: string): unknown }
type Program = Record<'all' | 'delete' | 'get' | 'head' | 'lock' | 'options' | 'post' | 'use', Use> & { route(path: string): Program };

const QUIET = { env: 'production', logging: { level: 'silent' } } as const;
const HOSTS: Readonly<Record<string, () => Program>> = {
  'express()': () => express(QUIET) as unknown as Program, 'createServer()': () => createServer({ ...QUIET, body: false }) as unknown as Program, 'Express': () => expressOwn() as unknown as Program,
};
const VERBS = ['get', 'post', 'delete', 'head', 'options', 'lock'] as const;
/** Letters that are one of ASCII as a small letter, or as a capital one. */
const ODD: Readonly<Record<string, string>> = { k: '\u212ak', s: '\u017fs', t: 't\u0167', i: '\u0131\u0130' };
type Verb = (typeof VERBS)[number];

const sends = (status: number, text: string) => (req: Sent, res: Sending): void => {
  res.statusCode = status;
  res.end(`${text} ${req.method}`);
};

/** Where a guard of a method stands. */
const GUARDS: Readonly<Record<string, (app: Program, verb: Verb, router: () => Program) => unknown>> = {
  'a route': (app, verb) => app[verb]('/item', sends(401, 'guarded')),
  'a route with others': (app, verb) => (app.all('/item', (_req: Sent, _res: Sending, next: Next) => next()), app[verb]('/item', sends(401, 'guarded'))),
  'route()': (app, verb) => app.route('/item')[verb](sends(401, 'guarded')),
  'a router': (app, verb, router) => {
    const inner = router();
    inner[verb]('/item', sends(401, 'guarded'));
    app.use(inner);
  },
  'a RegExp': (app, verb) => app[verb](/^\/it/, sends(401, 'guarded')),
};

/** What stands behind it. */
const PIECES: Readonly<Record<string, (verb: Verb) => unknown>> = {
  'middleware': () => sends(200, 'taken'),
  'a router of Express': (verb) => {
    const router = ExpressRouter() as unknown as Program;
    router[verb]('/item', sends(200, 'taken'));
    return router;
  },
  'an application of Express': (verb) => {
    const app = expressOwn() as unknown as Program;
    app[verb]('/item', sends(200, 'taken'));
    return app;
  },
  'a router': (verb) => {
    const router = Router() as unknown as Program;
    router[verb]('/item', sends(200, 'taken'));
    return router;
  },
  'nothing': () => (_req: unknown, _res: unknown, next: Next) => next(),
};

function program(make: () => Program, router: () => Program, guard: string, verb: Verb, piece: string): Program {
  const app = make();
  app.use((req: Sent, _res: Sending, next: Next) => {
    req.method = decodeURIComponent(String(req.headers['x-method']));
    next();
  });
  (GUARDS[guard] as (app: Program, verb: Verb, router: () => Program) => unknown)(app, verb, router);
  app.use((PIECES[piece] as (verb: Verb) => unknown)(verb));
  return app;
}

/** A verb with any of its letters in the other case; but HEAD of a POST, to which Express announces a body that it does not send. Letters beyond ASCII are small or capital letters of it. */
const spelt = fc.constantFrom(...VERBS).chain((verb) => fc.array(fc.boolean(), { minLength: 7, maxLength: 7 }).map((upper) => [...verb].map((letter, at) => (upper[at] ? letter.toUpperCase() : ODD[letter]?.[at % 2] ?? letter)).join(''))).filter((method) => method !== 'HEAD');
const pairs = Object.keys(GUARDS).flatMap((guard) => Object.keys(PIECES).map((piece) => [guard, piece] as const));

describe.each(['express()', 'createServer()'])('in %s a method that middleware has made is that of its routes, however it is written, as in Express', (host) => {
  test.each(pairs)('%s, before %s', async (guard, piece) => {
    const programs = await Promise.all(VERBS.map(async (verb) => [
      await running.serve(program(HOSTS[host] as () => Program, () => Router() as unknown as Program, guard, verb, piece) as never),
      await running.serve(program(HOSTS['Express'] as () => Program, () => ExpressRouter() as unknown as Program, guard, verb, piece) as never),
    ] as const));
    await fc.assert(fc.asyncProperty(fc.nat(VERBS.length - 1), spelt, async (at, method) => {
      const answers = await Promise.all((programs[at] as readonly number[]).map(async (port) => {
        const { status, body } = await ask(port, '/item', { method: 'POST', headers: { 'x-method': encodeURIComponent(method) } });
        return status < 402 && /guarded|taken/.test(body) ? [status, body] : status;
      }));
      // The exact application tells no methods, and answers no OPTIONS by itself.
      if (host === 'createServer()' && method === 'OPTIONS' && answers[1] === 200) return;
      expect([VERBS[at], method, answers[0]]).toEqual([VERBS[at], method, answers[1]]);
    }), { numRuns: runs(80) });
  });
});

describe.each(Object.entries({ express, createServer }))('in %s no spelling passes the check of signatures', (_, make) => {
  const taker = ExpressRouter();
  taker.post('/item', (_req, res) => void res.send('public'));
  taker.all('/item', (_req, res) => void res.send('protected'));

  async function served(scope: object): Promise<(method: string) => Promise<[number, string]>> {
    const app = make({ ...QUIET, security: { requestSignature: { secret: 'x'.repeat(32) }, routeConfig: { requestSignature: scope } } });
    app.use((req, _res, next) => {
      req.method = decodeURIComponent(String(req.get('x-method')));
      next();
    });
    app.use(taker as never);
    const port = await running.start(app);
    return async (method) => {
      const { status, body } = await ask(port, '/item', { method: 'PUT', headers: { 'x-method': encodeURIComponent(method) } });
      return [status, body];
    };
  }

  test('where a method is included', async () => {
    const tell = await served({ includeRoutes: [{ path: '/item', methods: ['LOCK', 'POST'] }] });
    for (const method of ['LOCK', 'lock', 'Lock', 'LOC\u212a', 'loc\u212a', 'POST', 'post', 'po\u017ft']) expect([method, (await tell(method))[0]]).toEqual([method, 401]);
    expect(await tell('patch')).toEqual([200, 'protected']);
  });

  test('where a method is excluded', async () => {
    const tell = await served({ excludeRoutes: [{ path: '/item', methods: ['POST', 'PUT'] }] });
    expect([await tell('POST'), await tell('post')]).toEqual([[200, 'public'], [200, 'public']]);
    for (const method of ['DELETE', 'PO\u017fT', 'po\u017ft', 'PO\ufb06', 'PO\ufb05', '']) expect([method, (await tell(method))[0]]).toEqual([method, 401]);
  });
});
