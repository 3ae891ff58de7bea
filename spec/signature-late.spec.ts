import { once } from 'node:events';
import { connect, type Server, type Socket } from 'node:net';
import { type Application, createServer, type ErrorHandler, type Handler, signRequest, type SecretLookup } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { ask } from './support/wire';

const SECRET = 'the secret of these specs, 32 bytes or more';

const running = new Running();
const logger = new LogRecorder();

afterEach(async () => {
  logger.lines.length = 0;
  await running.close();
});

/** Headers of the right form, signed with nothing. */
function forged(): Record<string, string> {
  return { 'Svc-Request-Sig': '0'.repeat(64), 'X-Timestamp': String(Date.now()), 'X-Key-Id': 'eve' };
}

/** A lookup that answers when it is told to. */
function gate(): { readonly secret: SecretLookup; readonly asked: Promise<void>; open(): void } {
  let open = (): void => undefined;
  let ask = (): void => undefined;
  const opened = new Promise<void>((resolve) => { open = resolve; });
  const asked = new Promise<void>((resolve) => { ask = resolve; });
  return { secret: async () => { ask(); await opened; return SECRET; }, asked, open: () => open() };
}

/** As many turns of the event loop as let everything else come first. */
async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
}

const scope = { requestSignature: { includeRoutes: ['/secret'] } };

describe('a check that is answered late', () => {
  test('refuses nothing that has been answered meanwhile, and the server lives on', async () => {
    const { secret, asked, open } = gate();
    const ran: string[] = [];
    const port = await running.app((app) => {
      app.use('/old', (_req, res, next) => {
        void asked.then(() => {
          res.status(503).send('late');
          open();
        });
        next();
      });
      app.use((req, _res, next) => {
        if (req.url === '/old') req.url = '/secret';
        next();
      });
      app.get('/secret', (_req, res) => { ran.push('secret'); res.send('secret'); });
      app.get('/open', (_req, res) => res.send('open'));
    }, { logging: { logger }, security: { requestSignature: { secret }, routeConfig: scope } });
    const answer = await ask(port, '/old', { headers: forged() });
    expect([answer.status, String(answer.bytes), ran]).toEqual([503, 'late', []]);
    expect((await ask(port, '/open')).status).toBe(200);
    expect(logger.text).toContain('after it had been answered');
  });

  test('cuts off what was begun and not ended', async () => {
    const { secret, asked, open } = gate();
    const port = await running.app((app) => {
      app.use((req, res, next) => {
        res.write('begun');
        void asked.then(open);
        req.url = '/secret';
        next();
      });
      app.get('/secret', (_req, res) => res.end('secret'));
    }, { logging: { logger }, security: { requestSignature: { secret }, routeConfig: scope } });
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk: Buffer) => { received += chunk.toString(); });
    socket.write(request('GET', '/x', forged()));
    await once(socket, 'close');
    expect(received).toContain('begun');
    expect(received).not.toContain('secret');
  });
});

