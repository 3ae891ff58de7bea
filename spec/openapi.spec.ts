import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { type Application, createServer, express, Router, signedFetch, validate } from 'waypost';
import { z } from 'zod';
import { ChildProgram, ROOT } from './support/child-program';
import { LogRecorder, Running } from './support/running';

const running = new Running();

afterEach(() => running.close());

const INFO = { title: 'Orders', version: '1.2.3' };
const SECRET = 'a secret of thirty-two bytes or more';
const Order = z.object({ id: z.number(), quantity: z.number().int(), note: z.string().optional() });
type Node = { name: string; children: Node[] };
const Tree: z.ZodType<Node> = z.object({ name: z.string(), get children() { return z.array(Tree); } });

const handler = (): void => undefined;

/** A program with all that a document has a word for. */
function register(app: Application): void {
  const orders = Router();
  orders.get('/', { query: z.object({ page: z.coerce.number().default(1), word: z.string().optional() }), summary: 'Lists', tags: ['orders'], response: { 200: z.array(Order) } }, handler);
  orders.post('/:id(\\d+)', { params: z.object({ id: z.coerce.number().int() }), headers: z.object({ 'x-tenant': z.string() }), body: Order.omit({ id: true }), response: { 201: Order, 404: z.object({ reason: z.string() }) } }, (req, res) => {
    res.status(201).json({ id: req.params.id, quantity: req.body.quantity });
  });
  orders.get('/:order', { deprecated: true }, handler);
  app.use('/shops/:shop', orders);
  app.get('/files/:name{.:ext}', handler);
  app.get('/v:major.:minor', handler);
  app.put('/tree', { body: Tree, errorStatus: 422, timeout: 500 }, handler);
  app.route('/both').get(handler).delete(validate({ query: z.object({ force: z.stringbool() }) }), handler);
  app.post('/hooks/stripe', handler);
  app.get('/open/health', handler);
}

const SECURITY = {
  requestSignature: { secret: SECRET },
  routeConfig: { requestSignature: { excludeRoutes: ['/open/**'] } },
  webhooks: [{ path: '/hooks/stripe', preset: 'stripe' as const, secret: 'whsec_x' }],
};

const made = (options: Parameters<typeof createServer>[0] = {}): Application => {
  const app = createServer({ logging: false, security: SECURITY, ...options });
  register(app);
  return app;
};

