import { createServer, type RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { Response } from '../lib/http/response';
import { Running } from './support/running';
import { runs } from './support/runs';
import { head, Wire } from './support/wire';

const running = new Running();
let listener: RequestListener = (_req, res) => res.end();
let node = 0;
let ours = 0;

beforeAll(async () => {
  node = await running.listen(createServer((req, res) => listener(req, res)));
  ours = await running.listen(createServer({ ServerResponse: Response as unknown as typeof ServerResponse }, (req, res) => listener(req, res)));
});
afterAll(() => running.close());

/** A call of one of Node's methods. */
type Step = readonly [method: 'setHeader' | 'appendHeader' | 'removeHeader' | 'getHeader' | 'hasHeader' | 'getHeaders' | 'getHeaderNames' | 'writeHead' | 'write' | 'end' | 'flushHeaders' | 'addTrailers' | 'cork' | 'uncork', ...args: unknown[]];

const name = fc.constantFrom('Content-Type', 'content-length', 'X-A', 'x-a', 'ETag', 'Connection', 'Transfer-Encoding', 'Trailer', 'Set-Cookie', '__proto__', 'constructor', '1', 'bad name', '');
const value = fc.constantFrom<unknown>('a', 'chunked', '5', 5, 'close', ['x', 'y'], [], 'text/plain', 'bad\nvalue', undefined);
const encoding = fc.constantFrom('utf8', 'latin1', 'base64', 'utf16le', undefined);
const chunk = fc.constantFrom<unknown>('hello', '', 'grüße €', 'aGk=', Buffer.from('bytes'), new Uint8Array(0), null, 7);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('setHeader' as const), name, value) },
  fc.tuple(fc.constant('appendHeader' as const), name, value),
  fc.tuple(fc.constantFrom('removeHeader' as const, 'getHeader' as const, 'hasHeader' as const), name),
  fc.tuple(fc.constantFrom('getHeaders' as const, 'getHeaderNames' as const, 'flushHeaders' as const, 'cork' as const, 'uncork' as const)),
  fc.tuple(fc.constant('writeHead' as const), fc.constantFrom(200, 204, 304, 404, 99), fc.constantFrom<unknown>(undefined, { 'X-B': 'b' }, ['X-C', 'c', 'X-A', 'two'], { 'content-length': 5 })),
  fc.tuple(fc.constant('addTrailers' as const), fc.constant({ 'X-T': 't' })),
  fc.tuple(fc.constant('write' as const), chunk, encoding),
  { weight: 2, arbitrary: fc.tuple(fc.constant('end' as const), chunk, encoding) },
);

/** What a handler saw: of each call its result or its error, and what became of the response. */
type Seen = readonly unknown[];

function perform(res: ServerResponse, steps: readonly Step[]): Seen {
  const seen: unknown[] = [];
  res.on('error', (error: NodeJS.ErrnoException) => seen.push(['error', error.code]));
  for (const event of ['prefinish', 'finish', 'close']) res.on(event, () => seen.push(event));
  // Node appends to the very lists it was given.
  for (const [index, [method, ...args]] of (structuredClone(steps) as readonly Step[]).entries()) {
    // Node itself never answers on that connection again.
    if (method === 'cork' && res.writableEnded) continue;
    const callback = (error?: NodeJS.ErrnoException | null): void => void seen.push(['called back', index, error?.code]);
    try {
      const given = method === 'end' || method === 'write' ? [...args, callback] : args;
      const result = (res[method] as (...given: unknown[]) => unknown)(...given);
      seen.push(result === res ? 'itself' : result);
    } catch (error) {
      seen.push((error as NodeJS.ErrnoException).code);
    }
  }
  try {
    if (!res.writableEnded) res.end();
  } catch (error) {
    seen.push((error as NodeJS.ErrnoException).code);
    res.destroy();
  }
  return seen;
}

/** Sends the requests in one piece, and answers what came back less the dates, and what the handlers saw. */
async function play(port: number, steps: readonly Step[], requests: string, strict: boolean): Promise<{ text: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  listener = (req, res) => {
    res.strictContentLength = strict;
    seen.push(perform(res, req.url === '/last' ? [] : steps));
  };
  const text = await Wire.tell(port, requests + head('GET /last', { Connection: 'close' }));
  return { text: text.replace(/^Date: .*$/gm, 'Date'), seen };
}

/** Undoes that it was given an `end` of its own: one of the same kind would hide what other specs of the process put in its place. */
function inheritEnd(): void {
  Reflect.deleteProperty(ServerResponse.prototype, 'end');
}

describe('a response', () => {
  test('does what Node\'s own does, call by call and byte by byte', async () => {
    const requests = fc.constantFrom(head('GET /'), head('HEAD /'), head('GET /') + head('GET /second'), head('GET /', { Connection: 'close' }), 'GET / HTTP/1.0\r\n\r\n');
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 8 }), requests, fc.boolean(), async (steps, text, strict) => {
      expect(await play(ours, steps, text, strict)).toEqual(await play(node, steps, text, strict));
    }), { numRuns: runs(375) });
  });

  test.each<[string, BufferEncoding | undefined]>([['text', undefined], ['a text', 'utf8'], ['gr\u00fc\u00dfe', 'latin1'], ['\ud83d\ude00 '.repeat(20_000), 'utf8']])('is one write to the socket, of head and text: %#', async (text, encoding) => {
    const writes: string[] = [];
    listener = (_req, res) => {
      const socket = res.socket as Socket;
      const { write } = socket;
      socket.write = function (this: Socket, data: string, ...rest: unknown[]) {
        // Behind it Node 20 and 22 send an empty one.
        if (data !== '') writes.push(data);
        return Reflect.apply(write, this, [data, ...rest]);
      } as Socket['write'];
      res.setHeader('Content-Length', Buffer.byteLength(text, encoding));
      res.end(text, encoding as BufferEncoding);
    };
    const answer = await Wire.tell(ours, head('GET /', { Connection: 'close' }));
    expect(writes).toHaveLength(1);
    expect(writes[0]?.endsWith(`\r\n\r\n${text}`)).toBe(true);
    expect(answer.endsWith(Buffer.from(text, encoding).toString('latin1'))).toBe(true);
  });

  test('sends its text where Node\'s end is another, that sends nothing behind it', async () => {
    ServerResponse.prototype.end = function (this: ServerResponse & { _send(text: string): void }, text: string) {
      this.writeHead(200, { 'Content-Length': text.length });
      this._send(text);
      return this;
    } as unknown as ServerResponse['end'];
    try {
      listener = (_req, res) => res.end('by another end');
      const wire = await Wire.open(ours);
      wire.write(head('GET /'));
      await wire.until('by another end');
      wire.cut();
    } finally {
      inheritEnd();
    }
  });

  test('sends what an end that somebody has replaced writes before, and calls back', async () => {
    const { end } = ServerResponse.prototype;
    const seen: string[] = [];
    ServerResponse.prototype.end = function (this: ServerResponse, text: string) {
      this.write(text, 'utf8', () => seen.push('written'));
      return Reflect.apply(end, this, []);
    } as unknown as typeof end;
    try {
      listener = (_req, res) => {
        res.setHeader('Content-Length', 4);
        res.end('text');
      };
      for (const port of [node, ours]) expect((await Wire.tell(port, head('GET /', { Connection: 'close' }))).endsWith('\r\n\r\ntext')).toBe(true);
      expect(seen).toEqual(['written', 'written']);
    } finally {
      inheritEnd();
    }
  });
});
