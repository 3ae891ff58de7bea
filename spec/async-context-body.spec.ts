import { createHmac } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import expressOracle from 'express';
import { type Application, createServer, type CreateServerOptions, type HttpError, type NextFunction, type Request, type Response, signRequest } from 'waypost';
import { ChildProgram, FROM_LIB } from './support/child-program';
import { noise } from './support/noise';
import { Running } from './support/running';
import { Users } from './support/users';
import { head, Wire } from './support/wire';

const NAMES = ['ann', 'bob', 'cyd', 'dan'];
const SECRET = 's'.repeat(32);
const LIMIT = 1000;
/** Middleware that stand one behind another. */
const DEEP = 150;

const running = new Running();
let users: Users;
beforeEach(() => void (users = new Users()));
afterEach(() => running.close());

/** Everything that a body passes on its way; each answers with whose context it is. */
function register(app: Application): void {
  app.use((req, _res, next) => {
    users.note(req, 'middleware');
    next();
  });
  app.use(async (req, _res, next) => {
    await new Promise((resolve) => setImmediate(resolve));
    users.note(req, 'asynchronous');
    if (req.path.startsWith('/old/')) req.url = req.url.replace('/old/', '/');
    next();
  });
  for (const path of ['/deep', '/timers']) {
    for (let i = 0; i < DEEP; i++) {
      app.use(path, (req, _res, next) => {
        users.note(req, 'nested');
        // A timer each would be a second of waiting for every body.
        if (path === '/deep' || i % 5 !== 0) next();
        else setTimeout(next, 0);
      });
    }
  }
  app.post(['/', '/deep', '/timers', '/signed', '/hook'], (req, _res, next) => {
    users.note(req, 'first');
    next();
  }, async (req, res) => {
    users.note(req, 'handler');
    await new Promise((resolve) => setImmediate(resolve));
    users.note(req, 'later');
    res.send(`${String(users.current)} ${JSON.stringify(req.body)}`);
  });
  app.use((error: unknown, req: Request, res: Response, _next: NextFunction) => {
    users.note(req, 'error');
    res.status((error as HttpError).status ?? 500).send(String(users.current));
  });
}

const OPTIONS: CreateServerOptions = { env: 'test', logging: { level: 'silent' }, body: { limit: LIMIT } };

function application(options: CreateServerOptions = {}): Application {
  const app = createServer({ ...OPTIONS, ...options });
  register(app);
  return app;
}

interface Posted {
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body: Buffer;
  readonly status: number;
  /** What is called for it, besides middleware. */
  readonly places: readonly string[];
}

const TAKEN = { status: 200, places: ['first', 'handler', 'later'] } as const;
const REFUSED = { places: ['error'] } as const;
const json = { 'Content-Type': 'application/json' };
const bodyOf = (name: string): Buffer => Buffer.from(JSON.stringify({ name, text: 'x'.repeat(300) }));

/** A request of each kind. */
const KINDS: Readonly<Record<string, (name: string) => Posted>> = {
  'JSON': (name) => ({ headers: json, body: bodyOf(name), ...TAKEN }),
  'JSON of another type': (name) => ({ headers: { 'Content-Type': 'application/problem+json' }, body: bodyOf(name), ...TAKEN }),
  'a form': (name) => ({ headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: Buffer.from(`name=${name}&a=${'b'.repeat(200)}`), ...TAKEN }),
  'text': (name) => ({ headers: { 'Content-Type': 'text/plain; charset=latin1' }, body: Buffer.from(name), ...TAKEN }),
  'bytes': (name) => ({ headers: { 'Content-Type': 'application/octet-stream' }, body: bodyOf(name), ...TAKEN }),
  'gzip': (name) => ({ headers: { ...json, 'Content-Encoding': 'gzip' }, body: gzipSync(bodyOf(name)), ...TAKEN }),
  'malformed JSON': (name) => ({ headers: json, body: Buffer.from(`{"name":"${name}`), status: 400, ...REFUSED }),
  'malformed gzip': (name) => ({ headers: { ...json, 'Content-Encoding': 'gzip' }, body: bodyOf(name), status: 400, ...REFUSED }),
  'another encoding': (name) => ({ headers: { ...json, 'Content-Encoding': 'compress' }, body: bodyOf(name), status: 415, ...REFUSED }),
  'too much': (name) => ({ headers: json, body: Buffer.from(JSON.stringify(name.repeat(LIMIT))), status: 413, ...REFUSED }),
  'too much inflated': (name) => ({ headers: { ...json, 'Content-Encoding': 'gzip' }, body: gzipSync(JSON.stringify(name.repeat(LIMIT))), status: 413, ...REFUSED }),
  'a rewritten target': (name) => ({ path: '/old/', headers: json, body: bodyOf(name), ...TAKEN }),
  'nested middleware': (name) => ({ path: '/deep', headers: json, body: bodyOf(name), status: 200, places: [...TAKEN.places, ...Array<string>(DEEP).fill('nested')] }),
  'nested middleware with timers': (name) => ({ path: '/timers', headers: json, body: bodyOf(name), status: 200, places: [...TAKEN.places, ...Array<string>(DEEP).fill('nested')] }),
};

