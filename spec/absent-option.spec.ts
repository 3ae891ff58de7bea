import { join } from 'node:path';
import { inspect } from 'node:util';
import { createServer, MemoryReplayStore, RedisReplayStore, Router, signedFetch, type SignRequestOptions, signRequest, static as staticFiles, XJsonResponseHandler } from 'waypost';
import { resolveOptions } from '../lib/options/resolve';
import { read } from './support/document';
import { Folder } from './support/folder';
import { Running } from './support/running';
import { ask } from './support/wire';

/* In every table an option of undefined is one that was not given. */

type Options = Record<string, unknown>;

const SECRET = 'a secret of more than thirty-two bytes';
const PEM = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n';

/** The options that the documents list in a table. */
function table(file: string, name: string): string[] {
  const [, text = ''] = read(`docs/${file}.md`).split(`<!-- table: ${name} -->\n`);
  const rows = text.split('\n\n', 1)[0]?.split('\n').slice(2) ?? [];
  expect(rows.length).toBeGreaterThan(0);
  return rows.map((row) => /^\| `([\w.]+)` \|/.exec(row)?.[1] ?? row);
}

/** The same options with one more that is undefined; undefined where one is given, or where it has no place. */
function withUndefined(options: Options, path: string): Options | undefined {
  const [head = '', ...rest] = path.split('.');
  const held = options[head];
  if (rest.length === 0) return held === undefined ? { ...options, [head]: undefined } : undefined;
  if (typeof held !== 'object' || held === null) return undefined;
  const inner = withUndefined(held as Options, rest.join('.'));
  return inner && { ...options, [head]: inner };
}

const running = new Running();
const folder = new Folder({ 'a.txt': 'a file' });
afterAll(() => folder.close());
afterEach(() => running.close());

describe('createServer and express', () => {
  const store = new MemoryReplayStore({ maxEntries: 1 });
  const signed = (settings: object): Options => ({ security: { requestSignature: { secret: SECRET, ...settings } } });
  const bases: Record<string, Options> = {
    'no options': {},
    'empty sections': { logging: {}, routing: {}, body: {}, server: {}, security: {} },
    'all sections': { logging: { requestId: {} }, routing: {}, body: {}, server: { https: { key: PEM, cert: PEM } }, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: {} } } },
    'HTTP/2': { server: { http2: { cleartext: true } } },
    'a pfx': { server: { https: { pfx: 'bytes' } } },
    'version 1': signed({ version: 1, algorithm: 'sha512', replay: { store } }),
    'version 2': signed({ version: 2, replay: { store } }),
    'signed responses': { security: { signResponses: { key: '-----BEGIN PRIVATE KEY-----' } } },
    'Web Bot Auth': { security: { requestSignature: { version: 2, webBotAuth: { agents: ['https://agent.example'] } } } },
    'a secret for each client': signed({ secret: () => SECRET }),
    'a secret for each client, version 2': signed({ secret: () => SECRET, version: 2 }),
  };
  const https = /<!-- list: HttpsOptions -->\n(.*)/.exec(read('docs/options.md'))?.[1]?.match(/\w+/g) ?? [];
  const names = [...table('options', 'CreateServerOptions'), ...https.map((name) => `server.https.${name}`)];
  const tried = new Set<string>();

  test.each(Object.entries(bases))('%s', (_, base) => {
    for (const asExpress of [false, true]) {
      const wanted = inspect(resolveOptions(base, {}, asExpress), { depth: 9 });
      for (const name of names) {
        const given = withUndefined(base, name);
        if (given === undefined) continue;
        tried.add(name);
        expect([name, inspect(resolveOptions(given, {}, asExpress), { depth: 9 })]).toEqual([name, wanted]);
      }
    }
  });

  test('that was each of them, but for what has to be given', () => {
    expect(names.filter((name) => !tried.has(name))).toEqual(['server.http2.cleartext', 'security.requestSignature.webBotAuth.agents', 'security.requestSignature.replay.store', 'security.signResponses.key']);
  });

  test.each(['standard', 'stripe', 'github', 'slack'])('a webhook of %s', (preset) => {
    const base = { path: '/hook', preset, secret: 'whsec_AQIDBAUG' };
    const shown = (webhook: Options): string => inspect(resolveOptions({ security: { webhooks: [webhook] } }, {}), { depth: 9 });
    const free = table('webhooks', 'WebhookConfig').map((name) => name.replace(/\..*/, '')).filter((name) => !(name in base));
    expect(free.length).toBeGreaterThan(4);
    for (const name of free) expect([name, shown({ ...base, [name]: undefined })]).toEqual([name, shown(base)]);
  });
});

