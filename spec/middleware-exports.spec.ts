import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import theirs, { type Express } from 'express';
import fc from 'fast-check';
import * as waypost from 'waypost';
import type { CreateServerOptions } from 'waypost';
import { answerErrors, ExpressOracle } from './support/express-oracle';
import { Running } from './support/running';
import { ask, post } from './support/wire';

type Exports = Pick<typeof theirs, 'json' | 'urlencoded' | 'text' | 'raw' | 'static'>;

const running = new Running();

afterEach(() => running.close());

/** The same program with the middleware of Express there, and that of waypost here. */
async function both(program: (app: Express, middleware: Exports) => void, options: CreateServerOptions = {}): Promise<ExpressOracle> {
  return running.keep(await ExpressOracle.start((app, side) => {
    program(app, side.name === 'express' ? theirs : waypost as unknown as Exports);
    app.use(answerErrors);
  }, options));
}

function echo(app: Express): void {
  app.post('/', (req, res) => {
    const body: unknown = req.body;
    res.json(Buffer.isBuffer(body) ? { bytes: body.toString('hex') } : { body, type: typeof body });
  });
}

describe('json answers as express.json does', () => {
  const bodies = ['{"a":1}', '[1,2]', '"text"', '7', 'null', 'true', '', '  ', '{', '{"a":}', '{"__proto__":{"x":1}}', '{"constructor":{"prototype":{}}}', '\ufeff{"a":1}', ' {"a":1} ', `{"long":"${'x'.repeat(300)}"}`];

  test.each<[string, Parameters<Exports['json']>[0]]>([
    ['no options', undefined], ['strict: false', { strict: false }], ['a limit', { limit: 200 }], ['a limit as text', { limit: '0.2kb' }], ['a type', { type: 'text/*' }], ['a type by test', { type: () => true }],
    ['a reviver', { reviver: (_key, value) => (typeof value === 'number' ? value + 1 : value) as unknown }], ['verify', { verify: (_req, _res, body) => { if (body.includes('long')) throw new Error('refused'); } }], ['no inflating', { inflate: false }],
  ])('with %s', async (_name, options) => {
    const one = await both((app, { json }) => {
      app.use(json(options));
      echo(app);
      // What a parser passes by is parsed by waypost where that is not turned off.
    }, options?.type === undefined ? {} : { body: false });
    for (const body of bodies) await one.post('/', body);
    await one.post('/', '{"a":1}', 'application/json; charset=utf-16');
    await one.post('/', '{"a":1}', 'application/json; charset=odd');
    for (const [encoding, bytes] of [['gzip', gzipSync('{"a":1}')], ['deflate', deflateSync('{"a":1}')], ['gzip', Buffer.from('no gzip')]] as const) {
      await one.post('/', bytes, 'application/json', { 'content-encoding': encoding });
    }
  });

  test('with any value', async () => {
    const one = await both((app, { json }) => {
      app.use(json({ strict: false }));
      echo(app);
    });
    await fc.assert(fc.asyncProperty(fc.jsonValue(), async (value) => {
      await one.post('/', JSON.stringify(value));
    }), { numRuns: 50 });
  });

  test('where the body is longer than waypost\'s own limit', async () => {
    const one = await both((app, { json }) => {
      app.use(json({ limit: '5mb' }));
      app.post('/', (req, res) => res.json({ length: (req.body as string[]).length }));
    });
    expect((await one.post('/', JSON.stringify(new Array(1_000_000).fill(1)))).body).toBe('{"length":1000000}');
  });

  test('in a route, and in a router', async () => {
    const one = await both((app, { json }) => {
      app.post('/', json({ limit: 10 }), (req, res) => res.json(req.body));
      app.post('/other', json({ limit: 100 }), (req, res) => res.json(req.body));
    });
    for (const path of ['/', '/other']) await one.post(path, '{"some":"data"}');
  });

  test('verify sees the bytes, and request and response', async () => {
    const one = await both((app, { json }) => {
      app.use(json({ verify: (req: IncomingMessage, res: ServerResponse, body: Buffer, encoding: string) => { res.setHeader('x-seen', `${String(req.url)} ${body.length} ${encoding}`); } }));
      echo(app);
    });
    expect((await one.post('/?q', '{"a":"ä"}')).headers['x-seen']).toBe('/?q 10 utf-8');
  });
});

test.each<[string, waypost.UrlencodedParserOptions | undefined]>([
  ['no options', undefined], ['extended', { extended: true }], ['extended, not deep', { extended: true, depth: 1 }], ['few parameters', { parameterLimit: 2 }], ['a limit', { limit: 12 }],
])('urlencoded with %s answers as express.urlencoded does', async (_name, options) => {
  const one = await both((app, { urlencoded }) => {
    app.use(urlencoded(options as Parameters<typeof urlencoded>[0]));
    echo(app);
  });
  for (const body of ['a=1', 'a=1&a=2', 'a[b][c]=1', 'a[]=1&a[]=2', 'a=%C3%A4+b', 'a=%', '', 'a', 'a=1&b=2&c=3', '__proto__[x]=1']) await one.post('/', body, 'application/x-www-form-urlencoded');
  await one.post('/', 'a=%E4', 'application/x-www-form-urlencoded; charset=iso-8859-1');
});

