import express from 'express';
import fc from 'fast-check';
import { createServer, express as waypostExpress, Router, signRequest } from 'waypost';
import { ChildProgram, FROM_LIB } from './support/child-program';
import { Running } from './support/running';
import { runs } from './support/runs';
import { ask, post } from './support/wire';

const logging = { level: 'silent' } as const;
const running = new Running();

afterEach(() => running.close());

type Next = (error?: unknown) => void;
interface Req { readonly params: Record<string, unknown> }
interface Res { send(body: string): void; status(code: number): Res }
type Handle = (req: Req, res: Res, next: Next) => void;
/** What Express and waypost have in common, as far as it is used here. */
interface Registrar {
  use(...given: unknown[]): unknown;
  get(path: string, ...handlers: unknown[]): unknown;
  param(name: string, handler: unknown): unknown;
}
interface Layered { stack: { handle: unknown; readonly route?: Layered }[] }

/** The layers of a router, or of the one that an application of Express's holds. */
function layered(registrar: Registrar): Layered {
  return (registrar as unknown as { readonly router?: Layered }).router ?? (registrar as unknown as Layered);
}

/** One registration in one of the routers. */
interface Item {
  readonly kind: 'use' | 'route' | 'second' | 'param' | 'guard' | 'error' | 'raise' | 'leave' | 'reverse' | 'wrap' | 'block' | 'restore' | 'param wrap' | 'param block' | 'own wrap' | 'own block';
  /** Of the application (0), or of the routers that are mounted in it (1, and in that 2). */
  readonly where: number;
  readonly path: string;
  /** The parameter that handlers are for. */
  readonly param: string;
  /** What the first request that comes here registers, before it goes on. */
  readonly registers: readonly Item[];
  readonly isAsync: boolean;
  /** Which layer of its router it puts a function in the place of, or the layer's own again. */
  readonly layer?: number;
  /** The router that this layer is in, if it is another: one that the request stands in, perhaps. */
  readonly of?: number;
}

const PATHS = ['/', '/a', '/:id', '/:id/:name'];
const PARAMS = ['id', 'name'];
const ASKED = ['/', '/a', '/a/b'];

const leaf = fc.record<Item>({
  kind: fc.constantFrom('use', 'route', 'second', 'param', 'guard', 'error', 'raise'),
  where: fc.integer({ min: 0, max: 2 }),
  path: fc.constantFrom(...PATHS),
  param: fc.constantFrom(...PARAMS),
  registers: fc.constant([]),
  isAsync: fc.boolean(),
});
const item = fc.record<Item>({
  kind: fc.constantFrom('use', 'use', 'route', 'second', 'param', 'param', 'error', 'raise'),
  where: fc.integer({ min: 0, max: 2 }),
  path: fc.constantFrom(...PATHS),
  param: fc.constantFrom(...PARAMS),
  registers: fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 3, arbitrary: fc.array(leaf, { minLength: 1, maxLength: 4 }) }),
  isAsync: fc.boolean(),
});

/** One that the first request takes out, or after which it turns the order around, by a list of its own. */
const moved = fc.record<Item>({
  kind: fc.constantFrom('leave', 'leave', 'reverse', 'use', 'route', 'second', 'param', 'guard'),
  where: fc.integer({ min: 0, max: 2 }),
  path: fc.constantFrom(...PATHS),
  param: fc.constantFrom(...PARAMS),
  registers: fc.constant([]),
  isAsync: fc.boolean(),
});

/** One by which the first request puts functions in the place of layers, of whole routers and routes too, or puts back what was there. */
const replaced = fc.record<Item>({
  kind: fc.constantFrom('wrap', 'wrap', 'wrap', 'block', 'restore', 'param wrap', 'param block', 'use', 'route', 'second', 'param', 'guard', 'error', 'raise'),
  where: fc.integer({ min: 0, max: 2 }),
  path: fc.constantFrom(...PATHS),
  param: fc.constantFrom(...PARAMS),
  registers: fc.array(leaf, { maxLength: 2 }),
  isAsync: fc.boolean(),
  layer: fc.nat(7),
});

