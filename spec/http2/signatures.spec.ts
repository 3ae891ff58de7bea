import { createHash, createHmac, generateKeyPairSync } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import realExpress from 'express';
import fc from 'fast-check';
import { type Application, createServer, type CreateServerOptions, type Handler, MemoryReplayStore, type Request } from 'waypost';
import { data, END_HEADERS, END_STREAM, type Fields, FrameClient, HEADERS, headers, reset } from '../support/http2-frames';
import { checkResponse } from '../../lib/signature/v2/message-response';
import { keySource } from '../../lib/signature/v2/key-source';
import { askHttp2 } from '../support/http2-client';
import { portOf, Running } from '../support/running';
import { type Answer, ask, Wire } from '../support/wire';

const SECRET = 'a secret of thirty-two bytes and more';
const running = new Running();
const clients: FrameClient[] = [];
/** What was run since this was last asked: its place, with the method and the bytes that it was given. */
let reached: string[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await running.close();
});

/** A request, written alike by both protocols. */
interface Sent {
  readonly method?: string;
  readonly path: string;
  /** Value of `:authority`, and of Host. Undefined for none. */
  readonly authority?: string | undefined;
  readonly scheme?: string;
  readonly fields?: Fields;
  /** Pieces of a body, each a chunk or a DATA frame. Undefined for a request that ends with its head. */
  readonly body?: readonly string[] | undefined;
  readonly trailers?: Fields;
}

/** A server by both protocols. */
interface Ports {
  readonly http1: number;
  readonly http2: number;
}

type Options = NonNullable<CreateServerOptions['security']>;

/** Ways to serve one application by both protocols. */
const DOORS: Readonly<Record<string, (options: CreateServerOptions, register: (app: Application) => void) => Promise<Ports>>> = {
  async "server.http2: 'cleartext'"(options, register) {
    const port = await running.app(register, { ...options, server: { ...options.server, http2: 'cleartext' } });
    return { http1: port, http2: port };
  },
  async 'http2.createServer(app)'(options, register) {
    const app = createServer({ env: 'test', logging: { level: 'silent' }, ...options });
    register(app);
    const server = createHttp2Server(app as never);
    running.keep({ close: () => void server.close() });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return { http1: await running.listen(createHttpServer(app)), http2: portOf(server) };
  },
};

const SCOPE: Options = {
  routeConfig: { requestSignature: { includeRoutes: ['/private/**', { methods: ['POST'], path: '/orders' }, '/vault/**'], excludeRoutes: ['/private/open'] } },
  webhooks: [{ path: '/hooks/github', preset: 'github', secret: SECRET }],
};

const SCHEMES: Readonly<Record<string, Options['requestSignature']>> = {
  'version 1': { secret: SECRET },
  'version 2': { version: 2, secret: SECRET, covers: ['@authority', '@scheme'] },
  'version 2, @target-uri': { version: 2, secret: SECRET, covers: ['@target-uri'] },
};

/** An application with all that may take a guarded request. */
function register(app: Application): void {
  const note = (place: string): Handler => (req, _res, next) => {
    reached.push(`${place} ${req.method} ${JSON.stringify((req as Request & { rawBody?: Buffer }).rawBody?.toString() ?? '')}`);
    next();
  };
  app.use((req, _res, next) => {
    const method = req.get('x-http-method-override');
    if (method !== undefined) req.method = method;
    if (req.url.startsWith('/old/')) req.url = req.url.slice(4);
    next();
  });
  app.all('/private/open', (_req, res) => res.send('open'));
  app.use('/private', note('private, guarded'));
  app.use('/vault', createServer({ env: 'test', logging: { level: 'silent' }, security: { requestSignature: { secret: SECRET } } }).use(note('vault, guarded')) as never);
  app.use('/private/express', realExpress().use(note('express, guarded') as never) as never);
  app.use('/deep', realExpress().use('/x', createServer({ env: 'test', logging: { level: 'silent' }, security: { requestSignature: { secret: SECRET } } }).use(note('deep, guarded')) as never) as never);
  app.post('/orders', note('orders, guarded'));
  app.all('/hooks/github', note('hook, guarded'));
  app.use((_req, res) => res.status(200).send('end'));
}

