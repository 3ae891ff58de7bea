import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer as createNodeServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { createVerifier, httpbis } from 'http-message-signatures';
import { type Application, type CreateServerOptions, createServer, signedFetch } from 'waypost';
import { keySource } from '../lib/signature/v2/key-source';
import { MessageKey } from '../lib/signature/v2/message-key';
import { checkResponse } from '../lib/signature/v2/message-response';
import { signatureBase } from '../lib/signature/v2/message-base';
import { RFC_KEYS, RFC_REQUEST, RFC_RESPONSE, RFC_RESPONSE_VECTOR } from './support/rfc9421';
import { Running } from './support/running';
import { SECRET } from './support/signed-message';
import { ask } from './support/wire';

const running = new Running();
const proxies: Server[] = [];
afterEach(async () => {
  for (const proxy of proxies.splice(0)) {
    proxy.closeAllConnections();
    proxy.close();
  }
  await running.close();
});

const { publicKey, privateKey } = generateKeyPairSync('ed25519');

function routes(app: Application): void {
  app.get('/json', (_req, res) => res.set('ETag', '"a"').json({ a: 'ä' }));
  app.get('/xjson', (_req, res) => res.xJson({ a: 'ä' }));
  app.get('/never', { timeout: 5 }, () => undefined);
  app.get('/text', (_req, res) => res.type('text/plain').end('äb', 'latin1'));
  app.get('/empty', (_req, res) => res.status(204).end());
  app.get('/dropped', (_req, res) => res.status(204).end('text'));
  app.get('/moved', (_req, res) => res.redirect('/json'));
  app.get('/error', () => {
    throw new Error('inside');
  });
  app.get('/stream', (_req, res) => {
    res.write('a');
    res.end('b');
  });
  app.get('/late', (req, res) => void setImmediate(() => res.type(String(req.query['type'] ?? 'text')).send('late')));
  app.post('/echo', (req, res) => res.status(201).json(req.body));
}

async function serve(security: CreateServerOptions['security'] = {}): Promise<string> {
  return `http://127.0.0.1:${await running.app(routes, { security: { signResponses: { key: privateKey, keyId: 'server' }, ...security } })}`;
}

const v2 = { requestSignature: { version: 2, secret: SECRET } } as const;
const client = (responseKeys: Parameters<typeof signedFetch>[0]['responseKeys'] = publicKey) => signedFetch({ version: 2, secret: SECRET, responseKeys });

describe('the vectors of RFC 9421', () => {
  test('B.2.4: a response by ecdsa-p256-sha256', () => {
    const { components, input, signature, key } = RFC_RESPONSE_VECTOR;
    const lines = signatureBase({ method: '', target: '', ...RFC_RESPONSE, request: RFC_REQUEST }, components, input);
    expect(new MessageKey(RFC_KEYS[key], 'verify').verify('base' in lines ? lines.base : '', Buffer.from(signature, 'base64'))).toBe(true);
  });

  test('section 2.4: a response that is bound to its request', () => {
    const headers = { 'date': 'Tue, 20 Apr 2021 02:07:56 GMT', 'content-type': 'application/json', 'content-length': '62', 'content-digest': 'sha-512=:0Y6iCBzGg5rZtoXS95Ijz03mslf6KAMCloESHObfwnHJDbkkWWQz6PhhU9kxsTbARtY2PTBOzq24uJFpHsMuAg==:' };
    const components = ['@status', 'content-digest', 'content-type', '@authority;req', '@method;req', '@path;req', 'content-digest;req'];
    const input = '("@status" "content-digest" "content-type" "@authority";req "@method";req "@path";req "content-digest";req);created=1618884479;keyid="test-key-ecc-p256"';
    const lines = signatureBase({ method: '', target: '', status: 503, headers, request: RFC_REQUEST }, components, input);
    const bytes = Buffer.from('dMT/A/76ehrdBTD/2Xx8QuKV6FoyzEP/I9hdzKN8LQJLNgzU4W767HK05rx1i8meNQQgQPgQp8wq2ive3tV5Ag==', 'base64');
    expect(new MessageKey(RFC_KEYS['test-key-ecc-p256'], 'verify').verify('base' in lines ? lines.base : '', bytes)).toBe(true);
  });

  test('a response has no derived components but its status, and a request no others', () => {
    const response = { method: '', target: '', status: 200, headers: {}, request: RFC_REQUEST };
    for (const name of ['@method', '@path', '@query', '@authority', '@scheme']) expect(signatureBase(response, [name], '()')).toEqual({ lacks: name });
    for (const name of ['@status', '@method;req', 'date;req']) expect(signatureBase(RFC_REQUEST, [name], '()')).toEqual({ lacks: name });
  });
});

