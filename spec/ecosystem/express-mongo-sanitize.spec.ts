import bodyParser from 'body-parser';
import express, { type Express } from 'express';
import mongoSanitize from 'express-mongo-sanitize';
import { createServer } from 'waypost';
import { answerErrors } from '../support/express-oracle';
import { Running } from '../support/running';
import { ask, post } from '../support/wire';

const running = new Running();
let port: number;

function program(app: Express): void {
  app.use(bodyParser.json(), mongoSanitize({ replaceWith: '_' }));
  app.all('/', (req, res) => void res.json({ query: req.query, body: req.body }));
  app.use(answerErrors);
}

beforeAll(async () => {
  const app = createServer({ logging: { level: 'silent' } });
  program(app as unknown as Express);
  port = await running.start(app);
});

afterAll(() => running.close());

test('cleans query and body of operators', async () => {
  expect((await ask(port, '/?%24where=1&a.b=2&c=3')).json).toEqual({ query: { _where: '1', a_b: '2', c: '3' } });
  expect((await post(port, '/', '{"name":{"$gt":""}}')).json).toMatchObject({ body: { name: { _gt: '' } } });
});

test('on Express 5 fails, as it assigns to the query', async () => {
  const app = express().set('env', 'test');
  program(app);
  const answer = await ask(await running.serve(app), '/?%24where=1');
  expect([answer.status, answer.json]).toEqual([500, { failed: expect.stringContaining('Cannot set property query') as unknown }]);
});
