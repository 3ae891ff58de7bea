import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import fc from 'fast-check';
import { type Application, createServer, type CreateServerOptions, express } from 'waypost';
import { makeCertificate } from './support/certificate';
import { LogRecorder, Running } from './support/running';
import { runs } from './support/runs';
import { head, Wire } from './support/wire';

/** Longer than any spec may run: that a drain ended was not the timeout's doing. */
const NEVER = 2_000_000_000;
/** As many may be pipelined, and no connection ends for standing still. */
const ALL = { pipelining: 100, keepAliveTimeout: NEVER };

const running = new Running();

afterEach(() => running.close());

/** Requests whose handlers have begun, by their targets, each to be answered when the test says so. */
class Begun {
  readonly #waiting = new Map<string, { req: IncomingMessage; res: ServerResponse }>();
  #heard: () => void = () => undefined;

  readonly listener: RequestListener = (req, res) => {
    this.#waiting.set(req.url ?? '', { req, res });
    this.#heard();
  };

  get targets(): string[] {
    return [...this.#waiting.keys()];
  }

  /** Waits until so many have begun. */
  async count(count: number): Promise<this> {
    while (this.#waiting.size < count) await new Promise<void>((resolve) => (this.#heard = resolve));
    return this;
  }

  response(target: string): ServerResponse {
    return (this.#waiting.get(target) as { res: ServerResponse }).res;
  }

  answer(target: string, text = target): void {
    this.response(target).end(text);
  }
}

/** A response as it was read off the wire, and whether it was the last by its own words. */
interface Read { readonly status: number; readonly body: string; readonly closes: boolean }

/** Reads all responses that came for requests by those methods; throws where one is not whole. */
function readAll(text: string, methods: readonly string[]): Read[] {
  const found: Read[] = [];
  for (let rest = text; rest !== '';) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) throw new Error(`half a head: ${rest.slice(0, 200)}`);
    const fields = rest.slice(0, end).toLowerCase();
    rest = rest.slice(end + 4);
    let body = '';
    if (methods[found.length] !== 'HEAD' && fields.includes('\r\ntransfer-encoding: chunked')) [body, rest] = readChunks(rest);
    else if (methods[found.length] !== 'HEAD') {
      const length = Number(/\r\ncontent-length: (\d+)/.exec(fields)?.[1]);
      if (!(rest.length >= length)) throw new Error(`${rest.length} of ${length} bytes`);
      [body, rest] = [rest.slice(0, length), rest.slice(length)];
    }
    found.push({ status: Number(fields.slice(9, 12)), body, closes: fields.includes('\r\nconnection: close') });
  }
  return found;
}

function readChunks(text: string): [body: string, rest: string] {
  let body = '';
  for (let rest = text; ;) {
    const [, size = '', after = ''] = /^([0-9a-f]+)\r\n([^]*)$/.exec(rest) ?? [];
    const length = parseInt(size, 16);
    if (!(after.length >= length + 2)) throw new Error('half a chunk');
    if (length === 0) return [body, after.slice(2)];
    body += after.slice(0, length);
    rest = after.slice(length + 2);
  }
}

/** Ten requests at once on one connection, all begun. */
async function ten(options: CreateServerOptions = {}): Promise<{ app: Application; begun: Begun; wire: Wire; log: LogRecorder }> {
  const log = new LogRecorder();
  const app = createServer({ logging: { logger: log }, ...options, server: { ...ALL, ...options.server } });
  const begun = new Begun();
  app.get('/:n', begun.listener);
  app.post('/:n', begun.listener);
  const port = await running.start(app);
  const wire = await open(port, options.server?.https !== undefined);
  wire.write(TEN.map((target) => head(`GET ${target}`)).join(''));
  await begun.count(10);
  return { app, begun, wire, log };
}

const TEN = Array.from({ length: 10 }, (_, index) => `/${index}`);
const GETS = TEN.map(() => 'GET');
/** Of ten answers, the last says that it is. */
const ANSWERED = TEN.map((body, index) => ({ status: 200, body, closes: index === 9 }));

async function open(port: number, tls: boolean): Promise<Wire> {
  const socket: Socket = tls ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connectPlain(port, '127.0.0.1');
  const wire = new Wire(socket);
  await once(socket, tls ? 'secureConnect' : 'connect');
  return wire;
}

describe('ten requests pipelined, all of which have begun when the application closes', () => {
  const { key, cert } = makeCertificate();

  test.each<[string, CreateServerOptions]>([
    ['HTTP', {}],
    ['HTTPS', { server: { https: { key, cert } } }],
    ['keepAliveTimeout of 1 ms', { server: { keepAliveTimeout: 1 } }],
  ])('%s: all are answered in order, the last with Connection: close', async (_name, options) => {
    for (const order of [TEN, [...TEN].reverse(), ['/4', '/9', '/0', '/8', '/1', '/2', '/7', '/3', '/6', '/5']]) {
      const { app, begun, wire, log } = await ten(options);
      const closed = app.close({ timeout: NEVER });
      for (const target of order) {
        begun.answer(target);
        await new Promise(setImmediate);
      }
      await Promise.all([closed, wire.end]);
      expect(readAll(wire.text, GETS)).toEqual(ANSWERED);
      expect(log.messages('warn')).toEqual([]);
    }
  });

  test('those that were answered before it are not answered again, nor kept from those that were not', async () => {
    const { app, begun, wire } = await ten();
    for (const target of TEN.slice(0, 4)) begun.answer(target);
    await wire.until('/3');
    // Behind others, it waits; its head is made already, and says what held then.
    begun.answer('/8');
    const closed = app.close({ timeout: NEVER });
    for (const target of ['/9', '/7', '/6', '/5', '/4']) begun.answer(target);
    await Promise.all([closed, wire.end]);
    expect(readAll(wire.text, GETS)).toEqual(ANSWERED);
  });

  test('where the last was answered before it, the connection ends behind it', async () => {
    const { app, begun, wire } = await ten();
    begun.answer('/9');
    const closed = app.close({ timeout: NEVER });
    for (const target of TEN.slice(0, 9)) begun.answer(target);
    await Promise.all([closed, wire.end]);
    expect(readAll(wire.text, GETS).map(({ body }) => body)).toEqual(TEN);
  });

  test.each<[string, CreateServerOptions]>([['HTTP', {}], ['HTTPS', { server: { https: { key, cert } } }]])('%s: also where more is asked behind it meanwhile', async (_name, options) => {
    for (const before of [TEN.slice(1), TEN.slice(5), TEN.slice(9)]) {
      const { app, begun, wire } = await ten(options);
      for (const target of before) begun.answer(target);
      const closed = app.close({ timeout: NEVER });
      const behind = once(app.server as Server, 'request');
      wire.write(head('GET /late'));
      await behind;
      for (const target of TEN) if (!before.includes(target)) begun.answer(target);
      await Promise.all([closed, wire.end]);
      expect(readAll(wire.text, GETS).map(({ body }) => body)).toEqual(TEN);
    }
  });

  test('what is asked behind them meanwhile is not begun, bodies included, and costs none of the answers', async () => {
    const { app, begun, wire } = await ten();
    const closed = app.close({ timeout: NEVER });
    const behind = new Promise<void>((resolve) => (app.server as Server).on('request', ({ method }: IncomingMessage) => method === 'POST' && resolve()));
    wire.write(head('GET /late') + head('POST /body', { 'Content-Length': 7, 'Content-Type': 'application/json' }) + '{"a"');
    await behind;
    wire.write(':1}' + head('GET /later'));
    for (const target of TEN) begun.answer(target);
    await wire.until('/9');
    wire.write(head('GET /latest'));
    await Promise.all([closed, wire.end]);
    expect(readAll(wire.text, GETS)).toEqual(ANSWERED);
    expect(begun.targets).toEqual(TEN);
  });

  test('the close timeout cuts off what is not answered', async () => {
    const { app, begun, wire, log } = await ten();
    begun.answer('/0');
    await wire.until('/0');
    await app.close({ timeout: 20 });
    await wire.end;
    expect(readAll(wire.text, GETS)).toEqual([{ status: 200, body: '/0', closes: false }]);
    expect(log.messages('warn')).toEqual([expect.stringMatching(/cut off/)]);
  });

  test('a body that is partly in arrives, and is answered last', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    const begun = new Begun();
    app.get('/:n', begun.listener);
    app.post('/json', (req, res) => res.json(req.body));
    const wire = await Wire.open(await running.start(app));
    const server = app.server as Server;
    const both = new Promise<void>((resolve) => server.on('request', (req: IncomingMessage) => req.method === 'POST' && resolve()));
    wire.write(head('GET /0') + head('POST /json', { 'Content-Length': 7, 'Content-Type': 'application/json' }) + '{"a"');
    await both;
    const closed = app.close({ timeout: NEVER });
    begun.answer('/0');
    wire.write(':1}' + head('GET /1'));
    await Promise.all([closed, wire.end]);
    expect(readAll(wire.text, ['GET', 'POST'])).toEqual([{ status: 200, body: '/0', closes: false }, { status: 200, body: '{"a":1}', closes: true }]);
    expect(begun.targets).toEqual(['/0']);
  });

  test('what has come on a connection that was idle, and was not read before, is answered last', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    app.all('/:n', (req, res) => res.send(req.params.n));
    const port = await running.start(app);
    const wires = await Promise.all(Array.from({ length: 5 }, async (_, n) => {
      const wire = (await Wire.open(port)).write(head(`GET /${n}`));
      await wire.until(/\r\n\r\n\d$/);
      return wire;
    }));
    // On this turn the server reads none of it.
    for (const [n, wire] of wires.entries()) if (n > 0) wire.write(head(`POST /${n}`, { 'Content-Length': 4 }) + 'text');
    await Promise.all([app.close({ timeout: NEVER }), ...wires.map((wire) => wire.end)]);
    for (const [n, wire] of wires.entries()) {
      const first = { status: 200, body: String(n), closes: false };
      expect(readAll(wire.text, ['GET', 'POST'])).toEqual(n === 0 ? [first] : [first, { ...first, closes: true }]);
    }
  });

