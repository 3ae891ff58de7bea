import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { signRequest } from 'waypost';
import { ENVIRONMENT, ROOT } from './support/child-program';
import { Wire } from './support/wire';

/*
 * What is loaded late is read from the disk, and a process without a free descriptor reads nothing. A client decides
 * that alone, by its connections: such a request may fail, and must not end the process.
 */

const SECRET = '0123456789abcdef0123456789abcdef';

/** Registers what a request can come to; `/fill` takes, when all connections are accepted, every descriptor, `/free` gives them back. */
const PROGRAM = `
const { closeSync, openSync } = require('node:fs');
const { Readable } = require('node:stream');
const waypost = require('./dist/index.js');
const [kind] = process.argv.slice(1);
const logging = { level: 'error' };
const guarded = { logging, security: {
  requestSignature: { secret: '${SECRET}', version: kind === 'version 2' ? 2 : 1 },
  routeConfig: { requestSignature: { includeRoutes: ['/signed'] } },
  webhooks: [{ path: '/hook', preset: 'github', secret: '${SECRET}' }],
} };
const app = kind === 'express' ? waypost.express({ logging }) : waypost.createServer(guarded);
const held = [];
const fill = () => { for (;;) { try { held.push(openSync('/dev/null')); } catch { return; } } };
const cycle = {};
cycle.cycle = cycle;
let connections = 0;
app.get('/fill/:connections', function wait(req, res) {
  if (connections < Number(req.params.connections)) return void setImmediate(wait, req, res);
  fill();
  res.end('filled');
});
app.get('/free', (req, res) => { held.splice(0).forEach(closeSync); res.end('freed'); });
app.get('/throw', () => { throw new Error('no'); });
app.get('/reject', async () => { throw new Error('no'); });
app.get('/twice', (req, res) => { res.end('a'); res.json({}); });
app.get('/late', (req, res) => { res.end('a'); res.write('b'); });
app.get('/send', (req, res) => res.send('text'));
app.get('/x-json', (req, res) => res.xJson({ a: 1n }));
app.get('/x-json-fails', (req, res) => res.xJson({ get a() { throw new Error('no'); } }));
app.get('/json-fails', (req, res) => res.json(cycle));
app.get('/large', (req, res) => res.xJson(Array.from({ length: 20_000 }, (_, i) => ({ i }))));
app.get('/redirect', (req, res) => res.redirect('/send'));
app.get('/cookie', (req, res) => res.cookie('a', 'b').end());
app.get('/file', (req, res) => res.sendFile('package.json', { root: process.cwd() }));
app.get('/events', (req, res) => res.events((async function* () { yield 'a'; })()));
app.get('/stream', (req, res) => res.stream(Readable.from(['a'])));
app.get('/format', (req, res) => res.format({ json: () => res.json({}) }));
app.get('/signal', (req, res) => res.json(req.signal.aborted));
app.get('/request', (req, res) => res.json([req.ip, req.hostname, req.query]));
app.get('/response', () => new Response('a'));
app.get('/responses', async () => new Response('a'));
if (kind === 'express') app.use(waypost.json(), waypost.urlencoded());
app.post(['/body', '/signed', '/hook'], (req, res) => res.json(req.body));
app.use('/static', waypost.static('docs'));
app.on('upgrade', (req, socket) => socket.end('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\n\\r\\n'));
const server = app.listen(0, () => console.log(server.address().port)).on('connection', () => connections++);
`;

