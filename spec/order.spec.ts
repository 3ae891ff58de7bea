import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fc from 'fast-check';
import { type Application, createServer, type ErrorHandler, express as expressOfWaypost, type Handler, type Logger, type NextFunction, type Request, type Response, Router } from 'waypost';
import { LayerIndex } from '../lib/routing/layer-index';
import { LinearRouter, serve } from './support/linear-router';
import { Pipeline } from './support/pipeline';
import { build, type Builder, line, type Next, type Registrar, type RouterProgram, type Sent } from './support/program';
import { type Listener, type Outcome, ProgramServer } from './support/program-server';
import { type Extent, programs, requests } from './support/random-program';

/** Programs for each comparison; a failure prints its seed and the smallest program that fails. */
const RUNS = Number(process.env.ORDER_RUNS ?? 80);
/** After which a comparison fails, in milliseconds: many times what it needs. */
const LIMIT = 600_000;

const textOf = (error: unknown): string | null => {
  if (error === null || error === undefined) return null;
  const { code, message } = error as { code?: string; message?: string };
  if (error instanceof URIError) return 'MALFORMED_PATH';
  return code ?? message ?? String(error);
};

const ignore = (): void => undefined;
/** One for all programs: a logger for each would cost more than its requests. */
const logger: Logger = { level: 'silent', trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore, fatal: ignore };

type Kit = Pick<Builder, 'router' | 'pattern'>;

const apart = (): Application => createServer({ logging: { logger } });
const together = (): Application => expressOfWaypost({ logging: { logger } });
const registrar = (made: unknown): Registrar => made as Registrar;

const APART: Kit = { router: (isApplication) => registrar(isApplication ? apart() : Router()), pattern: (text) => text };
/** Both as Express writes wildcards. */
const named = (text: string): string => text.replace(/\/\*\*/g, '/*deep').replace(/\/\*(?=\/|$)/g, '/:star');
const TOGETHER: Kit = { router: (isApplication) => registrar(isApplication ? together() : expressOfWaypost.Router({ mergeParams: true })), pattern: named };
const EXPRESS: Kit = {
  router: (isApplication) => registrar(isApplication ? express().set('env', 'test').disable('x-powered-by') : express.Router({ mergeParams: true })),
  pattern: named,
};

/** Builds a program as the application that the server calls. */
function built<App extends Registrar>(program: RouterProgram, kit: Kit, app: App): App {
  build(program, app, {
    ...kit,
    // Behind the end nothing is left of them in Express.
    record: ({ id }, _inRoute, error, req) => bench.note(req, line(id, req.method ?? '', req.url ?? '', req.baseUrl ?? '', req.params ?? {}, textOf(error))),
    open: (id, req, act) => bench.open(id, req, act),
  });
  return app;
}

type Hosted = (req: IncomingMessage, res: ServerResponse, next: Next) => void;

/** The same in a host of its own: behind the end the default handlers would close the connection, which other requests are on. */
function hosted(program: RouterProgram, kit: Kit): Listener {
  const app = built(program, kit, kit.router(true)) as unknown as Hosted;
  return (req, res) => app(req, res, (error) => {
    bench.note(req, `end ${textOf(error || null)}`);
    if (!res.writableEnded) res.writeHead((error as { status?: number } | undefined)?.status ?? 404, { 'Content-Length': 0 }).end();
  });
}

const parsed = new WeakSet<IncomingMessage>();

/** Parses JSON, once. */
function parse(req: IncomingMessage, _res: ServerResponse, next: Next): void {
  if (parsed.has(req) || req.headers['content-length'] === undefined) return next();
  parsed.add(req);
  let text = '';
  req.setEncoding('utf8').on('data', (chunk: string) => (text += chunk)).on('end', AsyncResource.bind(() => {
    if (text === '{}') next();
    else next(Object.assign(new Error('MALFORMED_BODY'), { status: 400 }));
  }));
}

