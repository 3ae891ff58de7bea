import { createHook } from 'node:async_hooks';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { type Application, createServer } from 'waypost';
import { FROM_LIB } from './support/child-program';
import { LogRecorder, portOf, Running } from './support/running';
import { ask, head, Wire } from './support/wire';

/** Longer than any spec may run: that a drain ended was not the timeout's doing. */
const NEVER = 2_000_000_000;

const running = new Running();
const children: ChildProcess[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await running.close();
});

/** An application with `GET /slow`, which answers when it is told to. */
class Slow {
  readonly app: Application;
  readonly log = new LogRecorder();
  finish: () => void = () => undefined;
  #entered: () => void = () => undefined;

  constructor() {
    this.app = createServer({ logging: { logger: this.log }, server: { keepAliveTimeout: NEVER } });
    this.app.get('/fast', (_req, res) => res.send('fast'));
    this.app.get('/slow', (_req, res) => {
      this.finish = () => res.send('slow');
      this.#entered();
    });
    this.app.get('/stream', (_req, res) => {
      res.write('first');
      this.finish = () => res.end('last');
      this.#entered();
    });
    this.app.post('/upload', (req, res) => res.send(`got ${String(req.body)}`));
  }

  /** Starts it, and has a client wait for `GET /slow`. */
  async asked(): Promise<{ port: number; wire: Wire }> {
    const port = await running.start(this.app);
    const wire = await Wire.open(port);
    const entered = new Promise<void>((resolve) => {
      this.#entered = resolve;
    });
    wire.write(head('GET /slow'));
    await entered;
    return { port, wire };
  }

  /** The next event of its server: all that is handed to its listeners. */
  next(event: 'connection' | 'request'): Promise<unknown[]> {
    return once(this.app.server as NonNullable<Application['server']>, event);
  }
}

