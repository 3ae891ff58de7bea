import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { type Application, createServer, type CreateServerOptions, HttpError, XJsonResponseHandler } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { runs } from './support/runs';
import { ask, Wire } from './support/wire';

/** What a handler or middleware may leave on a response. */
type Leave = (res: ServerResponse & Record<string, unknown>, req: IncomingMessage) => unknown;

function raise(value: unknown): never {
  throw value;
}

/** As the package on-headers has it. */
function onHeaders(res: ServerResponse, listener: () => void): void {
  const writeHead = res.writeHead as (...args: unknown[]) => ServerResponse;
  res.writeHead = function (this: ServerResponse, ...args: unknown[]) {
    listener();
    return writeHead.apply(this, args);
  } as never;
}

const fields: readonly (readonly [string, string | number | string[]])[] = [
  ['Trailer', 'X-Sum'], ['TRAILER', ['X-A', 'X-B']], ['Transfer-Encoding', 'chunked'], ['transfer-encoding', 'gzip, chunked'], ['Transfer-Encoding', 'identity'],
  ['Content-Length', 1], ['CONTENT-LENGTH', '99999'], ['Content-Length', ['3', '4']], ['Content-Length', 'many'], ['Content-Encoding', 'gzip'], ['Content-Type', 'image/png'],
  ['Content-Range', 'bytes 0-1/2'], ['ETag', '"x"'], ['Last-Modified', new Date(0).toUTCString()], ['Content-Digest', 'sha-256=:x:'], ['Cache-Control', 'max-age=9'],
  ['Connection', 'close'], ['Connection', 'keep-alive'], ['Connection', 'Upgrade'], ['Connection', 'Trailer, close'], ['Upgrade', 'websocket'], ['Keep-Alive', 'timeout=1'], ['Expect', '100-continue'],
  ['Date', 'never'], ['Content-Disposition', 'attachment; filename="é"'], ['Set-Cookie', ['a=b', 'c=d']], ['Set-Cookie', []], ['__proto__', 'x'],
];

/** Leaves of which the answer is right, and the connection goes on or is closed as it was said. */
const STATES: Record<string, Leave> = {
  ...Object.fromEntries(fields.map(([name, value]) => [`${name}: ${String(value)}`, (res: ServerResponse) => void res.setHeader(name, value)])),
  ...Object.fromEntries([99, 1000, 204, 205, 304, 101, 200, NaN, 'x', undefined].map((status) => [`status ${String(status)}`, (res) => void (res.statusCode = status as number)] as [string, Leave])),
  ...Object.fromEntries(['bad\nreason', 'grün', '\u{1f600}', {}].map((reason) => [`reason ${String(reason)}`, (res) => void (res.statusMessage = reason as string)] as [string, Leave])),
  'no date': (res) => void (res.sendDate = false),
  'fields removed': (res) => ['Connection', 'Content-Length', 'Transfer-Encoding', 'Date'].forEach((name) => res.removeHeader(name)),
  'trailers added': (res) => res.addTrailers({ 'X-Sum': '1' }),
  corked: (res) => res.cork(),
  'locals frozen': (res) => Object.freeze(res['locals'] ?? {}),
  'a listener of heads': (res) => onHeaders(res, () => void res.setHeader('X-Head', '1')),
  'an end that comes later': (res) => {
    const end = res.end.bind(res) as (...args: unknown[]) => unknown;
    res.end = ((...args: unknown[]) => void setImmediate(() => end(...args))) as never;
  },
  'listeners of all events': (res) => ['close', 'finish', 'prefinish', 'error', 'drain'].forEach((event) => res.on(event, () => undefined)),
};

/** What is refused by itself, and may not be when something else was left before. */
const REFUSED: Record<string, Leave> = {
  'a head of 204 that was refused': (res) => {
    res.setHeader('Trailer', 'X-Sum');
    expect(() => res.writeHead(204)).toThrow('Trailers are invalid');
  },
  'a head of 304 that was refused, and another status': (res) => {
    res.setHeader('Trailer', 'X-Sum');
    expect(() => res.writeHead(304)).toThrow('Trailers are invalid');
    res.statusCode = 200;
  },
};

/** Leaves of which no answer can be right: the connection is cut off. */
const CUTS: Record<string, Leave> = {
  'a body begun': (res) => res.write('begun'),
  'a head flushed': (res) => res.flushHeaders(),
  'a head written': (res) => res.writeHead(200, { 'Content-Length': 5 }),
  destroyed: (res) => res.destroy(),
  'heard by a listener of heads that throws': (res) => onHeaders(res, () => raise(new Error('no head'))),
};