  test('what Node answers by itself counts as well', async () => {
    const { app, begun, wire } = await ten();
    const refused = once(app.server as Server, 'request');
    wire.write(head('GET /10', { Expect: 'the impossible' }) + head('GET /11'));
    await refused;
    const closed = app.close({ timeout: NEVER });
    for (const target of [...TEN, '/11']) begun.answer(target);
    await Promise.all([closed, wire.end]);
    expect(readAll(wire.text, GETS).map(({ status, closes }) => [status, closes])).toEqual([...TEN.map(() => [200, false]), [417, false], [200, true]]);
  });

  test('a client that has ended its side gets what Node gives it, and keeps nobody', async () => {
    const [ours, theirs] = [new Begun(), new Begun()];
    const app = createServer({ logging: { level: 'silent' }, server: ALL });
    app.get('/:n', ours.listener);
    const server = createHttpServer(theirs.listener);
    const got: string[] = [];
    for (const [begun, port] of [[ours, await running.start(app)], [theirs, await running.listen(server)]] as const) {
      const socket = connectPlain({ port, host: '127.0.0.1', allowHalfOpen: true });
      const wire = new Wire(socket);
      socket.end(TEN.map((target) => head(`GET ${target}`)).join(''));
      await begun.count(10);
      await wire.end;
      const closed = begun === ours ? app.close({ timeout: NEVER }) : new Promise((resolve) => void server.close(resolve));
      for (const target of TEN) begun.answer(target);
      await closed;
      got.push(wire.text);
    }
    expect(got[0]).toBe(got[1]);
  });

