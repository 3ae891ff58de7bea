import type { ServerResponse } from 'node:http';
import theirs from 'express';
import fc from 'fast-check';
import { type Application, createServer, express as ours, type Handler, type Logger, type NextFunction, type ParamHandler, type Request, Router } from 'waypost';
import { LinearWalker, type Outcome } from './support/linear-walk';
import { build, type Func, type Incoming, line, number, type Opener, type Registrar, type RouterProgram, type Sent } from './support/program';
import { layOut, type Place, withOneMountPath } from './support/program-list';
import { type Listener, ProgramServer } from './support/program-server';
import { type Extent, programs, requests } from './support/random-program';

/** Programs for each comparison; a failure prints its seed and the smallest program that fails. */
const RUNS = Number(process.env.ORDER_RUNS ?? 100);
const LIMIT = 300_000;

const ignore = (): void => undefined;
const logger: Logger = { level: 'silent', trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore, fatal: ignore };

const bench = new ProgramServer();
/** What no part of a program may do, whatever it calls. */
const unhandled: unknown[] = [];
const keep = (reason: unknown): void => void unhandled.push(reason);

beforeAll(async () => {
  process.on('unhandledRejection', keep);
  await bench.start();
});
afterAll(async () => {
  process.removeListener('unhandledRejection', keep);
  await bench.close();
});
afterEach(() => expect(unhandled.splice(0)).toEqual([]));

type Make = () => Application;

const apart: Make = () => createServer({ logging: { logger } });
const together: Make = () => ours({ logging: { logger }, body: {}, routing: { caseSensitive: true, ignoreTrailingSlash: false } });

/** express() refuses a star alone. */
function withoutStar(text: string): string {
  return text.replace(/\/\*(?=\/|$)/g, '/:star');
}

function withStar({ star, ...params }: Incoming['params']): Incoming['params'] {
  return star === undefined ? params : { ...params, '*': star };
}

function note({ id }: Func, _inRoute: boolean, error: unknown, req: Incoming): void {
  bench.note(req, line(id, req.method ?? '', req.url ?? '', req.baseUrl, withStar(req.params), textOf(error)));
}

const openIn: Opener = (id, req, act) => bench.open(id, req, act);

function textOf(error: unknown): string | null {
  return error === null || error === undefined ? null : (error as { code?: string }).code ?? (error as Error).message;
}

function waypost(program: RouterProgram, make: Make, record = note): Application {
  const app = make();
  build(program, app as unknown as Registrar, { router: (application) => (application ? make() : Router({ mergeParams: true })) as unknown as Registrar, pattern: (text) => (make === together ? withoutStar(text) : text), record, open: openIn });
  return app;
}

/** Sends requests to an application; answers what became of them once all is quiet. */
async function ask(listener: unknown, sent: readonly Sent[]): Promise<Outcome[]> {
  bench.listener = listener as Listener;
  const outcomes = await bench.ask(sent);
  await bench.quiet();
  return outcomes;
}

function expectSame(request: Sent, got: Outcome | undefined, wanted: Outcome | undefined): void {
  if (JSON.stringify(got) !== JSON.stringify(wanted)) expect({ request, ...got }).toEqual({ request, ...wanted });
}

/** At once, in routers of any depth, with errors and rewrites. */
const AT_ONCE: Extent = {
  segments: ['a', 'a', 'b', 'b', 'c', ':x', ':x', ':y', '*', '**'],
  anyMount: true,
  methods: ['GET', 'GET', 'GET', null, 'POST'],
  rewrites: 4,
  opens: 10,
  lates: { times: 25, when: ['now'], urls: true },
  acts: ['next', 'answer', 'route', 'router', 'pass', 'falsy', 'forward'],
  timings: ['sync'],
  fills: 0,
  bodies: false,
  applications: false,
  requestSegments: ['a', 'a', 'a', 'b', 'b', 'b', 'c', 'x%20y', '%zz', ''],
  requestMethods: ['GET', 'GET', 'GET', 'POST'],
};

