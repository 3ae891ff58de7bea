import theirs from 'express';
import { type Application, createServer, express, type Handler, type NextFunction, type Request, type Response, type Route, Router, signRequest } from 'waypost';
import { Running } from './support/running';
import { ask, head, Wire } from './support/wire';

const SECRET = 'the secret of these specs, 32 bytes or more';
const running = new Running();
afterEach(() => running.close());

/** Leads a request, in one of many ways, to where `/secret` is answered; `reached` notes that it was. */
type Way = (app: Application, reached: Handler) => void;

const silent = { logging: { level: 'silent' } } as const;

/** Makes another target of the request, seen from a mount path. */
function rewrite(url: string): Handler {
  return (req, _res, next) => {
    if (!req.url.startsWith('/old')) return next();
    req.url = url;
    return next();
  };
}

/** An inner application that makes `url` of whatever it is asked for, and has a route for it. */
function inner(url: string, route: string, reached: Handler): Application {
  const app = createServer(silent);
  app.use(rewrite(url));
  app.get(route, reached);
  return app;
}

const nothing: Handler = (_req, _res, next) => next();
const nothingAtAll: Handler = () => undefined;

const WAYS: Record<string, Way> = {
  'a handler of a parameter, before a mounted application': (app, reached) => {
    app.param('any', (req, _res, next) => { req.url = '/old/secret'; next(); });
    const mounted = createServer(silent);
    mounted.get('/secret', reached);
    app.use('/:any', mounted);
  },
  'a handler of a parameter, before middleware that routes by itself': (app, reached) => {
    app.param('any', (req, _res, next) => { req.url = '/old/../secret'; next(); });
    app.use('/:any', (req, res, next) => { if (req.baseUrl + req.url !== '/old/') reached(req, res, next); else next(); });
  },
  'a route that a function stands around': (app, reached) => {
    app.get('/old', rewrite('/secret'), reached);
    const layers = app.router.stack as unknown as { handle: Handler }[];
    const layer = layers[layers.length - 1] as { handle: Handler };
    const { handle } = layer;
    layer.handle = function around(req, res, next) { return handle.call(this, req, res, next); };
  },
  'a route whose dispatch is replaced': (app, reached) => {
    const route = app.route('/old').get((req, _res, next) => { setImmediate(() => { req.url = '/secret'; next(); next(); }); }, nothing, reached);
    const { dispatch } = route;
    route.dispatch = function around(req, res, next) { dispatch.call(this, req, res, next); };
  },
  'a route that is called by hand': (app, reached) => {
    const route = Router().route('/any').all(reached);
    app.use((req, res, next) => { req.url = '/secret'; route.dispatch(req, res, next); });
  },
  'a route in an application that a function stands around': (app, reached) => {
    const mounted = createServer(silent);
    mounted.get('/old', rewrite('/secret'), reached);
    const route = (mounted.router.stack as unknown as { route: Route }[])[0]!.route;
    const { dispatch } = route;
    route.dispatch = function around(req, res, next) { dispatch.call(this, req, res, next); };
    app.use(mounted);
  },
  'a handler of a parameter that goes on later': (app, reached) => {
    app.param('any', (req, _res, next) => { setImmediate(() => { req.url = '/secret'; next(); }); });
    app.get('/:any', reached);
  },
  'a handler of a parameter, before another of that': (app, reached) => {
    app.param('any', (req, _res, next) => { setImmediate(() => { req.url = '/secret'; next(); }); });
    app.param('any', (req, res, next) => reached(req as Request, res as Response, next));
    app.get('/:any', nothing);
  },
  'a handler of a parameter, before another of that which leads away again': (app, reached) => {
    app.param('any', (req, _res, next) => { req.url = '/secret'; next(); });
    app.param('any', (req, _res, next) => { req.url = '/open'; next(); });
    app.get('/:any', nothing);
    app.get('/open', reached);
  },
  'a handler of a parameter in a Router in a mounted application, before another of that': (app, reached) => {
    const router = Router();
    router.param('any', (req, _res, next) => { req.url = '/secret'; next(); });
    router.param('any', (req, res, next) => reached(req as Request, res as Response, next));
    router.get('/:any', nothing);
    app.use(createServer(silent).use(router) as never);
  },
  'a handler of a parameter that goes on while its rewritten target is checked, before another of that': (app, reached) => {
    const before = { goOn: (): void => undefined };
    app.use((_req, _res, next) => { before.goOn = next; next(); });
    app.param('any', (req, _res, next) => {
      if (req.url === '/old') {
        req.url = '/secret';
        before.goOn();
      }
      next();
    });
    app.param('any', (req, res, next) => { if (!res.headersSent) reached(req as Request, res as Response, next); });
    app.get('/:any', nothing);
    app.get('/secret', reached);
  },
  'a handler of a parameter that goes on when the walk has left it, before another of that': (app, reached) => {
    app.use((_req, _res, next) => { setImmediate(next); next(); });
    app.param('any', (req, _res, next) => setImmediate(() => setImmediate(() => { req.url = '/secret'; next(); })) as never);
    app.param('any', (req, res, next) => { if (!res.headersSent) reached(req as Request, res as Response, next); });
    app.get('/:any', nothing);
    app.use((req, _res, next) => void setTimeout(() => { req.url = '/secret'; next(); }, 20));
    app.get('/secret', reached);
  },
  'a handler of a parameter that leaves the route': (app, reached) => {
    app.param('any', (req, _res, next) => { req.url = '/secret'; next('route'); });
    app.get('/:any', (_req, res) => res.send('left'));
    app.get('/secret', reached);
  },
  'a handler of a route, before another of that route': (app, reached) => void app.get('/old', rewrite('/secret'), reached),
  'a handler of a route, before an application in that route': (app, reached) => {
    app.get('/old', rewrite('/secret'), createServer(silent).get('/secret', reached) as never);
  },
  'a handler of a route in a router that is called as a whole': (app, reached) => {
    app.use(Router({ strict: true }).get('/old', rewrite('/secret'), reached) as never);
  },
  'a route that is called by hand, before what goes on behind it': (app, reached) => {
    const route = Router().route('/any').all(rewrite('/secret'));
    app.use((req, res, next) => route.dispatch(req, res, () => reached(req, res, next)));
  },
  'a route that is called by hand and left, before what goes on behind it': (app, reached) => {
    const route = Router().route('/any').all((req, _res, next) => { req.url = '/secret'; next('route'); });
    app.use((req, res, next) => route.dispatch(req, res, () => reached(req, res, next)));
  },
  'a route that is called by hand and whose router is left': (app, reached) => {
    const route = Router().route('/any').all((req, _res, next) => { setImmediate(() => { req.url = '/secret'; next('router'); }); });
    app.use((req, res, next) => route.dispatch(req, res, () => reached(req, res, next)));
  },
  'a route that is called by hand and fails': (app, reached) => {
    const route = Router().route('/any').all((req) => { req.url = '/secret'; throw new Error('x'); });
    app.use((req, res, next) => route.dispatch(req, res, () => reached(req, res, next)));
  },
  'a route that is called by hand in an Express application': (app, reached) => {
    const route = Router().route('/any').all(rewrite('/secret'));
    const between = theirs();
    between.use((req, res, next) => void route.dispatch(req as never, res as never, next));
    between.get('/secret', reached as never);
    app.use(between as never);
  },
  'a route that is called by hand beneath a path': (app, reached) => {
    const route = Router().route('/any').all((req, _res, next) => { req.url = '/secret'; next(); }, reached);
    app.use('/old', (req, res, next) => route.dispatch(req, res, next));
  },
  'a route that is called by hand beneath a path of an Express application': (app, reached) => {
    const route = Router().route('/any').all((req, _res, next) => { req.url = '/secret'; next(); }, reached);
    const between = theirs();
    between.use('/old', (req, res, next) => void route.dispatch(req as never, res as never, next));
    app.use(between as never);
  },
  'an application in a route that sees the whole URL': (app, reached) => {
    app.use('/old', Router().get('/', inner('/secret/deep', '/secret/deep', reached)));
  },
  'a Router in a route that sees the whole URL': (app, reached) => {
    app.use('/old', Router().get('/', Router().use(rewrite('/secret/deep')).use(reached)));
  },
  'an Express application around one, in a route that sees the whole URL': (app, reached) => {
    const mounted = createServer(silent);
    mounted.use((req, res, next) => { req.url = '/old/secret'; reached(req, res, next); });
    const between = theirs();
    between.use((req, _res, next) => { req.url = '/secret/deep'; next(); });
    between.use('/secret', mounted as never);
    app.use('/old', Router().get('/', between as never));
  },
  'a handler of a parameter, before middleware whose prefix is taken off what it has made': (app, reached) => {
    app.param('any', (req, _res, next) => { req.url = '/any/secret'; next(); });
    app.use('/:any', reached);
  },
  'an async handler of a route that fails, before error middleware of that route': (app, reached) => {
    app.get('/old', async (req) => {
      await null;
      req.url = '/secret';
      throw new Error('x');
    }, ((_error: unknown, req: Request, res: Response, next: NextFunction) => reached(req, res, next)) as never);
  },
  'middleware inside a mounted application': (app, reached) => void app.use(inner('/secret', '/secret', reached)),
  'a Router that a mounted application holds': (app, reached) => {
    const router = Router();
    router.use(rewrite('/secret'));
    router.get('/secret', reached);
    app.use(createServer(silent).use(nothing, router) as never);
  },
  'an application mounted under a path': (app, reached) => void app.use('/secret', inner('/deep', '/deep', reached)),
  'an application in an application in a Router': (app, reached) => {
    const middle = createServer(silent).use('/', inner('/secret', '/secret', reached));
    app.use(Router().use(middle as never) as never);
  },
  'a handler of a parameter in a mounted application': (app, reached) => {
    const mounted = createServer(silent);
    mounted.param('any', (req, _res, next) => { req.url = '/secret'; next(); });
    mounted.get('/:any', reached);
    mounted.get('/secret', reached);
    app.use(mounted);
  },
  'an application that is called by hand': (app, reached) => {
    const mounted = createServer(silent);
    mounted.get('/secret', reached);
    app.use((req, res, next) => {
      req.url = '/secret';
      mounted(req, res, next);
    });
  },
  'an application that is called by hand and has no next': (app, reached) => {
    const mounted = createServer(silent);
    mounted.get('/secret', reached);
    app.get('/old', (req, res) => {
      req.url = '/secret';
      mounted(req, res);
    });
  },
  'an application that is handed the whole URL beneath a path': (app, reached) => {
    const mounted = inner('/secret', '/secret', reached);
    app.use('/old', (req, res, next) => {
      req.url = req.originalUrl;
      req.baseUrl = '';
      mounted(req, res, next);
    });
  },
  'an application that is handed another URL beneath a path': (app, reached) => {
    const mounted = createServer(silent);
    mounted.get('/secret', reached);
    app.use('/old', (req, res, next) => {
      req.url = '/secret';
      req.baseUrl = '';
      mounted(req, res, next);
    });
  },
  'an Express application between two of waypost': (app, reached) => {
    const mounted = createServer(silent);
    mounted.get('/secret', reached);
    const between = theirs();
    between.use((req, _res, next) => { req.url = '/secret'; next(); });
    between.use(mounted as never);
    app.use(between as never);
  },
  'an application that goes on behind itself': (app, reached) => {
    app.use(createServer(silent).use(rewrite('/secret')) as never);
    app.get('/secret', reached);
  },
  'next called again, while the rewritten target is checked': (app, reached) => {
    app.use((req, _res, next) => {
      if (req.url !== '/old') return next();
      req.url = '/secret';
      next();
      next();
      setImmediate(next);
    });
    app.get('/secret', reached);
  },
  'an error handler': (app, reached) => {
    app.use((_req, _res, next) => next(new Error('x')));
    app.use((_error: unknown, req: Request, _res: Response, next: NextFunction) => { req.url = '/secret'; next(); });
    app.get('/secret', reached);
  },
};

