import { AsyncLocalStorage } from 'node:async_hooks';
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer as createHttpServer } from 'node:http';
import oracle from 'express';
import { type Application, type BodyEvent, createServer, type EndEvent, type FailureEvent, type Handler, type HandlerEvent, type RefusalEvent, type RouteEvent, Router, signRequest } from 'waypost';
import { tracing } from '../lib/tracing/tracing';
import { read, table } from './support/document';
import { Running } from './support/running';
import { ask, head, post, Wire } from './support/wire';

const running = new Running();
const SECRET = 's'.repeat(32);

/** What the channels have told, in order. */
class Record {
  readonly lines: string[] = [];
  readonly messages: [channel: string, message: unknown][] = [];
  readonly #heard: (() => void)[] = [];
  readonly #listeners = Object.values(tracing).map(({ name }) => [String(name), (message: unknown) => this.#note(String(name), message)] as const);

  constructor() {
    for (const [name, listener] of this.#listeners) subscribe(name, listener);
  }

  #note(name: string, message: unknown): void {
    this.messages.push([name, message]);
    this.lines.push(lineOf(name.replace('waypost:', ''), message as never));
    for (const heard of this.#heard.splice(0)) heard();
  }

  /** Resolves when so many requests have ended. */
  async ended(count = 1): Promise<string[]> {
    while (this.lines.filter((line) => line.startsWith('request:end')).length < count) await new Promise<void>((resolve) => this.#heard.push(resolve));
    return this.lines;
  }

  close(): void {
    for (const [name, listener] of this.#listeners) unsubscribe(name, listener);
  }
}

type Message = Partial<RouteEvent & HandlerEvent & FailureEvent & BodyEvent & RefusalEvent & EndEvent>;

function lineOf(name: string, { method, route, kind, name: handler, path, error, bytes, status, reason, aborted }: Message): string {
  const said = error instanceof Error ? error.message : undefined;
  return [name, method, route, kind, handler, path, said, bytes, status, reason, aborted === true ? 'aborted' : undefined].filter((part) => part !== undefined).join(' ');
}

let record: Record;

beforeEach(() => {
  record = running.keep(new Record());
});

afterEach(() => running.close());

async function traced(register: (app: Application) => void, path: string, options = {}): Promise<string[]> {
  const port = await running.app(register, options);
  await ask(port, path);
  return record.ended();
}

const passes: Handler = (_req, _res, next) => next();
const answers: Handler = (_req, res) => { res.send('fine'); };

describe('a request tells on its channels', () => {
  test('its start, its handlers in order, its route with the mount path, and its end', async () => {
    const lines = await traced((app) => app.use(passes).use('/shops/:shop', Router().get('/orders/:id', passes, answers)), '/shops/7/orders/3');
    expect(lines).toEqual([
      'request:start', 'handler:start middleware passes /', 'handler:end middleware passes /',
      'request:route GET /shops/:shop/orders/:id',
      'handler:start route handler passes /shops/:shop/orders/:id', 'handler:end route handler passes /shops/:shop/orders/:id',
      'handler:start route handler answers /shops/:shop/orders/:id', 'handler:end route handler answers /shops/:shop/orders/:id',
      'request:end /shops/:shop/orders/:id',
    ]);
  });

  test('the route of an application that is mounted, and of a router that is called as a function', async () => {
    const inner = createServer({ logging: { level: 'silent' } }).get('/:b', answers);
    const called = Router().get('/:c', answers);
    const port = await running.app((app) => app.use('/in/:a', inner).use('/called', (req, res, next) => called(req, res, next)));
    await ask(port, '/in/1/2');
    await record.ended();
    await ask(port, '/called/3');
    const lines = await record.ended(2);
    expect(lines.filter((line) => line.startsWith('request:'))).toEqual([
      'request:start', 'request:route GET /in/:a/:b', 'request:end /in/:a/:b', 'request:start', 'request:route GET /called/:c', 'request:end /called/:c',
    ]);
  });

  test('and within an application of Express, beneath the path that it shows', async () => {
    const app = createServer({ logging: { level: 'silent' } }).get('/:b', answers);
    const theirs = oracle().use('/out', app as never).use('/router', Router().get('/:c', answers) as never);
    const port = await running.listen(createHttpServer(theirs as never));
    await ask(port, '/out/1');
    await record.ended();
    await ask(port, '/router/1');
    expect((await record.ended(2)).filter((line) => line.includes('route '))).toEqual([
      'request:route GET /out/:b', 'handler:start route handler answers /out/:b', 'handler:end route handler answers /out/:b',
      'request:route GET /router/:c', 'handler:start route handler answers /router/:c', 'handler:end route handler answers /router/:c',
    ]);
  });

  test('of several patterns the one that the path has; of all methods ALL; of the root its path', async () => {
    const port = await running.app((app) => app.all(['/a/:x', '/b/:y'], answers).use('/mount', Router().get('/', answers)));
    for (const [index, path] of ['/a/1', '/b/1', '/mount'].entries()) {
      await ask(port, path);
      await record.ended(index + 1);
    }
    expect(record.lines.filter((line) => line.startsWith('request:route'))).toEqual(['request:route ALL /a/:x', 'request:route ALL /b/:y', 'request:route GET /mount']);
  });

  test.each([undefined, 7, '/proxy'])('the route behind what a program has put on req.baseUrl, where that is text: %p', async (base) => {
    const app = createServer({ logging: { level: 'silent' } });
    app.get('/x', answers);
    const port = await running.serve((req, res) => {
      Object.assign(req, { baseUrl: base });
      app(req, res);
    });
    await ask(port, '/x');
    expect((await record.ended()).filter((line) => line.startsWith('request:route'))).toEqual([`request:route GET ${typeof base === 'string' ? base : ''}/x`]);
  });

  test('each route that is reached', async () => {
    const lines = await traced((app) => app.get('/:a', (_req, _res, next) => next('route')).get('/x', answers), '/x');
    expect(lines.filter((line) => line.startsWith('request:'))).toEqual(['request:start', 'request:route GET /:a', 'request:route GET /x', 'request:end /x']);
  });

  test('nothing of a route where there is none', async () => {
    expect(await traced((app) => app.get('/', answers), '/none')).toEqual(['request:start', 'request:end']);
  });

  test.each<[string, Handler]>([
    ['thrown', function fails() { throw new Error('inner'); }],
    ['rejected', async function fails() { throw new Error('inner'); }],
    ['given to next', function fails(_req, _res, next) { next(new Error('inner')); }],
    ['given to next later', function fails(_req, _res, next) { setImmediate(next, new Error('inner')); }],
  ])('an error that is %s, once, with its handler and its route', async (_name, fails) => {
    const lines = await traced((app) => {
      app.use('/m', Router().get('/:a', fails));
      app.use(function caught(error: unknown, _req: unknown, _res: unknown, next: (error: unknown) => void) { next(error); });
    }, '/m/1');
    expect(lines).toEqual([
      'request:start', 'request:route GET /m/:a', 'handler:start route handler fails /m/:a', 'request:error /m/:a inner', 'handler:end route handler fails /m/:a inner',
      'handler:start error middleware caught /', 'handler:end error middleware caught / inner', 'request:end /m/:a',
    ]);
  });

  test('a body that was parsed, and one that was not: then the route all the same', async () => {
    const port = await running.app((app) => app.post('/:a', answers));
    await post(port, '/1', '{"a":1}');
    await record.ended();
    await post(port, '/1', '{"a":');
    expect((await record.ended(2)).filter((line) => line.startsWith('request:'))).toEqual([
      'request:start', 'request:route POST /:a', 'request:body 7', 'request:end /:a',
      'request:start', 'request:route POST /:a', expect.stringMatching(/^request:error \/:a The request body is not valid JSON/), 'request:end /:a',
    ]);
  });

  test('data that could not be written', async () => {
    const lines = await traced((app) => app.get('/', (_req, res) => res.json(1n)), '/');
    expect(lines).toContainEqual(expect.stringMatching(/^request:error \/ .*BigInt/));
  });

  test('a signature that was refused, or could not be checked', async () => {
    const store = { claim: () => { throw new Error('no store'); } };
    const port = await running.app((app) => app.get('/', answers), { security: { requestSignature: { secret: SECRET, replay: { store } } } });
    await ask(port, '/');
    await record.ended();
    await ask(port, '/', { headers: signRequest({ secret: SECRET, method: 'GET', url: '/' }) });
    expect(await record.ended(2)).toEqual([
      'request:start', expect.stringMatching(/^request:refused 401 \w/), 'request:end', 'request:start', 'request:refused 503 the check could not be made', 'request:end',
    ]);
    expect(JSON.stringify(record.messages.filter(([name]) => name.endsWith('refused')).map(([, message]) => (message as RefusalEvent).reason))).not.toContain(SECRET);
  });

  test('a refusal of a request to switch protocols, without a response', async () => {
    const port = await running.app((app) => app.on('upgrade', (_req, socket) => socket.destroy()), { security: { requestSignature: { secret: SECRET } } });
    const told = await Wire.tell(port, head('GET /', { Connection: 'Upgrade', Upgrade: 'websocket' }));
    expect(told).toContain('401 Unauthorized');
    expect(record.messages).toEqual([['waypost:request:refused', expect.objectContaining({ status: 401, response: undefined })]]);
  });

  test('an end that the client has brought about', async () => {
    const port = await running.app((app) => app.get('/', function holds(_req, res) { res.write('begun'); }));
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await wire.until('begun');
    wire.cut();
    expect((await record.ended()).slice(-2)).toEqual(['handler:end route handler holds /', 'request:end / aborted']);
  });

  test('of app.inject too', async () => {
    await createServer({ logging: { level: 'silent' } }).get('/', answers).inject('/');
    expect(await record.ended()).toHaveLength(5);
  });
});

describe('a handler ends', () => {
  const ends = async (handler: Handler): Promise<string[]> => {
    const lines = await traced((app) => app.get('/', handler).use(function last(_req, res) { res.send('last'); }), '/');
    return lines.map((line) => line.replace(/^(handler:\w+).* (\w+) \/$/, '$1 $2'));
  };

  test('when it has called next, before what is behind it begins', async () => {
    expect(await ends(async function one(_req, _res, next) { next(); await new Promise((resolve) => setImmediate(resolve)); })).toEqual([
      'request:start', 'request:route GET /', 'handler:start one', 'handler:end one', 'handler:start last', 'handler:end last', 'request:end /',
    ]);
  });

  test('when its promise has settled', async () => {
    let settled = '';
    const lines = await ends(async function one(_req, res) {
      await new Promise((resolve) => setImmediate(resolve));
      settled = record.lines.at(-1) ?? '';
      setImmediate(() => setImmediate(() => {
        record.lines.push('answers');
        res.send('later');
      }));
    });
    expect(settled).toContain('handler:start');
    expect(lines).toEqual(['request:start', 'request:route GET /', 'handler:start one', 'handler:end one', 'answers', 'request:end /']);
  });

  test('when the request ends, where it has answered behind its return', async () => {
    expect(await ends(function one(_req, res) { setImmediate(() => res.send('later')); })).toEqual(['request:start', 'request:route GET /', 'handler:start one', 'handler:end one', 'request:end /']);
  });

  test('with the object that it has begun with, which says where it was registered', async () => {
    await traced((app) => app.get('/', answers), '/');
    const [start, end] = record.messages.filter(([name]) => name.startsWith('waypost:handler')).map(([, message]) => message as HandlerEvent);
    expect(end).toBe(start);
    expect(start?.place).toMatch(/tracing\.spec\.ts:\d+:\d+$/);
  });

  test('a lazy thenable runs once', async () => {
    let runs = 0;
    await ends(function query(_req, res) {
      return { then: (done: () => void) => (runs++, res.send('rows'), done()) };
    });
    expect(runs).toBe(1);
  });
});

describe('a subscriber', () => {
  test('may bind a store to the start of handlers: they run in it, and so does what they wait for', async () => {
    const storage = new AsyncLocalStorage<string>();
    const start = channel('waypost:handler:start');
    const bound = (message: unknown): string => (message as HandlerEvent).name;
    start.bindStore(storage, bound as never);
    try {
      const port = await running.app((app) => app.get('/', passes, async function named(_req, res) {
        const before = storage.getStore();
        await new Promise((resolve) => setImmediate(resolve));
        res.json([before, storage.getStore()]);
      }));
      expect((await ask(port, '/')).json).toEqual(['named', 'named']);
    } finally {
      start.unbindStore(storage);
    }
  });

  test('hears of requests that begin when it has subscribed, on an application that runs', async () => {
    record.close();
    const port = await running.app((app) => app.get('/', answers));
    await ask(port, '/');
    const late = running.keep(new Record());
    await ask(port, '/');
    expect(await late.ended()).toHaveLength(5);
  });

  test('is not asked for where nobody has subscribed: no request is followed', async () => {
    record.close();
    const symbols: symbol[] = [];
    const port = await running.app((app) => app.get('/', (req, res) => {
      symbols.push(...Object.getOwnPropertySymbols(req));
      res.send(String(res.listenerCount('close')));
    }));
    const { body } = await ask(port, '/');
    const bare = createHttpServer((_req, res) => res.end(String(res.listenerCount('close'))));
    expect(body).toBe((await ask(await running.listen(bare), '/')).body);
    expect(symbols.map(String)).not.toContain('Symbol(waypost.request.watch)');
  });
});

test('req.route is the route, and its path the pattern', async () => {
  const port = await running.app((app) => app.use('/shops/:shop', Router().get(['/a/:id', '/b'], (req, res) => {
    const { route, baseUrl } = req;
    const path: string | RegExp | readonly (string | RegExp)[] | undefined = route?.path;
    res.json([baseUrl, path, route?.methods, route?.stack.map(({ method }) => method)]);
  })));
  expect((await ask(port, '/shops/7/a/3')).json).toEqual(['/shops/7', ['/a/:id', '/b'], { get: true }, ['get']]);
});

test('docs/tracing.md names every channel', () => {
  const names = table(read('docs/tracing.md'), 'events').map(([name]) => name?.replaceAll('`', ''));
  expect(names.sort()).toEqual(Object.values(tracing).map(({ name }) => String(name)).sort());
});
