/** A server in a process of its own, which lets each signature through once by the Redis at REDIS_SOCKET. */
import { once } from 'node:events';
import { createClient } from 'redis';
import { createServer, RedisReplayStore } from '../../lib/index';

async function main(): Promise<void> {
  const client = createClient({ socket: { path: process.env['REDIS_SOCKET'] ?? '', tls: false, reconnectStrategy: 20 } });
  // Without a listener the loss of the connection would end the process.
  client.on('error', () => undefined);
  await client.connect();

  const app = createServer({
    logging: { level: 'silent' },
    security: {
      requestSignature: { secret: process.env['SECRET'] ?? '', replay: { store: new RedisReplayStore(client, { timeout: 5_000 }) } },
      routeConfig: { requestSignature: { excludeRoutes: ['/runs', '/connected'] } },
    },
  });
  let runs = 0;
  app.post('/pay', (_req, res) => res.json({ runs: ++runs }));
  app.get('/runs', (_req, res) => res.json(runs));
  app.get('/connected', async (_req, res) => {
    if (!client.isReady) await once(client, 'ready');
    res.json(true);
  });

  process.once('SIGTERM', () => {
    client.destroy();
    void app.close({ timeout: 0 });
  });
  const server = await app.start(0, '127.0.0.1');
  const address = server.address();
  if (typeof address === 'object') console.log(`Listening on http://localhost:${address?.port}`);
}

void main();
