import { once } from 'node:events';
import http from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import express from 'express';
import fc from 'fast-check';
import { type CaptureOutcome, hasBody, isBeingRead, kCaptured, kRawBody, startCapture } from '../lib/http/body/capture';
import { Request } from '../lib/http/request';
import { requestClass } from './support/request-class';
import { Running } from './support/running';

const KIB = 1024;
const MIB = KIB * KIB;
const LIMIT = 4 * MIB;

type Handler = (req: Request, res: ServerResponse<Request>) => void;

const running = new Running();
/** The server that listens. */
let listening: Server;

afterEach(() => running.close());

/** Serves requests that are discarded up to that many bytes. */
function serve(handler: Handler, discardLimit = MIB): Promise<number> {
  listening = http.createServer({ IncomingMessage: requestClass({ discardLimit }) }, handler);
  return running.listen(listening);
}

/** Serves with the body captured first, as the framework does. */
function serveCaptured(handler: (req: Request, res: ServerResponse<Request>, outcome: CaptureOutcome) => void, limit = LIMIT): Promise<number> {
  return serve((req, res) => startCapture(req, limit, (same, outcome) => handler(same, res, outcome)));
}

async function post(port: number, body: Buffer, chunked = false, pieces = 1): Promise<{ status: number; body: Buffer }> {
  const headers = chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': body.length };
  const req = http.request({ port, host: '127.0.0.1', method: 'POST', headers, agent: false });
  const size = Math.ceil(body.length / pieces) || 1;
  for (let at = 0; at < body.length; at += size) req.write(body.subarray(at, at + size));
  req.end();
  const [res] = (await once(req, 'response')) as [IncomingMessage];
  const answer = { status: res.statusCode ?? 0, body: await buffer(res) };
  // An error after the answer, of a connection reset while it was sending, is one as well.
  if (!req.closed) await once(req, 'close');
  return answer;
}

async function open(port: number): Promise<Socket> {
  // Half-open, so that what the server ended can be told from what it cut.
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  running.keep({ close: () => socket.destroy() });
  await once(socket, 'connect');
  return socket;
}

function bytes(length: number): Buffer {
  const filled = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; at++) filled[at] = (at * 31 + (at >> 8)) & 0xff;
  return filled;
}

type Reader = (req: Request) => Promise<Buffer>;

const READERS: Record<string, Reader> = {
  'data and end': (req) =>
    new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () => resolve(Buffer.concat(chunks)));
      req.on('error', reject);
    }),
  pipe: (req) => buffer(req.pipe(new PassThrough())),
  'for await': async (req) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  },
  'readable and read': (req) =>
    new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      req.on('readable', () => {
        for (let chunk = req.read() as Buffer | null; chunk !== null; chunk = req.read() as Buffer | null) chunks.push(chunk);
      });
      req.on('end', () => resolve(Buffer.concat(chunks)));
      req.on('error', reject);
    }),
  'setEncoding latin1': async (req) => {
    req.setEncoding('latin1');
    let text = '';
    for await (const chunk of req) text += chunk as string;
    return Buffer.from(text, 'latin1');
  },
  late: async (req) => {
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    return buffer(req);
  },
};

const SIZES = [0, 1, 200, 16 * KIB, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 300_000, 3 * MIB];

