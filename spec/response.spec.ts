import { connect } from 'node:net';
import { once } from 'node:events';
import type { RequestOptions, ServerResponse } from 'node:http';
import fc from 'fast-check';
import { weakEntityTag, strongEntityTag } from '../lib/http/etag';
import { Response } from '../lib/http/response';
import { kJsonAsXJson, kSettings } from '../lib/http/response-state';
import { anyCharacter } from './support/any-character';
import { type Handler, Parity, ResponseServer } from './support/response-server';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const LONG = 'wörld '.repeat(400);

/** Calls that must have the same effect as in Express 5. */
const CASES: readonly (readonly [string, Handler])[] = [
  ['send a string', (_, res) => res.send('<p>hé</p>')],
  ['send an empty string', (_, res) => res.send('')],
  ['send a long string', (_, res) => res.send(LONG)],
  ['send a string with a type', (_, res) => res.type('txt').send('x')],
  ['send a string with another charset', (_, res) => res.set('Content-Type', 'text/plain; charset=iso-8859-1').send('é')],
  ['send a string with parameters', (_, res) => res.set('Content-Type', 'text/plain; format=flowed; CHARSET="x"').send('é')],
  ['send a string with a type set by Node', (_, res) => { res.setHeader('content-type', 'text/csv'); res.send('a,b'); }],
  ['send a Buffer', (_, res) => res.send(Buffer.from([0, 1, 254, 255]))],
  ['send a long Buffer', (_, res) => res.send(Buffer.alloc(5000, 7))],
  ['send an empty Buffer', (_, res) => res.send(Buffer.alloc(0))],
  ['send a Buffer with a type', (_, res) => res.type('png').send(Buffer.from('x'))],
  ['send a Uint8Array', (_, res) => res.send(new Uint8Array([1, 2, 3]).subarray(1))],
  ['send an object', (_, res) => res.send({ a: [1, null, 'é'] })],
  ['send an array', (_, res) => res.send([1, 2])],
  ['send a number', (_, res) => res.send(200 as unknown)],
  ['send true', (_, res) => res.send(true)],
  ['send null', (_, res) => res.send(null)],
  ['send null with a type', (_, res) => res.type('json').send(null)],
  ['send undefined', (_, res) => res.send(undefined)],
  ['send nothing', (_, res) => res.send()],
  ['send with chunked set', (_, res) => { res.setHeader('Transfer-Encoding', 'chunked'); res.send('abc'); }],
  ['send with an ETag set', (_, res) => res.set('ETag', '"mine"').send('abc')],
  ['send with an empty ETag set', (_, res) => res.set('ETag', '').send('abc')],
  ['json with an empty ETag set', (_, res) => res.set('ETag', '').json({ a: 1 })],
  ['send with Last-Modified set', (_, res) => res.set('Last-Modified', 'Wed, 21 Oct 2015 07:28:00 GMT').send('abc')],
  ['204', (_, res) => res.status(204).send('gone')],
  ['205', (_, res) => res.status(205).send('gone')],
  ['304', (_, res) => res.status(304).send('gone')],
  ['204 json', (_, res) => res.status(204).json({})],
  ['404 string', (_, res) => res.status(404).send('no')],
  ['status end', (_, res) => res.status(418).end()],
  ['json object', (_, res) => res.json({ a: 1, b: 'ü', c: [true, null] })],
  ['json large', (_, res) => res.json(Array(3000).fill('text'))],
  ['json null', (_, res) => res.json(null)],
  ['json string', (_, res) => res.json('text')],
  ['json number', (_, res) => res.json(0)],
  ['json undefined', (_, res) => res.json(undefined)],
  ['json of a function', (_, res) => res.json(() => 1)],
  ['json with toJSON', (_, res) => res.json({ toJSON: () => ({ x: 1 }) })],
  ['json with a type', (_, res) => res.type('application/problem+json').json({})],
  ['json with status', (_, res) => res.status(201).json({ id: 1 })],
  ['jsonp', (_, res) => res.jsonp({ a: 'x\u2028y\u2029' })],
  ['jsonp undefined', (_, res) => res.jsonp(undefined)],
  ['sendStatus 200', (_, res) => res.sendStatus(200)],
  ['sendStatus 404', (_, res) => res.sendStatus(404)],
  ['sendStatus 799', (_, res) => res.sendStatus(799)],
  ['sendStatus 204', (_, res) => res.sendStatus(204)],
  ['set', (_, res) => res.set('X-A', 'b').set({ 'X-B': 1, 'x-c': true }).end()],
  ['set a list', (_, res) => res.set('X-A', ['a', 'b', 3]).end()],
  ['set several lists', (_, res) => res.set({ 'X-A': ['a', 'b'], 'X-B': 'c' }).end()],
  ['header', (_, res) => res.header('X-A', 'b').header({ 'X-B': 'c' }).end()],
  ['set Content-Type by name', (_, res) => res.set('Content-Type', 'html').end()],
  ['set content-type with a charset', (_, res) => res.set('content-type', 'text/html; charset=latin1').end()],
  ['set Content-Type without a charset', (_, res) => res.set('Content-Type', 'text/html').end()],
  ['set Content-Type image', (_, res) => res.set('Content-Type', 'image/png').end()],
  ['get', (_, res) => res.set('X-A', 'b').send(`${String(res.get('x-a'))} ${String(res.get('x-b'))}`)],
  ['append', (_, res) => res.append('X-A', 'a').append('X-A', 'b').append('X-A', ['c', 'd']).end()],
  ['append a list', (_, res) => res.append('X-A', ['c', 'd']).append('X-A', 'e').end()],
  ['append Set-Cookie', (_, res) => res.append('Set-Cookie', 'a=1').append('Set-Cookie', 'b=2').end()],
  ['append after set resets', (_, res) => res.append('X-A', 'a').set('X-A', 'b').end()],
  ['type html', (_, res) => res.type('html').end()],
  ['type .html', (_, res) => res.type('.html').end()],
  ['type json', (_, res) => res.type('json').end()],
  ['type of its own', (_, res) => res.type('application/vnd.x+json').end()],
  ['type unknown', (_, res) => res.type('nonsense').end()],
  ['type with a parameter', (_, res) => res.type('text/html; level=1').end()],
  ['contentType', (_, res) => res.contentType('js').end()],
  ['vary', (_, res) => res.vary('Accept').vary('accept').vary(['Origin', 'Cookie']).end()],
  ['vary any', (_, res) => res.vary('Accept').vary('*').end()],
  ['location', (_, res) => res.location('/a b?c=ü&d=%20').end()],
  ['location with line ends', (_, res) => res.location('/a\r\nX-Evil: 1').end()],
  ['links', (_, res) => res.links({ next: '/2', last: '/5' }).links({ pages: ['/1', '/2'] }).end()],
  ['attachment', (_, res) => res.attachment().send('x')],
  ['attachment with a name', (_, res) => res.attachment('/path/to/image.png').end()],
  ['attachment with a wide name', (_, res) => res.attachment('日本語.txt').end()],
  ['attachment without an extension', (_, res) => res.attachment('README').end()],
  ['format', (_, res) => res.format({ text: (_q, s) => s.send('hey'), html: (_q, s) => s.send('<p>hey</p>'), json: (_q, s) => s.send({ hey: 1 }) })],
  ['format by type', (_, res) => res.format({ 'text/plain; charset=latin1': (_q, s) => s.send('hey'), 'application/json': (_q, s) => s.json({}) })],
  ['format with default', (_, res) => res.format({ png: (_q, s) => s.end(), default: (_q, s) => s.send('other') })],
  ['format with default alone', (_, res) => res.format({ default: (_q, s) => s.send('other') })],
  ['locals', (_, res) => { Object.assign(res.locals, { a: 1 }); res.json([res.locals, Object.getPrototypeOf(res.locals)]); }],
  ['chained', (_, res) => res.status(202).set('X-A', 'b').type('txt').vary('X').send('ok')],
];

