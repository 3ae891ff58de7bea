import express, { type Express } from 'express';
import fc from 'fast-check';
import { type Application, createServer, type CreateServerOptions, Router } from 'waypost';
import { ExpressOracle } from './support/express-oracle';
import { LogRecorder, Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();

afterEach(() => running.close());

async function both(program: (app: Express) => void, options: CreateServerOptions = {}): Promise<ExpressOracle> {
  return running.keep(await ExpressOracle.start(program, options));
}

function silent(options: CreateServerOptions = {}): Application {
  return createServer({ env: 'test', logging: { level: 'silent' }, ...options });
}

/** What of a request depends on whom it trusts. */
function origin(app: Express): void {
  app.get('/', (req, res) => {
    const { ip, ips, protocol, secure, host, hostname, subdomains } = req;
    res.json({ ip, ips, protocol, secure, host, hostname, subdomains, trusts: req.app.enabled('trust proxy') });
  });
}

const addresses = fc.array(fc.constantFrom('127.0.0.1', '10.0.0.7', '10.1.2.3', '192.0.2.1', '::1', '2001:db8::1', 'bad'), { maxLength: 4 }).map((list) => list.join(', '));

describe('"trust proxy" means what it means in Express', () => {
  test.each([
    ['true', true], ['false', false], ['0', 0], ['1', 1], ['2', 2], ['loopback', 'loopback'], ['a list as text', '127.0.0.1, 10.0.0.0/8'],
    ['a list', ['loopback', '10.0.0.0/8']], ['nothing', undefined], ['a function', (address: string, hop: number) => address.endsWith('1') && hop < 3],
  ])('as %s', async (_name, value) => {
    const oracle = await both((app) => {
      app.set('trust proxy', value);
      origin(app);
    });
    await fc.assert(fc.asyncProperty(addresses, fc.constantFrom('http', 'https', 'https, http'), fc.constantFrom('a.b.example.com', 'x.example.com:8080, y.example.com', '[::1]:80'), async (via, proto, host) => {
      await oracle.ask('/', { headers: { ...(via === '' ? {} : { 'x-forwarded-for': via }), 'x-forwarded-proto': proto, 'x-forwarded-host': host, host: 'one.two.three.example.org:3000' } });
    }), { numRuns: 25 });
  });

  test('the compiled function is there for packages that ask for it, and may be set by itself', async () => {
    const oracle = await both((app) => {
      app.set('trust proxy', 1);
      app.get('/', (req, res) => {
        const trusts = req.app.get('trust proxy fn') as (address: string, hop: number) => boolean;
        res.json([trusts('192.0.2.1', 0), trusts('192.0.2.1', 1), req.app.get('trust proxy')]);
      });
      app.get('/own', (req, res) => {
        req.app.set('trust proxy fn', () => true);
        res.json([req.protocol, req.app.get('trust proxy')]);
      });
    });
    expect((await oracle.ask('/')).body).toBe('[true,false,1]');
    expect((await oracle.ask('/own', { headers: { 'x-forwarded-proto': 'https' } })).body).toBe('["https",1]');
  });
});

describe('"etag" means what it means in Express', () => {
  test.each([['weak', 'weak'], ['strong', 'strong'], ['true', true], ['false', false], ['a function', (body: Buffer) => `"${body.toString('hex').slice(0, 8)}"`], ['a function that makes none', () => undefined]])('as %s', async (_name, value) => {
    const oracle = await both((app) => {
      app.set('etag', value);
      app.get('/text', (_req, res) => res.send('some text, ä'));
      app.get('/bytes', (_req, res) => res.send(Buffer.from([1, 2, 3])));
      app.get('/json', (_req, res) => res.json({ a: 1 }));
      app.get('/own', (_req, res) => res.set('ETag', '"mine"').send('x'));
    });
    for (const path of ['/text', '/bytes', '/json', '/own']) {
      const { headers } = await oracle.ask(path);
      const tag = headers['etag'] as string | undefined;
      expect(tag === undefined).toBe(path !== '/own' && (value === false || (typeof value === 'function' && value(Buffer.from('x')) === undefined)));
      if (tag !== undefined) expect((await oracle.ask(path, { headers: { 'if-none-match': tag } })).status).toBe(304);
    }
  });
});

describe('"query parser" means what it means in Express', () => {
  test('one that throws for a target leaves nothing of the target before', async () => {
    const seen = async (app: express.Express): Promise<unknown> => {
      app.set('query parser', (text: string) => {
        if (text === 'b') throw new Error('no such query');
        return { text };
      });
      const read = (req: express.Request): unknown => {
        try {
          return req.query;
        } catch (error) {
          return (error as Error).message;
        }
      };
      app.get('/', (req, res) => {
        const first = read(req);
        req.url = '/?b';
        res.json([first, read(req), read(req)]);
      });
      return (await ask(await running.serve(app), '/?a')).json;
    };
    const wanted = await seen(express());
    expect(wanted).toEqual([{ text: 'a' }, 'no such query', 'no such query']);
    expect(await seen(silent() as never)).toEqual(wanted);
  });

  const queries = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'a[]', 'a[b]', 'a[b][c]', 'a.b', 'ä', 'c%20d', ''), fc.constantFrom('1', '', 'x+y', '%C3%A4', '%', 'a,b')), { maxLength: 5 })
    .map((pairs) => pairs.map(([name, value]) => `${encodeURI(name).replace(/%25/g, '%')}=${value}`).join('&'));

  test.each([['simple', 'simple'], ['true', true], ['false', false], ['extended', 'extended'], ['a function', (text: string | null) => ({ text: text ?? '' })]])('as %s', async (_name, value) => {
    const oracle = await both((app) => {
      app.set('query parser', value);
      app.get('/', (req, res) => res.json(req.query));
    });
    await fc.assert(fc.asyncProperty(queries, async (query) => {
      await oracle.ask(`/?${query}`);
    }), { numRuns: 40 });
    await oracle.ask('/');
  });
});