/** Programs of which one puts a function in the place of a layer, of any router. */
const replacedElsewhere = fc.tuple(
  fc.array(leaf, { minLength: 1, maxLength: 5 }),
  fc.record<Item>({
    kind: fc.constantFrom('wrap', 'block', 'param wrap', 'param block', 'own wrap', 'own block'),
    where: fc.integer({ min: 0, max: 2 }),
    path: fc.constantFrom(...PATHS),
    param: fc.constantFrom(...PARAMS),
    registers: fc.constant([]),
    isAsync: fc.boolean(),
    layer: fc.nat(5),
    of: fc.integer({ min: 0, max: 2 }),
  }),
  fc.array(leaf, { minLength: 1, maxLength: 5 }),
).map(([before, replacing, behind]) => [...before, replacing, ...behind]);

/** Registers a program; `ran` is told what runs, in order. */
function register(routers: readonly [Registrar, Registrar, Registrar], items: readonly Item[], ran: (name: string) => void): void {
  let count = 0;
  const handles = new Map<Layered['stack'][number], Handle>();
  const add = (given: Item): void => {
    const { kind, where, path, isAsync } = given;
    const name = `${kind}${count++}`;
    const router = routers[where] as Registrar;
    let left = given.registers;
    const goOn = (next: Next, error?: unknown): void => {
      const done = (): void => {
        const late = left;
        left = [];
        late.forEach(add);
        next(error);
      };
      if (isAsync) setImmediate(done);
      else done();
    };
    const handle: Handle = (req, _res, next) => {
      ran(`${name} ${JSON.stringify(req.params)}`);
      goOn(next);
    };
    if (kind === 'use') router.use(path.includes(':') ? '/' : path, handle);
    else if (kind === 'leave' || kind === 'reverse') {
      const list = layered(router);
      let isDone = false;
      const move: Handle = (req, res, next) => {
        if (!isDone) list.stack = kind === 'leave' ? list.stack.filter((layer) => layer.handle !== move) : [...list.stack].reverse();
        isDone = true;
        handle(req, res, next);
      };
      router.use(move);
    }
    else if (kind === 'wrap' || kind === 'block' || kind === 'restore' || kind === 'param wrap' || kind === 'param block' || kind === 'own wrap' || kind === 'own block') {
      let isDone = false;
      const replaceOwn = (): void => {
        // That of an application is called before its prototypes are on.
        const owner = routers[given.of || 1] as unknown as { handle: Handle };
        const own = owner.handle;
        if (isDone) return;
        isDone = true;
        owner.handle = function (this: unknown, ...around) {
          ran(`around ${name}`);
          if (kind.endsWith('block')) around[1].status(401).send(name);
          else own.apply(this, around);
        };
      };
      const replace = (): void => {
        if (kind.startsWith('own')) return replaceOwn();
        const { stack } = layered(given.of === undefined ? router : (routers[given.of] as Registrar));
        if (stack.length === 0) return;
        const layer = stack[(given.layer as number) % stack.length] as Layered['stack'][number];
        const own = handles.get(layer) ?? (layer.handle as Handle);
        handles.set(layer, own);
        if (isDone || own.length !== 3) return;
        isDone = true;
        if (kind === 'restore') layer.handle = own;
        else layer.handle = (...around: [Req, Res, Next]) => {
          ran(`around ${name}`);
          if (kind.endsWith('block')) around[1].status(401).send(name);
          else own(...around);
        };
      };
      if (kind.startsWith('param')) {
        router.param(given.param, (_req: Req, _res: Res, next: Next, value: string) => {
          ran(`${name} ${value}`);
          goOn((error) => {
            replace();
            next(error);
          });
        });
      } else {
        router.use((req: Req, res: Res, next: Next) => {
          replace();
          handle(req, res, next);
        });
      }
    }
    else if (kind === 'route') router.get(path, handle);
    else if (kind === 'second') router.get(path, handle, handle);
    else if (kind === 'guard') router.use((_req: Req, res: Res) => void res.status(401).send(name));
    else if (kind === 'raise') router.use((_req: Req, _res: Res, next: Next) => goOn(next, new Error(name)));
    else if (kind === 'error') router.use((error: Error, _req: Req, _res: Res, next: Next) => {
      ran(`${name} ${error.message}`);
      goOn(next);
    });
    else router.param(given.param, (_req: Req, _res: Res, next: Next, value: string) => {
      ran(`${name} ${value}`);
      goOn(next);
    });
  };
  items.forEach(add);
}

