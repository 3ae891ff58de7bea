import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import bodyParser from 'body-parser';
import multer from 'multer';
import { createServer, type Request, signRequest } from 'waypost';
import { MULTIPART, multipart } from '../support/multipart';
import { noise } from '../support/noise';
import { portOf, Running } from '../support/running';
import { ask, head, post, Wire } from '../support/wire';

/** Readers as programs have them; each answers all bytes that it got. */
const READERS: Record<string, (req: Request) => Promise<Buffer>> = {
  'data and end': (req) => new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => resolve(Buffer.concat(chunks))).on('error', reject);
  }),
  'data and end, a turn of the event loop later': async (req) => {
    await new Promise((resolve) => void setImmediate(resolve));
    return (READERS['data and end'] as (req: Request) => Promise<Buffer>)(req);
  },
  pipe: (req) => buffer(req.pipe(new PassThrough())),
  pipeline: async (req) => {
    const through = new PassThrough();
    const [bytes] = await Promise.all([buffer(through), pipeline(req, through)]);
    return bytes;
  },
  'for await': async (req) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  },
  'for await, after a wait of several turns': async (req) => {
    for (let i = 0; i < 5; i++) await new Promise((resolve) => void setImmediate(resolve));
    return buffer(req);
  },
  'readable and read()': (req) => new Promise((resolve) => {
    const chunks: Buffer[] = [];
    req.on('readable', () => {
      for (let chunk: Buffer | null; (chunk = req.read() as Buffer | null) !== null;) chunks.push(chunk);
    }).on('end', () => resolve(Buffer.concat(chunks)));
  }),
  'read(n)': (req) => new Promise((resolve) => {
    const chunks: Buffer[] = [];
    req.on('readable', () => {
      for (let chunk: Buffer | null; (chunk = (req.read(1009) ?? req.read()) as Buffer | null) !== null;) chunks.push(chunk);
    }).on('end', () => resolve(Buffer.concat(chunks)));
  }),
  'pause and resume': async (req) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      req.pause();
      setImmediate(() => req.resume());
    });
    await once(req, 'end');
    return Buffer.concat(chunks);
  },
  'setEncoding': async (req) => {
    let text = '';
    req.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    await once(req, 'end');
    return Buffer.from(text, 'latin1');
  },
  'toArray': async (req) => Buffer.concat((await (req as unknown as { toArray(): Promise<Buffer[]> }).toArray())),
};

interface Body {
  readonly bytes: Buffer;
  readonly type: string;
  readonly coding?: string;
}

const JSON_TEXT = Buffer.from(JSON.stringify({ text: Array.from({ length: 3000 }, (_, index) => `Größe ${index} `).join('') }));

const BODIES: Record<string, Body> = {
  'JSON': { bytes: JSON_TEXT, type: 'application/json' },
  'JSON of one byte': { bytes: Buffer.from('7'), type: 'application/json' },
  '+json': { bytes: JSON_TEXT, type: 'application/vnd.api+json; charset=utf-8' },
  'a form': { bytes: Buffer.from('a=1&b=%C3%A9'), type: 'application/x-www-form-urlencoded' },
  'text': { bytes: Buffer.from([0x61, 0xe9, 0x00, 0xff]), type: 'text/plain; charset=latin1' },
  'gzip': { bytes: gzipSync(JSON_TEXT), type: 'application/json', coding: 'gzip' },
  'deflate': { bytes: deflateSync(JSON_TEXT), type: 'application/json', coding: 'deflate' },
  'br': { bytes: brotliCompressSync(JSON_TEXT), type: 'application/json', coding: 'br' },
  'a form with a file': { bytes: multipart([['a', '1'], ['file', noise(100_000), 'f.bin']]), type: MULTIPART },
  'bytes': { bytes: noise(300_000), type: 'application/octet-stream' },
  'no type': { bytes: noise(1000), type: '' },
  'JSON up to the limit': { bytes: Buffer.from(JSON.stringify('x'.repeat(1_048_574))), type: 'application/json' },
};

