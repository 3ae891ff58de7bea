import { request } from 'node:http';
import theirs from 'express';
import { type Application, createServer, express, type Handler, type NextFunction, type Request, type Response, Router, signRequest } from 'waypost';
import { Running } from './support/running';
import { ask } from './support/wire';

const SECRET = 'the secret of these specs, 32 bytes or more';
const running = new Running();
afterEach(() => running.close());

const silent = { logging: { level: 'silent' } } as const;

/** As many turns of the event loop as let everything else come first. */
async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
}

/** A guard that takes its time, and lets nobody pass. */
const guard = async (_req: Request, res: Response): Promise<void> => {
  await turns();
  if (!res.headersSent) res.status(403).end('denied');
};
const secret: Handler = (_req, res) => void (res.headersSent || res.end('SECRET'));
const twice: Handler = (_req, _res, next) => { next(); next(); };
const overlooks = (_error: unknown, _req: Request, _res: Response, next: NextFunction): void => next();

/** Ways by which a `next` comes too late, before a guard within a router or a route. */
const SHAPES: Record<string, (app: Application, make: () => Router) => void> = {
  'a guard in a router': (app, make) => void app.use(twice).use(make().use(guard).get('/secret', secret)),
  'a guard in a route': (app) => void app.use(twice).get('/secret', guard, secret),
  'a guard in a router, a turn later': (app, make) => {
    app.use((_req, _res, next) => { next(); setImmediate(next); });
    app.use(make().use(guard).get('/secret', secret));
  },
  'a guard in a route of a router, from the router': (app, make) => void app.use(make().use(twice).get('/secret', guard, secret)),
  'a guard in a router within a router': (app, make) => void app.use(make().use(twice).use(make().get('/secret', guard, secret))),
  'a guard in a router, from a route': (app, make) => void app.all('/secret', twice).use(make().use(guard).get('/secret', secret)),
  'a guard in a router, with an error': (app, make) => {
    app.use((_req, _res, next) => { next(); next(new Error('late')); });
    app.use(make().use(guard).use(overlooks).get('/secret', secret));
  },
  'a guard in a route, with an error': (app) => {
    app.use((_req, _res, next) => { next(); next(new Error('late')); });
    app.get('/secret', guard, overlooks, secret);
  },
  'a guard in a router, by a throw': (app, make) => {
    app.use((_req, _res, next) => { next(); throw new Error('late'); });
    app.use(make().use(guard).use(overlooks).get('/secret', secret));
  },
  'a guard in a router, to leave a route': (app, make) => {
    app.use((_req, _res, next) => { next(); next('route'); });
    app.use(make().use(guard).get('/secret', secret));
  },
  'a handler of a parameter': (app, make) => void app.use(twice).use(make().param('id', guard).get('/:id', secret)),
  'a guard in a router, by req.next': (app, make) => {
    app.use((req, _res, next) => {
      const kept = req.next as NextFunction;
      next();
      kept();
    });
    app.use(make().use(guard).get('/secret', secret));
  },
  'a limit of time, while a router waits': (app, make) => {
    app.use((_req, _res, next) => { setImmediate(() => next(new Error('timeout'))); next(); });
    app.use(make().use(guard).get('/secret', secret));
  },
};

describe('a next that comes late passes no guard within a router or a route', () => {
  test.each(Object.entries(SHAPES))('%s', async (_name, build) => {
    const failed = (_error: unknown, _req: Request, res: Response, _next: NextFunction): void => void res.status(500).end('failed');
    const make = (app: unknown, router: () => unknown): never => {
      build(app as Application, router as () => Router);
      (app as Application).use(failed);
      return app as never;
    };
    const answers: [number, string][] = [];
    for (const app of [make(theirs(), theirs.Router), make(express(silent), Router), make(createServer(silent), Router)]) {
      const { status, bytes } = await ask(await running.serve(app), '/secret');
      answers.push([status, status === 404 ? '' : String(bytes)]);
      await turns();
    }
    expect(answers).toEqual([answers[0], answers[0], answers[0]]);
    expect(answers.map(([, body]) => body)).not.toContain('SECRET');
  });

  /** Ways by which a call of `next` comes before one that waits for the stack to be let go. */
  const OVERTAKEN: Record<string, (app: Application, make: () => Router, passing: Handler[]) => void> = {
    'an error, and a next in the same turn': (app, _make, passing) => {
      app.use(passing);
      app.use((_req, _res, next) => { next(new Error('denied')); next(); });
    },
    'an error of a parameter, and a next from around it': (app, make, passing) => {
      app.use(twice).use(make().use(passing).param('id', (_req, _res, next) => next(new Error('denied'))).get('/:id', secret)).use(guard);
    },
    'a next in a router, and another from around it': (app, make, passing) => {
      app.use(twice).use(make().use(passing).use(guard)).use(guard);
    },
  };

  test.each(Object.entries(OVERTAKEN))('where so many calls are nested that one waits: %s', async (_name, build) => {
    const failed = (_error: unknown, _req: Request, res: Response, _next: NextFunction): void => void (res.headersSent || res.status(403).end('denied'));
    for (let nested = 96; nested <= 104; nested++) {
      const passing = Array.from({ length: nested }, (): Handler => (_req, _res, next) => next());
      const answers: [number, string][] = [];
      for (const [app, make] of [[theirs(), theirs.Router], [express(silent), Router], [createServer(silent), Router]] as unknown as [Application, () => Router][]) {
        build(app, make, passing);
        app.get('/secret', secret).use(failed);
        const { status, bytes } = await ask(await running.serve(app as never), '/secret');
        answers.push([status, String(bytes)]);
        await turns();
      }
      expect([nested, answers]).toEqual([nested, [answers[0], answers[0], answers[0]]]);
      expect([nested, answers[0]]).toEqual([nested, [403, 'denied']]);
    }
  });

  test('a next of a router that the walk has left counts for nothing', async () => {
    const port = await running.app((app) => {
      app.use(Router().use(twice));
      app.use(guard);
      app.get('/secret', secret);
    });
    expect((await ask(port, '/secret')).status).toBe(403);
  });
});

