/**
 * What a user of waypost relies on, tried on a real socket by whatever runtime this is started with:
 * `node checks.mjs`, `bun checks.mjs`, `deno run -A checks.mjs`. Its last line is what came of it, as JSON.
 */
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { createServer, express, HttpError, json, MemoryReplayStore, Router, signedFetch, signRequest, static as files, XJsonResponseHandler } from 'waypost';
import expressByName, { Router as ExpressRouter } from 'waypost/express';

const SECRET = 'a secret for checks, of 32 bytes or more';
/** Longest that one check may take, in milliseconds. */
const LIMIT = 10_000;

const checks = [];
const open = [];

function check(name, run) {
  checks.push({ name, run });
}

async function serve(register, options = {}, make = createServer) {
  const app = make({ env: 'test', logging: { level: 'silent' }, ...options });
  register(app);
  const server = await app.start(0, '127.0.0.1');
  open.push(() => app.close({ timeout: 0 }));
  return { app, server, port: server.address().port };
}

async function ask(port, target, { method = 'GET', headers = {}, body } = {}) {
  const answer = await fetch(`http://127.0.0.1:${port}${target}`, { method, headers, body, redirect: 'manual' });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

function post(port, target, body, headers = { 'content-type': 'application/json' }) {
  return ask(port, target, { method: 'POST', headers, body });
}

/** Sends bytes as they are; returns all that came until the server closed the connection. */
async function raw(port, ...parts) {
  const socket = connect(port, '127.0.0.1');
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  const closed = once(socket, 'close');
  for (const part of parts) {
    if (typeof part === 'function') await part(socket, chunks);
    else socket.write(part);
  }
  await closed;
  return Buffer.concat(chunks).toString('latin1');
}

function get(target, ...fields) {
  return `GET ${target} HTTP/1.1\r\nHost: a\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
}

check('routes have parameters, decoded once', async () => {
  const { port } = await serve((app) => app.get('/users/:id/files/**', (req, res) => res.json(req.params)));
  assert.deepEqual(JSON.parse((await ask(port, '/users/J%C3%BCrgen/files/a/b')).text), { id: 'Jürgen', '**': 'a/b' });
});

check('what no route takes is 404, in JSON', async () => {
  const { port } = await serve(() => undefined);
  const { status, text } = await ask(port, '/nothing');
  assert.deepEqual([status, JSON.parse(text)], [404, { error: 'Not Found', message: 'Cannot GET /nothing' }]);
});

check('malformed percent-encoding in a path is 400', async () => {
  const { port } = await serve((app) => app.get('/:a', (req, res) => res.json(req.params)));
  assert.match(await raw(port, get('/%E0%A4%A', 'Connection: close')), /^HTTP\/1.1 400 /);
});

check('the order of registration is the order of calls', async () => {
  const { port } = await serve((app) => {
    const seen = [];
    app.use((_req, _res, next) => { seen.push(1); next(); });
    app.get('/', (_req, _res, next) => { seen.push(2); next(); });
    app.use((_req, _res, next) => { seen.push(3); next(); });
    app.get('/', (_req, res) => res.json(seen));
  });
  assert.equal((await ask(port, '/')).text, '[1,2,3]');
});

check('routers are mounted, and see their part of the target', async () => {
  const { port } = await serve((app) => {
    const inner = Router();
    inner.use((req, res, next) => { res.locals.seen = [req.baseUrl, req.url]; next(); });
    inner.get('/items/:id', (req, res) => res.json({ ...req.params, seen: res.locals.seen }));
    app.use('/shops/:shop', inner);
  });
  assert.deepEqual(JSON.parse((await ask(port, '/shops/a/items/7?x=1')).text), { shop: 'a', id: '7', seen: ['/shops/a', '/items/7?x=1'] });
});

check('queries are parsed flat', async () => {
  const { port } = await serve((app) => app.get('/', (req, res) => res.json(req.query)));
  assert.deepEqual(JSON.parse((await ask(port, '/?a=1&b=x%20y&b=z')).text), { a: '1', b: ['x y', 'z'] });
});

check('a GET route answers HEAD without a body', async () => {
  const { port } = await serve((app) => app.get('/', (_req, res) => res.json({ a: 1 })));
  const answer = await raw(port, 'HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  assert.match(answer, /^HTTP\/1.1 200 OK\r\n/);
  assert.match(answer, /content-length: 7\r\n/i);
  assert.ok(answer.endsWith('\r\n\r\n'));
});

check('the rejection of an async handler meets the error middleware', async () => {
  const { port } = await serve((app) => {
    app.get('/', async () => { throw new HttpError(418, 'TEAPOT', 'short and stout'); });
    app.use((error, _req, res, _next) => res.status(error.status).json({ code: error.code }));
  });
  const { status, text } = await ask(port, '/');
  assert.deepEqual([status, text], [418, '{"code":"TEAPOT"}']);
});

check('an error of which nobody takes care is 500, without its message', async () => {
  const { port } = await serve((app) => app.get('/', () => { throw new Error('secret'); }), { env: 'production' });
  const { status, text } = await ask(port, '/');
  assert.equal(status, 500);
  assert.ok(!text.includes('secret'));
});

check('JSON bodies are parsed', async () => {
  const { port } = await serve((app) => app.post('/', (req, res) => res.json(req.body)));
  assert.equal((await post(port, '/', '{"a":[1,2]}')).text, '{"a":[1,2]}');
});

check('malformed JSON is 400, and so is a __proto__', async () => {
  const { port } = await serve((app) => app.post('/', (req, res) => res.json(req.body)));
  assert.deepEqual([(await post(port, '/', '{"a":')).status, (await post(port, '/', '{"__proto__":{}}')).status], [400, 400]);
});

check('forms and text are parsed', async () => {
  const { port } = await serve((app) => app.post('/', (req, res) => res.json(req.body)));
  assert.equal((await post(port, '/', 'a=1&b=x+y', { 'content-type': 'application/x-www-form-urlencoded' })).text, '{"a":"1","b":"x y"}');
  assert.equal((await post(port, '/', 'plain', { 'content-type': 'text/plain' })).text, '"plain"');
});

check('bodies in gzip and Brotli are inflated', async () => {
  const { port } = await serve((app) => app.post('/', (req, res) => res.json(req.body)));
  for (const [coding, deflate] of [['gzip', gzipSync], ['br', brotliCompressSync]]) {
    assert.equal((await post(port, '/', deflate('{"a":1}'), { 'content-type': 'application/json', 'content-encoding': coding })).text, '{"a":1}');
  }
});

check('a body over the limit is 413, and the connection ends', async () => {
  const { port } = await serve((app) => app.post('/', (req, res) => res.json(req.body)), { body: { limit: '1kb' } });
  const answer = await raw(port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n', `"${'x'.repeat(4998)}"`);
  assert.match(answer, /^HTTP\/1.1 413 /);
});

check('a parsed body can be read from the stream once more', async () => {
  const { port } = await serve((app) => app.post('/', async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    res.json({ body: req.body, stream: Buffer.concat(chunks).toString() });
  }));
  assert.deepEqual(JSON.parse((await post(port, '/', '{"a":1}')).text), { body: { a: 1 }, stream: '{"a":1}' });
});

check('a body that comes in parts is whole', async () => {
  const { port } = await serve((app) => app.post('/', (req, res) => res.json(req.body)));
  const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
  const answer = await raw(port, 'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n', pause, '3\r\n{"a\r\n', pause, '4\r\n":1}\r\n', pause, '0\r\n\r\n');
  assert.match(answer, /\{"a":1\}/);
});

check('what stands on the stream unparsed can be piped', async () => {
  const { port } = await serve((app) => app.post('/', (req, res) => req.pipe(res)), { body: false });
  const body = 'x'.repeat(300_000);
  assert.equal((await post(port, '/', body, { 'content-type': 'application/octet-stream' })).text, body);
});

check('body parsers of express() take over', async () => {
  const { port } = await serve((app) => {
    app.use(json({ limit: '10kb' }));
    app.post('/', (req, res) => res.json(req.body));
  }, {}, express);
  assert.deepEqual([(await post(port, '/', '{"a":1}')).text, (await post(port, '/', `"${'x'.repeat(20_000)}"`)).status], ['{"a":1}', 413]);
});

check('xJson writes BigInts and cycles', async () => {
  const { port } = await serve((app) => app.get('/', (_req, res) => {
    const data = { id: 2n ** 64n, at: new Date(0) };
    data.self = data;
    res.xJson(data);
  }));
  const { headers, text } = await ask(port, '/');
  assert.equal(headers.get('content-type'), 'application/json');
  assert.equal(text, '{"id":"18446744073709551616","at":"1970-01-01T00:00:00.000Z","self":"[Circular]"}');
});

check('a large xJson is streamed, byte for byte as JSON.stringify has it', async () => {
  const rows = Array.from({ length: 30_000 }, (_, id) => ({ id, name: `number ${id} – ${'é'.repeat(id % 7)}` }));
  const { port } = await serve((app) => app.get('/', (_req, res) => res.xJson(rows, { enableStreaming: true, chunkSize: 16_384 })));
  const { headers, text } = await ask(port, '/');
  assert.equal(text, JSON.stringify(rows));
  assert.equal(headers.get('content-length'), String(Buffer.byteLength(text)));
});

check('XJsonResponseHandler.stringify writes without a response', () => {
  assert.equal(XJsonResponseHandler.stringify({ a: 1n }), '{"a":"1"}');
});

check('a signed request passes, a changed one does not', async () => {
  const { port } = await serve((app) => app.post('/pay', (req, res) => res.json(req.body)), { security: { requestSignature: { secret: SECRET } } });
  const body = '{"amount":1}';
  const headers = { 'content-type': 'application/json', ...signRequest({ secret: SECRET, method: 'POST', url: '/pay', body }) };
  assert.equal((await post(port, '/pay', body, headers)).status, 200);
  assert.equal((await post(port, '/pay', '{"amount":2}', headers)).status, 401);
  assert.equal((await post(port, '/pay', body)).status, 401);
});

check('an old signature has expired', async () => {
  const { port } = await serve((app) => app.get('/', (_req, res) => res.json(1)), { security: { requestSignature: { secret: SECRET } } });
  const headers = signRequest({ secret: SECRET, method: 'GET', url: '/', timestamp: Date.now() - 600_000 });
  const { status, text } = await ask(port, '/', { headers });
  assert.deepEqual([status, JSON.parse(text).error], [401, 'Signature expired']);
});

check('a signature is used once where there is a replay store', async () => {
  const { port } = await serve((app) => app.get('/', (_req, res) => res.json(1)), { security: { requestSignature: { secret: SECRET, replay: { store: new MemoryReplayStore() } } } });
  const headers = signRequest({ secret: SECRET, method: 'GET', url: '/' });
  assert.deepEqual([(await ask(port, '/', { headers })).status, (await ask(port, '/', { headers })).status], [200, 401]);
});

check('version 2 signs by RFC 9421', async () => {
  const { port } = await serve((app) => app.post('/', (req, res) => res.json(req.body)), { security: { requestSignature: { version: 2, secret: SECRET } } });
  const [body, given] = ['{"a":1}', { 'content-type': 'application/json' }];
  const headers = { ...given, ...signRequest({ version: 2, secret: SECRET, method: 'POST', url: '/', body, headers: given }) };
  assert.deepEqual([(await post(port, '/', body, headers)).status, (await post(port, '/', '{"a":2}', headers)).status], [200, 401]);
});

check('signedFetch signs', async () => {
  const { port } = await serve((app) => app.post('/', (req, res) => res.json(req.body)), { security: { requestSignature: { secret: SECRET } } });
  const answer = await signedFetch({ secret: SECRET })(`http://127.0.0.1:${port}/?a=1`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"b":2}' });
  assert.deepEqual([answer.status, await answer.text()], [200, '{"b":2}']);
});