/**
 * Requests that each of the calls is put to. `*` is no match where there is no
 * validator that a client could have kept, unlike in Express: see below.
 */
const REQUESTS: readonly (readonly [string, RequestOptions])[] = [
  ['GET', {}],
  ['HEAD', { method: 'HEAD' }],
  ['POST', { method: 'POST' }],
  ['Accept html', { headers: { accept: 'text/html,*/*;q=0.1' } }],
  ['Accept json first', { headers: { accept: 'application/json, text/plain;q=0.9' } }],
  ['callback', { path: '/?callback=a.b[1]%3Balert(1)' }],
  ['If-None-Match any', { headers: { 'if-none-match': '*' } }],
  ['If-None-Match mine', { headers: { 'if-none-match': 'W/"mine"' } }],
  ['POST If-None-Match mine', { method: 'POST', headers: { 'if-none-match': 'W/"mine"' } }],
  ['If-Modified-Since', { headers: { 'if-modified-since': 'Wed, 21 Oct 2015 07:28:00 GMT' } }],
  ['no-cache', { headers: { 'if-none-match': '*', 'cache-control': 'no-cache' } }],
];

/** Without an ETag Express hands Node a text, which writes the head as UTF-8 with it. */
const LATIN1: readonly (readonly [string, Handler])[] = [
  ['send a string beside a field that is not ASCII', (_, res) => res.set('X-User', 'José').send('wörld')],
  ['json beside a list that is not ASCII', (_, res) => res.set('X-User', ['Ada', 'José']).json({ a: 'ü' })],
  ['json beside a field that is not ASCII, set by Node', (_, res) => { res.setHeader('X-User', 'plain'); res.setHeader('X-User', 'Grüße'); res.json({ a: 'ü' }); }],
  ['json beside a field that is not ASCII, appended by Node', (_, res) => { res.setHeader('X-User', 'Ada'); res.appendHeader('X-User', 'José'); res.json({ a: 'ü' }); }],
];