describe('the settings of JSON mean what they mean in Express', () => {
  const data = { b: '<script>&"\u2028', a: [1, { c: null, secret: 's' }], secret: 1, n: undefined };

  test.each<[string, Record<string, unknown>]>([
    ['spaces', { 'json spaces': 2 }], ['an indent', { 'json spaces': '\t' }], ['a replacer', { 'json replacer': (key: string, value: unknown) => (key === 'secret' ? undefined : value) }],
    ['a list of names', { 'json replacer': ['a', 'b'] }], ['escape', { 'json escape': true }], ['all of them', { 'json escape': true, 'json spaces': 1, 'json replacer': ['b'] }],
  ])('%s', async (_name, settings) => {
    const oracle = await both((app) => {
      for (const [name, value] of Object.entries(settings)) app.set(name, value);
      app.get('/json', (_req, res) => res.json(data));
      app.get('/send', (_req, res) => res.send(data));
      app.get('/jsonp', (_req, res) => res.jsonp(data));
      app.get('/none', (_req, res) => res.json(undefined));
    });
    for (const path of ['/json', '/send', '/jsonp', '/jsonp?callback=f', '/none']) await oracle.ask(path);
  });

  test('"jsonp callback name"', async () => {
    const oracle = await both((app) => {
      app.set('jsonp callback name', 'call');
      app.get('/', (_req, res) => res.jsonp({ a: 1 }));
    });
    expect((await oracle.ask('/?call=f')).body).toContain('f({"a":1})');
    expect((await oracle.ask('/?callback=f')).body).toBe('{"a":1}');
  });

  test('data that the replacer fails on is answered as all data that cannot be written', async () => {
    const port = await running.app((app) => {
      app.set('json replacer', () => { throw new Error('inside'); });
      app.get('/', (_req, res) => res.json({}));
    });
    const answer = await ask(port, '/');
    expect([answer.status, answer.json]).toEqual([500, { error: 'Serialization failed', message: 'Unable to serialize response object' }]);
  });
});

