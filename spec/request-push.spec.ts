import { once } from 'node:events';
import { IncomingMessage, type RequestListener } from 'node:http';
import { connect } from 'node:net';
import express from 'express';
import { type Application, createServer, express as waypostExpress, type Request, type Response, signRequest } from 'waypost';
import { Running } from './support/running';
import { type Answer, ask } from './support/wire';

const secret = 'an example secret, 32 bytes or more';
const logging = { level: 'silent' } as const;
const BODY = '{"a":1}';
const JSON_TYPE = { 'content-type': 'application/json' };
const running = new Running();

afterEach(() => running.close());

type Push = IncomingMessage['push'];

/** Ways in which programs put a `push` of their own on a request, to count or record what comes. */
const REPLACEABLE: Record<string, (req: IncomingMessage, push: Push) => void> = {
  assigned: (req, push) => void (req.push = push),
  'defined as shimmer does': (req, push) => void Object.defineProperty(req, 'push', { value: push, writable: true, configurable: true, enumerable: true }),
  'assigned, and kept from being deleted': (req, push) => {
    req.push = push;
    Object.defineProperty(req, 'push', { configurable: false });
  },
  'read by a getter': (req, push) => void Object.defineProperty(req, 'push', { get: () => push, configurable: true }),
  'on a prototype between': (req, push) => void Object.setPrototypeOf(req, Object.assign(Object.create(Object.getPrototypeOf(req) as object) as object, { push })),
};
/** The same, so that nobody can put another there. */
const FIXED: Record<string, (req: IncomingMessage, push: Push) => void> = {
  'defined by its value alone': (req, push) => void Object.defineProperty(req, 'push', { value: push }),
  'with a setter that throws': (req, push) => void Object.defineProperty(req, 'push', {
    get: () => push,
    set: () => {
      throw new Error('It is not to be replaced');
    },
  }),
  'read by a getter alone': (req, push) => void Object.defineProperty(req, 'push', { get: () => push }),
};
const WRAPPED = ['what was found', "Node's"] as const;

/** A `push` that hands on to the one that stands there, or to Node's. */
function handsOn(req: IncomingMessage, wrapped: (typeof WRAPPED)[number]): Push {
   
  const found = wrapped === "Node's" ? IncomingMessage.prototype.push : req.push;
  return function (this: IncomingMessage, chunk, encoding) {
    return found.call(this, chunk, encoding);
  };
}

/** Answers with the body that was parsed, or else with what it reads. */
function echo(req: Request, res: Response): void {
  if (req.body !== undefined) return void res.json(req.body);
  let text = '';
  req.on('data', (chunk: Buffer) => (text += String(chunk))).on('end', () => res.send(`read ${text}`));
}

function greet(_req: Request, res: Response): void {
  res.send('hello');
}

function register<A extends Pick<Application, 'get' | 'post'>>(app: A): A {
  app.post('/', echo);
  app.get('/', greet);
  return app;
}

const PROGRAMS: Record<string, () => RequestListener> = {
  Express: () => register(express().use(express.json()) as unknown as Application) as unknown as RequestListener,
  'express()': () => register(waypostExpress().use(waypostExpress.json())),
  'createServer()': () => register(createServer({ logging })),
  'createServer() in Express': () => express().use(register(createServer({ logging })) as unknown as express.Handler) as unknown as RequestListener,
  'createServer() in express()': () => waypostExpress().use(register(createServer({ logging }))),
};

function answers(port: number): Promise<Answer[]> {
  return Promise.all([ask(port, '/', { method: 'POST', headers: JSON_TYPE, body: BODY }), ask(port, '/')]);
}

function serve(program: RequestListener, put: (req: IncomingMessage) => void): Promise<number> {
  return running.serve((req, res) => {
    put(req);
    program(req, res);
  });
}

describe.each(Object.keys(PROGRAMS))('a push of the program\'s own, in front of %s', (name) => {
  const make = PROGRAMS[name] as () => RequestListener;

  test.each(Object.keys(REPLACEABLE).flatMap((way) => WRAPPED.map((wrapped) => [way, wrapped] as const)))('%s, handing on to %s: the body is parsed', async (way, wrapped) => {
    const port = await serve(make(), (req) => REPLACEABLE[way]?.(req, handsOn(req, wrapped)));
    const [posted, got] = await answers(port) as [Answer, Answer];
    expect([posted.status, posted.body, got.status, got.body]).toEqual([200, BODY, 200, 'hello']);
  });

  test.each(Object.keys(FIXED).flatMap((way) => WRAPPED.map((wrapped) => [way, wrapped] as const)))('%s, handing on to %s: the body is there, parsed or to be read', async (way, wrapped) => {
    const port = await serve(make(), (req) => FIXED[way]?.(req, handsOn(req, wrapped)));
    const [posted, got] = await answers(port) as [Answer, Answer];
    expect([posted.status, posted.body.replace('read ', ''), got.status, got.body]).toEqual([200, BODY, 200, 'hello']);
  });
});

