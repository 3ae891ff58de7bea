import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { signRequest } from '../lib/signature/sign';
import { MessageSignatureScheme } from '../lib/signature/v2/message-signature';
import { runs } from './support/runs';
import { config, failureOf, NOW, type Received } from './support/signed-message';
import { workOf } from './support/work-meter';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const schemes = [
  new MessageSignatureScheme({ ...config, secret: [], keys: publicKey }),
  new MessageSignatureScheme({ ...config, secret: [], keys: [{ key: publicKey, id: 'a' }], nonce: 'optional', tag: 't', covers: ['x-a;key="b"', '@target-uri'] }),
  new MessageSignatureScheme(config),
];

const names = fc.constantFrom('@method', '@path', '@query', '@authority', '@target-uri', '@scheme', '@request-target', '@query-param', '@status', '@signature-params', 'x-a', 'content-digest', 'signature', 'constructor', '__proto__', '');
const parameters = fc.constantFrom('', ';sf', ';bs', ';req', ';tr', ';key="b"', ';key', ';name="b"', ';name="%FF"', ';sf;bs', ';x=1', ';sf=?0', ';key="b";sf');
const items = fc.tuple(names, parameters).map(([name, text]) => `"${name}"${text}`);
const settings = fc.constantFrom(`;created=${NOW / 1000}`, ';created=-1', ';created=9e9', ';created=999999999999999', ';expires=1', ';nonce="0123456789abcdef"', ';nonce=1', ';alg="ed25519"', ';alg="hmac-sha256"', ';alg=x', ';keyid="a"', ';keyid=:AAAA:', ';tag="t"', ';tag', ';x=?1', ';created=@1');
const members = fc.tuple(fc.constantFrom('a', 'b', '*', 'A', 'a=b', ''), fc.array(items, { maxLength: 6 }), fc.array(settings, { maxLength: 7 }))
  .map(([label, list, given]) => `${label}=(${list.join(' ')})${given.join('')}`);
const bytes = fc.constantFrom(':AAAA:', `:${Buffer.alloc(64).toString('base64')}:`, `:${Buffer.alloc(32).toString('base64')}:`, '::', '1', '"x"', '()', ':=:', '?1');
const requests = fc.record({
  method: fc.constantFrom('GET', 'POST', 'get', ''),
  target: fc.constantFrom('/', '/?b=1', '/?b=1&b=2', '/?b=%FF', '/?%', '*', 'http://a/', '/ä', '/?b='),
  headers: fc.record({
    'host': fc.constantFrom('a', '', 'A:80'),
    'x-a': fc.constantFrom('b=1', 'b', 'b;b=1, b=2', '"', '', 'b=(', 'ä', 'b=:A:'),
    'signature-input': fc.oneof(fc.array(members, { maxLength: 3 }).map((list) => list.join(', ')), fc.string({ unit: 'binary-ascii', maxLength: 60 })),
    'signature': fc.oneof(fc.array(fc.tuple(fc.constantFrom('a', 'b', '*'), bytes), { maxLength: 3 }).map((list) => list.map((each) => each.join('=')).join(', ')), fc.string({ unit: 'binary-ascii', maxLength: 60 })),
    'content-digest': fc.constantFrom('sha-256=:AAAA:', '', 'x'),
  }, { requiredKeys: ['host'] }),
  client: fc.constantFrom({ protocol: 'https' }, { protocol: 'wss' }),
});

test('whatever is sent as a signature is answered, never thrown at, and none passes', () => {
  fc.assert(fc.property(requests, (request) => {
    for (const scheme of schemes) expect(failureOf(request as Received, scheme)).toMatch(/^(?:missing|invalid|expired)$/);
  }), { numRuns: runs(3000) });
});

test('a signature that holds no longer does once a character of its headers differs', () => {
  const signed = signRequest({ version: 2, key: privateKey, keyId: 'a', method: 'GET', url: 'https://a/x?b=1', timestamp: NOW, covers: ['x-a;sf', 'x-a;bs', '@query-param;name="b"', '@target-uri'], headers: { 'x-a': 'b=1' } });
  const headers: Record<string, string> = { 'host': 'a', 'x-a': 'b=1', 'signature-input': signed['Signature-Input']!, 'signature': signed['Signature']! };
  const request: Received = { method: 'GET', target: '/x?b=1', headers, client: { protocol: 'https' } };
  expect(failureOf(request, schemes[0])).toBeUndefined();
  fc.assert(fc.property(fc.constantFrom('signature-input', 'signature', 'x-a', 'host'), fc.nat(), fc.integer({ min: 0x20, max: 0x7e }), fc.boolean(), (name, index, code, inserts) => {
    const text = headers[name]!;
    const at = index % (text.length + 1);
    const changed = text.slice(0, at) + String.fromCharCode(code) + text.slice(inserts ? at : at + 1);
    fc.pre(changed.trim().toLowerCase() !== text.toLowerCase());
    expect(failureOf({ ...request, headers: { ...headers, [name]: changed } }, schemes[0])).toMatch(/^(?:invalid|expired)$/);
  }), { numRuns: runs(600) });
});

describe('bounded work', () => {
  const created = `;created=${NOW / 1000};nonce="0123456789abcdef"`;
  const repeated = (text: (index: number) => string, separator: string, length = 4000) => {
    const list: string[] = [];
    for (let size = 0, index = 0; ; index++) {
      size += text(index).length + separator.length;
      if (size > length) return list.join(separator);
      list.push(text(index));
    }
  };
  const long = { 'x-a': repeated((index) => `k${index}="value ${index}"`, ', ', 11_000), 'host': 'a' };

  test.each<[string, Record<string, string>, string]>([
    ['labels', { 'signature-input': repeated((index) => `l${index}=()`, ', '), 'signature': repeated((index) => `l${index}=::`, ', ') }, '/'],
    ['components', { 'signature-input': `a=(${repeated((index) => `"x${index}"`, ' ')})${created}`, 'signature': 'a=::' }, '/'],
    ['members of one header', { 'signature-input': `a=("@method" "@path" "@query" ${repeated((index) => `"x-a";key="k${index}"`, ' ', 3900)})${created}`, 'signature': 'a=::', ...long }, '/'],
    ['parameters of the query', { 'signature-input': `a=("@method" "@path" "@query" ${repeated((index) => `"@query-param";name="q${index}"`, ' ', 3900)})${created}`, 'signature': 'a=::' }, `/?${repeated((index) => `q${index}=1`, '&', 11_000)}`],
    ['one component over and over', { 'signature-input': `a=(${repeated(() => '"x-a"', ' ')})${created}`, 'signature': 'a=::', ...long }, '/'],
    ['a parameter of any length', { 'signature-input': `a=("@method")${created};keyid="${'a'.repeat(4000)}"`, 'signature': 'a=::' }, '/'],
    ['brackets', { 'signature-input': `a=${'('.repeat(4000)}`, 'signature': 'a=::' }, '/'],
  ])('%s: work grows with the characters that are sent', (_, headers, target) => {
    const request = { method: 'GET', target, headers };
    expect(headers['signature-input']!.length).toBeLessThanOrEqual(4096);
    const sent = target.length + Object.values(headers).join('').length;
    expect(workOf(() => expect(failureOf(request, schemes[0])).toBe('invalid'))).toBeLessThan(40 * sent + 20_000);
  });
});
