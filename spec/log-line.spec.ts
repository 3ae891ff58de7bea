import { type ChildProcess, type ChildProcessWithoutNullStreams, execFileSync, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { inspect } from 'node:util';
import fc from 'fast-check';
import pino from 'pino';
import { createServer, type Logger, type ReplayStore, signRequest, XJsonResponseHandler } from 'waypost';
import { SafeLog } from '../lib/log/safe-log';
import { FROM_LIB } from './support/child-program';
import { LogRecorder, Running } from './support/running';
import { ask, head, Wire } from './support/wire';

const running = new Running();
// What nobody catches ends the test that runs: jest listens for it.
afterEach(() => running.close());

function raise(value: unknown): never {
  throw value;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function withGetter(name: string): Error {
  return Object.defineProperty(new Error('inner detail'), name, { enumerable: true, get: () => raise(new Error(`no ${name}`)) });
}

/** Made without stacks, which would take the most of the time. */
function chain(depth: number): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  let error = new Error('inner detail');
  for (let i = 0; i < depth; i++) error = new Error('inner detail', { cause: error });
  Error.stackTraceLimit = stackTraceLimit;
  return error;
}

/** What may be thrown, and what a logger may not be able to write. */
const ERRORS: Record<string, () => unknown> = {
  'an error that holds a revoked proxy': () => Object.assign(new Error('inner detail'), { detail: revoked() }),
  'an error caused by a revoked proxy': () => new Error('inner detail', { cause: revoked() }),
  'an error whose cause throws': () => withGetter('cause'),
  'an error whose toJSON throws': () => Object.assign(new Error('inner detail'), { toJSON: () => raise(new Error('no')) }),
  'an error that shows itself by throwing': () => Object.assign(new Error('inner detail'), { [inspect.custom]: () => raise(new Error('no')), toString: () => raise(new Error('no')) }),
  'an error in a circle': () => { const error: Error = new Error('inner detail'); return Object.assign(error, { cause: error, self: error }); },
  'an error with twenty thousand causes': () => chain(20_000),
  'an error that is frozen': () => Object.freeze(new Error('inner detail')),
  'an error with a big integer': () => Object.assign(new Error('inner detail'), { big: 1n }),
  'a symbol': () => Symbol('inner detail'),
  null: () => null,
  undefined: () => undefined,
  'a big integer': () => 1n,
  'an object without a prototype': () => Object.create(null),
};

const secret = 'x'.repeat(32);
const kinds = Object.entries(ERRORS);

function pinoTo(lines: string[]): Logger {
  return pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
}

describe('an error is answered and logged, one line each time, if it is', () => {
  test.each(kinds)('%s', async (_, make) => {
    const lines: string[] = [];
    const sends = new XJsonResponseHandler();
    const port = await running.app((app) => {
      app.get('/throw', () => raise(make()));
      app.get('/reject', async () => raise(make()));
      app.get('/json', (_req, res) => res.json({ get it() { return raise(make()); } }));
      app.get('/xjson', (_req, res) => res.xJson({ get it() { return raise(make()); } }));
      app.get('/late', (_req, res) => {
        res.end('fine');
        raise(make());
      });
      app.get('/begun', (_req, res) => {
        res.write('begun');
        raise(make());
      });
      app.get('/alone', (_req, res) => {
        sends.send(res, { get it() { return raise(make()); } });
      });
      app.on('upgrade', () => raise(make()));
    }, { logging: { logger: pinoTo(lines) } });
    lines.length = 0;
    for (const path of ['/throw', '/reject', '/json', '/xjson', '/alone']) expect((await ask(port, path)).status).toBe(500);
    expect((await ask(port, '/late')).body).toBe('fine');
    expect(await Wire.tell(port, head('GET /begun'))).toContain('begun');
    await Wire.tell(port, head('GET /', { Connection: 'Upgrade', Upgrade: 'websocket' }));
    expect(lines.filter((line) => line.includes('"level":50'))).toHaveLength(7);
  });

  test.each(kinds)('%s, and what a store of signatures throws', async (_, make) => {
    const lines: string[] = [];
    const claim = (): never => raise(make());
    const port = await running.app((app) => app.get('/', (_req, res) => res.end()), {
      logging: { logger: pinoTo(lines) }, security: { requestSignature: { secret, replay: { store: { claim } as ReplayStore } } },
    });
    expect((await ask(port, '/', { headers: signRequest({ secret, method: 'GET', url: '/' }) })).status).toBe(503);
    expect(lines.filter((line) => line.includes('could not be checked'))).toHaveLength(1);
  });
});

test('what can be told of an error that pino cannot write is told', () => {
  const lines: string[] = [];
  const log = new SafeLog(pinoTo(lines));
  log.error({ err: Object.assign(new Error('inner detail'), { detail: revoked() }), url: '/a' }, 'It failed');
  log.error({ err: new Error('inner detail', { cause: revoked() }), url: '/a' }, 'It failed');
  log.error({ err: revoked(), url: '/a' }, 'It failed');
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { msg: 'It failed', url: '/a', err: expect.stringContaining('inner detail') as unknown },
    { msg: 'It failed', url: '/a', err: expect.stringContaining('inner detail') as unknown },
    { msg: 'It failed', url: '/a', err: expect.any(String) as unknown },
  ]);
});

