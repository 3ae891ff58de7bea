import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type Application, createServer, type Handler, type Request, type Response, XJsonResponseHandler } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { Users } from './support/users';
import { ask, head, Wire } from './support/wire';

const NAMES = ['ann', 'bob', 'cyd'];
/** Values of a body that takes many slices while each look at the clock says that a slice's time is over. */
const MANY = 6000;

const running = new Running();
let users: Users;
let log: LogRecorder;
let handler: Handler;
let app: Application;

beforeEach(() => {
  users = new Users();
  log = new LogRecorder();
  app = createServer({ env: 'test', logging: { logger: log } });
  app.get('/', (req, res, next) => handler(req, res, next));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await running.close();
});

/** Each slice is over at its first look at the clock, after some hundred values. */
function shortenSlices(): void {
  let now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => (now += 20));
}

/** A body that holds who looks at it, by that many toJSON, getters and proxies. */
function redacted(look: () => unknown, count = MANY): unknown[] {
  const proxy = new Proxy({}, {
    ownKeys: () => [String(look())],
    getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true, value: 0 }),
    get: (_, name) => (name === 'toJSON' ? undefined : look()),
  });
  return Array.from({ length: count }, (_, i) => [
    { toJSON: look },
    Object.defineProperty({}, 'by', { get: look, enumerable: true }),
    proxy,
    { toJSON: () => ({ toJSON: 1n, by: [look()] }) },
  ][i % 4]);
}

function bodyFor(name: string, count = MANY): string {
  return JSON.stringify(Array.from({ length: count }, (_, i) => [name, { by: name }, { [name]: name }, { toJSON: '1', by: [name] }][i % 4]));
}

function askAs(user: string, port: number, method = 'GET'): ReturnType<typeof ask> {
  return ask(port, '/', { method, headers: { 'x-user': user } });
}

/** A request of each user, all on one connection. */
function pipelined(): string {
  return NAMES.map((name) => head('GET /', { 'x-user': name, ...(name === 'cyd' ? { Connection: 'close' } : {}) })).join('');
}

/** Whether the users' calls came by turns. */
function areInterleaved({ notes }: Users): boolean {
  return NAMES.every((name) => {
    const from = notes.findIndex(({ user }) => user === name);
    const to = notes.findLastIndex(({ user }) => user === name);
    return notes.slice(from, to).some(({ user }) => user !== name);
  });
}

describe('what is called for data of res.xJson runs in the async context of its request', () => {
  test.each<[string, () => Promise<number>]>([
    ['that a server has put around the application', () => running.serve(users.around(app))],
    ['that middleware has gone on in', () => {
      const outer = createServer({ env: 'test', logging: { level: 'silent' } });
      outer.use(users.middleware, app);
      return running.start(outer);
    }],
    ['around a handler of plain node:http', () => {
      const plain = new XJsonResponseHandler();
      return running.serve(users.around((req: IncomingMessage, res: ServerResponse) => {
        plain.send(res, redacted(() => {
          users.note(req, 'look');
          return users.current;
        }));
      }));
    }],
  ])('%s, of three users at once', async (_, serve) => {
    shortenSlices();
    handler = (req, res) => res.xJson(redacted(() => {
      users.note(req, 'look');
      return users.current;
    }));
    const port = await serve();
    const answers = await Promise.all(NAMES.map((name) => askAs(name, port)));
    expect(answers.map(({ body }) => body)).toEqual(NAMES.map((name) => bodyFor(name)));
    expect(users.strays).toEqual([]);
    expect(areInterleaved(users)).toBe(true);
  });

  test('gives each turn of the event loop to one slice', async () => {
    shortenSlices();
    const turnOf = new Map<string, Set<number>>(NAMES.map((name) => [name, new Set()]));
    let turn = 0;
    let isOver = false;
    const count = (): void => {
      turn++;
      if (!isOver) setImmediate(count);
    };
    handler = (req, res) => {
      const turns = turnOf.get(users.of(req as IncomingMessage)) as Set<number>;
      const begun = turn;
      res.xJson(redacted(() => {
        if (turn > begun) turns.add(turn);
        return users.current;
      }));
    };
    const port = await running.serve(users.around(app));
    count();
    await Promise.all(NAMES.map((name) => askAs(name, port)));
    isOver = true;
    const turns = [...turnOf.values()].flatMap((of) => [...of]);
    expect(turns.length).toBeGreaterThan(15);
    expect(new Set(turns).size).toBe(turns.length);
  });

  test('for HEAD', async () => {
    shortenSlices();
    handler = (req, res) => res.xJson(redacted(() => {
      users.note(req, 'look');
      return users.current;
    }));
    const port = await running.serve(users.around(app));
    const answers = await Promise.all(NAMES.map((name) => askAs(name, port, 'HEAD')));
    expect(answers.map(({ headers }) => headers['content-length'])).toEqual(NAMES.map((name) => String(bodyFor(name).length)));
    expect(users.strays).toEqual([]);
    expect(areInterleaved(users)).toBe(true);
  });

  test('when it fails half way, with what is logged and what ends the response', async () => {
    shortenSlices();
    const error = log.error.bind(log);
    const stores: (string | undefined)[] = [];
    Object.assign(log, {
      error: (...given: Parameters<typeof error>) => {
        stores.push(users.current);
        error(...given);
      },
    });
    handler = (req, res) => {
      const { end } = res;
      res.end = function (this: Response, ...given: unknown[]) {
        users.note(req, 'end');
        return Reflect.apply(end, this, given) as Response;
      };
      res.xJson([...redacted(() => {
        users.note(req, 'look');
        return users.current;
      }), { get by() {
        throw new Error(`failed for ${String(users.current)}`);
      } }]);
    };
    const port = await running.serve(users.around(app));
    const answers = await Promise.all(NAMES.map((name) => askAs(name, port)));
    expect(answers.map(({ status }) => status)).toEqual([500, 500, 500]);
    expect(users.strays).toEqual([]);
    expect(users.places['end']).toBe(3);
    expect([...stores].sort()).toEqual(NAMES);
    expect(log.lines.filter(({ level }) => level === 'error').map(({ fields }) => (fields.err as Error).message)).toEqual(stores.map((name) => `failed for ${String(name)}`));
    expect(areInterleaved(users)).toBe(true);
  });

  test('when a client goes away meanwhile', async () => {
    shortenSlices();
    const gone = new Promise<void>((resolve) => {
      handler = (req, res) => {
        res.on('close', () => void (users.of(req as IncomingMessage) === 'ann' && resolve()));
        res.xJson(redacted(() => {
          users.note(req, 'look');
          return users.current;
        }, 4 * MANY));
      };
    });
    const port = await running.serve(users.around(app));
    const wire = await Wire.open(port);
    const others = NAMES.slice(1).map((name) => askAs(name, port));
    await wire.write(head('GET /', { 'x-user': 'ann' })).flushed();
    wire.cut();
    await gone;
    expect((await Promise.all(others)).map(({ body }) => body)).toEqual(NAMES.slice(1).map((name) => bodyFor(name, 4 * MANY)));
    expect(users.strays).toEqual([]);
  });

  test('with several stores, and one that a toJSON runs in', async () => {
    shortenSlices();
    const other = new AsyncLocalStorage<number>();
    const seen: unknown[] = [];
    handler = (req, res) => other.run(NAMES.indexOf(users.of(req as IncomingMessage)), () => {
      res.xJson(Array.from({ length: MANY }, () => ({
        toJSON() {
          const inner = users.run('nested', () => other.run(9, () => JSON.stringify({ toJSON: () => `${String(users.current)} ${String(other.getStore())}` })));
          seen.push(inner);
          return [users.current, other.getStore()];
        },
      })));
    });
    const port = await running.serve(users.around(app));
    const answers = await Promise.all(NAMES.map((name) => askAs(name, port)));
    expect(answers.map(({ json }) => json)).toEqual(NAMES.map((name, i) => Array.from({ length: MANY }, () => [name, i])));
    expect(new Set(seen)).toEqual(new Set(['"nested 9"']));
  });
});

