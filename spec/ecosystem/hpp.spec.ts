import bodyParser from 'body-parser';
import express, { type Express } from 'express';
import hpp from 'hpp';
import { createServer } from 'waypost';
import { Running } from '../support/running';
import { ask, post } from '../support/wire';

const running = new Running();
let port: number;

function program(app: Express): void {
  app.use(bodyParser.urlencoded({ extended: false }), hpp({ whitelist: ['tag'] }));
  app.all('/', (req, res) => void res.json({ query: req.query, body: req.body, polluted: (req as { queryPolluted?: object }).queryPolluted }));
}

beforeAll(async () => {
  const app = createServer({ logging: { level: 'silent' } });
  program(app as unknown as Express);
  port = await running.start(app);
});

afterAll(() => running.close());

test('takes the last of repeated parameters, of query and form', async () => {
  expect((await ask(port, '/?a=1&a=2&tag=x&tag=y')).json).toEqual({ query: { a: '2', tag: ['x', 'y'] }, body: undefined, polluted: { a: ['1', '2'] } });
  expect((await post(port, '/', 'b=1&b=2', 'application/x-www-form-urlencoded')).json).toMatchObject({ body: { b: '2' } });
});

test('on Express 5 changes no query', async () => {
  const app = express().set('env', 'test');
  program(app);
  expect((await ask(await running.serve(app), '/?a=1&a=2')).json).toMatchObject({ query: { a: ['1', '2'] } });
});
