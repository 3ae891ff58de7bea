import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib';
import compression from 'compression';
import theirs from 'express';
import fc from 'fast-check';
import { express, static as serve } from 'waypost';
import { Folder } from './support/folder';
import { Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();
const folder = new Folder();
const TEXT = 'console.log("a file that may be compressed");\n'.repeat(200);

beforeAll(() => {
  for (const name of ['app.js', 'index.html', 'sub/index.html', 'plain.css']) folder.add(name, TEXT);
  for (const name of ['app.js', 'index.html']) {
    writeFileSync(join(folder.path, `${name}.br`), brotliCompressSync(TEXT));
    writeFileSync(join(folder.path, `${name}.gz`), gzipSync(TEXT));
  }
  writeFileSync(join(folder.path, 'app.js.zst'), 'for a client that takes zstd');
  folder.add('only.txt.br', 'of no file');
});

afterAll(() => folder.close());
afterEach(() => running.close());

const start = (options: Parameters<typeof serve>[1] = { precompressed: ['zstd', 'br', 'gzip'] }): Promise<number> => running.app((app) => app.use(serve(folder.path, options)));

const coding = async (port: number, path: string, accept?: string): Promise<unknown> => {
  const { status, headers } = await ask(port, path, { headers: accept === undefined ? {} : { 'accept-encoding': accept } });
  return status === 200 ? headers['content-encoding'] ?? 'none' : status;
};

describe('precompressed', () => {
  test('sends what the client likes best, with the type of the file, its own tag, and Vary', async () => {
    const port = await start();
    const { headers, bytes } = await ask(port, '/app.js', { headers: { 'accept-encoding': 'gzip, br' } });
    expect([headers['content-type'], headers['content-encoding'], headers.vary, headers['content-length'], brotliDecompressSync(bytes).toString()]).toEqual(['text/javascript; charset=utf-8', 'br', 'Accept-Encoding', String(bytes.length), TEXT]);
    const plain = await ask(port, '/app.js');
    expect([plain.headers['content-encoding'], plain.headers.vary, plain.body, plain.headers.etag === headers.etag]).toEqual([undefined, 'Accept-Encoding', TEXT, false]);
    expect((await ask(port, '/app.js', { headers: { 'accept-encoding': 'br', 'if-none-match': String(headers.etag) } })).status).toBe(304);
  });

  test('goes by q-values, and of codings alike by the order of the list', async () => {
    const port = await start();
    const sent: unknown[] = [];
    for (const accept of [undefined, '', 'identity', 'gzip', 'gzip, br', 'br;q=0.1, gzip;q=0.2', 'zstd, br', '*', 'gzip;q=0', 'br;q=0, *', 'identity, gzip;q=0.5', 'gzip;q=0.5', 'x-gzip', 'deflate']) sent.push(await coding(port, '/app.js', accept));
    expect(sent).toEqual(['none', 'none', 'none', 'gzip', 'br', 'gzip', 'zstd', 'zstd', 'none', 'zstd', 'none', 'gzip', 'none', 'none']);
  });

  test('whatever the client says, a coding is sent that it takes', async () => {
    const port = await start({ precompressed: ['br', 'gzip'] });
    const entry = fc.record({ name: fc.constantFrom('br', 'gzip', 'identity', '*', 'zstd'), q: fc.constantFrom('', ';q=0', ';q=0.5', ';q=1') });
    await fc.assert(fc.asyncProperty(fc.uniqueArray(entry, { selector: ({ name }) => name }), async (entries) => {
      const q = (name: string): number => {
        const found = entries.find((each) => each.name === name) ?? (name === 'identity' ? undefined : entries.find((each) => each.name === '*'));
        return found === undefined ? 0 : Number(found.q.slice(3) || 1);
      };
      const sent = await coding(port, '/app.js', entries.map((each) => each.name + each.q).join(', '));
      if (sent === 'none') expect(Math.max(q('br'), q('gzip'))).toBeLessThanOrEqual(entries.some(({ name }) => name === 'identity') ? q('identity') : 0);
      else expect(q(String(sent))).toBe(Math.max(q('br'), q('gzip')));
    }), { numRuns: 100 });
  });

  test('sends an index, a file without variants, and a variant of no file', async () => {
    const port = await start();
    const sent: unknown[] = [];
    for (const path of ['/', '/sub/', '/sub', '/plain.css', '/none.js', '/only.txt', '/app.js.br']) sent.push(await coding(port, path, 'br'));
    expect(sent).toEqual(['br', 'none', 301, 'none', 404, 'br', 'none']);
  });

  test('ranges are of the bytes that are sent', async () => {
    const port = await start();
    const { status, headers, bytes } = await ask(port, '/app.js', { headers: { 'accept-encoding': 'gzip', 'range': 'bytes=2-5' } });
    const whole = readFileSync(join(folder.path, 'app.js.gz'));
    expect([status, headers['content-range'], headers['content-encoding'], bytes]).toEqual([206, `bytes 2-5/${whole.length}`, 'gzip', whole.subarray(2, 6)]);
    expect((await ask(port, '/app.js', { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } })).headers['content-length']).toBe(String(whole.length));
  });

  test('setHeaders is told of the file that is asked for', async () => {
    const port = await start({ precompressed: ['br'], setHeaders: (res, path) => res.setHeader('X-Path', path.slice(folder.path.length)) });
    expect((await ask(port, '/app.js', { headers: { 'accept-encoding': 'br' } })).headers['x-path']).toBe('/app.js');
  });

  test('works in an application of Express', async () => {
    const port = await running.serve(theirs().use(serve(folder.path, { precompressed: ['br'] }) as unknown as theirs.Handler));
    expect([await coding(port, '/app.js', 'br'), await coding(port, '/app.js')]).toEqual(['br', 'none']);
  });

  test.each([['br'], [['deflate']], [[1]], [{}]])('throws for %j', (precompressed) => {
    expect(() => serve(folder.path, { precompressed: precompressed as never })).toThrow("static: precompressed must be an array of 'zstd', 'br' and 'gzip'");
  });

  test('without it nothing is said', async () => {
    expect((await ask(await start({}), '/app.js', { headers: { 'accept-encoding': 'br' } })).headers).not.toHaveProperty('vary');
  });
});

