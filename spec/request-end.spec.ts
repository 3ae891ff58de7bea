import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { finished } from 'node:stream';
import express, { type RequestHandler } from 'express';
import fc from 'fast-check';
import { type Application, createServer } from 'waypost';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const running = new Running();
let handle: (req: IncomingMessage, res: ServerResponse) => void = (_req, res) => res.end();
let node = 0;
let ours = 0;
let mounted = 0;

beforeAll(async () => {
  node = await running.serve((req, res) => handle(req, res));
  const app = createServer({ env: 'test', logging: { level: 'silent' } });
  // A route, so that bodies are parsed.
  app.all(['/', '/**'], (req, res) => handle(req, res));
  ours = await running.start(app);
  mounted = await running.serve(app);
});
afterAll(() => running.close());

const EVENTS = ['end', 'close', 'error', 'aborted'] as const;

/** What an observer can ask a request for, whenever it comes. */
function stateOf(req: IncomingMessage): unknown {
  const { readable, readableEnded, readableAborted, readableLength, destroyed, closed, complete, errored } = req;
  return { readable, readableEnded, readableAborted, readableLength, destroyed, closed, complete, errored };
}

/** When somebody begins to listen to the request. */
type Moment = 'handler' | 'prefinish' | 'finish' | 'close' | 'callback' | 'never';

/** Plays one request, and answers what was heard, and how the request stands in the end. */
async function play(port: number, text: string, late: boolean, moments: readonly (readonly [Moment, (typeof EVENTS)[number]])[]): Promise<unknown> {
  const heard: string[] = [];
  const over = new Promise<unknown>((resolve) => {
    handle = (req, res) => {
      const calledBack: (() => unknown)[] = [];
      for (const [moment, event] of moments) {
        const listen = (): unknown => req.on(event, () => heard.push(`${event} since ${moment}`));
        if (moment === 'handler') listen();
        else if (moment === 'callback') calledBack.push(listen);
        else if (moment !== 'never') res.on(moment, listen);
      }
      const end = (): void => {
        if (calledBack.length === 0) res.end('done');
        // Whoever awaits the callback goes on in a microtask.
        else void new Promise<void>((called) => void res.end('done', called)).then(() => calledBack.forEach((listen) => listen()));
      };
      // By the next turn what came behind the head is there too.
      if (late) setImmediate(end);
      else end();
      // The turn after the last tick that Node takes.
      const look = (): void => {
        if (!res.closed) setImmediate(look);
        else setImmediate(() => finished(req, (error) => resolve({ heard, error: error ?? null, state: stateOf(req) })));
      };
      look();
    };
  });
  const wire = await Wire.open(port);
  wire.write(text);
  await wire.until('done');
  const answer = await over;
  wire.cut();
  return answer;
}

const texts = {
  'without a body': head('GET /'),
  'with a body that is parsed': `${head('POST /', { 'Content-Type': 'application/json', 'Content-Length': 7 })}{"a":1}`,
  'with a body that nobody takes': `${head('POST /', { 'Content-Type': 'image/png', 'Content-Length': 3 })}png`,
};

/** An application that parses bodies, and leaves the answer to others. */
function parsing(): Application {
  const app = createServer({ env: 'test', logging: { level: 'silent' } });
  app.all(['/', '/**'], (_req, _res, next) => next());
  return app;
}

