import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import history from 'connect-history-api-fallback';
import type { Express } from 'express';
import favicon from 'serve-favicon';
import serveStatic from 'serve-static';
import sirv from 'sirv';
import { answerErrors, ExpressOracle } from '../support/express-oracle';

const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
let oracle: ExpressOracle;

function program(app: Express): void {
  app.use(favicon(Buffer.from('an icon')));
  app.use('/assets', serveStatic(join(folder, 'public'), { maxAge: '1h', immutable: true, setHeaders: (res, path) => void res.setHeader('X-File', path.slice(folder.length)) }));
  app.use('/strict', serveStatic(join(folder, 'public'), { fallthrough: false, redirect: false, index: false }));
  app.use('/sirv', sirv(join(folder, 'public'), { etag: true }));
  app.get('/assets/made.txt', (_req, res) => void res.send('made by a route'));
  app.get('/api/:id', (req, res) => void res.json([req.params.id, req.url]));
  app.use(history({ index: '/index.html' }));
  app.use(serveStatic(join(folder, 'public')));
  app.use((_req, res) => void res.status(404).send('none'));
  app.use(answerErrors);
}

beforeAll(async () => {
  mkdirSync(join(folder, 'public/docs'), { recursive: true });
  const files = { 'index.html': '<p>home</p>', 'a b.txt': 'spaced', 'long.txt': '0123456789'.repeat(100), 'docs/index.html': '<p>docs</p>', '.secret': 'x' };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, 'public', name), text);
    utimesSync(join(folder, 'public', name), 1_700_000_000, 1_700_000_000);
  }
  writeFileSync(join(folder, 'outside.txt'), 'outside');
  oracle = await ExpressOracle.start(program);
});

afterAll(async () => {
  await oracle.close();
  rmSync(folder, { recursive: true });
});

describe('serve-static', () => {
  test('serves files with their type, age, tag and length', async () => {
    expect(await oracle.ask('/assets/long.txt')).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'text/plain; charset=utf-8', 'cache-control': 'public, max-age=3600, immutable', 'last-modified': 'Tue, 14 Nov 2023 22:13:20 GMT',
        etag: expect.stringMatching(/^W\/"3e8-/), 'content-length': '1000', 'accept-ranges': 'bytes', 'x-file': '/public/long.txt',
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
});

describe('serve-favicon', () => {
  test('answers for its path, and refuses other methods', async () => {
    expect(await oracle.ask('/favicon.ico')).toMatchObject({ status: 200, headers: { 'content-type': 'image/x-icon', 'cache-control': 'public, max-age=31536000' }, body: 'an icon' });
    expect(await oracle.ask('/favicon.ico', { method: 'POST' })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, OPTIONS' } });
  });
});

describe('sirv', () => {
  test('serves what is under its mount, with ranges and conditions', async () => {
    const { headers, body } = await oracle.ask('/sirv/docs/');
    expect(body).toBe('<p>docs</p>');
    expect((await oracle.ask('/sirv/docs/', { headers: { 'if-none-match': String(headers['etag']) } })).status).toBe(304);
    expect(await oracle.ask('/sirv/long.txt', { headers: { range: 'bytes=0-1' } })).toMatchObject({ status: 206, body: '01' });
  });
});

describe('connect-history-api-fallback', () => {
  const HTML = { headers: { accept: 'text/html' } };

  test('turns what a browser navigates to into the index', async () => {
    expect(await oracle.ask('/some/deep/page', HTML)).toMatchObject({ status: 200, body: '<p>home</p>' });
  });

  test('leaves routes, files and what is no page alone', async () => {
    expect((await oracle.ask('/api/7', HTML)).body).toBe('["7","/api/7"]');
    expect((await oracle.ask('/long.txt', HTML)).headers['content-length']).toBe('1000');
    expect((await oracle.ask('/some/deep/page', { headers: { accept: 'application/json' } })).status).toBe(404);
  });
});
