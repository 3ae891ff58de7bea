import { AsyncLocalStorage } from 'node:async_hooks';
import oracle from 'express';
import * as v from 'valibot';
import { type Application, createServer, type ErrorHandler, express, HttpError, Router, validate, ValidationError } from 'waypost';
import wayExpress from 'waypost/express';
import { z } from 'zod';
import { ChildProgram, FROM_LIB } from './support/child-program';
import { LogRecorder, Running } from './support/running';

const running = new Running();

afterEach(() => running.close());

const JSON_HEADERS = { 'Content-Type': 'application/json' };

interface Answer {
  status: number;
  body: any;
  type: string | null;
}

/** Sends a request; an object goes as JSON. */
async function ask(port: number, target: string, { body, ...init }: Omit<RequestInit, 'body'> & { body?: unknown } = {}): Promise<Answer> {
  const sent = body === undefined || typeof body === 'string' ? body as string | undefined : JSON.stringify(body);
  const response = await fetch(`http://127.0.0.1:${port}${target}`, { method: sent === undefined ? 'GET' : 'POST', headers: JSON_HEADERS, ...init, ...(sent !== undefined && { body: sent }) });
  const text = await response.text();
  return { status: response.status, type: response.headers.get('content-type'), body: response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text };
}

const Params = z.object({ id: z.coerce.number().int() });
const Query = z.object({ page: z.coerce.number().default(1) });
const Body = z.object({ quantity: z.number(), note: z.string().optional() });

