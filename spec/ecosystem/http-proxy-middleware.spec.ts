import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type Server } from 'node:http';
import bodyParser from 'body-parser';
import type { Express } from 'express';
import proxy from 'express-http-proxy';
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware';
import WebSocket, { WebSocketServer } from 'ws';
import { answerErrors, ExpressOracle } from '../support/express-oracle';
import { noise } from '../support/noise';
import { portOf } from '../support/running';

let upstream: Server;
let sockets: WebSocketServer;
let oracle: ExpressOracle;
let target: string;
let unreachable: string;

beforeAll(async () => {
  upstream = createHttpServer((req, res) => {
    const hash = createHash('sha256');
    let length = 0;
    req.on('data', (chunk: Buffer) => {
      hash.update(chunk);
      length += chunk.length;
    });
    req.on('end', () => {
      res.writeHead(req.url === '/teapot' ? 418 : 200, { 'Content-Type': 'application/json', 'X-Upstream': 'yes', 'Set-Cookie': ['a=1', 'b=2'] });
      res.end(JSON.stringify({ method: req.method, url: req.url, type: req.headers['content-type'], forwarded: req.headers['x-forwarded-for'] !== undefined, length, sum: hash.digest('hex') }));
    });
  });
  sockets = new WebSocketServer({ server: upstream });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(`upstream ${String(data)}`)));
  await new Promise<void>((resolve) => void upstream.listen(0, '127.0.0.1', resolve));
  target = `http://127.0.0.1:${portOf(upstream)}`;
  // A port that was free a moment ago may be another spec's by now; this one nobody is given.
  unreachable = 'http://127.0.0.1:1';
  oracle = await ExpressOracle.start(program);
});

afterAll(async () => {
  await oracle.close();
  for (const socket of sockets.clients) socket.terminate();
  sockets.close();
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
});

function program(app: Express, side: { onServer(listener: (server: Server) => void): void }): void {
  const live = createProxyMiddleware({ target, ws: true, xfwd: true });
  app.use('/api', live);
  app.all('/route', createProxyMiddleware({ target }));
  app.use('/rewritten', createProxyMiddleware({ target, pathRewrite: { '^/old': '/new' } }));
  app.use('/down', createProxyMiddleware({ target: unreachable }));
  // A program that has read the body, and sends it on again.
  app.post('/read', bodyParser.json(), (req, _res, next) => {
    req.body.read = true;
    next();
  }, createProxyMiddleware({ target, on: { proxyReq: fixRequestBody } }));
  app.use('/filtered', createProxyMiddleware({ target, pathFilter: (path) => path.includes('/yes') }));
  app.use('/host', proxy(target, { userResDecorator: (_answer, data) => `${data.toString()}!` }));
  app.use('/host-raw', proxy(target, { parseReqBody: false, proxyReqPathResolver: (req) => `/resolved${req.url ?? ''}` }));
  app.use((_req, res) => void res.status(404).send('none'));
  app.use(answerErrors);
  side.onServer((server) => server.on('upgrade', (req, socket, head) => void live.upgrade(req, socket as never, head)));
}

interface Echo {
  method: string;
  url: string;
  type?: string;
  forwarded: boolean;
  length: number;
  sum: string;
}

function sumOf(bytes: Uint8Array | string) {
  return createHash('sha256').update(bytes).digest('hex');
}

const NOTHING = { length: 0, sum: sumOf('') };