  test('a begun request that comes to the application again is no new one', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    const begun = new Begun();
    app.get('/:n', begun.listener);
    app.get('/again/:n', (req, res) => res.send(`again ${req.params.n}`));
    const wire = await Wire.open(await running.start(app));
    wire.write(head('GET /0') + head('GET /1') + head('GET /2'));
    await begun.count(3);
    const closed = app.close({ timeout: NEVER });
    for (const n of [0, 1, 2]) {
      const res = begun.response(`/${n}`);
      res.req.url = `/again/${n}`;
      app(res.req, res);
    }
    await Promise.all([closed, wire.end]);
    expect(readAll(wire.text, GETS)).toEqual([0, 1, 2].map((n) => ({ status: 200, body: `again ${n}`, closes: n === 2 })));
  });
});

describe('a connection that has nothing in flight', () => {
  test('ends at once where a request was answered before its body was in', async () => {
    const app = createServer({ logging: { level: 'silent' } });
    app.post('/', (_req, res) => res.send('enough'));
    const wire = await Wire.open(await running.start(app));
    wire.write(head('POST /', { 'Content-Length': 4, 'Content-Type': 'application/octet-stream' }) + 'ab');
    await wire.until('enough');
    const closed = app.close({ timeout: NEVER });
    await wire.end;
    wire.cut();
    await closed;
  });
});