/** What waypost refuses before a route, so that only middleware reads it. */
const REFUSED: Record<string, Body> = {
  'malformed JSON': { bytes: Buffer.from('{"a":'), type: 'application/json' },
  'an unknown coding': { bytes: noise(1000), type: 'application/json', coding: 'compress' },
  'JSON over the limit': { bytes: Buffer.from(JSON.stringify('x'.repeat(2_000_000))), type: 'application/json' },
  'far over the limit': { bytes: noise(3_000_000), type: 'text/plain' },
};

const SECRET = 'an example secret, 32 bytes or more';
const running = new Running();
let port: number;
let signedPort: number;

beforeAll(async () => {
  const app = createServer({ logging: { level: 'silent' } });
  const signed = createServer({ logging: { level: 'silent' }, security: { requestSignature: { secret: SECRET } } });
  const readers = Object.values(READERS);
  for (const [i, read] of Object.values(READERS).entries()) {
    // A route, whose body is captured and parsed; middleware above a route, above none.
    app.post(`/route/${i}`, async (req, res) => res.send(await read(req)));
    app.use(`/above/${i}`, async (req, res) => void res.send(await read(req)));
    app.post(`/above/${i}`, (_req, res) => res.sendStatus(500));
    app.use(`/bare/${i}`, async (req, res) => void res.send(await read(req)));
    // The signature check has read it first, whatever its type.
    signed.post(`/route/${i}`, async (req, res) => res.send(await read(req)));
    signed.use(`/bare/${i}`, async (req, res) => void res.send(await read(req)));
  }
  for (const one of [app, signed]) {
    one.fallback((req, res) => {
      const read = readers[Number(req.url?.split('/')[2])] as (req: Request) => Promise<Buffer>;
      return read(req as Request).then((bytes) => res.end(bytes));
    });
  }
  port = await running.start(app);
  signedPort = await running.start(signed);
});

afterAll(() => running.close());

/** Sends a body with its length, and in chunks that break it at odd places. */
async function* sendings(path: string, { bytes, type, coding }: Body, signed = false): AsyncGenerator<Buffer> {
  const at = signed ? signedPort : port;
  const proof = signed ? signRequest({ secret: SECRET, method: 'POST', url: path, body: bytes }) : {};
  const headers: Record<string, string> = { connection: 'close', ...proof, ...(type === '' ? {} : { 'content-type': type }), ...(coding === undefined ? {} : { 'content-encoding': coding }) };
  yield (await ask(at, path, { method: 'POST', body: bytes, headers: { ...headers, 'content-length': String(bytes.length) } })).bytes;

  const wire = await Wire.open(at);
  wire.write(head(`POST ${path}`, { ...headers, 'transfer-encoding': 'chunked' }));
  const step = Math.max(1, Math.ceil(bytes.length / 5));
  for (let from = 0; from < bytes.length; from += step) {
    const chunk = bytes.subarray(from, from + step);
    wire.write(Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]));
    await wire.flushed();
  }
  wire.write('0\r\n\r\n');
  await wire.end;
  yield Buffer.from(wire.text.slice(wire.text.indexOf('\r\n\r\n') + 4), 'latin1');
}

/** Sends it to all of the paths at once. */
async function expectWhole(paths: readonly string[], body: Body, signed = false): Promise<void> {
  const wrong = await Promise.all(paths.map(async (path) => {
    let sent = 0;
    for await (const received of sendings(path, body, signed)) if (received.equals(body.bytes)) sent++;
    return sent === 2 ? [] : path;
  }));
  expect(wrong.flat()).toEqual([]);
}

describe.each(Object.keys(READERS).map((name, i) => [name, i] as const))('a body read by %s', (_name, i) => {
  test.each(Object.entries(BODIES))('is whole: %s', async (_what, body) => {
    await expectWhole(['route', 'above', 'bare', 'fallback'].map((place) => `/${place}/${i}`), body);
  });

  test.each(Object.entries(BODIES))('is whole after its signature was checked: %s', async (_what, body) => {
    await expectWhole(['route', 'bare', 'fallback'].map((place) => `/${place}/${i}`), body, true);
  });

  test.each(Object.entries(REFUSED))('is whole for middleware: %s', async (_what, body) => {
    await expectWhole(['above', 'bare', 'fallback'].map((place) => `/${place}/${i}`), body);
  });

  test('is at its end at once where there is none', async () => {
    for (const method of ['GET', 'POST']) {
      const { status, bytes } = await ask(port, `/bare/${i}`, { method });
      expect([status, bytes.length]).toEqual([200, 0]);
    }
  });
});

