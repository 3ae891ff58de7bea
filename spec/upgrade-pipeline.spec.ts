import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { connect } from 'node:tls';
import { createServer, type CreateServerOptions, type Response, signRequest } from 'waypost';
import { makeCertificate } from './support/certificate';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const SIZE = 1_000_000;
const secret = 'a secret of more than thirty-two bytes';
const https = makeCertificate();

const running = new Running();
afterEach(() => running.close());

const OPTIONS: CreateServerOptions = {
  logging: { level: 'silent' },
  security: { requestSignature: { secret }, routeConfig: { requestSignature: { includeRoutes: ['/signed'] } } },
};

/** Requests to switch protocols: refused, admitted by the check, and not checked. */
const UPGRADES: Record<string, string> = {
  'unsigned': upgrade('/signed'),
  'signed': upgrade('/signed', signRequest({ secret, method: 'GET', url: 'http://localhost/signed' })),
  'free': upgrade('/free'),
};

function upgrade(path: string, headers: Record<string, string> = {}): string {
  return head(`GET ${path}`, { Connection: 'Upgrade', Upgrade: 'websocket', ...headers });
}

/** What is answered before, all of the same length, once the request to switch has been read. */
const ANSWERS: Record<string, (res: Response) => unknown> = {
  'at once': (res) => res.send('x'.repeat(SIZE)),
  'later': (res) => setImmediate(() => setImmediate(() => res.send('x'.repeat(SIZE)))),
  'as a stream': (res) => {
    function* parts(): Generator<Buffer> {
      for (let left = SIZE; left > 0; left -= 50_000) yield Buffer.alloc(50_000, 'x');
    }
    Readable.from(parts()).pipe(res.set('Content-Length', String(SIZE)));
  },
};

/** Makes an application, and tells which of its listeners for `upgrade` were called. */
async function serve(act: (res: Response) => unknown, options: CreateServerOptions = {}): Promise<{ port: number; taken: string[] }> {
  const taken: string[] = [];
  const app = createServer({ ...OPTIONS, ...options });
  app.get('/', (_req, res) => void act(res));
  app.on('upgrade', (req, socket: Duplex) => {
    taken.push(req.url);
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  });
  return { port: await running.start(app), taken };
}

/** The wire to a server, plain or with TLS. */
const WIRES: Record<string, readonly [options: CreateServerOptions, open: (port: number) => Promise<Wire>]> = {
  'plain': [{}, (port) => Wire.open(port)],
  'TLS': [{ server: { https } }, async (port) => {
    const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: https.cert });
    await once(socket, 'secureConnect');
    return new Wire(socket as Socket);
  }],
};

describe.each(Object.entries(WIRES))('a request to switch protocols behind one that is not answered, %s', (_wire, [options, open]) => {
  describe.each(Object.entries(UPGRADES))('%s', (kind, asked) => {
    test.each(Object.entries(ANSWERS))('comes neither before nor into the answers, which are whole, and the connection closes: %s', async (way, act) => {
      const { port, taken } = await serve(act, options);
      for (const count of [1, 3]) {
        const wire = (await open(port)).write(head('GET /').repeat(count) + asked);
        await wire.end;
        const answers = wire.text.split(/(?=HTTP\/1\.1 )/);
        const whole = Array.from({ length: count }, () => ['200', SIZE]);
        expect(answers.slice(0, count).map((answer) => [answer.slice(9, 12), answer.length - answer.indexOf('\r\n\r\n') - 4])).toEqual(whole);
        // All that was answered has been written by then.
        const behind = way === 'at once' && count === 1 ? [kind === 'unsigned' ? '401' : '101'] : [];
        expect([answers.slice(count).map((answer) => answer.slice(9, 12)), taken.splice(0).length]).toEqual([behind, behind.includes('101') ? 1 : 0]);
      }
    });
  });

  test('is taken on a connection whose requests have been answered', async () => {
    const { port, taken } = await serve((res) => res.send('before'), options);
    const wire = (await open(port)).write(head('GET /'));
    await wire.until(/before$/);
    wire.write(upgrade('/free'));
    await wire.end;
    expect([wire.text.includes('HTTP/1.1 101 '), taken]).toEqual([true, ['/free']]);
  });
});