describe('a body that a handler reads on behind its answer, as an upload that is acknowledged at once', () => {
  const kinds = { createServer: () => createServer({ logging: { level: 'silent' }, body: false }), express: () => express({ logging: { level: 'silent' } }) };

  test.each(Object.entries(kinds).flatMap(([name, make]) => [[name, 'before the close', make], [name, 'while it closes', make]] as const))('%s, answered %s, is read to its end', async (_name, when, make) => {
    const app = make();
    let read = 0;
    let answer = (): void => undefined;
    const begun = new Promise<void>((resolve) => {
      app.post('/', (req, res) => {
        answer = () => void res.status(202).end('enough');
        if (when === 'before the close') answer();
        req.on('data', (chunk: Buffer) => {
          read += chunk.length;
          resolve();
        });
      });
    });
    const wire = await Wire.open(await running.start(app));
    wire.write(head('POST /', { 'Content-Length': 2000, 'Content-Type': 'application/octet-stream' }) + 'a'.repeat(1000));
    await begun;
    if (when === 'before the close') await wire.until('enough');
    const closed = app.close({ timeout: NEVER });
    answer();
    await wire.until('enough');
    // Whatever the close does by itself has been done by then.
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    expect(wire.ended).toBe(false);
    wire.write('a'.repeat(1000));
    await Promise.all([closed, wire.end]);
    expect(read).toBe(2000);
    expect(readAll(wire.text, ['POST']).map(({ status, body }) => [status, body])).toEqual([[202, 'enough']]);
  });
});

describe('a response that has ended, to a client that reads slowly', () => {
  test('is sent whole, and those behind it', async () => {
    const size = 8 * 1024 * 1024;
    const app = createServer({ logging: { level: 'silent' } });
    const begun = new Begun();
    app.get('/:n', begun.listener);
    const wire = await Wire.open(await running.start(app));
    wire.pause().write(head('GET /0') + head('GET /1'));
    await begun.count(2);
    begun.answer('/0', 'x'.repeat(size));
    const closed = app.close({ timeout: NEVER });
    begun.answer('/1');
    wire.resume();
    await Promise.all([closed, wire.end]);
    expect(readAll(wire.text, GETS).map(({ body, closes }) => [body.length, closes])).toEqual([[size, false], [2, true]]);
  }, 30_000);

  test('also where it is the last and the only one', async () => {
    const size = 8 * 1024 * 1024;
    const app = createServer({ logging: { level: 'silent' } });
    const begun = new Begun();
    app.get('/:n', begun.listener);
    const wire = await Wire.open(await running.start(app));
    wire.pause().write(head('GET /0'));
    await begun.count(1);
    begun.answer('/0', 'x'.repeat(size));
    const closed = app.close({ timeout: NEVER });
    wire.resume();
    await Promise.all([closed, wire.end]);
    expect(readAll(wire.text, GETS).map(({ body }) => body.length)).toEqual([size]);
  }, 30_000);
});

/** How a handler answers. */
type Style = 'whole' | 'large' | 'streamed' | 'head first';

interface Schedule {
  readonly requests: readonly { readonly method: 'GET' | 'HEAD' | 'POST'; readonly style: Style }[];
  /** The order in which the handlers answer. */
  readonly order: readonly number[];
  /** How many of them do so before the close. */
  readonly before: number;
  /** Whether the client reads nothing until then. */
  readonly slow: boolean;
  /** Requests that it sends after the close, on a connection that is busy: one that is idle is closed at once. */
  readonly late: number;
}

const SCHEDULES: fc.Arbitrary<Schedule> = fc.integer({ min: 1, max: 7 }).chain((count) => fc.record({
  requests: fc.array(fc.record({
    method: fc.constantFrom('GET', 'HEAD', 'POST'),
    style: fc.constantFrom<Style>('whole', 'large', 'streamed', 'head first'),
  }), { minLength: count, maxLength: count }),
  order: fc.shuffledSubarray(Array.from({ length: count }, (_, index) => index), { minLength: count }),
  before: fc.integer({ min: 0, max: count }),
  slow: fc.boolean(),
  late: fc.integer({ min: 0, max: 2 }),
}) as fc.Arbitrary<Schedule>);

const LARGE = 400_000;

function bodyOf(index: number, style: Style): string {
  return style === 'large' ? String(index).repeat(LARGE) : `body ${index}`;
}