describe('while a check after a rewrite is under way, or once it has refused,', () => {
  const twice: Handler = (req, _res, next) => {
    if (req.url === '/old') {
      req.url = '/secret';
      next();
    }
    next();
  };
  const fails: Handler = (req, _res, next) => {
    if (req.url === '/old') {
      req.url = '/secret';
      next();
      next(new Error('late'));
    } else {
      next();
    }
  };
  const recovers: ErrorHandler = (_error, _req, _res, next) => next();

  test.each<[string, Handler, boolean]>([
    ['next() called again', twice, false], ['next() called again, asynchronous secret', twice, true],
    ['an error given to next', fails, false], ['an error given to next, asynchronous secret', fails, true],
  ])('%s reaches no handler behind it', async (_name, middleware, asynchronous) => {
    const ran: string[] = [];
    const port = await running.app((app) => {
      app.use(middleware);
      app.use(recovers);
      app.all('/secret', (_req, res) => { ran.push('secret'); res.end('secret'); });
    }, { logging: { logger }, security: { requestSignature: { secret: asynchronous ? async () => Promise.resolve(undefined) : SECRET }, routeConfig: scope } });
    for (const headers of [{}, forged()]) {
      const answer = await ask(port, '/old', { method: 'POST', body: 'ab', headers });
      expect([answer.status === 200, ran]).toEqual([false, []]);
    }
  });

  /** Ways on for what an application has handed on, before it made another target of the request. */
  const onItsWay: Record<string, (app: Application, inner: Application) => void> = {
    'goes on': (app, inner) => {
      inner.use((_req, _res, next) => void setImmediate(next));
      app.use(inner);
    },
    'makes the same target': (app, inner) => {
      inner.use((req, _res, next) => void setImmediate(() => { req.url = '/secret'; next(); }));
      app.use(inner);
    },
    'makes the same target, within another': (app, inner) => {
      inner.use((req, _res, next) => void setImmediate(() => { req.url = '/secret'; next(); }));
      app.use(createServer({ logging: { logger } }).use(inner));
    },
    'is called by hand': (app, inner) => void app.use((req, res, next) => void setImmediate(() => inner(req, res, next))),
  };

  test.each(Object.entries(onItsWay).flatMap(([way, lead]) => [[way, 'at once', lead, false], [way, 'later', lead, true]] as const))(
    'a mounted application that %s reaches nothing, where secrets are told %s',
    async (_way, _when, lead, asynchronous) => {
      const ran: string[] = [];
      const lookup = async (): Promise<undefined> => { await turns(); };
      const inner = createServer({ logging: { logger } });
      const port = await running.app((app) => {
        app.use((req, _res, next) => { next(); req.url = '/secret'; next(); });
        lead(app, inner);
        inner.use((req, res) => { ran.push(req.url); res.end('secret'); });
      }, { logging: { logger }, security: { requestSignature: { secret: asynchronous ? lookup : SECRET }, routeConfig: scope } });
      const { status } = await ask(port, '/old', { headers: forged() });
      await turns();
      expect([status, ran]).toEqual([401, []]);
    },
  );

  test('a body that is still coming in keeps handlers waiting', async () => {
    const ran: string[] = [];
    const port = await running.app((app) => {
      app.use(twice);
      app.all('/secret', (_req, res) => { ran.push('secret'); res.end('secret'); });
    }, { logging: { logger }, security: { requestSignature: { secret: SECRET }, routeConfig: scope } });
    const socket = connect(port, '127.0.0.1');
    socket.write(request('POST', '/old', { ...forged(), 'Content-Length': '2', Expect: '100-continue' }));
    const [invited] = (await once(socket, 'data')) as [Buffer];
    expect(invited.toString()).toContain('100 Continue');
    socket.write('ab');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toContain(' 401 ');
    expect(ran).toEqual([]);
    socket.destroy();
  });

  test('a signature that holds lets the walk go on once', async () => {
    const ran: string[] = [];
    const port = await running.app((app) => {
      app.use((req, _res, next) => {
        if (req.url === '/old') req.url = '/secret';
        next();
      });
      app.get('/secret', (_req, res) => { ran.push('secret'); res.end('secret'); });
    }, { logging: { logger }, security: { requestSignature: { secret: async () => Promise.resolve(SECRET) }, routeConfig: scope } });
    const headers = signRequest({ secret: SECRET, keyId: 'ann', method: 'GET', url: '/old' });
    expect(String((await ask(port, '/old', { headers })).bytes)).toBe('secret');
    expect(ran).toEqual(['secret']);
  });
});

