import { createServer, express, Router } from 'waypost';
import { answersOf, type ExpressModule, onBoth } from './support/both-expresses';

interface Layer { name: string; handle: (...given: unknown[]) => unknown; route?: { path: unknown; methods: object; stack: Layer[] }; method?: string; slash: boolean; keys: { name: string }[]; regexp: RegExp }
type Listed = { stack: Layer[] };

function program(lib: ExpressModule): { app: ReturnType<ExpressModule>; router: ReturnType<ExpressModule['Router']> } {
  const [app, router] = [lib(), lib.Router()];
  app.use(function first(_req, _res, next) { next(); });
  app.get('/a/:id', function one(_req, _res, next) { next(); }, function two(_req, res) { res.send('two'); });
  app.route(['/b', '/c']).post(function b(_req, res) { res.send('b'); }).all((_req, _res, next) => next());
  router.get('/x', function x(_req, res) { res.send('x'); });
  app.use('/r', router);
  return { app, router };
}

const pictureOf = ({ stack }: Listed): unknown => stack.map(({ name, route, method, slash, handle }) => ({
  name, method, slash, handle: typeof handle,
  route: route && { path: route.path, methods: { ...route.methods }, stack: route.stack.map((each) => [each.name, each.method, each.handle.name]) },
  inner: (handle as unknown as Partial<Listed>).stack?.length,
}));

test('app.router.stack, router.stack, route.stack and route.methods show what Express\'s do', async () => {
  await onBoth((lib) => {
    const { app, router } = program(lib);
    const listed = (app as unknown as { router: Listed }).router;
    const before = pictureOf(listed);
    router.post('/late', (_req, res) => void res.send('late'));
    app.get('/later', (_req, res) => void res.send('later'));
    return [before, pictureOf(listed), pictureOf(router as unknown as Listed)];
  });
});

test('what is put in the place of a layer\'s handle is called instead, as in Express', async () => {
  await onBoth((lib) => {
    const { app, router } = program(lib);
    const around = (listed: Listed, label: string): void => listed.stack.forEach((layer) => {
      const { handle } = layer;
      // As instrumentation does, which defines the property anew.
      Object.defineProperty(layer, 'handle', { configurable: true, enumerable: true, writable: true, value: function (this: unknown, req: unknown, res: { append(name: string, value: string): void }, next: unknown) {
        res.append('X-Around', `${label}:${layer.name}`);
        return handle.call(this, req, res, next);
      } });
    });
    around((app as unknown as { router: Listed }).router, 'app');
    around(router as unknown as Listed, 'router');
    return answersOf(app, ['/a/1', ['/c', { method: 'POST' }], '/r/x', '/r/none', ['/a/1', { method: 'HEAD' }], ['/a/1', { method: 'OPTIONS' }]], ['x-around', 'allow']);
  });
});

test('layers that a program has moved or taken out count so', async () => {
  const { app, router } = program(express as unknown as ExpressModule);
  const listed = router as unknown as Listed;
  router.get('/y', (_req, res) => void res.send('y'));
  listed.stack = listed.stack.filter(({ route }) => route?.path !== '/x');
  expect(await answersOf(app, ['/r/x', '/r/y'])).toEqual([['/r/x', 404, ''], ['/r/y', 200, 'y']]);
});

