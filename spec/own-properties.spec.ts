import http, { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import theirs from 'express';
import { createServer, express } from 'waypost';
import { head, Wire } from './support/wire';

/** What Express makes a request's own, or a response's. */
const NAMES = ['body', 'params', 'baseUrl', 'originalUrl', 'route', 'next', 'res'] as const;

type Registrar = { use(...given: unknown[]): void; get(...given: unknown[]): void; post(...given: unknown[]): void; param(name: string, handler: unknown): void };
type Seen = { place: string; own: Record<string, boolean>; keys: string[]; spread: Record<string, unknown>; prototypes: unknown[] };
type Message = IncomingMessage & Record<string, unknown>;

/** What validation middleware asks of a request. */
function look(place: string, seen: Seen[]): (req: Message, res: ServerResponse & { locals?: object; req: Message }) => void {
  return (req, res) => {
    const picked = { ...req };
    const own = Object.fromEntries(NAMES.flatMap((name) => [[name, Object.hasOwn(req, name)], [`${name} in req`, name in req]]));
    seen.push({
      place,
      own: { ...own, 'res.req': Object.hasOwn(res, 'req') && res.req === req, 'res.locals': Object.hasOwn(res, 'locals') },
      keys: Object.keys(req).filter((key) => (NAMES as readonly string[]).includes(key)).sort(),
      spread: { body: picked['body'], params: { ...(picked['params'] as object) }, baseUrl: picked['baseUrl'], originalUrl: picked['originalUrl'], res: picked['res'] === res },
      prototypes: [Object.getPrototypeOf(res.locals), typeof picked['next']],
    });
  };
}

/** The same program for Express and for waypost. */
function build(app: Registrar, router: Registrar, seen: Seen[]): void {
  const at = (place: string): unknown => (req: Message, res: ServerResponse & { req: Message }, next: () => void) => {
    look(place, seen)(req, res);
    next();
  };
  app.use(at('global'));
  app.use('/r', at('beneath'));
  app.param('id', (req: Message, res: ServerResponse & { req: Message }, next: () => void) => {
    look('param', seen)(req, res);
    next();
  });
  app.get('/plain', at('first'), (_req: Message, res: ServerResponse) => res.end());
  app.get('/u/:id', at('route'), (_req: Message, res: ServerResponse) => res.end());
  app.post('/body', at('route'), (_req: Message, res: ServerResponse) => res.end());
  router.use(at('router'));
  router.get('/:name', at('inner'), (_req: Message, res: ServerResponse) => res.end());
  app.use('/r/:mount', router);
  app.use(at('after'), (_req: Message, res: ServerResponse) => {
    res.statusCode = 404;
    res.end();
  });
}

async function ask(listener: RequestListener, run: (url: string) => Promise<unknown>): Promise<void> {
  const server = http.createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
}

const REQUESTS: [path: string, init?: RequestInit][] = [
  ['/plain'], ['/u/7'], ['/u/7?x=1'], ['/none'], ['/r/m/n'], ['/body', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":[1]}' }],
  ['/body', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'text' }], ['/body', { method: 'POST' }],
];

describe('what Express makes own', () => {
  const parsing: [name: string, ours: () => { app: Registrar; seen: Seen[] }][] = [
    ['express() behind its parsers', () => {
      const app = express({ logging: { level: 'silent' } });
      app.use(express.json(), express.text());
      const seen: Seen[] = [];
      build(app as unknown as Registrar, express.Router({ mergeParams: true }) as unknown as Registrar, seen);
      return { app: app as unknown as Registrar, seen };
    }],
    ['createServer(), which parses by itself', () => {
      const app = createServer({ logging: { level: 'silent' } });
      const seen: Seen[] = [];
      build(app as unknown as Registrar, express.Router() as unknown as Registrar, seen);
      return { app: app as unknown as Registrar, seen };
    }],
  ];

  test.each(parsing)('is own when a handler runs: %s', async (_name, ours) => {
    const oracle: Seen[] = [];
    const expressApp = theirs();
    expressApp.use(theirs.json(), theirs.text());
    build(expressApp as unknown as Registrar, theirs.Router({ mergeParams: true }) as unknown as Registrar, oracle);
    const { app, seen } = ours();
    for (const [path, init] of REQUESTS) {
      await ask(expressApp as unknown as RequestListener, (url) => fetch(url + path, init));
      await ask(app as unknown as RequestListener, (url) => fetch(url + path, init));
      const got = seen.splice(0);
      expect({ path, seen: got }).toEqual({ path, seen: oracle.splice(0) });
      expect(got.length).toBeGreaterThan(0);
    }
  });

  test('is own on the application\'s own server too', async () => {
    const { app, seen } = (parsing[1] as (typeof parsing)[1])[1]();
    const running = app as unknown as ReturnType<typeof createServer>;
    const server = await running.start(0, '127.0.0.1');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const [path, init] of REQUESTS) await fetch(url + path, init);
    await running.close();
    expect(seen.length).toBeGreaterThan(15);
    for (const { place, own } of seen) {
      expect({ place, ...own }).toEqual({ place, ...own, body: true, params: true, baseUrl: true, originalUrl: true, next: true, res: true, 'res.req': true, 'res.locals': true });
    }
  });

  test('no body stands on a request that nobody parses', async () => {
    for (const app of [theirs(), express(), createServer({ body: false, logging: { level: 'silent' } })] as unknown as Registrar[]) {
      let found: unknown;
      app.get('/', ((req: IncomingMessage, res: ServerResponse) => {
        found = ['body' in req, Object.hasOwn(req, 'body')];
        res.end();
      }));
      await ask(app as unknown as RequestListener, (url) => fetch(url));
      expect(found).toEqual([false, false]);
    }
  });

  test('neither bytes nor a key id stand on a request that was not captured or checked', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    const found: unknown[] = [];
    app.all('/', (req, res) => {
      found.push(['rawBody' in req, 'signatureKeyId' in req]);
      res.end();
    });
    await ask(app as unknown as RequestListener, async (url) => {
      await fetch(url);
      await fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
    });
    expect(found).toEqual([[false, false], [true, false]]);
  });

  test('a body stands where an application parses that another has brought the request to', async () => {
    const outers: (() => Registrar)[] = [theirs as never, express as never, () => createServer({ body: false, logging: { level: 'silent' } }) as never];
    for (const makeOuter of outers) {
      const inner = createServer({ logging: { level: 'silent' } });
      const found: unknown[] = [];
      inner.get('/', (req, res) => {
        found.push('body' in req, Object.hasOwn(req, 'body'), req.body);
        res.end();
      });
      const kept = { cleaned: true };
      inner.get('/kept', (req, res) => {
        found.push(req.body);
        res.end();
      });
      const outer = makeOuter();
      outer.use('/kept', (req: Message, _res: unknown, next: () => void) => {
        req['body'] = kept;
        next();
      });
      outer.use(inner);
      await ask(outer as unknown as RequestListener, async (url) => {
        await fetch(url);
        await fetch(`${url}/kept`);
      });
      expect(found).toEqual([true, true, undefined, kept]);
    }
  });

  test('can be defined anew by a program', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    app.use((req, _res, next) => {
      Object.defineProperty(req, 'body', { value: { cleaned: true }, writable: true, configurable: true, enumerable: true });
      Object.defineProperty(req, 'locale', { get: () => 'de' });
      next();
    });
    app.post('/', (req, res) => res.json([req.body, (req as unknown as { locale: string }).locale]));
    await ask(app, async (url) => {
      expect(await (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":1}' })).json()).toEqual([{ cleaned: true }, 'de']);
    });
  });
});

