import { createClient } from 'redis';
import { Webhook } from 'standardwebhooks';
import { createServer, RedisReplayStore } from 'waypost';
import { RedisServer } from './redis-server';

const EVENT = '{"type":"order.paid","id":7}';
const [OLD, NEW] = ['a secret that has 32 bytes, yes.', 'another one of 32 bytes, surely.'].map((text) => `whsec_${Buffer.from(text).toString('base64')}`) as [string, string];

test('a webhook that was used before a restart with a new secret stays used', async () => {
  const redis = await RedisServer.start();
  const client = createClient({ socket: { path: redis.socket, tls: false } }).on('error', () => undefined);
  await client.connect();
  try {
    const store = new RedisReplayStore(client);
    const at = new Date();
    const headers = {
      'content-type': 'application/json',
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(OLD).sign('msg_1', at, EVENT),
    };
    const statuses: number[] = [];
    for (const secret of [[OLD], [NEW, OLD], [OLD, NEW], [OLD]]) {
      const app = createServer({ logging: { level: 'silent' }, security: { webhooks: [{ path: '/hook', preset: 'standard', secret, replay: { store } }] } });
      app.post('/hook', (_req, res) => res.send('done'));
      statuses.push((await app.inject({ method: 'POST', url: '/hook', headers, payload: EVENT })).statusCode);
    }
    expect(statuses).toEqual([200, 401, 401, 401]);
  } finally {
    client.destroy();
    await redis.close();
  }
});
