import { createHash } from 'node:crypto';
import { contentDigest, digestsMatch, parseContentDigest } from '../lib/signature/v2/content-digest';
import { componentValue, messageMac, signatureBase } from '../lib/signature/v2/message-base';
import { parseMessageSignature } from '../lib/signature/v2/message-input';
import { signMessage } from '../lib/signature/v2/message-sign';
import { MessageSignatureScheme } from '../lib/signature/v2/message-signature';
import { failureBody, isRejection } from '../lib/signature/rejection';
import { noise } from './support/noise';
import { check, config, failureOf, NONCE, NOW, reasonOf, schemeOf, SECRET, signed } from './support/signed-message';
import { laterVerdictOf, partsOf, refusalOf, verdictOf } from './support/verdict';

const json = { 'Content-Type': 'application/json' };

/** RFC 9421 appendix B.2: the request of its examples. */
const rfcRequest = {
  method: 'POST',
  target: '/foo?param=Value&Pet=dog',
  headers: {
    host: 'example.com',
    date: 'Tue, 20 Apr 2021 02:07:55 GMT',
    'content-type': 'application/json',
    'content-digest': 'sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:',
    'content-length': '18',
  },
};
const rfcBody = Buffer.from('{"hello": "world"}');
const rfcSecret = Buffer.from('uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==', 'base64');

function baseOf(components: string[], parameters: string, request: typeof rfcRequest | { method: string; target: string; headers: Record<string, string> } = rfcRequest): string {
  const lines = signatureBase(request, components, parameters);
  if ('lacks' in lines) throw new Error(`no value for ${lines.lacks}`);
  return lines.base;
}

describe('the vectors of the RFCs', () => {
  test('RFC 9421 B.2.5: base and MAC of hmac-sha256', () => {
    const parameters = '("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"';
    const base = baseOf(['date', '@authority', 'content-type'], parameters);
    expect(base).toBe([
      '"date": Tue, 20 Apr 2021 02:07:55 GMT',
      '"@authority": example.com',
      '"content-type": application/json',
      '"@signature-params": ("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"',
    ].join('\n'));
    expect(messageMac(rfcSecret, base).toString('base64')).toBe('pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=');
  });

  test('RFC 9421 B.2.5 is refused as it stands: it has no nonce and leaves the path open', () => {
    const headers = {
      ...rfcRequest.headers,
      'signature-input': 'sig-b25=("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"',
      signature: 'sig-b25=:pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=:',
    };
    expect(reasonOf({ ...rfcRequest, headers, body: rfcBody }, schemeOf(), 1_618_884_473_000)).toMatch(/nonce/);
    expect(parseMessageSignature(headers)).toMatchObject({ failure: 'invalid' });
  });

  test('RFC 9421 section 2.5: the base of its example', () => {
    const components = ['@method', '@authority', '@path', 'content-digest', 'content-length', 'content-type'];
    const parameters = '("@method" "@authority" "@path" "content-digest" "content-length" "content-type");created=1618884473;keyid="test-key-rsa-pss"';
    expect(baseOf(components, parameters)).toBe([
      '"@method": POST',
      '"@authority": example.com',
      '"@path": /foo',
      '"content-digest": sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:',
      '"content-length": 18',
      '"content-type": application/json',
      `"@signature-params": ${parameters}`,
    ].join('\n'));
  });

  test.each([
    ['@method', 'POST', '/path?param=value', 'POST'],
    ['@path', 'GET', '/path?param=value', '/path'],
    ['@path', 'GET', '/', '/'],
    ['@path', 'GET', '/a/../%2e%2E//b', '/a/../%2e%2E//b'],
    ['@query', 'POST', '/path?param=value&foo=bar&baz=bat%2Dman', '?param=value&foo=bar&baz=bat%2Dman'],
    ['@query', 'POST', '/path?queryString', '?queryString'],
    ['@query', 'POST', '/path?a?b', '?a?b'],
    ['@query', 'POST', '/path?', '?'],
    ['@query', 'POST', '/path', '?'],
    ['@request-target', 'GET', '/path?param=value', '/path?param=value'],
    ['@authority', 'GET', '/', 'www.example.com:8080'],
  ])('RFC 9421 section 2.2: %s of %s %s', (component, method, target, value) => {
    expect(componentValue({ method, target, headers: { host: 'WWW.example.com:8080' } }, component)).toBe(value);
  });

  test.each(['@status', '@target-uri', '@scheme', '@query-param', '@signature-params', '@', '@METHOD', 'Date', 'x y', 'constructor', '__proto__', 'x-absent', ''])(
    'there is no component %j',
    (component) => expect(componentValue({ ...rfcRequest, headers: { ...rfcRequest.headers, Date: 'x' } }, component)).toBeUndefined(),
  );

  test('an empty Host is no authority', () => {
    expect(componentValue({ ...rfcRequest, headers: { host: '' } }, '@authority')).toBeUndefined();
    expect(componentValue({ ...rfcRequest, headers: {} }, '@authority')).toBeUndefined();
  });

  test('RFC 9421 section 2.1: white space around a field goes, and within it stays', () => {
    const headers = { 'x-ows-header': '   Leading and trailing whitespace.   ', 'x-empty-header': '', 'example-dict': ' a=1,    b=2;x=1;y=2,   c=(a   b   c)' };
    expect(componentValue({ ...rfcRequest, headers }, 'x-ows-header')).toBe('Leading and trailing whitespace.');
    expect(componentValue({ ...rfcRequest, headers }, 'x-empty-header')).toBe('');
    expect(componentValue({ ...rfcRequest, headers }, 'example-dict')).toBe('a=1,    b=2;x=1;y=2,   c=(a   b   c)');
  });

  test('RFC 9530: digests of its examples', () => {
    const body = Buffer.from('{"hello": "world"}\n');
    expect(contentDigest(body)).toBe('sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:');
    expect(contentDigest('{"hello": "world"}')).toBe('sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:');
    expect(contentDigest('')).toBe('sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:');
    const sha512 = 'sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:';
    expect(digestsMatch(parseContentDigest(sha512)!, body)).toBe(true);
    expect(digestsMatch(parseContentDigest(rfcRequest.headers['content-digest'])!, rfcBody)).toBe(true);
    expect(digestsMatch(parseContentDigest(sha512)!, rfcBody)).toBe(false);
  });
});

