import { Agent } from 'node:http';
import { type Application, createServer, type CreateServerOptions, express, HttpError, MemoryReplayStore, type NextFunction, type Request, type Response, Router, signRequest } from 'waypost';
import { Folder } from './support/folder';
import { Running } from './support/running';
import { Users } from './support/users';
import { type Answer, ask, head, Wire } from './support/wire';

const KEY = 'k'.repeat(32);
/** Users at once, who share fewer connections. */
const NAMES = Array.from({ length: 8 }, (_, i) => `user${i}`);

const running = new Running();
let folder: Folder;
let users: Users;
let agent: Agent;

beforeAll(() => {
  folder = new Folder({ 'small.txt': 'small', 'large.txt': 'large'.repeat(100_000) });
});
afterAll(() => folder.close());
jest.setTimeout(10_000);

beforeEach(() => {
  users = new Users();
  agent = new Agent({ keepAlive: true, maxSockets: 5 });
});
afterEach(async () => {
  jest.restoreAllMocks();
  agent.destroy();
  await running.close();
});

/** Notes each event of a response's end, and each call of the logger, for the request. */
function routes(app: Application): void {
  app.get('/xjson/small', (req, res) => res.xJson({ toJSON: () => (users.note(req, 'small'), users.current) }));
  app.get('/xjson/large', (req, res) => res.xJson(Array.from({ length: 600 }, () => ({ toJSON: () => (users.note(req, 'large'), users.current) }))));
  app.get('/json', (req, res) => res.json({ toJSON: () => (users.note(req, 'json'), users.current) }));
  app.get('/redirect', (req, res) => {
    users.note(req, 'redirect');
    res.redirect(`/to/${String(users.current)}`);
  });
  app.get('/file/:name', (req, res, next) => res.sendFile(req.params.name, { root: folder.path }, (error) => {
    users.note(req, `sent ${req.params.name}`);
    if (error !== undefined) next(error);
  }));
  app.get('/file-or-error/:name', (req, res) => res.sendFile(req.params.name, { root: folder.path }));
  app.get('/download/:name', (req, res) => res.download(req.params.name, 'other', { root: folder.path }, () => users.note(req, 'downloaded')));
  app.get('/format', (req, res) => {
    res.format({
      async json() {
        await new Promise((resolve) => setImmediate(resolve));
        users.note(req, 'format');
        throw new HttpError(418, 'TEA', `for ${String(users.current)}`);
      },
    });
  });
  app.get('/late', async (req, _res, next) => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    users.note(req, 'late');
    next();
  });
  app.use('/static', express.static(folder.path));
  app.use((req, _res, next) => {
    users.note(req, 'below');
    next();
  });
  app.use((error: unknown, req: Request, res: Response, _next: NextFunction) => {
    users.note(req, 'failed');
    res.status((error as HttpError).status ?? 500).send(String(users.current));
  });
}

interface Asked {
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly method?: string;
  /** What the answer is for that user: its status, and its body where it is one of its own. */
  readonly status: number;
  readonly body?: (name: string) => string;
}

const own = (name: string): string => name;

const QUESTIONS: readonly Asked[] = [
  { path: '/xjson/small', status: 200, body: JSON.stringify },
  { path: '/xjson/large', status: 200, body: (name) => JSON.stringify(Array(600).fill(name)) },
  { path: '/xjson/large', method: 'HEAD', status: 200 },
  { path: '/json', status: 200, body: JSON.stringify },
  { path: '/json.xJson', status: 200, body: JSON.stringify },
  { path: '/redirect', status: 302, body: (name) => `Found. Redirecting to /to/${name}` },
  { path: '/file/small.txt', status: 200 },
  { path: '/file/large.txt', status: 200 },
  { path: '/file/none.txt', status: 404 },
  { path: '/file/small.txt', headers: { 'if-modified-since': new Date(Date.now() + 1e6).toUTCString() }, status: 304 },
  { path: '/file/small.txt', headers: { range: 'bytes=1-2' }, status: 206 },
  { path: '/file/large.txt', headers: { range: 'bytes=1-400000' }, status: 206 },
  { path: '/file-or-error/none.txt', status: 404, body: own },
  { path: '/file-or-error/small.txt', headers: { range: 'bytes=9-' }, status: 416, body: own },
  { path: '/download/small.txt', status: 200 },
  { path: '/static/small.txt', status: 200 },
  { path: '/static/none.txt', status: 404 },
  { path: '/format', headers: { accept: 'application/json' }, status: 418, body: own },
  { path: '/format', headers: { accept: 'text/plain' }, status: 406, body: own },
  { path: '/late', status: 404 },
];