/** A request of these fields. */
function request(line: string, fields: Readonly<Record<string, string>> = {}, body = ''): string {
  const all = { Host: 'localhost', ...(body === '' ? {} : { 'Content-Length': String(body.length), 'Content-Type': 'application/json' }), ...fields };
  return `${line} HTTP/1.1\r\n${Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

/** Requests, and the status of each where there are descriptors. */
const REQUESTS: Readonly<Record<string, readonly [status: number, text: string]>> = {
  ...Object.fromEntries(['/send', '/x-json', '/large', '/file', '/events', '/stream', '/format', '/signal', '/request', '/response', '/responses', '/static/faq.md', '/cookie', '/twice', '/late'].map((path) => [path, [200, request(`GET ${path}`)]])),
  ...Object.fromEntries(['/throw', '/reject', '/x-json-fails', '/json-fails'].map((path) => [path, [500, request(`GET ${path}`)]])),
  '/redirect': [302, request('GET /redirect')],
  'no route': [404, request('GET /none')],
  'a malformed path': [404, request('GET /static/%zz')],
  'a malformed Host': [400, request('GET /send', { Host: 'a/b' })],
  'a malformed head': [400, 'no head\r\n\r\n'],
  'an upgrade': [101, request('GET /send', { Connection: 'Upgrade', Upgrade: 'websocket' })],
  'a body': [200, request('POST /body', {}, '{"a":1}')],
  'a body of no JSON': [400, request('POST /body', {}, '{"a":1]')],
  'a form': [200, request('POST /body', { 'Content-Type': 'application/x-www-form-urlencoded' }, 'a=1')],
  'a body of an unusual charset': [200, request('POST /body', { 'Content-Type': 'application/json; charset="utf-8"' }, '{}')],
  'a body that is no gzip': [400, request('POST /body', { 'Content-Encoding': 'gzip' }, '{"a":1}')],
  'a body that is asked for': [100, request('POST /body', { Expect: '100-continue' }, '{"a":1}')],
};

const hashed = (version: 1 | 2): string => request('POST /signed', { ...signRequest({ version, secret: SECRET, method: 'POST', url: '/signed', body: '{}', ...(version === 2 && { headers: { 'Content-Type': 'application/json' } }) } as Parameters<typeof signRequest>[0]) }, '{}');

const GUARDED = (version: 1 | 2): typeof REQUESTS => ({
  'no signature': [401, request('POST /signed', {}, '{}')],
  'a signature': [200, hashed(version)],
  'a webhook without one': [401, request('POST /hook', {}, '{}')],
  'a webhook of another': [401, request('POST /hook', { 'X-Hub-Signature-256': `sha256=${'a'.repeat(64)}` }, '{}')],
});

const WORLDS: Readonly<Record<string, readonly [env: string, requests: typeof REQUESTS]>> = {
  createServer: ['production', { ...REQUESTS, ...GUARDED(1) }],
  'createServer, hints': ['development', { ...REQUESTS, ...GUARDED(1) }],
  'version 2': ['production', GUARDED(2)],
  express: ['production', REQUESTS],
};

let child: ChildProcess | undefined;
afterEach(() => child?.kill('SIGKILL'));

test.each(Object.entries(WORLDS))('%s: without a descriptor each request is answered or fails alone, and the server serves when there are some again', async (kind, [env, requests]) => {
  child = spawn('sh', ['-c', 'ulimit -n 128; exec "$@"', 'sh', process.execPath, '-e', PROGRAM, kind], { cwd: ROOT, env: { ...ENVIRONMENT, NODE_ENV: env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
  const died = once(child, 'exit').then(() => { throw new Error(`the process has ended: ${said}`); });
  const lines = createInterface(child.stdout as NodeJS.ReadableStream);
  const [line] = (await Promise.race([once(lines, 'line'), died])) as [string];
  const port = Number(line);
  const open = async (): Promise<Wire[]> => Promise.all(Object.keys(requests).map(() => Wire.open(port)));
  const statusOf = async (wire: Wire, text: string): Promise<number> => {
    wire.write(text);
    await Promise.race([wire.until(/^HTTP\/1\.1 \d{3}/), died]);
    return Number(wire.text.slice(9, 12));
  };
  const [keeper, poor, rich] = [await Wire.open(port), await open(), await open()];
  expect(await statusOf(keeper, request(`GET /fill/${1 + poor.length + rich.length}`))).toBe(200);
  for (const [index, [status, text]] of Object.values(requests).entries()) {
    const given = await statusOf(poor[index] as Wire, text);
    expect([status, 400, 500, 503]).toContain(given);
  }
  keeper.write(request('GET /free'));
  await Promise.race([keeper.until('freed'), died]);
  const statuses: Record<string, number> = {};
  for (const [index, [name, [, text]]] of Object.entries(requests).entries()) statuses[name] = await statusOf(rich[index] as Wire, text);
  // Node 20 does not look again for a package that it could not read.
  const lost = process.versions.node.startsWith('20.') ? 503 : undefined;
  expect(statuses).toEqual(Object.fromEntries(Object.entries(requests).map(([name, [status]]) => [name, statuses[name] === lost ? lost : status])));
  // Standard error takes what pino, which no line had loaded before, does not.
  if (kind === 'express') expect(said).toContain('The response failed');
});