describe('a captured body is still on the stream', () => {
  describe.each(Object.keys(READERS))('%s', (name) => {
    test.each([false, true])('chunked %s', async (chunked) => {
      const port = await serveCaptured((req, res, outcome) => {
        const raw = req.rawBody;
        void READERS[name]?.(req).then((read) => {
          res.setHeader('connection', 'close');
          res.end(JSON.stringify({ outcome, kept: raw === req[kRawBody] && raw?.equals(read), length: read.length }));
        });
      });
      for (const size of SIZES) {
        const body = bytes(size);
        const answer = await post(port, body, chunked, size > 100_000 ? 7 : 2);
        expect(JSON.parse(answer.body.toString())).toEqual({ outcome: 'complete', kept: true, length: size });
      }
    });
  });

  test('whatever the pieces, rawBody and stream hold what was sent', async () => {
    const port = await serveCaptured((req, res, outcome) => {
      const raw = req.rawBody ?? Buffer.alloc(0);
      void buffer(req).then((read) => {
        res.setHeader('outcome', outcome);
        res.end(Buffer.concat([raw, read]));
      });
    }, 200_000);
    const pieces = fc.array(fc.oneof(fc.uint8Array({ minLength: 1, maxLength: 50 }), fc.integer({ min: 1, max: 70_000 }).map(bytes)), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(pieces, async (parts) => {
        const body = Buffer.concat(parts);
        const fits = body.length <= 200_000;
        const req = http.request({ port, host: '127.0.0.1', method: 'POST', headers: { 'transfer-encoding': 'chunked' } });
        for (const part of parts) req.write(part);
        req.end();
        const [res] = (await once(req, 'response')) as [IncomingMessage];
        expect(res.headers['outcome']).toBe(fits ? 'complete' : 'tooLarge');
        expect((await buffer(res)).equals(fits ? Buffer.concat([body, body]) : body)).toBe(true);
      }),
      { numRuns: 150 },
    );
    http.globalAgent.destroy();
  });

  test('a body of single bytes is held in one piece', async () => {
    const port = await serveCaptured((req, res) => {
      const chunks: Buffer[] = [];
      const held = req.rawBody?.buffer;
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () => res.end(`${chunks.length} ${chunks[0]?.buffer === held}`));
    });
    const socket = await open(port);
    socket.end(`POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(50_000)}0\r\n\r\n`);
    expect((await buffer(socket)).toString()).toMatch(/\r\n\r\n.*1 true/s);
  });

  test('the request looks unread, so that parsers of other makers take it', async () => {
    const port = await serve((req, res) => {
      startCapture(req, LIMIT, () => res.end(`${isBeingRead(req)} ${req.readable} ${req.readableEnded} ${req[kCaptured]}`));
    });
    expect((await post(port, bytes(100_000))).body.toString()).toBe('false true false complete');
  });

  test.each([500, 2 * MIB])("Express's own parser takes a body after the capture: %d", async (size) => {
    const parser = express.json({ limit: '5mb' });
    const port = await serveCaptured((req, res) => {
      parser(req, res, (error: unknown) => {
        res.end(JSON.stringify([error ?? null, (req.body as string[])[0]?.length]));
      });
    }, MIB);
    const body = Buffer.from(JSON.stringify(['x'.repeat(size)]));
    const req = http.request({ port, host: '127.0.0.1', method: 'POST', headers: { 'content-type': 'application/json' }, agent: false });
    req.end(body);
    const [res] = (await once(req, 'response')) as [IncomingMessage];
    expect(JSON.parse((await buffer(res)).toString())).toEqual([null, size]);
  });

  test('a second capture of a captured body answers the same at once, though the stream was read', async () => {
    const port = await serveCaptured((req, res) => {
      void buffer(req).then(() => startCapture(req, LIMIT, (_same, outcome) => res.end(outcome)));
    });
    expect((await post(port, bytes(10))).body.toString()).toBe('complete');
  });

  test('the memory held is no more than the length announced, nor than the limit', async () => {
    const port = await serveCaptured((req, res) => res.end(String(req.rawBody?.buffer.byteLength)), 400_000);
    expect((await post(port, bytes(300_001), false, 40)).body.toString()).toBe('300001');
    expect(Number((await post(port, bytes(300_001), true, 40)).body.toString())).toBeLessThanOrEqual(400_000);
  });

  test('nor than sixteen times what has come', async () => {
    const socket = await open(await serveCaptured((req, res) => res.end(`${req.rawBody?.length} in ${req.rawBody?.buffer.byteLength}`)));
    socket.end('POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n');
    expect((await buffer(socket)).toString()).toContain('20 in 320');
  });
});