/** How a body comes. */
const WAYS = ['announced', 'chunked', 'announced and split', 'chunked and split', 'asked for'] as const;
type Way = (typeof WAYS)[number];

/** Sends a request of that kind for each user at once, their pieces by turns; answers the statuses. */
async function send(port: number, kind: (name: string) => Posted, way: Way): Promise<number[]> {
  const sent = await Promise.all(NAMES.map(async (name) => {
    const { path = '/', headers, body } = kind(name);
    const isChunked = way.startsWith('chunked');
    const wire = await Wire.open(port);
    const framing: Record<string, string | number> = isChunked ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': body.length };
    if (way === 'asked for') framing['Expect'] = '100-continue';
    wire.write(head(`POST ${path}`, { 'X-User': name, 'Connection': 'close', ...headers, ...framing }));
    const size = way.endsWith('split') ? Math.ceil(body.length / 3) : body.length;
    const pieces: Buffer[] = [];
    for (let at = 0; at < body.length; at += size) pieces.push(body.subarray(at, at + size));
    return { wire, pieces: isChunked ? [...pieces.map((piece) => Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])), Buffer.from('0\r\n\r\n')] : pieces };
  }));
  if (way === 'asked for') await Promise.all(sent.map(({ wire }) => wire.until('HTTP/1.1 ')));
  for (let i = 0; sent.some(({ pieces }) => i < pieces.length); i++) {
    for (const { wire, pieces } of sent) {
      const piece = pieces[i];
      if (piece !== undefined && !/^HTTP\/1.1 4/.test(wire.text)) wire.write(piece);
    }
    if (way.endsWith('split')) await Promise.all(sent.map(({ wire }) => wire.flushed()));
  }
  await Promise.all(sent.map(({ wire }) => wire.end));
  return sent.map(({ wire }) => Number(/HTTP\/1\.1 ([2-5]\d\d) /.exec(wire.text)?.[1]));
}

/** Sends it in every way, and compares in whose context what ran. */
async function expectAtHome(port: number, kind: (name: string) => Posted): Promise<void> {
  const { status, places } = kind('ann');
  const counts: Record<string, number> = {};
  for (const place of places) counts[place] = (counts[place] ?? 0) + NAMES.length;
  for (const way of WAYS) {
    users.notes.length = 0;
    const statuses = await send(port, kind, way);
    expect({ way, statuses, strays: users.strays }).toEqual({ way, statuses: NAMES.map(() => status), strays: [] });
    expect(users.places).toMatchObject(counts);
  }
}

/** How a program puts a store around its requests. */
const PROGRAMS: Readonly<Record<string, (app: Application) => Promise<number>>> = {
  'around the application': (app) => running.serve(users.around(app)),
  'in Express around it': (app) => {
    const outer = expressOracle();
    outer.use((req, _res, next) => users.run(users.of(req), next));
    outer.use(app as unknown as RequestListener);
    return running.serve(outer);
  },
  'in an application around it': (app) => {
    const outer = createServer(OPTIONS);
    outer.use(users.middleware);
    outer.use(app);
    return running.start(outer);
  },
};