/** What has one meaning in Express too, which has one walk for each router and each route: one router, and routes of one handler. */
const FLAT: Extent = {
  ...AT_ONCE,
  anyMount: false,
  methods: ['GET', 'GET', 'GET', null, 'POST', 'PUT'],
  rewrites: 0,
  lates: { times: 30, when: ['now', 'turn', 'sent'], urls: false },
  acts: ['next', 'answer', 'route', 'pass', 'falsy', 'forward'],
  timings: ['sync', 'promise'],
  handlers: 1,
  routers: false,
  requestSegments: ['a', 'a', 'a', 'b', 'b', 'b', 'c', '7'],
};

describe('a second call of next goes on from where the walk is', () => {
  test('as the plain list says', async () => {
    let ran = 0;
    await fc.assert(fc.asyncProperty(programs(AT_ONCE), requests(AT_ONCE), async (given, sent) => {
      for (const make of [apart, together]) {
        const program = make === together ? withOneMountPath(given) : given;
        const outcomes = await ask(waypost(program, make), sent);
        const reference = new LinearWalker(program, make === apart);
        sent.forEach((request, i) => {
          const { stoodBack: _, ...wanted } = reference.walk(request);
          ran += wanted.trace.length;
          expectSame(request, outcomes[i], wanted);
        });
      }
    }), { numRuns: RUNS, interruptAfterTimeLimit: LIMIT, markInterruptAsFailure: true });
    expect(ran).toBeGreaterThan(RUNS);
  }, LIMIT + 30_000);

  test('as in Express', async () => {
    let ran = 0;
    await fc.assert(fc.asyncProperty(programs(FLAT).map(ended), requests(FLAT), async (program, sent) => {
      const got = await ask(waypost(program, together), sent);
      const wanted = await ask(inExpress(program), sent);
      sent.forEach((request, i) => {
        ran += wanted[i]?.trace.length ?? 0;
        expectSame(request, got[i], wanted[i]);
      });
    }), { numRuns: RUNS, interruptAfterTimeLimit: LIMIT, markInterruptAsFailure: true });
    expect(ran).toBeGreaterThan(RUNS);
  }, LIMIT + 30_000);
});

/** With an answer to everything at its end: Express sees a turn later than waypost that a list has come to its end. */
function ended(program: RouterProgram): RouterProgram {
  const last = (catches: boolean): Func => ({ id: 0, catches, act: 'answer', timing: 'sync', rewrite: null, late: null, opens: false });
  return number({ ...program, entries: [...program.entries, { kind: 'use', paths: null, items: [last(false), last(true)], again: null }] });
}

function inExpress(program: RouterProgram): unknown {
  const router = theirs.Router({ strict: true, caseSensitive: true });
  build(program, router as unknown as Registrar, {
    router: () => theirs.Router() as unknown as Registrar,
    pattern: (text) => withoutStar(text.replace(/\/\*\*/g, '/*deep')),
    record: (func, _inRoute, error, req) => {
      const { deep, ...params } = req.params;
      if (deep !== undefined) params['**'] = (deep as string[]).join('/');
      bench.note(req, line(func.id, req.method ?? '', req.url ?? '', req.baseUrl, withStar(params), textOf(error)));
    },
    open: openIn,
  });
  return theirs().set('env', 'test').disable('x-powered-by').use((req, res, next) => {
    let over = false;
    router(req, res, (error?: unknown) => {
      // What Express's final handler does of a second call, and once a response has been sent, ends in a lost connection.
      if (!over && !res.headersSent) next(error);
      over = true;
    });
  });
}

/** Everything at once; requests carry no signature, and what lies at and beneath "/s" needs one. */
const GUARDED: Extent = {
  ...AT_ONCE,
  segments: ['a', 'a', 'b', 'b', 's', ':x', ':x', ':y', '*', '**'],
  rewrites: 10,
  opens: 0,
  lates: { times: 25, when: ['now', 'turn', 'sent'], urls: true },
  acts: ['next', 'answer', 'route', 'router', 'throw', 'pass', 'falsy', 'forward'],
  timings: ['sync', 'promise', 'callback'],
  fills: 5,
  requestSegments: ['a', 'a', 'b', 'b', 's', 's', 'c', ''],
};

