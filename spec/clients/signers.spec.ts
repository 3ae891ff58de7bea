import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { createServer, type Handler } from 'waypost';
import { launchChromium } from '../support/chromium';
import { read, ROOT } from '../support/document';
import { Running } from '../support/running';

const SECRET = 'correct horse battery staple 0123456789';
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const KEY = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;

/** Servers of both versions, with one secret, and where each client has a key: a secret, or a pair of keys. */
const SERVERS = {
  '1': { version: 1, secret: SECRET },
  '2': { version: 2, secret: SECRET },
  '1k': { version: 1, secret: (keyId: string) => (keyId === 'ann' ? SECRET : undefined) },
  '2k': { version: 2, keys: [{ id: 'ann', key: publicKey }] },
} as const;

type Server = keyof typeof SERVERS;

const NAMES = Object.keys(SERVERS) as Server[];

/** One request, and what a client that signs makes of it: the status, or its error. */
interface Case {
  readonly server: Server;
  readonly method: string;
  readonly tail: string;
  readonly type?: string;
  readonly encoding?: string;
  readonly chunked?: boolean;
  readonly body?: string | Buffer;
}

/** A request that was let through. */
interface Came {
  readonly server: Server;
  readonly keyId: string | undefined;
  readonly method: string;
  readonly body: unknown;
  readonly chunked: boolean;
}

/** What each client takes as it is written, in its own way. */
const TAILS = [
  '/plain?x=1&y=2', '/a%20b/%C3%A4%2F%7E?q=%27x%27&y=a%2Bb+c', '/a%2fb?x=%2f', "/a'b(1)!*;p=1,2:@$&+=?q='x'&y=~", '/a[1]?b[]=1', '/a|b', '/a^b', '//a//b', '/a/../b', '/a?', '', '?x=1', '/a?#f', '/a#f',
];

/** What some serialize, and others leave as it is: that no server takes. */
const RAW_TAILS = ['/a b', '/ä', '/a"b', '/a{b}', '/a\\b', '/a?q=ä', '/a?q=a b', '/a?q=<b>', '/a%zz'];

const JSON_TEXT = '{"n":"ü\\u00fc",\r\n "m": [1, 2]}\n';
const BODIES = [
  { type: 'application/json', body: JSON_TEXT },
  { type: 'application/x-www-form-urlencoded', body: 'a=1&b=x+y&c=%C3%BC' },
  { type: 'application/json', encoding: 'gzip', body: gzipSync(JSON_TEXT) },
  { type: 'application/json', chunked: true, body: JSON_TEXT },
];

const running = new Running();
const handled: Came[] = [];
const origins: Record<Server, string> = { '1': '', '2': '', '1k': '', '2k': '' };
const folder = mkdtempSync(join(tmpdir(), 'waypost-clients-'));
const environment = { ...process.env, WAYPOST_SECRET: SECRET, WAYPOST_KEY: KEY, NO_PROXY: '*', no_proxy: '*', GOCACHE: join(folder, 'go'), GO111MODULE: 'off', PYTHONDONTWRITEBYTECODE: '1', LANG: 'C.UTF-8' };

beforeAll(async () => {
  for (const server of NAMES) {
    const app = createServer({ env: 'test', logging: { level: 'silent' }, security: { requestSignature: SERVERS[server], routeConfig: { requestSignature: { excludeRoutes: ['/page/**'] } } } });
    app.get('/page', (_req, res) => res.type('html').send('<title>page</title>'));
    app.get('/page/browser.mjs', (_req, res) => res.type('text/javascript').send(read('demo/signers/browser.mjs')));
    const handle: Handler = (req, res) => {
      handled.push({ server, keyId: req.signatureKeyId, method: req.method, body: req.body as unknown, chunked: req.headers['transfer-encoding'] === 'chunked' });
      res.sendStatus(200);
    };
    app.post('/bodies', handle);
    app.use(handle);
    origins[server] = `http://127.0.0.1:${await running.start(app)}`;
  }
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await running.close();
});

