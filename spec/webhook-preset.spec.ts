import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { verifyKey } from 'discord-interactions';
import fc from 'fast-check';
import type { WebhookPreset } from 'waypost';
import { resolveOptions } from '../lib/options/resolve';
import { isRejection } from '../lib/signature/rejection';
import { WebhookScheme } from '../lib/signature/webhook/webhook';
import { runs } from './support/runs';
import { verdictOf } from './support/verdict';

const SECRET = 'the secret of these specs';
const NOW = 1_700_000_000_000;
const SECONDS = '1700000000';
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const DISCORD_KEY = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url').toString('hex');
const mac = (text: string | Buffer, encoding: 'hex' | 'base64', hash = 'sha256') => createHmac(hash, SECRET).update(text).digest(encoding);

interface Sent {
  headers: Record<string, string>;
  body: string;
  target?: string;
  method?: string;
}

function schemeOf(preset: WebhookPreset, secrets: readonly string[] = [preset === 'discord' ? DISCORD_KEY : SECRET], url = ['square', 'twilio'].includes(preset) ? `https://example.com/${preset}` : undefined) {
  return new WebhookScheme({ path: '/hook', preset, secrets, maxAge: preset === 'paddle' ? 5000 : 300_000, clockSkew: 300_000, url });
}

function reasonOf(preset: WebhookPreset, { headers, body, target = '/hook', method = 'POST' }: Sent, now = NOW, scheme = schemeOf(preset)): string {
  const verdict = verdictOf(scheme, { method, target, headers }, Buffer.from(body), now);
  return isRejection(verdict) ? verdict.reason : '';
}

/** What each service sends for a body; its signature is made here from what the service publishes. */
const SENDERS: Partial<Record<WebhookPreset, (body: string, query?: string) => Sent>> = {
  zoom: (body) => ({ body, headers: { 'x-zm-signature': `v0=${mac(`v0:${SECONDS}:${body}`, 'hex')}`, 'x-zm-request-timestamp': SECONDS } }),
  paddle: (body) => ({ body, headers: { 'paddle-signature': `ts=${SECONDS};h1=${mac(`${SECONDS}:${body}`, 'hex')}` } }),
  discord: (body) => ({ body, headers: { 'x-signature-ed25519': sign(null, Buffer.from(SECONDS + body), privateKey).toString('hex'), 'x-signature-timestamp': SECONDS } }),
  shopify: (body) => ({ body, headers: { 'x-shopify-hmac-sha256': mac(body, 'base64') } }),
  square: (body, query = '') => ({ body, target: `/hook${query}`, headers: { 'x-square-hmacsha256-signature': mac(`https://example.com/square${query}${body}`, 'base64') } }),
  twilio: (body) => {
    const query = `?bodySHA256=${createHash('sha256').update(body).digest('hex')}`;
    return { body, target: `/hook${query}`, headers: { 'x-twilio-signature': mac(`https://example.com/twilio${query}`, 'base64', 'sha1') } };
  },
};
const PRESETS = Object.keys(SENDERS) as (keyof typeof SENDERS)[];

describe.each(PRESETS)('%s', (preset) => {
  const send = SENDERS[preset]!;
  const signed = send('{"a":"ä"}');

  test('takes what the service signs, for any body', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), (body) => {
      expect(reasonOf(preset, send(body))).toBe('');
    }), { numRuns: runs(50) });
  });

  test('refuses another body, method, header and secret, and says so', () => {
    expect(reasonOf(preset, { ...signed, body: '{"a":"b"}' })).not.toBe('');
    expect(reasonOf(preset, { ...signed, method: 'GET' })).toMatch(/sent by POST/);
    expect(reasonOf(preset, { ...signed, headers: {} })).toMatch(/header is absent/);
    expect(reasonOf(preset, signed, NOW, schemeOf(preset, [preset === 'discord' ? 'ab'.repeat(32) : 'another']))).toMatch(/no signature matches/);
    for (const name of Object.keys(signed.headers)) {
      for (const value of ['', 'x', `${signed.headers[name]}, x`, `x, ${signed.headers[name]}`, ` ${signed.headers[name]}`, `${signed.headers[name]}${preset === 'paddle' ? ';h1=x' : '='}`, 'a'.repeat(5000)]) {
        expect(reasonOf(preset, { ...signed, headers: { ...signed.headers, [name]: value } })).not.toBe('');
      }
    }
  });

  test('any of several secrets holds', () => {
    const own = preset === 'discord' ? DISCORD_KEY : SECRET;
    expect(reasonOf(preset, signed, NOW, schemeOf(preset, ['cd'.repeat(32), own]))).toBe('');
    expect(reasonOf(preset, signed, NOW, schemeOf(preset, [own, 'cd'.repeat(32)]))).toBe('');
  });
});

