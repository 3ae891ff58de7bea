import { join } from 'node:path';
import express5 from 'express';
import fc from 'fast-check';
import { createServer, express, json, raw, Router, type SendFileOptions, signedFetch, type SignedFetchOptions, signRequest, type SignRequestOptions, static as staticFiles, text, urlencoded, XJsonResponseHandler } from 'waypost';
import { Folder } from './support/folder';
import { Running } from './support/running';
import { runs } from './support/runs';
import { ask, post } from './support/wire';

type Options = Record<string, unknown>;

/** A class that answers for each option by a getter of its prototype. */
function byGetters(options: Options, read: (held: { of: Options }, name: string) => unknown): object {
  class Given {}
  const held = { of: options };
  for (const name of Object.keys(options)) Object.defineProperty(Given.prototype, name, { get: () => read(held, name) });
  return new Given();
}

/** The same options in the forms that programs give them: none but the first has enumerable properties of its own. */
const LOOKS: readonly (readonly [string, (options: Options) => object])[] = [
  ['as an object', (options) => options],
  ['frozen', (options) => Object.freeze(options)],
  ['inherited', (options) => Object.create(options) as object],
  ['by getters of a class', (options) => byGetters(options, ({ of }, name) => of[name])],
  ['by getters that read a private field', (options) => {
    class Given {
      readonly #held = options;
      static readonly read = (given: Given, name: string): unknown => given.#held[name];
    }
    for (const name of Object.keys(options)) Object.defineProperty(Given.prototype, name, { get(this: Given) { return Given.read(this, name); } });
    return new Given();
  }],
  ['not to be listed', (options) => Object.defineProperties({}, Object.fromEntries(Object.entries(options).map(([name, value]) => [name, { value, writable: true }])))],
  ['of a proxy that only reads', (options) => new Proxy({}, { get: (_, name) => options[name as string] })],
];
const OTHERS = LOOKS.slice(1);

const running = new Running();
const folder = new Folder(Object.fromEntries(['a.txt', '.env', 'dir/index.html', 'dir/home.html'].map((name) => [`public/${name}`, `this is ${name}`])));
folder.add('secret.txt', 'this is outside');
const tree = folder.path;
const root = join(tree, 'public');

afterAll(() => folder.close());
afterEach(() => running.close());

describe('sendFile and download take options of every look alike', () => {
  const files: readonly (readonly [string, SendFileOptions, string])[] = [
    ['root', {}, 'a.txt'],
    // That is no file beneath the root, and one beneath the process's directory.
    ['root, of a name that is elsewhere', {}, 'package.json'],
    ['root, of a path out of it', {}, '../secret.txt'],
    ['headers', { headers: { 'X-A': 'b', 'Cache-Control': 'no-store' } }, 'a.txt'],
    ['dotfiles', { dotfiles: 'allow' }, '.env'],
    ['maxAge', { maxAge: '1d', immutable: true }, 'a.txt'],
    ['maxage', { maxage: 5000 } as object, 'a.txt'],
    ['cacheControl', { cacheControl: false }, 'a.txt'],
    ['lastModified', { lastModified: false }, 'a.txt'],
    ['etag', { etag: false }, 'a.txt'],
    ['acceptRanges', { acceptRanges: false }, 'a.txt'],
    ['extensions', { extensions: ['txt'] }, 'a'],
    ['index', { index: 'home.html' }, 'dir/'],
    ['start and end', { start: 2, end: 5 }, 'a.txt'],
    ['a wrong start', { start: -1 }, 'a.txt'],
  ];

  describe.each(Object.entries({ createServer, express }))('in %s', (_, make) => {
    test.each(files)('%s', async (title, options, name) => {
      const app = make({ env: 'production', logging: { level: 'silent' } });
      for (const [at, [, look]] of LOOKS.entries()) {
        const given = (): object => look({ root, ...options });
        app.get(`/sent/${at}`, (_req, res) => res.sendFile(name, given()));
        app.get(`/saved/${at}`, (_req, res) => res.download(name, given()));
      }
      const port = await running.start(app);
      for (const way of ['sent', 'saved']) {
        const answers = await Promise.all(LOOKS.map(async ([look], at) => {
          const { status, headers: { date: _date, ...headers }, body } = await ask(port, `/${way}/${at}`, { headers: { range: 'bytes=1-' } });
          return [way, look, status, headers, body];
        }));
        expect(answers).toEqual(LOOKS.map(([look]) => [way, look, ...(answers[0] as unknown[]).slice(2)]));
        expect(answers[0]?.[2]).toBe(/elsewhere/.test(title) ? 404 : /out of it/.test(title) ? 403 : /wrong/.test(title) ? 500 : /cceptRanges/.test(title) ? 200 : 206);
      }
    });
  });

  test('and what fs.createReadStream would take goes no further', async () => {
    const port = await running.app((app) => app.get('/', (_req, res) => res.sendFile('a.txt', { root, encoding: 'hex', fd: 0, highWaterMark: 1, flags: 'w' } as object)));
    expect((await ask(port, '/')).body).toBe('this is a.txt');
  });
});