describe('signResponses and signedFetch', () => {
  test.each(['/json', '/xjson', '/text', '/empty', '/dropped', '/error', '/absent', '/never'])('%s: the answer is signed, and the client takes it', async (path) => {
    const url = await serve(v2);
    const answer = await client()(url + path);
    const plain = await signedFetch({ version: 2, secret: SECRET })(url + path);
    expect([answer.status, await answer.text(), answer.url, answer.headers.get('content-type')]).toEqual([plain.status, await plain.text(), url + path, plain.headers.get('content-type')]);
    expect(plain.headers.get('signature-input')).toMatch(/^sig1=\("@status" .*"@method";req "@path";req "@query";req "signature";req\);created=\d+;alg="ed25519";keyid="server"$/);
  });

  test('the answer is bound to the URL that the client calls, behind a proxy that takes its prefix off', async () => {
    const url = await serve({ requestSignature: { version: 2, secret: SECRET, prefix: '/api' } });
    const proxied: typeof fetch = (input, init) => fetch((input as string).replace('/api/', '/'), init);
    const call = signedFetch({ version: 2, secret: SECRET, responseKeys: publicKey, fetch: proxied });
    expect(await (await call(`${url}/api/json`)).json()).toEqual({ a: 'ä' });
  });

  test('HEAD, 304, redirects, bodies and refusals of the check are signed too', async () => {
    const url = await serve(v2);
    expect((await client()(`${url}/json`, { method: 'HEAD' })).status).toBe(200);
    expect((await client()(`${url}/json`, { headers: { 'If-None-Match': '"a"', 'Cache-Control': 'max-age=0' } })).status).toBe(304);
    expect((await client()(`${url}/moved`, { redirect: 'manual' })).headers.get('location')).toBe('/json');
    expect(await (await client()(`${url}/echo?a=1`, { method: 'POST', body: '{"a":1}', headers: { 'Content-Type': 'application/json' } })).json()).toEqual({ a: 1 });
    expect((await signedFetch({ version: 2, secret: 'another secret of thirty-two bytes', responseKeys: publicKey })(`${url}/json`)).status).toBe(401);
  });

  test('whoever stands between changes nothing: status, body, type, and the answer to another request', async () => {
    const url = await serve(v2);
    let change: (res: { status: number; headers: Record<string, string>; body: string }) => void = () => undefined;
    const kept: { status: number; headers: Record<string, string>; body: string }[] = [];
    const proxy = createNodeServer((req: IncomingMessage, res: ServerResponse) => void (async () => {
      const answer = await fetch(url + (req.url as string), { headers: Object.entries({ ...req.headers, host: new URL(url).host }).map(([name, value]): [string, string] => [name, String(value)]) });
      const seen = { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() };
      delete seen.headers['transfer-encoding'];
      delete seen.headers['connection'];
      kept.push(structuredClone(seen));
      change(seen);
      delete seen.headers['content-length'];
      res.writeHead(seen.status, seen.headers).end(seen.body);
    })());
    proxies.push(proxy);
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const through = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/json`;
    expect(await (await client()(through)).json()).toEqual({ a: 'ä' });
    const changes: [typeof change, RegExp][] = [
      [(res) => { res.body = '{}'; }, /Content-Digest is not the digest/],
      [(res) => { res.body = ''; }, /Content-Digest is not the digest/],
      [(res) => { res.status = 201; }, /matches none of the keys/],
      [(res) => { res.headers['content-type'] = 'text/html'; }, /matches none of the keys/],
      [(res) => { delete res.headers['signature']; }, /Signature header is absent/],
      [(res) => { res.headers['signature-input'] = (res.headers['signature-input'] as string).replace(' "signature";req', ''); }, /signature;req is not covered/],
      [(res) => { Object.assign(res, kept[0]); }, /matches none of the keys/],
      [(res) => { res.headers['location'] = 'https://evil.example/'; }, /location is not covered/],
    ];
    for (const [each, reason] of changes) {
      change = each;
      await expect(client()(through)).rejects.toThrow(reason);
    }
  });

  test('another key, and one by another id, is none; a key by its id is', async () => {
    const url = await serve(v2);
    await expect(client(generateKeyPairSync('ed25519').publicKey)(`${url}/json`)).rejects.toThrow(/matches none of the keys/);
    await expect(client([{ key: publicKey, id: 'other' }])(`${url}/json`)).rejects.toThrow(/no key is known/);
    expect((await client([{ key: publicKey, id: 'server' }])(`${url}/json`)).status).toBe(200);
    expect((await client(async (keyId) => (keyId === 'server' ? publicKey : undefined))(`${url}/json`)).status).toBe(200);
  });

  test('a stream is not signed, and so not taken', async () => {
    const url = await serve(v2);
    await expect(client()(`${url}/stream`)).rejects.toThrow(/Signature header is absent/);
  });

  test('an answer with a value that is no ASCII text, of the request or its own, is sent unsigned, also behind the handler', async () => {
    const port = Number(new URL(await serve()).port);
    const unsigned = async (path: string, headers = {}) => {
      const answer = await ask(port, path, { headers });
      return [answer.status, answer.headers['signature']];
    };
    for (const path of ['/json', '/late']) expect([path, ...await unsigned(path, { Signature: '\xe4' })]).toEqual([path, 200, undefined]);
    expect([await unsigned('/absent', { Signature: '\xe4' }), await unsigned('/late?type=a/%C3%A4')]).toEqual([[404, undefined], [200, undefined]]);
    expect((await ask(port, '/late')).headers['signature']).toMatch(/^sig1=:/);
  });

  test('the answer to a request without a signature is bound to method and URL', async () => {
    const open = await serve();
    expect((await client()(`${open}/json?a`)).status).toBe(200);
    expect((await ask(Number(new URL(open).port), '/json')).headers['signature-input']).toMatch(/"@query";req\);created/);
  });

  test('a client by version 1, whose signature no answer is bound to, is refused at once; so is a key that can\'t verify', () => {
    expect(() => signedFetch({ secret: SECRET, responseKeys: publicKey })).toThrow('signedFetch: responseKeys means nothing with version 1');
    expect(() => client('no key')).toThrow(/^signedFetch: responseKeys: /);
    expect(() => client([publicKey, 'no key'])).toThrow(/^signedFetch: responseKeys\[1\]: /);
  });

  test('a signature past its own end is none, however young', async () => {
    const url = await serve(v2);
    const { request, ...sent } = await new Promise<{ request: { method: string; target: string; headers: Record<string, string> }; headers: Record<string, string>; body: Buffer }>((resolve, reject) => {
      const send: typeof fetch = async (input, init) => {
        const answer = await fetch(input, init);
        resolve({ request: { method: 'GET', target: '/json', headers: Object.fromEntries(init?.headers as Headers) }, headers: Object.fromEntries(answer.headers), body: Buffer.from(await answer.clone().arrayBuffer()) });
        return answer;
      };
      signedFetch({ version: 2, secret: SECRET, fetch: send })(`${url}/json`).catch(reject);
    });
    const now = Math.floor(Date.now() / 1000);
    const check = async (expires: number): Promise<string> => {
      const input = (sent.headers['signature-input'] as string).replace(';created', `;expires=${expires};created`);
      const headers: Record<string, string> = { ...sent.headers, 'signature-input': input };
      const message = { method: '', target: '', status: 200, headers, request };
      const text = input.slice('sig1='.length);
      const components = [...text.matchAll(/"([^"]*)"(;req)?(?= |\))/g)].map(([, name, req]) => `${name ?? ''}${req ?? ''}`);
      const lines = signatureBase(message, components, text);
      headers['signature'] = `sig1=:${new MessageKey(privateKey, 'sign').sign('base' in lines ? lines.base : '').toString('base64')}:`;
      return (await checkResponse(message, sent.body, keySource(publicKey, 'keys')))?.reason ?? '';
    };
    expect([await check(now + 60), await check(now - 1)]).toEqual(['', expect.stringMatching(/to be used until/)]);
  });

  test('http-message-signatures verifies it', async () => {
    const url = await serve(v2);
    const sent: Request[] = [];
    const answer = await signedFetch({ version: 2, secret: SECRET, fetch: (input, init) => {
      sent.push(new Request(input, init));
      return fetch(input, init);
    } })(`${url}/json`);
    const [request] = sent;
    const response = { status: answer.status, headers: Object.fromEntries(answer.headers) };
    const verify = createVerifier(publicKey, 'ed25519');
    const holds = (status: number) => httpbis.verifyMessage({ keyLookup: async () => ({ algs: ['ed25519'], verify }) }, { ...response, status }, { method: 'GET', url: `${url}/json`, headers: Object.fromEntries(request!.headers) });
    expect([await holds(200), await holds(201)]).toEqual([true, false]);
  });

  test.each<[KeyObject | string, RegExp]>([
    [publicKey, /security\.signResponses\.key: a key to sign by must be a private key/], ['a secret', /signResponses\.key must be a private key/], [createPublicKey(RFC_KEYS['test-key-ed25519']), /private key/],
  ])('a key that can\'t sign throws: %#', (key, reason) => {
    expect(() => createServer({ security: { signResponses: { key } } })).toThrow(reason);
  });
});
