import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { type Application, createServer, type Request, type Response } from 'waypost';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const running = new Running();

afterEach(() => running.close());

describe('a body that nobody reads, of a request that is answered behind an open event stream', () => {
  const LARGE = 6_000_000;

  interface Scene {
    readonly wire: Wire;
    /** Resolves when the server has seen the end of the connection. */
    readonly closed: Promise<unknown>;
    readonly request: IncomingMessage;
    /** Ends the stream in front. */
    endStream(): void;
  }

  async function send(size: number, register: (app: Application) => void = () => undefined): Promise<Scene> {
    let stream: ServerResponse | undefined;
    let arrive: (request: IncomingMessage) => void;
    const arrived = new Promise<IncomingMessage>((resolve) => (arrive = resolve));
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    app.get('/events', (_req, res) => {
      stream = res;
      res.type('text/event-stream').write('data: first\n\n');
    });
    app.use((req, _res, next) => {
      arrive(req);
      next();
    });
    register(app);
    const port = await running.start(app);
    const connected = once(app.server as Server, 'connection') as Promise<[Socket]>;
    const wire = await Wire.open(port);
    const closed = connected.then(([socket]) => once(socket, 'close'));
    wire.write(head('GET /events')).write(head('POST /upload', { 'Content-Type': 'image/png', 'Content-Length': size })).write(Buffer.alloc(size, 'x'));
    await wire.until('first');
    return { wire, closed, request: await arrived, endStream: () => void stream?.end() };
  }

  const answers: Record<string, (app: Application) => void> = {
    'by a 404': () => undefined,
    'by a handler': (app) => app.post('/upload', (_req, res) => res.status(403).send('refused')),
    'by an error': (app) => app.post('/upload', () => { throw new Error('refused'); }),
  };

  test.each(Object.entries(answers).flatMap(([how, register]) => [LARGE, 900_000].map((size) => [how, size, register] as const)))('is dropped as it comes, so that its client is seen to leave: %s, %d bytes', async (_how, size, register) => {
    const { closed, request, wire } = await send(size, register);
    await wire.flushed();
    wire.cut();
    await closed;
    expect(request.readableLength).toBe(0);
  });

  test('costs none of the answers', async () => {
    for (const size of [LARGE, 900_000]) {
      const { closed, endStream, request, wire } = await send(size);
      if (!request.complete) await once(request, 'end');
      endStream();
      await wire.until('Cannot POST /upload');
      expect(wire.text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404']);
      // A body that is more than is discarded ends the connection.
      if (size === LARGE) await wire.end;
      wire.cut();
      await closed;
    }
  });

  const readers: Record<string, (req: Request, res: Response, got: (bytes: number) => void) => void> = {
    'by a loop': async (req, res, got) => {
      res.send('thanks');
      let bytes = 0;
      for await (const chunk of req) bytes += (chunk as Buffer).length;
      got(bytes);
    },
    'by a pipe': (req, res, got) => {
      let bytes = 0;
      req.pipe(new Writable({ write: (chunk: Buffer, _, done) => void setImmediate(done, (bytes += chunk.length, null)) })).on('finish', () => got(bytes));
      res.send('thanks');
    },
    'by a listener that has paused': (req, res, got) => {
      let bytes = 0;
      req.on('data', (chunk: Buffer) => (bytes += chunk.length)).on('end', () => got(bytes)).pause();
      res.send('thanks');
      setImmediate(() => setImmediate(() => {
        expect(bytes).toBe(0);
        req.resume();
      }));
    },
  };

  test.each(Object.entries(readers))('is left to who reads it behind the answer: %s', async (_how, read) => {
    let taken: Promise<number> | undefined;
    const { endStream, wire } = await send(LARGE, (app) => app.post('/upload', (req, res) => {
      taken = new Promise((resolve) => void read(req, res, resolve));
    }));
    await wire.flushed();
    expect(await taken).toBe(LARGE);
    endStream();
    await wire.until('thanks');
    wire.cut();
  });
});
