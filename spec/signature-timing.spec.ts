import { createHmac, Hmac } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Server, type Socket } from 'node:net';
import { createServer, type ReplayStore, type SecretLookup, signRequest } from 'waypost';
import { HmacScheme } from '../lib/signature/v1/hmac-scheme';
import { isRejection } from '../lib/signature/rejection';
import { WebhookScheme } from '../lib/signature/webhook/webhook';
import { Running } from './support/running';
import { verdictOf } from './support/verdict';
import { ask, head, post, Wire } from './support/wire';

const NOW = 1_700_000_000_000;
const FIRST = 'the first secret of these specs, 32 bytes or more';
const SECOND = 'the second secret of these specs, 32 bytes or more';
const THIRD = 'the third secret of these specs, 32 bytes or more';

const running = new Running();

afterEach(async () => {
  jest.restoreAllMocks();
  await running.close();
});

function comparisons(): jest.SpyInstance {
  return jest.spyOn(jest.requireActual<typeof import('node:crypto')>('node:crypto'), 'timingSafeEqual');
}

function scheme(secret: readonly string[] | SecretLookup): HmacScheme {
  return new HmacScheme({
    secret, algorithm: 'sha256', maxAge: 300_000, clockSkew: 30_000, headerName: 'Svc-Request-Sig', timestampHeaderName: 'X-Timestamp',
    includeBody: true, includeQuery: true, ambiguousBody: 'accept', keyIdHeaderName: 'X-Key-Id',
  });
}

function signed(secret: string, keyId = 'ann'): { method: string; target: string; headers: Record<string, string> } {
  const headers = signRequest({ secret, keyId, method: 'GET', url: '/a', timestamp: NOW });
  return { method: 'GET', target: '/a', headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])) };
}

describe('a signature is compared in constant time', () => {
  test.each([['the first', FIRST], ['the last', THIRD], ['none', 'another']])('with every secret, though %s has signed', async (_name, secret) => {
    const compare = comparisons();
    const verdict = verdictOf(scheme([FIRST, SECOND, THIRD]), signed(secret), undefined, NOW);
    expect([isRejection(verdict), compare.mock.calls.length]).toEqual([secret === 'another', 3]);
  });

  test('once for a key that nobody has, as for one that somebody has', async () => {
    const compare = comparisons();
    const keyed = scheme((keyId) => (keyId === 'ann' ? FIRST : undefined));
    expect(isRejection(verdictOf(keyed, signed(FIRST), undefined, NOW))).toBe(false);
    expect(compare).toHaveBeenCalledTimes(1);
    expect(isRejection(verdictOf(keyed, signed(FIRST, 'eve'), undefined, NOW))).toBe(true);
    expect(compare).toHaveBeenCalledTimes(2);
  });

  test('of digests of as many bytes for a key that nobody has as for one that somebody has', async () => {
    const keyed = scheme((keyId) => (keyId === 'ann' ? FIRST : undefined));
    const crypto = jest.requireActual<typeof import('node:crypto')>('node:crypto');
    const updates = jest.spyOn(Hmac.prototype, 'update');
    const hashes = jest.spyOn(crypto, 'hash');
    const bytes = (keyId: string, body: Buffer): number => {
      updates.mockClear();
      hashes.mockClear();
      expect(isRejection(verdictOf(keyed, signed(FIRST, keyId), body, NOW))).toBe(true);
      return [...updates.mock.calls.map(([data]) => data), ...hashes.mock.calls.map(([, data]) => data)].reduce((sum, data) => sum + Buffer.byteLength(data), 0);
    };
    for (const body of [Buffer.alloc(10_000, '{'), Buffer.alloc(100, '{')]) {
      // The first digest with a key may be made in another way than those that follow.
      for (const keyId of ['ann', 'eve']) bytes(keyId, body);
      const known = bytes('ann', body);
      expect(known).toBeGreaterThan(body.length);
      expect(bytes('eve', body)).toBe(known);
    }
  });

  test('also those of webhooks, each that is offered with each secret', async () => {
    const compare = comparisons();
    const stripe = new WebhookScheme({ path: '/', preset: 'stripe', secrets: [FIRST, SECOND], maxAge: 300_000, clockSkew: 0 });
    const mac = (secret: string): string => createHmac('sha256', secret).update(`${NOW / 1000}.body`).digest('hex');
    const headers = { 'stripe-signature': `t=${NOW / 1000},v1=${mac(FIRST)},v1=${mac(SECOND)},v1=${mac(THIRD)}` };
    expect(isRejection(verdictOf(stripe, { method: 'POST', target: '/', headers }, Buffer.from('body'), NOW))).toBe(false);
    expect(compare).toHaveBeenCalledTimes(6);
  });
});

