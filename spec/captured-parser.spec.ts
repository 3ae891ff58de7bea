import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import * as nodeZlib from 'node:zlib';
import bodyParser from 'body-parser';
import theirs from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { type Application, createServer, type ErrorRequestHandler, express, type Handler } from 'waypost';
import { LogRecorder, portOf, Running } from './support/running';
import { ask, head, post, Wire } from './support/wire';

const running = new Running();

afterEach(() => running.close());

const zlib = nodeZlib as typeof nodeZlib & { zstdCompressSync?: (bytes: Uint8Array | string, options?: object) => Buffer };
const { json, raw, text, urlencoded } = express;

/** Applications whose bodies are left to parsers. */
const MAKERS = [['express', () => express({ env: 'test', logging: { level: 'silent' } })], ['createServer with body: false', () => createServer({ env: 'test', body: false, logging: { level: 'silent' } })], ['createServer', () => createServer({ env: 'test', logging: { level: 'silent' } })]] as const;

const FORM = 'application/x-www-form-urlencoded';

describe.each(MAKERS)('%s: behind a parser', (name, make) => {
  const start = (register: (app: Application) => void): Promise<number> => {
    const app = make();
    register(app);
    return running.start(app);
  };

  test.each<[string, (req: IncomingMessage) => Promise<string>]>([
    ['events, at once', (req) => new Promise((resolve) => {
      let all = '';
      req.on('data', (chunk) => (all += String(chunk))).on('end', () => resolve(all));
    })],
    ['iteration, later', async (req) => {
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
      return (await buffer(req)).toString();
    }],
  ])('the stream gives the same bytes by %s', async (_how, read) => {
    const port = await start((app) => app.use(json(), urlencoded({ extended: true }), text(), raw()).post('/', async (req, res) => {
      const body = Buffer.isBuffer(req.body) ? `bytes ${req.body.toString()}` : req.body;
      res.json({ body, raw: req.rawBody?.toString(), stream: await read(req) });
    }));
    for (const [sent, type, body] of [['{"a":1}', 'application/json', { a: 1 }], ['a[b]=1', FORM, { a: { b: '1' } }], ['ä', 'text/plain', 'ä'], ['\u0001', 'application/octet-stream', 'bytes \u0001']] as const) {
      expect((await post(port, '/', sent, type)).json).toEqual({ body, raw: sent, stream: sent });
    }
  });

  test('a proxy sends the body on', async () => {
    const upstream = await running.serve((req, res) => void buffer(req).then((bytes) => res.end(`${req.headers['content-length'] ?? ''} ${bytes.toString()}`)));
    const port = await start((app) => app.use(json()).use(createProxyMiddleware({ target: `http://127.0.0.1:${upstream}` })));
    expect((await post(port, '/', '{"a":1}')).body).toBe('7 {"a":1}');
  });

  test('a parser of another kind parses the bytes again, in a route, under a path, or where it names its types', async () => {
    const show: Handler = (req, res) => res.send(Buffer.isBuffer(req.body) ? `bytes ${req.body.toString()}` : typeof req.body === 'string' ? `text ${req.body}` : `data ${JSON.stringify(req.body)}`);
    const named = await start((app) => app.use(json()).use(raw({ type: ['application/json'] })).post('/', show));
    const port = await start((app) => app.use(json()).post('/raw', raw({ type: 'application/json' }), show).post('/text', text({ type: '*/*' }), show).use('/path', raw({ type: () => true })).post('/path', show).post('/', show));
    const bodies = [];
    for (const path of ['/raw', '/text', '/path', '/']) bodies.push((await post(port, path, '{"a":1}')).body);
    expect(bodies).toEqual(['bytes {"a":1}', 'text {"a":1}', 'bytes {"a":1}', 'data {"a":1}']);
    expect((await post(named, '/', '{"a":1}')).body).toBe('bytes {"a":1}');
  });

  test('others leave what is parsed, as in Express: it may have been cleaned', async () => {
    const program = (app: theirs.Express, from: typeof theirs): void => {
      app.use(from.json());
      app.use((req, _res, next) => {
        delete (req.body as { evil?: unknown } | undefined)?.evil;
        next();
      });
      app.use(from.json({ limit: '5mb' }));
      app.use(from.raw({ type: '*/*' }));
      app.use(from.text());
      app.post('/', from.json(), (req, res) => void res.json(Buffer.isBuffer(req.body) ? 'bytes' : req.body));
    };
    const app = make();
    program(app as unknown as theirs.Express, express as unknown as typeof theirs);
    const there = theirs();
    program(there, theirs);
    const ports = [await running.serve(there), await running.start(app)];
    const bodies = await Promise.all(ports.map(async (port) => [(await post(port, '/', '{"a":1,"evil":2}')).body, (await post(port, '/', 'x', 'x/y')).body]));
    expect(bodies).toEqual([['{"a":1}', '"bytes"'], ['{"a":1}', '"bytes"']]);
  });

  test('verify has the request itself, and the bytes', async () => {
    const port = await start((app) => app.use(json({ verify: (req, _res, bytes, encoding) => Object.assign(req, { seen: `${String(req instanceof Object.getPrototypeOf(Object.getPrototypeOf(app.request)).constructor)} ${bytes.toString()} ${encoding}` }) }))
      .post('/', (req, res) => res.json((req as unknown as { seen: string }).seen)));
    expect((await post(port, '/', '{"a":1}')).json).toBe('true {"a":1} utf-8');
  });

  test('a length that middleware has changed is held to, as in Express', async () => {
    const port = await start((app) => app.use((req, _res, next) => {
      req.headers['content-length'] = '20';
      next();
    }).use(json()).post('/', (req, res) => res.json(req.body)).use(((error: { type?: string }, _req, res, _next) => res.json(error.type)) as ErrorRequestHandler));
    expect((await post(port, '/', '{"a":1}')).json).toBe('request.size.invalid');
  });

  test('bodies of other types are left unread, of any length', async () => {
    const port = await start((app) => app.use(json()).post('/', async (req, res) => res.json([req.rawBody, (await buffer(req)).length])));
    expect((await post(port, '/', Buffer.alloc(3_000_000), 'image/png')).json).toEqual([null, 3_000_000]);
  });

  test('a longer limit than that of the application counts', async () => {
    const port = await start((app) => app.post('/', json({ limit: '3mb' }), async (req, res) => res.json([(req.body as unknown[]).length, req.rawBody?.length, (await buffer(req)).length])));
    expect((await post(port, '/', JSON.stringify(new Array(1_000_000).fill(1)))).json).toEqual([1_000_000, 2_000_001, 2_000_001]);
  });

  test('a body of another coding is 415, and the answer says which are taken', async () => {
    const port = await start((app) => app.use(json()).post('/', (req, res) => res.json(req.body)));
    const { status, headers } = await post(port, '/', '{}', 'application/json', { 'content-encoding': 'compress' });
    expect([status, headers['accept-encoding']]).toEqual([415, zlib.zstdCompressSync === undefined ? 'gzip, deflate, br' : 'gzip, deflate, br, zstd']);
  });

  test('a client that goes before its body is in is an error for error middleware, and no handler runs', async () => {
    const calls: unknown[] = [];
    let told: () => void = () => undefined;
    const heard = new Promise<void>((resolve) => (told = resolve));
    let entered: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (entered = resolve));
    const port = await start((app) => app.use((_req, _res, next) => (entered(), next())).use(json()).use((_req, _res, next) => (calls.push('middleware'), next())).use((error: unknown, _req: unknown, _res: unknown, next: () => void) => {
      const { code, status, type } = error as { code?: string; status?: number; type?: string };
      calls.push([code, status, type]);
      told();
      next();
    }));
    const wire = await Wire.open(port);
    wire.write(`${head('POST /', { 'Content-Type': 'application/json', 'Content-Length': 9 })}{"a"`);
    await begun;
    wire.cut();
    await heard;
    expect([name, calls]).toEqual([name, [['ECONNABORTED', 400, 'request.aborted']]]);
  });
});