const SECRET = 'a secret of thirty-two characters';
const guarded = (): Application => createServer({
  logging: { logger },
  security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/s', '/s/**'] } } },
});

/** How a handler of a parameter goes on. */
type Manner = 'at once' | 'twice' | 'later' | 'twice later' | 'with an error' | 'with an error later' | 'when the response is sent';

const MANNERS: Readonly<Record<Manner, (next: NextFunction, res: ServerResponse) => void>> = {
  'at once': (next) => next(),
  'twice': (next) => {
    next();
    next();
  },
  'later': (next) => void setImmediate(next),
  'twice later': (next) => {
    setImmediate(next);
    setImmediate(next);
  },
  'with an error': (next) => {
    next(new Error('of a parameter'));
    next();
  },
  'with an error later': (next) => {
    next();
    setImmediate(next, new Error('of a parameter'));
  },
  'when the response is sent': (next, res) => {
    next();
    res.once('finish', () => next());
  },
};

/** How often each function stands somewhere. */
function placesOf(list: readonly Place[], counts = new Map<number, number>()): Map<number, number> {
  for (const { func } of list) {
    if ('id' in func) counts.set(func.id, (counts.get(func.id) ?? 0) + 1);
    else placesOf(func, counts);
  }
  return counts;
}

describe('whatever calls next, how often, and when,', () => {
  test('each registration runs at most once, nothing behind a signature check without it, and every request is answered', async () => {
    const manner = fc.constantFrom(...Object.keys(MANNERS) as Manner[]);
    await fc.assert(fc.asyncProperty(programs(GUARDED), requests(GUARDED), fc.option(fc.record({ x: manner, y: manner })), async (program, sent, manners) => {
      const app = waypost(program, guarded, ({ id }, inRoute, _error, req) => {
        bench.note(req, `${id}`);
        const target = inRoute ? req.url ?? '' : req.baseUrl + (req.url ?? '');
        if (/^\/s(?:[/?]|$)/.test(target)) bench.note(req, `${id} ran unsigned at ${target}`);
      });
      for (const [name, how] of Object.entries(manners ?? {})) {
        app.param(name, (_req, res, next) => MANNERS[how](next, res as unknown as ServerResponse));
      }
      const counts = placesOf(layOut(program, true));
      for (const { trace } of await ask(app, sent)) {
        expect(trace.filter((text) => !/^\d+$/.test(text))).toEqual([]);
        const ran = new Map<string, number>();
        for (const id of trace) ran.set(id, (ran.get(id) ?? 0) + 1);
        expect([...ran].filter(([id, times]) => times > (counts.get(Number(id)) ?? 0))).toEqual([]);
      }
    }), { numRuns: RUNS, interruptAfterTimeLimit: LIMIT, markInterruptAsFailure: true });
  }, LIMIT + 30_000);
});

type Run = (name: string, act?: 'answer') => Handler;

const run: Run = (name, act) => (req, res, next) => {
  bench.note(req, name);
  if (act === 'answer') res.end();
  else next();
};

/** Puts a request to an application; answers what ran, then the status. */
async function walk(app: Application, url: string): Promise<string> {
  const [outcome] = await ask(app, [{ method: 'GET', url }]);
  return [...outcome?.trace ?? [], outcome?.status].join(' ');
}

describe('what needs a signature is not reached without it', () => {
  /** So many functions that only go on, before one that goes on and then rewrites. */
  function boundary(count: number, again: Handler): Application {
    const app = guarded();
    for (let i = 0; i < count; i++) app.use((_req, _res, next) => next());
    app.use(again);
    return app.get('/x', run('x', 'answer')).get('/s/secret', run('secret', 'answer'));
  }
  const rewrite = (req: Request): void => void (req.url = '/s/secret');
  const COUNTS = Array.from({ length: 12 }, (_, i) => 94 + i);

  test.each(COUNTS)('by a rewrite behind a call of next that waits for the stack, after %i others', async (count) => {
    expect(await walk(boundary(count, (req, _res, next) => {
      next();
      rewrite(req);
      next();
    }), '/x')).toMatch(/^(?:x 200|401)$/);
  });

  test.each(COUNTS)('by a call of next behind a rewrite, after %i others', async (count) => {
    expect(await walk(boundary(count, (req, _res, next) => {
      rewrite(req);
      next();
      next();
      setImmediate(next);
    }), '/x')).toBe('401');
  });

  test.each(COUNTS)('by handlers of a parameter that leave their routes, after %i others', async (count) => {
    const app = guarded();
    app.param('id', (req, _res, next) => {
      next('route');
      rewrite(req);
      req.next?.();
    });
    for (let i = 0; i < count; i++) app.get('/:id', run('never', 'answer'));
    app.get('/s/secret', run('secret', 'answer'));
    expect(await walk(app, '/x')).not.toContain('secret');
  });

  /** The scope is of paths beneath a mount, and is the outer application's. */
  const outer = (): Application => createServer({
    logging: { logger },
    security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/:id/private', '/:id/private/**'] } } },
  });

  test('by a handler of a parameter that rewrites for a mounted application', async () => {
    const app = outer();
    app.param('id', (req, _res, next) => {
      req.url = '/private';
      next();
    });
    app.use('/:id', createServer({ logging: { logger } }).get('/private', run('secret', 'answer')).get('/public', run('public', 'answer')));
    expect(await walk(app, '/x/public')).not.toContain('secret');
  });

  test('by a handler of a parameter that rewrites for middleware', async () => {
    const app = outer();
    app.param('id', (req, _res, next) => {
      req.url = '/private';
      next();
    });
    app.use('/:id', (req, res) => run(req.url === '/private' ? 'secret' : 'public', 'answer')(req, res, ignore));
    expect(await walk(app, '/x/public')).not.toContain('secret');
  });

  test.each([['createServer', createServer], ['express', ours]] as const)('by middleware that rewrites in a mounted application of %s()', async (_name, make) => {
    const inner = make({ logging: { logger } });
    inner.use((req, _res, next) => {
      req.url = '/private';
      next();
    });
    inner.get('/private', run('secret', 'answer'));
    expect(await walk(outer().use('/:id', inner), '/x/public')).not.toContain('secret');
  });

  test('by middleware that rewrites in an application within a mounted one', async () => {
    const [middle, inner] = [createServer({ logging: { logger } }), createServer({ logging: { logger } })];
    inner.use((req, _res, next) => {
      req.url = '/';
      next();
    });
    inner.get('/', run('secret', 'answer'));
    expect(await walk(outer().use('/:id', middle.use('/private', inner)), '/x/private')).toBe('401');
    const door = createServer({ logging: { logger } }).use((req, _res, next) => {
      req.url = '/private';
      next();
    }, middle);
    expect(await walk(outer().use('/:id', door), '/x/public')).not.toContain('secret');
  });
});

describe('a handler of a parameter that goes on when the walk has gone on', () => {
  /** Calls `next` twice, so that the walk has gone past what waits for its parameter. */
  const twice: Handler = (_req, _res, next) => {
    next();
    next();
  };
  const later: ParamHandler = (req, _res, next, _value, name) => {
    bench.note(req, `:${name}`);
    setImmediate(next);
  };
  /** Lets nobody pass. */
  const guard: ParamHandler = (req, res, _next, _value, name) => {
    bench.note(req, `:${name}`);
    setImmediate(() => setImmediate(() => res.status(403).end()));
  };

  test('does not lead past the handler of another parameter', async () => {
    const app = apart().use(twice).param('a', later).param('b', guard);
    app.get('/:a', run('a', 'answer')).get('/:b', run('b', 'answer'));
    expect(await walk(app, '/x')).toBe(':a :b 403');
  });

  test('does not call anything a second time', async () => {
    const app = apart().use(twice).param('a', later);
    app.get('/:a', run('a', 'answer'));
    app.get('/:c', (req, res) => {
      run('c')(req, res, ignore);
      setImmediate(() => setImmediate(() => res.end()));
    });
    expect(await walk(app, '/x')).toBe(':a c 200');
  });

  test('does not lead past a signature check', async () => {
    const app = guarded().use((req, _res, next) => {
      next();
      req.url = '/s/secret';
      next();
    });
    app.param('a', later);
    app.get('/:a', run('a', 'answer')).get('/s/:a', run('secret', 'answer'));
    expect(await walk(app, '/x')).toBe(':a 401');
  });
});