async function answerBy(style: Style, index: number, res: ServerResponse): Promise<void> {
  const body = bodyOf(index, style);
  if (style === 'head first') res.writeHead(200, { 'Content-Length': body.length }).flushHeaders();
  if (style === 'streamed') {
    res.write(body.slice(0, 2));
    await new Promise(setImmediate);
  }
  res.end(style === 'streamed' ? body.slice(2) : body);
  await new Promise(setImmediate);
}

/** Plays the schedule on a server, and answers all that the client got. */
async function play({ requests, order, before, slow, late }: Schedule, begun: Begun, port: number, close: () => Promise<unknown>): Promise<string> {
  const wire = await Wire.open(port);
  if (slow) wire.pause();
  wire.write(requests.map(({ method }, index) => head(`${method} /${index}`, method === 'POST' ? { 'Content-Length': 2 } : {}) + (method === 'POST' ? 'ab' : '')).join(''));
  await begun.count(requests.length);
  const answer = (index: number): Promise<void> => answerBy(requests[index]!.style, index, begun.response(`/${index}`));
  for (const index of order.slice(0, before)) await answer(index);
  const closed = close();
  for (let index = 0; before < order.length && index < late; index++) wire.write(head(`GET /late${index}`));
  for (const index of order.slice(before)) await answer(index);
  wire.resume();
  await Promise.all([closed, wire.end]);
  return wire.text;
}

test.each(['GET', 'POST'] as const)('a large answer to %s arrives whole, though the client has asked for more that nobody reads', async (method) => {
  // Whether the rest is read before the connection closes is for the system to say.
  for (let round = 0; round < 30; round++) {
    const begun = new Begun();
    const app = createServer({ logging: { level: 'silent' }, body: false });
    app.all('/:n', begun.listener);
    const schedule: Schedule = { requests: [{ method, style: 'large' }], order: [0], before: 0, slow: false, late: 1 };
    const text = await play(schedule, begun, await running.start(app), () => app.close({ timeout: NEVER }));
    expect(readAll(text, [method])).toEqual([{ status: 200, body: bodyOf(0, 'large'), closes: true }]);
  }
});

test('by any schedule, each request that has begun is answered whole, as by node:http, and nothing begins after the close', async () => {
  await fc.assert(fc.asyncProperty(SCHEDULES, async (schedule) => {
    const methods = schedule.requests.map(({ method }) => method);
    const begun = new Begun();
    const app = createServer({ logging: { level: 'silent' }, body: false });
    app.all('/:n', begun.listener);
    const text = await play(schedule, begun, await running.start(app), () => app.close({ timeout: NEVER }));
    const answers = readAll(text, methods);
    const expected = schedule.requests.map(({ method, style }, index) => ({ status: 200, body: method === 'HEAD' ? '' : bodyOf(index, style) }));
    expect(answers.map(({ status, body }) => ({ status, body }))).toEqual(expected);
    expect(begun.targets.slice(0, methods.length)).toEqual(methods.map((_, index) => `/${index}`));
    expect(begun.targets).toHaveLength(methods.length);
    // The last says so, if its head was made after the close.
    const last = methods.length - 1;
    expect(answers.map(({ closes }) => closes)).toEqual(methods.map((_, index) => index === last && !schedule.order.slice(0, schedule.before).includes(last)));

    // Node cuts off a client that has not read yet, and goes on with what is asked later.
    if (schedule.slow || schedule.late > 0) return;
    const theirs = new Begun();
    const server = createHttpServer(theirs.listener);
    const port = await running.listen(server);
    const heard = await play(schedule, theirs, port, () => new Promise((resolve) => {
      server.close(resolve);
      const idle = setInterval(() => server.closeIdleConnections(), 5);
      server.once('close', () => clearInterval(idle));
    }));
    expect(readAll(heard, methods).map(({ status, body }) => ({ status, body }))).toEqual(expected);
  }), {
    numRuns: runs(30),
    // Its client, which reads slowly, was reset: the connection was closing by halves, and was closed as an idle one.
    examples: [[{ requests: [{ method: 'GET', style: 'whole' }, { method: 'GET', style: 'whole' }, { method: 'GET', style: 'large' }, { method: 'GET', style: 'streamed' }], order: [1, 2, 0, 3], before: 3, slow: true, late: 2 }]],
  });
}, 60_000);