test('"subdomain offset" means what it means in Express', async () => {
  for (const offset of [0, 1, 2, 3]) {
    const oracle = await both((app) => {
      app.set('subdomain offset', offset);
      origin(app);
    });
    for (const host of ['a.b.c.example.com', 'example.com', 'localhost', '192.0.2.1']) await oracle.ask('/', { headers: { host } });
  }
});

test.each([[true, true], [true, false], [false, true], [false, false]])('"case sensitive routing" %s and "strict routing" %s mean what they mean in Express', async (caseSensitive, strict) => {
  const oracle = await both((app) => {
    app.set('case sensitive routing', caseSensitive).set('strict routing', strict);
    app.get('/Users/:id', (req, res) => res.send(`user ${req.params.id}`));
    app.get('/slash/', (_req, res) => res.send('slash'));
    app.use((req, res) => res.status(404).send(`none ${req.url}`));
  });
  for (const path of ['/Users/Ada', '/users/Ada', '/Users/Ada/', '/USERS/x/', '/slash', '/slash/', '/SLASH']) await oracle.ask(path);
});

describe('set, get, enable, disable, enabled and disabled', () => {
  const name = fc.constantFrom('title', 'etag', 'trust proxy', 'x-powered-by', 'json spaces', 'view engine', 'toString');
  const operation = fc.oneof(
    fc.tuple(fc.constant('set' as const), name, fc.constantFrom<unknown>(true, false)),
    fc.tuple(fc.constantFrom('enable' as const, 'disable' as const, 'enabled' as const, 'disabled' as const, 'get' as const, 'set' as const), name),
  );

  test('answer as Express does', () => {
    fc.assert(fc.property(fc.array(operation, { maxLength: 12 }), (operations) => {
      const run = (app: Record<string, (...given: unknown[]) => unknown>, defaults: (app: never) => unknown): unknown[] => {
        defaults(app as never);
        return operations.map(([method, ...given]) => {
          const answer = app[method]!(...given);
          return answer === app ? 'itself' : answer;
        });
      };
      const start = (app: Express): unknown => app.set('etag', false).set('x-powered-by', false).set('trust proxy', false);
      expect(run(silent() as never, start)).toEqual(run(express() as never, start));
    }), { numRuns: 300 });
  });

  test('a wrong value is refused, names what it is for, and changes nothing', () => {
    const app = silent();
    const wrong: [string, unknown, RegExp][] = [
      ['etag', 'odd', /"etag" got the unknown value/], ['query parser', 'odd', /"query parser": it must be 'simple', 'extended'/],
      ['trust proxy', 'no address', /trustProxy must be/], ['subdomain offset', -1, /"subdomain offset" must be an integer/],
    ];
    for (const [setting, value, message] of wrong) {
      const before = app.get(setting);
      expect(() => app.set(setting, value)).toThrow(message);
      expect(app.get(setting)).toBe(before);
    }
    expect(() => app.set(1 as never, 2)).toThrow(/set\(\) needs the name of a setting, got 1/);
  });

  test('a path alone is a route whose handler was forgotten', () => {
    expect(() => silent().get('/a')).toThrow(/get\("\/a", …\): argument handler is required/);
  });

  test('the options are the settings to begin with', () => {
    const app = silent({ etag: true, env: 'staging', server: { trustProxy: 2 }, routing: { caseSensitive: false, ignoreTrailingSlash: true } });
    expect([app.get('etag'), app.get('env'), app.get('trust proxy'), app.get('case sensitive routing'), app.get('strict routing')]).toEqual(['weak', 'staging', 2, false, false]);
    const [offset, own]: [number, unknown] = [app.get('subdomain offset'), app.set('mine', 1).get('mine')];
    expect([offset, own]).toEqual([2, 1]);
    const plain = silent();
    expect([plain.get('etag'), plain.get('case sensitive routing'), plain.get('strict routing'), plain.get('query parser'), plain.get('subdomain offset'), plain.get('jsonp callback name')])
      .toEqual([false, true, true, 'simple', 2, 'callback']);
  });

  test('take effect at once while the server runs', async () => {
    const app = silent();
    app.get('/A', (req, res) => res.json(req.query));
    const port = await running.start(app);
    expect((await ask(port, '/A?x[y]=1')).body).toBe('{"x[y]":"1"}');
    app.set('query parser', 'extended').set('json spaces', 1).set('etag', 'strong').disable('case sensitive routing').disable('strict routing');
    const answer = await ask(port, '/a/?x[y]=1');
    expect([answer.body, answer.headers['etag']?.[0]]).toEqual(['{\n "x": {\n  "y": "1"\n }\n}', '"']);
  });
});

