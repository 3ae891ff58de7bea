import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NextFunction, Request, Response } from 'express';
import { createServer, express, type Handler, static as staticFiles } from 'waypost';
import { type Asked, answersOf, onBoth } from './support/both-expresses';
import { Running } from './support/running';
import { ask, head, Wire } from './support/wire';

/** A file fails in a later turn: what a program puts on the response meanwhile is its own. */
let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'waypost-'));
  mkdirSync(join(root, 'dir'));
  writeFileSync(join(root, 'a.txt'), 'The quick brown fox\n');
  writeFileSync(join(root, 'empty.txt'), '');
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

const FILES: Readonly<Record<string, Asked>> = {
  '/none.txt': '/none.txt',
  '/dir': '/dir',
  '/../a.txt': '/..%2fa.txt',
  '/.hidden': '/.hidden',
  '/a.txt, of another tag': ['/a.txt', { headers: { 'if-match': '"other"' } }],
  '/a.txt, beyond its end': ['/a.txt', { headers: { range: 'bytes=100-' } }],
  '/a.txt': '/a.txt',
};

/** What a handler or middleware does with a response between the call and the failure. */
const DONE: Readonly<Record<string, (res: Response) => void>> = {
  'nothing': () => undefined,
  'a status': (res) => void res.status(503),
  'a status of success': (res) => void res.status(201),
  'a cookie': (res) => void res.cookie('sid', '1'),
  'a second cookie': (res) => void res.append('Set-Cookie', 'second=2'),
  'a field': (res) => void res.set('X-After', '1'),
  'a field in the place of one from before': (res) => void res.set('X-Before', 'since'),
  'none of one from before': (res) => void res.removeHeader('X-Before'),
  'Vary': (res) => void res.vary('Origin'),
  'a type': (res) => void res.type('json'),
  'Cache-Control': (res) => void res.set('Cache-Control', 'no-store'),
};

const FIELDS = ['x-before', 'x-after', 'set-cookie', 'vary'];

describe('what is put on a response while it sends a file that fails stays on it', () => {
  const cases = Object.keys(FILES).flatMap((file) => Object.keys(DONE).map((done) => [file, done] as const));
  test.each(cases)('%s, %s', async (file, done) => {
    for (const answers of ['by its callback', 'by its callback with a status', 'by an error handler', 'download'] as const) {
      await onBoth(async (module) => {
        const app = module();
        app.use((req, res) => {
          res.set('X-Before', '1').append('Set-Cookie', 'first=1');
          const name = decodeURIComponent(req.path).slice(1);
          const reply = (error: Error | undefined): void => {
            // A directory has no such error here, and one without a code or another there.
            if (error === undefined || res.headersSent) return;
            if (answers === 'by its callback with a status') res.status(404);
            res.send('none');
          };
          if (answers === 'by an error handler') res.sendFile(name, { root });
          else if (answers === 'download') res.download(name, 'given.txt', { root }, reply);
          else res.sendFile(name, { root }, reply);
          (DONE[done] as (res: Response) => void)(res);
        });
        app.use((_error: Error, _req: Request, res: Response, _next: NextFunction) => void res.send('handled'));
        // Of a head that the program has given no type, Express leaves the file's.
        return answersOf(app, [FILES[file] as Asked], [...FIELDS, ...(done === 'a type' ? ['content-type'] : []), ...(done === 'Cache-Control' ? ['cache-control'] : [])]);
      });
    }
  });
});

test('a field of the file that the program has appended to stays', async () => {
  const app = express({ logging: { level: 'silent' } });
  app.use((_req, res) => {
    const name = join(root, 'gone.txt');
    writeFileSync(name, 'soon gone');
    const { setHeader } = res;
    res.setHeader = (field: string, value: never) => {
      setHeader.call(res, field, value);
      // The last field of the file's head; its bytes are read after that.
      if (field === 'Content-Length') {
        res.setHeader = setHeader;
        rmSync(name, { force: true });
        process.nextTick(() => res.appendHeader('Set-Cookie', 'since=2'));
      }
      return res;
    };
    res.sendFile(name, { headers: { 'Set-Cookie': ['file=1'] } as never }, () => void res.send('none'));
  });
  const [[, , body, cookies]] = await answersOf(app as never, ['/'], ['set-cookie']) as [[string, number, string, string[]]];
  expect([body, cookies]).toEqual(['none', ['file=1', 'since=2']]);
});

const running = new Running();
afterEach(() => running.close());

