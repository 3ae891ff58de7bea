import { once } from 'node:events';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { gunzipSync, createGzip } from 'node:zlib';
import fc from 'fast-check';
import { type FailureReport, serializationFailure } from '../lib/http/serialization-failure';
import { kXJsonOptions, XJsonResponseHandler } from '../lib/http/xjson-response';
import { sendXJson } from '../lib/http/xjson-stream';
import type { XJsonOptions } from '../lib/xjson/options';
import { Response } from '../lib/http/response';
import { PlainServer } from './support/plain-server';
import { runs } from './support/runs';
import { type Answer, ask, head, type Question, Wire } from './support/wire';
import { bigData, oracle } from './support/xjson-values';

const server = new PlainServer();

beforeAll(() => server.start());
afterAll(() => server.close());

class Report implements FailureReport {
  readonly errors: unknown[] = [];
  constructor(readonly development = false) {}
  onError(error: unknown): void {
    this.errors.push(error);
  }
}

interface Written {
  /** Sizes of what was given to write and end, in bytes. */
  sizes: number[];
  answer: Answer;
}

/** Answers one request with the data, and tells how it was written. */
async function answer(data: unknown, options?: XJsonOptions, question?: Question, prepare?: (res: ServerResponse) => void): Promise<Written> {
  const sizes: number[] = [];
  const report = new Report();
  server.listener = (_req, res) => {
    const { write, end } = res;
    res.write = function (this: ServerResponse, ...args: unknown[]) {
      sizes.push(Buffer.byteLength(args[0] as Buffer));
      return write.apply(this, args as never);
    } as never;
    res.end = function (this: ServerResponse, ...args: unknown[]) {
      if (args[0] !== undefined) sizes.push(Buffer.byteLength(args[0] as Buffer));
      return end.apply(this, args as never);
    } as never;
    prepare?.(res);
    sendXJson(res, data, options, undefined, report);
  };
  const got = await ask(server.port, '/', question);
  expect(report.errors).toEqual([]);
  return { sizes, answer: got };
}

/** A string whose JSON is of that many bytes. */
const ofBytes = (bytes: number) => 'a'.repeat(bytes - 2);

describe('a response', () => {
  it('is the JSON of the data, with its type and length', async () => {
    await fc.assert(
      fc.asyncProperty(bigData, async (data) => {
        const { answer: got } = await answer(data, { maxDepth: 100, truncateStrings: 100_000 });
        expect(got.status).toBe(200);
        expect(got.body).toBe(oracle(data));
        expect(got.headers['content-type']).toBe('application/json');
        expect(got.headers['content-length']).toBe(String(got.bytes.length));
        expect(got.headers['transfer-encoding']).toBeUndefined();
      }),
      { numRuns: runs(50) },
    );
  });

  it('has exactly application/json as its type, whatever was set', async () => {
    const { answer: got } = await answer({ ü: 1 }, {}, {}, (res) => {
      res.setHeader('Content-Type', 'text/html; charset=utf-8').setHeader('Transfer-Encoding', 'chunked').setHeader('X-Kept', 'yes');
      res.statusCode = 201;
    });
    expect(got.status).toBe(201);
    expect(got.headers).toMatchObject({ 'content-type': 'application/json', 'content-length': '8', 'x-kept': 'yes' });
    expect(got.body).toBe('{"ü":1}');
  });

  it('returns nothing', () => {
    const res = { headersSent: true, writableEnded: true } as ServerResponse;
    expect(sendXJson(res, 1, undefined, undefined, new Report())).toBeUndefined();
  });

  it.each([204, 205, 304])('with status %d has no content', async (status) => {
    const { answer: got, sizes } = await answer({ a: ofBytes(100_000) }, {}, {}, (res) => { res.statusCode = status; });
    expect(got.status).toBe(status);
    expect(got.bytes.length).toBe(0);
    expect(sizes).toEqual([]);
    expect(got.headers['content-type']).toBeUndefined();
    expect(got.headers['content-length']).toBe(status === 205 ? '0' : undefined);
  });

  it('is not touched by data that changes while it is sent', async () => {
    const rows = Array.from({ length: 300_000 }, (_, id) => ({ id, name: `row ${id}`, on: true }));
    let before = 0;
    const { answer: got } = await answer(rows, {}, {}, () => {
      const change = (): void => {
        before++;
        rows.length = Math.max(1, rows.length - 20_000);
        (rows[0] as Record<string, unknown>)['late'] = before;
        if (rows.length > 1) setImmediate(change);
      };
      setImmediate(change);
    });
    expect(got.status).toBe(200);
    expect(got.headers['content-length']).toBe(String(got.bytes.length));
    expect(got.json).toHaveLength(300_000);
    expect(before).toBeGreaterThan(0);
  });
});

