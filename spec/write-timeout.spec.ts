import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectPlain, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { type Application, type CreateServerOptions, type Response } from 'waypost';
import { makeCertificate } from './support/certificate';
import { Running } from './support/running';
import { head } from './support/wire';

/** Longer than what the system takes for a client that does not read. */
const LENGTH = 10_000_000;
const LIMIT = 100;
const TEXT = 'x'.repeat(LENGTH);

const running = new Running();
const sockets: Socket[] = [];
const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
const tls = makeCertificate();

beforeAll(() => writeFileSync(join(folder, 'large.txt'), TEXT));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await running.close();
});

/** Answers `GET /`, and tells when the response has closed. */
async function serve(answer: (res: Response) => unknown, options: CreateServerOptions['server'] = {}): Promise<{ port: number; app: Application; closed: Promise<void> }> {
  const told: { app?: Application } = {};
  let close: () => void;
  const closed = new Promise<void>((resolve) => (close = resolve));
  const port = await running.app((app) => {
    told.app = app;
    app.get('/', (_req, res) => {
      res.once('close', () => close());
      answer(res as Response);
    });
    app.get('/small', (_req, res) => res.send('small'));
  }, { server: { writeTimeout: LIMIT, ...options } });
  return { port, app: told.app as Application, closed };
}

/** A client that has asked, and reads nothing. */
async function ask(port: number, secure = false): Promise<Socket> {
  const socket = secure ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connectPlain({ port, host: '127.0.0.1' });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, secure ? 'secureConnect' : 'connect');
  socket.pause();
  socket.write(head('GET /'));
  return socket;
}

/** Reads to the end of so many bytes, evenly over a time in milliseconds. */
async function readAll(socket: Socket, length: number, time: number): Promise<number> {
  const begun = performance.now();
  let count = 0;
  while (count < length && !socket.destroyed) {
    count += (socket.read() as Buffer | null)?.length ?? 0;
    const early = begun + (time * count) / length - performance.now();
    await (early > 1 ? delay(early) : new Promise(setImmediate));
  }
  return count;
}

const answers: Readonly<Record<string, (res: Response) => unknown>> = {
  json: (res) => res.json(TEXT),
  xJson: (res) => res.xJson([TEXT]),
  send: (res) => res.send(TEXT),
  sendFile: (res) => res.sendFile('large.txt', { root: folder }),
  'write, not ended': (res) => res.write(TEXT),
};

describe('a client that stops reading', () => {
  test.each([false, true])('is cut off, however it is answered: TLS %s', async (secure) => {
    const read = await Promise.all(Object.entries(answers).map(async ([name, answer]) => {
      const { port, app, closed } = await serve(answer, secure ? { https: tls } : {});
      const client = await ask(port, secure);
      await closed;
      const connections = await new Promise((resolve) => app.server?.getConnections((_error, count) => resolve(count)));
      return [name, connections, (await readAll(client, LENGTH, 0)) < LENGTH];
    }));
    expect(read).toEqual(Object.keys(answers).map((name) => [name, 0, true]));
  });

  const upgrade = head('GET /upgrade', { Connection: 'Upgrade', Upgrade: 'websocket' });

  describe.each([false, true])('TLS %s', (secure) => {
    test.each<[string, string, string]>([
      ['requests', head('GET /').repeat(20), ''],
      ['a request to upgrade', upgrade, ''],
      ['requests, and one to upgrade behind them', head('GET /').repeat(20) + upgrade, ''],
      ['a request to upgrade, and bytes that come for ever', upgrade, 'x'],
      ['a body that comes for ever', head('POST /', { 'Content-Length': 1_000_000_000 }), 'x'],
    ])('is cut off though there wait %s', async (_, behind, trickle) => {
      const { port, app, closed } = await serve(answers['send'] as () => unknown, secure ? { https: tls } : {});
      app.on('upgrade', () => undefined);
      const client = await ask(port, secure);
      client.write(behind);
      const timer = trickle === '' ? undefined : setInterval(() => client.write(trickle), 5);
      await closed;
      clearInterval(timer);
      expect(await readAll(client, LENGTH, 0)).toBeLessThan(LENGTH);
    });
  });

  test('is cut off though another timeout of the server is longer', async () => {
    const { port, closed } = await serve(answers['send'] as () => unknown, { timeout: 1_000_000 });
    const client = await ask(port);
    await closed;
    expect(await readAll(client, LENGTH, 0)).toBeLessThan(LENGTH);
  });

  test.each<[string, CreateServerOptions['server'], (res: Response) => unknown]>([
    ['where there is no limit', { writeTimeout: 0 }, () => undefined],
    ['where the handler has set a time of its own', {}, (res) => res.setTimeout(1_000_000)],
  ])('is left alone %s', async (_, options, prepare) => {
    const other = await serve((res) => {
      prepare(res);
      res.send(TEXT);
    }, options);
    const left = await ask(other.port);
    const { port, closed } = await serve(answers['send'] as () => unknown);
    await ask(port);
    await closed;
    expect(await readAll(left, LENGTH, 0)).toBeGreaterThanOrEqual(LENGTH);
  });

  test('is left alone behind a stream that the program has handed to the server, which has no time-out', async () => {
    const { port, app, closed } = await serve(answers['send'] as () => unknown);
    let begun: () => void;
    const writing = new Promise<void>((resolve) => (begun = resolve));
    // Takes the head, and then no more.
    const stream = new Duplex({ read: () => undefined, write: () => begun() });
    app.server?.emit('connection', stream);
    stream.push(head('GET /'));
    await writing;
    await ask(port);
    // By then it was looked at all of them.
    await closed;
    expect([stream.destroyed, stream.writableLength > 0]).toEqual([false, true]);
    expect((await fetch(`http://127.0.0.1:${port}/small`)).status).toBe(200);
    stream.destroy();
  });
});

describe('a client that reads', () => {
  test('slowly, but on and on, is given all of it, in however few writes it stands', async () => {
    const writeTimeout = 750;
    await Promise.all(([[false, 1], [true, 2]] as const).map(async ([secure, times]) => {
      const text = TEXT.repeat(times);
      const { port, closed } = await serve((res) => res.send(text), secure ? { writeTimeout, https: tls } : { writeTimeout });
      const socket = await ask(port, secure);
      // The system takes more once a third of what it holds is read, which takes less than the limit.
      expect(await readAll(socket, text.length, 3 * times * writeTimeout)).toBeGreaterThanOrEqual(text.length);
      await closed;
    }));
  });

  test('after a pause is waited for by no more time-outs: its handler may take its time, and its connection is kept', async () => {
    let response: Response | undefined;
    const first = await serve((res) => {
      response = res;
      res.write(TEXT);
    });
    const socket = await ask(first.port);
    expect(await readAll(socket, LENGTH, 0)).toBeGreaterThanOrEqual(LENGTH);
    // One that asks later and reads nothing is cut off.
    const { port, closed } = await serve(answers['send'] as () => unknown);
    await ask(port);
    await closed;
    socket.setEncoding('latin1').resume().write(head('GET /small'));
    (response as Response).end('last');
    for (let text = ''; !/last\r\n0\r\n\r\n[^]*\r\n\r\nsmall$/.test(text);) text += (await once(socket, 'data')) as unknown as string;
  });
});
