import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { type Application, type CreateServerOptions, type Handler, MemoryReplayStore, type RequestSignatureConfig, signedFetch, type SignedFetchOptions } from 'waypost';
import { ChildProgram } from './support/child-program';
import { Running } from './support/running';

const SECRET = 'correct horse battery staple 0123456789';
// Node's own fetch throws the TypeError of another realm than the specs'.
const TYPE_ERROR = { name: 'TypeError' };
const running = new Running();

afterEach(async () => {
  jest.restoreAllMocks();
  await running.close();
});

/** What a server has seen of a request. */
interface Seen {
  method: string;
  target: string;
  headers: IncomingHttpHeaders;
  body: string;
}

const echo: Handler = async (req, res) => {
  res.json({ method: req.method, target: req.originalUrl, headers: req.headers, body: (await buffer(req)).toString('base64') });
};

function guarded(config: Partial<RequestSignatureConfig> = {}): CreateServerOptions {
  return { security: { requestSignature: { secret: SECRET, ...config } } };
}

/** A server that lets only signed requests through, and answers what it has seen. */
async function serve(config: Partial<RequestSignatureConfig> = {}, register: (app: Application) => void = (app) => app.use(echo)): Promise<string> {
  return `http://127.0.0.1:${await running.app(register, guarded(config))}`;
}

async function seen(response: Response): Promise<Seen> {
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  return JSON.parse(text) as Seen;
}

function bytes({ body }: Seen): Buffer {
  return Buffer.from(body, 'base64');
}

/** A fetch that notes what it is given, and sends it on. */
function noting(calls: Parameters<typeof fetch>[]): typeof fetch {
  return (...args) => {
    calls.push(args);
    return fetch(...args);
  };
}

// Both formats, with what else they can be told.
const FORMATS: [string, Partial<RequestSignatureConfig>, Partial<SignedFetchOptions>][] = [
  ['version 1', {}, {}],
  ['version 1, sha512 and other headers', { algorithm: 'sha512', headerName: 'X-Sig', timestampHeaderName: 'X-At' }, { algorithm: 'sha512', headerName: 'X-Sig', timestampHeaderName: 'X-At' }],
  ['version 1, neither body nor query', { includeBody: false, includeQuery: false }, { includeBody: false, includeQuery: false }],
  ['version 1, a key by its id', { secret: (id) => (id === 'mobile' ? SECRET : undefined) }, { keyId: 'mobile' }],
  ['version 2', { version: 2 }, { version: 2 }],
  ['version 2, the authority too', { version: 2 }, { version: 2, covers: ['@authority'] }],
  ['version 2, a key by its id', { version: 2, secret: (id) => (id === 'mobile' ? SECRET : undefined) }, { version: 2, keyId: 'mobile' }],
];

