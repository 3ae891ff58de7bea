import { gzipSync } from 'node:zlib';
import { type Application, type CreateServerOptions, type Request, type Response, signRequest } from 'waypost';
import { contentDigest } from '../lib/signature/v2/content-digest';
import { messageMac, signatureBase } from '../lib/signature/v2/message-base';
import { LogRecorder, Running } from './support/running';
import { NONCE, SECRET } from './support/signed-message';
import { ask, head, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const handled: string[] = [];
beforeEach(() => void handled.splice(0));

function echo(app: Application): void {
  app.all(['/', '/**'], (req: Request, res: Response) => {
    handled.push(`${req.method} ${req.originalUrl}`);
    res.json({ body: req.body ?? null, key: req.signatureKeyId ?? null });
  });
}

type Changes = Partial<NonNullable<NonNullable<CreateServerOptions['security']>['requestSignature']>>;

function serve(changes: Changes = {}, options: CreateServerOptions = {}): Promise<number> {
  return running.app(echo, { ...options, security: { requestSignature: { secret: SECRET, version: 2, ...changes } } });
}

const json = { 'Content-Type': 'application/json' };
const sign = (message: Partial<Parameters<typeof signRequest>[0]>) => signRequest({ secret: SECRET, version: 2, method: 'GET', url: '/', ...message });

describe('a server of version 2', () => {
  test('takes what signRequest signs, over fetch and over node:http', async () => {
    const port = await serve();
    const url = `http://127.0.0.1:${port}/a/b?c=%20d`;
    const body = '{"sum":1}';
    const fetched = await fetch(url, { method: 'POST', body, headers: { ...json, ...sign({ method: 'POST', url, body, headers: json }) } });
    expect([fetched.status, await fetched.json()]).toEqual([200, { body: { sum: 1 }, key: null }]);
    expect((await ask(port, '/x?', { headers: sign({ url: '/x?' }) })).status).toBe(200);
    expect((await ask(port, '/x', { method: 'DELETE', headers: sign({ method: 'delete', url: '/x' }) })).status).toBe(200);
    expect(handled).toEqual(['POST /a/b?c=%20d', 'GET /x?', 'DELETE /x']);
  });

  test('answers the three failures as version 1 does, with a challenge', async () => {
    const port = await serve();
    const none = await ask(port, '/a');
    expect([none.status, none.json]).toEqual([401, { error: 'Missing signature header', message: 'Signature header is required' }]);
    expect(none.headers['www-authenticate']).toBe('Signature header="Signature", algorithm="hmac-sha256", components="@method @path @query content-digest content-type content-encoding"');
    const wrong = await ask(port, '/a', { headers: sign({ url: '/b' }) });
    expect([wrong.status, wrong.json]).toEqual([401, { error: 'Invalid signature', message: 'Request signature verification failed' }]);
    const old = await ask(port, '/a', { headers: sign({ url: '/a', timestamp: Date.now() - 301_000 }) });
    expect([old.status, old.json]).toEqual([401, { error: 'Signature expired', message: 'Request signature has expired' }]);
    expect(handled).toEqual([]);
  });

  test('takes nothing signed by version 1, nor the other way round', async () => {
    const [two, one] = [await serve(), await serve({ version: 1 })];
    const headers = signRequest({ secret: SECRET, method: 'GET', url: '/a' });
    expect((await ask(one, '/a', { headers })).status).toBe(200);
    expect((await ask(two, '/a', { headers })).json).toMatchObject({ error: 'Missing signature header' });
    expect((await ask(one, '/a', { headers: sign({ url: '/a' }) })).json).toMatchObject({ error: 'Missing signature header' });
    expect((await ask(two, '/a', { headers: { ...headers, ...sign({ url: '/a' }) } })).status).toBe(200);
    expect((await ask(two, '/a', { headers: { ...headers, ...sign({ url: '/b' }) } })).json).toMatchObject({ error: 'Invalid signature' });
  });

  test('the key is looked up by keyid, and the handler learns whose it was', async () => {
    const port = await serve({ secret: async (keyId: string) => (keyId === 'alice' ? SECRET : undefined) });
    expect((await ask(port, '/a', { headers: sign({ url: '/a', keyId: 'alice' }) })).json).toEqual({ body: null, key: 'alice' });
    expect((await ask(port, '/a', { headers: sign({ url: '/a', keyId: 'bob' }) })).status).toBe(401);
    expect((await ask(port, '/a', { headers: { ...sign({ url: '/a' }), 'X-Key-Id': 'alice' } })).status).toBe(401);
  });

  test('prefix is put before the target', async () => {
    const port = await serve({ prefix: '/api', covers: ['@request-target'] });
    expect((await ask(port, '/a?b', { headers: sign({ url: '/api/a?b', covers: ['@request-target'] }) })).status).toBe(200);
    expect((await ask(port, '/a?b', { headers: sign({ url: '/a?b', covers: ['@request-target'] }) })).status).toBe(401);
  });

  test('a compressed body is signed as it travels', async () => {
    const port = await serve();
    const [plain, body] = ['{"a":1}', gzipSync('{"a":1}')];
    const headers = { ...json, 'Content-Encoding': 'gzip' };
    const whole = { ...headers, ...sign({ method: 'POST', url: '/a', body, headers }) };
    expect((await ask(port, '/a', { method: 'POST', headers: whole, body })).json).toMatchObject({ body: { a: 1 } });
    const inflated = { ...headers, ...sign({ method: 'POST', url: '/a', body: plain, headers }) };
    expect((await ask(port, '/a', { method: 'POST', headers: inflated, body })).status).toBe(401);
    const { 'Content-Encoding': _, ...without } = whole;
    expect((await ask(port, '/a', { method: 'POST', headers: without, body })).status).toBe(401);
  });

  test('the log of debug says what was wrong, and holds neither secret nor signature', async () => {
    const logger = new LogRecorder();
    const port = await serve({ debug: true }, { logging: { logger } });
    const headers = sign({ url: '/b' });
    await ask(port, '/a', { headers });
    expect(logger.text).toMatch(/the signature matches none of the secrets/);
    expect(logger.text).not.toContain(SECRET);
    const lines = signatureBase({ method: 'GET', target: '/a', headers: {} }, ['@method', '@path', '@query'], headers['Signature-Input']!.slice(5));
    const expected = messageMac(SECRET, 'base' in lines ? lines.base : '');
    for (const encoding of ['hex', 'base64', 'base64url'] as const) expect(logger.text).not.toContain(expected.toString(encoding));
  });
});

describe('covers', () => {
  const covering = (covers: string[], more: Partial<Parameters<typeof signRequest>[0]> = {}) => sign({ url: '/a', covers, ...more });

  test('asks every request to sign it: what lacks it is refused, and the challenge says so', async () => {
    const port = await serve({ covers: ['@authority', 'X-Tenant'] });
    const headers = { Host: 'api.example', 'X-Tenant': 'fells' };
    const signed = covering(['X-Tenant', '@authority'], { headers });
    expect((await ask(port, '/a', { headers: { ...headers, ...signed } })).status).toBe(200);
    expect((await ask(port, '/a', { headers: { ...headers, ...signed, Host: 'API.example' } })).status).toBe(200);
    expect((await ask(port, '/a', { headers: { ...headers, ...signed, Host: 'staging.example' } })).status).toBe(401);
    expect((await ask(port, '/a', { headers: { ...headers, ...signed, 'X-Tenant': 'lakes' } })).status).toBe(401);
    for (const less of [[], ['X-Tenant'], ['@authority']]) {
      expect((await ask(port, '/a', { headers: { ...headers, ...covering(less, { headers }) } })).status).toBe(401);
    }
    const none = await ask(port, '/a');
    expect(none.headers['www-authenticate']).toMatch(/components="@method @path @query content-digest content-type content-encoding @authority x-tenant"$/);
    expect(handled).toHaveLength(2);
  });

  test('without it the same signature passes on another host', async () => {
    const port = await serve();
    for (const Host of ['api.example', 'staging.example']) expect((await ask(port, '/a', { headers: { Host, ...covering([]) } })).status).toBe(200);
  });

  test('a header that the request does not have can\'t be signed, and so is asked for in vain', async () => {
    const port = await serve({ covers: ['X-Tenant'] });
    expect((await ask(port, '/a', { headers: covering([]) })).status).toBe(401);
  });
});

describe('on the wire', () => {
  test('of two Host lines none is the authority, whichever was signed', async () => {
    const port = await serve();
    for (const signedHost of ['one.example', 'two.example', 'one.example, two.example']) {
      const fields = Object.entries({ ...sign({ url: '/', covers: ['@authority'], headers: { Host: signedHost } }), ...{ Connection: 'close' } }).map(([key, value]) => `${key}: ${value}\r\n`).join('');
      expect(await status(port, `GET / HTTP/1.1\r\nHost: one.example\r\nHost: two.example\r\n${fields}\r\n`)).toBe(400);
      if (signedHost === 'one.example') expect(await status(port, `GET / HTTP/1.1\r\nHost: one.example\r\n${fields}\r\n`)).toBe(200);
    }
    const joined = await serve({}, { server: { joinDuplicateHeaders: true } });
    const fields = Object.entries({ ...sign({ url: '/', covers: ['@authority'], headers: { Host: 'a, b' } }), ...{ Connection: 'close' } }).map(([key, value]) => `${key}: ${value}\r\n`).join('');
    expect(await status(joined, `GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n${fields}\r\n`)).toBe(400);
  });

  const status = async (port: number, text: string) => Number((await Wire.tell(port, text)).slice(9, 12));
  const close = { Connection: 'close' };

  test('fields are as RFC 9421 section 2.1 has them: lines joined, white space around them gone', async () => {
    const port = await serve();
    const components = ['@method', '@path', '@query', 'x-ows-header', 'cache-control', 'example-dict', 'x-empty-header'];
    const text = `(${components.map((name) => `"${name}"`).join(' ')});created=${Math.floor(Date.now() / 1000)};nonce="${NONCE}"`;
    const base = [
      '"@method": GET', '"@path": /', '"@query": ?', '"x-ows-header": Leading and trailing whitespace.', '"cache-control": max-age=60, must-revalidate',
      '"example-dict": a=1,    b=2;x=1;y=2,   c=(a   b   c)', '"x-empty-header": ', `"@signature-params": ${text}`,
    ].join('\n');
    const fields = [
      'Host: a', 'Connection: close', 'X-OWS-Header:   Leading and trailing whitespace.   ', 'Cache-Control: max-age=60', 'Cache-Control:    must-revalidate',
      'Example-Dict:  a=1,    b=2;x=1;y=2,   c=(a   b   c)', 'X-Empty-Header:', `Signature-Input: s=${text}`, `Signature: s=:${messageMac(SECRET, base).toString('base64')}:`,
    ];
    expect(await status(port, `GET / HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`)).toBe(200);
    fields.splice(3, 2, 'Cache-Control: must-revalidate', 'Cache-Control: max-age=60');
    expect(await status(port, `GET / HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`)).toBe(401);
  });

  test.each(['Signature', 'Signature-Input', 'Content-Digest'])('%s sent twice is refused', async (name) => {
    const port = await serve();
    const headers = sign({ method: 'POST', url: '/', body: 'a' });
    const start = `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1\r\n${Object.entries(headers).map(([key, value]) => `${key}: ${value}\r\n`).join('')}`;
    expect(await status(port, `${start}\r\na`)).toBe(200);
    expect(await status(port, `${start}${name}: ${headers[name]!}\r\n\r\na`)).toBe(401);
    expect(handled).toHaveLength(1);
  });

  test('a second Content-Type is refused, though Node drops it: whoever passes the request on might not; so is a first one that was not signed', async () => {
    const port = await serve();
    const headers = { ...sign({ method: 'POST', url: '/', body: '{}', headers: json }), ...close };
    const fields = Object.entries(headers).map(([key, value]) => `${key}: ${value}\r\n`).join('');
    const start = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n${fields}`;
    expect(await status(port, `${start}Content-Type: application/json\r\n\r\n{}`)).toBe(200);
    expect(await status(port, `${start}Content-Type: application/json\r\nContent-Type: text/plain\r\n\r\n{}`)).toBe(401);
    expect(await status(port, `${start}Content-Type: text/plain\r\nContent-Type: application/json\r\n\r\n{}`)).toBe(401);
  });

  test('a signature in the trailers is none', async () => {
    const port = await serve();
    const headers = sign({ method: 'POST', url: '/', body: 'a' });
    const trailers = Object.entries(headers).map(([key, value]) => `${key}: ${value}\r\n`).join('');
    const text = `${head('POST /', { ...close, 'Transfer-Encoding': 'chunked', Trailer: Object.keys(headers).join(', ') })}1\r\na\r\n0\r\n${trailers}\r\n`;
    expect(await status(port, text)).toBe(401);
    expect(await status(port, `${head('POST /', { ...headers, ...close, 'Transfer-Encoding': 'chunked' })}1\r\na\r\n0\r\n\r\n`)).toBe(200);
    expect(await status(port, `${head('POST /', { ...headers, ...close, 'Transfer-Encoding': 'chunked' })}1\r\nb\r\n0\r\n\r\n`)).toBe(401);
  });

  test('a body that no secret has signed for is answered before a byte of it is sent', async () => {
    const port = await serve();
    const headers = { ...sign({ secret: 'another-secret-of-32-bytes-or-so', method: 'POST', url: '/', body: 'a'.repeat(1000) }), 'Content-Length': 1000 };
    const wire = await Wire.open(port);
    wire.write(head('POST /', headers));
    await wire.until('Request signature verification failed');
    expect(wire.text).toMatch(/^HTTP\/1.1 401 /);
    wire.cut();
  });

  test('absolute and asterisk forms are refused, signed or not', async () => {
    const port = await serve();
    const headers = { ...sign({ url: '/a' }), ...close };
    expect(await status(port, head('GET /a', headers))).toBe(200);
    expect(await status(port, head('GET http://localhost/a', headers))).toBe(401);
    expect(await status(port, head('OPTIONS *', { ...sign({ method: 'OPTIONS', url: '/' }), ...close }))).toBe(401);
  });

  test('a body of every byte is taken', async () => {
    const port = await serve();
    const body = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const headers = sign({ method: 'PUT', url: '/a', body });
    expect(headers['Content-Digest']).toBe(contentDigest(body));
    expect((await ask(port, '/a', { method: 'PUT', headers, body })).status).toBe(200);
  });
});
