import { once } from 'node:events';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Application, createServer, type CreateServerOptions, type Request, type Response } from 'waypost';
import { ACK, asking, CANCEL, data, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, frame, FrameClient, GOAWAY, headers, PING, ping, reset, RST_STREAM, SETTINGS, settings, windowUpdate } from '../support/http2-frames';
import { LogRecorder, portOf, Running } from '../support/running';

const running = new Running();
let client: FrameClient;

afterEach(async () => {
  client.destroy();
  await running.close();
});

type ServerOptions = NonNullable<CreateServerOptions['server']>;

/** Starts an application without TLS that leaves bodies alone, and a client of frames. */
async function start(register: (app: Application) => unknown, server: ServerOptions = {}, given: Parameters<typeof FrameClient.open>[1] = []): Promise<number> {
  const port = await running.app((app) => void register(app), { body: false, server: { http2: 'cleartext', ...server } });
  client = await FrameClient.open(port, given);
  return port;
}

/** The code of a GOAWAY, once the server has ended the connection. */
async function goodbye(): Promise<number | undefined> {
  await client.closed();
  return client.frames.findLast(({ type }) => type === GOAWAY)?.payload.readUInt32BE(4);
}

/** How readers of a request fare. */
const READERS: Readonly<Record<string, (req: Request) => Promise<unknown>>> = {
  'listeners': (req) => new Promise((resolve, reject) => void req.on('data', () => undefined).on('end', () => resolve('end')).on('error', reject)),
  'a slow pipeline': (req) => pipeline(req, new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => void setImmediate(done) })),
  'for await': async (req) => {
    for await (const _ of req) await new Promise((resolve) => void setImmediate(resolve));
  },
  'a listener that pauses': (req) => new Promise((resolve, reject) => {
    req.on('end', () => resolve('end')).on('error', reject).on('data', () => {
      req.pause();
      const wait = (turns: number): unknown => (turns === 0 ? req.resume() : setImmediate(wait, turns - 1));
      wait(50);
    });
  }),
};
const LEAVES: Readonly<Record<string, () => unknown>> = { 'is reset': () => client.send(reset(1)), 'loses its connection': () => client.socket.resetAndDestroy() };

describe.each(Object.keys(READERS))('a body that is read by %s behind an early answer', (reader) => {
  async function read(leave: () => unknown): Promise<string> {
    let outcome: Promise<string> | undefined;
    await start((app) => app.post('/', (req, res) => {
      outcome = (READERS[reader] as (req: Request) => Promise<unknown>)(req).then(() => 'whole', () => 'failed');
      res.send('accepted');
    }));
    client.send(headers(1, asking('/', { method: 'POST' }), END_HEADERS), data(1, Buffer.alloc(16_000)), data(1, Buffer.alloc(16_000)));
    expect(await client.outcome(1)).toBe('answered 200');
    await client.find(({ id, flags }) => id === 1 && (flags & END_STREAM) !== 0);
    leave();
    return outcome as Promise<string>;
  }

  test.each(Object.keys(LEAVES))('is not whole when its stream %s', async (how) => {
    expect(await read(LEAVES[how] as () => unknown)).toBe('failed');
  });

  test('is whole when it was in before the answer', async () => {
    let outcome: Promise<unknown> | undefined;
    let length = 0;
    await start((app) => app.post('/', (req, res) => {
      req.on('data', (chunk: Buffer) => (length += chunk.length));
      outcome = (READERS[reader] as (req: Request) => Promise<unknown>)(req).then(() => 'whole', () => 'failed');
      res.send('accepted');
    }));
    client.send(headers(1, asking('/', { method: 'POST' }), END_HEADERS), ...[1, 2, 3].map(() => data(1, Buffer.alloc(16_000))), data(1, Buffer.alloc(12_000), END_STREAM));
    expect(await client.outcome(1)).toBe('answered 200');
    expect([await outcome, length]).toEqual(['whole', 60_000]);
  });

  test('is whole when its end has come', async () => {
    expect(await read(() => client.send(data(1, Buffer.alloc(16_000)), data(1, 'end', END_STREAM)))).toBe('whole');
  });
});

test.each(['GET', 'POST'])('an expectation of %s that is reset with its head ends no process', async (method) => {
  await start((app) => app.all('/', (_req, res) => res.send('x')));
  client.send(headers(1, asking('/', { method, fields: [['expect', '100-continue']] }), method === 'GET' ? END_HEADERS | END_STREAM : END_HEADERS), reset(1));
  expect(await client.isAlive()).toBe(true);
});