describe.each(FORMATS)('signedFetch, %s', (_name, config, options) => {
  const send = signedFetch({ secret: SECRET, ...options });

  test('is let in without a body', async () => {
    const origin = await serve(config);
    expect((await fetch(origin)).status).toBe(401);
    for (const method of ['GET', 'get', 'HEAD', 'DELETE', 'OPTIONS', 'POST', 'patch', 'put']) {
      const response = await send(`${origin}/a?b=c`, { method });
      expect([method, response.status]).toEqual([method, 200]);
      if (method !== 'HEAD') expect(await seen(response)).toMatchObject({ method: method.toUpperCase(), target: '/a?b=c', body: '' });
    }
  });

  test.each<[string, () => RequestInit['body'], string | RegExp, string | undefined]>([
    ['text', () => 'grüße', 'grüße', 'text/plain;charset=UTF-8'],
    ['empty text', () => '', '', 'text/plain;charset=UTF-8'],
    ['null', () => null, '', undefined],
    ['URLSearchParams', () => new URLSearchParams({ a: 'b c', ü: '&' }), 'a=b+c&%C3%BC=%26', 'application/x-www-form-urlencoded;charset=UTF-8'],
    ['a Blob', () => new Blob(['{"a":', '1}'], { type: 'application/json' }), '{"a":1}', 'application/json'],
    ['a Blob without a type', () => new Blob(['x']), 'x', undefined],
    ['an ArrayBuffer', () => new Uint8Array([1, 2, 3]).buffer, '\x01\x02\x03', undefined],
    ['a Buffer, part of a larger one', () => Buffer.from('0123456789').subarray(3, 6), '345', undefined],
    ['a view of 16 bits', () => new Uint16Array([0x4241]), 'AB', undefined],
    ['a DataView', () => new DataView(new Uint8Array([65, 66, 67, 68]).buffer, 1, 2), 'BC', undefined],
    ['a stream', () => new Blob(['streamed']).stream() as ReadableStream, 'streamed', undefined],
  ])('sends the bytes that it signs: %s', async (_kind, make, expected, type) => {
    const origin = await serve(config);
    const got = await seen(await send(`${origin}/body`, { method: 'POST', body: make(), duplex: 'half' } as RequestInit));
    expect(bytes(got).toString('utf8')).toBe(expected);
    expect(got.headers['content-type']).toBe(type);
  });

  test('makes up the boundary of a form once', async () => {
    const origin = await serve(config);
    const form = new FormData();
    form.set('field', 'välue');
    form.set('file', new Blob([new Uint8Array([0, 255, 13, 10])]), 'a"b.bin');
    const got = await seen(await send(origin, { method: 'POST', body: form }));
    const type = got.headers['content-type']!;
    const boundary = /^multipart\/form-data; boundary=(.+)$/.exec(type)?.[1];
    expect(bytes(got).toString('latin1').startsWith(`--${boundary}\r\n`)).toBe(true);
    const parsed = await new Response(bytes(got), { headers: { 'content-type': type } }).formData();
    expect(parsed.get('field')).toBe('välue');
  });

  test('takes a Request, alone and with init over it', async () => {
    const origin = await serve(config);
    const request = new Request(`${origin}/r?s=t#u`, { method: 'PUT', body: 'one', headers: { 'x-own': '1', 'content-type': 'text/x-one' } });
    const got = await seen(await send(request));
    expect(got).toMatchObject({ method: 'PUT', target: '/r?s=t', headers: { 'x-own': '1', 'content-type': 'text/x-one' } });
    expect(bytes(got).toString()).toBe('one');
    expect(request.bodyUsed).toBe(true);
    expect(request.headers.has('svc-request-sig') || request.headers.has('signature')).toBe(false);
    const over = await seen(await send(new Request(`${origin}/r`, { method: 'PUT', body: 'one', headers: { 'x-own': '1' } }), { method: 'POST', body: 'two', headers: { 'x-own': '2' } }));
    expect(over).toMatchObject({ method: 'POST', headers: { 'x-own': '2' } });
    expect(bytes(over).toString()).toBe('two');
    // A Request in the place of init, too.
    const beside = await seen(await send(`${origin}/elsewhere`, new Request('http://localhost/', { method: 'POST', body: 'three' }) as RequestInit));
    expect(beside).toMatchObject({ method: 'POST', target: '/elsewhere' });
    expect(bytes(beside).toString()).toBe('three');
  });

  test('signs the target that goes over the wire, however the URL is written', async () => {
    const origin = await serve(config);
    const tails = ['', '?', '/?', '/a b/ü?q=ü "x"#f', '/a/../b/%2e/c', '/%2F%25%ff?%', '/a\\b?c\\d', '/{x}|[y]^`z`?{x}|[y]^`z`', '/;a=b,c:@&=+$!*\'()~', '//x//y', '/a?b?c??#d?e', '/\u{1f600}?\u{1f600}', '/\ta\nb', '/a%', '/?a=\'"<>'];
    for (const tail of tails) {
      for (const input of [origin + tail, new URL(origin + tail), new Request(origin + tail)]) {
        const { target } = await seen(await send(input));
        const url = new URL(origin + tail);
        expect([tail, target]).toEqual([tail, url.pathname + url.search]);
      }
    }
  });

  test('signs any bytes, and any text in a URL', async () => {
    const origin = await serve(config);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.string({ unit: 'grapheme-composite' }), fc.string({ unit: 'grapheme-composite' }), async (body, path, query) => {
        const got = await seen(await send(`${origin}/${path.replace(/^[/\\]+/, '')}?${query}`, { method: 'POST', body }));
        expect(bytes(got).equals(body)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });
});

test('a signature is refused for another body, and by a server with another secret', async () => {
  const origin = await serve();
  const calls: Parameters<typeof fetch>[] = [];
  await signedFetch({ secret: SECRET, fetch: noting(calls) })(origin, { method: 'POST', body: 'a' });
  const [url, init] = calls[0]!;
  expect((await fetch(url, init)).status).toBe(200);
  expect((await fetch(url, { ...init, body: 'b' })).status).toBe(401);
  expect((await fetch(`${String(url)}c`, init)).status).toBe(401);
  expect((await signedFetch({ secret: `${SECRET}!` })(origin)).status).toBe(401);
});

test.each(FORMATS)('%s: leaves an empty query out, whatever the fetch that it is given would send', async (_name, config, options) => {
  const origin = await serve(config);
  const calls: Parameters<typeof fetch>[] = [];
  const send = signedFetch({ secret: SECRET, ...options, fetch: noting(calls) });
  const settings = { method: 'POST', body: 'text', headers: { 'x-own': '1' }, redirect: 'manual', signal: new AbortController().signal } as const;
  const url = `${origin}/a?#f?`;
  for (const [input, init] of [[url, settings], [new URL(url), settings], [new Request(url, settings), undefined], [new Request(url), settings]] as const) {
    const got = await seen(await send(input, init));
    expect(got).toMatchObject({ method: 'POST', target: '/a', headers: { 'x-own': '1', 'content-type': 'text/plain;charset=UTF-8' } });
    expect(bytes(got).toString()).toBe('text');
    const [to, given] = calls.pop()!;
    expect(to).toBe(`${origin}/a#f?`);
    expect(given).toMatchObject({ redirect: 'manual', signal: expect.any(AbortSignal) as AbortSignal });
  }
  // For fetch undefined is not given, and null is.
  const { signal } = new AbortController();
  const bare = new Request(url, { signal, credentials: 'omit' });
  await send(bare, { signal: undefined, credentials: undefined } as unknown as RequestInit);
  expect(calls.pop()?.[1]).toMatchObject({ signal: bare.signal, credentials: 'omit' });
  await send(new Request(url, { signal }), { signal: null });
  expect(calls.pop()?.[1]).toMatchObject({ signal: null });
  // A Request that has a query, or none, is handed on itself.
  for (const tail of ['', '?a', '?a?', '#?']) {
    const request = new Request(origin + tail);
    await seen(await send(request));
    expect(calls.pop()?.[0]).toBe(request);
  }
});

test('signs with the time of each call, whatever an untyped caller gives', async () => {
  const calls: Parameters<typeof fetch>[] = [];
  const send = signedFetch({ secret: SECRET, timestamp: 1, nonce: undefined, fetch: noting(calls) } as SignedFetchOptions);
  const origin = await serve();
  for (const now of [Date.now(), Date.now() + 1000]) {
    jest.spyOn(Date, 'now').mockReturnValue(now);
    expect((await seen(await send(origin))).headers['x-timestamp']).toBe(String(now));
  }
});

test('with version 2 gives each call a nonce of its own', async () => {
  const origin = await serve({ version: 2 });
  const send = signedFetch({ secret: SECRET, version: 2, nonce: 'the same for every call', expires: 1 } as SignedFetchOptions);
  const inputs = [await seen(await send(origin)), await seen(await send(origin))].map(({ headers }) => headers['signature-input']);
  expect(new Set(inputs).size).toBe(2);
});

test('overwrites a signature that the caller sends along', async () => {
  const origin = await serve();
  const got = await seen(await signedFetch({ secret: SECRET })(origin, { headers: { 'svc-request-sig': 'mine', 'X-Timestamp': '0', 'x-own': 'kept' } }));
  expect(got.headers['svc-request-sig']).toMatch(/^[0-9a-f]{64}$/);
  expect(got.headers['x-own']).toBe('kept');
});

test('reads input and init once, at the call', async () => {
  const origin = await serve();
  const url = new URL(`${origin}/before`);
  const init: RequestInit = { method: 'POST', body: 'before', headers: { 'x-own': 'before' } };
  const pending = signedFetch({ secret: SECRET })(url, init);
  url.pathname = '/after';
  Object.assign(init, { method: 'PUT', body: 'after', headers: { 'x-own': 'after' } });
  const got = await seen(await pending);
  expect(got).toMatchObject({ method: 'POST', target: '/before', headers: { 'x-own': 'before' } });
  expect(bytes(got).toString()).toBe('before');
  const reads: string[] = [];
  const counting = new Proxy({ method: 'POST', body: 'x' }, { get: (target, name) => (reads.push(String(name)), Reflect.get(target, name)) });
  expect((await signedFetch({ secret: SECRET })(origin, counting)).status).toBe(200);
  expect(reads).toEqual([...new Set(reads)]);
  expect(reads).toEqual(expect.arrayContaining(['method', 'body', 'signal']));
  // As of a class, whose getters no list of properties holds.
  const given = new (class { get method(): string { return 'POST'; } get body(): string { return 'text'; } get headers(): Record<string, string> { return { 'x-own': '1' }; } })();
  const got2 = await seen(await signedFetch({ secret: SECRET })(origin, given));
  expect([got2.method, bytes(got2).toString(), got2.headers['x-own']]).toEqual(['POST', 'text', '1']);
});

describe('a redirect', () => {
  /** Two servers: one that sends its client on to the other, which notes who comes. */
  async function redirecting(status: number): Promise<{ origin: string; came: IncomingHttpHeaders[] }> {
    const came: IncomingHttpHeaders[] = [];
    const elsewhere = await running.serve((req, res) => {
      came.push(req.headers);
      res.end();
    });
    const origin = await serve({}, (app) => {
      app.all('/away', (_req, res) => void res.redirect(status, `http://localhost:${elsewhere}/stolen`));
      app.all('/here', (_req, res) => void res.redirect(status, '/next'));
      app.all('/next', (req, res) => {
        came.push(req.headers);
        res.end();
      });
    });
    return { origin, came };
  }

  test.each([301, 302, 303, 307, 308])('by %i carries no signature on', async (status) => {
    const { origin, came } = await redirecting(status);
    const send = signedFetch({ secret: SECRET });
    for (const path of ['/away', '/here']) {
      for (const init of [{}, { redirect: 'follow' }, { redirect: 'error' }, { method: 'POST', body: 'x' }] as RequestInit[]) {
        await expect(send(origin + path, init)).rejects.toMatchObject(TYPE_ERROR);
        await expect(send(new Request(origin + path, init))).rejects.toMatchObject(TYPE_ERROR);
        await expect(send(origin + path, new Request(origin, init) as RequestInit)).rejects.toMatchObject(TYPE_ERROR);
      }
    }
    expect(came).toEqual([]);
  });

  test('is handed to the caller who asks for it', async () => {
    const { origin, came } = await redirecting(302);
    const send = signedFetch({ secret: SECRET });
    for (const response of [await send(`${origin}/away`, { redirect: 'manual' }), await send(new Request(`${origin}/away`, { redirect: 'manual' }))]) {
      expect([response.status, response.headers.get('location')]).toEqual([302, expect.stringContaining('/stolen')]);
    }
    expect(came).toEqual([]);
  });

  test('would leak with fetch alone', async () => {
    const { origin, came } = await redirecting(307);
    const calls: Parameters<typeof fetch>[] = [];
    await expect(signedFetch({ secret: SECRET, fetch: noting(calls) })(`${origin}/away`)).rejects.toMatchObject(TYPE_ERROR);
    const [url, init] = calls[0]!;
    await fetch(url, { ...init, redirect: 'follow' });
    expect(came).toEqual([expect.objectContaining({ 'svc-request-sig': expect.stringMatching(/^[0-9a-f]{64}$/) })]);
  });
});

describe('a signal', () => {
  const never = (): { stream: ReadableStream; cancelled: Promise<unknown> } => {
    let report: (reason: unknown) => void;
    const cancelled = new Promise((resolve) => (report = resolve));
    return { stream: new ReadableStream({ cancel: (reason) => report(reason) }), cancelled };
  };

  test('that is aborted already sends nothing', async () => {
    const send = jest.fn(fetch);
    const reason = new Error('too late');
    const signed = signedFetch({ secret: SECRET, fetch: send });
    await expect(signed('http://127.0.0.1:1/', { method: 'POST', body: 'x', signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(send).not.toHaveBeenCalled();
    await expect(signed('http://127.0.0.1:1/', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  test('ends the wait for a body, and cancels it', async () => {
    const controller = new AbortController();
    const { stream, cancelled } = never();
    const pending = signedFetch({ secret: SECRET })('http://127.0.0.1:1/', { method: 'POST', body: stream, duplex: 'half', signal: controller.signal } as RequestInit);
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(pending).rejects.toBe(reason);
    expect(await cancelled).toBe(reason);
  });

  test('ends the wait for the answer, given in init or in a Request', async () => {
    const server = createHttpServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    for (const inside of [false, true]) {
      const controller = new AbortController();
      const reason = new Error('enough');
      const asked = once(server, 'request');
      const init = { method: 'POST', body: 'x', signal: controller.signal };
      const url = `http://127.0.0.1:${port}/`;
      const pending = signedFetch({ secret: SECRET })(inside ? new Request(url, init) : url, inside ? undefined : init);
      await asked;
      controller.abort(reason);
      await expect(pending).rejects.toBe(reason);
    }
    server.closeAllConnections();
    await once(server.close(), 'close');
  });
});

describe('what is sent', () => {
  test('keeps the rest of init, and the Request itself', async () => {
    const calls: Parameters<typeof fetch>[] = [];
    const signed = signedFetch({
      secret: SECRET,
      fetch: async (...args) => {
        calls.push(args);
        return new Response();
      },
    });
    const dispatcher = {};
    const { signal } = new AbortController();
    await signed(new URL('http://localhost/a#b'), { dispatcher, signal, keepalive: true, credentials: 'omit' } as RequestInit);
    expect(calls[0]![0]).toBe('http://localhost/a#b');
    expect(calls[0]![1]).toMatchObject({ keepalive: true, credentials: 'omit', method: 'GET', redirect: 'error' });
    expect((calls[0]![1] as { dispatcher: unknown }).dispatcher).toBe(dispatcher);
    expect(calls[0]![1]!.signal).toBe(signal);
    const request = new Request('http://localhost/', { keepalive: true });
    await signed(request);
    expect(calls[1]![0]).toBe(request);
    // In the place of init its getters are inherited.
    await signed('http://localhost/', new Request('http://localhost/', { keepalive: true, credentials: 'omit' }) as RequestInit);
    expect(calls[2]![1]).toMatchObject({ keepalive: true, credentials: 'omit' });
  });

  test('goes through globalThis.fetch as it is at the call', async () => {
    const signed = signedFetch({ secret: SECRET });
    const spy = jest.spyOn(globalThis, 'fetch').mockResolvedValue(new Response('mocked'));
    expect(await (await signed('http://localhost/')).text()).toBe('mocked');
    expect(spy).toHaveBeenCalledTimes(1);
  });
});

describe('a mistake', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['no secret', { secret: undefined }, /secret must be a non-empty string/],
    ['an empty secret', { secret: '' }, /secret must be a non-empty string/],
    ['another algorithm', { algorithm: 'md5' }, /algorithm must be/],
    ['another version', { version: 3 }, /version must be 1 or 2/],
    ['what only version 2 covers', { covers: ['@authority'] }, /covers means nothing with version 1/],
  ])('in the options throws at once: %s', (_name, wrong, message) => {
    expect(() => signedFetch({ secret: SECRET, ...wrong } as SignedFetchOptions)).toThrow(message);
  });

  test.each<[string, unknown, RequestInit | undefined]>([
    ['a relative URL', '/a', undefined],
    ['a URL of another scheme', 'data:,x', undefined],
    ['a name and password in the URL', 'http://a:b@localhost/', undefined],
    ['a body on GET', 'http://localhost/', { method: 'GET', body: 'x' }],
    ['a method that is none', 'http://localhost/', { method: 'G T' }],
    ['a stream of text', 'http://localhost/', { method: 'POST', body: new ReadableStream({ start: (to) => to.enqueue('text' as never) }), duplex: 'half' } as RequestInit],
  ])('in a call rejects with a TypeError, and sends nothing: %s', async (_name, input, init) => {
    const send = jest.fn(fetch);
    await expect(signedFetch({ secret: SECRET, fetch: send })(input as string, init)).rejects.toMatchObject(TYPE_ERROR);
    expect(send).not.toHaveBeenCalled();
  });

  test('of a stream that fails is the stream\'s own', async () => {
    const reason = new Error('the disk is gone');
    const stream = new ReadableStream({ pull: () => Promise.reject(reason) });
    await expect(signedFetch({ secret: SECRET })('http://localhost/', { method: 'POST', body: stream, duplex: 'half' } as RequestInit)).rejects.toBe(reason);
  });
});

test('demo/signed-fetch.mjs is let in by demo/signed-server.mjs', async () => {
  const server = await ChildProgram.serve('demo/signed-server.mjs');
  const { code, output, errors } = await ChildProgram.run(['demo/signed-fetch.mjs', server.origin]);
  await server.stop();
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  expect(output.trim().split('\n')).toEqual([
    'GET: 200 {"users":["ada","alan"],"page":"2"}',
    'JSON: 201 {"created":{"name":"grace"}}',
    'form: 201 {"created":{"name":"edsger dijkstra"}}',
    'patch: 404 {"error":"Not Found","message":"Cannot PATCH /api/users"}',
  ]);
});

describe('where each signature is good for one request', () => {
  const once = (): Partial<RequestSignatureConfig> => ({ replay: { store: new MemoryReplayStore() } });

  test.each([[{}], [{ algorithm: 'sha512' }], [{ includeBody: false, includeQuery: false }], [{ version: 2 }]] as const)('equal requests of one millisecond are all let in, %j', async (options) => {
    const origin = await serve({ ...once(), ...options });
    const send = signedFetch({ secret: SECRET, ...options });
    jest.spyOn(Date, 'now').mockReturnValue(Date.now());
    const bodies = [undefined, undefined, 'a', 'a', 'b'];
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all([...bodies, ...bodies].map((body) => send(`${origin}/a?b=c`, body === undefined ? {} : { method: 'POST', body })));
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    }
  });

  test('others are signed for the millisecond that it is, and equal ones for the next that is free', async () => {
    const calls: Parameters<typeof fetch>[] = [];
    const send = signedFetch({ secret: SECRET, fetch: noting(calls) });
    const origin = await serve(once());
    const now = jest.spyOn(Date, 'now');
    const sentAt = async (time: number, path: string): Promise<number> => {
      now.mockReturnValue(time);
      expect((await send(`${origin}/${path}`)).status).toBe(200);
      return Number((calls.at(-1)?.[1]?.headers as Headers).get('x-timestamp'));
    };
    const start = 1_800_000_000_000;
    const times: number[] = [];
    for (const [time, path] of [[0, 'a'], [0, 'b'], [0, 'a'], [0, 'a'], [1, 'a'], [1, 'b'], [2, 'b'], [3, 'a'], [9, 'a'], [9, 'b']] as const) times.push((await sentAt(start + time, path)) - start);
    expect(times).toEqual([0, 0, 1, 2, 3, 1, 2, 4, 9, 9]);
  });
});

test('options that cannot sign are refused by its own name, and what was given is told by its kind alone', () => {
  const refusal = 'signedFetch: secret must be a non-empty string or Buffer, or a list whose first entry is one, and was ';
  for (const [secret, kind] of [[undefined, 'undefined'], [null, 'null'], ['', 'an empty string'], [[], 'undefined'], [7, 'number'], [Buffer.alloc(0), 'object']]) {
    expect(() => signedFetch({ secret } as SignedFetchOptions)).toThrow(expect.objectContaining({ message: `${refusal}${String(kind)}` }));
  }
});
