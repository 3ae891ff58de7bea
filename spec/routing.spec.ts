import { createServer as createHttpServer } from 'node:http';
import express, { type Request as ExpressRequest, type Response as ExpressResponse } from 'express';
import { type Application, createServer, express as waypostExpress, type CreateServerOptions, type Handler, type NextFunction, type Request, type Response, Router } from 'waypost';
import { LayerIndex } from '../lib/routing/layer-index';
import { EXPRESS_RULES } from '../lib/routing/rules';
import { LogRecorder, Running } from './support/running';
import { type Answer, ask, head, Wire } from './support/wire';

const running = new Running();

afterEach(() => running.close());

/** What a handler or middleware sees of where it stands. */
function seen(req: Request): Record<string, unknown> {
  return { url: req.url, path: req.path, baseUrl: req.baseUrl, originalUrl: req.originalUrl, params: { ...req.params } };
}

/** A handler that answers its name. */
function says(name: string): Handler {
  return (_req, res) => res.send(name);
}

/** Middleware that leaves its name in the header `Trace` and goes on. */
function leaves(name: string): Handler {
  return (_req, res, next) => {
    res.append('Trace', name);
    next();
  };
}

function trace(answer: Answer): string {
  return String(answer.headers.trace ?? '');
}

const VERBS = ['get', 'post', 'put', 'delete', 'patch', 'options', 'head'] as const;

test('paths of one shape share one plan, whatever they and their methods are, so that no client can fill the memory with them', () => {
  const router = Router();
  router.get('/a/:x', says('a'));
  router.all('/b', says('b'));
  const index = new LayerIndex(router.stack, { ...EXPRESS_RULES, asExpress: false }, 0);
  const plans = (paths: readonly string[]): number => new Set(paths.map((path) => index.lookup(path).plan)).size;
  const names = Array.from({ length: 100 }, (_, i) => `n${String(i)}`);
  expect([plans(names.map((name) => `/a/${name}`)), plans(names.map((name) => `/${name}`)), plans(['/b', '/a/1', '/none'])]).toEqual([1, 1, 3]);
});

describe('registration, INTERFACE section 4.1', () => {
  test.each(VERBS)('app.%s and router.%s handle that method and no other', async (verb) => {
    const router = Router();
    router[verb]('/of-router', leaves('router'), (_req, res) => res.end());
    const port = await running.app((app) => {
      app[verb]('/of-app', leaves('app'), (_req, res) => res.end());
      app.use('/r', router);
    });
    for (const method of VERBS.map((one) => one.toUpperCase())) {
      const own = method === verb.toUpperCase() || (method === 'HEAD' && verb === 'get');
      const answers = [await ask(port, '/of-app', { method }), await ask(port, '/r/of-router', { method })];
      expect(answers.map(({ status }) => status)).toEqual(own ? [200, 200] : [404, 404]);
      expect(answers.map(trace)).toEqual(own ? ['app', 'router'] : ['', '']);
    }
  });

  test('several handlers run in the order given, and one that answers ends the request', async () => {
    const port = await running.app((app) => {
      app.get('/', leaves('1'), leaves('2'), [leaves('3'), [leaves('4')]], says('end'), leaves('5'));
    });
    const answer = await ask(port, '/');
    expect([trace(answer), answer.body]).toEqual(['1, 2, 3, 4', 'end']);
  });

  test('handlers are called as plain functions, so that nothing of the inside is their `this`', async () => {
    const seenAs: unknown[] = [];
    const port = await running.app((app) => {
      app.use(function (this: unknown, _req, _res, next) { seenAs.push(this); next(); });
      app.get('/', function (this: unknown) { seenAs.push(this); throw new Error('to the error handler'); });
      app.use(function (this: unknown, _error: unknown, _req: Request, res: Response, _next: NextFunction) { seenAs.push(this); res.end(); });
    });
    await ask(port, '/');
    expect(seenAs).toEqual([undefined, undefined, undefined]);
  });

  test('app.use without a path adds middleware for all routes below it, with a path for those beneath', async () => {
    const port = await running.app((app) => {
      app.use(leaves('all'));
      app.use('/api', leaves('api'), [leaves('more')]);
      app.get(['/', '/api', '/api/', '/api/x/y', '/apix'], says('ok'));
      app.use(leaves('below'));
    });
    expect(trace(await ask(port, '/'))).toBe('all');
    expect(trace(await ask(port, '/apix'))).toBe('all');
    for (const path of ['/api', '/api/', '/api/x/y']) expect(trace(await ask(port, path))).toBe('all, api, more');
  });

  test('a router answers beneath its prefix, and at the prefix itself', async () => {
    const router = Router();
    router.get('/', says('root'));
    router.get('/:id', (req, res) => res.send(`id ${req.params.id}`));
    const port = await running.app((app) => app.use('/items', router));
    expect((await ask(port, '/items')).body).toBe('root');
    expect((await ask(port, '/items/7')).body).toBe('id 7');
    for (const path of ['/', '/7', '/items/', '/items/7/8', '/itemsx']) expect((await ask(port, path)).status).toBe(404);
  });

  test('a router can be mounted at several prefixes, and routers side by side', async () => {
    const [one, two] = [Router(), Router()];
    one.get('/a', (req, res) => res.send(`one at ${req.baseUrl}`));
    two.get('/b', (req, res) => res.send(`two at ${req.baseUrl}`));
    const port = await running.app((app) => {
      app.use('/x', one, two);
      app.use(['/y', '/z'], one);
    });
    expect((await ask(port, '/x/a')).body).toBe('one at /x');
    expect((await ask(port, '/x/b')).body).toBe('two at /x');
    expect((await ask(port, '/y/a')).body).toBe('one at /y');
    expect((await ask(port, '/z/a')).body).toBe('one at /z');
    expect((await ask(port, '/y/b')).status).toBe(404);
  });

  test('router-level middleware runs before the handlers of that router, and can keep them from running', async () => {
    const router = Router();
    let ran = 0;
    router.use((req, res, next) => {
      if (req.headers.pass === undefined) res.status(401).json({ error: 'no pass' });
      else next();
    });
    router.get('/', (_req, res) => {
      ran++;
      res.send('in');
    });
    const port = await running.app((app) => {
      app.use('/guarded', router);
      app.get('/open', says('open'));
    });
    expect((await ask(port, '/guarded')).status).toBe(401);
    expect(ran).toBe(0);
    expect((await ask(port, '/guarded', { headers: { pass: '1' } })).body).toBe('in');
    expect((await ask(port, '/open')).body).toBe('open');
  });

  test('routers nest, and what is around runs first', async () => {
    const [inner, outer] = [Router(), Router()];
    inner.use(leaves('inner'));
    inner.get('/c', (req, res) => res.json(seen(req)));
    outer.use(leaves('outer'));
    outer.use('/b', inner);
    const port = await running.app((app) => {
      app.use(leaves('app'));
      app.use('/a', outer);
    });
    const answer = await ask(port, '/a/b/c?q=1');
    expect(trace(answer)).toBe('app, outer, inner');
    expect(answer.json).toEqual({ url: '/a/b/c?q=1', path: '/a/b/c', baseUrl: '/a/b', originalUrl: '/a/b/c?q=1', params: {} });
  });

  test('what is no handler, router or method is refused, and named', () => {
    const app = createServer({ logging: { level: 'silent' } });
    expect(() => app.get('/a')).toThrow(/get\("\/a", …\): argument handler is required/);
    expect(() => app.post('/a', undefined as never)).toThrow(/post\("\/a", …\): argument handler must be a function, got undefined/);
    expect(() => app.put('/a', [null] as never)).toThrow(/put\("\/a", …\): .*got null/);
    expect(() => app.use()).toThrow(/use\(…\): argument handler is required/);
    expect(() => app.use('/a')).toThrow(/use\("\/a", …\): argument handler is required/);
    expect(() => app.use({} as never)).toThrow(/argument handler must be a function, .*got an object/);
    expect(() => app.use([])).toThrow(/use\(\[\], …\): argument handler is required/);
    expect(() => app.route('/a').get()).toThrow(/route "\/a": argument handler is required/);
    const [one, two] = [Router(), Router()];
    one.use('/two', two);
    expect(() => one.use(one)).toThrow(/mount a router inside itself/);
    expect(() => two.use('/one', one)).toThrow(/mount a router inside itself/);
    expect(app.routes()).toEqual([]);
  });
});