test('a refused upgrade closes its socket, though the client keeps it open', async () => {
  const { setTimeout: later } = globalThis;
  // The client is given two seconds.
  const timers = jest.spyOn(globalThis, 'setTimeout').mockImplementation(((done: () => void, time: number, ...more: unknown[]) => Reflect.apply(later, undefined, [done, time === 2000 ? 20 : time, ...more]) as NodeJS.Timeout) as typeof later);
  const app = createServer({ logging: { logger }, security: { requestSignature: { secret: SECRET } } });
  app.on('upgrade', (_req, socket) => socket.end('switched'));
  const port = await running.start(app);
  const accepted = once(app.server as Server, 'connection') as Promise<[Socket]>;
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let received = '';
  socket.on('data', (chunk: Buffer) => { received += chunk.toString(); });
  socket.on('error', () => undefined);
  socket.write(request('GET', '/', { Connection: 'Upgrade', Upgrade: 'websocket' }));
  const [held] = await accepted;
  await once(held, 'close');
  expect(timers.mock.calls.filter(([, time]) => time === 2000)).toHaveLength(1);
  timers.mockRestore();
  expect(received).toContain(' 401 ');
  socket.destroy();
});

test('a key id is that of the last check, and of no application beside', async () => {
  const keyed = createServer({ logging: { logger }, security: { requestSignature: { secret: () => SECRET } } });
  const shared = createServer({ logging: { logger }, security: { requestSignature: { secret: SECRET } } });
  shared.get('/who', (req, res) => res.json({ keyId: req.signatureKeyId ?? null }));
  const port = await running.app((app) => {
    app.use('/v', keyed);
    app.use('/v', shared);
  }, { logging: { logger } });
  const headers = signRequest({ secret: SECRET, keyId: 'ann', method: 'GET', url: '/v/who' });
  expect((await ask(port, '/v/who', { headers })).json).toEqual({ keyId: null });
});

test('a lookup may answer a thenable that is no promise', async () => {
  const secret = (() => ({ then: (done: (found: string) => void) => done(SECRET) })) as unknown as SecretLookup;
  const port = await running.app((app) => { app.get('/', (_req, res) => res.send('in')); }, { logging: { logger }, security: { requestSignature: { secret } } });
  expect(String((await ask(port, '/', { headers: signRequest({ secret: SECRET, keyId: 'ann', method: 'GET', url: '/' }) })).bytes)).toBe('in');
});

test('a store that answers after the end of a signature lets nothing through', async () => {
  const store = { claim: async (_digest: string, expires: number) => {
    jest.spyOn(Date, 'now').mockReturnValue(expires + 1);
    return Promise.resolve(true);
  } };
  const port = await running.app((app) => { app.get('/', (_req, res) => res.send('in')); }, { logging: { logger }, security: { requestSignature: { secret: SECRET, replay: { store } } } });
  const answer = await ask(port, '/', { headers: signRequest({ secret: SECRET, method: 'GET', url: '/' }) });
  jest.restoreAllMocks();
  expect([answer.status, answer.json]).toEqual([401, { error: 'Signature expired', message: 'Request signature has expired' }]);
});

describe('webhooks', () => {
  const webhook = { preset: 'github' as const, secret: SECRET };

  test.each(['/a/', '/café', '/hooks.xJson', '/a//b'])('at %s could never pass beside requestSignature', (path) => {
    expect(() => createServer({ logging: { logger }, security: { requestSignature: { secret: SECRET }, webhooks: [{ ...webhook, path }] } })).toThrow(`security.webhooks: a request to ${JSON.stringify(path)}`);
    createServer({ logging: { logger }, security: { webhooks: [{ ...webhook, path }] } });
  });

  test('have a path each', () => {
    expect(() => createServer({ security: { webhooks: [{ ...webhook, path: '/a' }, { ...webhook, path: '/b' }, { ...webhook, path: '/a' }] } }))
      .toThrow('security.webhooks[2].path must have no path in common with another webhook, and "/a" has with "/a"');
  });
});

test.each(['set-cookie', 'Host', '__proto__', 'constructor', 'Content-Type'])('%s carries no signature', (headerName) => {
  expect(() => createServer({ security: { requestSignature: { secret: SECRET, headerName } } })).toThrow('security.requestSignature.headerName must be a header name');
});

function request(method: string, target: string, headers: Record<string, string>): string {
  return `${method} ${target} HTTP/1.1\r\nHost: a\r\n${Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}
