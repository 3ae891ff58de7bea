import { type EventEmitter, once } from 'node:events';
import { createServer as createHttpServer, type Server } from 'node:http';
import theirs from 'express';
import { type Application, createServer, express, type NodeServer } from 'waypost';
import { onBoth } from './support/both-expresses';
import { portOf, Running } from './support/running';
import { ask, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const silent = (): Application => express({ logging: { level: 'silent' } });

describe('an application is an emitter', () => {
  test('as Express\'s is', async () => {
    await onBoth((lib) => {
      const app = lib() as unknown as EventEmitter;
      const seen: unknown[] = [];
      const listener = (...given: unknown[]): void => void seen.push(given);
      app.on('a', listener).once('b', listener).prependListener('a', () => void seen.push('first')).addListener('c', listener);
      seen.push(app.emit('a', 1, 2), app.emit('b', 3), app.emit('b', 4), app.emit('nobody'), app.listenerCount('a'), app.eventNames().filter((name) => name !== 'mount'), app.listeners('c').length);
      app.off('a', listener).removeAllListeners('c').setMaxListeners(3);
      seen.push(app.emit('a'), app.emit('c'), app.getMaxListeners());
      expect(() => app.emit('error', new Error('nobody hears'))).toThrow('nobody hears');
      return seen;
    });
  });

  test('whose listeners are its own', () => {
    const [one, other] = [silent(), silent()];
    one.on('a', () => undefined);
    expect([one.listenerCount('a'), other.listenerCount('a'), silent().eventNames()]).toEqual([1, 0, express().eventNames()]);
  });

  test('that tells of a mount with the application around, Express\'s and waypost\'s', () => {
    for (const inner of [silent(), theirs()]) {
      const app = silent();
      const told: unknown[] = [];
      (inner as theirs.Express).on('mount', function (this: unknown, parent: unknown) { told.push([this === inner, parent === app, inner.mountpath]); });
      app.use(['/a', '/b'], inner as theirs.Express);
      app.use('/c', inner as theirs.Express);
      expect(told).toEqual([[true, true, ['/a', '/b']], [true, true, '/c']]);
      expect([(inner as { parent?: unknown }).parent === app, inner.path()]).toEqual([true, '/c']);
    }
  });

  test('a mounted application of Express keeps its own methods, and takes on settings', async () => {
    const [app, inner] = [silent(), theirs()];
    inner.response.json = function json() { return this.send('its own'); };
    app.set('trust proxy', true).set('mine', 1);
    app.use('/in', inner);
    inner.get('/', (req, res) => void res.json([req.ip, inner.get('mine'), req.app === inner]));
    inner.get('/ip', (req, res) => void res.send(`${req.ip} ${String(inner.get('mine'))}`));
    const port = await running.serve(app);
    expect((await ask(port, '/in')).body).toBe('its own');
    expect((await ask(port, '/in/ip', { headers: { 'x-forwarded-for': '1.2.3.4' } })).body).toBe('1.2.3.4 1');
  });
});

describe('upgrade', () => {
  const asking = (protocol: string): string => `GET /chat HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
  const handshake = asking('websocket');
  const switching = (_req: unknown, socket: { end(text: string): void }): void => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\nswitched');
  /** From Node 24.9 on a server is asked whether it upgrades. */
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const mayRefuse = major > 24 || (major === 24 && minor >= 9);

  async function answerTo(port: number, request: string): Promise<string> {
    const wire = await Wire.open(port);
    await wire.write(request).until(/switched|plain/);
    wire.cut();
    return /switched|plain/.exec(wire.text)![0];
  }

  test('is an event like others: heard once, taken off, left to Node where nobody listens', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    app.get('/chat', (_req, res) => res.end('plain'));
    const port = await running.start(app);
    const answer = (): Promise<string> => answerTo(port, handshake);
    expect(await answer()).toBe('plain');
    app.once('upgrade', (_req, socket) => void socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\nswitched'));
    expect([await answer(), await answer()]).toEqual(['switched', 'plain']);
    app.on('upgrade', switching);
    expect(await answer()).toBe('switched');
    app.off('upgrade', switching);
    expect(await answer()).toBe('plain');
  });

  test.each([
    ['h2c', [], 'plain'], ['WebSocket', [], 'switched'], ['h2c, websocket', [], 'switched'], ['websockets', [], 'plain'], ['TLS/1.0', [], 'plain'],
    ['chat', [], 'plain'], ['chat', ['Chat'], 'switched'], ['chat/2', ['chat'], 'switched'], ['chat/2', ['chat/1'], 'plain'],
  ])('to %j where listeners name %j: %s from Node 24.9 on', async (protocol, protocols, wanted) => {
    for (const add of ['on', 'once'] as const) {
      for (const isOnServer of [false, true]) {
        const app = createServer({ logging: { level: 'silent' } });
        app.get('/chat', (_req, res) => res.end('plain'));
        const port = await running.start(app);
        (isOnServer ? app.server! : app as unknown as NodeServer)[add]('upgrade', Object.assign(switching.bind(null), { protocols }));
        expect(await answerTo(port, asking(protocol))).toBe(mayRefuse ? wanted : 'switched');
      }
    }
  });

  test('not in HTTP/1.0, which has no upgrades (RFC 9110 section 7.8), from Node 24.9 on', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    app.get('/chat', (_req, res) => res.end('plain'));
    app.on('upgrade', switching);
    const port = await running.start(app);
    expect(await answerTo(port, asking('websocket').replace('HTTP/1.1', 'HTTP/1.0'))).toBe(mayRefuse ? 'plain' : 'switched');
  });

  test('goes by server.shouldUpgradeCallback', async () => {
    const app = createServer({ logging: { level: 'silent' }, server: { shouldUpgradeCallback: ({ url }) => url === '/chat' } });
    app.on('upgrade', switching);
    app.use((_req, res) => void res.end('plain'));
    const port = await running.start(app);
    expect([await answerTo(port, asking('chat')), await answerTo(port, asking('websocket').replace('/chat', '/other'))]).toEqual(['switched', mayRefuse ? 'plain' : 'switched']);
  });
});

describe('programs put themselves around an application', () => {
  test('a method that is wrapped is the one that is called', async () => {
    await onBoth(async (lib) => {
      const app = lib();
      const seen: string[] = [];
      for (const name of ['use', 'handle', 'post', 'set', 'listen'] as const) {
        const wrapped = (app as unknown as Record<string, (...given: unknown[]) => unknown>)[name]!;
        (app as unknown as Record<string, unknown>)[name] = function (this: unknown, ...given: unknown[]) {
          seen.push(name);
          return wrapped.apply(this, given);
        };
      }
      app.set('a', 1);
      app.use((_req, _res, next) => next());
      app.post('/x', (_req, res) => void res.end('x'));
      const server = app.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { body } = await ask(portOf(server), '/x', { method: 'POST' });
      await new Promise((resolve) => server.close(resolve));
      // How often it asks for settings is each one's own.
      return [body, seen.filter((name) => name !== 'set')];
    });
  });

  test('what is mixed in leaves what is there', async () => {
    await onBoth(async (lib) => {
      const app = lib();
      const there = { ...Object.getOwnPropertyDescriptors(Object.getPrototypeOf(app) as object), ...Object.getOwnPropertyDescriptors(app) };
      const mixin = { get: () => 'mixed', set: () => 'mixed', on: () => 'mixed', use: () => 'mixed', listen: () => 'mixed', settings: {}, handle: () => 'mixed', route: () => 'mixed', service: () => 'mixed' };
      const added = Object.entries(Object.getOwnPropertyDescriptors(mixin)).filter(([name]) => !(name in there));
      for (const [name, descriptor] of added) Object.defineProperty(app, name, descriptor);
      app.get('/x', (_req, res) => void res.end('x'));
      const server = createHttpServer(app).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { body } = await ask(portOf(server), '/x');
      await new Promise((resolve) => server.close(resolve));
      return [body, added.map(([name]) => name)];
    });
  });
});

describe('listen', () => {
  test('of express() takes any free port where none is given', async () => {
    const app = silent();
    const server = app.listen(() => undefined);
    await once(server, 'listening');
    expect(portOf(server)).not.toBe(3000);
    await app.close();
  });

  test('called again makes one more server, and close drains both', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    let release: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => {
      app.get('/slow', (_req, res) => { release = () => res.end('slow'); resolve(); });
    });
    app.get('/', (_req, res) => res.end('here'));
    const servers: Server[] = [app.listen(0, '127.0.0.1'), app.listen(0, '127.0.0.1')] as Server[];
    await Promise.all(servers.map((server) => once(server, 'listening')));
    const [one, other] = servers.map(portOf) as [number, number];
    expect([(await ask(one, '/')).body, (await ask(other, '/')).body, app.server === servers[0]]).toEqual(['here', 'here', true]);
    const slow = ask(other, '/slow');
    await reached;
    const closed = app.close();
    release();
    expect((await slow).body).toBe('slow');
    await closed;
    for (const port of [one, other]) await expect(ask(port, '/')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(app.server).toBeNull();
    expect(portOf(await app.start(0, '127.0.0.1'))).toBeGreaterThan(0);
    await expect(app.start(0)).rejects.toThrow('running already');
    await app.close();
  });
});
