import theirs from 'express';
import { type Application, createServer, type CreateServerOptions, type ErrorHandler, express as ours, type Handler, Router } from 'waypost';
import type { Sent } from './support/program';
import { type Listener, type Outcome, ProgramServer } from './support/program-server';
import { LogRecorder, Running } from './support/running';

const bench = new ProgramServer();
const running = new Running();

beforeAll(() => bench.start());
afterAll(() => bench.close());
afterEach(() => running.close());

/** What a shape is written with, on either side. */
interface Kit {
  router(): Router;
  /** An application of its own, to be mounted. */
  application(): Application;
  /** Lets nobody pass. */
  guard: Handler;
  /** Middleware that goes on. */
  pass(name: string): Handler;
  answer(name: string): Handler;
  /** Error middleware that passes the error on. */
  errors(name: string): ErrorHandler;
  json(): Handler;
}

type Shape = (app: Application, kit: Kit) => void;

const HANDLERS: Omit<Kit, 'router' | 'application' | 'json'> = {
  guard: (req, res) => {
    bench.note(req, 'guard');
    res.statusCode = 401;
    res.end();
  },
  pass: (name) => (req, _res, next) => {
    bench.note(req, name);
    next();
  },
  answer: (name) => (req, res) => {
    bench.note(req, name);
    res.end(name);
  },
  errors: (name) => (error, req, _res, next) => {
    bench.note(req, `${name}: ${String((error as { status?: number }).status)}`);
    next(error);
  },
};

const SILENT: CreateServerOptions = { logging: { level: 'silent' } };

const KITS = {
  express: { ...HANDLERS, router: () => theirs.Router() as unknown as Router, application: () => theirs().set('env', 'test') as unknown as Application, json: () => theirs.json() as unknown as Handler },
  'express()': { ...HANDLERS, router: Router, application: () => ours(SILENT), json: () => ours.json() as Handler },
  'createServer()': { ...HANDLERS, router: Router, application: () => createServer(SILENT), json: () => ours.json() as Handler },
} as const satisfies Record<string, Kit>;

/** Runs a shape; answers for each request what ran, then the status. */
async function run(shape: Shape, side: keyof typeof KITS, sent: readonly Sent[]): Promise<string[]> {
  const kit: Kit = KITS[side];
  const app = kit.application();
  shape(app, kit);
  bench.listener = app as unknown as Listener;
  return (await bench.ask(sent)).map(({ trace, status }: Outcome) => [...trace, status].join(' '));
}

const get = (url: string): Sent => ({ method: 'GET', url });

