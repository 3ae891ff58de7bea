import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Application as ExpressApplication, IRouter, NextFunction, Request, RequestHandler, Response } from 'express';
import theirs from 'express';
import { type Application, createServer, express as ours, Router } from 'waypost';
import { answersOf, type ExpressModule, onBoth } from './support/both-expresses';
import { portOf, Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();

afterEach(() => running.close());

type Around = <T extends object>(given: T) => T;

/** What programs put around an application, a router or a route. */
const AROUNDS: Record<string, Around> = {
  'a Proxy that does nothing': (given) => new Proxy(given, {}),
  'a Proxy that reads by Reflect': (given) => new Proxy(given, { get: (target, name, receiver) => Reflect.get(target, name, receiver) as unknown }),
  'a Proxy that knows a few names': (given) => new Proxy(given, {
    get: (target, name) => (name === 'get' ? (...rest: unknown[]) => (target as unknown as Record<string, (...given: unknown[]) => unknown>)['get']?.(...rest) : (Reflect.get(target, name) as unknown)),
  }),
  'a Proxy around a Proxy': (given) => new Proxy(new Proxy(given, {}), {}),
};

const send = (text: string) => (_req: Request, res: Response): void => void res.send(text);
const pass = (_req: Request, _res: Response, next: NextFunction): void => next();

describe.each(Object.entries(AROUNDS))('%s is what it stands around', (_name, around) => {
  /** Uses a router in all ways, and returns what that gives. */
  function fill(router: IRouter, around: Around = (given) => given): unknown[] {
    const chained = router.use(pass).get('/get/:id', send('get')).all('/all', send('all'));
    router.param('id', (_req, res, next, id: string) => {
      res.set('x-id', id);
      next();
    });
    around(router.route('/route')).get(send('route')).post(send('posted'));
    return [chained === router, typeof router.get, router.stack.length, router.stack.map(({ name }) => name)];
  }

  test('a router', () => onBoth(async (express) => {
    const router = around(express.Router());
    const seen = fill(router, around);
    const app = express();
    app.use('/in', router);
    router.get('/late', send('late'));
    return [seen, await answersOf(app, ['/in/get/1', '/in/all', '/in/route', ['/in/route', { method: 'POST' }], '/in/late', '/in/none'], ['x-id'])];
  }));

  test('a router that is mounted so, and filled by itself', () => onBoth(async (express) => {
    const router = express.Router();
    const app = express();
    app.use(around(router));
    fill(router);
    return answersOf(app, ['/get/1', '/all', '/route', '/none'], ['x-id']);
  }));

  test('a router in a router', () => onBoth(async (express) => {
    const [outer, inner] = [around(express.Router()), around(express.Router({ mergeParams: true }))];
    outer.use('/:a', inner);
    inner.get('/:b', (req, res) => void res.json({ ...req.params, base: req.baseUrl }));
    const app = express();
    app.use('/out', outer);
    return answersOf(app, ['/out/1/2', '/out/1']);
  }));

  test('an application', () => onBoth(async (express) => {
    const app = around(express());
    app.set('title', 'given').enable('on').disable('off');
    app.locals['known'] = 'known';
    app.engine('html', (_path, _options, done) => done(null, 'html'));
    const seen = [app.get('title') as unknown, app.enabled('on'), app.disabled('off'), app.path(), app.mountpath, typeof app.settings, typeof app.request, typeof app.response];
    const before = app.listenerCount('mount');
    app.on('mount', () => undefined).once('mount', () => undefined);
    app.use('/json', express.json());
    app.param('id', (_req, res, next, id: string) => {
      res.set('x-id', id);
      next();
    });
    app.get('/get/:id', (req, res) => void res.send(`${String(req.app.get('title'))} ${String(req.app.locals['known'])}`)).all('/all', send('all'));
    around(app.route('/route')).get(send('route'));
    return [seen, app.listenerCount('mount') - before, await answersOf(app as never, ['/get/1', '/all', '/route', '/none'], ['x-id'])];
  }));

  test('an application that is mounted', () => onBoth(async (express) => {
    const [outer, inner] = [express(), around(express())];
    const mounted: unknown[] = [];
    outer.set('title', 'of the outer');
    inner.on('mount', (parent: ExpressApplication) => void mounted.push(parent === outer));
    outer.use('/in', inner as never);
    inner.get('/get', (req, res) => void res.send(`${String(req.app.get('title'))} ${req.app.path()} ${req.baseUrl}`));
    return [mounted, inner.mountpath, inner.path(), await answersOf(outer, ['/in/get', '/in/none'])];
  }));

  test('an application that listens', () => onBoth(async (express) => {
    const app = around(express());
    app.get('/get', send('get'));
    const server: Server = app.listen(0);
    await once(server, 'listening');
    const answer = await ask(portOf(server), '/get');
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    return answer.body;
  }));

  test('all of an application of waypost', async () => {
    const app = around(createServer({ logging: { level: 'silent' } }));
    app.get('/get', (_req, res) => res.send('get')).fallback((_req, res) => void res.end('other'));
    expect(app.routes()).toMatchObject([{ method: 'GET', path: '/get' }]);
    expect((await app.inject('/get')).body).toBe('get');
    expect(app.server).toBeNull();
    app.log.info('written nowhere');
    const server = await app.start(0, '127.0.0.1');
    expect(app.server).toBe(server);
    expect((await ask(portOf(server), '/else')).body).toBe('other');
    await app.close();
    app.removeAllListeners();
  });

  test('what it mounts is held to the paths of the signature check', () => {
    const app = createServer({ logging: { level: 'silent' }, security: { requestSignature: { secret: 'a secret of more than thirty-two bytes' } } });
    const loose = around(Router({ caseSensitive: false }));
    const within = Router();
    within.use(loose);
    expect(() => app.use(loose)).toThrow(/can't be used where request signatures are checked/);
    expect(() => app.use(within)).toThrow(/can't be used where request signatures are checked/);
  });
});

test('what its verbs register goes by the methods that a Proxy gives', () => onBoth(async (express) => {
  const close = (_req: Request, res: Response): void => void res.status(401).send('closed');
  const told: unknown[] = [];
  for (const make of [express.Router, express]) {
    for (const member of ['route', 'verb']) {
      const guarded = new Proxy(make() as IRouter, {
        get(target, name, receiver) {
          if (name !== 'route') return Reflect.get(target, name, receiver) as unknown;
          const route = (path: string): object => target.route(path);
          if (member === 'route') return (path: string) => target.route(path).all(close);
          return (path: string) => new Proxy(route(path), { get: (own, verb) => (verb === 'get' ? (...given: never[]) => target.route(path).get(close, ...given) : (Reflect.get(own, verb) as unknown)) });
        },
      });
      guarded.get('/get', send('get'));
      // Of an application Express has one for each method.
      if (member === 'route') guarded.all('/all', send('all'));
      told.push(await answersOf(express().use(guarded), ['/get', '/all', ['/get', { method: 'POST' }]]));
    }
  }
  return told;
}));

describe('a function of a Proxy is called for each request', () => {
  const guarded = <T extends (...given: never[]) => unknown>(given: T): T => new Proxy(given, {
    apply(target, that, [req, res, next]: [Request, Response, NextFunction]) {
      if (req.get === undefined ? req.headers['x-key'] === undefined : req.get('x-key') === undefined) res.writeHead(401).end('no key');
      else Reflect.apply(target, that, [req, res, next]);
    },
  });
  const ASKED = ['/get', ['/get', { headers: { 'x-key': 'yes' } }]] as const;

  test.each<[string, (express: ExpressModule) => ExpressApplication]>([
    ['around a router', (express) => {
      const router = guarded(express.Router());
      router.get('/get', send('get'));
      return express().use(router);
    }],
    ['around a router in one', (express) => {
      const [outer, inner] = [express.Router(), guarded(express.Router())];
      outer.use(inner);
      inner.get('/get', send('get'));
      return express().use(outer);
    }],
    ['which gives the handle of an application that is mounted', (express) => {
      const inner = express();
      inner.get('/get', send('get'));
      const handle = guarded((...given: [Request, Response, NextFunction]) => void (inner as unknown as { handle(...given: unknown[]): void }).handle(...given));
      return express().use(new Proxy(inner, { get: (target, name) => (name === 'handle' ? handle : (Reflect.get(target, name) as unknown)) }));
    }],
    ['around an application', (express) => guarded(express()).get('/get', send('get'))],
    ['in the place of a handle', (express) => {
      const router = express.Router();
      router.get('/get', send('get'));
      const app = express().use(router);
      const layers = (app as unknown as { router: { stack: { handle: typeof router }[] } }).router.stack;
      const layer = layers[layers.length - 1] as { handle: typeof router };
      layer.handle = guarded(layer.handle);
      return app;
    }],
  ])('%s', async (_name, make) => {
    expect(await onBoth((express) => answersOf(make(express), ASKED))).toEqual([['/get', 401, 'no key'], ['/get', 200, 'get']]);
  });

  type Target = (req: Request, res: Response, next: NextFunction) => void;
  const lets = (req: Request, res: Response): boolean => req.headers['x-key'] !== undefined || (res.status(401).send('no key'), false);
  /** What is put around a function: each asks for a key, where it is called. */
  const WRAPPERS: Record<string, (target: Target) => unknown> = {
    'a Proxy': guarded,
    'a Proxy that gives a guarded handle': (target) => new Proxy(target, {
      get: (inner, name) => (name === 'handle' && 'handle' in inner ? guarded((inner.handle as Target).bind(inner)) : (Reflect.get(inner, name) as unknown)),
    }),
    'a function that inherits from it': (target) => Object.setPrototypeOf((req: Request, res: Response, next: NextFunction) => void (lets(req, res) && target(req, res, next)), target),
    'a function with its properties': (target) => Object.assign((req: Request, res: Response, next: NextFunction) => void (lets(req, res) && target(req, res, next)), target),
    'nothing, its handle replaced': (target) => {
      const { handle } = target as unknown as { handle?: Target };
      return handle === undefined ? guarded(target) : Object.assign(target, { handle: guarded(handle.bind(target)) });
    },
  };
  /** Where it is used. */
  const USES: Record<string, (app: ExpressApplication, router: IRouter, wrapped: RequestHandler) => void> = {
    'in an application': (app, _router, wrapped) => app.use(wrapped),
    'in an application at a path': (app, _router, wrapped) => app.use('/in', wrapped),
    'in an application among others': (app, _router, wrapped) => app.use('/in', pass, [pass, [wrapped]] as unknown as RequestHandler),
    'in a router': (app, router, wrapped) => app.use(router.use(wrapped)),
    'in a router at a path': (app, router, wrapped) => app.use('/in', router.use('/in', wrapped)),
    'in a router among others': (app, router, wrapped) => app.use(router.use('/:in', pass, [pass, [wrapped]] as unknown as RequestHandler)),
    'as a handler': (app, _router, wrapped) => app.all('/{*all}', pass, wrapped),
    'as a handler in a router': (app, router, wrapped) => app.use(router.get('/{*all}', wrapped, pass)),
    'as a handler of a route': (app, router, wrapped) => {
      router.route('/{*all}').get(wrapped).post(wrapped);
      app.use('/in', router);
    },
    'in a mounted application': (app, router, wrapped) => app.use(router.use('/', wrapped)),
  };

  describe.each(Object.keys(WRAPPERS))('%s', (wrapper) => {
    test.each(Object.keys(USES))('used %s, around routers and applications of both makes', (use) => onBoth(async (express) => {
      const answers: unknown[] = [];
      // What Express copies of an application has its methods, which are no own properties here.
      for (const make of wrapper === 'a function with its properties' ? [express.Router, theirs.Router, theirs] : [express.Router, express, theirs.Router, theirs]) {
        const inner = make() as IRouter;
        inner.get('/{*all}', send('reached'));
        const app = express();
        USES[use]?.(app, express.Router(), WRAPPERS[wrapper]?.(inner as unknown as Target) as RequestHandler);
        answers.push(await answersOf(app, ['/in', '/in/in/x', ['/in', { headers: { 'x-key': 'yes' } }], ['/in/in/x', { headers: { 'x-key': 'yes' } }]]));
      }
      return answers;
    }));
  });

  test.each<[string, (app: Application) => Promise<Server>]>([
    ['start', (app) => app.start(0, '127.0.0.1') as Promise<Server>],
    ['listen', async (app) => {
      const server = app.listen(0) as Server;
      await once(server, 'listening');
      return server;
    }],
  ])('around an application that is served by %s', async (_name, serve) => {
    const app = guarded(ours({ logging: { level: 'silent' } }));
    app.get('/get', (_req, res) => res.send('get'));
    const port = portOf(await serve(app));
    expect([(await ask(port, '/get')).status, (await ask(port, '/get', { headers: { 'x-key': 'yes' } })).body]).toEqual([401, 'get']);
    await app.close();
  });
});

test('what a program makes of one by Object.create registers in it', () => onBoth(async (express) => {
  const router = express.Router();
  const [made, route] = [Object.create(router) as IRouter, Object.create(router.route('/route')) as ReturnType<IRouter['route']>];
  made.get('/get', send('get'));
  route.get(send('route'));
  const app = express();
  (Object.create(app) as ExpressApplication).use(pass, router);
  return answersOf(app, ['/get', '/route', '/none']);
}));

test('a function that is given all that a router has is called, and shows its stack', () => onBoth(async (express) => {
  const router = express.Router();
  const store = new AsyncLocalStorage<string>();
  const wrapper = Object.assign((req: Request, res: Response, next: NextFunction) => store.run('kept', () => router(req, res, next)), router);
  router.get('/get', (_req, res) => void res.send(store.getStore()));
  return [wrapper.stack.length, Object.keys(router).includes('stack'), await answersOf(express().use(wrapper as never), ['/get', '/none'])];
}));

test('what is reached by a Proxy bears the names and numbers of parameters that it has without', () => {
  const members = (object: object): unknown[] => Object.getOwnPropertyNames(object).map((name) => {
    const value = Object.getOwnPropertyDescriptor(object, name)?.value as unknown;
    return [name, typeof value === 'function' ? value.name : typeof value];
  });
  for (const made of [Router(), Router().route('/'), ours({ logging: { level: 'silent' } })]) {
    const odd = members(Object.getPrototypeOf(made) as object).filter((member) => (member as unknown[])[1] === 'called');
    expect(odd).toEqual([]);
  }
});
