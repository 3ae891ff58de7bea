import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import compression from 'compression';
import theirs, { type RequestHandler } from 'express';
import { createServer, type ErrorHandler, express, static as staticFiles } from 'waypost';
import { Running } from './support/running';
import { ask } from './support/wire';

/** What middleware may leave on a response that tells how its body is framed, as who copies the fields of another server. */
const FRAMING: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'a trailer': { Trailer: 'Server-Timing' },
  chunks: { 'Transfer-Encoding': 'chunked' },
  'a trailer and chunks': { Trailer: 'Server-Timing', 'Transfer-Encoding': 'chunked' },
  'an encoding that is none': { 'Transfer-Encoding': 'identity' },
};

/** Heads that Node refuses, or that a listener of heads does. */
const REFUSED: Readonly<Record<string, (res: ServerResponse) => void>> = {
  'a status that is none': (res) => void (res.statusCode = 99),
  'a reason of two lines': (res) => void (res.statusMessage = 'bad\nreason'),
};

const running = new Running();
let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waypost-framing-'));
  await mkdir(join(directory, 'folder'));
  await Promise.all([writeFile(join(directory, 'small.txt'), 'small'), writeFile(join(directory, 'empty.txt'), ''), writeFile(join(directory, 'large.txt'), 'large '.repeat(30_000))]);
});
afterEach(() => running.close());
afterAll(() => rm(directory, { recursive: true }));

const kinds = { express: () => express({ logging: { level: 'silent' } }), createServer: () => createServer({ logging: { level: 'silent' } }) as unknown as ReturnType<typeof express> };

async function serve(make: keyof typeof kinds, leave: (res: ServerResponse) => void, compresses = false): Promise<number> {
  const app = kinds[make]();
  app.use((_req, res, next) => {
    leave(res);
    next();
  });
  if (compresses) app.use(compression({ threshold: 0 }) as never);
  app.get('/redirect', (_req, res) => res.redirect('/elsewhere'));
  app.get('/sent/:name', (req, res) => void res.sendFile(String(req.params['name']), { root: directory }));
  app.get('/saved', (_req, res) => res.download(join(directory, 'small.txt')));
  app.use('/told', staticFiles(directory, { setHeaders: leave }));
  app.use(staticFiles(directory));
  return running.serve(app as never);
}

const targets: readonly (readonly [target: string, question?: { method?: string; headers?: Record<string, string> }])[] = [
  ...['/small.txt', '/empty.txt', '/large.txt', '/sent/small.txt', '/sent/empty.txt', '/sent/large.txt', '/told/small.txt', '/redirect', '/folder', '/saved'].flatMap((target) => [[target], [target, { method: 'HEAD' }]] as const),
  ['/small.txt', { headers: { Range: 'bytes=1-2' } }], ['/sent/large.txt', { headers: { Range: 'bytes=1-2' } }], ['/small.txt', { headers: { Range: 'bytes=9-' } }],
  ['/small.txt', { headers: { 'If-None-Match': '*' } }], ['/sent/small.txt', { headers: { 'If-None-Match': '*' } }],
  ['/none.txt'], ['/sent/none.txt'], ['/redirect', { method: 'OPTIONS' }],
];

/** All answers, one behind another on one connection: what is framed wrongly shifts the next. */
async function answersOf(port: number, headers: Record<string, string> = {}): Promise<unknown[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const answers: unknown[] = [];
  for (const [target, question] of targets) {
    const { status, headers: { 'content-length': length, location, 'content-encoding': encoding, trailer }, bytes } = await ask(port, target, { agent, ...question, headers: { ...headers, ...question?.headers } });
    answers.push([question?.method ?? 'GET', target, status, location, encoding, length, trailer, bytes.toString('latin1')]);
  }
  agent.destroy();
  return answers;
}

describe.each(Object.keys(kinds) as (keyof typeof kinds)[])('%s', (kind) => {
  test.each(Object.entries(FRAMING))('files, redirects and what the framework answers are framed by their length where middleware has left %s', async (_name, fields) => {
    const wanted = await answersOf(await serve(kind, () => undefined));
    expect(await answersOf(await serve(kind, (res) => Object.entries(fields).forEach((field) => res.setHeader(...field))))).toEqual(wanted);
  });

  test('compressed, such a file comes whole', async () => {
    const port = await serve(kind, (res) => res.setHeader('Transfer-Encoding', 'chunked'), true);
    const plain = await serve(kind, () => undefined, true);
    expect(await answersOf(port, { 'accept-encoding': 'gzip' })).toEqual(await answersOf(plain, { 'accept-encoding': 'gzip' }));
  });

  test.each(Object.entries(REFUSED))('a file that goes with %s is an error of the request', async (_name, leave) => {
    const port = await serve(kind, leave);
    for (const [target, question] of targets) {
      const { status } = await ask(port, target, question);
      // Ranges, redirects and what is missing have a status of their own.
      if (target.endsWith('.txt') && !target.includes('none') && question?.headers?.['Range'] === undefined) expect([target, status]).toEqual([target, 500]);
    }
    expect((await ask(port, '/none.txt')).status).toBe(404);
  });

  test('what setHeaders throws is an error of the request, and nothing of the file goes with the answer', async () => {
    const app = kinds[kind]();
    app.use(staticFiles(directory, { setHeaders: (res, path) => void res.setHeader('Content-Disposition', `inline; filename="${basename(path)}\u65e5"`) }));
    app.use(((error, _req, res, _next) => {
      res.statusCode = 500;
      res.end((error as NodeJS.ErrnoException).code);
    }) as ErrorHandler);
    const port = await running.serve(app as never);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (const target of ['/small.txt', '/large.txt', '/empty.txt', '/small.txt']) {
      expect([target, (await ask(port, target, { agent })).body]).toEqual([target, 'ERR_INVALID_CHAR']);
      expect((await ask(port, target, { agent, method: 'HEAD' })).status).toBe(500);
      expect((await ask(port, target, { agent, headers: { 'If-None-Match': '*' } })).body).toBe('ERR_INVALID_CHAR');
    }
    agent.destroy();
  });

  test('a directory behind an answer that is out already is no redirect, and the process goes on', async () => {
    const app = kinds[kind]();
    app.use((_req, res, next) => {
      res.status(401).json({});
      next();
    });
    app.use(staticFiles(directory));
    const port = await running.serve(app as never);
    expect((await ask(port, '/folder')).status).toBe(401);
    expect((await ask(port, '/small.txt')).status).toBe(401);
  });
});

test.each(['Express', 'node:http'])('static serves responses that are none of waypost\'s: of %s', async (whose) => {
  const serveFile = staticFiles(directory) as unknown as RequestHandler;
  const none = (_req: IncomingMessage, res: ServerResponse): void => {
    res.statusCode = 404;
    res.end();
  };
  const listener: RequestListener = whose === 'Express' ? theirs().use(serveFile).use(none) : (req, res) => void serveFile(req as never, res as never, () => none(req, res));
  const port = await running.serve(listener);
  const answers = [];
  for (const [target, method] of [['/small.txt', 'GET'], ['/large.txt', 'GET'], ['/small.txt', 'HEAD'], ['/folder', 'GET'], ['/none.txt', 'GET']] as const) answers.push((await ask(port, target, { method })).status);
  expect(answers).toEqual([200, 200, 200, 301, 404]);
});
