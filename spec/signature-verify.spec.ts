import fc from 'fast-check';
import { HmacKey } from '../lib/signature/hmac';
import { signRequest } from '../lib/signature/sign';
import { type Failure, failureBody, type Rejection } from '../lib/signature/rejection';
import { checkBody, checkHeaders, type SignatureConfig as Config, type SignedRequest } from '../lib/signature/v1/grammar';
import { checkDigest } from '../lib/signature/v1/hmac-scheme';
import { anyCharacter } from './support/any-character';
import { expectSame } from './support/expect-same';
import { runs } from './support/runs';

interface SignatureConfig extends Config {
  readonly secrets: readonly (string | Uint8Array)[];
}

const now = 1_700_000_000_000;
const config: SignatureConfig = {
  secrets: ['the-secret-of-the-verify-spec-01'],
  algorithm: 'sha256',
  maxAge: 300_000,
  clockSkew: 30_000,
  headerName: 'Svc-Request-Sig',
  timestampHeaderName: 'X-Timestamp',
  includeBody: true,
  includeQuery: true,
  ambiguousBody: 'accept',
};

interface Sent {
  method: string;
  target: string;
  body?: Buffer | undefined;
  timestamp?: string;
}

function signed(sent: Sent, using: SignatureConfig = config): SignedRequest {
  const { method, target, body, timestamp = String(now) } = sent;
  const { algorithm, includeBody, includeQuery } = using;
  const headers = signRequest({ secret: using.secrets, method, url: target, body, timestamp, algorithm, includeBody, includeQuery });
  return { method, target, signature: headers['Svc-Request-Sig'], timestamp };
}

function keysOf({ algorithm, secrets }: SignatureConfig): HmacKey[] {
  return secrets.map((secret) => new HmacKey(algorithm, secret));
}

/** The whole check, in the order in which the hook makes it. */
function check(request: SignedRequest, body?: Buffer, using: SignatureConfig = config, at = now): Rejection | null {
  return checkHeaders(request, using, at) ?? checkBody(request, body, using) ?? checkDigest(request, body, using, keysOf(using));
}

function failureOf(request: SignedRequest, body?: Buffer, using?: SignatureConfig, at?: number): Failure | undefined {
  return check(request, body, using, at)?.failure;
}

const targets = fc.tuple(fc.webPath(), fc.webQueryParameters()).map(([path, query]) => `/${path.slice(1)}${query === '' ? '' : `?${query}`}`);
const jsonBodies = fc.dictionary(fc.string(), fc.integer(), { minKeys: 1 }).map((data) => Buffer.from(JSON.stringify(data)));