/** How handlers leave a body in the midst. */
const LEAVERS: Readonly<Record<string, (req: Request) => Promise<unknown>>> = {
  'a loop that breaks': async (req) => {
    for await (const _ of req) break;
  },
  'pause': async (req) => {
    await once(req, 'data');
    req.pause();
  },
  'unpipe': (req) => new Promise((resolve) => {
    const into = new Writable({ write: () => resolve(req.unpipe(into)) });
    req.pipe(into);
  }),
};

test.each(Object.entries(LEAVERS))('a body that is in, and left in the midst by %s, keeps neither its stream nor its connection', async (_how, leave) => {
  let closed: Promise<unknown> | undefined;
  let [left, answer] = [(): void => undefined, (): void => undefined];
  const [hasLeft, mayAnswer] = [new Promise<void>((resolve) => (left = resolve)), new Promise<void>((resolve) => (answer = resolve))];
  await start((app) => app.post('/', async (req, res) => {
    closed = Promise.all([req, res].map((message) => new Promise((resolve) => void message.on('close', resolve))));
    await leave(req);
    left();
    await mayAnswer;
    res.send('left');
  }));
  client.send(headers(1, asking('/', { method: 'POST' }), END_HEADERS), data(1, Buffer.alloc(16_000)));
  await hasLeft;
  client.send(data(1, Buffer.alloc(16_000)), data(1, 'end', END_STREAM));
  await client.isAlive();
  answer();
  expect(await client.outcome(1)).toBe('answered 200');
  await closed;
  client.send(frame(GOAWAY, 0, 0, Buffer.alloc(8)));
  await client.closed();
});

describe('a request that is in and reset before its answer', () => {
  /** Every close of the request and of its response, once both have closed and a turn has passed. */
  async function closes(handle: (req: Request, res: Response) => unknown, request: readonly Buffer[], given: Parameters<typeof FrameClient.open>[1] = []): Promise<string[]> {
    const heard: string[] = [];
    let [began, closed] = [(): void => undefined, (): void => undefined];
    const [hasBegun, hasClosed] = [new Promise<void>((resolve) => (began = resolve)), new Promise<void>((resolve) => (closed = resolve))];
    await start((app) => app.all('/', async (req, res) => {
      for (const [name, message] of [['request', req], ['response', res]] as const) {
        message.on('close', () => {
          heard.push(name);
          if (heard.includes('request') && heard.includes('response')) closed();
        });
      }
      const handled = handle(req, res);
      began();
      await handled;
    }), {}, given);
    client.send(...request);
    await hasBegun;
    // What is in has been read.
    await client.isAlive();
    client.send(reset(1));
    await hasClosed;
    await new Promise((resolve) => void setImmediate(resolve));
    return heard.sort();
  }
  const posted = [headers(1, asking('/', { method: 'POST' }), END_HEADERS), data(1, Buffer.alloc(16_000)), data(1, Buffer.alloc(16_000)), data(1, 'end', END_STREAM)];

  test.each<[string, (req: Request, res: Response) => unknown]>([
    ['a listener', (req) => req.on('data', () => undefined)],
    ['a pipe into the response', (req, res) => req.pipe(res)],
    ['res.stream', (req, res) => res.stream(req)],
    ['nobody', () => undefined],
  ])('closes once with its response, read by %s', async (_reader, handle) => {
    // The client takes a part of the answer only.
    expect(await closes(handle, posted, [[4, 1_000]])).toEqual(['request', 'response']);
  });

  test.each(['GET', 'HEAD'])('calls back the end of its %s', async (method) => {
    let called = 0;
    let ended = (): void => undefined;
    const hasEnded = new Promise<void>((resolve) => (ended = resolve));
    await start((app) => app.get('/', (_req, res) => res.end('late', () => {
      called++;
      setImmediate(ended);
    })));
    client.send(headers(1, asking('/', { method })), reset(1));
    await hasEnded;
    expect(called).toBe(1);
  });

  test('by HEAD is cut off by req.destroy()', async () => {
    await start((app) => app.all('/', (req) => void req.destroy()));
    client.send(headers(1, asking('/', { method: 'HEAD' })));
    expect(await client.end(1)).toMatch(/^reset [^0]/);
  });

  test('by HEAD aborts its signal, and its response is not whole, and closes once though it is ended later', async () => {
    let [signal, finished, late]: [AbortSignal | undefined, boolean | undefined, Promise<unknown> | undefined] = [undefined, undefined, undefined];
    expect(await closes((req, res) => {
      ({ signal } = req);
      late = once(res, 'close').then(() => {
        finished = res.writableFinished;
        res.end('late');
      });
    }, [headers(1, asking('/', { method: 'HEAD' }))])).toEqual(['request', 'response']);
    await late;
    expect([finished, (signal as AbortSignal | undefined)?.reason]).toEqual([false, expect.objectContaining({ code: 'CLIENT_GONE' })]);
  });
});