/** Runs a program to its end. @throws Error that names the package where the program is not installed. */
async function run(command: string, args: readonly string[], packageName: string, input = ''): Promise<string> {
  const child = spawn(command, args, { cwd: ROOT, env: environment });
  const failed = new Promise<never>((_, reject) => child.once('error', (cause) => reject(new Error(`${command} could not be run; install it, as by "apt-get install ${packageName}"`, { cause }))));
  child.stdin.on('error', () => undefined).end(input);
  const ended = Promise.all([text(child.stdout), text(child.stderr)]);
  const [output, errors] = await Promise.race([ended, failed]);
  return output.trim() || `error ${errors.trim()}`;
}

function linesOf(cases: readonly Case[]): string {
  return cases.map(({ server, method, tail, type = '', encoding = '', chunked = false, body = '' }) => (
    `${[server, method, origins[server] + tail, type, encoding, chunked ? 'chunked' : '', Buffer.from(body).toString('base64')].join('\t')}\n`
  )).join('');
}

/** A program that sends a request for each line that it reads, and writes a line for each. */
function driven(command: string, args: readonly string[], packageName: string) {
  return async (cases: readonly Case[]): Promise<string[]> => (await run(command, args, packageName, linesOf(cases))).split('\n');
}

/** Debian's own, where there is one: its packages are none of another Python's. */
const PYTHON = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';

/** Go takes the files of one folder. */
async function byGo(cases: readonly Case[]): Promise<string[]> {
  for (const file of ['spec/clients/drive.go', 'demo/signers/signer.go']) writeFileSync(join(folder, basename(file)), read(file));
  return driven('go', ['run', join(folder, 'drive.go'), join(folder, 'signer.go')], 'golang-go')(cases);
}

async function byJava(cases: readonly Case[]): Promise<string[]> {
  await run('javac', ['-d', folder, 'demo/signers/Signer.java', 'spec/clients/Drive.java'], 'default-jdk-headless');
  return driven('java', ['-cp', folder, 'Drive'], 'default-jdk-headless')(cases);
}

async function byCurl(cases: readonly Case[]): Promise<string[]> {
  const outcomes: string[] = [];
  for (const { server, method, tail, type, encoding, chunked, body } of cases) {
    const file = join(folder, 'body');
    if (body !== undefined) writeFileSync(file, body);
    const headers = [...(encoding === undefined ? [] : [`Content-Encoding: ${encoding}`]), ...(chunked === true ? ['Transfer-Encoding: chunked'] : [])].flatMap((header) => ['-H', header]);
    outcomes.push(await run('env', [...(server === '1k' ? ['WAYPOST_KEY_ID=ann'] : []), 'sh', 'demo/signers/curl.sh', method, origins[server] + tail, ...(type === undefined ? [] : [file, type]), ...headers, '-s', '-o', '/dev/null', '-w', '%{http_code}'], 'curl openssl'));
  }
  return outcomes;
}

async function inChromium(cases: readonly Case[]): Promise<string[]> {
  const browser = await launchChromium();
  const pages = new Map<Server, Page>();
  const outcomes: string[] = [];
  for (const { server, method, tail, type, encoding, body } of cases) {
    const page = pages.get(server) ?? await browser.newPage();
    if (!pages.has(server)) await page.goto(`${origins[server]}/page`);
    pages.set(server, page);
    const headers = { ...(type !== undefined && { 'Content-Type': type }), ...(encoding !== undefined && { 'Content-Encoding': encoding }) };
    const given = { server, method, url: origins[server] + tail, headers, secret: SECRET, jwk: privateKey.export({ format: 'jwk' }), body: body === undefined ? undefined : [...Buffer.from(body)] };
    outcomes.push(await page.evaluate(`(async ({ server, method, url, headers, secret, jwk, body }) => {
      const { signedFetch } = await import('/page/browser.mjs');
      const key = server === '2k' ? await crypto.subtle.importKey('jwk', jwk, 'Ed25519', false, ['sign']) : secret;
      const send = signedFetch(key, Number(server[0]), server.endsWith('k') ? 'ann' : undefined);
      try {
        return String((await send(url, { method, headers, ...(body && { body: new Uint8Array(body) }) })).status);
      } catch (error) {
        return 'error ' + error.message;
      }
    })(${JSON.stringify(given)})`));
  }
  await browser.close();
  return outcomes;
}

