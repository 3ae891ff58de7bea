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
type Program = Record<'all' | 'delete' | 'get' | 'head' | 'options' | 'post' | 'use', Use> & { route(path: string): Program };

const QUIET = { env: 'production', logging: { level: 'silent' } } as const;
const HOSTS: Readonly<Record<string, () => Program>> = {
  'express()': () => express(QUIET) as unknown as Program, 'createServer()': () => createServer({ ...QUIET, body: false }) as unknown as Program, 'Express': () => expressOwn() as unknown as Program,
};
const VERBS = ['get', 'post', 'delete', 'head', 'options'] as const;
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
    req.method = String(req.headers['x-method']);
    next();
  });
  (GUARDS[guard] as (app: Program, verb: Verb, router: () => Program) => unknown)(app, verb, router);
  app.use((PIECES[piece] as (verb: Verb) => unknown)(verb));
  return app;
}

/** A verb with any of its letters in the other case; but HEAD of a POST, to which Express announces a body that it does not send. */
const spelt = fc.constantFrom(...VERBS).chain((verb) => fc.array(fc.boolean(), { minLength: 7, maxLength: 7 }).map((upper) => [...verb].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter)).join(''))).filter((method) => method !== 'HEAD');
const pairs = Object.keys(GUARDS).flatMap((guard) => Object.keys(PIECES).map((piece) => [guard, piece] as const));

describe.each(['express()', 'createServer()'])('in %s a method that middleware has made is that of its routes, however it is written, as in Express', (host) => {
  test.each(pairs)('%s, before %s', async (guard, piece) => {
    const programs = await Promise.all(VERBS.map(async (verb) => [
      await running.serve(program(HOSTS[host] as () => Program, () => Router() as unknown as Program, guard, verb, piece) as never),
      await running.serve(program(HOSTS['Express'] as () => Program, () => ExpressRouter() as unknown as Program, guard, verb, piece) as never),
    ] as const));
    await fc.assert(fc.asyncProperty(fc.nat(VERBS.length - 1), spelt, async (at, method) => {
      const answers = await Promise.all((programs[at] as readonly number[]).map(async (port) => {
        const { status, body } = await ask(port, '/item', { method: 'POST', headers: { 'x-method': method } });
        return status < 402 && /guarded|taken/.test(body) ? [status, body] : status;
      }));
      // The exact application tells no methods, and answers no OPTIONS by itself.
      if (host === 'createServer()' && method === 'OPTIONS' && answers[1] === 200) return;
      expect([VERBS[at], method, answers[0]]).toEqual([VERBS[at], method, answers[1]]);
    }), { numRuns: runs(80) });
  });
});

test('nor does a spelling pass the check of signatures', async () => {
  for (const make of [express, createServer]) {
    const app = make({ ...QUIET, security: { requestSignature: { secret: 'x'.repeat(32) }, routeConfig: { requestSignature: { includeRoutes: [{ path: '/item', methods: ['DELETE'] }] } } } });
    app.use((req, _res, next) => {
      req.method = String(req.get('x-method'));
      next();
    });
    app.delete('/item', (_req, res) => res.send('deleted'));
    app.all('/item', (_req, res) => res.send('other'));
    const port = await running.start(app);
    for (const method of ['DELETE', 'delete', 'Delete', 'dELETE']) expect((await ask(port, '/item', { method: 'POST', headers: { 'x-method': method } })).status).toBe(401);
    expect((await ask(port, '/item', { method: 'POST', headers: { 'x-method': 'patch' } })).body).toBe('other');
  }
});
