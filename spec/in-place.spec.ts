import { OutgoingMessage, type Server, ServerResponse } from 'node:http';
import { Socket, type SocketConstructorOpts } from 'node:net';
import { Duplex } from 'node:stream';
import type { Handler, Response } from 'waypost';
import { Running } from './support/running';
import { ask, head, Wire } from './support/wire';

const running = new Running();
let handler: Handler;
let port = 0;

beforeEach(async () => {
  port = await running.app((app) => app.get('/', (req, res, next) => handler(req, res, next)));
});
afterEach(() => running.close());

/** A body of some 60 KB, and its JSON. */
const long = (letter: string): string => `${letter.repeat(60_000)} gr\u00fc\u00dfe`;
const json = (letter: string): string => JSON.stringify(long(letter));

/** Answers with the data, and tells whether some of it has not left the process then. */
function answering(data: (letter: string) => unknown, prepare?: (res: Response) => void): Promise<boolean> {
  return new Promise((resolve) => {
    handler = (req, res) => {
      const socket = res.socket as Socket;
      prepare?.(res);
      try {
        res.xJson(data(String(req.query['letter'])));
      } finally {
        resolve(socket.writableLength > 0);
      }
    };
  });
}

/** The bodies of answers that came one after the other, a character a byte. */
function bodiesOf(text: string): string[] {
  return text.split(/HTTP\/1\.1 200 OK\r\n[^]*?\r\n\r\n/).slice(1).map((body) => Buffer.from(body, 'latin1').toString());
}

/** Replaces a method by one that tells of its first argument besides; answers how to undo that. */
function tap(where: object, name: string, hear: (first: unknown) => void): () => void {
  const hadOwn = Object.hasOwn(where, name);
  const method = Reflect.get(where, name) as (...args: unknown[]) => unknown;
  Reflect.set(where, name, function (this: unknown, ...args: unknown[]) {
    hear(args[0]);
    return Reflect.apply(method, this, args);
  });
  return () => void (hadOwn ? Reflect.set(where, name, method) : Reflect.deleteProperty(where, name));
}

/** Does something with each response when it gets its socket; answers how to undo that. */
function eachResponse(work: (res: ServerResponse, socket: Socket) => void): () => void {
  const { assignSocket } = ServerResponse.prototype;
  ServerResponse.prototype.assignSocket = function (socket) {
    assignSocket.call(this, socket);
    work(this, socket);
  };
  return () => void (ServerResponse.prototype.assignSocket = assignSocket);
}

/** Stands for a method that does its work later. */
type PutOff = (this: unknown, later: () => void) => unknown;

/** Whether it is a chunk with a body's end, as bytes or as text of a unit for each. */
function isBody(chunk: unknown): boolean {
  return (Buffer.isBuffer(chunk) || typeof chunk === 'string') && Buffer.from(chunk as string, 'latin1').includes('gr\u00fc\u00dfe"');
}

function putOff(this: unknown, later: () => void): boolean {
  later();
  return true;
}

/** What is under a socket, of a program's own: it takes all at once, and keeps it. */
class OwnHandle {
  bytesWritten = 0;
  readonly #keep: (chunk: Buffer) => void;

  constructor(keep: (chunk: Buffer) => void) {
    this.#keep = keep;
  }

  readStart(): number {
    return 0;
  }

  readStop(): number {
    return 0;
  }

  writeBuffer(_request: unknown, chunk: Buffer): number {
    this.bytesWritten += chunk.length;
    this.#keep(chunk);
    return 0;
  }

  writeLatin1String(request: unknown, text: string): number {
    return this.writeBuffer(request, Buffer.from(text, 'latin1'));
  }

  close(done?: () => void): void {
    done?.();
  }
}

/** The library, as a program has it that loads it now. */
function loadedAnew(): typeof import('waypost') {
  let loaded: typeof import('waypost') | undefined;
  jest.isolateModules(() => {
    loaded = jest.requireActual<typeof import('waypost')>('waypost');
  });
  return loaded as typeof import('waypost');
}

/** The chunks that are handed to the system meanwhile, but for the requests. */
async function written(work: () => Promise<void>): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  const inside = Socket.prototype as unknown as { _writeGeneric(isVector: boolean, data: unknown, ...rest: unknown[]): void };
  const spy = jest.spyOn(inside, '_writeGeneric').mockImplementation(function (this: Socket, isVector, data, ...rest) {
    // A vector is no one write: it stands for the chunks it is made of.
    for (const part of isVector ? (data as { chunk: Buffer | string }[]) : [{ chunk: data as Buffer | string }]) {
      if (Buffer.isBuffer(part.chunk)) chunks.push(part.chunk);
    }
    original.call(this, isVector, data, ...rest);
  });
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  return chunks;
}
const original = (Socket.prototype as unknown as { _writeGeneric(...given: unknown[]): void })._writeGeneric;

