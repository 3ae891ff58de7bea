import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import cookieParser from 'cookie-parser';
import { type ErrorRequestHandler, type Express, type NextFunction, type Request, Router } from 'express';
import fc from 'fast-check';
import { answerErrors, ExpressOracle } from './support/express-oracle';
import { runs } from './support/runs';
import { ask } from './support/wire';

/** One call of a response's method, as a program makes it. */
type Call = readonly [method: string, ...given: unknown[]];

let oracle: ExpressOracle;
const folder = mkdtempSync(join(tmpdir(), 'waypost-'));

/** Carries calls to a handler: undefined, bytes and URLs are no JSON. */
let calls: readonly Call[] = [];

function program(app: Express): void {
  app.use(cookieParser(['first secret', 'second secret']));
  app.set('trust proxy', 1);
  app.all('/calls', (_req, res) => {
    try {
      for (const [method, ...given] of calls) (res as unknown as Record<string, (...given: unknown[]) => unknown>)[method]!(...given);
    } catch (error) {
      // The words are each one's own.
      if (!res.headersSent) res.status(500).end(`threw a ${(error as Error).name}`);
    }
  });
  app.all('/request/:id', (req, res) => void res.json(membersOf(req)));
  app.use('/mount/:space', (req, res) => void res.json([req.url, req.path, req.baseUrl, req.originalUrl, req.params, req.query]));
  app.all('/format', (_req, res) => {
    const answers = Object.fromEntries((calls[0] as readonly string[]).map((name) => [name, () => void res.send(`as ${name}`)]));
    res.format(answers);
  });
  app.get('/fresh', (req, res) => {
    const [tag, modified, status] = calls[0] as readonly (string | number | null)[];
    if (tag) res.set('ETag', String(tag));
    if (modified) res.set('Last-Modified', String(modified));
    res.status(Number(status));
    res.set('X-Fresh', `${String(req.fresh)} ${String(req.stale)}`).end();
  });
  app.use(answerErrors);
}

function membersOf(req: Request): unknown {
  return {
    ip: req.ip, ips: req.ips, protocol: req.protocol, secure: req.secure, host: req.host, hostname: req.hostname, subdomains: req.subdomains, xhr: req.xhr,
    url: req.url, path: req.path, originalUrl: req.originalUrl, baseUrl: req.baseUrl, params: req.params, query: req.query, method: req.method,
    get: ['Referer', 'referrer', 'X-A', 'set-cookie', 'none'].map((name) => req.get(name) ?? null), header: req.header('x-a'),
    is: [req.is('json'), req.is(['text/*', 'html']), req.is(['urlencoded', 'multipart']), req.is('+json')],
    accepts: [req.accepts(), req.accepts('json', 'html'), req.accepts(['text/plain', 'png'])],
    encodings: [req.acceptsEncodings(), req.acceptsEncodings('gzip', 'br')], charsets: [req.acceptsCharsets(), req.acceptsCharsets('utf-8')],
    languages: [req.acceptsLanguages(), req.acceptsLanguages('en', 'de')], range: [req.range(100), req.range(100, { combine: true })],
    cookies: req.cookies as unknown, signed: req.signedCookies as unknown, secret: req.secret,
    res: req.res?.req === req, app: req.app === req.res?.app, route: Boolean(req.route),
  };
}

beforeAll(async () => {
  writeFileSync(join(folder, 'file.txt'), 'some text');
  oracle = await ExpressOracle.start(program);
});
afterAll(async () => {
  await oracle.close();
  rmSync(folder, { recursive: true });
});

const maybe = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(one, { nil: undefined });

