import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { type Application, createServer, express, type Handler, type Response } from 'waypost';
import { Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const TEXT = 'The quick brown fox jumps over the lazy dog\n';
const OLD = new Date('2020-01-02T03:04:05Z');
let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'waypost-'));
  for (const name of ['a.txt', 'a.html']) {
    writeFileSync(join(root, name), TEXT);
    utimesSync(join(root, name), OLD, OLD);
  }
  // A file that has changed a moment ago is kept for nobody.
  const today = Date.now();
  jest.spyOn(Date, 'now').mockReturnValue(today + 3_600_000);
});
afterAll(() => {
  jest.restoreAllMocks();
  rmSync(root, { recursive: true, force: true });
});

/** Changes what it is given in place, as who masks or encrypts does without a copy. */
function mask(chunk: unknown): void {
  if (Buffer.isBuffer(chunk)) for (let i = 0; i < chunk.length; i++) (chunk[i] as number) ^= 1;
}

type Sink = Pick<ServerResponse, 'write' | 'end'>;

function putAround(owner: object, names: readonly string[]): void {
  for (const name of names) {
    const own = Reflect.get(owner, name) as (this: unknown, ...given: unknown[]) => unknown;
    Object.assign(owner, {
      [name](this: unknown, ...given: unknown[]) {
        mask(given[0]);
        return own.apply(this, given);
      },
    });
  }
}

/** Who may stand below a response, put there for one request. */
const BELOW: Record<string, (res: Response) => void> = {
  'the response': (res) => putAround(res, ['write', 'end'] satisfies (keyof Sink)[]),
  'the response, put there with its head': (res) => {
    const { writeHead } = res;
    res.writeHead = function (this: Response, ...given: unknown[]) {
      putAround(res, ['write', 'end']);
      return (writeHead as (...all: unknown[]) => Response).apply(this, given);
    } as typeof writeHead;
  },
  'the response, put there behind its call': (res) => process.nextTick(putAround, res, ['write', 'end']),
  'the write of its socket': ({ socket }) => putAround(socket as Socket, ['write', 'end']),
};

const ANSWERS: Record<string, Handler> = {
  'sendFile': (_req, res) => res.sendFile('a.txt', { root }),
  'download': (_req, res) => res.download('a.txt', { root }),
  'a page of sendFile': (_req, res) => res.sendFile(join(root, 'a.html')),
  'send': (_req, res) => res.send(TEXT),
  'json': (_req, res) => res.json({ text: TEXT }),
  'xJson': (_req, res) => res.xJson({ text: TEXT }),
  'an error': (_req, _res, next) => next(new Error('x')),
  'nothing': (_req, _res, next) => next(),
};

/** Hands a request to the server on a stream in a socket's place, which masks what it sends. */
async function askMasked(server: Server): Promise<void> {
  await new Promise<void>((closed) => {
    const stream = new Duplex({
      read: () => undefined,
      write(chunk, _encoding, written) {
        mask(chunk);
        written();
      },
      final(ended) {
        this.push(null);
        ended();
      },
    });
    stream.on('close', closed);
    server.emit('connection', Object.assign(stream, { setTimeout: () => stream }));
    stream.push('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  });
}

describe.each<[string, () => Application]>([
  ['createServer', () => createServer({ env: 'production', logging: { level: 'silent' } })],
  ['express', () => express({ env: 'production', logging: { level: 'silent' } }) as unknown as Application],
])('what changes the bytes of one answer of %s in place changes those of no other', (_make, make) => {
  async function serve(answer: Handler): Promise<readonly [port: number, server: Server]> {
    const app = make();
    app.use((req, res, next) => {
      BELOW[String(req.headers['x-below'])]?.(res);
      next();
    });
    app.use(answer);
    const server = createHttpServer(app as unknown as RequestListener);
    return [await running.listen(server), server];
  }

  /** Asks until what is answered is kept for others, if it ever is. */
  async function begin(port: number): Promise<Buffer> {
    for (let i = 0; i < 3; i++) await ask(port, '/');
    return (await ask(port, '/')).bytes;
  }

  test.each(Object.entries(ANSWERS))('%s', async (_name, answer) => {
    const [port, server] = await serve(answer);
    const plain = await begin(port);
    for (const below of Object.keys(BELOW)) {
      // Masked, the head is none: the client can't read it.
      await ask(port, '/', { headers: { 'x-below': below, 'Connection': 'close' } }).catch(() => undefined);
      expect([below, (await ask(port, '/')).bytes]).toEqual([below, plain]);
    }
    await askMasked(server);
    expect((await ask(port, '/')).bytes).toEqual(plain);
  });
});