describe('Content-Digest', () => {
  const [a, b] = [contentDigest('a'), contentDigest('b')];
  const sha512ofA = `sha-512=:${hash512('a')}:`;

  test('all of its digests must be the body\'s', () => {
    expect(matches(a, 'a')).toBe(true);
    expect(matches(a, 'b')).toBe(false);
    expect(matches(`${a}, ${sha512ofA}`, 'a')).toBe(true);
    expect(matches(`${b}, ${sha512ofA}`, 'a')).toBe(false);
    expect(matches(`${a}, sha-512=:${hash512('b')}:`, 'a')).toBe(false);
  });

  test('deprecated and unknown hashes neither help nor harm', () => {
    expect(matches(`md5=:DMF1ucDxtqgxw5niaXcmYQ==:, ${a}`, 'a')).toBe(true);
    expect(matches(`${a}, unixsum=1, x`, 'a')).toBe(true);
    expect(parseContentDigest('md5=:DMF1ucDxtqgxw5niaXcmYQ==:')).toBeUndefined();
    expect(digestsMatch([], Buffer.from('a'))).toBe(false);
  });

  test.each([
    '', 'sha-256', 'sha-256=a', 'sha-256="a"', 'sha-256=()', 'sha-256=::', 'sha-256=:AAAA:', `${a};x`, `${a},`, `${a},${sha512ofA}`, `${a}, ${a}`, `${b}, ${a}`,
    `${a} `, a.replace('=:', ':'), a.replace('sha', 'SHA'), a.slice(0, -1), a.replace('=:', '=: '), `sha-512=${a.slice(8)}`, `${a}, sha-512=:AAAA:`,
  ])('%j is no digest', (text) => {
    expect(parseContentDigest(text)).toBeUndefined();
  });

  function matches(text: string, body: string): boolean {
    return digestsMatch(parseContentDigest(text)!, Buffer.from(body));
  }
});