test('a request has the members of Express\'s, with the same values', async () => {
  const headers = fc.record({
    accept: maybe(fc.constantFrom('*/*', 'text/html', 'application/json;q=0.5, text/*', 'image/png', '', 'odd')),
    'accept-encoding': maybe(fc.constantFrom('gzip', 'br;q=0.5, gzip;q=0.1', 'identity', '*;q=0')),
    'accept-charset': maybe(fc.constantFrom('utf-8', 'iso-8859-1, utf-8;q=0.2')),
    'accept-language': maybe(fc.constantFrom('de', 'en-GB, de;q=0.9', '*')),
    'content-type': maybe(fc.constantFrom('application/json', 'text/html; charset=utf-8', 'application/x-www-form-urlencoded', 'application/vnd.api+json', 'odd')),
    range: maybe(fc.constantFrom('bytes=0-9', 'bytes=0-5,3-9,50-', 'bytes=900-', 'odd', 'items=1-2')),
    referer: maybe(fc.constantFrom('http://a.example/', '')), referrer: maybe(fc.constantFrom('http://b.example/')),
    'x-a': maybe(fc.constantFrom('1', 'ä')), 'x-requested-with': maybe(fc.constantFrom('XMLHttpRequest', 'xmlhttprequest', 'other')),
    'x-forwarded-for': maybe(fc.constantFrom('192.0.2.1', '192.0.2.1, 10.0.0.1')), 'x-forwarded-proto': maybe(fc.constantFrom('https', 'https,http', 'ws')),
    'x-forwarded-host': maybe(fc.constantFrom('x.y.example.com', 'a.example, b.example', '[::1]:80')),
    host: maybe(fc.constantFrom('a.b.example.com:3000', 'localhost', '127.0.0.1:80', '[::1]', '[::1]:8080')),
    cookie: maybe(fc.constantFrom('a=b', 'a=j%3A%7B%22x%22%3A1%7D; s=s%3Avalue.odd', 's=s%3Ahello.mjMRLfJSg0RHgfSDXKqwGpXxkEYBMoSGNTgDGhWSRKI', 'odd')),
  }, { requiredKeys: [] });
  const target = fc.constantFrom('/request/7', '/request/%C3%A4?a=1&a=2&b', '/request/x%2Fy?q=%20+', '/request/7?__proto=1&a[b]=c', '/mount/s/x/y?z=1', '/mount/s', '/mount/s/?q');
  await fc.assert(fc.asyncProperty(headers, target, fc.constantFrom('GET', 'POST', 'DELETE', 'OPTIONS'), fc.boolean(), async (given, path, method, body) => {
    const sent = Object.fromEntries(Object.entries({ ...given, host: given.host ?? 'plain.example' }).filter(([, value]) => value !== undefined)) as Record<string, string>;
    await oracle.ask(path, body ? { method, headers: { ...sent, 'content-length': '2' }, body: '{}' } : { method, headers: sent });
  }), { numRuns: runs(100) });
}, 600_000);

const name = fc.constantFrom('X-A', 'x-b', 'Vary', 'Link', 'Cache-Control');
const value = fc.constantFrom<unknown>('1', 'two', '', 3, true, ['a', 'b']);
const type = fc.constantFrom('html', '.png', 'json', 'text/plain', 'text/html; charset=iso-8859-1', 'application/octet-stream', 'odd', 'x/y', 'application/vnd.api+json');
const url = fc.constantFrom('/a', 'http://b.example/?q=ä', '../c d', '//e', '/%zz', 'javascript:alert(1)', '/<script>', 'https://h.example/"\'');
const cookieOptions = fc.record({
  path: maybe(fc.constantFrom('/p')), domain: maybe(fc.constantFrom('a.example')), httpOnly: maybe(fc.boolean()), secure: maybe(fc.boolean()), sameSite: maybe(fc.constantFrom<unknown>(true, 'lax', 'none')),
  signed: maybe(fc.boolean()), priority: maybe(fc.constantFrom('low', 'high')), partitioned: maybe(fc.boolean()), expires: maybe(fc.constant(new Date(86_400_000))),
}, { requiredKeys: [] });