describe.each(LATIN1)('%s', (_name, handler) => {
  it('has that field as Latin-1, as in Express with its ETag', async () => {
    const [tagged, plain] = [await Parity.start({ etag: weakEntityTag }), await Parity.start()];
    try {
      const { ours, express } = await tagged.both(handler);
      expect(ours).toEqual(express);
      expect(String(ours.headers['x-user'])).toMatch(/José|Grüße/);
      expect((await plain.both(handler)).ours.headers['x-user']).toBe(ours.headers['x-user']);
    } finally {
      await tagged.close();
      await plain.close();
    }
  });
});

test('a reason that is not ASCII is Latin-1, as in Express', async () => {
  const running = new Running();
  const port = await running.app((app) => {
    app.get('/', (_req, res) => {
      res.statusMessage = 'Grüße';
      res.json({ a: 'ü' });
    });
  });
  const text = await Wire.tell(port, head('GET /', { Connection: 'close' }));
  await running.close();
  expect(text).toContain('HTTP/1.1 200 Grüße\r\n');
  expect(Buffer.from(text, 'latin1').toString()).toContain('{"a":"ü"}');
});

describe('the same calls as in Express 5, with ETag on', () => {
  let parity: Parity;
  beforeAll(async () => { parity = await Parity.start({ etag: weakEntityTag }); });
  afterAll(() => parity.close());

  it.each(CASES)('%s', async (_name, handler) => {
    for (const [name, options] of REQUESTS) {
      const { ours, express } = await parity.both(handler, options);
      if (name === 'If-None-Match any' && express.headers.etag === undefined) continue;
      expect({ name, ...ours }).toEqual({ name, ...express });
    }
  });
});