/** Puts every question for every user, all at once; answers which were answered wrong. */
async function wrongOf(put: (path: string, headers: Record<string, string>, method: string, name: string) => Promise<Pick<Answer, 'body' | 'status'>>): Promise<string[]> {
  const asked = NAMES.flatMap((name) => QUESTIONS.map((question) => ({ name, question })));
  const wrong = await Promise.all(asked.map(async ({ name, question: { path, headers, method = 'GET', status, body } }) => {
    const answer = await put(path, { ...headers, 'x-user': name }, method, name);
    const isRight = answer.status === status && (body === undefined || answer.body === body(name));
    return isRight ? [] : [`${method} ${path} of ${name}: ${answer.status} ${answer.body.slice(0, 80)}`];
  }));
  return wrong.flat();
}

const overAgent = (port: number): Parameters<typeof wrongOf>[0] => (path, headers, method) => ask(port, path, { headers, method, agent });

/** How a program puts a store around its requests. */
const PROGRAMS: readonly (readonly [string, (options?: CreateServerOptions) => Promise<number>])[] = [
  ['around the application', (options = {}) => {
    const app = createServer({ env: 'test', logging: { level: 'silent' }, ...options });
    routes(app);
    return running.serve(users.around(app));
  }],
  ['by the first middleware', (options = {}) => running.app((app) => {
    app.use(users.middleware);
    routes(app);
  }, options)],
  ['by middleware of an application around it', (options = {}) => running.app((outer) => {
    const app = createServer({ env: 'test', logging: { level: 'silent' }, ...options });
    routes(app);
    outer.use(users.middleware, app);
  })],
  ['by middleware of a router', (options = {}) => running.app((app) => {
    const router = Router();
    router.use(users.middleware);
    app.use(router);
    routes(app);
  }, options)],
];

/** Replays are kept in a store of the test's own, asked for later and answered from one place for all. */
class SharedTurns {
  readonly #waiting: (() => void)[] = [];

