import { EventEmitter } from 'node:events';
import { IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import theirs, { type Express } from 'express';
import { createServer, express, signRequest } from 'waypost';
import { answersOf, type Asked, type ExpressModule, onBoth } from './support/both-expresses';

/** What a program may hand to an application for a part of the request that it has, as one that takes several in one body does. */
const PARTS: Readonly<Record<string, (req: IncomingMessage) => object>> = {
  'what inherits from its request, with headers': (req) => Object.assign(Object.create(req), { headers: req.headers }),
  'what inherits from its request, with headers and what was received': (req) => Object.assign(Object.create(req), { headers: req.headers, rawHeaders: req.rawHeaders }),
  'what inherits from its request, without what was received': (req) => Object.assign(Object.create(req), { headers: {}, rawHeaders: undefined }),
  'what inherits from its request, with headers that are fixed': (req) => Object.assign(Object.create(req), { headers: Object.freeze({ ...req.headers }) }),
  'a copy of its request': (req) => ({ ...req, headers: req.headers }),
  'a copy of its request, with all it has': (req) => ({ ...req }),
  'a plain object': () => ({ headers: {} }),
  'a plain object without headers': () => ({}),
  'an emitter': () => Object.assign(new EventEmitter(), { headers: {} }),
  'an emitter without headers': () => new EventEmitter(),
  'a stream': () => Object.assign(Readable.from(['{"a":1}']), { headers: { 'content-type': 'application/json', 'content-length': '7' } }),
  'a message without a socket': () => new IncomingMessage(undefined as never),
  'a message with its socket': (req) => new IncomingMessage(req.socket),
};

/** Gives a response its request again before Node asks for it: Node 26.12 ends a process of Express's otherwise, which sets another. */
function keepRequest(req: object, res: ServerResponse): void {
  res.prependOnceListener('finish', () => Object.assign(res, { req }));
}

/** Calls an application with a part of a request, at once or in a later turn, and answers with what that answers. */
function batch(express: ExpressModule, part: (req: IncomingMessage) => object, later: boolean, parses: boolean) {
  const inner = express();
  if (parses) inner.use(express.json());
  inner.post('/items/:id', (req, res) => void res.json({ id: req.params.id, body: req.body ?? null, query: req.query, path: req.path }));
  const outer = express();
  outer.post('/batch', (req, res, next) => {
    if (express === theirs) keepRequest(req, res);
    const call = () => {
      try {
        inner(Object.assign(part(req), { method: 'POST', url: '/items/2?x=1' }) as never, res, next);
      } catch (error) {
        res.end(`thrown: ${String(error)}`);
      }
    };
    if (later) setImmediate(call);
    else call();
  });
  return outer;
}

describe('an application that is called with a request of a program\'s own making does as Express does', () => {
  const cases = Object.keys(PARTS).flatMap((name) => [[name, 'at once', false], [name, 'later', true]] as const);
  test.each(cases)('%s, %s', async (name, _when, later) => {
    for (const parses of [false, true]) {
      const [[, status]] = await onBoth((express) => answersOf(batch(express, PARTS[name] as never, later, parses), [['/batch', { method: 'POST' }]])) as [[string, number]];
      expect(status).toBe(200);
    }
  });
});

describe('behind an application that a program calls', () => {
  const goesOn: Readonly<Record<string, (app: Express) => void>> = {
    'has answered and goes on': (app) => void app.use((_req, res, next) => { res.send('1'); next(); }),
    'has answered and goes on with an error': (app) => void app.use((_req, res, next) => { res.send('1'); next(new Error('late')); }),
    'answers twice': (app) => void app.use((_req, res) => { res.send('1'); res.send('2'); }),
    'has answered in a later turn and goes on': (app) => void app.use((_req, res, next) => void setImmediate(() => { res.send('1'); next(); })),
    'has answered and goes on in a later turn': (app) => void app.use((_req, res, next) => { res.send('1'); setImmediate(next); }),
  };
  const around: Readonly<Record<string, (app: Express) => RequestListener>> = {
    'a function': (app) => (req, res) => (app as unknown as (...given: unknown[]) => void)(req, res, (error: unknown) => {
      res.statusCode = error === undefined ? 404 : 500;
      res.end('none');
    }),
    'an application of Express': (app) => theirs().use(app).use((_req, res) => void res.end('none')),
    'an application of Express whose router it is in': (app) => theirs().use('/', theirs.Router().use(app)).use((_req, res) => void res.end('none')),
    'an application of waypost': (app) => express({ logging: { level: 'silent' } }).use(app as never).use((_req, res) => void res.end('none')),
  };

  // Node ends the process where what has just ended is written to.
  test.each(Object.keys(goesOn).flatMap((name) => Object.keys(around).map((place) => [name, place] as const)))('that %s, %s may answer too', async (name, place) => {
    const answers = await onBoth(async (module) => {
      const app = module();
      goesOn[name]?.(app);
      return answersOf(around[place]?.(app) as RequestListener, ['/', '/again']);
    });
    expect(answers).toEqual([['/', 200, '1'], ['/again', 200, '1']]);
  });

  test('what is called late for a request that has been answered, and whose connection closes behind that, is called', async () => {
    const [ran] = await onBoth(async (module) => {
      const called: string[] = [];
      const app = module().disable('x-powered-by');
      app.use((_req, _res, next) => { called.push('in the application'); next(); });
      const outer = theirs().use((_req, res, next) => { res.end('answered'); setTimeout(next, 20); }).use(app);
      const behind = new Promise<void>((resolve) => void outer.use(() => { called.push('behind it'); resolve(); }));
      await answersOf(outer, [['/', { headers: { connection: 'close' } }]]);
      await behind;
      return [called];
    });
    expect(ran).toEqual(['in the application', 'behind it']);
  });

  test('a request without a URL is gone on with', async () => {
    await onBoth(async (module) => {
      const inner = module().use((_req, res) => void res.send('inner'));
      const outer = module();
      outer.use((req, res, next) => {
        if (module === theirs) keepRequest(req, res);
        inner(Object.create(req) as never, res, next);
      }).use((_req, res) => void res.send('behind'));
      return answersOf(outer, ['/']);
    });
  });

  test('a response that was led to many requests has one listener more', async () => {
    const inner = express({ logging: { level: 'silent' } });
    const outer = express({ logging: { level: 'silent' } });
    for (let i = 0; i < 20; i++) outer.use((req, res, next) => inner({ ...req } as never, res, next));
    outer.use((_req, res) => void res.send(String(res.listenerCount('finish'))));
    const [[, , count]] = await answersOf(outer as never, ['/']) as [[string, number, string]];
    expect(Number(count)).toBeLessThan(4);
  });

  test('a copy of a request has no body that was captured, and waits for none', async () => {
    const inner = createServer({ logging: { level: 'silent' } }).post('/', (req, res) => void res.json({ body: req.body ?? null }));
    const signed = createServer({ logging: { level: 'silent' }, security: { requestSignature: { secret: 'the secret of these specs, 32 bytes or more' } } }).use(inner);
    const asked: Asked = ['/', { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json', ...signRequest({ secret: 'the secret of these specs, 32 bytes or more', method: 'POST', url: '/', body: '{"a":1}' }) } }];
    for (const [app, wanted] of [[inner, 200], [signed, 401]] as const) {
      const listener: RequestListener = (req, res) => app({ ...req, url: req.url, method: req.method, headers: req.headers } as never, res as never);
      expect((await answersOf(listener, [asked]))[0]).toEqual(['/', wanted, expect.any(String)]);
    }
  });
});
