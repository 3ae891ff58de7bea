import { createHmac } from 'node:crypto';
import zlib from 'node:zlib';
import * as fc from 'fast-check';
import { type Application, type CreateServerOptions, createServer, Router, type Handler, type IRouter, type Request, type Response, signRequest } from 'waypost';
import { parseJson } from '../lib/http/body/json';
import { LogRecorder, Running } from './support/running';
import { runs } from './support/runs';
import { type Answer, post } from './support/wire';

const running = new Running();
const MIB = 1_048_576;
const SECRET = 'the secret of a spec, of more than thirty-two bytes';
const BODY = '{"a":[1,{"b":"unparsed body"}]}';
const CODINGS: [string, Record<string, string>, (text: string) => Buffer][] = [
  ['as it is', {}, (text) => Buffer.from(text)],
  ['in gzip', { 'content-encoding': 'gzip' }, (text) => zlib.gzipSync(text)],
  ['in deflate', { 'content-encoding': 'deflate' }, (text) => zlib.deflateSync(text)],
  ['in br', { 'content-encoding': 'br' }, (text) => zlib.brotliCompressSync(text)],
];

afterEach(async () => {
  jest.restoreAllMocks();
  await running.close();
});

/** Counts what is done to bodies that hold the text. */
function countWork(): { parsed: number; inflated: number; atOnce: number } {
  const work = { parsed: 0, inflated: 0, atOnce: 0 };
  const { parse } = JSON;
  jest.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
    if (text.includes('unparsed body')) work.parsed++;
    return parse(text, reviver) as unknown;
  });
  const count = (name: 'gunzip' | 'inflate' | 'brotliDecompress', as: 'inflated' | 'atOnce', sync: '' | 'Sync'): void => {
    const own = zlib[`${name}${sync}`] as (...given: unknown[]) => unknown;
    jest.spyOn(zlib, `${name}${sync}` as 'gunzip').mockImplementation(((...given: unknown[]) => {
      work[as]++;
      return own(...given);
    }) as never);
  };
  for (const name of ['gunzip', 'inflate', 'brotliDecompress'] as const) {
    count(name, 'inflated', '');
    count(name, 'atOnce', 'Sync');
  }
  return work;
}

const reads: Handler = (req, _res, next) => {
  void req.body;
  next();
};
const refuses: Handler = (_req, res) => void res.status(401).end();
const echoes: Handler = (req, res) => void res.json({ body: req.body });

describe.each(CODINGS)('a body %s', (_, headers, pack) => {
  const send = (port: number, path = '/', body = BODY): Promise<Answer> => post(port, path, pack(body), 'application/json', headers);
  const isPacked = Object.keys(headers).length > 0;

  test.each<[string, (app: Application) => unknown, CreateServerOptions]>([
    ['middleware', (app) => app.use(refuses).post('/7', echoes), {}],
    ['middleware of a router', (app) => app.use(Router().use(refuses).post('/7', echoes)), {}],
    ['an application that is mounted', (app) => app.use(createServer({ logging: { level: 'silent' } }).use(refuses).post('/7', echoes)).post('/7', echoes), {}],
    ['a handler of a parameter', (app) => app.param('id', (_req, res) => void res.status(401).end()).post('/:id', echoes), {}],
    ['the signature check', (app) => app.post('/7', echoes), { security: { requestSignature: { secret: SECRET } } }],
  ])('that %s refuses is neither inflated nor parsed', async (_name, build, options) => {
    const port = await running.app((app) => void build(app), options);
    const work = countWork();
    const signature = signRequest({ secret: SECRET, method: 'POST', url: '/7', body: 'another' });
    expect((await post(port, '/7', pack(BODY), 'application/json', { ...headers, ...signature })).status).toBe(401);
    expect(work).toEqual({ parsed: 0, inflated: 0, atOnce: 0 });
  });

  test('is parsed once for a route, and inflated on another thread', async () => {
    const port = await running.app((app) => app.use((_req, _res, next) => next()).post('/', reads, reads, echoes));
    const work = countWork();
    expect((await send(port)).body).toBe(`{"body":${BODY}}`);
    expect(work).toEqual({ parsed: 1, inflated: isPacked ? 1 : 0, atOnce: 0 });
  });

  test('is parsed when middleware reads it, once, and is the same for all', async () => {
    const seen: unknown[] = [];
    const sees: Handler = (req, _res, next) => void (seen.push(req.body), next());
    const port = await running.app((app) => app.use(sees, sees).post('/', sees, echoes));
    const work = countWork();
    expect((await send(port)).body).toBe(`{"body":${BODY}}`);
    expect(work).toEqual({ parsed: 1, inflated: 0, atOnce: isPacked ? 1 : 0 });
    expect(seen).toEqual(Array(3).fill(JSON.parse(BODY)));
    expect(new Set(seen).size).toBe(1);
  });

  test('that can not be parsed is undefined when it is read, and its error raised at the route, unless something has set another', async () => {
    const log: unknown[] = [];
    const port = await running.app((app) => {
      app.use((req, _res, next) => void (log.push(req.body), next()));
      app.use('/set', (req, _res, next) => void (req.body ??= { set: true }, next()));
      app.use('/read', (req, _res, next) => void req.resume().once('end', next));
      app.use((_req, res, next) => void (res.setHeader('x-ran', 'yes'), next()));
      app.post(['/', '/set', '/read'], echoes);
    });
    const told = await send(port, '/', '{"a":');
    expect([told.status, told.headers['x-ran']]).toEqual([400, 'yes']);
    expect((await send(port, '/set', '{"a":')).json).toEqual({ body: { set: true } });
    expect((await send(port, '/read', '{"a":')).json).toEqual({});
    expect(log).toEqual([undefined, undefined, undefined]);
  });
});

