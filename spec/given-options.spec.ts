import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, express, Router, type SendFileOptions, signedFetch, type SignedFetchOptions, signRequest, type SignRequestOptions, static as staticFiles, XJsonResponseHandler } from 'waypost';
import { Running } from './support/running';
import { ask } from './support/wire';

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
let tree: string;
let root: string;

beforeAll(() => {
  tree = mkdtempSync(join(tmpdir(), 'waypost-'));
  root = join(tree, 'public');
  mkdirSync(join(root, 'dir'), { recursive: true });
  for (const name of ['a.txt', '.env', 'dir/index.html', 'dir/home.html', '../secret.txt']) {
    writeFileSync(join(root, name), `this is ${name}`);
    utimesSync(join(root, name), 1e9, 1e9);
  }
});

afterAll(() => rmSync(tree, { recursive: true }));
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

  test.each(Object.entries({ createServer, express }))('in %s', async (_, make) => {
    const app = make({ env: 'production', logging: { level: 'silent' } });
    for (const [index, [, options, name]] of files.entries()) {
      for (const [at, [, look]] of LOOKS.entries()) {
        const given = (): object => look({ root, ...options });
        app.get(`/sent/${index}/${at}`, (_req, res) => res.sendFile(name, given()));
        app.get(`/saved/${index}/${at}`, (_req, res) => res.download(name, given()));
      }
    }
    const port = await running.start(app);
    for (const [index, [title]] of files.entries()) {
      for (const way of ['sent', 'saved']) {
        const answers = await Promise.all(LOOKS.map(async ([look], at) => {
          const { status, headers: { date: _date, ...headers }, body } = await ask(port, `/${way}/${index}/${at}`, { headers: { range: 'bytes=1-' } });
          return [way, title, look, status, headers, body];
        }));
        expect(answers).toEqual(LOOKS.map(([look]) => [way, title, look, ...(answers[0] as unknown[]).slice(3)]));
        expect(answers[0]?.[3]).toBe(/elsewhere/.test(title) ? 404 : /out of it/.test(title) ? 403 : /wrong/.test(title) ? 500 : /cceptRanges/.test(title) ? 200 : 206);
      }
    }
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

  test.each(OTHERS)('start: %s', async (_, look) => {
    const ending = new AbortController();
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    const server = await app.start(look({ port: 0, host: '127.0.0.1', signal: ending.signal }));
    const { port, address } = server.address() as { port: number; address: string };
    expect(address).toBe('127.0.0.1');
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
    const closed = once(server, 'close');
    ending.abort();
    await closed;
    await app.close();
  });

  test.each(OTHERS)('start at a path: %s', async (_, look) => {
    const path = join(tree, 'socket');
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    const server = await app.start(look({ path }));
    expect(server.address()).toBe(path);
    await app.close();
  });
});

test.each(OTHERS.filter(([look]) => /inherited|getters/.test(look)))('createServer refuses options that are no plain object, of which it would start without a guard: %s', (_, look) => {
  const options = { requestSignature: { secret: 'x'.repeat(32) } };
  expect(() => createServer({ security: look(options) })).toThrow('security must be a plain object');
  expect(() => createServer(look({ security: options }))).toThrow('must be a plain object');
});
