import { createServer as createNodeServer, type IncomingMessage, type RequestListener } from 'node:http';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { parse } from 'node:url';
import expressOwn from 'express';
import fc from 'fast-check';
import { type Application, createServer, ERRORS, express, type Handler, static as staticFiles } from 'waypost';
import { HostCheck, isHost } from '../lib/http/host';
import { SignatureScope } from '../lib/signature/scope/scope';
import { Folder } from './support/folder';
import { LogRecorder, Running } from './support/running';
import { runs } from './support/runs';
import { ask, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const QUIET = { env: 'production', logging: { level: 'silent' } } as const;
const REFUSED = { error: 'Bad Request', message: ERRORS.INVALID_HOST.message };

// RFC 3986 section 3.2.2 and appendix A, rule by rule.
const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const NAME = "(?:[A-Za-z\\d._~!$&'()*+,;=-]|%[\\dA-Fa-f]{2})+";
const RFC3986 = new RegExp(`^(?:\\[(?:[\\dA-Fa-f:]+|[\\dA-Fa-f:]*:${OCTET}(?:\\.${OCTET}){3}|v[\\dA-Fa-f]+\\.[A-Za-z\\d._~!$&'()*+,;=:-]+)\\]|${NAME})(?::\\d*)?$`);

/** As the commonest idiom of programs has it. */
function pathByIdiom({ headers, url }: Pick<IncomingMessage, 'headers' | 'url'>): string {
  return new URL(`http://${headers.host}${url}`).pathname;
}

/** As an older one has it. */
function pathByParse(host: string, url: string): string | null {
  return parse(`http://${host}${url}`).pathname;
}

const label = fc.stringMatching(/^[A-Za-z\d_-]{1,6}$/);
const port = fc.oneof(fc.constantFrom('', '', ':', ':0', ':80', ':080', ':443', ':65535', ':65536', ':99999999', ':x', ':-1', ':8:8'), fc.nat(70_000).map((number) => `:${number}`));
const literal = fc.oneof(fc.ipV6().map((address) => `[${address}]`), fc.constantFrom('[]', '[::1', '::1', '[v1.a]', '[::g]', '[::1]x', '[fe80::1%25lo]', '[1.2.3.4]', '[::ffff:1.2.3.4]'));
const name = fc.oneof(fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.')), fc.ipV4(), literal, fc.constantFrom('localhost', 'a..b', '.', 'a.', '-', '~', '1.2.3.4.5', '999.1.1.1', '0x7f.1', '1', 'xn--a', 'xn--mgba3a4f16a.x', 'café', 'a,b'));
const odd = fc.constantFrom('/admin/users?', '/admin/users#', '\\admin\\users?', '#', '?', '/', '\\', 'u@', 'u:p@', '@', ';', "'", '%', '%2f', '%2fadmin%2fusers', '%41', ' ', '\t', '"', '<', '>', '^', '`', '{', '|', '}', ',', 'é', ':', '[', ']', '$', '!', '~', '(', '*');
const host = fc.oneof(
  fc.tuple(name, port).map(([first, last]) => first + last),
  fc.tuple(name, odd, port).map((all) => all.join('')),
  fc.tuple(odd, name, port).map((all) => all.join('')),
  fc.string({ maxLength: 8 }),
);
const REPORTED = ['h/admin/users?', 'h/admin/users#', 'h\\admin\\users?', 'u@h', 'h#', 'h?', '', ';', 'h;x', 'h%2fadmin', "h'", '[::1', 'h:99999', '1.2.3.4.5'];
const PLAIN = ['h', 'example.com', 'Example.COM:8080', 'my_service:3000', '127.0.0.1:1', '[::1]', '[2001:DB8::1]:443', 'a.', 'h:', 'xn--mgba3a4f16a.example', 'a~b!$&()*+,=c'];

describe('a host', () => {
  test('is one by RFC 3986, and ends for every URL parser where it ends', () => {
    fc.assert(fc.property(host, (text) => {
      if (!isHost(text)) return;
      expect([text, RFC3986.test(text)]).toEqual([text, true]);
      const url = new URL(`http://${text}/x`);
      expect([text, url.pathname, url.username, url.password, url.search, url.hash]).toEqual([text, '/x', '', '', '', '']);
      // What a URL parser writes otherwise are addresses.
      const [, label = '', digits = ''] = /^(.*?)(?::(\d*))?$/.exec(text) as RegExpExecArray;
      if (!/^\[|(?:^|\.)\d\w*\.?$|xn--/i.test(label)) expect([text, url.hostname]).toEqual([text, label.toLowerCase()]);
      expect([text, url.port]).toEqual([text, digits === '' || Number(digits) === 80 ? '' : String(Number(digits))]);
      expect([text, pathByParse(text, '/x')]).toEqual([text, '/x']);
    }), { numRuns: runs(20_000), examples: [...REPORTED, ...PLAIN].map((one) => [one]) });
  });

  test('is every name and address that is one by both', () => {
    fc.assert(fc.property(host, (text) => {
      if (!RFC3986.test(text) || /[%';]/.test(text) || !URL.canParse(`http://${text}/x`)) return;
      expect([text, isHost(text)]).toEqual([text, true]);
    }), { numRuns: runs(20_000), examples: PLAIN.map((one) => [one]) });
    expect(PLAIN.filter((one) => !isHost(one))).toEqual([]);
    expect(REPORTED.filter(isHost)).toEqual([]);
  });

  test('of a request that a program has made may be missing, and is held to the same otherwise', () => {
    const hosts = new HostCheck();
    const admits = (value: string | undefined, rawHeaders: string[] = []): boolean => hosts.admits({ headers: { host: value }, rawHeaders } as IncomingMessage);
    expect([admits(undefined), admits('a'), admits('a'), admits('b:1'), admits(''), admits('a/'), admits('a', ['Host', 'a', 'X', 'host']), admits('a', ['host', 'a', 'HOST', 'a'])]).toEqual([true, true, true, true, false, false, true, false]);
  });
});

const seen: string[] = [];
afterEach(() => void (seen.length = 0));

/** All that could take a request. */
function noted<T extends Pick<Application, 'use' | 'get'>>(app: T): T {
  app.use((req, _res, next) => {
    seen.push(`middleware ${req.url}`);
    next();
  });
  app.get('/open', (req, res) => void res.send(`${pathByIdiom(req)} ${req.host} ${pathByParse(req.headers.host as string, '/open')}`));
  app.use((_error: unknown, _req: unknown, _res: unknown, next: (error: unknown) => void) => {
    seen.push('error middleware');
    next(_error);
  });
  return app;
}

const SERVERS: Readonly<Record<string, () => Promise<number>>> = {
  'createServer()': () => running.start(noted(createServer(QUIET))),
  'express()': () => running.start(noted(express(QUIET) as unknown as Application)),
  'createServer() in http.createServer': () => running.serve(noted(createServer(QUIET)) as unknown as RequestListener),
  'express() in http.createServer': () => running.serve(noted(express(QUIET) as unknown as Application) as unknown as RequestListener),
  'createServer() that is mounted in another': () => running.start(createServer(QUIET).use(noted(createServer(QUIET)) as unknown as Handler)),
  'createServer() in an application of Express': () => running.serve(expressOwn().use(noted(createServer(QUIET)) as never)),
};

/** A request, its Host lines as they are given. */
function asked(lines: readonly string[], more = '', line = 'GET /open HTTP/1.1'): string {
  return `${line}\r\n${lines.map((one) => `Host:${one}\r\n`).join('')}${more}\r\n`;
}

const statuses = (text: string): string[] => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1] as string);

describe.each(Object.entries(SERVERS))('%s', (_name, serve) => {
  test('lets a request through whose Host is one, and by whatever it reads the path is that of the target', async () => {
    const at = await serve();
    await fc.assert(fc.asyncProperty(host, async (text) => {
      seen.length = 0;
      const sent = Buffer.from(text, 'latin1').toString('latin1');
      const answer = await Wire.tell(at, Buffer.from(asked([` ${sent}`], 'Connection: close\r\n'), 'latin1'));
      // Node itself takes white space off, and refuses what no field may hold.
      const isOne = isHost(sent.replace(/^[ \t]+|[ \t]+$/g, ''));
      expect([sent, statuses(answer)]).toEqual([sent, [isOne ? '200' : '400']]);
      if (isOne) expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe(`/open ${sent.trim()} /open`);
      else expect([sent, seen]).toEqual([sent, []]);
    }), { numRuns: runs(200), examples: [...REPORTED, ...PLAIN].map((one) => [one]) });
  });

  test.each([['an empty one', ['']], ['two', [' a', ' b']], ['two alike', [' a', ' a']], ['one that is none', [' a/b']], ['white space', ['  \t']]])('refuses %s on a connection that is kept, before anything runs, and nothing behind it is carried out', async (_what, lines) => {
    const at = await serve();
    const wire = await Wire.open(at);
    wire.write(asked([' a']));
    await wire.until('/open a /open');
    seen.length = 0;
    wire.write(`${asked(lines, 'Content-Length: 3\r\n', 'POST /open HTTP/1.1')}abc${asked([' a'])}`);
    await wire.end;
    expect([statuses(wire.text), seen]).toEqual([['200', '400'], []]);
    expect(wire.text).toMatch(/HTTP\/1\.1 400 Bad Request\r\n[^]*^Connection: close\r\n/im);
    expect(JSON.parse(wire.text.slice(wire.text.lastIndexOf('{')))).toEqual(REFUSED);
  });

  test('serves HTTP/1.0 without Host, and leaves one of 1.1 without to Node', async () => {
    const at = await serve();
    expect(statuses(await Wire.tell(at, 'GET /none HTTP/1.0\r\n\r\n'))).toEqual(['404']);
    expect(seen).toEqual(['middleware /none']);
    expect(statuses(await Wire.tell(at, asked(['', ' a'], '', 'GET /open HTTP/1.0')))).toEqual(['400']);
    expect(await Wire.tell(at, asked([]))).toMatch(/^HTTP\/1\.1 400 [^{]*$/);
    expect(seen).toHaveLength(1);
  });
});

describe('a Host that is none', () => {
  test('is no failed signature, and is logged as an answer', async () => {
    const failures: unknown[] = [];
    const listener = (message: unknown): void => void failures.push(message);
    subscribe('waypost:request:refused', listener);
    const logger = new LogRecorder();
    const at = await running.app((app) => void noted(app), { security: { requestSignature: { secret: 'x'.repeat(32) } }, logging: { logger, requests: true } });
    expect(statuses(await Wire.tell(at, asked([' a/b'])))).toEqual(['400']);
    expect([failures, seen]).toEqual([[], []]);
    expect(logger.text).toMatch(/"status":400|"statusCode":400/);
    // The same with a Host is one.
    expect(statuses(await Wire.tell(at, asked([' a'], 'Connection: close\r\n')))).toEqual(['401']);
    expect(failures).toHaveLength(1);
    unsubscribe('waypost:request:refused', listener);
  });

  test('is refused of an upgrade before its listener', async () => {
    const at = await running.app((app) => void app.on('upgrade', (req, socket) => {
      seen.push(pathByIdiom(req));
      socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
    }));
    const more = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
    for (const lines of [[''], [' a', ' a'], [' h/admin?']]) {
      const text = await Wire.tell(at, asked(lines, more));
      expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nConnection: close\r\n/);
      expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))).toEqual(REFUSED);
    }
    expect(seen).toEqual([]);
    expect(statuses(await Wire.tell(at, asked([' a'], more)))).toEqual(['101']);
    expect(seen).toEqual(['/open']);
  });

  test('is refused where lines are joined, and beneath a server that asks for none', async () => {
    const joined = await running.app((app) => void noted(app), { server: { joinDuplicateHeaders: true } });
    expect(statuses(await Wire.tell(joined, asked([' a', ' b'])))).toEqual(['400']);
    const lenient = await running.listen(createNodeServer({ requireHostHeader: false }, noted(createServer(QUIET)) as unknown as RequestListener));
    expect(statuses(await Wire.tell(lenient, asked([''], 'Connection: close\r\n')))).toEqual(['400']);
    expect(statuses(await Wire.tell(lenient, asked([], 'Connection: close\r\n', 'GET /none HTTP/1.1')))).toEqual(['404']);
  });

  test('is refused by inject', async () => {
    const app = noted(createServer(QUIET));
    expect((await app.inject({ url: '/open', headers: { host: 'a/b' } })).statusCode).toBe(400);
    expect(seen).toEqual([]);
    expect((await app.inject('/open')).statusCode).toBe(200);
  });
});