describe('HEAD', () => {
  it.each([10, 65_536, 65_537, 1_000_000])('has the head of %d bytes and no body', async (bytes) => {
    const { answer: got, sizes } = await answer(ofBytes(bytes), {}, { method: 'HEAD' });
    expect(got.headers).toMatchObject({ 'content-type': 'application/json', 'content-length': String(bytes) });
    expect(got.bytes.length).toBe(0);
    expect(sizes).toEqual([]);
  });

  it('of data that fails has the head of the failure', async () => {
    server.listener = (_req, res) => sendXJson(res, { get a() { throw new Error('no'); } }, undefined, undefined, new Report());
    const got = await ask(server.port, '/', { method: 'HEAD' });
    expect(got.status).toBe(500);
    expect(got.headers['content-length']).toBe(String(JSON.stringify(serializationFailure(0, false)).length));
  });
});

describe('streaming', () => {
  it.each([
    [65_535, [65_535]],
    [65_536, [65_536]],
    [65_537, [65_536, 1]],
    [131_072, [65_536, 65_536]],
    [200_000, [65_536, 65_536, 65_536, 3392]],
  ])('of %d bytes writes %j', async (bytes, sizes) => {
    const got = await answer(ofBytes(bytes));
    expect(got.sizes).toEqual(sizes);
    expect(got.answer.body).toBe(JSON.stringify(ofBytes(bytes)));
    expect(got.answer.headers['content-length']).toBe(String(bytes));
  });

  it('counts bytes, not characters', async () => {
    const got = await answer('€'.repeat(30_000));
    expect(got.sizes).toEqual([65_536, 90_002 - 65_536]);
    expect(got.answer.headers['content-length']).toBe('90002');
    expect(got.answer.json).toBe('€'.repeat(30_000));
  });

  it('writes chunks of exactly the size asked for', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.integer({ min: 3000, max: 200_000 }), fc.constantFrom(65_535, 65_537, 32_768, 100_000)), fc.integer({ min: 65_537, max: 400_000 }), fc.constantFrom('a', 'é', '€', '😀'), async (chunkSize, bytes, fill) => {
        const data = fill.repeat(Math.ceil(bytes / Buffer.byteLength(fill)));
        const got = await answer(data, { chunkSize, truncateStrings: 1e6 });
        const total = Buffer.byteLength(data) + 2;
        expect(got.sizes.reduce((sum, size) => sum + size, 0)).toBe(total);
        expect(got.sizes.slice(0, -1).every((size) => size === chunkSize)).toBe(true);
        expect(got.sizes).toHaveLength(Math.ceil(total / chunkSize));
        expect(got.answer.body).toBe(JSON.stringify(data));
      }),
      { numRuns: runs(20) },
    );
  });

  it('takes tiny chunks, and chunks larger than the body', async () => {
    const small = await answer(ofBytes(65_600), { chunkSize: 10 });
    expect(small.sizes).toHaveLength(6560);
    const large = await answer(ofBytes(300_000), { chunkSize: 10_000_000 });
    expect(large.sizes).toEqual([300_000]);
  });

  it('is one write where it is turned off', async () => {
    const got = await answer(ofBytes(1_000_000), { enableStreaming: false, chunkSize: 100 });
    expect(got.sizes).toEqual([1_000_000]);
    expect(got.answer.headers['content-length']).toBe('1000000');
    expect(got.answer.bytes.length).toBe(1_000_000);
  });

  it('does not begin before 65,536 bytes, however small the chunks', async () => {
    expect((await answer(ofBytes(65_536), { chunkSize: 100 })).sizes).toEqual([65_536]);
  });

  it('has one chunk in flight, and writes the next when it has drained', async () => {
    let mustWait = false;
    let early = 0;
    let writes = 0;
    server.listener = (_req, res) => {
      const { write } = res;
      res.on('drain', () => { mustWait = false; });
      res.write = function (this: ServerResponse, chunk: Buffer) {
        writes++;
        if (mustWait) early++;
        mustWait = !write.call(this, chunk, undefined as never);
        return !mustWait;
      } as never;
      sendXJson(res, ofBytes(20_000_000), undefined, undefined, new Report());
    };
    const sent = request({ port: server.port, host: '127.0.0.1', agent: false }).end();
    const [got] = (await once(sent, 'response')) as [IncomingMessage];
    let bytes = 0;
    for await (const chunk of got) bytes += (chunk as Buffer).length;
    expect(bytes).toBe(20_000_000);
    expect(early).toBe(0);
    expect(writes).toBe(Math.ceil(20_000_000 / 65_536));
  });

  it('stops when the client goes away', async () => {
    let written = 0;
    const gone = new Promise<ServerResponse>((resolve) => {
      server.listener = (_req, res) => {
        const { write } = res;
        res.write = function (this: ServerResponse, chunk: Buffer) {
          written += chunk.length;
          return write.call(this, chunk, undefined as never);
        } as never;
        res.on('close', () => resolve(res));
        sendXJson(res, ofBytes(50_000_000), undefined, undefined, new Report());
      };
    });
    const sent = request({ port: server.port, host: '127.0.0.1', agent: false }).end();
    const [got] = (await once(sent, 'response')) as [IncomingMessage];
    got.on('error', () => undefined);
    got.destroy();
    const res = await gone;
    expect(written).toBeLessThan(50_000_000);
    const before = written;
    res.emit('drain');
    expect(written).toBe(before);
  });

  it('gives up the work when the client goes away meanwhile', async () => {
    let visited = 0;
    const endless = new Proxy([], { get: (_target, key) => (key === 'length' ? 1e9 : key === 'toJSON' ? undefined : visited++) });
    const gone = new Promise<void>((resolve) => {
      server.listener = (_req, res) => {
        res.on('close', resolve);
        sendXJson(res, endless, undefined, undefined, new Report());
      };
    });
    const sent = request({ port: server.port, host: '127.0.0.1', agent: false }).on('error', () => undefined);
    sent.end();
    while (visited === 0) await new Promise((resolve) => setImmediate(resolve));
    sent.destroy();
    await gone;
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    const before = visited;
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(visited).toBe(before);
  });
});

