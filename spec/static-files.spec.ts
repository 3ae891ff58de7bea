import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs, { mkdirSync, type ReadStream, type Stats, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import compression from 'compression';
import fc from 'fast-check';
import theirs from 'express';
import { createServer, express, static as staticFiles, type StaticOptions } from 'waypost';
import { Folder } from './support/folder';
import { openedFile } from './support/opened-file';
import { strongFileTag } from './support/file-tag';
import { Running } from './support/running';
import { runs } from './support/runs';
import { ask, head, Wire } from './support/wire';

const folder = new Folder({
  'index.html': '<p>home</p>', 'a.txt': 'small', 'empty.txt': '', 'large.bin': 'large '.repeat(40_000), 'page.html': '<p>page</p>', 'no-extension': 'plain', 'a b.txt': 'spaced', '\u65e5.txt': 'day',
  '.hidden': 'hidden', '.dots/a.txt': 'dots', 'docs/index.html': '<p>docs</p>', 'docs/a.txt': 'deep', 'bare/a.txt': 'bare', 'page/a.txt': 'beside a page', 'a%2Fb.txt': 'percent',
});
const running = new Running();
afterEach(async () => {
  jest.restoreAllMocks();
  await running.close();
});
afterAll(() => folder.close());

type Middleware = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;

function none(_req: IncomingMessage, res: ServerResponse): void {
  res.statusCode = 404;
  res.end('none');
}

/** What error middleware has of an error: its status, or that it is another. */
function fail(error: Error & { status?: number; code?: string }, _req: IncomingMessage, res: ServerResponse, _next: unknown): void {
  if (res.headersSent) {
    res.destroy();
    return;
  }
  res.statusCode = error.status ?? 500;
  const text = `error ${error.code ?? error.message}`;
  res.setHeader('Content-Length', text.length).end(text);
}

/** Who calls middleware, what none takes, and what errors come to. */
const HOSTS: Readonly<Record<string, (...middleware: Middleware[]) => RequestListener>> = {
  'express()': (...middleware) => express({ logging: { level: 'silent' } }).use(...(middleware as [never])).use(none as never).use(fail as never) as unknown as RequestListener,
  'createServer()': (...middleware) => createServer({ logging: { level: 'silent' } }).use(...(middleware as [never])).use(none as never).use(fail as never) as unknown as RequestListener,
  'Express': (...middleware) => theirs().use(...(middleware as [never])).use(none).use(fail as never),
  'node:http': (...middleware) => (req, res) => {
    const call = (at: number, error?: unknown): void => {
      if (error !== undefined) fail(error as Error, req, res, undefined);
      else (middleware[at] ?? none)(req, res, (raised) => call(at + 1, raised));
    };
    call(0);
  },
};

const serve = (options?: StaticOptions): Middleware => staticFiles(folder.path, options) as unknown as Middleware;

/** What middleware before it does with a response. */
const BEFORE: Readonly<Record<string, Middleware>> = {
  'nothing': (_req, _res, next) => next(),
  'takes a piped file over': (_req, res, next) => {
    res.once('pipe', (file: ReadStream) => {
      file.unpipe(res);
      file.pipe(new Transform({ transform: (chunk: Buffer, _encoding, done) => done(null, chunk.toString('latin1').toUpperCase()) })).pipe(res);
    });
    next();
  },
  'holds all back, adds to it, and tells another length': (_req, res, next) => {
    const { end } = res;
    const parts: Buffer[] = [];
    res.write = ((part: Buffer) => parts.push(part) > 0) as typeof res.write;
    res.end = ((part?: Buffer | string) => {
      const all = Buffer.concat([...parts, Buffer.from(part ?? ''), Buffer.from('<script></script>')]);
      if (!res.headersSent && res.statusCode === 200) res.setHeader('Content-Length', all.length);
      res.end = end;
      return end.call(res, res.statusCode === 200 ? all : Buffer.from(part ?? ''), 'utf8');
    }) as typeof res.end;
    next();
  },
  'sets a field as the response ends': (_req, res, next) => {
    const { end } = res;
    res.end = ((...given: never[]) => {
      if (!res.headersSent) res.setHeader('X-Late', '1');
      return Reflect.apply(end, res, given) as ServerResponse;
    }) as typeof res.end;
    next();
  },
  'sets a field with the head': (_req, res, next) => {
    const { writeHead } = res;
    res.writeHead = ((...given: never[]) => {
      res.setHeader('X-Head', '1');
      return Reflect.apply(writeHead, res, given) as ServerResponse;
    }) as typeof res.writeHead;
    next();
  },
  'compresses': compression({ threshold: 0 }) as unknown as Middleware,
  'has named a type, a status and a reason': (_req, res, next) => {
    res.statusCode = 201;
    res.statusMessage = 'Made';
    res.setHeader('Content-Type', 'text/made').setHeader('Cache-Control', 'no-store');
    next();
  },
};

interface Asked {
  readonly method: string;
  readonly target: string;
  readonly headers: Record<string, string>;
}

/** Answers to all, one behind another on one connection: what is framed wrongly shifts the next. */
async function answersOf(port: number, asked: readonly Asked[]): Promise<unknown[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const answers = [];
  for (const { target, ...question } of asked) {
    const { status, headers: { date: _, 'x-powered-by': __, ...headers }, body } = await ask(port, target, { agent, ...question });
    if (headers.etag !== undefined) headers.etag = strongFileTag(headers.etag);
    // Behind an error, Express's has the fields of the file on the response, which this takes back.
    const { 'content-range': range, 'content-length': length } = headers;
    answers.push({ asked: `${question.method} ${target} ${JSON.stringify(question.headers)}`, status, headers: body.startsWith('error') || status >= 400 ? { range, length } : headers, body });
  }
  agent.destroy();
  return answers;
}

const names = ['', 'a.txt', 'empty.txt', 'large.bin', 'page', 'page.html', 'no-extension', 'a%20b.txt', '%E6%97%A5.txt', '.hidden', '.dots/a.txt', 'docs', 'docs/', 'docs/a.txt', 'bare', 'bare/', 'none.txt', 'none', 'docs/none/', 'a.txt/',
  '%2e%2e/a', '../a.txt', 'docs/../a.txt', 'docs//a.txt', './a.txt', 'a%00b', '%zz', '%E0%A4%A', 'a%2Fb.txt', 'docs%2Fa.txt', 'docs%5Ca.txt', '%252e%252e', 'bare?x=1&y=/', 'docs?<b>"', 'a.txt?', 'index.html'];
const targets = fc.oneof(fc.constantFrom('/', '//', '/files/', 'http://localhost/', 'http://localhost/files/').chain((start) => fc.constantFrom(...names).map((name) => start + name)), fc.constantFrom('/files', '/files?a=1', '//docs', '///bare', '*'));
const conditions = fc.dictionary(
  // If-Range goes by RFC 9110 here: spec/precompressed.spec.ts.
  fc.constantFrom('Range', 'If-None-Match', 'If-Match', 'If-Modified-Since', 'If-Unmodified-Since', 'Cache-Control'),
  fc.constantFrom('bytes=0-1', 'bytes=2-', 'bytes=-2', 'bytes=9999999-', 'bytes=0-0,2-3', 'bytes=x', '*', 'W/"5-18bcfe56800"', '"other"', 'Tue, 14 Nov 2023 22:13:20 GMT', 'Tue, 14 Nov 2023 22:13:19 GMT', 'no-cache', 'never'),
  { maxKeys: 3 },
) as fc.Arbitrary<Record<string, string>>;
const questions: fc.Arbitrary<Asked> = fc.record({ method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD', 'POST', 'OPTIONS'), target: targets, headers: conditions });
const optional = <T>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const options = fc.record({
  acceptRanges: optional(true, false), cacheControl: optional(true, false), dotfiles: optional('allow' as const, 'deny' as const, 'ignore' as const), etag: optional(true, false),
  extensions: optional<false | string[]>(false, ['html'], ['txt', 'html']), fallthrough: optional(true, false), immutable: optional(true, false), index: optional<string | string[] | false>('index.html', false, ['none.html', 'a.txt']),
  lastModified: optional(true, false), maxAge: optional<number | string>(0, 5000, '1d'), redirect: optional(true, false),
  setHeaders: optional<NonNullable<StaticOptions['setHeaders']>>((res, path, stat) => void res.setHeader('X-File', `${encodeURI(path)} ${stat.size}`), (res) => void res.setHeader('Content-Type', 'text/made')),
}, { requiredKeys: [] });

describe.each(Object.keys(HOSTS))('static in %s', (name) => {
  const host = HOSTS[name] as (typeof HOSTS)[string];

  test('answers as Express\'s does, whatever it is told and asked', async () => {
    await fc.assert(fc.asyncProperty(options, fc.constantFrom(...Object.keys(BEFORE)), fc.array(questions, { minLength: 5, maxLength: 25 }), async (given, before, asked) => {
      const mounted = (serving: Middleware): Middleware => (req, res, next) => {
        // As where it is mounted at a path.
        const { url = '' } = req;
        if (!url.startsWith('/files')) return serving(req, res, next);
        Object.assign(req, { originalUrl: url, url: url.slice('/files'.length).replace(/^(?!\/)/, '/') });
        serving(req, res, (error) => {
          req.url = url;
          next(error);
        });
      };
      const first = BEFORE[before] as Middleware;
      const port = await running.serve(host(first, mounted(serve(given))));
      const oracle = await running.serve((HOSTS['Express'] as typeof host)(first, mounted(theirs.static(folder.path, given) as unknown as Middleware)));
      expect(await answersOf(port, asked)).toEqual(await answersOf(oracle, asked));
      await running.close();
    }), { numRuns: runs(80) });
  });

  test.each(['http://[', 'http://[::1', 'http://', 'http://:x', 'http://localhost', 'http:///', 'x://', '/\\a.txt', '/#', '/a.txt#b', '//['])('answers %s, and the process goes on', async (target) => {
    const port = await running.serve(host(serve()));
    const wire = await Wire.open(port);
    wire.write(head(`GET ${target}`, { Connection: 'close' }));
    await wire.end;
    expect(wire.text).toMatch(/^HTTP\/1\.1 (?:200|301|400|404) /);
    expect((await ask(port, '/a.txt')).body).toBe('small');
  });

  test.each<[string, number, (path: string) => void, number]>([
    ['shrinks', 1000, (path) => truncateSync(path, 400), 0],
    ['is emptied', 1000, (path) => truncateSync(path, 0), 0],
    ['grows', 1000, (path) => writeFileSync(path, 'y'.repeat(2000)), 1000],
    ['is filled', 0, (path) => writeFileSync(path, 'y'), 0],
    ['shrinks while it is sent', 200_000, (path) => truncateSync(path, 70_000), 0],
  ])('frames a file that %s between two looks at it', async (_, size, change, whole) => {
    const path = join(folder.path, 'changing.txt');
    writeFileSync(path, 'x'.repeat(size));
    const { stat } = fs;
    jest.spyOn(fs, 'stat').mockImplementation(((file: string, done: (error: Error | null, found: Stats) => void) => stat(file, (error, found) => {
      if (file === path) change(path);
      done(error, found);
    })) as unknown as typeof stat);
    const port = await running.serve(host(serve()));
    const wire = await Wire.open(port);
    wire.write(head('GET /changing.txt') + head('GET /a.txt', { Connection: 'close' }));
    await wire.end;
    const [first = '', ...more] = wire.text.split(/(?=HTTP\/1\.1 )/);
    const length = Number(/content-length: (\d+)/i.exec(first)?.[1]);
    const body = first.slice(first.indexOf('\r\n\r\n') + 4);
    // Cut off, or an answer of the length that it tells, and another behind it.
    if (more.length > 0) expect([body.length, more.join('').endsWith('small')]).toEqual([length, true]);
    else if (first !== '') expect(body.length).toBeLessThan(length);
    if (whole > 0) expect(body).toHaveLength(whole);
  });

  test.each<[string, NonNullable<StaticOptions['setHeaders']>, string]>([
    ['answers', (res) => {
      res.writeHead(302, { Location: '/elsewhere', 'Content-Length': 0 });
      res.end();
    }, '302'],
    ['sends the head', (res) => void res.flushHeaders(), 'cut'],
    ['begins a body', (res) => void res.write('begun'), 'cut'],
    ['throws', () => { throw new Error('thrown'); }, '500 thrown'],
    ['throws what is no error', () => { throw undefined; }, '500 undefined was thrown, which is no Error'],
    ['sets what Node refuses', (res) => void res.setHeader('X-Name', '\u65e5'), '500 ERR_INVALID_CHAR'],
    ['sets a status that is none', (res) => void (res.statusCode = 99), '500 ERR_HTTP_INVALID_STATUS_CODE'],
    ['sets a trailer', (res) => void res.setHeader('Trailer', 'X'), '200'],
  ])('a setHeaders that %s ends in an answer, or an error of the request', async (_, setHeaders, wanted) => {
    const port = await running.serve(host(serve({ setHeaders })));
    for (const target of ['/a.txt', '/large.bin', '/empty.txt']) {
      for (const question of [{}, { method: 'HEAD' }, { headers: { 'If-None-Match': '*' } }]) {
        const answer = await ask(port, target, question).then(({ status, body }) => (status >= 500 && body !== '' ? `${status} ${body.slice('error '.length)}` : String(status)), () => 'cut');
        // To HEAD a head that went out is a whole answer.
        if (wanted === 'cut') expect(['cut', '200']).toContain(answer);
        else if (wanted === '200') expect(answer).toBe('headers' in question ? '304' : '200');
        else expect([target, answer]).toEqual([target, 'method' in question ? wanted.slice(0, 3) : wanted]);
      }
    }
    expect((await ask(port, '/none.txt')).body).toBe('none');
  });

  test('a setHeaders that rejects is an error of the request', async () => {
    const port = await running.serve(host(serve({ setHeaders: () => Promise.reject(new Error('rejected')) })));
    for (const target of ['/a.txt', '/large.bin']) {
      const answer = await ask(port, target).then(({ body }) => body, () => 'cut');
      expect(['error rejected', 'cut']).toContain(answer);
    }
    expect((await ask(port, '/none.txt')).body).toBe('none');
  });

  test('leaves a pipe to the next handler: to open one holds a thread until somebody writes', async () => {
    const pipe = join(folder.path, 'pipe.txt');
    if (!fs.existsSync(pipe)) execFileSync('mkfifo', [pipe]);
    const port = await running.serve(host(serve()));
    for (let i = 0; i < 5; i++) expect((await ask(port, '/pipe.txt')).body).toBe('none');
    expect((await ask(port, '/a.txt')).body).toBe('small');
  });

  test('serves what links lead to, as Express does', async () => {
    const link = join(folder.path, 'link.txt');
    const outside = new Folder({ 'outside.txt': 'outside' });
    symlinkSync(join(outside.path, 'outside.txt'), link);
    const port = await running.serve(host(serve()));
    const { body } = await ask(port, '/link.txt');
    fs.unlinkSync(link);
    outside.close();
    expect(body).toBe('outside');
  });

  test('closes the file of a response that waits behind another, when their connection closes', async () => {
    const opened = openedFile();
    const port = await running.serve(host((req, _res, next) => void (req.url === '/never' || next()), serve()));
    const wire = await Wire.open(port);
    wire.write(head('GET /never') + head('GET /large.bin'));
    const stream = await opened;
    const closed = once(stream, 'close');
    wire.reset();
    await closed;
    expect(stream.destroyed).toBe(true);
  });
});

test.each<[unknown, StaticOptions | undefined, RegExp]>([
  [undefined, undefined, /root path required, got undefined: write static\('public'\)/],
  ['', undefined, /root path required, got ''/],
  [42, undefined, /root path must be a string, got 42/],
  ['.', { setHeaders: 3 as never }, /setHeaders must be a function, got 3/],
])('static(%p, %p) throws a TypeError that says why', (root, given, message) => {
  expect(() => staticFiles(root as string, given)).toThrow(message);
});

test('what the next handler throws is the program\'s own, where no framework has caught it', async () => {
  mkdirSync(join(folder.path, 'thrown'), { recursive: true });
  const raised = new Promise<unknown>((resolve) => {
    const tick = process.nextTick;
    jest.spyOn(process, 'nextTick').mockImplementation(((call: () => void, ...given: unknown[]) => tick(() => {
      try {
        Reflect.apply(call, undefined, given);
      } catch (error) {
        resolve(error);
      }
    })) as typeof process.nextTick);
  });
  const port = await running.serve((req, res) => serve()(req, res, () => {
    res.end();
    throw new Error('the next handler\'s');
  }));
  await ask(port, '/none.txt');
  expect(await raised).toMatchObject({ message: 'the next handler\'s' });
});