describe('the same calls as in Express 5, with ETag off', () => {
  let parity: Parity;
  beforeAll(async () => { parity = await Parity.start(); });
  afterAll(() => parity.close());

  it.each(CASES)('%s', async (_name, handler) => {
    for (const [name, options] of REQUESTS.filter(([request]) => request !== 'If-None-Match any')) {
      const { ours, express } = await parity.both(handler, options);
      expect({ name, ...ours }).toEqual({ name, ...express });
    }
  });

  it.each(['json', 'jsonp', 'send'] as const)('%s of undefined behind an answer throws as little', async (method) => {
    const called: string[] = [];
    await parity.both((_, res) => {
      res.json('text');
      res[method](undefined);
      called.push(method);
    });
    expect(called).toEqual([method, method]);
  });

  it('sends any string and any JSON as Express does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ unit: anyCharacter }), fc.jsonValue()), async (value) => {
        const { ours, express } = await parity.both((_, res) => res.send(value));
        expect(ours).toEqual(express);
      }),
      { numRuns: 200 },
    );
  });
});

describe('Response', () => {
  let server: ResponseServer;
  beforeEach(async () => { server = await ResponseServer.waypost(); });
  afterEach(() => server.close());

  it.each([
    ['99', 99, RangeError], ['1000', 1000, RangeError], ['-1', -1, RangeError],
    ['200.5', 200.5, TypeError], ['a string', '200', TypeError], ['undefined', undefined, TypeError], ['a bigint', 200n, TypeError], ['NaN', NaN, TypeError],
  ])('status refuses %s', async (_name, code, type) => {
    let thrown: unknown;
    await server.answer((_, res) => {
      try { res.status(code as number); } catch (error) { thrown = error; }
      res.end();
    });
    expect(thrown).toBeInstanceOf(type);
    expect((thrown as Error).message).toContain('100 to 999');
  });

  it('status takes 100 and 999 and chains', async () => {
    expect((await server.answer((_, res) => res.status(999).end())).status).toBe(999);
  });

  it('sends an undeclared body with one write of a known length', async () => {
    const answer = await server.answer((_, res) => res.json({ a: 'ü' }));
    expect(answer.headers['content-length']).toBe('10');
    expect(answer.headers['transfer-encoding']).toBeUndefined();
  });

  it('keeps a type that is no media type as the application wrote it', async () => {
    const answer = await server.answer((_, res) => { res.setHeader('Content-Type', 'not a type'); res.send('x'); });
    expect(answer).toMatchObject({ status: 200, body: 'x' });
    expect(answer.headers['content-type']).toBe('not a type');
  });

  it('sends the bytes beneath every kind of view', async () => {
    const bytes = Uint8Array.from({ length: 2400 }, (_, index) => index % 251);
    for (const view of [bytes, new Uint16Array(bytes.buffer), new Float64Array(bytes.buffer), new DataView(bytes.buffer)]) {
      const answer = await server.answer((_, res) => res.send(view));
      expect(Buffer.from(answer.body, 'latin1').equals(bytes)).toBe(true);
      expect(answer.headers['content-type']).toBe('application/octet-stream');
    }
  });

  it('refuses to send a function or symbol, saying what to give', async () => {
    for (const data of [() => 1, Symbol('s')]) {
      const answer = await server.answer((_, res) => res.send(data));
      expect(answer.status).toBe(500);
      expect(server.log.pop()?.fields.err?.message).toMatch(/res\.send cannot send a (function|symbol): give it/);
    }
  });

  it('has a Content-Type of one value only', async () => {
    const answer = await server.answer((_, res) => res.set('Content-Type', ['text/html', 'text/plain']));
    expect(answer.status).toBe(500);
    expect(server.log[0]?.fields.err).toBeInstanceOf(TypeError);
  });

  it('lets no line end into a header', async () => {
    for (const call of [
      (res: Response) => res.set('X-A', 'b\r\nX-Evil: 1'),
      (res: Response) => res.append('X-A', ['b\nX-Evil: 1']),
      (res: Response) => res.type('text/html\r\nX-Evil: 1'),
      (res: Response) => res.links({ next: '/\r\nX-Evil: 1' }),
      (res: Response) => res.vary('A\r\nX-Evil: 1'),
      (res: Response) => res.attachment('a\r\nX-Evil: 1'),
      (res: Response) => res.location('/\r\nX-Evil: 1'),
    ]) {
      const answer = await server.answer((_, res) => call(res).end());
      expect(answer.headers).not.toHaveProperty('x-evil');
    }
  });

  it('throws ERR_HTTP_HEADERS_SENT for a second answer', async () => {
    const codes: unknown[] = [];
    const seconds: ((res: Response) => unknown)[] = [
      (res) => res.send('b'), (res) => res.send(Buffer.from('b')), (res) => res.json({}), (res) => res.sendStatus(200), (res) => res.redirect('/'), (res) => res.set('X-A', 'b'),
    ];
    const answer = await server.answer((_, res) => {
      res.send('first');
      for (const second of seconds) {
        try { second(res); } catch (error) { codes.push((error as NodeJS.ErrnoException).code); }
      }
    });
    expect(answer.body).toBe('first');
    expect(codes).toEqual(seconds.map(() => 'ERR_HTTP_HEADERS_SENT'));
  });

  it('survives bytes written after the end, and logs them', async () => {
    const told: unknown[] = [];
    const answer = await server.answer((_, res) => {
      res.end('first');
      res.end('second', (...args: unknown[]) => told.push(args[0]));
      res.write('third', (error) => told.push(error));
      res.end();
    });
    expect(answer.body).toBe('first');
    expect(server.log.map((line) => line.level)).toEqual(['error', 'error']);
    expect(told).toEqual([0, 1].map(() => expect.objectContaining({ code: 'ERR_STREAM_WRITE_AFTER_END' })));
  });

  it('leaves a late write to an error listener, as Node does', async () => {
    const heard: unknown[] = [];
    await server.answer((_, res) => {
      res.on('error', (error) => heard.push(error));
      res.end('first');
      res.end('second');
      res.write('third');
    });
    expect(heard).toHaveLength(2);
    expect(server.log).toEqual([]);
  });

  it('answers HEAD with the length GET would have', async () => {
    const answer = await server.answer((_, res) => res.json({ a: 1 }), { method: 'HEAD' });
    expect(answer).toMatchObject({ status: 200, body: '' });
    expect(answer.headers['content-length']).toBe('7');
  });

  it('sends the announced bytes when middleware turned the method into HEAD', async () => {
    const answer = await server.answer((req, res) => { req.method = 'HEAD'; res.send('hello'); }, { method: 'POST' });
    expect(answer.body).toBe('hello');
  });

  it('does not take If-None-Match: * for a match where there is no validator', async () => {
    const answer = await server.answer((_, res) => res.send('x'), { headers: { 'if-none-match': '*' } });
    expect(answer).toMatchObject({ status: 200, body: 'x' });
  });

  it('is the application\'s own', async () => {
    const app = { name: 'mine' } as never;
    const other = await ResponseServer.waypost({ app });
    let seen: unknown;
    await other.answer((_, res) => { seen = res.app; res.end(); });
    await other.close();
    expect(seen).toBe(app);
  });

  it('answers 406 when no representation is accepted', async () => {
    const answer = await server.answer((_, res) => res.format({ html: () => undefined, json: () => undefined }), { headers: { accept: 'image/png' } });
    expect(answer).toMatchObject({ status: 406 });
    expect(JSON.parse(answer.body)).toEqual({ error: 'Not Acceptable', message: 'The response can be had as text/html, application/json' });
    expect(answer.headers.vary).toBe('Accept');
  });

  it('does not take an inherited name for a representation', async () => {
    const answer = await server.answer((_, res) => res.format({}), { headers: { accept: 'text/html' } });
    expect(answer.status).toBe(406);
  });

  it('format passes a rejection on', async () => {
    const answer = await server.answer((_, res) => res.format({ text: async () => Promise.reject(new Error('inside')) }));
    expect(answer.status).toBe(500);
    expect(server.log[0]?.fields.err?.message).toBe('inside');
  });

  it('format passes an error on', async () => {
    const answer = await server.answer((_, res) => res.format({ text: (_q, _s, next) => next(new Error('inside')) }));
    expect(JSON.parse(answer.body)).toEqual({ error: 'Internal Server Error', message: 'Internal Server Error' });
    expect(server.log[0]?.fields.err?.message).toBe('inside');
  });

  it('acts on a node:http response adopted by its prototype', async () => {
    const adopted = await ResponseServer.adopted();
    const answer = await adopted.answer((_, res) => { res.locals['a'] = 1; res.status(201).cookie('a', 'b').json(res.locals); });
    await adopted.close();
    expect(answer).toMatchObject({ status: 201, body: '{"a":1}' });
    expect(answer.headers['set-cookie']).toEqual(['a=b; Path=/']);
  });

  it('keeps no state on the prototype', () => {
    expect(Object.keys(Response.prototype)).toEqual([]);
    expect(Response.prototype[kJsonAsXJson]).toBe(false);
    expect(Response.prototype[kSettings]).toMatchObject({ development: false, etag: undefined });
  });
});

