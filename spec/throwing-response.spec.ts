import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createServer, express, type Handler, type Response, static as staticFiles } from 'waypost';
import { Folder } from './support/folder';
import { Running } from './support/running';
import { ask, head, Wire } from './support/wire';

const running = new Running();
const folder = new Folder();
afterEach(() => running.close());
afterAll(() => folder.close());

const silent = { logging: { level: 'silent' } } as const;

/** Methods of a response that middleware replaces, or that what it replaces is called by. */
const METHODS = ['write', 'end', 'writeHead', 'setHeader', 'getHeader', 'hasHeader', 'removeHeader', 'getHeaderNames', 'on', 'once', 'off'] as const;
/** The call that throws. */
const CALLS = [1, 2, 4];

const numbers = Array.from({ length: 30_000 }, (_, index) => index);
const file = (name: string, length: number): string => {
  const path = join(folder.path, name);
  writeFileSync(path, Buffer.alloc(length, 'x'));
  return path;
};
const [small, large] = [file('small.txt', 100), file('large.txt', 400_000)];

/** Middleware that serves a file of the folder. */
function serve(target: string): Handler {
  const all = staticFiles(folder.path);
  return (req, res, next) => {
    req.url = target;
    return all(req, res, next);
  };
}

async function* slowly(): AsyncGenerator<Buffer> {
  for (let left = 8; left > 0; left--) {
    await new Promise((resolve) => setTimeout(resolve, 4));
    yield Buffer.alloc(20, 'x');
  }
}

const ANSWERS: Record<string, Handler> = {
  'res.json': (_req, res) => res.json(numbers),
  'res.send': (_req, res) => res.send('x'.repeat(300_000)),
  'res.xJson': (_req, res) => void res.xJson({ numbers }),
  'res.xJson in chunks': (_req, res) => {
    const { writeHead } = res;
    res.writeHead = function (this: Response, ...given: unknown[]) {
      this.removeHeader('Content-Length');
      return writeHead.apply(this, given as never);
    } as never;
    void res.xJson({ numbers });
  },
  'res.xJson of little': (_req, res) => void res.xJson({ a: 1n }),
  'res.stream': (_req, res) => void res.stream(Readable.from(Array.from({ length: 8 }, () => Buffer.alloc(60_000)))),
  'res.stream of little': (_req, res) => void res.stream(Readable.from(['a', 'b', 'c'].map((letter) => Buffer.alloc(20, letter)))),
  'res.stream by and by': (_req, res) => void res.stream(slowly()),
  'res.stream of pieces': (_req, res) => void res.stream(Readable.from(Array.from({ length: 20 }, () => Buffer.alloc(16_384)))),
  'res.sendFile': (_req, res) => res.sendFile(small),
  'res.sendFile of much': (_req, res) => res.sendFile(large),
  'res.download': (_req, res) => res.download(large),
  'static': serve('/small.txt'),
  'static of much': serve('/large.txt'),
  'res.redirect': (_req, res) => res.redirect('/elsewhere'),
  'res.sendStatus': (_req, res) => res.sendStatus(204),
  'an error': (_req, _res, next) => next(new Error('of a handler')),
  'a late error': (_req, _res, next) => void setImmediate(next, new Error('of a handler')),
  'a late end': (_req, _res, next) => void setImmediate(next),
};

/** Has the method throw at that call, once. */
function throwAt(res: Response, method: (typeof METHODS)[number], call: number): void {
  const real = res[method] as (...given: unknown[]) => unknown;
  let calls = 0;
  Object.assign(res, {
    [method](this: Response, ...given: unknown[]) {
      if (++calls === call) throw new Error(`of ${method}`);
      return real.apply(this, given);
    },
  });
}

