import type { AddressInfo } from 'node:net';
import express from 'express';
import fc from 'fast-check';
import { type Application, createServer, type ErrorHandler, express as expressOfWaypost, type Handler, type Logger, type NextFunction, type Request, type Response, Router } from 'waypost';
import { LinearWalker, type Outcome } from './support/linear-walk';
import { withOneMountPath } from './support/program-list';
import { Pipeline } from './support/pipeline';
import { type Act, build, type Builder, type Func, type Incoming, isRouter, line, type Registrar, type RouterProgram, type Sent } from './support/program';
import { type Listener, ProgramServer } from './support/program-server';
import { type Extent, programs, requests } from './support/random-program';

/** Programs for each comparison; a failure prints its seed and the smallest program that fails. */
const RUNS = Number(process.env.ORDER_RUNS ?? 80);
/** After which a comparison fails, in milliseconds: many times what it needs. */
const LIMIT = 600_000;

const textOf = (error: unknown): string | null => {
  if (error === null || error === undefined) return null;
  const { code, message } = error as { code?: string; message?: string };
  return code ?? message ?? String(error);
};

const ignore = (): void => undefined;
/** One for all programs: a logger for each would cost more than its requests. */
const logger: Logger = { level: 'silent', trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore, fatal: ignore };

/** Makes an application that the programs are built in. */
type Make = () => Application;

const apart: Make = () => createServer({ logging: { logger } });
/** In Express's order, else like the other. */
const together: Make = () => expressOfWaypost({ logging: { logger }, body: {}, routing: { caseSensitive: true, ignoreTrailingSlash: false } });

function waypost(program: RouterProgram, make: Make): Listener {
  const app = make();
  build(program, app as unknown as Registrar, {
    router: (application) => (application ? make() : Router({ mergeParams: true })) as unknown as Registrar,
    pattern: (text) => (make === together ? withoutStar(text) : text),
    record: ({ id }, _inRoute, error, req) => bench.note(req, line(id, req.method ?? '', req.url ?? '', req.baseUrl, withStar(req.params), textOf(error))),
    open: (id, req, act) => bench.open(id, req, act),
  });
  return app as unknown as Listener;
}

/** express() refuses a star alone. */
function withoutStar(text: string): string {
  return text.replace(/\/\*(?=\/|$)/g, '/:star');
}

function withStar({ star, ...params }: Incoming['params']): Incoming['params'] {
  return star === undefined ? params : { ...params, '*': star };
}

/** An Express application whose list is that of the program under test. */
class Theirs {
  readonly app = express();
  #router = express.Router();