describe('http-proxy-middleware', () => {
  test('hands on method, path, query, status, headers and cookies', async () => {
    const answer = await oracle.ask('/api/teapot?a=1');
    expect(answer.headers).toMatchObject({ 'x-upstream': 'yes', 'set-cookie': ['a=1', 'b=2'] });
    expect((await oracle.ask('/api/teapot')).status).toBe(418);
    expect(JSON.parse((await oracle.ask('/api/x%2Fy?q=%20', { method: 'DELETE' })).body)).toEqual({ method: 'DELETE', url: '/x%2Fy?q=%20', forwarded: true, ...NOTHING });
    expect(JSON.parse((await oracle.ask('/rewritten/old/x')).body)).toMatchObject({ url: '/new/x' });
  });

  const bodies: [string, string, string | Buffer][] = [
    ['JSON', 'application/json', '{"a": [1, 2.50], "a": "twice"}  '],
    ['JSON that is none', 'application/json', '{"a":'],
    ['a form', 'application/x-www-form-urlencoded', 'a=1&&b=%zz'],
    ['text', 'text/plain; charset=latin1', Buffer.from([0xe9, 0x00, 0xff])],
    ['bytes', 'application/octet-stream', noise(100_000)],
    ['JSON over the limit', 'application/json', JSON.stringify('x'.repeat(3_000_000))],
    ['an unknown coding', 'application/json', 'packed'],
  ];

  test.each(bodies)('passes %s on byte for byte', async (what, type, body) => {
    const headers: Record<string, string> = what === 'an unknown coding' ? { 'content-encoding': 'compress' } : {};
    const { status, body: answer } = await oracle.post('/api/in', body, type, headers);
    expect(status).toBe(200);
    expect(JSON.parse(answer) as Echo).toMatchObject({ method: 'POST', type, length: Buffer.byteLength(body), sum: sumOf(body) });
  });

  test.each(bodies.filter(([what]) => ['JSON', 'a form', 'text', 'bytes'].includes(what)))('passes %s on as a handler of a route, though it was parsed for it', async (_what, type, body) => {
    const { body: answer } = await oracle.post('/route', body, type);
    expect(JSON.parse(answer) as Echo).toMatchObject({ type, length: Buffer.byteLength(body), sum: sumOf(body) });
  });

  test('as a handler of a route gets what cannot be parsed, and what is long, where nothing is parsed', async () => {
    const unparsed = await ExpressOracle.start((app) => void app.all('/route', createProxyMiddleware({ target })), { body: false });
    for (const [what, type, body] of bodies) {
      const headers: Record<string, string> = what === 'an unknown coding' ? { 'content-encoding': 'compress' } : {};
      expect(JSON.parse((await unparsed.post('/route', body, type, headers)).body) as Echo).toMatchObject({ length: Buffer.byteLength(body), sum: sumOf(body) });
    }
    await unparsed.close();
  });

  test('sends on a body that the program has read and changed', async () => {
    const { body } = await oracle.post('/read', '{"a":1}');
    expect(JSON.parse(body) as Echo).toMatchObject({ length: 19, sum: sumOf('{"a":1,"read":true}') });
  });

  test('leaves what its filter excludes to what stands below', async () => {
    expect((await oracle.ask('/filtered/yes')).status).toBe(200);
    expect(await oracle.ask('/filtered/no')).toMatchObject({ status: 404, body: 'none' });
  });

  test('answers 504 when nobody is there', async () => {
    expect((await oracle.ask('/down/x', { headers: { host: 'a.example' } })).status).toBe(504);
  });

  test('takes WebSockets along', async () => {
    const echoed = await oracle.each(async (port) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/api/socket`);
      await once(socket, 'open');
      socket.send('hello');
      const [data] = (await once(socket, 'message')) as [Buffer];
      socket.terminate();
      return data.toString();
    });
    expect(echoed).toBe('upstream hello');
  });
});

describe('express-http-proxy', () => {
  test('reads the body, hands it on, and changes the answer', async () => {
    const { status, body } = await oracle.post('/host/x?y=1', '{"a":1}');
    expect([status, JSON.parse(body.slice(0, -1)), body.at(-1)]).toEqual([200, { method: 'POST', url: '/x?y=1', type: 'application/json', forwarded: false, length: 7, sum: sumOf('{"a":1}') }, '!']);
  });

  test('streams it on where it is told not to read', async () => {
    const bytes = noise(50_000);
    const { body } = await oracle.post('/host-raw/x', bytes, 'application/octet-stream');
    expect(JSON.parse(body)).toMatchObject({ url: '/resolved/x', length: 50_000, sum: sumOf(bytes) });
  });
});