/** What the first three requests meet. @param wraps Whether each middleware, route and handler of a route has a function put around it first, as tracers do. */
async function met(app: Registrar, newRouter: () => Registrar, items: readonly Item[], path: string, wraps: boolean): Promise<string[]> {
  const names: string[] = [];
  const [one, two] = [newRouter(), newRouter()];
  // What stands before the routers is registered by the items of the application that come first.
  const half = Math.ceil(items.length / 2);
  const add = (some: readonly Item[]): void => register([app, one, two], some, (name) => names.push(name));
  add(items.slice(0, half));
  one.use('/', two);
  app.use('/', one);
  add(items.slice(half));
  app.use((error: Error, _req: Req, res: Res, _next: Next) => void res.status(500).send(error.message));
  if (wraps) for (const registrar of [app, one, two]) layered(registrar).stack.forEach(wrap);
  const port = await running.serve(app as unknown as Parameters<Running['serve']>[0]);
  const found: string[] = [];
  for (let request = 0; request < 3; request++) {
    const { status } = await ask(port, path);
    found.push(`${status}: ${names.splice(0).join(', ')}`);
  }
  return found;
}

function wrap(layer: Layered['stack'][number]): void {
  const handle = layer.handle as Handle & { readonly stack?: unknown };
  if (handle.stack === undefined && handle.length === 3) layer.handle = (req: Req, res: Res, next: Next) => handle(req, res, next);
  layer.route?.stack.forEach(wrap);
}

/** Has programs run on Express and on waypost, which must meet the same. */
async function expectAsExpress(items: fc.Arbitrary<Item[]>, wrapping: fc.Arbitrary<boolean>, numRuns: number): Promise<void> {
  let late = 0;
  await fc.assert(fc.asyncProperty(items, fc.constantFrom(...ASKED), wrapping, async (given, path, wraps) => {
    const expected = await met(express() as unknown as Registrar, () => express.Router() as unknown as Registrar, given, path, wraps);
    const found = await met(waypostExpress({ logging }) as unknown as Registrar, () => Router() as unknown as Registrar, given, path, wraps);
    if (expected[0] !== expected[1]) late++;
    await running.close();
    expect(found).toEqual(expected);
  }), { numRuns });
  // Otherwise nothing has changed while a request was under way.
  expect(late).toBeGreaterThan(numRuns / 20);
}

test('what is taken out while a request is under way, or put in another order, counts from the next one on, as in Express', async () => {
  await expectAsExpress(fc.array(moved, { minLength: 2, maxLength: 7 }), fc.constant(false), runs(300));
}, 600_000);

test('what is put in the place of a layer while a request is under way, or put back, counts for it below where it is, as in Express', async () => {
  await expectAsExpress(fc.array(replaced, { minLength: 2, maxLength: 7 }), fc.boolean(), runs(400));
}, 600_000);

test('what is put in the place of a layer of another router while a request is under way counts unless the request stands within, as in Express', async () => {
  await expectAsExpress(replacedElsewhere, fc.constant(false), runs(1000));
}, 600_000);

test('what is registered while a request is under way is met by it below where it is, as in Express', async () => {
  await expectAsExpress(fc.array(item, { minLength: 1, maxLength: 7 }), fc.boolean(), runs(400));
}, 600_000);