test('a request to switch protocols has those that tell where it goes', async () => {
  const app = createServer({ logging: { level: 'silent' } });
  const seen: unknown[] = [];
  app.on('upgrade', (req, socket) => {
    seen.push(req.params, req.originalUrl, req.baseUrl, ['params', 'originalUrl', 'baseUrl'].filter((name) => Object.hasOwn(req, name)));
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: close\r\n\r\n');
  });
  const server = await app.start(0, '127.0.0.1');
  try {
    await Wire.tell((server.address() as AddressInfo).port, head('GET /chat?x=1', { Connection: 'Upgrade', Upgrade: 'websocket' }));
  } finally {
    await app.close({ timeout: 0 });
  }
  expect(seen).toEqual([{}, '/chat?x=1', '', ['params', 'originalUrl', 'baseUrl']]);
});

describe('req.next', () => {
  test('is the next of middleware, and in a route the one past all its handlers, as in Express', async () => {
    const results: unknown[] = [];
    for (const app of [theirs(), express({ logging: { level: 'silent' } })] as unknown as Registrar[]) {
      const trace: unknown[] = [];
      app.use((req: Message, _res: unknown, next: () => void) => {
        trace.push(['use', req['next'] === next]);
        (req['next'] as () => void)();
      });
      app.get('/one', (req: Message) => (req['next'] as () => void)());
      app.get('/:any', (req: Message, _res: unknown, next: () => void) => {
        trace.push(['first', req['next'] === next]);
        (req['next'] as () => void)();
      }, () => trace.push('skipped'));
      app.get('/:any', (_req: Message, _res: unknown, next: () => void) => next(), (req: Message) => (req['next'] as (error: Error) => void)(new Error('x')));
      app.use(((error: Error, req: Message, res: ServerResponse, next: () => void) => {
        trace.push([error.message, req['next'] === next]);
        res.end();
      }));
      await ask(app as unknown as RequestListener, (url) => fetch(`${url}/one`));
      results.push(trace);
    }
    expect(results[1]).toEqual(results[0]);
    expect(results[0]).toEqual([['use', true], ['first', false], ['x', true]]);
  });

  test('is what res.format hands on', async () => {
    const app = express({ logging: { level: 'silent' } });
    const equal: boolean[] = [];
    app.use((req, res, next) => {
      if (req.path !== '/use') return next();
      res.format({ default: (_req, _res, given) => { equal.push(given === next); given(); } });
    });
    app.get('/route', (_req, res) => res.format({ default: (_, __, given) => given() }), (_req, res) => res.send('not reached'));
    app.use((_req, res) => res.send('behind'));
    await ask(app, async (url) => {
      expect(await (await fetch(`${url}/use`)).text()).toBe('behind');
      expect(await (await fetch(`${url}/route`)).text()).toBe('behind');
    });
    expect(equal).toEqual([true]);
  });
});

describe('a function of five parameters', () => {
  test('is never called, as in Express', async () => {
    const odd = (_a: unknown, _b: unknown, _c: unknown, _d: unknown, _e: unknown): never => { throw new Error('called'); };
    const statuses: number[][] = [];
    for (const app of [theirs(), express({ logging: { level: 'silent' } })] as unknown as Registrar[]) {
      app.use(odd);
      app.get('/only', odd);
      app.get('/a', odd, (_req: unknown, res: ServerResponse) => res.end('a'));
      app.get('/b', () => { throw new Error('b'); }, odd);
      app.use(odd);
      app.use((_error: unknown, _req: unknown, res: ServerResponse, _next: unknown) => {
        res.statusCode = 418;
        res.end();
      });
      await ask(app as unknown as RequestListener, async (url) => {
        const asked = await Promise.all(['/a', '/b', '/only', '/none'].map((path) => fetch(url + path)));
        statuses.push(asked.map(({ status }) => status));
      });
    }
    expect(statuses[1]).toEqual(statuses[0]);
    expect(statuses[0]).toEqual([200, 418, 404, 404]);
  });
});