check('webhooks of others are checked', async () => {
  const { port } = await serve((app) => app.post('/hook', (req, res) => res.json(req.body)), { security: { webhooks: [{ path: '/hook', preset: 'github', secret: SECRET }] } });
  const signature = `sha256=${createHmac('sha256', SECRET).update('{}').digest('hex')}`;
  const type = { 'content-type': 'application/json' };
  assert.equal((await post(port, '/hook', '{}', { ...type, 'x-hub-signature-256': signature })).status, 200);
  assert.equal((await post(port, '/hook', '[]', { ...type, 'x-hub-signature-256': signature })).status, 401);
});

check('files are sent, in parts and not again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-files-'));
  open.push(() => rmSync(folder, { recursive: true }));
  const text = 'x'.repeat(200_000) + 'the end';
  writeFileSync(join(folder, 'a.txt'), text);
  const { port } = await serve((app) => {
    app.get('/sent', (_req, res) => res.sendFile('a.txt', { root: folder }));
    app.use('/static', files(folder));
  });
  for (const path of ['/sent', '/static/a.txt']) {
    const whole = await ask(port, path);
    assert.equal(createHash('sha256').update(whole.text).digest('hex'), createHash('sha256').update(text).digest('hex'));
    const part = await ask(port, path, { headers: { range: 'bytes=-7' } });
    assert.deepEqual([part.status, part.text], [206, 'the end']);
    const again = await ask(port, path, { headers: { 'if-none-match': whole.headers.get('etag'), 'cache-control': 'max-age=0' } });
    assert.equal(again.status, 304);
  }
  assert.equal((await ask(port, '/static/..%2f..%2fetc/passwd')).status >= 400, true);
});