test('a request to switch protocols is taken behind an answer of which the client has every byte, and TLS is still to say so', async () => {
  const [options, open] = WIRES['TLS'] as (typeof WIRES)[string];
  // Answered in another phase of the loop than that in which TLS says what it has written, and with work behind it.
  const { port, taken } = await serve((res) => setImmediate(() => {
    res.send('before');
    for (const end = Date.now() + 5; Date.now() < end;);
  }), options);
  for (let count = 1; count <= 5; count++) {
    const wire = (await open(port)).write(head('GET /'));
    await wire.until(/before$/);
    wire.write(upgrade('/free'));
    await wire.end;
    expect([wire.text.includes('HTTP/1.1 101 '), taken.length]).toEqual([true, count]);
  }
});

describe('an answer under way, before a request to switch protocols that is left alone', () => {
  const LARGE = 20_000_000;

  /** Sends more than the system takes off its hands, as fast as the client takes it. */
  function send(res: Response): void {
    function* parts(): Generator<Buffer> {
      for (let left = LARGE; left > 0; left -= 50_000) yield Buffer.alloc(50_000, 'x');
    }
    Readable.from(parts()).pipe(res.set('Content-Length', String(LARGE)));
  }

  test.each(Object.entries(WIRES))('is whole where the application drains: %s', async (_wire, [options, open]) => {
    const app = createServer({ ...OPTIONS, ...options });
    app.get('/', (_req, res) => send(res)).on('upgrade', () => undefined);
    const wire = (await open(await running.start(app))).write(head('GET /'));
    await wire.until(/\r\n\r\n/);
    wire.pause();
    const closed = app.close({ timeout: 2_000_000_000 });
    await wire.write(upgrade('/free')).flushed();
    wire.resume();
    await Promise.all([closed, wire.end]);
    expect(wire.text.length - wire.text.indexOf('\r\n\r\n') - 4).toBe(LARGE);
  });

  test.each(Object.entries(WIRES))('is whole where it has said that the connection closes: %s', async (_wire, [options, open]) => {
    const app = createServer({ ...OPTIONS, ...options });
    app.post('/', (_req, res) => send(res)).on('upgrade', () => undefined);
    const wire = (await open(await running.start(app))).write(`${head('POST /', { 'Transfer-Encoding': 'chunked' })}1\r\nx\r\n`);
    await wire.until(/\r\nConnection: close\r\n/);
    wire.pause();
    await wire.write(`0\r\n\r\n${upgrade('/free')}`).flushed();
    wire.resume();
    await wire.end;
    expect(wire.text.length - wire.text.indexOf('\r\n\r\n') - 4).toBe(LARGE);
  });
});

test('a handler that never answers is told when such a client leaves', async () => {
  let left: (value?: unknown) => void = () => undefined;
  const gone = new Promise((resolve) => (left = resolve));
  const { port } = await serve((res) => void res.on('close', left));
  const wire = (await Wire.open(port)).write(head('GET /') + upgrade('/free'));
  await wire.flushed();
  wire.cut();
  await gone;
});

test('an application that drains lets the answers before be whole, and ends', async () => {
  const responses: Response[] = [];
  const app = createServer(OPTIONS);
  let begun: () => void = () => undefined;
  const all = new Promise<void>((resolve) => (begun = resolve));
  app.get('/', (_req, res) => {
    if (responses.push(res) === 3) begun();
  }).on('upgrade', () => undefined);
  const wire = (await Wire.open(await running.start(app))).write(head('GET /').repeat(3) + upgrade('/free'));
  await all;
  const closed = app.close({ timeout: 2_000_000_000 });
  for (const res of responses) res.send('done');
  await closed;
  await wire.end;
  expect(wire.text.match(/\r\n\r\ndone/g)).toHaveLength(3);
});