async function byHttp1(port: number, { method = 'GET', path, authority, fields = [], body, trailers = [] }: Sent): Promise<string> {
  const length = fields.some(([name]) => name === 'content-length');
  const lines = [...(authority === undefined ? [] : [['host', authority] as const]), ...fields, ...(body === undefined || length ? [] : [['transfer-encoding', 'chunked'] as const]), ['connection', 'close'] as const];
  const end = trailers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const bytes = body === undefined ? '' : length ? body.join('') : `${body.filter((piece) => piece !== '').map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')}0\r\n${end}\r\n`;
  const text = await Wire.tell(port, Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${bytes}`, 'latin1'));
  return /^(?:HTTP\/1\.1 1\d\d [^\r]*\r\n\r\n)*HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 'closed';
}

function frames(id: number, { method = 'GET', path, authority, scheme = 'http', fields = [], body, trailers = [] }: Sent): Buffer[] {
  const named: Fields = [[':method', method], [':scheme', scheme], ...(authority === undefined ? [] : [[':authority', authority] as const]), [':path', path], ...fields];
  if (body === undefined) return [headers(id, named)];
  const last = trailers.length === 0 ? END_STREAM : 0;
  return [headers(id, named, END_HEADERS), ...body.map((piece, index) => data(id, piece, index === body.length - 1 ? last : 0)), ...(body.length === 0 && last ? [data(id, '', END_STREAM)] : []), ...(last ? [] : [headers(id, trailers)])];
}

async function open(port: number): Promise<FrameClient> {
  const client = await FrameClient.open(port);
  clients.push(client);
  return client;
}

async function byHttp2(port: number, ...requests: readonly Sent[]): Promise<string[]> {
  const client = await open(port);
  client.send(...requests.flatMap((sent, index) => frames(2 * index + 1, sent)));
  const outcomes: string[] = [];
  for (const index of requests.keys()) {
    const id = 2 * index + 1;
    // An interim response comes first.
    const isInterim = (await client.outcome(id)) === 'answered 100';
    if (isInterim) client.frames.splice(client.frames.findIndex((received) => received.id === id && received.type === HEADERS), 1);
    outcomes.push((await client.outcome(id)).replace('answered ', ''));
  }
  client.destroy();
  return outcomes;
}

/** A request that is none to a server: refused by the parser, or by its form. */
const MALFORMED = /^(?:400|405|501|closed|.* error .*)$/;

interface Verdict {
  readonly status: string;
  readonly reached: readonly string[];
}

async function verdict(ask: () => Promise<string>): Promise<Verdict> {
  reached = [];
  const status = await ask();
  return { status: MALFORMED.test(status) ? 'malformed' : status, reached };
}

/** The verdicts of both protocols on one request. */
async function both({ http1, http2 }: Ports, sent: Sent): Promise<[Verdict, Verdict]> {
  return [await verdict(() => byHttp1(http1, sent)), await verdict(async () => (await byHttp2(http2, sent))[0] as string)];
}


const MODES = ['unsigned', 'wrong', 'right'] as const;

/** Signs by hand, since `signRequest` refuses targets that no client sends. */
function sign(scheme: string, { method = 'GET', path, authority = '', body, fields = [] }: Sent, secret = SECRET, protocol = 'http'): Fields {
  const bytes = body?.join('') ?? '';
  const mac = (text: string) => createHmac('sha256', secret).update(text, 'latin1');
  if (scheme === 'version 1') {
    const timestamp = String(Date.now());
    return [['svc-request-sig', mac(method.toUpperCase() + path + bytes + timestamp).digest('hex')], ['x-timestamp', timestamp]];
  }
  const host = authority.toLowerCase();
  const digest = `sha-256=:${createHash('sha256').update(bytes, 'latin1').digest('base64')}:`;
  const components = new Map([
    ['@method', method], ['@path', path.replace(/\?.*/s, '')], ['@query', /\?.*/s.exec(path)?.[0] ?? '?'],
    ...(scheme === 'version 2' ? [['@authority', host], ['@scheme', protocol]] as const : [['@target-uri', `${protocol}://${host}${path}`]] as const),
    ...fields.filter(([name]) => name === 'content-type' || name === 'cookie'),
    ...(bytes === '' ? [] : [['content-digest', digest]] as const),
  ]);
  const parameters = `(${Array.from(components.keys(), (name) => `"${name}"`).join(' ')});created=${Math.floor(Date.now() / 1000)};nonce="${createHash('sha256').update(String(nonces++)).digest('hex')}"`;
  const base = `${Array.from(components, ([name, value]) => `"${name}": ${value}\n`).join('')}"@signature-params": ${parameters}`;
  return [...(bytes === '' ? [] : [['content-digest', digest]] as const), ['signature-input', `sig1=${parameters}`], ['signature', `sig1=:${mac(base).digest('base64')}:`]];
}
let nonces = 0;