test('HEAD is answered once its head is out, whenever the handler ends the response', async () => {
  const heard: string[] = [];
  let tell = (): void => undefined;
  const told = new Promise<void>((resolve) => (tell = resolve));
  const log = new LogRecorder();
  const port = await running.app((app) => void app.get('/', (req, res) => {
    req.signal.addEventListener('abort', () => heard.push('abort'));
    res.on('finish', () => heard.push(`finish ${String(res.writableFinished)}`)).on('close', () => {
      heard.push('close');
      // Behind the head, as a piped file would.
      res.end('b', () => {
        heard.push('ended');
        tell();
      });
    });
    res.write('a');
  }), { logging: { logger: log, requests: 'info' }, server: { http2: 'cleartext' } });
  client = await FrameClient.open(port);
  client.send(headers(1, asking('/', { method: 'HEAD' })));
  expect(await client.outcome(1)).toBe('answered 200');
  await told;
  await new Promise((resolve) => void setImmediate(resolve));
  expect(heard).toEqual(['finish true', 'close', 'ended']);
  expect(log.messages('info').filter((message) => message.startsWith('Request '))).toEqual(['Request completed']);
});

test.each([['socket.destroy()', (req: Request) => req.socket.destroy()], ['destroy()', (req: Request) => req.destroy()]])('a response that is cut off by req.%s is no whole one', async (_, cut) => {
  await start((app) => app.get('/', (req, res) => {
    res.write('part');
    cut(req);
  }));
  client.send(headers(1, asking('/')));
  expect(await client.end(1)).toMatch(/^reset [^0]/);
});

test('a response that close() cuts off is no whole one', async () => {
  const app = createServer({ server: { http2: 'cleartext' }, logging: { level: 'silent' } });
  app.get('/', (_req, res) => void res.write('part'));
  client = await FrameClient.open(portOf(await app.start(0)));
  client.send(headers(1, asking('/')));
  await client.outcome(1);
  await app.close({ timeout: 10 });
  expect(await client.end(1)).toMatch(/^(closed|reset [^0])/);
});

test('names of Object.prototype are names of fields', async () => {
  await start((app) => app.get('/', (req, res) => res.json(req.headersDistinct['constructor'])));
  client.send(headers(1, asking('/', { fields: [['__proto__', 'a'], ['constructor', 'b']] })));
  expect([await client.outcome(1), await client.end(1), client.body(1).toString()]).toEqual(['answered 200', 'whole', '["b"]']);
});

test.each([['acknowledged', true], ['not acknowledged', false]])('a header list that is too long is refused with settings %s; the session lives on', async (_, acknowledges) => {
  await start((app) => app.get('/', (_req, res) => res.send('x')));
  if (acknowledges) {
    await client.find(({ type, flags }) => type === SETTINGS && flags === 0);
    client.send(frame(SETTINGS, ACK, 0));
  }
  // Each has 32 bytes more than are sent (RFC 9113 section 6.5.2).
  const long = (id: number, length: number): Buffer => headers(id, asking('/', { fields: Array.from({ length: 110 }, () => ['x-long', 'v'.repeat(length)] as const) }));
  client.send(long(1, 120), long(3, 80));
  expect([await client.outcome(1), await client.outcome(3)]).toEqual([`stream error ${ENHANCE_YOUR_CALM}`, 'answered 200']);
});

test.each([['PING', ping()], ['SETTINGS', settings()]])('a flood of %s is told so', async (_, one) => {
  await start(() => undefined, { http2: { cleartext: true, maxControlFrames: 50 } });
  for (let i = 0; i < 60; i++) client.send(one);
  expect(await goodbye()).toBe(ENHANCE_YOUR_CALM);
});