// A list of public paths comes from a configuration, and may be empty: read as "no path" it would let everything past the guard.
describe.each([['an empty array', []], ['an empty array within one', [[]]]])('%s of paths matches nothing, as in Express', (_, none) => {
  const PROGRAMS = {
    Express: () => [express(), express.Router()] as unknown as [Application, Router],
    'express()': () => [waypostExpress(), waypostExpress.Router()] as unknown as [Application, Router],
    'createServer()': () => [createServer({ logging: { level: 'silent' } }), Router()] as [Application, Router],
  };

  test.each(Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[])('%s', async (name) => {
    const [app, router] = PROGRAMS[name]();
    const marks: Handler = (_req, res, next) => {
      res.set('X-Passed', 'the guard');
      next();
    };
    const paths = none as unknown as string[];
    app.use(paths, marks);
    router.use(paths, marks);
    router.get('/in', (_req, res) => void res.send('in the router'));
    app.use(paths, router);
    app.use('/router', router);
    app.get(paths, says('a route'));
    app.all(paths, says('a route'));
    app.route(paths as string & string[]).get(says('a route'));
    app.get('/', (_req, res) => void res.send('behind all'));
    const port = await running.serve(app);
    const answers = await Promise.all(['/', '/in', '/router/in', '/other'].map((path) => ask(port, path)));
    expect(answers.map(({ status, headers }) => [status, headers['x-passed']])).toEqual([[200, undefined], [404, undefined], [200, undefined], [404, undefined]]);
    expect(answers[0]?.body).toBe('behind all');
  });
});

describe('patterns over HTTP, INTERFACE section 4.2', () => {
  test('each row of the table, and its 404s', async () => {
    const patterns = ['/path', '/p1/:param', '/p2/*', '/p3/**', '/p4/:param/*', '/p5/:param/**', '/a/:x/b/:y'] as const;
    const port = await running.app((app) => {
      for (const pattern of patterns) app.get(pattern, (req, res) => res.json(req.params));
    });
    const rows: [string, unknown][] = [
      ['/path', {}], ['/p1/v', { param: 'v' }], ['/p2/v', { '*': 'v' }], ['/p3/a/b/c', { '**': 'a/b/c' }], ['/p3/a', { '**': 'a' }],
      ['/p4/p/v', { param: 'p', '*': 'v' }], ['/p5/p/a/b', { param: 'p', '**': 'a/b' }], ['/a/1/b/2', { x: '1', y: '2' }],
      ['/p1/a%20b%2Fc', { param: 'a b/c' }], ['/p3/a%2Fb/c%20d', { '**': 'a%2Fb/c d' }], [`/p1/${'x'.repeat(5_000)}`, { param: 'x'.repeat(5_000) }],
    ];
    for (const [path, params] of rows) expect((await ask(port, `${path}?q=%zz`)).json).toEqual(params);
    for (const path of ['/p2/a/b', '/p2/', '/p2', '/p3', '/p3/', '/p4/p', '/p4/p/v/w', '/p1//', '/p1/', '/PATH', '/path/', '//path', '/p3//a']) {
      expect((await ask(port, path)).status).toBe(404);
    }
  });

  test('of several routes that match, the first registered takes the request', async () => {
    const port = await running.app((app) => {
      app.get('/:any', says('parameter'));
      app.get('/static', says('static'));
      app.get('/deep/**', says('deep'));
      app.get('/deep/:id', says('id'));
      app.get('/late/:id(\\d+)', says('digits'));
      app.get('/late/*', says('star'));
    });
    expect((await ask(port, '/static')).body).toBe('parameter');
    expect((await ask(port, '/deep/x')).body).toBe('deep');
    expect((await ask(port, '/late/7')).body).toBe('digits');
    expect((await ask(port, '/late/x')).body).toBe('star');
  });

  test('the routing options relax what is exact by default', async () => {
    const register = (app: Application): void => {
      app.use('/Mw', leaves('mw'));
      app.get('/Mw/:Id', (req, res) => res.json(seen(req)));
    };
    const options: CreateServerOptions = { routing: { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true } };
    const [exact, relaxed] = [await running.app(register), await running.app(register, options)];
    const plain = await ask(exact, '/Mw/Xy');
    expect([trace(plain), (plain.json as { params: unknown }).params]).toEqual(['mw', { Id: 'Xy' }]);
    for (const path of ['/mW/Xy', '/Mw/Xy/', '//Mw/Xy', '/Mw//Xy', '//mw//Xy//']) {
      expect((await ask(exact, path)).status).toBe(404);
      const answer = await ask(relaxed, path);
      expect([answer.status, trace(answer)]).toEqual([200, 'mw']);
      expect(answer.json).toEqual({ url: path, path, baseUrl: '', originalUrl: path, params: { Id: 'Xy' } });
    }
  });
});

