import { execFileSync } from 'node:child_process';
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { createSigner, createVerifier, httpbis } from 'http-message-signatures';
import { contentDigest } from '../lib/signature/v2/content-digest';
import { messageMac, signatureBase } from '../lib/signature/v2/message-base';
import { signMessage } from '../lib/signature/v2/message-sign';
import { signRequest } from '../lib/signature/sign';
import { MessageSignatureScheme } from '../lib/signature/v2/message-signature';
import { config, failureOf, NONCE, NOW, reasonOf, schemeOf, SECRET, signed } from './support/signed-message';

const ORIGIN = 'https://example.com';

/** Targets that a URL parser leaves as they are: the other library signs what it parses. */
const targets = fc.tuple(fc.webPath(), fc.option(fc.webQueryParameters(), { nil: undefined }))
  .map(([path, query]) => new URL(`${ORIGIN}${path}${query === undefined || query === '' ? '' : `?${query}`}`))
  .map(({ pathname, search }) => pathname + search);
const values = fc.string({ unit: fc.constantFrom(...'aZ09 "\\,;=:()\t-_./?%'), maxLength: 20 }).map((text) => text.trim());
const requests = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'),
  target: targets,
  body: fc.option(fc.uint8Array({ minLength: 1, maxLength: 30 }).map((bytes) => Buffer.from(bytes)), { nil: undefined }),
  headers: fc.dictionary(fc.constantFrom('content-type', 'x-one', 'x-two', 'date', 'authorization'), values),
  nonce: fc.string({ unit: fc.constantFrom(...'abz09"\\ '), minLength: 16, maxLength: 20 }),
});

describe('http-message-signatures', () => {
  const key = createSigner(SECRET, 'hmac-sha256');
  const verify = createVerifier(SECRET, 'hmac-sha256');
  const keyLookup = async () => ({ algs: ['hmac-sha256'], verify });

  test('verifies what is signed here', async () => {
    await fc.assert(fc.asyncProperty(requests, async ({ method, target, body, headers, nonce }) => {
      const message = { secret: SECRET, method, target, body, headers: { ...headers, host: 'example.com' }, nonce, covers: [...Object.keys(headers), '@authority', '@request-target'] };
      const sent = { ...headers, host: 'example.com', ...signMessage(message) };
      const config = { keyLookup, requiredFields: ['@method', '@path', '@query', ...Object.keys(headers)], requiredParams: ['created', 'nonce', 'alg'] };
      expect(await httpbis.verifyMessage(config, { method, url: ORIGIN + target, headers: sent })).toBe(true);
      expect(await httpbis.verifyMessage(config, { method, url: `${ORIGIN}${target}x`, headers: sent })).toBe(false);
    }), { numRuns: 300 });
  });

  test('signs what is verified here', async () => {
    await fc.assert(fc.asyncProperty(requests, fc.boolean(), async ({ method, target, body, headers, nonce }, withAlg) => {
      const sent: Record<string, string> = { ...headers, host: 'example.com', ...(body === undefined ? {} : { 'content-digest': contentDigest(body) }) };
      const message = await httpbis.signMessage({
        key, name: 'theirs',
        fields: ['@authority', '@path', '@method', '@query', ...Object.keys(sent)],
        params: ['nonce', 'created', ...(withAlg ? ['alg', 'expires'] : ['keyid'])],
        paramValues: { nonce, created: new Date(NOW), expires: new Date(NOW + 60_000), keyid: 'a key' },
      }, { method, url: ORIGIN + target, headers: sent });
      const received = { method, target, body, headers: lowerCased(message.headers as Record<string, string>) };
      expect(failureOf(received)).toBeUndefined();
      expect(failureOf({ ...received, target: `${target}x` })).toBe('invalid');
      expect(failureOf({ ...received, body: Buffer.from('another') })).toBe('invalid');
    }), { numRuns: 300 });
  });

  const newPair = generateKeyPairSync as unknown as (type: string, options: object) => { publicKey: KeyObject; privateKey: KeyObject };
  test.each([
    ['ed25519', newPair('ed25519', {})], ['ecdsa-p256-sha256', newPair('ec', { namedCurve: 'P-256' })], ['ecdsa-p384-sha384', newPair('ec', { namedCurve: 'P-384' })],
    ['rsa-pss-sha512', newPair('rsa', { modulusLength: 2048 })], ['rsa-v1_5-sha256', newPair('rsa', { modulusLength: 2048 })],
  ] as const)('agrees on %s, in both directions, with its default parameters and with parts that are read', async (algorithm, { publicKey, privateKey }) => {
    const url = `${ORIGIN}/a/b?b=1&c=x%20y`;
    const headers: Record<string, string> = { 'host': 'example.com', 'x-a': 'b=1,   c', 'content-type': 'text/plain', 'content-digest': contentDigest('body') };
    const covers = ['x-a;sf', 'x-a;key="b"', 'x-a;bs', '@target-uri', '@authority', '@scheme', '@query-param;name="c"'];
    const scheme = new MessageSignatureScheme({ ...config, secret: [], keys: { key: publicKey, id: 'k', algorithm }, nonce: 'optional', covers });
    // Their signature: created, expires, keyid and alg, and no nonce.
    const theirs = await httpbis.signMessage({ key: createSigner(privateKey, algorithm, 'k'), fields: ['@method', '@target-uri', '@authority', '@scheme', 'content-digest', 'content-type', ...covers.filter((name) => name.includes(';'))], paramValues: { created: new Date(NOW) } }, { method: 'POST', url, headers });
    const received = { method: 'POST', target: '/a/b?b=1&c=x%20y', body: Buffer.from('body'), headers: lowerCased(theirs.headers as Record<string, string>), client: { protocol: 'https' } };
    expect(reasonOf(received, scheme)).toBe('');
    expect(failureOf({ ...received, target: '/a/b?b=1&c=x%20z' }, scheme)).toBe('invalid');
    const { 'content-digest': _, ...given } = headers;
    const ours = signRequest({ version: 2, key: privateKey, algorithm, keyId: 'k', method: 'POST', url, body: 'body', headers: given, covers });
    const keyLookup = async () => ({ algs: [algorithm], verify: createVerifier(publicKey, algorithm) });
    expect(await httpbis.verifyMessage({ keyLookup }, { method: 'POST', url, headers: { ...given, ...ours } })).toBe(true);
    expect(await httpbis.verifyMessage({ keyLookup }, { method: 'PUT', url, headers: { ...given, ...ours } })).toBe(false);
  });

  test('has a base of its own for what it is given, and it is this one', async () => {
    await fc.assert(fc.asyncProperty(requests, async ({ method, target, headers }) => {
      const components = ['@method', '@path', '@query', '@request-target', ...Object.keys(headers)];
      const theirs = httpbis.formatSignatureBase(httpbis.createSignatureBase({ fields: components }, { method, url: ORIGIN + target, headers }));
      expect(signatureBase({ method, target, headers }, components, '()')).toEqual({ base: `${theirs}\n"@signature-params": ()` });
    }), { numRuns: 300 });
  });

  // What it lets through is why it is the oracle of these specs, and not what checks.
  test.each([
    ['a path that its URL parser has normalised', 'https://example.com/a/../b', 'x=', 'x='],
    ['a label that stands twice', 'https://example.com/b', 'x=("@method"), x=', 'x=:AAAA:, x='],
    ['a second signature', 'https://example.com/b', 'y=();created=1, x=', 'y=:AAAA:, x='],
  ])('accepts %s, which is refused here', async (_, url, inputPrefix, signaturePrefix) => {
    const text = `("@method" "@path" "@query");created=${NOW / 1000};nonce="${NONCE}"`;
    const lines = signatureBase({ method: 'GET', target: '/b', headers: {} }, ['@method', '@path', '@query'], text);
    const value = messageMac(SECRET, 'base' in lines ? lines.base : '').toString('base64');
    const headers = { 'signature-input': `${inputPrefix}${text}`, signature: `${signaturePrefix}:${value}:` };
    expect(await httpbis.verifyMessage({ keyLookup }, { method: 'GET', url, headers })).toBe(true);
    expect(failureOf({ method: 'GET', target: url.slice(ORIGIN.length), headers })).toBe('invalid');
  });
});