describe('so do', () => {
  test.each(OTHERS)('static and Router: %s', async (_, look) => {
    const port = await running.app((app) => {
      app.use('/files', staticFiles(root, look({ dotfiles: 'allow', maxAge: 5000, index: 'home.html' })));
      const router = Router(look({ caseSensitive: true, strict: true }));
      router.get('/a', (_req, res) => res.send('a'));
      app.use('/router', router);
    }, { routing: { caseSensitive: false } });
    expect(await ask(port, '/files/.env')).toMatchObject({ status: 200, headers: { 'cache-control': 'public, max-age=5' } });
    expect((await ask(port, '/files/dir/')).body).toContain('home');
    expect(await Promise.all(['/router/a', '/router/A', '/router/a/'].map(async (path) => (await ask(port, path)).status))).toEqual([200, 404, 404]);
  });

  test.each(OTHERS)('xJson, its handler, its middleware and its stringify: %s', async (_, look) => {
    const data = { b: 1, a: { b: { c: 'long text' } } };
    const options = { maxDepth: 2, truncateStrings: 3, stable: true, chunkSize: 1, enableStreaming: false };
    const wanted = XJsonResponseHandler.stringify(data, options);
    expect(XJsonResponseHandler.stringify(data, look({ ...options }))).toBe(wanted);
    const handler = new XJsonResponseHandler(look({ ...options }));
    const port = await running.app((app) => {
      app.get('/call', (_req, res) => void res.xJson(data, look({ ...options })));
      app.get('/handler', (_req, res) => handler.send(res, data));
      app.get('/middleware', XJsonResponseHandler.createMiddleware(look({ ...options })), (_req, res) => void res.xJson(data));
    });
    for (const path of ['/call', '/handler', '/middleware']) expect([path, (await ask(port, path)).body]).toEqual([path, wanted]);
  });

  test.each(OTHERS)('signRequest and signedFetch: %s', async (_, look) => {
    const secret = 'correct horse battery staple 0123456789';
    const names = { headerName: 'X-Sig', timestampHeaderName: 'X-At', keyIdHeaderName: 'X-Key' };
    const options = { secret, algorithm: 'sha512', keyId: 'k', includeBody: false, includeQuery: false, ...names };
    const signed = { ...options, method: 'POST', url: '/a?b', body: 'c', timestamp: 1 } as SignRequestOptions;
    expect(signRequest(look({ ...signed }) as SignRequestOptions)).toEqual(signRequest(signed));
    const calls: Parameters<typeof fetch>[] = [];
    const send = signedFetch(look({ ...options, fetch: (...given: Parameters<typeof fetch>) => {
      calls.push(given);
      return Promise.resolve(new Response());
    } }) as SignedFetchOptions);
    await send('http://localhost/a?b', { method: 'POST', body: 'c' });
    const headers = new Headers(calls[0]?.[1]?.headers);
    const again = signRequest({ ...options, method: 'POST', url: '/a', timestamp: headers.get('x-at') as string } as SignRequestOptions);
    expect(Object.entries(again).map(([name]) => [name, headers.get(name)])).toEqual(Object.entries(again));
  });
});

describe.each(Object.entries({ createServer, express }))('%s', (_, make) => {
  const security = { requestSignature: { secret: 'x'.repeat(32) } };

  test.each([
    ...OTHERS.filter(([look]) => /inherited|getters/.test(look)), ['as a Map', (options: Options) => new Map(Object.entries(options))], ['in a list', (options: Options) => [options]],
  ] as const)('refuses options that are no plain object, of which it would start without a guard: %s', (_look, look) => {
    expect(() => make(look({ security }))).toThrow(/must be (?:a plain|an) object/);
    expect(() => make({ security: look(security) } as object)).toThrow(/security must be (?:a plain|an) object/);
    expect(() => make({ routing: look({ caseSensitive: true }) } as object)).toThrow(/routing must be (?:a plain|an) object/);
  });

  test.each(['security', null, 1])('refuses %p', (given) => {
    expect(() => make(given as never)).toThrow('must be an object');
  });

  test('takes what is not to be listed', async () => {
    const app = make(Object.defineProperty({ env: 'test', logging: { level: 'silent' } }, 'security', { value: security }));
    app.get('/', (_req, res) => res.send('taken'));
    expect((await ask(await running.start(app), '/')).status).toBe(401);
  });
});

