import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Exchange } from '../bench/cases';
import { sendPaced } from '../bench/latency';

const EXCHANGE: Exchange = { method: 'GET', target: '/a?b=c', headers: { authorization: 'Bearer x' }, status: 200 };

describe('the paced load of the benchmark', () => {
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

  test('sends as many requests as were asked for, as evenly over its connections as they come out', async () => {
    const requests = new Map<unknown, number>();
    const port = await listen((req, res) => {
      requests.set(req.socket, (requests.get(req.socket) ?? 0) + 1);
      res.end(`${req.url} ${req.headers.authorization}`);
    });
    const { took, late } = await sendPaced(port, EXCHANGE, { connections: 4, rate: 2000, seconds: 0.1 }, undefined);
    expect(took).toHaveLength(200);
    expect(late).toHaveLength(200);
    expect(Math.min(...took, ...late)).toBeGreaterThanOrEqual(0);
    // One more each, which tells how long an answer is.
    expect([...requests.values()]).toEqual([51, 51, 51, 51]);
  });

  test('hides no waiting: a server that stops once is charged with every request that came due meanwhile', async () => {
    let seen = 0;
    const port = await listen((_req, res) => {
      // The second is the first that is measured. While it is held, all others come due.
      if (++seen === 2) setTimeout(() => res.end('ok'), 400);
      else res.end('ok');
    });
    const { took } = await sendPaced(port, EXCHANGE, { connections: 1, rate: 1000, seconds: 0.05 }, undefined);
    expect(took).toHaveLength(50);
    expect(Math.min(...took)).toBeGreaterThan((took[0] as number) / 2);
  });

  test('an answer that is held back delays those of its own connection alone', async () => {
    const held = new Set<unknown>();
    const seen = new Map<unknown, number>();
    const port = await listen((req, res) => {
      const count = (seen.get(req.socket) ?? 0) + 1;
      seen.set(req.socket, count);
      if (count === 2 && held.size === 0) {
        held.add(req.socket);
        setTimeout(() => res.end('ok'), 400);
      } else res.end('ok');
    });
    const { took } = await sendPaced(port, EXCHANGE, { connections: 2, rate: 1000, seconds: 0.05 }, undefined);
    const [even, odd] = [0, 1].map((first) => Math.max(...took.filter((_, i) => i % 2 === first))) as [number, number];
    expect(Math.max(even, odd)).toBeGreaterThan(2 * Math.min(even, odd));
  });

  test.each<[string, RequestListener, RegExp]>([
    ['a refusal', (_req, res) => res.writeHead(503).end('no'), /^the paced load of \/a\?b=c: an answer was HTTP\/1\.1 503/],
    ['a closed connection', (req) => req.socket.destroy(), /: a connection was closed|: .*ECONNRESET/],
    ['an answer of unknown length', (_req, res) => { res.write('a'); res.end('b'); }, /: an answer has no Content-Length/],
  ])('%s ends it', async (_what, listener, message) => {
    const port = await listen(listener);
    await expect(sendPaced(port, EXCHANGE, { connections: 2, rate: 100, seconds: 0.1 }, undefined)).rejects.toThrow(message);
  });
});