interface Client {
  readonly name: string;
  readonly send: (cases: readonly Case[]) => Promise<string[]>;
  readonly servers: readonly Server[];
  /** The tails that its signer refuses; all others pass. */
  readonly refuses: readonly string[];
}

/** A client that sends what it is given: all of it must be encoded, but for an escape that is none. */
const VERBATIM = RAW_TAILS.filter((tail) => tail !== '/a%zz');

const CLIENTS: readonly Client[] = [
  { name: 'curl', send: byCurl, servers: ['1', '1k'], refuses: VERBATIM },
  { name: 'requests', send: driven(PYTHON, ['spec/clients/drive.py', 'requests'], 'python3-requests'), servers: NAMES, refuses: [] },
  { name: 'httpx', send: driven(PYTHON, ['spec/clients/drive.py', 'httpx'], 'python3-httpx'), servers: NAMES, refuses: [] },
  { name: 'Go', send: byGo, servers: NAMES, refuses: ['/a?q=ä', '/a?q=a b', '/a?q=<b>', '/a%zz'] },
  { name: 'Java', send: byJava, servers: NAMES, refuses: ['/a[1]?b[]=1', '/a|b', '/a^b', ...RAW_TAILS.filter((tail) => !tail.endsWith('ä'))] },
  { name: 'PHP', send: driven('php', ['spec/clients/drive.php'], 'php-cli php-curl'), servers: NAMES, refuses: VERBATIM },
  { name: 'Ruby', send: driven('ruby', ['spec/clients/drive.rb'], 'ruby'), servers: NAMES, refuses: ['/a[1]?b[]=1', '/a|b', '/a^b', ...RAW_TAILS.filter((tail) => !/[ <]b/.test(tail.slice(3)))] },
  { name: 'a browser', send: inChromium, servers: NAMES, refuses: [] },
];

describe.each(CLIENTS)('the signer of $name', ({ name, send, servers, refuses }) => {
  const targets = servers.flatMap((server) => [...TAILS, ...RAW_TAILS].map((tail): Case => ({ server, method: 'GET', tail })));
  const bodies = servers.flatMap((server) => BODIES.map((body): Case => ({ server, method: 'POST', tail: '/bodies?x', ...body })));
  let outcomes: string[];
  /** What came to the handlers. */
  let came: Came[];

  beforeAll(async () => {
    const sent = await send([...targets, ...bodies]);
    [outcomes, came] = [sent, handled.splice(0)];
  });

  test('signs what the client sends, or says what to write', () => {
    const seen = targets.map(({ server, tail }, index) => [server, tail, outcomes[index]?.replace(/^error .*(?:percent-encode|invalid URL escape "%zz").*$/s, 'says what to write')]);
    expect(seen).toEqual(targets.map(({ server, tail }) => [server, tail, refuses.includes(tail) ? 'says what to write' : '200']));
    expect(came.filter(({ method }) => method === 'GET')).toHaveLength(servers.length * (TAILS.length + RAW_TAILS.length - refuses.length));
  });

  test('signs bodies: JSON, forms, gzip and chunks', () => {
    expect(outcomes.slice(targets.length)).toEqual(bodies.map(() => '200'));
    const expected = bodies.map(({ server, type, chunked = false }) => ({ server, keyId: server.endsWith('k') ? 'ann' : undefined, method: 'POST', body: type === 'application/json' ? JSON.parse(JSON_TEXT) as unknown : { a: '1', b: 'x y', c: 'ü' }, chunked: chunked && name !== 'a browser' }));
    expect(came.filter(({ method }) => method === 'POST')).toEqual(expected);
  });
});
