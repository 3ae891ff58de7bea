import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import express from 'express';
import fc from 'fast-check';
import { type Application, createServer, express as waypostExpress, type Handler } from 'waypost';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const SECRET = 'the secret';
/** What is where, beneath the root. */
const FILES: Readonly<Record<string, string>> = {
  'private/secret.txt': SECRET,
  'a/private/secret.txt': SECRET,
  'open.txt': 'open',
  'a/open.txt': 'open',
  'a/b/open.txt': 'open',
  '100%.txt': 'open',
  'a%20b': 'open',
  '%2e%2e': 'open',
  'a%2fb': 'open',
  '..two': 'open',
  'x..y/open.txt': 'open',
  'a b.txt': 'open',
  'é.txt': 'open',
  'a;b.txt': 'open',
  'q?.txt': 'open',
};

const running = new Running();
let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'waypost-'));
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
});

afterAll(() => rmSync(root, { recursive: true }));
afterEach(() => running.close());

const guard: Handler = (_req, res) => void res.status(401).send('guarded');

/** A tree of files with guards of what is private in it, sent by the rest of the path. */
function withGuards(send: (app: Application) => void): (app: Application) => void {
  return (app) => {
    app.use(['/files/private', '/files/a/private'], guard);
    send(app);
  };
}

const WAYS: Readonly<Record<string, (app: Application) => void>> = {
  "sendFile(params['**'])": withGuards((app) => app.get('/files/**', (req, res) => res.sendFile(req.params['**'], { root, dotfiles: 'allow' }))),
  "download(params['**'])": withGuards((app) => app.get('/files/**', (req, res) => res.download(req.params['**'], { root, dotfiles: 'allow' }))),
  "sendFile('/' + params['**'])": withGuards((app) => app.get('/files/**', (req, res) => res.sendFile(`/${req.params['**']}`, { root, dotfiles: 'allow' }))),
  'sendFile(decoded req.path)': withGuards((app) => app.use('/files', (req, res) => res.sendFile(decodeURIComponent(req.path), { root, dotfiles: 'allow' }))),
};

/** The status and the body that a target gets, sent as it stands. */
async function told(port: number, target: string): Promise<[number, string]> {
  const text = await Wire.tell(port, head(`GET ${target}`, { Connection: 'close' }));
  return [Number(text.slice(9, 12)), text.slice(text.indexOf('\r\n\r\n') + 4)];
}

const PAST_THE_GUARD = [
  '/files/x/../private/secret.txt', '/files/x/%2e%2e/private/secret.txt', '/files/x/%2E./private/secret.txt', '/files/./private/secret.txt', '/files/%2e/private/secret.txt',
  '/files/a/../private/secret.txt', '/files/a/b/../../private/secret.txt', '/files/a//private/secret.txt', '/files/a/./private/secret.txt', '/files/a/.//private/secret.txt',
  '/files/private/../private/secret.txt', '/files//private/secret.txt', '/files/../files/private/secret.txt', '/files/%2e%2e/files/private/secret.txt',
  '/files/x%2f..%2fprivate/secret.txt', '/files/.%2fprivate/secret.txt', '/files/%2fprivate/secret.txt', '/files/x/..%5cprivate/secret.txt',
  '/files/%252e%252e/private/secret.txt', '/files/private;x/secret.txt', '/files/private%00/secret.txt', '/files/private%2fsecret.txt%00',
];

describe.each(Object.entries(WAYS))('%s behind a guard', (name, register) => {
  const decodes = name.includes('decoded');

  test('sends nothing that the guard guards', async () => {
    const port = await running.app(register);
    expect(await told(port, '/files/private/secret.txt')).toEqual([401, 'guarded']);
    // Who decodes an encoded slash makes another path of it; the captures of "**" keep it.
    for (const target of [...PAST_THE_GUARD, ...(decodes ? [] : ['/files/private%2fsecret.txt', '/files/private%2Fsecret.txt'])]) {
      const [status, body] = await told(port, target);
      expect([target, status >= 400, body.includes(SECRET)]).toEqual([target, true, false]);
    }
  });

  test('sends every file by its name', async () => {
    const port = await running.app(register);
    for (const file of Object.keys(FILES).filter((one) => !one.includes('private') && !(decodes && one.includes('%2f')))) {
      const target = `/files/${file.split('/').map(encodeURIComponent).join('/')}`;
      expect([target, ...await told(port, target)]).toEqual([target, 200, 'open']);
    }
  });

  test('by any spelling, a file is sent by the segments that name it or not at all', async () => {
    const port = await running.app(register);
    const segment = fc.constantFrom('a', 'b', 'private', 'secret.txt', 'open.txt', '.', '..', '', '%2e', '%2E%2e', '.%2e', 'x', '%61', 'a%2fb', '%5c..%5c', '..%5c', '%2e%2f');
    await fc.assert(fc.asyncProperty(fc.array(segment, { minLength: 1, maxLength: 5 }), async (segments) => {
      const [status, body] = await told(port, `/files/${segments.join('/')}`);
      expect(body).not.toBe(SECRET);
      if (status !== 200) return;
      const named = segments.map((one) => decodeURIComponent(one)).join('/');
      expect([named, body]).toEqual([posix.normalize(named), FILES[named]]);
    }), { numRuns: 150 });
  });
});

