import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs, { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, realpath, realpathSync, renameSync, rmSync, type Stats, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync, writeSync } from 'node:fs';
import { type IncomingMessage, request, type RequestOptions } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve, sep } from 'node:path';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { weakEntityTag } from '../lib/http/etag';
import type { SendFileOptions } from '../lib/http/file/file-options';
import { readPart } from '../lib/http/file/file-part';
import type { Response } from '../lib/http/response';
import { kFail } from '../lib/http/response-state';
import { type Answer, type Handler, Parity, ResponseServer } from './support/response-server';

const TEXT = 'The quick brown fox jumps over the lazy dog\n';
/** Of the files that stand outside the root. */
const OUTSIDE = 'none of your business\n';
const MODIFIED = new Date('2020-01-02T03:04:05Z');
const LARGE = 8 * 1024 * 1024;

let tree: string;
let root: string;

beforeAll(() => {
  tree = mkdtempSync(join(tmpdir(), 'waypost-'));
  root = join(tree, 'public');
  mkdirSync(join(root, 'dir'), { recursive: true });
  mkdirSync(join(root, '.hidden'));
  for (const name of ['a.txt', 'a b%20ü.txt', 'page.html', 'noext', '.env', '.hidden/x.txt', 'dir/index.html', 'empty.txt', '../secret.txt', '../public-not/a.txt']) {
    mkdirSync(join(root, name, '..'), { recursive: true });
    writeFileSync(join(root, name), name === 'empty.txt' ? '' : name.startsWith('../') ? OUTSIDE : TEXT);
    utimesSync(join(root, name), MODIFIED, MODIFIED);
  }
  writeFileSync(join(root, 'large.bin'), Buffer.alloc(LARGE, 'x'));
  symlinkSync(join(tree, 'secret.txt'), join(root, 'out.txt'));
  symlinkSync(join(tree, 'public-not'), join(root, 'sibling'));
  symlinkSync(join(root, 'a.txt'), join(root, 'in.txt'));
  symlinkSync(join(root, 'nowhere'), join(root, 'broken.txt'));
  symlinkSync(root, join(tree, 'current'));
});

afterAll(() => rmSync(tree, { recursive: true, force: true }));

/** A handler that sends the file named, and reports an error as both frameworks can. */
function file(name: string, options?: SendFileOptions): Handler {
  return (_, res) => res.sendFile(name, { root, ...options }, (error) => {
    if (error !== undefined && !res.headersSent) res.status((error as { status?: number }).status ?? 500).type('txt').send(String((error as NodeJS.ErrnoException).code ?? error.message));
  });
}

/** A handler that leaves the length of what it says of an error to Node. */
function spoken(name: string): Handler {
  return (_, res) => res.download(name, { root }, (error) => {
    if (error !== undefined) res.status(404).end((error as NodeJS.ErrnoException).code);
  });
}

const FILES: readonly (readonly [string, () => Handler])[] = [
  ['none, and the callback ends the response', () => spoken('nowhere.txt')],
  ['a text', () => file('a.txt')],
  ['a page', () => file('page.html')],
  ['no extension', () => file('noext')],
  ['an empty file', () => file('empty.txt')],
  ['a name with spaces, percents and letters', () => file('a b%20ü.txt')],
  ['an index', () => file('dir/')],
  ['extensions', () => file('page', { extensions: ['htm', 'html'] })],
  ['maxAge', () => file('a.txt', { maxAge: 61_500 })],
  ['maxAge as text', () => file('a.txt', { maxAge: '1d', immutable: true })],
  ['no cache control', () => file('a.txt', { cacheControl: false })],
  ['no ranges', () => file('a.txt', { acceptRanges: false })],
  ['no last modified', () => file('a.txt', { lastModified: false })],
  ['part of the file', () => file('a.txt', { start: 4, end: 8 })],
  ['headers', () => file('a.txt', { headers: { 'X-A': 'b', 'Cache-Control': 'no-store', 'Content-Type': 'text/x-fox' } })],
  ['dotfile ignored', () => file('.env')],
  ['dotfile allowed', () => file('.env', { dotfiles: 'allow' })],
  ['dotfile denied', () => file('.env', { dotfiles: 'deny' })],
  ['hidden directory', () => file('.hidden/x.txt')],
  ['an absolute path', () => (_, res) => res.sendFile(join(root, 'a.txt'))],
  ['an absolute path beside options', () => (_, res) => res.sendFile(join(root, 'a.txt'), { maxAge: 1000 })],
  ['a type set before', () => (req, res) => { res.type('text/markdown'); return file('a.txt')(req, res); }],
  ['a status set before', () => (req, res) => file('a.txt')(req, res.status(404))],
  ['a status of text, which Node makes a number of', () => (req, res) => file('a.txt')(req, Object.assign(res, { statusCode: '404' }))],
  ['a status with a fraction', () => (req, res) => file('a.txt')(req, Object.assign(res, { statusCode: 404.5 }))],
  ['a link within', () => file('in.txt')],
  ['download', () => (_, res) => res.download(join(root, 'a.txt'))],
  ['download under a name', () => (_, res) => res.download(join(root, 'a.txt'), 'fox ü.md')],
  ['download with options', () => (_, res) => res.download('a.txt', { root, maxAge: 1000, headers: { 'X-A': 'b', 'content-disposition': 'inline' } })],
  ['download with all', () => (_, res) => res.download('a.txt', 'b.txt', { root }, (error) => error && res.status(416).end())],
];

