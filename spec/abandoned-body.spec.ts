import { EventEmitter, once } from 'node:events';
import { createServer as createHttpServer, request as ask, type RequestListener, type Server as HttpServer } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { Duplex, PassThrough } from 'node:stream';
import { type Application, createServer, express, type Request, type Response } from 'waypost';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const running = new Running();

afterEach(() => running.close());

/** How a program begins to read a body and stops, before any of it has come. */
const STOPS: Record<string, (req: Request, answer: () => void) => void> = {
  'nothing': (_req, answer) => answer(),
  'pause': (req, answer) => {
    req.pause();
    answer();
  },
  'resume and pause': (req, answer) => {
    req.resume().pause();
    answer();
  },
  'read': (req, answer) => {
    req.read();
    answer();
  },
  'read(0)': (req, answer) => {
    req.read(0);
    answer();
  },
  'a pipe that is taken away': (req, answer) => {
    const target = new PassThrough();
    req.pipe(target);
    req.unpipe(target);
    answer();
  },
  'a pipe that is taken away behind the answer': (req, answer) => {
    const target = new PassThrough();
    req.pipe(target);
    answer();
    setImmediate(() => req.unpipe(target));
  },
  'a proxy whose target is down': (req, answer) => {
    req.pipe(ask({ port: 1, host: '127.0.0.1', method: 'POST' }).on('error', answer));
  },
  'a listener that is taken away, and pause': (req, answer) => {
    const listen = (): void => undefined;
    req.on('data', listen).off('data', listen).pause();
    answer();
  },
  'a listener of readable that is taken away': (req, answer) => {
    const listen = (): void => undefined;
    req.on('readable', listen).off('readable', listen);
    setImmediate(answer);
  },
  'a listener that is left, and pause': (req, answer) => {
    req.on('data', () => undefined).pause();
    answer();
  },
  'an iterator that is left': (req, answer) => {
    const chunks = req[Symbol.asyncIterator]();
    void chunks.next().catch(() => undefined);
    void chunks.return?.();
    setImmediate(answer);
  },
};

const LONG = 2_000_000;
/** How the body is framed, and what comes behind the answer: the rest of it, and another request. */
const FRAMINGS: Record<string, readonly [headers: Record<string, string | number>, behind: string]> = {
  'in chunks': [{ 'Transfer-Encoding': 'chunked' }, `3\r\nabc\r\n0\r\n\r\n${head('GET /next')}`],
  'in chunks without end': [{ 'Transfer-Encoding': 'chunked' }, '3\r\nabc\r\n'],
  'longer than the limit': [{ 'Content-Length': LONG }, 'x'.repeat(1000)],
  'longer than the limit, and whole': [{ 'Content-Length': LONG }, 'x'.repeat(LONG) + head('GET /next')],
  'short': [{ 'Content-Length': 3 }, `abc${head('GET /next')}`],
};

const HOSTS: Record<string, () => Application> = {
  createServer: () => createServer({ logging: { level: 'silent' } }),
  express: () => express({ logging: { level: 'silent' } }),
};

/** Returns what came back until the server has closed the connection. */
async function abandon(port: number, path: string, headers: Record<string, string | number>, behind: string): Promise<string> {
  const wire = await Wire.open(port);
  wire.write(head(`POST ${path}`, { 'Content-Type': 'image/png', ...headers }));
  await wire.until(/stopped$/);
  wire.write(behind);
  await wire.end;
  return wire.text;
}

test.each(Object.entries(HOSTS))('the connection of a body that a program has begun to read, and left, closes where it says so, else lives on: %s', async (_name, make) => {
  const app = make();
  for (const [index, stop] of Object.values(STOPS).entries()) {
    app.post(`/${index}`, (req: Request, res: Response) => stop(req, () => void res.send('stopped')));
  }
  app.get('/next', (_req: Request, res: Response) => void res.send('next'));
  // Short, so that a connection that lives on soon ends by Node's own limit.
  const port = await running.listen(createHttpServer({ keepAliveTimeout: 500 }, app as RequestListener));
  const cases = Object.keys(STOPS).flatMap((stop, index) => Object.entries(FRAMINGS).map(([framing, given]) => ({ index, of: `${stop}, ${framing}`, given })));
  const told = await Promise.all(cases.map(async ({ index, of, given }) => [of, await abandon(port, `/${index}`, ...given)] as const));
  expect(told.filter(([, text]) => /\r\nConnection: close\r\n/i.test(text) && text.includes('next'))).toEqual([]);
  // Within the limit nobody's connection is given up for what was left.
  expect(told.filter(([of, text]) => of.startsWith('nothing') && text.includes('next')).map(([of]) => of)).toEqual(['nothing, short']);
});