describe('a route with schemas', () => {
  const all = (app: Application): unknown => app.post('/shops/:shop/orders/:id', { params: Params, query: Query, headers: z.object({ 'x-tenant': z.string() }), body: Body }, (req, res) => {
    res.json({ params: req.params, query: req.query, body: req.body, tenant: req.headers['x-tenant'] });
  });

  test('gives its handlers what was parsed, and the other parameters as they were', async () => {
    const port = await running.app(all);
    const { status, body } = await ask(port, '/shops/a/orders/7?more=1', { headers: { ...JSON_HEADERS, 'X-Tenant': 't' }, body: { quantity: 2, unknown: true } });
    expect({ status, body }).toEqual({ status: 200, body: { params: { shop: 'a', id: 7 }, query: { page: 1 }, body: { quantity: 2 }, tenant: 't' } });
  });

  test('checks all that is given, and answers with all issues', async () => {
    const port = await running.app(all);
    const { status, body } = await ask(port, '/shops/a/orders/x?page=y', { body: { quantity: 'many', note: 1 } });
    expect(status).toBe(400);
    expect(body.error).toBe('Bad Request');
    expect(body.message).toMatch(/^The request is not as its route asks: params\.id: .*, and 4 more$/);
    expect(body.errors.map(({ in: part, path, message }: { in: string; path: unknown; message: string }) => [part, path, message !== ''])).toEqual([
      ['params', ['id'], true], ['query', ['page'], true], ['headers', ['x-tenant'], true], ['body', ['quantity'], true], ['body', ['note'], true],
    ]);
  });

  test('raises a ValidationError in error middleware, with nothing replaced', async () => {
    let seen: unknown;
    let query: unknown;
    const catching: ErrorHandler = (error, req, res, _next) => {
      seen = error;
      query = req.query;
      res.status(418).json({ caught: true });
    };
    const port = await running.app((app) => {
      all(app);
      app.use(catching);
    });
    expect(await ask(port, '/shops/a/orders/1?page=3', { body: {} })).toMatchObject({ status: 418, body: { caught: true } });
    expect(query).toEqual({ page: '3' });
    expect(seen).toBeInstanceOf(ValidationError);
    expect(seen).toBeInstanceOf(HttpError);
    expect(seen).toMatchObject({ name: 'ValidationError', status: 400, code: 'INVALID_REQUEST', expose: true, issues: [{ in: 'headers', path: ['x-tenant'] }, { in: 'body', path: ['quantity'] }] });
  });

  test('has the status that errorStatus says', async () => {
    const port = await running.app((app) => app.post('/', { body: Body, errorStatus: 422 }, (_req, res) => res.json({})));
    expect(await ask(port, '/', { body: {} })).toMatchObject({ status: 422, body: { error: 'Unprocessable Entity' } });
  });

  test('shows at most 100 issues, and counts all', async () => {
    const port = await running.app((app) => app.post('/', { body: z.array(z.string()) }, (_req, res) => res.json({})));
    const { body } = await ask(port, '/', { body: new Array(1000).fill(1) });
    expect(body.errors).toHaveLength(100);
    expect(body.message).toMatch(/and 999 more$/);
  });

  test('shows at most 16,384 characters of paths and messages, however long the names that they repeat', async () => {
    const port = await running.app((app) => app.post('/', { body: z.record(z.string(), z.array(z.string())) }, (_req, res) => res.json({})));
    const shown = async (name: string): Promise<number> => (await ask(port, '/', { body: { [name]: new Array(100).fill(1) } })).body.errors.length;
    expect([await shown('n'.repeat(50)), await shown('n'.repeat(4000)), await shown('n'.repeat(50_000))]).toEqual([100, 4, 0]);
  });

  test('is not reached with a body that nothing has parsed: 415, and no schema is asked', async () => {
    const asked = jest.fn();
    const port = await running.app((app) => app.post('/', { body: z.any().refine(() => { asked(); return true; }) }, (req, res) => res.json({ body: req.body ?? null })));
    for (const type of ['application/xml', 'application/octet-stream', '']) {
      expect(await ask(port, '/', { headers: { 'Content-Type': type }, body: '{"quantity":1}' })).toMatchObject({ status: 415, body: { error: 'Unsupported Media Type', message: 'The Content-Type of the request body is not supported' } });
    }
    expect(asked).not.toHaveBeenCalled();
    // None at all, and an empty one, are for the schema to judge.
    expect(await ask(port, '/', { method: 'POST' })).toMatchObject({ status: 200, body: { body: null } });
    expect(await ask(port, '/', { method: 'POST', body: '' })).toMatchObject({ status: 200, body: { body: null } });
    const empty = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers: JSON_HEADERS, body: new ReadableStream({ start: (controller) => controller.close() }), duplex: 'half' } as RequestInit);
    expect(empty.status).toBe(200);
  });

  test('awaits asynchronous schemas in the async context of the request', async () => {
    const context = new AsyncLocalStorage<string>();
    const known = z.string().refine(async (name) => {
      await new Promise((done) => setImmediate(done));
      return name === context.getStore();
    }, 'unknown');
    const port = await running.app((app) => {
      app.use((req, _res, next) => context.run(String(req.headers['x-name']), () => next()));
      app.post('/', { body: z.object({ name: known }), query: Query }, (req, res) => res.json({ name: req.body.name, page: req.query.page, store: context.getStore() }));
    });
    const answers = await Promise.all(['Ada', 'Eve', 'Zoe'].map((name) => ask(port, '/?page=2', { headers: { ...JSON_HEADERS, 'X-Name': name }, body: { name } })));
    expect(answers.map(({ body }) => body)).toEqual(['Ada', 'Eve', 'Zoe'].map((name) => ({ name, page: 2, store: name })));
    expect(await ask(port, '/?page=z', { headers: { ...JSON_HEADERS, 'X-Name': 'Ada' }, body: { name: 'Bob' } })).toMatchObject({ status: 400, body: { errors: [{ in: 'query' }, { in: 'body', path: ['name'], message: 'unknown' }] } });
  });

  test('gives schemas big integers as such', async () => {
    const port = await running.app((app) => app.post('/', { body: z.object({ total: z.bigint() }) }, (req, res) => res.xJson({ kind: typeof req.body.total, total: req.body.total })), { body: { bigint: true } });
    expect(await ask(port, '/', { body: '{"total":123456789012345678901}' })).toMatchObject({ status: 200, body: { kind: 'bigint', total: '123456789012345678901' } });
  });

  test.each([
    ['throws', () => { throw Object.assign(new Error('the secret'), { status: 400, expose: true }); }],
    ['rejects', () => Promise.reject(Object.assign(new Error('the secret'), { status: 400, expose: true }))],
  ])('is answered by 500 where a schema %s: logged, and nothing shown', async (_, fail) => {
    const logger = new LogRecorder();
    const failing = { '~standard': { version: 1 as const, vendor: 'own', validate: fail } };
    const port = await running.app((app) => app.post('/', { body: failing }, (_req, res) => res.json({})), { env: 'production', logging: { logger } });
    expect(await ask(port, '/', { body: {} })).toMatchObject({ status: 500, body: { error: 'Internal Server Error', message: 'Internal Server Error' } });
    expect(logger.messages('error')).toHaveLength(1);
    expect((logger.lines.find(({ level }) => level === 'error')?.fields.err as Error).cause).toMatchObject({ message: 'the secret' });
  });

  test('is one on each verb, on route(), in routers, and with options in an array', async () => {
    const port = await running.app((app) => {
      const router = Router();
      for (const verb of ['put', 'patch', 'delete', 'query'] as const) app[verb]('/verb', { body: Body }, (req, res) => res.json(req.body));
      app.all('/all', { query: Query }, (req, res) => res.json(req.query));
      app.route('/route').get({ query: Query }, (req, res) => res.json(req.query)).post({ body: Body }, (req, res) => res.json(req.body));
      router.get('/items/:id', { params: z.object({ shop: z.string().toUpperCase(), id: z.coerce.number() }) }, (req, res) => res.json(req.params));
      app.use('/:shop', router);
    });
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      expect(await ask(port, '/verb', { method, body: { quantity: 1, more: 1 } })).toMatchObject({ status: 200, body: { quantity: 1 } });
      expect(await ask(port, '/verb', { method, body: {} })).toMatchObject({ status: 400 });
    }
    expect(await ask(port, '/all?page=5')).toMatchObject({ body: { page: 5 } });
    expect(await ask(port, '/route?page=5')).toMatchObject({ body: { page: 5 } });
    expect(await ask(port, '/route', { body: {} })).toMatchObject({ status: 400 });
    expect(await ask(port, '/a/items/3')).toMatchObject({ body: { shop: 'A', id: 3 } });
  });

  test('leaves the routes beside it alone, and those behind it their own parameters', async () => {
    const port = await running.app((app) => {
      app.get('/:id', { params: Params }, (_req, _res, next) => next());
      app.get('/:id', (req, res) => res.json(req.params));
    });
    expect(await ask(port, '/7')).toMatchObject({ body: { id: '7' } });
  });
});

