import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NextFunction, Request, Response } from 'express';
import { express } from 'waypost';
import { type Asked, answersOf, onBoth } from './support/both-expresses';

/** A file fails in a later turn: what a program puts on the response meanwhile is its own. */
let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'waypost-'));
  mkdirSync(join(root, 'dir'));
  writeFileSync(join(root, 'a.txt'), 'The quick brown fox\n');
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