test.each<[string, Buffer | string]>([['bytes', Buffer.from('{"left":1}')], ['a text', '{"left":1}']])('%s that an adapter has left in req.body is parsed', async (_what, body) => {
  const app = express({ logging: { level: 'silent' } });
  app.use(json()).post('/', (req, res) => res.json(req.body));
  const server = createHttpServer((req, res) => {
    req.resume().on('end', () => app(Object.assign(req, { body }), res));
  });
  await running.listen(server);
  expect((await post(portOf(server), '/', '{"wire":1}')).json).toEqual({ left: 1 });
});

test('a parser of body-parser behind it finds the body on the stream', async () => {
  const app = express({ logging: { level: 'silent' } });
  app.use(json()).post('/', bodyParser.text({ type: '*/*' }) as unknown as Handler, (req, res) => res.json(req.body));
  expect((await post(await running.start(app), '/', '{"a":1}')).json).toBe('{"a":1}');
});

test('in an application of Express the parsers do the same', async () => {
  const port = await running.serve(theirs().use(json() as unknown as theirs.Handler).post('/', (req, res) => void buffer(req).then((bytes) => res.json([req.body, bytes.toString()]))));
  expect((await post(port, '/', '{"a":1}')).json).toEqual([{ a: 1 }, '{"a":1}']);
});

