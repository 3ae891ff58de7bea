import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { Agent } from 'undici';
import type { Application } from 'waypost';
import { makeCertificate } from '../support/certificate';
import { launchChromium } from '../support/chromium';
import { inPage } from '../support/console-browser';
import { askOn } from '../support/http2-client';
import { ProxyProcess } from '../support/proxy-process';
import { Running } from '../support/running';

const BY_CURL = ['curl --http2 by ALPN', 'curl --http2-prior-knowledge'] as const;
const BY_GRPC = 'nginx by grpc_pass';
const TOO_LARGE = 'a body that is too large';
/** Longest that a client may take, in milliseconds. */
const LIMIT = 60_000;
/** Fields of one hop, and those that proxies write themselves. */
const OF_HOPS = new Set(['alt-svc', 'connection', 'date', 'keep-alive', 'server', 'transfer-encoding', 'via', 'x-accel-buffering', 'x-version']);
const ROWS = Array.from({ length: 12_500 }, (_, id) => ({ id: BigInt(id) * 10n ** 20n, name: 'a row of the table, ä', at: new Date(0) }));
const JSON_TYPE = { 'content-type': 'application/json' };

interface Question {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

/** What a client was told, and over which versions: its own, and the one that the program saw. */
interface Seen {
  readonly version: string;
  readonly served: string | undefined;
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;
  /** The body, or of a long one its length and digest. */
  readonly body: string;
}

type Client = (origin: string, question: Question) => Promise<Seen>;

const QUESTIONS: Readonly<Record<string, Question>> = {
  'JSON': { path: '/json?q=%20a&q=b' },
  'a JSON that is sent': { method: 'POST', path: '/echo', headers: JSON_TYPE, body: Buffer.from('{"a":[1,"ä"]}') },
  'a HEAD': { method: 'HEAD', path: '/json' },
  'a file': { path: '/file' },
  'a range of a file': { path: '/file', headers: { range: 'bytes=15-24' } },
  'a range beyond a file': { path: '/file', headers: { range: 'bytes=900000-' } },
  'xJson of 1 MB': { path: '/rows' },
  'events': { path: '/events' },
  'no content': { path: '/empty' },
  'a cookie': { path: '/cookie', headers: { cookie: 'a=1; b=2' } },
  'a redirect': { path: '/redirect' },
  'what is not there': { path: '/nowhere' },
  'an error': { path: '/error' },
  'a body that inflates too far': { method: 'POST', path: '/echo', headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: gzipSync(JSON.stringify('x'.repeat(200_000))) },
  [TOO_LARGE]: { method: 'POST', path: '/echo', headers: JSON_TYPE, body: Buffer.from(JSON.stringify('x'.repeat(200_000))) },
  'an upload of 10 MB': { method: 'PUT', path: '/upload', headers: { 'content-type': 'application/octet-stream' }, body: Buffer.alloc(10_000_000, 'upload ') },
};

const running = new Running();
const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
const tls = makeCertificate();
const certificate = join(folder, 'cert.pem');
const proxies: ProxyProcess[] = [];
const known = new Map<Question, Seen>();
let cleartext: string;
let secure: string;

beforeAll(async () => {
  writeFileSync(join(folder, 'digits.txt'), '0123456789'.repeat(20_000));
  writeFileSync(certificate, tls.cert);
  writeFileSync(join(folder, 'key.pem'), tls.key);
  cleartext = `http://localhost:${await running.app(program, { env: 'production', body: { limit: 100_000 }, server: { http2: 'cleartext' } })}`;
  secure = `https://localhost:${await running.app(program, { env: 'production', body: { limit: 100_000 }, server: { http2: true, https: tls } })}`;
});

afterAll(async () => {
  for (const proxy of proxies) await proxy.close();
  await running.close();
  rmSync(folder, { recursive: true });
});

function program(app: Application): void {
  app.use((req, res, next) => {
    res.set('X-Version', req.httpVersion);
    next();
  });
  app.get('/', (_req, res) => res.send('<!doctype html><title>Clients</title>'));
  app.get('/json', (req, res) => res.json({ method: req.method, target: req.originalUrl, query: req.query }));
  app.post('/echo', (req, res) => res.status(201).json(req.body));
  app.get('/file', (_req, res) => res.sendFile(join(folder, 'digits.txt')));
  app.get('/rows', (_req, res) => res.xJson(ROWS));
  app.get('/events', (_req, res) => res.events((async function* () {
    for (let id = 1; id <= 3; id++) yield await Promise.resolve({ id: String(id), data: { text: 'a\nb' } });
  })()));
  app.get('/ticks', (req, res) => {
    const last = Number(req.get('Last-Event-ID') ?? 0);
    if (last >= 6) return void res.status(204).end();
    res.events((async function* () {
      for (let id = last + 1; id <= last + 3; id++) yield await Promise.resolve({ id: String(id), event: 'tick', data: id });
    })(), { retry: 1 });
  });
  app.get('/empty', (_req, res) => void res.status(204).end());
  app.get('/cookie', (req, res) => res.cookie('c', '3').cookie('d', '4').json(req.get('Cookie')));
  app.get('/redirect', (_req, res) => res.redirect('/json'));
  app.get('/error', () => {
    throw new Error('of the inside');
  });
  app.put('/upload', async (req, res) => {
    const bytes = await buffer(req);
    res.json([bytes.length, createHash('sha256').update(bytes).digest('hex')]);
  });
  app.post('/grpc', async (req, res) => {
    const bytes = await buffer(req);
    res.set('Content-Type', 'application/grpc');
    res.write(bytes);
    res.addTrailers({ 'grpc-status': '0', 'grpc-message': String(bytes.length) });
    res.end();
  });
}

function seen(version: string, status: number, given: readonly (readonly [string, string])[], body: Buffer): Seen {
  const fields: Record<string, string> = {};
  for (const [name, value] of given) fields[name] = name in fields ? `${fields[name]}, ${value}` : value;
  return {
    version,
    served: fields['x-version'],
    status,
    fields: Object.fromEntries(Object.entries(fields).filter(([name]) => !OF_HOPS.has(name)).sort()),
    body: body.length > 2000 ? `${body.length} ${createHash('sha256').update(body).digest('hex')}` : body.toString(),
  };
}

async function run(command: string, args: readonly string[]): Promise<Buffer> {
  const { stdout } = await promisify(execFile)(command, args, { encoding: 'buffer', maxBuffer: 2 ** 26, timeout: LIMIT });
  return stdout;
}

/** Path of a file with the body of a question. */
function bodyFile({ body }: Question): string {
  const path = join(folder, 'body');
  writeFileSync(path, body ?? '');
  return path;
}

function fieldLines(lines: readonly string[]): [string, string][] {
  return lines.map((line) => {
    const colon = line.indexOf(':', 1);
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
}

function curl(...options: readonly string[]): Client {
  return async (origin, question) => {
    const { method = 'GET', path, headers = {}, body } = question;
    const told = await run('curl', [
      '-s', '-S', '-i', '--cacert', certificate, ...options, ...(method === 'HEAD' ? ['-I'] : ['-X', method]), '-H', 'Expect:',
      ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]), ...(body === undefined ? [] : method === 'PUT' ? ['-T', bodyFile(question)] : ['--data-binary', `@${bodyFile(question)}`]), `${origin}${path}`,
    ]);
    const end = told.indexOf('\r\n\r\n');
    const [first = '', ...lines] = told.subarray(0, end).toString('latin1').split('\r\n');
    const [, version = '', status] = /^HTTP\/(\S+) (\d+)/.exec(first) ?? [];
    return seen(version, Number(status), fieldLines(lines), told.subarray(end + 4));
  };
}

/** Asks twice: nghttp writes the body alone, or all that it hears with the frames between. */
async function nghttp(origin: string, question: Question): Promise<Seen> {
  const { method = 'GET', path, headers = {}, body } = question;
  const args = [...Object.entries({ ':method': method, ...headers }).flatMap(([name, value]) => ['-H', `${name}: ${value}`]), ...(body === undefined ? [] : ['-d', bodyFile(question)]), `${origin}${path}`];
  const heard = (await run('nghttp', ['-nv', ...args])).toString('latin1');
  const lines = fieldLines([...heard.matchAll(/recv \(stream_id=\d+\) (.*)/g)].map(([, line = '']) => line));
  const status = Number(lines.find(([name]) => name === ':status')?.[1]);
  return seen('2', status, lines.filter(([name]) => name !== ':status'), await run('nghttp', args));
}

/** What curl is told over HTTP/1.1, asked once. */
async function overHttp1(question: Question): Promise<Seen> {
  const expected = known.get(question) ?? await curl('--http1.1')(secure, question);
  known.set(question, expected);
  expect(expected).toMatchObject({ version: '1.1', served: '1.1' });
  return expected;
}

async function nodeHttp2(origin: string, { path, ...question }: Question): Promise<Seen> {
  const session = await open(origin);
  try {
    const { status, headers, bytes } = await askOn(session, path, question);
    const fields = Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((each) => [name, each] as const));
    return seen('2', status, fields, bytes);
  } finally {
    session.destroy();
  }
}