describe('req.next, before the walk has begun', () => {
  const lates: [string, (req: Request, res: Response) => void][] = [
    ['req.next()', (req) => req.next?.()],
    ['req.next(error)', (req) => req.next?.(new Error('late'))],
    ['a file that is missing', (_req, res) => res.sendFile('/nonexistent/file')],
  ];

  test.each(lates)('passes no check of a signature: %s', async (_name, late) => {
    let reached = 0;
    const secretOf = async (): Promise<string> => { await turns(); return SECRET; };
    const inner = createServer({ ...silent, security: { requestSignature: { secret: secretOf } } });
    inner.get('/secret', (_req, res) => { reached++; res.end('SECRET'); });
    inner.use((_error: unknown, _req: Request, _res: Response, next: NextFunction) => { reached++; next(); });
    inner.use((_req, res) => { reached++; res.end('LAST'); });
    for (const outer of [theirs(), createServer(silent)] as unknown as Application[]) {
      outer.use((req, res, next) => { setImmediate(() => late(req, res)); next(); });
      outer.use(inner as never);
      const signed = signRequest({ secret: 'a wrong secret, of 32 bytes or more', method: 'GET', url: '/secret' });
      const { status } = await ask(await running.serve(outer), '/secret', { headers: { ...signed, 'X-Key-Id': 'k' } });
      await turns();
      expect([[401, 404, 500].includes(status), reached]).toEqual([true, 0]);
    }
  });

  test('runs nothing while a body comes in', async () => {
    const ran: unknown[] = [];
    const inner = createServer(silent);
    inner.use((_req, _res, next) => { ran.push('middleware'); next(); });
    inner.post('/', (req, res) => { ran.push(req.body); res.end(); });
    let begun = (): void => undefined;
    const waits = new Promise<void>((resolve) => { begun = resolve; });
    const outer = theirs();
    outer.use((req, _res, next) => {
      next();
      (req.next as NextFunction)();
      begun();
    });
    outer.use(inner as never);
    const port = await running.serve(outer);
    await new Promise((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', method: 'POST', headers: { 'content-type': 'application/json' } }, (res) => res.resume().on('end', resolve)).on('error', reject);
      sent.write('{"a"');
      void waits.then(() => sent.end(':1}'));
    });
    await turns();
    expect(ran).toEqual(['middleware', { a: 1 }]);
  });
});

describe('the target that a check is asked about', () => {
  /** An inner application that is handed requests by a route's handler, which sees the whole URL. */
  function handedOn(change: (url: string) => string): Router {
    const inner = createServer(silent);
    inner.use((req, _res, next) => { req.url = change(req.url); next(); });
    inner.all('/**', (req, res) => res.send(req.url));
    return Router().all('/**', (req, res, next) => inner(req, res, next));
  }

  test('is that of a rewrite in an application that a route of a router calls', async () => {
    const port = await running.app((app) => void app.use('/r', handedOn((url) => url.replace('open', 'secret'))), {
      security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/r/secret'] } } },
    });
    expect((await ask(port, '/r/open')).status).toBe(401);
    expect((await ask(port, '/r/other')).status).toBe(200);
  });

  test('and no other, which would be refused', async () => {
    const port = await running.app((app) => void app.use('/r', handedOn((url) => url.replace(/\?.*/, ''))), {
      security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { excludeRoutes: ['/r/health'] } } },
    });
    expect((await ask(port, '/r/health?x=1')).status).toBe(200);
  });

  test.each([1, undefined, null, {}])('may have a method that is no string: %p is an error of the request', async (method) => {
    const port = await running.app((app) => {
      app.use((req, _res, next) => { setImmediate(() => { (req as { method: unknown }).method = method; next(); }); });
      app.get('/', (_req, res) => res.send('fine'));
    }, { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/secret'] } } } });
    expect((await ask(port, '/')).status).toBeGreaterThanOrEqual(404);
  });
});