describe('HEAD', () => {
  test('is answered by a GET route: the same header, no body', async () => {
    const port = await running.app((app) => app.get('/g', leaves('g'), (req, res) => res.json({ method: req.method })));
    const [got, headed] = [await ask(port, '/g'), await ask(port, '/g', { method: 'HEAD' })];
    expect([headed.status, headed.body, trace(headed)]).toEqual([200, '', 'g']);
    expect(headed.headers['content-type']).toBe(got.headers['content-type']);
    expect(headed.headers['content-length']).toBe(String(Buffer.byteLength('{"method":"HEAD"}')));
  });

  test('is answered by whichever route stands first, as in Express; within one route its HEAD handler comes first', async () => {
    const port = await running.app((app) => {
      app.get('/g/:id', leaves('GET'), (_req, res) => res.end());
      app.head('/g/:name', leaves('HEAD'), (_req, res) => res.end());
      app.route('/h').get(leaves('GET'), (_req, res) => res.end()).head(leaves('HEAD'), (_req, res) => res.end());
    });
    expect(trace(await ask(port, '/g/1', { method: 'HEAD' }))).toBe('GET');
    expect(trace(await ask(port, '/h', { method: 'HEAD' }))).toBe('HEAD');
    expect(trace(await ask(port, '/g/1'))).toBe('GET');
  });

  test('of another shape takes its turn in the order', async () => {
    const port = await running.app((app) => {
      app.get('/a', leaves('GET a'), (_req, res) => res.end());
      app.head('/**', leaves('HEAD all'), (_req, res) => res.end());
      app.get('/b', leaves('GET b'), (_req, res) => res.end());
    });
    expect(trace(await ask(port, '/a', { method: 'HEAD' }))).toBe('GET a');
    expect(trace(await ask(port, '/b', { method: 'HEAD' }))).toBe('HEAD all');
    expect(trace(await ask(port, '/b'))).toBe('GET b');
  });

  test('is not answered by POST, but by all', async () => {
    const port = await running.app((app) => {
      app.post('/p', says('p'));
      app.all('/all', says('all'));
    });
    expect((await ask(port, '/p', { method: 'HEAD' })).status).toBe(404);
    expect((await ask(port, '/all', { method: 'HEAD' })).status).toBe(200);
  });
});

describe('a request that no route takes', () => {
  test('is answered 404 by JSON with error and message, as text that can hold no markup', async () => {
    const port = await running.app((app) => app.get('/a', says('a')));
    for (const [method, path, shown] of [['GET', '/nope?secret=1', '/nope'], ['POST', '/a', '/a'], ['DELETE', '/%3Cb%3E/', '/%3Cb%3E/']] as const) {
      const answer = await ask(port, path, { method });
      expect(answer.status).toBe(404);
      expect(answer.headers['content-type']).toMatch(/^application\/json/);
      expect(answer.json).toEqual({ error: 'Not Found', message: `Cannot ${method} ${shown}` });
    }
    const headed = await ask(port, '/nope', { method: 'HEAD' });
    expect([headed.status, headed.body]).toEqual([404, '']);
  });

  test('meets all middleware first', async () => {
    const port = await running.app((app) => {
      app.use(leaves('first'));
      app.use('/x', leaves('x'));
      app.use((req, res, next) => {
        if (req.path === '/x/page') res.status(404).send('my page');
        else next();
      });
    });
    const answer = await ask(port, '/x/page');
    expect([answer.status, answer.body, trace(answer)]).toEqual([404, 'my page', 'first, x']);
    expect((await ask(port, '/y')).json).toEqual({ error: 'Not Found', message: 'Cannot GET /y' });
  });
});

