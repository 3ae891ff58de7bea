import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { type Application, MemoryReplayStore, type ReplayStore, type SecurityOptions, signRequest, type WebhookConfig } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { type Answer, post } from './support/wire';

const INVALID = { error: 'Invalid signature', message: 'Request signature verification failed' };
const EVENT = '{"type":"order.paid","id":7}';
const SECRET = `whsec_${Buffer.from('a secret that has 32 bytes, yes.').toString('base64')}`;
const OTHER = `whsec_${Buffer.from('another one of 32 bytes, surely.').toString('base64')}`;

/** By the services' own libraries; Slack has none that signs. */
const SIGN: Readonly<Record<'standard' | 'stripe' | 'slack', (secret: string, at: number) => Record<string, string>>> = {
  standard: (secret, at) => ({
    'webhook-id': 'msg_1', 'webhook-timestamp': String(Math.floor(at / 1000)), 'webhook-signature': new Webhook(secret).sign('msg_1', new Date(at), EVENT),
  }),
  stripe: (secret, at) => ({ 'Stripe-Signature': Stripe.webhooks.generateTestHeaderString({ payload: EVENT, secret, timestamp: Math.floor(at / 1000) }) }),
  slack: (secret, at) => ({
    'X-Slack-Request-Timestamp': String(Math.floor(at / 1000)),
    'X-Slack-Signature': `v0=${createHmac('sha256', secret).update(`v0:${Math.floor(at / 1000)}:${EVENT}`).digest('hex')}`,
  }),
};
const PRESETS = Object.keys(SIGN) as (keyof typeof SIGN)[];

const running = new Running();
let handled: string[];

beforeEach(() => {
  handled = [];
});

afterEach(() => running.close());

function serve(webhooks: WebhookConfig[], security: SecurityOptions = {}, logger = new LogRecorder()): Promise<number> {
  return running.app((app: Application) => app.post('/**', (req, res) => {
    handled.push(req.url);
    res.json({ ok: true });
  }), { logging: { logger }, security: { ...security, webhooks } });
}

function send(port: number, path: string, headers: Record<string, string>): Promise<Answer> {
  return post(port, path, EVENT, 'application/json', headers);
}

describe.each(PRESETS)('a webhook of %s with a replay store', (preset) => {
  const webhook = (store: ReplayStore, more: Partial<WebhookConfig> = {}): WebhookConfig => ({ path: '/hooks/a', preset, secret: SECRET, replay: { store }, ...more });

  test('passes once; a copy is refused, and a retry that the service signs anew passes', async () => {
    const port = await serve([webhook(new MemoryReplayStore())]);
    const now = Date.now();
    const headers = SIGN[preset](SECRET, now);
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(port, '/hooks/a', headers)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(19).fill(401)]);
    for (const answer of answers.filter(({ status }) => status === 401)) expect(answer.json).toEqual(INVALID);
    expect((await send(port, '/hooks/a?again', headers)).status).toBe(401);
    expect((await send(port, '/hooks/a', SIGN[preset](SECRET, now - 1000))).status).toBe(200);
    expect(handled).toHaveLength(2);
  });

  test('without one it passes as often as it is sent', async () => {
    const port = await serve([{ path: '/hooks/a', preset, secret: SECRET }]);
    const headers = SIGN[preset](SECRET, Date.now());
    for (let i = 0; i < 2; i++) expect((await send(port, '/hooks/a', headers)).status).toBe(200);
  });

  test('is used up on its path, and on no other of the same secret and store', async () => {
    const store = new MemoryReplayStore();
    const port = await serve([webhook(store), webhook(store, { path: '/hooks/b' })]);
    const headers = SIGN[preset](SECRET, Date.now());
    for (const status of [200, 401]) {
      for (const path of ['/hooks/a', '/hooks/b']) expect([path, (await send(port, path, headers)).status]).toEqual([path, status]);
    }
  });

  test('is remembered until no server accepts it any more', async () => {
    const asked: [string, number][] = [];
    const port = await serve([webhook({ claim: (...given) => asked.push(given) > 0 }, { maxAge: 10_000, clockSkew: 20_000 })]);
    const now = Date.now();
    expect((await send(port, '/hooks/a', SIGN[preset](SECRET, now))).status).toBe(200);
    expect(asked).toEqual([[expect.stringMatching(new RegExp(`^webhook:${preset}:/hooks/a:[0-9a-f]{64}$`)), expect.any(Number)]]);
    expect(asked[0]?.[1]).toBeGreaterThan(now + 10_000);
  });

  test('a store that is down or never answers is 503, never a pass', async () => {
    const port = await serve([
      webhook({ claim: () => { throw new Error('down'); } }), webhook({ claim: () => new Promise(() => undefined) }, { path: '/hooks/b', timeout: 1 }),
    ]);
    for (const path of ['/hooks/a', '/hooks/b']) expect((await send(port, path, SIGN[preset](SECRET, Date.now()))).status).toBe(503);
    expect(handled).toEqual([]);
  });
});

test('who drops one of two signatures from the header has no second one', async () => {
  const port = await serve([{ path: '/hooks/a', preset: 'standard', secret: [SECRET, OTHER], replay: { store: new MemoryReplayStore() } }]);
  const now = Date.now();
  const [one, two] = [SIGN.standard(SECRET, now), SIGN.standard(OTHER, now)];
  const both = { ...one, 'webhook-signature': `${one['webhook-signature']} ${two['webhook-signature']}` };
  expect((await send(port, '/hooks/a', both)).status).toBe(200);
  expect((await send(port, '/hooks/a', one)).status).toBe(401);
  expect((await send(port, '/hooks/a', two)).status).toBe(401);
});

test('one store serves webhooks and requestSignature', async () => {
  const store = new MemoryReplayStore();
  const secret = 'the secret of these specs, 32 bytes or more';
  const port = await serve([{ path: '/hooks/a', preset: 'slack', secret: SECRET, replay: { store } }], { requestSignature: { secret, replay: { store } } });
  const own = signRequest({ secret, method: 'POST', url: '/own', body: EVENT });
  const hook = SIGN.slack(SECRET, Date.now());
  for (const status of [200, 401]) {
    expect((await send(port, '/own', own)).status).toBe(status);
    expect((await send(port, '/hooks/a', hook)).status).toBe(status);
  }
});