describe('a logger that fails', () => {
  const way = fc.constantFrom<() => unknown>(
    () => undefined,
    () => raise(new Error('the log is full')),
    () => raise(revoked()),
    async () => raise(new Error('the log is far away')),
    () => ({ then: (_: unknown, failed: (error: Error) => void) => failed(new Error('no')) }),
    () => Object.defineProperty({}, 'then', { get: () => raise(new Error('no')) }),
  );

  test('changes no answer, and ends no process', async () => {
    await fc.assert(fc.asyncProperty(fc.record({ trace: way, debug: way, info: way, warn: way, error: way, fatal: way }), fc.boolean(), async (methods, debug) => {
      const logger = { ...methods, level: 'trace', isLevelEnabled: debug ? () => true : () => raise(new Error('no level')) } as unknown as Logger;
      const app = createServer({ logging: { logger }, env: 'test' });
      app.get('/throw', () => raise(new Error('inner detail')));
      app.get('/json', (_req, res) => res.json(1n));
      app.get('/xjson', (_req, res) => res.xJson({ get it() { return raise(new Error('inner detail')); } }));
      app.get('/fine', (_req, res) => res.send('fine'));
      app.get('/fine', (_req, res) => res.send('covered, which is warned of'));
      app.set('x-powered-by', true);
      const port = await running.start(app);
      const answers = [];
      for (const path of ['/throw', '/json', '/xjson', '/fine', '/none']) answers.push((await ask(port, path)).status);
      await running.close();
      expect(answers).toEqual([500, 500, 500, 200, 404]);
    }), { numRuns: 30 });
  });

  test('is the application\'s own all the same', () => {
    const logger = new LogRecorder();
    expect(createServer({ logging: { logger } }).log).toBe(logger);
  });
});