const REQUESTS: readonly (readonly [string, RequestOptions])[] = [
  ['GET', {}],
  ['HEAD', { method: 'HEAD' }],
  ...['bytes=0-4', 'bytes=4-', 'bytes=-4', 'bytes=0-0', 'bytes=0-1,3-4', 'bytes=0-1,2-4', 'bytes=999-', 'bytes=4-1', 'bytes=x', 'lines=0-1', 'bytes=0-99999']
    .map((range) => [range, { headers: { range } }] as const),
  ['If-Modified-Since', { headers: { 'if-modified-since': MODIFIED.toUTCString() } }],
  ['If-Modified-Since before', { headers: { 'if-modified-since': new Date(0).toUTCString() } }],
  ['If-Unmodified-Since before', { headers: { 'if-unmodified-since': new Date(0).toUTCString() } }],
  ['If-None-Match any', { headers: { 'if-none-match': '*' } }],
  ['If-None-Match other', { headers: { 'if-none-match': '"other"' } }],
  ['If-Match other', { headers: { 'if-match': '"other"' } }],
  ['If-Match any', { headers: { 'if-match': '*' } }],
  ['If-Range date', { headers: { range: 'bytes=0-4', 'if-range': MODIFIED.toUTCString() } }],
  ['If-Range other', { headers: { range: 'bytes=0-4', 'if-range': '"other"' } }],
];