test('a body that something sets before the route is not parsed, and stays an ordinary property', async () => {
  const descriptors: unknown[] = [];
  const port = await running.app((app) => {
    app.use((req, _res, next) => {
      const derived = Object.assign(Object.create(req) as Request, { body: 'of another' });
      req.body = 'set';
      descriptors.push(derived.body, Object.getOwnPropertyDescriptor(req, 'body'));
      next();
    });
    app.post('/', echoes);
  });
  const work = countWork();
  expect((await post(port, '/', BODY)).json).toEqual({ body: 'set' });
  expect(work.parsed).toBe(0);
  expect(descriptors).toEqual(['of another', { value: 'set', writable: true, enumerable: true, configurable: true }]);
});

describe('while a body is inflated', () => {
  /** Holds what is to be inflated until it is released. */
  function hold(): { held: (() => void)[]; begun: Promise<void> } {
    const held: (() => void)[] = [];
    const { gunzip } = zlib;
    const begun = new Promise<void>((resolve) => {
      jest.spyOn(zlib, 'gunzip').mockImplementation(((...given: Parameters<typeof gunzip>) => {
        held.push(() => gunzip(...given));
        resolve();
      }) as never);
    });
    return { held, begun };
  }

  const sendPacked = (port: number, path = '/', headers: Record<string, string> = {}): Promise<Answer> => post(port, path, zlib.gzipSync(BODY), 'application/json', { 'content-encoding': 'gzip', ...headers });

  test('who reads req.body has it, and the handler the same', async () => {
    const bodies: unknown[] = [];
    let request: Request | undefined;
    const port = await running.app((app) => {
      app.use((req, _res, next) => void ((request = req), next()));
      app.post('/', (req, res) => void (bodies.push(req.body), res.end()));
    });
    const { held, begun } = hold();
    const answer = sendPacked(port);
    await begun;
    bodies.push(request?.body);
    held[0]?.();
    await answer;
    expect(bodies[0]).toEqual(JSON.parse(BODY));
    expect(bodies[1]).toBe(bodies[0]);
  });

  test('a target that is made meanwhile is checked', async () => {
    const reached: string[] = [];
    let request: Request | undefined;
    const options = { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/guarded'] } } } };
    const port = await running.app((app) => {
      app.use((req, _res, next) => void ((request = req), next()));
      for (const path of ['/open', '/other', '/guarded']) {
        app.post(path, (req: Request, res: Response) => void (reached.push(`${path} ${req.url}`), res.end()));
      }
    }, options);
    const { held, begun } = hold();
    for (const [target, status] of [['/other', 200], ['/guarded', 401]] as const) {
      const answer = sendPacked(port, '/open');
      await begun;
      while (held.length === 0) await new Promise(setImmediate);
      (request as Request).url = target;
      held.shift()?.();
      expect((await answer).status).toBe(status);
    }
    expect(reached).toEqual(['/open /other']);
  });

  test('a response that was answered meanwhile is no handler\'s', async () => {
    const log = new LogRecorder();
    let handled = 0;
    const app = createServer({ logging: { logger: log }, server: { handlerTimeout: 1 } });
    app.use((_req, _res, next) => next()).post('/', (_req, res) => void (handled++, res.end()));
    const port = await running.start(app);
    const { held, begun } = hold();
    const answer = sendPacked(port);
    await begun;
    expect((await answer).status).toBe(503);
    const done = new Promise((resolve) => void setImmediate(resolve));
    held[0]?.();
    await done;
    // It comes behind what was held.
    await new Promise((resolve) => void zlib.deflate('', resolve));
    await new Promise(setImmediate);
    expect(handled).toBe(0);
  });
});

describe('arrays and objects of JSON', () => {
  /** Those in the data. */
  function count(data: unknown): number {
    return typeof data !== 'object' || data === null ? 0 : 1 + Object.values(data).reduce((sum: number, each) => sum + count(each), 0);
  }

  const text = fc.oneof(fc.json({ maxDepth: 6 }), fc.jsonValue({ maxDepth: 6 }).map((data) => JSON.stringify(data, null, 1)), fc.array(fc.constantFrom('[', '{', '}', ']', '\\', '"')).map((brackets) => JSON.stringify({ text: brackets.join(''), more: [brackets] })));

  test('are counted as JSON.parse makes them, those in texts not', () => {
    fc.assert(fc.property(text, (json) => {
      const most = count(JSON.parse(json));
      expect(parseJson(json, false, most)).toEqual(JSON.parse(json));
      if (most > 0) expect(() => parseJson(json, false, most - 1)).toThrow(expect.objectContaining({ status: 413, code: 'TOO_MANY_CONTAINERS', limit: most - 1, option: 'body.containerLimit' }));
    }), { numRuns: runs(1000) });
  });

  const objects = (length: number): string => `[${Array(length - 1).fill('{}').join()}]`;

  test.each<[string, CreateServerOptions['body'], number]>([
    ['50,000', {}, 52_428],
    ['50,000 under a lower limit', { limit: '512kb' }, 50_000],
    ['a twentieth of a larger one', { limit: '4mb' }, 209_715],
    ['body.containerLimit', { containerLimit: 7, limit: '8mb' }, 7],
  ])('may be %s', async (_, body, most) => {
    const port = await running.app((app) => app.post('/', (req, res) => res.json((req.body as unknown[]).length)), { body });
    expect((await post(port, '/', objects(most))).body).toBe(String(most - 1));
    const { status, json } = await post(port, '/', objects(most + 1));
    expect([status, json]).toEqual([413, { error: 'Payload Too Large', message: 'The JSON of the request body holds too many arrays and objects' }]);
    expect((await post(port, '/', `["${'[{'.repeat(most)}"]`)).status).toBe(200);
  });
});

describe('the limit of a webhook', () => {
  const secret = 'the secret of a webhook, of more than thirty-two bytes';
  const sign = (body: string): Record<string, string> => ({ 'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` });
  const large = JSON.stringify({ text: 'x'.repeat(2 * MIB), rows: Array<object>(80_000).fill({}) });
  const options = (limit: string | undefined): CreateServerOptions => ({ security: { webhooks: [{ path: '/hooks/github', preset: 'github', secret, limit }] } });
  const answers: Handler = (req, res) => void res.json((req.body as { text: string }).text.length);

  test('holds for its path, and for no other', async () => {
    const port = await running.app((app) => app.use((_req, _res, next) => next()).post('/hooks/:name', answers).post('/notes', answers), options('4mb'));
    expect((await post(port, '/hooks/github', large, 'application/json', sign(large))).body).toBe(String(2 * MIB));
    const work = countWork();
    expect((await post(port, '/hooks/github', large, 'application/json', sign('another'))).status).toBe(401);
    for (const path of ['/notes', '/hooks/stripe']) expect((await post(port, path, large, 'application/json', sign(large))).status).toBe(413);
    expect(work.parsed).toBe(0);
  });

  test('holds in what is mounted, and in a router that is called', async () => {
    for (const inner of [createServer({ logging: { level: 'silent' } }), Router()]) {
      (inner as IRouter).post('/github', answers);
      const port = await running.app((app) => app.use('/hooks', (req, res, next) => (inner as Handler)(req, res, next)), options('4mb'));
      expect((await post(port, '/hooks/github', large, 'application/json', sign(large))).body).toBe(String(2 * MIB));
    }
  });

  test('may be less than body.limit, which is its default', async () => {
    const log = new LogRecorder();
    const app = createServer({ logging: { logger: log }, ...options('10b') });
    const port = await running.start(app.post('/hooks/github', echoes));
    expect((await post(port, '/hooks/github', BODY, 'application/json', sign(BODY))).status).toBe(413);
    expect(log.lines.find(({ message }) => message === 'The request body was refused')?.fields).toMatchObject({ limit: 10, option: 'limit of the webhook' });
    const other = await running.app((app) => app.post('/hooks/github', answers), options(undefined));
    expect((await post(other, '/hooks/github', large, 'application/json', sign(large))).status).toBe(413);
  });
});