describe('one application in another', () => {
  /** What the inner application sees of its settings, before and after the outer one changes them. */
  const nested = (own: Record<string, unknown>, before: Record<string, unknown>, after: Record<string, unknown>) => (make: () => Express) => (app: Express): void => {
    const inner = make();
    inner.set('etag', false).set('env', 'test').set('x-powered-by', false);
    for (const [name, value] of Object.entries(own)) inner.set(name, value);
    for (const [name, value] of Object.entries(before)) app.set(name, value);
    const mounts: unknown[] = [];
    inner.on('mount', (parent) => { mounts.push([parent === app, inner.mountpath, inner.path()]); });
    app.use('/inner', inner);
    for (const [name, value] of Object.entries(after)) app.set(name, value);
    inner.get('/see', (req, res) => {
      res.json({ ip: req.ip, title: req.app.get('title'), trust: req.app.get('trust proxy'), mounts, path: req.app.path(), same: req.app === inner, answers: res.app === inner, etag: req.app.get('etag') });
    });
    app.use('/after', (req, res) => res.json([req.app === app, res.app === app, (inner as unknown as { parent: unknown }).parent === app]));
  };

  const settings = fc.record({ title: fc.constantFrom('one', 'two'), 'trust proxy': fc.constantFrom<unknown>(true, false, 1), 'json spaces': fc.constantFrom(1, 2) }, { requiredKeys: [] });

  test('inherits what it has not set itself, as in Express', async () => {
    await fc.assert(fc.asyncProperty(settings, settings, settings, async (own, before, after) => {
      const program = nested(own, before, after);
      const made: Express[] = [];
      const one = await ExpressOracle.start((app, side) => {
        const make = (): Express => (side.name === 'express' ? express() : silent() as unknown as Express);
        made.push(app);
        program(make)(app);
      });
      try {
        await one.ask('/inner/see', { headers: { 'x-forwarded-for': '192.0.2.1' } });
        expect((await one.ask('/after')).body.replace(/\s/g, '')).toBe('[true,true,true]');
      } finally {
        await one.close();
      }
    }), { numRuns: 20 });
  });

  test('knows its paths, also several and nested', () => {
    const [app, blog, admin] = [silent(), silent(), silent()];
    blog.use('/admin', admin);
    app.use(['/blog', '/weblog'], blog);
    expect([app.mountpath, blog.mountpath, admin.mountpath]).toEqual(['/', ['/blog', '/weblog'], '/admin']);
    expect([app.path(), blog.path(), admin.path()]).toEqual(['', '/blog,/weblog', '/blog,/weblog/admin']);
    expect([app.parent, blog.parent, admin.parent]).toEqual([undefined, app, blog]);
    expect(admin.get('title')).toBeUndefined();
    app.set('title', 'of all');
    expect([blog.get('title'), admin.get('title'), admin.enabled('title')]).toEqual(['of all', 'of all', true]);
  });

  test('is not mounted in itself, nor in what it holds', () => {
    const [app, inner] = [silent(), silent()];
    app.use('/inner', inner);
    expect(() => inner.use('/again', app)).toThrow(/mount a router inside itself/);
    const between = Router();
    between.use(app);
    expect(() => inner.use(between)).toThrow(/mount a router inside itself/);
    expect(() => app.use(app)).toThrow(/mount a router inside itself/);
    expect(inner.router.stack).toHaveLength(0);
  });

  test('hears of it when it is in its place: what the listener registers comes behind', async () => {
    const [app, inner] = [silent(), silent()];
    inner.get('/', (_req, res) => res.send('inner'));
    inner.on('mount', (parent) => parent.get('/', (_req, res) => res.send('outer')));
    app.use('/', inner);
    expect((await app.inject('/')).body).toBe('inner');
  });

  test('keeps the trust it was made with', () => {
    const [app, inner] = [silent({ server: { trustProxy: true } }), silent({ server: { trustProxy: 1 } })];
    app.use(inner);
    expect(inner.get('trust proxy')).toBe(1);
    const second = silent();
    app.use(second);
    expect(second.get('trust proxy')).toBe(true);
    const third = silent({ server: { trustProxy: false } });
    app.use(third);
    expect(third.get('trust proxy')).toBe(false);
  });

  test('may be mounted elsewhere, and then follows that one alone', () => {
    const [first, second, inner] = [silent(), silent(), silent()];
    first.use(inner).set('title', 'first');
    second.use(inner).set('title', 'second');
    first.set('trust proxy', true);
    expect([inner.get('title'), inner.get('trust proxy')]).toEqual(['second', false]);
  });
});