describe('what a proxy forwards', () => {
  test('is the host and the scheme where it is one, else those of the request, so that a URL of them keeps its path', async () => {
    const at = await running.app((app) => void app.get('/open', (req, res) => {
      res.json([req.host, req.protocol, new URL(`${req.protocol}://${req.host}${req.originalUrl}`).pathname]);
    }), { server: { trustProxy: true } });
    const scheme = fc.constantFrom('http', 'https', 'wss', 'HTTPS', 'http://x/admin?', 'javascript:alert(1)//', 'https://', '', '1', 'a b', 'javascript', 'file');
    await fc.assert(fc.asyncProperty(host.filter((text) => /^[\x20-\x7e]*$/.test(text) && !text.includes(',')), scheme, async (text, proto) => {
      const { json } = await ask(at, '/open', { headers: { Host: 'own.example', 'X-Forwarded-Host': `${text}, other.example`, 'X-Forwarded-Proto': proto } });
      const isPlain = ['http', 'https', 'wss', 'HTTPS'].includes(proto);
      const shown = isHost(text.trim()) ? text.trim() : 'own.example';
      expect(json).toEqual([shown, isPlain ? proto : 'http', '/open']);
    }), { numRuns: runs(200), examples: [...REPORTED, ...PLAIN].filter((one) => !one.includes(',')).map((one) => [one, 'https'] as [string, string]) });
  });
});