describe('routing.methodNotAllowed', () => {
  const options: CreateServerOptions = { routing: { methodNotAllowed: true } };
  const register = (app: Application): void => {
    app.get('/a/:id', says('get'));
    app.put('/a/7', says('put'));
    app.post('/only-post', says('post'));
    app.options('/own', leaves('own'), (_req, res) => res.status(200).end());
    app.get('/own', says('own'));
    app.all('/all', says('all'));
  };

  test('a route of the method that declines leaves a 404, not a wrong method', async () => {
    const port = await running.app((app) => {
      app.get('/m', (_req, _res, next) => next('route'));
      app.post('/m', says('post'));
    }, options);
    expect((await ask(port, '/m')).status).toBe(404);
    expect((await ask(port, '/m', { method: 'PUT' })).status).toBe(405);
  });

  test('off, a wrong method is 404', async () => {
    const port = await running.app(register);
    const answer = await ask(port, '/only-post');
    expect([answer.status, answer.headers.allow]).toEqual([404, undefined]);
    expect((await ask(port, '/only-post', { method: 'OPTIONS' })).status).toBe(404);
  });

  test('on, it is 405 with what the path allows', async () => {
    const port = await running.app(register, options);
    const answer = await ask(port, '/only-post');
    expect([answer.status, answer.headers.allow?.split(', ').sort()]).toEqual([405, ['OPTIONS', 'POST']]);
    expect(answer.json).toEqual({ error: 'Method Not Allowed', message: 'Cannot GET /only-post' });
    expect((await ask(port, '/a/7', { method: 'DELETE' })).headers.allow?.split(', ').sort()).toEqual(['GET', 'HEAD', 'OPTIONS', 'PUT']);
    expect((await ask(port, '/a/8', { method: 'PUT' })).headers.allow?.split(', ').sort()).toEqual(['GET', 'HEAD', 'OPTIONS']);
    expect((await ask(port, '/nope')).status).toBe(404);
    expect((await ask(port, '/all', { method: 'DELETE' })).body).toBe('all');
  });

  test('on, OPTIONS is answered, unless a route does', async () => {
    const port = await running.app(register, options);
    const answer = await ask(port, '/a/8', { method: 'OPTIONS' });
    expect([answer.status, answer.body, answer.headers.allow?.split(', ').sort()]).toEqual([204, '', ['GET', 'HEAD', 'OPTIONS']]);
    expect(trace(await ask(port, '/own', { method: 'OPTIONS' }))).toBe('own');
    expect((await ask(port, '/nope', { method: 'OPTIONS' })).status).toBe(404);
  });
});

describe('several paths, all, route and routes', () => {
  test('of an array of paths the first that matches counts, and the handlers run once', async () => {
    let ran = 0;
    const port = await running.app((app) => {
      app.use(['/:a/x', '/b/:c'], (req, res, next) => {
        ran++;
        res.setHeader('Trace', JSON.stringify(req.params));
        next();
      });
      app.get(['/one', '/b/:id', '/:first/:second'], (req, res) => res.json(req.params));
    });
    expect((await ask(port, '/one')).json).toEqual({});
    expect((await ask(port, '/b/x')).json).toEqual({ id: 'x' });
    expect((await ask(port, '/c/y')).json).toEqual({ first: 'c', second: 'y' });
    expect(ran).toBe(1);
    expect(trace(await ask(port, '/b/x'))).toBe('{"a":"b"}');
    expect(trace(await ask(port, '/b/y'))).toBe('{"c":"y"}');
  });

  test('app.all takes every method, in its place', async () => {
    const port = await running.app((app) => {
      app.post('/x', says('post'));
      app.all('/x', (req, res) => res.send(`all ${req.method}`));
      app.get('/x', says('never'));
    });
    expect((await ask(port, '/x', { method: 'POST' })).body).toBe('post');
    for (const method of ['GET', 'DELETE', 'PURGE']) expect((await ask(port, '/x', { method })).body).toBe(`all ${method}`);
  });

  test('app.route gathers the methods of one path', async () => {
    const port = await running.app((app) => {
      app.route('/r/:id').all(leaves('all')).get((req, res) => res.send(`get ${req.params.id ?? ''}`)).post(says('post')).put(says('put'))
        .delete(says('delete')).patch(says('patch')).options(says('options'));
    });
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await ask(port, '/r/1', { method });
      expect([answer.body, trace(answer)]).toEqual([method.toLowerCase(), 'all']);
    }
    expect((await ask(port, '/r/1')).body).toBe('get 1');
  });

  test('app.routes lists them in order and marks what an earlier one covers; start warns of it', async () => {
    const logger = new LogRecorder();
    const app = createServer({ env: 'test', logging: { logger } });
    const router = Router();
    router.get('/', leaves('x'), says('root'));
    router.post('/:id', says('id'));
    app.get('/users/:id', says('user'));
    app.use('/items', router);
    app.get(['/a', '/b'], says('ab'));
    app.get('/users/me', says('never'));
    app.post('/users/me', says('post'));
    app.all('/x/**', says('x'));
    app.delete('/x/:y', says('never'));
    expect(app.routes()).toEqual([
      { method: 'GET', path: '/users/:id', handlers: 1 },
      { method: 'GET', path: '/items', handlers: 2 },
      { method: 'POST', path: '/items/:id', handlers: 1 },
      { method: 'GET', path: '/a, /b', handlers: 1 },
      { method: 'GET', path: '/users/me', handlers: 1, coveredBy: 'GET /users/:id' },
      { method: 'POST', path: '/users/me', handlers: 1 },
      { method: 'ALL', path: '/x/**', handlers: 1 },
      { method: 'DELETE', path: '/x/:y', handlers: 1, coveredBy: 'ALL /x/**' },
    ]);
    await running.start(app);
    expect(logger.messages('warn')).toEqual([
      expect.stringMatching(/GET \/users\/me is covered by GET \/users\/:id/),
      expect.stringMatching(/DELETE \/x\/:y is covered by ALL \/x\/\*\*/),
    ]);
  });

  test('start warns of what is registered in mounted applications too, once each', async () => {
    const logger = new LogRecorder();
    const covered = (): ReturnType<typeof createServer> => createServer({ logging: { logger } }).get('/:x', says('1')).get('/y', says('2'));
    const [app, middle, deep] = [createServer({ logging: { logger } }), covered(), covered()];
    middle.use('/deep', Router().use('/er', deep));
    app.use('/a', middle);
    app.use('/b', middle);
    await running.start(app);
    expect(logger.messages('warn')).toEqual([
      expect.stringMatching(/^In the application mounted at \/a: The route GET \/y is covered by GET \/:x/),
      expect.stringMatching(/^In the application mounted at \/a\/deep\/er: The route GET \/y is covered by GET \/:x/),
    ]);
  });

  test.each([
    ['/a/:x(\\d+)', '/a/:y'],
    ['/a/:x.json', '/a/b.json'],
    ['/a/**/z', '/a/b/c'],
    ['/a/:x', '/a/**'],
    ['/a/b', '/a/:x'],
    ['/a/*', '/b/*'],
  ])('%s is not said to cover %s', (first, second) => {
    const app = createServer({ logging: { level: 'silent' } });
    app.get(first, says('1')).get(second, says('2'));
    expect(app.routes()[1]).not.toHaveProperty('coveredBy');
  });
});