test('locals hold the settings, and anything else', () => {
  const app = silent();
  app.locals['title'] = 'mine';
  expect([app.locals['title'], app.locals['settings'] === app.settings, 'toString' in app.locals]).toEqual(['mine', true, false]);
});

test('"x-powered-by" is never sent, and the log says so', async () => {
  const log = new LogRecorder();
  const app = createServer({ logging: { logger: log } });
  app.enable('x-powered-by');
  app.get('/', (_req, res) => res.send('x'));
  expect((await ask(await running.start(app), '/')).headers['x-powered-by']).toBeUndefined();
  expect(log.messages('warn')).toEqual([expect.stringContaining('"x-powered-by" has no effect')]);
});

test('"env" decides whether a client sees the inside of an error', async () => {
  const app = silent();
  app.get('/', () => { throw new Error('inside'); });
  const port = await running.start(app);
  expect((await ask(port, '/')).body).not.toContain('inside');
  app.set('env', 'development');
  expect((await ask(port, '/')).body).toContain('inside');
});

describe('where signatures are checked', () => {
  const signed = { security: { requestSignature: { secret: 's'.repeat(32) } } };

  test('how paths are compared is fixed: the scope was worked out by it', () => {
    const app = silent(signed);
    expect(() => app.disable('case sensitive routing')).toThrow(/createServer\({ routing: { caseSensitive: false } }\)/);
    expect(() => app.disable('strict routing')).toThrow(/createServer\({ routing: { ignoreTrailingSlash: true } }\)/);
    expect([app.get('case sensitive routing'), app.get('strict routing')]).toEqual([true, true]);
    expect(app.enable('case sensitive routing').enable('strict routing')).toBe(app);
  });

  test('writing to the settings themselves does not change it', async () => {
    const app = silent({ security: { ...signed.security, routeConfig: { requestSignature: { includeRoutes: ['/closed'] } } } });
    app.get('/open', (_req, res) => res.send('open'));
    expect(() => Object.assign(app.settings, { 'case sensitive routing': false })).toThrow('"case sensitive routing" can\'t be changed where request signatures are checked');
    Object.setPrototypeOf(app.settings, { 'case sensitive routing': false });
    const port = await running.start(app);
    expect([(await ask(port, '/open')).status, (await ask(port, '/OPEN')).status]).toEqual([200, 404]);
  });

  test('a parent does not change it either', () => {
    const [app, inner] = [silent(), silent(signed)];
    app.use(inner).disable('case sensitive routing');
    expect(inner.enabled('case sensitive routing')).toBe(true);
  });
});