test('what a program does to stacks while the application runs counts with the next request, as in Express', async () => {
  type Run = (express: ExpressModule) => Promise<unknown>;
  const edited = (edit: (app: Listed, router: Listed, route: Listed, made: (name: string) => Layer) => void): Run => (lib) => {
    const { app, router } = program(lib);
    const route = app.route('/t').get((_req, _res, next) => next()).get(function two(_req, res) { res.send('two'); });
    const listed = (app as unknown as { router: Listed }).router;
    app.get('/edit', (_req, res) => {
      edit(listed, router as unknown as Listed, route as unknown as Listed, (name) => ({ handle: (_own: unknown, given: { send(text: string): void }) => given.send(name) }) as unknown as Layer);
      res.send('edited');
    });
    const asked = ['/a/1', '/b', '/c', '/r/x', '/t'] as const;
    return answersOf(app, [...asked, '/edit', ...asked, ['/b', { method: 'POST' }]]);
  };
  const edits: Parameters<typeof edited>[0][] = [
    (app) => void app.stack.splice(1, 1),
    (app) => void (app.stack.length = 1),
    (app) => void app.stack.reverse(),
    (app) => void (app.stack = app.stack.filter(({ route }) => route === undefined)),
    (app, router) => { app.stack = app.stack.slice(); app.stack = app.stack.slice(); router.stack.pop(); },
    (app, router, _route, made) => { for (const { stack } of [app, router]) for (const layer of stack) if (layer.route?.path !== '/edit') layer.handle = made('put').handle; },
    (app, _router, _route, made) => void Object.defineProperty(app.stack[3], 'handle', { value: made('defined').handle, configurable: true, writable: true }),
    (_app, _router, route) => void route.stack.shift(),
    (_app, _router, route) => void route.stack.pop(),
    (_app, _router, route, made) => void ((route.stack[0] as Layer).handle = made('in the route').handle),
  ];
  for (const edit of edits) await onBoth(edited(edit));
});

test('a layer that a program has put into another stack tells both of what becomes of it, as in Express', async () => {
  type Routing = Listed & { use(...given: unknown[]): Routing; get(...given: unknown[]): Routing; route(path: string): Listed & { get(handler: unknown): unknown } };
  const guard = { handle: (_req: unknown, res: { send(text: string): void }) => res.send('guard') } as unknown as Layer;
  const says = (text: string) => (_req: unknown, res: { send(text: string): void }): void => res.send(text);
  const goesOn = (_req: unknown, _res: unknown, next: () => void): void => next();
  const steps: ((app: Routing, other: Routing, lib: ExpressModule) => (() => void)[])[] = [
    (app, other) => {
      other.use(goesOn).get('/x', says('x'));
      return [() => void app.stack.unshift(other.stack.shift() as Layer), () => void ((app.stack[0] as Layer).handle = guard.handle)];
    },
    (app, other) => {
      other.get('/x', says('x'));
      return [() => void (app.stack = app.stack.concat(other.stack)), () => void (((other.stack[0] as Layer).route?.stack[0] as Layer).handle = guard.handle), () => void ((other.stack[0] as Layer).handle = says('around') as Layer['handle'])];
    },
    (app, other) => {
      const route = other.route('/x');
      route.get(goesOn);
      return [() => void app.stack.push(other.stack[0] as Layer), () => void route.get(says('x')), () => void (route.stack = [guard, ...route.stack].slice(1).reverse())];
    },
    (app, other, lib) => {
      const inner = lib.Router() as unknown as Routing;
      inner.get('/x', says('x'));
      other.use(inner);
      return [() => void app.stack.push(...other.stack), () => { inner.use(guard.handle); inner.stack.unshift(inner.stack.pop() as Layer); }];
    },
  ];
  for (const step of steps) {
    await onBoth(async (lib) => {
      const [app, beside, other] = [lib(), lib(), lib.Router() as unknown as Routing];
      beside.use(other as never);
      const { router } = app as unknown as { router: Routing };
      const outcomes: unknown[] = [];
      for (const each of [() => undefined, ...step(router, other, lib)]) {
        each();
        outcomes.push(await answersOf(app, ['/x']), await answersOf(beside, ['/x']));
      }
      return [...outcomes, router.stack.filter((layer) => other.stack.includes(layer)).length];
    });
  }
});

test('a router that could not be mounted lets nobody past a signature check when it is put into the stack', async () => {
  const app = createServer({ security: { requestSignature: { secret: 'a secret that is long enough for the check' } }, logging: { level: 'silent' } });
  const [loose, holder] = [Router({ caseSensitive: false }), Router()];
  loose.get('/secret', (_req, res) => res.send('secret'));
  holder.use('/api', loose);
  app.router.stack.push(...holder.stack);
  const answers = await answersOf(app as never, ['/api/secret', '/api/SECRET', '/api/none']) as [string, number][];
  expect(answers.map(([, status]) => status)).toEqual([401, 401, 401]);
});