describe('app.openapi', () => {
  const { paths, components, ...rest } = made().openapi({ info: INFO, servers: [{ url: 'https://api.example.com' }] });
  const at = (path: string, method: string): any => paths[path]?.[method];

  test('lists every path, mounts and groups included', () => {
    expect(rest).toEqual({ openapi: '3.1.1', info: INFO, servers: [{ url: 'https://api.example.com' }] });
    expect(Object.fromEntries(Object.entries(paths).map(([path, each]) => [path, Object.keys(each)]))).toEqual({
      '/shops/{shop}': ['get'],
      // One path of two patterns, by the names of the first.
      '/shops/{shop}/{id}': ['post', 'get'],
      '/files/{name}': ['get'], '/files/{name}.{ext}': ['get'], '/v{major}.{minor}': ['get'],
      '/tree': ['put'], '/both': ['get', 'delete'], '/hooks/stripe': ['post'], '/open/health': ['get'],
    });
  });

  test('has parameters of patterns, queries and headers, by their schemas', () => {
    expect(at('/shops/{shop}/{id}', 'post').parameters).toEqual([
      { name: 'shop', in: 'path', required: true, schema: { type: 'string' } },
      { name: 'id', in: 'path', required: true, schema: expect.objectContaining({ type: 'integer' }) },
      { name: 'x-tenant', in: 'header', required: true, schema: { type: 'string' } },
    ]);
    expect(at('/shops/{shop}/{id}', 'get').parameters.map(({ name }: { name: string }) => name)).toEqual(['shop', 'id']);
    expect(at('/shops/{shop}', 'get').parameters).toEqual([
      expect.objectContaining({ name: 'shop' }),
      { name: 'page', in: 'query', required: false, schema: { default: 1, type: 'number' } },
      { name: 'word', in: 'query', required: false, schema: { type: 'string' } },
    ]);
    const app = createServer({ logging: false });
    app.get('/:id(\\d+)', handler);
    expect((app.openapi({ info: INFO }).paths['/{id}']?.['get'] as any).parameters).toEqual([{ name: 'id', in: 'path', required: true, schema: { type: 'string', pattern: '^(?:\\d+)$' } }]);
  });

  test('has the parameters of schemas that name others, refer to themselves, or join two', () => {
    const logger = new LogRecorder();
    const app = createServer({ logging: { logger } });
    const Sort = z.enum(['up', 'down']).meta({ id: 'Sort' });
    const page = z.object({ page: z.coerce.number().default(1) });
    const parameters = (path: string): any => (paths[path]?.['get'] as any).parameters.map(({ name, required }: any) => [name, required]);
    app.get('/named/:order', { params: z.object({ order: Sort }), query: z.object({ sort: Sort, word: z.string().optional() }), headers: z.object({ 'x-sort': Sort }) }, handler);
    app.get('/itself', { query: Tree as never }, handler);
    app.get('/both', { query: page.and(z.object({ sort: Sort })) }, handler);
    app.get('/either', { query: z.union([page, z.object({ all: z.string() })]) }, handler);
    const { paths } = app.openapi({ info: INFO });
    expect(parameters('/named/{order}')).toEqual([['order', true], ['sort', true], ['word', false], ['x-sort', true]]);
    expect(parameters('/itself')).toEqual([['name', true], ['children', true]]);
    expect(parameters('/both')).toEqual([['page', false], ['sort', true]]);
    expect(parameters('/either')).toEqual([]);
    expect(logger.messages('warn')).toEqual(['The schema for query of GET /either has no named fields: the OpenAPI document leaves them out']);
  });

  test('has schemas whose references it does not know as their libraries write them', () => {
    const app = createServer({ logging: false });
    const written: Record<string, unknown>[] = [{ $ref: '#' }, { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }, { $ref: 'T0', $id: 'T0' }, { type: 'object', properties: { a: { type: 'string' }, b: { $ref: '#/properties/a' } } }, { $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'object', properties: { c: { type: 'string' } } } } }];
    written.forEach((_schema, index) => app.post(`/${index}`, { body: v.any(), query: v.pipe(v.any(), v.metadata({ index })) }, handler));
    let at = 0;
    const { paths } = app.openapi({ info: INFO, toJsonSchema: () => written[Math.floor(at++ / 2)] as never });
    expect(Object.values(paths).map(({ post }) => (post as any).parameters.map(({ name }: { name: string }) => name))).toEqual([[], [], [], ['a', 'b'], ['c']]);
  });

  test('names a parameter of a mount path anew where the route has one of its name', async () => {
    const inner = Router().get('/orders/:id', { params: z.object({ id: z.coerce.number() }) }, (req, res) => res.json(req.params));
    const register = (app: Application): unknown => app.use('/shops/:id', inner);
    const app = createServer({ logging: false });
    register(app);
    const { paths } = app.openapi({ info: INFO });
    expect(Object.keys(paths)).toEqual(['/shops/{id_0}/orders/{id}']);
    const twice = createServer({ logging: false });
    twice.use('/:id', Router().get('/:id_0/:id', handler));
    expect(Object.keys(twice.openapi({ info: INFO }).paths)).toEqual(['/{id_1}/{id_0}/{id}']);
    expect((Object.values(paths)[0]?.['get'] as any).parameters.map(({ name, schema }: any) => [name, schema.type])).toEqual([['id_0', 'string'], ['id', 'number']]);
    const port = await running.app((served) => void register(served));
    expect(await (await fetch(`http://127.0.0.1:${port}/shops/1/orders/2`)).json()).toEqual({ id: 2 });
  });

  test('requires a body where the route does', async () => {
    const bodies: [name: string, body: z.ZodType, isRequired: boolean][] = [
      ['object', z.object({ a: z.string() }), true], ['optional', z.object({ a: z.string() }).optional(), false], ['default', z.object({ a: z.string() }).default({ a: 'b' }), false],
      ['throws', z.any().transform((given: string) => given.trim()), true], ['rejects', z.any().refine((given: string) => Promise.resolve(given.trim())), true],
    ];
    const register = (app: Application): unknown => bodies.map(([name, body]) => app.post(`/${name}`, { body }, (_req, res) => res.send('taken')));
    const app = createServer({ logging: false });
    register(app);
    const { paths } = app.openapi({ info: INFO });
    expect(bodies.map(([name]) => [name, (paths[`/${name}`]?.['post'] as any).requestBody.required])).toEqual(bodies.map(([name, , isRequired]) => [name, isRequired]));
    const port = await running.app((served) => void register(served), { logging: { level: 'silent' } });
    for (const [name, , isRequired] of bodies) expect([name, (await fetch(`http://127.0.0.1:${port}/${name}`, { method: 'POST' })).status === 200]).toEqual([name, !isRequired]);
  });

  test('has bodies as they are sent, responses as they are received, and what else was said', () => {
    const { requestBody, responses } = at('/shops/{shop}/{id}', 'post');
    expect(requestBody).toEqual({ required: true, content: { 'application/json': { schema: expect.objectContaining({ required: ['quantity'] }) } } });
    expect(responses[201].content['application/json'].schema.required).toEqual(['id', 'quantity']);
    expect(at('/shops/{shop}', 'get')).toMatchObject({ summary: 'Lists', tags: ['orders'] });
    expect(at('/shops/{shop}/{id}', 'get')).toMatchObject({ deprecated: true, responses: { default: {} } });
    const { schema } = at('/tree', 'put').requestBody.content['application/json'];
    expect(schema).toEqual({ $ref: '#/components/schemas/Schema1' });
    expect(components.schemas['Schema1']).toMatchObject({ properties: { children: { items: { $ref: expect.stringMatching(/^#\/components\/schemas\/Schema1/) } } } });
  });

  test('has the error answers that a route really gives', () => {
    const statuses = (path: string, method: string): string[] => Object.keys(at(path, method).responses);
    expect(statuses('/shops/{shop}/{id}', 'post')).toEqual(['201', '400', '401', '404', '413', '415']);
    expect(statuses('/shops/{shop}', 'get')).toEqual(['200', '400', '401']);
    expect(statuses('/tree', 'put')).toEqual(['400', '401', '413', '415', '422', '503', 'default']);
    expect(statuses('/both', 'get')).toEqual(['401', 'default']);
    expect(statuses('/open/health', 'get')).toEqual(['default']);
    expect(at('/tree', 'put').responses[422].content).toEqual({ 'application/json': { schema: { $ref: '#/components/schemas/ValidationError' } } });
    const problem = made({ errors: 'problem' }).openapi({ info: INFO });
    expect((problem.paths['/tree']?.['put'] as any).responses[400].content).toEqual({ 'application/problem+json': { schema: { $ref: '#/components/schemas/Error' } } });
  });

  test('has signatures and webhooks as security schemes, where requests need them', () => {
    expect(components.securitySchemes).toEqual({
      requestSignature: expect.objectContaining({ type: 'apiKey', in: 'header', name: 'Svc-Request-Sig' }),
      requestTimestamp: expect.objectContaining({ type: 'apiKey', in: 'header', name: 'X-Timestamp' }),
      stripeWebhook: expect.objectContaining({ type: 'apiKey', in: 'header', name: 'Stripe-Signature' }),
    });
    expect(at('/tree', 'put').security).toEqual([{ requestSignature: [], requestTimestamp: [] }]);
    expect(at('/hooks/stripe', 'post').security).toEqual([{ stripeWebhook: [] }]);
    expect(at('/open/health', 'get').security).toBeUndefined();
    const other = createServer({ logging: false, security: { requestSignature: { secret: () => SECRET } } }).get('/', handler).openapi({ info: INFO });
    expect(other.paths['/']?.['get']?.['security']).toEqual([{ requestSignature: [], requestTimestamp: [], requestKeyId: [] }]);
    const second = createServer({ logging: false, security: { requestSignature: { secret: SECRET, version: 2 } } }).get('/', handler).openapi({ info: INFO });
    expect(second.paths['/']?.['get']?.['security']).toEqual([{ signature: [], signatureInput: [] }]);
  });

  test.each([['accept', [{ signature: [], signatureInput: [] }, {}]], ['refuse', [{ signature: [], signatureInput: [] }]]] as const)('has visitors of webBotAuth as its option has them: %s', (unsigned, security) => {
    const requestSignature = { version: 2, webBotAuth: { agents: ['https://agent.example'], unsigned } } as const;
    const document = createServer({ logging: false, security: { requestSignature } }).get('/', handler).openapi({ info: INFO });
    expect(document.paths['/']?.['get']?.['security']).toEqual(security);
    expect(Object.keys(document.paths['/']?.['get']?.['responses'] as object)).toEqual(['401', 'default']);
    expect(document.components.securitySchemes['signature']).toMatchObject({ description: expect.stringMatching(/by a private key$/) });
  });

  test('asks the scope of signatures about routes, whatever expression their parameters have', () => {
    const signed = (includeRoutes: string[], excludeRoutes: string[], paths: string[]): boolean[] => {
      const app = createServer({ logging: false, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes, excludeRoutes } } } });
      for (const path of paths) app.get(path, handler);
      return Object.values(app.openapi({ info: INFO }).paths).map((each) => each['get']?.['security'] !== undefined);
    };
    const includes = ['/a/:name([a-z]+)', '/b/**', '/c/2', '/e'];
    expect(signed(includes, ['/b/:name([a-z]+)'], ['/a/:id([a-z]+)', '/b/:id([a-z]+)', '/c/:id', '/d/:id([a-z]+)', '/c/:id(\\d+)/x', '/:any'])).toEqual([true, false, true, false, false, true]);
    expect(signed([], ['/c/1', '/d/**'], ['/c/:id', '/c/1', '/d/:id'])).toEqual([true, false, false]);
  });

  test('names components by what OpenAPI allows in names', () => {
    const body = z.object({ a: z.string().meta({ id: 'Order item' }), b: z.string().meta({ id: 'Größe' }), c: z.string().meta({ id: 'a~b' }) });
    const { paths, components: { schemas } } = createServer({ logging: false }).post('/', { body }, handler).openapi({ info: INFO });
    expect(Object.keys(schemas).filter((name) => !/^[a-zA-Z0-9._-]+$/.test(name))).toEqual([]);
    const { properties } = schemas['Schema1'] as { properties: Record<string, { $ref: string }> };
    for (const { $ref } of Object.values(properties)) expect(schemas[$ref.slice('#/components/schemas/'.length)]).toMatchObject({ type: 'string' });
    expect(Object.keys(paths)).toEqual(['/']);
    const definitions = { 'Page<Item>': { const: 1 }, 'a b': { const: 2 }, 'a_b': { const: 3 }, '100%': { const: 4 }, 'a/b': { const: 5 } };
    const written = { $ref: '#/definitions/a_b', anyOf: ['Page%3CItem%3E', 'a b', 'a_b', '100%', 'a~1b'].map((part) => ({ $ref: `#/definitions/${part}` })), definitions };
    const made = createServer({ logging: false }).post('/', { body: v.any() }, handler).openapi({ info: INFO, toJsonSchema: () => written as never }).components.schemas;
    expect((made['Schema1'] as unknown as typeof written).anyOf.map(({ $ref }) => made[$ref.slice('#/components/schemas/'.length)])).toEqual([1, 2, 3, 4, 5].map((value) => ({ const: value })));
    expect(Object.keys(made).filter((name) => !/^[a-zA-Z0-9._-]+$/.test(name))).toEqual([]);
  });

  test('names Content-Digest where a body is sent and a signature of version 2 covers it', () => {
    const digested = (settings: object, outer = false): string[] => {
      const security = { requestSignature: { secret: SECRET, ...settings } };
      const app = createServer({ logging: false, ...(!outer && { security }) });
      app.post('/', { body: Order }, handler).get('/', handler).post('/bare', handler);
      const around = createServer({ logging: false, security }).use('/', app);
      const { paths } = (outer ? around : app).openapi({ info: INFO });
      return Object.entries(paths).flatMap(([path, each]) => Object.entries(each).flatMap(([method, { parameters }]) => (parameters as { name: string }[]).map(({ name }) => `${method} ${path} ${name}`)));
    };
    expect(digested({ version: 2 })).toEqual(['post / Content-Digest']);
    expect(digested({ version: 2 }, true)).toEqual(['post / Content-Digest']);
    expect(digested({ version: 2, includeBody: false })).toEqual([]);
    expect(digested({})).toEqual([]);
  });

  test('names forms and text where they fit the schema of the body, and those alone', async () => {
    const form = z.object({ name: z.string(), note: z.string().optional() });
    const named = z.object({ name: z.string().meta({ id: 'Name' }) });
    const bodies = { form, named, text: z.string(), numbers: Order, list: z.array(z.string()), none: z.object({}) };
    const fill = (app: Application): Application => {
      for (const [name, body] of Object.entries(bodies)) app.post(`/${name}`, { body: body as z.ZodType }, (req, res) => void res.json(req.body));
      return app;
    };
    const typesOf = (app: Application): Record<string, string[]> => {
      const { paths } = app.openapi({ info: INFO });
      return Object.fromEntries(Object.entries(paths).map(([path, { post }]) => [path.slice(1), Object.keys((post as any).requestBody.content)]));
    };
    const types = typesOf(fill(createServer({ logging: false })));
    const json = ['application/json'];
    expect(types).toEqual({ form: [...json, 'application/x-www-form-urlencoded'], named: [...json, 'application/x-www-form-urlencoded'], text: [...json, 'text/plain'], numbers: json, list: json, none: json });
    expect(new Set(Object.values(typesOf(fill(express({ logging: false })))).flat())).toEqual(new Set(json));
    // What the document says is what a server takes.
    const port = await running.app(fill, { logging: false });
    const sent: Record<string, string> = { 'application/json': '"a"', 'text/plain': 'a', 'application/x-www-form-urlencoded': 'name=a&id=1&quantity=2' };
    for (const [name, said] of Object.entries(types)) {
      for (const type of Object.keys(sent).filter((each) => each !== 'application/json' && name !== 'none')) {
        const { status } = await fetch(`http://127.0.0.1:${port}/${name}`, { method: 'POST', headers: { 'Content-Type': type }, body: sent[type] as string });
        expect([name, type, status]).toEqual([name, type, said.includes(type) ? 200 : 400]);
      }
    }
  });

  test('has mounted applications, with the signatures of those around', () => {
    const inner = createServer({ logging: false });
    inner.get('/:id', { params: z.object({ id: z.coerce.number() }) }, handler);
    const outer = createServer({ logging: false, security: { requestSignature: { secret: SECRET } } });
    outer.use('/inner', inner);
    const document = outer.openapi({ info: INFO });
    expect(document.paths['/inner/{id}']?.['get']).toMatchObject({ parameters: [{ name: 'id', schema: { type: 'number' } }], security: [{ requestSignature: [], requestTimestamp: [] }] });
    expect(inner.openapi({ info: INFO }).paths['/{id}']?.['get']?.['security']).toBeUndefined();
  });

  test('leaves out what it has no word for, and warns', () => {
    const logger = new LogRecorder();
    const app = createServer({ logging: { logger } });
    app.get('/files/**', handler);
    app.get(/^\/a/, handler);
    app.query('/search', handler);
    app.post('/late', { body: v.object({ n: v.number() }), response: { 200: z.object({ n: z.bigint() }) } }, handler);
    app.all('/any', handler);
    const { paths } = app.openapi({ info: INFO });
    expect(Object.keys(paths)).toEqual(['/late', '/any']);
    expect(Object.keys(paths['/any'] ?? {})).toEqual(['get', 'put', 'post', 'delete', 'patch']);
    expect(logger.messages('warn')).toEqual([
      'The route GET /files/** is left out of the OpenAPI document, which has no word for such a path',
      'The route GET /^\\/a/ is left out of the OpenAPI document, which has no word for such a path',
      'The route QUERY /search is left out of the OpenAPI document, which has no word for its method',
      expect.stringMatching(/^The schema for the response of status 200 of POST \/late: its library can't write it as JSON Schema: /),
      'The schema for body of POST /late: its library has no Standard JSON Schema; give openapi() a function toJsonSchema',
    ]);
  });

  test('takes a function for libraries without Standard JSON Schema', () => {
    const app = createServer({ logging: false });
    app.post('/', { body: v.object({ n: v.number() }) }, handler);
    const { paths } = app.openapi({ info: INFO, toJsonSchema: (schema, direction) => toJsonSchema(schema as never, { typeMode: direction }) as never });
    expect((paths['/']?.['post'] as any).requestBody.content['application/json'].schema).toEqual({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] });
  });

  test('knows the patterns of Express too', () => {
    const app = express({ logging: false });
    app.get('/files/:name{.:ext}', handler);
    app.get('/all/*path', handler);
    expect(Object.keys(app.openapi({ info: INFO }).paths)).toEqual(['/files/{name}.{ext}', '/files/{name}']);
  });

  test.each([undefined, {}, { info: { title: 'x' } }])('refuses %j for its options', (given) => {
    expect(() => createServer({ logging: false }).openapi(given as never)).toThrow('openapi() needs { info: { title, version } }, both strings');
  });
});

describe('the document', () => {
  test('is valid, and types a client that calls the server with signatures', async () => {
    const port = await running.start(made());
    const document = JSON.stringify(made().openapi({ info: INFO }));
    const folder = mkdtempSync(join(ROOT, 'spec/.openapi-'));
    try {
      writeFileSync(join(folder, 'document.json'), document);
      const program = `
        import { readFileSync, writeFileSync } from 'node:fs';
        import { Validator } from '@seriousme/openapi-schema-validator';
        import openapiTS, { astToString } from 'openapi-typescript';
        import ts from 'typescript';
        const folder = ${JSON.stringify(folder)};
        const document = JSON.parse(readFileSync(folder + '/document.json', 'utf8'));
        const { valid, errors } = await new Validator().validate(structuredClone(document));
        writeFileSync(folder + '/paths.ts', astToString(await openapiTS(document)));
        const compile = (text) => {
          writeFileSync(folder + '/client.ts', text);
          const options = { strict: true, noEmit: true, skipLibCheck: true, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, target: ts.ScriptTarget.ES2022, types: [] };
          return ts.getPreEmitDiagnostics(ts.createProgram([folder + '/client.ts'], options)).map((each) => ts.flattenDiagnosticMessageText(each.messageText, ' '));
        };
        const client = (quantity) => \`
          import createClient from 'openapi-fetch';
          import type { paths } from './paths.js';
          const client = createClient<paths>({ baseUrl: 'http://127.0.0.1' });
          const { data } = await client.POST('/shops/{shop}/{id}', { params: { path: { shop: 'a', id: 7 }, header: { 'x-tenant': 't' } }, body: { quantity: \${quantity} } });
          export const id: number | undefined = data?.id;
        \`;
        writeFileSync(folder + '/package.json', '{"type":"module"}');
        console.log(JSON.stringify({ valid, errors, right: compile(client('2')), wrong: compile(client('"2"')).length }));`;
      const { output, errors } = await ChildProgram.run(['--input-type=module', '-e', program]);
      expect({ said: output === '' ? errors : JSON.parse(output) }).toEqual({ said: { valid: true, right: [], wrong: 1 } });
    } finally {
      rmSync(folder, { recursive: true });
    }
    const { default: createClient } = jest.requireActual<{ default: (options: object) => { POST: unknown } }>('openapi-fetch');
    const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, fetch: signedFetch({ secret: SECRET }) });
    const call = client.POST as unknown as (path: string, init: object) => Promise<{ data?: unknown; error?: unknown; response: Response }>;
    const params = { path: { shop: 'a', id: 7 }, header: { 'x-tenant': 't' } };
    expect(await call('/shops/{shop}/{id}', { params, body: { quantity: 2 } })).toMatchObject({ data: { id: 7, quantity: 2 } });
    expect(await call('/shops/{shop}/{id}', { params, body: { quantity: '2' } })).toMatchObject({ error: { errors: [{ in: 'body', path: ['quantity'] }] } });
  });
});