describe('middleware that replaced the methods of the response', () => {
  /** As compression does it: the body goes through a gzip stream, and drain comes from there. */
  function compress(res: ServerResponse): void {
    const { write, end, on } = res;
    const gzip = createGzip();
    const begin = (): void => {
      if (res.headersSent) return;
      res.removeHeader('Content-Length');
      res.setHeader('Content-Encoding', 'gzip');
    };
    gzip.on('data', (chunk: Buffer) => {
      if (!write.call(res, chunk, undefined as never)) gzip.pause();
    });
    gzip.on('end', () => end.call(res, undefined as never, 'utf8' as never));
    on.call(res, 'drain', () => gzip.resume());
    res.write = ((chunk: Buffer) => (begin(), gzip.write(chunk))) as never;
    res.end = ((chunk?: Buffer) => (begin(), gzip.end(chunk), res)) as never;
    res.on = ((name: string, heard: () => void) => (name === 'drain' ? (gzip.on(name, heard), res) : on.call(res, name, heard))) as never;
  }

  it.each([100, 1_000_000])('sends %d bytes through it', async (bytes) => {
    const data = Array.from({ length: bytes / 20 }, (_, i) => ({ i, big: BigInt(i) }));
    server.listener = (_req, res) => {
      compress(res);
      sendXJson(res, data, undefined, undefined, new Report());
    };
    const got = await ask(server.port, '/');
    expect(got.headers['content-encoding']).toBe('gzip');
    // Its length is not known any more, and the connection is to be kept (RFC 9112 section 7.1).
    expect(got.headers['transfer-encoding']).toBe('chunked');
    expect(gunzipSync(got.bytes).toString()).toBe(oracle(data));
  });

  it('hands a small body to it as bytes, which need no encoding', async () => {
    const data = { é: '€', big: 1n, wide: '😀' };
    const given: unknown[] = [];
    server.listener = (_req, res) => {
      const { end } = res;
      res.end = ((...args: unknown[]) => (given.push(...args), end.call(res, args[0] as never, undefined as never))) as never;
      sendXJson(res, data, undefined, undefined, new Report());
    };
    const got = await ask(server.port, '/');
    expect(got.bytes.toString()).toBe(oracle(data));
    expect(given).toEqual([Buffer.from(oracle(data))]);
  });

  it('is not there: a small body leaves in one write with its head', async () => {
    const data = { é: '€', big: 1n, wide: '😀' };
    const writes: unknown[] = [];
    server.listener = (_req, res) => {
      const socket = res.socket as NonNullable<ServerResponse['socket']>;
      const { write } = socket;
      socket.write = ((...args: unknown[]) => (writes.push(args[0]), write.apply(socket, args as never))) as never;
      sendXJson(res, data, undefined, undefined, new Report());
    };
    const got = await ask(server.port, '/');
    expect(got.bytes.toString()).toBe(oracle(data));
    expect(got.headers['content-length']).toBe(String(Buffer.byteLength(oracle(data))));
    // Node's last write is empty.
    expect(writes.filter((one) => one !== '')).toHaveLength(1);
  });

  it('lets writeHead be replaced', async () => {
    const { answer: got } = await answer([1], {}, {}, (res) => {
      const { writeHead } = res;
      res.writeHead = function (this: ServerResponse, ...args: unknown[]) {
        this.setHeader('X-Late', String(this.getHeader('Content-Length')));
        return writeHead.apply(this, args as never);
      };
    });
    expect(got.headers['x-late']).toBe('3');
  });
});

