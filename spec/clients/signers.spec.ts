import { spawn } from 'node:child_process';
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

/** One request, and what a client that signs makes of it: the status, or its error. */
interface Case {
  readonly version: 1 | 2;
  readonly method: string;
  readonly tail: string;
  readonly type?: string;
  readonly encoding?: string;
  readonly chunked?: boolean;
  readonly body?: string | Buffer;
}

/** A request that was let through. */
interface Came {
  readonly version: 1 | 2;
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
const origins: Record<1 | 2, string> = { 1: '', 2: '' };
const folder = mkdtempSync(join(tmpdir(), 'waypost-clients-'));
const environment = { ...process.env, WAYPOST_SECRET: SECRET, NO_PROXY: '*', no_proxy: '*', GOCACHE: join(folder, 'go'), GO111MODULE: 'off', PYTHONDONTWRITEBYTECODE: '1', LANG: 'C.UTF-8' };

beforeAll(async () => {
  for (const version of [1, 2] as const) {
    const app = createServer({ env: 'test', logging: { level: 'silent' }, security: { requestSignature: { version, secret: SECRET }, routeConfig: { requestSignature: { excludeRoutes: ['/page/**'] } } } });
    app.get('/page', (_req, res) => res.type('html').send('<title>page</title>'));
    app.get('/page/browser.mjs', (_req, res) => res.type('text/javascript').send(read('demo/signers/browser.mjs')));
    const handle: Handler = (req, res) => {
      handled.push({ version, method: req.method, body: req.body as unknown, chunked: req.headers['transfer-encoding'] === 'chunked' });
      res.sendStatus(200);
    };
    app.post('/bodies', handle);
    app.use(handle);
    origins[version] = `http://127.0.0.1:${await running.start(app)}`;
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
  return cases.map(({ version, method, tail, type = '', encoding = '', chunked = false, body = '' }) => (
    `${[version, method, origins[version] + tail, type, encoding, chunked ? 'chunked' : '', Buffer.from(body).toString('base64')].join('\t')}\n`
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
  for (const { version, method, tail, type, encoding, chunked, body } of cases) {
    const file = join(folder, 'body');
    if (body !== undefined) writeFileSync(file, body);
    const headers = [...(encoding === undefined ? [] : [`Content-Encoding: ${encoding}`]), ...(chunked === true ? ['Transfer-Encoding: chunked'] : [])].flatMap((header) => ['-H', header]);
    outcomes.push(await run('sh', ['demo/signers/curl.sh', method, origins[version] + tail, ...(type === undefined ? [] : [file, type]), ...headers, '-s', '-o', '/dev/null', '-w', '%{http_code}'], 'curl openssl'));
  }
  return outcomes;
}

async function inChromium(cases: readonly Case[]): Promise<string[]> {
  const browser = await launchChromium();
  const pages: Record<1 | 2, Page> = { 1: await browser.newPage(), 2: await browser.newPage() };
  const outcomes: string[] = [];
  for (const version of [1, 2] as const) await pages[version].goto(`${origins[version]}/page`);
  for (const { version, method, tail, type, encoding, body } of cases) {
    const headers = { ...(type !== undefined && { 'Content-Type': type }), ...(encoding !== undefined && { 'Content-Encoding': encoding }) };
    const given = { version, method, url: origins[version] + tail, headers, secret: SECRET, body: body === undefined ? undefined : [...Buffer.from(body)] };
    outcomes.push(await pages[version].evaluate(`(async ({ version, method, url, headers, secret, body }) => {
      const { signedFetch } = await import('/page/browser.mjs');
      try {
        return String((await signedFetch(secret, version)(url, { method, headers, ...(body && { body: new Uint8Array(body) }) })).status);
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
  readonly versions: readonly (1 | 2)[];
  /** The tails that its signer refuses; all others pass. */
  readonly refuses: readonly string[];
}

/** A client that sends what it is given: all of it must be encoded, but for an escape that is none. */
const VERBATIM = RAW_TAILS.filter((tail) => tail !== '/a%zz');

const CLIENTS: readonly Client[] = [
  { name: 'curl', send: byCurl, versions: [1], refuses: VERBATIM },
  { name: 'requests', send: driven(PYTHON, ['spec/clients/drive.py', 'requests'], 'python3-requests'), versions: [1, 2], refuses: [] },
  { name: 'httpx', send: driven(PYTHON, ['spec/clients/drive.py', 'httpx'], 'python3-httpx'), versions: [1, 2], refuses: [] },
  { name: 'Go', send: byGo, versions: [1, 2], refuses: ['/a?q=ä', '/a?q=a b', '/a?q=<b>', '/a%zz'] },
  { name: 'Java', send: byJava, versions: [1, 2], refuses: ['/a[1]?b[]=1', '/a|b', '/a^b', ...RAW_TAILS.filter((tail) => !tail.endsWith('ä'))] },
  { name: 'PHP', send: driven('php', ['spec/clients/drive.php'], 'php-cli php-curl'), versions: [1, 2], refuses: VERBATIM },
  { name: 'Ruby', send: driven('ruby', ['spec/clients/drive.rb'], 'ruby'), versions: [1, 2], refuses: ['/a[1]?b[]=1', '/a|b', '/a^b', ...RAW_TAILS.filter((tail) => !/[ <]b/.test(tail.slice(3)))] },
  { name: 'a browser', send: inChromium, versions: [1, 2], refuses: [] },
];

describe.each(CLIENTS)('the signer of $name', ({ name, send, versions, refuses }) => {
  const targets = versions.flatMap((version) => [...TAILS, ...RAW_TAILS].map((tail): Case => ({ version, method: 'GET', tail })));
  const bodies = versions.flatMap((version) => BODIES.map((body): Case => ({ version, method: 'POST', tail: '/bodies?x', ...body })));
  let outcomes: string[];
  /** What came to the handlers. */
  let came: Came[];

  beforeAll(async () => {
    const sent = await send([...targets, ...bodies]);
    [outcomes, came] = [sent, handled.splice(0)];
  });

  test('signs what the client sends, or says what to write', () => {
    const seen = targets.map(({ version, tail }, index) => [version, tail, outcomes[index]?.replace(/^error .*(?:percent-encode|invalid URL escape "%zz").*$/s, 'says what to write')]);
    expect(seen).toEqual(targets.map(({ version, tail }) => [version, tail, refuses.includes(tail) ? 'says what to write' : '200']));
    expect(came.filter(({ method }) => method === 'GET')).toHaveLength(versions.length * (TAILS.length + RAW_TAILS.length - refuses.length));
  });

  test('signs bodies: JSON, forms, gzip and chunks', () => {
    expect(outcomes.slice(targets.length)).toEqual(bodies.map(() => '200'));
    const expected = bodies.map(({ version, type, chunked = false }) => ({ version, method: 'POST', body: type === 'application/json' ? JSON.parse(JSON_TEXT) as unknown : { a: '1', b: 'x y', c: 'ü' }, chunked: chunked && name !== 'a browser' }));
    expect(came.filter(({ method }) => method === 'POST')).toEqual(expected);
  });
});
