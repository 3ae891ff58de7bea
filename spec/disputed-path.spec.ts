import type { RequestListener } from 'node:http';
import expressOwn, { Router as ExpressRouter } from 'express';
import fc from 'fast-check';
import serveStatic from 'serve-static';
import { createServer, express, type Handler, Router, static as staticFiles } from 'waypost';
import { isDisputed } from '../lib/target/target';
import { Folder } from './support/folder';
import { Running } from './support/running';
import { runs } from './support/runs';
import { ask, head, Wire } from './support/wire';

const SECRET = 'the secret';
const running = new Running();
const folder = new Folder({ 'priv/one': SECRET, 'open/one': 'open' });
const root = folder.path;

afterAll(() => folder.close());
afterEach(() => running.close());

type Use = (...given: unknown[]) => unknown;
type Program = { use: Use; get: Use };

const sends = (text: string) => (_req: unknown, res: { end(text: string): unknown }): void => void res.end(text);

function routed<T extends Program>(program: T): T {
  program.get('/priv/one', sends(SECRET));
  program.get('/open/one', sends('open'));
  return program;
}

const QUIET = { env: 'production', logging: { level: 'silent' } } as const;
const HOSTS: Readonly<Record<string, () => Program>> = {
  'express()': () => express(QUIET) as unknown as Program, 'createServer()': () => createServer(QUIET) as unknown as Program, 'Express': () => expressOwn() as unknown as Program,
};
/** What stands behind the guard. */
const PIECES: Readonly<Record<string, () => unknown>> = {
  'serve-static': () => serveStatic(root), 'an application of Express': () => routed(expressOwn() as unknown as Program), 'a router of Express': () => routed(ExpressRouter() as unknown as Program),
  'static': () => staticFiles(root), 'an application': () => routed(express(QUIET) as unknown as Program), 'an exact application': () => routed(createServer(QUIET) as unknown as Program), 'a router': () => routed(Router() as unknown as Program),
};
const PAIRS = Object.keys(HOSTS).flatMap((host) => Object.keys(PIECES).map((piece) => [host, piece] as const));

/** What of Express does the same: for `static`, which takes `//priv/one` and `/x/../priv/one` for the file as serve-static does. */
function likeOf(piece: string): string {
  return piece.endsWith('static') ? 'serve-static' : 'an application of Express';
}

/** A guard, and behind it what reads the path by itself. */
function guarded(host: string, piece: string, first?: Handler): RequestListener {
  const app = (HOSTS[host] as () => Program)();
  if (first !== undefined) app.use(first);
  app.use('/priv', (_req: unknown, res: { statusCode: number; end(text: string): unknown }) => {
    res.statusCode = 401;
    res.end('guarded');
  });
  app.use((PIECES[piece] as () => unknown)());
  return app as unknown as RequestListener;
}

async function told(port: number, target: string): Promise<readonly [status: number, body: string]> {
  const text = await Wire.tell(port, head(`GET ${target}`, { Connection: 'close' }));
  return [Number(text.slice(9, 12)), text.slice(text.indexOf('\r\n\r\n') + 4)];
}

const start = fc.constantFrom('', '', '', 'http://h', 'http://h;', 'http://h:80', 'http://h:80;', 'http://h\\', 'ftp://h', 'http://u:p@h', "http://h'", 'http://h{', 'HTTP://H', 'http://');
const separator = fc.constantFrom('/', '/', '/', '\\', '//', '/\\', '%5c', '%2f', ';/');
const name = fc.constantFrom('priv', 'priv', 'open', 'one', 'one', 'x', '..', '.', '');
const tail = fc.constantFrom('', '', '#', '#a', '?a', '#?', '?#', "'", '|', '%20', '#/../open', '?\\');
const target = fc.oneof(
  fc.tuple(start, separator, fc.constantFrom('priv', 'open'), separator, fc.constant('one'), tail).map((all) => all.join('')),
  fc.tuple(start, fc.array(fc.tuple(separator, name).map((all) => all.join('')), { minLength: 1, maxLength: 4 }).map((all) => all.join('')), tail).map((all) => all.join('')),
);
const REPORTED = ['http://h/priv\\one', '/priv\\one#', '/priv\\one#a', 'ftp://h/priv\\one', 'http://h;/priv/one', 'http://h\\priv/one', '/priv\\one'];

