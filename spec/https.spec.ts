import { once } from 'node:events';
import { Agent, request, Server } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import { createServer, signRequest } from 'waypost';
import { makeCertificate } from './support/certificate';
import { portOf, Running } from './support/running';
import { head, Wire } from './support/wire';

const running = new Running();
const { key, cert } = makeCertificate();
const HTTPS = { server: { https: { key, cert } } };

afterEach(() => running.close());

async function get(port: number, path: string, options: { method?: string; body?: string; headers?: Record<string, string>; agent?: Agent } = {}): Promise<{ status: number | undefined; body: string; connection: string | undefined }> {
  const { body, ...rest } = options;
  const sent = request({ host: 'localhost', port, path, ca: cert, agent: false, family: 4, ...rest });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: (await buffer(response)).toString(), connection: response.headers.connection };
}

test('key and cert make it HTTPS: verified by a client that trusts the certificate', async () => {
  const port = await running.app((app) => app.post('/:id', (req, res) => res.json([req.protocol, req.secure, req.params.id, req.body])), HTTPS);
  const answer = await get(port, '/7', { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } });
  expect(answer).toMatchObject({ status: 200, body: '["https",true,"7",{"a":1}]' });
});

test('start answers an https.Server, with the options of node:http too', async () => {
  const app = createServer({ logging: { level: 'silent' }, server: { ...HTTPS.server, keepAliveTimeout: 1234, timeout: 4321 } });
  const server = await app.start(0);
  expect(server).toBeInstanceOf(Server);
  expect(server).toMatchObject({ keepAliveTimeout: 1234, timeout: 4321 });
  await app.close();
});

test('other options of node:tls reach the server', async () => {
  const port = await running.app((app) => app.get('/', (_req, res) => res.end()), { server: { https: { key, cert, minVersion: 'TLSv1.3' } } });
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: cert, maxVersion: 'TLSv1.2' });
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toMatch(/PROTOCOL_VERSION/);
});

test('plain HTTP is not answered', async () => {
  const port = await running.app((app) => app.get('/', (_req, res) => res.send('plain')), HTTPS);
  expect(await Wire.tell(port, head('GET /'))).not.toContain('plain');
});

test('a path in place of the contents is refused when the application is made', () => {
  expect(() => createServer({ server: { https: { key: '/etc/key.pem', cert } } })).toThrow(/server\.https\.key must be the contents/);
  expect(() => createServer({ server: { https: { key } } })).toThrow(/server\.https must hold key and cert/);
});

test('signed requests over HTTPS', async () => {
  const secret = 's'.repeat(32);
  const port = await running.app((app) => app.get('/x', (_req, res) => res.send('in')), { ...HTTPS, security: { requestSignature: { secret } } });
  expect((await get(port, '/x')).status).toBe(401);
  expect((await get(port, '/x', { headers: signRequest({ secret, method: 'GET', url: `https://localhost:${port}/x` }) })).body).toBe('in');
});

describe('close', () => {
  test('lets what is in flight finish with Connection: close', async () => {
    const app = createServer({ logging: { level: 'silent' }, ...HTTPS });
    let finish: () => void = () => undefined;
    const entered = new Promise<void>((resolve) => {
      app.get('/slow', (_req, res) => {
        finish = () => res.send('done');
        resolve();
      });
    });
    const agent = new Agent({ keepAlive: true });
    const answer = get(portOf(await app.start(0)), '/slow', { agent });
    await entered;
    const closed = app.close();
    finish();
    expect(await answer).toMatchObject({ status: 200, body: 'done', connection: 'close' });
    await closed;
    agent.destroy();
  });

  test.each(['app', 'server'])('leaves a connection that the %s has taken for another protocol alone until the timeout', async (taker) => {
    const app = createServer({ logging: { level: 'silent' }, ...HTTPS });
    const take = (_req: IncomingMessage, socket: Duplex): void => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      socket.pipe(socket);
    };
    if (taker === 'app') app.on('upgrade', take);
    const server = await app.start(0);
    if (taker === 'server') server.on('upgrade', take);
    const socket = connect({ port: portOf(server), host: '127.0.0.1', servername: 'localhost', ca: cert });
    await once(socket, 'secureConnect');
    socket.write(head('GET /', { Connection: 'Upgrade', Upgrade: 'websocket' }));
    await once(socket, 'data');
    const closed = app.close({ timeout: 2_000_000_000 });
    socket.write('still here');
    const [echo] = (await once(socket, 'data')) as [Buffer];
    expect(echo.toString()).toBe('still here');
    socket.end();
    await closed;
  });

  test('lets a request whose head is half in arrive, as over HTTP', async () => {
    const app = createServer({ logging: { level: 'silent' }, ...HTTPS });
    app.get('/', (_req, res) => res.send('half by half'));
    const server = await app.start(0);
    const welcomed = once(server, 'secureConnection') as Promise<[TLSSocket]>;
    const client = connect({ port: portOf(server), host: '127.0.0.1', servername: 'localhost', ca: cert });
    const [socket] = await welcomed;
    client.write('GET / HTTP/1.1\r\n');
    while (socket.bytesRead === 0) await new Promise(setImmediate);
    const closed = app.close({ timeout: 2_000_000_000 });
    client.write('Host: localhost\r\n\r\n');
    expect((await buffer(client)).toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n[^]*half by half$/);
    await closed;
  });

  test('closes idle connections, those that never sent anything among them', async () => {
    const app = createServer({ logging: { level: 'silent' }, ...HTTPS });
    app.get('/', (_req, res) => res.send('x'));
    const port = portOf(await app.start(0));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await get(port, '/', { agent })).body).toBe('x');
    const idle: TLSSocket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: cert });
    await once(idle, 'secureConnect');
    const raw = await Wire.open(port);
    const ended = once(idle.resume(), 'close');
    await app.close({ timeout: 2_000_000_000 });
    await Promise.all([ended, raw.end]);
    agent.destroy();
  });
});