  claim(): Promise<boolean> {
    return new Promise((resolve) => {
      this.#waiting.push(() => resolve(true));
      if (this.#waiting.length === 1) setTimeout(() => this.#waiting.splice(0).forEach((go) => go()), 5);
    });
  }
}

describe('a request stays in its async context', () => {
  test.each(PROGRAMS)('that a program opens %s', async (_, start) => {
    const port = await start();
    // Once more for files that are kept in mind.
    for (let time = 0; time < 2; time++) {
      const today = Date.now();
      jest.spyOn(Date, 'now').mockReturnValue(today + 3_600_000);
      expect(await wrongOf(overAgent(port))).toEqual([]);
    }
    expect(users.strays).toEqual([]);
    expect(users.places).toMatchObject({
      'small': 2 * NAMES.length, 'json': 4 * NAMES.length, 'redirect': 2 * NAMES.length, 'format': 2 * NAMES.length, 'late': 2 * NAMES.length,
      'sent small.txt': 6 * NAMES.length, 'sent large.txt': 4 * NAMES.length, 'sent none.txt': 2 * NAMES.length, 'downloaded': 2 * NAMES.length,
    });
  });

  test('that inject is called in', async () => {
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    routes(app);
    const wrong = await wrongOf((path, headers, method, name) => users.run(name, async () => {
      const { statusCode, body } = await app.inject({ url: path, headers, method: method as 'GET' });
      return { status: statusCode, body };
    }));
    expect(wrong).toEqual([]);
    expect(users.strays).toEqual([]);
  });

  test.each<[string, CreateServerOptions['security']]>([
    ['asynchronous secrets', {
      requestSignature: {
        async secret(name) {
          await new Promise((resolve) => setTimeout(resolve, 1));
          users.notes.push({ user: String(name), place: 'secret', store: users.current });
          return KEY;
        },
      },
    }],
    ['secrets that are a query of its own', {
      requestSignature: {
        secret: (name) => ({
          then(resolve: (secret: string) => void) {
            users.notes.push({ user: String(name), place: 'secret', store: users.current });
            setTimeout(resolve, 1, KEY);
          },
        }) as Promise<string>,
      },
    }],
    ['a replay store in memory', { requestSignature: { secret: () => KEY, replay: { store: new MemoryReplayStore() } } }],
    ['a replay store that answers many at once', { requestSignature: { secret: () => KEY, replay: { store: new SharedTurns() } } }],
  ])('while its signature is checked with %s', async (_, security) => {
    const app = createServer({ env: 'test', logging: { level: 'silent' }, ...(security === undefined ? {} : { security }) });
    routes(app);
    const port = await running.serve(users.around(app));
    let unique = 0;
    const wrong = await wrongOf((path, headers, method, name) => {
      const url = `${path}?${unique++}`;
      return ask(port, url, { method, agent, headers: { ...headers, ...signRequest({ secret: KEY, keyId: name, method, url }) } });
    });
    expect(wrong).toEqual([]);
    expect(users.strays).toEqual([]);
  });

  test('while files are sent to clients that read slowly, and ask for more at once', async () => {
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    const names = NAMES.slice(0, 3);
    folder.add('huge.txt', 'x'.repeat(12_000_000));
    const sent = new Promise<void>((resolve) => {
      app.get('/', (req, res) => {
        for (const method of ['write', 'end'] as const) {
          const given = res[method] as (...args: unknown[]) => unknown;
          res[method] = function (this: typeof res, ...args: unknown[]) {
            users.note(req, method);
            return Reflect.apply(given, this, args) as never;
          };
        }
        res.sendFile('huge.txt', { root: folder.path }, () => {
          users.note(req, 'sent');
          if (users.places['sent'] === names.length) resolve();
        });
      });
    });
    const port = await running.serve(users.around(app));
    const wire = (await Wire.open(port)).pause();
    wire.write(names.map((name) => head('GET /', { 'x-user': name, ...(name === names.at(-1) ? { Connection: 'close' } : {}) })).join(''));
    await wire.flushed();
    wire.resume();
    await Promise.all([wire.end, sent]);
    expect(wire.text.length).toBeGreaterThan(36_000_000);
    expect(users.places['end']).toBe(3);
    expect(users.strays).toEqual([]);
  });
});

test('what is kept in mind of files keeps no request\'s store', async () => {
  const app = createServer({ env: 'test', logging: { level: 'silent' } });
  routes(app);
  const port = await running.serve(users.around(app));
  const today = Date.now();
  jest.spyOn(Date, 'now').mockReturnValue(today + 3_600_000);
  const timers: (string | undefined)[] = [];
  const { setTimeout: later } = globalThis;
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(((...args: Parameters<typeof later>) => {
    if (args[1] === 1000) timers.push(users.current);
    return later(...args);
  }) as typeof later);
  for (let time = 0; time < 3; time++) await ask(port, '/file/small.txt', { headers: { 'x-user': 'ann' } });
  expect(timers).toEqual([undefined]);
  expect(users.strays).toEqual([]);
});
