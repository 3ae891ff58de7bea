import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Case } from '../bench/cases';
import { besideSlowClients, SlowClients } from '../bench/slow-clients';

const WORK: Case = {
  name: 'slow',
  title: 'slow',
  slowClients: 7,
  exchange: () => ({ method: 'POST', target: '/a', headers: { 'x-one': 'first' }, body: '{"a":1}', status: 200 }),
  checks: () => [],
};

describe('the slow clients of the benchmark', () => {
  let server: Server;

  async function listen(listener: RequestListener): Promise<number> {
    server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  test('each sends its whole request, again and again over one connection', async () => {
    const asked = new Map<Socket, number>();
    const port = await listen((req, res) => {
      let body = '';
      req.on('data', (chunk: Buffer) => { body += chunk.toString(); }).on('end', () => {
        asked.set(req.socket, (asked.get(req.socket) ?? 0) + 1);
        res.end(`${req.method} ${req.url} ${req.headers['x-one']} ${body}`);
      });
    });
    const slow = await SlowClients.start(port, WORK, undefined);
    await slow.answered();
    expect(asked.size).toBe(7);
    while (![...asked.values()].every((count) => count > 1)) await once(server, 'request');
    await slow.stop();
    expect(asked.size).toBe(7);
  });

  test('they are there while something is measured, and no longer', async () => {
    const port = await listen((_req, res) => res.end('ok'));
    const connections = () => new Promise<number>((resolve, reject) => server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))));
    expect(await besideSlowClients(port, WORK, undefined, connections)).toBe(7);
    expect(await besideSlowClients(port, { ...WORK, slowClients: undefined }, undefined, () => Promise.resolve('alone'))).toBe('alone');
  });

  test.each<[string, RequestListener, RegExp]>([
    ['refused', (_req, res) => res.writeHead(408).end(), /^slow clients: a slow client was answered HTTP\/1\.1 408/],
    ['cut off', (req) => req.socket.destroy(), /^slow clients: (?:a slow client was cut off|.*ECONNRESET)/],
  ])('one that is %s is told', async (_what, listener, message) => {
    const port = await listen(listener);
    const slow = await SlowClients.start(port, WORK, undefined);
    await expect(slow.answered().finally(() => slow.stop())).rejects.toThrow(message);
  });

  test('what was measured beside them counts for nothing when one was cut off', async () => {
    const port = await listen((req) => req.socket.destroy());
    await expect(besideSlowClients(port, WORK, undefined, () => once(server, 'request'))).rejects.toThrow(/^slow clients: /);
  });
});
