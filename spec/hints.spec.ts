import { once } from 'node:events';
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';
import { type Application, createServer, type CreateServerOptions, express, type Handler, type Response } from 'waypost';
import { ChildProgram, FROM_LIB, ROOT } from './support/child-program';
import { LogRecorder, portOf, Running } from './support/running';
import { WarningLog } from './support/warning-log';
import { ask, head, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const folder = mkdtempSync(join(tmpdir(), 'waypost-hints-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A started application whose log is kept. */
async function logged(register: (app: Application) => void, options: CreateServerOptions = {}, make = createServer): Promise<{ log: LogRecorder; port: number }> {
  const log = new LogRecorder();
  const app = make({ env: 'development', ...options, logging: { logger: log } });
  register(app);
  return { log, port: await running.start(app) };
}

const hints = ({ lines }: LogRecorder): unknown[] => lines.map(({ fields }) => fields['hint']).filter((hint) => hint !== undefined);

describe('a member of the request that is undefined', () => {
  let count = 0;
  /** A handler that stands in a file, as a program's does. */
  function inFile(body: string): Handler {
    const file = join(folder, `handler${count++}.cjs`);
    const text = `(function taken(req, res, next) {\n  ${body}\n});\n`;
    writeFileSync(file, text);
    // As Node runs it: Jest would make another text of a module.
    return runInThisContext(text, { filename: file }) as Handler;
  }
  const READS = [
    'res.send(req.body.name);',
    "res.send(req.body['name']);",
    'const { name } = req.body; res.send(name);',
    'const { body } = req; res.send(body.name);',
    'req.body.name = 1; res.send();',
    'req.body.save(); res.send();',
    'const { body: { name } } = req; res.send(name);',
    'return Promise.resolve().then(() => res.send(req.body.name));',
  ];
  test.each(READS)('is told of by the handler: %s', async (text) => {
    const logger = new WarningLog();
    const app = createServer({ env: 'development', logging: { logger } });
    app.post('/a/:id', inFile(text));
    const port = await running.start(app);
    expect((await ask(port, '/a/1', { method: 'POST' })).status).toBe(500);
    expect((await ask(port, '/a/2', { method: 'POST' })).status).toBe(500);
    expect(await logger.warned(1)).toEqual([expect.stringMatching(/^The route handler taken of POST \/a\/:id \(.*hints\.spec\.ts:\d+:\d+\) has failed since req\.body is undefined: the request has no body$/)]);
  });

  const [READ = ''] = READS;
  const sent = (type?: string): [string, Record<string, string>] => ['{"name":1}', type === undefined ? {} : { 'Content-Type': type }];
  test.each<[string, string, Record<string, string>, string, (CreateServerOptions | typeof express)?]>([
    ['no Content-Type', ...sent(), 'the request has no Content-Type; send one, such as application/json'],
    ['a multipart body', ...sent('multipart/form-data; boundary=x'), 'the request is multipart; put multer before it'],
    ['a type of no parser', ...sent('application/xml'), "nothing has parsed a body of application/xml; put app.use(raw({ type: 'application/xml' })), which waypost exports, above it"],
    ['body: false', ...sent('application/json'), 'nothing has parsed a body of application/json; put app.use(json()), which waypost exports, above it', { body: false }],
    ['no parser', ...sent('application/x-www-form-urlencoded'), 'nothing has parsed a body of application/x-www-form-urlencoded; put app.use(urlencoded()), which waypost exports, above it', express],
  ])('says of %s what to write', async (_, body, headers, said, how = {}) => {
    const make = how === express ? express as typeof createServer : createServer;
    const { log, port } = await logged((app) => {
      app.post('/', inFile(READ));
      // Of a program that answers errors itself too.
      app.use((_error: unknown, _req: unknown, res: Response, _next: unknown) => void res.status(418).end());
    }, how === express ? {} : how as CreateServerOptions, make);
    expect((await ask(port, '/', { method: 'POST', body, headers })).status).toBe(418);
    expect(log.messages('warn')).toEqual([expect.stringContaining(` has failed since req.body is undefined: ${said}`)]);
  });

  test.each([
    ['res.send(req.cookies.session);', 'req.cookies is undefined: put app.use(cookieParser()), of the package cookie-parser, above it'],
    ['const { id } = req.session; res.send(id);', 'req.session is undefined: put app.use(session({ … })), of the package express-session, above it'],
    ['res.send(Object.keys(req.cookies));', 'req.cookies is undefined: put app.use(cookieParser())'],
    ['for (const file of req.files) res.send(file);', 'req.files is undefined: put upload.array(name)'],
    ['const [first] = req.files; res.send(first);', 'req.files is undefined: put upload.array(name)'],
    ["res.send(String('a' in req.session));", 'req.session is undefined: put app.use(session({ … }))'],
    ['res.send(req.file.path);', 'req.file is undefined: put upload.single(name), of the package multer, before it; the request must be multipart'],
  ])('%s', async (text, said) => {
    const { log, port } = await logged((app) => app.get('/', inFile(text)));
    await ask(port, '/');
    expect(log.messages('warn')).toEqual([expect.stringContaining(said)]);
  });

  test.each([
    'const other = {}; res.send(other.body.name);',
    'const user = undefined; res.send(user.name);',
    'req.body = {}; res.send(req.body.name.first);',
    "throw new TypeError('Cannot read properties of undefined (reading 1)');",
    "throw new Error('any other');",
    'const other = undefined; res.send(Object.keys(other));',
    "throw new TypeError('undefined: ' + req.file);",
  ])('nothing is said of %s', async (text) => {
    const { log, port } = await logged((app) => app.get('/', (req, _res, next) => { req.body = 1; next(); }, inFile(text)));
    expect((await ask(port, '/')).status).toBe(500);
    expect(log.messages('warn')).toEqual([]);
  });

  test('nor in production', async () => {
    const { log, port } = await logged((app) => app.get('/', inFile(READ)), { env: 'production' });
    expect((await ask(port, '/')).status).toBe(500);
    expect(log.messages('warn')).toEqual([]);
  });
});

describe('data that JSON.stringify refuses', () => {
  const cycle: Record<string, unknown> = { a: [{}] };
  (cycle['a'] as Record<string, unknown>[])[0]!['back'] = cycle;
  const shared = { x: 1 };
  test.each<[string, unknown]>([
    ['items[1].id is a big integer', { items: [{ id: 1 }, { id: 2n }] }],
    ['the data itself is a big integer', 1n],
    ['["a b"].c is a big integer', { 'a b': { c: 1n } }],
    ['[2] is a big integer', [shared, shared, 3n]],
    ['a[0].back is a circular reference', cycle],
    ['b.n is a big integer', { a: { toJSON: () => shared }, b: { toJSON: () => ({ n: 1n }) } }],
  ])('%s', async (said, data) => {
    for (const method of ['json', 'jsonp', 'send'] as const) {
      if (method === 'send' && typeof data === 'bigint') continue;
      const { log, port } = await logged((app) => app.get('/', (_req, res) => void res[method](data)), { env: 'production' });
      expect((await ask(port, '/')).body).not.toContain('xJson');
      expect(hints(log)).toEqual([`${said}: write res.xJson(data)`]);
    }
  });

  test.each([['a getter that throws', { get x(): never { throw new TypeError('BigInt'); } }], ['toJSON that throws', { toJSON() { throw new Error('circular'); } }]])('nothing is said of %s', async (_, data) => {
    const { log, port } = await logged((app) => app.get('/', (_req, res) => void res.json(data)));
    await ask(port, '/');
    expect(hints(log)).toEqual([]);
  });
});

describe('two answers', () => {
  const first = expect.stringMatching(/^the first answer was sent at .*hints\.spec\.ts:\d+:\d+: return behind it$/);
  test.each<[string, Handler]>([
    ['res.json behind res.send', (_req, res) => { res.send('a'); res.json({}); }],
    ['a redirect behind a render of its own', (_req, res) => { res.writeHead(200); res.write('a'); res.redirect('/b'); }],
    ['an error behind an answer', (_req, res, next) => { res.send('a'); next(Object.assign(new Error('x'), { code: 'ERR_HTTP_HEADERS_SENT' })); }],
    ['end behind end', (_req, res) => { res.end('a'); res.end('b'); }],
    ...Object.entries<Handler>({
      'sendFile': (_req, res) => res.sendFile(__filename),
      'a download': (_req, res) => res.download(__filename),
      'a pipe': (_req, res) => void createReadStream(__filename).pipe(res),
      'a stream': (_req, res) => res.stream(createReadStream(__filename)),
      'events': (_req, res) => void res.events((async function* () { yield 'a'; })()),
      'a large xJson': (_req, res) => res.xJson(Array.from({ length: 20_000 }, (_, i) => i)),
    }).map<[string, Handler]>(([name, answer]) => [`res.json behind ${name}`, async (req, res, next) => {
      const sent = once(res, 'finish');
      void answer(req, res, next);
      await sent;
      res.json({});
    }]),
  ])('%s: the log says where the first was sent from', async (_, handler) => {
    const { log, port } = await logged((app) => app.get('/', handler));
    await Wire.open(port).then(async (wire) => { wire.write(head('GET /', { Connection: 'close' })); await wire.end; });
    expect(hints(log)).toEqual([first]);
  });

  test('but not in production', async () => {
    const { log, port } = await logged((app) => app.get('/', (_req, res) => { res.send('a'); res.json({}); }), { env: 'production' });
    await ask(port, '/');
    // As in Express a router is left in a further turn.
    await new Promise(setImmediate);
    expect(log.messages('error')).toHaveLength(1);
    expect(hints(log)).toEqual([]);
  });
});

describe('a port that is in use', () => {
  test('is told of with PORT and start(0)', async () => {
    const other = createNetServer();
    await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve));
    running.keep(other);
    const log = new LogRecorder();
    const app = createServer({ logging: { logger: log } });
    await expect(app.start(portOf(other as never), '127.0.0.1')).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(hints(log)).toEqual(['another process has the port: name another by the environment variable PORT or start(port), or write start(0) for any free one']);
  });

  test('as an address of another machine is', async () => {
    const log = new LogRecorder();
    await expect(createServer({ logging: { logger: log } }).start(0, '192.0.2.1')).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' });
    expect(hints(log)).toEqual([expect.stringContaining('leave out the host')]);
  });
});

describe('a request that the signature check refuses', () => {
  const requestSignature = { secret: 'a secret of thirty-two bytes or more' };
  const DEBUG = 'the option debug: true of security.requestSignature, or of the webhook, logs what the server has taken for signed';
  test('is told of at info, with the option debug', async () => {
    const { log, port } = await logged((app) => app.get('/', (_req, res) => res.send('x')), { security: { requestSignature } });
    expect((await ask(port, '/')).status).toBe(401);
    expect(log.lines.filter(({ level }) => level === 'info').at(-1)).toMatchObject({ message: 'The request signature was refused', fields: { hint: DEBUG } });
  });

  test('in production at debug, and where debug is on without it', async () => {
    const { log, port } = await logged(() => undefined, { env: 'production', security: { requestSignature } });
    await ask(port, '/');
    expect(log.lines.find(({ message }) => message === 'The request signature was refused')).toMatchObject({ level: 'debug', fields: { hint: DEBUG } });
    const debugged = await logged(() => undefined, { security: { requestSignature: { ...requestSignature, debug: true } } });
    await ask(debugged.port, '/');
    expect(hints(debugged.log)).toEqual([]);
  });

  test('where it is a preflight, with the entry that lets it through', async () => {
    const preflight = { method: 'OPTIONS', headers: { Origin: 'https://app.example', 'Access-Control-Request-Method': 'POST' } };
    const { log, port } = await logged(() => undefined, { security: { requestSignature } });
    await ask(port, '/orders/7?x=1', preflight);
    const said = "{ path: \"/orders/7\", methods: ['OPTIONS'] }";
    expect(hints(log)).toEqual([`a browser's CORS preflight can't be signed: put ${said} into security.routeConfig.requestSignature.excludeRoutes`]);
    const excluded = await logged((app) => app.options('/orders/7', (_req, res) => void res.sendStatus(204)), {
      security: { requestSignature, routeConfig: { requestSignature: { excludeRoutes: [{ path: '/orders/7', methods: ['OPTIONS'] }] } } },
    });
    expect((await ask(excluded.port, '/orders/7?x=1', preflight)).status).toBe(204);
  });

  test.each([['/orders/7', '/orders/7'], ['/a(b)', '/**'], ['/a%20b', '/**'], ['//orders', '/**']])('where it is a preflight of %s beneath a mount path: %s', async (target, path) => {
    const log = new LogRecorder();
    const inner = createServer({ env: 'development', logging: { logger: log }, security: { requestSignature } });
    const { port } = await logged((app) => app.use('/api', inner));
    await ask(port, `/api${target}`, { method: 'OPTIONS', headers: { Origin: 'https://app.example', 'Access-Control-Request-Method': 'POST' } });
    expect(hints(log)).toEqual([expect.stringContaining(`{ path: ${JSON.stringify(path)}, methods: ['OPTIONS'] }`)]);
  });
});

test.each([
  ['key', 'keys" or "security.requestSignature.secret'], ['password', 'secret'], ['token', 'secret'], ['tolerance', 'maxAge'], ['ttl', 'maxAge'], ['hash', 'algorithm'],
])('requestSignature: { %s } is asked whether %s was meant', (given, meant) => {
  expect(() => createServer({ security: { requestSignature: { [given]: 'a secret of thirty-two bytes or more' } as never } }))
    .toThrow(`unknown option "security.requestSignature.${given}"; did you mean "security.requestSignature.${meant}"? A misspelt guard does not start`);
});

test('a program that no environment is named for hears of its body on standard output', async () => {
  const file = join(folder, 'program.cjs');
  writeFileSync(file, `
    const { createServer } = require(${JSON.stringify(join(ROOT, 'lib/index'))});
    const app = createServer();
    app.post('/', (req, res) => res.send(req.body.name));
    app.inject({ method: 'POST', url: '/' }).then(({ body }) => console.log(body));`);
  const { output } = await ChildProgram.run([...FROM_LIB, file], { NODE_ENV: '' });
  expect(output).toContain('has failed since req.body is undefined: the request has no body');
  expect(output).toContain('{"error":"Internal Server Error","message":"Internal Server Error"}');
});
