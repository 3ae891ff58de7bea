import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type Application, createServer } from 'waypost';
import { makeCertificate } from './support/certificate';
import { portOf } from './support/running';
import { head } from './support/wire';

/** Longer than any spec may run: that a drain ended was not the timeout's doing. */
const NEVER = 2_000_000_000;

const KINDS = {
  http: { event: 'connection', options: {}, open: (port: number): Socket => connect({ port, host: '127.0.0.1' }) },
  https: { event: 'secureConnection', options: { https: makeCertificate() }, open: (port: number): TLSSocket => connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) },
} as const;

describe.each(Object.entries(KINDS))('a connection of %s that has asked for nothing when the server begins to drain', (_, { event, options, open }) => {
  /** Begins to drain in the moment in which a connection comes, and answers what that gets for what it sends then. */
  async function closed(send: (socket: Socket) => void, register: (app: Application) => void = () => undefined): Promise<string> {
    const app = createServer({ logging: { level: 'silent' }, server: options });
    app.get('/', (_req, res) => res.send('answered'));
    register(app);
    const server = await app.start(0, '127.0.0.1');
    let done: Promise<void> = Promise.resolve();
    server.once(event, () => (done = app.close({ timeout: NEVER })));
    const socket = open(portOf(server));
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk)).on('error', () => undefined);
    send(socket);
    await once(socket, 'close');
    await done;
    return text;
  }

  test('is answered the request that was on its way, and closed behind it', async () => {
    // Written at once: it is on its way when the server hears of the connection.
    const text = await closed((socket) => void socket.write(head('GET /')));
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text).toMatch(/\r\nConnection: close\r\n[^]*answered$/i);
  });

  test('is closed if nothing comes, and close settles', async () => {
    expect(await closed(() => undefined)).toBe('');
  });
});