describe('standard output', () => {
  const SERVER = `
    const { createServer } = require('./lib/index');
    const { request } = require('node:http');
    const app = createServer();
    app.get('/', (req, res) => res.send('fine'));
    app.get('/broken', () => { throw new Error('x'.repeat(2000)); });
    const get = (port, path) => new Promise((resolve) => request({ port, path, agent: false }, (res) => res.resume().on('end', () => resolve(res.statusCode))).end());
    app.start(0, '127.0.0.1').then(async (server) => {
      const codes = new Set();
      for (let i = 0; i < 100; i++) codes.add(await get(server.address().port, i % 2 ? '/' : '/broken'));
      app.log.fatal('the last line');
      await app.close();
      process.stderr.write([...codes].join());
    });`;
  const LINES = `
    const log = require('./lib/log/logger').createLogger();
    for (let i = 0; i < 200; i++) log.error({ text: 'x'.repeat(2000) }, 'line ' + i);
    process.stderr.write('done');`;

  const children: ChildProcess[] = [];
  // One that a broken log holds up would stay.
  afterEach(() => children.splice(0).forEach((child) => child.kill('SIGKILL')));

  function start(program: string, stdio: StdioOptions): ChildProcess {
    const child = spawn(process.execPath, [...FROM_LIB, '-e', program], { cwd: join(__dirname, '..'), stdio });
    children.push(child);
    return child;
  }

  async function endOf(program: string, stdout: number | 'pipe', act: (output: Readable) => void = () => undefined): Promise<unknown[]> {
    const child = start(program, ['ignore', stdout, 'pipe']);
    let errors = '';
    child.stderr?.on('data', (chunk) => (errors += String(chunk)));
    if (child.stdout !== null) act(child.stdout);
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    return [errors, code, signal];
  }

  test('on a disk that is full loses lines, and no request', async () => {
    const full = openSync('/dev/full', 'w');
    try {
      expect(await endOf(SERVER, full)).toEqual(['500,200', 0, null]);
    } finally {
      closeSync(full);
    }
  });

  test('that is a pipe closed behind the first line likewise', async () => {
    expect(await endOf(SERVER, 'pipe', (output) => output.once('data', () => output.destroy()))).toEqual(['500,200', 0, null]);
  });

  test('that nobody reads holds nothing up', async () => {
    expect(await endOf(LINES, 'pipe', (output) => void once(output.pause(), 'end'))).toEqual(['done', 0, null]);
  });

  /** Runs a program that logs so many lines at once and one more when it is told to; reads slowly, and tells it when that line of the log has come. */
  async function linesOf(count: number, until: RegExp): Promise<{ level: number; msg: string }[]> {
    const program = `
      const log = require('./lib/log/logger').createLogger();
      for (let i = 0; i < ${count}; i++) log.error({ text: 'x'.repeat(2000) }, 'line ' + i);
      process.stderr.write('logged');
      process.stdin.once('data', () => {
        log.error('the last line');
        process.exit();
      });`;
    const child = start(program, 'pipe') as ChildProcessWithoutNullStreams;
    const closed = once(child, 'close');
    await once(child.stderr, 'data');
    let text = '';
    child.stdout.on('data', (chunk) => {
      const had = until.test(text);
      text += String(chunk);
      if (!had && until.test(text)) child.stdin.write('go');
      child.stdout.pause();
      setImmediate(() => child.stdout.resume());
    });
    await closed;
    return text.trimEnd().split('\n').map((line) => JSON.parse(line) as { level: number; msg: string });
  }

  test('that is read late, and at leisure, gets every line whole', async () => {
    const lines = await linesOf(200, /"line 199"/);
    expect(lines.map(({ msg }) => msg)).toEqual([...Array.from({ length: 200 }, (_, i) => `line ${i}`), 'the last line']);
  });

  test('whose reader is too far behind is told how many lines were lost, and gets none in parts', async () => {
    const lines = await linesOf(1_000, / lost: |"line 999"/);
    const whole = lines.length - 2;
    expect(whole).toBeGreaterThan(400);
    expect(whole).toBeLessThan(1_000);
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      ...Array.from({ length: whole }, (_, i) => [50, `line ${i}`]), [40, `${1_000 - whole} lines of the log were lost: standard output took none`], [50, 'the last line'],
    ]);
  });

  test('that a child process was given, and nobody reads, holds up neither requests nor the end', async () => {
    const program = `
      const { createServer } = require('./lib/index');
      const { spawn } = require('node:child_process');
      const { request } = require('node:http');
      const child = spawn('sleep', ['60'], { stdio: 'inherit' });
      process.once('exit', () => child.kill());
      const app = createServer({ server: { handleSignals: true } });
      app.get('/', () => { throw new Error('x'.repeat(2000)); });
      const get = (port) => new Promise((resolve) => request({ port, agent: false }, (res) => res.resume().on('end', resolve)).end());
      child.once('spawn', () => app.start(0, '127.0.0.1').then(async (server) => {
        for (let i = 0; i < 100; i++) await get(server.address().port);
        process.stderr.write('answered');
        server.once('close', () => child.kill());
        process.kill(process.pid, 'SIGTERM');
      }));`;
    const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    // For reading too, or opening it would wait for a reader.
    const fifo = openSync(path, 'r+');
    try {
      expect(await endOf(program, fifo)).toEqual(['answered', 0, null]);
    } finally {
      closeSync(fifo);
      rmSync(folder, { recursive: true });
    }
  });
});
