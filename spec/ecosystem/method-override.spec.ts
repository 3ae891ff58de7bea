import bodyParser from 'body-parser';
import express, { type Express, type Router as ExpressRouter } from 'express';
import methodOverride from 'method-override';
import { Router } from 'waypost';
import { answerErrors, ExpressOracle, type Side } from '../support/express-oracle';

const FORM = 'application/x-www-form-urlencoded';
let oracle: ExpressOracle;

function program(app: Express, side: Side): void {
  app.use(methodOverride('X-HTTP-Method-Override'));
  app.use(methodOverride('_method', { methods: ['POST', 'GET'] }));
  app.use(bodyParser.urlencoded({ extended: false }));
  app.use(methodOverride((req) => (req.body as { _method?: string } | undefined)?._method ?? ''));
  const notes = side.name === 'express' ? express.Router() : (Router() as unknown as ExpressRouter);
  for (const method of ['get', 'post', 'put', 'delete', 'patch'] as const) {
    notes[method]('/:id', (req, res) => void res.json([method, req.method, (req as { originalMethod?: string }).originalMethod, req.params['id'], req.body]));
  }
  app.use('/notes', notes);
  app.use((req, res) => void res.status(404).json(req.method));
  app.use(answerErrors);
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program);
});

afterAll(() => oracle.close());

test('takes the method from a header', async () => {
  for (const method of ['PUT', 'DELETE', 'PATCH']) {
    expect(JSON.parse((await oracle.ask('/notes/7', { method: 'POST', headers: { 'x-http-method-override': method } })).body)).toEqual([method.toLowerCase(), method, 'POST', '7', null]);
  }
});

test('takes it from the query', async () => {
  expect(JSON.parse((await oracle.ask('/notes/7?_method=DELETE', { method: 'POST' })).body).slice(0, 2)).toEqual(['delete', 'DELETE']);
  expect(JSON.parse((await oracle.ask('/notes/7?_method=PUT')).body).slice(0, 2)).toEqual(['put', 'PUT']);
});

test('takes it from a form, whose other fields the route gets', async () => {
  expect(JSON.parse((await oracle.post('/notes/7', '_method=PATCH&text=hi', FORM)).body)).toEqual(['patch', 'PATCH', 'POST', '7', { _method: 'PATCH', text: 'hi' }]);
});

test('leaves GET requests and unknown methods as they were', async () => {
  expect(JSON.parse((await oracle.ask('/notes/7', { headers: { 'x-http-method-override': 'DELETE' } })).body).slice(0, 2)).toEqual(['get', 'GET']);
  expect(JSON.parse((await oracle.ask('/notes/7', { method: 'POST', headers: { 'x-http-method-override': 'NONSENSE' } })).body).slice(0, 2)).toEqual(['post', 'POST']);
});

test('finds nothing where the route has no such method', async () => {
  expect(await oracle.ask('/other', { method: 'POST', headers: { 'x-http-method-override': 'PUT' } })).toMatchObject({ status: 404, body: '"PUT"' });
});