describe('a target in absolute form', () => {
  const segments = fc.array(fc.constantFrom('admin', 'users', 'open', 'ADMIN', '%61dmin', '', '.', '..'), { maxLength: 4 });
  const target = fc.tuple(fc.constantFrom('http://', 'HTTP://', 'https://'), fc.constantFrom('admin', 'Admin', 'admin:80', 'admin:', 'h', 'h:1', '[::1]', 'x.y', 'a@admin', '', 'admin;', '%61dmin'), segments, fc.constantFrom('', '/', '?x', '#x')).map(([start, at, rest, end]) => `${start}${at}${rest.map((one) => `/${one}`).join('')}${end}`);

  test('needs a signature where what stands behind its scheme would, read as a path without empty segments', () => {
    const scope = new SignatureScope(['/admin/**'], [], { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false });
    let met = 0;
    fc.assert(fc.property(target, (sent) => {
      const path = sent.replace(/\?.*/, '');
      const readings = [() => new URL(`http://h${sent}`).pathname, () => new URL(sent, 'http://h').pathname, () => new URL(`http://h${sent}`.replace(/(?<!:)\/{2,}/g, '/')).pathname];
      for (const read of readings) {
        let whole: string;
        try {
          whole = decodeURIComponent(read()).replace(/\/{2,}/g, '/').toLowerCase();
        } catch {
          continue;
        }
        if (!/^\/admin(?:[/#]|$)/.test(whole)) continue;
        met++;
        expect([sent, scope.requires('GET', path)]).toEqual([sent, true]);
      }
    }), { numRuns: runs(4_000), examples: [['http://admin/users'], ['http://admin'], ['http://admin:80/users']] });
    expect(met).toBeGreaterThan(runs(200));
    expect(scope.requires('GET', 'http://h/users')).toBe(false);
  });

  test('is checked so by an application whose fallback drops empty segments', async () => {
    const at = await running.app((app) => void app.fallback((req, res) => res.end(pathByIdiom(req).replace(/\/+/g, '/'))), {
      security: { requestSignature: { secret: 'x'.repeat(32) }, routeConfig: { requestSignature: { includeRoutes: ['/admin/**'] } } },
    });
    const told = (sent: string): Promise<string> => Wire.tell(at, asked([' h'], 'Connection: close\r\n', `GET ${sent} HTTP/1.1`));
    expect(statuses(await told('http://admin/users'))).toEqual(['401']);
    expect(await told('http://other/users')).toMatch(/^HTTP\/1\.1 200 [^]*\r\n\/other\/users$/);
  });
});

describe('a redirect of static', () => {
  const folder = new Folder({ 'dir/index.html': 'x', 'host/dir/index.html': 'y' });
  afterAll(() => folder.close());

  test('leads to no other host, whatever the target begins with', async () => {
    const app = express(QUIET).use('/', staticFiles(folder.path) as Handler);
    const ports = [await running.serve(app as unknown as RequestListener), await running.serve(expressOwn().use(staticFiles(folder.path) as never))];
    const slash = fc.constantFrom('/', '\\', '//', '/\\', '\\/', '\\\\', '/./', '/\\\\');
    const target = fc.tuple(fc.array(slash, { maxLength: 3 }), fc.constantFrom('', 'host', 'host/..', 'host/../.', 'x/..', 'host\\..', '%5chost/..'), slash, fc.constantFrom('', '?a', '?//b')).map(([start, first, last, end]) => `/${start.join('')}${first}${last}dir${end}`);
    let redirected = 0;
    await fc.assert(fc.asyncProperty(target, fc.constantFrom(...ports), async (sent, at) => {
      const text = await Wire.tell(at, asked([' here'], 'Connection: close\r\n', `GET ${sent} HTTP/1.1`));
      const location = /^Location: (.*?)\r$/im.exec(text)?.[1];
      if (location === undefined) return;
      redirected++;
      expect([sent, location, /^\/(?![/\\])/.test(location), new URL(location, 'http://here').host]).toEqual([sent, location, true, 'here']);
    }), { numRuns: runs(300), examples: ['/\\host/../dir', '//host/../dir', '/\\/host/../dir', '\\\\host/../dir'].flatMap((one) => ports.map((at) => [one, at] as [string, number])) });
    expect(redirected).toBeGreaterThan(runs(50));
  });
});

describe.each<[string, () => Application]>([['createServer()', () => createServer(QUIET)], ['express()', () => express(QUIET) as unknown as Application]])('an expectation that %s does not know', (_name, make) => {
  test.each([['an empty one', ['']], ['two', [' a', ' b']], ['one that is none', [' a/b']]])('is 400 beside %s, not 417', async (_what, lines) => {
    const answer = await Wire.tell(await running.start(noted(make())), asked(lines, 'Expect: the-impossible\r\n'));
    expect([statuses(answer), seen]).toEqual([['400'], []]);
  });

  test('is 417 beside a Host that is one, and left to a listener of the program', async () => {
    const app = noted(make());
    const port = await running.start(app);
    const text = asked([' a'], 'Expect: the-impossible\r\nConnection: close\r\n');
    expect([statuses(await Wire.tell(port, text)), seen]).toEqual([['417'], []]);
    app.server?.on('checkExpectation', (_req, res) => void res.writeHead(403).end());
    expect([statuses(await Wire.tell(port, text)), seen]).toEqual([['403'], []]);
  });
});