const setting = fc.oneof<fc.Arbitrary<Call>[]>(
  fc.tuple(fc.constant('status'), fc.constantFrom(200, 201, 204, 205, 206, 304, 404, 500, 599)),
  fc.tuple(fc.constantFrom('set', 'header'), name, value),
  fc.tuple(fc.constant('set'), fc.constant({ 'X-C': 'c', 'Content-Language': 'de' })),
  fc.tuple(fc.constant('append'), name, fc.constantFrom<unknown>('more', ['more', 'still'])),
  fc.tuple(fc.constantFrom('type', 'contentType'), type),
  // Of what is no type at all Express makes "false".
  fc.tuple(fc.constant('set'), fc.constant('Content-Type'), type.filter((one) => one !== 'odd')),
  fc.tuple(fc.constant('vary'), fc.constantFrom<unknown>('Accept', 'X-A, X-B', ['Origin', 'Accept'], '*')),
  fc.tuple(fc.constant('links'), fc.constantFrom({ next: '/n' }, { next: '/n', last: ['/l', '/m'] })),
  fc.tuple(fc.constant('location'), url),
  fc.tuple(fc.constant('cookie'), fc.constantFrom('a', 'b'), fc.constantFrom<unknown>('v', 'ä ;', 7, { x: 1 }, ['y'], null), cookieOptions),
  fc.tuple(fc.constant('clearCookie'), fc.constantFrom('a', 'b'), cookieOptions),
  fc.tuple(fc.constant('attachment'), fc.constantFrom('a.txt', 'ä "b".pdf', '/x/y.html', '')),
  fc.constant<Call>(['attachment']),
  fc.tuple(fc.constant('removeHeader'), name),
);

const body = fc.constantFrom<unknown>('text', '', 'ä', Buffer.from([1, 2, 255]), new Uint8Array([1, 2]), Buffer.alloc(0), { a: 1 }, [1], null, undefined, true, 7, { toJSON: () => 'x' });
const ending = fc.oneof<fc.Arbitrary<Call>[]>(
  fc.tuple(fc.constant('send'), body), fc.tuple(fc.constant('json'), body), fc.tuple(fc.constant('jsonp'), body), fc.tuple(fc.constant('sendStatus'), fc.constantFrom(200, 204, 304, 404, 418, 599)),
  fc.tuple(fc.constant('redirect'), url), fc.tuple(fc.constant('redirect'), fc.constantFrom(301, 303, 307), url),
  fc.tuple(fc.constant('end'), fc.constantFrom('end', '')), fc.constant<Call>(['end']),
  fc.constantFrom<Call>(['sendFile', join(folder, 'file.txt')], ['sendFile', 'file.txt', { root: folder, maxAge: '1h', headers: { 'x-file': '1' } }], ['download', join(folder, 'file.txt')], ['download', join(folder, 'file.txt'), 'ä.txt']),
);

test('a response has the methods of Express\'s, with the same effect', async () => {
  const asked = fc.record({ accept: maybe(fc.constantFrom('text/html', 'text/plain', 'application/json', '*/*')), range: maybe(fc.constantFrom('bytes=0-3', 'odd')) }, { requiredKeys: [] });
  await fc.assert(fc.asyncProperty(fc.array(setting, { maxLength: 4 }), ending, asked, fc.constantFrom('GET', 'GET', 'HEAD', 'POST'), fc.constantFrom('', '?callback=f', '?callback=a.b[0];x'), async (before, last, headers, method, query) => {
    calls = [...before, last];
    await oracle.ask(`/calls${query}`, { method, headers: Object.fromEntries(Object.entries(headers).filter(([, one]) => one !== undefined)) });
  }), { numRuns: runs(150) });
}, 600_000);

