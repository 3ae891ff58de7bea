import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { connect } from 'node:net';
import { type Application, createServer } from 'waypost';
import { portOf, Running } from './support/running';
import { post } from './support/wire';

/** What servers of Node do otherwise elsewhere, done here to those of Node. */

const running = new Running();
afterEach(() => running.close());

function silent(): Application {
  return running.keep(createServer({ logging: { level: 'silent' } }));
}

describe("a server whose event 'listening' has an argument, as Bun's has null", () => {
  function handOnNull(server: Server): void {
    const { emit } = server;
    server.emit = (name: string, ...given: unknown[]) => Reflect.apply(emit, server, [name, ...(name === 'listening' ? [null] : given)]) as boolean;
  }

  test('has started', async () => {
    const app = silent();
    const started = app.start(0);
    handOnNull(app.server as Server);
    const server = await started;
    expect(server.listening).toBe(true);
    await app.close();
    expect(server.listening).toBe(false);
  });

  test('calls back without an error', async () => {
    const told = await new Promise<unknown[]>((resolve) => {
      handOnNull(silent().listen(0, (...given: unknown[]) => resolve(given)) as Server);
    });
    expect(told).toEqual([undefined]);
  });

  test('is rejected with what goes wrong all the same', async () => {
    const port = portOf(await silent().start(0));
    const started = silent().start(port);
    await expect(started).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});

describe("a server that pushes arrays of bytes on requests, as Deno's does", () => {
  /** Each chunk a part of a larger memory, from somewhere in its middle. */
  function pushArrays(server: Server): void {
    server.prependListener('request', (req: IncomingMessage) => {
      const push = req.push.bind(req);
      req.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
        if (chunk === null) return push(null);
        const memory = new Uint8Array(chunk.length + 10);
        memory.set(chunk, 7);
        return push(memory.subarray(7, 7 + chunk.length), encoding);
      };
    });
  }

  async function serve(options: Parameters<typeof createServer>[0], register: (app: Application) => void): Promise<number> {
    const app = createServer({ logging: { level: 'silent' }, ...options });
    register(app);
    const port = await running.start(app);
    pushArrays(app.server as Server);
    return port;
  }

  test.each(['{"a":"é"}', JSON.stringify('x'.repeat(300_000))])('has bodies parsed, with the bytes as a Buffer, and read again', async (body) => {
    const port = await serve({}, (app) => app.post('/', async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk as Buffer);
      res.json([req.body, Buffer.isBuffer(req.rawBody), String(req.rawBody), Buffer.concat(chunks).toString()]);
    }));
    expect((await post(port, '/', body)).json).toEqual([JSON.parse(body), true, body, body]);
  });

  test('has those refused that are too large, and discarded that nobody reads', async () => {
    const port = await serve({ body: { limit: 1000 } }, (app) => app.post('/', (_req, res) => res.send('unread')));
    expect((await post(port, '/', JSON.stringify('x'.repeat(2000)))).status).toBe(413);
    expect((await post(port, '/', 'x'.repeat(900), 'application/octet-stream')).body).toBe('unread');
  });
});

test('the end of a client is read on close where its server leaves an unread body on the connection, as that of Deno does', async () => {
  const app = createServer({ logging: { level: 'silent' }, body: false });
  const port = portOf(await app.start(0, '127.0.0.1'));
  let hasEnded = false;
  app.post('/', (req, res) => {
    Object.assign(req, { _dump: () => undefined });
    req.socket.once('end', () => (hasEnded = true));
    res.send('answered');
  });
  const client = connect(port, '127.0.0.1');
  client.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(1_000_000)}`);
  await once(client, 'data');
  await app.close({ timeout: 60_000 });
  expect(hasEnded).toBe(true);
});