/** What a program may have assigned to req.baseUrl before; null for nothing. */
const BASES = [null, '/pre', '/old', '/', undefined] as const;

describe.each([
  ['a secret', SECRET],
  ['a secret that is looked up', async () => { await new Promise(setImmediate); return SECRET; }],
])('the check of an application around, with %s', (_name, secret) => {
  const ways = Object.entries(WAYS).flatMap(([way, lead]) => BASES.map((base) => [way, base, lead] as const));

  test.each(ways)('is not passed by %s, where req.baseUrl was assigned: %p', async (_way, base, lead) => {
    let reached = 0;
    const port = await running.app((app) => {
      if (base !== null) app.use((req, _res, next) => { req.baseUrl = base as string; next(); });
      lead(app, (_req, res) => { reached++; res.send('reached'); });
    }, {
      security: { requestSignature: { secret }, routeConfig: { requestSignature: { includeRoutes: ['/secret', '/secret/**', '/old/secret'] } } },
    });
    const path = lead === WAYS['an application mounted under a path'] ? '/secret/old' : '/old';
    const refused = await ask(port, path);
    expect([refused.status, reached]).toEqual([401, 0]);
    const signed = signRequest({ secret: SECRET, method: 'GET', url: path });
    const passed = await ask(port, path, { headers: { ...signed, 'X-Key-Id': 'one' } });
    expect([passed.status, String(passed.bytes), reached]).toEqual([200, 'reached', 1]);
  });
});

