import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { RemoteKeys } from '../lib/signature/v2/remote-keys';
import { MessageKey } from '../lib/signature/v2/message-key';

const pair = generateKeyPairSync('ed25519');
const jwkOf = (key: KeyObject, kid: string) => ({ ...key.export({ format: 'jwk' }), kid });

let answer: (req: IncomingMessage, res: ServerResponse) => void;
let asked = 0;
const server = createServer((req, res) => {
  asked++;
  answer(req, res);
});
let url: string;
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

let now = 1_700_000_000_000;
let clock: jest.SpyInstance;
beforeEach(() => {
  asked = 0;
  clock = jest.spyOn(Date, 'now').mockImplementation(() => now);
});
afterEach(() => clock.mockRestore());

const set = (...keys: unknown[]) => (_req: unknown, res: ServerResponse) => void res.end(JSON.stringify({ keys }));
const ids = async (keys: RemoteKeys, id: string) => (await keys.find(id)).map((key) => key.id);

test('a set is fetched once for many, and again after ten minutes', async () => {
  answer = set(jwkOf(pair.publicKey, 'a'), jwkOf(pair.publicKey, 'b'));
  const keys = new RemoteKeys(url);
  expect(await Promise.all(['a', 'b', 'a', 'c'].map((id) => ids(keys, id)))).toEqual([['a'], ['b'], ['a'], []]);
  expect(asked).toBe(1);
  now += 599_999;
  expect(keys.find('a')).toHaveLength(1);
  expect(asked).toBe(1);
  now += 1;
  answer = set(jwkOf(pair.publicKey, 'b'));
  expect(await ids(keys, 'a')).toEqual([]);
  expect(asked).toBe(2);
});

test('unknown ids ask once a minute, however many there are', async () => {
  answer = set(jwkOf(pair.publicKey, 'a'));
  const keys = new RemoteKeys(url);
  for (let i = 0; i < 50; i++) expect(await ids(keys, `x${i}`)).toEqual([]);
  expect(asked).toBe(1);
  now += 60_000;
  answer = set(jwkOf(pair.publicKey, 'x'));
  expect(await ids(keys, 'x')).toEqual(['x']);
  expect(asked).toBe(2);
});

test('what is verified with is the key', async () => {
  answer = set({ ...jwkOf(pair.publicKey, 'a'), alg: 'EdDSA', use: 'sig', key_ops: ['verify'] });
  const [key] = await new RemoteKeys(url).find('a');
  const signature = new MessageKey(pair.privateKey, 'sign').sign('base');
  expect([key?.algorithm, key?.verify('base', signature), key?.verify('basf', signature)]).toEqual(['ed25519', true, false]);
});

test('keys of other kinds, shared secrets and keys of no id are left out; of one id four are tried, of a set a hundred kept', async () => {
  const other = generateKeyPairSync('x25519').publicKey;
  answer = set(null, 7, 'a', {}, { kid: 'a' }, jwkOf(other, 'a'), { kty: 'oct', k: 'AAAA', kid: 'a' }, { ...jwkOf(pair.publicKey, 'a'), use: 'enc' }, pair.publicKey.export({ format: 'jwk' }));
  expect(await ids(new RemoteKeys(url), 'a')).toEqual([]);
  answer = set(...Array.from({ length: 90 }, () => jwkOf(pair.publicKey, 'a')), ...Array.from({ length: 20 }, (_, index) => jwkOf(pair.publicKey, `b${index}`)));
  const keys = new RemoteKeys(url);
  expect([await ids(keys, 'a'), await ids(keys, 'b9'), await ids(keys, 'b10')]).toEqual([['a', 'a', 'a', 'a'], ['b9'], []]);
});

test.each<[string, typeof answer]>([
  ['an error', (_req, res) => void res.writeHead(500).end()],
  ['a redirect', (req, res) => void (req.url === '/keys' ? res.writeHead(302, { Location: '/other' }).end() : set(jwkOf(pair.publicKey, 'a'))(req, res))],
  ['no JSON', (_req, res) => void res.end('<html>')],
  ['no set', (_req, res) => void res.end('{"keys":{}}')],
  ['null', (_req, res) => void res.end('null')],
  ['too many bytes', (_req, res) => void res.end(`{"keys":[],"x":"${'a'.repeat(262_144)}"}`)],
  ['a closed connection', (req) => void req.socket.destroy()],
])('%s is no set: it fails, the next try is ten seconds later, and keys that came hold for an hour', async (_, failing) => {
  answer = failing;
  const keys = new RemoteKeys(url);
  await expect(ids(keys, 'a')).rejects.toThrow();
  const before = asked;
  await expect(ids(keys, 'a')).rejects.toThrow(/could not be fetched/);
  expect(asked).toBe(before);
  now += 10_000;
  answer = set(jwkOf(pair.publicKey, 'a'));
  expect(await ids(keys, 'a')).toEqual(['a']);
  answer = failing;
  now += 3_599_999;
  expect(await ids(keys, 'a')).toEqual(['a']);
  now += 10_000;
  await expect(ids(keys, 'a')).rejects.toThrow();
});