/** undici by HTTP/2. It tells no version: without `allowH2` the program would see HTTP/1.1. */
async function undici(origin: string, { method = 'GET', path, headers = {}, body }: Question): Promise<Seen> {
  const agent = new Agent({ allowH2: true, connect: { ca: tls.cert } });
  try {
    const answer = await agent.request({ origin, path, method: method as 'GET', headers, ...(body !== undefined && { body }) });
    const fields = Object.entries(answer.headers).flatMap(([name, value]) => [value ?? []].flat().map((each) => [name, each] as const));
    return seen('2', answer.statusCode, fields.filter(([name]) => !name.startsWith(':')), Buffer.from(await answer.body.arrayBuffer()));
  } finally {
    await agent.destroy();
  }
}

async function open(origin: string): Promise<ClientHttp2Session> {
  const session = connect(origin, { ca: tls.cert });
  await once(session, 'connect');
  return session;
}

/** Starts nginx, which speaks HTTP/2 over TLS to its clients. */
async function nginx(pass: string): Promise<string> {
  const proxy = await ProxyProcess.start({
    command: 'nginx',
    args: (home) => ['-p', home, '-e', 'error.log', '-c', 'configuration'],
    // Debian 12 has 1.22; since 1.25.1 it is `http2 on`, and this is still taken.
    configuration: (home, port) => `
      daemon off; worker_processes 1; pid nginx.pid; events {}
      http {
        access_log off; client_max_body_size 0;
        ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${home}/${name};`).join(' ')}
        server {
          listen 127.0.0.1:${port} ssl http2;
          ssl_certificate ${certificate}; ssl_certificate_key ${join(folder, 'key.pem')};
          location / { ${pass} }
        }
      }\n`,
  });
  proxies.push(proxy);
  return `https://localhost:${proxy.port}`;
}