describe('the check of a message signature', () => {
  test('accepts what signMessage signs, and says until when and as what it can be used', () => {
    const received = signed({ method: 'POST', target: '/a?b=1', body: '{}', headers: json });
    const mac = /^sig1=:(.*):$/.exec(received.headers['signature']!)![1]!;
    expect(check(received)).toEqual({ digest: Buffer.from(mac, 'base64').toString('hex'), expires: NOW + 330_000, keyId: undefined });
    expect(check(signed({ expires: NOW + 10_000 }))).toMatchObject({ expires: NOW + 40_000 });
    expect(check(signed({ expires: NOW + 900_000 }))).toMatchObject({ expires: NOW + 330_000 });
  });

  test('names the header and the algorithm in its challenge, and the header in what it answers', () => {
    const scheme = schemeOf();
    expect(scheme.challenge).toBe('Signature header="Signature", algorithm="hmac-sha256", components="@method @path @query content-digest content-type content-encoding"');
    expect(schemeOf({ includeBody: false, includeQuery: false }).challenge).toMatch(/components="@method @path content-type content-encoding"$/);
    expect(failureBody('missing', scheme.headerName)).toEqual({ error: 'Missing signature header', message: 'Signature header is required' });
    expect([scheme.readsBody, schemeOf({ includeBody: false }).readsBody]).toEqual([true, false]);
  });

  test('without the Signature header it is missing, whatever else is wrong; without Signature-Input it is invalid', () => {
    const { headers, ...rest } = signed();
    expect(failureOf({ ...rest, headers: {} })).toBe('missing');
    expect(failureOf({ ...rest, target: 'x', headers: { 'signature-input': headers['signature-input']!, 'svc-request-sig': 'a'.repeat(64), 'x-timestamp': String(NOW) } })).toBe('missing');
    expect(failureOf({ ...rest, headers: { signature: headers['signature']! } })).toBe('invalid');
  });

  test('age is measured from created, and its limits are inclusive', () => {
    const received = signed();
    expect(failureOf(received, schemeOf(), NOW + 300_000)).toBeUndefined();
    expect(failureOf(received, schemeOf(), NOW + 300_001)).toBe('expired');
    expect(failureOf(received, schemeOf(), NOW - 30_000)).toBeUndefined();
    expect(failureOf(received, schemeOf(), NOW - 30_001)).toBe('invalid');
    expect(failureOf(received, schemeOf(), NaN)).toBe('invalid');
    expect(failureOf(signed({ timestamp: NOW + 999 }), schemeOf(), NOW + 300_001)).toBe('expired');
  });

  test('expires ends it earlier, never later', () => {
    const received = signed({ expires: NOW + 10_000 });
    expect(failureOf(received, schemeOf(), NOW + 10_000)).toBeUndefined();
    expect(failureOf(received, schemeOf(), NOW + 10_001)).toBe('expired');
    expect(failureOf(signed({ expires: NOW + 900_000 }), schemeOf(), NOW + 300_001)).toBe('expired');
    expect(failureOf(received, schemeOf(), NaN)).toBe('expired');
  });

  test('age is checked again when the body has come', () => {
    const { body, ...request } = signed({ method: 'POST', body: 'a' });
    expect(refusalOf(schemeOf(), request, NOW + 299_999)).toBeNull();
    expect(verdictOf(schemeOf(), request, body, NOW + 299_999, NOW + 300_001)).toMatchObject({ failure: 'expired' });
  });

  test('any secret of a rotation is accepted, at any place', () => {
    const received = signed();
    for (const secrets of [[SECRET, 'b', 'c'], ['a', SECRET, 'c'], ['a', 'b', SECRET], [SECRET, SECRET]]) {
      expect(failureOf(received, schemeOf({}, secrets))).toBeUndefined();
    }
    expect(reasonOf(received, schemeOf({}, ['a', 'b']))).toMatch(/none of the secrets/);
    expect(failureOf(received, schemeOf({}, []))).toBe('invalid');
  });

  test('method, path and query must be covered; the query not with includeQuery: false', () => {
    const covering = (components: string[], target = '/a?b=1') => handSigned(components, { target });
    expect(reasonOf(covering(['@path', '@query']))).toMatch(/@method is not covered/);
    expect(reasonOf(covering(['@method', '@query']))).toMatch(/@path is not covered/);
    expect(reasonOf(covering(['@method', '@path']))).toMatch(/@query is not covered/);
    expect(reasonOf(covering([]))).toMatch(/@method is not covered/);
    expect(failureOf(covering(['@request-target', '@method']))).toBeUndefined();
    expect(failureOf({ ...covering(['@request-target', '@method']), target: '/a?b=2' })).toBe('invalid');
    expect(failureOf(covering(['@query', '@path', '@method']))).toBeUndefined();
    const queryless = schemeOf({ includeQuery: false });
    expect(failureOf(covering(['@method', '@path']), queryless)).toBeUndefined();
    expect(failureOf({ ...covering(['@method', '@path']), target: '/a?b=2' }, queryless)).toBeUndefined();
    expect(failureOf({ ...covering(['@method', '@path', '@query']), target: '/a?b=2' }, queryless)).toBe('invalid');
  });

  test('a body must be covered by Content-Digest; not with includeBody: false', () => {
    const bare = handSigned(['@method', '@path', '@query'], { method: 'POST' });
    expect(failureOf(bare)).toBeUndefined();
    expect(failureOf({ ...bare, body: Buffer.alloc(0) })).toBeUndefined();
    expect(reasonOf({ ...bare, body: Buffer.from('a') })).toMatch(/content-digest is not covered/);
    expect(failureOf({ ...bare, headers: { ...bare.headers, 'content-digest': contentDigest('a') }, body: Buffer.from('a') })).toBe('invalid');
    const bodiless = schemeOf({ includeBody: false });
    expect(failureOf({ ...bare, body: Buffer.from('a') }, bodiless)).toBeUndefined();
    const full = signed({ method: 'POST', body: 'a' });
    expect(failureOf({ ...full, body: undefined })).toBe('invalid');
    expect(failureOf({ ...full, body: Buffer.from('b') }, bodiless)).toBeUndefined();
    expect(failureOf({ ...full, headers: { ...full.headers, 'content-digest': contentDigest('b') }, body: Buffer.from('b') }, bodiless)).toBe('invalid');
  });

  test('with includeBody: false a covered Content-Digest is a header like others', () => {
    const received = handSigned(['@method', '@path', '@query', 'content-digest'], { headers: { 'content-digest': 'x' } });
    expect(failureOf(received, schemeOf({ includeBody: false }))).toBeUndefined();
    expect(failureOf(received)).toBe('invalid');
  });

  test('a covered digest of no body must be that of no bytes', () => {
    const received = handSigned(['@method', '@path', '@query', 'content-digest'], { headers: { 'content-digest': contentDigest('') } });
    expect(failureOf(received)).toBeUndefined();
    expect(failureOf({ ...received, body: Buffer.from('a') })).toBe('invalid');
  });

  test.each(['Content-Type', 'Content-Encoding'])('%s must be covered if it is there, and be there if it is covered', (name) => {
    const lower = name.toLowerCase();
    const without = signed({ method: 'POST', body: 'a' });
    expect(reasonOf({ ...without, headers: { ...without.headers, [lower]: 'x' } })).toMatch(new RegExp(`${lower} is not covered`));
    const { headers, ...rest } = signed({ method: 'POST', body: 'a', headers: { [name]: 'x' } });
    expect(failureOf({ ...rest, headers })).toBeUndefined();
    const { [lower]: _, ...removed } = headers;
    expect(reasonOf({ ...rest, headers: removed })).toMatch(/none that this request has/);
  });

  test('covered headers and the authority are honoured', () => {
    const received = signed({ headers: { Host: 'Example.com', 'X-Tenant': '7' }, covers: ['@authority', 'X-Tenant', '@request-target'], target: '/a?' });
    expect(failureOf(received)).toBeUndefined();
    expect(failureOf({ ...received, headers: { ...received.headers, host: 'EXAMPLE.COM' } })).toBeUndefined();
    for (const [name, value] of [['host', 'example.org'], ['host', ''], ['x-tenant', '8']] as const) {
      expect(failureOf({ ...received, headers: { ...received.headers, [name]: value } })).toBe('invalid');
    }
    expect(failureOf({ ...received, target: '/a' })).toBe('invalid');
  });

  test('a body that no secret has signed for is refused before it is read', () => {
    const { body, ...request } = signed({ method: 'POST', body: 'a', secret: 'another' });
    const announced = (name: string, value: string) => ({ ...request, headers: { ...request.headers, [name]: value } });
    expect(body).toBeDefined();
    for (const [name, value] of [['content-length', '1'], ['transfer-encoding', 'chunked']] as const) {
      expect(refusalOf(schemeOf(), announced(name, value), NOW)).toMatchObject({ failure: 'invalid', reason: 'the signature matches none of the secrets' });
      expect(refusalOf(schemeOf({}, [SECRET, 'another']), announced(name, value), NOW)).toBeNull();
    }
    expect(refusalOf(schemeOf(), announced('content-length', '0'), NOW)).toBeNull();
    expect(refusalOf(schemeOf(), request, NOW)).toBeNull();
  });

  test('a request target other than a path and query of visible ASCII is refused', () => {
    for (const target of ['*', '', 'http://a/', 'a', '/a b', '/a#b', '/ä', '/a\n"@query": ?', '/a\x7f']) {
      expect(reasonOf({ ...signed(), target })).toMatch(/request target/);
    }
  });
});

