import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { type Application, createServer, type CreateServerOptions, type Logger } from 'waypost';
import { FROM_LIB, ROOT } from './support/child-program';
import { LogRecorder, Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();

afterEach(() => running.close());

interface PinoLine {
  level: number;
  msg: string;
  err?: { message: string; stack: string };
  method?: string;
  url?: string;
}

/** Pino at that level, and what it wrote. */
function pinoAt(level: string): { logger: Logger; lines: PinoLine[] } {
  const lines: PinoLine[] = [];
  return { lines, logger: pino({ level }, { write: (line: string) => void lines.push(JSON.parse(line) as PinoLine) }) };
}

function routes(app: Application): void {
  app.get('/', (_req, res) => res.send('fine'));
  app.get('/broken', () => {
    throw new Error('inner detail');
  });
  app.get('/refused', (_req, _res, next) => next(Object.assign(new Error('not you'), { status: 403 })));
  app.get('/big', (_req, res) => res.json(1n));
}

/** Starts, asks, stops; answers what was logged. */
async function session(level: string, paths: readonly string[]): Promise<PinoLine[]> {
  const { logger, lines } = pinoAt(level);
  const port = await running.app(routes, { logging: { logger } });
  for (const path of paths) await ask(port, path);
  await running.close();
  return lines;
}

/** What a fresh process writes with the built-in logger while it starts, serves and stops. */
async function written(logging: CreateServerOptions['logging'], env: Record<string, string> = {}): Promise<PinoLine[]> {
  const program = `
    const { createServer } = require('./lib/index');
    const { request } = require('node:http');
    const app = createServer(${JSON.stringify({ ...(logging && { logging }) })});
    app.get('/', (req, res) => res.send('fine'));
    app.get('/broken', () => { throw new Error('inner detail'); });
    const get = (port, path) => new Promise((resolve) => request({ port, path, agent: false }, (res) => res.resume().on('end', resolve)).end());
    app.start(0).then(async (server) => {
      const { port } = server.address();
      await get(port, '/');
      await get(port, '/broken');
      await app.close();
    });`;
  const child = spawn(process.execPath, [...FROM_LIB, '-e', program], {
    cwd: join(__dirname, '..'), env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk) => (text += String(chunk)));
  await once(child, 'close');
  return text.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as PinoLine);
}

describe('the built-in logger', () => {
  test('writes start, stop and errors from info up, by default', async () => {
    const lines = await written(undefined);
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      [30, expect.stringMatching(/started/)], [50, expect.stringMatching(/failed/)], [30, expect.stringMatching(/stopped/)],
    ]);
    expect(lines[1]).toMatchObject({ method: 'GET', url: '/broken', err: { message: 'inner detail', stack: expect.any(String) as unknown } });
  });

  test('writes each request at debug', async () => {
    const lines = await written({ level: 'debug' });
    expect(lines.filter(({ level }) => level === 20).map(({ method, url }) => `${method ?? ''} ${url ?? ''}`)).toEqual(['GET /', 'GET /broken']);
  });

  test('is silent at silent', async () => {
    expect(await written({ level: 'silent' })).toEqual([]);
  });
});

describe('levels', () => {
  test('info tells nothing of a request that went well, nor of 404', async () => {
    const lines = await session('info', ['/', '/none', '/']);
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([[30, expect.stringMatching(/started/)], [30, expect.stringMatching(/stopped/)]]);
  });

  test('debug tells of each request, method and target', async () => {
    const lines = (await session('debug', ['/', '/none?x=1', '/broken'])).filter(({ level }) => level === 20);
    expect(lines.map(({ method, url }) => `${method ?? ''} ${url ?? ''}`)).toEqual(['GET /', 'GET /none?x=1', 'GET /broken']);
  });

  test('error tells of what failed inside, not of what a client did', async () => {
    const lines = await session('error', ['/', '/none', '/refused', '/broken', '/big']);
    expect(lines.map(({ url }) => url)).toEqual(['/broken', '/big']);
    expect(lines[0]?.err).toMatchObject({ message: 'inner detail' });
    expect(lines[1]?.err?.message).toMatch(/BigInt/);
  });

  test('a logger that tells no level is asked for everything', async () => {
    const recorder = new LogRecorder();
    const { trace, debug, info, warn, error, fatal } = recorder;
    const port = await running.app(routes, { logging: { logger: { trace, debug, info, warn, error, fatal } } });
    await ask(port, '/');
    expect(recorder.lines.filter(({ level }) => level === 'debug').map(({ fields }) => fields['url'])).toEqual(['/']);
  });

  test('a logger whose level is changed later is followed', async () => {
    const { logger, lines } = pinoAt('info');
    const port = await running.app(routes, { logging: { logger } });
    await ask(port, '/');
    logger.level = 'debug';
    await ask(port, '/?now');
    expect(lines.filter(({ level }) => level === 20).map(({ url }) => url)).toEqual(['/?now']);
  });
});

