import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { signedFetch } from 'waypost';
import { ChildProgram, ENVIRONMENT, ROOT } from './support/child-program';
import { isInstalled, runInNode, runLine, words } from './support/curl-line';
import { type Answer, ask, post, type Question, Wire } from './support/wire';

const SECRET = readFileSync(join(ROOT, 'demo/secret.txt'), 'utf8').trim();

const started: ChildProgram[] = [];

/** Starts a program; it is ended when the specs are. */
async function serve(file: string, environment: NodeJS.ProcessEnv = {}): Promise<ChildProgram> {
  const program = await ChildProgram.serve(`demo/${file}`, environment);
  started.push(program);
  return program;
}

beforeAll(() => {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('the programs run on the build: npm run build (npm test does so)');
});

afterAll(async () => {
  await Promise.all(started.map((program) => program.stop()));
});

/** A line of the start page, and the status that the page says it is answered with. */
interface Line {
  readonly text: string;
  readonly status: number;
}

function unescape(html: string): string {
  return html.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
}

/** The lines of the page, by the route they stand under. */
function readPage(html: string): Map<string, Line[]> {
  const routes = new Map<string, Line[]>();
  for (const part of html.split('<article ').slice(1)) {
    const [, method = '', path = ''] = /data-method="(\w+)" data-path="(.*?)"/.exec(part) ?? [];
    const route = unescape(`${method} ${path}`);
    const lines = [...part.matchAll(/<data class="status" value="(\d{3})">[^]*?<pre tabindex="0"><code>([^]*?)<\/code><\/pre>/g)];
    routes.set(route, lines.map(([, status, line]) => ({ text: unescape(line ?? ''), status: Number(status) })));
  }
  return routes;
}

type Check = (answer: Answer) => void;

function json(body: unknown, headers: Record<string, unknown> = {}): Check {
  return (answer) => {
    expect(answer.json).toEqual(body);
    expect(answer.headers).toMatchObject(headers);
  };
}

function body(content: string | RegExp, headers: Record<string, unknown> = {}): Check {
  return (answer) => {
    if (typeof content === 'string') expect(answer.body).toBe(content);
    else expect(answer.body).toMatch(content);
    expect(answer.headers).toMatchObject(headers);
  };
}

const FELLS = { id: 'fells', title: 'The Northern Fells', region: 'north', sheets: ['summits', 'valleys'] };
const LAKES = { id: 'lakes', title: 'The Lakes', region: 'north', sheets: [] };
const WALK = readFileSync(join(ROOT, 'demo/files/walk.txt'), 'utf8');
const OPAQUE = json({ error: 'Internal Server Error', message: 'Internal Server Error' });
const INVALID = json({ error: 'Invalid signature', message: 'Request signature verification failed' }, { 'www-authenticate': expect.any(String) });
const REPORT = json({ year: '2026', maps: 3 });
const ORDERED = json({ ordered: { map: 'fells', copies: 2 } });
const EXTENDED = { 'content-type': 'application/json' };