describe('a target that is made another while its check is pending', () => {
  const lead: Handler = (req, _res, next) => {
    req.url = '/a';
    next();
    req.url = '/secret';
  };
  const BEFORE: Record<string, (app: Application, reached: Handler) => void> = {
    'a further handler of a route': (app, reached) => app.get('/old', lead, reached),
    'a further handler of a parameter': (app, reached) => {
      app.param('any', lead as never);
      app.param('any', (req, res, next) => reached(req as Request, res as Response, next));
      app.get('/:any', nothing);
    },
    'a handler of a further parameter': (app, reached) => {
      app.param('any', lead as never);
      app.param('more', (req, res, next) => reached(req as Request, res as Response, next));
      app.get('/:any{/:more}', nothing);
    },
    'a further handler of a route that is called by hand': (app, reached) => {
      const route = Router().route('/any').all(lead, reached);
      app.use((req, res, next) => route.dispatch(req, res, next));
    },
    'what goes on behind a route that is called by hand': (app, reached) => {
      const route = Router().route('/any').all(lead);
      app.use((req, res, next) => route.dispatch(req, res, () => reached(req, res, next)));
    },
    'middleware': (app, reached) => {
      app.use(lead);
      app.use((req, res, next) => (req.url === '/secret' ? reached(req, res, next) : next()));
    },
  };

  test.each(Object.entries(BEFORE))('is asked about before %s', async (before, register) => {
    let reached = 0;
    const path = before.endsWith('further parameter') ? '/old/more' : '/old';
    const secret = async (): Promise<string> => { await new Promise(setImmediate); return SECRET; };
    const port = await running.app((app) => register(app, (_req, res) => { reached++; res.send('reached'); }), {
      security: {
        requestSignature: { secret },
        webhooks: [{ path: '/secret', preset: 'github', secret: 'the secret of somebody else, 32 bytes or more' }],
        routeConfig: { requestSignature: { includeRoutes: ['/a'] } },
      },
    });
    const signed = signRequest({ secret: SECRET, method: 'GET', url: path });
    const answer = await ask(port, path, { headers: { ...signed, 'X-Key-Id': 'one' } });
    expect([answer.status, reached]).toEqual([401, 0]);
  });
});

