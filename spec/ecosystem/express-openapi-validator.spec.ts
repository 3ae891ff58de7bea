import bodyParser from 'body-parser';
import type { Express, Router as ExpressRouter } from 'express';
import express from 'express';
import * as OpenApiValidator from 'express-openapi-validator';
import { Router } from 'waypost';
import { ExpressOracle, type Side } from '../support/express-oracle';
import { MULTIPART, multipart } from '../support/multipart';

const NOTE = {
  type: 'object', required: ['text'], additionalProperties: false,
  properties: { text: { type: 'string', maxLength: 10 }, stars: { type: 'integer', default: 1 }, due: { type: 'string', format: 'date' } },
} as const;

const JSON_OF = (schema: object) => ({ content: { 'application/json': { schema } } });

const API = {
  openapi: '3.0.3',
  info: { title: 'Notes', version: '1' },
  servers: [{ url: '/v1' }],
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
  paths: {
    '/notes': {
      get: {
        parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1 } }],
        responses: { 200: { description: 'all', ...JSON_OF({ type: 'array', items: NOTE }) } },
      },
      post: { requestBody: { required: true, ...JSON_OF(NOTE) }, responses: { 201: { description: 'made', ...JSON_OF(NOTE) } } },
    },
    '/notes/{id}': { get: { parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }], responses: { 200: { description: 'one', ...JSON_OF({ type: 'object' }) } } } },
    '/own/{id}': { get: { parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }], responses: { 200: { description: 'one', ...JSON_OF({ type: 'object' }) } } } },
    '/secret': { get: { security: [{ key: [] }], responses: { 200: { description: 'told', ...JSON_OF({ type: 'string' }) } } } },
    '/wrong': { get: { responses: { 200: { description: 'not as said', ...JSON_OF({ type: 'object', required: ['a'], properties: { a: { type: 'string' } } }) } } } },
    '/files': {
      post: {
        requestBody: { content: { 'multipart/form-data': { schema: { type: 'object', required: ['file'], properties: { title: { type: 'string' }, file: { type: 'string', format: 'binary' } } } } } },
        responses: { 200: { description: 'taken', ...JSON_OF({ type: 'array', items: {} }) } },
      },
    },
  },
};

let oracle: ExpressOracle;

function program(app: Express, side: Side): void {
  app.use(bodyParser.json());
  app.use(OpenApiValidator.middleware({
    apiSpec: structuredClone(API) as never,
    validateRequests: true,
    validateResponses: true,
    validateSecurity: { handlers: { key: (req) => req.headers['x-key'] === 'right' } },
    ignorePaths: /\/free$/,
  }));
  const router = side.name === 'express' ? express.Router() : (Router() as unknown as ExpressRouter);
  router.get('/notes', (_req, res) => void res.json([{ text: 'all' }]));
  router.post('/notes', (req, res) => void res.status(201).json(req.body));
  router.get('/notes/:id', (req, res) => void res.json({ id: req.params['id'] }));
  router.get('/secret', (_req, res) => void res.json('told'));
  router.get('/wrong', (_req, res) => void res.json({ a: 7 }));
  router.post('/files', (req, res) => void res.json([req.body, (req.files as Express.Multer.File[]).map(({ originalname, size }) => [originalname, size])]));
  router.get('/free', (_req, res) => void res.send('free'));
  app.use('/v1', router);
  app.get('/v1/own/:id', (req, res) => void res.json({ id: req.params['id'] }));
  app.use(((error: { status?: number; message: string; errors?: unknown }, _req, res, _next) => {
    res.status(error.status ?? 500).json({ message: error.message, errors: error.errors });
  }) as express.ErrorRequestHandler);
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program);
});

afterAll(() => oracle.close());

test('makes a number of the first request\'s parameter: the package registers what does so while that is under way', async () => {
  for (let request = 0; request < 2; request++) expect((await oracle.ask('/v1/own/7')).body).toBe('{"id":7}');
});

test('lets through what is as described, with its defaults', async () => {
  expect(await oracle.post('/v1/notes', '{"text":"short"}')).toMatchObject({ status: 201, body: '{"text":"short","stars":1}' });
  expect((await oracle.ask('/v1/notes?limit=3')).body).toBe('[{"text":"all"}]');
  expect((await oracle.ask('/v1/notes/7')).body).toBe('{"id":"7"}');
});

test.each<[string, string, string, number, string]>([
  ['a missing property', 'POST', '/v1/notes {}', 400, "must have required property 'text'"],
  ['a string that is too long', 'POST', '/v1/notes {"text":"far too long to be kept"}', 400, 'must NOT have more than 10 characters'],
  ['an unknown property', 'POST', '/v1/notes {"text":"a","x":1}', 400, 'must NOT have additional properties'],
  ['a wrong format', 'POST', '/v1/notes {"text":"a","due":"soon"}', 400, 'must match format \\"date\\"'],
  ['a query of a wrong type', 'GET', '/v1/notes?limit=none', 400, 'must be integer'],
  ['an unknown query', 'GET', '/v1/notes?other=1', 400, 'Unknown query parameter'],
  ['a parameter of a wrong type', 'GET', '/v1/notes/x', 400, 'must be integer'],
  ['an unknown path', 'GET', '/v1/nowhere', 404, 'not found'],
  ['an unknown method', 'DELETE', '/v1/notes', 405, 'DELETE method not allowed'],
  ['a missing key', 'GET', '/v1/secret', 401, "'X-Key' header required"],
  ['an answer that is not as described', 'GET', '/v1/wrong', 500, '/response/a'],
])('refuses %s', async (_what, method, request, expected, message) => {
  const [path = '', body] = request.split(' ', 2).map((part, i) => (i === 0 ? part : request.slice(request.indexOf(' ') + 1)));
  const { status, body: answer } = body === undefined ? await oracle.ask(path, { method }) : await oracle.post(path, body);
  expect([status, answer]).toEqual([expected, expect.stringContaining(message)]);
});

test('refuses other media types', async () => {
  expect((await oracle.post('/v1/notes', 'a=1', 'application/x-www-form-urlencoded')).status).toBe(415);
});

test('asks its own handlers who may', async () => {
  expect(await oracle.ask('/v1/secret', { headers: { 'x-key': 'right' } })).toMatchObject({ status: 200, body: '"told"' });
  expect((await oracle.ask('/v1/secret', { headers: { 'x-key': 'wrong' } })).status).toBe(401);
});

test('takes uploads by its multer', async () => {
  expect(await oracle.post('/v1/files', multipart([['title', 'A'], ['file', 'x'.repeat(5000), 'a.txt', 'text/plain']]), MULTIPART)).toMatchObject({ status: 200, body: expect.stringContaining('"a.txt",5000') });
  expect((await oracle.post('/v1/files', multipart([['title', 'A']]), MULTIPART)).status).toBe(400);
});

test('leaves what it ignores to the routes', async () => {
  expect((await oracle.ask('/v1/free')).body).toBe('free');
});