describe('url, path, baseUrl, originalUrl and params', () => {
  test('middleware sees what is below its path, a route the whole and the mount path of its router', async () => {
    const views: Record<string, unknown> = {};
    const keep = (name: string): Handler => (req, _res, next) => {
      views[name] = seen(req);
      next();
    };
    const router = Router();
    router.use(keep('router'));
    router.use('/n/:n', keep('below'));
    router.get('/n/:n', keep('route'), (_req, res) => res.end());
    const port = await running.app((app) => {
      app.use(keep('app'));
      app.use('/t/:tenant', keep('mount'), router);
      app.use(keep('after'));
    });
    const originalUrl = '/t/a%20b/n/1?q=x%2Fy';
    await ask(port, originalUrl);
    const whole = { url: originalUrl, path: '/t/a%20b/n/1', originalUrl };
    expect(views).toEqual({
      app: { ...whole, baseUrl: '', params: {} },
      mount: { url: '/n/1?q=x%2Fy', path: '/n/1', baseUrl: '/t/a%20b', originalUrl, params: { tenant: 'a b' } },
      router: { url: '/n/1?q=x%2Fy', path: '/n/1', baseUrl: '/t/a%20b', originalUrl, params: { tenant: 'a b' } },
      below: { url: '/?q=x%2Fy', path: '/', baseUrl: '/t/a%20b/n/1', originalUrl, params: { tenant: 'a b', n: '1' } },
      route: { ...whole, baseUrl: '/t/a%20b', params: { tenant: 'a b', n: '1' } },
    });
    await ask(port, '/t/x?y');
    expect(views.mount).toMatchObject({ url: '/?y', path: '/', baseUrl: '/t/x' });
    expect(views.after).toMatchObject({ url: '/t/x?y', path: '/t/x', baseUrl: '', params: {} });
  });

  test('a "**" in a mount path takes all of the path, as a wildcard does in Express', async () => {
    const router = Router();
    router.get('/edit/:id', says('never'));
    router.get('/', (req, res) => res.json(seen(req)));
    const port = await running.app((app) => app.use('/w/**', router));
    expect((await ask(port, '/w/a/edit/1/edit/2')).json).toMatchObject({ baseUrl: '/w/a/edit/1/edit/2', params: { '**': 'a/edit/1/edit/2' } });
  });

  test('path and query follow url until they are assigned', async () => {
    const port = await running.app((app) => {
      app.use((req, _res, next) => {
        if (req.query.to !== undefined) req.url = String(req.query.to);
        next();
      });
      app.get('/new', (req, res) => res.json({ path: req.path, query: req.query, originalUrl: req.originalUrl }));
      app.get('/own', (req, res) => {
        req.query = { mine: '1' };
        req.params = { all: 'mine' };
        res.json({ query: req.query, params: req.params });
      });
    });
    expect((await ask(port, '/old?to=/new%3Fa=1')).json).toEqual({ path: '/new', query: { a: '1' }, originalUrl: '/old?to=/new%3Fa=1' });
    expect((await ask(port, '/own?x=1')).json).toEqual({ query: { mine: '1' }, params: { all: 'mine' } });
  });
});

describe('registering later', () => {
  test('works on the application and on mounted routers, while the server runs', async () => {
    const [inner, outer] = [Router(), Router()];
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    outer.use('/inner', inner);
    app.use('/outer', outer);
    const port = await running.start(app);
    const paths = ['/late', '/outer/late', '/outer/inner/late', '/third/late'];
    for (const path of paths) expect((await ask(port, path)).status).toBe(404);
    const route = app.route('/late');
    route.get(says('app'));
    outer.get('/late', says('outer'));
    inner.get('/late', says('inner'));
    const third = Router();
    app.use('/third', third);
    third.get('/late', says('third'));
    expect(await Promise.all(paths.map(async (path) => (await ask(port, path)).body))).toEqual(['app', 'outer', 'inner', 'third']);
    route.post(says('post'));
    inner.use(leaves('too late'));
    outer.use('/inner', leaves('too late'));
    app.use(leaves('too late'));
    expect((await ask(port, '/late', { method: 'POST' })).body).toBe('post');
    for (const path of paths) expect(trace(await ask(port, path))).toBe('');
    expect(app.routes().map(({ method, path }) => `${method} ${path}`)).toEqual(
      ['GET /outer/inner/late', 'GET /outer/late', 'GET /late', 'POST /late', 'GET /third/late'],
    );
  });

  test('does not disturb a request on its way', async () => {
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    app.use((_req, _res, next) => {
      app.get('/new', says('new'));
      next();
    });
    app.get('/old', says('old'));
    const port = await running.start(app);
    expect((await ask(port, '/old')).body).toBe('old');
    expect((await ask(port, '/new')).body).toBe('new');
  });
});

