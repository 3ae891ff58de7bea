import { createServer as createHttpServer } from 'node:http';
import { join } from 'node:path';
import { type Application, createServer, express, type Response } from 'waypost';
import { ChildProgram, FROM_LIB, ROOT } from './support/child-program';
import { LogRecorder, Running } from './support/running';
import { ask, Wire, head } from './support/wire';

/** Longer than any spec may run: that it ended was not the timeout's doing. */
const NEVER = 2_000_000_000;

const running = new Running();
afterEach(() => running.close());

function recorded(): { app: Application; log: LogRecorder } {
  const log = new LogRecorder();
  return { app: createServer({ logging: { logger: log } }), log };
}

/** A promise, and what settles it. */
function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => { resolve = done; });
  return { promise, resolve };
}

describe("app.on('close')", () => {
  test('is called when the last request has been answered, and close waits for its promise', async () => {
    const { app, log } = recorded();
    const [asked, database, told] = [deferred(), deferred(), deferred()];
    const order: string[] = [];
    let answer: () => void = () => undefined;
    app.get('/slow', (_req, res) => {
      answer = () => res.send('slow');
      asked.resolve();
    });
    app.on('close', function (this: unknown) {
      order.push(`told ${this === app} ${log.messages('info').at(-1)}`);
      told.resolve();
      return database.promise;
    });
    const wire = await Wire.open(await running.start(app));
    wire.write(head('GET /slow'));
    await asked.promise;
    const closed = app.close({ timeout: NEVER }).then(() => order.push('closed'));
    order.push('answered');
    answer();
    await told.promise;
    await wire.end;
    order.push('database');
    database.resolve();
    await closed;
    expect(order).toEqual(['answered', 'told true The server has stopped', 'database', 'closed']);
    expect(wire.text).toMatch(/slow$/);
  });

  test('has all called in order in one turn, and waits for all', async () => {
    const { app } = recorded();
    const [first, second] = [deferred(), deferred()];
    const order: string[] = [];
    app.on('close', () => { order.push('first'); return first.promise.then(() => order.push('first done')); });
    app.once('close', () => { order.push('second'); return second.promise.then(() => order.push('second done')); });
    app.on('close', () => void order.push('third'));
    await running.start(app);
    const closed = app.close({ timeout: NEVER }).then(() => order.push('closed'));
    second.resolve();
    await second.promise;
    first.resolve();
    await closed;
    expect(order.slice(0, 3)).toEqual(['first', 'second', 'third']);
    expect(order.slice(3, 5).sort()).toEqual(['first done', 'second done']);
    expect(order.at(-1)).toBe('closed');
    expect(app.listenerCount('close')).toBe(2);
  });

  test.each([
    ['throws', () => { throw new Error('no database'); }], ['rejects', () => Promise.reject(new Error('no database'))],
  ])('that %s is logged; the others are called and close settles', async (_, fails) => {
    const { app, log } = recorded();
    let called = 0;
    app.on('close', fails);
    app.on('close', () => void called++);
    await running.start(app);
    await app.close();
    expect(called).toBe(1);
    expect(log.lines.filter(({ level }) => level === 'error').map(({ message, fields }) => [message, (fields.err as Error).message])).toEqual([['A listener of "close" failed', 'no database']]);
    expect(app.server).toBeNull();
  });

  test('that never settles is waited for until the timeout, and the log says so', async () => {
    const { app, log } = recorded();
    app.on('close', () => new Promise(() => undefined));
    app.on('close', () => Promise.resolve());
    await running.start(app);
    await app.close({ timeout: 20 });
    expect(log.lines.filter(({ level }) => level === 'warn').map(({ message, fields }) => [message, fields])).toEqual([['Listeners of "close" were not done by the end of the close timeout', { listeners: 1, timeout: 20 }]]);
  });

  test('is called once for each end: not by a second close, again after a second start', async () => {
    const { app } = recorded();
    let called = 0;
    app.on('close', () => void called++);
    for (const round of [1, 2]) {
      await running.start(app);
      await Promise.all([app.close(), app.close()]);
      await app.close();
      expect(called).toBe(round);
    }
  });

  test('is called of an application that never listened by itself', async () => {
    const { app } = recorded();
    let called = 0;
    app.get('/', (_req, res) => res.end('x'));
    app.on('close', () => void called++);
    await app.inject('/');
    const port = await running.listen(createHttpServer(app));
    expect((await ask(port, '/')).body).toBe('x');
    await app.close();
    await app.close();
    expect(called).toBe(1);
  });

  test('is called of the application that is closed, not of those mounted in it', async () => {
    const [app, inner] = [express({ logging: { level: 'silent' } }), express({ logging: { level: 'silent' } })];
    const called: string[] = [];
    app.use('/in', inner);
    app.on('close', () => void called.push('outer'));
    inner.on('close', () => void called.push('inner'));
    await running.start(app);
    await app.close();
    expect(called).toEqual(['outer']);
  });

  test('is waited for when a signal closes the application', async () => {
    const program = `
      const { createServer } = require(${JSON.stringify(join(ROOT, 'lib/index'))});
      const app = createServer({ logging: { level: 'silent' }, server: { handleSignals: true } });
      app.on('close', async () => {
        await new Promise((resolve) => setImmediate(resolve));
        process.stdout.write('closed the database;');
      });
      app.start(0, '127.0.0.1').then(() => process.kill(process.pid, 'SIGTERM'));`;
    expect(await ChildProgram.run([...FROM_LIB, '-e', program])).toMatchObject({ code: 0, signal: null, output: 'closed the database;' });
  });
});

describe("app.on('drain')", () => {
  test('is called by close at once, and an event stream that is ended there holds nobody', async () => {
    const { app, log } = recorded();
    const open = new Set<Response>();
    app.get('/events', (_req, res) => {
      open.add(res.type('text/event-stream'));
      res.write('data: 1\n\n');
    });
    const order: string[] = [];
    app.on('drain', () => {
      order.push(`drain ${app.server?.listening}`);
      for (const res of open) res.end('data: last\n\n');
    });
    app.on('close', () => { order.push('close'); });
    const wire = await Wire.open(await running.start(app));
    wire.write(head('GET /events'));
    await wire.until('data: 1');
    const closed = app.close({ timeout: NEVER });
    expect(order).toEqual(['drain true']);
    await Promise.all([closed, wire.end]);
    expect(order).toEqual(['drain true', 'close']);
    expect(wire.text).toMatch(/data: last\n\n\r\n0\r\n\r\n$/);
    expect(log.messages('warn')).toEqual([]);
  });

  test('is called once for each end, also of an application that never listened by itself', async () => {
    const { app } = recorded();
    let times = 0;
    app.on('drain', () => { times++; });
    await Promise.all([app.close(), app.close()]);
    expect(times).toBe(1);
    await running.start(app);
    await app.close();
    await app.close();
    expect(times).toBe(2);
  });

  test('a listener that throws is logged, and keeps nothing from its end', async () => {
    const { app, log } = recorded();
    app.on('drain', () => { throw new Error('no'); });
    await running.start(app);
    await app.close();
    expect(log.messages('error')).toEqual(['A listener of "drain" failed']);
    expect(log.messages('info').at(-1)).toBe('The server has stopped');
  });
});
