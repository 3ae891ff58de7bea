import { install } from '@sinonjs/fake-timers';
import { createServer } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { head, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

/** What vitest and jest fake where a test names nothing. */
const LISTS = {
  vitest: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'setInterval', 'clearInterval', 'Date', 'performance'],
  jest: ['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate', 'setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'],
} as const;

/** More than a slice of work, and than one write. */
const LARGE = Array.from({ length: 100_000 }, (_, id) => ({ id, of: 2n ** 64n }));

test.each(Object.entries(LISTS))('where a test has faked all that %s fakes, everything is answered, and close ends', async (_name, toFake) => {
  const app = createServer({ env: 'development', logging: { logger: new LogRecorder() } });
  app.get('/', (_req, res) => res.json('got'));
  app.post('/', (req, res) => res.json(req.body));
  app.get('/error', () => { throw new Error('no'); });
  app.get('/file', (_req, res) => res.sendFile(__filename));
  app.get('/large', (_req, res) => res.xJson(LARGE));
  app.get('/cut', (_req, res) => { res.write('a part'); throw new Error('no'); });
  const port = await running.start(app);
  const warned = [jest.spyOn(console, 'warn'), jest.spyOn(process, 'emitWarning')];
  const clock = install({ toFake: [...toFake] });
  try {
    const ask = async (target: string, body = ''): Promise<string> => {
      const wire = await Wire.open(port);
      wire.write(`${body === '' ? 'GET' : 'POST'} ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      await wire.end;
      return wire.text;
    };
    expect(await ask('/')).toMatch(/^HTTP\/1.1 200 .*"got"$/s);
    expect(await ask('/', '{"a":1}')).toMatch(/^HTTP\/1.1 200 .*\{"a":1\}$/s);
    expect(await ask('/error')).toMatch(/^HTTP\/1.1 500 /);
    expect(await ask('/none')).toMatch(/^HTTP\/1.1 404 /);
    expect(await ask('/file')).toMatch(/^HTTP\/1.1 200 .*The last line\.\n$/s);
    expect(await ask('/large')).toMatch(/^HTTP\/1.1 200 .*"18446744073709551616"\}\]$/s);
    expect(await ask('/cut')).toMatch(/a part\r\n$/);
    const idle = await Wire.open(port);
    idle.write(head('GET /'));
    await idle.until('"got"');
    const unasked = await Wire.open(port);
    await Promise.all([app.close(), idle.end, unasked.end]);
  } finally {
    clock.uninstall();
  }
  expect(warned.flatMap(({ mock }) => mock.calls)).toEqual([]);
  jest.restoreAllMocks();
});

test('inject answers where a test has faked all that vitest fakes', async () => {
  const app = createServer({ logging: { level: 'silent' } });
  app.get('/', (_req, res) => res.json('got'));
  app.post('/', (req, res) => res.json(req.body));
  app.get('/large', (_req, res) => res.xJson(LARGE));
  const clock = install({ toFake: [...LISTS.vitest] });
  try {
    expect((await app.inject('/')).json()).toBe('got');
    expect((await app.inject({ method: 'POST', url: '/', payload: { a: 1 } })).json()).toEqual({ a: 1 });
    expect((await app.inject('/large')).body).toHaveLength(JSON.stringify(LARGE.map(({ id, of }) => ({ id, of: String(of) }))).length);
  } finally {
    clock.uninstall();
  }
});

// The last line.