describe('middleware that changes url or method', () => {
  test('changes the routing that follows below, as in Express', async () => {
    const port = await running.app((app) => {
      app.use('/admin', (req, res, next) => {
        if (req.headers.pass === undefined) res.status(403).send('guarded');
        else next();
      });
      app.use('/page', (req, _res, next) => {
        // Relative to the mount, as middleware sees it.
        if (req.url === '/old') req.url = '/new';
        next();
      });
      app.use((req, _res, next) => {
        if (req.path === '/to-admin') req.url = '/admin/x';
        next();
      });
      app.get('/admin/x', says('secret'));
      app.get('/page/:name', (req, res) => res.send(`${req.params.name} ${req.url} ${req.originalUrl}`));
    });
    expect((await ask(port, '/to-admin')).body).toBe('secret');
    expect((await ask(port, '/to-admin', { headers: { pass: '1' } })).body).toBe('secret');
    expect((await ask(port, '/page/old')).body).toBe('new /page/new /page/old');
  });

  test('runs every registration at most once', async () => {
    const port = await running.app((app) => {
      app.use(leaves('first'));
      app.use((req, res, next) => {
        res.append('Trace', 'rewrite');
        req.url = `${req.url}x`;
        next();
      });
      app.use('/ax', leaves('ax'));
      app.get('/:any', (req, res) => res.send(req.params.any));
    });
    const answer = await ask(port, '/a');
    expect([trace(answer), answer.body]).toEqual(['first, rewrite, ax', 'ax']);
  });

  test('can override the method, and serve a page for every path', async () => {
    const port = await running.app((app) => {
      app.use((req, _res, next) => {
        const method = req.headers['x-http-method-override'];
        if (typeof method === 'string') req.method = method;
        next();
      });
      app.delete('/thing', says('deleted'));
      app.get('/api/x', says('api'));
      app.use((req, _res, next) => {
        if (req.method === 'GET') req.url = '/index.html';
        next();
      });
      app.get('/index.html', says('page'));
    });
    expect((await ask(port, '/thing', { method: 'POST', headers: { 'x-http-method-override': 'DELETE' } })).body).toBe('deleted');
    expect((await ask(port, '/any/where')).body).toBe('page');
    expect((await ask(port, '/api/x')).body).toBe('api');
    expect((await ask(port, '/any', { method: 'POST' })).status).toBe(404);
  });
});

describe('sibling routers', () => {
  test('a guard in one never meets a request that a route of the other takes', async () => {
    const [closed, open, within] = [Router(), Router(), Router()];
    closed.use((_req, res) => res.status(401).send('closed'));
    closed.get('/private', says('never'));
    within.get('/deep', says('never'));
    closed.use('/within', within);
    open.use(leaves('open'));
    open.get('/public', says('public'));
    const port = await running.app((app) => {
      app.use('/api', closed);
      app.use('/api', open);
      app.get('/api/app', says('app'));
    });
    const answer = await ask(port, '/api/public');
    expect([answer.body, trace(answer)]).toEqual(['public', 'open']);
    expect((await ask(port, '/api/private')).status).toBe(401);
    expect((await ask(port, '/api/within/deep')).status).toBe(401);
    // The application is around the router, not beside it; and what no route takes meets every guard.
    expect((await ask(port, '/api/app')).status).toBe(401);
    expect((await ask(port, '/api/nothing')).status).toBe(401);
  });

  test('are kept apart by the method that the request has then', async () => {
    const closed = Router().use((_req, res) => res.status(401).send('closed')).put('/a', says('never'));
    const port = await running.app((app) => {
      app.use('/api', Router().get('/b', says('b')));
      app.use((req, _res, next) => {
        req.method = 'PUT';
        next();
      });
      app.use('/api', closed);
      app.use('/api', Router().get('/a', says('get')));
    });
    expect((await ask(port, '/api/a')).status).toBe(401);
  });

  test('are kept apart by the layers that they have then', async () => {
    const [closed, late] = [Router().use((_req, res) => res.status(401).send('closed')).get('/b', says('never')), Router().get('/a', says('late'))];
    const port = await running.app((app) => {
      app.use('/api', Router().get('/b', says('b')));
      app.use((_req, _res, next) => {
        late.stack.length = 0;
        next();
      });
      app.use('/api', closed);
      app.use('/api', late);
      app.get('/api/a', says('app'));
    });
    expect((await ask(port, '/api/a')).status).toBe(401);
  });
});

describe("next('route') and next('router')", () => {
  test("next('route') goes past the rest of the route's handlers", async () => {
    const port = await running.app((app) => {
      app.get('/:x', leaves('1'), (_req, _res, next) => next('route'), leaves('skipped'), says('skipped'));
      app.get('/a', leaves('2'), says('second'));
    });
    const answer = await ask(port, '/a');
    expect([trace(answer), answer.body]).toEqual(['1, 2', 'second']);
    expect((await ask(port, '/b')).status).toBe(404);
  });

  test("next('router') leaves the mount it was called in, from middleware and from handlers", async () => {
    const [inner, outer] = [Router(), Router()];
    inner.use('/by-use', (_req, _res, next) => next('router'));
    inner.get('/by-route', (_req, _res, next) => next('router'), says('skipped'));
    inner.use(leaves('skipped'));
    inner.get('/*', says('skipped'));
    outer.use(inner);
    outer.get('/*', leaves('outer'), says('outer'));
    const port = await running.app((app) => app.use('/r', outer));
    for (const path of ['/r/by-use', '/r/by-route']) {
      const answer = await ask(port, path);
      expect([trace(answer), answer.body]).toEqual(['outer', 'outer']);
    }
  });

  test("next('router') leaves one mount of a router, not the others", async () => {
    const router = Router();
    router.get('/x', leaves('visit'), (_req, _res, next) => next('router'), says('skipped'));
    const port = await running.app((app) => {
      app.use('/:a', router);
      app.use('/b', router);
      app.get('/b/x', says('end'));
    });
    const answer = await ask(port, '/b/x');
    expect([trace(answer), answer.body]).toEqual(['visit, visit', 'end']);
  });
});