describe('data that fails to serialize', () => {
  const failure = new Error('no such luck');
  const fail = () => { throw failure; };
  const cases: [string, () => unknown][] = [
    ['a getter', () => ({ ok: 1, get a() { return fail(); } })],
    ['a toJSON', () => [1, { toJSON: fail }]],
    ['a proxy', () => [1n, new Proxy({}, { get: fail })]],
    ['an array proxy', () => new Proxy([], { get: fail })],
    ['a getter after a megabyte', () => [ofBytes(1_000_000), { get a() { return fail(); } }]],
    ['a getter after several slices', () => [Array.from({ length: 500_000 }, (_, i) => ({ i })), { get a() { return fail(); } }]],
  ];

  it.each(cases)('because of %s is answered with 500', async (_name, make) => {
    for (const development of [false, true]) {
      const report = new Report(development);
      server.listener = (_req, res) => {
        res.statusCode = 201;
        res.statusMessage = 'Made';
        res.setHeader('Cache-Control', 'max-age=60').setHeader('ETag', '"x"').setHeader('X-Kept', '1');
        sendXJson(res, make(), undefined, undefined, report);
      };
      const got = await ask(server.port, '/');
      expect(got.status).toBe(500);
      const expected = { error: 'Serialization failed', message: 'Unable to serialize response object' };
      expect(got.json).toEqual(development ? { ...expected, originalError: 'no such luck' } : expected);
      expect(got.headers['content-type']).toBe('application/json');
      expect(got.headers['x-kept']).toBe('1');
      expect(got.headers['cache-control']).toBeUndefined();
      expect(got.headers['etag']).toBeUndefined();
      expect(report.errors).toEqual([failure]);
    }
  });

  it('tells of any value thrown', () => {
    expect(serializationFailure('text', true).originalError).toBe('text');
    expect(serializationFailure(undefined, true).originalError).toBe('undefined');
    expect(serializationFailure(failure, false)).not.toHaveProperty('originalError');
  });
});