describe('a body of res.xJson that is sent from where it is', () => {
  test.each([['short', { a: 1n }, '{"a":"1"}'], ['empty', undefined, 'null'], ['long', long('x'), json('x')]])('is one write to the socket with its head: %s', async (_, data, text) => {
    handler = (_req, res) => res.xJson(data);
    const chunks = await written(async () => {
      expect((await ask(port, '/')).body).toBe(text);
    });
    expect(chunks.map((chunk) => chunk.toString().replace(/\r\n[^]*\r\n\r\n/, ' … '))).toEqual([`HTTP/1.1 200 OK … ${text}`]);
  });

  test('serves the next body with the same memory', async () => {
    handler = (_req, res) => res.xJson({ a: 1n });
    const chunks = await written(async () => {
      for (let i = 0; i < 5; i++) await ask(port, '/');
    });
    expect(new Set(chunks.map((chunk) => chunk.buffer)).size).toBe(1);
    expect(chunks).toHaveLength(5);
  });

  test('comes whole behind a head of any length', async () => {
    for (const length of [0, 100, 700, 740, 760, 780, 800, 820, 840, 860, 880, 900, 940, 1000, 5000]) {
      handler = (_req, res) => res.set('X-Long', `caf\u00e9${'y'.repeat(length)}`).xJson([length, 2n]);
      const answer = await ask(port, '/');
      expect([answer.body, answer.headers['x-long']]).toEqual([`[${length},"2"]`, `caf\u00e9${'y'.repeat(length)}`]);
    }
  });

  test.each<[string, (res: Response) => void]>([
    ['as a rule', () => undefined],
    ['when its end throws', (res) => void res.once('prefinish', () => {
      throw new Error('of a listener');
    })],
  ])('is not written over while the client has not taken it: %s', async (_, prepare) => {
    const slow = (await Wire.open(port)).pause();
    const letters: string[] = [];
    for (let isPending = false; !isPending; ) {
      const letter = String.fromCharCode(0x61 + (letters.length % 26));
      letters.push(letter);
      const answered = answering(long, prepare);
      slow.write(head(`GET /?letter=${letter}`));
      isPending = await answered;
    }
    for (const letter of 'XYZ') {
      void answering(long);
      expect((await ask(port, `/?letter=${letter}`)).body).toBe(json(letter));
    }
    void answering(() => 'the last');
    slow.resume().write(head('GET /', { Connection: 'close' }));
    await slow.end;
    expect(bodiesOf(slow.text)).toEqual([...letters.map(json), '"the last"']);
  });

  test('is not written over where it waits for the response before it', async () => {
    const waiting: (() => void)[] = [];
    handler = (req, res) => {
      const answer = (): void => res.xJson(long(String(req.query['letter'])));
      if (req.query['letter'] === 'a') waiting.push(answer);
      else answer();
      if (req.query['letter'] === 'd') waiting.forEach((go) => go());
    };
    const text = await Wire.tell(port, [...'abc'].map((letter) => head(`GET /?letter=${letter}`)).join('') + head('GET /?letter=d', { Connection: 'close' }));
    expect(bodiesOf(text)).toEqual([...'abcd'].map(json));
  });

  test.each<[string, (keep: (chunk: unknown) => void) => () => void]>([
    ['the write of its socket', (keep) => eachResponse((_, socket) => void (Object.hasOwn(socket, 'write') || tap(socket, 'write', keep)))],
    ['the write of all sockets', (keep) => tap(Socket.prototype, 'write', keep)],
    ['the end of a response', (keep) => eachResponse((res) => void tap(res, 'end', keep))],
    ['the end of all responses', (keep) => tap(ServerResponse.prototype, 'end', keep)],
  ])('is nobody\'s to keep: who has replaced %s gets bytes that stay', async (_, replace) => {
    const kept: unknown[] = [];
    const restore = replace((chunk) => kept.push(chunk));
    try {
      for (const letter of 'abc') {
        void answering(long);
        expect((await ask(port, `/?letter=${letter}`)).body).toBe(json(letter));
      }
    } finally {
      restore();
    }
    const texts = kept.map((chunk) => Buffer.from(chunk as string, 'latin1').toString());
    expect(texts.filter((text) => text.includes('gr\u00fc\u00dfe')).map((text) => text.slice(text.indexOf('"')))).toEqual([...'abc'].map(json));
  });

  test.each<[string, object, string, PutOff]>([
    ['the end of all messages', OutgoingMessage.prototype, 'end', putOff],
    ['the end of all messages, but not the head', OutgoingMessage.prototype, 'end', function (later) {
      (this as ServerResponse).flushHeaders();
      later();
      return this;
    }],
    ['the sending of all messages', OutgoingMessage.prototype, '_send', putOff],
    ['the write of all sockets', Socket.prototype, 'write', putOff],
  ])('is not written over where somebody has put off %s before the program was loaded', async (_, where, name, replacement) => {
    const hadOwn = Object.hasOwn(where, name);
    const given = Reflect.get(where, name) as (...args: unknown[]) => unknown;
    const put: (() => void)[] = [];
    const isFull = new Promise<void>((resolve) => {
      Reflect.set(where, name, function (this: unknown, ...args: unknown[]) {
        if (!args.some(isBody)) return Reflect.apply(given, this, args);
        return Reflect.apply(replacement, this, [() => {
          if (put.push(() => void Reflect.apply(given, this, args)) === 3) resolve();
        }]);
      });
    });
    const apart = new Running();
    try {
      const { createServer } = loadedAnew();
      const app = createServer({ env: 'test', logging: { level: 'silent' } });
      app.get('/', (req, res) => res.xJson(`${String(req.query['letter'])} gr\u00fc\u00dfe`));
      const at = await apart.start(app);
      const answers = [...'abc'].map((letter) => ask(at, `/?letter=${letter}`));
      await isFull;
      for (const go of put.splice(0)) go();
      expect((await Promise.all(answers)).map(({ body }) => body)).toEqual([...'abc'].map((letter) => `"${letter} gr\u00fc\u00dfe"`));
    } finally {
      if (hadOwn) Reflect.set(where, name, given);
      else Reflect.deleteProperty(where, name);
      await apart.close();
    }
  });

  test('is nobody\'s to keep: who has replaced the write of all sockets before the program was loaded gets bytes that stay', async () => {
    const kept: unknown[] = [];
    const restore = tap(Socket.prototype, 'write', (chunk) => kept.push(chunk));
    const apart = new Running();
    try {
      const app = loadedAnew().createServer({ env: 'test', logging: { level: 'silent' } });
      app.get('/', (req, res) => res.xJson(String(req.query['letter'])));
      const at = await apart.start(app);
      for (const letter of 'abc') await ask(at, `/?letter=${letter}`);
    } finally {
      restore();
      await apart.close();
    }
    expect(kept.map(String).filter((text) => text.startsWith('HTTP')).map((text) => text.slice(-3))).toEqual(['"a"', '"b"', '"c"']);
  });

  test.each<[string, (keep: (chunk: Buffer) => void) => Duplex]>([
    ['that is none of node:net', (keep) => new Duplex({
      read: () => undefined,
      write(chunk: Buffer, _encoding, done) {
        keep(chunk);
        done();
      },
    })],
    ['of node:net that a program has made of its own', (keep) => new Socket({ handle: new OwnHandle(keep) } as unknown as SocketConstructorOpts)],
  ])('is nobody\'s to keep: a connection %s gets bytes that stay', async (_, connect) => {
    const server = await new Promise<Server>((resolve) => {
      handler = (req, res) => {
        resolve((req.socket as unknown as { server: Server }).server);
        res.end();
      };
      void ask(port, '/');
    });
    const kept: Buffer[] = [];
    for (const letter of 'abc') {
      const answered = answering(long);
      const connection = connect((chunk) => kept.push(chunk));
      server.emit('connection', connection);
      connection.push(head(`GET /?letter=${letter}`));
      await answered;
      connection.destroy();
    }
    expect(bodiesOf(kept.map((chunk) => chunk.toString('latin1')).join(''))).toEqual([...'abc'].map(json));
  });

  test('is sent in chunks where the head that is written last knows of no length', async () => {
    handler = (_req, res) => {
      const { writeHead } = res;
      res.writeHead = function (this: Response, ...args: unknown[]) {
        this.removeHeader('Content-Length');
        return Reflect.apply(writeHead, this, args) as Response;
      };
      res.xJson(long('x'));
    };
    const answer = await ask(port, '/');
    expect([answer.body, answer.headers['transfer-encoding'], answer.headers['content-length']]).toEqual([json('x'), 'chunked', undefined]);
  });

  test('leaves what comes after as it is, when its head is refused', async () => {
    const failing = answering(long, (res) => {
      res.writeHead = () => {
        throw new Error('no head');
      };
    });
    const wire = await Wire.open(port);
    wire.write(head('GET /?letter=a'));
    await failing;
    wire.cut();
    void answering(long);
    expect((await ask(port, '/?letter=b')).body).toBe(json('b'));
  });
});