/** Name, shape, targets, and what comes of them: in Express's order, and in createServer where that is another. */
const SHAPES: [name: string, shape: Shape, targets: string[], inExpress: string[], apart?: string[]][] = [
  ['a guard in a Router before others', (app, { router, guard, answer }) => {
    app.use('/api', router().use(guard));
    app.use('/api', router().get('/secret', answer('secret')));
    app.use('/open', router().get('/page', answer('page')));
  }, ['/api/secret', '/open/page', '/api/none'], ['guard 401', 'page 200', 'guard 401']],

  ['a guard Router and another in one use', (app, { router, guard, answer }) => {
    app.use('/api', router().use(guard), router().get('/secret', answer('secret')));
  }, ['/api/secret'], ['guard 401']],

  ['Routers in arrays, at several paths', (app, { router, guard, answer }) => {
    app.use(['/a', '/b'], [[router().use(guard)], router().get('/secret', answer('secret'))]);
  }, ['/a/secret', '/b/secret', '/c/secret'], ['guard 401', 'guard 401', '404']],

  ['a guard Router at the root', (app, { router, guard, answer }) => {
    app.use(router().use(guard));
    app.use(router().get('/secret', answer('secret')));
  }, ['/secret', '/'], ['guard 401', 'guard 401']],

  ['a guard Router within a Router without routes', (app, { router, guard, answer }) => {
    app.use('/api', router().use(router().use('/v1', router().use(guard))));
    app.use('/api', router().get('/v1/secret', answer('secret')).get('/v2/page', answer('page')));
  }, ['/api/v1/secret', '/api/v2/page'], ['guard 401', 'page 200']],

  ['a guard with a path within the Router', (app, { router, guard, answer }) => {
    app.use('/api', router().use('/admin', guard));
    app.use('/api', router().get('/admin/secret', answer('secret')).get('/page', answer('page')));
  }, ['/api/admin/secret', '/api/page'], ['guard 401', 'page 200']],

  ['a bundle of middleware kept in a Router', (app, { router, pass, answer }) => {
    app.use(router().use(pass('headers'), pass('cors')).use(pass('log')));
    app.use('/api', router().use(pass('own')).get('/page', answer('page')));
    app.get('/plain', answer('plain'));
  }, ['/api/page', '/plain', '/none'], ['headers cors log own page 200', 'headers cors log plain 200', 'headers cors log 404']],

  ['a guard Router with routes of its own', (app, { router, guard, answer, pass }) => {
    app.use('/api', router().get('/login', answer('login')).use(guard).get('/own', answer('own')));
    app.use('/api', router().use(pass('other')).get('/secret', answer('secret')));
  }, ['/api/login', '/api/own', '/api/secret', '/api/none'], ['login 200', 'guard 401', 'guard 401', 'guard 401'], ['login 200', 'guard 401', 'other secret 200', 'guard 401']],

  ['a guard in a bundle within a Router with routes', (app, { router, guard, answer }) => {
    app.use('/api', router().use(router().use(guard)).get('/own', answer('own')));
    app.use('/api', router().get('/secret', answer('secret')));
  }, ['/api/own', '/api/secret'], ['guard 401', 'guard 401'], ['guard 401', 'secret 200']],

  ['a guard in a Router around others', (app, { router, guard, answer }) => {
    app.use('/api', router().use(router().use(guard)).use('/v1', router().get('/secret', answer('secret'))));
  }, ['/api/v1/secret', '/api/none'], ['guard 401', 'guard 401']],

  ['a guard Router mounted twice', (app, { router, guard, answer }) => {
    const guards = router().use(guard);
    app.use('/a', guards);
    app.use('/b', guards, router().get('/secret', answer('secret')));
    app.use('/a', router().get('/secret', answer('secret')));
  }, ['/a/secret', '/b/secret'], ['guard 401', 'guard 401']],

  ['a guard Router at a parameter', (app, { router, guard, answer }) => {
    app.use('/:tenant', router().use(guard));
    app.use('/acme', router().get('/secret', answer('secret')));
  }, ['/acme/secret', '/'], ['guard 401', '404']],

  ['a guard behind a parameter within the Router', (app, { router, guard, answer }) => {
    app.use(router().use('/:tenant/admin', guard));
    app.use('/acme', router().get('/admin/secret', answer('secret')).get('/page', answer('page')));
  }, ['/acme/admin/secret', '/acme/page'], ['guard 401', 'page 200']],

  ['a guard Router that is left by next("router")', (app, { router, guard, answer }) => {
    app.use('/api', router().use((_req, _res, next) => next('router')).use(guard));
    app.use('/api', router().get('/page', answer('page')));
  }, ['/api/page'], ['page 200']],

  ['a guard that goes on later', (app, { router, guard, answer }) => {
    app.use('/api', router().use((_req, _res, next) => void setImmediate(next)).use(guard));
    app.use('/api', router().get('/secret', answer('secret')));
  }, ['/api/secret'], ['guard 401']],

  ['a guard that stands below', (app, { router, guard, answer }) => {
    app.use('/api', router().get('/page', answer('page')));
    app.use('/api', router().use(guard));
    app.use('/api', router().get('/secret', answer('secret')));
  }, ['/api/page', '/api/secret'], ['page 200', 'guard 401']],

  ['a guard in a mounted application', (app, { application, router, guard, answer }) => {
    const guards = application();
    guards.use('/admin', guard);
    guards.get('/own', answer('own'));
    app.use('/api', guards);
    app.use('/api', router().get('/admin/secret', answer('secret')));
  }, ['/api/admin/secret', '/api/own'], ['guard 401', 'own 200']],

  ['a handler of a parameter in a Router without routes', (app, { router, guard, pass, answer }) => {
    app.use('/api', router().param('id', (req, res, next) => guard(req, res, next)).use('/:id', pass('passed')));
    app.use('/api', router().get('/:name', answer('secret')));
  }, ['/api/secret'], ['guard 401']],

  ['a guard that is the handler of a route for every method', (app, { router, guard, answer }) => {
    app.use('/api', router().all('/:any', guard));
    app.use('/api', router().get('/secret', answer('secret')));
  }, ['/api/secret'], ['guard 401']],

  ['a guard Router with routes at another path', (app, { router, guard, answer }) => {
    app.use('/a', router().use(guard).get('/own', answer('own')));
    app.use('/b', router().get('/page', answer('page')));
  }, ['/a/own', '/b/page'], ['guard 401', 'page 200']],

  ['error middleware in Routers', (app, { router, errors, answer }) => {
    app.use('/api', router().use(errors('above')));
    app.use('/api', router().use(() => { throw Object.assign(new Error(), { status: 418 }); }).use(errors('own')).use(router().use(errors('within'))));
    app.use('/api', router().use(errors('below')), router().get('/page', answer('page')));
    app.use(errors('last'));
  }, ['/api/page'], ['own: 418 last: 418 418']],
];