test.each(['zoom', 'discord'] as const)('%s: the time is signed, and holds for maxAge in whole seconds', (preset) => {
  const signed = SENDERS[preset]!('{}');
  expect(reasonOf(preset, signed, NOW + 300_999)).toBe('');
  expect(reasonOf(preset, signed, NOW + 301_000)).toMatch(/ms old/);
  const [, time] = Object.keys(signed.headers) as [string, string];
  expect(reasonOf(preset, { ...signed, headers: { ...signed.headers, [time]: '1700000001' } })).toMatch(/no signature matches/);
  for (const odd of ['170000000', '17000000000', '1.7e9', '', ' 1700000000']) expect(reasonOf(preset, { ...signed, headers: { ...signed.headers, [time]: odd } })).toMatch(/10 decimal digits/);
});

describe('paddle, as its library', () => {
  const h1 = (ts: string) => mac(`${ts}:{}`, 'hex');
  const bad = 'a'.repeat(64);
  test.each([
    [`ts=${SECONDS};h1=${bad};h1=${h1(SECONDS)}`, true], [`ts=${SECONDS};h1=${h1(SECONDS)};h1=${bad}`, false], [`h1=${h1(SECONDS)};ts=${SECONDS}`, true],
    [`ts=1;ts=${SECONDS};h1=${h1(SECONDS)}`, true], [`ts=${SECONDS};ts=1699999999;h1=${h1(SECONDS)}`, false], [`ts=${SECONDS};h1=${h1(SECONDS)};h1=`, true],
    [`ts=${SECONDS};h1=${h1(SECONDS)};x`, true], [`ts=${SECONDS};h2=${h1(SECONDS)}`, false], [`ts=${SECONDS},h1=${h1(SECONDS)}`, false], [`ts=${SECONDS};h1=${h1(SECONDS).toUpperCase()}`, false],
  ])('%s: %s', (header, holds) => {
    expect(reasonOf('paddle', { body: '{}', headers: { 'paddle-signature': header } }) === '').toBe(holds);
  });

  test('five seconds, to the millisecond, unless maxAge says otherwise', () => {
    const signed = SENDERS.paddle!('{}');
    expect([NOW + 5000, NOW + 5001].map((now) => reasonOf('paddle', signed, now) === '')).toEqual([true, false]);
    const resolved = (more: object) => resolveOptions({ security: { webhooks: [{ path: '/a', preset: 'paddle', secret: SECRET, ...more }] } }, {}).security.webhooks[0]!.maxAge;
    expect([resolved({}), resolved({ maxAge: 60_000 })]).toEqual([5000, 60_000]);
  });
});

describe('discord', () => {
  test('agrees with discord-interactions', async () => {
    await fc.assert(fc.asyncProperty(fc.string({ maxLength: 9 }), fc.constantFrom('', '0', 'ff'), fc.boolean(), async (body, prefix, isOther) => {
      const { headers } = SENDERS.discord!(body);
      const signature = prefix + headers['x-signature-ed25519']!.slice(prefix.length);
      const sent = isOther ? `${body}x` : body;
      expect(reasonOf('discord', { body: sent, headers: { ...headers, 'x-signature-ed25519': signature } }) === '').toBe(await verifyKey(sent, signature, SECONDS, DISCORD_KEY));
    }), { numRuns: runs(40) });
  });

  test('a secret that is no public key throws, and is not shown', () => {
    expect(() => schemeOf('discord', [SECRET])).toThrow(/64 hexadecimal digits/);
    expect(() => schemeOf('discord', [SECRET])).not.toThrow(new RegExp(SECRET));
  });
});