test('streams beyond the limit are refused; the others are answered', async () => {
  await start((app) => app.get('/', async (_req, res) => {
    await client.find(({ type, flags }) => type === PING && flags === ACK);
    res.send('x');
  }), { http2: { cleartext: true, maxConcurrentStreams: 2 } });
  client.send(...[1, 3, 5, 7].map((id) => headers(id, asking('/'))), ping());
  expect(await Promise.all([1, 3, 5, 7].map((id) => client.outcome(id)))).toEqual(['answered 200', 'answered 200', 'stream error 7', 'stream error 7']);
});

test.each([['one chunk', (app: Application) => app.get('/', (_req, res) => res.send(Buffer.alloc(400_000)))], ['chunks of one length', (app: Application) => app.get('/', async (_req, res) => {
  for (let i = 0; i < 8 && !res.destroyed; i++) if (!res.write(Buffer.alloc(50_000))) await once(res, 'drain');
  res.end();
})]])('a slow client of %s is left to read', async (_, register) => {
  await start(register, { writeTimeout: 400 }, [[4, 16_384]]);
  client.send(headers(1, asking('/')));
  const end = client.end(1);
  let read = 0;
  const timer = setInterval(() => {
    const { length } = client.body(1);
    if (length > read) client.send(windowUpdate(0, length - read), windowUpdate(1, length - read));
    read = length;
  }, 50);
  expect(await end).toBe('whole');
  clearInterval(timer);
  expect(client.body(1).length).toBe(400_000);
}, 20_000);

test('one that takes nothing is not, whatever it sends', async () => {
  await start((app) => app.get('/', (_req, res) => res.send(Buffer.alloc(400_000))), { writeTimeout: 200 }, [[4, 0]]);
  client.send(headers(1, asking('/')));
  const timer = setInterval(() => client.send(ping()), 20);
  expect(await client.end(1)).toBe(`reset ${CANCEL}`);
  clearInterval(timer);
});

test('a connection that is not read is closed, with all that it holds', async () => {
  let closed: Promise<unknown> | undefined;
  let began: () => void;
  const begun = new Promise<void>((resolve) => (began = resolve));
  const app = createServer({ server: { http2: 'cleartext', writeTimeout: 200 }, logging: { level: 'silent' } });
  app.get('/', (_req, res) => {
    res.send(Buffer.alloc(20_000_000));
    began();
  });
  const server = await app.start(0);
  server.on('connection', (socket) => (closed = once(socket, 'close')));
  client = await FrameClient.open(portOf(server), [[4, 2 ** 31 - 1]]);
  client.socket.pause();
  client.send(windowUpdate(0, 2 ** 30), headers(1, asking('/')));
  await begun;
  expect(await closed).toHaveLength(1);
  await app.close();
});

test('a request that is in waits for its reader as long as the response takes', async () => {
  await start((app) => app.post('/', (_req, res) => {
    res.write('open');
    setTimeout(() => res.end(), 600);
  }), { requestTimeout: 100, headersTimeout: 100 });
  client.send(headers(1, asking('/', { method: 'POST' }), END_HEADERS), data(1, 'body', END_STREAM));
  expect(await client.end(1)).toBe('whole');
});

test('an idle client that does not end its side, and one within a frame, are closed', async () => {
  await start(() => undefined, { writeTimeout: 200, http2: { cleartext: true, idleTimeout: 100 } });
  client.send(headers(1, asking('/')).subarray(0, 20));
  await client.closed();
  expect(client.frames.some(({ type }) => type === GOAWAY)).toBe(true);
});

test('close waits for no idle client that keeps its side open', async () => {
  const log = new LogRecorder();
  let app: Application | undefined;
  const port = await running.app((made) => void (app = made), { logging: { logger: log }, server: { http2: 'cleartext' } });
  client = await FrameClient.open(port);
  client.send(ping());
  await client.find(({ type, flags }) => type === PING && (flags & ACK) !== 0);
  await app?.close({ timeout: 4000 });
  expect(client.frames.some(({ type }) => type === GOAWAY)).toBe(true);
  expect(log.messages('warn')).toEqual([]);
});

test('a response in parts is whole for a client that has not sent all', async () => {
  await start((app) => app.post('/', (_req, res) => {
    res.write('part');
    setImmediate(() => res.end());
  }));
  client.send(headers(1, asking('/', { method: 'POST' }), END_HEADERS), data(1, 'part'));
  expect(await client.end(1)).toBe('whole');
  await client.find(({ type, id }) => type === RST_STREAM && id === 1);
});