describe('a request whose response has finished', () => {
  const moment = fc.constantFrom<Moment>('handler', 'prefinish', 'finish', 'close', 'callback', 'never');
  const moments = fc.array(fc.tuple(moment, fc.constantFrom(...EVENTS)), { maxLength: 3 });

  test.each(Object.entries(texts))('%s tells its listeners, and stands in the end, as with node:http', async (_, text) => {
    await fc.assert(fc.asyncProperty(fc.boolean(), moments, async (drawn, given) => {
      // A body that is parsed is all in before the handler runs.
      const late = drawn || text.includes('application/json');
      expect(await play(mounted, text, late, given)).toEqual(await play(node, text, late, given));
      // By its own server, what came behind the head is too.
      expect(await play(ours, text, drawn, given)).toEqual(await play(node, text, true, given));
    }), { numRuns: 100 });
  });

  test('is not made to flow where nobody listens, and tells who has replaced its emit', async () => {
    const emitted: string[] = [];
    handle = (req, res) => {
      if (req.url === '/watched') {
        const { emit } = req;
        req.emit = function (this: IncomingMessage, event: string, ...rest: unknown[]) {
          emitted.push(event);
          return Reflect.apply(emit, this, [event, ...rest]) as boolean;
        };
      } else {
        req.resume = () => {
          throw new Error('made to flow');
        };
      }
      res.end(`done ${req.url as string}`);
    };
    const wire = await Wire.open(ours);
    for (const path of ['/alone', '/alone/again', '/watched', '/alone/at/last']) {
      wire.write(head(`GET ${path}`));
      await wire.until(`done ${path}`);
    }
    wire.cut();
    expect(emitted).toEqual(expect.arrayContaining(['end', 'close']));
  });

  test('lets another reader of a res that is none find Node\'s way', async () => {
    handle = (req, res) => {
      (req as { res?: unknown }).res = null;
      res.end('done');
    };
    const wire = await Wire.open(ours);
    wire.write(head('GET /') + head('GET /', { Connection: 'close' }));
    await wire.end;
    expect(wire.text.match(/done/g)).toHaveLength(2);
  });
});

test.each<[string, (finish: RequestHandler) => RequestListener]>([
  ['Express around it', (finish) => express().use(parsing()).use(finish)],
  ['Express in it', (finish) => parsing().use(express().use(finish))],
])('a request whose body was parsed ends as it does without waypost, with %s', async (_, make) => {
  const told = async (listener: (finish: RequestHandler) => RequestListener): Promise<string[]> => {
    const heard: string[] = [];
    const ends = new EventEmitter();
    const closed = once(ends, 'closed');
    const port = await running.serve(listener((req, res) => {
      res.on('close', () => heard.push('response closed'));
      for (const event of EVENTS) req.on(event, () => heard.push(event));
      req.on('close', () => ends.emit('closed'));
      res.end('done');
    }));
    const wire = await Wire.open(port);
    wire.write(texts['with a body that is parsed']);
    await closed;
    wire.cut();
    return heard;
  };
  const expected = await told((finish) => express().use((req, res, next) => setImmediate(finish, req, res, next)));
  expect(expected).toContain('end');
  expect(await told(make)).toEqual(expected);
});

test.each<[string, () => number]>([
  ['of its own', () => ours],
  ['of node:http', () => mounted],
])('what follows a request that the connection was closed with is not carried out, on a server %s', async (_, port) => {
  const ran: string[] = [];
  const closed = new Promise<void>((resolve) => {
    handle = (req, res) => {
      ran.push(req.url as string);
      req.socket.once('close', () => resolve());
      res.setHeader('Connection', 'close');
      res.end('done');
    };
  });
  // Half open, as a client that goes on sending when the server has ended its side.
  const socket = connect({ port: port(), host: '127.0.0.1', allowHalfOpen: true });
  socket.write(`${head('POST /', { 'Content-Type': 'image/png', 'Content-Length': 4 })}ab`);
  await once(socket.resume(), 'end');
  socket.end(`cd${head('GET /second')}`);
  await closed;
  socket.destroy();
  expect(ran).toEqual(['/']);
});

test('a client that has ended its own side is served, however late the application is called', async () => {
  const app = createServer({ env: 'test', logging: { level: 'silent' } });
  app.get('/', (_req, res) => res.send('served'));
  const ran: string[] = [];
  app.use((req, _res, next) => {
    ran.push(req.url);
    next();
  });
  const late = await running.serve((req, res) => void req.socket.once('end', () => setImmediate(() => app(req, res))).resume());
  const socket = connect({ port: late, host: '127.0.0.1' });
  socket.end(head('GET /late'));
  socket.resume();
  await once(socket, 'close');
  expect(ran).toEqual(['/late']);
});
