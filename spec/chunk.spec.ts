import { createHash } from 'node:crypto';
import { Agent, OutgoingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Duplex, Writable } from 'node:stream';
import { Folder } from './support/folder';
import { Running } from './support/running';
import { runs } from './support/runs';
import { ask } from './support/wire';

/** What tracers, recorders and compression put themselves in the place of. */
const METHODS: readonly (readonly [object, readonly string[]])[] = [
  [OutgoingMessage.prototype, ['end', 'write', '_send', '_writeRaw']],
  [Socket.prototype, ['write', '_write', '_writev', '_writeGeneric']],
  [Duplex.prototype, ['write']],
  [Writable.prototype, ['write']],
];

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Has something see what those methods are given before they are called; answers how to undo that. */
function wrap(methods: typeof METHODS, see: (chunk: Uint8Array) => void): () => void {
  const undo: (() => void)[] = [];
  for (const [where, names] of methods) {
    for (const name of names) {
      const hadOwn = Object.hasOwn(where, name);
      const method = Reflect.get(where, name) as Method;
      Reflect.set(where, name, function (this: unknown, ...args: unknown[]) {
        for (const chunk of args.flat().flatMap(bytesOf)) see(chunk);
        return Reflect.apply(method, this, args);
      });
      undo.push(() => void (hadOwn ? Reflect.set(where, name, method) : Reflect.deleteProperty(where, name)));
    }
  }
  return () => undo.forEach((restore) => restore());
}

/** The bytes of an argument: a chunk, or one of a vector of them. */
function bytesOf(given: unknown): Uint8Array[] {
  if (given instanceof Uint8Array) return [given];
  const { chunk } = (given ?? {}) as { chunk?: unknown };
  return chunk instanceof Uint8Array ? [chunk] : [];
}

/** The library, as a program has it that loads it now. */
function loadedAnew(): typeof import('waypost') {
  // Not in isolation: what is loaded late has to be of the same registry.
  jest.resetModules();
  return jest.requireActual<typeof import('waypost')>('waypost');
}

const WAYS = ['xJson', 'json', 'send', 'buffer', 'file', 'part'] as const;
type Way = (typeof WAYS)[number];
const SIZES = [10, 700, 4000, 10_000, 60_000, 70_000, 300_000];
/** Files are few, so that they are kept in mind. */
const FILES = 7;

/** Text of that many bytes that no other client gets, in one of two alphabets. */
function textOf(client: number, size: number): string {
  const unit = `${client}${client % 2 === 0 ? '\u00e4' : '.'}`;
  return unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
}

/** Lines of a length that no limit cuts. */
function linesOf(text: string): string[] {
  return text.match(/.{1,1000}/g) as string[];
}

function sizeOf(client: number): number {
  // Large ones are few: they take most of the time.
  return SIZES[client % 50 === 0 ? Math.floor(client / 50) % SIZES.length : client % 4] as number;
}

const running = new Running();
let folder: Folder;
let restore = (): void => undefined;

beforeAll(() => {
  folder = new Folder(Object.fromEntries(SIZES.map((size, i) => [`${i}.txt`, textOf(i, size)])));
  // By then the files were not changed just now.
  const today = Date.now();
  jest.spyOn(Date, 'now').mockReturnValue(today + 3_600_000);
});
afterAll(() => {
  jest.restoreAllMocks();
  folder.close();
});
afterEach(async () => {
  restore();
  await running.close();
});

async function serve(): Promise<number> {
  const { createServer } = loadedAnew();
  const app = createServer({ env: 'test', logging: { level: 'silent' } });
  app.get('/:way/:client', (req, res) => {
    const client = Number(req.params.client);
    const text = textOf(client, sizeOf(client));
    switch (req.params.way as Way) {
      case 'xJson': return void res.xJson({ client: BigInt(client), lines: linesOf(text) });
      case 'json': return void res.json({ client, text });
      case 'send': return void res.send(text);
      case 'buffer': return void res.send(Buffer.from(text));
      case 'file': return void res.sendFile(`${client % FILES}.txt`, { root: folder.path });
      case 'part': return void res.sendFile(`${client % FILES}.txt`, { root: folder.path, start: 1, end: 8 });
    }
  });
  return running.start(app);
}

/** What the client is to get. */
function bodyOf(way: Way, client: number): string {
  const text = textOf(client, sizeOf(client));
  const file = textOf(client % FILES, SIZES[client % FILES] as number);
  switch (way) {
    case 'xJson': return JSON.stringify({ client: String(client), lines: linesOf(text) });
    case 'json': return JSON.stringify({ client, text });
    case 'send':
    case 'buffer': return text;
    case 'file': return file;
    case 'part': return Buffer.from(file).toString('utf8', 1, 9);
  }
}