/** Off the wire the end of a body may come in a later turn than its bytes, and programs get by on that. */
const LATE_LISTENERS: Record<string, (req: Request) => Promise<unknown>> = {
  'promises': async (req) => {
    req.on('data', () => undefined);
    for (let i = 0; i < 3; i++) await null;
    await once(req, 'end');
  },
  'a tick': async (req) => {
    req.on('data', () => undefined);
    await new Promise<void>((resolve) => process.nextTick(resolve));
    await once(req, 'end');
  },
  'the bytes': async (req) => {
    await once(req, 'data');
    await once(req, 'end');
  },
  'one read()': async (req) => {
    req.read();
    await once(req, 'end');
  },
  'one read() of what is readable': async (req) => {
    await once(req, 'readable');
    req.read();
    await once(req, 'end');
  },
  'one read() by who listens once': async (req) => {
    req.once('readable', () => void req.read());
    await once(req, 'end');
  },
  'a pause': async (req) => {
    req.on('data', () => req.pause());
    await once(req, 'pause');
    for (let i = 0; i < 3; i++) await new Promise((resolve) => void setImmediate(resolve));
    expect(req.readableEnded).toBe(false);
    req.resume();
    await once(req, 'end');
  },
};

describe('a reader that listens for the end of a parsed body', () => {
  test.each(Object.keys(LATE_LISTENERS))('only after %s hears it', async (what) => {
    const app = createServer({ logging: { level: 'silent' } });
    app.post('/', async (req, res) => {
      await (LATE_LISTENERS[what] as (req: Request) => Promise<unknown>)(req);
      res.send('ended');
    });
    const own = await running.start(app);
    for (const body of ['7', JSON_TEXT]) expect((await post(own, '/', body)).body).toBe('ended');
  });
});

describe('parsers on top of a body that waypost has parsed', () => {
  test('find it as it was sent', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    const upload = multer();
    app.post('/json', bodyParser.json(), (req, res) => res.json(req.body));
    app.post('/raw', bodyParser.raw({ type: () => true, inflate: false, limit: '1mb' }), (req, res) => res.send(req.body as Buffer));
    app.post('/multer', upload.any() as never, (req, res) => res.json([req.body, (req as unknown as { files: { size: number }[] }).files.map(({ size }) => size)]));
    app.post('/twice', (req, _res, next) => void req.on('data', () => undefined).on('end', () => next()), (req, res) => res.json(req.body));
    const own = await running.start(app);

    expect((await post(own, '/json', JSON_TEXT)).bytes.equals(JSON_TEXT)).toBe(true);
    for (const { bytes, type } of [BODIES['JSON'], BODIES['a form'], BODIES['text'], BODIES['bytes']] as Body[]) {
      expect((await post(own, '/raw', bytes, type)).bytes.equals(bytes)).toBe(true);
    }
    expect((await post(own, '/multer', multipart([['a', '1'], ['f', Buffer.alloc(50_000), 'f']]), MULTIPART)).json).toEqual([{ a: '1' }, [50_000]]);
    // Read by hand first: the parsed body is there all the same.
    expect((await post(own, '/twice', JSON_TEXT)).bytes.equals(JSON_TEXT)).toBe(true);
  });

  test('are not waited for by the next request on the connection', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    app.post('/', (_req, res) => res.send('unread'));
    app.put('/', (req, res) => void req.once('data', () => res.send('half read')));
    const server = await app.start(0, '127.0.0.1');
    const wire = await Wire.open(portOf(server));
    for (const method of ['POST', 'PUT', 'POST']) {
      wire.write(head(`${method} /`, { 'content-type': 'application/json', 'content-length': JSON_TEXT.length })).write(JSON_TEXT);
    }
    await wire.until(/unread[^]*half read[^]*unread/);
    wire.cut();
    await app.close({ timeout: 0 });
  });
});
