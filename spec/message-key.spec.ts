import { createHmac, createPublicKey, createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { KeyAnswer, MessageAlgorithm, SignatureKey, SignatureKeys } from 'waypost';
import { resolveOptions } from '../lib/options/resolve';
import { isRejection } from '../lib/signature/rejection';
import { signRequest } from '../lib/signature/sign';
import { MessageKey, thumbprint } from '../lib/signature/v2/message-key';
import { signatureBase } from '../lib/signature/v2/message-base';
import { type MessageSignatureConfig, MessageSignatureScheme } from '../lib/signature/v2/message-signature';
import { RFC_ED25519_PRIVATE, RFC_KEYS, RFC_REQUEST, RFC_VECTORS } from './support/rfc9421';
import { config, failureOf, NOW, type Received, reasonOf, SECRET } from './support/signed-message';
import { laterVerdictOf } from './support/verdict';

const pair = (type: string, options: object = {}) => (generateKeyPairSync as (type: string, options: object) => { publicKey: KeyObject; privateKey: KeyObject })(type, options);
const PAIRS = {
  'ed25519': pair('ed25519'),
  'ecdsa-p256-sha256': pair('ec', { namedCurve: 'P-256' }),
  'ecdsa-p384-sha384': pair('ec', { namedCurve: 'P-384' }),
  'rsa-pss-sha512': pair('rsa-pss', { modulusLength: 2048 }),
  'rsa-v1_5-sha256': pair('rsa', { modulusLength: 2048 }),
} as const;
type Asymmetric = keyof typeof PAIRS;
const NAMES = Object.keys(PAIRS) as Asymmetric[];

const scheme = (keys: SignatureKeys, changes: Partial<MessageSignatureConfig> = {}) => new MessageSignatureScheme({ ...config, secret: [], keys, ...changes });

/** What a request that signRequest has signed looks like at a server. */
function signed(options: Partial<Parameters<typeof signRequest>[0]>): Received & { client: { protocol: string } } {
  const whole = { version: 2 as const, method: 'GET', url: 'https://example.com/a?b=1', timestamp: NOW, ...options };
  const headers: Record<string, string> = { host: 'example.com' };
  for (const [name, value] of Object.entries({ ...whole.headers, ...signRequest(whole) })) headers[name.toLowerCase()] = value;
  const url = new URL(whole.url, 'https://example.com');
  return { method: whole.method, target: url.pathname + url.search, headers, body: whole.body === undefined ? undefined : Buffer.from(whole.body as string), client: { protocol: url.protocol.slice(0, -1) } };
}

describe('the vectors of RFC 9421 appendix B.2', () => {
  test.each(RFC_VECTORS)('$section: base, key and signature', ({ key, components, input, signature }) => {
    const lines = signatureBase(RFC_REQUEST, components, input);
    if ('lacks' in lines) throw new Error(lines.lacks);
    const bytes = Buffer.from(signature, 'base64');
    expect(new MessageKey(RFC_KEYS[key], 'verify').verify(lines.base, bytes)).toBe(true);
    expect(new MessageKey(RFC_KEYS[key], 'verify').verify(`${lines.base} `, bytes)).toBe(false);
    expect(new MessageKey(RFC_KEYS[key], 'verify').verify(lines.base, bytes.subarray(1))).toBe(false);
  });

  test('B.2.6: ed25519 signs the same bytes', () => {
    const { components, input, signature } = RFC_VECTORS.find(({ section }) => section === 'B.2.6')!;
    const lines = signatureBase(RFC_REQUEST, components, input);
    expect(new MessageKey(RFC_ED25519_PRIVATE, 'sign').sign('base' in lines ? lines.base : '').toString('base64')).toBe(signature);
  });

  test('B.2.3 passes as a whole request, several signatures beside it, and the policy says which counts', () => {
    const inputs = RFC_VECTORS.map(({ section, input }) => `${labelOf(section)}=${input}`).join(', ');
    const signatures = RFC_VECTORS.map(({ section, signature }) => `${labelOf(section)}=:${signature}:`).join(', ');
    const request = { ...RFC_REQUEST, headers: { ...RFC_REQUEST.headers, 'signature-input': inputs, 'signature': signatures }, body: Buffer.from('{"hello": "world"}') };
    const keys = Object.entries(RFC_KEYS).map(([id, key]) => ({ id, key }));
    const at = (changes: Partial<MessageSignatureConfig>) => reasonOf(request, scheme(keys, { nonce: 'optional', ...changes }), 1_618_884_473_000);
    expect(at({ label: 'sig-b23' })).toBe('');
    expect(at({})).toMatch(/several signatures have no tag/);
    expect(at({ label: 'sig-b21' })).toMatch(/@method is not covered/);
    expect(at({ label: 'sig-b22' })).toMatch(/no signature labelled sig-b22 with no tag/);
    expect(at({ tag: 'header-example' })).toMatch(/@method is not covered/);
    expect(at({ label: 'sig-b24' })).toMatch(/no signature labelled sig-b24/);
    expect(at({ label: 'sig-b23', nonce: 'required' })).toMatch(/nonce/);
  });

  const labelOf = (section: string) => `sig-${section.toLowerCase().replaceAll('.', '')}`;
});

describe('keys', () => {
  test.each(NAMES)('%s: what its private key signs passes by its public key alone, as KeyObject, PEM and JWK', (name) => {
    const { publicKey, privateKey } = PAIRS[name];
    const request = signed({ key: privateKey, algorithm: name, method: 'POST', body: '{}', keyId: 'k', headers: { 'content-type': 'application/json' } });
    expect(request.headers['signature-input']).toContain(`;alg="${name}"`);
    const forms: SignatureKeys[] = [{ key: publicKey, algorithm: name }, [{ key: publicKey.export({ type: 'spki', format: 'pem' }) as string, algorithm: name }]];
    if (name !== 'rsa-pss-sha512') forms.push({ ...publicKey.export({ format: 'jwk' }), ...(name === 'rsa-v1_5-sha256' ? { alg: 'RS256' } : {}) });
    for (const keys of forms) {
      expect(reasonOf(request, scheme(keys))).toBe('');
      expect(failureOf({ ...request, target: '/b' }, scheme(keys))).toBe('invalid');
      expect(failureOf({ ...request, body: Buffer.from('[]') }, scheme(keys))).toBe('invalid');
    }
  });

  test.each(NAMES)('%s: its signature is refused for any other key, whatever alg says', (name) => {
    const request = signed({ key: PAIRS[name].privateKey, algorithm: name, keyId: 'k' });
    for (const other of NAMES) {
      if (other === name) continue;
      const keys: SignatureKeys = { key: PAIRS[other].publicKey, algorithm: other };
      expect(reasonOf(request, scheme(keys))).toMatch(/the parameter alg is not/);
      const relabelled = { ...request, headers: { ...request.headers, 'signature-input': request.headers['signature-input']!.replace(`alg="${name}"`, `alg="${other}"`) } };
      expect(reasonOf(relabelled, scheme(keys))).toBe('the signature matches none of the keys');
    }
  });

  test('an RSA key has one algorithm: the weaker padding is refused unless the key says so', () => {
    const { publicKey, privateKey } = PAIRS['rsa-v1_5-sha256'];
    const weak = signed({ key: privateKey, algorithm: 'rsa-v1_5-sha256' });
    const strong = signed({ key: privateKey });
    expect(strong.headers['signature-input']).toContain('alg="rsa-pss-sha512"');
    expect(reasonOf(strong, scheme(publicKey))).toBe('');
    expect(reasonOf(weak, scheme(publicKey))).toMatch(/alg is not "rsa-pss-sha512"/);
    expect(reasonOf(strong, scheme({ key: publicKey, algorithm: 'rsa-v1_5-sha256' }))).toMatch(/alg is not "rsa-v1_5-sha256"/);
  });

  test('algorithm confusion: an HMAC made with a public key is no signature, and a public key is no secret', () => {
    const { publicKey } = PAIRS['ed25519'];
    const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
    for (const secret of [pem, publicKey.export({ type: 'spki', format: 'der' })]) {
      const request = signed({ secret });
      expect(reasonOf(request, scheme(publicKey))).toMatch(/alg is not "ed25519"/);
      const silent = withoutAlg(request, secret);
      expect(reasonOf(silent, scheme(publicKey))).toBe('the signature matches none of the keys');
    }
    expect(() => resolveOptions({ security: { requestSignature: { version: 2, secret: pem } } }, {})).toThrow(/secret must be a non-empty string, got a public key/);
    expect(() => scheme(createSecretKey(Buffer.from(pem)))).toThrow(/be no public key/);
    expect(() => new MessageSignatureScheme({ ...config, secret: () => pem }).finish(begun(signed({ secret: pem, keyId: 'a' })), undefined, NOW)).toThrow(/public keys belong into keys/);
  });

  test('key confusion: a key counts under its own id alone', async () => {
    const [alice, bob] = [pair('ed25519'), pair('ed25519')];
    const list: SignatureKeys = [{ key: alice.publicKey, id: 'alice' }, { key: bob.publicKey, id: 'bob' }];
    const find = (keyId: string): KeyAnswer => ({ alice: alice.publicKey, bob: bob.publicKey })[keyId];
    for (const keys of [list, find, async (keyId: string) => find(keyId)]) {
      expect(await verdict(signed({ key: alice.privateKey, keyId: 'alice' }), keys)).toMatchObject({ keyId: 'alice' });
      expect(await verdict(signed({ key: alice.privateKey, keyId: 'bob' }), keys)).toEqual({ failure: 'invalid', reason: 'the signature matches none of the keys' });
      expect(await verdict(signed({ key: alice.privateKey, keyId: 'eve' }), keys)).toEqual({ failure: 'invalid', reason: 'no key is known for the key id' });
      expect(await verdict(signed({ key: alice.privateKey }), keys)).toMatchObject({ failure: 'invalid' });
    }
  });

  test('a misspelt name beside a key throws, for the key would be everybody\'s', () => {
    const { publicKey: key } = pair('ed25519');
    for (const rest of [{ keyId: 'alice' }, { kid: 'alice' }, { alg: 'EdDSA' }]) {
      expect(() => scheme({ key, ...rest } as SignatureKeys)).toThrow(`keys: a key may have the names "key", "id" and "algorithm" only, and had "${Object.keys(rest).join()}"`);
    }
  });

  test('several keys of one id hold while one replaces another, and a key of no id is nobody by name', async () => {
    const [one, two] = [pair('ed25519'), pair('ec', { namedCurve: 'P-256' })];
    for (const { privateKey } of [one, two]) {
      expect(await verdict(signed({ key: privateKey, keyId: 'a' }), () => [one.publicKey, two.publicKey])).toMatchObject({ keyId: 'a' });
      expect(await verdict(signed({ key: privateKey, keyId: 'a' }), [one.publicKey, two.publicKey])).toMatchObject({ keyId: undefined });
    }
  });

  test('a lookup that returns what is no key is a failure of its own', () => {
    const request = begun(signed({ key: PAIRS['ed25519'].privateKey, keyId: 'a' }));
    for (const answer of ['', 'text', {}, 7, pair('x25519').publicKey, pair('rsa', { modulusLength: 1024 }).publicKey, pair('ec', { namedCurve: 'secp256k1' }).publicKey, pair('ed448').publicKey]) {
      expect(() => scheme(() => answer as SignatureKey).finish(request, undefined, NOW)).toThrow(/keys\(\) returned a key that is none/);
    }
    expect(scheme(() => null).finish(request, undefined, NOW)).toMatchObject({ failure: 'invalid' });
  });

  test('a second form of one ECDSA signature is the same signature to a replay store', () => {
    const { publicKey, privateKey } = PAIRS['ecdsa-p256-sha256'];
    const request = signed({ key: privateKey, keyId: 'a' });
    const bytes = Buffer.from(/:(.*):/.exec(request.headers['signature']!)![1]!, 'base64');
    const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
    const s = (order - BigInt(`0x${bytes.subarray(32).toString('hex')}`)).toString(16).padStart(64, '0');
    const twin = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s, 'hex')]);
    const digests = [bytes, twin].map((each) => {
      const verdict = scheme(publicKey).finish(begun({ ...request, headers: { ...request.headers, signature: `sig1=:${each.toString('base64')}:` } }), undefined, NOW);
      return 'digest' in verdict ? verdict.digest : verdict;
    });
    expect(digests[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(digests[1]).toBe(digests[0]);
  });

  test.each<[string, SignatureKey, RegExp]>([
    ['text that is no PEM', '-----BEGIN PUBLIC KEY-----', /must be a KeyObject, text in PEM or a JWK/],
    ['a JWK to encrypt', { ...PAIRS['ed25519'].publicKey.export({ format: 'jwk' }), use: 'enc' }, /"use"/],
    ['a JWK of other operations', { ...PAIRS['ed25519'].publicKey.export({ format: 'jwk' }), key_ops: ['sign'] }, /"key_ops"/],
    ['a JWK of another alg', { ...PAIRS['ed25519'].publicKey.export({ format: 'jwk' }), alg: 'ES256' }, /algorithm must for a key of type ed25519 be ed25519, and was "ecdsa-p256-sha256"/],
    ['an RSA JWK of an alg that RFC 9421 lacks', { ...PAIRS['rsa-v1_5-sha256'].publicKey.export({ format: 'jwk' }), alg: 'PS256' }, /"PS256"/],
    ['an algorithm beside that the JWK contradicts', { key: { ...PAIRS['rsa-v1_5-sha256'].publicKey.export({ format: 'jwk' }), alg: 'RS256' }, algorithm: 'rsa-pss-sha512' }, /"rsa-pss-sha512" and "rsa-v1_5-sha256"/],
    ['a short RSA key', pair('rsa', { modulusLength: 1024 }).publicKey, /RSA of 2048 bits or more/],
    ['an empty secret key', { kty: 'oct', k: '' }, /other bytes than NUL/],
  ])('refuses %s', (_, key, reason) => {
    expect(() => scheme(key)).toThrow(reason);
    expect(() => scheme(key)).toThrow(/^security\.requestSignature\.keys: /);
    expect(() => scheme([key])).toThrow(/^security\.requestSignature\.keys\[0\]: /);
  });

  test('thumbprints are those of RFC 7638 and RFC 8037', () => {
    expect(thumbprint({ kty: 'RSA', e: 'AQAB', alg: 'RS256', kid: '2011-04-29', n: '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw' })).toBe('NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs');
    expect(thumbprint({ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' })).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k');
  });

  function withoutAlg(request: Received, secret: string | Buffer): Received {
    const text = request.headers['signature-input']!.replace(/^sig1=/, '').replace(/;alg="[^"]*"/, '');
    const lines = signatureBase(request, ['@method', '@path', '@query'], text);
    const mac = createHmac('sha256', secret).update('base' in lines ? lines.base : '').digest('base64');
    return { ...request, headers: { ...request.headers, 'signature-input': `sig1=${text}`, 'signature': `sig1=:${mac}:` } };
  }

  function begun(request: Received) {
    const pending = scheme(() => null).begin(request, NOW);
    if (isRejection(pending)) throw new Error(pending.reason);
    return pending;
  }

  const verdict = ({ body, ...request }: Received, keys: SignatureKeys) => laterVerdictOf(scheme(keys), request, body, NOW);
});

describe('components', () => {
  const keys = PAIRS['ed25519'].publicKey;
  const sign = (options: Partial<Parameters<typeof signRequest>[0]>) => signed({ key: PAIRS['ed25519'].privateKey, ...options });

  test.each<[string, Partial<Parameters<typeof signRequest>[0]>, Record<string, string>, Partial<MessageSignatureConfig>]>([
    ['@target-uri', { covers: ['@target-uri'] }, { host: 'example.org' }, { covers: ['@target-uri'] }],
    ['@scheme', { covers: ['@scheme', '@authority'] }, { host: 'a.example' }, { covers: ['@scheme'] }],
    ['@query-param', { covers: ['@query-param;name="b"'] }, {}, { covers: ['@query-param;name="b"'] }],
    [';sf', { covers: ['X-A;sf'], headers: { 'x-a': ' b=1,   a' } }, { 'x-a': 'b=2, a' }, { covers: ['x-a'] }],
    [';bs', { covers: ['x-a;bs'], headers: { 'x-a': 'one, two' } }, { 'x-a': 'one,two' }, { covers: ['x-a'] }],
    [';key', { covers: ['x-a;key="b"'], headers: { 'x-a': 'b=1, a' } }, { 'x-a': 'b=2, a' }, { covers: ['x-a;key="b"'] }],
  ])('%s is signed, asked for and checked', (_, options, changed, policy) => {
    const request = sign(options);
    expect(reasonOf(request, scheme(keys, policy))).toBe('');
    expect(reasonOf(sign({ headers: options.headers }), scheme(keys, policy))).toMatch(/is not covered/);
    if (Object.keys(changed).length > 0) expect(reasonOf({ ...request, headers: { ...request.headers, ...changed } }, scheme(keys, policy))).toBe('the signature matches none of the keys');
  });

  test('@target-uri and @scheme are those of the connection', () => {
    const request = sign({ covers: ['@target-uri'] });
    expect(failureOf({ ...request, client: { protocol: 'http' } } as Received, scheme(keys))).toBe('invalid');
    expect(reasonOf({ ...request, client: undefined } as unknown as Received, scheme(keys))).toMatch(/@target-uri is none that this request has/);
  });

  test.each([
    ['var', 'this%20is%20a%20big%0Amultiline%20value'], ['bar', 'with%20plus%20whitespace'], ['fa%C3%A7ade%22%3A%20', 'something'],
    ['marks', '%21%27%28%29%7E%2A'.replace('%2A', '*')], ['qux', ''], ['twice', undefined], ['absent', undefined], ['bytes', undefined], ['façade', undefined],
  ])('RFC 9421 section 2.2.8: the parameter %s', (name, value) => {
    const target = "/parameters?var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace&fa%C3%A7ade%22%3A%20=something&marks=!'()~*&qux=&twice=1&twice=1&bytes=%FF";
    const component = `@query-param;name="${name}"`;
    expect(signatureBase({ method: 'GET', target, headers: {} }, [component], '()')).toEqual(value === undefined ? { lacks: component } : { base: `"@query-param";name="${name}": ${value}\n"@signature-params": ()` });
  });

  test.each([
    ['example-dict;sf', '"example-dict";sf: a=1, b=2;x=1;y=2, c=(a b c)'],
    ['example-dict;key="a"', '"example-dict";key="a": 1'],
    ['example-dict;key="b"', '"example-dict";key="b": 2;x=1;y=2'],
    ['example-dict;key="c"', '"example-dict";key="c": (a b c)'],
    ['example-header;bs', '"example-header";bs: :dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:'],
    ['list;sf', '"list";sf: a, a2;q=1'],
  ])('RFC 9421 section 2.1: %s', (component, line) => {
    const rawHeaders = ['Example-Dict', 'a=1,    b=2;x=1;y=2,   c=(a   b   c)', 'Example-Header', 'value, with, lots', 'Example-Header', 'of, commas', 'List', 'a,a2;  q=1'];
    const headers = { 'example-dict': rawHeaders[1]!, 'example-header': 'value, with, lots, of, commas', 'list': rawHeaders[7]! };
    expect(signatureBase({ method: 'GET', target: '/', headers, rawHeaders }, [component], '()')).toEqual({ base: `${line}\n"@signature-params": ()` });
  });

  test.each(['example;sf', 'example;key="b"', 'absent;sf', 'absent;bs', 'twice;sf', 'again;sf', 'again;key="a"', 'again;key="b"', 'hidden;sf', 'behind;sf', 'parameters;sf', '@method;sf', '@path;bs', '@query;key="a"', 'twice;name="a"', 'twice;bs;sf', '@query-param', '@query-param;key="a"'])('%s has no value', (component) => {
    expect(signatureBase({ method: 'GET', target: '/?a=1', headers: { example: 'no: field', twice: 'a, a', again: 'a=1, b, a=2', hidden: 'a=1, b=%"%2c", a=2', behind: 'x=%"\\", a="1", a="2"', parameters: 'a;x=1;x="2,;"' } }, [component], '()')).toEqual({ lacks: component });
  });

  test.each([
    ['"x-a";req', /of a request that a response answers/], ['"x-a";tr', /of the trailers/], ['"x-a";sf=?0', /has the parameter sf/], ['"x-a";sf="1"', /has the parameter sf/],
    ['"x-a";key', /has the parameter key/], ['"x-a";x=1', /has the parameter x/], ['"x-a";sf "x-a";sf', /x-a is covered twice/],
    ['"x-a";sf;key="a" "x-a";key="a";sf', /x-a is covered twice/], ['"x-a;sf";key="b"', /there is no component x-a;sf/], ['"@status"', /@status is none that this request has/],
  ])('the component %s is refused for its own reason', (item, reason) => {
    const request = sign({});
    const input = request.headers['signature-input']!.replace('"@query")', `"@query" ${item})`);
    expect(reasonOf({ ...request, headers: { ...request.headers, 'signature-input': input, 'x-a': 'a=1' } }, scheme(keys))).toMatch(reason);
  });

  test('a part of a header is not the header, nor a parameter the query', () => {
    const request = sign({ covers: ['x-a;key="b"', '@query-param;name="b"'], headers: { 'x-a': 'b=1, a' }, includeQuery: false });
    expect(reasonOf(request, scheme(keys, { includeQuery: false, covers: ['x-a'] }))).toMatch(/x-a is not covered/);
    expect(reasonOf(request, scheme(keys))).toMatch(/@query is not covered/);
  });
});

describe('several signatures', () => {
  const [app, proxy] = [pair('ed25519'), pair('ec', { namedCurve: 'P-256' })];
  const sign = (label: string | undefined, tag: string | undefined, { privateKey } = app, headers: Record<string, string> = {}) =>
    signed({ key: privateKey, label, tag, headers });

  test('signRequest puts its own behind those that are there', () => {
    const first = sign('app', 'a').headers;
    const both = sign('proxy', undefined, proxy, { 'Signature': first['signature']!, 'Signature-Input': first['signature-input']! });
    expect(both.headers['signature']).toMatch(/^app=:[^:]*:, proxy=:[^:]*:$/);
    expect(reasonOf(both, scheme(app.publicKey, { tag: 'a' }))).toBe('');
    expect(reasonOf(both, scheme(proxy.publicKey))).toBe('');
    expect(reasonOf(both, scheme(proxy.publicKey, { tag: 'a' }))).toMatch(/alg is not/);
    expect(() => sign('app', undefined, proxy, { 'Signature': first['signature']!, 'Signature-Input': first['signature-input']! })).toThrow(/label must be another/);
  });

  test('a signature for one purpose is none for another, and a stripped one is missed', () => {
    expect(reasonOf(sign('s', 'web-bot-auth'), scheme(app.publicKey))).toMatch(/no signature with no tag/);
    expect(reasonOf(sign('s', undefined), scheme(app.publicKey, { tag: 'web-bot-auth' }))).toMatch(/no signature with tag="web-bot-auth"/);
    const first = sign('app', undefined).headers;
    const both = sign('weak', undefined, proxy, { 'Signature': first['signature']!, 'Signature-Input': first['signature-input']! });
    const policy = { label: 'app' };
    expect(reasonOf(both, scheme([app.publicKey, proxy.publicKey], policy))).toBe('');
    const stripped = (name: string) => both.headers[name]!.replace(/^.*, weak=/, 'weak=');
    expect(reasonOf({ ...both, headers: { ...both.headers, 'signature': stripped('signature'), 'signature-input': stripped('signature-input') } }, scheme([app.publicKey, proxy.publicKey], policy))).toMatch(/no signature labelled app/);
    expect(reasonOf({ ...both, headers: { ...both.headers, signature: stripped('signature') } }, scheme([app.publicKey, proxy.publicKey], policy))).toMatch(/different labels/);
    expect(reasonOf(both, scheme([app.publicKey, proxy.publicKey]))).toMatch(/several signatures have no tag/);
  });

  test('a weaker signature under the same label is refused by its algorithm', () => {
    const hmac = signed({ secret: SECRET, label: 'app' });
    expect(reasonOf(hmac, scheme(app.publicKey, { label: 'app' }))).toMatch(/alg is not "ed25519"/);
  });
});

describe('nonce', () => {
  const { publicKey, privateKey } = PAIRS['ed25519'];
  test('is asked for unless it is optional; then any will do', () => {
    const request = signed({ key: privateKey });
    const text = (nonce: string) => request.headers['signature-input']!.slice(5).replace(/;nonce="[^"]*"/, nonce);
    for (const nonce of ['', ';nonce=""', ';nonce="short"']) {
      const lines = signatureBase(request, ['@method', '@path', '@query'], text(nonce));
      const signature = new MessageKey(privateKey, 'sign').sign('base' in lines ? lines.base : '');
      const sent = { ...request, headers: { ...request.headers, 'signature-input': `sig1=${text(nonce)}`, 'signature': `sig1=:${signature.toString('base64')}:` } };
      expect(reasonOf(sent, scheme(publicKey))).toMatch(/nonce is not given/);
      expect(reasonOf(sent, scheme(publicKey, { nonce: 'optional' }))).toBe('');
    }
    const input = `sig1=${text(';nonce=7')}`;
    expect(reasonOf({ ...request, headers: { ...request.headers, 'signature-input': input } }, scheme(publicKey, { nonce: 'optional' }))).toMatch(/nonce is not a string/);
  });
});

describe('options', () => {
  const { publicKey } = PAIRS['ed25519'];
  const resolve = (settings: object) => () => resolveOptions({ security: { requestSignature: { version: 2, ...settings } } }, {});

  test.each<[object, RegExp]>([
    [{}, /requestSignature\.secret must be a non-empty string/],
    [{ keys: publicKey, secret: SECRET }, /requestSignature\.secret must be left out beside/],
    [{ keys: publicKey, version: 1 }, /requestSignature\.keys must be left out with version: 1/],
    [{ secret: SECRET, version: 1, nonce: 'optional' }, /requestSignature\.nonce must be left out with version: 1/],
    [{ keys: [] }, /requestSignature\.keys must be a public key/],
    [{ keys: 'a secret' }, /requestSignature\.keys must be a public key.*got a string/],
    [{ keys: { jwks: 'http://example.com/' } }, /requestSignature\.keys must be a public key/],
    [{ keys: { jwks: 'file:///etc/passwd' } }, /requestSignature\.keys must be a public key/],
    [{ keys: publicKey, nonce: 'never' }, /requestSignature\.nonce must be one of/],
    [{ keys: publicKey, label: 'A' }, /requestSignature\.label must be a label/],
    [{ keys: publicKey, covers: ['@status'] }, /covers\[0\] must be the name of a header/],
    [{ keys: publicKey, covers: ['signature;key="a"'] }, /covers\[0\] must be the name of a header/],
    [{ keys: publicKey, covers: ['x-a;tr'] }, /covers\[0\] must be the name of a header/],
  ])('%# are refused', (settings, reason) => {
    expect(resolve(settings)).toThrow(reason);
  });

  test.each<object>([
    { keys: publicKey }, { keys: [publicKey] }, { keys: () => null }, { keys: { jwks: 'https://example.com/keys' } }, { keys: { jwks: new URL('http://localhost:3000/keys') } },
    { keys: RFC_KEYS['test-key-rsa'] }, { keys: publicKey.export({ format: 'jwk' }), covers: ['@target-uri', '@query-param;name="A"', 'X-A;key="B"'], tag: 'a', label: 'b' },
  ])('%# are taken', (settings) => {
    expect(resolve(settings)).not.toThrow();
  });
});

describe('signRequest', () => {
  test.each<[Partial<Parameters<typeof signRequest>[0]>, RegExp]>([
    [{ key: createPublicKey(RFC_ED25519_PRIVATE) }, /key to sign by must be a private key/],
    [{ key: 'x' }, /key to sign by must be a KeyObject/],
    [{ key: RFC_ED25519_PRIVATE, algorithm: 'ecdsa-p256-sha256' as MessageAlgorithm }, /algorithm must for a key of type ed25519/],
    [{ key: RFC_ED25519_PRIVATE, secret: SECRET }, /secret must be left out beside key/],
    [{ key: RFC_ED25519_PRIVATE, version: 1 }, /key means nothing with version 1/],
    [{ key: RFC_ED25519_PRIVATE, label: 'A b' }, /label must be/],
    [{ key: RFC_ED25519_PRIVATE, tag: 'ä' }, /tag must be/],
    [{ key: RFC_ED25519_PRIVATE, url: '/a', covers: ['@target-uri'] }, /@target-uri can't be signed.*absolute url/],
    [{ key: RFC_ED25519_PRIVATE, covers: ['x;;'] }, /can't be signed/],
    [{ secret: SECRET, algorithm: 'ed25519' }, /algorithm must be "sha256" with version 2/],
  ])('refuses what it cannot sign by: %#', (options, reason) => {
    expect(() => signed(options)).toThrow(reason);
  });
});