describe.each(Object.entries(PROGRAMS))('a request with a body stays in the async context that a program opens %s', (_, start) => {
  test.each(Object.entries(KINDS))('%s', async (__, kind) => {
    await expectAtHome(await start(application()), kind);
  });
});

describe('a request with a body stays in the async context that its first middleware opens', () => {
  test.each(Object.entries(KINDS))('%s', async (_, kind) => {
    const app = createServer(OPTIONS);
    app.use(users.middleware);
    register(app);
    await expectAtHome(await running.start(app), kind);
  });
});

describe('a request with a body stays in its async context while it is checked', () => {
  const hooked = (body: Buffer): Record<string, string> => ({ 'X-Hub-Signature-256': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}` });
  const SIGNED = { requestSignature: { includeRoutes: ['/signed'] } };
  const claims = new Set<string>();
  const CHECKS: Readonly<Record<string, readonly [CreateServerOptions['security'] & object, (name: string) => Posted]>> = {
    'version 1': [{ requestSignature: { secret: SECRET }, routeConfig: SIGNED }, (name) => {
      const body = bodyOf(name);
      return { path: '/signed', headers: { ...json, ...signRequest({ secret: SECRET, method: 'POST', url: '/signed', body }) }, body, ...TAKEN };
    }],
    'version 2': [{ requestSignature: { secret: SECRET, version: 2 }, routeConfig: SIGNED }, (name) => {
      const body = bodyOf(name);
      return { path: '/signed', headers: { ...json, ...signRequest({ secret: SECRET, version: 2, method: 'POST', url: '/signed', body, headers: json }) }, body, ...TAKEN };
    }],
    'an asynchronous secret and store': [{
      requestSignature: {
        secret: async (name) => {
          await new Promise((resolve) => setImmediate(resolve));
          if (users.current !== undefined) users.notes.push({ user: String(name), place: 'secret', store: users.current });
          return SECRET;
        },
        replay: {
          store: {
            claim: async (digest) => {
              await new Promise((resolve) => setImmediate(resolve));
              return !claims.has(digest) && claims.add(digest) !== undefined;
            },
          },
        },
      },
      routeConfig: SIGNED,
    }, (name) => {
      const body = bodyOf(`${name}${noise(8).toString('hex')}`);
      return { path: '/signed', headers: { ...json, ...signRequest({ secret: SECRET, keyId: name, method: 'POST', url: '/signed', body }) }, body, status: 200, places: ['secret', ...TAKEN.places] };
    }],
    'a webhook': [{ webhooks: [{ path: '/hook', preset: 'github', secret: SECRET }] }, (name) => {
      const body = bodyOf(name);
      return { path: '/hook', headers: { ...json, ...hooked(body) }, body, ...TAKEN };
    }],
    'a rewritten target': [{ webhooks: [{ path: '/hook', preset: 'github', secret: SECRET }] }, (name) => {
      const body = bodyOf(name);
      return { path: '/old/hook', headers: { ...json, ...hooked(body) }, body, ...TAKEN };
    }],
  };

  test.each(Object.entries(CHECKS))('%s', async (_, [security, kind]) => {
    await expectAtHome(await running.serve(users.around(application({ security }))), kind);
  });

  test.each(Object.entries(CHECKS))('%s, which its first middleware opens, with what hears of its stream', async (_, [security, kind]) => {
    const app = createServer({ ...OPTIONS, security });
    app.use(users.middleware);
    app.use((req, _res, next) => {
      if (req.url === '/old/hook') req.url = '/hook';
      next();
    });
    app.post(['/signed', '/hook'], (req, res) => {
      // In one piece or several.
      req.once('data', () => users.note(req, 'data')).on('end', () => {
        users.note(req, 'end');
        res.on('finish', () => users.note(req, 'finish')).send('taken');
      });
    });
    await expectAtHome(await running.start(app), (name) => ({ ...kind(name), status: 200, places: ['data', 'end', 'finish'] }));
  });
});

test('a request with a body stays in its async context down to the fallback', async () => {
  const app = application();
  app.fallback((req, res) => {
    users.note(req, 'fallback');
    req.resume().on('end', () => res.end());
  });
  const port = await running.serve(users.around(app));
  await expectAtHome(port, (name) => ({ path: '/none', headers: json, body: bodyOf(name), status: 200, places: ['fallback'] }));
});

test('requests with bodies that come one behind another on a connection stay each in its own async context', async () => {
  const port = await running.serve(users.around(application()));
  const names = [...NAMES, ...NAMES];
  const wire = await Wire.open(port);
  for (const [i, name] of names.entries()) {
    const body = bodyOf(name);
    wire.write(head('POST /', { 'X-User': name, 'Content-Length': body.length, ...json, ...(i === names.length - 1 ? { Connection: 'close' } : {}) }));
    wire.write(body.subarray(0, 100));
    await wire.flushed();
    wire.write(body.subarray(100));
  }
  await wire.end;
  expect(wire.text.match(/HTTP\/1\.1 200/g)).toHaveLength(names.length);
  expect(users.strays).toEqual([]);
  expect(users.places['handler']).toBe(names.length);
});

test.each(['AsyncLocalStorage', 'ids that hooks hand on', 'a domain'])('a body keeps the context of %s, whoever is in another on the same connection', async (kind) => {
  const program = `
    const { AsyncLocalStorage, createHook, executionAsyncId } = require('node:async_hooks');
    const { createServer, request } = require('node:http');
    const { create } = require('node:domain');
    const { createServer: makeApp } = require('./lib');
    const store = new AsyncLocalStorage(), names = new Map();
    const KINDS = {
      'AsyncLocalStorage': { run: (name, call) => store.run(name, call), now: () => store.getStore() },
      'ids that hooks hand on': {
        // As cls-hooked does.
        run(name, call) {
          const id = executionAsyncId(), before = names.get(id);
          names.set(id, name);
          try { call(); } finally { names.set(id, before); }
        },
        now: () => names.get(executionAsyncId()),
      },
      'a domain': {
        run(name, call) { Object.assign(create(), { who: name }).run(call); },
        now: () => process.domain?.who,
      },
    };
    const kind = KINDS[${JSON.stringify(kind)}];
    if (${kind === 'ids that hooks hand on'}) createHook({ init: (id) => names.set(id, names.get(executionAsyncId())), destroy: (id) => names.delete(id) }).enable();
    const app = makeApp({ logging: { level: 'silent' } });
    app.post('/', (req, res) => res.json([req.body.name, kind.now()]));
    const server = createServer((req, res) => kind.run(req.headers['x-user'], () => app(req, res))).listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      const socket = require('node:net').connect(port, '127.0.0.1');
      let told = '';
      for (const name of ['Ada', 'Eve', 'Zoe']) {
        const body = JSON.stringify({ name });
        socket.write('POST / HTTP/1.1\\r\\nHost: x\\r\\nX-User: ' + name + '\\r\\nContent-Type: application/json\\r\\nContent-Length: ' + body.length + '\\r\\n' + (name === 'Zoe' ? 'Connection: close\\r\\n' : '') + '\\r\\n' + body);
      }
      socket.setEncoding('utf8').on('data', (text) => (told += text)).on('close', () => {
        process.stdout.write(told.match(/\\[.*?\\]/g).join(' '));
        server.close();
      });
    });`;
  expect(await ChildProgram.run([...FROM_LIB, '-e', program])).toMatchObject({ code: 0, output: '["Ada","Ada"] ["Eve","Eve"] ["Zoe","Zoe"]' });
});

test.each(['./lib', 'express'])('what is thrown behind the body parser of %s, in a server of nobody\'s, is an exception, and no rejection', async (from) => {
  const program = `
    const { createServer } = require('node:http');
    const { express, json } = require(${JSON.stringify(from)});
    process.on('unhandledRejection', () => process.exit(3));
    process.on('uncaughtException', (error, origin) => {
      process.stdout.write(origin + ': ' + error.message);
      process.exit();
    });
    const parse = (json ?? express.json)();
    const server = createServer((req, res) => parse(req, res, () => { throw new Error('of ' + req.body.name); }));
    server.listen(0, '127.0.0.1', () => void fetch('http://127.0.0.1:' + server.address().port, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"name":"Ada"}' }));`;
  expect(await ChildProgram.run([...FROM_LIB, '-e', program])).toMatchObject({ code: 0, output: 'uncaughtException: of Ada' });
});
