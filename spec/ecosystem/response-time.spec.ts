import type { Express } from 'express';
import responseTime from 'response-time';
import { ExpressOracle, type Side } from '../support/express-oracle';

let oracle: ExpressOracle;

beforeEach(async () => {
  oracle = await ExpressOracle.start(program, {}, [[/^[\d.]+ms$/, '…ms']]);
});

afterEach(() => oracle.close());

function program(app: Express, side: Side): void {
  app.use(responseTime());
  app.use(responseTime((_req, res, time) => {
    side.note([res.statusCode, typeof time, res.getHeader('X-Late')]);
    res.setHeader('X-Added', 'as the head goes out');
  }));
  app.get('/fast', (_req, res) => void res.set('X-Late', '1').json({ a: 1 }));
  app.get('/head', (_req, res) => void res.writeHead(201, { 'X-Late': '2' }).end('made'));
  app.get('/raw', (_req, res) => void res.writeHead(200, ['X-Late', '3', 'Content-Type', 'text/plain']).end('raw'));
}

test.each([['/fast', 200, '1'], ['/head', 201, '2'], ['/raw', 200, '3']])('adds its header to %s as the head goes out', async (path, status, late) => {
  expect(await oracle.ask(path)).toMatchObject({ status, headers: { 'x-response-time': '…ms', 'x-added': 'as the head goes out', 'x-late': late } });
  expect(await oracle.notes(1)).toEqual([[status, 'number', late]]);
});