/** Requests that waypost itself answers, and how. */
const KINDS: Record<string, readonly [status: number, line: string, body?: string, headers?: string]> = {
  'an unknown path': [404, 'GET /none'],
  'an unknown path, asked by HEAD': [404, 'HEAD /none'],
  'another method': [405, 'PUT /throw'],
  OPTIONS: [204, 'OPTIONS /throw'],
  'a malformed path': [400, 'GET /path/%zz'],
  'a malformed body': [400, 'POST /body', '{"a":', 'Content-Type: application/json\r\n'],
  'a body of an unknown encoding': [415, 'POST /body', 'xxxx', 'Content-Type: application/json\r\nContent-Encoding: odd\r\n'],
  'a body that is too large': [413, 'POST /body', JSON.stringify('x'.repeat(2000)), 'Content-Type: application/json\r\n'],
  'a throw': [500, 'GET /throw'],
  'a throw, asked by HEAD': [500, 'HEAD /throw'],
  'a rejection': [500, 'GET /reject'],
  'an error with fields': [429, 'GET /fields'],
  'data for json': [500, 'GET /json'],
  'data for xJson': [500, 'GET /xjson'],
  'data for an XJsonResponseHandler': [500, 'GET /alone'],
  'a missing file': [404, 'GET /file'],
  'a signature that is missing': [401, 'GET /signed'],
  'an etag that throws': [500, 'GET /sent'],
};

/** What is not answered where the head is out: whoever wrote it may be about to end. */
const UNTAKEN = new Set([404, 405, 204]);
/** Methods that `sendFile` and `send` call before there is an answer of waypost's own: where those fail, it is for that. */
const ASKS = /^an etag|^a missing file/;

const running = new Running();
const log = new LogRecorder();
let leave: Leave = () => undefined;
let inner = 0;
let outer = 0;

function routes(app: Application): Application {
  const sends = new XJsonResponseHandler();
  app.get('/path/:id', (_req, res) => res.end());
  app.post('/body', (_req, res) => res.end());
  app.get('/throw', () => raise(new Error('inner detail')));
  app.get('/reject', async () => raise(new Error('inner detail')));
  app.get('/fields', () => raise(Object.assign(new HttpError(429, 'SLOW', 'slow'), { headers: { 'Retry-After': '5', Trailer: 'X-Sum', 'bad name': '1' } })));
  app.get('/json', (_req, res) => void Object.getPrototypeOf(res).json.call(res, 1n));
  app.get('/xjson', (_req, res) => void Object.getPrototypeOf(res).xJson.call(res, { get it() { return raise(new Error('inner detail')); } }));
  app.get('/alone', (_req, res) => sends.send(res, { get it() { return raise(new Error('inner detail')); } }));
  app.get('/file', (_req, res) => res.sendFile(join(__dirname, 'no-such-file')));
  app.get('/sent', (_req, res) => {
    ServerResponse.prototype.removeHeader.call(res, 'ETag');
    Object.getPrototypeOf(res).send.call(res, 'text');
  });
  app.get('/next', (_req, res) => void ServerResponse.prototype.end.call(res, 'the next answer', 'utf8'));
  app.set('etag', () => raise(new Error('no etag')));
  return app;
}

const OPTIONS: CreateServerOptions = {
  env: 'test', logging: { logger: log }, routing: { methodNotAllowed: true }, body: { limit: 1000 },
  security: { requestSignature: { secret: 'x'.repeat(32) }, routeConfig: { requestSignature: { includeRoutes: ['/signed'] } } },
};

beforeAll(async () => {
  // An XJsonResponseHandler that stands alone reports by a warning.
  jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const within = createServer(OPTIONS);
  within.use((req, res, next) => {
    if (req.url !== '/next') leave(res as never, req);
    next();
  });
  inner = await running.start(routes(within));
  const app = routes(createServer(OPTIONS));
  // The signature check comes before middleware, so what it meets is left by who called the application.
  outer = await running.listen(createHttpServer((req, res) => {
    if (req.url !== '/next') leave(res as never, req);
    app(req, res);
  }));
});

afterAll(() => {
  jest.restoreAllMocks();
  return running.close();
});

/** One response off a connection: its status, its fields, its body; null where it is not whole. */
function parse(text: string, isHead: boolean): { status: number; head: string; body: string; rest: string } | null {
  const parts = /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n([\s\S]*)$/.exec(text);
  if (parts === null) return null;
  const [, code, head = '', body = ''] = parts;
  const status = Number(code);
  const length = isHead || status === 204 ? 0 : Number(/^content-length: (\d+)\r$/im.exec(head)?.[1]);
  return body.length >= length ? { status, head, body: body.slice(0, length), rest: body.slice(length) } : null;
}