describe('malformed percent-encoding', () => {
  test('is 400 where a route would have been matched, after middleware', async () => {
    let ran = 0;
    const port = await running.app((app) => {
      app.use(leaves('middleware'));
      app.get('/static', says('static'));
      app.get('/u/:id', () => ran++);
      app.get('/d/**', () => ran++);
      app.use('/proxy', (req, res) => res.send(req.url));
    });
    for (const path of ['/u/%zz', '/u/%', '/u/a%ff', '/d/a/%E2%82/b']) {
      const answer = await ask(port, path);
      expect([answer.status, trace(answer)]).toEqual([400, 'middleware']);
      expect(answer.json).toEqual({ error: 'Bad Request', message: expect.any(String) as string });
    }
    expect(ran).toBe(0);
    expect((await ask(port, '/proxy/%zz?%zz')).body).toBe('/%zz?%zz');
    expect((await ask(port, '/nothing/%zz')).status).toBe(404);
    expect((await ask(port, '/static?%zz')).body).toBe('static');
  });

  test('passes through error middleware, with a status', async () => {
    const port = await running.app((app) => {
      app.get('/u/:id', says('never'));
      app.use((error: unknown, _req: Request, res: Response, _next: NextFunction) => {
        const { status, code } = error as { status: number; code: string };
        res.status(418).json({ status, code });
      });
    });
    expect((await ask(port, '/u/%zz')).json).toEqual({ status: 400, code: 'MALFORMED_PATH' });
  });

  test('in a value of a mount path is left to middleware as it was sent', async () => {
    const router = Router();
    router.use((req, _res, next) => next(req.params.t === '%zz' ? undefined : new Error('decoded')));
    router.get('/', says('never'));
    const port = await running.app((app) => app.use('/:t', router));
    expect((await ask(port, '/%zz')).status).toBe(400);
  });
});

describe('targets that are not a plain path', () => {
  async function target(port: number, line: string): Promise<{ status: number; body: string }> {
    const text = await Wire.tell(port, head(line, { Connection: 'close' }));
    return { status: Number(text.slice(9, 12)), body: text.slice(text.indexOf('\r\n\r\n') + 4) };
  }

  test('an absolute form is routed by its path', async () => {
    const port = await running.app((app) => {
      app.use('/api', (req, res, next) => {
        res.setHeader('Trace', `${req.baseUrl} ${req.path}`);
        next();
      });
      app.get('/api/:id', (req, res) => res.json({ ...seen(req), query: req.query, trace: res.getHeader('Trace') }));
      app.get('/', says('root'));
    });
    expect(JSON.parse((await target(port, 'GET http://example.com/api/7?a=1')).body)).toEqual({
      url: 'http://example.com/api/7?a=1', path: '/api/7', baseUrl: '', originalUrl: 'http://example.com/api/7?a=1',
      params: { id: '7' }, query: { a: '1' }, trace: '/api /7',
    });
    expect((await target(port, 'GET http://example.com')).body).toBe('root');
    expect((await target(port, 'GET http://example.com/')).body).toBe('root');
    expect((await target(port, 'GET http://example.com?a=1')).body).toBe('root');
    expect(JSON.parse((await target(port, 'GET http://example.com/no')).body)).toEqual({ error: 'Not Found', message: 'Cannot GET /no' });
  });

  test.each<CreateServerOptions>([{}, { routing: { methodNotAllowed: true } }])('OPTIONS * is no path: it meets middleware for all and no route, with %j', async (options) => {
    const visits: string[] = [];
    const note = (name: string): Handler => (req, _res, next) => {
      visits.push(`${name} ${req.url}`);
      next();
    };
    const port = await running.app((app) => {
      app.use(note('all'));
      app.use('/:any', note('never'));
      app.use('/**', note('never'));
      app.all(['/', '/*', '/**', '/:x'], note('never'));
    }, options);
    expect((await target(port, 'OPTIONS *')).status).toBe(404);
    expect(visits).toEqual(['all *']);
  });

  test('a fragment, which no client should send, is no part of the path', async () => {
    const port = await running.app((app) => app.get('/a', (req, res) => res.send(req.path)));
    expect((await target(port, 'GET /a#b')).body).toBe('/a');
    expect((await target(port, 'GET /a#b?c')).body).toBe('/a');
  });
});

describe('the suffix .xJson, INTERFACE section 4.3', () => {
  test('routes without it where no route matches as sent, and res.json acts as res.xJson', async () => {
    const router = Router();
    router.use((req, res, next) => {
      res.setHeader('Trace', req.url);
      next();
    });
    router.get('/:id', (req, res) => res.json({ ...seen(req), big: 18n }));
    const port = await running.app((app) => {
      app.use('/items', router);
      app.get('/files/*', (req, res) => res.json({ file: req.params['*'] }));
      app.get('/', (_req, res) => res.json({ root: 1n }));
      app.get('/exact', (_req, res) => res.json({ big: 1n }));
    });
    const answer = await ask(port, '/exact.xJson?a=1');
    expect([answer.status, answer.headers['content-type'], answer.body]).toEqual([200, 'application/json', '{"big":"1"}']);
    expect((await ask(port, '/exact')).status).toBe(500);
    expect((await ask(port, '/.xJson')).body).toBe('{"root":"1"}');
    // As sent it matches: the suffix is part of the value, and nothing is extended.
    expect((await ask(port, '/files/a.xJson')).json).toEqual({ file: 'a.xJson' });
    expect((await ask(port, '/items/7.xJson')).status).toBe(500);
    for (const path of ['/exact.xjson', '/exact.xJson/', '/exact.json', '/nope.xJson']) expect((await ask(port, path)).status).toBe(404);
  });

  test('is gone from the path everywhere but in originalUrl', async () => {
    const views: unknown[] = [];
    const port = await running.app((app) => {
      app.use((req, _res, next) => {
        views.push(seen(req));
        next();
      });
      app.use('/a/b', (req, res, next) => {
        views.push(seen(req));
        if (req.query.open === undefined) res.status(403).end();
        else next();
      });
      app.get('/a/b', (req, res) => res.json(seen(req)));
    });
    expect((await ask(port, '/a/b.xJson')).status).toBe(403);
    views.length = 0;
    const originalUrl = '/a/b.xJson?open=.xJson';
    const whole = { url: '/a/b?open=.xJson', path: '/a/b', baseUrl: '', originalUrl, params: {} };
    expect((await ask(port, originalUrl)).json).toEqual(whole);
    expect(views).toEqual([whole, { url: '/?open=.xJson', path: '/', baseUrl: '/a/b', originalUrl, params: {} }]);
  });

  test('in a 404 the path is shown as it was sent', async () => {
    const port = await running.app((app) => app.get('/a', says('a')));
    expect((await ask(port, '/no.xJson')).json).toEqual({ error: 'Not Found', message: 'Cannot GET /no.xJson' });
  });
});