describe('the limit', () => {
  test.each([false, true])('to the byte, chunked %s', async (chunked) => {
    const port = await serveCaptured((req, res, outcome) => {
      expect(outcome === 'complete').toBe(req.rawBody !== undefined);
      void buffer(req).then((read) => res.end(`${outcome} ${read.length}`));
    }, 100_000);
    expect((await post(port, bytes(100_000), chunked, 3)).body.toString()).toBe('complete 100000');
    expect((await post(port, bytes(100_001), chunked, 3)).body.toString()).toBe('tooLarge 100001');
    expect((await post(port, bytes(3 * MIB), chunked, 3)).body.toString()).toBe(`tooLarge ${3 * MIB}`);
  });

  test('past it every reader gets every byte', async () => {
    const body = bytes(2 * MIB);
    for (const read of Object.values(READERS)) {
      const port = await serveCaptured((req, res) => void read(req).then((all) => res.end(String(all.equals(body)))), 70_000);
      expect((await post(port, body, true, 50)).body.toString()).toBe('true');
    }
  });

  test('a listener that reads at once, from within done, is not stalled', async () => {
    const body = bytes(2 * MIB);
    const port = await serveCaptured((req, res) => {
      const chunks: Buffer[] = [req.read() as Buffer];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () => res.end(String(Buffer.concat(chunks).equals(body))));
    }, 200_000);
    expect((await post(port, body, true, 50)).body.toString()).toBe('true');
  });

  test('an announced length beyond it is too large before a byte has come', async () => {
    const port = await serveCaptured((_req, res, outcome) => res.end(outcome), 10);
    const socket = await open(port);
    socket.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/tooLarge$/);
  });
});

