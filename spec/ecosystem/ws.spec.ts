import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Express } from 'express';
import { createServer, signRequest } from 'waypost';
import WebSocket, { WebSocketServer } from 'ws';
import { ExpressOracle, type Side } from '../support/express-oracle';
import { portOf, Running } from '../support/running';

const running = new Running();
let oracle: ExpressOracle;

beforeAll(async () => {
  oracle = await ExpressOracle.start(program);
});

afterAll(async () => {
  await oracle.close();
  await running.close();
});

function echo(sockets: WebSocketServer): WebSocketServer {
  return sockets.on('connection', (socket, req) => {
    socket.on('message', (data: Buffer, isBinary) => socket.send(isBinary ? data : `${req.url ?? ''} ${data.toString()}`, { binary: isBinary }));
  });
}

function program(app: Express, side: Side): void {
  app.get('/socket', (_req, res) => void res.send('a page'));
  const own = echo(new WebSocketServer({ noServer: true }));
  side.onServer((server: Server) => {
    server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (req.url?.startsWith('/socket') !== true) return void socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
      own.handleUpgrade(req, socket, head, (client) => own.emit('connection', client, req));
    });
  });
}

async function talk(port: number, path: string, headers: Record<string, string> = {}): Promise<unknown[]> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
  const heard: unknown[] = [];
  await once(socket, 'open');
  for (const message of ['hello', 'x'.repeat(100_000), Buffer.from([0, 255, 1])]) {
    socket.send(message);
    const [data, isBinary] = (await once(socket, 'message')) as [Buffer, boolean];
    heard.push(isBinary ? [...data] : data.toString());
  }
  socket.close(1000);
  const [code] = (await once(socket, 'close')) as [number];
  return [...heard, code];
}

const TALK = (url: string): unknown[] => [`${url} hello`, `${url} ${'x'.repeat(100_000)}`, [0, 255, 1], 1000];

test("echoes through the server's upgrade event, beside the routes", async () => {
  expect(await oracle.each((port) => talk(port, '/socket?a=1'))).toEqual(TALK('/socket?a=1'));
  expect((await oracle.ask('/socket')).body).toBe('a page');
});

test('can be refused there', async () => {
  const refused = await oracle.each(async (port) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/other`);
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    response.resume();
    await once(response, 'end');
    return response.statusCode;
  });
  expect(refused).toBe(404);
});

test('takes the server that start() answers', async () => {
  const app = createServer({ logging: { level: 'silent' } });
  const port = await running.start(app);
  const sockets = echo(new WebSocketServer({ server: app.server as Server }));
  expect(await talk(port, '/any')).toEqual(TALK('/any'));
  sockets.close();
});

test("is checked for a signature where it comes through the application's upgrade event", async () => {
  const secret = 'k'.repeat(32);
  const app = createServer({ logging: { level: 'silent' }, security: { requestSignature: { secret } } });
  const sockets = echo(new WebSocketServer({ noServer: true }));
  app.on('upgrade', (req, socket, head) => sockets.handleUpgrade(req, socket, head, (client) => sockets.emit('connection', client, req)));
  const port = await running.start(app);

  expect(await talk(port, '/in?a=1', signRequest({ secret, method: 'GET', url: '/in?a=1' }))).toEqual(TALK('/in?a=1'));
  const socket = new WebSocket(`ws://127.0.0.1:${port}/in`);
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  expect(response.statusCode).toBe(401);
  response.resume();
  await once(response, 'close');
});

test('is cut off when the application closes', async () => {
  const app = createServer({ logging: { level: 'silent' } });
  const server = await app.start(0, '127.0.0.1');
  const sockets = echo(new WebSocketServer({ server: server as Server }));
  const socket = new WebSocket(`ws://127.0.0.1:${portOf(server)}/`);
  await once(socket, 'open');
  const closed = once(socket, 'close');
  await app.close({ timeout: 0 });
  const [code] = (await closed) as [number];
  expect(code).toBe(1006);
  sockets.close();
});
