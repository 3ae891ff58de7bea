import type { Express } from 'express';
import sirv from 'sirv';
import { ExpressOracle } from '../support/express-oracle';
import { Folder } from '../support/folder';

const folder = new Folder({ 'docs/index.html': '<p>docs</p>', 'digits.txt': '0123456789' });
let oracle: ExpressOracle;

function program(app: Express): void {
  app.use('/sirv', sirv(folder.path, { etag: true }));
  app.get('/sirv/made.txt', (_req, res) => void res.send('made by a route'));
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program);
});

afterAll(async () => {
  await oracle.close();
  folder.close();
});

test('serves what is under its mount, with ranges and conditions', async () => {
  const { headers, body } = await oracle.ask('/sirv/docs/');
  expect(body).toBe('<p>docs</p>');
  expect((await oracle.ask('/sirv/docs/', { headers: { 'if-none-match': String(headers['etag']) } })).status).toBe(304);
  expect(await oracle.ask('/sirv/digits.txt', { headers: { range: 'bytes=0-1' } })).toMatchObject({ status: 206, body: '01' });
  expect((await oracle.ask('/sirv/made.txt')).body).toBe('made by a route');
});
