import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import fc from 'fast-check';
import { resolveOptions } from '../lib/options/resolve';
import type { ResolvedSignature } from '../lib/options/resolved';
import { HmacKey } from '../lib/signature/hmac';
import { requestTarget, signRequest } from '../lib/signature/sign';
import type { SignRequestOptions } from '../lib/signature/sign-options';
import { digest, signedUrl } from '../lib/signature/v1/grammar';
import { HmacScheme } from '../lib/signature/v1/hmac-scheme';
import { MessageSignatureScheme } from '../lib/signature/v2/message-signature';
import { runs } from './support/runs';
import { refusalOf } from './support/verdict';

const secret = 'waypost-fixed-vector-secret-0001';
const timestamp = 1_700_000_000_000;
const base: SignRequestOptions = { secret, method: 'GET', url: '/api/orders', timestamp };

function signatureOf(options: SignRequestOptions): string | undefined {
  return signRequest(options)['Svc-Request-Sig'];
}

describe('signRequest', () => {
  // Each made by `printf … | openssl dgst -sha256 -hmac …`.
  const order = { ...base, method: 'POST', url: '/api/orders?page=2', body: '{"id":18}' };
  test.each<[string, SignRequestOptions, string]>([
    ['sha256 over all four parts', order, '163b589886ad87f5f60df6f95c53ccc31989b3797f6bf550d8b4daab1960e5c7'],
    ['sha512', { ...order, algorithm: 'sha512' }, '2d7996f845f9fd0cff6da0d83aa331dd34c947ecbb7402cc5da1ede5196b9aa454c927b0b4bb8fc22531a35a6a953c9775ece984e3f3fb380d5102f8b0e24eb7'],
    ['no body', base, 'abbc2cdccb53eba521c9a011aebd3f3e170e7510dfd1d0f9f87ff37caf707a2c'],
    ['bytes that are no text', { ...base, method: 'DELETE', url: '/u/12', body: Buffer.from([0xff, 0xfe]) }, 'ff5b045334968046e3b9a8a12e74034513248c46773db2393aa63501aa69fba6'],
    ['a method in lower case', { ...base, method: 'get' }, 'abbc2cdccb53eba521c9a011aebd3f3e170e7510dfd1d0f9f87ff37caf707a2c'],
    ['without the query', { ...base, url: '/api/orders?page=2', includeQuery: false }, 'abbc2cdccb53eba521c9a011aebd3f3e170e7510dfd1d0f9f87ff37caf707a2c'],
    ['without the body', { ...base, body: 'anything', includeBody: false }, 'abbc2cdccb53eba521c9a011aebd3f3e170e7510dfd1d0f9f87ff37caf707a2c'],
  ])('gives the fixed vector: %s', (_name, options, expected) => {
    expect(signatureOf(options)).toBe(expected);
  });

  test('agrees with openssl', () => {
    const dataOf = fc.record({
      method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
      url: fc.webPath().map((path) => `/${path}`),
      body: fc.uint8Array({ maxLength: 64 }),
      key: fc.stringMatching(/^[A-Za-z0-9]{1,80}$/),
      algorithm: fc.constantFrom('sha256' as const, 'sha512' as const),
    });
    fc.assert(
      fc.property(dataOf, ({ method, url, body, key, algorithm }) => {
        const input = Buffer.concat([Buffer.from(method + url), body, Buffer.from(String(timestamp))]);
        const output = execFileSync('openssl', ['dgst', `-${algorithm}`, '-hmac', key], { input }).toString();
        expect(output.trim().split(' ').pop()).toBe(signatureOf({ secret: key, method, url, body, timestamp, algorithm }));
      }),
      { numRuns: runs(8) },
    );
  });

  test('agrees with node:crypto by hand, for any text and bytes', () => {
    const bodies = fc.oneof(fc.string({ unit: 'grapheme' }), fc.uint8Array(), fc.constant(undefined));
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.webPath(), fc.webQueryParameters(), bodies, fc.nat(), (key, path, query, body, time) => {
        const url = `/${path}?${query}`;
        const data = Buffer.concat([Buffer.from(`PUT${url}`), Buffer.from(body ?? ''), Buffer.from(`${time}`)]);
        const expected = createHmac('sha256', key).update(data).digest('hex');
        expect(signatureOf({ secret: key, method: 'put', url, body, timestamp: time })).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });

  test('keeps apart bytes that decode to the same text', () => {
    const bodies = [[0xff], [0xfe], [0xef, 0xbf, 0xbd], [0xef, 0xbb, 0xbf]].map((bytes) => Buffer.from(bytes));
    expect(new Set(bodies.map((body) => signatureOf({ ...base, body }))).size).toBe(bodies.length);
  });

  test('takes text and its UTF-8 bytes for one, secret and body alike', () => {
    const text = { ...base, method: 'POST', body: 'größe', secret: 'schlüssel' };
    expect(signatureOf({ ...text, body: Buffer.from('größe'), secret: Buffer.from('schlüssel') })).toBe(signatureOf(text));
    expect(signatureOf({ ...text, body: new Uint8Array(Buffer.from('größe')) })).toBe(signatureOf(text));
  });

  test('signs with the first of several secrets', () => {
    expect(signatureOf({ ...base, secret: [secret, 'another'] })).toBe(signatureOf(base));
    expect(signatureOf({ ...base, secret: ['another', secret] })).not.toBe(signatureOf(base));
  });

  test('returns the two headers under the names asked for', () => {
    expect(Object.keys(signRequest(base))).toEqual(['Svc-Request-Sig', 'X-Timestamp']);
    const named = signRequest({ ...base, headerName: 'X-Sig', timestampHeaderName: 'X-Time' });
    expect(named).toEqual({ 'X-Sig': signatureOf(base), 'X-Time': '1700000000000' });
  });

  test('takes the timestamp as text, and the time of day by default', () => {
    expect(signRequest({ ...base, timestamp: '1700000000000' })).toEqual(signRequest(base));
    const before = Date.now();
    const sent = Number(signRequest({ ...base, timestamp: undefined })['X-Timestamp']);
    expect(sent).toBeGreaterThanOrEqual(before);
    expect(sent).toBeLessThanOrEqual(Date.now());
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ['an empty secret', { secret: '' }, /secret must be a non-empty string/],
    ['no secret', { secret: undefined }, /secret must be a non-empty string/],
    ['an empty list of secrets', { secret: [] }, /secret must be a non-empty string/],
    ['a relative url', { url: 'users' }, /url must be a target that starts with "\/".*"users"/],
    ['another scheme', { url: 'ftp://example.com/x' }, /absolute http\(s\) URL/],
    ['no url', { url: undefined }, /url must be .* undefined/],
    ['a body that is an object', { body: { id: 1 } }, /body must be the text or the bytes.*JSON\.stringify/],
    ['a fraction of a millisecond', { timestamp: 1.5 }, /timestamp must be whole milliseconds.*1\.5/],
    ['a timestamp that is none', { timestamp: NaN }, /timestamp .*NaN/],
    ['another algorithm', { algorithm: 'md5' }, /algorithm must be "sha256" or "sha512", and was "md5"/],
    ['a method that is none', { method: 'GET /' }, /method must be an HTTP method, and was "GET \/"/],
  ])('refuses %s', (_name, wrong, message) => {
    const call = (): unknown => signRequest({ ...base, ...wrong });
    expect(call).toThrow(TypeError);
    expect(call).toThrow(message);
  });

  describe.each([1, 2] as const)('of version %i', (version) => {
    const server = resolveOptions({ security: { requestSignature: { secret, version } } }, {}).security.requestSignature as ResolvedSignature;
    const scheme = version === 1 ? new HmacScheme(server) : new MessageSignatureScheme(server);
    const reasonOf = (target: string, headers: Record<string, string>): string | undefined => {
      const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
      return refusalOf(scheme, { method: 'GET', target, headers: lower }, Date.now())?.reason;
    };
    // Of Latin-1, which is what a request line can bring, and of what programs write.
    const characters = [...Array.from({ length: 0x100 }, (_, code) => String.fromCharCode(code)), 'Ω', '\u2028', '😀', '\ud800'].filter((character) => character !== '#');

    test('signs a target if a server takes it, and else names the character, as the server does in its log', () => {
      const lot = { signed: 0, refused: 0 };
      for (const target of characters.flatMap((character) => [`/a${character}b`, `/a?b=${character}`, `/${character}?c`, `/a?${character}<`])) {
        const name = (character: string): string => `${JSON.stringify(character)} (U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')})`;
        let headers: Record<string, string> | undefined;
        let message = '';
        try {
          headers = signRequest({ secret, version, method: 'GET', url: target });
        } catch (error) {
          message = (error as Error).message;
        }
        const reason = reasonOf(target, headers ?? signRequest({ secret, version, method: 'GET', url: '/a' }));
        expect([target, reason === undefined]).toEqual([target, headers !== undefined]);
        if (reason === undefined) lot.signed++;
        else {
          lot.refused++;
          const named = [...target].find((character) => reason.includes(name(character))) as string;
          expect(message).toMatch(/^signRequest: url [^]* percent-encode it/);
          expect(message).toContain(name(named));
          // Encoded as the message says, the one that was named is no longer refused.
          if (named !== '\ud800') expect(reasonOf(target.replaceAll(named, encodeURIComponent), {})).not.toContain(name(named));
        }
      }
      expect(lot.signed).toBeGreaterThan(200);
      expect(lot.refused).toBeGreaterThan(400);
    });
  });

  test('takes any URL object: its serializer has encoded what servers refuse', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(signRequest({ ...base, url: new URL(`/${text}`.replace(/^[/\\]+/, '/a/'), 'http://localhost') })).toHaveProperty('Svc-Request-Sig');
    }), { numRuns: 1000 });
  });

  test('never shows a secret in an error', () => {
    const call = (): unknown => signRequest({ ...base, secret: { key: 'do-not-show' } as unknown as string });
    expect(call).toThrow(expect.objectContaining({ message: expect.not.stringContaining('do-not-show') as string }) as Error);
  });
});