describe('schemas of responses', () => {
  const Reply = z.object({ id: z.number() });
  const app = (on: Application): void => {
    on.get('/:kind', { response: { 200: Reply, 201: Reply.extend({ id: z.number().refine(async (id) => Promise.resolve(id > 0)) }) } }, (req, res) => {
      const { kind } = req.params;
      if (kind === 'wrong') res.json({ id: 'text' as never });
      else if (kind === 'sent') res.send({ id: 1, secret: 2 } as never);
      else if (kind === 'xjson') res.xJson({ id: 1, secret: 2 });
      else if (kind === 'jsonp') res.jsonp({ id: 1, secret: 2 } as never);
      else if (kind === 'late') res.status(201).json({ id: 1, secret: 2 } as never);
      else if (kind === 'late-wrong') res.status(201).json({ id: -1 });
      else if (kind === 'other') res.status(404).json({ secret: 2 } as never);
      else res.json({ id: 1, secret: 2 } as never);
    });
  };

  test.each(['json', 'sent', 'xjson', 'jsonp', 'json.xJson'])('leave out what the schema leaves out: %s', async (kind) => {
    const port = await running.app(app);
    expect((await ask(port, `/${kind}`)).body).toEqual({ id: 1 });
  });

  test('may be asynchronous', async () => {
    const port = await running.app(app);
    expect(await ask(port, '/late')).toMatchObject({ status: 201, body: { id: 1 } });
    expect(await ask(port, '/late-wrong')).toMatchObject({ status: 500 });
  });

  test('say nothing of a status without one', async () => {
    const port = await running.app(app);
    expect(await ask(port, '/other')).toMatchObject({ status: 404, body: { secret: 2 } });
  });

  test.each(['production', 'test', 'development'])('answer 500 for data that fails, with the issue in the log, in %s', async (env) => {
    const logger = new LogRecorder();
    const port = await running.app(app, { env, logging: { logger } });
    const { status, body } = await ask(port, '/wrong');
    expect(status).toBe(500);
    expect(logger.text).toContain('The response of status 200 is not as its schema says: id: ');
    expect(JSON.stringify(body).includes('schema')).toBe(env === 'development');
  });
});

