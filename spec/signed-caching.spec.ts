import { createHmac } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import theirs from 'express';
import { type Application, createServer, type CreateServerOptions, type ErrorHandler, express, type Handler, type RequestSignatureConfig, signRequest, type WebhookPreset } from 'waypost';
import { Folder } from './support/folder';
import { Running } from './support/running';
import { type Answer, ask } from './support/wire';

const SECRET = 'correct horse battery staple 0123456789';
const SECONDS = 1_700_000_000;

const running = new Running();
const folder = new Folder({ 'file.txt': 'a file', 'directory/index.html': 'an index' });

afterEach(() => running.close());
afterAll(() => folder.close());

const file = `${folder.path}/file.txt`;

/** Answers that say nothing of caching, with the Cache-Control that they have without a check. */
const SILENT: Readonly<Record<string, [handler: Handler, unchecked: string | undefined]>> = {
  json: [(_req, res) => res.json({ a: 1 }), undefined],
  xJson: [(_req, res) => res.xJson({ a: 1n }), undefined],
  'xJson in chunks': [(_req, res) => res.xJson(Array.from({ length: 20_000 }, (_, index) => BigInt(index))), undefined],
  send: [(_req, res) => res.send('text'), undefined],
  end: [(_req, res) => res.end('text'), undefined],
  write: [(_req, res) => void (res.write('te'), res.end('xt')), undefined],
  writeHead: [(_req, res) => res.writeHead(200, { 'X-Own': '1' }).end(), undefined],
  'writeHead with a list': [(_req, res) => res.writeHead(200, 'Fine', ['X-Own', '1']).end(), undefined],
  redirect: [(_req, res) => res.redirect('/elsewhere'), undefined],
  'no content': [(_req, res) => res.sendStatus(204), undefined],
  'a 404 of its own': [(_req, res) => res.status(404).json({ error: 'gone' }), undefined],
  'an error': [() => { throw new Error('a failure of the handler'); }, undefined],
  'an error behind Cache-Control': [(_req, res) => { res.set('Cache-Control', 'public, max-age=60'); throw new Error('a failure of the handler'); }, undefined],
  'data that JSON has not': [(_req, res) => res.json({ a: 1n }), undefined],
  'a route that goes on': [(_req, _res, next) => next(), undefined],
  sendFile: [(_req, res) => res.sendFile(file), 'public, max-age=0'],
  'sendFile for a while': [(_req, res) => res.sendFile(file, { maxAge: '1m', immutable: true }), 'public, max-age=60, immutable'],
  'sendFile without Cache-Control': [(_req, res) => res.sendFile(file, { cacheControl: false }), undefined],
  'sendFile of none': [(_req, res) => res.sendFile(`${folder.path}/none`), undefined],
  download: [(_req, res) => res.download(file), 'public, max-age=0'],
};

/** What the program says of caching, and whether that keeps shared caches from it. */
const SAID: readonly [field: string, value: string, isUnshared: boolean][] = [
  ['Cache-Control', 'private', true], ['Cache-Control', 'max-age=5, Private', true], ['Cache-Control', 'no-store', true], ['Cache-Control', 'no-cache,no-store,max-age=0', true],
  ['Cache-Control', 'public', false], ['Cache-Control', 'public, max-age=60', false], ['Cache-Control', 's-maxage=60', false], ['Cache-Control', 'max-age=60', false], ['Cache-Control', 'no-cache', false],
  ['Cache-Control', 'private="X-Own", max-age=60', false], ['Cache-Control', 'x-private=1', false],
  ['Cache-Control', 'no-cache="a, private, b", s-maxage=60', false], ['Cloudflare-CDN-Cache-Control', 'max-age=60', false], ['X-Accel-Expires', '60', false], ['Edge-Control', 'cache-maxage=60s', false],
  ['CDN-Cache-Control', 'max-age=60', false], ['Surrogate-Control', 'max-age=60', false],
];

const MAKERS = { createServer, express };

function options(signature: Partial<RequestSignatureConfig> = {}): CreateServerOptions {
  return {
    env: 'test', logging: { level: 'silent' },
    security: { requestSignature: { secret: SECRET, ...signature }, routeConfig: { requestSignature: { excludeRoutes: ['/open/**'] } } },
  };
}

/** Serves each handler by its place, with a check and beneath /open without. */
async function serve(make: (given: CreateServerOptions) => Application, handlers: readonly Handler[], signature: Partial<RequestSignatureConfig> = {}): Promise<number> {
  const app = make(options(signature));
  app.use(['/files', '/open/files'], express.static(folder.path, { maxAge: 60_000 }));
  handlers.forEach((handler, index) => app.get([`/${index}`, `/open/${index}`] as string[], handler));
  return running.start(app);
}

function signedAsk(port: number, url: string, { method = 'GET', headers = {}, ...rest }: { method?: string; headers?: Record<string, string>; version?: 1 | 2; keyId?: string } = {}): Promise<Answer> {
  return ask(port, url, { method, headers: { ...headers, ...signRequest({ secret: SECRET, method, url, ...rest }) } });
}