/** @param hasBodies Whether bodies may come. */
function linear(program: RouterProgram, hasBodies: boolean): Listener {
  const router = (isApplication: boolean): LinearRouter => new LinearRouter(isApplication, hasBodies ? parse : null);
  return serve(built(program, { router, pattern: (text) => text }, router(true)), (error, res) => {
    if (!res.writableEnded) res.writeHead((error as { status?: number } | undefined)?.status ?? 404, { 'Content-Length': 0 }).end();
  });
}

/** What becomes of requests, once nothing more comes. @param isApart Whether each is sent when the one before is over. */
async function outcomes(listener: Listener, sent: readonly Sent[], isApart = false): Promise<Outcome[]> {
  bench.listener = listener;
  const all: Outcome[] = [];
  for (const together of isApart ? sent.map((one) => [one]) : [sent]) {
    all.push(...await bench.ask(together));
    await bench.quiet();
  }
  return all;
}

/** The same where the index tests every layer. */
async function outcomesOfAll(listener: Listener, sent: readonly Sent[], isApart: boolean): Promise<Outcome[]> {
  const lookup = jest.spyOn(LayerIndex.prototype, 'lookup').mockImplementation(function all(this: LayerIndex, ...given) {
    return this.lookupAll(...given);
  });
  try {
    return await outcomes(listener, sent, isApart);
  } finally {
    lookup.mockRestore();
  }
}

/** Whether a function registers more: requests on their way meet that or not by the turns that a framework takes. */
function registers(program: RouterProgram): boolean {
  return JSON.stringify(program).includes('"registers":true');
}

const bench = new ProgramServer();
beforeAll(() => bench.start());
afterAll(() => bench.close());

