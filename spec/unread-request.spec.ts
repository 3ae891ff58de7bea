import http, { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer, Request } from 'waypost';

/** What becomes of a request whose response ends while nobody has read it: its events, and who still listens. */
async function afterwards(make: (handler: RequestListener) => http.Server | Promise<http.Server>, handler: (req: IncomingMessage, note: (event: string) => void) => void, body: string | undefined): Promise<unknown> {
  const events: string[] = [];
  let seen: IncomingMessage | undefined;
  let close = (): void => undefined;
  const closed = new Promise<void>((resolve) => { close = resolve; });
  const server = await make((req: IncomingMessage, res: ServerResponse) => {
    seen = req;
    handler(req, (event) => events.push(event));
    res.on('close', () => setImmediate(close));
    res.end('answered');
  });
  await new Promise<void>((resolve, reject) => {
    const asked = http.request({ port: (server.address() as AddressInfo).port, method: body === undefined ? 'GET' : 'POST', headers: { 'content-type': 'application/json', connection: 'close' } }, (res) => {
      res.resume().on('end', resolve);
    });
    asked.on('error', reject).end(body);
  });
  await closed;
  const req = seen as IncomingMessage;
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
  return { events, data: req.listenerCount('data'), flowing: req.readableFlowing, length: req.readableLength, ended: req.readableEnded };
}

async function listening(server: http.Server): Promise<http.Server> {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  return server;
}

const HANDLERS: Record<string, (req: IncomingMessage, note: (event: string) => void) => void> = {
  'paused with a listener': (req, note) => void req.on('data', () => note('data')).on('end', () => note('end')).on('close', () => note('close')).pause(),
  'paused, then listened to': (req, note) => {
    req.pause();
    req.on('data', () => note('data')).on('end', () => note('end'));
  },
  'paused alone': (req) => void req.pause(),
  'listened to for its end': (req, note) => void req.on('end', () => note('end')),
};

describe('a request that nobody has read when its response ends', () => {
  test.each(Object.keys(HANDLERS).flatMap((name) => [[name, undefined], [name, '{"a":1}']] as const))('is as with node:http: %s, body %s', async (name, body) => {
    const handler = HANDLERS[name] as (typeof HANDLERS)[string];
    const wanted = await afterwards((listener) => listening(http.createServer(listener)), handler, body);
    const app = (listener: RequestListener): Promise<http.Server> => {
      const made = createServer({ logging: { level: 'silent' } });
      made.all('/', listener as never);
      return listening(http.createServer({ IncomingMessage: Request as unknown as typeof IncomingMessage }, made));
    };
    expect(await afterwards(app, handler, body)).toEqual(wanted);
  });
});