/** Puts down in whose context a response is written to, ended, and told to have finished and closed. */
function watched(req: IncomingMessage, res: ServerResponse): void {
  for (const method of ['write', 'end'] as const) {
    const given = res[method] as (...args: unknown[]) => unknown;
    res[method] = function (this: ServerResponse, ...args: unknown[]) {
      users.note(req, method);
      return Reflect.apply(given, this, args) as never;
    };
  }
  heard(req, res);
}

function heard(req: IncomingMessage, res: ServerResponse, then: () => void = () => undefined): void {
  for (const event of ['finish', 'close'] as const) {
    res.on(event, () => {
      users.note(req, event);
      then();
    });
  }
}

describe('a body that drains runs in the async context of its request', () => {
  const BIG = 'x'.repeat(12_000_000);

  test('in all its writes, to a client that reads slowly and asks for others at once', async () => {
    const begun = new Promise<void>((resolve) => {
      handler = (req: Request, res) => {
        watched(req, res);
        res.xJson(`${String(users.current)} ${BIG}`);
        if (users.of(req as IncomingMessage) === 'cyd') resolve();
      };
    });
    const port = await running.serve(users.around(app));
    const wire = (await Wire.open(port)).pause();
    wire.write(pipelined());
    await begun;
    wire.resume();
    await wire.end;
    expect(wire.text.length).toBeGreaterThan(36_000_000);
    expect(NAMES.map((name) => wire.text.includes(`"${name} x`))).toEqual([true, true, true]);
    expect(users.places['write']).toBeGreaterThan(300);
    expect(users.places['end']).toBe(3);
    expect(users.strays.filter(({ place }) => place === 'write' || place === 'end')).toEqual([]);
  });
});

describe('finish and close of a response of res.xJson are told in the same async context as by node:http', () => {
  /** Who was told what in whose context by a server that answers so, of requests one after the other, at once and pipelined. */
  async function told(answer: RequestListener): Promise<string[]> {
    users = new Users();
    let tell = (): void => undefined;
    const all = new Promise<void>((resolve) => {
      tell = () => void (users.notes.length === 3 * 2 * NAMES.length && resolve());
    });
    const port = await running.serve(users.around((req, res) => {
      heard(req, res, tell);
      answer(req, res);
    }));
    for (const name of NAMES) await askAs(name, port);
    await Promise.all(NAMES.map((name) => askAs(name, port)));
    await Wire.tell(port, pipelined());
    await all;
    return users.notes.map(({ user, place, store }) => `${place} of ${user} in ${String(store)}`).sort();
  }

  test.each<[string, unknown]>([['small', { a: 1n }], ['of one block', 'x'.repeat(60_000)]])('%s', async (_, data) => {
    const text = JSON.stringify(data, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    const plain = await told((_req: IncomingMessage, res: ServerResponse) => void res.end(text));
    const own = createServer({ env: 'test', logging: { level: 'silent' } });
    own.get('/', (_req, res) => res.xJson(data));
    expect(await told(own)).toEqual(plain);
  });
});