const FULL: Extent = {
  segments: ['a', 'a', 'b', 'b', 'c', ':x', ':x', ':y', '*', '**', ':n(\\d+)'],
  anyMount: true,
  methods: ['GET', 'GET', 'GET', null, 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'],
  rewrites: 4,
  opens: 5,
  params: 5,
  fills: 1,
  bodies: true,
  applications: true,
  requestSegments: ['a', 'a', 'a', 'b', 'b', 'b', 'c', '7', 'x%20y', 'p%2Fq', '%zz', '', '%61'],
  requestMethods: ['GET', 'GET', 'GET', 'GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'],
};

/** What Express's patterns share with waypost's, and how it compares paths. */
const SHARED: Extent = {
  ...FULL,
  segments: FULL.segments.filter((segment) => !segment.includes('(')),
  bodies: false,
  requestSegments: FULL.requestSegments.filter((segment) => segment !== '' && segment !== '%61'),
  // A handler of a parameter runs for HEAD of any route in Express.
  requestMethods: FULL.requestMethods.filter((method) => method !== 'HEAD'),
  registers: 2,
};

const EXTENTS = (of: Extent): [string, Extent][] => [
  ['', of],
  [' where the stack is let go', { ...of, segments: ['a', 'a', 'b', ':x', '**'], requestSegments: ['a', 'a', 'b', '%zz'], fills: 50 }],
  [' where functions rewrite', { ...of, rewrites: 30, fills: 0 }],
  [' where `next` is called twice', { ...of, bodies: false, params: 0, lates: { times: 20, when: ['now', 'turn'], urls: true }, timings: ['sync', 'promise', 'callback'] }],
  [' where HEAD is asked for', { ...of, params: 0, requestMethods: ['GET', 'HEAD', 'HEAD'] }],
];

/** Tells alike from not without the cost of an assertion, of which there are hundreds of thousands. */
function expectSame(sent: readonly Sent[], got: readonly Outcome[], wanted: readonly Outcome[]): void {
  sent.forEach((request, i) => {
    if (JSON.stringify(got[i]) !== JSON.stringify(wanted[i])) expect({ request, ...got[i] }).toEqual({ request, ...wanted[i] });
  });
}

/** Runs programs by waypost, with its index and without, and by what it is held to. */
async function compare(extent: Extent, ours: (program: RouterProgram) => Listener, theirs: (program: RouterProgram) => Listener): Promise<void> {
  let ran = 0;
  await fc.assert(fc.asyncProperty(programs(extent), requests(extent), async (program, sent) => {
    const isApart = registers(program);
    const wanted = await outcomes(theirs(program), sent, isApart);
    expectSame(sent, await outcomes(ours(program), sent, isApart), wanted);
    expectSame(sent, await outcomesOfAll(ours(program), sent, isApart), wanted);
    for (const { trace } of wanted) ran += trace.length;
  }), { numRuns: RUNS, interruptAfterTimeLimit: LIMIT, markInterruptAsFailure: true });
  expect(ran).toBeGreaterThan(RUNS);
}

describe('random programs', () => {
  test.each(EXTENTS(SHARED))('run by express() as in Express%s', async (_, extent) => {
    const listener = (program: RouterProgram, kit: Kit): Listener => (extent.lates === undefined ? built(program, kit, kit.router(true)) as unknown as Listener : hosted(program, kit));
    await compare(extent, (program) => listener(program, TOGETHER), (program) => listener(program, EXPRESS));
  }, LIMIT + 30_000);

  test.each(EXTENTS(FULL))('run by createServer() as layer by layer%s', async (_, extent) => {
    await compare(extent, (program) => built(program, APART, apart() as unknown as Registrar) as unknown as Listener, (program) => linear(program, extent.bodies));
  }, LIMIT + 30_000);

  test('run alike behind the application\'s own server', async () => {
    await fc.assert(fc.asyncProperty(programs(FULL), requests(FULL), async (program, sent) => {
      const app = built(program, APART, registrar(apart())) as unknown as Application;
      // Its own requests are no objects of the bench's: only what comes over the wire is compared.
      const server = await app.start(0, '127.0.0.1');
      const pipeline = await Pipeline.open((server.address() as AddressInfo).port);
      const received = await pipeline.send(sent);
      pipeline.close();
      await app.close();
      const wanted = await outcomes(linear(program, true), sent);
      expect(received.map(({ status }) => status)).toEqual(wanted.map(({ status }) => status));
      wanted.forEach(({ body }, i) => {
        if (body !== null) expect(received[i]?.body).toBe(body);
      });
    }), { numRuns: RUNS / 10, interruptAfterTimeLimit: LIMIT, markInterruptAsFailure: true });
  }, LIMIT + 30_000);
});

/** Makes a handler that notes its name, and answers or goes on. */
type Run = (name: string, act?: 'answer') => Handler;

/** Puts requests to an application that is registered here; answers for each what ran, then the status. */
async function walk(register: (app: Application, ran: Run) => void, ...sent: Sent[]): Promise<string[]> {
  const app = createServer({ logging: { logger } });
  const run: Run = (name, act) => (req, res, next) => {
    bench.note(req, name);
    if (act === 'answer') res.end();
    else next();
  };
  register(app, run);
  bench.listener = app as unknown as Listener;
  return (await bench.ask(sent)).map(({ trace, status }) => [...trace, status].join(' '));
}

const raise: Handler = () => {
  throw Object.assign(new Error('raised'), { status: 418 });
};
const get = (url: string): Sent => ({ method: 'GET', url });
/** Sends the walk to another target. */
const to = (url: string, error?: unknown): Handler => (req, _res, next) => {
  req.url = url;
  next(error);
};
const signal = (name: string): Handler => (_req, _res, next) => next(name);
/** Error middleware that deals with every error. */
const recover: ErrorHandler = (_error, _req, _res, next) => next();

describe('what a guard holds', () => {
  test('a body that no parser reads lets nobody pass the guard of a route', async () => {
    expect(await walk((app, ran) => {
      app.use(recover);
      app.post('/x', ran('guard', 'answer'), ran('secret', 'answer'));
    }, { method: 'POST', url: '/x', body: '{' })).toEqual(['400']);
  });

  const above = (guard: Handler) => ({
    'a Router of rules of its own': () => Router({ strict: true }).use('/admin', guard),
    'an application': () => createServer({ logging: { logger } }).use('/admin', guard),
    'an Express application': () => express().use('/admin', guard as never) as unknown as Handler,
    'a Router that middleware calls': () => {
      const router = Router().use('/admin', guard);
      return (req: Request, res: Response, next: NextFunction) => router(req, res, next);
    },
    'middleware that looks at the path': () => (req: Request, res: Response, next: NextFunction) => (req.path.startsWith('/admin/') ? guard(req, res, next) : next()),
  });

  test.each([['createServer', apart], ['express', together]] as const)('a rewrite does not lead back up past a guard that has seen the first target only, in %s()', async (_name, make) => {
    const guarded = above((_req, res) => void res.status(401).end());
    for (const [name, guard] of Object.entries(guarded)) {
      for (const route of ['route', 'Router', 'application'] as const) {
        const app = make();
        app.use(guard() as never);
        const secret: Handler = (_req, res) => void res.end('secret');
        if (route === 'route') app.get('/admin/x', secret);
        else if (route === 'Router') app.use('/admin', Router().get('/x', secret));
        else app.use('/admin', createServer({ logging: { logger } }).get('/x', secret));
        app.use((req, _res, next) => {
          req.url = req.url.replace(/^\/v1/, '');
          next();
        });
        bench.listener = app as unknown as Listener;
        const outcomes = await bench.ask([get('/admin/x'), get('/v1/admin/x')]);
        expect([name, route, ...outcomes.map(({ body }) => body === 'secret')]).toEqual([name, route, false, false]);
      }
    }
  });

  test('what a route was left for by next("route") is not run after a rewrite', async () => {
    expect(await walk((app, ran) => {
      app.get('/x', signal('route'), ran('secret', 'answer'));
      app.get('/x', signal('route'), ran('secret', 'answer'));
      app.use(to('/x?again'));
    }, get('/x'))).toEqual(['404']);
  });

  test('a router\'s guard does not run for what a sibling\'s route takes, and does for its own', async () => {
    expect(await walk((app, ran) => {
      app.use('/p', Router().use(ran('guard')).get('/own', ran('own', 'answer')));
      app.use('/p', Router().use(ran('other')).get('/theirs', ran('theirs', 'answer')));
    }, get('/p/own'), get('/p/theirs'), get('/p/none'))).toEqual(['guard own 200', 'other theirs 200', 'guard other 404']);
  });

  test('a router around and a router within are no siblings', async () => {
    expect(await walk((app, ran) => {
      const inner = Router().use(ran('inner')).get('/x', ran('x', 'answer'));
      app.use('/p', Router().use(ran('outer')).use('/q', inner).get('/y', ran('y', 'answer')));
    }, get('/p/q/x'), get('/p/y'))).toEqual(['outer inner x 200', 'outer y 200']);
  });
});

describe('errors', () => {
  test('meet what stands below the one that raised, and nothing above', async () => {
    const noted = (name: string): ErrorHandler => (error, req, _res, next) => {
      bench.note(req, name);
      next(error);
    };
    expect(await walk((app, ran) => {
      app.use(noted('above'));
      app.use(raise);
      app.use(ran('passed over'));
      app.use(noted('first'), noted('second'));
    }, get('/'))).toEqual(['first second 418']);
  });

  test('do not enter a router from outside', async () => {
    expect(await walk((app) => {
      app.use(raise);
      app.use(Router().use(recover));
    }, get('/'))).toEqual(['418']);
  });

  test('that nothing raised meet what stands below, in the router and around it', async () => {
    const noted = (name: string): ErrorHandler => (error, req, _res, next) => {
      bench.note(req, name);
      next(error);
    };
    const register = (app: Application, ran: Run): void => {
      app.use(noted('above'));
      app.use(Router().use(noted('sibling')).post('/other', ran('other')));
      app.use(Router().use(noted('own above')).all('/:x', ran('never', 'answer')).use(noted('own')));
      app.use(noted('below'));
    };
    expect(await walk(register, { method: 'POST', url: '/x', body: '{' }, get('/%zz'))).toEqual(['own below 400', 'own below 400']);
  });

  test('of a body are raised once', async () => {
    expect(await walk((app, ran) => {
      app.put('/:x', ran('x', 'answer'));
      app.use(recover);
      app.use(to('/y'));
      app.put('/:y', ran('y', 'answer'));
    }, { method: 'PUT', url: '/x', body: '{' })).toEqual(['y 200']);
  });

  test('of a router that is mounted twice stay in their mount', async () => {
    expect(await walk((app, ran) => {
      const router = Router();
      router.get('/z', (req: Request, res, next) => (req.params.x === undefined ? next('route') : ran(`x=${req.params.x}`, 'answer')(req, res, next)), ran('never'));
      app.use('/a', router);
      app.use('/:x', router);
    }, get('/a/z'))).toEqual(['x=a 200']);
  });
});

describe('targets', () => {
  test('middleware that always rewrites runs once, as everything does', async () => {
    expect(await walk((app, ran) => {
      app.use(ran('first'));
      app.use((req, _res, next) => {
        req.url = `${req.url}/x`;
        next();
      });
      app.get('/a', ran('before', 'answer'));
      app.get('/a/x', ran('after', 'answer'));
    }, get('/a'))).toEqual(['first after 200']);
  });

  test.each([['createServer', apart], ['express', together]] as const)('what a handler of a route makes is for its further handlers too, in %s()', async (_name, make) => {
    const app = make();
    app.get('/old', to('/new?x'), (req, res) => void res.end(`${req.url} ${req.originalUrl}`));
    app.get('/raised', (req) => {
      req.url = '/elsewhere/x';
      throw new Error('raised');
    });
    app.use('/raised', (_error: unknown, _req: Request, res: Response, _next: NextFunction) => void res.end('at the old target'));
    app.use('/elsewhere', (_error: unknown, _req: Request, res: Response, _next: NextFunction) => void res.end('at the new target'));
    bench.listener = app as unknown as Listener;
    expect((await bench.ask([get('/old'), get('/raised')])).map(({ body }) => body)).toEqual(['/new?x /old', 'at the new target']);
  });

  test('what is made OPTIONS below its routes is not answered by them', async () => {
    for (const make of [express, together]) {
      const app = make() as Application;
      app.get('/x', (_req, res) => void res.end('x'));
      app.use((req: Request, _res: Response, next: NextFunction) => {
        req.method = 'OPTIONS';
        next();
      });
      app.all('/y', (_req, res) => void res.end('y'));
      bench.listener = app as unknown as Listener;
      expect((await bench.ask([{ method: 'POST', url: '/x' }, { method: 'POST', url: '/y' }])).map(({ status }) => status)).toEqual([404, 200]);
    }
  });

  test('a query that is changed at the mount path leaves the path as it is', async () => {
    expect(await walk((app, ran) => {
      app.use('/a', to('/'));
      app.use('/b', to('/?y=2'));
      app.get(['/a', '/b'], (req, res, next) => ran(req.url, 'answer')(req, res, next));
    }, get('/a?x=1'), get('/b?x=1'))).toEqual(['/a 200', '/b?y=2 200']);
  });

  test('a long list needs no deep stack', async () => {
    expect(await walk((app, ran) => {
      for (let i = 0; i < 20_000; i++) app.use((_req, _res, next) => next());
      app.get('/', ran('end', 'answer'));
    }, get('/'), get('/none'))).toEqual(['end 200', '404']);
  });
});