describe('sendFile and download as in Express 5', () => {
  let parity: Parity;
  beforeAll(async () => { parity = await Parity.start({ etag: weakEntityTag }); });
  afterAll(() => parity.close());

  it.each(FILES)('%s', async (_name, make) => {
    for (const [name, options] of REQUESTS) {
      const { ours, express } = await parity.both(make(), options);
      // Here ours says nothing of the file that was not sent: see "takes back a 206".
      if (ours.status === 412 || ours.status === 416) {
        expect([name, ours.status, ours.headers['content-range']]).toEqual([name, express.status, express.headers['content-range']]);
        continue;
      }
      expect({ name, ...ours }).toEqual({ name, ...express });
    }
  });

  it('any range', async () => {
    const bound = fc.option(fc.nat({ max: TEXT.length + 3 }), { nil: '' });
    await fc.assert(
      fc.asyncProperty(bound, bound, async (first, last) => {
        // Of a longer suffix Express answers 416: spec/rfc9110.spec.ts.
        if (first === '' && Number(last) > TEXT.length) return;
        const { ours, express } = await parity.both(file('a.txt'), { headers: { range: `bytes=${first}-${last}` } });
        expect([ours.status, ours.headers['content-range'], ours.headers['content-length']]).toEqual([express.status, express.headers['content-range'], express.headers['content-length']]);
        if (ours.status === 206) {
          const [, from = 0, to = 0] = /bytes (\d+)-(\d+)/.exec(ours.headers['content-range'] ?? '') ?? [];
          expect(ours.body).toBe(TEXT.slice(Number(from), Number(to) + 1));
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('sendFile', () => {
  let server: ResponseServer;
  beforeEach(async () => { server = await ResponseServer.waypost(); });
  afterEach(() => server.close());

  /** The error that reaches the framework's error path, and what the default makes of it. */
  async function refused(handler: Handler, options?: RequestOptions): Promise<{ error: unknown; answer: Answer }> {
    let error: unknown;
    const answer = await server.answer((req, res) => {
      const fail = res[kFail];
      res[kFail] = (each) => { error = each; fail.call(res, each); };
      return handler(req, res);
    }, options);
    return { error, answer };
  }

  it.each<[string, () => Handler, number]>([
    ['a missing file', () => (_, res) => res.sendFile('missing.txt', { root }), 404],
    ['a path beneath a file', () => (_, res) => res.sendFile('a.txt/b', { root }), 404],
    ['too long a name', () => (_, res) => res.sendFile('x'.repeat(5000), { root }), 404],
    ['a directory', () => (_, res) => res.sendFile('dir', { root }), 404],
    ['a directory without its index', () => (_, res) => res.sendFile('dir/', { root, index: false }), 404],
    ['a dotfile', () => (_, res) => res.sendFile('.env', { root }), 404],
    ['a dot directory', () => (_, res) => res.sendFile('.hidden/x.txt', { root }), 404],
    ['a NUL byte', () => (_, res) => res.sendFile('a.txt\0.png', { root }), 400],
    ['a lone surrogate', () => (_, res) => res.sendFile('\ud800', { root }), 404],
    ['traversal', () => (_, res) => res.sendFile('../secret.txt', { root }), 403],
    ['traversal from within', () => (_, res) => res.sendFile('dir/../../secret.txt', { root }), 403],
    ['traversal to a sibling of the same prefix', () => (_, res) => res.sendFile('../public-not/a.txt', { root }), 403],
    ['traversal in an absolute path', () => (_, res) => res.sendFile(`${root}/../secret.txt`), 403],
    ['traversal beneath a root', () => (_, res) => res.sendFile('/../secret.txt', { root }), 403],
    ['a link out of the root', () => (_, res) => res.sendFile('out.txt', { root }), 403],
    ['a linked directory out of the root', () => (_, res) => res.sendFile('sibling/a.txt', { root }), 403],
    ['a link that leads nowhere', () => (_, res) => res.sendFile('broken.txt', { root }), 404],
    ['a failed precondition', () => (_, res) => res.sendFile('a.txt', { root, lastModified: false, etag: false }), 412],
  ])('refuses %s', async (_name, make, status) => {
    const { error, answer } = await refused(make(), status === 412 ? { headers: { 'if-match': '"x"' } } : {});
    expect(error).toMatchObject({ status });
    expect(answer.status).toBe(status);
    const body = JSON.parse(answer.body) as Record<string, unknown>;
    expect(Object.keys(body)).toEqual(['error', 'message']);
    expect(answer.body).not.toContain(tree);
    expect(Object.keys(answer.headers).sort()).toEqual(['connection', 'content-length', 'content-type', 'date']);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('never leaves the root, whatever the path', async () => {
    let sent = 0;
    const part = fc.oneof(fc.constantFrom('..', '.', '', 'dir', 'a.txt', '%2e%2e', '..%2f', '..\\', '%00', 'secret.txt', 'sibling', 'out.txt', '~', 'public', 'public-not'), fc.string());
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 8 }), fc.constantFrom('/', '\\', '//'), async (parts, separator) => {
        const path = parts.join(separator);
        fc.pre(path !== '');
        server.handler = (_, res) => res.sendFile(path, { root, headers: { 'X-Sent': '1' } });
        const answer = await server.ask();
        if (answer.status !== 200) return expect([400, 403, 404]).toContain(answer.status);
        sent++;
        const named = resolve(join(root, path));
        const file = realpathSync(statSync(named).isDirectory() ? join(named, 'index.html') : named);
        expect(file.startsWith(realpathSync(root) + sep)).toBe(true);
        expect(answer.body).toBe(readFileSync(file, 'utf8'));
      }),
      { numRuns: 300, examples: [[['a.txt'], '/'], [['dir', ''], '/'], [['..', 'public', 'a.txt'], '/'], [['..', 'public-not', 'a.txt'], '/'], [['sibling', 'a.txt'], '/']] },
    );
    expect(sent).toBeGreaterThanOrEqual(2);
  });

  it('follows a link out of the root when told to', async () => {
    expect((await server.answer((_, res) => res.sendFile('out.txt', { root, followSymlinks: true }))).body).toBe(OUTSIDE);
  });

  it('takes a root that is a link itself, and a relative one', async () => {
    expect((await server.answer((_, res) => res.sendFile('a.txt', { root: join(tree, 'current') }))).body).toBe(TEXT);
    const here = await server.answer((_, res) => res.sendFile('package.json', { root: '.' }));
    expect(here.status).toBe(200);
  });

  it.each(['a name', 7])('refuses %p for options, and says where a name goes', (options) => {
    server.handler = (_, res) => res.sendFile('/', options as never);
    return server.ask().then(({ status }) => {
      expect(status).toBe(500);
      expect(server.log[0]?.fields.err?.message).toMatch(/res\.download/);
    });
  });

  it('says with 416 how long the file is', async () => {
    const { answer } = await refused((_, res) => res.sendFile('a.txt', { root }), { headers: { range: 'bytes=999-' } });
    expect(answer.status).toBe(416);
    expect(answer.headers['content-range']).toBe(`bytes */${TEXT.length}`);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('takes back a 206 and its fields before it tells of an error', async () => {
    let status = 0;
    const answer = await server.answer((_, res) => res.set('X-Mine', '1').sendFile('a.txt', { root, headers: { 'X-Bad': 'a\r\nb' } }, (error) => {
      status = res.statusCode;
      res.status(500).send(error?.name);
    }), { headers: { range: 'bytes=0-1' } });
    expect(status).toBe(200);
    expect(answer).toMatchObject({ status: 500, body: 'TypeError' });
    expect(Object.keys(answer.headers).sort()).toEqual(['connection', 'content-length', 'content-type', 'date', 'x-mine']);
  });

  it.each<[string, Handler, RegExp]>([
    ['a relative path without a root', (_, res) => res.sendFile('a.txt'), /path must be absolute, or beneath a root, for res\.sendFile, got 'a\.txt': write path\.join/],
    ['an empty path', (_, res) => res.sendFile(''), /path argument is required to res\.sendFile, got ''/],
    ['no path', (_, res) => res.sendFile(undefined as unknown as string), /path argument is required to res\.sendFile, got undefined/],
    ['a path that is no string', (_, res) => res.sendFile(['/etc/passwd'] as unknown as string), /path must be a string to res\.sendFile, got/],
    ['an unknown dotfiles', (_, res) => res.sendFile('/a', { dotfiles: 'maybe' as 'allow' }), /dotfiles/],
  ])('throws for %s', async (_name, handler, message) => {
    expect((await server.answer(handler)).status).toBe(500);
    expect(server.log[0]?.fields.err).toBeInstanceOf(TypeError);
    expect(server.log[0]?.fields.err?.message).toMatch(message);
  });

  it.each(['a.txt', 'large.bin'])('answers 500 for a reason phrase that cannot be sent with %s', async (name) => {
    const answer = await server.answer((_, res) => {
      res.statusMessage = 'two\nlines';
      res.sendFile(name, { root }, (error) => {
        res.statusMessage = '';
        res.status(500).end((error as NodeJS.ErrnoException).code);
      });
    });
    expect([answer.status, answer.body]).toEqual([500, 'ERR_INVALID_CHAR']);
  });

  it('answers 500 for a status that cannot be sent', async () => {
    expect((await refused((_, res) => { res.statusCode = 99; res.sendFile('a.txt', { root }); })).answer.status).toBe(500);
    expect(server.log[0]?.fields.err).toBeInstanceOf(RangeError);
  });

  it('reports an error once the head is out, and does not crash', async () => {
    const failed = new Promise<unknown>((resolve) => {
      server.handler = (_, res) => { res.write('begun'); res.sendFile('a.txt', { root }, (error) => { resolve(error); res.end(); }); };
    });
    const answer = await server.ask();
    expect(answer.body).toBe('begun');
    expect(await failed).toBeInstanceOf(Error);
  });

  it('calls back once, without an error, for GET, HEAD and 304', async () => {
    for (const options of [{}, { method: 'HEAD' }, { headers: { 'if-none-match': '*' } }]) {
      const calls: unknown[] = [];
      const called = new Promise<void>((resolve) => {
        server.handler = (_, res) => res.sendFile('a.txt', { root }, (...args) => { calls.push(args[0]); resolve(); });
      });
      await Promise.all([server.ask(options), called]);
      expect(calls).toEqual([undefined]);
    }
  });

  it('takes the callback as second argument, and tells it the status', async () => {
    const told = new Promise<unknown>((resolve) => {
      server.handler = (_, res) => res.sendFile(join(root, 'missing'), (error) => { resolve(error); res.end(); });
    });
    await server.ask();
    expect(await told).toMatchObject({ status: 404, code: 'ENOENT' });
  });

  it.each<[string, () => void]>([
    ['throws', () => { throw new Error('mine'); }],
    ['rejects with', async () => { await Promise.resolve(); throw new Error('mine'); }],
  ])('reports what the callback %s instead of crashing', async (_name, callback) => {
    const { error, answer } = await refused((_, res) => res.sendFile('missing', { root }, callback));
    expect(error).toMatchObject({ message: 'mine' });
    expect(answer.status).toBe(500);
  });

  describe('when the client and the file come apart', () => {
    /** Asks for the large file and stops reading once the head is in. */
    async function begin(): Promise<IncomingMessage> {
      const sent = request({ host: '127.0.0.1', port: server.port, agent: false });
      sent.on('error', () => undefined);
      sent.end();
      const [res] = (await once(sent, 'response')) as [IncomingMessage];
      res.on('error', () => undefined);
      return res;
    }

    it('a client that leaves is no error of the server\'s', async () => {
      let failures = 0;
      const closed = new Promise<void>((resolve) => {
        server.handler = (_, res: Response) => {
          res[kFail] = () => { failures++; };
          res.on('close', resolve);
          res.sendFile('large.bin', { root });
        };
      });
      (await begin()).destroy();
      await closed;
      expect((await server.answer((_, res) => res.end('alive'))).body).toBe('alive');
      expect(failures).toBe(0);
      expect(server.log).toEqual([]);
    });

    it('the callback is told with ECONNABORTED', async () => {
      const told = new Promise<unknown>((resolve) => {
        server.handler = (_, res) => res.sendFile('large.bin', { root }, resolve);
      });
      (await begin()).destroy();
      expect(await told).toMatchObject({ code: 'ECONNABORTED' });
    });

    it('a small file that is cut short before it is read is an error like others: nothing is sent yet', async () => {
      const name = join(root, 'small.bin');
      writeFileSync(name, 'x'.repeat(1000));
      // Read when the head is made: behind the look at the file, ahead of its opening.
      const headers = { get 'X-A'() { truncateSync(name, 10); return 'a'; } };
      const { status, body, headers: answered } = await server.answer(file('small.bin', { headers }));
      expect([status, body, answered['x-a']]).toEqual([500, 'The file ended after 10 of 1000 bytes', undefined]);
    });

    it('a small file that is gone before it is read is as any that is not there', async () => {
      const name = join(root, 'fleeting.bin');
      writeFileSync(name, 'x');
      const headers = { get 'X-A'() { rmSync(name); return 'a'; } };
      const { status, body, headers: answered } = await server.answer(file('fleeting.bin', { headers }));
      expect([status, body, answered['x-a']]).toEqual([404, 'ENOENT', undefined]);
    });

    it('the callback is told with ECONNABORTED of a small file too, by a client that has left before it is read', async () => {
      const told = new Promise<unknown>((resolve) => {
        server.handler = (_, res) => res.sendFile('a.txt', { root, headers: { get 'X-A'() { res.destroy(); return 'a'; } } }, resolve);
      });
      const sent = request({ host: '127.0.0.1', port: server.port, agent: false }).end();
      await once(sent, 'error');
      expect(await told).toMatchObject({ code: 'ECONNABORTED' });
    });

    it('a file cut short ends the connection rather than leave the client waiting', async () => {
      const name = join(root, 'shrinking.bin');
      const descriptor = openSync(name, 'w');
      for (let written = 0; written < LARGE * 4; written += 1 << 20) writeSync(descriptor, Buffer.alloc(1 << 20, 'x'));
      closeSync(descriptor);
      const told = new Promise<unknown>((resolve) => {
        server.handler = (_, res) => res.sendFile(name, resolve);
      });
      const res = await begin();
      truncateSync(name, 1 << 20);
      const closed = new Promise((resolve) => res.on('close', resolve));
      res.resume();
      await closed;
      expect(res.complete).toBe(false);
      expect(await told).toMatchObject({ message: expect.stringMatching(/^The file ended after \d+ of 33554432 bytes$/) as unknown });
    });
  });

  it.each([0, 1, 65_535, 65_536, 65_537, 200_000])('sends %d bytes, whole and in part, at once or as a stream', async (size) => {
    const bytes = Buffer.from(Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8)) & 0xff));
    writeFileSync(join(root, 'sized.bin'), bytes);
    const get = async (headers: Record<string, string>, options?: SendFileOptions): Promise<Buffer> => {
      server.handler = file('sized.bin', options);
      const sent = request({ host: '127.0.0.1', port: server.port, agent: false, headers }).end();
      const [res] = (await once(sent, 'response')) as [IncomingMessage];
      const got = await buffer(res);
      expect(Number(res.headers['content-length'])).toBe(got.length);
      return got;
    };
    expect((await get({})).equals(bytes)).toBe(true);
    if (size < 2) return;
    expect((await get({ Range: `bytes=1-${size - 2}` })).equals(bytes.subarray(1, size - 1))).toBe(true);
    expect((await get({ Range: 'bytes=-1' })).equals(bytes.subarray(size - 1))).toBe(true);
    expect((await get({}, { start: 1, end: 65_536 })).equals(bytes.subarray(1, 65_537))).toBe(true);
  });

  it.each([
    { start: 10, end: 5 }, { start: -1 }, { start: -2, end: 3 }, { start: 0.5 }, { start: NaN }, { end: -1 }, { end: 0.5 }, { start: '1' as unknown as number }, { start: 2 ** 60 },
  ])('a part that is none throws: %j', async (part) => {
    const { body } = await server.answer((_, res) => {
      expect(() => res.sendFile('a.txt', { root, ...part })).toThrow(TypeError);
      res.end('alive');
    });
    expect(body).toBe('alive');
  });

  it.each([['a.txt', TEXT], ['large.bin', 'x'.repeat(LARGE)], ['empty.txt', '']])('middleware may add to %s, and to its length', async (name, text) => {
    const added = '<script src="reload.js"></script>';
    for (const length of ['longer', 'none']) {
      const answer = await server.answer((_, res) => {
        const { setHeader, end } = res;
        res.setHeader = (field, value) => {
          if (field.toLowerCase() !== 'content-length') return setHeader.call(res, field, value);
          return length === 'none' ? res : setHeader.call(res, field, Number(value) + added.length);
        };
        res.end = ((chunk?: Buffer) => {
          if (chunk !== undefined) res.write(chunk);
          return (end as (last: string) => Response).call(res, added);
        }) as never;
        res.sendFile(name, { root });
      });
      expect(answer.status).toBe(200);
      expect(answer.body === text + added).toBe(true);
    }
  });

  it('of an empty file that has grown since it was looked at no byte is sent', async () => {
    const path = join(root, 'grows.txt');
    writeFileSync(path, '');
    const { stat } = fs;
    const grown = jest.spyOn(fs, 'stat').mockImplementation(((name: string, done: (error: Error | null, stats: Stats) => void) => {
      stat(name, (error, stats) => {
        writeFileSync(path, 'grown');
        done(error, stats);
      });
    }) as unknown as typeof fs.stat);
    const written: unknown[] = [];
    try {
      const { status, headers } = await server.answer((_, res) => {
        const { write } = res;
        res.write = ((chunk: Buffer) => {
          written.push(chunk);
          return write.call(res, chunk, 'utf8');
        }) as never;
        res.sendFile('grows.txt', { root });
      });
      expect([status, headers['content-length'], written]).toEqual([200, '0', []]);
    } finally {
      grown.mockRestore();
      rmSync(path);
    }
  });

  it('a part behind the end of the file is empty', async () => {
    const { status, body, headers } = await server.answer(file('a.txt', { start: 100 }));
    expect([status, body, headers['content-length']]).toEqual([200, '', '0']);
  });

  it('a head that Node refuses is an error like others', async () => {
    const { status } = await server.answer((_req, res) => {
      res.statusMessage = 'Größe €';
      res.sendFile('a.txt', { root }, (error) => {
        res.statusMessage = '';
        res.status(error === undefined ? 200 : 500).end();
      });
    });
    expect(status).toBe(500);
  });

  it('sends the bytes of a Content-Disposition as a pipe does', async () => {
    for (const name of ['a.txt', 'large.bin']) {
      server.handler = (_, res) => {
        res.setHeader('Content-Disposition', 'inline; filename="\u00e9\u00c3\u00a9.txt"');
        res.sendFile(name, { root });
      };
      const sent = request({ host: '127.0.0.1', port: server.port, agent: false }).end();
      const [res] = (await once(sent, 'response')) as [IncomingMessage];
      expect(res.headers['content-disposition']).toBe('inline; filename="\u00e9\u00c3\u00a9.txt"');
      res.destroy();
    }
  });

  it('a part is read whole from a file system that answers less than is asked for, up to the end of the file', async () => {
    const original = fs.read;
    jest.spyOn(fs, 'read').mockImplementation(((descriptor: number, bytes: Buffer, offset: number, length: number, position: number, done: () => void) => {
      original(descriptor, bytes, offset, Math.min(length, 7), position, done);
    }) as unknown as typeof original);
    const part = (start: number, length: number): Promise<string> => new Promise((resolve, reject) => {
      readPart(join(root, 'a.txt'), start, length, false, (error, bytes) => (error === null ? resolve(bytes.toString()) : reject(error)));
    });
    expect(await part(4, 20)).toBe(TEXT.slice(4, 24));
    expect(await part(4, 200)).toBe(TEXT.slice(4));
    expect(await part(400, 2)).toBe('');
    jest.restoreAllMocks();
  });

  it.each(['write', 'end'] as const)('writes by a %s that was replaced, as a pipe does', async (method) => {
    const seen: string[] = [];
    const { body } = await server.answer((req, res) => {
      const original = res[method];
      res[method] = function (this: Response, chunk?: unknown, ...rest: unknown[]) {
        seen.push(`${method} ${chunk === undefined ? 'nothing' : String(chunk)}`);
        return Reflect.apply(original, this, [chunk, ...rest]) as never;
      } as never;
      void file('a.txt')(req, res);
    });
    expect(body).toBe(TEXT);
    expect(seen).toEqual([method === 'write' ? `write ${TEXT}` : 'end nothing']);
  });

  it('is none for what is no regular file: to open a pipe holds a thread until somebody writes', async () => {
    execFileSync('mkfifo', [join(root, 'pipe')]);
    expect(await server.answer(file('pipe'))).toMatchObject({ status: 404, body: 'EFTYPE' });
  });

  describe('what is found beneath the root', () => {
    const looks = (): jest.SpiedFunction<typeof realpath.native> => jest.spyOn(realpath, 'native');

    afterEach(() => {
      jest.restoreAllMocks();
    });

    it('is not looked for again while it is the same file', async () => {
      writeFileSync(join(root, 'once.txt'), TEXT);
      const looked = looks();
      for (let i = 0; i < 3; i++) expect((await server.answer(file('once.txt'))).body).toBe(TEXT);
      expect(looked).toHaveBeenCalledTimes(1);
      writeFileSync(join(root, 'once.txt'), 'changed');
      expect((await server.answer(file('once.txt'))).body).toBe('changed');
      expect(looked).toHaveBeenCalledTimes(2);
    });

    it('is looked for again after a second: what stands above it leaves no trace on it', async () => {
      const now = performance.now();
      const clock = jest.spyOn(performance, 'now').mockReturnValue(now);
      mkdirSync(join(root, 'above'));
      writeFileSync(join(root, 'above/a.txt'), TEXT);
      expect((await server.answer(file('above/a.txt'))).status).toBe(200);
      renameSync(join(root, 'above'), join(tree, 'above'));
      symlinkSync(join(tree, 'above'), join(root, 'above'));
      clock.mockReturnValue(now + 1001);
      expect((await server.answer(file('above/a.txt'))).status).toBe(403);
    });

    it('is looked for again when a link stands in its place, though to the very file', async () => {
      const inside = join(root, 'moved.txt');
      writeFileSync(inside, TEXT);
      expect((await server.answer(file('moved.txt'))).status).toBe(200);
      renameSync(inside, join(tree, 'moved.txt'));
      symlinkSync(join(tree, 'moved.txt'), inside);
      expect((await server.answer(file('moved.txt'))).status).toBe(403);
      rmSync(inside);
      symlinkSync(join(tree, 'secret.txt'), inside);
      expect((await server.answer(file('moved.txt'))).status).toBe(403);
    });

    it('is looked for anew beneath a root that has become another', async () => {
      const [one, other, current] = ['release-1', 'release-2', 'release'].map((name) => join(tree, name)) as [string, string, string];
      for (const directory of [one, other]) {
        mkdirSync(directory);
        writeFileSync(join(directory, 'a.txt'), directory);
      }
      symlinkSync(one, current);
      expect((await server.answer(file('a.txt', { root: current }))).body).toBe(one);
      rmSync(current);
      symlinkSync(other, current);
      expect((await server.answer(file('a.txt', { root: current }))).body).toBe(other);
    });

    it('is looked for anew beneath a relative root once the process is in another directory', async () => {
      const before = process.cwd();
      mkdirSync(join(root, 'deep'));
      symlinkSync(join(root, 'a.txt'), join(root, 'deep/up.txt'));
      try {
        process.chdir(root);
        expect((await server.answer(file('deep/up.txt', { root: '.' }))).body).toBe(TEXT);
        process.chdir('deep');
        expect((await server.answer(file('up.txt', { root: '.' }))).status).toBe(403);
      } finally {
        process.chdir(before);
      }
    });

    it('is looked for beneath each root that is given', async () => {
      const looked = looks();
      for (const given of [root, tree, root, tree]) {
        expect((await server.answer(file(given === root ? 'dir/index.html' : 'public/dir/index.html', { root: given }))).status).toBe(200);
      }
      expect(looked).toHaveBeenCalledTimes(4);
    });
  });

  describe('what is in a small file', () => {
    let now: number;
    let later: jest.SpiedFunction<typeof performance.now>;
    let opened: jest.SpiedFunction<typeof fs.open>;

    /** A clock that has a file written just now be of an hour ago. */
    function age(): void {
      const { now: today } = Date;
      jest.spyOn(Date, 'now').mockImplementation(() => today() + 3_600_000);
    }

    beforeEach(() => {
      now = Math.ceil(performance.now());
      later = jest.spyOn(performance, 'now').mockReturnValue(now);
      opened = jest.spyOn(fs, 'open');
    });

    afterEach(() => {
      jest.restoreAllMocks();
    });

    it('is read no more once it was asked for twice, and again after a second', async () => {
      age();
      writeFileSync(join(root, 'often.txt'), TEXT);
      for (const [after, times] of [[0, 1], [0, 2], [999, 2], [999, 2], [1000, 3], [1000, 4], [1000, 4]] as const) {
        later.mockReturnValue(now + after);
        const { body, headers } = await server.answer(file('often.txt'));
        expect([body, headers['content-length'], opened.mock.calls.length]).toEqual([TEXT, String(TEXT.length), times]);
      }
    });

    it('is sent in parts too, and the file is looked at for each', async () => {
      age();
      writeFileSync(join(root, 'parts.txt'), TEXT);
      const looked = jest.spyOn(fs, 'stat');
      for (const [start, end] of [[0, undefined], [0, undefined], [4, undefined], [4, 8], [0, 0], [TEXT.length - 1, 1000]] as const) {
        const { body } = await server.answer(file('parts.txt', { start, ...(end !== undefined && { end }) }));
        expect(body).toBe(TEXT.slice(start, end === undefined ? undefined : end + 1));
      }
      const { body } = await server.answer(file('parts.txt'), { headers: { Range: 'bytes=4-8' } });
      expect(body).toBe('quick');
      expect(opened).toHaveBeenCalledTimes(2);
      expect(looked).toHaveBeenCalledTimes(7);
    });

    it('is not kept of a part', async () => {
      age();
      writeFileSync(join(root, 'part.txt'), TEXT);
      for (let i = 0; i < 3; i++) expect((await server.answer(file('part.txt', { end: 8 }))).body).toBe('The quick');
      expect((await server.answer(file('part.txt'))).body).toBe(TEXT);
      expect(opened).toHaveBeenCalledTimes(4);
    });

    it.each([
      ['changed in its place', (path: string) => {
        const { ctimeMs } = statSync(path);
        // Until the file system's clock has moved on.
        do writeFileSync(path, 'THE');
        while (statSync(path).ctimeMs === ctimeMs);
      }],
      ['replaced', (path: string) => {
        writeFileSync(`${path}.new`, 'THE');
        renameSync(`${path}.new`, path);
      }],
      ['a link to another', (path: string) => {
        rmSync(path);
        symlinkSync(join(root, 'other.txt'), path);
      }],
    ])('is read anew when the file is %s, of the same length and with the same time of modification', async (_, change) => {
      age();
      const path = join(root, 'changing.txt');
      for (const name of ['changing.txt', 'other.txt']) {
        rmSync(join(root, name), { force: true });
        writeFileSync(join(root, name), name === 'other.txt' ? 'THE' : 'The');
        utimesSync(join(root, name), MODIFIED, MODIFIED);
      }
      for (let i = 0; i < 3; i++) expect((await server.answer(file('changing.txt'))).body).toBe('The');
      expect(opened).toHaveBeenCalledTimes(2);
      change(path);
      utimesSync(path, MODIFIED, MODIFIED);
      expect((await server.answer(file('changing.txt'))).body).toBe('THE');
    });

    it('is read each time while the file is younger than what file systems can tell apart', async () => {
      writeFileSync(join(root, 'young.txt'), TEXT);
      const { ctimeMs } = statSync(join(root, 'young.txt'));
      const today = jest.spyOn(Date, 'now').mockReturnValue(ctimeMs + 2000);
      for (let i = 0; i < 3; i++) expect((await server.answer(file('young.txt'))).body).toBe(TEXT);
      expect(opened).toHaveBeenCalledTimes(3);
      today.mockReturnValue(ctimeMs + 2001);
      for (let i = 0; i < 3; i++) expect((await server.answer(file('young.txt'))).body).toBe(TEXT);
      expect(opened).toHaveBeenCalledTimes(4);
    });
  });
});
