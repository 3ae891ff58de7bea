import fs, { mkdtempSync, rmSync, type Stats, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KnownFile, KnownFiles } from '../lib/http/file/known-files';

const TEXT = 'The quick brown fox jumps over the lazy dog\n';

let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'waypost-'));
  writeFileSync(join(root, 'a.txt'), TEXT);
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('what is known of files', () => {
  const stats = (): Stats => ({ ...statSync(join(root, 'a.txt')), ctimeMs: 0 }) as Stats;

  it('is kept in mind for a thousand of them, and for none without a number', () => {
    const files = new KnownFiles();
    const first = files.find('0', stats());
    for (let i = 1; i < 1000; i++) files.find(String(i), stats());
    expect(files.find('0', stats())).toBe(first);
    files.find('1000', stats());
    expect(files.find('0', stats())).not.toBe(first);
    for (const ino of [0, 2 ** 53]) {
      const given = { ...stats(), ino } as Stats;
      expect(files.find('none', given)).not.toBe(files.find('none', given));
    }
  });

  it.each(['ino', 'dev', 'size', 'ctimeMs', 'mtimeMs'] as const)('is forgotten when its %s is another', (name) => {
    const files = new KnownFiles();
    const first = files.find('a', stats());
    const other = { ...stats(), [name]: stats()[name] + 1 } as Stats;
    expect(files.find('a', stats())).toBe(first);
    const second = files.find('a', other);
    expect(second).not.toBe(first);
    expect(files.find('a', other)).toBe(second);
  });

  describe('holds', () => {
    let files: KnownFiles;
    const path = (name: number | string): string => join(root, `held-${name}`);
    const SIZE = 65_536;

    /** Has it read that often at once, as a file that was asked for before. */
    async function read(name: number | string, { times = 1, start = 0, given = statSync(path(name)) } = {}): Promise<KnownFile> {
      files.find(path(name), given);
      const known = files.find(path(name), given);
      await Promise.all(Array.from({ length: times }, () => new Promise((done) => {
        files.read(path(name), known, start, given.size, done);
      })));
      return known;
    }

    beforeEach(() => {
      files = new KnownFiles();
      const today = Date.now();
      jest.spyOn(Date, 'now').mockReturnValue(today + 3_600_000);
    });

    afterEach(() => {
      jest.restoreAllMocks();
    });

    it('a file that is read whole, and none of which a part is', async () => {
      writeFileSync(path('a'), TEXT);
      expect((await read('a')).bytes?.toString()).toBe(TEXT);
      files = new KnownFiles();
      expect((await read('a', { start: 4 })).bytes).toBeUndefined();
    });

    it('no file that is another by the time it is read, though the first is back in its place', async () => {
      writeFileSync(path('a'), 'The');
      writeFileSync(path('b'), 'One');
      symlinkSync(path('a'), path('link'));
      const given = statSync(path('link'));
      const { open } = fs;
      for (const target of ['b', 'a']) {
        jest.spyOn(fs, 'open').mockImplementationOnce(((...args: Parameters<typeof open>) => {
          rmSync(path('link'));
          symlinkSync(path(target), path('link'));
          open(...args);
        }) as typeof open);
        const known = await read('link', { given });
        expect(known.bytes?.toString()).toBe(target === 'a' ? 'The' : undefined);
      }
    });

    it('no file that can not be read', async () => {
      writeFileSync(path('a'), TEXT);
      const given = statSync(path('a'));
      files.find(path('a'), given);
      jest.spyOn(fs, 'read').mockImplementationOnce(((...args: unknown[]) => (args.at(-1) as (error: Error) => void)(new Error('EIO'))) as unknown as typeof fs.read);
      const error = await new Promise((done) => {
        files.read(path('a'), files.find(path('a'), given), 0, TEXT.length, done);
      });
      expect(error).toEqual(new Error('EIO'));
    });

    it('no file whose time of change or of modification is young', async () => {
      writeFileSync(path('a'), 'The');
      const given = statSync(path('a'));
      for (const [ctimeMs, mtimeMs, holds] of [[0, 0, true], [Date.now(), 0, false], [0, Date.now(), false]] as const) {
        files = new KnownFiles();
        const looks = { ...given, ctimeMs, mtimeMs } as Stats;
        jest.spyOn(fs, 'fstat').mockImplementationOnce(((_: number, done: (error: null, stats: Stats) => void) => done(null, looks)) as unknown as typeof fs.fstat);
        expect((await read('a', { given: looks })).bytes?.toString()).toBe(holds ? 'The' : undefined);
        jest.mocked(fs.fstat).mockRestore();
      }
    });

    it('four megabytes at most, each file once, and none that is forgotten', async () => {
      // All within the second for which a file is known.
      jest.spyOn(performance, 'now').mockReturnValue(performance.now());
      for (let i = 0; i <= 64; i++) writeFileSync(path(i), Buffer.alloc(SIZE));
      for (let i = 0; i < 64; i++) {
        // What is known under another identity is forgotten when this one is looked for.
        const given = statSync(path(i));
        const former = { ...given, dev: given.dev + 1 } as Stats;
        files.find(path(i), former);
        const forgotten = files.find(path(i), former);
        jest.spyOn(fs, 'fstat').mockImplementationOnce(((_: number, done: (error: null, stats: Stats) => void) => done(null, former)) as unknown as typeof fs.fstat);
        const unread = new Promise((done) => {
          files.read(path(i), forgotten, 0, SIZE, done);
        });
        files.find(path(i), given);
        await unread;
        jest.mocked(fs.fstat).mockRestore();
        expect(forgotten.bytes).toBeUndefined();
        expect((await read(i, { times: 2 })).bytes).toHaveLength(SIZE);
      }
      expect((await read(64)).bytes).toBeUndefined();
      writeFileSync(path(63), Buffer.alloc(SIZE, 'x'));
      expect((await read(63)).bytes?.toString('utf8', 0, 3)).toBe('xxx');
      expect((await read(0)).bytes).toHaveLength(SIZE);
      writeFileSync(path(63), TEXT);
      expect((await read(63)).bytes).toHaveLength(TEXT.length);
      expect((await read(64)).bytes).toBeUndefined();
    });

    it('nothing after a second that nobody asked', async () => {
      jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'setImmediate', 'queueMicrotask'] });
      try {
        writeFileSync(path('a'), TEXT);
        const first = await read('a');
        expect(first.bytes).toHaveLength(TEXT.length);
        jest.advanceTimersByTime(600);
        writeFileSync(path('b'), TEXT);
        const second = await read('b');
        expect(jest.getTimerCount()).toBe(1);
        jest.advanceTimersByTime(400);
        expect(jest.getTimerCount()).toBe(1);
        expect(files.find(path('b'), statSync(path('b')))).toBe(second);
        expect(files.find(path('a'), statSync(path('a')))).not.toBe(first);
        jest.advanceTimersByTime(1000);
        expect(jest.getTimerCount()).toBe(0);
        await read('b');
        expect(jest.getTimerCount()).toBe(1);
      } finally {
        jest.useRealTimers();
      }
    });
  });
});