test('listRoutes lists what Express\'s does', async () => {
  await onBoth((lib) => {
    const router = lib.Router() as unknown as { get(...given: unknown[]): unknown; all(...given: unknown[]): unknown; use(...given: unknown[]): unknown; route(path: unknown): { post(...given: unknown[]): { all(...given: unknown[]): unknown } }; listRoutes(): { router?: unknown; path: unknown; methods?: string[] }[] };
    const nothing = (): void => undefined;
    const inner = lib.Router();
    router.get('/a', nothing);
    router.all(['/b', /c/], nothing, nothing);
    router.route('/d').post(nothing).all(nothing);
    router.route('/e');
    router.use(nothing);
    router.use('/in', inner, nothing);
    router.use('/app', lib());
    (router as unknown as { head(...given: unknown[]): { get(...given: unknown[]): unknown } }).head('/h', nothing).get('/h', nothing);
    return router.listRoutes().map((row) => ({ ...row, router: row.router === undefined ? undefined : row.router === inner }));
  });
});

test('a mount path can be read off a layer, as lists of endpoints do', () => {
  const router = Router();
  router.use('/api/:tenant', Router()).use(Router()).get('/a.b', () => undefined);
  const [mount, root, route] = router.stack;
  expect(['/api/t1', '/api/t1/x', '/api', '/apix/t'].map((path) => mount?.regexp.test(path))).toEqual([true, true, false, false]);
  expect([mount?.keys, root?.regexp.test('/any'), route?.regexp.test('/a.b'), route?.regexp.test('/axb')]).toEqual([[{ name: 'tenant' }], true, true, false]);
});

test('a route by itself runs its handlers as Express\'s', async () => {
  await onBoth(async (lib) => {
    type Alone = { dispatch(...given: unknown[]): void; all(...given: unknown[]): void; get(...given: unknown[]): void; post(...given: unknown[]): void };
    const run = (method: string, build: (route: Alone, trace: string[]) => void): Promise<unknown> => new Promise((resolve) => {
      const trace: string[] = [];
      const route = new (lib as unknown as { Route: new (path: string) => Alone }).Route('/a');
      build(route, trace);
      route.dispatch({ method, url: '/a' }, {}, (error?: Error | string) => resolve([trace, error instanceof Error ? error.message : error]));
    });
    const note = (trace: string[], name: string, given?: unknown) => (_req: unknown, _res: unknown, next: (error?: unknown) => void): void => { trace.push(name); next(given); };
    const catching = (trace: string[]) => (error: Error, _req: unknown, _res: unknown, next: (error?: unknown) => void): void => { trace.push(`caught ${error.message}`); next(); };
    const outcomes: unknown[] = [];
    for (const method of ['GET', 'HEAD', 'POST', 'PUT']) {
      outcomes.push(await run(method, (route, trace) => { route.get(note(trace, 'get')); route.all(note(trace, 'all'), catching(trace)); route.post(note(trace, 'post')); }));
      outcomes.push(await run(method, (route, trace) => { route.all(note(trace, 'fails', new Error('no'))); route.all(note(trace, 'not'), catching(trace), note(trace, 'on')); }));
      outcomes.push(await run(method, (route, trace) => { route.all(() => Promise.reject(new Error('rejected'))); route.all(note(trace, 'not')); }));
      outcomes.push(await run(method, (route, trace) => { route.all(note(trace, 'leaves', 'route'), note(trace, 'not')); }));
      outcomes.push(await run(method, (route, trace) => { route.all(note(trace, 'leaves', 'router'), note(trace, 'not')); }));
      outcomes.push(await run(method, (route) => { for (let i = 0; i < 1000; i++) route.all((_req: unknown, _res: unknown, next: () => void) => next()); }));
    }
    return outcomes;
  });
});
