import { AsyncLocalStorage } from 'node:async_hooks';
import { type RequestListener, Server } from 'node:http';
import { ExpressOracle, type Program } from './support/express-oracle';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

/** Requests with and without a body, and with what Node would answer 100 Continue to. */
const HEADS: Record<string, string> = {
  'no body': head('GET /guarded', { Connection: 'close' }),
  'a body': `${head('POST /guarded', { 'Content-Length': 2, Connection: 'close' })}ab`,
  'a body that is announced by Expect': `${head('POST /guarded', { 'Content-Length': 2, Expect: '100-continue', Connection: 'close' })}ab`,
  'chunks that are announced by Expect': `${head('POST /guarded', { 'Transfer-Encoding': 'chunked', Expect: '100-continue', Connection: 'close' })}2\r\nab\r\n0\r\n\r\n`,
  'Expect and no body': head('POST /guarded', { 'Content-Length': 0, Expect: '100-continue', Connection: 'close' }),
};

/** The answer behind what was said before. */
function portrait(text: string): readonly [status: string | undefined, body: string | undefined] {
  const [, status, body] = /HTTP\/1\.1 ([2-5]\d\d) [^]*?\r\n\r\n([^]*)$/.exec(text) ?? [];
  return [status, body];
}

/** What programs and packages put beside the application's own listener for requests, or before it. */
const PROGRAMS: Record<string, Program> = {
  'a guard that hands on': (app, side) => {
    app.use((_req, res) => void res.send('reached'));
    side.onServer((server) => {
      const listeners = server.listeners('request') as RequestListener[];
      server.removeAllListeners('request').on('request', ((req, res) => {
        if (req.headers.authorization === undefined) res.writeHead(401).end('guarded');
        else for (const listener of listeners) listener.call(server, req, res);
      }) as RequestListener);
    });
  },
  'another protocol on a path of its own, which reads the body': (app, side) => {
    app.use((_req, res) => void res.send('reached'));
    side.onServer((server) => {
      const listeners = server.listeners('request') as RequestListener[];
      server.removeAllListeners('request').on('request', ((req, res) => {
        if (req.url !== '/guarded') for (const listener of listeners) listener.call(server, req, res);
        else req.on('end', () => res.end('of the other')).resume();
      }) as RequestListener);
    });
  },
  'a listener that counts': (app, side) => {
    let count = 0;
    app.use((_req, res) => void res.send(String(count)));
    side.onServer((server) => void server.prependListener('request', () => count++));
  },
};

test.each(Object.entries(PROGRAMS))('what listens to the server is given every request, as under Express: %s', async (_name, program) => {
  const oracle = running.keep(await ExpressOracle.start(program));
  for (const [, text] of Object.entries(HEADS)) await oracle.each(async (port) => portrait(await Wire.tell(port, text)));
});

test('a listener before the application that reads the body has the client asked for it', async () => {
  const oracle = running.keep(await ExpressOracle.start(PROGRAMS['another protocol on a path of its own, which reads the body'] as Program));
  const text = await oracle.each(async (port) => {
    const wire = (await Wire.open(port)).write(head('POST /guarded', { 'Content-Length': 2, Expect: '100-continue', Connection: 'close' }));
    await wire.until('100 Continue\r\n\r\n');
    wire.write('ab');
    await wire.end;
    return portrait(wire.text);
  });
  expect(text).toEqual(['200', 'of the other']);
});

test('every request is emitted by its server, where tracers begin their context', async () => {
  const store = new AsyncLocalStorage<string>();
  const emit = Server.prototype.emit as (event: string | symbol, ...given: unknown[]) => boolean;
  Server.prototype.emit = function (this: Server, event: string | symbol, ...given: unknown[]): boolean {
    const call = (): boolean => emit.call(this, event, ...given);
    return event === 'request' ? store.run('of the tracer', call) : call();
  } as Server['emit'];
  try {
    const oracle = running.keep(await ExpressOracle.start((app) => {
      app.use((_req, res) => void res.send(store.getStore()));
    }));
    for (const text of Object.values(HEADS)) {
      expect(await oracle.each(async (port) => portrait(await Wire.tell(port, text)))).toEqual(['200', 'of the tracer']);
    }
  } finally {
    Server.prototype.emit = emit as Server['emit'];
  }
});