test('format chooses as Express\'s does', async () => {
  const names = fc.uniqueArray(fc.constantFrom('text', 'html', 'json', 'application/xml', 'text/plain', 'image/png', 'default'), { maxLength: 4 });
  await fc.assert(fc.asyncProperty(names, fc.constantFrom('*/*', 'text/html', 'text/*;q=0.5, application/json', 'image/png', 'audio/*'), async (chosen, accept) => {
    calls = [chosen as unknown as Call];
    const status = await oracle.each(async (port) => (await ask(port, '/format', { headers: { accept } })).status);
    // Without a default the message differs: Express says no more than "Not Acceptable".
    if (status !== 406) await oracle.ask('/format', { headers: { accept } });
  }), { numRuns: runs(30) });
});

/** Ways to go on that older packages use, and `res.format` of Express itself. */
const ONWARD: Record<string, (app: Express) => void> = {
  'next() of format': (app) => app.get('/', (_req, res) => void res.format({ text: (_q: unknown, _s: unknown, next: NextFunction) => next() }), (_req, res) => void res.send('same route')),
  'next("route") of format': (app) => app.get('/', (_req, res) => void res.format({ default: (_q: unknown, _s: unknown, next: NextFunction) => next('route') })),
  'next(error) of format': (app) => app.get('/', (_req, res) => void res.format({ text: (_q: unknown, _s: unknown, next: NextFunction) => next(new Error('of format')) })),
  'req.next()': (app) => app.get('/', (req) => req.next?.(), (_req, res) => void res.send('same route')),
  'req.next(null)': (app) => app.get('/', (req) => req.next?.(null), (_req, res) => void res.send('same route')),
  'req.next("router")': (app) => {
    const router = Router();
    router.get('/', (req) => req.next?.('router'));
    router.get('/', (_req, res) => void res.send('same router'));
    app.use(router);
  },
  'req.next(error)': (app) => app.get('/', (req) => req.next?.(new Error('of req.next'))),
  'req.next() in middleware': (app) => app.use((req) => req.next?.()),
  'req.next() in a router': (app) => app.use('/', Router().get('/', (req) => req.next?.()).get('/', (_req, res) => void res.send('below in the router'))),
  'req.next() in error middleware': (app) => {
    app.get('/', () => {
      throw new Error('first');
    });
    app.use(((_error, req, _res, _next) => req.next?.()) as ErrorRequestHandler);
  },
  'req.next() later': (app) => app.get('/', (req) => void setImmediate(() => req.next?.())),
  'a req.next that was set': (app) => app.get('/', (req, res) => {
    req.next = () => res.send('set');
    req.next();
  }),
};

test.each(Object.entries(ONWARD))('%s goes on where it does in Express', async (_way, register) => {
  const own = await ExpressOracle.start((app) => {
    register(app);
    app.get('/', (req, res) => void res.send(`second route at ${req.url}, ${String(res.get('Content-Type'))}`));
    app.use(answerErrors);
  });
  try {
    expect((await own.ask('/')).body).not.toContain('same');
  } finally {
    await own.close();
  }
});

test('fresh tells what Express\'s tells, where the response has a validator', async () => {
  const tags = fc.constantFrom('"a"', 'W/"a"', '"b"', '"a", "b"', '*');
  const times = fc.constantFrom('Thu, 01 Jan 2026 00:00:00 GMT', 'Fri, 02 Jan 2026 00:00:00 GMT', 'odd');
  const asked = fc.record({ 'if-none-match': maybe(tags), 'if-modified-since': maybe(times), 'cache-control': maybe(fc.constantFrom('no-cache', 'max-age=0')) }, { requiredKeys: [] });
  const own = fc.tuple(fc.constantFrom('"a"', 'W/"a"', null), fc.constantFrom('Thu, 01 Jan 2026 00:00:00 GMT', null), fc.constantFrom(200, 201, 304, 404)).filter(([tag, time]) => tag !== null || time !== null);
  await fc.assert(fc.asyncProperty(own, asked, async (validators, headers) => {
    calls = [validators as unknown as Call];
    await oracle.ask('/fresh', { headers: Object.fromEntries(Object.entries(headers).filter(([, one]) => one !== undefined)) });
  }), { numRuns: runs(60) });
});