function withSignature(scheme: string, mode: typeof MODES[number], sent: Sent): Sent {
  if (mode === 'unsigned') return sent;
  return { ...sent, fields: [...sent.fields ?? [], ...sign(scheme, sent, mode === 'wrong' ? `not ${SECRET}` : SECRET)] };
}

const JSON_TYPE: Fields = [['content-type', 'application/json']];
const TABLE: readonly (readonly [name: string, sent: Sent])[] = [
  ...['/private', '/private/a', '/PRIVATE/a', '/%70rivate/a', '/private%2fa', '//private/a', '/x/../private/a', '/private;x/a', '/private/a?', '/private/a?b=%20&c', '/private/a??', '/private/a#b', '/private\\a', '/\\private/a',
    '/private/%2e%2e/open', '/private/open', '/private/open/', '/private/OPEN', '/private/open.xJson', '/private/a.xJson', '/old/private/a', '/private/express/a', '/vault/a', '/old/vault', '/deep/x', '/deep/%78/a', '/deep/X?a', '/a', '/', '*', '', 'private', 'private/a', '?private', 'http://h/private/a',
    'HTTP://h/private/a', 'http://h', 'http://u@h/private/a', 'ftp://h/private/a', 'private:/a', '/private/\xe9', '/private/ a', '/private/"', '/private/{', '/private/\t', '/\x00private', '/private/\x7f',
  ].map((path) => [`GET ${path}`, { path, authority: 'h' }] as const),
  ...['', '*', 'private', 'private/a', '?private', 'http://h/private/a', 'x://h/private/a', '/private/a', '//private/a', '\\private/a'].map((path) => [`x GET ${path}`, { path, authority: 'h', scheme: 'x' }] as const),
  ...['GET', 'get', 'HEAD', 'head', 'POST', 'post', 'Post', 'DELETE', 'QUERY', 'PROPFIND', 'FOO', 'CONNECT', 'OPTIONS', 'TRACE', 'PRI', 'G ET', 'GET/', ''].flatMap((method) => ['/private/a', '/orders', '/hooks/github'].map((path) => [`${method} ${path}`, { method, path, authority: 'h' }] as const)),
  ...['h', 'H', 'h:80', 'h:', 'u@h', 'u:p@h', '[::1]:1', 'h/private', 'h, h', '', 'h h', undefined].map((authority) => [`authority ${authority}`, { path: '/private/a', authority }] as const),
  ...['https', 'ftp', 'HTTP', 'ws', 'h ttp', ''].map((scheme) => [`scheme ${scheme}`, { path: '/private/a', authority: 'h', scheme }] as const),
  ['a body in one piece', { method: 'POST', path: '/orders', authority: 'h', fields: JSON_TYPE, body: ['{"a":1}'] }],
  ['a body in pieces, some of them empty', { method: 'POST', path: '/orders', authority: 'h', fields: JSON_TYPE, body: ['', '{"a"', '', ':1', '}', ''] }],
  ['a body with its length', { method: 'POST', path: '/orders', authority: 'h', fields: [...JSON_TYPE, ['content-length', '7']], body: ['{"a":1}'] }],
  ['an empty body', { method: 'POST', path: '/orders', authority: 'h', body: [''] }],
  ['an empty body with its length', { method: 'POST', path: '/orders', authority: 'h', fields: [['content-length', '0']], body: [] }],
  ['a body with trailers', { method: 'POST', path: '/orders', authority: 'h', fields: JSON_TYPE, body: ['{}'], trailers: [['x-sum', '1']] }],
  ['no body, with trailers', { method: 'POST', path: '/orders', authority: 'h', body: [''], trailers: [['x-sum', '1']] }],
  ['GET with a body', { path: '/private/a', authority: 'h', fields: JSON_TYPE, body: ['{}'] }],
  ['GET with a body like the end of its path', { path: '/private/a', authority: 'h', body: ['bc'] }],
  ['HEAD with a body', { method: 'HEAD', path: '/private/a', authority: 'h', fields: JSON_TYPE, body: ['{}'] }],
  ['a method that is overridden', { method: 'POST', path: '/private/a', authority: 'h', fields: [['x-http-method-override', 'DELETE']], body: [''] }],
  ['a method that is overridden into the scope', { method: 'GET', path: '/orders', authority: 'h', fields: [['x-http-method-override', 'POST']] }],
  ['a method that is overridden out of the scope', { method: 'POST', path: '/orders', authority: 'h', fields: [['x-http-method-override', 'GET']], body: ['x'] }],
  ['a body that Express hands on', { method: 'POST', path: '/deep/x', authority: 'h', fields: JSON_TYPE, body: ['{"a"', ':1}'] }],
  ['an expectation', { method: 'POST', path: '/orders', authority: 'h', fields: [['expect', '100-continue'], ...JSON_TYPE], body: ['{}'] }],
  ['an expectation of another kind', { method: 'POST', path: '/orders', authority: 'h', fields: [['expect', 'x']], body: ['{}'] }],
  ['forwarded fields of a client', { path: '/private/a', authority: 'h', fields: [['x-forwarded-proto', 'https'], ['x-forwarded-host', 'other']] }],
  ['two content types', { method: 'POST', path: '/orders', authority: 'h', fields: [...JSON_TYPE, ['content-type', 'text/plain']], body: ['{}'] }],
  ['cookie', { path: '/private/a', authority: 'h', fields: [['cookie', 'a=1; b=2']] }],
];