describe.each(Object.keys(MAKERS) as (keyof typeof MAKERS)[])('by %s, behind a check', (name) => {
  test('what says nothing of caching is private, and as ever without a check', async () => {
    const port = await serve(MAKERS[name], Object.values(SILENT).map(([handler]) => handler));
    for (const [index, [kind, [, unchecked]]] of Object.entries(SILENT).entries()) {
      for (const method of ['GET', 'HEAD']) {
        const { status, headers } = await signedAsk(port, `/${index}`, { method });
        expect([kind, method, headers['cache-control']]).toEqual([kind, method, unchecked?.replace('public', 'private') ?? 'private']);
        const open = await ask(port, `/open/${index}`, { method });
        expect([kind, method, open.status, open.headers['cache-control']]).toEqual([kind, method, status, unchecked]);
        expect(headers.vary).toBe(open.headers.vary);
      }
    }
  });

  test('static files and redirects to directories are private', async () => {
    const port = await serve(MAKERS[name], []);
    expect((await signedAsk(port, '/files/file.txt')).headers['cache-control']).toBe('private, max-age=60');
    expect((await ask(port, '/open/files/file.txt')).headers['cache-control']).toBe('public, max-age=60');
    const { status, headers } = await signedAsk(port, '/files/directory');
    expect([status, headers['cache-control']]).toEqual([301, 'private']);
  });

  test('a 304 says what the 200 has said (RFC 9110 section 15.4.5)', async () => {
    const handlers: Handler[] = [(_req, res) => res.set('ETag', '"1"').json(1), (_req, res) => res.sendFile(file), (_req, res) => res.set({ 'ETag': '"1"', 'Cache-Control': 'max-age=9' }).json(1)];
    const port = await serve(MAKERS[name], handlers);
    for (const [index] of handlers.entries()) {
      const whole = await signedAsk(port, `/${index}`);
      const held = await signedAsk(port, `/${index}`, { headers: { 'If-None-Match': String(whole.headers.etag) } });
      expect(held.status).toBe(304);
      for (const field of ['cache-control', 'vary']) expect(held.headers[field]).toBe(whole.headers[field]);
    }
  });

  test('404, 405 and OPTIONS of its own are private', async () => {
    const port = await running.start(MAKERS[name]({ ...options(), routing: { methodNotAllowed: true } }).get('/a', (_req, res) => res.end()));
    for (const [method, url] of [['GET', '/none'], ['HEAD', '/none'], ['POST', '/a'], ['OPTIONS', '/a']] as const) {
      expect((await signedAsk(port, url, { method })).headers['cache-control']).toBe('private');
    }
  });

  test('what the program says counts, and varies by the signature unless shared caches are kept out', async () => {
    const ways: ((field: string, value: string) => Handler)[] = [
      (field, value) => (_req, res) => res.set(field, value).json(1),
      (field, value) => (_req, res) => res.writeHead(200, { [field]: value }).end(),
      (field, value) => (_req, res) => res.sendFile(file, { headers: { [field]: value } }),
    ];
    const cases = SAID.flatMap((said) => ways.map((way) => ({ said, handler: way(said[0], said[1]) })));
    const port = await serve(MAKERS[name], cases.map(({ handler }) => handler));
    for (const [index, { said: [field, value, isUnshared] }] of cases.entries()) {
      const { headers } = await signedAsk(port, `/${index}`);
      expect([value, headers[field.toLowerCase()], headers.vary]).toEqual([value, value, isUnshared ? undefined : 'Svc-Request-Sig, X-Timestamp']);
      expect((await ask(port, `/open/${index}`)).headers.vary).toBeUndefined();
    }
  });

  test('the program finds no Cache-Control that it has not set', async () => {
    const found: unknown[] = [];
    const port = await serve(MAKERS[name], [(_req, res) => {
      found.push(res.get('Cache-Control'));
      res.append('Cache-Control', 'no-store').end();
    }]);
    expect((await signedAsk(port, '/0')).headers['cache-control']).toBe('no-store');
    expect(found).toEqual([undefined]);
  });

  test("what is answered in the place of a file that can't be read is the program's own", async () => {
    folder.add('gone/file.txt', 'a file');
    const app = MAKERS[name](options());
    app.use(express.static(`${folder.path}/gone`, { setHeaders: (_res, path) => rmSync(path) }));
    app.use(((_error, _req, res, _next) => void res.status(200).set('Cache-Control', 'public, max-age=9').send('instead')) satisfies ErrorHandler);
    const { body, headers } = await signedAsk(await running.start(app), '/file.txt');
    expect([body, headers['cache-control'], headers.vary]).toEqual(['instead', 'public, max-age=9', 'Svc-Request-Sig, X-Timestamp']);
  });

  test('refusals are not stored', async () => {
    const port = await serve(MAKERS[name], [(_req, res) => res.end()]);
    const { status, headers } = await ask(port, '/0');
    expect([status, headers['cache-control'], headers.vary]).toEqual([401, 'no-store', undefined]);
  });
});