describe('logging.logger', () => {
  test('is the logger of the application', () => {
    const logger = new LogRecorder();
    expect(createServer({ logging: { logger } }).log).toBe(logger);
    expect(createServer({ logging: { level: 'silent' } }).log).toMatchObject({ level: 'silent' });
  });

  test('must have the shape of pino', () => {
    expect(() => createServer({ logging: { logger: { info: () => undefined } as unknown as Logger } })).toThrow(/^logging\.logger must have the methods/);
    expect(() => createServer({ logging: { logger: console as unknown as Logger } })).toThrow(/lacks fatal/);
  });

  test('beside logging.level is warned of', () => {
    const logger = new LogRecorder();
    createServer({ logging: { level: 'debug', logger } });
    expect(logger.messages('warn')).toEqual([expect.stringMatching(/logging\.level has no effect/)]);
  });
});

describe('warnings at start', () => {
  test('name a route that an earlier one covers', async () => {
    const logger = new LogRecorder();
    await running.app((app) => {
      app.get('/:any', (_req, res) => res.end());
      app.get('/me', (_req, res) => res.end());
      app.post('/me', (_req, res) => res.end());
    }, { logging: { logger } });
    expect(logger.messages('warn')).toEqual([expect.stringMatching(/GET \/me .*\/:any/)]);
  });
});

test('what is logged of a request holds no header and no body', async () => {
  const logger = new LogRecorder();
  const port = await running.app((app) => app.post('/', () => {
    throw new Error('x');
  }), { logging: { logger } });
  await ask(port, '/', { method: 'POST', body: '{"password":"hunter2"}', headers: { authorization: 'Bearer secret-token', 'content-type': 'application/json' } });
  expect(logger.text).not.toMatch(/hunter2|secret-token/);
});

describe('the line of the start', () => {
  const SECURE = { key: readFileSync(join(ROOT, 'demo/tls/demo-only-key.pem')), cert: readFileSync(join(ROOT, 'demo/tls/demo-only-cert.pem')) };
  test.each<[unknown, RegExp, CreateServerOptions['server']?]>([
    [{ port: 0 }, /at http:\/\/localhost:\d+$/],
    [{ port: 0, host: '127.0.0.1' }, /at http:\/\/localhost:\d+$/],
    [{ port: 0, host: '::1' }, /at http:\/\/localhost:\d+$/],
    [{ port: 0, host: '127.0.0.2' }, /at http:\/\/127\.0\.0\.2:\d+$/],
    [{ port: 0 }, /at https:\/\/localhost:\d+$/, { https: SECURE }],
    [{ path: join(tmpdir(), `waypost-line-${process.pid}.sock`) }, /at \/.*waypost-line-\d+\.sock$/],
  ])('of %j says %s', async (target, said, server = {}) => {
    const log = new LogRecorder();
    const app = createServer({ server, logging: { logger: log } });
    await app.start(target as { port: number });
    await app.close();
    expect(log.messages('info')).toEqual([expect.stringMatching(said), 'The server has stopped']);
  });
});

describe('logging: false', () => {
  test.each(['development', 'production'])('writes no line in %s', async (env) => {
    const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      const app = createServer({ env, logging: false, notAnOption: 1 } as CreateServerOptions);
      routes(app);
      const port = await running.start(app);
      expect((await ask(port, '/broken')).status).toBe(500);
      app.log.fatal('the end');
      await app.close();
      expect(write.mock.calls).toEqual([]);
    } finally {
      write.mockRestore();
    }
  });

  test('no other value stands for options', () => {
    for (const logging of [true, null, 'info']) expect(() => createServer({ logging } as never)).toThrow('logging must be an object');
  });
});