describe('validate', () => {
  const register = (app: Application | oracle.Express, json: unknown): void => {
    (app as Application).post('/orders/:id', json as never, validate({ params: Params, query: Query, body: Body, response: { 200: z.object({ params: z.any(), query: z.any(), body: z.any() }) } }) as never, ((req: oracle.Request, res: oracle.Response) => {
      res.json({ params: req.params, query: req.query, body: req.body, secret: 1 });
    }) as never);
  };

  test.each<[string, () => Promise<number>]>([
    ['Express 5', async () => {
      const app = oracle();
      register(app, oracle.json());
      app.use(((error: HttpError, _req: unknown, res: oracle.Response, _next: unknown) => void res.status(error.status).json({ ...error.members })) as oracle.ErrorRequestHandler);
      return running.serve(app);
    }],
    ['express() of waypost', async () => {
      const app = express({ logging: false });
      register(app, express.json());
      return running.start(app);
    }],
    ['createServer', () => running.app((app) => register(app, []))],
  ])('is the same in %s', async (_, start) => {
    const port = await start();
    expect(await ask(port, '/orders/7?page=3', { body: { quantity: 2, more: 1 } })).toMatchObject({ status: 200, body: { params: { id: 7 }, query: { page: 3 }, body: { quantity: 2 } } });
    expect((await ask(port, '/orders/7', { body: { quantity: 2 } })).body).not.toHaveProperty('secret');
    expect(await ask(port, '/orders/x?page=y', { body: {} })).toMatchObject({ status: 400, body: { errors: [{ in: 'params', path: ['id'] }, { in: 'query', path: ['page'] }, { in: 'body', path: ['quantity'] }] } });
    expect(await ask(port, '/orders/7', { headers: { 'Content-Type': 'application/xml' }, body: '<a/>' })).toMatchObject({ status: 415 });
  });

  test('checks under use, by the parameters of its own path', async () => {
    const port = await running.app((app) => {
      app.use('/shops/:id', validate({ params: Params, query: Query }));
      app.get('/shops/:id/orders', (req, res) => res.json({ params: req.params, query: req.query }));
    });
    expect(await ask(port, '/shops/1/orders?page=2')).toMatchObject({ status: 200, body: { params: { id: '1' }, query: { page: 2 } } });
    expect(await ask(port, '/shops/x/orders')).toMatchObject({ status: 400 });
  });

  test('raises under use what is wrong with the body itself', async () => {
    const port = await running.app((app) => {
      app.use(validate({ body: Body }));
      app.post('/', (req, res) => res.json(req.body));
    }, { body: { limit: 100 } });
    expect(await ask(port, '/', { body: { quantity: 1 } })).toMatchObject({ status: 200, body: { quantity: 1 } });
    expect(await ask(port, '/', { body: '{"quantity":' })).toMatchObject({ status: 400, body: { error: 'Bad Request' } });
    expect(await ask(port, '/', { body: `{"note":"${'a'.repeat(100)}"}` })).toMatchObject({ status: 413 });
    expect(await ask(port, '/', { headers: { 'Content-Type': 'application/xml' }, body: '<a/>' })).toMatchObject({ status: 415 });
  });
});