describe('Vary names the headers of', () => {
  const shared: Handler = (_req, res) => res.set('Cache-Control', 'public').vary('Accept').json(1);

  test.each<[string, Partial<RequestSignatureConfig>, { version?: 1 | 2; keyId?: string; headerName?: string }, string]>([
    ['version 1', {}, {}, 'Svc-Request-Sig, X-Timestamp'],
    ['version 1 with a secret for each client', { secret: () => SECRET }, { keyId: 'one' }, 'Svc-Request-Sig, X-Timestamp, X-Key-Id'],
    ['version 1 with another name', { headerName: 'X-Sig' }, { headerName: 'X-Sig' }, 'X-Sig, X-Timestamp'],
    ['version 2', { version: 2 }, { version: 2 }, 'Signature, Signature-Input'],
  ])('%s', async (_, config, how, names) => {
    const port = await serve(createServer, [shared], config);
    expect((await signedAsk(port, '/0', how)).headers.vary).toBe(`Accept, ${names}`);
  });

  const mac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
  const key = Buffer.from('a secret that has 32 bytes, yes.');
  test.each<[WebhookPreset, string, Record<string, string>, string]>([
    ['standard', `whsec_${key.toString('base64')}`, { 'webhook-id': 'm', 'webhook-timestamp': `${SECONDS}`, 'webhook-signature': `v1,${mac(key, `m.${SECONDS}.{}`).toString('base64')}` }, 'webhook-signature, webhook-id, webhook-timestamp, svix-signature, svix-id, svix-timestamp'],
    ['stripe', SECRET, { 'Stripe-Signature': `t=${SECONDS},v1=${mac(SECRET, `${SECONDS}.{}`).toString('hex')}` }, 'Stripe-Signature'],
    ['github', SECRET, { 'X-Hub-Signature-256': `sha256=${mac(SECRET, '{}').toString('hex')}` }, 'X-Hub-Signature-256'],
    ['slack', SECRET, { 'X-Slack-Request-Timestamp': `${SECONDS}`, 'X-Slack-Signature': `v0=${mac(SECRET, `v0:${SECONDS}:{}`).toString('hex')}` }, 'X-Slack-Signature, X-Slack-Request-Timestamp'],
  ])('a webhook of %s, whose silent answers are private', async (preset, secret, headers, names) => {
    jest.spyOn(Date, 'now').mockReturnValue(SECONDS * 1000);
    const app = createServer({ env: 'test', logging: { level: 'silent' }, security: { webhooks: [{ path: '/shared', preset, secret }, { path: '/silent', preset, secret }] } });
    app.post('/shared', shared).post('/silent', (_req, res) => res.json(1));
    const port = await running.start(app);
    const send = (path: string): Promise<Answer> => ask(port, path, { method: 'POST', body: '{}', headers: { 'Content-Length': '2', ...headers } });
    expect((await send('/shared')).headers.vary).toBe(`Accept, ${names}`);
    expect((await send('/silent')).headers['cache-control']).toBe('private');
    jest.restoreAllMocks();
  });
});

test('applications in one another, in express and under node:http: each check that passed counts, and what stands outside says it once', async () => {
  const inner = createServer(options({ headerName: 'X-Inner' }));
  inner.get('/shared', (_req, res) => res.set('Cache-Control', 'public').json(1));
  inner.get('/silent', (_req, res) => res.json(1));
  const outer = createServer(options()).use(inner);
  const timestamp = Date.now();
  const signed = (url: string, headerName = 'Svc-Request-Sig'): Record<string, string> => signRequest({ secret: SECRET, method: 'GET', url, headerName, timestamp });
  const both = (url: string): Record<string, string> => ({ ...signed(url), ...signed(url, 'X-Inner') });
  for (const port of [await running.start(outer), await running.listen(createHttpServer(outer)), await running.listen(createHttpServer(theirs().use(outer)))]) {
    expect((await ask(port, '/shared', { headers: both('/shared') })).headers.vary).toBe('Svc-Request-Sig, X-Timestamp, X-Inner');
    expect((await ask(port, '/silent', { headers: both('/silent') })).headers['cache-control']).toBe('private');
    const refused = await ask(port, '/shared', { headers: signed('/shared') });
    expect([refused.status, refused.headers['cache-control']]).toEqual([401, 'no-store']);
  }
});

test('inject and an Express application mounted within answer alike', async () => {
  const app = createServer(options()).use('/theirs', theirs().get('/', (_req, res) => void res.json(1)).use(theirs.static(folder.path)) as never);
  app.get('/ours', (_req, res) => res.json(1));
  const port = await running.start(app);
  expect((await signedAsk(port, '/theirs')).headers['cache-control']).toBe('private');
  // Another package's, which the program has chosen.
  const { headers } = await signedAsk(port, '/theirs/file.txt');
  expect([headers['cache-control'], headers.vary]).toEqual(['public, max-age=0', 'Svc-Request-Sig, X-Timestamp']);
  expect((await app.inject({ url: '/ours', headers: signRequest({ secret: SECRET, method: 'GET', url: '/ours' }) })).headers['cache-control']).toBe('private');
});