/** What a signer may leave in a request, in which another has put something. */
const TAMPERED: Readonly<Record<string, (fields: Fields) => Fields>> = {
  'each field twice': (fields) => [...fields, ...fields],
  'the first field twice': (fields) => [...fields, ...fields.slice(0, 1)],
  'the last field twice': (fields) => [...fields, ...fields.slice(-1)],
  'a wrong first field before it': (fields) => [[fields[0]![0], 'x'], ...fields],
  'a wrong last field behind it': (fields) => [...fields, [fields.at(-1)![0], 'x']],
  'another digest': (fields) => [...fields, ['content-digest', 'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:']],
  'an empty field': (fields) => fields.map(([name], index) => (index === 0 ? [name, ''] : fields[index]!)),
  'no first field': (fields) => fields.slice(1),
  'no last field': (fields) => fields.slice(0, -1),
};
/** What leaves a signature as it is. */
const UNTOUCHED: Readonly<Record<string, (fields: Fields) => Fields>> = {
  'in another order': (fields) => fields.toReversed(),
  'with fields between': (fields) => fields.flatMap((field, index) => [[`x-${index}`, 'a'], field] as const),
};

describe.each(Object.keys(DOORS))('through %s', (door) => {
  const start = (security: Options, server?: CreateServerOptions['server'], given = register): Promise<Ports> => DOORS[door]!({ security, ...(server === undefined ? {} : { server }) }, given);
  const guarded = ({ reached: places }: Verdict): boolean => places.some((place) => place.includes('guarded'));

  /** Both verdicts are one. What is no request to HTTP/1.1 reaches nothing guarded by HTTP/2 without its signature; what is none to HTTP/2, nothing. */
  function expectAlike(name: string, mode: typeof MODES[number], [one, two]: readonly [Verdict, Verdict]): void {
    const said = `${name}, ${mode}`;
    if (mode !== 'right') expect([said, guarded(one), guarded(two)]).toEqual([said, false, false]);
    if (two.status === 'malformed') expect([said, two.reached]).toEqual([said, []]);
    else if (one.status !== 'malformed') expect([said, two]).toEqual([said, one]);
    else if (mode !== 'right') expect([said, two.reached]).toEqual([said, []]);
  }

  describe.each(Object.keys(SCHEMES))('by %s', (scheme) => {
    const send = async (ports: Ports, name: string, sent: Sent): Promise<readonly [Verdict, Verdict]> => {
      let right: readonly [Verdict, Verdict] | undefined;
      for (const mode of MODES) {
        right = await both(ports, withSignature(scheme, mode, sent));
        expectAlike(name, mode, right);
      }
      return right as readonly [Verdict, Verdict];
    };

    test('each request has one verdict by both protocols', async () => {
      const ports = await start({ ...SCOPE, requestSignature: SCHEMES[scheme] });
      const accepted: string[] = [];
      for (const [name, sent] of TABLE) if ((await send(ports, name, sent)).every(guarded)) accepted.push(name);
      expect(accepted).toEqual(expect.arrayContaining(['GET /private/a', 'GET /private/a?b=%20&c', 'POST /orders', 'authority H', 'a body in pieces, some of them empty', 'a body with its length', 'an empty body', 'a body with trailers', 'GET with a body', 'an expectation', 'a method that is overridden', 'cookie']));
    }, 60_000);

    test('so has each target', async () => {
      const ports = await start({ ...SCOPE, requestSignature: SCHEMES[scheme] });
      const pieces = ['/', '/', 'private', 'private', 'a', '%70rivate', 'PRIVATE', '..', '.', '%2e%2e', '%2f', ';', ';x=1', '?', '#', '\\', '%5c', 'open', 'old', 'vault', 'express', 'orders', 'hooks/github', '.xJson', '%', '%00', '//', 'http://h', '*', ':', '@', '\xe9'];
      const target = fc.array(fc.constantFrom(...pieces), { maxLength: 7 }).map((parts) => parts.join(''));
      await fc.assert(fc.asyncProperty(fc.oneof(target.map((path) => `/${path}`), target), fc.constantFrom('GET', 'POST', 'HEAD'), fc.constantFrom('http', 'https', 'x'), async (path, method, as) => {
        await send(ports, `${method} ${JSON.stringify(path)} of ${as}`, { method, path, authority: 'h', scheme: as });
      }), { numRuns: 60 });
    }, 60_000);

    test.each(Object.keys(TAMPERED))('a signature with %s is refused by both', async (how) => {
      const ports = await start({ ...SCOPE, requestSignature: SCHEMES[scheme] });
      const sent: Sent = { method: 'POST', path: '/orders', authority: 'h', fields: JSON_TYPE, body: ['{}'] };
      const signature = sign(scheme, sent);
      if (how === 'another digest' && scheme === 'version 1') return void expect(await both(ports, { ...sent, fields: [...JSON_TYPE, ...TAMPERED[how]!(signature)] })).toMatchObject([{ status: '200' }, { status: '200' }]);
      expect(await both(ports, { ...sent, fields: [...JSON_TYPE, ...TAMPERED[how]!(signature)] })).toEqual(Array(2).fill({ status: '401', reached: [] }));
    });

    test.each(Object.keys(UNTOUCHED))('a signature %s is accepted by both', async (how) => {
      const ports = await start({ ...SCOPE, requestSignature: SCHEMES[scheme] });
      const sent: Sent = { method: 'POST', path: '/orders', authority: 'h', fields: JSON_TYPE, body: ['{}'] };
      expect(await both(ports, { ...sent, fields: [...JSON_TYPE, ...UNTOUCHED[how]!(sign(scheme, sent))] })).toEqual(Array(2).fill({ status: '200', reached: ['orders, guarded POST "{}"'] }));
    });

    test.each<[string, Partial<Sent>]>([
      ['in trailers', { fields: [], body: ['x'], trailers: sign(scheme, { method: 'POST', path: '/orders', authority: 'h', body: ['x'] }) }],
      ['of no body, with a body', { body: ['x'] }], ['of no body, with a body in pieces', { body: ['', '', 'x'] }],
      ['of another method', { method: 'PUT', path: '/private/orders' }], ['of another path', { path: '/private/orders' }], ['of no query', { path: '/orders?a' }],
    ])('a signature %s is refused by both', async (_, change) => {
      const ports = await start({ ...SCOPE, requestSignature: SCHEMES[scheme] });
      const sent: Sent = { method: 'POST', path: '/orders', authority: 'h', body: [''] };
      expect(await both(ports, { ...sent, fields: sign(scheme, sent), ...change })).toEqual(Array(2).fill({ status: '401', reached: [] }));
    });

    test('a signature is used once, on whichever stream and protocol', async () => {
      const ports = await start({ requestSignature: { ...SCHEMES[scheme] as object, replay: { store: new MemoryReplayStore() } } });
      for (const body of [undefined, ['{}']]) {
        const next = (): Sent => withSignature(scheme, 'right', { method: 'POST', path: `/orders?${nonces++}`, authority: 'h', body });
        const [first, second, third] = [next(), next(), next()];
        expect((await byHttp2(ports.http2, first, first, first)).sort()).toEqual(['200', '401', '401']);
        expect([await byHttp1(ports.http1, first), await byHttp1(ports.http1, second), ...await byHttp2(ports.http2, second)]).toEqual(['401', '200', '401']);
        const raced = await Promise.all([byHttp2(ports.http2, third), byHttp1(ports.http1, third), byHttp2(ports.http2, third)]);
        expect(raced.flat().sort()).toEqual(['200', '401', '401']);
      }
    });

    test('a Host beside :authority has its value', async () => {
      const { http2 } = await start({ requestSignature: SCHEMES[scheme] });
      const send2 = async (authority: string | undefined, hosts: readonly string[]): Promise<string> => {
        const sent: Sent = { path: '/private/a', authority: authority ?? hosts[0] };
        return (await byHttp2(http2, { ...sent, authority, fields: [...hosts.map((host) => ['host', host] as const), ...sign(scheme, sent)] }))[0] as string;
      };
      expect([await send2('h', ['h']), await send2(undefined, ['h']), await send2('h', ['other']), await send2('h', ['H']), await send2('other', ['h'])]).toEqual(['200', '200', '400', '400', '400']);
      expect(await send2('h', ['h', 'other'])).toMatch(MALFORMED);
      expect(await send2(undefined, ['h', 'h'])).toMatch(MALFORMED);
    });

    test('names in capitals and with a colon are no names of fields', async () => {
      const { http2 } = await start({ requestSignature: SCHEMES[scheme] });
      const sent: Sent = { path: '/private/a', authority: 'h' };
      const [, right] = [reached = [], sign(scheme, sent)];
      for (const change of [(name: string) => name.toUpperCase(), (name: string) => `:${name}`, (name: string) => `${name}:`, (name: string) => `${name} `]) {
        expect((await byHttp2(http2, { ...sent, fields: right.map(([name, value]) => [change(name), value]) }))[0]).toMatch(/^401$|error|400/);
      }
      expect(reached).toEqual([]);
    });

    test('a body of another length than announced reaches nothing', async () => {
      const { http2 } = await start({ requestSignature: SCHEMES[scheme] });
      reached = [];
      for (const [length, body] of [['3', ['{}']], ['1', ['{}']], ['0', ['{}']], ['2', ['']]] as const) {
        const sent: Sent = { method: 'POST', path: '/orders', authority: 'h', fields: [['content-length', length]], body };
        expect((await byHttp2(http2, withSignature(scheme, 'right', sent)))[0]).not.toBe('200');
      }
      expect(reached).toEqual([]);
    });
  });

  test('a signature names the scheme that a trusted proxy tells, never that of :scheme', async () => {
    const requestSignature = SCHEMES['version 2, @target-uri'];
    const signed = (as: string): Sent => {
      const sent: Sent = { path: '/private/a', authority: 'h' };
      return { ...sent, fields: sign('version 2, @target-uri', sent, SECRET, as) };
    };
    const sendWith = (ports: Ports, sent: Sent, forwarded: Fields, scheme: string) => both(ports, { ...sent, scheme, fields: [...sent.fields ?? [], ...forwarded] });
    const proto: Fields = [['x-forwarded-proto', 'https']];
    for (const [trustProxy, expected] of [['loopback', ['200', '401']], [false, ['401', '200']]] as const) {
      const ports = await start({ requestSignature }, { trustProxy });
      for (const scheme of ['http', 'https']) {
        expect((await sendWith(ports, signed('https'), proto, scheme)).map(({ status }) => status)).toEqual(Array(2).fill(expected[0]));
        expect((await sendWith(ports, signed('http'), proto, scheme)).map(({ status }) => status)).toEqual(Array(2).fill(expected[1]));
        expect((await sendWith(ports, signed('http'), [], scheme)).map(({ status }) => status)).toEqual(['200', '200']);
        expect((await sendWith(ports, signed('https'), [], scheme)).map(({ status }) => status)).toEqual(['401', '401']);
      }
    }
  });

  test('a request that is reset while its secret is looked up reaches nothing', async () => {
    let asked: () => void = () => undefined;
    let answer: (secret: string) => void = () => undefined;
    const wasAsked = new Promise<void>((resolve) => (asked = resolve));
    const answered = new Promise<string>((resolve) => (answer = resolve));
    const { http2 } = await start({ requestSignature: { secret: () => {
      asked();
      return answered;
    } } });
    const sent: Sent = { method: 'POST', path: '/private/a', authority: 'h', body: ['x'] };
    const signed = { ...sent, fields: [...sign('version 1', sent), ['x-key-id', 'a'] as const] };
    const client = await open(http2);
    reached = [];
    client.send(...frames(1, signed));
    await wasAsked;
    client.send(reset(1));
    expect(await client.isAlive()).toBe(true);
    answer(SECRET);
    client.send(...frames(3, signed));
    expect([await client.outcome(3), reached]).toEqual(['answered 200', ['private, guarded POST "x"']]);
  });

  test('a signature covers cookies, which HTTP/2 may split', async () => {
    const ports = await start({ requestSignature: { version: 2, secret: SECRET, covers: ['cookie'] } });
    const whole = withSignature('version 2', 'right', { path: '/private/a', authority: 'h', fields: [['cookie', 'a=1; b=2; c=3']] });
    const others = (whole.fields ?? []).filter(([name]) => name !== 'cookie');
    const split = (...cookies: readonly string[]): Sent => ({ ...whole, fields: [...cookies.map((cookie) => ['cookie', cookie] as const), ...others] });
    expect((await both(ports, whole)).map(({ status }) => status)).toEqual(['200', '200']);
    expect(await byHttp2(ports.http2, split('a=1', 'b=2', 'c=3'), split('a=1; b=2', 'c=3'), split('b=2', 'a=1', 'c=3'), split('a=1', 'b=2'))).toEqual(['200', '200', '401', '401']);
  });

  test('webhooks are checked alike', async () => {
    const ports = await start({ ...SCOPE, requestSignature: { secret: SECRET } });
    const fields = (body: string, secret = SECRET): Fields => [['x-hub-signature-256', `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`]];
    const sent: Sent = { method: 'POST', path: '/hooks/github', authority: 'h', body: ['{"a"', ':1}'] };
    const right = fields('{"a":1}');
    const outcomes = async (...changes: readonly Partial<Sent>[]): Promise<string[][]> => {
      const all: string[][] = [];
      for (const change of changes) all.push((await both(ports, { ...sent, fields: right, ...change })).map(({ status, reached: places }) => `${status} ${places.join()}`));
      return all;
    };
    expect(await outcomes({})).toEqual([Array(2).fill('200 hook, guarded POST "{\\"a\\":1}"')]);
    const refused = await outcomes({ fields: [] }, { fields: fields('{"a":1}', `not ${SECRET}`) }, { body: ['{"a":2}'] }, { body: [''] }, { body: undefined }, { fields: [...right, ...right] }, { method: 'PUT' }, { path: '/hooks/GITHUB', fields: [] }, { path: '/hooks/%67ithub', body: ['x'] }, { path: '//hooks/github/', fields: [] }, { fields: [], trailers: right });
    expect(refused).toEqual(refused.map(() => ['401 ', '401 ']));
    expect((await byHttp2(ports.http2, { ...sent, method: 'post', fields: right }))[0]).toBe('501');
  });

  test('responses are signed for their requests', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const ports = await start({ signResponses: { key: privateKey } }, undefined, (app) => {
      const routes = (to: Application): Application => to.get('/json', (_req, res) => res.json({ a: 'ä' })).get('/text', (_req, res) => res.end('äb', 'latin1')).get('/empty', (_req, res) => res.status(204).end()).get('/stream', (_req, res) => {
        res.write('a');
        res.end();
      });
      routes(app).use('/mounted', routes(createServer({ env: 'test', logging: { level: 'silent' } })) as never);
    });
    const keys = keySource(publicKey, 'keys');
    const verdicts = async (answer: Answer, target: string, method: string): Promise<string> => {
      const rejected = await checkResponse({ method: '', target: '', status: answer.status, headers: answer.headers, request: { method, target, headers: {} } }, answer.bytes, keys);
      return rejected === null ? 'signed' : rejected.failure;
    };
    for (const path of ['/json', '/text', '/empty', '/stream', '/none', '/mounted/json', '/mounted/text', '/mounted/none']) {
      for (const method of ['GET', 'HEAD']) {
        const answers = [await ask(ports.http1, path, { method }), await askHttp2(ports.http2, path, { method })] as const;
        const expected = path === '/stream' ? 'missing' : 'signed';
        expect([path, method, await verdicts(answers[0], path, method), await verdicts(answers[1], path, method)]).toEqual([path, method, expected, expected]);
        expect(await verdicts(answers[1], `${path}?`, method)).toBe(expected);
        if (expected === 'signed') expect(await verdicts(answers[1], '/other', method)).toBe('invalid');
      }
    }
  });
});