describe('the age of a signature', () => {
  test('is looked at again when the body is in', async () => {
    const one = scheme([FIRST]);
    expect(isRejection(verdictOf(one, signed(FIRST), undefined, NOW + 300_000))).toBe(false);
    expect(verdictOf(one, signed(FIRST), undefined, NOW + 300_000, NOW + 300_001)).toMatchObject({ failure: 'expired' });
  });

  test('is looked at again when its secret has been waited for, before the store is asked', async () => {
    const claim = jest.fn(() => true);
    const store: ReplayStore = { claim };
    const secret: SecretLookup = async () => {
      jest.spyOn(Date, 'now').mockReturnValue(NOW + 330_001);
      return Promise.resolve(FIRST);
    };
    const port = await running.app((app) => { app.get('/a', (_req, res) => res.send('in')); }, { security: { requestSignature: { secret, replay: { store } } } });
    jest.spyOn(Date, 'now').mockReturnValue(NOW);
    const answer = await ask(port, '/a', { headers: signRequest({ secret: FIRST, keyId: 'ann', method: 'GET', url: '/a', timestamp: NOW }) });
    expect([answer.status, answer.json]).toEqual([401, { error: 'Signature expired', message: 'Request signature has expired' }]);
    expect(claim).not.toHaveBeenCalled();
  });
});

test('a body is verified before it is inflated', async () => {
  const port = await running.app((app) => { app.post('/', (req, res) => res.json(req.body)); }, { security: { requestSignature: { secret: FIRST } } });
  const packed = Buffer.from('this is no gzip');
  const coded = { 'content-encoding': 'gzip' };
  const right = signRequest({ secret: FIRST, method: 'POST', url: '/', body: packed });
  const wrong = signRequest({ secret: SECOND, method: 'POST', url: '/', body: packed });
  expect((await post(port, '/', packed, 'application/json', { ...wrong, ...coded })).status).toBe(401);
  expect((await post(port, '/', packed, 'application/json', { ...right, ...coded })).status).toBe(400);
});

describe('an upgrade', () => {
  test('that is refused is told which scheme would be accepted', async () => {
    const app = createServer({ logging: { level: 'silent' }, security: { requestSignature: { secret: FIRST } } });
    app.on('upgrade', (_req, socket) => socket.end());
    const port = await running.start(app);
    expect(await Wire.tell(port, head('GET /', { Connection: 'Upgrade', Upgrade: 'websocket' })))
      .toContain('WWW-Authenticate: Signature header="Svc-Request-Sig", algorithm="hmac-sha256"\r\n');
  });

  test('whose client left while its secret was waited for reaches no listener', async () => {
    const reached = jest.fn();
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => { open = resolve; });
    const secret: SecretLookup = async () => opened.then(() => FIRST);
    const app = createServer({ logging: { level: 'silent' }, security: { requestSignature: { secret } } });
    app.on('upgrade', reached);
    const port = await running.start(app);
    const asked = once(app.server as Server, 'upgrade') as Promise<[unknown, Socket]>;
    const client = connect(port, '127.0.0.1');
    client.on('error', () => undefined);
    client.write(head('GET /', { Connection: 'Upgrade', Upgrade: 'websocket', ...signRequest({ secret: FIRST, keyId: 'ann', method: 'GET', url: '/' }) }));
    const [, served] = await asked;
    served.destroy();
    open();
    await once(client, 'close');
    expect(reached).not.toHaveBeenCalled();
  });
});