describe('requestTarget', () => {
  test('leaves a target as it stands, but for its fragment', () => {
    expect(requestTarget('/a/../b//c?x=%20#y')).toBe('/a/../b//c?x=%20');
    expect(requestTarget('//host/a')).toBe('//host/a');
  });

  test('of an absolute URL is what Node and fetch send', async () => {
    const urls: string[] = [];
    const server = createServer((req, res) => {
      urls.push(req.url ?? '');
      res.end();
    }).listen(0);
    await once(server, 'listening');
    const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
    const tails = ['', '/', '?a=1', '/a b/ü?q=ü "x"#f', '/a/../b/%2e/c', '/a?', '/a?#f', '/a??', '/a#?', '/a\\b?c\\d', "/{x}|[y]^`z`?{x}|[y]^`z`'"];
    for (const tail of tails) {
      const url = origin + tail;
      await (await fetch(url)).text();
      const [response] = (await once(request(url, { agent: false }).end(), 'response')) as [NodeJS.ReadableStream];
      response.resume();
      await once(response, 'end');
      // An empty query's `?` is what they differ in, and fetch by the version of Node.
      expect(urls.splice(0)).toEqual([requestTarget(url), requestTarget(new URL(url)).replace(/^([^?]*)\?$/, '$1')]);
    }
    server.closeAllConnections();
    await once(server.close(), 'close');
  });
});

test('signedUrl cuts the query when it is not included', () => {
  expect(signedUrl('/a?b?c', true)).toBe('/a?b?c');
  expect(signedUrl('/a?b?c', false)).toBe('/a');
  expect(signedUrl('/a', false)).toBe('/a');
});

test('digest hashes an empty body like none', () => {
  const key = new HmacKey('sha256', secret);
  const none = digest(key, 'GET', '/', undefined, '1');
  expect(digest(key, 'GET', '/', '', '1')).toEqual(none);
  expect(digest(key, 'GET', '/', Buffer.alloc(0), '1')).toEqual(none);
});
