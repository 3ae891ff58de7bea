import { generateKeyPairSync } from 'node:crypto';
import { signRequest } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { SECRET } from './support/signed-message';
import { ask } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
type Kind = 'version 1' | 'version 2' | 'a key';
const KINDS: Kind[] = ['version 1', 'version 2', 'a key'];
const SERVER = { 'version 1': { secret: SECRET }, 'version 2': { secret: SECRET, version: 2 }, 'a key': { keys: publicKey, version: 2 } } as const;
const CLIENT = { 'version 1': { secret: SECRET }, 'version 2': { secret: SECRET, version: 2 }, 'a key': { key: privateKey, version: 2 } } as const;

/** The reasons of the log, where one target was signed and another is sent. */
async function reasonsOf(kind: Kind, signed: string, sent: string, { debug = true, headers = {}, covers, body }: { debug?: boolean; headers?: Record<string, string>; covers?: string[]; body?: string } = {}): Promise<string> {
  const logger = new LogRecorder();
  const port = await running.app((app) => app.all('/**', (_req, res) => res.json(1)), { logging: { logger }, security: { requestSignature: { ...SERVER[kind], debug } } });
  const method = body === undefined ? 'GET' : 'POST';
  const given = { ...headers, ...signRequest({ ...CLIENT[kind], method, url: signed, body, ...(covers === undefined ? {} : { covers, headers }) }) };
  const answer = await ask(port, sent, { method, headers: { ...given, ...(covers === undefined ? {} : { Host: `${headers['Host']}:81` }) }, ...(body === undefined ? {} : { body }) });
  expect(answer.json).toEqual({ error: 'Invalid signature', message: 'Request signature verification failed' });
  expect([answer.status, logger.text.includes('would match for')]).toEqual([401, logger.text.includes('would match')]);
  return logger.text;
}

describe.each(KINDS)('%s', (kind) => {
  const readings: [string, string, string][] = [
    ['a quote that a client escapes', "/a?q=%27x%27", "/a?q='x'"], ['one that it does not escape', "/a?q='x'", '/a?q=%27x%27'],
    ['escapes in lower case', '/a%2Fb', '/a%2fb'], ['in upper case', '/a%2fb', '/a%2Fb'], ['unreserved characters', '/a~b?c=A', '/a%7Eb?c=%41'],
    ['a space', '/a?q=x+y', '/a?q=x%20y'], ['dot segments', '/b', '/a/../b'], ['a prefix that a proxy adds', '/users/1', '/api/users/1'],
    ...(kind === 'version 1' ? [['an empty query', '/a?', '/a'], ['none', '/a', '/a?'], ['a query that is not signed', '/a', '/a?b=1']] as [string, string, string][] : []),
  ];
  test.each(readings)('%s: the log says what would match', async (_, signed, sent) => {
    expect(await reasonsOf(kind, signed, sent)).toContain(`it would match for ${JSON.stringify(JSON.stringify(signed)).slice(1, -1)}`);
  });

  test('a signature of another target, or secret, matches nothing; and without debug nothing is tried', async () => {
    expect(await reasonsOf(kind, '/other', '/a?q=1')).not.toContain('would match');
    expect(await reasonsOf(kind, '/a%2Fb', '/a%2fb', { debug: false })).not.toContain('would match');
    const long = `/${"%2fa'".repeat(1000)}?${"q='%27'&".repeat(500)}`;
    expect(await reasonsOf(kind, '/a', long)).not.toContain('would match');
  });
});

test.each(['version 2', 'a key'] as const)('%s: the log says of Host that its port was not signed, and shows what was signed with a body too', async (kind) => {
  expect(await reasonsOf(kind, '/a', '/a', { headers: { Host: 'a.example' }, covers: ['@authority'] })).toContain('it would match for Host \\"a.example\\"');
  const text = await reasonsOf(kind, '/b', '/api/b', { body: 'a body' });
  expect(text).toContain('"content-digest":"sha-256=');
  expect(text).toContain('it would match for \\"/b\\"');
});