  constructor() {
    this.app.set('env', 'test').disable('x-powered-by').use((req, res, next) => this.#router(req, res, next));
  }

  load(program: RouterProgram): Listener {
    const builder: Builder = {
      router: () => express.Router({ strict: true, caseSensitive: true, mergeParams: true }) as unknown as Registrar,
      pattern: (text) => withoutStar(text.replace(/\/\*\*/g, '/*deep')),
      record: (func, _inRoute, error, req) => bench.note(req, expressLine(func, error, req)),
      open: (id, req, act) => bench.open(id, req, act),
    };
    this.#router = express.Router({ strict: true, caseSensitive: true });
    build(program, this.#router as unknown as Registrar, builder);
    return this.app as unknown as Listener;
  }
}

/** Waypost's wildcards go by other names. */
function expressLine({ id }: Func, error: unknown, req: Incoming): string {
  const { deep, ...params } = req.params;
  if (deep !== undefined) params['**'] = (deep as string[]).join('/');
  return line(id, req.method ?? '', req.url ?? '', req.baseUrl, withStar(params), textOf(error));
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
  fills: 1,
  bodies: true,
  applications: true,
  requestSegments: ['a', 'a', 'a', 'b', 'b', 'b', 'c', '7', 'x%20y', 'p%2Fq', '%zz', '', '%61'],
  requestMethods: ['GET', 'GET', 'GET', 'GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'],
};

/** Where the stack is let go. */
const DEEP: Extent = {
  ...FULL,
  segments: ['a', 'a', 'b', ':x', '**'],
  requestSegments: ['a', 'a', 'b', '%zz'],
  fills: 50,
};

/** For express(), whose routers answer OPTIONS by themselves as Express's do. */
function withoutOptions(extent: Extent): Extent {
  const [methods, requestMethods] = [extent.methods, extent.requestMethods].map((all) => all.filter((method) => method !== 'OPTIONS'));
  return { ...extent, methods, requestMethods } as Extent;
}

/** What Express's patterns and rules share with waypost's. */
const SHARED: Extent = {
  segments: ['a', 'a', 'b', 'b', 'c', ':x', ':x', ':y', '*', '**'],
  anyMount: false,
  methods: ['GET', 'GET', 'GET', null, 'POST', 'HEAD', 'PUT', 'DELETE'],
  rewrites: 0,
  opens: 5,
  fills: 2,
  bodies: false,
  applications: false,
  requestSegments: ['a', 'a', 'a', 'b', 'b', 'b', 'c', '7', 'x%20y'],
  requestMethods: ['GET', 'GET', 'GET', 'GET', 'POST', 'HEAD', 'PUT', 'DELETE'],
};

/** Where functions rewrite. */
const REWRITING: Extent = {
  ...SHARED,
  rewrites: 30,
  applications: true,
  fills: 0,
  // Express leaves out the body that its 404 has announced where a GET was made a HEAD.
  requestMethods: ['GET', 'GET', 'GET', 'POST', 'PUT', 'DELETE'],
};

/**
 * A program whose middleware only goes on, unless it must have run before what
 * rewrites: what stands above may run for the new target, as in Express it does
 * not. Routes answer, unless they rewrite.
 * @param fails Whether what rewrites may fail: then only one function does.
 */
function rewriting(program: RouterProgram, fails: boolean): RouterProgram {
  let rewriters = 0;
  const rewrites = ({ rewrite, act }: Func): boolean => {
    if (rewrite === null || !(fails ? rewriters === 0 : ['next', 'answer', 'route', 'router', 'falsy'].includes(act))) return false;
    rewriters++;
    return true;
  };
  const act = (func: Func, act: Act): Func => ({ ...func, act, rewrite: null });
  const change = (func: Func, where: 'route' | 'beneath' | 'above'): Func => {
    if (func.catches) return fails ? { ...func, rewrite: null } : func;
    if (where !== 'beneath' && rewrites(func)) return func;
    if (where === 'route') return act(func, 'answer');
    return act(func, where === 'above' && !fails && ['answer', 'router'].includes(func.act) ? func.act : 'next');
  };
  const within = ({ application, entries }: RouterProgram, beneath: boolean): RouterProgram => ({
    application,
    entries: entries.map((entry) => {
      if (entry.kind === 'route') return { ...entry, stack: entry.stack.map(({ method, funcs }) => ({ method, funcs: funcs.map((func) => change(func, 'route')) })) };
      if (entry.kind === 'fill') return entry;
      const isBeneath = beneath || entry.paths !== null || entry.again !== null;
      return { ...entry, items: entry.items.map((item) => (isRouter(item) ? within(item, isBeneath) : change(item, isBeneath ? 'beneath' : 'above'))) };
    }),
  });
  return within(program, false);
}

/** Tells alike from not without the cost of an assertion, of which there are hundreds of thousands. */
function expectSame(request: Sent, got: Outcome | undefined, wanted: Outcome | undefined): void {
  if (JSON.stringify(got) !== JSON.stringify(wanted)) expect({ request, ...got }).toEqual({ request, ...wanted });
}

describe('random programs', () => {
  test.each([['', FULL, RUNS], [' where the stack is let go', DEEP, RUNS / 2]] as const)('run as the plain list says%s, by createServer and by express()', async (_, extent, numRuns) => {
    let ran = 0;
    let stoodBack = 0;
    for (const [make, own] of [[apart, extent], [together, withoutOptions(extent)]] as const) {
      await fc.assert(fc.asyncProperty(programs(own).map(make === together ? withOneMountPath : (program) => program), requests(own), async (program, sent) => {
        bench.listener = waypost(program, make);
        const outcomes = await bench.ask(sent);
        const reference = new LinearWalker(program, make === apart);
        sent.forEach((request, i) => {
          const { stoodBack: back, ...wanted } = reference.walk(request);
          ran += wanted.trace.length;
          stoodBack += back;
          expectSame(request, outcomes[i], request.method === 'HEAD' ? { ...wanted, body: null } : wanted);
        });
      }), { numRuns, interruptAfterTimeLimit: LIMIT, markInterruptAsFailure: true });
    }
    expect(ran).toBeGreaterThan(numRuns);
    // Few programs come to it, and by chance hardly any of some hundreds.
    if (RUNS >= 2000) expect(stoodBack).toBeGreaterThan(numRuns / 50);
  }, LIMIT + 30_000);

  test('run by express() as in Express', async () => {
    const theirs = new Theirs();
    let ran = 0;
    await fc.assert(fc.asyncProperty(programs(SHARED), requests(SHARED), async (program, sent) => {
      bench.listener = waypost(program, together);
      const ours = await bench.ask(sent);
      bench.listener = theirs.load(program);
      const wanted = await bench.ask(sent);
      sent.forEach((request, i) => {
        ran += wanted[i]?.trace.length ?? 0;
        expectSame(request, ours[i], wanted[i]);
      });
    }), { numRuns: RUNS, interruptAfterTimeLimit: LIMIT, markInterruptAsFailure: true });
    expect(ran).toBeGreaterThan(RUNS);
  }, LIMIT + 30_000);

  test.each([['', false], [' and one function fails', true]])('are answered by express() as in Express where they rewrite%s', async (_name, fails) => {
    const theirs = new Theirs();
    const answers = new Set<string>();
    await fc.assert(fc.asyncProperty(programs(REWRITING).map((program) => rewriting(program, fails)), requests(REWRITING), async (program, sent) => {
      bench.listener = waypost(program, together);
      const ours = await bench.ask(sent);
      bench.listener = theirs.load(program);
      const wanted = await bench.ask(sent);
      sent.forEach((request, i) => {
        const [got, reference] = [ours[i], wanted[i]] as [Outcome, Outcome];
        if (got.status === reference.status && got.body === reference.body) answers.add(`${reference.status} ${reference.body}`);
        else expect({ request, ...got }).toEqual({ request, ...reference });
      });
    }), { numRuns: RUNS, interruptAfterTimeLimit: LIMIT, markInterruptAsFailure: true });
    expect(answers.size).toBeGreaterThan(5);
  }, LIMIT + 30_000);

  test('run alike behind the application\'s own server', async () => {
    await fc.assert(fc.asyncProperty(programs(FULL), requests(FULL), async (program, sent) => {
      const app = waypost(program, apart) as unknown as Application;
      // Its own requests are no objects of the bench's: only what comes over the wire is compared.
      const server = await app.start(0, '127.0.0.1');
      const pipeline = await Pipeline.open((server.address() as AddressInfo).port);
      const received = await pipeline.send(sent);
      pipeline.close();
      await app.close();
      const reference = new LinearWalker(program, true);
      const wanted = sent.map((request) => reference.walk(request));
      expect(received.map(({ status }) => status)).toEqual(wanted.map(({ status }) => status));
      sent.forEach(({ method }, i) => {
        if (method !== 'HEAD' && wanted[i]?.status === 200) expect(received[i]?.body).toBe(wanted[i].body);
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
    }, { method: 'POST', url: '/x', body: '{' })).toEqual(['guard 200']);
  });

  test('a guard that a rewrite brings into play runs, though it stands above', async () => {
    expect(await walk((app, ran) => {
      app.use('/admin', ran('guard', 'answer'));
      app.use(to('/admin/x'));
      app.get('/admin/x', ran('secret', 'answer'));
    }, get('/foo'))).toEqual(['guard 200']);
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

  test('it runs also when the rewrite came with an error that was dealt with', async () => {
    expect(await walk((app, ran) => {
      app.use('/admin', ran('guard', 'answer'));
      app.use((_error: unknown, req: Request, _res: Response, next: NextFunction) => ran('above')(req, _res, next));
      app.use(to('/admin/x', new Error('raised')));
      app.use(recover);
      app.get('/admin/x', ran('secret', 'answer'));
    }, get('/foo'))).toEqual(['guard 200']);
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

  test('that nothing raised meet error middleware above too, of the router and around it', async () => {
    const noted = (name: string): ErrorHandler => (error, req, _res, next) => {
      bench.note(req, name);
      next(error);
    };
    const register = (app: Application, ran: Run): void => {
      app.use(noted('above'));
      app.use(Router().use(noted('sibling')).post('/other', ran('other')));
      app.use(Router().use(noted('own')).all('/:x', ran('never', 'answer')));
      app.use(noted('below'));
    };
    expect(await walk(register, { method: 'POST', url: '/x', body: '{' }, get('/%zz'))).toEqual(['above own below 400', 'above own below 400']);
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

  test('HEAD is answered by each alternative of a GET route that has no HEAD route of its shape', async () => {
    expect(await walk((app, ran) => {
      app.get(['/a', '/b', '/:x/c'], ran('get', 'answer'));
      app.head(['/a', '/:y/c'], ran('head', 'answer'));
    }, ...['/a', '/b', '/x/c'].map((url) => ({ method: 'HEAD', url })))).toEqual(['head 200', 'get 200', 'head 200']);
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
