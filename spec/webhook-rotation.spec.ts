import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { createServer, MemoryReplayStore, type ReplayStore, type SecurityOptions, signRequest } from 'waypost';

const EVENT = '{"type":"order.paid","id":7}';
const SECRETS = ['a secret that has 32 bytes, yes.', 'another one of 32 bytes, surely.', 'the third one, of 32 bytes also.']
  .map((text) => `whsec_${Buffer.from(text).toString('base64')}`);

type Headers = Record<string, string>;

/** A way of signing, with what its headers are when some secrets sign at once: a service does so while it changes its secret. */
interface Kind {
  readonly severally: boolean;
  sign(secrets: readonly string[], at: number): Headers;
  options(secret: string[], store: ReplayStore): SecurityOptions;
}

function webhook(preset: 'standard' | 'stripe' | 'slack', severally: boolean, sign: Kind['sign']): Kind {
  return { severally, sign, options: (secret, store) => ({ webhooks: [{ path: '/hook', preset, secret, replay: { store } }] }) };
}

const KINDS: Readonly<Record<string, Kind>> = {
  standard: webhook('standard', true, (secrets, at) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign('msg_1', new Date(at), EVENT)).join(' '),
  })),
  stripe: webhook('stripe', true, (secrets, at) => {
    const timestamp = Math.floor(at / 1000);
    const signed = secrets.map((secret) => Stripe.webhooks.generateTestHeaderString({ payload: EVENT, secret, timestamp }).split(',')[1]);
    return { 'stripe-signature': [`t=${timestamp}`, ...signed].join(',') };
  }),
  slack: webhook('slack', false, ([secret = ''], at) => ({
    'x-slack-request-timestamp': String(Math.floor(at / 1000)),
    'x-slack-signature': `v0=${createHmac('sha256', secret).update(`v0:${Math.floor(at / 1000)}:${EVENT}`).digest('hex')}`,
  })),
  'version 1': {
    severally: false,
    sign: ([secret = ''], at) => signRequest({ secret, method: 'POST', url: '/hook', body: EVENT, timestamp: at }),
    options: (secret, store) => ({ requestSignature: { secret, replay: { store } } }),
  },
  'version 2': {
    severally: false,
    sign: ([secret = ''], at) => signRequest({ secret, version: 2, method: 'POST', url: '/hook', body: EVENT, headers: { 'content-type': 'application/json' }, nonce: 'the same one at each signing', timestamp: at }),
    options: (secret, store) => ({ requestSignature: { secret, version: 2, replay: { store } } }),
  },
};

/** What an application with these secrets, started anew, answers to a delivery. */
async function deliver({ options }: Kind, store: ReplayStore, secrets: string[], headers: Headers): Promise<number> {
  const app = createServer({ env: 'test', logging: { level: 'silent' }, security: options(secrets, store) });
  app.post('/hook', (_req, res) => res.send('done'));
  const { statusCode } = await app.inject({ method: 'POST', url: '/hook', headers: { ...headers, 'content-type': 'application/json' }, payload: EVENT });
  return statusCode;
}

describe.each(Object.entries(KINDS))('%s', (_name, kind) => {
  const [old, fresh] = SECRETS as [string, string];

  test('what has passed does not pass again when a new secret is put before or behind the old one', async () => {
    for (const later of [[fresh, old], [old, fresh], [old]]) {
      const store = new MemoryReplayStore({ maxEntries: 100 });
      const headers = kind.sign([old], Date.now());
      expect(await deliver(kind, store, [old], headers)).toBe(200);
      expect([later, await deliver(kind, store, later, headers)]).toEqual([later, 401]);
    }
  });

  test('by any rotation, whatever signatures of a delivery are offered, it passes once', async () => {
    const some = fc.shuffledSubarray(SECRETS, { minLength: 1 });
    const offered = kind.severally ? some : fc.constant(SECRETS.slice(0, 1));
    await fc.assert(fc.asyncProperty(fc.array(fc.record({ known: some, offered }), { minLength: 2, maxLength: 6 }), async (steps) => {
      const store = new MemoryReplayStore({ maxEntries: 100 });
      const at = Date.now();
      let isUsed = false;
      for (const step of steps) {
        const isValid = step.known.some((secret) => step.offered.includes(secret));
        expect(await deliver(kind, store, step.known, kind.sign(step.offered, at))).toBe(isValid && !isUsed ? 200 : 401);
        isUsed ||= isValid;
      }
    }), { numRuns: 15 });
  });

  test('another time of signing is another delivery', async () => {
    const store = new MemoryReplayStore({ maxEntries: 100 });
    for (const at of [Date.now(), Date.now() - 5000]) expect(await deliver(kind, store, [old], kind.sign([old], at))).toBe(200);
  });
});

test('deliveries that differ in what is signed have digests that differ, and those of other presets and paths', async () => {
  const digests: string[] = [];
  const store: ReplayStore = { claim: (digest) => digests.push(digest) > 0 };
  for (const [name, { options, sign }] of Object.entries(KINDS).slice(0, 3)) {
    for (const path of ['/hook', '/hook:a', '/a']) {
      const [given] = options([SECRETS[0] as string], store).webhooks ?? [];
      const app = createServer({ env: 'test', logging: { level: 'silent' }, security: { webhooks: [{ ...given!, path }] } });
      app.post('/**', (_req, res) => res.send('done'));
      const { statusCode } = await app.inject({ method: 'POST', url: path, headers: sign([SECRETS[0] as string], Date.now()), payload: EVENT });
      expect([name, path, statusCode]).toEqual([name, path, 200]);
    }
  }
  expect(new Set(digests).size).toBe(9);
});