check('cookies, redirects and types', async () => {
  const { port } = await serve((app) => {
    app.get('/cookie', (_req, res) => res.cookie('a', 'b c', { httpOnly: true }).send('<p>'));
    app.get('/away', (_req, res) => res.redirect('/there'));
    app.get('/kinds', (_req, res) => res.format({ json: () => res.json(1), html: () => res.send('<p>') }));
  });
  const cookie = await ask(port, '/cookie');
  assert.deepEqual([cookie.headers.get('set-cookie'), cookie.headers.get('content-type')], ['a=b%20c; Path=/; HttpOnly', 'text/html; charset=utf-8']);
  const away = await ask(port, '/away');
  assert.deepEqual([away.status, away.headers.get('location')], [302, '/there']);
  assert.equal((await ask(port, '/kinds', { headers: { accept: 'text/html' } })).text, '<p>');
});

check('an ETag is answered by 304', async () => {
  const { port } = await serve((app) => app.get('/', (_req, res) => res.send('page')), {}, express);
  const first = await ask(port, '/');
  assert.equal((await ask(port, '/', { headers: { 'if-none-match': first.headers.get('etag'), 'cache-control': 'max-age=0' } })).status, 304);
});

check('a program without frameworks answers by writeHead, write and end', async () => {
  const { port } = await serve((app) => app.get('/', (_req, res) => {
    res.writeHead(201, { 'X-Own': 'yes' });
    res.write('a');
    res.end('b');
  }));
  const { status, headers, text } = await ask(port, '/');
  assert.deepEqual([status, headers.get('x-own'), text], [201, 'yes', 'ab']);
});