describe('openssl', () => {
  const openssl = (input: string | Buffer, ...args: string[]) => execFileSync('openssl', ['dgst', ...args, '-binary'], { input }).toString('base64');

  test('computes the same MAC over a base that is written by hand', () => {
    const body = '{"to":"bob","sum":1}';
    const parameters = `("@method" "@path" "@query" "content-digest" "content-type");created=1700000000;nonce="${NONCE}";alg="hmac-sha256"`;
    const base = [
      '"@method": POST',
      '"@path": /pay',
      '"@query": ?for=tea%20and%20cake',
      `"content-digest": sha-256=:${openssl(body, '-sha256')}:`,
      '"content-type": application/json',
      `"@signature-params": ${parameters}`,
    ].join('\n');
    const received = signed({ method: 'POST', target: '/pay?for=tea%20and%20cake', body, nonce: NONCE, headers: { 'Content-Type': 'application/json' } });
    expect(received.headers).toEqual({
      'content-type': 'application/json',
      'content-digest': `sha-256=:${openssl(body, '-sha256')}:`,
      'signature-input': `sig1=${parameters}`,
      signature: `sig1=:${openssl(base, '-sha256', '-hmac', SECRET)}:`,
    });
    expect(failureOf(received)).toBeUndefined();
  });

  test('computes the MAC of RFC 9421 B.2.5', () => {
    const base = [
      '"date": Tue, 20 Apr 2021 02:07:55 GMT', '"@authority": example.com', '"content-type": application/json',
      '"@signature-params": ("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"',
    ].join('\n');
    const secret = Buffer.from('uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==', 'base64');
    expect(openssl(base, '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${secret.toString('hex')}`)).toBe('pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=');
    expect(messageMac(secret, base).toString('base64')).toBe('pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=');
  });

  test('computes digests of 512 bits that are taken too', () => {
    const body = Buffer.from([0, 255, 254, 10, 13]);
    const digest = `sha-512=:${openssl(body, '-sha512')}:`;
    const text = `("@method" "@path" "@query" "content-digest");created=1700000000;nonce="${NONCE}"`;
    const base = `"@method": PUT\n"@path": /\n"@query": ?\n"content-digest": ${digest}\n"@signature-params": ${text}`;
    const mac = createHmac('sha256', SECRET).update(base).digest('base64');
    const received = { method: 'PUT', target: '/', body, headers: { 'content-digest': digest, 'signature-input': `s=${text}`, signature: `s=:${mac}:` } };
    expect(failureOf(received, schemeOf())).toBeUndefined();
    expect(failureOf({ ...received, body: Buffer.from([0, 255, 255, 10, 13]) })).toBe('invalid');
  });
});

function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
