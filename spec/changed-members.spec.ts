import { type IncomingMessage, type ServerResponse } from 'node:http';
import theirs from 'express';
import { createServer, express, Router, signRequest } from 'waypost';
import { answersOf, type Asked, type ExpressModule, onBoth } from './support/both-expresses';
import { LogRecorder, Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();
afterEach(() => running.close());

 
type Loose = any;
interface World { app: Loose; router: Loose; route: Loose; sub: Loose; lib: ExpressModule }
type Change = (world: World) => void;

const deny = (_req: Loose, res: Loose): void => void res.status(403).send('denied');
const strip = (key: string, value: unknown): unknown => (key === 'password' ? undefined : value);
const show = (req: Loose, res: Loose): void => res.json({ password: 'secret', ip: req.ip, secure: req.secure, query: req.query, subdomains: req.subdomains, marker: req.marker, text: '<b>' });

/** A program of all that may be changed, whose change may come with a request, and what it answers behind it. */
async function answersBehind(lib: ExpressModule, change: Change, isLate: boolean): Promise<unknown[]> {
  const [app, router, inner, sub] = [lib(), lib.Router(), lib.Router(), lib()] as [Loose, Loose, Loose, Loose];
  app.get('/change', (_req: Loose, res: Loose) => {
    change(world);
    res.send('changed');
  });
  app.use('/admin', function guard(_req: Loose, _res: Loose, next: () => void) { next(); });
  const route = app.route('/admin');
  route.get(function one(_req: Loose, _res: Loose, next: () => void) { next(); }, function two(_req: Loose, res: Loose) { res.send('admin'); });
  app.get('/show', show);
  app.get('/jsonp', (_req: Loose, res: Loose) => res.jsonp({ a: 1 }));
  app.get('/send', (_req: Loose, res: Loose) => res.send('sent'));
  router.get('/secret', function secret(_req: Loose, res: Loose) { res.send('secret'); });
  router.get('/Case', (_req: Loose, res: Loose) => res.send('Case'));
  router.get('/slash/', (_req: Loose, res: Loose) => res.send('slash'));
  router.get('/id', (req: Loose, res: Loose) => res.json({ ...req.params }));
  inner.get('/show', show);
  router.use('/inner', inner);
  sub.get('/show', show);
  sub.get('/jsonp', (_req: Loose, res: Loose) => res.jsonp({ a: 1 }));
  sub.get('/send', (_req: Loose, res: Loose) => res.send('sent'));
  app.use('/r/:id', router);
  app.use('/sub', sub);
  const world: World = { app, router, route, sub, lib };
  if (!isLate) change(world);
  const headers = { 'X-Forwarded-For': '1.2.3.4', 'X-Forwarded-Proto': 'https', Host: 'a.b.example.com' };
  const asked: Asked[] = ['/show?a=1&q[b]=2', '/sub/show?a=1', '/r/7/inner/show', '/jsonp?callback=f&cb=g', '/send', '/sub/jsonp?callback=f&cb=g', '/sub/send', '/admin', '/r/7/secret', '/r/7/Case', '/r/7/case', '/r/7/slash', '/r/7/slash/', '/r/7/id', '/nothing']
    .map((target) => [target, { headers }]);
  return answersOf(app, [...asked.slice(0, 3), isLate ? '/change' : '/send', ...asked], ['etag', 'x-took', 'content-type']);
}

const SETTINGS: Record<string, unknown> = {
  'json replacer': strip, 'json escape': true, 'json spaces': 2, 'trust proxy fn': () => true, 'query parser fn': () => ({ z: '1' }), 'etag fn': () => 'W/"z"',
  'jsonp callback name': 'cb', 'subdomain offset': 1, etag: false, 'trust proxy': true, 'query parser': false,
};
const WAYS: Record<string, (settings: Loose, name: string, value: unknown) => void> = {
  written: (settings, name, value) => { settings[name] = value; },
  defined: (settings, name, value) => { Object.defineProperty(settings, name, { value, writable: true, enumerable: true, configurable: true }); },
  assigned: (settings, name, value) => { Object.assign(settings, { [name]: value }); },
  'taken out and written': (settings, name, value) => {
    delete settings[name];
    settings[name] = value;
  },
};

const CHANGES: Record<string, Change> = {
  'settings, taken out': ({ app }) => {
    delete app.settings['etag fn'];
    delete app.settings['query parser fn'];
  },
  'settings, by inheritance': ({ app }) => { Object.setPrototypeOf(app.settings, Object.assign(Object.create(null), { 'json replacer': strip })); },
  'the locals\' settings': ({ app }) => { app.locals.settings['json replacer'] = strip; },
  'router.handle, with what it goes on by': ({ app }) => {
    const { handle } = app.router;
    app.router.handle = function (this: unknown, req: Loose, res: Loose, done: (error?: unknown) => void) {
      res.set('X-Took', req.path);
      return handle.call(this, req, res, (error: unknown) => done(error));
    };
  },
  'router.handle, by a guard': ({ app }) => {
    const { handle } = app.router;
    app.router.handle = function (this: unknown, req: Loose, res: Loose, done: unknown) {
      return req.get('x-forwarded-for') && req.path.startsWith('/admin') ? deny(req, res) : handle.call(this, req, res, done);
    };
  },
  'router.handle, defined': ({ app }) => { Object.defineProperty(app.router, 'handle', { value: deny, configurable: true, writable: true }); },
  'router.handle of a mounted application': ({ sub }) => { sub.router.handle = deny; },
  'handle of a mounted application': ({ sub }) => { sub.handle = deny; },
  'router.use': ({ app }) => {
    const { use } = app.router;
    app.router.use = function (this: unknown) { return use.call(this, '/nothing', deny); };
    app.use((_req: Loose, res: Loose) => res.send('open'));
  },
  'router.route': ({ app }) => {
    const { route } = app.router;
    app.router.route = function (this: unknown, path: string) { return route.call(this, path).all(deny); };
    app.get('/nothing', (_req: Loose, res: Loose) => res.send('open'));
  },
  'router.stack, moved': ({ app }) => {
    app.use(deny);
    app.router.stack.unshift(app.router.stack.pop());
  },
  'router.stack, a copy sorted once it is assigned': ({ app }) => {
    app.use(function first(req: Loose, res: Loose) { deny(req, res); });
    const list = app.router.stack.map((layer: unknown) => layer);
    app.router.stack = list;
    list.sort((one: Loose, other: Loose) => Number(other.name === 'first') - Number(one.name === 'first'));
  },
  'router.stack, filled once it is assigned': ({ router }) => {
    const before = router.stack;
    const list = (router.stack = [] as unknown[]);
    for (const layer of before) if (layer.name !== 'secret' && layer.route?.path !== '/secret') list.push(layer);
  },
  'stack of a router, a copy turned': ({ router }) => {
    router.use('/secret', deny);
    const list = [...router.stack];
    router.stack = list;
    list.reverse();
  },
  'stack of a router, registered in once it is assigned': ({ router }) => {
    const list = [...router.stack];
    router.stack = list;
    router.use('/secret', deny);
    list.unshift(list.pop());
  },
  'stack of a router, emptied once it is assigned': ({ router }) => {
    const list = [...router.stack];
    router.stack = list;
    list.length = 0;
  },
  'stack of a route, a copy turned': ({ app }) => {
    const route = app.route('/nothing');
    route.get((_req: Loose, res: Loose) => res.send('open'), deny);
    const list = [...route.stack];
    route.stack = list;
    list.reverse();
  },
  'stack of a route, another\'s handler put in': ({ app, route }) => {
    const list = [...route.stack];
    route.stack = list;
    list.unshift(app.route('/elsewhere').get(deny).stack[0]);
  },
  'mergeParams': ({ router }) => { router.mergeParams = true; },
  'mergeParams, and back': ({ router }) => {
    router.mergeParams = true;
    router.mergeParams = false;
  },
  'response, by its prototype': ({ app }) => {
    Object.setPrototypeOf(app.response, Object.create(Object.getPrototypeOf(app.response), { jsonp: { value(this: Loose) { return this.send('one'); }, writable: true, configurable: true } }));
  },
};

for (const [name, value] of Object.entries(SETTINGS)) {
  for (const [way, write] of Object.entries(WAYS)) {
    CHANGES[`settings['${name}'], ${way}`] = ({ app }) => write(app.settings, name, value);
  }
  CHANGES[`settings['${name}'] of a mounted application`] = ({ sub }) => { sub.settings[name] = value; };
}

describe.each([['before the first request', false], ['by a request', true]] as const)('what a program changes %s counts as on Express', (_when, isLate) => {
  let plain: unknown[];
  beforeAll(async () => {
    plain = await answersBehind(theirs, () => undefined, isLate);
  });

  test.each(Object.keys(CHANGES))('%s', async (name) => {
    // Of a router that has had requests, that is not heard: assigned it is.
    if (isLate && name.endsWith('handle, defined')) return;
    const change = CHANGES[name] as Change;
    const changed = await onBoth((lib) => answersBehind(lib, change, isLate));
    // The program is one by which the change can be seen, but for what means nothing by itself.
    if (!/etag'\]|'trust proxy'|'query parser'|and back/.test(name)) expect(changed).not.toEqual(plain);
  });
});

test('settings assigned anew count', async () => {
  await onBoth(async (lib) => {
    const app = lib() as Loose;
    app.get('/', show);
    app.settings = Object.assign(Object.create(null), app.settings, { 'json replacer': strip, 'trust proxy fn': () => true, own: 1 });
    return [await answersOf(app, [['/', { headers: { 'X-Forwarded-For': '1.2.3.4' } }]]), app.get('own')];
  });
});

test('another router defined in the place of an application\'s is called, and registered in, as it is by then', async () => {
  await onBoth(async (lib) => {
    const [app, sub] = [lib(), lib()] as [Loose, Loose];
    let routers = 0;
    const make = (): Loose => {
      const router = lib.Router();
      const made = ++routers;
      router.get('/made', (_req: Loose, res: Loose) => res.send(`router ${made}`));
      return router;
    };
    let current = make();
    app.get('/old', (_req: Loose, res: Loose) => res.send('old'));
    Object.defineProperty(app, 'router', { get: () => current, configurable: true });
    const defined = lib.Router();
    defined.use(deny);
    sub.get('/open', (_req: Loose, res: Loose) => res.send('open'));
    Object.defineProperty(sub, 'router', { value: defined });
    app.get('/reload', (_req: Loose, res: Loose) => {
      current = make();
      app.get('/later', (_req_: Loose, res_: Loose) => res_.send('later'));
      app.use('/sub', sub);
      res.send('reloaded');
    });
    return answersOf(app, ['/old', '/made', '/later', '/reload', '/made', '/later', '/sub/open', '/none']);
  });
});

test('an application that is mounted in one with another router knows where, as in one without', async () => {
  await onBoth(async (lib) => {
    const outcomes: unknown[] = [];
    for (const change of [
      (app: Loose): void => { Object.defineProperty(app, 'router', { value: lib.Router() }); },
      (app: Loose): void => {
        const { use } = app.router;
        app.router.use = function (this: unknown, path: string, handler: unknown) { return use.call(this, path, handler); };
      },
      (app: Loose): void => {
        const { use } = app.router;
        app.router.use = function (this: unknown, path: string, handler: (...given: unknown[]) => unknown) {
          return use.call(this, path, function timed(req: unknown, res: unknown, next: unknown) { return handler(req, res, next); });
        };
      },
      (app: Loose): void => {
        const { handle } = app.router;
        app.router.handle = function (this: unknown, ...given: unknown[]) { return handle.apply(this, given); };
      },
    ]) {
      const [app, sub] = [lib(), lib()] as [Loose, Loose];
      app.set('trust proxy', true).set('json spaces', 1);
      app.locals.who = 'app';
      let mounts = 0;
      sub.on('mount', () => mounts++);
      change(app);
      app.request.marker = 'of app';
      sub.get('/show', show);
      app.use('/sub', sub, (req: Loose, res: Loose) => res.send(String(req.app === app)));
      app.use((_req: Loose, _res: Loose, next: () => void) => next(), [(_req: Loose, res: Loose) => res.send('last')]);
      const answers = await answersOf(app, [['/sub/show', { headers: { 'X-Forwarded-For': '9.9.9.9', 'X-Forwarded-Proto': 'https' } }], '/sub/none', '/none']);
      outcomes.push(mounts, sub.parent === app, sub.mountpath, answers);
    }
    return outcomes;
  });
});

test('the router of another application is a router, by the settings of who calls it', async () => {
  await onBoth(async (lib) => {
    const [app, sub] = [lib(), lib()] as [Loose, Loose];
    app.set('trust proxy', true).set('json spaces', 1);
    sub.get('/show', show);
    sub.get('/app', (req: Loose, res: Loose) => res.send(String([req.app === app, res.app === app, req.baseUrl, sub.parent === undefined])));
    app.use('/sub', sub.router);
    app.get('/again', (req: Loose, res: Loose, next: unknown) => {
      req.url = '/sub/app';
      app.router.handle(req, res, next);
    });
    return answersOf(app, [['/sub/show', { headers: { 'X-Forwarded-For': '9.9.9.9' } }], '/sub/app', '/sub/none', '/again']);
  });
});

test('a router that is defined once there were requests counts, and what is assigned does not', async () => {
  await onBoth(async (lib) => {
    const [app, other] = [lib(), lib()] as [Loose, Loose];
    app.get('/a', (_req: Loose, res: Loose) => res.send('a'));
    app.get('/close', (_req: Loose, res: Loose) => {
      const closed = lib.Router();
      closed.use(deny);
      Object.defineProperty(app, 'router', { value: closed, configurable: true });
      app.get('/late', (_same: Loose, answer: Loose) => answer.send('late'));
      res.send('closed');
    });
    const swapped = lib() as Loose;
    let current = swapped.router;
    Object.defineProperty(swapped, 'router', { get: () => current });
    swapped.get('/a', (_req: Loose, res: Loose) => res.send('a'));
    swapped.get('/close', (_req: Loose, res: Loose) => {
      current = lib.Router();
      current.use(deny);
      res.send('closed');
    });
    const swaps = await answersOf(swapped, ['/a', '/close', '/a']);
    Reflect.set(other, 'router', lib.Router());
    other.router.use(deny);
    other.get('/a', (_req: Loose, res: Loose) => res.send('a'));
    return [swaps, await answersOf(app, ['/a', '/close', '/a', '/late']), await answersOf(other, ['/a'])];
  });
});

test.each(['req', 'res'] as const)('%s.app, made another application, brings its settings', async (which) => {
  await onBoth(async (lib) => {
    const [app, tenant] = [lib(), lib()] as [Loose, Loose];
    tenant.set('json replacer', strip).set('trust proxy', true).set('query parser', 'extended').set('json spaces', 2).set('etag', false);
    app.use('/tenant', (req: Loose, res: Loose, next: () => void) => {
      (which === 'req' ? req : res).app = tenant;
      next();
    });
    app.use((req: Loose, res: Loose) => show(req, res));
    const headers = { 'X-Forwarded-For': '1.2.3.4', 'X-Forwarded-Proto': 'https' };
    return answersOf(app, [['/tenant?a[b]=1', { headers }], ['/?a[b]=1', { headers }]], ['etag']);
  });
});

test('Router.prototype.handle counts for applications too', async () => {
  await onBoth(async (lib) => {
    const prototype = lib.Router.prototype as Loose;
    const { handle } = prototype;
    try {
      prototype.handle = function (this: unknown, req: Loose, res: Loose, next: unknown) {
        return req.url.startsWith('/admin') && !req.headers.auth ? deny(req, res) : handle.call(this, req, res, next);
      };
      const [app, router] = [lib(), lib.Router()] as [Loose, Loose];
      for (const each of [app, router]) each.get('/admin', (_req: Loose, res: Loose) => res.send('admin'));
      app.use('/r', router);
      return await answersOf(app, ['/admin', '/r/admin', ['/admin', { headers: { Auth: 'yes' } }], ['/r/admin', { headers: { Auth: 'yes' } }], '/none']);
    } finally {
      prototype.handle = handle;
    }
  });
});

test('caseSensitive and strict of a router count once they are set', async () => {
  const app = express({ logging: { level: 'silent' } });
  const router = Router();
  router.caseSensitive = true;
  router.strict = true;
  router.get('/A', (_req, res) => void res.send('A')).get('/a', (_req, res) => void res.send('a'));
  app.use('/r', router);
  expect(await answersOf(app as never, ['/r/A', '/r/a', '/r/a/'])).toEqual([['/r/A', 200, 'A'], ['/r/a', 200, 'a'], ['/r/a/', 404, '']]);
});

describe('an application that a program has wrapped the router\'s handle of', () => {
  const WRAPS: Record<string, (app: Loose) => unknown> = {
    nothing: () => undefined,
    'the handle': (app) => wrap(app.router),
    'the handle, late': (app) => wrap(app.router, true),
    'that of all routers': () => wrap(Router.prototype),
    'the application\'s own': (app) => wrap(app),
  };
  const { handle: own } = Router.prototype;
  function wrap(owner: Loose, isLate = false): void {
    const { handle } = owner;
    owner.handle = function (this: unknown, ...given: unknown[]) {
      if (isLate) setImmediate(() => handle.apply(this, given));
      else handle.apply(this, given);
    };
  }
  afterEach(() => { (Router.prototype as Loose).handle = own; });

  test.each(Object.keys(WRAPS))('lists its routes, warns at its start, and answers other methods, as without: %s', async (name) => {
    const outcomes = await Promise.all([() => undefined, WRAPS[name] as (app: Loose) => unknown].map(async (change) => {
      const log = new LogRecorder();
      const app = createServer({
        logging: { logger: log }, routing: { methodNotAllowed: true },
        security: { requestSignature: { secret: 'correct horse battery staple 0123456789' }, routeConfig: { requestSignature: { includeRoutes: ['/api'] } } },
      });
      change(app);
      app.get('/a', (_req, res) => res.send('a')).get('/api/b', (_req, res) => res.send('b')).post('/a', (_req, res) => res.send('a'));
      app.get('/a', (_req, res) => res.send('covered'));
      const port = await running.start(app);
      const answers = await Promise.all((['GET', 'PUT', 'OPTIONS', 'HEAD', 'DELETE'] as const).flatMap((method) => ['/a', '/api/b', '/none'].map(async (path) => {
        const { status, headers: { allow } } = await ask(port, path, { method });
        return [method, path, status, allow];
      })));
      return [app.routes(), log.messages('warn'), answers];
    }));
    expect(outcomes[1]).toEqual(outcomes[0]);
    expect(outcomes[0]).toEqual([
      expect.arrayContaining([expect.objectContaining({ path: '/api/b' })]),
      expect.arrayContaining([expect.stringContaining('is not covered by the signature check'), expect.stringContaining('is covered by GET /a')]),
      expect.arrayContaining([['PUT', '/a', 405, 'GET, HEAD, POST, OPTIONS']]),
    ]);
  });
});

describe('what stands in the place of a router\'s handle is called once, whatever it makes of the request', () => {
  const CHANGES_OF_REQUEST: Record<string, (req: Loose) => unknown> = {
    nothing: (req) => req,
    'another base': (req) => Object.assign(req, { baseUrl: `${req.baseUrl}/t1` }),
    'another method': (req) => Object.assign(req, { method: req.method === 'GET' ? 'POST' : 'GET' }),
    'a prefix that is taken off': (req) => Object.assign(req, { url: '/open' }),
    'a request by inheritance': (req) => Object.create(req),
    'a copy by inheritance': (req) => Object.assign(Object.create(Object.getPrototypeOf(req) as object), req),
  };
  const secret = 'correct horse battery staple 0123456789';
  const makes: [string, () => Loose][] = [
    ['Express', () => theirs()], ['express()', () => express({ logging: { level: 'silent' } })],
    ['createServer()', () => createServer({ logging: { level: 'silent' } })],
    ['with signatures', () => createServer({ logging: { level: 'silent' }, security: { requestSignature: { secret }, routeConfig: { requestSignature: { includeRoutes: ['/closed'] } } } })],
    ['express() with signatures', () => express({ logging: { level: 'silent' }, security: { requestSignature: { secret }, routeConfig: { requestSignature: { includeRoutes: ['/closed'] } } } })],
  ];

  test.each(Object.keys(CHANGES_OF_REQUEST).flatMap((name) => [[name, false], [name, true]] as const))('%s, late: %p', async (name, isLate) => {
    const outcomes = await Promise.all(makes.map(async ([, make]) => {
      const app = make();
      let calls = 0;
      const { handle } = app.router;
      app.router.handle = function (this: unknown, req: Loose, res: Loose, next: unknown) {
        calls++;
        const other = (CHANGES_OF_REQUEST[name] as (req: Loose) => unknown)(req);
        if (isLate) setImmediate(() => handle.call(this, other, res, next));
        else handle.call(this, other, res, next);
      };
      app.all('/open', (_req: Loose, res: Loose) => res.end('open'));
      const answers = await answersOf(app, [name === 'a prefix that is taken off' ? '/t1/open' : '/open']);
      return [answers, calls];
    }));
    // A base that contradicts the URL leaves the target untold: it needs the signature.
    const contradicts = name === 'another base';
    const refused = (outcomes[0] as [Loose[][], number]);
    expect(outcomes).toEqual(makes.map(([kind]) => (contradicts && kind.endsWith('with signatures') ? [[[refused[0][0]?.[0], 401, expect.any(String)]], 1] : outcomes[0])));
    expect(refused[1]).toBe(1);
  });
});

describe('where request signatures are checked', () => {
  const secret = 'correct horse battery staple 0123456789';
  const signed = (method: string, url: string): Record<string, string> => signRequest({ secret, method, url });
  const guarded = { logging: { level: 'silent' }, security: { requestSignature: { secret }, routeConfig: { requestSignature: { excludeRoutes: ['/open'] } } } } as const;

  test('an application\'s router lets nothing through unsigned, whoever calls it, and however', async () => {
    const app = createServer(guarded);
    app.get('/closed', (_req, res) => res.send('closed'));
    app.get('/open', (req, res, next) => {
      req.url = '/closed';
      app.router.handle(req, res, next);
    });
    const calls: ((req: IncomingMessage, res: ServerResponse) => void)[] = [
      app, (req, res) => app.router.handle(req, res, () => void res.end('left')), (req, res) => app.router(req, res, () => void res.end('left')),
    ];
    const around = createServer({ logging: { level: 'silent' } }).use(app.router);
    for (const listener of [...calls, around, express({ logging: { level: 'silent' } }).use('/', app.router)]) {
      const port = await running.serve(listener as never);
      expect((await ask(port, '/closed')).status).toBe(401);
      expect((await ask(port, '/open')).status).toBe(401);
      expect(await ask(port, '/closed', { headers: signed('GET', '/closed') })).toMatchObject({ status: 200, body: 'closed' });
    }
  });

  // A path of its own in the application leads to its routes by another target than the one that was checked.
  test.each([
    ['an alias by the router', (app: Loose) => app.use('/v1', (req: Loose, res: Loose, next: unknown) => app.router(req, res, next))],
    ['an alias by its handle', (app: Loose) => app.use('/v1', (req: Loose, res: Loose, next: unknown) => app.router.handle(req, res, next))],
    ['an alias of the request\'s application', (app: Loose) => app.use('/v1', Router().use((req, res, next) => (req.app as Loose).router(req, res, next)))],
    ['an alias that is late', (app: Loose) => app.use('/v1', (req: Loose, res: Loose, next: unknown) => void setImmediate(() => app.router.handle(req, res, next)))],
    ['an alias in a mounted application', (app: Loose) => app.use('/v1', express({ logging: { level: 'silent' } }).use((req: Loose, res: Loose, next: unknown) => app.router.handle(req, res, next)))],
    ['an alias by another request', (app: Loose) => app.use('/v1', (req: Loose, res: Loose, next: unknown) => app.router.handle(Object.create(req), res, next))],
    ['an alias behind a handle of the program\'s', (app: Loose) => {
      const { handle } = app.router;
      app.router.handle = function (this: unknown, ...given: unknown[]) { return handle.apply(this, given); };
      app.use('/v1', (req: Loose, res: Loose, next: unknown) => app.router.handle(req, res, next));
    }],
    ['a handle of the program\'s that takes off a prefix', (app: Loose) => {
      const { handle } = app.router;
      app.router.handle = function (this: unknown, req: Loose, res: Loose, next: unknown) {
        if (req.url.startsWith('/v1/')) Object.assign(req, { url: req.url.slice(3) });
        return handle.call(this, req, res, next);
      };
    }],
    ['a handle of the program\'s that makes it a base', (app: Loose) => {
      const { handle } = app.router;
      app.router.handle = function (this: unknown, req: Loose, res: Loose, next: unknown) {
        if (req.url.startsWith('/v1/')) Object.assign(req, { url: req.url.slice(3), baseUrl: '/v1' });
        return handle.call(this, req, res, next);
      };
    }],
    ['a handle of the program\'s that makes another method', (app: Loose) => {
      const { handle } = app.router;
      app.router.handle = function (this: unknown, req: Loose, res: Loose, next: unknown) {
        if (req.method === 'POST' && req.url === '/api/secret') req.method = 'GET';
        return handle.call(this, req, res, next);
      };
      app.use('/v1', (req: Loose, res: Loose, next: unknown) => app(req, res, next));
    }],
  ])('%s leads to no route unsigned', async (name, change: (app: Loose) => unknown) => {
    const requestSignature = { includeRoutes: [{ path: '/api/**', methods: ['GET'] }] };
    const app = createServer({ ...guarded, security: { ...guarded.security, routeConfig: { requestSignature } } });
    app.get('/api/secret', (_req, res) => res.send('secret'));
    app.get('/open', (_req, res) => res.send('open'));
    change(app);
    const port = await running.start(app);
    for (const path of ['/api/secret', '/v1/api/secret']) expect([path, (await ask(port, path)).body.includes('"Missing')]).toEqual([path, true]);
    if (name.includes('method')) expect((await ask(port, '/api/secret', { method: 'POST' })).status).toBe(401);
    for (const path of ['/open', '/v1/open']) expect([path, (await ask(port, path)).body]).toEqual([path, 'open']);
    expect((await ask(port, '/api/secret', { headers: signed('GET', '/api/secret') })).body).toBe('secret');
  });

  // It strips a part, and puts it back: what the inner one makes of the rest is another target than the one that it can tell.
  const stripping: Record<string, (listener: Loose, enter: Loose) => Loose> = {
    'Express': (listener, enter) => {
      const router = theirs.Router();
      router.use('/p', listener);
      return router.get(['/psecret', '/p/secret'], enter);
    },
    // As Express 4 does it, and 5 before its router 2.3.
    'one that takes back its slash': (listener, enter) => (req: Loose, res: Loose, next: Loose) => {
      const at = String(req.url).startsWith('/') ? 0 : String(req.url).indexOf('/', 8);
      const whole = String(req.url);
      const [origin, rest] = [whole.slice(0, at), whole.slice(at + 2)] as [string, string];
      Object.assign(req, { url: `${origin}${rest || '/'}`, baseUrl: `${req.baseUrl}/p` });
      listener(req, res, (error: unknown) => {
        const left = rest === '' ? req.url.slice(1) : req.url.slice(origin.length);
        Object.assign(req, { url: `${origin}/p${left}`, baseUrl: req.baseUrl.slice(0, -2) });
        if (error || !/secret$/.test(req.url)) next(error);
        else enter(req, res);
      });
    },
  };

  describe.each(Object.keys(stripping))('a router within what is mounted, %s', (name) => {
    const PLACES: Record<string, (app: Loose, inner: Loose, between: (listener: Loose) => Loose) => void> = {
      'the inner application\'s handle': (app, inner, between) => {
        const { handle } = inner;
        inner.handle = between((...given: unknown[]) => handle.apply(inner, given));
        app.use('/in', inner);
      },
      'that of its router': (app, inner, between) => {
        const { handle } = inner.router;
        inner.router.handle = between((...given: unknown[]) => handle.apply(inner.router, given));
        app.use('/in', inner);
      },
      'the handle of a Router': (app, inner, between) => {
        const router = Router().use(inner) as Loose;
        const { handle } = router;
        router.handle = between((...given: unknown[]) => handle.apply(router, given));
        app.use('/in', router);
      },
      'a wrapper with the properties of what it wraps': (app, inner, between) => {
        const { use } = app.router;
        app.router.use = function (this: unknown, path: string, handler: Loose) { return use.call(this, path, Object.assign(between(handler), handler)); };
        app.use('/in', inner);
      },
      'a wrapper by a Proxy': (app, inner, between) => {
        const { use } = app.router;
        app.router.use = function (this: unknown, path: string, handler: Loose) {
          return use.call(this, path, new Proxy(handler, { apply: (_target, _this, given: unknown[]) => between(handler)(...given) }));
        };
        app.use('/in', inner);
      },
      'a layer\'s handle': (app, inner, between) => {
        app.router.use('/in', inner);
        const layer = app.router.stack.at(-1);
        layer.handle = Object.assign(between(layer.handle), layer.handle);
      },
    };

    test.each(Object.keys(PLACES))('leads to nothing unsigned: %s', async (place) => {
      for (const [scope, target, made] of [['/in/psecret', '/in/p', '/secret'], ['/in/p/secret', 'http://hhh/in/p/x', '/XXXXXXXXX/secret'], ['/in/p/secret', 'http://hhh/in/p/XXXXXXXXX/secret', '/XXXXXXXXX/secret']] as const) {
        for (const make of [createServer, express]) {
          const app = make({ ...guarded, security: { ...guarded.security, routeConfig: { requestSignature: { includeRoutes: [scope] } } } });
          const inner = createServer({ logging: { level: 'silent' } }).use((req, _res, next) => {
            req.url = made;
            next();
          });
          let entered = 0;
          const between = (listener: Loose): Loose => {
            const router = stripping[name]?.(listener, (_req: Loose, res: Loose): void => {
              entered++;
              res.end('secret');
            });
            return (req: Loose, res: Loose, next: Loose) => router(req, res, next);
          };
          (PLACES[place] as (...given: Loose[]) => void)(app, inner, between);
          const port = await running.serve(app);
          expect([scope, target, (await ask(port, target)).status >= 400, entered]).toEqual([scope, target, true, 0]);
        }
      }
    });
  });

  test('another router that a program defines lets nothing through unsigned', async () => {
    for (const around of [false, true]) {
      const app = createServer(guarded);
      app.get('/closed', (_req, res) => res.send('closed')).get('/open', (_req, res) => res.send('open'));
      const { router } = app;
      const other = around ? Router().use(router) : Router().get(['/open', '/closed'], (req, res) => res.send(req.path.slice(1)));
      Object.defineProperty(app, 'router', { value: other, configurable: true });
      const port = await running.serve(app);
      expect([(await ask(port, '/closed')).status, (await ask(port, '/OPEN')).status]).toEqual([401, 401]);
      expect((await ask(port, '/open')).body).toBe('open');
      expect((await ask(port, '/closed', { headers: signed('GET', '/closed') })).body).toBe('closed');
    }
  });

  test('what stands in the place of the router\'s handle is behind the check', async () => {
    const app = createServer(guarded);
    app.get('/closed', (_req, res) => res.send('closed'));
    app.post('/body', (req, res) => res.json(req.body));
    let calls = 0;
    const { handle } = app.router;
    app.router.handle = function (req, res, next) {
      calls++;
      handle.call(this, req, res, next);
    };
    const port = await running.start(app);
    expect([(await ask(port, '/closed')).status, calls]).toEqual([401, 0]);
    expect(await ask(port, '/closed', { headers: signed('GET', '/closed') })).toMatchObject({ status: 200, body: 'closed' });
    const body = '{"a":1}';
    const headers = { ...signRequest({ secret, method: 'POST', url: '/body', body }), 'Content-Type': 'application/json' };
    expect(await ask(port, '/body', { method: 'POST', body, headers })).toMatchObject({ status: 200, body });
    expect(calls).toBe(2);
  });

  test('what a stack may not hold is entered by nobody', async () => {
    const app = createServer({ ...guarded, routing: { caseSensitive: true } });
    app.get('/open', (_req, res) => res.send('open'));
    const list = [...app.router.stack];
    app.router.stack = list;
    const port = await running.start(app);
    expect((await ask(port, '/open')).status).toBe(200);
    const loose = Router({ caseSensitive: false });
    loose.get('/closed', (_req, res) => res.send('closed'));
    const holder = Router().use(loose) as Router;
    list.push(...holder.stack);
    for (const path of ['/closed', '/CLOSED']) {
      expect((await ask(port, path)).status).toBe(401);
      expect((await ask(port, path, { headers: signed('GET', path) })).status).not.toBe(200);
    }
    expect((await ask(port, '/open')).status).toBe(200);
  });
});
