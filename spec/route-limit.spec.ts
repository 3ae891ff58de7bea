import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type Application, createServer, type ErrorHandler, express, type Handler, json as parseJson, raw, type RouteOptions, Router, signedFetch, validate } from 'waypost';
import { z } from 'zod';
import { LogRecorder, Running } from './support/running';

const running = new Running();

afterEach(() => running.close());

const SECRET = 'a secret of thirty-two bytes or more';
const json = (length: number): string => JSON.stringify('x'.repeat(length - 2));

async function post(port: number, target: string, body: string, type = 'application/json'): Promise<[status: number, text: string]> {
  const response = await fetch(`http://127.0.0.1:${port}${target}`, { method: 'POST', headers: { 'Content-Type': type }, body });
  return [response.status, await response.text()];
}

const length: Handler = (req, res) => void res.json(typeof req.body === 'string' ? req.body.length + 2 : null);

/** Counts the bytes on the stream. */
const counts: Handler = async (req, res) => {
  let count = 0;
  for await (const chunk of req) count += (chunk as Buffer).length;
  res.json({ count, body: req.body ?? null });
};

describe('the limit of a route', () => {
  const register = (app: Application): void => {
    const router = Router();
    router.post('/large', { bodyLimit: '2mb' }, length);
    app.post('/small', { bodyLimit: 10 }, length);
    app.post('/large', { bodyLimit: 2_097_152 }, length);
    app.post('/plain', length);
    app.route('/both').put({ bodyLimit: 10 }, length).post(length);
    app.use('/beneath', router);
  };

  test('goes before that of the application, either way, for its method alone', async () => {
    const port = await running.app(register, { body: { limit: 1000 } });
    expect(await post(port, '/small', json(10))).toEqual([200, '10']);
    expect(await post(port, '/small', json(11))).toEqual([413, '{"error":"Payload Too Large","message":"The request body is larger than the limit"}']);
    expect(await post(port, '/large', json(2_000_000))).toEqual([200, '2000000']);
    expect((await post(port, '/large', json(2_097_153)))[0]).toBe(413);
    expect(await post(port, '/beneath/large', json(2_000_000))).toEqual([200, '2000000']);
    expect(await post(port, '/plain', json(1000))).toEqual([200, '1000']);
    expect((await post(port, '/plain', json(1001)))[0]).toBe(413);
    expect(await post(port, '/both', json(1000))).toEqual([200, '1000']);
    expect((await fetch(`http://127.0.0.1:${port}/both`, { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: json(11) })).status).toBe(413);
  });

  test('holds for signed bodies too', async () => {
    const port = await running.app(register, { body: { limit: 1000 }, security: { requestSignature: { secret: SECRET } } });
    const send = signedFetch({ secret: SECRET });
    const status = async (target: string, size: number): Promise<number> => (await send(`http://127.0.0.1:${port}${target}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: json(size) })).status;
    expect(await status('/large', 2_000_000)).toBe(200);
    expect(await status('/large', 2_097_153)).toBe(413);
    expect(await status('/small', 11)).toBe(413);
    expect(await status('/plain', 1001)).toBe(413);
  });
});

describe('options of a route without a schema of its body', () => {
  const options: RouteOptions[] = [{ timeout: 60_000 }, { summary: 'reads bytes' }, { query: z.object({}) }, { response: { 200: z.number() } }];

  test.each(options)('leave the body to a parser behind them: %p', async (given) => {
    const port = await running.app((app) => {
      app.post('/bytes', given, raw({ type: 'application/json' }), (req, res) => void res.json((req.body as Buffer).length));
      app.post('/large', given, parseJson({ limit: '2mb' }), (req, res) => void res.json((req.body as [string])[0].length));
    });
    expect(await post(port, '/bytes', '{"bad')).toEqual([200, '5']);
    expect(await post(port, '/large', `[${json(2_000_002)}]`)).toEqual([200, '2000000']);
  });

  test('keep their own bodyLimit, with a parser behind them too', async () => {
    const port = await running.app((app) => app.post('/', { bodyLimit: 50 }, parseJson({ limit: '2mb' }), (req, res) => void res.json(req.body)), { body: { limit: 1000 } });
    expect((await post(port, '/', `[${json(40)}]`))[0]).toBe(200);
    for (const size of [60, 2000]) expect((await post(port, '/', `[${json(size)}]`))[0]).toBe(413);
  });

  test('count as no handler', () => {
    const app = createServer({ logging: false });
    app.get('/a', { timeout: 5, summary: 'x' }, validate({ query: z.object({}) }), length).post('/a', length);
    expect(app.routes()).toEqual([{ method: 'GET', path: '/a', handlers: 2 }, { method: 'POST', path: '/a', handlers: 1 }]);
  });
});

describe('body: false', () => {
  test('leaves a body of any type and length on the stream, behind handlers of all methods too', async () => {
    const passes: Handler = (_req, _res, next) => next();
    const port = await running.app((app) => {
      app.post('/upload', { body: false }, counts);
      app.route('/behind').all(passes).post({ body: false }, counts);
    }, { body: { limit: 1000 } });
    for (const target of ['/upload', '/behind']) {
      for (const type of ['application/json', 'text/plain', 'application/octet-stream']) {
        expect(await post(port, target, json(3_000_000), type)).toEqual([200, '{"count":3000000,"body":null}']);
      }
    }
  });

  test('leaves a signed one there once it is checked', async () => {
    const port = await running.app((app) => app.post('/upload', { body: false, bodyLimit: 4_000_000 }, counts), { security: { requestSignature: { secret: SECRET } } });
    const send = signedFetch({ secret: SECRET });
    const answer = await send(`http://127.0.0.1:${port}/upload`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: json(3_000_000) });
    expect(await answer.json()).toEqual({ count: 3_000_000, body: null });
  });
});

test('an application that parses no bodies warns of both at start', async () => {
  const logger = new LogRecorder();
  const app = express({ logging: { logger } });
  app.post('/upload', { body: false }, counts);
  app.post('/plain', { summary: 'fine' }, counts);
  await running.start(app);
  expect(logger.messages('warn')).toEqual(['The route /upload says how its body is read, but its application parses no bodies: middleware does, and has limits of its own']);
});

describe('the timeout of a route', () => {
  /** Answers when it is told to. */
  const holding = (): { handler: Handler; release: () => void } => {
    const held: (() => void)[] = [];
    return { handler: (_req, res) => void held.push(() => res.json('late')), release: () => held.splice(0).forEach((answer) => answer()) };
  };

  test.each([0, 60_000])('answers 503 for its handlers, with %s for the application', async (handlerTimeout) => {
    const logger = new LogRecorder();
    const { handler } = holding();
    const app = createServer({ env: 'production', logging: { logger }, server: { handlerTimeout } });
    app.get('/', { timeout: 20 }, handler);
    const port = await running.start(app);
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toEqual({ error: 'Service Unavailable', message: 'Service Unavailable' });
    expect(logger.text).toContain('No answer has begun within the timeout of the route (20 ms)');
  });

  test.each([0, 60_000])('of %s goes before that of the application', async (timeout) => {
    const { handler, release } = holding();
    let passed = 0;
    const counting: ErrorHandler = (error, _req, _res, next) => {
      passed++;
      next(error);
    };
    const port = await running.app((app) => {
      app.get('/own', { timeout }, handler);
      app.get('/app', handler);
      app.use(counting);
    }, { server: { handlerTimeout: 30 } });
    const own = fetch(`http://127.0.0.1:${port}/own`);
    // The application's limit has gone by for the other by the time that it is answered.
    expect((await fetch(`http://127.0.0.1:${port}/app`)).status).toBe(503);
    release();
    expect(await (await own).json()).toBe('late');
    expect(passed).toBe(0);
  });

  test('counts from the handlers that it stands before, and for a HEAD of its own not that of GET', async () => {
    const { handler, release } = holding();
    const port = await running.app((app) => {
      app.route('/head').get({ timeout: 20 }, handler).head((_req, res) => void setTimeout(() => res.end(), 60));
      app.route('/first').get({ timeout: 60_000 }, (_req, _res, next) => next()).get({ timeout: 20 }, handler);
      app.route('/last').get(handler).get({ timeout: 20 }, handler);
    });
    const last = fetch(`http://127.0.0.1:${port}/last`);
    expect((await fetch(`http://127.0.0.1:${port}/head`, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${port}/first`)).status).toBe(503);
    release();
    expect(await (await last).json()).toBe('late');
  });

  test('counts once the body is in, where a rewrite has it read late', async () => {
    const port = await running.app((app) => {
      app.use((req, _res, next) => {
        req.url = '/t';
        next();
      });
      app.post('/t', { timeout: 50 }, (req, res) => void res.json(req.body));
    });
    const sent = request({ port, host: '127.0.0.1', path: '/old', method: 'POST', headers: { 'Content-Type': 'application/json', 'Content-Length': 4 } });
    sent.write('"a');
    setTimeout(() => sent.end('b"'), 120);
    const [answer] = await once(sent, 'response') as [IncomingMessage];
    expect(answer.statusCode).toBe(200);
    answer.resume();
  });
});
