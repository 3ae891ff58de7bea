import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { askEach, askOver, Connection, openMany, type WireRequest } from '../bench/connection';

function wanted(path: string, status = 200, fields = ''): WireRequest {
  return { text: `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${fields}\r\n`, status };
}

/** Paths and connections that the server has seen. */
let asked: string[] = [];
let connections = 0;
let server: Server;
let port: number;

beforeAll(async () => {
  server = createServer((req, res) => {
    asked.push(req.url as string);
    if (req.url === '/long') res.end(Buffer.alloc(300_000));
    else if (req.url === '/chunked') {
      for (let i = 0; i < 50; i++) res.write(`${i}\n\n`);
      res.end();
    } else if (req.url === '/gone') req.socket.destroy();
    else res.writeHead(req.url === '/missing' ? 404 : 200, { 'Content-Length': 2 }).end('{}');
  }).on('connection', () => { connections++; });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked = [];
  connections = 0;
});

describe('the connections of the benchmark of memory', () => {
  test('each that is kept takes the next request when all of the answer has come', async () => {
    const paths = ['/long', '/chunked', '/missing', '/short'];
    const count = await askOver(port, 3, (index) => (index < 40 ? wanted(paths[index % 4] as string, index % 4 === 2 ? 404 : 200) : undefined));
    expect(count).toBe(40);
    expect(connections).toBe(3);
    for (const path of paths) expect(asked.filter((one) => one === path)).toHaveLength(10);
  });

  test('each that is opened for one request is answered, and stays', async () => {
    const open = await openMany(port, 150, wanted('/short'));
    expect(open.filter(({ isOpen }) => isOpen)).toHaveLength(150);
    expect(asked).toHaveLength(150);
    expect(connections).toBe(150);
    for (const connection of open) connection.close();
    expect(open.some(({ isOpen }) => isOpen)).toBe(false);
  });

  test('a request of its own connection has one', async () => {
    await askEach(port, 30, 4, wanted('/long', 200, 'connection: close\r\n'));
    expect(asked).toHaveLength(30);
    expect(connections).toBe(30);
  });

  test.each([
    ['another status', () => askOver(port, 1, () => wanted('/missing')), /instead of status 200/],
    ['no answer', () => askOver(port, 1, () => wanted('/gone')), /closed a connection that it should keep|ECONNRESET/],
    ['another status to a request of its own connection', () => askEach(port, 1, 1, wanted('/missing', 200, 'connection: close\r\n')), /was answered "HTTP\/1.1 404/],
    ['no server', () => Connection.open(1), /ECONNREFUSED/],
  ])('%s ends the run', async (_, run, message) => {
    await expect(run()).rejects.toThrow(message);
  });
});