describe('twilio', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' };
  const send = (body: string, text: string, { query = '', url = 'https://example.com/twilio', headers = form as Record<string, string> } = {}): Sent =>
    ({ body, target: `/hook${query}`, headers: { ...headers, 'x-twilio-signature': mac(url + query + text, 'base64', 'sha1') } });

  test('the example of its documentation', () => {
    const scheme = new WebhookScheme({ path: '/hook', preset: 'twilio', secrets: ['12345'], maxAge: 1, clockSkew: 1, url: 'https://mycompany.com/myapp.php' });
    const body = 'CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212';
    expect(reasonOf('twilio', { body, target: '/hook?foo=1&bar=2', headers: { ...form, 'x-twilio-signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=' } }, NOW, scheme)).toBe('');
  });

  test('names are sorted, and the values of one name too, each once', () => {
    expect(reasonOf('twilio', send('b=2&a=1', 'a1b2'))).toBe('');
    expect(reasonOf('twilio', send('a=2&a=1&a=2', 'a1a2'))).toBe('');
    expect(reasonOf('twilio', send('a=2&a=1', 'a2a1'))).toMatch(/no signature matches/);
    expect(reasonOf('twilio', send('a=%C3%A4+b', 'aä b'))).toBe('');
    expect(reasonOf('twilio', send('', ''))).toBe('');
  });

  test('the query and the address count, with and without the port of the scheme', () => {
    expect(reasonOf('twilio', send('a=1', 'a1', { query: '?x=1' }))).toBe('');
    expect(reasonOf('twilio', { ...send('a=1', 'a1', { query: '?x=1' }), target: '/hook?x=2' })).toMatch(/no signature matches/);
    expect(reasonOf('twilio', send('a=1', 'a1', { url: 'https://example.com:443/twilio' }))).toBe('');
    expect(reasonOf('twilio', send('a=1', 'a1', { url: 'https://example.com:8443/twilio' }))).toMatch(/no signature matches/);
    const ported = schemeOf('twilio', [SECRET], 'https://example.com:8443/twilio');
    expect(reasonOf('twilio', send('a=1', 'a1', { url: 'https://example.com:8443/twilio' }), NOW, ported)).toBe('');
    expect(reasonOf('twilio', send('a=1', 'a1'), NOW, ported)).toBe('');
  });

  test('a body that is no form is signed by its hash alone: without one it is refused', () => {
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencodedx', '']) expect(reasonOf('twilio', send('{}', '', { headers: { 'content-type': type } }))).toMatch(/not of the kind/);
    const hash = createHash('sha256').update('{}').digest('hex');
    const signed = send('{}', '', { query: `?bodySHA256=${hash}`, headers: {} });
    expect(reasonOf('twilio', signed)).toBe('');
    expect(reasonOf('twilio', { ...signed, body: '[]' })).toMatch(/hash is signed/);
    expect(reasonOf('twilio', send('{}', '', { query: '?bodySHA256=aa' }))).toMatch(/hash is signed/);
  });
});

test('svix is Standard Webhooks by its own headers, and takes the others too', () => {
  const key = Buffer.from('0123456789abcdef01234567');
  const secrets = [`whsec_${key.toString('base64')}`];
  const value = `v1,${createHmac('sha256', key).update(`msg.${SECONDS}.{}`).digest('base64')}`;
  for (const prefix of ['svix', 'webhook']) {
    const headers = { [`${prefix}-id`]: 'msg', [`${prefix}-timestamp`]: SECONDS, [`${prefix}-signature`]: value };
    for (const preset of ['svix', 'standard'] as const) {
      expect(reasonOf(preset, { body: '{}', headers }, NOW, schemeOf(preset, secrets))).toBe('');
      expect(reasonOf(preset, { body: '[]', headers }, NOW, schemeOf(preset, secrets))).toMatch(/no signature matches/);
    }
  }
  expect(schemeOf('svix', secrets).headerName).toBe('svix-signature');
});

test('the same webhook has one name for a replay store, however it is signed', () => {
  const digestOf = (preset: WebhookPreset, sent: Sent, scheme = schemeOf(preset)) => {
    const verdict = verdictOf(scheme, { method: 'POST', target: sent.target ?? '/hook', headers: sent.headers }, Buffer.from(sent.body), NOW);
    return 'digest' in verdict ? verdict.digest : undefined;
  };
  for (const preset of ['zoom', 'paddle', 'discord'] as const) {
    const digest = digestOf(preset, SENDERS[preset]!('{}'));
    expect(digest).toMatch(new RegExp(`^webhook:${preset}:/hook:[0-9a-f]{64}$`));
    expect(digestOf(preset, SENDERS[preset]!('[]'))).not.toBe(digest);
  }
});

describe('options', () => {
  const message = (entry: object) => {
    try {
      resolveOptions({ security: { webhooks: [{ path: '/a', secret: SECRET, ...entry }] } }, {});
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  test.each<[object, RegExp]>([
    [{ preset: 'square' }, /webhooks\[0\]\.url must be the address that square calls/], [{ preset: 'twilio' }, /url must be the address that twilio calls/],
    [{ preset: 'twilio', url: '/a' }, /url must be an absolute http/], [{ preset: 'twilio', url: 'https://a/?b' }, /without a query/], [{ preset: 'zoom', url: 'https://a/' }, /url must be left out with preset "zoom"/],
    [{ preset: 'shopify', maxAge: 1 }, /maxAge must be left out with preset "shopify"/], [{ preset: 'twilio', url: 'https://a/', replay: { store: { claim: () => true } } }, /replay must be left out with preset "twilio"/],
  ])('%j is refused', (entry, reason) => {
    expect(message(entry)).toMatch(reason);
  });

  test.each(['zoom', 'paddle', 'shopify', 'discord', 'svix'])('%s needs no more than path and secret', (preset) => {
    expect(message({ preset })).toBe('');
  });
});