/** What each line of the start page is answered with, route by route. */
const EXPECTED: Readonly<Record<string, readonly [number, Check][]>> = {
  'GET /': [[200, body(/^<!DOCTYPE html>\n<html lang="en">/, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': expect.stringContaining("default-src 'none'") })]],
  'GET /catalogue': [
    [200, (answer) => expect(answer.json).toMatchObject({ count: 3, maps: [FELLS, { id: 'coast' }, { id: 'moor' }] })],
    [200, (answer) => expect(answer.json).toMatchObject({ count: 2, maps: [{ id: 'coast' }, { id: 'moor' }] })],
    [200, body('', { 'cache-control': 'no-store', 'content-length': expect.stringMatching(/^[1-9]/) })],
  ],
  'GET /catalogue/:id': [[200, json(FELLS, { 'cache-control': 'no-store' })], [404, json({ error: 'Not Found', message: 'There is no map called atlantis' })]],
  'POST /catalogue': [
    [201, json(LAKES, { location: '/catalogue/lakes' })],
    [400, (answer) => expect(answer.json).toMatchObject({ error: 'Bad Request' })],
    [400, json({ error: 'Bad Request', message: 'A map needs an id, a title and a region, each a text, as its sheets are' })],
    [413, json({ error: 'Payload Too Large', message: 'The request body is larger than the limit' }, { connection: 'close' })],
  ],
  'PUT /catalogue/:id': [[201, json({ id: 'marsh', title: 'The Marshes', region: 'east', sheets: [] })]],
  'PATCH /catalogue/:id': [[200, json({ id: 'moor', title: 'The Higher Moor', region: 'south', sheets: ['tracks'] })]],
  'DELETE /catalogue/:id': [[204, body('')], [204, body('')]],
  'GET /catalogue/:id/sheets/:number': [[200, json({ map: 'coast', sheet: 'harbours' })]],
  'GET /trails/one/*': [[200, json({ segment: 'ridge' })], [404, json({ error: 'Not Found', message: 'Cannot GET /trails/one/ridge/east' })]],
  'GET /trails/all/**': [[200, json({ rest: 'ridge/east/summit' })]],
  'GET /trails/:region/from/:start-:end': [[200, json({ region: 'north', start: 'ford', end: 'summit' })]],
  'GET /trails/:region/photos/**': [[200, json({ region: 'south', photo: '2026/high tide.jpg' })]],
  'GET /numbers/bigint': [[200, json({ grains: '18446744073709551615', squares: ['1', '2', '4'] }, EXTENDED)]],
  'GET /numbers/cycle': [[200, json({ name: 'ridge', summit: { name: 'summit', on: '[Circular]' } }, EXTENDED)]],
  'GET /numbers/limits': [[200, json({ text: 'a long…', a: { b: '[Object]' } }, EXTENDED)]],
  'GET /numbers/refused': [
    [500, json({ error: 'Serialization failed', message: 'Unable to serialize response object' })],
    [200, json({ grains: '18446744073709551615' }, EXTENDED)],
  ],
  'GET /numbers/stream': [
    [200, body('', { ...EXTENDED, 'content-length': expect.stringMatching(/^\d{7}$/) })],
    [200, (answer) => expect(answer.json).toMatchObject([{ square: '0' }, { square: '1' }, { square: '4' }])],
  ],
  'POST /numbers/echo': [[200, json({ received: { n: '12345678901234567890' }, type: 'bigint' })]],
  'GET /signed/report': [
    [200, REPORT],
    [200, REPORT],
    [200, REPORT],
    [401, json({ error: 'Missing signature header', message: 'Svc-Request-Sig header is required' })],
    [401, INVALID],
    [401, json({ error: 'Signature expired', message: 'Request signature has expired' })],
  ],
  'POST /signed/orders': [[201, ORDERED], [201, ORDERED], [201, ORDERED], [401, INVALID]],
  'GET /signed/health': [[200, json({ healthy: true })]],
  'GET /files/**': [
    [200, body(WALK, { 'content-type': 'text/plain; charset=utf-8', 'accept-ranges': 'bytes', etag: expect.any(String) })],
    [206, body(WALK.slice(0, 16), { 'content-range': `bytes 0-15/${Buffer.byteLength(WALK)}` })],
    [416, (answer) => expect(answer.headers['content-range']).toBe(`bytes */${Buffer.byteLength(WALK)}`)],
    [304, body('')],
    [404, json({ error: 'Not Found', message: 'Not Found' })],
    [403, json({ error: 'Forbidden', message: 'Forbidden' })],
  ],
  'GET /errors/thrown': [[500, OPAQUE]],
  'GET /errors/rejected': [[500, OPAQUE]],
  'GET /errors/http': [[410, json({ error: 'Gone', message: 'This path was closed for good' })]],
  'GET /errors/custom': [
    [503, json({ error: 'Washout', message: 'The ford is under water' }, { 'retry-after': '3600' })],
    [404, json({ error: 'Not Found', message: 'Cannot GET /errors/unknown' })],
  ],
  'GET /tides/live': [
    [200, body(/^(?:id: .*\n)?data: \{"minute":0,"metres":3\}\n\n[^]*"minute":2,/, { 'content-type': 'text/event-stream' })],
    [400, (answer) => expect(answer.json).toMatchObject({ error: 'Bad Request' })],
  ],
  'GET /tides/:harbour': [
    [200, json({ harbour: 'bude', metres: [6.9, 6.9, 6.9, 6.9] })],
    [400, (answer) => expect(answer.json).toMatchObject({ error: 'Bad Request' })],
    [404, json({ error: 'Not Found', message: 'There is no harbour called atlantis' })],
  ],
  'GET /visits': [[200, setsVisits(1)], [200, setsVisits(5)]],
  'GET /visits/forget': [[302, (answer) => {
    expect(String(answer.headers['set-cookie'])).toMatch(/^visits=;.*Expires=Thu, 01 Jan 1970/);
    expect(answer.headers.location).toBe('/visits');
  }]],
  'GET /visits/moved': [[301, body(/\/catalogue/, { location: '/catalogue' })]],
};

function setsVisits(count: number): Check {
  return (answer) => {
    expect(answer.body).toBe(`Visit number ${count}\n`);
    expect(String(answer.headers['set-cookie'])).toMatch(new RegExp(`^visits=${count}; Max-Age=86400; .*HttpOnly; SameSite=Lax`));
  };
}

describe('demo/server.mjs', () => {
  let server: ChildProgram;
  let page: string;
  let lines: Map<string, Line[]>;

  beforeAll(async () => {
    server = await serve('server.mjs');
    page = (await ask(server.port, '/', { headers: { host: `localhost:${server.port}` } })).body;
    lines = readPage(page);
  });

  it('is what npm start builds and runs', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
    expect(scripts).toMatchObject({ prestart: 'npm run build', start: 'node demo/server.mjs' });
  });

  it('has a start page that shows lines for every route it has', () => {
    expect([...lines.keys()]).toEqual(Object.keys(EXPECTED));
    for (const [route, shown] of lines) {
      expect({ route, statuses: shown.map(({ status }) => status) }).toEqual({ route, statuses: EXPECTED[route]?.map(([status]) => status) });
      for (const { text: line } of shown) expect(line).toContain(server.origin);
    }
  });

  it('marks on the page the routes that ask for a signature', () => {
    const marked = [...page.matchAll(/data-method="(\w+)" data-path="(.*?)" data-signed/g)].map(([, method, path]) => `${method} ${path}`);
    expect(marked).toEqual(Object.keys(EXPECTED).filter((route) => EXPECTED[route]?.some(([status]) => status === 401)));
  });

  it('marks on the page the routes with schemas and with events', () => {
    const marked = (mark: string): (string | undefined)[] => [...page.matchAll(/<h3 tabindex="-1">[^]*?<code>(.*?)<\/code>(.*?)<\/h3>/g)].filter(([, , marks]) => marks?.includes(`>${mark}<`)).map(([, path]) => path);
    expect({ schema: marked('schema'), events: marked('events') }).toEqual({ schema: ['/tides/live', '/tides/:harbour'], events: ['/tides/live'] });
  });

  it('registers on the page what its modules register, and nothing else', () => {
    const verbs = /^\w+\.(get|post|put|patch|delete)\(/gm;
    const registered = readdirSync(join(ROOT, 'demo')).filter((name) => name.endsWith('.mjs') && readFileSync(join(ROOT, 'demo', name), 'utf8').includes('export const examples'));
    const count = ['server.mjs', ...registered].reduce((sum, name) => sum + (readFileSync(join(ROOT, 'demo', name), 'utf8').match(verbs)?.length ?? 0), 0);
    expect(count).toBe(lines.size);
  });

  // All of them one after the other, twice on one server: the lines leave behind what they found.
  describe.each([['with nothing but Node', runInNode], ['in a shell, exactly as shown', runLine]])('its lines, %s', (_, run) => {
    it.each(Object.keys(EXPECTED))('%s', async (route) => {
      for (const [index, [status, check]] of (EXPECTED[route] ?? []).entries()) {
        const line = lines.get(route)?.[index]?.text ?? '';
        const answer = await run(line);
        expect({ line, status: answer.status }).toEqual({ line, status });
        check(answer);
      }
    });
  });

  it('shows a page that can be read by all: a language, a title, one main heading, headings in order, labelled sections', () => {
    expect(page).toMatch(/<html lang="en">/);
    expect(page).toMatch(/<title>[^<]+<\/title>/);
    expect(page.match(/<h1>/g)).toHaveLength(1);
    expect(page.match(/<main[ >]/g)).toHaveLength(1);
    const levels = [...page.matchAll(/<h(\d)/g)].map(([, level]) => Number(level));
    expect(levels.length).toBeGreaterThan(2);
    for (const [index, level] of levels.entries()) expect(level - (levels[index - 1] ?? 0)).toBeLessThanOrEqual(1);
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const named = [...page.matchAll(/(?:aria-labelledby="|href="#)([^"]+)"/g)].map(([, id]) => id);
    expect(named.length).toBeGreaterThan(2);
    expect(ids).toEqual(expect.arrayContaining(named));
  });

  it('escapes what it shows', () => {
    const shown = [...page.matchAll(/<code>([^]*?)<\/code>|<p>([^]*?)<\/p>/g)].map(([, code, paragraph]) => (code ?? paragraph ?? '').replace(/<(?:\/?(?:data|span)[^>]*|wbr)>/g, ''));
    expect(shown.length).toBeGreaterThan(lines.size);
    for (const content of shown) expect(content).toMatch(/^(?:[^&<>"']|&(?:amp|lt|gt|quot|#39);)*$/);
  });

  it('holds no script or style itself, and lets in none but those of its files', async () => {
    expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]* src=)/);
    const policy = String((await ask(server.port, '/')).headers['content-security-policy']).split('; ');
    expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]));
    expect(policy.join()).not.toContain('unsafe');
    const named = [...page.matchAll(/ (?:src|href)="(\/.*?)"/g)].map(([, path]) => path ?? '');
    expect(named.length).toBeGreaterThan(2);
    const types: Record<string, string> = { css: 'text/css', mjs: 'text/javascript', svg: 'image/svg+xml' };
    for (const path of named) {
      const { status, headers } = await ask(server.port, path);
      expect({ path, status, type: headers['content-type'] }).toEqual({ path, status: 200, type: expect.stringContaining(String(types[path.slice(path.lastIndexOf('.') + 1)])) });
    }
  });

  it('streams some megabytes with their length known ahead', async () => {
    const answer = await ask(server.port, '/numbers/stream');
    expect(answer.bytes.length).toBeGreaterThan(2_000_000);
    expect(answer.headers['content-length']).toBe(String(answer.bytes.length));
    expect(answer.headers['content-type']).toBe('application/json');
    const rows = answer.json as { square: string }[];
    expect(rows).toHaveLength(50_000);
    expect(rows[49_999]?.square).toBe('2499900001');
  });

  it.each([
    ['evil.example', 'http://evil.example/'],
    ['[::1]:3000', 'http://[::1]:3000/'],
  ])('writes the Host %s into its lines', async (host, origin) => {
    const { body: html } = await ask(server.port, '/', { headers: { host } });
    expect(readPage(html).get('GET /')?.[0]?.text).toBe(`curl -i '${origin}'`);
  });

  it.each(['x;rm', "h'$(id)", '<b>', 'a b', 'a&amp;', 'h:999999', '[x]'])('refuses, and does not repeat, the Host %j, which is none', async (host) => {
    const { status, body } = await ask(server.port, '/', { headers: { host } });
    expect([status, body.includes(host)]).toEqual([400, false]);
  });

  it('names localhost to a client that sends no Host', async () => {
    expect(unescape(await Wire.tell(server.port, 'GET / HTTP/1.0\r\n\r\n'))).toContain(`curl -i '${server.origin}/'`);
  });

  it('takes no map that it could not show: body.bigint reads integers that res.json refuses', async () => {
    const map = '{"id":"far","title":"Far","region":"east","sheets":[12345678901234567890]}';
    expect((await post(server.port, '/catalogue', map)).status).toBe(400);
    expect((await ask(server.port, '/catalogue')).status).toBe(200);
  });

  it('gives each response an id of its own', async () => {
    const ids = await Promise.all([1, 2].map(async () => (await ask(server.port, '/visits')).headers['x-request-id']));
    expect(new Set([...ids, undefined]).size).toBe(3);
  });

  it('says so when its port is taken, and ends with 1', async () => {
    const ending = await ChildProgram.run(['demo/server.mjs'], { PORT: String(server.port) });
    expect(ending).toMatchObject({ code: 1, errors: expect.stringContaining(`Port ${server.port} is taken`) });
  });

  it('drains and ends with 0 on SIGTERM', async () => {
    const program = await ChildProgram.serve('demo/server.mjs');
    const { code, signal } = await program.stop();
    // Windows has no signals: there the process is cut off.
    expect(process.platform === 'win32' ? signal : code).toBe(process.platform === 'win32' ? 'SIGTERM' : 0);
  });

  it('takes its secret from DEMO_SECRET where that is set', async () => {
    const other = await serve('server.mjs', { DEMO_SECRET: 'another secret, of more than thirty-two bytes' });
    const target = '/signed/report?year=2026';
    const wrong = signatureOf(await sign('mjs', 'GET', `${other.origin}${target}`));
    const right = signatureOf(await sign('mjs', 'GET', `${other.origin}${target}`, undefined, { DEMO_SECRET: 'another secret, of more than thirty-two bytes' }));
    expect((await ask(other.port, target, { headers: wrong })).status).toBe(401);
    expect((await ask(other.port, target, { headers: right })).status).toBe(200);
    // The page shows the one that everyone knows, and never another.
    expect(page).toContain(`data-secret="${SECRET}"`);
    expect((await ask(other.port, '/')).body).not.toMatch(/data-secret|another secret/);
  });
});

/** Prints with a signing script; with the one in JavaScript where the tools of another are missing. */
async function sign(script: string, method: string, url: string, signedBody?: string, environment: NodeJS.ProcessEnv = {}): Promise<string> {
  const args = [`demo/sign.${script}`, ...argsOf(method, url, signedBody)];
  const env = { ...ENVIRONMENT, ...environment };
  if (script === 'sh' && isInstalled('sh') && isInstalled('openssl')) return execFileSync('sh', args, { cwd: ROOT, env }).toString();
  if (script === 'py' && isInstalled('python3')) return execFileSync('python3', args, { cwd: ROOT, env }).toString();
  return (await ChildProgram.run(['demo/sign.mjs', ...args.slice(1)], environment)).output;
}

function signatureOf(printed: string): Record<string, string> {
  return Object.fromEntries(printed.trim().split(/\r?\n/).map((field) => field.split(': ') as [string, string]));
}

type Case = readonly [method: string, url: string, body: string | undefined, target: string];

/** What demo/sign.mjs prints for each case, by one process for all: it loads the library, which takes longer than all else. */
const printedByNode = new Map<string, Promise<string>>();

function argsOf(method: string, url: string, signedBody: string | undefined): string[] {
  return [method, url, ...(signedBody === undefined ? [] : [signedBody])];
}

function signInNode(cases: readonly Case[]): void {
  const all = JSON.stringify(cases.map(([method, url, signedBody]) => argsOf(method, url, signedBody)));
  const program = `
    const { pathToFileURL } = require('node:url');
    (async () => {
      for (const [index, args] of ${all}.entries()) {
        process.argv = [process.argv[0], 'demo/sign.mjs', ...args];
        await import(pathToFileURL('demo/sign.mjs').href + '?' + index);
        console.log();
      }
    })();`;
  const ended = ChildProgram.run(['-e', program]);
  for (const [index, [method, url, signedBody]] of cases.entries()) printedByNode.set(argsOf(method, url, signedBody).join(' '), ended.then(({ output, errors }) => output.split('\n\n')[index] ?? errors));
}

describe.each(['mjs', 'sh', 'py'])('demo/sign.%s', (script) => {
  const cases: Case[] = [
    ['GET', 'http://localhost:3000', undefined, '/'],
    ['GET', '/orders?a=b', undefined, '/orders?a=b'],
    ['get', 'http://localhost:3000/', undefined, '/'],
    ['GET', 'http://localhost:3000?q=/a', undefined, '/?q=/a'],
    ['GET', 'http://localhost:3000/a/b?c=d&e=f%20g', undefined, '/a/b?c=d&e=f%20g'],
    ['GET', 'https://example.com/a?next=http://b/c#top', undefined, '/a?next=http://b/c'],
    ['post', 'http://[::1]:3000/a', '{"a":1}', '/a'],
    ['POST', 'http://localhost/a', '{"a":"ü 100% \\n $HOME"}', '/a'],
    ['PUT', 'http://localhost/a', '-n \\c\n', '/a'],
  ];

  if (script === 'mjs') beforeAll(() => signInNode(cases));

  it.each(cases)('signs %s %s %j', async (method, url, signedBody, target) => {
    const printed = script === 'mjs' ? printedByNode.get(argsOf(method, url, signedBody).join(' ')) : undefined;
    const headers = signatureOf(await (printed ?? sign(script, method, url, signedBody)));
    const timestamp = headers['X-Timestamp'] ?? '';
    expect(timestamp).toMatch(/^\d{13}$/);
    expect(Math.abs(Date.now() - Number(timestamp))).toBeLessThan(60_000);
    const expected = createHmac('sha256', SECRET).update(`${method.toUpperCase()}${target}${signedBody ?? ''}${timestamp}`).digest('hex');
    expect(headers).toEqual({ 'Svc-Request-Sig': expected, 'X-Timestamp': timestamp });
  });
});

it('demo/sign.mjs says how it is used when an argument is missing, and ends with 2', async () => {
  expect(await ChildProgram.run(['demo/sign.mjs', 'GET'])).toMatchObject({ code: 2, output: '', errors: 'Usage: node demo/sign.mjs METHOD URL [BODY]\n' });
});

describe('the reader of lines', () => {
  it('reads words, quotes and pipes', () => {
    expect(words(`node a.mjs '{"b": |1}' | curl -i -H @- 'http://h/?a=b&c'`)).toEqual([['node', 'a.mjs', '{"b": |1}'], ['curl', '-i', '-H', '@-', 'http://h/?a=b&c']]);
  });

  it.each(['curl -i http://h/?a=b&c', 'curl "$URL"', 'curl a > b', 'curl a; b', "curl 'a'b", 'curl $(a)', 'curl `a`'])('refuses %s, which a shell reads otherwise', (line) => {
    expect(() => words(line)).toThrow('cannot read');
  });

  it('refuses an option that it does not know', async () => {
    await expect(runInNode("curl -i --compressed 'http://localhost:1/'")).rejects.toThrow('unknown argument of curl: --compressed');
  });
});

describe('the short programs', () => {
  it('orders.mjs takes what is signed and as its schemas ask, and describes itself', async () => {
    const { port } = await serve('orders.mjs');
    const url = `http://127.0.0.1:${port}/shops/north/orders`;
    const send = signedFetch({ secret: SECRET });
    const order = (body: object): Promise<Response> => send(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    const taken = await order({ item: 'rope', quantity: 2, more: 1 });
    expect([taken.status, taken.headers.get('location'), await taken.json()]).toEqual([201, '/shops/north/orders/1', { id: 1, shop: 'north', item: 'rope', quantity: 2 }]);
    const refused = await order({ item: '', quantity: '2' });
    expect([refused.status, refused.headers.get('content-type'), await refused.json()]).toEqual([400, 'application/problem+json', expect.objectContaining({ errors: [expect.objectContaining({ path: ['item'] }), expect.objectContaining({ path: ['quantity'] })] })]);
    expect(await (await send(`${url}?limit=1`)).json()).toHaveLength(1);
    expect((await send(`${url}/9`)).status).toBe(404);
    expect((await fetch(url)).status).toBe(401);
    const { json: document } = await ask(port, '/openapi.json');
    expect(Object.keys((document as { paths: object }).paths)).toEqual(['/shops/{shop}/orders', '/shops/{shop}/orders/{id}']);
    expect((await ask(port, '/')).status).toBe(200);
  });

  it('hello.mjs greets', async () => {
    const { port } = await serve('hello.mjs');
    expect((await ask(port, '/hello/ada')).json).toEqual({ hello: 'ada' });
    expect((await ask(port, '/hello')).status).toBe(404);
  });

  it('routers.mjs runs global, router and route middleware in this order, each where it belongs', async () => {
    const { port } = await serve('routers.mjs');
    const get = async (path: string, headers = {}): Promise<[number, unknown]> => {
      const answer = await ask(port, path, { headers });
      return [answer.status, answer.json];
    };
    expect(await get('/rooms')).toEqual([200, { rooms: ['hut', 'loft'], notes: ['everyone', 'rooms'] }]);
    expect(await get('/rooms/hut')).toEqual([200, { room: 'hut', notes: ['everyone', 'rooms', 'one room'] }]);
    expect(await get('/sites/north/rooms/hut')).toEqual([200, { room: 'hut', site: 'north', notes: ['everyone', 'rooms', 'one room'] }]);
    expect(await get('/keys')).toEqual([401, { error: 'No key' }]);
    expect(await get('/keys', { 'x-key': 'open' })).toEqual([200, { keys: 2, notes: ['everyone'] }]);
  });

  it('xjson.mjs sends what plain JSON cannot', async () => {
    const { port } = await serve('xjson.mjs');
    const plain = await ask(port, '/plain');
    expect([plain.status, plain.json]).toEqual([500, { error: 'Serialization failed', message: 'Unable to serialize response object' }]);
    expect((await ask(port, '/plain.xJson')).json).toEqual({ age: '18' });
    expect((await ask(port, '/extended')).json).toEqual({ age: '18', born: '1970-01-01T00:00:00.000Z', friends: ['1', '2'] });
    expect((await ask(port, '/circular')).json).toEqual({ name: 'root', self: '[Circular]' });
    expect((await ask(port, '/short/story')).json).toEqual({ story: 'Once upon…' });
    const large = await ask(port, '/large');
    expect(large.headers['content-length']).toBe(String(large.bytes.length));
    expect((large.json as unknown[])[99_999]).toEqual({ id: '99999', name: 'item 99999' });
  });

  it('numbers-client.mjs reads big integers, and sends them as bare numbers', async () => {
    const { origin } = await serve('server.mjs');
    const { code, output, errors } = await ChildProgram.run(['demo/numbers-client.mjs', origin]);
    expect(output.trim().split('\n')).toEqual([
      'read: 18446744073709551616',
      'sent: {"n":18446744073709551616,"small":7}',
      'got back: 200 {"received":{"n":"18446744073709551616","small":7},"type":"bigint"}',
    ]);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
  });

  it('signed-client.mjs is let in by signed-server.mjs, and only where it signs', async () => {
    const { origin, port } = await serve('signed-server.mjs');
    const { code, output } = await ChildProgram.run(['demo/signed-client.mjs', origin]);
    expect(output.trim().split('\n')).toEqual([
      'signed GET: 200 {"users":["ada","alan"],"page":"2"}',
      'signed POST: 201 {"created":{"name":"grace"}}',
      'unsigned GET: 401 {"error":"Missing signature header","message":"X-Signature header is required"}',
      'excluded GET: 200 {"up":true}',
    ]);
    expect(code).toBe(0);
    expect((await ask(port, '/api/status', { method: 'POST' })).status).toBe(401);
  });

  it('https.mjs serves with its demo certificate, which a client can check', async () => {
    const { origin } = await serve('https.mjs');
    const ca = readFileSync(join(ROOT, 'demo/tls/demo-only-cert.pem'));
    const sent = request(`${origin}/`, { ca, agent: false });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect(JSON.parse(await text(response))).toEqual({ secure: true, protocol: 'https' });
  });

  it('before.mjs and after.mjs pass the same requests', async () => {
    const [before, after] = await Promise.all([serve('before.mjs'), serve('after.mjs')]);
    const add = (given: string): Question => ({ method: 'POST', body: given, headers: { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(given)) } });
    const statuses: number[] = [];
    const requests: [string, Question][] = [
      ['/notes', {}],
      ['/notes', { method: 'HEAD' }],
      ['/notes', add('{"text":"Mind the bög"}')],
      ['/notes', {}],
      ['/notes?word=coat', {}],
      ['/notes?word=nothing', {}],
      ['/notes/2', {}],
      ['/notes/9', {}],
      ['/notes', add('{"note":1}')],
      ['/notes', add('null')],
      ['/notes', add(JSON.stringify({ text: 'x'.repeat(2000) }))],
      ['/notes/2', { method: 'DELETE' }],
      ['/notes/2', {}],
      ['/notes/2/3', {}],
      ['/elsewhere?a=b', { method: 'PUT' }],
    ];
    for (const [path, question] of requests) {
      const [old, now] = (await Promise.all([before, after].map(({ port }) => ask(port, path, question)))) as [Answer, Answer];
      const seen = ({ status, headers, body: content }: Answer) => [path, status, headers['content-type'], headers['content-length'], headers.connection, content];
      expect(seen(now)).toEqual(seen(old));
      statuses.push(now.status);
    }
    expect(statuses).toEqual([200, 200, 201, 200, 200, 200, 200, 404, 400, 400, 413, 204, 404, 404, 404]);
    // Each words its complaint in its own way.
    for (const { port } of [before, after]) {
      const malformed = await post(port, '/notes', '{"text":');
      expect([malformed.status, malformed.json]).toEqual([400, { error: 'Bad Request', message: expect.stringContaining('not valid JSON') }]);
    }
  });
});

it('names every program in demo/README.md', () => {
  const readme = readFileSync(join(ROOT, 'demo/README.md'), 'utf8');
  const programs = readdirSync(join(ROOT, 'demo')).filter((file) => /\.(mjs|sh|py)$/.test(file) && file !== 'secret.mjs');
  expect(programs).toContain('server.mjs');
  for (const name of programs) expect(readme).toContain(`\`${name}\``);
});