check('requests in a pipeline are answered in order', async () => {
  const { port } = await serve((app) => app.get('/:n', (req, res) => setTimeout(() => res.send(`<${req.params.n}>`), req.params.n === '1' ? 30 : 0)));
  const answer = await raw(port, get('/1') + get('/2') + get('/3', 'Connection: close'));
  assert.deepEqual(answer.match(/<\d>/g), ['<1>', '<2>', '<3>']);
});

check('Expect: 100-continue is answered before the body', async () => {
  const { port } = await serve((app) => app.post('/', (req, res) => res.json(req.body)));
  const asked = (socket, chunks) => new Promise((resolve) => {
    socket.on('data', () => {
      if (Buffer.concat(chunks).includes('100 Continue')) resolve();
    });
  });
  const answer = await raw(port, 'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n', asked, '{"a":1}');
  assert.match(answer, /\{"a":1\}$/);
});

check('requests to switch protocols reach their listener', async () => {
  const { port } = await serve((app) => app.on('upgrade', (req, socket) => {
    socket.end(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n${req.url}`);
  }));
  assert.match(await raw(port, get('/ws', 'Connection: Upgrade', 'Upgrade: websocket')), /^HTTP\/1.1 101 [^]*\/ws$/);
});

check('two Content-Lengths are refused', async () => {
  const { port } = await serve((app) => app.post('/', (req, res) => res.json(req.body)));
  assert.match(await raw(port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}'), /^HTTP\/1.1 400 /);
});

check('close answers what has begun', async () => {
  const { app, port } = await serve((given) => given.get('/', (_req, res) => setTimeout(() => res.send('late'), 100)));
  const asked = ask(port, '/');
  await new Promise((resolve) => setTimeout(resolve, 40));
  await app.close({ timeout: 5_000 });
  assert.equal((await asked).text, 'late');
});

check('a port in use is told', async () => {
  const { port } = await serve(() => undefined);
  await assert.rejects(createServer({ logging: { level: 'silent' } }).start(port, '127.0.0.1'), { code: 'EADDRINUSE' });
});

check('the application is a listener of node:http', async () => {
  const app = createServer({ logging: { level: 'silent' } });
  app.get('/', (req, res) => res.json({ path: req.path }));
  const server = createHttpServer(app);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => new Promise((resolve) => { server.close(resolve); server.closeAllConnections?.(); }));
  assert.equal((await ask(server.address().port, '/')).text, '{"path":"/"}');
});

check('app.inject answers without a socket', async () => {
  const app = createServer({ logging: { level: 'silent' } });
  app.post('/', (req, res) => res.json(req.body));
  const answer = await app.inject({ method: 'POST', url: '/', payload: { a: 1 } });
  assert.deepEqual([answer.statusCode, answer.json()], [200, { a: 1 }]);
});

check('app.inject answers each kind of response, of any length', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-inject-'));
  open.push(() => rmSync(folder, { recursive: true }));
  const text = 'waypost '.repeat(250_000);
  writeFileSync(join(folder, 'file.txt'), text);
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, text: 'a row of a table' }));
  const app = createServer({ logging: { level: 'silent' } });
  app.get('/send', (_req, res) => res.type('text').send(text));
  app.get('/file', (_req, res) => res.sendFile(join(folder, 'file.txt')));
  app.get('/stream', (_req, res) => res.stream(Readable.from(text.match(/.{1,50000}/g))));
  app.get('/pipe', (_req, res) => Readable.from(text.match(/.{1,50000}/g)).pipe(res));
  app.get('/write', async (_req, res) => {
    for (let at = 0; at < text.length; at += 100_000) {
      if (!res.write(text.slice(at, at + 100_000))) await once(res, 'drain');
    }
    res.end();
  });
  for (const path of ['/send', '/file', '/stream', '/pipe', '/write']) {
    const answer = await app.inject(path);
    assert.deepEqual([path, answer.statusCode, answer.payload === text], [path, 200, true]);
  }
  app.get('/json', (_req, res) => res.json(rows));
  app.get('/xjson', (_req, res) => res.xJson(rows));
  for (const path of ['/json', '/xjson']) assert.equal((await app.inject(path)).payload, JSON.stringify(rows));
});

check('close ends behind each kind of unread body', async () => {
  const bodies = {
    whole: ['Content-Length: 1000000', 'x'.repeat(1_000_000)],
    begun: ['Content-Length: 1000000', 'x'.repeat(1_000)],
    'not begun': ['Content-Length: 1000000', ''],
    chunked: ['Transfer-Encoding: chunked', `ffff\r\n${'x'.repeat(0xffff)}\r\n`],
    large: ['Content-Length: 100000000', 'x'.repeat(3_000_000)],
  };
  for (const [name, [field, body]] of Object.entries(bodies)) {
    const app = createServer({ env: 'test', logging: { level: 'silent' }, body: false });
    app.post('/', (_req, res) => res.send('answered'));
    const { port } = (await app.start(0, '127.0.0.1')).address();
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${field}\r\n\r\n${body}`);
    await once(socket, 'data');
    const before = Date.now();
    await app.close({ timeout: 60_000 });
    assert.ok(Date.now() - before < 4_000, `${name}: close took ${Date.now() - before} ms`);
    socket.destroy();
  }
});

check('a request behind a large unread body is answered', async () => {
  const { port } = await serve((app) => app.all('/', (_req, res) => res.send('answered')), { body: false });
  const text = await raw(port, `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(1_000_000)}`, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  assert.equal(text.split('answered').length, 3);
});

check('views are rendered by an engine', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-views-'));
  open.push(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'page.own'), 'Hello NAME');
  const { port } = await serve((app) => {
    app.engine('own', (path, { name }, done) => done(null, readFileSync(path, 'utf8').replace('NAME', name)));
    app.set('views', folder);
    app.get('/', (_req, res) => res.render('page.own', { name: 'Ann' }));
  });
  assert.equal((await ask(port, '/')).text, 'Hello Ann');
});

check('a handler runs in the async context of its request', async () => {
  const context = new AsyncLocalStorage();
  const { port } = await serve((app) => {
    app.use((req, _res, next) => context.run(req.headers['x-id'], next));
    app.post('/', async (_req, res) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      res.json(context.getStore());
    });
  });
  const answers = await Promise.all(['a', 'b', 'c'].map((id) => post(port, '/', '{}', { 'content-type': 'application/json', 'x-id': id })));
  assert.deepEqual(answers.map(({ text }) => text), ['"a"', '"b"', '"c"']);
});