/** Answers, and reads the body behind that, as who acknowledges an upload: says "waits" with the socket's timeout, and "ends" with how long the body was, or the code of an error. */
function acknowledges(make: () => Application, heard: EventEmitter): RequestListener {
  const app = make();
  const length = async (req: Request): Promise<unknown> => {
    let sum = 0;
    for await (const chunk of req) sum += (chunk as Buffer).length;
    return sum;
  };
  app.post('/', (req: Request, res: Response) => {
    res.on('close', () => heard.emit('waits', req.socket.timeout));
    res.send('stopped');
    void length(req).catch(({ code }: { code: string }) => code).then((told) => heard.emit('ends', told));
  });
  return app as RequestListener;
}

/** A server of plain connections, in front of one that is given them. */
function behind(server: HttpServer, connected: (socket: Socket) => void): HttpServer {
  return Object.assign(createTcpServer(connected), { closeAllConnections: () => server.closeAllConnections() }) as unknown as HttpServer;
}

describe.each(Object.entries(HOSTS))('who reads on behind the answer: %s', (_name, make) => {
  async function begin(keepAliveTimeout: unknown, prepare: (server: HttpServer) => HttpServer = (server) => server): Promise<{ wire: Wire; waits: Promise<unknown[]>; ends: Promise<unknown[]> }> {
    const heard = new EventEmitter();
    const [waits, ends] = [once(heard, 'waits'), once(heard, 'ends')];
    const server = Object.assign(createHttpServer(acknowledges(make, heard)), { keepAliveTimeout, keepAliveTimeoutBuffer: 10 });
    const wire = await Wire.open(await running.listen(prepare(server)));
    wire.write(head('POST /', { 'Content-Type': 'image/png', 'Transfer-Encoding': 'chunked' }));
    await wire.until(/stopped$/);
    return { wire, waits, ends };
  }

  async function finish({ wire, ends }: { wire: Wire; ends: Promise<unknown[]> }): Promise<void> {
    wire.write('3\r\nabc\r\n0\r\n\r\n');
    expect(await ends).toEqual([3]);
    await wire.end;
  }

  test.each<[string, (req: Request, told: (how: unknown) => void) => void]>([
    ['by an iterator', (req, told) => void (async () => { for await (const _ of req); })().then(() => told('end'), ({ code }: { code: string }) => told(code))],
    ['by events', (req, told) => void req.on('data', () => undefined).on('end', () => told('end')).on('error', ({ code }: { code: string }) => told(code)).on('close', () => told('close'))],
    ['by reading', (req, told) => void req.on('readable', () => req.read()).on('end', () => told('end')).on('close', () => told('close'))],
  ])('and begins when that is closing the connection is told too: %s', async (_how, read) => {
    const app = make();
    const told = new Promise((resolve) => {
      app.post('/', (req: Request, res: Response) => {
        res.send('stopped');
        req.pause();
        res.on('finish', () => setImmediate(read, req, resolve));
      });
    });
    const wire = await Wire.open(await running.listen(createHttpServer(app as RequestListener)));
    wire.write(head('POST /', { 'Content-Type': 'image/png', 'Transfer-Encoding': 'chunked' }) + '3\r\nabc\r\n');
    await wire.end;
    expect(await told).toEqual(expect.stringMatching(/^(end|close|ECONNRESET|ERR_STREAM_PREMATURE_CLOSE)$/));
  });

  test('has as long as the server lets a kept connection stand still', async () => {
    const begun = await begin(65_000);
    expect(await begun.waits).toEqual([65_010]);
    await finish(begun);
  });

  // Node takes them for none. A program may have its own limit.
  test.each([0, '65000', Infinity, NaN, -1, null, undefined, '', {}])('has what the program lets it stand still where keepAliveTimeout is %p', async (limit) => {
    const begun = await begin(limit, (server) => server.setTimeout(7000));
    expect(await begun.waits).toEqual([7000]);
    await finish(begun);
  });

  test.each<[string, (server: HttpServer) => HttpServer]>([
    ['that has no timeout', (server) => behind(server, (socket) => {
      const stream = new Duplex({
        read: () => socket.resume(),
        write: (chunk, _encoding, written) => void socket.write(chunk as Buffer, written),
        final: (ended) => void socket.end(ended),
        destroy: (error, gone) => {
          socket.destroy();
          gone(error);
        },
      });
      socket.on('data', (chunk) => stream.push(chunk)).on('end', () => stream.push(null));
      server.emit('connection', stream);
    })],
    ['that is a socket of another server', (server) => behind(server, (socket) => void server.emit('connection', socket))],
  ])('has all of a stream %s', async (_stream, prepare) => {
    const begun = await begin(65_000, prepare);
    await begun.waits;
    await finish(begun);
  });

  test.each<[string, (wire: Wire) => void]>([['stands still', () => undefined], ['goes', (wire) => wire.cut()], ['resets', (wire) => wire.reset()]])('is told where the client %s', async (_how, act) => {
    const { wire, ends } = await begin(100);
    act(wire);
    expect(await ends).toEqual(['ERR_STREAM_PREMATURE_CLOSE']);
  });
});