describe('an error that comes when a router has ended', () => {
  const late: Record<string, Handler> = {
    'thrown': (req, _res, next) => { next(); req.url = '/secret'; throw new Error('late'); },
    'rejected': async (req, _res, next) => { next(); await null; req.url = '/secret'; throw new Error('late'); },
    'given to next': (req, _res, next) => { next(); setImmediate(() => { req.url = '/secret'; next(new Error('late')); }); },
  };
  const waits: Handler = (_req, res) => void setTimeout(() => { if (!res.headersSent) res.status(418).end(); }, 30);
  const around: Record<string, (app: Application, handler: Handler, reached: Handler) => void> = {
    'by hand': (app, handler, reached) => {
      const router = Router().use(handler);
      app.use((req, res, next) => router(req, res, (error) => (error && req.url === '/secret' ? reached(req, res, next) : waits(req, res, next))));
    },
    'in Express': (app, handler, reached) => {
      const between = theirs();
      between.use(Router().use(handler) as never);
      between.use(waits as never);
      between.use('/secret', ((_error: unknown, req: Request, res: Response, next: NextFunction) => reached(req, res, next)) as never);
      app.use(between as never);
    },
    'in Express, of an application': (app, handler, reached) => {
      const between = theirs();
      between.use(createServer(silent).use(handler) as never);
      between.use(waits as never);
      between.use('/secret', ((_error: unknown, req: Request, res: Response, next: NextFunction) => reached(req, res, next)) as never);
      app.use(between as never);
    },
  };

  test.each(Object.keys(around).flatMap((where) => Object.keys(late).map((how) => [where, how])))('hands on no target that nobody has admitted: %s, %s', async (where, how) => {
    let reached = 0;
    const port = await running.app((app) => around[where]?.(app, late[how] as Handler, (_req, res) => { reached++; res.end('reached'); }), {
      security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/secret'] } } },
    });
    await ask(port, '/old');
    expect(reached).toBe(0);
  });
});

test.each(['at once', 'a secret that is looked up'])('an upgrade listener that makes another target of its request leads no other past the check: %s', async (how) => {
  const reached: string[] = [];
  const port = await running.app((app) => {
    app.on('upgrade', (req) => { if (req.url.startsWith('/old')) req.url = req.url.replace('/old', '/secret'); });
    app.on('upgrade', (req, socket) => {
      reached.push(req.url);
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: close\r\n\r\n');
    });
  }, {
    security: {
      requestSignature: { secret: how === 'at once' ? SECRET : async () => { await new Promise(setImmediate); return SECRET; } },
      routeConfig: { requestSignature: { includeRoutes: ['/secret'] } },
    },
  });
  const told = (path: string, headers: Record<string, string> = {}): Promise<string> => Wire.tell(port, head(`GET ${path}`, { Connection: 'Upgrade', Upgrade: 'websocket', ...headers }));
  for (const path of ['/old', '/secret']) expect(await told(path)).toMatch(/^HTTP\/1.1 401 /);
  expect(reached).toEqual([]);
  for (const path of ['/old', '/secret']) {
    expect(await told(path, { ...signRequest({ secret: SECRET, method: 'GET', url: path }), 'X-Key-Id': 'one' })).toMatch(/^HTTP\/1.1 101 /);
  }
  expect(await told('/open')).toMatch(/^HTTP\/1.1 101 /);
  expect(reached).toEqual(['/secret', '/secret', '/open']);
});