describe('a signature made by signRequest', () => {
  test('verifies, under every configuration', () => {
    const settings = fc.record({ algorithm: fc.constantFrom('sha256' as const, 'sha512' as const), includeBody: fc.boolean(), includeQuery: fc.boolean() });
    fc.assert(
      fc.property(settings, fc.constantFrom('GET', 'POST', 'DELETE', 'PATCH'), targets, fc.option(jsonBodies, { nil: undefined }), (chosen, method, target, body) => {
        const using = { ...config, ...chosen };
        expect(check(signed({ method, target, body }, using), body, using)).toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  test('fails once method, target, body, timestamp, algorithm or secret differ', () => {
    const body = Buffer.from('{"id":1}');
    const request = signed({ method: 'POST', target: '/a/b?c=1', body });
    const all = { ...config, algorithm: 'sha512' as const };
    expect(failureOf(request, body)).toBeUndefined();
    expect(failureOf({ ...request, method: 'PUT' }, body)).toBe('invalid');
    expect(failureOf({ ...request, target: '/a/b?c=2' }, body)).toBe('invalid');
    expect(failureOf({ ...request, target: '/a/B?c=1' }, body)).toBe('invalid');
    expect(failureOf({ ...request, timestamp: String(now + 1) }, body)).toBe('invalid');
    expect(failureOf(request, Buffer.from('{"id":2}'))).toBe('invalid');
    expect(failureOf(request, undefined)).toBe('invalid');
    expect(failureOf(request, body, all)).toBe('invalid');
    expect(failureOf(request, body, { ...config, secrets: ['another'] })).toBe('invalid');
  });

  test('fails when any one digit of it differs', () => {
    const request = signed({ method: 'GET', target: '/' });
    const signature = request.signature as string;
    for (let i = 0; i < signature.length; i++) {
      const digit = signature[i] === '0' ? '1' : '0';
      expect(failureOf({ ...request, signature: signature.slice(0, i) + digit + signature.slice(i + 1) })).toBe('invalid');
    }
  });

  test('leaves out of account what is not included', () => {
    const bodiless = { ...config, includeBody: false };
    expect(check(signed({ method: 'POST', target: '/a' }, bodiless), Buffer.from('x'), bodiless)).toBeNull();
    expect(check(signed({ method: 'DELETE', target: '/a' }, bodiless), Buffer.from('/x'), bodiless)).toBeNull();
    const queryless = { ...config, includeQuery: false };
    expect(check({ ...signed({ method: 'GET', target: '/a?b=1' }, queryless), target: '/a?c=2' }, undefined, queryless)).toBeNull();
  });

  test('is accepted from any secret of a rotation, at any place', () => {
    const [current] = config.secrets as [string];
    const request = signed({ method: 'GET', target: '/' });
    for (const secrets of [[current, 'b', 'c'], ['a', current, 'c'], ['a', 'b', current], [current, current]]) {
      expect(check(request, undefined, { ...config, secrets })).toBeNull();
    }
    expect(failureOf(request, undefined, { ...config, secrets: ['a', 'b', 'c'] })).toBe('invalid');
    expect(failureOf(request, undefined, { ...config, secrets: [] })).toBe('invalid');
  });

  test('is compared over the bytes, not over the text they decode to', () => {
    const request = signed({ method: 'POST', target: '/', body: Buffer.from([0xff]) });
    expect(check(request, Buffer.from([0xff]))).toBeNull();
    expect(failureOf(request, Buffer.from([0xfe]))).toBe('invalid');
    expect(failureOf(request, Buffer.from('\ufffd'))).toBe('invalid');
  });
});

describe('checkHeaders', () => {
  const good = signed({ method: 'GET', target: '/' });
  const hex = good.signature as string;

  test('an absent signature header is missing, whatever else is wrong', () => {
    expect(failureOf({ ...good, signature: undefined, timestamp: undefined, target: 'x' })).toBe('missing');
  });

  test.each([
    ['empty', ''], ['short', hex.slice(1)], ['long', `${hex}0`], ['upper case', hex.toUpperCase().replace(/\d/g, 'A')],
    ['followed by junk that a hex decoder drops', `${hex}zz`], ['with a space', ` ${hex}`], ['with a line feed', `${hex}\n`],
    ['sent twice', `${hex}, ${hex}`], ['not hexadecimal', 'g'.repeat(64)], ['of the length of sha512', hex + hex], ['full-width', '０'.repeat(64)],
  ])('a signature that is %s is invalid', (_name, signature) => {
    expect(checkHeaders({ ...good, signature }, config, now)?.failure).toBe('invalid');
    expect(checkDigest({ ...good, signature }, undefined, config, keysOf(config))?.failure).toBe('invalid');
  });

  test('asks for 128 digits with sha512', () => {
    const using = { ...config, algorithm: 'sha512' as const };
    expect(checkHeaders({ ...good, signature: 'a'.repeat(128) }, using, now)).toBeNull();
    expect(checkHeaders(good, using, now)?.failure).toBe('invalid');
  });

  test.each([
    undefined, '', '0', '1700000000', '170000000000', '17000000000000', '+700000000000', '-700000000000', '1.70000000000', '1700000000e03', '0x18bcfe56800',
    ' 1700000000000', '1700000000000 ', '1700000000000\n', '1700000000000, 1700000000000', '１７００００００００００００', 'NaN', 'Infinity', '2023-11-14T22:13',
  ])('the timestamp %j is invalid, signed or not', (timestamp) => {
    const sent = { method: 'GET', target: '/', timestamp: timestamp ?? '' };
    expect(failureOf({ ...signed(sent), timestamp })).toBe('invalid');
  });

  test('accepts exactly the targets that hold what a URL serializer leaves raw', () => {
    const inPath = /[A-Za-z0-9\-._~:/@!$&'()*+,;=%[\]|^]/;
    for (let code = 0; code < 0x180; code++) {
      const char = String.fromCharCode(code);
      const pathFailure = checkHeaders({ ...good, target: `/a${char}b` }, config, now)?.failure;
      const queryFailure = checkHeaders({ ...good, target: `/a?${char}b` }, config, now)?.failure;
      expect([char, pathFailure]).toEqual([char, inPath.test(char) || char === '?' ? undefined : 'invalid']);
      expect([char, queryFailure]).toEqual([char, inPath.test(char) || '?{}\\`'.includes(char) ? undefined : 'invalid']);
    }
  });

  test('accepts whatever the URL class writes', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.string({ unit: anyCharacter }), (path, query) => {
        const url = new URL('http://localhost');
        url.pathname = path;
        url.search = query;
        expect(checkHeaders({ ...good, target: url.pathname + url.search }, config, now)).toBeNull();
      }),
      { numRuns: 2000 },
    );
  });

  test.each(['', '*', 'a', 'http://localhost/a', 'localhost:80', '?a', '/a#b', '/a?b#c', '/a b', '/a\n', '/ü'])('the target %j is invalid', (target) => {
    expect(checkHeaders({ ...good, target }, config, now)?.failure).toBe('invalid');
  });

  test('accepts -clockSkew <= age <= maxAge and nothing else', () => {
    const times = fc.oneof(fc.integer({ min: -40_000, max: 310_000 }), fc.constantFrom(-30_001, -30_000, -29_999, 0, 299_999, 300_000, 300_001));
    fc.assert(
      fc.property(times, (age) => {
        const expected = age < -30_000 ? 'invalid' : age > 300_000 ? 'expired' : undefined;
        expect(failureOf(signed({ method: 'GET', target: '/', timestamp: String(now - age) }))).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });

  test('a clock that gives no number accepts nothing', () => {
    expect(checkHeaders(good, config, NaN)?.failure).toBe('invalid');
    expect(checkHeaders(good, { ...config, maxAge: NaN }, now)?.failure).toBe('invalid');
    expect(checkHeaders(good, { ...config, clockSkew: NaN }, now)?.failure).toBe('invalid');
  });

  test('what is malformed is invalid before it is expired', () => {
    const old = { ...good, timestamp: String(now - 400_000) };
    expect(checkHeaders(old, config, now)?.failure).toBe('expired');
    expect(checkHeaders({ ...old, signature: 'x' }, config, now)?.failure).toBe('invalid');
    expect(checkHeaders({ ...old, target: '/"' }, config, now)?.failure).toBe('invalid');
  });
});

describe('checkBody', () => {
  const deletion = { method: 'DELETE', target: '/u/12' };

  test.each([
    ['DELETE', '/u/12', '3'], ['GET', '/u/12', '/3'], ['HEAD', '/u/12', '?x=1'], ['delete', '/u/12', '[1]'], ['DELETE', '/u', '%20'],
    ['DELETE', '/u?where=', '{id:3}'], ['DELETE', '/u?where=', '{}'], ['DELETE', '/u?where=', '{'], ['DELETE', '/u?where=', '`'], ['DELETE', '/u?where={', '"a":1}'],
  ])('%s %s refuses the body %s', (method, target, body) => {
    expect(checkBody({ method, target }, Buffer.from(body), config)?.failure).toBe('invalid');
  });

  test.each(['{"a":1}', '{}', '"text"', ' [1]', '\n1', '\u0000', '\u007f', 'ü', '<a/>'])('a DELETE takes the body %j', (body) => {
    expect(checkBody(deletion, Buffer.from(body), config)).toBeNull();
  });

  test.each(['{"a":1}', '{ "a": 1 }', '{\n}', '"text"', ' [1]', 'ü'])('a DELETE with a query takes the body %j', (body) => {
    expect(checkBody({ method: 'DELETE', target: '/u?soft=1' }, Buffer.from(body), config)).toBeNull();
    expect(checkBody({ method: 'DELETE', target: '/u?soft={' }, Buffer.from(body), { ...config, includeQuery: false })).toBeNull();
  });

  test('takes an absent or empty body, and any body of other methods', () => {
    expect(checkBody(deletion, undefined, config)).toBeNull();
    expect(checkBody(deletion, Buffer.alloc(0), config)).toBeNull();
    for (const method of ['POST', 'PUT', 'PATCH']) expect(checkBody({ method, target: '/u' }, Buffer.from('/a'), config)).toBeNull();
  });

  test('looks at every method when ambiguous bodies are to be rejected', () => {
    const strict: SignatureConfig = { ...config, ambiguousBody: 'reject' };
    expect(checkBody({ method: 'POST', target: '/u' }, Buffer.from('a=1'), strict)?.failure).toBe('invalid');
    expect(checkBody({ method: 'POST', target: '/u' }, Buffer.from('{"a":1}'), strict)).toBeNull();
    expect(checkBody({ method: 'POST', target: '/u' }, Buffer.from('a=1'), { ...config, ambiguousBody: 'accept' })).toBeNull();
  });

  test('what was signed once is one request: no other cut between URL and body passes', () => {
    const pieces = fc.constantFrom('/', 'a', '1', '?', '{', '}', '"', '[', '\\', '`', ' ', '=', '%41', '\u0001', 'ü', '<', '|');
    const methods = fc.constantFrom<[string, SignatureConfig]>(['GET', config], ['HEAD', config], ['DELETE', config], ['POST', { ...config, ambiguousBody: 'reject' }]);
    fc.assert(
      fc.property(methods, fc.array(pieces, { minLength: 1, maxLength: 12 }), ([method, using], rest) => {
        const data = Buffer.from(`/${rest.join('')}`);
        const cuts = Array.from({ length: data.length }, (_, index) => index + 1).filter((cut) => {
          const request = { method, target: data.subarray(0, cut).toString('latin1'), signature: 'a'.repeat(64), timestamp: String(now) };
          return checkHeaders(request, using, now) === null && checkBody(request, data.subarray(cut), using) === null;
        });
        expectSame(cuts.length <= 1, true, [method, cuts]);
      }),
      { numRuns: runs(2_000) },
    );
  });
});

describe('failures', () => {
  test.each<[Failure, string, string]>([
    ['missing', 'Missing signature header', 'Svc-Request-Sig header is required'],
    ['invalid', 'Invalid signature', 'Request signature verification failed'],
    ['expired', 'Signature expired', 'Request signature has expired'],
  ])('%s has the body of the contract', (failure, error, message) => {
    expect(failureBody(failure, config.headerName)).toEqual({ error, message });
  });

  test('a missing header is called by its configured name', () => {
    expect(failureBody('missing', 'X-Sig').message).toBe('X-Sig header is required');
  });

  test('no reason holds a secret, the signature given or the one expected', () => {
    const request = signed({ method: 'POST', target: '/a', body: Buffer.from('{}') });
    const given = '0'.repeat(64);
    const rejections = [
      check({ ...request, signature: undefined }), check({ ...request, signature: 'x' }), check({ ...request, signature: given }, Buffer.from('{}')),
      check({ ...request, timestamp: undefined }), check({ ...request, timestamp: '1' }), check({ ...request, target: '/"' }),
      check(request, undefined, config, now + 1e6), check(request, undefined, config, now - 1e6), checkBody({ method: 'GET', target: '/' }, Buffer.from('a'), config),
    ];
    for (const rejected of rejections) {
      expect(rejected?.reason).toMatch(/^(the|none) .{10,}/);
      for (const hidden of [request.signature as string, given, ...(config.secrets as string[])]) expect(rejected?.reason).not.toContain(hidden);
    }
    expect(new Set(rejections.map((rejected) => rejected?.reason)).size).toBe(rejections.length);
  });
});
