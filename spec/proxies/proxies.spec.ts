import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type CreateServerOptions, createServer, type Handler, signRequest } from 'waypost';
import { read } from '../support/document';
import { ProxyProcess, type ProxyProgram } from '../support/proxy-process';
import { Running } from '../support/running';
import { PROXIES, STRIPPING } from './proxies';

const SECRET = 'correct horse battery staple 0123456789';
const JSON_TEXT = '{"n":"ü\\u00fc", "m": [1, 2]}\n';

interface Kind {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

const type = { 'Content-Type': 'application/json' };
const gzip = { ...type, 'Content-Encoding': 'gzip' };
const chunked = { 'Transfer-Encoding': 'chunked' };

const TARGETS = ['/plain', '/a%2Fb', '/a%2fb', '/a//b', '//a/b', '/a?x=%2f&y=a+b', '/a?', '/a%7Eb', '/a|b', '/a[1]', "/a'b?q='x'", '/a/../b', '/a;x=1/b', '/%C3%A4', '/a%20b', '/a%5Eb'];

function sending(method: string, headers: Record<string, string>, body: Buffer = Buffer.from(JSON_TEXT)): Kind {
  return { method, target: '/bodies', headers, body };
}

/** The kinds of requests by their names on the page. */
const KINDS: Readonly<Record<string, Kind>> = {
  ...Object.fromEntries(TARGETS.map((target) => [target, { method: 'GET', target, headers: {} }])),
  'POST with a length': sending('POST', type),
  'POST in chunks': sending('POST', { ...type, ...chunked }),
  'POST of gzip': sending('POST', gzip, gzipSync(JSON_TEXT)),
  'POST of gzip in chunks': sending('POST', { ...gzip, ...chunked }, gzipSync(JSON_TEXT)),
  'POST with Expect': sending('POST', { ...type, Expect: '100-continue' }),
  'POST with a charset': sending('POST', { 'Content-Type': 'application/json;charset=UTF-8' }),
  'POST of nothing': sending('POST', {}, Buffer.alloc(0)),
  'GET with a body': sending('GET', type),
  'DELETE with a body': sending('DELETE', type),
  QUERY: sending('QUERY', type),
  HEAD: { method: 'HEAD', target: '/plain', headers: {} },
};

const running = new Running();
let proxy: ProxyProcess | undefined;

afterEach(async () => {
  await proxy?.close();
  proxy = undefined;
  await running.close();
});

/** Both versions behind one port: a request says by its headers which one has signed it. */
async function serve(prefix?: string): Promise<number> {
  const [one, two] = ([1, 2] as const).map((version) => {
    const options: CreateServerOptions = {
      env: 'test', logging: { level: 'silent' }, server: { trustProxy: 'loopback' },
      security: { requestSignature: { secret: SECRET, version, prefix, ...(version === 2 && { covers: ['@authority'] }) } },
    };
    const app = createServer(options);
    const handler: Handler = (_req, res) => res.sendStatus(200);
    app.use(handler);
    return app;
  });
  return running.listen(createHttpServer((req, res) => (req.headers['signature-input'] === undefined ? one : two)?.(req, res)));
}

/** Sends the bytes as they are, and returns the final status. */
async function statusOf(port: number, version: 1 | 2, prefix: string, name: string, { method, target, headers, body = Buffer.alloc(0) }: Kind): Promise<number> {
  const Host = `127.0.0.1:${port}`;
  const url = prefix + target;
  const signed = signRequest({ secret: SECRET, version, method, url, body, ...(version === 2 && { headers: { ...headers, Host }, covers: ['@authority'] }) });
  const isChunked = headers['Transfer-Encoding'] !== undefined;
  const length = method === 'POST' || body.length > 0 ? { 'Content-Length': String(body.length) } : {};
  const fields = { Host, ...headers, ...signed, ...(isChunked ? {} : length), Connection: 'close' };
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`${method} ${url} HTTP/1.1\r\n${Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  if (!isChunked) socket.write(body);
  else for (const part of [body.subarray(0, 5), body.subarray(5), Buffer.alloc(0)]) socket.write(Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]));
  let answer = '';
  for await (const text of socket.setEncoding('latin1')) {
    answer += String(text);
    const [, status] = /^(?:HTTP\/1\.[01] 100 [^]*?\r\n\r\n)*HTTP\/1\.[01] ((?!100)\d{3}) /.exec(answer) ?? [];
    // Some keep the connection, whatever the client says.
    if (status !== undefined) return Number(status);
  }
  throw new Error(`${name} was not answered: ${answer}`);
}

/** Statuses other than 200, by version and kind. */
async function failures(program: ProxyProgram, prefix = ''): Promise<string[]> {
  proxy = await ProxyProcess.start(program);
  const failed: string[] = [];
  for (const version of [1, 2] as const) {
    for (const [name, kind] of Object.entries(KINDS)) {
      const status = await statusOf(proxy.port, version, prefix, name, kind);
      if (status !== 200) failed.push(`${version} ${name}: ${status}`);
    }
  }
  return failed;
}

/** What the page says of each proxy: the kinds that fail, with the status behind them, or 401. */
const NAMED = new Map(/<!-- table: proxies -->\n(?:\|.*\n){2}((?:\|.*\n)+)/.exec(read('docs/proxies.md'))?.[1]?.trim().split('\n').map((row) => {
  const [, proxyName = '', , fails = ''] = row.split(/(?<!\\)\|/);
  const named = fails.split(';').flatMap((part) => {
    const status = / (\d{3})\b/.exec(part.replaceAll(/`[^`]*`/g, ''))?.[1] ?? '401';
    return [...part.split(/: /)[0]!.matchAll(/`([^`]+)`/g)].map(([, kind = '']) => `${kind.replaceAll('\\|', '|')}: ${status}`);
  });
  return [/\[([^\]]+)\]/.exec(proxyName)?.[1] ?? '', named];
}));

function expectedOf(name: string): string[] {
  return [1, 2].flatMap((version) => (NAMED.get(name) ?? []).map((kind) => `${version} ${kind}`)).sort();
}

test('the page names every proxy', () => {
  expect([...NAMED.keys()]).toEqual(Object.keys(PROXIES));
  expect(Object.keys(KINDS)).toHaveLength(27);
});

test.each(Object.entries(PROXIES))('signatures come through %s as the page sets it, but for what the page names', async (name, program) => {
  expect((await failures(program(await serve()))).sort()).toEqual(expectedOf(name));
});

test.each(Object.entries(STRIPPING))('with prefix, what a client has signed comes through %s that takes it off, as without', async (name, program) => {
  expect((await failures(program(await serve('/api')), '/api')).sort()).toEqual(expectedOf(name));
});