describe('a prefix that a rewrite adds and a mount strips again, so that the URL reads as it was sent', () => {
  type Mount = (prefix: Handler, path: string, mounted: Handler) => unknown;

  /** What may stand between two applications of waypost and add the prefix. */
  const BETWEEN: Record<string, Mount> = {
    'an Express application': (prefix, path, mounted) => theirs().use(prefix as never).use(path, mounted as never),
    'an Express Router': (prefix, path, mounted) => theirs.Router().use(prefix as never).use(path, mounted as never),
    'two Express Routers': (prefix, path, mounted) => theirs.Router().use(prefix as never).use(theirs.Router().use(path, mounted as never)),
    'a Router': (prefix, path, mounted) => Router().use(prefix).use(path, mounted as never),
    'a Router that is called': (prefix, path, mounted) => {
      const router = Router().use(prefix).use(path, mounted as never);
      return ((req, res, next) => (router as unknown as Handler)(req, res, next)) as Handler;
    },
    'an application': (prefix, path, mounted) => createServer(silent).use(prefix).use(path, mounted as never),
    'an Express program': (prefix, path, mounted) => express(silent).use(prefix as never).use(path, mounted as never),
    'a call by hand with another baseUrl': (_prefix, path, mounted) => ((req, res, next) => {
      req.baseUrl += path;
      mounted(req, res, next);
    }) as Handler,
  };

  const MOUNTED: Record<string, (reached: Handler) => unknown> = {
    'an application': (reached) => createServer(silent).get('/users', reached),
    'an Express program': (reached) => express(silent).get('/users', reached as never),
    'a Router': (reached) => Router().get('/users', reached),
    'an application that stands deeper': (reached) => theirs().use(createServer(silent).get('/users', reached) as never),
  };

  const MOMENTS: Record<string, (next: () => void) => void> = { 'at once': (next) => next(), 'later': (next) => void setImmediate(next) };

  test.each(Object.keys(BETWEEN).flatMap((between) => Object.keys(MOUNTED).map((mounted) => [between, mounted] as const)))('leads past no check: %s, before %s', async (between, mounted) => {
    for (const [at, scope] of [
      ['', { includeRoutes: ['/v1/**'] }], ['', { excludeRoutes: ['/users'] }], ['/m', { includeRoutes: ['/m/v1/**'] }], ['/m', { excludeRoutes: ['/m/users'] }],
    ] as const) {
      for (const go of Object.values(MOMENTS)) {
        let reached = 0;
        const port = await running.app((app) => {
          const prefix: Handler = (req, _res, next) => {
            if (req.url.startsWith('/users')) req.url = `/v1${req.url}`;
            go(next);
          };
          const inner = (MOUNTED[mounted] as (reached: Handler) => unknown)((_req, res) => { reached++; res.send('reached'); });
          app.use(at === '' ? '/' : at, (BETWEEN[between] as Mount)(prefix, '/v1', inner as Handler) as never);
        }, { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: scope } } });
        for (const path of [`${at}/users`, `${at}/users?x=1`]) {
          expect([(await ask(port, path)).status, reached]).toEqual([401, 0]);
          expect((await ask(port, path, { headers: { ...signRequest({ secret: SECRET, method: 'GET', url: path }) } })).status).toBe(200);
          reached = 0;
        }
      }
    }
  });
});

describe('a target that no rewrite has changed', () => {
  test('is not checked for what stands beneath it: neither a slash that was added, nor a query', async () => {
    const seen: string[] = [];
    const port = await running.app((app) => {
      const mounted = createServer(silent);
      mounted.use((req, _res, next) => { req.url = `/?asked`; next(); });
      mounted.get('/', (req, res) => { seen.push(req.originalUrl); res.send('open'); });
      const between = theirs();
      between.use('/inner', mounted as never);
      app.use('/open', mounted);
      app.use('/between', between as never);
    }, { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { excludeRoutes: ['/open', '/between/inner'] } } } });
    for (const path of ['/open', '/open?x', '/between/inner']) expect([path, (await ask(port, path)).status]).toEqual([path, 200]);
    expect(seen).toHaveLength(3);
  });
});

