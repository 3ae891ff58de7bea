import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { once } from 'node:events';
import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import zlib from 'node:zlib';
import { createServer, type HttpError } from 'waypost';
import { AT_ONCE as inflaterAtOnce, Inflater } from '../lib/http/body/inflate';
import { noise } from './support/noise';
import { portOf, Running } from './support/running';
import { head, post, Wire } from './support/wire';

const MIB = 1_048_576;
const AT_ONCE = 4;
const running = new Running();

afterEach(async () => {
  jest.restoreAllMocks();
  await running.close();
});

type Done = (error: Error | null, bytes: Buffer) => void;

/** Counts the bodies that Node inflates at the same time. */
function countInflating(): { most: number } {
  const seen = { most: 0 };
  let now = 0;
  const { brotliDecompress } = zlib;
  jest.spyOn(zlib, 'brotliDecompress').mockImplementation(((bytes: Buffer, options: object, done: Done) => {
    seen.most = Math.max(seen.most, ++now);
    brotliDecompress(bytes, options, (error, inflated) => {
      now--;
      done(error, inflated);
    });
  }) as never);
  return seen;
}

/** Holds what is to be inflated until it is released. */
function holdInflating(): (() => void)[] {
  const held: (() => void)[] = [];
  const { gunzip } = zlib;
  jest.spyOn(zlib, 'gunzip').mockImplementation(((bytes: Buffer, options: object, done: Done) => {
    held.push(AsyncResource.bind(() => gunzip(bytes, options, done)));
  }) as never);
  return held;
}

