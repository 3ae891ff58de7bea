import type { Server as HttpServer } from 'node:http';
import type { Express } from 'express';
import { Server } from 'socket.io';
import { io, type Socket } from 'socket.io-client';
import { ExpressOracle, type Side } from '../support/express-oracle';

let oracle: ExpressOracle;

beforeAll(async () => {
  oracle = await ExpressOracle.start(program, {}, [[/"sid":"[^"]+"/, '"sid":"…"']]);
});

afterAll(() => oracle.close());

function program(app: Express, side: Side): void {
  app.get('/page', (_req, res) => void res.send('a page'));
  app.use((req, res) => void res.status(404).send(`none at ${req.url}`));
  side.onServer((server: HttpServer) => {
    const sockets = new Server(server, { pingTimeout: 1000, serveClient: true });
    sockets.use((socket, next) => next(socket.handshake.auth['token'] === 'right' ? undefined : new Error('refused')));
    sockets.on('connection', (socket) => {
      socket.on('echo', (data: unknown, answer: (data: unknown, transport: string) => void) => answer(data, socket.conn.transport.name));
      socket.on('join', (room: string) => {
        void socket.join(room);
        sockets.to(room).emit('joined', room);
      });
    });
    side.onClose(() => sockets.disconnectSockets(true));
  });
}

function connect(port: number, transports: string[], token = 'right'): Socket {
  return io(`http://127.0.0.1:${port}`, { transports, auth: { token }, reconnection: false, forceNew: true });
}

/** Resolves with what a socket first says by that name. */
function heard(socket: Socket, event: string): Promise<unknown> {
  return new Promise((resolve) => socket.once(event, resolve));
}

test.each([['polling'], ['websocket']])('talks by %s', async (transport) => {
  const talk = await oracle.each(async (port) => {
    const socket = connect(port, [transport]);
    await heard(socket, 'connect');
    const bytes = Buffer.from([0, 255, 7]);
    const [data, by] = await new Promise<[{ text: string; bytes: Buffer }, string]>((resolve) => {
      socket.emit('echo', { text: 'x'.repeat(50_000), bytes }, (...answer: [{ text: string; bytes: Buffer }, string]) => resolve(answer));
    });
    socket.emit('join', 'a room');
    const joined = await heard(socket, 'joined');
    socket.disconnect();
    return [data.text.length, [...data.bytes], by, joined];
  });
  expect(talk).toEqual([50_000, [0, 255, 7], transport, 'a room']);
});

test('goes over from polling to websocket', async () => {
  const transport = await oracle.each(async (port) => {
    const socket = connect(port, ['polling', 'websocket']);
    await heard(socket, 'connect');
    const { engine } = socket.io;
    while (engine.transport.name !== 'websocket') await new Promise<void>((resolve) => engine.once('upgrade', () => resolve()));
    socket.disconnect();
    return engine.transport.name;
  });
  expect(transport).toBe('websocket');
});

test('refuses whom its middleware refuses', async () => {
  const message = await oracle.each(async (port) => {
    const socket = connect(port, ['polling'], 'wrong');
    const error = (await heard(socket, 'connect_error')) as Error;
    socket.disconnect();
    return error.message;
  });
  expect(message).toBe('refused');
});

test('stands beside the routes, and takes its own path only', async () => {
  expect((await oracle.ask('/page')).body).toBe('a page');
  expect((await oracle.ask('/nowhere')).body).toBe('none at /nowhere');
  const open = await oracle.ask('/socket.io/?EIO=4&transport=polling');
  expect(open).toMatchObject({ status: 200, body: expect.stringMatching(/^0\{"sid":"…"/) });
  expect((await oracle.ask('/socket.io/socket.io.min.js')).headers['content-type']).toBe('application/javascript; charset=utf-8');
});