describe('an application in an application', () => {
  test('of waypost: what it does not match goes on, its errors too', async () => {
    const inner = createServer({ env: 'test', logging: { level: 'silent' }, routing: { caseSensitive: false } });
    inner.use(leaves('inner'));
    inner.get('/Hit/:id', (req, res) => res.json(seen(req)));
    inner.get('/fail', () => {
      throw new Error('inner');
    });
    const port = await running.app((app) => {
      app.use('/in', inner);
      app.get('/in/miss', (req, res) => res.json(seen(req)));
      app.use((error: unknown, _req: Request, res: Response, _next: NextFunction) => res.status(503).send((error as Error).message));
    });
    expect((await ask(port, '/in/hit/7?q')).json).toEqual({ url: '/hit/7?q', path: '/hit/7', baseUrl: '/in', originalUrl: '/in/hit/7?q', params: { id: '7' } });
    const miss = await ask(port, '/in/miss');
    expect(trace(miss)).toBe('inner');
    expect(miss.json).toEqual({ url: '/in/miss', path: '/in/miss', baseUrl: '', originalUrl: '/in/miss', params: {} });
    const failed = await ask(port, '/in/fail');
    expect([failed.status, failed.body]).toEqual([503, 'inner']);
    expect((await ask(port, '/in/nothing')).json).toEqual({ error: 'Not Found', message: 'Cannot GET /in/nothing' });
  });

  test('of Express in waypost: both answer with their own, before and after', async () => {
    const inner = express();
    inner.use((_req, res, next) => {
      res.append('Trace', 'express');
      next();
    });
    inner.get('/hit/:id', (req, res) => void res.json({ by: 'express', id: req.params.id, url: req.url, baseUrl: req.baseUrl }));
    inner.get('/fail', () => {
      throw new Error('inner');
    });
    const port = await running.app((app) => {
      app.use('/in', inner as unknown as Handler);
      app.get('/in/miss', (req, res) => res.xJson({ ...seen(req), big: 1n }));
      app.use((error: unknown, _req: Request, res: Response, _next: NextFunction) => res.status(503).xJson({ message: (error as Error).message, big: 1n }));
    });
    expect((await ask(port, '/in/hit/7')).json).toEqual({ by: 'express', id: '7', url: '/hit/7', baseUrl: '/in' });
    const miss = await ask(port, '/in/miss');
    expect(trace(miss)).toBe('express');
    expect(miss.json).toEqual({ url: '/in/miss', path: '/in/miss', baseUrl: '', originalUrl: '/in/miss', params: {}, big: '1' });
    const failed = await ask(port, '/in/fail');
    expect([failed.status, failed.json]).toEqual([503, { message: 'inner', big: '1' }]);
  });

  test('of waypost in Express: both answer with their own, before and after', async () => {
    const inner = createServer({ env: 'test', logging: { level: 'silent' } });
    inner.use(leaves('waypost'));
    inner.get('/hit/:id', (req, res) => res.xJson({ ...seen(req), big: 1n }));
    inner.get('/fail', () => {
      throw new Error('inner');
    });
    const outer = express();
    outer.use('/in', inner);
    outer.get('/in/miss', (req, res) => void res.json({ by: 'express', url: req.url, baseUrl: req.baseUrl, ip: typeof req.ip, accepts: typeof req.acceptsCharsets }));
    outer.use((error: Error, _req: ExpressRequest, res: ExpressResponse, _next: () => void) => void res.status(503).json({ message: error.message }));
    const port = await running.serve(outer);
    expect((await ask(port, '/in/hit/7')).json).toEqual({ url: '/hit/7', path: '/hit/7', baseUrl: '/in', originalUrl: '/in/hit/7', params: { id: '7' }, big: '1' });
    const miss = await ask(port, '/in/miss');
    expect([trace(miss), miss.json]).toEqual(['waypost', { by: 'express', url: '/in/miss', baseUrl: '', ip: 'string', accepts: 'function' }]);
    const failed = await ask(port, '/in/fail');
    expect([failed.status, failed.json]).toEqual([503, { message: 'inner' }]);
  });

  test('it is a request listener, with next and without', async () => {
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    app.get('/hit', says('hit'));
    const server = createHttpServer(app);
    const plain = await running.serve((req, res) => void server.emit('request', req, res));
    expect([(await ask(plain, '/hit')).body, (await ask(plain, '/miss')).status]).toEqual(['hit', 404]);
    const handing = await running.serve((req, res) => app(req, res, (error) => res.end(`next ${String(error)} ${req.url ?? ''}`)));
    expect([(await ask(handing, '/hit')).body, (await ask(handing, '/miss')).body]).toEqual(['hit', 'next undefined /miss']);
  });
});