describe('bodies that are to be inflated at once', () => {
  test('hundreds of clients: four at a time, and every one is answered', async () => {
    const port = await running.app((app) => app.post('/', (req, res) => res.json((req.body as unknown[]).length)));
    const seen = countInflating();
    const packed = zlib.brotliCompressSync(JSON.stringify(Array.from({ length: 40_000 }, (_, index) => index)));
    const answers = await Promise.all(Array.from({ length: 300 }, () => post(port, '/', packed, 'application/json', { 'content-encoding': 'br' })));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body}`))).toEqual(new Set(['200 40000']));
    expect(seen.most).toBe(AT_ONCE);
  });

  test('one that fails leaves its place, and so does one whose listener throws', async () => {
    const inflater = new Inflater();
    const packed = zlib.gzipSync('1');
    const outcomes: string[] = [];
    const one = (raw: Buffer): Promise<void> => new Promise((resolve) => inflater.inflate({
      raw, coding: 'gzip', limit: 10, isClientGone: () => false,
      done: (error, bytes) => {
        outcomes.push(error?.code ?? bytes.toString());
        resolve();
      },
    }));
    await Promise.all([...Array.from({ length: 6 }, () => one(Buffer.from('no gzip'))), ...Array.from({ length: 6 }, () => one(packed))]);
    expect(outcomes.sort()).toEqual([...Array<string>(6).fill('1'), ...Array<string>(6).fill('MALFORMED_BODY')]);
  });

  test('zlib that throws or calls at once: each is answered once, and no place is lost', async () => {
    const port = await running.app((app) => app.post('/', (req, res) => res.json(req.body)));
    const packed = zlib.gzipSync('{"a":1}');
    const send = async (): Promise<number> => (await post(port, '/', packed, 'application/json', { 'content-encoding': 'gzip' })).status;
    const { gunzip } = zlib;
    const odd: ((bytes: Buffer, options: object, done: Done) => void)[] = [
      ...Array<() => never>(6).fill(() => {
        throw new RangeError('Array buffer allocation failed');
      }),
      ...Array<(typeof odd)[number]>(6).fill((_bytes, _options, done) => done(null, Buffer.from('{}'))),
    ];
    const fakes = [...odd];
    jest.spyOn(zlib, 'gunzip').mockImplementation(((...given: [Buffer, object, Done]) => (fakes.shift() ?? gunzip)(...(given as [Buffer, object, never]))) as never);
    const codes: number[] = [];
    for (let i = 0; i < 12; i++) codes.push(await send());
    expect(codes).toEqual([...Array<number>(6).fill(400), ...Array<number>(6).fill(200)]);
    expect(await Promise.all(Array.from({ length: 30 }, send))).toEqual(Array(30).fill(200));
    expect(fakes).toEqual([]);
  });

  test('what the next one meets keeps no answer from the one before', () => {
    const inflater = new Inflater();
    const ends: Done[] = [];
    jest.spyOn(zlib, 'gunzip').mockImplementation(((_bytes: Buffer, _options: object, done: Done) => ends.push(done)) as never);
    const heard: number[] = [];
    for (let id = 0; id <= AT_ONCE; id++) {
      inflater.inflate({
        raw: Buffer.alloc(0), coding: 'gzip', limit: 10, done: () => void heard.push(id),
        isClientGone: () => {
          throw new Error('of the next');
        },
      });
    }
    expect(() => ends[0]?.(null, Buffer.alloc(0))).toThrow('of the next');
    expect(heard).toEqual([0]);
  });

  test('a request without a socket waits like others', async () => {
    const held = holdInflating();
    const app = createServer({ logging: { level: 'silent' } });
    const heard: unknown[] = [];
    app.post('/', (req, _res, next) => {
      heard.push(req.body);
      next();
    });
    const raw = zlib.gzipSync('{"a":1}');
    const all = Array.from({ length: AT_ONCE + 1 }, () => new Promise<void>((resolve) => {
      const req = new IncomingMessage(null as never);
      Object.assign(req, { method: 'POST', url: '/', headers: { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': String(raw.length) } });
      app(req, new ServerResponse(req), () => resolve());
      req.push(raw);
      req.push(null);
    }));
    expect(held).toHaveLength(AT_ONCE);
    for (const start of held.slice()) start();
    await all[0];
    held[AT_ONCE]?.();
    await Promise.all(all);
    expect(heard).toEqual(Array(AT_ONCE + 1).fill({ a: 1 }));
  });

  test('the others wait in their order, each in its own context, and hear once', async () => {
    const inflater = new Inflater();
    const held = holdInflating();
    const context = new AsyncLocalStorage<number>();
    const heard: [number, number | undefined][] = [];
    const all = Array.from({ length: 20 }, (_, id) => new Promise<void>((resolve) => context.run(id, () => inflater.inflate({
      raw: zlib.gzipSync(String(id)), coding: 'gzip', limit: 100, isClientGone: () => false,
      done: (_error, bytes) => {
        heard.push([Number(bytes), context.getStore()]);
        resolve();
      },
    }))));
    for (let id = 0; id < 20; id++) {
      expect(held).toHaveLength(Math.min(AT_ONCE + id, 20) - id);
      held.shift()?.();
      await all[id];
    }
    expect(heard).toEqual(Array.from({ length: 20 }, (_, id) => [id, id]));
  });

  test('one whose client has gone is dropped', async () => {
    const held = holdInflating();
    const reached: unknown[] = [];
    const app = createServer({ logging: { level: 'silent' } });
    app.post('/', (req, res) => {
      reached.push(req.body);
      res.end();
    });
    const sockets: Socket[] = [];
    await running.start(app);
    app.server?.on('connection', (socket: Socket) => sockets.push(socket));
    const send = async (id: number): Promise<Wire> => {
      const packed = zlib.gzipSync(String(id));
      const wire = await Wire.open(portOf(app.server as never));
      wire.write(head('POST /', { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip', 'Content-Length': packed.length, 'Connection': 'close' }));
      wire.write(packed);
      while ((sockets[id]?.bytesRead ?? 0) === 0 || reached.length + held.length < Math.min(id + 1, AT_ONCE)) await new Promise(setImmediate);
      return wire;
    };
    const wires: Wire[] = [];
    for (let id = 0; id < AT_ONCE + 2; id++) wires.push(await send(id));
    const gone = new Promise((resolve) => sockets[AT_ONCE]?.once('close', resolve));
    wires[AT_ONCE]?.reset();
    await gone;
    for (let release = held.shift(); release !== undefined; release = held.shift()) {
      release();
      const expected = reached.length + 1;
      while (reached.length < expected) await new Promise(setImmediate);
    }
    await Promise.all(wires.map((wire) => wire.end));
    expect(reached.sort()).toEqual([0, 1, 2, 3, 5]);
  });

  test('one whose client leaves meanwhile sets no time for its handler', async () => {
    const held = holdInflating();
    const timers = jest.spyOn(global, 'setTimeout');
    const app = createServer({ logging: { level: 'silent' }, server: { handlerTimeout: 987_654 } });
    const called = new Promise((resolve) => void app.post('/', (_req, res) => resolve(res.destroyed)));
    await running.start(app);
    const connected = once(app.server as Server, 'connection') as Promise<[Socket]>;
    const packed = zlib.gzipSync('1');
    const wire = await Wire.open(portOf(app.server as never));
    const [socket] = await connected;
    wire.write(head('POST /', { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip', 'Content-Length': packed.length }));
    wire.write(packed);
    while (held.length === 0) await new Promise(setImmediate);
    const gone = new Promise((resolve) => socket.once('close', resolve));
    wire.reset();
    await gone;
    held[0]?.();
    expect(await called).toBe(true);
    expect(timers.mock.calls.filter(([, time]) => time === 987_654)).toEqual([]);
  });
});

describe('what a body may inflate to', () => {
  const codings: [string, (text: string) => Buffer][] = [
    ['gzip', (text) => zlib.gzipSync(text)],
    ['deflate', (text) => zlib.deflateSync(text)],
    ['br', (text) => zlib.brotliCompressSync(text, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } })],
  ];

  function inflated(raw: Buffer, coding: string, limit: number): Promise<[HttpError | null, number | undefined]> {
    return new Promise((resolve) => {
      new Inflater().inflate({ raw, coding, limit, isClientGone: () => false, done: (error, bytes) => resolve([error, bytes?.length]) });
    });
  }

  /** Text that comes to about so many times the length of its packed form. */
  function packedText(ratio: number, size: number): string {
    const dense = noise(Math.floor(size / ratio / 2)).toString('hex');
    return dense + ' '.repeat(size - dense.length);
  }

  test.each(codings)('%s: 200 times its length however short it is, by either way', async (coding, pack) => {
    const bytes = pack('0'.repeat(1000));
    expect(bytes.length).toBeLessThan(50);
    expect(await inflated(bytes, coding, MIB)).toEqual([null, 1000]);
    const bomb = pack('0'.repeat(20_000));
    const [error] = await inflated(bomb, coding, MIB);
    const atOnce = jest.fn();
    inflaterAtOnce.inflate({ raw: bomb, coding, limit: MIB, isClientGone: () => false, done: atOnce });
    expect(atOnce.mock.calls).toEqual([[error, bomb]]);
    expect(error).toMatchObject({ limit: 200 * bomb.length, status: 413, code: 'BODY_TOO_LARGE', message: 'The request body inflates to more than 200 times its length' });
  });

  test.each(codings)('%s: 200 times its length, and no more', async (coding, pack) => {
    for (const [ratio, passes] of [[2, true], [40, true], [90, true], [2000, false]] as const) {
      const text = packedText(ratio, MIB);
      const raw = pack(text);
      expect(text.length / raw.length < 200).toBe(passes);
      expect((await inflated(raw, coding, MIB))[0]?.code).toBe(passes ? undefined : 'BODY_TOO_LARGE');
    }
  });

  test.each(codings)('%s: the limit, where that is less', async (coding, pack) => {
    const [error] = await inflated(pack('0'.repeat(101)), coding, 100);
    expect(error).toMatchObject({ status: 413, message: 'The request body is larger than the limit' });
  });
});