test('zod, valibot and arktype are one to it, in a process of its own', async () => {
  const program = `
    import { createRequire } from 'node:module';
    const { createServer } = createRequire(process.cwd() + '/')('./lib/index.ts');
    import { z } from 'zod'; import * as v from 'valibot'; import { type } from 'arktype';
    const schemas = {
      zod: z.object({ id: z.string(), n: z.array(z.object({ x: z.number() })) }),
      valibot: v.object({ id: v.string(), n: v.array(v.object({ x: v.number() })) }),
      arktype: type({ '+': 'delete', id: 'string', n: [{ '+': 'delete', x: 'number' }, '[]'] }),
    };
    const app = createServer({ logging: false });
    for (const [name, body] of Object.entries(schemas)) app.post('/' + name, { body }, (req, res) => res.json(req.body));
    for (const name of Object.keys(schemas)) {
      const ask = async (payload) => (await app.inject({ method: 'POST', url: '/' + name, payload })).json();
      const fine = await ask({ id: 'a', more: 1, n: [{ x: 1, y: 2 }] });
      const { errors } = await ask({ id: 1, n: [{ x: 1 }, { x: 'text' }] });
      console.log(JSON.stringify([fine, errors.map((each) => [each.in, each.path])]));
    }`;
  const { output, errors } = await ChildProgram.run([...FROM_LIB, '--input-type=module', '-e', program]);
  expect({ lines: output.trim().split('\n').map((line) => JSON.parse(line) as unknown), errors }).toEqual({
    lines: new Array(3).fill([{ id: 'a', n: [{ x: 1 }] }, [['body', ['id']], ['body', ['n', 1, 'x']]]]), errors: '',
  });
});

test('an asynchronous schema that rejects, beside one that throws, does not end the process', async () => {
  const program = `
    import { createServer } from 'waypost';
    import * as v from 'valibot';
    const app = createServer({ logging: { level: 'silent' } });
    const known = v.pipeAsync(v.string(), v.checkAsync(() => Promise.reject(new Error('invalid input syntax'))));
    app.post('/:id', { params: v.objectAsync({ id: known }), body: v.object({ data: v.pipe(v.string(), v.transform((text) => JSON.parse(text))) }) }, (req, res) => res.json({}));
    console.log((await app.inject({ method: 'POST', url: '/x', payload: { data: '{' } })).statusCode);
    await new Promise(setImmediate);`;
  expect(await ChildProgram.run([...FROM_LIB, '--input-type=module', '-e', program])).toMatchObject({ code: 0, output: '500\n', errors: '' });
});