test('the defaults of express() hold where undefined is given', async () => {
  const app = express({ etag: undefined, body: undefined, routing: { caseSensitive: undefined, ignoreTrailingSlash: undefined }, logging: { level: 'silent' } });
  app.post('/a', (req, res) => res.send(typeof req.body));
  app.get('/a', (_req, res) => res.send('a'));
  const port = await running.start(app);
  expect(await ask(port, '/A/')).toMatchObject({ status: 200, headers: { etag: expect.stringMatching(/^W\//) as string } });
  expect((await post(port, '/a', '{}')).body).toBe('undefined');
});

test('a body parser takes a request of a test\'s own making, as in Express', async () => {
  for (const parser of [json(), urlencoded(), text(), raw()]) {
    expect(await new Promise((resolve) => parser({ headers: {}, method: 'GET' } as never, {} as never, resolve))).toBeUndefined();
  }
});

describe('a file is sent from a root alone', () => {
  test.each([undefined, null, '', false, 0, NaN])('or by an absolute path: %p is no root', async (none) => {
    const port = await running.app((app) => {
      app.get('/sent/*', (req, res) => res.sendFile(req.params['*'], { root: none as never }));
      app.get('/bare/*', (req, res) => res.sendFile(req.params['*']));
    });
    for (const path of ['/sent/package.json', '/bare/package.json']) expect([path, (await ask(port, path)).status]).toEqual([path, 500]);
  });

  test('and from that of the program, whatever a client gives for the name of a download', async () => {
    const apps = { express: express5(), waypost: express({ logging: { level: 'silent' } }) };
    let given: readonly [path: string, second: unknown, third: unknown, fourth: unknown];
    for (const app of [apps.express, apps.waypost] as ReturnType<typeof express5>[]) {
      app.get('/', (_req, res) => {
        const [path, ...rest] = given;
        const answer = (error?: Error): unknown => error && !res.headersSent ? res.status(500).end('refused') : undefined;
        (res.download as (...all: unknown[]) => void)(path, ...rest.map((one) => (one === 'callback' ? answer : one)));
      });
      app.use(((_error, _req, res, _next) => void res.status(500).end('refused')) as express5.ErrorRequestHandler);
    }
    const ports = [await running.serve(apps.express), await running.start(apps.waypost)] as const;
    const name = fc.constantFrom<unknown>(undefined, null, '', 'n.txt', ['a', 'b'], [], { root: '/' }, { root: tree, dotfiles: 'allow', headers: { 'x-client': '1' } }, {}, new String('n.txt'), 1, true, 0, 'callback');
    const options = fc.constantFrom<unknown>(undefined, null, { root: 'the root' }, { root: 'the root', headers: { 'x-own': '1' } }, { root: 'the root', dotfiles: 'deny' }, {}, 'text', 'callback');
    const path = fc.constantFrom('a.txt', '.env', 'secret.txt', '../secret.txt', 'passwd', 'package.json', 'nowhere', 'the secret', 'the file');
    await fc.assert(fc.asyncProperty(path, name, options, fc.constantFrom<unknown>(undefined, 'callback'), async (file, second, third, fourth) => {
      const rooted = typeof third === 'object' && third !== null && 'root' in third ? { ...third, root } : third;
      given = [file === 'the secret' ? join(tree, 'secret.txt') : file === 'the file' ? join(root, 'a.txt') : file, second, rooted, fourth];
      const [wanted, got] = await Promise.all(ports.map(async (port) => {
        const { status, headers, body } = await ask(port, '/');
        return status >= 400 ? 'refused' : [status, body, headers['content-disposition'], headers['x-own'], headers['x-client']];
      }));
      expect(got).toEqual(wanted);
      if (rooted !== third && typeof second !== 'function' && second !== 'callback') expect(got === 'refused' || (got as unknown[])[1] === 'this is a.txt').toBe(true);
    }), { numRuns: runs(300) });
  });
});