describe('what is registered while a request is under way', () => {
  test('a route takes its body, which no route took before', async () => {
    const app = createServer({ logging });
    let isFirst = true;
    app.use((_req, _res, next) => setImmediate(() => {
      if (isFirst) app.post('/', (req, res) => res.json(req.body));
      isFirst = false;
      next();
    }));
    const port = await running.serve(app);
    for (let request = 0; request < 2; request++) expect((await post(port, '/', '{"a":1}')).body).toBe('{"a":1}');
  });

  test('a route that has come while the check waited takes its body too', async () => {
    const secret = 'an example secret, 32 bytes or more';
    let isFirst = true;
    const app = createServer({
      logging,
      security: {
        requestSignature: {
          secret: async () => {
            await new Promise(setImmediate);
            if (isFirst) app.post('/', (req, res) => res.json(req.body));
            isFirst = false;
            return secret;
          },
        },
      },
    });
    const port = await running.serve(app);
    const body = '{"a":1}';
    for (let request = 0; request < 2; request++) {
      const headers = signRequest({ secret, keyId: 'one', method: 'POST', url: '/', body });
      expect((await post(port, '/', body, 'application/json', headers)).body).toBe(body);
    }
  });

  test.each([['createServer', () => createServer({ logging })], ['express', () => waypostExpress({ logging })]])('%s: a guard stops a request that waits in front of it, whoever has registered it', async (_name, make) => {
    const app = make();
    const router = Router();
    let goOn = (): void => undefined;
    const waits = new Promise<void>((resolve) => {
      router.use((_req, _res, next) => {
        goOn = next;
        resolve();
      });
    });
    app.use('/x', router);
    const port = await running.serve(app);
    const answered = ask(port, '/x/secret');
    await waits;
    router.use((_req, res) => res.status(401).send('guard'));
    router.get('/secret', (_req, res) => res.send('secret'));
    goOn();
    expect((await answered).body).toBe('guard');
  });

  test('a handler of a route that runs is met, and what it passes on to', async () => {
    for (const [name, app] of [['Express', express()], ['waypost', waypostExpress({ logging })]] as const) {
      const route = (app as unknown as Registrar & { route(path: string): Registrar }).route('/') as unknown as { get(handler: Handle): unknown };
      let isFirst = true;
      route.get((_req, _res, next) => {
        if (isFirst) route.get((_same, res) => void res.send('second'));
        isFirst = false;
        next();
      });
      (app as unknown as Registrar).get('/', (_req: Req, res: Res) => void res.send('behind'));
      const port = await running.serve(app as unknown as Parameters<Running['serve']>[0]);
      expect([name, (await ask(port, '/')).body, (await ask(port, '/')).body]).toEqual([name, 'second', 'second']);
    }
  });

  test.each(['rewrites', 'goes on twice'])('a handler of a route that had one is met, and guards what stands below, though that one %s', async (way) => {
    for (const [name, app] of [['Express', express()], ['waypost', waypostExpress({ logging })], ['createServer', createServer({ logging })]] as const) {
      const route = (app as unknown as { route(path: string): { get(handler: Handle): unknown } }).route('/a');
      let isFirst = true;
      route.get((req, _res, next) => {
        if (isFirst && way !== 'rewrites') route.get((_same, _other, pass) => setImmediate(pass));
        if (isFirst) route.get((_same, res) => void res.status(401).send('guard'));
        isFirst = false;
        if (way === 'rewrites') (req as unknown as { url: string }).url = '/b';
        next();
        if (way !== 'rewrites') next();
      });
      for (const path of ['/a', '/b']) (app as unknown as Registrar).get(path, (_req: Req, res: Res) => void res.send('secret'));
      const port = await running.serve(app as unknown as Parameters<Running['serve']>[0]);
      expect([name, (await ask(port, '/a')).body, (await ask(port, '/a')).body]).toEqual([name, 'guard', 'guard']);
    }
  });

  test('a router that is called by hand, or keeps its parameters to itself, is no exception', async () => {
    for (const [name, app, newRouter] of [['Express', express(), express.Router], ['waypost', waypostExpress({ logging }), Router]] as const) {
      const router = (newRouter as (options?: object) => unknown)({ caseSensitive: true }) as Registrar & Handle;
      let isFirst = true;
      router.use((_req: Req, _res: Res, next: Next) => setImmediate(() => {
        if (isFirst) router.get('/a', (_same: Req, res: Res) => void res.send('late'));
        isFirst = false;
        next();
      }));
      (app as unknown as Registrar).use('/hand', (req: Req, res: Res, next: Next) => router(req, res, next));
      (app as unknown as Registrar).use('/mount/:id', router);
      const port = await running.serve(app as unknown as Parameters<Running['serve']>[0]);
      const paths = name === 'Express' ? ['/hand/a', '/mount/1/a'] : ['/mount/1/a', '/hand/a'];
      for (const path of paths) expect([name, path, (await ask(port, path)).body]).toEqual([name, path, 'late']);
    }
  });

  test('nothing of the request is kept by it once the next has come', async () => {
    const program = `
      const { createServer, express, Router } = require('./lib');
      const { get } = require('node:http');
      const noop = (_req, _res, next) => next();
      const logging = { level: 'silent' };
      const shared = Router().use(noop);
      const ways = {
        use: (app) => app.use('/late', noop),
        get: (app) => app.get('/late', noop),
        all: (app) => app.all('/late', noop, noop),
        'a route': (app) => app.route('/late').get(noop).post(noop),
        'a router': (app) => app.use('/late', Router().get('/a', noop).use(noop)),
        'a router that is called': (app, { req, res }) => Router().use(noop).use(shared)(req, res, () => undefined),
        'a router that is given the layers of another': (app, { req, res }) => {
          const own = Router().use((_req, _res, next) => next(req && undefined));
          own.stack = [...own.stack, ...shared.stack];
          own(req, res, () => undefined);
        },
        'what is taken out again': (app) => {
          app.use(noop);
          app.router.stack.pop();
        },
        'a route that is taken out again': (app) => {
          app.get('/late', noop);
          app.router.stack.pop();
        },
        param: (app) => app.param('late', (_req, _res, next) => next()),
        application: (app) => app.use('/late', createServer({ logging })),
      };
      async function left(make, way) {
        const app = make({ logging });
        const refs = [];
        app.use((req, res, next) => {
          refs.push(new WeakRef(req));
          way(app, { req, res });
          next();
        });
        app.get('/', (_req, res) => res.send('done'));
        const server = app.listen(0);
        await new Promise((resolve) => server.once('listening', resolve));
        for (let request = 0; request < 8; request++) {
          await new Promise((resolve) => get({ port: server.address().port, agent: false }, (res) => res.resume().once('close', resolve)));
        }
        for (let turn = 0; turn < 5; turn++) {
          await new Promise(setImmediate);
          gc();
        }
        server.close();
        return refs.filter((ref) => ref.deref() !== undefined).length;
      }
      (async () => {
        for (const [name, way] of Object.entries(ways)) for (const make of [createServer, express]) console.log(name, await left(make, way));
      })();`;
    const { output, errors } = await ChildProgram.run(['--expose-gc', ...FROM_LIB, '-e', program]);
    const kept = output.trim().split('\n').map((line) => Number(line.split(' ').at(-1)));
    // The last of a connection may be held by Node until the next.
    expect([errors, output, kept.length, kept.every((count) => count <= 1)]).toEqual(['', output, 22, true]);
  }, 60_000);

  test('a path that cannot be there ends the request with an error, and not the process', async () => {
    const app = waypostExpress({ logging });
    const router = Router();
    router.use((_req, _res, next) => setImmediate(() => {
      router.get('/*', (_same, res) => res.send('any'));
      next();
    }));
    router.get('/a', (_req, res) => res.send('a'));
    app.use((req, res, next) => router(req, res, next));
    const port = await running.serve(app);
    expect((await ask(port, '/a')).status).toBe(500);
  });
});