describe('close', () => {
  test('lets a request in flight finish, with Connection: close', async () => {
    const slow = new Slow();
    const { wire } = await slow.asked();
    const closed = slow.app.close({ timeout: NEVER });
    slow.finish();
    await wire.end;
    await closed;
    expect(wire.text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(wire.text).toMatch(/\r\nConnection: close\r\n/i);
    expect(wire.text).toMatch(/slow$/);
  });

  test('lets a response that has begun finish, and then closes its connection', async () => {
    const slow = new Slow();
    const wire = await Wire.open(await running.start(slow.app));
    wire.write(head('GET /stream'));
    await wire.until('first');
    const closed = slow.app.close({ timeout: NEVER });
    slow.finish();
    await wire.end;
    await closed;
    expect(wire.text).toMatch(/first\r\n4\r\nlast\r\n0\r\n\r\n$/);
  });

  test('lets a body on its way arrive', async () => {
    const slow = new Slow();
    const port = await running.start(slow.app);
    const wire = await Wire.open(port);
    const arrived = slow.next('request');
    wire.write(head('POST /upload', { 'Content-Type': 'text/plain', 'Content-Length': 4 }) + 'ab');
    await arrived;
    const closed = slow.app.close({ timeout: NEVER });
    wire.write('cd');
    await wire.end;
    await closed;
    expect(wire.text).toMatch(/\r\nConnection: close\r\n/i);
    expect(wire.text).toMatch(/got abcd$/);
  });

  test('lets a request whose head is half in arrive, and closes its connection', async () => {
    const slow = new Slow();
    const port = await running.start(slow.app);
    const connected = slow.next('connection') as Promise<[Socket]>;
    const wire = await Wire.open(port);
    const [socket] = await connected;
    wire.write('GET /fast HTTP/1.1\r\n');
    while (socket.bytesRead === 0) await new Promise(setImmediate);
    const closed = slow.app.close({ timeout: NEVER });
    wire.write('Host: localhost\r\n\r\n');
    await wire.end;
    await closed;
    expect(wire.text).toMatch(/\r\nConnection: close\r\n/i);
    expect(wire.text).toMatch(/fast$/);
  });

  test('takes no new connections from the call on', async () => {
    const slow = new Slow();
    const { port } = await slow.asked();
    const closed = slow.app.close({ timeout: NEVER });
    await expect(ask(port, '/fast')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    slow.finish();
    await closed;
  });

  test('serves no second request on a connection that is kept alive', async () => {
    const slow = new Slow();
    const { wire } = await slow.asked();
    const closed = slow.app.close({ timeout: NEVER });
    slow.finish();
    wire.write(head('GET /fast'));
    await wire.end;
    await closed;
    expect(wire.text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  });

  test('closes idle connections at once: kept alive, and never used', async () => {
    const slow = new Slow();
    const port = await running.start(slow.app);
    const used = await Wire.open(port);
    used.write(head('GET /fast'));
    await used.until(/fast$/);
    const unused = await Wire.open(port);
    await slow.app.close({ timeout: NEVER });
    await Promise.all([used.end, unused.end]);
    expect(used.text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(unused.text).toBe('');
  });

  test("closes the connections of Node's own agent", async () => {
    const slow = new Slow();
    const port = await running.start(slow.app);
    const agent = new Agent({ keepAlive: true });
    expect((await ask(port, '/fast', { agent })).body).toBe('fast');
    await slow.app.close({ timeout: NEVER });
    agent.destroy();
  });

  test('answers the same promise when called twice', async () => {
    const slow = new Slow();
    await running.start(slow.app);
    const first = slow.app.close();
    expect(slow.app.close()).toBe(first);
    expect(slow.app.close({ timeout: 1 })).toBe(first);
    await first;
  });

  test('waits for what is in flight where the server is closing already, and cuts it off at the timeout', async () => {
    for (const timeout of [NEVER, 0]) {
      const slow = new Slow();
      const { wire } = await slow.asked();
      slow.app.server?.close();
      const closed = slow.app.close({ timeout });
      if (timeout === NEVER) slow.finish();
      await Promise.all([closed, wire.end]);
      expect([wire.text.endsWith('slow'), slow.app.server]).toEqual([timeout === NEVER, null]);
    }
  });

  test('before start and after the end has nothing to do', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    await expect(app.close()).resolves.toBeUndefined();
    await running.start(app);
    await app.close();
    await expect(app.close()).resolves.toBeUndefined();
  });

  test('on the heels of start, nothing is left listening', async () => {
    for (const host of [undefined, '127.0.0.1', 'localhost']) {
      const app = createServer({ logging: { level: 'silent' } });
      const started = host === undefined ? app.start(0) : app.start(0, host);
      const settled = started.then((server) => server, () => undefined);
      await app.close({ timeout: 0 });
      const server = await settled;
      expect([host, server?.listening ?? false, app.server]).toEqual([host, false, null]);
    }
  });

  test('start is rejected when the server is closed before it listens', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    const started = app.start(0);
    app.server?.close();
    await expect(started).rejects.toThrow('the server was closed before it listened');
    const told = new Promise<Error | undefined>((resolve) => void app.listen(0, resolve).close());
    expect((await told)?.message).toBe('the server was closed before it listened');
    await expect(app.start({ port: 0, signal: AbortSignal.abort() })).rejects.toThrow('the server was closed before it listened');
    expect((await ask(await running.start(app), '/')).status).toBe(404);
  });

  test('a timeout beyond those of timers is a long one', async () => {
    const slow = new Slow();
    const { wire } = await slow.asked();
    const closed = slow.app.close({ timeout: 2 ** 40 });
    setTimeout(() => slow.finish(), 50);
    await Promise.all([closed, wire.end]);
    expect(wire.text).toMatch(/slow$/);
  });

  test.each([-1, NaN, Infinity, '5'])('refuses the timeout %p', async (timeout) => {
    await expect((async () => createServer({ logging: { level: 'silent' } }).close({ timeout: timeout as number }))()).rejects.toThrow(/timeout must be a number of milliseconds/);
  });

  test.each([300, () => undefined])('refuses what are no options: %p', (given) => {
    expect(() => createServer({ logging: { level: 'silent' } }).close(given as never)).toThrow(/close\(\) takes options such as \{ timeout: 5_000 \} and returns a promise, got /);
  });

  test('of an application that another server listens with leaves that server alone', async () => {
    const slow = new Slow();
    const port = await running.serve(slow.app);
    await slow.app.close();
    expect((await ask(port, '/fast')).body).toBe('fast');
  });
});

describe('the timeout', () => {
  test('cuts off a handler that does not end, and says so', async () => {
    const slow = new Slow();
    const { wire } = await slow.asked();
    await slow.app.close({ timeout: 20 });
    await wire.end;
    expect(wire.text).toBe('');
    expect(slow.log.messages('warn')).toEqual([expect.stringMatching(/cut off/)]);
  });

  test('cuts off a client that does not finish its headers or body', async () => {
    const slow = new Slow();
    const port = await running.start(slow.app);
    const header = await Wire.open(port);
    header.write('GET /slow HTTP/1.1\r\nHost: ');
    const body = await Wire.open(port);
    const arrived = slow.next('request');
    body.write(head('POST /upload', { 'Content-Type': 'text/plain', 'Content-Length': 4 }) + 'ab');
    await arrived;
    await slow.app.close({ timeout: 50 });
    await Promise.all([header.end, body.end]);
    expect(header.text + body.text).not.toContain('got');
  });

  test('cuts off a client that does not read', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    let begun: () => void = () => undefined;
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    app.get('/', (_req, res) => {
      res.end(Buffer.alloc(64 * 1024 * 1024));
      begun();
    });
    const port = await running.start(app);
    const connected = once(app.server as NonNullable<Application['server']>, 'connection') as Promise<[Socket]>;
    const wire = await Wire.open(port);
    wire.pause().write(head('GET /'));
    await started;
    const [socket] = await connected;
    expect(socket.destroyed).toBe(false);
    await app.close({ timeout: 20 });
    expect(socket.destroyed).toBe(true);
    wire.cut();
  });

  test('is 10 seconds by default', async () => {
    const slow = new Slow();
    await slow.asked();
    const delays: unknown[] = [];
    const timers = createHook({ init: (_id, type, _trigger, resource) => { if (type === 'Timeout') delays.push((resource as { _idleTimeout?: unknown })._idleTimeout); } }).enable();
    try {
      const closed = slow.app.close();
      expect(delays).toContain(10_000);
      slow.finish();
      await closed;
    } finally {
      timers.disable();
    }
  });
});

describe('start and stop', () => {
  test('are logged at info', async () => {
    const slow = new Slow();
    const port = await running.start(slow.app);
    await slow.app.close();
    expect(slow.log.lines).toEqual([
      { level: 'info', fields: { address: expect.objectContaining({ port }) as unknown }, message: expect.stringMatching(/started/) as unknown },
      { level: 'info', fields: {}, message: expect.stringMatching(/stopped/) as unknown },
    ]);
  });
});

describe('process signals', () => {
  /** A process that serves `GET /slow`, which is answered when its input ends. */
  function launch(handleSignals: boolean, signal: NodeJS.Signals): { child: ChildProcess; says: (part: RegExp) => Promise<string> } {
    // Its own listener comes after the framework's: what it says comes when the drain has begun.
    const program = `
      const { createServer } = require('./lib/index');
      const app = createServer({ logging: { level: 'silent' }, server: { handleSignals: ${handleSignals} } });
      app.get('/slow', (req, res) => { process.stdout.write('entered;'); process.stdin.resume().on('end', () => res.send('slow')); });
      app.start(0).then((server) => {
        if (${handleSignals}) process.once('${signal}', () => process.stdout.write('signalled;'));
        process.stdout.write('port=' + server.address().port + ';');
      });`;
    const child = spawn(process.execPath, [...FROM_LIB, '-e', program], { cwd: join(__dirname, '..'), stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(child);
    let text = '';
    child.stdout?.on('data', (chunk) => (text += String(chunk)));
    const says = async (part: RegExp): Promise<string> => {
      while (!part.test(text)) await once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data');
      return part.exec(text)?.[1] ?? '';
    };
    return { child, says };
  }

  async function signalled(handleSignals: boolean, signal: NodeJS.Signals): Promise<{ answer: string; code: number | null; killed: string | null }> {
    const { child, says } = launch(handleSignals, signal);
    const ended = once(child, 'close') as Promise<[number | null, string | null]>;
    const answer = ask(Number(await says(/port=(\d+);/)), '/slow').then(({ body }) => body, (error: NodeJS.ErrnoException) => String(error.code));
    await says(/entered;/);
    child.kill(signal);
    if (handleSignals) {
      await says(/signalled;/);
      child.stdin?.end();
    }
    const [code, killed] = await ended;
    return { answer: await answer, code, killed };
  }

  test.each(['SIGTERM', 'SIGINT'] as const)('%s drains and ends the process when server.handleSignals is true', async (signal) => {
    expect(await signalled(true, signal)).toEqual({ answer: 'slow', code: 0, killed: null });
  });

  test('are not handled otherwise', async () => {
    expect(await signalled(false, 'SIGTERM')).toEqual({ answer: 'ECONNRESET', code: null, killed: 'SIGTERM' });
  });

  test('listeners are there while the server runs only, and only if asked for', async () => {
    const count = (): number => process.listenerCount('SIGTERM') + process.listenerCount('SIGINT');
    const before = count();
    const plain = createServer({ logging: { level: 'silent' } });
    await plain.start(0);
    expect(count()).toBe(before);
    await plain.close();
    const handling = createServer({ logging: { level: 'silent' }, server: { handleSignals: true } });
    await handling.start(0);
    expect(count()).toBe(before + 2);
    await handling.close();
    expect(count()).toBe(before);
    const port = portOf(await plain.start(0));
    await expect(handling.start(port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(count()).toBe(before);
    await plain.close();
  });
});

test('the end of a block with await using closes the application', async () => {
  const app = createServer({ logging: false });
  const closed: string[] = [];
  app.on('close', () => void closed.push('close'));
  const port = await running.start(app);
  // What `await using` calls; not every compiler of these specs knows the words.
  await app[Symbol.asyncDispose]();
  expect(closed).toEqual(['close']);
  expect(app.server).toBeNull();
  await expect(ask(port, '/')).rejects.toThrow('ECONNREFUSED');
  await app[Symbol.asyncDispose]();
});