describe('a target beneath a prefix that was taken off the URL, and not added to the base', () => {
  test.each([['an application', (): Application => createServer(silent)], ['a Router', (): Router => Router()]])('is checked when it is made another, by %s', async (_name, make) => {
    let reached = 0;
    const port = await running.app((app) => {
      const mounted = make();
      mounted.use((req, _res, next) => { if (req.url === '/old') req.url = '/secret'; next(); });
      mounted.use((req, res) => { reached++; res.send(req.url); });
      app.use((req, res, next) => {
        req.url = req.url.slice('/n'.length);
        mounted(req, res, next);
      });
    }, { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/n/secret'] } } } });
    expect([(await ask(port, '/n/old')).status, reached]).toEqual([401, 0]);
    expect(String((await ask(port, '/n/open')).bytes)).toBe('/open');
  });
});

describe('a target that can be read as two paths, made where signatures are checked', () => {
  const decodes: Handler = (req, _res, next) => { req.url = decodeURIComponent(req.url); next(); };
  const checked = { ...silent, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/secret'] } } } };
  test.each([
    ['Express around the application', (): unknown => theirs().use(createServer(checked).use(decodes) as never)],
    ['who has called the application by hand', (): unknown => {
      const called = createServer(silent).use(decodes);
      return express(checked).use((req, res, next) => called(req, res, (error) => next(error)));
    }],
  ])('is an error that comes to %s with the target as it came', async (_name, make) => {
    const app = make() as theirs.Application;
    app.use(((error: { code: string }, req: theirs.Request, res: theirs.Response, _next: theirs.NextFunction) => void res.end(`${error.code} ${req.url}`)) as theirs.ErrorRequestHandler);
    const port = await running.serve(app);
    expect(String((await ask(port, '/a%20')).bytes)).toBe('DISPUTED_PATH /a%20');
  });
});

describe('a next that is called again, late, when the application has been left', () => {
  const twice: Handler = (_req, _res, next) => { next(); setImmediate(() => setImmediate(next)); };
  const slow = (_req: unknown, res: { headersSent: boolean; end(text: string): void }): void => void setTimeout(() => { if (!res.headersSent) res.end('waited'); }, 30);
  const LATE: Record<string, (app: Application, within: Handler) => void> = {
    'of a handler of a route': (app, within) => app.get('/old', twice, (_req, _res, next) => next('route'), within),
    'of a handler of a parameter': (app, within) => {
      let times = 0;
      app.param('any', twice as never);
      app.get('/:any', (req, res, next) => (times++ === 0 ? next() : within(req, res, next)));
    },
  };

  test.each(Object.entries(LATE))('%s, leads to no function unchecked', async (_name, register) => {
    for (const make of [theirs, (): Application => createServer(silent)]) {
      for (const within of [inner, (url: string, route: string, reached: Handler): Router => Router().use(rewrite(url)).get(route, reached)]) {
        let reached = 0;
        const app = createServer({ ...silent, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/secret'] } } } });
        register(app, within('/secret', '/secret', (_req, res) => { reached++; res.end('secret'); }) as Handler);
        const around = make() as theirs.Application;
        around.use(app as never);
        around.use(slow);
        expect([(await ask(await running.serve(around), '/old')).status, reached]).toEqual([401, 0]);
      }
    }
  });
});

describe('an application that was called by hand and has not ended', () => {
  /** Hands the request to an application that never answers, and goes on without it. */
  const besides: Handler = (req, res, next) => {
    const waiting = createServer(silent);
    waiting.use(() => undefined);
    waiting(req, res, () => undefined);
    next();
  };
  /** Waits for two applications at a time, of which the first called ends first. */
  const atATime: Handler = async (req, res, next) => {
    const turns = [1, 3].map(async (count) => new Promise<void>((resolve) => {
      const waiting = createServer(silent);
      waiting.use(async (_req, _res, goOn) => {
        for (let i = 0; i < count; i++) await new Promise(setImmediate);
        goOn();
      });
      waiting(req, res, () => resolve());
    }));
    await Promise.all(turns);
    next();
  };

  test.each([['one', besides], ['two, the last of which goes on', atATime]])('is not taken for one around what comes next: %s', async (_name, before) => {
    const reached: string[] = [];
    const port = await running.app((app) => {
      app.use('/old', before);
      app.use((req, _res, next) => { if (req.url === '/old') req.url = '/m/old'; next(); });
      app.use('/m', inner('/secret', '/m/secret', nothing).use((req, res) => { reached.push(req.baseUrl + req.url); res.end(); }));
    }, { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/m/secret'] } } } });
    expect([(await ask(port, '/old')).status, reached]).toEqual([401, []]);
  });

  test('within a framework of others, is not taken for one around what comes next there', async () => {
    const reached: string[] = [];
    const port = await running.app((app) => {
      const between = theirs();
      between.use('/old', besides as never);
      between.use((req, _res, next) => { if (req.url === '/old') req.url = '/m/old'; next(); });
      const mounted = inner('/secret', '/m/secret', nothing).use((req, res) => { reached.push(req.baseUrl + req.url); res.end(); });
      between.use('/m', mounted as never);
      app.use(between as never);
    }, { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/m/secret'] } } } });
    expect([(await ask(port, '/old')).status, reached]).toEqual([401, []]);
  });

  test('is not told of the errors of what comes next', async () => {
    const port = await running.app((app) => {
      app.use(besides);
      app.get('/', (_req, res) => res.sendFile('/nonexistent/file'));
      app.use((_error: unknown, _req: Request, res: Response, _next: NextFunction) => void res.status(404).end('told'));
    });
    expect(String((await ask(port, '/')).bytes)).toBe('told');
  });
});

describe('an application that was left running', () => {
  const later = (call: () => void): void => void setImmediate(call);
  const checked = { ...silent, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/secret'] } } } };

  /** Has an application that calls another by hand, behind a rewrite, left running by the one around it. */
  const LEFT: Record<string, (around: Application, left: Application) => void> = {
    'within another that has ended': (around, left) => {
      const between = createServer(silent);
      between.use((_req, _res, next) => { next(); next(); });
      between.use(left);
      around.use(between);
    },
    'within another that has ended, in a framework of others': (around, left) => {
      const [framework, between] = [theirs(), createServer(silent)];
      between.use((_req, _res, next) => { next(); next(); });
      between.use(left);
      framework.use(between as never);
      around.use(framework as never);
    },
  };

  /** Waits with its answer, so that whoever else answers is first. */
  function waits(app: Application): void {
    app.use((_req, res) => later(() => later(() => { if (!res.headersSent) res.end('waited'); })));
    app.use((_error: unknown, _req: Request, res: Response, _next: NextFunction) => later(() => later(() => { if (!res.headersSent) res.end('waited'); })));
  }

  test.each(Object.keys(LEFT))('%s, checks what it calls by hand', async (how) => {
    const reached: string[] = [];
    const leave = LEFT[how] as (around: Application, left: Application) => void;
    for (const rewritesWithin of [false, true]) {
      const port = await running.app((app) => {
        const called = createServer(silent);
        if (rewritesWithin) called.use((req, _res, next) => { req.url = '/secret'; next(); });
        called.get('/secret', (_req, res) => { reached.push(how); res.end('secret'); });
        const left = createServer(checked);
        left.use((req, res, next) => later(() => {
          if (!rewritesWithin) req.url = '/secret';
          called(req, res, next as (error?: unknown) => void);
        }));
        leave(app, left);
        waits(app);
      });
      expect([(await ask(port, '/old')).status, reached]).toEqual([401, []]);
    }
  });

  test('is not asked about what comes next where that is as it was', async () => {
    const port = await running.app((app) => {
      app.use((_req, _res, next) => { next(); next(); });
      app.use(createServer({ ...checked, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/m/**'], excludeRoutes: ['/m/open'] } } } }).use(nothingAtAll));
      const mounted = createServer(silent);
      mounted.get('/open', (_req, res) => res.send('answered'));
      app.use('/m', mounted);
    });
    expect(String((await ask(port, '/m/open')).bytes)).toBe('answered');
  });
});

describe('a handler of a parameter', () => {
  test('that fails late is an error of the request all the same', async () => {
    const port = await running.app((app) => {
      app.param('id', (_req, _res, next) => { next(); throw new Error('late'); });
      app.get('/:id', () => undefined);
      app.use((error: Error, _req: Request, res: Response, _next: NextFunction) => res.status(500).send(error.message));
    });
    expect(String((await ask(port, '/x')).bytes)).toBe('late');
  });
});

describe('a target that an application has made and hands back', () => {
  const check = (includeRoutes: string[]): object => ({ security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes } } } });
  const AROUND: Record<string, () => Application> = {
    'an application without a check': () => createServer(silent),
    'an Express program without a check': () => express(silent) as unknown as Application,
    'an application with another scope': () => createServer({ ...silent, ...check(['/other']) }),
    'a Router': () => Router() as unknown as Application,
    'Express': () => theirs() as never,
  };

  test.each(Object.keys(AROUND).flatMap((name) => [[name, ''], [name, '/m']] as const))('is asked about before anything behind it in %s, mounted at %j', async (name, mount) => {
    const around = (AROUND[name] as () => Application)();
    const guard = createServer({ ...silent, ...check(['/secret']) });
    guard.use((req, _res, next) => {
      if (/^\/(?:old|new)/.test(req.url)) req.url = req.url.startsWith('/old') ? '/secret' : '/open';
      next();
    });
    let reached = 0;
    around.use(mount === '' ? '/' : mount, guard as never);
    around.get(`${mount}/secret`, (_req, res) => { reached++; res.end('reached'); });
    around.get(`${mount}/open`, (_req, res) => { res.end('open'); });
    const port = await running.serve((req, res) => void (around as unknown as Handler)(req as never, res as never, () => res.end('end')));
    for (const path of [`${mount}/secret`, `${mount}/old`]) {
      expect([(await ask(port, path)).status, reached]).toEqual([401, 0]);
      expect(String((await ask(port, path, { headers: { ...signRequest({ secret: SECRET, method: 'GET', url: path }) } })).bytes)).toBe('reached');
      reached = 0;
    }
    expect(String((await ask(port, `${mount}/new`)).bytes)).toBe('open');
  });
});

describe('a route of a mounted router that sees the whole URL', () => {
  const rewrites: Handler = (req, _res, next) => { req.url = '/m/new'; next(); };

  test.each([
    ['before a further handler', (reached: Handler): Handler[] => [rewrites, reached]],
    ['before what a Router in it holds', (reached: Handler): Handler[] => [Router().use(rewrites).get('/m/new', reached) as unknown as Handler]],
    ['before a Router that it calls by hand', (reached: Handler): Handler[] => [(req, res, next) => {
      req.url = '/m/new';
      Router().use(reached)(req, res, next);
    }]],
  ])('is asked about by what was taken off without a base, %s', async (_name, handlers) => {
    let reached = 0;
    const port = await running.app((app) => {
      const router = Router();
      router.use('/m', Router().get('/old', ...handlers((_req, res) => { reached++; res.send('reached'); })).get('/open', (req, res) => res.send(req.url)));
      app.use((req, res, next) => {
        req.url = req.url.slice('/a'.length);
        router(req, res, next);
      });
    }, { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/a/m/new'] } } } });
    expect([(await ask(port, '/a/m/old')).status, reached]).toEqual([401, 0]);
    expect(String((await ask(port, '/a/m/open')).bytes)).toBe('/m/open');
    const signed = signRequest({ secret: SECRET, method: 'GET', url: '/a/m/old' });
    expect(String((await ask(port, '/a/m/old', { headers: { ...signed } })).bytes)).toBe('reached');
  });
});

test('a route that is called by hand beneath a path is asked about with what was added to the base', async () => {
  let reached = 0;
  const port = await running.app((app) => {
    const route = Router().route('/any').all((req, _res, next) => { if (req.url === '/old') req.url = '/orders'; next(); }, (_req, res) => { reached++; res.send('reached'); });
    app.use((req, res, next) => {
      req.url = req.url.slice('/api'.length);
      req.baseUrl += '/api';
      route.dispatch(req, res, next);
    });
  }, { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/api/orders'] } } } });
  for (const path of ['/api/orders', '/api/old']) {
    expect([(await ask(port, path)).status, reached]).toEqual([401, 0]);
    expect((await ask(port, path, { headers: { ...signRequest({ secret: SECRET, method: 'GET', url: path }) } })).status).toBe(200);
    reached = 0;
  }
  expect(String((await ask(port, '/api/open')).bytes)).toBe('reached');
});

test.each(['a Router', 'an application'])('an error for a target that can be read as two paths comes with the method as it came, from %s', async (name) => {
  const port = await running.app((app) => {
    const called = name === 'a Router' ? Router() : createServer(silent);
    called.use((req, _res, next) => { req.method = 'POST'; req.url = '/open'; next(); });
    called.use((req, _res, next) => { req.url = '/a\\b#'; next(); });
    app.use((req, res, next) => void (called as unknown as Handler)(req, res, (error) => (error ? res.end(`${req.method} ${req.url}`) : next())));
  }, { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: [{ path: '/x', methods: ['POST'] }] } } } });
  expect(String((await ask(port, '/x')).bytes)).toBe('GET /x');
});

test('a suffix is not cut off a path that others would read as two', async () => {
  const app = createServer({ ...silent, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/secret'] } } } });
  app.get('/:any(^[a ]+$)', (_req, _res, next) => next());
  const port = await running.serve((req, res) => {
    req.url = decodeURI(req.url as string);
    (app as unknown as Handler)(req as never, res as never, (error) => res.end(`${String(error)} ${req.url}`));
  });
  expect(String((await ask(port, '/a%20.xJson')).bytes)).toBe('undefined /a .xJson');
});

test('a handler of a parameter that goes on late leads to its middleware beneath the path that was matched', async () => {
  const port = await running.app((app) => {
    app.use((_req, _res, next) => { next(); next(); });
    app.param('any', (_req, _res, next) => void setImmediate(next));
    app.use('/:any', (req, res) => res.send(`${req.baseUrl} ${req.url}`));
    app.get('/a/:x/:y', () => undefined);
  }, { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/:any'] } } } });
  expect(String((await ask(port, '/a/x/y')).bytes)).toBe('/a /x/y');
});
