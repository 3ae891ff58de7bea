import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createServer, type RequestHandler } from 'waypost';
import { Running } from './support/running';
import { head, stalled, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const requests = (count: number): string => Array.from({ length: count }, (_, index) => head(`GET /${index}`)).join('');

/** A client on a connection of a server that answers each request so. */
async function connected(handler: RequestHandler): Promise<{ wire: Wire; socket: Socket }> {
  const app = createServer({ env: 'production', logging: { level: 'silent' } });
  app.use(handler);
  const port = await running.start(app);
  const accepted = once(app.server as Server, 'connection') as Promise<[Socket]>;
  const wire = await Wire.open(port);
  return { wire, socket: (await accepted)[0] };
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

const WATCHES: Record<string, (res: ServerResponse) => unknown> = {
  'a listener of finish': (res) => res.on('finish', () => undefined),
  'a listener of close': (res) => res.on('close', () => undefined),
  'a callback': () => undefined,
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

test.each(Object.keys(WATCHES))('one that the program hears finish goes out before that: %s', async (name) => {
  const { wire, socket } = await connected((req, res) => {
    WATCHES[name]?.(res);
    if (name === 'a callback') res.end(req.url, () => undefined);
    else res.end(req.url);
  });
  const writes = countWrites(socket);
  wire.write(requests(6));
  await wire.until('/5');
  expect(writes()).toBeGreaterThanOrEqual(6);
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