describe('a guard in a Router', () => {
  test.each(SHAPES)('%s', async (...given) => {
    const [, shape, targets, inExpress, apart = inExpress] = given as (typeof SHAPES)[number];
    const sent = targets.map(get);
    expect({ express: await run(shape, 'express', sent) }).toEqual({ express: inExpress });
    expect({ 'express()': await run(shape, 'express()', sent) }).toEqual({ 'express()': inExpress });
    expect({ 'createServer()': await run(shape, 'createServer()', sent) }).toEqual({ 'createServer()': apart });
  });

  test('follows the order of each application that it is mounted in', async () => {
    const router = Router().use(HANDLERS.guard).get('/own', HANDLERS.answer('own'));
    const shape: Shape = (app, { answer }) => void app.use(router).use(Router().get('/secret', answer('secret')));
    expect(await run(shape, 'express()', [get('/secret')])).toEqual(['guard 401']);
    expect(await run(shape, 'createServer()', [get('/secret')])).toEqual(['secret 200']);
  });

  test('counts for its own Router alone from the first route on that is added there', async () => {
    const [guards, inner] = [Router().use(HANDLERS.guard), Router()];
    const app = createServer(SILENT).use(guards.use(inner)).use(Router().get('/secret', HANDLERS.answer('secret')));
    bench.listener = app as unknown as Listener;
    const statuses = async (): Promise<number[]> => (await bench.ask([get('/secret')])).map(({ status }) => status);
    expect(await statuses()).toEqual([401]);
    inner.get('/own', HANDLERS.answer('own'));
    expect(await statuses()).toEqual([200]);
  });
});

describe('in express() an error that nothing raised is met as in Express', () => {
  const around = (app: Application, { router, errors, answer, pass }: Kit, route: (into: Router) => void): void => {
    app.use(errors('above'));
    app.use('/p', router().use(errors('bundle above')));
    app.use('/p', router().use(errors('sibling above')).get('/x/y', answer('never')));
    const own = router().use(errors('own above'));
    route(own);
    own.use(pass('own passed'), router().use(errors('within')), errors('own below'));
    app.use('/p', own);
    app.use('/p', router().use(errors('sibling below')).get('/x/z', answer('never')));
    app.use(pass('passed'), errors('below'));
  };

  test('where a parameter is malformed', async () => {
    const shape: Shape = (app, kit) => around(app, kit, (own) => own.get('/:x', kit.answer('never'), kit.errors('of the route') as unknown as Handler));
    const sent = ['/p/%zz', '/p/%C3', '/p/%zz/none'].map(get);
    const wanted = ['own below: 400 below: 400 400', 'own below: 400 below: 400 400', 'own passed passed 404'];
    expect(await run(shape, 'express', sent)).toEqual(wanted);
    expect(await run(shape, 'express()', sent)).toEqual(wanted);
  });

  test('where the built-in parser fails, as by a parser right before the route', async () => {
    const sent = [{ method: 'POST', url: '/p/here', body: '{' }];
    const wanted = ['own below: 400 below: 400 400'];
    expect(await run((app, kit) => around(app, kit, (own) => own.use(kit.json()).post('/:x', kit.answer('never'))), 'express', sent)).toEqual(wanted);
    const app = ours({ ...SILENT, body: {} });
    around(app, KITS['express()'], (own) => own.post('/:x', HANDLERS.answer('never')));
    bench.listener = app as unknown as Listener;
    expect((await bench.ask(sent)).map(({ trace, status }) => [...trace, status].join(' '))).toEqual(wanted);
  });
});

/** What start warns of. */
async function warnings(shape: (app: Application, kit: Kit) => void, make: typeof createServer = createServer): Promise<string[]> {
  const logger = new LogRecorder();
  const app = make({ env: 'test', logging: { logger } });
  shape(app, KITS['createServer()']);
  await running.start(app);
  return logger.messages('warn');
}