describe('a response that is sent already', () => {
  it('is left alone, and the error reported', async () => {
    const report = new Report();
    server.listener = (_req, res) => {
      res.end('first');
      sendXJson(res, { get a() { throw new Error(); } }, undefined, undefined, report);
    };
    expect((await ask(server.port, '/')).body).toBe('first');
    expect(report.errors).toHaveLength(1);
    expect(String(report.errors[0])).toContain('sent already');
  });

  it('is cut off if only its beginning is out', async () => {
    const report = new Report();
    server.listener = (_req, res) => {
      res.write('half');
      sendXJson(res, 1, undefined, undefined, report);
    };
    await expect(ask(server.port, '/')).rejects.toThrow();
    expect(report.errors).toHaveLength(1);
  });

  it('by another while the data was serialized keeps that answer', async () => {
    const report = new Report();
    const reported = new Promise<void>((resolve) => { report.onError = (error) => { report.errors.push(error); resolve(); }; });
    server.listener = (_req, res) => {
      sendXJson(res, Array.from({ length: 500_000 }, (_, i) => ({ i })), undefined, undefined, report);
      expect(res.headersSent).toBe(false);
      res.end('timed out');
    };
    expect((await ask(server.port, '/')).body).toBe('timed out');
    await reported;
    expect(String(report.errors[0])).toContain('another response was sent');
  });

  it('with a status that Node refuses becomes a 500', async () => {
    const report = new Report();
    server.listener = (_req, res) => {
      res.statusCode = 99;
      sendXJson(res, 1, undefined, undefined, report);
    };
    expect((await ask(server.port, '/')).status).toBe(500);
    expect(report.errors).toHaveLength(1);
  });
});

