import { once } from 'node:events';
import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import onFinished from 'on-finished';
import { type Application, createServer, type Response, Router, static as serveStatic } from 'waypost';
import { closeWithConnection } from '../lib/http/connection';
import { openedFile } from './support/opened-file';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const running = new Running();
const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
/** Longer than a stream reads ahead, and than a response takes that waits. */
const LENGTH = 1_000_000;

beforeAll(() => writeFileSync(join(folder, 'file.txt'), 'x'.repeat(LENGTH)));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(async () => {
  jest.restoreAllMocks();
  await running.close();
});

/** Who calls the application. */
const HOSTS: Readonly<Record<string, (app: Application) => Promise<number>>> = {
  'its own server': (app) => running.start(app),
  'a server of Node': (app) => running.serve(app),
  'a router in another application': (app) => running.serve(createServer({ logging: { level: 'silent' } }).use(Router().use(app))),
  'Express': (app) => running.serve(express().use(app as unknown as RequestListener)),
};

/** An application whose first request is never answered. */
class Waiting {
  readonly app = createServer({ env: 'test', logging: { level: 'silent' } });
  readonly begun: Promise<Response>;
  first: ServerResponse | undefined;

  constructor(answer: (res: Response) => unknown) {
    this.app.get('/first', (_req, res) => {
      this.first = res;
    });
    this.begun = new Promise((resolve) => {
      this.app.use('/second', (_req, res, next) => {
        resolve(res as Response);
        next();
      });
    });
    this.app.get('/second', (_req, res) => answer(res as Response));
  }

  /** Asks for both, and waits until the second handler has begun. */
  async ask(host: (app: Application) => Promise<number>): Promise<Wire> {
    const wire = await Wire.open(await host(this.app));
    wire.write(head('GET /first') + head('GET /second'));
    await this.begun;
    return wire;
  }
}

describe.each(Object.entries(HOSTS))('a response that waits behind another, called by %s', (_, host) => {
  test('closes with its connection, once, and takes no more', async () => {
    let closes = 0;
    const waiting = new Waiting((res) => res.on('close', () => closes++));
    const wire = await waiting.ask(host);
    const res = await waiting.begun;
    const closed = once(res, 'close');
    wire.reset();
    await closed;
    expect([res.destroyed, res.writableFinished, res.write('x'.repeat(LENGTH)), res.writableLength]).toEqual([true, false, false, 0]);
    await new Promise(setImmediate);
    expect(closes).toBe(1);
  });

  test('lets go of a handler that waits for it to drain', async () => {
    let ended: (value: string) => void;
    const left = new Promise<string>((resolve) => (ended = resolve));
    const waiting = new Waiting(async (res) => {
      while (!res.destroyed && res.write('x'.repeat(100_000)));
      await Promise.race([once(res, 'drain'), once(res, 'close')]);
      ended('let go');
    });
    (await waiting.ask(host)).reset();
    expect(await left).toBe('let go');
  });

  test('is over for what goes by on-finished', async () => {
    const finished = new Promise((resolve) => {
      new Waiting((res) => onFinished(res, resolve)).ask(host).then((wire) => wire.reset(), resolve);
    });
    expect(await finished).toBeNull();
  });

  test.each<[string, (app: Application) => void]>([
    ['sendFile', (app) => app.get('/second', (_req, res) => res.sendFile('file.txt', { root: folder }))],
    ['static', (app) => app.use('/second', serveStatic(folder, { index: 'file.txt', redirect: false }))],
  ])('closes the file that %s sends', async (name, add) => {
    const opened = openedFile();
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    app.get('/first', () => undefined);
    add(app);
    const wire = await Wire.open(await host(app));
    wire.write(head('GET /first') + head(`GET /second${name === 'static' ? '/' : ''}`));
    const stream = await opened;
    const closed = once(stream, 'close');
    wire.reset();
    await closed;
    expect(stream.destroyed).toBe(true);
  });

  test('opens no file by static when it has closed', async () => {
    const create = jest.spyOn(fs, 'createReadStream');
    const { stat } = fs;
    let closed: Promise<unknown> = Promise.resolve();
    const found = new Promise<void>((resolve) => {
      jest.spyOn(fs, 'stat').mockImplementationOnce(((path: string, done: (...found: unknown[]) => void) => {
        wire.reset();
        void closed.then(() => stat(path, (...known) => {
          done(...known);
          resolve();
        }));
      }) as typeof stat);
    });
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    app.get('/first', () => undefined);
    app.use('/second', (_req, res, next) => {
      closed = once(res, 'close');
      next();
    }, serveStatic(folder, { index: 'file.txt', redirect: false }));
    const wire = await Wire.open(await host(app));
    wire.write(head('GET /first') + head('GET /second/'));
    await found;
    expect(create).not.toHaveBeenCalled();
  });

  test.each(['/first', '/second'])('opens no file when it has closed, as %s', async (path) => {
    const create = jest.spyOn(fs, 'createReadStream');
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    const sent = new Promise((resolve) => {
      app.get(['/first', '/second'], (req, res) => {
        if (req.path !== path) return;
        begun();
        req.socket.once('close', () => void setImmediate(() => res.sendFile('file.txt', { root: folder }, resolve)));
      });
    });
    let begun: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => (begun = resolve));
    const wire = await Wire.open(await host(app));
    wire.write(head('GET /first') + head('GET /second'));
    await asked;
    wire.reset();
    expect(await sent).toMatchObject({ code: 'ECONNABORTED' });
    expect(create).not.toHaveBeenCalled();
  });

  test('tells the callback of sendFile that the client has gone', async () => {
    const told = new Promise((resolve) => {
      new Waiting((res) => res.sendFile('file.txt', { root: folder }, resolve)).ask(host).then((wire) => wire.reset(), resolve);
    });
    expect(await told).toMatchObject({ code: 'ECONNABORTED' });
  });

  test('is sent when its turn comes, and closes once', async () => {
    let closes = 0;
    const waiting = new Waiting((res) => {
      res.on('close', () => closes++);
      res.send('second');
    });
    const wire = await waiting.ask(host);
    const res = await waiting.begun;
    const closed = once(res, 'close');
    waiting.first?.end('first');
    await closed;
    await wire.until(/first[^]*second$/);
    wire.cut();
    await wire.end;
    await new Promise(setImmediate);
    expect(closes).toBe(1);
  });
});

