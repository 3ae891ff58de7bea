import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { Agent, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import compression from 'compression';
import { createServer, express, static as staticFiles } from 'waypost';
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
  'a listener of heads that throws': (res) => void (res.writeHead = () => { throw new Error('no head'); }),
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

  test.each(Object.entries(REFUSED))('a file that goes with %s is an error, and the process goes on', async (_name, leave) => {
    const port = await serve(kind, leave);
    // Of a piped file that what is put in the place of methods refuses, the response is cut off.
    const outcomes = new Set<unknown>([500, 'ECONNRESET']);
    for (const [target, question] of targets) {
      const outcome = await ask(port, target, question).then(({ status }) => status, (error: NodeJS.ErrnoException) => error.code);
      // Ranges, redirects and what is missing have a status of their own.
      if (target.endsWith('.txt') && !target.includes('none') && question?.headers?.['Range'] === undefined) expect([target, outcomes.has(outcome) ? 'refused' : outcome]).toEqual([target, 'refused']);
    }
    expect((await ask(port, '/none.txt')).status).toBe(404);
  });
});