describe('memory that was handed to a response', () => {
  const each = METHODS.flatMap(([where, names]) => names.map((name): [string, typeof METHODS, number] => [`the ${name} of ${where.constructor.name}`, [[where, [name]]], 200]));

  test.each<[string, typeof METHODS, number]>([['all that it goes through', METHODS, runs(400)], ...each])('is never written to again: who wrapped %s before the library was loaded may keep it', async (_, methods, clients) => {
    const kept = new Map<Uint8Array, string>();
    const hashOf = (chunk: Uint8Array): string => createHash('sha1').update(chunk).digest('base64');
    restore = wrap(methods, (chunk) => {
      if (!kept.has(chunk)) kept.set(chunk, hashOf(chunk));
    });
    const port = await serve();
    const agent = running.keep(Object.assign(new Agent({ keepAlive: true, maxSockets: 10 }), { close: (): void => agent.destroy() }));
    const wrong: string[] = [];
    for (let client = 0; client < clients; client += 50) {
      await Promise.all(Array.from({ length: 50 }, async (_, i) => {
        const way = WAYS[(client + i) % WAYS.length] as Way;
        const { body } = await ask(port, `/${way}/${client + i}`, { agent });
        if (body !== bodyOf(way, client + i)) wrong.push(`${way} ${client + i}`);
      }));
    }
    expect(wrong).toEqual([]);
    expect([...kept].filter(([chunk, hash]) => hashOf(chunk) !== hash).map(([chunk]) => Buffer.from(chunk).toString('latin1').slice(0, 200))).toEqual([]);
  });

  test('is the response\'s own: who changes it in place changes nobody else\'s answer', async () => {
    restore = wrap([[OutgoingMessage.prototype, ['end', 'write']]], (chunk) => {
      for (let i = 0; i < chunk.length; i++) chunk[i] = (chunk[i] as number) + 1;
    });
    const port = await serve();
    // But for a small file's: it is one buffer for all who ask for the file within a second.
    for (const way of WAYS.filter((name) => name !== 'file' && name !== 'part')) {
      for (const client of [1, 50, 1, 50]) {
        for (let time = 0; time < 3; time++) {
          const { bytes } = await ask(port, `/${way}/${client}`);
          const right = Buffer.from(bodyOf(way, client));
          // What is sent as text is not changed.
          const isChanged = bytes[0] !== right[0];
          expect([way, right.equals(isChanged ? bytes.map((byte) => byte - 1) : bytes)]).toEqual([way, true]);
        }
      }
    }
  });
});

describe('a body of res.xJson of one block', () => {
  test('is one write to the socket with its head, however long that is', async () => {
    const { createServer } = loadedAnew();
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    app.get('/:length', (req, res) => res.set('X-Long', `caf\u00e9${'y'.repeat(Number(req.params.length))}`).xJson([1n, 'gr\u00fc\u00dfe \u20ac', 'z'.repeat(9000)]));
    const port = await running.start(app);
    const sent: number[] = [];
    const { _writeGeneric: method } = Socket.prototype as unknown as Record<string, Method>;
    const spy = jest.spyOn(Socket.prototype as unknown as Record<string, Method>, '_writeGeneric').mockImplementation(function (this: unknown, ...args) {
      if (String((this as Socket).localPort) === String(port)) sent.push(args[0] === true ? (args[1] as { chunk: string }[]).filter(({ chunk }) => chunk.length > 0).length : 1);
      return Reflect.apply(method as Method, this, args);
    });
    for (const length of [0, 1000, 5000]) {
      const { body, headers } = await ask(port, `/${length}`);
      expect(body).toBe(JSON.stringify(['1', 'gr\u00fc\u00dfe \u20ac', 'z'.repeat(9000)]));
      expect(headers['x-long']).toBe(`caf\u00e9${'y'.repeat(length)}`);
    }
    spy.mockRestore();
    expect(sent).toEqual([1, 1, 1]);
  });

  test('is sent in chunks where the head that is written last knows of no length', async () => {
    const { createServer } = loadedAnew();
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    app.get('/', (_req, res) => {
      const { writeHead } = res;
      res.writeHead = function (this: typeof res, ...args: unknown[]) {
        this.removeHeader('Content-Length');
        return Reflect.apply(writeHead, this, args) as typeof res;
      };
      res.xJson('gr\u00fc\u00dfe'.repeat(9000));
    });
    const { body, headers } = await ask(await running.start(app), '/');
    expect([body, headers['transfer-encoding'], headers['content-length']]).toEqual([JSON.stringify('gr\u00fc\u00dfe'.repeat(9000)), 'chunked', undefined]);
  });
});