describe('data that JSON cannot hold', () => {
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  const BAD: readonly (readonly [string, unknown])[] = [
    ['a big integer', { n: 1n }],
    ['a circular reference', cycle],
    ['a throwing getter', { get x() { throw new Error('getter'); } }],
    ['a thrown string', { toJSON() { throw 'text'; } }],
    ['a thrown undefined', { toJSON() { throw undefined; } }],
  ];
  let server: ResponseServer;
  beforeEach(async () => { server = await ResponseServer.waypost(); });
  afterEach(() => server.close());

  it.each(BAD)('%s: json, jsonp and send answer 500 and log', async (_name, data) => {
    for (const call of [(res: Response) => res.json(data), (res: Response) => res.jsonp(data), (res: Response) => res.send(data)]) {
      const answer = await server.answer((_, res) => call(res.status(201)), { path: '/?callback=f' });
      expect(answer.status).toBe(500);
      expect(JSON.parse(answer.body)).toEqual({ error: 'Serialization failed', message: 'Unable to serialize response object' });
      expect(answer.headers['content-type']).toBe('application/json');
      expect(server.log.splice(0)).toEqual([expect.objectContaining({ level: 'error' })]);
    }
  });

  it('send of a bare big integer is the same', async () => {
    expect((await server.answer((_, res) => res.send(1n))).status).toBe(500);
  });

  it('shows the original error in development only', async () => {
    const development = await ResponseServer.waypost({ development: true });
    const answer = await development.answer((_, res) => res.json({ n: 1n }));
    await development.close();
    expect(JSON.parse(answer.body)).toEqual({
      error: 'Serialization failed',
      message: 'Unable to serialize response object',
      originalError: expect.stringMatching(/BigInt/) as unknown,
    });
  });

  it('takes back what was said about the body that was to come', async () => {
    const answer = await server.answer((_, res) =>
      res.set({ 'Cache-Control': 'public, max-age=3600', ETag: '"x"', 'Content-Encoding': 'br', 'Content-Type': 'text/csv', 'X-Kept': '1' }).attachment('a.csv').json({ n: 1n }),
      { headers: { 'if-none-match': '"x"' } });
    expect(answer.status).toBe(500);
    expect(Object.keys(answer.headers).sort()).toEqual(['connection', 'content-length', 'content-type', 'date', 'x-kept']);
  });

  it('answers HEAD without a body', async () => {
    expect(await server.answer((_, res) => res.json({ n: 1n }), { method: 'HEAD' })).toMatchObject({ status: 500, body: '' });
  });

  it('does not throw once the head is out, and cuts the response off', async () => {
    let thrown: unknown;
    const asked = server.answer((_, res) => {
      res.write('[');
      try { res.json({ n: 1n }); } catch (error) { thrown = error; }
    });
    await expect(asked).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(thrown).toBeUndefined();
    expect(server.log).toHaveLength(1);
  });

  it('does not throw after the end', async () => {
    let thrown: unknown;
    const answer = await server.answer((_, res) => {
      res.send('done');
      try { res.json({ n: 1n }); } catch (error) { thrown = error; }
    });
    expect(answer.body).toBe('done');
    expect(thrown).toBeUndefined();
  });

  it('is sent by xJson, and by json where it acts as xJson', async () => {
    const direct = await server.answer((_, res) => { expect(res.xJson({ n: 18n })).toBeUndefined(); });
    const suffixed = await server.answer((_, res) => { res[kJsonAsXJson] = true; expect(res.json({ n: 18n })).toBe(res); });
    for (const answer of [direct, suffixed]) {
      expect(answer).toMatchObject({ status: 200, body: '{"n":"18"}' });
      expect(answer.headers['content-type']).toBe('application/json');
    }
  });
});

