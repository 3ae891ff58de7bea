import { createHmac } from 'node:crypto';
import { type CreateServerOptions, type RequestSignatureConfig, type SecretLookup, signRequest } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { type Answer, ask } from './support/wire';

const SECRETS: Readonly<Record<string, string | string[]>> = {
  ann: 'the secret of ann, 32 bytes or more',
  bob: ['the old secret of bob, 32 bytes or more', 'the new secret of bob, 32 bytes or more'],
  empty: '',
  padded: '\0\0\0',
  odd: [''],
};

const INVALID = { error: 'Invalid signature', message: 'Request signature verification failed' };
const UNKNOWN = { error: 'Service Unavailable', message: 'The request signature could not be checked' };

const running = new Running();
const logger = new LogRecorder();

afterEach(async () => {
  logger.lines.length = 0;
  await running.close();
});

function serve(secret: SecretLookup, config: Partial<RequestSignatureConfig> = {}): Promise<number> {
  const options: CreateServerOptions = { logging: { logger }, security: { requestSignature: { ...config, secret } } };
  return running.app((app) => {
    app.get('/who', (req, res) => res.json({ keyId: req.signatureKeyId }));
  }, options);
}

/** Signs by the wire format alone, so that keys signRequest would refuse can sign too. */
function sign(secret: string): Record<string, string> {
  const timestamp = String(Date.now());
  return { 'Svc-Request-Sig': createHmac('sha256', secret).update(`GET/who${timestamp}`).digest('hex'), 'X-Timestamp': timestamp };
}

function who(port: number, keyId: string | undefined, secret: string, header = 'X-Key-Id'): Promise<Answer> {
  return ask(port, '/who', { headers: { ...sign(secret), ...(keyId === undefined ? {} : { [header]: keyId }) } });
}

const direct: SecretLookup = (keyId) => SECRETS[keyId];
const later: SecretLookup = async (keyId) => Promise.resolve(SECRETS[keyId]);

describe.each([['at once', direct], ['later', later]])('a secret that is found %s', (_, lookup) => {
  test('lets its own client through, and tells the handler which', async () => {
    const port = await serve(lookup);
    const answer = await who(port, 'ann', SECRETS['ann'] as string);
    expect([answer.status, answer.json]).toEqual([200, { keyId: 'ann' }]);
  });

  test('may be several, while one replaces another', async () => {
    const port = await serve(lookup);
    for (const secret of SECRETS['bob'] as string[]) expect((await who(port, 'bob', secret)).status).toBe(200);
  });

  test('lets no other client through', async () => {
    const port = await serve(lookup);
    for (const keyId of ['bob', 'carol', 'ANN']) {
      const answer = await who(port, keyId, SECRETS['ann'] as string);
      expect([keyId, answer.status, answer.json]).toEqual([keyId, 401, INVALID]);
    }
  });

  test.each(['empty', 'padded', 'odd', 'constructor', '__proto__', 'toString'])('is none for the key %s, whatever it was signed with', async (keyId) => {
    const port = await serve(lookup);
    for (const secret of ['', '\0', 'undefined', '[object Object]', SECRETS['ann'] as string]) {
      const answer = await who(port, keyId, secret);
      expect([answer.status, answer.json]).toEqual([503, UNKNOWN]);
    }
    expect(logger.text).toContain('returned what is no secret');
  });
});

test.each<[string, string | undefined]>([
  ['absent', undefined], ['empty', ''], ['of two', 'ann, ann'], ['of 257 characters', 'a'.repeat(257)], ['with a space', 'a nn'], ['not ASCII', 'ann\xe9'],
])('a key id that is %s is invalid, and nobody is asked for it', async (_name, keyId) => {
  const asked: string[] = [];
  const port = await serve((id) => {
    asked.push(id);
    return SECRETS['ann'];
  });
  const answer = await who(port, keyId, SECRETS['ann'] as string);
  expect([answer.status, answer.json, asked]).toEqual([401, INVALID, []]);
});

test('a lookup is asked once the body is in, and only for what passes the headers', async () => {
  const asked: string[] = [];
  const port = await serve((id) => {
    asked.push(id);
    return SECRETS[id];
  });
  const headers = { ...sign(SECRETS['ann'] as string), 'X-Key-Id': 'ann' };
  expect((await ask(port, '/who', { headers: { ...headers, 'X-Timestamp': '1600000000000' } })).json).toMatchObject({ error: 'Signature expired' });
  expect((await ask(port, '/who', { headers: { ...headers, 'Svc-Request-Sig': 'abc' } })).status).toBe(401);
  expect(asked).toEqual([]);
});

test.each<[string, SecretLookup]>([
  ['throws', () => { throw new Error('vault sealed'); }],
  ['rejects', async () => Promise.reject(new Error('vault sealed'))],
])('a lookup that %s is answered by 503, and its reason stays in the log', async (_name, lookup) => {
  const port = await serve(lookup);
  const answer = await who(port, 'ann', SECRETS['ann'] as string);
  expect([answer.status, answer.json]).toEqual([503, UNKNOWN]);
  expect(logger.text).toContain('vault sealed');
});

test('the header that names the key may have another name', async () => {
  const port = await serve(direct, { keyIdHeaderName: 'X-Client' });
  expect((await who(port, 'ann', SECRETS['ann'] as string, 'x-client')).json).toEqual({ keyId: 'ann' });
  expect((await who(port, 'ann', SECRETS['ann'] as string)).status).toBe(401);
});

test('signRequest names the key', async () => {
  const port = await serve(direct, { keyIdHeaderName: 'X-Client' });
  const headers = signRequest({ secret: SECRETS['ann'] as string, keyId: 'ann', keyIdHeaderName: 'X-Client', method: 'GET', url: '/who' });
  expect(Object.keys(headers)).toEqual(['Svc-Request-Sig', 'X-Timestamp', 'X-Client']);
  expect((await ask(port, '/who', { headers })).json).toEqual({ keyId: 'ann' });
  expect(() => signRequest({ secret: 'x', keyId: 'a b', method: 'GET', url: '/' })).toThrow('signRequest: keyId must be 1 to 256 visible ASCII characters without a comma, and was "a b"');
});

test('without a lookup a request has no key id, whatever it says', async () => {
  const port = await running.app((app) => {
    app.get('/who', (req, res) => res.json({ keyId: req.signatureKeyId ?? null }));
  }, { security: { requestSignature: { secret: SECRETS['ann'] as string } } });
  expect((await who(port, 'eve', SECRETS['ann'] as string)).json).toEqual({ keyId: null });
});

test('debug shows the parts that are signed: lengths and hashes, no secret and no signature', async () => {
  const port = await serve(direct, { debug: true });
  const headers: Record<string, string> = { ...sign(SECRETS['ann'] as string), 'X-Key-Id': 'ann' };
  await ask(port, '/who', { headers });
  const parts = logger.lines.map(({ fields }) => fields['parts']).find((found) => found !== undefined);
  expect(parts).toEqual({
    algorithm: 'sha256', method: 'GET', url: { text: '/who', length: 4 },
    body: { bytes: 0, sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' },
    timestamp: headers['X-Timestamp'], keyId: 'ann',
  });
  expect(logger.text).not.toContain(SECRETS['ann']);
  expect(logger.text).not.toContain(headers['Svc-Request-Sig']);
});