/** What a handler does with a response whose connection has closed before its turn. */
const LATE: Readonly<Record<string, (res: ServerResponse) => unknown>> = {
  'a body written, and ended in another turn': async (res) => {
    res.setHeader('Content-Length', 4);
    res.write('body');
    await new Promise(setImmediate);
    res.end();
  },
  'a head sent, and ended in another turn': async (res) => {
    res.setHeader('Content-Length', 4).flushHeaders();
    await new Promise(setImmediate);
    res.end();
  },
  'a head of 204': (res) => {
    res.writeHead(204).flushHeaders();
    res.end();
  },
  'a body written and ended': (res) => {
    res.setHeader('Content-Length', 4);
    res.write('body');
    res.end();
  },
  'chunks': async (res) => {
    res.write('body');
    await new Promise(setImmediate);
    res.end('end');
  },
  'an end': (res) => res.end('body'),
};

describe.each(Object.entries(HOSTS))('a response whose turn never comes does not finish, called by %s', (_, host) => {
  test.each(Object.entries(LATE))('%s', async (_name, act) => {
    let finished = false;
    const acted: Promise<unknown>[] = [];
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    app.get('/wait', () => undefined);
    app.get('/late', (req, res) => {
      res.on('finish', () => (finished = true));
      acted.push(new Promise((resolve) => void req.socket.once('close', resolve)).then(() => act(res)));
    });
    const wire = await Wire.open(await host(app));
    wire.write(head('GET /wait') + head('GET /late'));
    while (acted.length === 0) await new Promise(setImmediate);
    wire.reset();
    await Promise.all(acted);
    await new Promise(setImmediate);
    expect([acted.length, finished]).toEqual([1, false]);
  });
});

test('one whose connection has closed already closes at once', async () => {
  const req = new IncomingMessage(new Socket().destroy());
  const res = new ServerResponse(req);
  const closed = once(res, 'close');
  closeWithConnection(req, res);
  await closed;
  expect(res.destroyed).toBe(true);
});

test('many that wait add no listener each to their connection', async () => {
  const warnings: string[] = [];
  const heard = (warning: Error): void => void warnings.push(warning.name);
  process.on('warning', heard);
  try {
    let count = 0;
    let all: (value: unknown) => void;
    const begun = new Promise((resolve) => (all = resolve));
    const closes: Promise<unknown>[] = [];
    const port = await running.app((app) => app.get('/', (_req, res) => {
      closes.push(once(res, 'close'));
      if (++count === 30) all(undefined);
    }), { server: { pipelining: 30 } });
    const wire = await Wire.open(port);
    wire.write(head('GET /').repeat(30));
    await begun;
    wire.reset();
    await Promise.all(closes);
    expect(closes).toHaveLength(30);
  } finally {
    process.off('warning', heard);
  }
  expect(warnings).toEqual([]);
});