describe('a download that is resumed', () => {
  const large = (fill: string): string => Array.from({ length: 100_000 }, (_, i) => `${fill} ${i}`).join('\n');
  const start2 = (): Promise<number> => running.app((app) => app.get('/file', (_req, res) => res.sendFile('large.txt', { root: folder.path })).use('/dir', serve(folder.path)));

  test.each(['/file', '/dir/large.txt'])('by a strong tag, or the very date, of %s', async (path) => {
    folder.add('large.txt', large('one'));
    const port = await start2();
    const { headers } = await ask(port, path);
    const [tag, modified] = [String(headers.etag), String(headers['last-modified'])];
    expect(tag).toMatch(/^"[\da-f]+-[\da-f]+"$/);
    const statuses: number[] = [];
    for (const condition of [tag, modified, `W/${tag}`, tag.slice(0, -2) + '"', `x${tag}`, `${tag}, "other"`, '"other"', new Date(Date.parse(modified) + 1000).toUTCString(), new Date(Date.parse(modified) - 1000).toUTCString(), 'no date', '']) {
      statuses.push((await ask(port, path, { headers: { 'range': 'bytes=5-9', 'if-range': condition } })).status);
    }
    expect(statuses).toEqual([206, 206, 200, 200, 200, 200, 200, 200, 200, 200, 200]);
  });

  if (spawnSync('curl', ['--version']).status === 0) test('by curl -C: the rest of the same file, and all of one that has changed', async () => {
    folder.add('large.txt', large('one'));
    const port = await start2();
    const target = join(folder.path, 'part.bin');
    const whole = readFileSync(join(folder.path, 'large.txt'));
    const { headers } = await ask(port, '/file');
    const resume = async (): Promise<string> => {
      writeFileSync(target, whole.subarray(0, 1000));
      return new Promise((resolve) => execFile('curl', ['-s', '-C', '-', '-H', `If-Range: ${String(headers.etag)}`, '-o', target, '-w', '%{http_code} %{size_download}', `http://127.0.0.1:${port}/file`], (_error, out) => resolve(out)));
    };
    expect(await resume()).toBe(`206 ${whole.length - 1000}`);
    expect(readFileSync(target).equals(whole)).toBe(true);
    writeFileSync(join(folder.path, 'large.txt'), large('two'));
    const { mtime } = statSync(join(folder.path, 'large.txt'));
    utimesSync(join(folder.path, 'large.txt'), mtime, new Date(mtime.getTime() + 5000));
    // curl itself refuses the whole in place of the rest: it is not joined to what it has.
    expect(await resume()).toMatch(/^200 /);
    expect(readFileSync(target).length).toBe(1000);
  });

  test('a tag is weak where middleware may send other bytes', async () => {
    folder.add('large.txt', large('one'));
    const port = await running.app((app) => app.use(compression()).get('/file', (_req, res) => res.sendFile('large.txt', { root: folder.path })));
    const own = express({ logging: { level: 'silent' } });
    own.get('/file', (_req, res) => res.sendFile('large.txt', { root: folder.path }));
    expect([(await ask(port, '/file')).headers.etag, (await ask(await running.start(own), '/file')).headers.etag]).toEqual([expect.stringMatching(/^W\//), expect.stringMatching(/^"/)]);
  });
});