describe('XJsonResponseHandler', () => {
  it('sends on a plain node:http response, the options of the call before its own', async () => {
    const handler = new XJsonResponseHandler({ truncateStrings: 3, maxDepth: 1 });
    server.listener = (_req, res) => { expect(handler.send(res, { a: 'text', b: [1n] })).toBeUndefined(); };
    expect((await ask(server.port, '/')).body).toBe('{"a":"te…","b":"[Array]"}');
    server.listener = (_req, res) => handler.send(res, { a: 'text', b: [1n] }, { maxDepth: 5 });
    expect((await ask(server.port, '/')).body).toBe('{"a":"te…","b":["1"]}');
  });

  it('keeps the options it was made with', async () => {
    const options = { truncateStrings: 3 };
    const handler = new XJsonResponseHandler(options);
    options.truncateStrings = -1;
    server.listener = (_req, res) => handler.send(res, 'text');
    expect((await ask(server.port, '/')).body).toBe('"te…"');
  });

  it('throws for a wrong option of the call, and sends nothing', async () => {
    const handler = new XJsonResponseHandler();
    server.listener = (_req, res) => {
      expect(() => handler.send(res, 1, { chunkSize: -5 })).toThrow('xJson option chunkSize must be a positive integer, got -5');
      expect(res.headersSent).toBe(false);
      res.end('ok');
    };
    expect((await ask(server.port, '/')).body).toBe('ok');
  });

  it('warns of a failure by a process warning, and shows it in development', async () => {
    const handler = new XJsonResponseHandler();
    const fail = (error: unknown) => { server.listener = (_req, res) => handler.send(res, { get a() { throw error; } }); };
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    fail(new RangeError('too far'));
    expect((await ask(server.port, '/')).json).not.toHaveProperty('originalError');
    expect(warn).toHaveBeenLastCalledWith('xJson could not answer: too far', { detail: expect.stringContaining('RangeError') });
    const before = process.env['NODE_ENV'];
    process.env['NODE_ENV'] = 'development';
    try {
      fail('just text');
      expect((await ask(server.port, '/')).json).toHaveProperty('originalError', 'just text');
      expect(warn).toHaveBeenLastCalledWith('xJson could not answer: just text', {});
    } finally {
      process.env['NODE_ENV'] = before;
      warn.mockRestore();
    }
  });

  type WithXJson = ServerResponse & { xJson(data: unknown, options?: XJsonOptions): void };
  const through = (res: ServerResponse, ...all: (XJsonOptions | undefined)[]) => {
    let called = 0;
    for (const options of all) XJsonResponseHandler.createMiddleware(options)({} as IncomingMessage, res, (error) => { expect(error).toBeUndefined(); called++; });
    expect(called).toBe(all.length);
    return res as WithXJson;
  };

  it('makes middleware that adds xJson to a plain response', async () => {
    server.listener = (_req, res) => { expect(through(res, undefined).xJson({ n: 18n })).toBeUndefined(); };
    expect((await ask(server.port, '/')).body).toBe('{"n":"18"}');
  });

  it('makes middleware that nests: call, then the later, then the earlier, then defaults', async () => {
    const data = { a: 'text', b: [[1n]] };
    const outer = { truncateStrings: 3, maxDepth: 1 };
    server.listener = (_req, res) => through(res, outer, { maxDepth: 2 }).xJson(data);
    expect((await ask(server.port, '/')).body).toBe('{"a":"te…","b":["[Array]"]}');
    server.listener = (_req, res) => through(res, outer, { maxDepth: 2 }).xJson(data, { truncateStrings: 2 });
    expect((await ask(server.port, '/')).body).toBe('{"a":"t…","b":["[Array]"]}');
  });

  it("leaves waypost's own xJson in its place and hands it the options", () => {
    const res = Object.setPrototypeOf({}, Response.prototype) as Response;
    through(res, { maxDepth: 3 });
    expect(Object.hasOwn(res, 'xJson')).toBe(false);
    expect(res[kXJsonOptions]).toMatchObject({ maxDepth: 3 });
  });
});

test.each([[undefined], ['grün']])('a field that is set in the place of writeHead goes out as Latin-1 beside data beyond ASCII (status message %p)', async (statusMessage) => {
  server.listener = (_req, res) => {
    const { writeHead } = res;
    if (statusMessage !== undefined) res.statusMessage = statusMessage;
    else {
      res.writeHead = function (this: ServerResponse, ...args: unknown[]) {
        this.setHeader('X-Name', 'Zoë');
        return writeHead.apply(this, args as never);
      } as never;
    }
    sendXJson(res, { name: 'Zürich €' }, undefined, undefined, new Report());
  };
  const text = await Wire.tell(server.port, head('GET /', { Connection: 'close' }));
  expect(text).toContain(statusMessage === undefined ? '\r\nX-Name: Zo\xeb\r\n' : 'HTTP/1.1 200 gr\xfcn\r\n');
  expect(Buffer.from(text.slice(text.indexOf('\r\n\r\n') + 4), 'latin1').toString()).toBe('{"name":"Zürich €"}');
});