describe('late captures', () => {
  /** Captures only when so many bytes are in the stream, or all. */
  function serveLate(ready: (req: Request) => boolean, limit = LIMIT): Promise<number> {
    return serve((req, res) => {
      const look = (): void => {
        if (!ready(req)) {
          setImmediate(look);
          return;
        }
        startCapture(req, limit, (same, outcome) => {
          const raw = same.rawBody;
          const unread = !isBeingRead(same);
          // Later: what the capture left to the next turn would show.
          setImmediate(() => {
            void READERS['data and end']?.(same).then((read) => {
              res.end(JSON.stringify({ outcome, unread, raw: raw?.length, same: raw?.equals(read), length: read.length }));
            });
          });
        });
      };
      look();
    });
  }

  test.each([1, 60_000, 200_000, 3 * MIB])('bytes that had come before are part of it: %d', async (size) => {
    const port = await serveLate((req) => req.readableLength > 0);
    expect(JSON.parse((await post(port, bytes(size), true, 3)).body.toString())).toEqual({ outcome: 'complete', unread: true, raw: size, same: true, length: size });
  });

  test.each([1, 60_000, 200_000])('a stream that answers one chunk a read, as since Node 26, gives all of them: %d', async (size) => {
    const port = await serveLate((req) => {
      req.read = (count?: number): unknown => Request.prototype.read.call(req, count ?? Math.min(1000, req.readableLength));
      return req.readableLength > 0;
    });
    expect(JSON.parse((await post(port, bytes(size), true, 3)).body.toString())).toEqual({ outcome: 'complete', unread: true, raw: size, same: true, length: size });
  });

  test.each([0, 1, 60_000])('a body that is all in: %d', async (size) => {
    const port = await serveLate((req) => req.complete);
    expect(JSON.parse((await post(port, bytes(size), true)).body.toString())).toEqual({ outcome: 'complete', unread: true, raw: size, same: true, length: size });
  });

  test('beyond the limit, half in and all in', async () => {
    const half = await serveLate((req) => req.readableLength > 1000, 1000);
    expect(JSON.parse((await post(half, bytes(300_000), true, 3)).body.toString())).toEqual({ outcome: 'tooLarge', unread: true, length: 300_000 });
    const all = await serveLate((req) => req.complete, 1000);
    expect(JSON.parse((await post(all, bytes(1001), true)).body.toString())).toEqual({ outcome: 'tooLarge', unread: true, length: 1001 });
  });

  test('beyond the limit, with nothing but the end to come', async () => {
    const port = await serveLate((req) => req.readableLength === 2000, 1999);
    const socket = await open(port);
    const answers = collect(socket);
    socket.write(`POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n`);
    socket.write(bytes(2000));
    listening.once('request', (req: Request) => {
      const look = (): unknown => (req[kCaptured] === undefined ? setImmediate(look) : socket.write('\r\n0\r\n\r\n'));
      look();
    });
    await answers.until(() => answers.text().includes('"length":2000'));
    expect(answers.text()).toContain('"outcome":"tooLarge"');
  });

  test('a late capture does not count as reading: the rest is discarded and the connection goes on', async () => {
    const port = await serve((req, res) => {
      const look = (): void => {
        if (req.readableLength === 0) setImmediate(look);
        else startCapture(req, 1000, (_same, outcome) => res.end(`${outcome};`));
      };
      look();
    });
    const socket = await open(port);
    const answers = collect(socket);
    for (let count = 1; count <= 2; count++) {
      socket.write('POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n493e0\r\n');
      socket.write(bytes(300_000));
      socket.write('\r\n0\r\n\r\n');
      await answers.until(() => answers.text().split('tooLarge;').length > count);
    }
  });

  test.each<[string, string, (req: Request, take: (chunk: Buffer | string) => void) => void]>([
    ['a listener', 'complete 100', (req, take) => req.on('data', take)],
    ['an encoding', 'consumed undefined', (req) => req.setEncoding('latin1')],
  ])('bytes that are promised to %s come once', async (_what, outcomes, promise) => {
    let seen = 0;
    const take = (chunk: Buffer | string): void => void (seen += chunk.length);
    const port = await serve((req, res) => {
      const look = (): void => {
        if (!req.complete) {
          setImmediate(look);
          return;
        }
        promise(req, take);
        startCapture(req, LIMIT, (same, outcome) => {
          if (same.listenerCount('data') === 0) same.on('data', take);
          same.on('end', () => res.end(`${outcome} ${same.rawBody?.length}`));
          same.resume();
        });
      };
      look();
    });
    expect((await post(port, bytes(100))).body.toString()).toBe(outcomes);
    expect(seen).toBe(100);
  });

  test('a body that someone has read from is consumed', async () => {
    const port = await serve((req, res) => {
      req.once('data', () => startCapture(req, LIMIT, (same, outcome) => res.end(`${outcome} ${same.rawBody}`)));
    });
    expect((await post(port, bytes(100))).body.toString()).toBe('consumed undefined');
  });

  test('a request adopted by its prototype is captured as well', async () => {
    const body = bytes(500_000);
    const port = await running.serve((req, res) => {
      const adopted = Object.setPrototypeOf(req, requestClass({ discardLimit: MIB }).prototype) as Request;
      startCapture(adopted, LIMIT, (same, outcome) => {
        void buffer(same).then((read) => res.end(`${outcome} ${same.rawBody?.equals(read)} ${read.equals(body)}`));
      });
    });
    expect((await post(port, body)).body.toString()).toBe('complete true true');
  });
});

describe('a client that goes away', () => {
  test('ends the capture as aborted, once, and nothing is kept', async () => {
    const outcome = new Promise<[CaptureOutcome, Request]>((resolve) => {
      void serveCaptured((req, _res, how) => resolve([how, req])).then(async (port) => {
        const socket = await open(port);
        socket.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc');
        listening.once('request', () => setImmediate(() => socket.resetAndDestroy()));
      });
    });
    const [how, req] = await outcome;
    expect(how).toBe('aborted');
    expect(req.rawBody).toBeUndefined();
  });

  test('before the capture begins: aborted at once', async () => {
    const seen = new Promise<CaptureOutcome>((resolve) => {
      void serve((req) => {
        req.once('close', () => startCapture(req, LIMIT, (_same, how) => resolve(how)));
        req.socket.destroy();
      }).then(async (port) => {
        const socket = await open(port);
        socket.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n');
      });
    });
    expect(await seen).toBe('aborted');
  });
});

/** All that a socket has answered, and a way to wait for more of it. */
function collect(socket: Socket): { text(): string; until(condition: () => boolean): Promise<void> } {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  return {
    text: () => Buffer.concat(chunks).toString('latin1'),
    async until(condition) {
      while (!condition()) await once(socket, 'data');
    },
  };
}