// From Node 22.15 on.
if (zlib.zstdCompressSync !== undefined) describe('zstd', () => {
  const compress = (bytes: Uint8Array | string, options?: object): Buffer => (zlib.zstdCompressSync as NonNullable<typeof zlib.zstdCompressSync>)(bytes, options);
  const constants = zlib.constants as unknown as Record<string, number>;

  test.each<[string, () => Application]>([
    ['json', () => express({ logging: { level: 'silent' } }).use(json({ limit: '1mb' }))], ['the option body', () => createServer({ logging: { level: 'silent' } })],
  ])('is inflated for %s under the bounds of the others', async (_what, make) => {
    const app = make();
    app.post('/', (req, res) => res.json(JSON.stringify(req.body).length));
    const port = await running.start(app);
    const send = async (body: Buffer): Promise<unknown> => {
      const { status, body: said } = await post(port, '/', body, 'application/json', { 'content-encoding': 'zstd' });
      return status === 200 ? said : status;
    };
    const rows = JSON.stringify(Array.from({ length: 1000 }, (_, id) => ({ id, at: id * 7919 % 1000 })));
    // A window of 32 MiB, which no sender may use: a frame would have it allocated.
    const wide = compress(Buffer.alloc(40_000_000, 32), { params: { [constants['ZSTD_c_windowLog'] as number]: 25 } });
    expect(await Promise.all([send(compress('{"a":1}')), send(compress(rows)), send(compress(Buffer.alloc(900_000, 32))), send(compress(Buffer.alloc(2_000_000, 32))), send(Buffer.from('none')), send(wide)])).toEqual(['7', String(rows.length), 413, 413, 400, 400]);
  });

  test('as inflate: false says, it is not', async () => {
    const app = express({ env: 'test', logging: { level: 'silent' } });
    app.use(json({ inflate: false }));
    const { status, headers } = await post(await running.start(app), '/', compress('{}'), 'application/json', { 'content-encoding': 'zstd' });
    expect([status, headers['accept-encoding']]).toEqual([415, 'identity']);
  });
});

test('without a parser nothing is captured', async () => {
  const log = new LogRecorder();
  const app = express({ logging: { logger: log } });
  app.post('/', async (req, res) => res.json([req.body, req.rawBody, (await buffer(req)).toString()]));
  const port = await running.start(app);
  expect((await post(port, '/', '{"a":1}')).json).toEqual([null, null, '{"a":1}']);
  expect((await ask(port, '/')).status).toBe(404);
});