describe('start warns of middleware that a sibling router\'s route does not meet', () => {
  const shared: Shape = (app, { router, guard, pass, answer }) => {
    app.use('/api', router().use(guard).use('/deep', pass('deep')).get('/own', answer('own')));
    const others = router();
    for (const path of ['/a', '/b', '/:c', '/deep/d', '/deep/e']) others.get(path, answer(path));
    app.use('/api', others.post('/a', answer('post')));
    app.use('/elsewhere', router().get('/a', answer('elsewhere')));
  };

  test('with its path, the routes, and what to write', async () => {
    expect(await warnings(shared)).toEqual([
      'The middleware at /api, /api/deep of one router does not run for GET /api/a, GET /api/b, GET /api/:c and 3 more, which belong to routers beside it. '
      + 'If it guards them, write app.use("/api", …), or keep it in a Router without routes; if not, mount their routers before its own',
    ]);
  });

  test('not in express(), where it runs', async () => {
    expect(await warnings(shared, ours)).toEqual([]);
  });

  test.each<[string, Shape]>([
    ['at a parameter', (app, { router, guard, answer }) => {
      app.use('/:tenant/users', router().use(guard).get('/', answer('users')));
      app.use('/:name/users', router().get('/status', answer('status')));
    }],
    ['at a constrained parameter', (app, { router, guard, answer }) => {
      app.use('/:tenant(\\d+)', router().use(guard).get('/', answer('users')));
      app.use('/:id(\\d+)', router().get('/status', answer('status')));
    }],
    ['at a wildcard', (app, { router, guard, answer }) => {
      app.use('/f/**', router().use(guard).get('/own', answer('own')));
      app.use('/f', router().get('/:name/meta', answer('meta')));
    }],
    ['at the root', (app, { router, guard, answer }) => {
      app.use(router().use(guard).get('/own', answer('own')));
      app.use('/api', router().all('/**', answer('all')));
    }],
    ['within a Router', (app, { router, guard, answer }) => {
      app.use('/api', router().use('/a', router().use(guard).get('/own', answer('own'))).use('/a', router().get('/other', answer('other'))));
    }],
    ['in a bundle within a Router with routes', (app, { router, guard, answer }) => {
      app.use('/api', router().use(router().use(guard)).get('/own', answer('own')), router().get('/other', answer('other')));
    }],
  ])('%s', async (_name, shape) => {
    expect(await warnings(shape)).toEqual([expect.stringMatching(/^The middleware at \S+ of one router does not run for (?:GET|ALL) \S+, which belong/)]);
  });

  test.each<[string, Shape]>([
    ['Routers at different paths', (app, { router, guard, answer }) => {
      for (const path of ['/a', '/b', '/a/c']) app.use(path === '/a/c' ? '/ac' : path, router().use(guard).get('/own', answer('own')).get('/:id', answer('id')));
    }],
    ['Routers without middleware', (app, { router, answer }) => {
      app.use('/a', router().get('/x', answer('x')), router().get('/y', answer('y')));
    }],
    ['bundles', (app, { router, guard, answer }) => {
      app.use(router().use(guard), router().use(router().use(guard)), router().get('/y', answer('y')));
    }],
    ['a guarded Router below the others', (app, { router, guard, answer }) => {
      app.use('/a', router().get('/y', answer('y')));
      app.use('/a', router().use(guard).get('/x', answer('x')));
    }],
    ['error middleware', (app, { router, errors, answer }) => {
      app.use('/a', router().get('/x', answer('x')).use(errors('errors')), router().get('/y', answer('y')));
    }],
    ['a Router within and one around', (app, { router, guard, answer }) => {
      app.use('/a', router().use(guard).use('/b', router().use(guard).get('/x', answer('x'))).get('/b/y', answer('y')));
    }],
    ['a path that only some have in common', (app, { router, guard, answer }) => {
      app.use('/api', router().use(guard).get('/x', answer('x')));
      app.use(router().get('/:page', answer('page')).get('/:page/:part', answer('part')).get('/**', answer('rest')));
    }],
    ['routes of the application itself', (app, { router, guard, answer }) => {
      app.use('/api', router().use(guard).get('/x', answer('x')));
      app.get('/api/y', answer('y'));
    }],
    ['a mounted application', (app, { router, application, guard, answer }) => {
      app.use('/api', router().use(guard).get('/x', answer('x')));
      app.use('/api', application().get('/y', answer('y')));
    }],
  ])('not of %s', async (_name, shape) => {
    expect(await warnings(shape)).toEqual([]);
  });

  test('not of a route that another covers', async () => {
    expect(await warnings((app, { router, guard, answer }) => {
      app.use('/a', router().use(guard).get('/:x', answer('x')), router().get('/y', answer('y')));
    })).toEqual([expect.stringMatching(/^The route GET \/a\/y is covered by GET \/a\/:x/)]);
  });
});