describe('entity tags', () => {
  it('weak and strong differ in the mark alone, and strings and bytes in nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(weakEntityTag(text)).toBe(`W/${strongEntityTag(text)}`);
        expect(strongEntityTag(Buffer.from(text))).toBe(strongEntityTag(text));
      }),
      { numRuns: 500 },
    );
  });

  it('answer 304 to the client that has it', async () => {
    const server = await ResponseServer.waypost({ etag: strongEntityTag });
    const first = await server.answer((_, res) => res.json({ a: 1 }));
    const second = await server.ask({ headers: { 'if-none-match': first.headers.etag } });
    await server.close();
    expect(second).toMatchObject({ status: 304, body: '' });
    expect(second.headers).not.toHaveProperty('content-type');
    expect(second.headers['etag']).toBe(first.headers.etag);
  });
});

describe('middleware that replaced methods of the response', () => {
  it('sees the type, the length and the body', async () => {
    const server = await ResponseServer.waypost();
    const seen: unknown[] = [];
    const watch = (res: ServerResponse): void => {
      const { setHeader, writeHead, end } = res;
      res.setHeader = (name, value) => { seen.push(name); return setHeader.call(res, name, value); };
      res.writeHead = ((status: number) => { seen.push('writeHead'); res.removeHeader('Content-Length'); return writeHead.call(res, status); }) as typeof writeHead;
      res.end = ((chunk: unknown) => { seen.push(chunk); return (end as (chunk: unknown) => ServerResponse).call(res, `${String(chunk).toUpperCase()}!`); }) as typeof end;
    };
    const answer = await server.answer((_, res) => { watch(res); res.json({ a: 'b' }); });
    await server.close();
    expect(answer.body).toBe('{"A":"B"}!');
    expect(seen).toEqual(['Content-Type', 'Content-Length', Buffer.from('{"a":"b"}'), 'writeHead']);
  });
});

describe('a client on one connection', () => {
  it('gets each response whole, in order', async () => {
    const server = await ResponseServer.waypost();
    const bodies = ['/1', '/2', '/3'].map((url) => JSON.stringify({ url }));
    server.handler = (req, res) => res.json({ url: req.url });
    const socket = connect(server.port, '127.0.0.1');
    socket.end(['GET /1 HTTP/1.1', 'HEAD /h HTTP/1.1', 'GET /2 HTTP/1.1', 'GET /3 HTTP/1.1'].map((line) => `${line}\r\nHost: x\r\n\r\n`).join(''));
    let received = '';
    socket.on('data', (chunk) => { received += String(chunk); });
    await once(socket, 'close');
    await server.close();
    expect(received.split('\r\n\r\n').map((part) => part.replace(/HTTP\/1\.1[\s\S]*/, '')).filter(Boolean)).toEqual(bodies);
  });
});