/** Starts Caddy, which speaks HTTP/2 without TLS to the program. */
async function caddy(): Promise<string> {
  const proxy = await ProxyProcess.start({
    command: 'caddy',
    args: (home) => ['run', '--adapter', 'caddyfile', '--config', join(home, 'configuration')],
    configuration: (home, port) => `{
      admin off
      auto_https off
      storage file_system ${home}
    }
    https://localhost:${port} {
      bind 127.0.0.1
      tls ${certificate} ${join(folder, 'key.pem')}
      reverse_proxy h2c://${new URL(cleartext).host}
    }\n`,
  });
  proxies.push(proxy);
  return `https://localhost:${proxy.port}`;
}

const viaNginx = (version: '1.1' | '2'): string => (version === '1.1' ? `proxy_pass ${cleartext}; proxy_http_version 1.1; proxy_set_header Connection "";` : `grpc_pass grpc://${new URL(cleartext).host};`);

/** Each with the version that the program sees, and the origin that it asks. */
const CLIENTS: Readonly<Record<string, readonly [Client, served: '1.1' | '2.0', target: () => Promise<string> | string]>> = {
  [BY_CURL[0]]: [curl('--http2'), '2.0', () => secure],
  [BY_CURL[1]]: [curl('--http2-prior-knowledge'), '2.0', () => cleartext],
  'nghttp over TLS': [nghttp, '2.0', () => secure],
  'nghttp without TLS': [nghttp, '2.0', () => cleartext],
  'node:http2 over TLS': [nodeHttp2, '2.0', () => secure],
  'node:http2 without TLS': [nodeHttp2, '2.0', () => cleartext],
  'undici with allowH2': [undici, '2.0', () => secure],
  'nginx of HTTP/2 before HTTP/1.1': [curl('--http2'), '1.1', () => nginx(viaNginx('1.1'))],
  [BY_GRPC]: [curl('--http2'), '2.0', () => nginx(viaNginx('2'))],
  'Caddy by h2c': [nodeHttp2, '2.0', caddy],
};

/** Questions that a client has a defect with, whatever the server is. */
const UNFIT: Readonly<Record<string, readonly string[]>> = {
  // It says that the content has 0 bytes.
  [BY_GRPC]: ['a HEAD'],
  // curl 7.88 loses an answer that comes before it has sent all, if a reset follows; so it does with nginx and Caddy.
  ...Object.fromEntries(BY_CURL.map((name) => [name, [TOO_LARGE]])),
};

