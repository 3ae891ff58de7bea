import history from 'connect-history-api-fallback';
import type { Express } from 'express';
import serveStatic from 'serve-static';
import { ExpressOracle } from '../support/express-oracle';
import { Folder } from '../support/folder';

const HTML = { headers: { accept: 'text/html' } };
const folder = new Folder({ 'index.html': '<p>home</p>', 'digits.txt': '0123456789' });
let oracle: ExpressOracle;

function program(app: Express): void {
  app.get('/api/:id', (req, res) => void res.json([req.params.id, req.url]));
  app.use(history({ index: '/index.html' }));
  app.use(serveStatic(folder.path));
  app.use((_req, res) => void res.status(404).send('none'));
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program);
});

afterAll(async () => {
  await oracle.close();
  folder.close();
});

test('turns what a browser navigates to into the index', async () => {
  expect(await oracle.ask('/some/deep/page', HTML)).toMatchObject({ status: 200, body: '<p>home</p>' });
});

test('leaves routes, files and what is no page alone', async () => {
  expect((await oracle.ask('/api/7', HTML)).body).toBe('["7","/api/7"]');
  expect((await oracle.ask('/digits.txt', HTML)).body).toBe('0123456789');
  expect((await oracle.ask('/some/deep/page', { headers: { accept: 'application/json' } })).status).toBe(404);
});