test('a program that decodes again, and again, sends nothing past the guard, however dots and slashes are encoded', async () => {
  const port = await running.app(withGuards((app) => app.get('/files/**', (req, res) => {
    let path = req.params['**'];
    for (let i = 0; i < 8 && path.includes('%'); i++) path = decodeURIComponent(path);
    res.sendFile(path, { root });
  })));
  /** A character as an escape, of which some characters are escapes again. */
  const escaped: fc.Memo<string> = fc.memo((depth) => fc.constantFrom('.', '/', '\\').chain((character) => encodedOf(character, depth)));
  const encodedOf = (character: string, depth: number): fc.Arbitrary<string> => {
    if (depth === 0) return fc.constant(character);
    const digits = character.charCodeAt(0).toString(16).padStart(2, '0');
    return fc.oneof(fc.constant(character), fc.tuple(...[...`%${digits}`].map((one) => encodedOf(one, depth - 1))).map((all) => all.join('')));
  };
  const piece = fc.oneof(fc.constantFrom('x', '/', '..', '.'), escaped(4), fc.constant('%25%32%65'));
  await fc.assert(fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 6 }), async (pieces) => {
    const [, body] = await told(port, `/files/${pieces.join('')}/private/secret.txt`);
    expect(body).not.toBe(SECRET);
  }), { numRuns: 300, examples: [[['x/', '%25%32%65%25%32%65']], [['x/', '.', '%25%32%65']], [['%25%32%65']], [['x/%252e%252e']]] });
});

describe('what is refused', () => {
  test('is 403, raised as an error that a callback gets in its place', async () => {
    const errors: unknown[] = [];
    const port = await running.app((app) => {
      app.get('/files/**', (req, res) => res.sendFile(req.params['**'], { root }));
      app.get('/asked/**', (req, res) => res.sendFile(req.params['**'], { root }, (error) => {
        errors.push(error);
        res.status(418).end('mine');
      }));
    });
    const [status, body] = await told(port, '/files/x/../open.txt');
    expect([status, JSON.parse(body)]).toEqual([403, { error: 'Forbidden', message: 'Forbidden' }]);
    expect(await told(port, '/asked/./open.txt')).toEqual([418, 'mine']);
    expect(errors).toEqual([expect.objectContaining({ status: 403, code: 'EAMBIGUOUS' })]);
  });

  test('is not what a program writes by itself, nor a path without a root', async () => {
    const port = await running.app((app) => {
      app.get('/dot', (_req, res) => res.sendFile('./open.txt', { root }));
      app.get('/slashes', (_req, res) => res.sendFile('a//open.txt', { root }));
      app.get('/up', (_req, res) => res.sendFile('a/none/../open.txt', { root }));
      app.get('/inner/*', (req, res) => res.sendFile(`./a//${req.params['*']}`, { root }));
      app.get('/absolute', (_req, res) => res.sendFile(`${root}/a/../open.txt`));
    });
    for (const target of ['/dot', '/slashes', '/slashes?a=//../.', '/up', '/up?a=../.', '/inner/open.txt']) expect([target, ...await told(port, target)]).toEqual([target, 200, 'open']);
    // As in Express, where it is refused by send.
    expect((await told(port, '/absolute'))[0]).toBe(403);
  });

  test('is what two dots of the client become a segment of, decoded once more or cut by a pattern', async () => {
    const port = await running.app((app) => {
      app.get('/twice/**', (req, res) => res.sendFile(decodeURIComponent(req.params['**']), { root }));
      app.get('/parts/:name-:type', (req, res) => res.sendFile(`a/${req.params.name}/open.${req.params.type}`, { root }));
    });
    expect(await told(port, '/twice/a/open.txt')).toEqual([200, 'open']);
    expect(await told(port, '/parts/b-txt')).toEqual([200, 'open']);
    for (const target of ['/twice/a/%252e%252e/open.txt', '/twice/a/b/.%252e/open.txt', '/parts/..-txt']) expect([target, (await told(port, target))[0]]).toEqual([target, 403]);
  });

  test('with routing that ignores them, doubled slashes are none', async () => {
    const app = createServer({ logging: { level: 'silent' }, routing: { ignoreDuplicateSlashes: true } });
    WAYS["sendFile(params['**'])"]?.(app);
    const port = await running.start(app);
    expect(await told(port, '/files//a///open.txt')).toEqual([200, 'open']);
    expect(await told(port, '/files//private///secret.txt')).toEqual([401, 'guarded']);
  });
});

test('static files behind a guard: serve-static resolves what the guard of a path does not, as in Express', async () => {
  const ours = await running.app(withGuards((app) => app.use('/files', waypostExpress.static(root))));
  const theirs = await running.serve(express().use(['/files/private', '/files/a/private'], guard as never).use('/files', express.static(root)) as RequestListener);
  for (const target of PAST_THE_GUARD) {
    const isSent = async (port: number): Promise<boolean> => (await told(port, target))[1].includes(SECRET);
    // But for this one: of Express's mount paths, a slash that is doubled ends one.
    if (target === '/files//private/secret.txt') continue;
    expect([target, await isSent(ours)]).toEqual([target, await isSent(theirs)]);
  }
  expect((await told(ours, '/files/x/../private/secret.txt'))[1]).toBe(SECRET);
});

test('static files with a guard that stands above all of them, and asks for the file, are guarded', async () => {
  const port = await running.app((app) => {
    app.use('/files', (req, res, next) => {
      const path = posix.normalize(decodeURIComponent(req.path));
      if (path === '/private' || path.startsWith('/private/') || path.startsWith('/a/private/')) guard(req, res, next);
      else next();
    });
    app.use('/files', waypostExpress.static(root));
  });
  for (const target of PAST_THE_GUARD) expect([target, (await told(port, target))[1].includes(SECRET)]).toEqual([target, false]);
  expect(await told(port, '/files/a/open.txt')).toEqual([200, 'open']);
});
