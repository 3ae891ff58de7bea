import { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { type Application, createServer, type RequestSignatureConfig, signRequest } from 'waypost';
import { LogRecorder } from './support/running';

const SECRET = 'the secret of these specs, 32 bytes or more';

/** What the least of a response has of Node's: a status, fields, and an end. */
interface Answer {
  statusCode: number;
  readonly fields: Map<string, unknown>;
  readonly text: Promise<string>;
}

/** A response as a program's own tests make it, which knows nothing of `headersSent` or of a socket. */
class EmitterResponse extends EventEmitter implements Answer {
  statusCode = 200;
  readonly fields = new Map<string, unknown>();
  #told!: (text: string) => void;
  readonly text = new Promise<string>((resolve) => (this.#told = resolve));

  setHeader(name: string, value: unknown): void {
    this.fields.set(name.toLowerCase(), value);
  }

  end(body: unknown = ''): void {
    this.#told(String(body));
    this.emit('finish');
  }
}

/** One that tells nobody anything, as a library for mocks makes it. */
class SilentResponse implements Answer {
  statusCode = 200;
  readonly fields = new Map<string, unknown>();
  #told!: (text: string) => void;
  readonly text = new Promise<string>((resolve) => (this.#told = resolve));

  on(): this {
    return this;
  }

  once(): this {
    return this;
  }

  emit(): boolean {
    return false;
  }

  setHeader(name: string, value: unknown): void {
    this.fields.set(name.toLowerCase(), value);
  }

  end(body: unknown = ''): void {
    this.#told(String(body));
  }
}

/** One that is a stream, as a socket is: what is written to it is the body. */
class StreamResponse extends Writable implements Answer {
  statusCode = 200;
  readonly fields = new Map<string, unknown>();
  #text = '';
  readonly text = new Promise<string>((resolve) => this.once('finish', () => resolve(this.#text)));

  setHeader(name: string, value: unknown): void {
    this.fields.set(name.toLowerCase(), value);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#text += chunk.toString();
    done();
  }

  // A stream by itself has nothing that a socket lacks.
  resume(): this {
    return this;
  }
}

function request(method: string, headers: Record<string, string>): IncomingMessage {
  const rawHeaders = Object.entries(headers).flat();
  const req = new IncomingMessage(new Socket());
  return Object.assign(req, { method, url: '/', httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1, headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])), rawHeaders });
}

function guarded(config: Partial<RequestSignatureConfig> = {}): Application {
  const app = createServer({
    env: 'test', logging: { level: 'silent' }, body: { limit: 10 },
    security: { requestSignature: { secret: SECRET, ...config } },
  });
  app.use(() => {
    throw new Error('A request was let through');
  });
  return app;
}

const UNAVAILABLE = { error: 'Service Unavailable', message: 'The request signature could not be checked' };

describe.each([['an emitter', EmitterResponse], ['a stream', StreamResponse]])('a response of a test, %s that is none of Node\'s,', (_, Made) => {
  async function answerOf(app: Application, req: IncomingMessage): Promise<[number, unknown, Answer]> {
    const res = new Made();
    app(req, res as never);
    const text = await res.text;
    return [res.statusCode, JSON.parse(text), res];
  }

  test('is answered, and its line is logged', async () => {
    const logger = new LogRecorder();
    const app = createServer({ env: 'test', logging: { logger, requests: true } }).get('/', (_req, res) => res.json({ a: 1 }));
    expect((await answerOf(app, request('GET', {}))).slice(0, 2)).toEqual([200, { a: 1 }]);
    expect(logger.lines.map(({ level, fields: { method, url, route, bytes } }) => [level, method, url, route, bytes])).toEqual([['info', 'GET', '/', '/', 0]]);
  });

  test('gets 401 for a signature that is missing', async () => {
    const [status, body, { fields }] = await answerOf(guarded(), request('GET', {}));
    expect([status, body]).toEqual([401, { error: 'Missing signature header', message: 'Svc-Request-Sig header is required' }]);
    expect(fields.get('www-authenticate')).toBe('Signature header="Svc-Request-Sig", algorithm="hmac-sha256"');
  });

  test('gets 503 where the secret can not be looked up, at once or later', async () => {
    const signed = signRequest({ secret: SECRET, keyId: 'ann', method: 'GET', url: '/' });
    const thrown = guarded({ secret: () => {
      throw new Error('no lookup');
    } });
    const rejected = guarded({ secret: () => Promise.reject(new Error('no lookup')) });
    for (const app of [thrown, rejected]) expect((await answerOf(app, request('GET', signed))).slice(0, 2)).toEqual([503, UNAVAILABLE]);
  });

  test('gets 413 for a body that is too large to be checked', async () => {
    const signed = signRequest({ secret: SECRET, method: 'POST', url: '/', body: 'x'.repeat(11) });
    const [status, body] = await answerOf(guarded(), request('POST', { ...signed, 'Content-Length': '11' }));
    expect([status, body]).toEqual([413, { error: 'Payload Too Large', message: 'The request body is larger than the limit' }]);
  });
});

test.each([
  ['an emitter', EmitterResponse], ['silent', SilentResponse], ['a stream', StreamResponse],
])('a response of a test, %s, is answered where a body is announced, whether or not there is a socket', async (_, Made) => {
  const app = createServer({ env: 'test', logging: { level: 'silent' } }).post('/', (_req, res) => res.json({ a: 1 }));
  const bodies: Record<string, string>[] = [{ 'Transfer-Encoding': 'chunked' }, { 'Content-Length': '3000000' }];
  for (const headers of bodies) {
    for (const socket of [new Socket(), undefined]) {
      const res = new Made();
      app(Object.assign(request('POST', headers), { socket }) as IncomingMessage, res as never);
      expect([res.statusCode, await res.text]).toEqual([200, '{"a":1}']);
    }
  }
});

test.each(['parsed', 'signed', 'coded'])('a request that a program has made without a socket is refused: its body is %s', async (kind) => {
  const app = createServer({ env: 'production', logging: { level: 'silent' }, body: { limit: 10 }, ...(kind === 'signed' ? { security: { requestSignature: { secret: SECRET } } } : {}) });
  app.post('/', (_req, res) => res.send('in'));
  const Message = IncomingMessage as unknown as new () => IncomingMessage;
  const req = Object.assign(new Message(), { method: 'POST', url: '/', httpVersionMajor: 1, httpVersionMinor: 1 });
  const fields = kind === 'coded' ? ['Transfer-Encoding', 'gzip, chunked'] : ['Content-Type', 'text/plain', 'Content-Length', '20'];
  req.rawHeaders.push(...fields);
  for (let i = 0; i < fields.length; i += 2) req.headers[(fields[i] as string).toLowerCase()] = fields[i + 1];
  const res = new ServerResponse(req);
  app(req, res);
  // An error leaves the last layer in a turn of its own.
  await new Promise(setImmediate);
  expect([res.writableEnded, res.statusCode]).toEqual([true, kind === 'coded' ? 501 : kind === 'signed' ? 401 : 413]);
});