async function exchange(port: number, kind: string): Promise<void> {
  const [status, line, body = '', headers = ''] = KINDS[kind] as (typeof KINDS)[string];
  const isHead = line.startsWith('HEAD');
  const wire = await Wire.open(port);
  wire.write(`${line} HTTP/1.1\r\nHost: a\r\n${headers}${body === '' ? '' : `Content-Length: ${body.length}\r\n`}\r\n${body}`);
  await wire.until(/\r\n\r\n/);
  if (!isHead && status !== 204) await wire.until(/\r\n\r\n[\s\S]*\}$/);
  const answer = parse(wire.text, isHead);
  const { head, body: text, ...got } = answer ?? { head: '', body: '' };
  const { error, message } = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
  // All at once, since this is asked thousands of times.
  expect({
    ...got,
    unfit: head.match(/^(?:trailer|transfer-encoding|content-encoding|content-range|content-digest|etag|cache-control(?!: no-store\r?$)):/gim),
    lengths: head.match(/^content-length:/gim)?.length ?? 0,
    body: text === '' ? [] : [typeof error, typeof message],
  }).toEqual({
    status: ASKS.test(kind) && answer?.status === 500 ? 500 : status,
    rest: '',
    unfit: null,
    lengths: status === 204 ? 0 : 1,
    body: text === '' ? [] : ['string', 'string'],
  });
  const before = wire.text.length;
  wire.write('GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await wire.end;
  const next = wire.text.slice(before);
  if (/^connection: (?:close|trailer, close)/im.test(head)) expect(next).toBe('');
  else expect(next).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*the next answer/);
}

const kindOf = fc.constantFrom(...Object.keys(KINDS));

describe('an answer of waypost\'s own is right', () => {
  test.each(Object.entries({ ...STATES, ...REFUSED }))('whatever was left: %s', async (state, leaves) => {
    leave = leaves;
    for (const kind of Object.keys(KINDS)) {
      for (const port of KINDS[kind]?.[0] === 401 ? [outer] : [inner, outer]) {
        try {
          await exchange(port, kind);
        } catch (error) {
          throw new Error(`${kind}, with ${state} left ${port === inner ? 'by middleware' : 'by who called the application'}: ${String(error)}`, { cause: error });
        }
      }
    }
  });

  test('whatever was left, in any order', async () => {
    const states = fc.array(fc.constantFrom(...Object.keys(STATES)), { minLength: 2, maxLength: 4 });

    await fc.assert(fc.asyncProperty(kindOf, states, fc.boolean(), async (kind, names, isInner) => {
      leave = (res, req) => {
        for (const name of names) {
          try {
            (STATES[name] as Leave)(res, req);
          } catch {
            // One replaced what the next would call.
          }
        }
      };
      await exchange(isInner && kind !== 'a signature that is missing' ? inner : outer, kind);
    }), { numRuns: runs(40) });
  });
});

describe('where no answer can be right, the connection is cut off', () => {
  test.each(Object.keys(CUTS))('%s', async (state) => {
    leave = CUTS[state] as Leave;
    for (const kind of Object.keys(KINDS)) {
      const isUntaken = UNTAKEN.has((KINDS[kind] as (typeof KINDS)[string])[0]) && kind !== 'a missing file';
      if (isUntaken && state !== 'destroyed' && !state.includes('listener')) continue;
      const [, line, body = '', headers = ''] = KINDS[kind] as (typeof KINDS)[string];
      for (const port of KINDS[kind]?.[0] === 401 ? [outer] : [inner, outer]) {
        const text = await Wire.tell(port, `${line} HTTP/1.1\r\nHost: a\r\n${headers}${body === '' ? '' : `Content-Length: ${body.length}\r\n`}\r\n${body}`);
        const answer = parse(text, line.startsWith('HEAD'));
        expect([state, kind, /"error"|0\r\n\r\n$/.test(answer?.body ?? '')]).toEqual([state, kind, false]);
      }
    }
  });
});

test.each([1, 100_000])('a file of %d bytes is sent though trailers were announced', async (size) => {
  const directory = await mkdtemp(join(tmpdir(), 'waypost-'));
  try {
    await writeFile(join(directory, 'file'), 'x'.repeat(size));
    const port = await running.app((app) => {
      app.use((_req, res, next) => {
        res.setHeader('Trailer', 'X-Sum');
        next();
      });
      app.get('/', (_req, res) => res.sendFile('file', { root: directory }));
    });
    expect(await ask(port, '/')).toMatchObject({ status: 200, body: 'x'.repeat(size) });
  } finally {
    await rm(directory, { recursive: true });
  }
});