/** What an error of the program's own may look like: that of a client that is gone, a log on a full disk, a directory, another service's answer. */
const LOOKS: Readonly<Record<string, object>> = {
  'any': {},
  'a client that is gone': { code: 'ECONNABORTED' },
  'a connection that is reset': { code: 'ECONNRESET', syscall: 'read' },
  'a pipe that is closed': { code: 'EPIPE', syscall: 'write' },
  'a full disk': { code: 'ENOSPC', syscall: 'write' },
  'a directory': { code: 'EISDIR', syscall: 'read' },
  'no such file': { code: 'ENOENT', syscall: 'open' },
  'an abort': { name: 'AbortError', code: 'ABORT_ERR' },
  'a stream that ended early': { code: 'ERR_STREAM_PREMATURE_CLOSE' },
  'a status of 404': { status: 404, statusCode: 404, expose: true },
  'a status of 403': { statusCode: 403 },
  'a status of 304': { statusCode: 304 },
};

const refuseHead = (res: { writeHead: unknown }, error: Error): void => {
  res.writeHead = () => {
    res.writeHead = Object.getPrototypeOf(res).writeHead;
    throw error;
  };
};

/** Where the program throws while a file's answer is made. */
const THROWN: Readonly<Record<string, { readonly path: string; throwing(error: Error): Handler }>> = {
  'setHeaders of static': { path: '/a.txt', throwing: (error) => staticFiles(root, { setHeaders: () => { throw error; } }) },
  'the head, by static': { path: '/a.txt', throwing: (error) => (req, res, next) => (refuseHead(res, error), staticFiles(root)(req, res, next)) },
  'the head of a redirect, by static': { path: '/dir', throwing: (error) => (req, res, next) => (refuseHead(res, error), staticFiles(root)(req, res, next)) },
  'the head of no body, by static': { path: '/empty.txt', throwing: (error) => (req, res, next) => (refuseHead(res, error), staticFiles(root)(req, res, next)) },
  'the head, by sendFile': { path: '/', throwing: (error) => (_req, res) => (refuseHead(res, error), res.sendFile('a.txt', { root })) },
  'the head of no body, by sendFile': { path: '/', throwing: (error) => (_req, res) => (refuseHead(res, error), res.sendFile('empty.txt', { root })) },
  'the head, by download': { path: '/', throwing: (error) => (_req, res) => (refuseHead(res, error), res.download('a.txt', { root })) },
  'the callback of sendFile': { path: '/', throwing: (error) => (_req, res) => res.sendFile('none.txt', { root }, () => { throw error; }) },
};

describe.each(Object.entries({ createServer, express }))('an error that the program throws while a file is sent by %s counts the same as anywhere, whatever it looks like', (_, make) => {
  test.each(Object.keys(THROWN))('%s', async (place) => {
    const { path, throwing } = THROWN[place] as (typeof THROWN)[string];
    const app = make({ env: 'production', logging: { level: 'silent' } });
    for (const [index, look] of Object.values(LOOKS).entries()) {
      const error = Object.assign(new Error('of the program'), look);
      app.use(`/thrown/${index}`, () => {
        throw error;
      });
      app.use(`/in-file/${index}`, throwing(error));
    }
    const port = await running.start(app as ReturnType<typeof createServer>);
    const answers = (mount: string): Promise<unknown[]> => Promise.all(Object.keys(LOOKS).map(async (look, index) => {
      const { status, body, headers } = await ask(port, `/${mount}/${index}${path}`);
      return [look, status, body, headers['content-length'], headers['last-modified']];
    }));
    expect(await answers('in-file')).toEqual(await answers('thrown'));
  });
});

describe.each(Object.entries({ createServer, express }))('the callback of sendFile, of %s, is told of an answer without a body that waits behind another, and once, though the client leaves', (_, make) => {
  test.each([['HEAD', {}], ['GET', { 'If-None-Match': '*' }]])('%s %j', async (method, fields) => {
    const app = make({ logging: { level: 'silent' } });
    app.get('/pending', () => undefined);
    const tellings: unknown[][] = [];
    const told = new Promise<void>((resolve) => {
      app.get('/file', (_req, res) => res.sendFile('a.txt', { root }, (...given) => {
        tellings.push(given);
        resolve();
      }));
    });
    const port = await running.start(app as ReturnType<typeof createServer>);
    const wire = await Wire.open(port);
    wire.write(head('GET /pending') + head(`${method} /file`, fields));
    await told;
    wire.cut();
    await wire.end;
    await ask(port, '/file');
    // Of the client that has left, and of the last.
    expect(tellings).toEqual([[undefined], [undefined]]);
  });
});

test.each(Object.entries({ createServer, express }))('the callback of sendFile, of %s, is told of a file that a listener of `pipe` cuts short', async (_, make) => {
  const app = make({ logging: { level: 'silent' } });
  const told = new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    app.get('/', (_req, res) => {
      res.on('pipe', () => res.end());
      res.sendFile('a.txt', { root }, resolve);
    });
  });
  const wire = await Wire.open(await running.start(app as ReturnType<typeof createServer>));
  wire.write(head('GET /'));
  expect((await told)?.code).toBe('ECONNABORTED');
  wire.cut();
});