describe('a registration says what is wrong with its options', () => {
  const handler = (): void => undefined;
  const zod3 = { _def: {}, parse: handler };

  test.each<[string, any, RegExp]>([
    ['no schema', { body: { quantity: 'number' } }, /^post\("\/orders\/:id", …\): body must be a schema with "~standard".*got an object without it: \{ quantity \}; write such as z\.object/],
    ['a schema without ~standard', { query: zod3 }, /query must be a schema with "~standard".*got an object without it: \{ _def, parse \}/],
    ['true for a schema', { params: true }, /params must be a schema with "~standard".*got true/],
    ['an unknown option', { limit: 5 }, /^post\("\/orders\/:id", …\): unknown option "limit"; the options are /],
    ['a misspelt one', { boddy: Body }, /unknown option "boddy"; did you mean "body"\?/],
    ['options of Fastify', { schema: { body: Body } }, /unknown option "schema": options of a route are not Fastify's; write schemas as \{ body, query/],
    ['a schema for options', v.object({ id: v.string() }), /got a schema where options are expected; write \{ body: schema \}/],
    ['a schema for all responses', { response: Body }, /response must be schemas by status, got one schema; write \{ 200: schema \}/],
    ['no status', { response: { ok: Body } }, /response must be schemas by status, such as \{ 200: schema \}, got the status "ok"/],
    ['no schema of a response', { response: { 200: {} } }, /response\[200\] must be a schema/],
    ['a status that is none', { errorStatus: 500 }, /errorStatus must be a status from 400 to 499, got 500/],
    ['a limit that is none', { bodyLimit: 'much' }, /bodyLimit must be a number of bytes or text such as '100kb' or '1mb', got "much"/],
    ['a time that is none', { timeout: '5s' }, /timeout must be an integer of milliseconds/],
    ['tags that are none', { tags: 'orders' }, /tags must be an array of strings, got "orders"/],
    ['parameters that the path lacks', { params: z.object({ id: z.string(), shop: z.string() }) }, /^route "\/orders\/:id": params has a schema for "shop", which the path lacks; write :shop in the path$/],
  ])('%s', (_, options, words) => {
    for (const on of [createServer(), express()]) {
      expect(() => on.post('/orders/:id', options, handler)).toThrow(TypeError);
      expect(() => on.post('/orders/:id', options, handler)).toThrow(words);
    }
  });

  test.each<[string, (on: any) => unknown, RegExp]>([
    ['a body on GET', (on) => on.get('/a', { body: Body }, handler), /^route "\/a": a GET request has no body; write a schema for query, or register the route by post$/],
    ['a body on HEAD', (on) => on.route('/a').head({ body: Body }, handler), /a HEAD request has no body/],
    ['a body on GET by validate', (on) => on.get('/a', validate({ body: Body }), handler), /a GET request has no body/],
    ['two bodies', (on) => on.post('/a', { body: Body }, validate({ body: Body }), handler), /^route "\/a": 2 handlers have a schema for body; write one of them$/],
    ['parameters of a path without any', (on) => on.get('/a', { params: v.object({ id: v.string() }) }, handler), /^route "\/a": params has a schema, but the path has no parameter; write one, such as :id$/],
    ['a schema for a handler', (on) => on.get('/a', Object.assign(() => undefined, { '~standard': {} })), /got a function, which is a schema: write \{ body: schema \} before the handlers/],
    ['options behind a handler', (on) => on.post('/a', handler, { body: Body }), /got an object: options of a route are one object before its handlers/],
    ['options alone', (on) => on.post('/a', { body: Body }), /got an object: options of a route are one object before its handlers/],
    ['options of a route for validate', () => validate({ bodyLimit: 5 } as never), /^validate\(…\): unknown option "bodyLimit", which is one of a route: write app\.post\(path, \{ bodyLimit: … \}, handler\)$/],
    ['a schema for validate', () => validate(Body as never), /^validate\(…\): got a schema where options are expected/],
    ['nothing for validate', () => validate(undefined as never), /^validate\(…\): the first argument must be an object such as \{ body: schema \}, got undefined$/],
    ['false for a body of validate', () => validate({ body: false } as never), /body must be a schema/],
  ])('%s', (_, register, words) => {
    expect(() => register(createServer())).toThrow(TypeError);
    expect(() => register(createServer())).toThrow(words);
  });

  test('of parameters that no mount of a router has, at start', async () => {
    const logger = new LogRecorder();
    const router = Router();
    router.get('/items/:id', { params: z.object({ shop: z.string(), id: z.string() }) }, handler);
    router.get('/lost/:id', { params: z.object({ shp: z.string() }) }, handler);
    const app = createServer({ logging: { logger } });
    app.use('/:shop', router);
    await running.start(app);
    expect(logger.messages('warn')).toEqual(['The route GET /:shop/lost/:id: params has a schema for "shp", which the path lacks; write :shp in the path']);
  });
});

test('the options of a route type its handlers in waypost/express too, and other handlers stay as Express types them', async () => {
  const app = wayExpress({ env: 'test', logging: { level: 'silent' } });
  const count = z.object({ n: z.coerce.number() });
  app.use(wayExpress.json());
  app.post('/a/:n/:text', { params: count, bodyLimit: '1mb', response: { 200: z.object({ sum: z.number() }) } }, (req, res) => {
    const { n, text } = req.params;
    res.json({ sum: n + text.length });
  });
  app.post('/b/:text', { body: count, query: count }, (req, res) => void res.json(req.body.n + req.query.n + req.params.text.length));
  app.use('/b', (_req, _res, next) => next(), (_req, res) => void res.json(1));
  app.use('/c', wayExpress.Router().put('/', { body: count }, (_req, _res, next) => next(), (req, res) => void res.json(req.body.n)));
  app.get('/d/:text', (_req, _res, next) => next(), (req, res) => void res.json(req.params.text.length));
  // @ts-expect-error -- the schema has no such member
  app.post('/e', { body: count }, (req, res) => void res.json(req.body.m));
  // @ts-expect-error -- the schema has another answer
  app.post('/f', { response: { 200: z.object({ sum: z.number() }) } }, (_req, res) => void res.json({ sum: 'one' }));
  const port = await running.start(app as never);
  const bodies = [ask(port, '/a/7/abc', { body: {} }), ask(port, '/b/abc?n=2', { body: { n: '4' } }), ask(port, '/c', { method: 'PUT', body: { n: 1 } }), ask(port, '/d/abc')].map(async (answer) => (await answer).body as unknown);
  expect(await Promise.all(bodies)).toEqual([{ sum: 10 }, 9, 1, 3]);
});