/** Resolves when the connection is over, with the bytes that came. */
function taken(port: number, path: string): Promise<number> {
  return new Promise((resolve) => {
    let bytes = 0;
    const socket = connect(port, '127.0.0.1', () => socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`));
    socket.on('data', (chunk) => (bytes += chunk.length)).on('error', () => undefined).on('close', () => resolve(bytes));
  });
}

describe.each(Object.entries({ createServer, express }))('a response of %s whose methods throw', (_, make) => {
  test.each(Object.keys(ANSWERS))('%s: the connection comes to its end, and the process lives', async (name) => {
    const app = make(silent);
    app.get('/alive', (_req, res) => res.send('alive'));
    app.use((req, res, next) => {
      const [, method, call] = req.url.split('/') as [string, (typeof METHODS)[number], string];
      throwAt(res, method, Number(call));
      next();
    });
    app.use(ANSWERS[name] as Handler);
    const port = await running.start(app as ReturnType<typeof createServer>);
    await Promise.all(METHODS.flatMap((method) => CALLS.map((call) => taken(port, `/${method}/${call}`))));
    expect((await ask(port, '/alive')).body).toBe('alive');
  });

  test.each(Object.keys(ANSWERS))('%s, while it waits behind another: the connection may go, and the process lives', async (name) => {
    const app = make(silent);
    app.get('/alive', (_req, res) => res.send('alive'));
    app.get('/waiting', () => undefined);
    app.use((req, res, next) => {
      const [, method, call] = req.url.split('/') as [string, (typeof METHODS)[number], string];
      throwAt(res, method, Number(call));
      setImmediate(() => req.socket.destroy());
      next();
    });
    app.use(ANSWERS[name] as Handler);
    const port = await running.start(app as ReturnType<typeof createServer>);
    await Promise.all(METHODS.flatMap((method) => CALLS.map((call) => taken(port, `/waiting HTTP/1.1\r\nHost: a\r\n\r\nGET /${method}/${call}`))));
    expect((await ask(port, '/alive')).body).toBe('alive');
  });

  /** When a program lets go what it has corked: Node itself leaves a file waiting that it never does. */
  const UNCORKINGS: Record<string, (uncork: () => void) => void> = {
    'never': () => undefined,
    'at once': (uncork) => uncork(),
    'in a tick': (uncork) => process.nextTick(uncork),
    'in a turn': (uncork) => void setImmediate(uncork),
    'late': (uncork) => void setTimeout(uncork, 20),
  };

  test.each(Object.keys(UNCORKINGS))('corked, and uncorked %s, it is sent as if it was not', async (when) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const app = make(silent);
    app.use('/corked', (_req, res, next) => {
      res.cork();
      res.cork();
      (UNCORKINGS[when] as (uncork: () => void) => void)(() => {
        res.uncork();
        res.uncork();
      });
      next();
    });
    app.use((req, res, next) => (Object.values(ANSWERS)[Number(req.url.split('/').at(-1))] as Handler)(req, res, next));
    const port = await running.start(app as ReturnType<typeof createServer>);
    for (const [index, name] of Object.keys(ANSWERS).entries()) {
      if (name.includes('error') || name.includes('late') || (when === 'never' && /(?:sendFile|static) of|download/.test(name))) continue;
      const of = async (path: string): Promise<unknown[]> => {
        const { status, headers, bytes } = await ask(port, `${path}/${index}`, { agent });
        return [name, status, headers['content-length'], headers['transfer-encoding'], createHash('sha1').update(bytes).digest('hex')];
      };
      const plain = await of('/plain');
      // On one connection: what stands behind the end of an answer would be read as the next.
      for (let time = 0; time < 2; time++) expect(await of('/corked')).toEqual(plain);
    }
    agent.destroy();
  });

  test('corked, and never uncorked, it comes where it waits behind another on its connection, and so does what is behind it', async () => {
    const app = make(silent);
    app.use('/first', (_req, res) => void setTimeout(() => res.send('first'), 20));
    app.use((_req, res, next) => {
      res.cork();
      next();
    });
    app.use((req, res, next) => (Object.values(ANSWERS)[Number(req.url.slice(1))] as Handler)(req, res, next));
    const port = await running.start(app as ReturnType<typeof createServer>);
    for (const [index, name] of Object.keys(ANSWERS).entries()) {
      if (name.includes('error') || name.includes('late') || /(?:sendFile|static) of|download/.test(name)) continue;
      const text = await Wire.tell(port, head('GET /first') + head(`GET /${index}`) + head('GET /first', { Connection: 'close' }));
      expect([name, text.match(/HTTP\/1\.1 \d+/g)?.length, text.endsWith('first')]).toEqual([name, 3, true]);
    }
  });
});