check('the log is one line of JSON each', async () => {
  const lines = [];
  const write = process.stdout.write;
  process.stdout.write = (line) => { lines.push(String(line)); return true; };
  try {
    const app = createServer();
    await app.start(0, '127.0.0.1');
    await app.close();
  } finally {
    process.stdout.write = write;
  }
  assert.deepEqual(lines.map((line) => JSON.parse(line).msg.replace(/:\d+$/, '')), ['The server has started at http://localhost', 'The server has stopped']);
});

check('HTTPS', async () => {
  const [key, cert] = [process.env.CHECK_KEY, process.env.CHECK_CERT];
  const { port } = await serve((app) => app.get('/', (req, res) => res.json({ secure: req.secure })), { server: { https: { key, cert } } });
  const request = httpsRequest({ host: '127.0.0.1', port, ca: cert, checkServerIdentity: () => undefined, headers: { connection: 'close' } }).end();
  const [response] = await once(request, 'response');
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).toString(), '{"secure":true}');
});

check('waypost/express, require and import share one state', async () => {
  const require = createRequire(import.meta.url);
  assert.equal(require('waypost').HttpError, HttpError);
  assert.equal(expressByName, express);
  assert.equal(ExpressRouter, Router);
});

const found = [];
// So that none leans on what the one before left behind, one after another.
for (const { name, run } of checks) {
  let timer;
  const late = new Promise((_resolve, reject) => { timer = setTimeout(() => reject(new Error(`not done after ${LIMIT} ms`)), LIMIT); });
  try {
    await Promise.race([run(), late]);
    found.push({ name });
  } catch (error) {
    found.push({ name, failed: String(error?.message ?? error).split('\n').slice(0, 6).join(' ') });
  }
  clearTimeout(timer);
  for (const close of open.splice(0).reverse()) await Promise.race([Promise.resolve().then(close).catch(() => undefined), new Promise((resolve) => setTimeout(resolve, 2_000))]);
}
console.log(`\n${JSON.stringify(found)}`);
process.exit(0);
