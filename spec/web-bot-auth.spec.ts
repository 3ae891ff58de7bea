import { generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import { createServer as createNodeServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { component, createSignature, verifySignature, webcrypto } from 'http-message-sig';
import { type Application, type CreateServerOptions, signatureDirectory, signRequest, type WebBotAuthOptions } from 'waypost';
import { directoryResponseHeaders, HTTP_MESSAGE_SIGNATURES_DIRECTORY, jwkToKeyID, signatureHeaders } from 'web-bot-auth';
import { helpers, signerFromJWK, verifierFromJWK } from 'web-bot-auth/crypto';
import { Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();
const agents: Server[] = [];
afterEach(async () => {
  for (const agent of agents.splice(0)) {
    agent.closeAllConnections();
    agent.close();
  }
  await running.close();
});

const pair = generateKeyPairSync('ed25519');
const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' });

/** A server of an agent; its origin. */
async function agentOf(listener: RequestListener): Promise<string> {
  const server = createNodeServer(listener);
  agents.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const asked: string[] = [];
beforeEach(() => void asked.splice(0));
const serving = (...keys: JsonWebKey[]): RequestListener => (req, res) => {
  asked.push(req.url as string);
  res.end(JSON.stringify({ keys }));
};

function serve(webBotAuth: WebBotAuthOptions, changes: object = {}, options: CreateServerOptions = {}): Promise<number> {
  return running.app((app: Application) => app.all(['/', '/**'], (req, res) => {
    res.json({ who: req.signatureKeyId ?? null });
  }), { ...options, security: { requestSignature: { version: 2, webBotAuth, ...changes } } });
}

/** What npm's web-bot-auth sends with a request. */
async function signedByNpm(url: string, agent: string | undefined, key = pair.privateKey, expires = 300_000): Promise<Record<string, string>> {
  const headers: Record<string, string> = agent === undefined ? {} : { 'Signature-Agent': `"${agent}"` };
  const signed = await signatureHeaders(new Request(url, { headers }), await signerFromJWK(jwkOf(key) as never), { created: new Date(), expires: new Date(Date.now() + expires) });
  return { ...headers, 'Signature': signed.Signature, 'Signature-Input': signed['Signature-Input'] };
}

test('a request signed by npm\'s web-bot-auth is accepted, and signatureKeyId is the thumbprint of its key', async () => {
  const agent = await agentOf(serving({ kty: 'RSA', n: 'x', e: 'AQAB' }, jwkOf(pair.publicKey)));
  const port = await serve({ agents: [agent] });
  const headers = await signedByNpm(`http://127.0.0.1:${port}/a?b=1`, agent);
  const thumbprint = await jwkToKeyID(jwkOf(pair.publicKey) as never, helpers.WEBCRYPTO_SHA256, helpers.BASE64URL_DECODE);
  expect(headers['Signature-Input']).toContain(';tag="web-bot-auth"');
  expect((await ask(port, '/a?b=1', { headers })).json).toEqual({ who: thumbprint });
  expect((await ask(port, '/other', { method: 'POST', headers, body: 'x' })).status).toBe(200);
  expect((await ask(port, '/a', { headers: { ...headers, Host: 'other.example' } })).status).toBe(401);
  expect((await ask(port, '/a', { headers: await signedByNpm(`http://127.0.0.1:${port}/`, agent, generateKeyPairSync('ed25519').privateKey) })).status).toBe(401);
  expect(asked).toEqual([HTTP_MESSAGE_SIGNATURES_DIRECTORY]);
});

test('nobody but the agents of the options is asked, whatever Signature-Agent says', async () => {
  const evil = await agentOf(serving(jwkOf(pair.publicKey)));
  const agent = await agentOf(serving());
  const port = await serve({ agents: [agent] });
  const url = `http://127.0.0.1:${port}/`;
  for (const name of [evil, `${agent}@${evil.slice(7)}`, `${evil}/#${agent}`, 'https://127.0.0.1/', 'file:///etc/passwd', 'data:application/json,{}', 'x', '', agent.slice(0, -1)]) {
    expect((await ask(port, '/', { headers: await signedByNpm(url, name) })).status).toBe(401);
  }
  expect((await ask(port, '/', { headers: await signedByNpm(url, undefined) })).status).toBe(401);
  const { 'Signature-Agent': _, ...silent } = await signedByNpm(url, undefined);
  expect((await ask(port, '/', { headers: { ...silent, 'Signature-Agent': `"${agent}"` } })).status).toBe(401);
  expect(asked).toEqual([]);
});

test('an agent that redirects, or is down, is 503 and nobody else is asked', async () => {
  const other = await agentOf(serving(jwkOf(pair.publicKey)));
  const agent = await agentOf((_req, res) => void res.writeHead(302, { Location: other }).end());
  const port = await serve({ agents: [agent] });
  expect((await ask(port, '/', { headers: await signedByNpm(`http://127.0.0.1:${port}/`, agent) })).status).toBe(503);
  expect(asked).toEqual([]);
});

test('visitors without a signature pass or not, by option; with one that does not hold they never do', async () => {
  const agent = await agentOf(serving(jwkOf(pair.publicKey)));
  const [closed, open] = [await serve({ agents: [agent] }), await serve({ agents: [agent], unsigned: 'accept' }, { debug: true })];
  expect((await ask(closed, '/')).status).toBe(401);
  expect((await ask(open, '/')).json).toEqual({ who: null });
  expect((await ask(open, '/', { method: 'POST', body: 'x' })).status).toBe(200);
  const headers = await signedByNpm(`http://127.0.0.1:${open}/`, agent);
  expect((await ask(open, '/', { headers })).json).not.toEqual({ who: null });
  const { Signature, 'Signature-Input': input, ...rest } = headers;
  for (const part of [{ Signature }, { 'Signature-Input': input }, { Signature: 'sig1=:AAAA:', 'Signature-Input': input }]) {
    expect((await ask(open, '/', { headers: { ...rest, ...part } as Record<string, string> })).status).toBe(401);
  }
});

test('signRequest signs as an agent does, with a dictionary as Signature-Agent too; expires must be there, and hold', async () => {
  const agent = await agentOf(serving(jwkOf(pair.publicKey)));
  const port = await serve({ agents: [agent] });
  const keyId = await jwkToKeyID(jwkOf(pair.publicKey) as never, helpers.WEBCRYPTO_SHA256, helpers.BASE64URL_DECODE);
  const sign = (value: string, cover: string, expires: number | undefined = Date.now() + 60_000): Record<string, string> => {
    const headers = { 'Signature-Agent': value };
    return { ...headers, ...signRequest({ version: 2, key: pair.privateKey, keyId, method: 'GET', url: `http://127.0.0.1:${port}/`, headers, covers: ['@authority', cover], tag: 'web-bot-auth', expires }) };
  };
  const status = async (headers: Record<string, string>) => (await ask(port, '/', { headers })).status;
  expect(await status(sign(`"${agent}"`, 'signature-agent'))).toBe(200);
  expect(await status(sign(`a="${agent}", b="https://other.example"`, 'signature-agent;key="a"'))).toBe(200);
  expect(await status(sign(`a="${agent}", b="https://other.example"`, 'signature-agent;key="b"'))).toBe(401);
  expect(await status(sign(`"${agent}"`, 'signature-agent', Date.now() - 1000))).toBe(401);
  const { Signature, 'Signature-Input': input, ...rest } = sign(`"${agent}"`, 'signature-agent');
  expect(await status({ ...rest, Signature: Signature!, 'Signature-Input': input!.replace(/;expires=\d+/, '') })).toBe(401);
});

test('a replay store lets each signature through once, and takes nothing of unsigned visitors', async () => {
  const agent = await agentOf(serving(jwkOf(pair.publicKey)));
  const claimed: string[] = [];
  const store = { claim: (digest: string) => !claimed.includes(digest) && claimed.push(digest) > 0 };
  const port = await serve({ agents: [agent], unsigned: 'accept' }, { replay: { store } });
  const headers = await signedByNpm(`http://127.0.0.1:${port}/`, agent);
  expect([(await ask(port, '/', { headers })).status, (await ask(port, '/', { headers })).status, (await ask(port, '/')).status]).toEqual([200, 401, 200]);
  expect(claimed).toHaveLength(1);
});

test('signatureDirectory serves what a server of waypost reads, and npm\'s libraries verify for that host alone', async () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  let agent = '';
  agent = await agentOf((req, res) => void signatureDirectory([pair.privateKey, rsa.privateKey], new URL(agent).host)(req, res));
  const port = await serve({ agents: [agent] });
  expect((await ask(port, '/', { headers: await signedByNpm(`http://127.0.0.1:${port}/`, agent) })).status).toBe(200);
  const answer = await fetch(agent + HTTP_MESSAGE_SIGNATURES_DIRECTORY);
  expect(answer.headers.get('content-type')).toBe('application/http-message-signatures-directory+json');
  const { keys } = await answer.json() as { keys: JsonWebKey[] };
  expect(keys.map(({ kty, d, kid }) => [kty, d, typeof kid])).toEqual([['OKP', undefined, 'string'], ['RSA', undefined, 'string']]);
  const verify = await verifierFromJWK(keys[0] as never);
  expect(verify).toBeInstanceOf(Function);
  const fields = [...answer.headers].map(([name, value]) => ({ name, value }));
  const key = await crypto.subtle.importKey('jwk', keys[0] as never, 'Ed25519', true, ['verify']);
  const holds = (host: string) => verifySignature({ kind: 'response', status: 200, fields, request: { kind: 'request', method: 'GET', targetUri: `http://${host}/`, fields: [] } }, {
    label: 'binding0',
    policy: { algorithms: ['ed25519'], requiredComponents: [component('@authority', { req: true })], requiredParameters: ['expires'] },
    resolveVerifier: () => webcrypto.verifier(key),
  } as never).then(() => true, () => false);
  expect([await holds(new URL(agent).host), await holds('evil.example')]).toEqual([true, false]);
  expect(() => signatureDirectory(pair.publicKey, 'a')).toThrow(/private key/);
});

test('a directory signed by npm\'s library is read too', async () => {
  let agent = '';
  agent = await agentOf((_req, res) => void (async () => {
    const signer = await signerFromJWK(jwkOf(pair.privateKey) as never);
    const answer = new Response(), request = new Request(agent);
    const signed = await directoryResponseHeaders({ response: answer, request } as never, [signer], { created: new Date(), expires: new Date(Date.now() + 1000) });
    res.writeHead(200, { ...signed }).end(JSON.stringify({ keys: [jwkOf(pair.publicKey)] }));
  })());
  const port = await serve({ agents: [`${agent}/ignored/path`] });
  expect((await ask(port, '/', { headers: await signedByNpm(`http://127.0.0.1:${port}/`, agent) })).status).toBe(200);
});

test('http-message-sig agrees in both directions on ed25519', async () => {
  const url = 'https://example.com/a?b=1';
  const [priv, pub] = [await crypto.subtle.importKey('jwk', jwkOf(pair.privateKey) as never, 'Ed25519', true, ['sign']), await crypto.subtle.importKey('jwk', jwkOf(pair.publicKey) as never, 'Ed25519', true, ['verify'])];
  const port = await running.app((app) => app.get('/**', (_req, res) => res.json(1)), { security: { requestSignature: { version: 2, keys: pair.publicKey, nonce: 'optional', covers: ['@authority', 'x-a;key="b"'] } } });
  const own = `http://127.0.0.1:${port}/a?b=1`;
  const theirs = await createSignature({ kind: 'request', method: 'GET', targetUri: own, fields: [{ name: 'X-A', value: 'b=1' }] }, {
    components: ['@method', '@path', '@query', '@authority', component('x-a', { key: 'b' })], parameters: { created: Math.floor(Date.now() / 1000) }, signer: webcrypto.signer(priv),
  } as never);
  expect((await ask(port, '/a?b=1', { headers: { 'X-A': 'b=1', 'Signature': theirs.signature, 'Signature-Input': theirs.signatureInput } })).status).toBe(200);
  expect((await ask(port, '/a?b=1', { headers: { 'X-A': 'b=2', 'Signature': theirs.signature, 'Signature-Input': theirs.signatureInput } })).status).toBe(401);
  const ours = signRequest({ version: 2, key: pair.privateKey, method: 'GET', url, covers: ['@authority', '@target-uri', '@scheme'] });
  const holds = (targetUri: string) => verifySignature({ kind: 'request', method: 'GET', targetUri, fields: Object.entries(ours).map(([name, value]) => ({ name, value })) }, {
    label: 'sig1', policy: { algorithms: ['ed25519'], requiredComponents: ['@method', '@target-uri'], requiredParameters: ['nonce'] }, resolveVerifier: () => webcrypto.verifier(pub),
  } as never).then(() => true, () => false);
  expect([await holds(url), await holds(`${url}2`)]).toEqual([true, false]);
});
