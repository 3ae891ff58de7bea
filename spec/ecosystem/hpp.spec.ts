import bodyParser from 'body-parser';
import express, { type Express } from 'express';
import mongoSanitize from 'express-mongo-sanitize';
import hpp from 'hpp';
import { createServer } from 'waypost';
import { answerErrors } from '../support/express-oracle';
import { Running } from '../support/running';
import { ask, post } from '../support/wire';

const FORM = 'application/x-www-form-urlencoded';
const running = new Running();
let port: number;

function program(app: Express): void {
  app.use(bodyParser.urlencoded({ extended: false }), bodyParser.json());
  app.use('/once', hpp({ whitelist: ['tag'] }));
  app.use('/clean', mongoSanitize({ replaceWith: '_' }));
  app.all('/once', (req, res) => void res.json({ query: req.query, body: req.body, polluted: (req as { queryPolluted?: object }).queryPolluted }));
  app.all('/clean', (req, res) => void res.json({ query: req.query, body: req.body }));
  app.use(answerErrors);
}

beforeAll(async () => {
  const app = createServer({ logging: { level: 'silent' } });
  program(app as unknown as Express);
  port = await running.start(app);
});

afterAll(() => running.close());

test('hpp takes the last of repeated parameters, of query and form', async () => {
  expect((await ask(port, '/once?a=1&a=2&tag=x&tag=y')).json).toEqual({ query: { a: '2', tag: ['x', 'y'] }, body: undefined, polluted: { a: ['1', '2'] } });
  expect((await post(port, '/once', 'b=1&b=2', FORM)).json).toMatchObject({ body: { b: '2' } });
});

test('express-mongo-sanitize cleans query and body of operators', async () => {
  expect((await ask(port, '/clean?%24where=1&a.b=2&c=3')).json).toEqual({ query: { _where: '1', a_b: '2', c: '3' } });
  expect((await post(port, '/clean', '{"name":{"$gt":""}}')).json).toMatchObject({ body: { name: { _gt: '' } } });
});

test('on Express 5 the first changes no query, and the second fails', async () => {
  const app = express().set('env', 'test');
  program(app);
  const theirs = await running.serve(app);
  expect((await ask(theirs, '/once?a=1&a=2')).json).toMatchObject({ query: { a: ['1', '2'] } });
  expect((await ask(theirs, '/clean?%24where=1')).status).toBe(500);
});