describe('a body that nobody took', () => {
  const TOO_LARGE: Handler = (req, res) => {
    startCapture(req, MIB, () => {
      res.writeHead(413, { connection: 'close' });
      res.end('too large');
    });
  };

  test.each([false, true])('a client that writes 5 MiB before it reads gets the answer, length announced %s', async (announced) => {
    const port = await serve(TOO_LARGE);
    const socket = await open(port);
    socket.pause();
    const body = bytes(5 * MIB);
    const framing = announced ? `Content-Length: ${body.length}` : 'Transfer-Encoding: chunked';
    socket.write(`POST / HTTP/1.1\r\nHost: h\r\n${framing}\r\n\r\n`);
    if (!announced) socket.write(`${body.length.toString(16)}\r\n`);
    await new Promise((resolve) => socket.write(body, resolve));
    if (!announced) socket.write('\r\n0\r\n\r\n');
    expect((await buffer(socket)).toString()).toMatch(/^HTTP\/1\.1 413 .*too large/s);
  });

  test("Node's own client gets the answer while it is still sending", async () => {
    const port = await serve(TOO_LARGE);
    expect(await post(port, bytes(8 * MIB), true, 20)).toEqual({ status: 413, body: Buffer.from('too large') });
    expect(await post(port, bytes(8 * MIB), false, 20)).toEqual({ status: 413, body: Buffer.from('too large') });
  });

  test('within the limit the connection goes on', async () => {
    const port = await serve((req, res) => res.end(`${req.url};`), 500_000);
    const socket = await open(port);
    const answers = collect(socket);
    socket.write('POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n');
    await answers.until(() => answers.text().includes('/1;'));
    socket.write(bytes(500_000));
    socket.write('POST /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    await once(socket, 'end');
    expect(answers.text()).toMatch(/\/1;.*\/2;$/s);
  });

  test('past the limit the connection is closed, and what came before is not lost', async () => {
    const port = await serve((_req, res) => res.end('done;'), 500_000);
    const socket = await open(port);
    const answers = collect(socket);
    socket.write('POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n');
    await answers.until(() => answers.text().includes('done;'));
    socket.write(bytes(500_000));
    const ended = once(socket, 'end');
    socket.write(bytes(1));
    await ended;
    expect(answers.text()).toMatch(/^HTTP\/1\.1 200 .*done;$/s);
  });

  test('nothing that is discarded piles up in memory', async () => {
    const seen: Request[] = [];
    const port = await serve((req, res) => {
      seen.push(req);
      res.end();
    }, 3 * MIB);
    await post(port, bytes(2 * MIB), true, 30);
    expect(seen[0]?.readableLength).toBe(0);
  });

  test('a client that never stops is cut off in the end', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      const port = await serve((_req, res) => res.end('done;'), 1000);
      const accepted = once(listening, 'connection');
      const socket = await open(port);
      const answers = collect(socket);
      socket.write('POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n');
      await answers.until(() => answers.text().includes('done;'));
      const ended = once(socket, 'end');
      socket.write(bytes(2000));
      await ended;
      const [serverSide] = (await accepted) as [Socket];
      expect(serverSide.destroyed).toBe(false);
      const closed = once(serverSide, 'close');
      jest.advanceTimersByTime(5000);
      await closed;
    } finally {
      jest.useRealTimers();
    }
  });

  test('an answer before the capture is done: the capture is over, and the connection goes on', async () => {
    const outcomes: CaptureOutcome[] = [];
    const port = await serve((req, res) => {
      startCapture(req, MIB, (_same, outcome) => outcomes.push(outcome));
      res.end(`${req.url};`);
    });
    const socket = await open(port);
    const answers = collect(socket);
    socket.write('POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n');
    await answers.until(() => answers.text().includes('/1;'));
    socket.write(bytes(1000));
    socket.write('GET /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
    await once(socket, 'end');
    expect(answers.text()).toMatch(/\/2;$/);
    // One for each request.
    expect(outcomes).toEqual(['aborted', 'complete']);
  });

  test('what had been buffered by then counts', async () => {
    const port = await serve((req, res) => {
      const look = (): unknown => (req.readableLength < 60_000 ? setImmediate(look) : res.end('done;'));
      look();
    }, 100_000);
    const socket = await open(port);
    const answers = collect(socket);
    socket.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n');
    socket.write(bytes(60_000));
    await answers.until(() => answers.text().includes('done;'));
    const ended = once(socket, 'end');
    socket.write(bytes(40_001));
    await ended;
  });

  describe('closing, without a timer running out', () => {
    beforeEach(() => {
      jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    });

    afterEach(() => {
      jest.useRealTimers();
    });

    async function openBothEnds(port: number): Promise<[Socket, Socket]> {
      const accepted = once(listening, 'connection');
      const client = await open(port);
      client.resume();
      return [client, ((await accepted) as [Socket])[0]];
    }

    test('is done as soon as the body is over', async () => {
      const port = await serve((_req, res) => res.end(), 1000);
      const [client, server] = await openBothEnds(port);
      const closed = once(server, 'close');
      client.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n');
      client.write(bytes(200_000));
      await once(client, 'end');
      expect(server.destroyed).toBe(false);
      client.write(bytes(100_000));
      await closed;
    });

    test('of a later request is as ever', async () => {
      const port = await serve((_req, res) => res.end());
      const [client, server] = await openBothEnds(port);
      const closed = once(server, 'close');
      client.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n');
      client.write(bytes(300_000));
      await once(client, 'data');
      client.write('GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
      await closed;
    });
  });

  test('a reader that is slower than the response keeps its bytes', async () => {
    const body = bytes(500_000);
    const read = new Promise<Buffer>((resolve) => {
      void serveCaptured((req, res) => {
        const chunks: Buffer[] = [];
        req.on('data', (chunk: Buffer) => chunks.push(chunk));
        req.on('end', () => resolve(Buffer.concat(chunks)));
        req.pause();
        res.once('close', () => req.resume());
        res.end('early');
      }).then((port) => post(port, body));
    });
    expect((await read).equals(body)).toBe(true);
  });

  test('a body that was captured and never read is let go of', async () => {
    const closed = new Promise<Request>((resolve) => {
      void serveCaptured((req, res) => {
        req.once('close', () => resolve(req));
        res.end();
      }).then((port) => post(port, bytes(100_000)));
    });
    const req = await closed;
    expect([req.readableLength, req.readableEnded]).toEqual([0, true]);
  });
});

describe('isBeingRead', () => {
  test.each<[string, (req: Request) => unknown, boolean]>([
    ['nothing', () => undefined, false],
    ['a data listener', (req) => req.on('data', () => undefined), true],
    ['a readable listener', (req) => req.on('readable', () => undefined), true],
    ['an end listener alone', (req) => req.on('end', () => undefined), false],
    ['a pipe', (req) => req.pipe(new PassThrough()), true],
    ['a read', (req) => req.read(), true],
    ['a pause', (req) => req.pause(), true],
  ])('%s', (_what, act, expected) => {
    const req = new Request(null as never);
    req.push(Buffer.from('x'));
    req.push(null);
    act(req);
    expect(isBeingRead(req)).toBe(expected);
  });
});

describe('hasBody', () => {
  test.each([
    [{}, false],
    [{ 'content-length': '0' }, false],
    [{ 'content-length': '1' }, true],
    [{ 'transfer-encoding': 'chunked' }, true],
    [{ 'transfer-encoding': 'ChunKed', 'content-length': '0' }, true],
    [{ 'content-type': 'application/json' }, false],
  ])('%j: %s', (headers, expected) => {
    const rawHeaders = ['Host', 'x', ...Object.entries(headers).flat(), 'X-Fourteen-Lon', '1'].map((text) => text.toUpperCase());
    expect(hasBody({ headers: {}, rawHeaders } as unknown as IncomingMessage)).toBe(expected);
    // As programs make them that call a listener without a server.
    expect(hasBody({ headers, rawHeaders: [] } as unknown as IncomingMessage)).toBe(expected);
  });
});
