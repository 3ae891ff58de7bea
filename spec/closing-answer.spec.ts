import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type Application, createServer, type CreateServerOptions, signRequest } from 'waypost';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const SECRET = 'the secret of these specs, 32 bytes or more';
const running = new Running();

afterEach(() => running.close());

/** More than a server reads at once, so that some is unread when it closes. */
const BEHIND = head('GET /next').repeat(5000);

const BODY = 'x'.repeat(40);
const BODIES = ['Content-Length: 40', 'Transfer-Encoding: chunked'];

function routes(app: Application): void {
  app.post('/', (req, res) => res.send(req.body));
  app.get('/next', (_req, res) => res.send('next'));
}

function request(fields: readonly string[]): string {
  const isChunked = fields.some((field) => field.includes('chunked'));
  const more = fields.map((field) => `${field}\r\n`).join('');
  return `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n${more}\r\n${isChunked ? `28\r\n${BODY}\r\n0\r\n\r\n` : BODY}`;
}

const SMALL: CreateServerOptions = { body: { limit: 20 }, logging: { level: 'silent' } };
const SIGNED: CreateServerOptions = { ...SMALL, security: { requestSignature: { secret: SECRET } } };

const CASES = [
  ...BODIES.map((field) => [`a body past the limit (${field})`, 413, SMALL, [field]] as const),
  ...BODIES.map((field) => [
    `a signed body past the limit (${field})`, 413, SIGNED,
    [field, ...Object.entries(signRequest({ secret: SECRET, method: 'POST', url: '/', body: BODY })).map(([name, value]) => `${name}: ${value}`)],
  ] as const),
  ['a transfer coding', 501, SMALL, ['Transfer-Encoding: gzip, chunked']] as const,
];

// A server that closes with bytes unread resets the connection, and a client that goes on sending loses what it has not read by then.
describe.each(['its own server', 'node:http'])('an answer that closes its connection, by %s', (name) => {
  test.each(CASES)('reaches a client that has sent requests behind: %s', async (_name, status, options, fields) => {
    const app = createServer(options);
    routes(app);
    const port = name === 'node:http' ? await running.serve(app) : await running.start(app);
    const server = name === 'node:http' ? running.servers[0] : app.server;
    const accepted = once(server as Server, 'connection') as Promise<[Socket]>;
    const wire = (await Wire.open(port)).pause();
    const [served] = await accepted;
    const finished = once(served, 'finish');
    wire.write(request(fields) + BEHIND);
    await finished;
    await wire.write(BEHIND).flushed();
    await wire.resume().end;
    expect(wire.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*\\r\\n\\r\\n\\{.*\\}$`));
    expect(wire.text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });
});

const UPGRADE = head('GET /ws', { Connection: 'Upgrade', Upgrade: 'websocket' });

/** An application that notes what it carries out; requests to `/slow` are answered when told. */
function noting(options: CreateServerOptions): { app: Application; seen: string[]; answer: () => void; asked: Promise<void> } {
  const app = createServer(options);
  const seen: string[] = [];
  let answer = (): void => undefined;
  let told = (): void => undefined;
  const asked = new Promise<void>((resolve) => { told = resolve; });
  app.get('/slow', (_req, res) => {
    answer = () => void res.send('slow');
    told();
  });
  app.post('/', (req, res) => res.send(req.body));
  app.get('/next', (_req, res) => {
    seen.push('next');
    res.send('next');
  });
  app.on('upgrade', (_req, socket) => {
    seen.push('upgrade');
    socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  });
  return { app, seen, answer: () => answer(), asked };
}

describe('behind an answer that closes its connection nothing is carried out', () => {
  test.each([
    ['a body past the limit', 413, ['Content-Length: 40']], ['a transfer coding', 501, ['Transfer-Encoding: gzip, chunked']],
  ])('%s, with an answer before it that takes its time', async (_name, status, fields) => {
    for (const behind of [head('GET /next'), UPGRADE, head('GET /next') + UPGRADE]) {
      const { app, seen, answer, asked } = noting(SMALL);
      const wire = await Wire.open(await running.start(app));
      wire.write(head('GET /slow') + request(fields) + behind);
      await asked;
      answer();
      await wire.end;
      expect(wire.text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', `HTTP/1.1 ${status}`]);
      expect(seen).toEqual([]);
    }
  });

  test('an upgrade behind the last request of a connection that is drained', async () => {
    const { app, seen, answer, asked } = noting(SMALL);
    const port = await running.start(app);
    const wire = await Wire.open(port);
    wire.write(head('GET /slow'));
    await asked;
    const closed = app.close();
    const parsed = once(app.server as Server, 'upgrade');
    wire.write(UPGRADE);
    await parsed;
    answer();
    await wire.end;
    await closed;
    expect(wire.text).toMatch(/^HTTP\/1\.1 200 [^]*slow$/);
    expect(seen).toEqual([]);
  });
});