test.each([1, 2] as const)('signRequest and signedFetch, version %i', async (version) => {
  const base: SignRequestOptions = { version, secret: SECRET, method: 'POST', url: '/a?b', body: 'c', timestamp: 1_700_000_000_000, ...(version === 2 ? { nonce: '0123456789abcdef' } : { keyId: 'k' }) };
  const names = table('request-signatures', 'SignRequestOptions').filter((name) => !(name in base));
  for (const name of names) expect([name, signRequest({ ...base, [name]: undefined })]).toEqual([name, signRequest(base)]);
  const sent: unknown[] = [];
  const stub = (...given: unknown[]): Promise<Response> => {
    sent.push(given);
    return Promise.resolve(new Response());
  };
  for (const name of [...names, 'keyId']) {
    if (!['headers', 'expires', 'nonce'].includes(name)) await signedFetch({ secret: SECRET, version, fetch: stub, [name]: undefined })('http://localhost/');
  }
  expect(sent.length).toBeGreaterThan(5);
});

test('xJson', () => {
  const data = { text: 'x'.repeat(20_000), big: 1n, deep: [[[]]] };
  for (const base of [{}, { maxDepth: 2 }, { truncateStrings: 9, stable: true }] as Options[]) {
    for (const name of table('xjson', 'XJsonOptions').filter((each) => !(each in base))) {
      expect([name, XJsonResponseHandler.stringify(data, { ...base, [name]: undefined })]).toEqual([name, XJsonResponseHandler.stringify(data, base)]);
    }
  }
});

test('files and cookies', async () => {
  const own = (name: string, base: Options): Options => ({ ...base, [name]: undefined });
  const calls: Record<string, readonly [readonly string[], Options]> = {
    sendFile: [table('files-and-views', 'SendFileOptions'), { root: folder.path }],
    cookie: [table('requests-and-responses', 'CookieOptions'), {}],
  };
  for (const [method, [names, base]] of Object.entries(calls)) {
    const answers = new Set<string>();
    for (const options of [base, ...names.filter((name) => !(name in base)).map((name) => own(name, base))]) {
      const app = createServer({ logging: { level: 'silent' } });
      app.get('/', (_req, res) => void (method === 'cookie' ? res.cookie('a', 'b', options).end() : res.sendFile('a.txt', options)));
      app.use('/static', staticFiles(folder.path, { ...options, fallthrough: undefined, redirect: undefined, setHeaders: undefined }));
      for (const url of method === 'cookie' ? ['/'] : ['/', '/static/a.txt']) {
        const { statusCode, headers: { date: _date, ...headers }, body } = await app.inject(url);
        answers.add(JSON.stringify([statusCode, headers, body]));
      }
    }
    expect([method, answers.size]).toEqual([method, 1]);
  }
});

test('start, close, inject, Router and the stores', async () => {
  const names = table('applications', 'ListenOptions');
  const all = Object.fromEntries(names.map((name) => [name, undefined]));
  const app = createServer({ logging: { level: 'silent' } });
  const router = Router({ caseSensitive: undefined, strict: undefined, mergeParams: undefined });
  app.use('/r', router.get('/a', (_req, res) => res.send('a')));
  const port = await running.start(app);
  expect((await Promise.all(['/r/a', '/r/A', '/r/a/'].map((path) => ask(port, path)))).map(({ status }) => status)).toEqual([200, 404, 404]);
  expect((await app.inject({ url: '/r/a', method: undefined, headers: undefined, query: undefined, cookies: undefined, payload: undefined, remoteAddress: undefined })).body).toBe('a');
  await app.close({ timeout: undefined });
  const server = await app.start({ ...all, port: 0, host: '127.0.0.1' });
  expect(server.address()).toMatchObject({ address: '127.0.0.1' });
  await app.close();
  // But for the port: beside a path Node takes undefined for any that is free, as in Express (spec/application.spec.ts).
  const { port: _port, ...others } = all;
  const path = join(folder.path, 'socket');
  expect((await app.start({ ...others, path })).address()).toBe(path);
  expect(new MemoryReplayStore({ maxEntries: undefined, now: undefined }).claim('a', Date.now() + 1000)).toBe(true);
  expect(await new RedisReplayStore({ set: () => Promise.resolve('OK'), isReady: undefined }, { prefix: undefined, timeout: undefined }).claim('a', Date.now() + 1000)).toBe(true);
});
