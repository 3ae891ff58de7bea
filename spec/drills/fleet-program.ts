/** One of several processes behind a proxy: it listens at PORT, and lets each signature through once by the Redis at REDIS_SOCKET. */
import { createClient } from 'redis';
import { createServer, RedisReplayStore } from 'waypost';

async function main(): Promise<void> {
  const client = createClient({ socket: { path: process.env['REDIS_SOCKET'] ?? '', tls: false } });
  client.on('error', () => undefined);
  await client.connect();
  const app = createServer({
    logging: { level: 'warn', requestId: true },
    server: { host: '127.0.0.1', trustProxy: 'loopback', keepAliveTimeout: 75_000, handleSignals: true },
    security: {
      requestSignature: { secret: process.env['SECRET'] ?? '', replay: { store: new RedisReplayStore(client) } },
      routeConfig: { requestSignature: { includeRoutes: ['/pay'] } },
    },
  });
  app.get('/where', (req, res) => res.json({ ip: req.ip, protocol: req.protocol, id: req.id, pid: process.pid }));
  // Some time passes, so that a restart meets requests under way.
  app.post('/pay', (req, res) => void setTimeout(() => res.json({ paid: req.body, pid: process.pid }), 10));
  app.get('/work', (_req, res) => void setTimeout(() => res.json({ pid: process.pid }), 10));
  app.on('close', () => client.close());
  await app.start();
  console.log(`Listening on http://localhost:${String(process.env['PORT'])}`);
}

void main();