describe('keys by id', () => {
  const lookups: string[] = [];
  const find = (answer: (keyId: string) => string | undefined | Promise<string | undefined>) =>
    new MessageSignatureScheme({
      ...config,
      secret: (keyId) => {
        lookups.push(keyId);
        return answer(keyId);
      },
    });
  const table = (keyId: string) => (keyId === 'alice' ? SECRET : undefined);
  const verdict = async (scheme: MessageSignatureScheme, keyId?: string, body?: string) => {
    const { body: bytes, ...request } = signed({ keyId, body, method: 'POST' });
    const headers = { ...request.headers, ...(body === undefined ? {} : { 'content-length': String(body.length) }) };
    return laterVerdictOf(scheme, { ...request, headers }, bytes, NOW);
  };
  beforeEach(() => void lookups.splice(0));

  test.each([['at once', find(table)], ['later', find((keyId) => Promise.resolve(table(keyId)))]])('the keyid is looked up once, and handed on: %s', async (_, scheme) => {
    expect(await verdict(scheme, 'alice', 'x')).toMatchObject({ keyId: 'alice', expires: NOW + 330_000 });
    expect(lookups).toEqual(['alice']);
    expect(await verdict(scheme, 'bob')).toEqual({ failure: 'invalid', reason: 'no secret is known for the key id' });
    expect(await verdict(scheme)).toMatchObject({ failure: 'invalid', reason: expect.stringContaining('keyid') });
    expect(lookups).toEqual(['alice', 'bob']);
  });

  test('an unknown key costs one comparison, as a known one does', async () => {
    const compare = jest.spyOn(jest.requireActual<typeof import('node:crypto')>('node:crypto'), 'timingSafeEqual');
    await verdict(find(table), 'alice');
    expect(compare).toHaveBeenCalledTimes(1);
    await verdict(find(table), 'bob');
    expect(compare).toHaveBeenCalledTimes(2);
    compare.mockRestore();
  });

  test('another key\'s name over one\'s own signature is refused', async () => {
    const { headers, ...rest } = signed({ keyId: 'alice' });
    const both = find((keyId) => (keyId === 'alice' ? SECRET : 'the-secret-of-bob'));
    const renamed = { ...rest, headers: { ...headers, 'signature-input': headers['signature-input']!.replace('alice', 'bob') } };
    expect(verdictOf(both, renamed, undefined, NOW)).toMatchObject({ failure: 'invalid' });
  });

  test('a lookup that fails is a failure of its own, at once and later', async () => {
    const failing = (fail: () => Promise<string>) => find(fail);
    await expect(verdict(failing(() => Promise.reject(new Error('down'))), 'alice')).rejects.toThrow('down');
    await expect(verdict(failing(() => {
      throw new Error('down');
    }), 'alice')).rejects.toThrow('down');
  });

  test('where all share a secret, a keyid is signed and means nothing', () => {
    expect(check(signed({ keyId: 'alice' }))).toMatchObject({ keyId: undefined });
  });

  test.each(['a,b', 'a b', 'x'.repeat(257), ''])('%j is no keyid', async (keyId) => {
    const { headers, ...rest } = handSigned(['@method', '@path', '@query'], { parameters: `;created=${NOW / 1000};nonce="${NONCE}";keyid="${keyId}"` });
    expect(refusalOf(find(table), { ...rest, headers }, NOW)).toMatchObject({ failure: 'invalid', reason: expect.stringContaining('keyid') });
    expect(() => signMessage({ secret: SECRET, method: 'GET', target: '/', keyId })).toThrow(/keyId/);
  });
});