test('text and raw answer as express.text and express.raw do', async () => {
  for (const program of [
    (app: Express, { text }: Exports) => app.use(text()), (app: Express, { text }: Exports) => app.use(text({ type: '*/*', limit: 8 })),
    (app: Express, { raw }: Exports) => app.use(raw()), (app: Express, { raw }: Exports) => app.use(raw({ type: 'application/json' })),
  ]) {
    const one = await both((app, middleware) => {
      program(app, middleware);
      echo(app);
    }, { body: false });
    for (const [body, type] of [['text', 'text/plain'], ['longer text', 'text/plain'], ['bytes', 'application/octet-stream'], ['{"a":1}', 'application/json']] as const) await one.post('/', body, type);
  }
});

describe('static answers as express.static does', () => {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
  beforeAll(() => {
    mkdirSync(join(folder, 'docs'));
    for (const [name, content] of [['a.txt', 'a file'], ['page.html', '<p>'], ['.hidden', 'hidden'], ['docs/index.html', 'index'], ['ä b.txt', 'name']] as const) writeFileSync(join(folder, name), content);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each<[string, Parameters<Exports['static']>[1]]>([
    ['no options', undefined], ['extensions and age', { extensions: ['html'], maxAge: '1d', immutable: true }], ['dotfiles', { dotfiles: 'deny' }], ['no way through', { fallthrough: false }],
    ['headers of its own', { setHeaders: (res, path) => void res.set('x-length', String(path.length)) }], ['no index, no redirect', { index: false, redirect: false }], ['no validators', { etag: false, lastModified: false }],
  ])('with %s', async (_name, options) => {
    const one = await both((app, { static: serve }) => {
      app.use('/files', serve(folder, options));
      app.use(serve(folder, options));
      app.use((req, res) => void res.status(404).send(`passed on ${req.url}`));
    });
    for (const path of ['/a.txt', '/files/a.txt', '/page', '/docs', '/docs/', '/files/docs', '/.hidden', '/none', '/files/none?x', '/%C3%A4%20b.txt', '/%2e%2e/x', '/a.txt%00']) await one.ask(path);
    await one.ask('/a.txt', { headers: { range: 'bytes=2-3' } });
    await one.ask('/a.txt', { method: 'HEAD' });
    await one.ask('/a.txt', { method: 'POST' });
  });
});

describe('express', () => {
  test('has on it what hangs on Express\'s', () => {
    const { express } = waypost;
    expect(Object.keys(express).sort()).toEqual(['Route', 'Router', 'application', 'json', 'raw', 'request', 'response', 'static', 'text', 'urlencoded', 'validate']);
    expect([express.json, express.urlencoded, express.text, express.raw, express.static, express.Router]).toEqual([waypost.json, waypost.urlencoded, waypost.text, waypost.raw, waypost.static, waypost.Router]);
  });

  test('a program that takes it in place of Express\'s answers the same', async () => {
    const program = (express: typeof theirs): Express => {
      const app = express();
      app.set('trust proxy', 'loopback').set('json spaces', 1).disable('x-powered-by');
      app.locals['title'] = 'Notes';
      app.use(express.json());
      app.use(express.urlencoded({ extended: true }));
      const router = express.Router({ mergeParams: true });
      const notes = new Map([['1', 'first']]);
      router.param('id', (_req, res, next, id: string) => {
        if (!notes.has(id)) return void res.status(404).json({ error: `no note ${id}` });
        res.locals['note'] = notes.get(id);
        next();
      });
      router.route('/:id').get((req, res) => void res.json({ note: res.locals['note'] as string, by: req.ip, title: req.app.locals['title'] as string }))
        .put((req, res) => void res.json({ got: req.body as unknown, space: (req.params as Record<string, string>)['space'] }));
      app.use('/:space/Notes', router);
      app.post('/echo', (req, res) => void res.json({ body: req.body as unknown }));
      app.get('/', (req, res) => void res.send(`<h1>${String(req.app.get('env'))}</h1>`));
      app.use((_req, res) => void res.status(404).send('none'));
      return app;
    };
    const ports = [await running.serve(program(theirs).set('env', 'test')), await running.serve(program(waypost.express as unknown as typeof theirs).set('env', 'test'))];
    const [expected, got] = await Promise.all(ports.map(async (port) => {
      const answers = [
        await ask(port, '/'), await ask(port, '/home/notes/1', { headers: { 'x-forwarded-for': '192.0.2.1' } }), await ask(port, '/home/NOTES/1/'), await ask(port, '/home/notes/2'),
        await ask(port, '/home/notes/1', { method: 'PUT', body: '{"a":1}', headers: { 'content-type': 'application/json', 'content-length': '7' } }),
        await ask(port, '/home/notes/1', { method: 'PUT', body: 'a[b]=1', headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '6' } }),
        await ask(port, '/none'), await post(port, '/', 'x', 'text/plain'), await post(port, '/echo', 'x', 'text/plain'),
      ];
      return answers.map(({ status, headers: { date: _date, ...headers }, body }) => ({ status, headers, body }));
    }));
    expect(got).toEqual(expected);
    expect(got!.map(({ status }) => status)).toEqual([200, 200, 200, 404, 200, 200, 404, 404, 200]);
  });

  test('takes the options of createServer, which go before its defaults', () => {
    const app = waypost.express({ etag: 'strong', routing: { caseSensitive: true }, logging: { level: 'silent' } });
    expect([app.get('etag'), app.get('case sensitive routing'), app.get('strict routing')]).toEqual(['strong', true, undefined]);
    const plain = waypost.express();
    expect([plain.get('etag'), plain.get('case sensitive routing'), plain.get('strict routing')]).toEqual(['weak', undefined, undefined]);
  });

});
