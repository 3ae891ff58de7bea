import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import express from 'express';
import { type Application, createServer, type Request, type RequestHandler, type Response } from 'waypost';
import { Running } from './support/running';
import { head, stalled, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const requests = (count: number): string => Array.from({ length: count }, (_, index) => head(`GET /${index}`)).join('');

/** A client on a connection of a server that answers each request so. */
async function connected(handler: RequestHandler): Promise<{ app: Application; wire: Wire; socket: Socket }> {
  const app = createServer({ env: 'production', logging: { level: 'silent' } });
  app.use(handler);
  const port = await running.start(app);
  const accepted = once(app.server as Server, 'connection') as Promise<[Socket]>;
  const wire = await Wire.open(port);
  return { app, wire, socket: (await accepted)[0] };
}

/** Counts what a socket hands to the system. */
function countWrites(socket: Socket): () => number {
  const { _write, _writev } = socket;
  let count = 0;
  Object.assign(socket, {
    _write: (...given: Parameters<Socket['_write']>) => (count++, _write.apply(socket, given)),
    _writev: (...given: Parameters<NonNullable<Socket['_writev']>>) => (count++, _writev?.apply(socket, given)),
  });
  return () => count;
}

/** What programs do to hear that an exchange is over. */
const HEARD: Record<string, (req: Request, res: Response) => unknown> = {
  'a listener of finish': (req, res) => res.on('finish', () => undefined).end(req.url),
  'a listener of close': (req, res) => res.on('close', () => undefined).end(req.url),
  'a callback': (req, res) => res.end(req.url, () => undefined),
  'a callback of a write': (req, res) => {
    res.write('part', () => undefined);
    res.end(req.url);
  },
  "a listener of the request's end": (req, res) => {
    req.on('end', () => undefined);
    res.end(req.url);
  },
};

test('responses that have ended before their turn go out together', async () => {
  const { wire, socket } = await connected((req, res) => res.json(req.url));
  const writes = countWrites(socket);
  wire.write(requests(10));
  await wire.until('"/9"');
  // The first has gone by itself, and two had not begun.
  expect(writes()).toBeLessThanOrEqual(3);
  expect(wire.text.match(/"\/\d"/g)).toEqual(Array.from({ length: 10 }, (_, index) => `"/${index}"`));
});

test.each(Object.entries(HEARD))('one that the program hears end goes out before that: %s', async (_, handler) => {
  const { wire, socket } = await connected(handler);
  const writes = countWrites(socket);
  wire.write(requests(6));
  await wire.until('/5');
  expect(writes()).toBeGreaterThanOrEqual(6);
});

test('one that has not ended goes on when its turn comes, and no sooner', async () => {
  const { wire, socket } = await connected((req, res) => {
    if (req.url === '/1') res.writeContinue(() => res.end(`<${writes()}>`));
    else if (req.url === '/0') setImmediate(() => res.end());
    else res.end();
  });
  const writes = countWrites(socket);
  wire.write(requests(3));
  await wire.until('<2>');
});

test('the callback of an end that is not the application\'s own is called when the bytes are out', async () => {
  const app = createServer({ env: 'production', logging: { level: 'silent' } });
  app.get('/0', (_req, res) => void setImmediate(() => res.end('<0>')));
  const outer = express().use(app as unknown as RequestListener).use((req, res) => void res.end(`<${req.url}>`, () => req.socket.destroy()));
  const wire = await Wire.open(await running.listen(createHttpServer(outer as unknown as RequestListener)));
  wire.write(requests(3));
  await wire.end;
  expect(wire.text.match(/<[^>]+>/g)?.slice(0, 2)).toEqual(['<0>', '</1>']);
});

test('none finishes on a connection that is destroyed before', async () => {
  const finished: unknown[] = [];
  const hear = (message: unknown): void => void finished.push((message as { request: Request }).request.url);
  subscribe('http.server.response.finish', hear);
  try {
    const { wire } = await connected((req, res) => {
      res.end();
      if (req.url === '/1') res.destroy();
    });
    wire.write(requests(4));
    await wire.end;
    expect(finished).toEqual(['/0']);
  } finally {
    unsubscribe('http.server.response.finish', hear);
  }
});

test('a program that destroys the connection when a response has finished loses none', async () => {
  const { wire } = await connected((req, res) => {
    if (req.url === '/3') res.on('finish', () => req.socket.destroy());
    res.end(`<${req.url}>`);
  });
  wire.write(requests(6));
  await wire.end;
  expect(wire.text.match(/<[^>]+>/g)?.slice(0, 4)).toEqual(['</0>', '</1>', '</2>', '</3>']);
});

test('the socket of a client that does not read holds no more than it should, and one response', async () => {
  const text = 'x'.repeat(100_000);
  let begun = 0;
  let held = 0;
  const { wire, socket } = await connected((req, res) => {
    begun++;
    held = Math.max(held, req.socket.writableLength);
    res.end(text);
  });
  wire.pause().write(requests(1000));
  while (!socket.writableNeedDrain) await new Promise(setImmediate);
  await stalled(() => begun);
  expect(begun).toBeLessThan(1000);
  expect(Math.max(held, socket.writableLength)).toBeLessThan(socket.writableHighWaterMark + 2 * text.length);
  wire.cut();
});

describe('while the socket holds the bytes of the last answer', () => {
  const text = 'x'.repeat(20_000_000);
  async function stalledOn(field?: [string, string]): Promise<{ app: Application; wire: Wire; responses: Response[] }> {
    const responses: Response[] = [];
    const { app, wire, socket } = await connected((req, res) => {
      responses.push(res);
      if (req.url === '/0') return void setImmediate(() => res.end());
      if (field !== undefined && req.url === '/1') res.setHeader(...field);
      res.end(req.url === '/2' ? '' : text);
    });
    wire.pause().write(requests(field === undefined ? 2 : 3));
    while (!socket.writableNeedDrain) await new Promise(setImmediate);
    await stalled(() => socket.bytesWritten);
    return { app, wire, responses };
  }

  test('that answer has not finished: idle, write and drain limits ask for it', async () => {
    const { wire, responses } = await stalledOn();
    expect(responses.map((res) => res.writableFinished)).toEqual([true, false]);
    wire.cut();
  });

  test('nor has one that ends the connection, with others behind', async () => {
    const { wire, responses } = await stalledOn(['Connection', 'close']);
    expect(responses.map((res) => res.writableFinished)).toEqual([true, false, false]);
    wire.cut();
  });

  test('the application may close, and it arrives whole', async () => {
    const { app, wire } = await stalledOn();
    const closed = app.close();
    await stalled(() => 1);
    wire.resume();
    await Promise.all([closed, wire.end]);
    expect(wire.text.endsWith(text)).toBe(true);
  });
});