describe('describe', () => {
  test('shows lengths and hashes, and neither secret, signature nor what a header holds', () => {
    const received = signed({ method: 'POST', target: '/a?b=1', body: 'the body', headers: { Authorization: 'Bearer confidential' }, covers: ['Authorization'] });
    const parts = partsOf(schemeOf(), received, received.body, NOW);
    expect(parts).toMatchObject({
      algorithm: 'hmac-sha256', method: 'POST', url: { text: '/a?b=1', length: 6 }, created: NOW / 1000, nonce: expect.any(String),
      body: { bytes: 8, sha256: Buffer.from(contentDigest('the body').slice(9, -1), 'base64').toString('hex') },
      components: { '@method': 'POST', '@path': '/a', '@query': '?b=1', 'content-digest': contentDigest('the body'), authorization: { length: 19, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } },
      base: { length: expect.any(Number), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    const text = JSON.stringify(parts);
    const mac = Buffer.from(received.headers['signature']!.slice(6, -1), 'base64');
    for (const hidden of [SECRET, 'confidential', mac.toString('base64'), mac.toString('hex')]) expect(text).not.toContain(hidden);
  });

  test('does without a body that is not there, or not signed', () => {
    expect(partsOf(schemeOf(), signed(), undefined, NOW)).toMatchObject({ method: 'GET', body: { bytes: 0 } });
    expect(partsOf(schemeOf({ includeBody: false }), signed(), undefined, NOW)).toMatchObject({ body: 'not signed' });
  });
});

describe('signMessage', () => {
  const message = { secret: SECRET, method: 'get', target: '/a?b', timestamp: NOW, nonce: NONCE };

  test('writes label, components and parameters in a fixed order', () => {
    expect(signMessage({ ...message, method: 'post', body: 'a', headers: { 'content-type': 'text/plain', 'Content-Encoding': 'br', host: 'x' }, covers: ['Host'], expires: NOW + 1_999, keyId: 'k' })).toEqual({
      'Signature-Input': `sig1=("@method" "@path" "@query" "content-digest" "content-type" "content-encoding" "host");created=1700000000;expires=1700000001;nonce="${NONCE}";alg="hmac-sha256";keyid="k"`,
      Signature: expect.stringMatching(/^sig1=:[\w+/]{43}=:$/),
      'Content-Digest': contentDigest('a'),
    });
    expect(signMessage({ ...message, includeQuery: false, includeBody: false, body: 'a' })).toEqual({
      'Signature-Input': expect.stringMatching(/^sig1=\("@method" "@path"\);created/),
      Signature: expect.any(String),
    });
  });

  test('takes a new nonce of 128 bits and the time of day where none is given', () => {
    const inputs = Array.from({ length: 50 }, () => signMessage({ secret: SECRET, method: 'GET', target: '/' })['Signature-Input']!);
    const nonces = inputs.map((input) => /;nonce="([\w-]{22})";/.exec(input)![1]!);
    expect(new Set(nonces).size).toBe(50);
    expect(Math.abs(Number(/created=(\d+)/.exec(inputs[0]!)![1]) - Date.now() / 1000)).toBeLessThan(5);
  });

  test('signs the method in upper case, and headers of any name', () => {
    expect(signMessage(message)).toEqual(signMessage({ ...message, method: 'GET' }));
    const received = signed({ headers: { constructor: 'a' }, covers: ['constructor'] });
    expect(failureOf(received)).toBeUndefined();
    expect(failureOf({ ...received, headers: { ...received.headers, constructor: 'b' } as unknown as Record<string, string> })).toBe('invalid');
  });

  test('signs text as its UTF-8 bytes, and an empty body as none', () => {
    expect(signMessage({ ...message, body: 'ä' })).toEqual(signMessage({ ...message, body: Buffer.from('ä') }));
    expect(signMessage({ ...message, body: '' })).toEqual(signMessage(message));
    expect(failureOf(signed({ method: 'POST', body: 'ä€😀' }))).toBeUndefined();
    expect(failureOf(signed({ method: 'POST', body: noise(100_000) }))).toBeUndefined();
  });

  test('a quote or backslash in the nonce is escaped, not let out', () => {
    const received = signed({ nonce: '";created=1;x="\\"aaaaaaaa' });
    expect(failureOf(received)).toBeUndefined();
    expect(parseMessageSignature(received.headers)).toMatchObject({ nonce: '";created=1;x="\\"aaaaaaaa', created: NOW / 1000 });
  });

  test.each([
    ['timestamp', { timestamp: 1.5 }, /timestamp must be whole milliseconds/],
    ['timestamp', { timestamp: NaN }, /timestamp must be whole milliseconds/],
    ['timestamp', { timestamp: -1 }, /timestamp must be whole milliseconds/],
    ['expires', { expires: Infinity }, /expires must be whole milliseconds/],
    ['nonce', { nonce: 'too-short' }, /nonce must be 16 or more/],
    ['nonce', { nonce: 'ä'.repeat(16) }, /nonce must be 16 or more/],
    ['covers', { covers: ['x-absent'] }, /x-absent can't be signed/],
    ['covers', { covers: ['@status'] }, /@status can't be signed/],
    ['covers', { covers: ['@authority'] }, /@authority can't be signed/],
    ['covers', { covers: ['x-a'], headers: { 'X-A': 'a\n"x": b' } }, /x-a can't be signed/],
    ['covers', { covers: ['x-a'], headers: { 'X-A': 'ä' } }, /x-a can't be signed/],
    ['covers', { covers: ['constructor'], headers: {} }, /constructor can't be signed/],
    ['headers', { headers: { 'X-A': '1', 'x-a': '2' } }, /x-a is given twice/],
    ['headers', { headers: { 'content-digest': contentDigest('b') } }, /content-digest is worked out/],
    ['target', { target: '/a b' }, /url must be a path and query/],
    ['target', { target: '/a#b' }, /url must be a path and query/],
  ])('refuses what it cannot sign: %s %j', (_, wrong, reason) => {
    expect(() => signMessage({ ...message, ...wrong })).toThrow(reason);
    expect(() => signMessage({ ...message, ...wrong })).toThrow(TypeError);
  });

  test('an answer of the check never holds what was signed', () => {
    const verdict = check(signed({ secret: 'another' }));
    expect(isRejection(verdict) && verdict.reason).toBe('the signature matches none of the secrets');
  });
});

/** Signs any components, as a client of another make may. */
function handSigned(components: string[], { method = 'GET', target = '/', headers = {} as Record<string, string>, parameters = `;created=${NOW / 1000};nonce="${NONCE}"` }) {
  const text = `(${components.map((name) => `"${name}"`).join(' ')})${parameters}`;
  const lines = signatureBase({ method, target, headers }, components, text);
  const mac = 'base' in lines ? messageMac(SECRET, lines.base) : Buffer.alloc(32);
  return { method, target, body: undefined, headers: { ...headers, 'signature-input': `x=${text}`, signature: `x=:${mac.toString('base64')}:` } };
}

function hash512(text: string): string {
  return createHash('sha512').update(text).digest('base64');
}