describe('a push of the program\'s own, in front of a check of signatures', () => {
  const signed = (): RequestListener => register(createServer({ logging, security: { requestSignature: { secret } } }));
  const headers = (method: string, body?: string): Record<string, string> => ({ ...JSON_TYPE, ...signRequest({ secret, method, url: '/', ...(body === undefined ? {} : { body }) }) });

  async function statuses(port: number): Promise<number[]> {
    const all = await Promise.all([
      ask(port, '/', { method: 'POST', headers: headers('POST', BODY), body: BODY }),
      ask(port, '/', { headers: headers('GET') }),
      ask(port, '/', { method: 'POST', headers: headers('POST', '{"a":2}'), body: BODY }),
    ]);
    return all.map(({ status }) => status);
  }

  test.each(Object.keys(REPLACEABLE).flatMap((way) => WRAPPED.map((wrapped) => [way, wrapped] as const)))('%s, handing on to %s: what is signed is let in, and nothing else', async (way, wrapped) => {
    expect(await statuses(await serve(signed(), (req) => REPLACEABLE[way]?.(req, handsOn(req, wrapped))))).toEqual([200, 200, 401]);
  });

  test.each(Object.keys(FIXED).flatMap((way) => WRAPPED.map((wrapped) => [way, wrapped] as const)))('%s, handing on to %s: nothing is let in, since what comes can\'t be looked at', async (way, wrapped) => {
    expect(await statuses(await serve(signed(), (req) => FIXED[way]?.(req, handsOn(req, wrapped))))).toEqual([401, 401, 401]);
  });
});

test.each(['waypost', 'waypost around'])('a push on app.request of %s that hands on to Node\'s', async (whose) => {
  const app = register(createServer({ logging }));
  const outer = whose === 'waypost' ? app : waypostExpress().use(app);
  (outer as unknown as { request: { push: Push } }).request.push = function (this: IncomingMessage, chunk, encoding) {
    return IncomingMessage.prototype.push.call(this, chunk, encoding);
  };
  const [posted, got] = await answers(await running.serve(outer)) as [Answer, Answer];
  expect([posted.status, posted.body, got.status, got.body]).toEqual([200, BODY, 200, 'hello']);
});

test.each(['createServer()', 'express()', 'Express'])('a _read that nobody can replace, in front of %s', async (name) => {
  const port = await serve((PROGRAMS[name] as () => RequestListener)(), (req) => {
     
    Object.defineProperty(req, '_read', { value: req._read });
  });
  const [posted, got] = await answers(port) as [Answer, Answer];
  expect([posted.status, posted.body, got.status, got.body]).toEqual([200, BODY, 200, 'hello']);
});

test('two of them, one put on behind a body that was too large and asynchronous: each chunk is handed on once', async () => {
  const calls = { first: 0, second: 0 };
  const wrap = (req: IncomingMessage, name: 'first' | 'second'): void => {
     
    const { push } = req;
    req.push = function (this: IncomingMessage, chunk, encoding) {
      calls[name]++;
      if (name === 'first') return push.call(this, chunk, encoding);
      setImmediate(() => push.call(this, chunk, encoding));
      return true;
    };
  };
  const outer = express();
  outer.use((req, _res, next) => {
    wrap(req, 'first');
    next();
  });
  outer.use(register(createServer({ logging, body: { limit: 100 } })) as unknown as express.Handler);
  outer.use(((_error: Error, req: express.Request, res: express.Response, _next: express.NextFunction) => {
    wrap(req, 'second');
    res.status(413).send('too large');
  }) as express.ErrorRequestHandler);
  const port = await running.serve(outer as unknown as RequestListener);

  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n7d6\r\n' + '1'.repeat(2006) + '\r\n');
  const [answer] = await once(client, 'data') as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1.1 413 /);
  client.resume();
  client.write('1\r\ny\r\n');
  client.end('0\r\n\r\n');
  await once(client, 'close');
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
  expect(calls.second).toBeLessThanOrEqual(2);
  expect(calls.first).toBeLessThanOrEqual(3);
});