describe.each(Object.entries(CLIENTS))('%s', (name, [client, served, target]) => {
  let origin: string;

  beforeAll(async () => {
    origin = await target();
  });

  test.each(Object.entries(QUESTIONS).filter(([what]) => !UNFIT[name]?.includes(what)))('is told of %s what HTTP/1.1 is told', async (_what, question) => {
    expect(await client(origin, question)).toEqual({ ...await overHttp1(question), version: '2', served });
  });
});

test('curl is told the same over HTTP/1.1 on both ports', async () => {
  for (const question of Object.values(QUESTIONS)) expect(await curl('--http1.1')(cleartext, question)).toEqual(await overHttp1(question));
});

test.each([['with TLS', () => secure], ['without TLS', () => cleartext]])('h2load %s has all of 2000 requests answered, 100 at once on each of 4 connections', async (_how, origin) => {
  for (const path of ['/json', '/file']) {
    const told = (await run('h2load', ['-n', '2000', '-c', '4', '-m', '100', `${origin()}${path}`])).toString();
    expect(told).toMatch(/Application protocol: h2c?\n/);
    expect(told).toContain('requests: 2000 total, 2000 started, 2000 done, 2000 succeeded, 0 failed, 0 errored, 0 timeout');
    expect(told).toContain('status codes: 2000 2xx, 0 3xx, 0 4xx, 0 5xx');
  }
});

test.each([['without a proxy', () => cleartext], ['through grpc_pass of nginx', () => nginx(viaNginx('2'))]])('an answer of gRPC comes whole %s, with its trailers', async (_how, target) => {
  const session = await open(await target());
  // A message of gRPC: not compressed, its length, its bytes.
  const message = Buffer.concat([Buffer.from('000000000b', 'hex'), Buffer.from('hello world')]);
  const stream = session.request({ ':method': 'POST', ':path': '/grpc', 'content-type': 'application/grpc', te: 'trailers' });
  const trailers = once(stream, 'trailers') as Promise<[IncomingHttpHeaders]>;
  const answered = once(stream, 'response') as Promise<[IncomingHttpHeaders & { ':status'?: number }]>;
  stream.end(message);
  const [[{ ':status': status, 'content-type': type }], bytes, [{ 'grpc-status': code, 'grpc-message': said }]] = await Promise.all([answered, buffer(stream), trailers]);
  expect([status, type, bytes.toString('hex'), code, said]).toEqual([200, 'application/grpc', message.toString('hex'), '0', '16']);
  session.destroy();
});

describe('Chromium', () => {
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    browser = await launchChromium();
    page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
    await page.goto(`${secure}/`);
  });

  afterAll(() => browser.close());

  test('speaks HTTP/2', async () => {
    expect(await inPage(page, "return performance.getEntriesByType('navigation')[0].nextHopProtocol")).toBe('h2');
  });

  // A page sees of a redirect what it leads to alone, and sets no cookies of its own.
  test.each(Object.entries(QUESTIONS).filter(([, { path }]) => path !== '/redirect' && path !== '/cookie'))('is told of %s what HTTP/1.1 is told', async (_what, question) => {
    const { body, ...asked } = question;
    const { version, status, fields, bytes } = await inPage<{ version: string; status: number; fields: [string, string][]; bytes: string }>(page, `
      const body = given.body === undefined ? undefined : Uint8Array.from(atob(given.body), (character) => character.charCodeAt(0));
      performance.clearResourceTimings();
      const answer = await fetch(given.path, { method: given.method, headers: given.headers, body, cache: 'no-store' });
      const reader = new FileReader();
      const read = new Promise((resolve) => reader.addEventListener('load', resolve));
      reader.readAsDataURL(await answer.blob());
      await read;
      while (performance.getEntriesByType('resource').length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
      const [{ nextHopProtocol: version }] = performance.getEntriesByType('resource');
      return { version, status: answer.status, fields: [...answer.headers], bytes: reader.result.split(',')[1] ?? '' };`, { ...asked, body: body?.toString('base64') });
    expect(seen(version, status, fields, Buffer.from(bytes, 'base64'))).toEqual({ ...await overHttp1(question), version: 'h2', served: '2.0' });
  });

  test('has an EventSource connect again, say the id of its last event, and stop at 204', async () => {
    const got = await inPage(page, `
      const source = new EventSource('/ticks');
      const got = [];
      source.addEventListener('tick', ({ data, lastEventId }) => got.push([lastEventId, JSON.parse(data)]));
      await new Promise((resolve) => source.addEventListener('error', () => source.readyState === EventSource.CLOSED && resolve()));
      return got;`);
    expect(got).toEqual([1, 2, 3, 4, 5, 6].map((id) => [String(id), id]));
  });
});
