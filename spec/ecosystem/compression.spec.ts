import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { brotliDecompressSync, createGunzip, gunzipSync } from 'node:zlib';
import compression from 'compression';
import type { Express } from 'express';
import { XJsonResponseHandler } from 'waypost';
import { ExpressOracle } from '../support/express-oracle';
import { Running } from '../support/running';
import { ask } from '../support/wire';

const ROWS = Array.from({ length: 2000 }, (_, id) => ({ id, name: `row ${id}`, price: id / 3 }));
const LONG = 'All work and no play makes a dull page. '.repeat(200);
const GZIP = { headers: { 'accept-encoding': 'gzip' } };
const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
const running = new Running();
let oracle: ExpressOracle;

beforeAll(async () => {
  writeFileSync(join(folder, 'long.txt'), LONG);
  oracle = await ExpressOracle.start((app, side) => register(app, () => side.note('closed')));
});

afterAll(async () => {
  await oracle.close();
  await running.close();
  rmSync(folder, { recursive: true });
});

function register(app: Express, closed: () => void): void {
  app.use(compression({ threshold: 1000 }));
  app.get('/json', (_req, res) => void res.json(ROWS));
  app.get('/short', (_req, res) => void res.json({ a: 1 }));
  app.get('/html', (_req, res) => void res.send(LONG));
  app.get('/bytes', (_req, res) => void res.type('png').send(Buffer.alloc(5000, 7)));
  app.get('/file', (_req, res) => void res.sendFile('long.txt', { root: folder }));
  app.get('/plain', (_req, res) => {
    res.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': Buffer.byteLength(LONG) });
    res.end(LONG);
  });
  app.get('/stream', (_req, res) => {
    res.type('text/plain');
    Readable.from(Array.from({ length: 50 }, (_, i) => `${i} ${LONG}`)).pipe(res);
  });
  app.get('/own', (_req, res) => void res.set('Cache-Control', 'no-transform').send(LONG));
  app.get('/events', (req, res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
    res.write('data: one\n\n');
    res.flush();
    req.on('close', closed);
    finishers.push(() => res.end('data: two\n\n'));
  });
}

/** What ends the event streams that are open. */
const finishers: (() => void)[] = [];

test.each([['/json'], ['/html'], ['/file'], ['/plain'], ['/stream']])('compresses %s, whose length is then not told', async (path) => {
  const whole = await oracle.ask(path);
  expect(whole.headers).not.toHaveProperty('content-encoding');
  const { headers, body } = await oracle.ask(path, GZIP);
  expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
  expect(headers).not.toHaveProperty('content-length');
  expect(headers['content-type']).toBe(whole.headers['content-type']);
  expect(gunzipSync(Buffer.from(body, 'latin1')).toString('latin1')).toBe(whole.body);
});

test('takes Brotli where the client likes it better', async () => {
  const { headers, body } = await oracle.ask('/json', { headers: { 'accept-encoding': 'gzip, br' } });
  expect(headers['content-encoding']).toBe('br');
  expect(JSON.parse(brotliDecompressSync(Buffer.from(body, 'latin1')).toString())).toEqual(ROWS);
});

test.each([
  ['what is short', '/short', { 'content-length': '7' }],
  ['types that are compressed already', '/bytes', { 'content-length': '5000' }],
  ['what must not be transformed', '/own', { 'content-length': String(LONG.length) }],
])('leaves %s as it is', async (_what, path, expected) => {
  const { headers } = await oracle.ask(path, GZIP);
  expect(headers).toMatchObject(expected);
  expect(headers).not.toHaveProperty('content-encoding');
});

test('answers HEAD without a body', async () => {
  expect((await oracle.ask('/json', { method: 'HEAD', ...GZIP })).body).toBe('');
});

test('does not compress what the client has', async () => {
  const { headers } = await oracle.ask('/json', GZIP);
  const etag = String(headers['etag']);
  expect(await oracle.ask('/json', { headers: { 'accept-encoding': 'gzip', 'if-none-match': etag } })).toMatchObject({ status: 304, body: '' });
});

test('sends events at once when they are flushed', async () => {
  const received = await oracle.each(async (port) => {
    const sent = request({ host: '127.0.0.1', port, agent: false, path: '/events', ...GZIP }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const plain = response.pipe(createGunzip());
    const [first] = (await once(plain, 'data')) as [Buffer];
    for (const finish of finishers.splice(0)) finish();
    return [response.headers['content-encoding'], first.toString(), await text(plain)];
  });
  expect(received).toEqual(['gzip', 'data: one\n\n', 'data: two\n\n']);
  expect(await oracle.notes(1)).toEqual(['closed']);
});

describe('xJson', () => {
  const big = { rows: Array.from({ length: 5000 }, (_, id) => ({ id: BigInt(id), name: `row ${id}` })) };

  test.each([['in chunks', true], ['in one write', false]])('is compressed %s', async (_how, enableStreaming) => {
    const port = await running.app((app) => {
      app.use(compression());
      app.get('/', (_req, res) => res.xJson(big, { enableStreaming }));
    });
    const { headers, bytes } = await ask(port, '/', GZIP);
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', 'content-type': 'application/json' });
    expect(headers).not.toHaveProperty('content-length');
    expect(gunzipSync(bytes).toString()).toBe(XJsonResponseHandler.stringify(big));
    const { headers: whole, body } = await ask(port, '/');
    expect(whole['content-length']).toBe(String(Buffer.byteLength(body)));
  });
});
