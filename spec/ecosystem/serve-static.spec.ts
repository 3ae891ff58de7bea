import { join } from 'node:path';
import type { Express } from 'express';
import serveStatic from 'serve-static';
import { answerErrors, ExpressOracle } from '../support/express-oracle';
import { Folder } from '../support/folder';

const folder = new Folder({
  'public/index.html': '<p>home</p>', 'public/a b.txt': 'spaced', 'public/long.txt': '0123456789'.repeat(100), 'public/docs/index.html': '<p>docs</p>', 'public/.secret': 'x', 'outside.txt': 'outside',
});
const root = join(folder.path, 'public');
let oracle: ExpressOracle;

function program(app: Express): void {
  app.use('/assets', serveStatic(root, { maxAge: '1h', immutable: true, setHeaders: (res, path) => void res.setHeader('X-File', path.slice(folder.path.length)) }));
  app.use('/strict', serveStatic(root, { fallthrough: false, redirect: false, index: false }));
  app.get('/assets/made.txt', (_req, res) => void res.send('made by a route'));
  app.use((_req, res) => void res.status(404).send('none'));
  app.use(answerErrors);
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program);
});

afterAll(async () => {
  await oracle.close();
  folder.close();
});

test('serves files with their type, age, tag and length', async () => {
  expect(await oracle.ask('/assets/long.txt')).toMatchObject({
    status: 200,
    headers: {
      'content-type': 'text/plain; charset=utf-8', 'cache-control': 'public, max-age=3600, immutable', 'last-modified': 'Tue, 14 Nov 2023 22:13:20 GMT',
      // The oracle takes the mark of a weak tag away.
      etag: expect.stringMatching(/^"3e8-/), 'content-length': '1000', 'accept-ranges': 'bytes', 'x-file': '/public/long.txt',
    },
  });
  expect((await oracle.ask('/assets/a%20b.txt')).body).toBe('spaced');
  expect((await oracle.ask('/assets/')).body).toBe('<p>home</p>');
  expect(await oracle.ask('/assets/long.txt', { method: 'HEAD' })).toMatchObject({ headers: { 'content-length': '1000' }, body: '' });
});

test('answers ranges and conditions', async () => {
  expect(await oracle.ask('/assets/long.txt', { headers: { range: 'bytes=5-7' } })).toMatchObject({ status: 206, headers: { 'content-range': 'bytes 5-7/1000' }, body: '567' });
  expect((await oracle.ask('/assets/long.txt', { headers: { range: 'bytes=5000-' } })).status).toBe(416);
  const { etag } = (await oracle.ask('/assets/long.txt')).headers;
  expect((await oracle.ask('/assets/long.txt', { headers: { 'if-none-match': String(etag) } })).status).toBe(304);
  expect((await oracle.ask('/assets/long.txt', { headers: { 'if-modified-since': 'Wed, 15 Nov 2023 00:00:00 GMT' } })).status).toBe(304);
});

test('redirects to a directory under its mount', async () => {
  expect(await oracle.ask('/assets/docs?x=1')).toMatchObject({ status: 301, headers: { location: '/assets/docs/?x=1' } });
  expect((await oracle.ask('/assets/docs/')).body).toBe('<p>docs</p>');
  expect((await oracle.ask('/assets')).headers['location']).toBe('/assets/');
});

test('leaves what it has not to routes below it, or refuses it', async () => {
  expect((await oracle.ask('/assets/made.txt')).body).toBe('made by a route');
  expect((await oracle.ask('/assets/none.txt')).status).toBe(404);
  expect(await oracle.ask('/strict/none.txt')).toMatchObject({ status: 404, body: expect.stringContaining('"code":"ENOENT"') });
  expect((await oracle.ask('/strict/docs')).status).toBe(404);
  expect(await oracle.ask('/strict/long.txt', { method: 'POST' })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
});

test.each(['/assets/../outside.txt', '/assets/%2e%2e/outside.txt', '/assets/..%2foutside.txt', '/assets/.secret', '/strict/../outside.txt', '/strict/%2e%2e%2foutside.txt', '/strict/.secret', '/strict/a%00b', '/strict/%E0%A4%A'])('never serves %s', async (path) => {
  const { status, body } = await oracle.ask(path);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(body).not.toMatch(/outside$|^x$/);
});