describe.each(PAIRS)('in %s, of %s behind a guard', (host, piece) => {
  test('no spelling of a target gets what is guarded, but where it does on Express', async () => {
    const ports = await Promise.all([running.serve(guarded(host, piece)), running.serve(guarded('Express', likeOf(piece)))]);
    await fc.assert(fc.asyncProperty(target, async (sent) => {
      const [[status, body], [expected, shown]] = await Promise.all([told(ports[0], sent), told(ports[1], sent)]);
      if (!shown.includes(SECRET)) expect([sent, body.includes(SECRET)]).toEqual([sent, false]);
      // What is read alike by all is answered as on Express.
      if (host === 'express()' && !isDisputed(sent) && /^\/?[a-z]*\/?[a-z]*$/.test(sent)) expect([sent, status]).toEqual([sent, expected]);
    }), { numRuns: runs(150), examples: REPORTED.map((one) => [one]) });
  });

  test('nor does what a program makes of one', async () => {
    const rewrite: Handler = (req, _res, next) => {
      req.url = String(req.headers['x-to']);
      next();
    };
    const ports = await Promise.all([running.serve(guarded(host, piece, rewrite)), running.serve(guarded('Express', likeOf(piece), rewrite))]);
    await fc.assert(fc.asyncProperty(target, async (made) => {
      const [isShown, isShownThere] = await Promise.all(ports.map(async (port) => (await ask(port, '/', { headers: { 'x-to': made } })).body.includes(SECRET)));
      expect([made, isShown && !isShownThere]).toEqual([made, false]);
    }), { numRuns: runs(100), examples: REPORTED.map((one) => [one]) });
  });
});

describe('a target that can be read as two paths', () => {
  test.each(REPORTED.filter((one) => one !== '/priv\\one'))('is answered by 400: %s', async (sent) => {
    for (const host of ['express()', 'createServer()']) expect((await told(await running.serve(guarded(host, 'static')), sent))[0]).toBe(400);
  });

  test('of a request whose body is not read to its end: the connection is closed, and that is said', async () => {
    for (const make of [express, createServer]) {
      const port = await running.start(make({ ...QUIET, body: { limit: 1000 } }));
      const text = await Wire.tell(port, `${head('POST /a\\b#', { 'Content-Length': 2_000_000 })}${'x'.repeat(5000)}`);
      expect(text).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\nConnection: close\r\n/);
    }
  });

  test('is an error of the framework that has called, and to static no file', async () => {
    const app = expressOwn();
    app.use('/app', express(QUIET) as never);
    app.use('/router', Router().use((_req, _res, next) => next()) as never);
    app.use('/static', staticFiles(root, { fallthrough: false }) as never);
    app.use(((error: { code: string }, _req, res, _next) => void res.end(error.code)) as expressOwn.ErrorRequestHandler);
    const port = await running.serve(app);
    for (const path of ['app', 'router', 'static']) expect([path, (await told(port, `/${path}/a\\b#`))[1]]).toEqual([path, 'DISPUTED_PATH']);
  });

  test.each(['/a#b', 'http://h/a', 'http://h', 'http://h?x', 'http://h:80/a?b', "http://h/o'neil|{x}", 'http://[::1]:80/a', 'http://u:p@h/a', 'http://h//a', 'HTTP://H/%5c', '/a\\b', '/a b'])('is not one that all read alike: %s', (sent) => {
    expect(isDisputed(sent)).toBe(false);
  });
});
