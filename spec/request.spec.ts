import http, { type ServerResponse } from 'node:http';
import express from 'express';
import fc from 'fast-check';
import proxyAddr from 'proxy-addr';
import { Request } from '../lib/http/request';
import type { RequestSettings } from '../lib/http/request-state';
import { pathOf, queryOf } from '../lib/target/target';
import { requestClass } from './support/request-class';
import { Running } from './support/running';
import { runs } from './support/runs';
import { Wire } from './support/wire';

const running = new Running();

afterAll(() => running.close());

/** A request by its head alone: no server in between. */
/** As settings that nobody has set. */
const NOTHING = [undefined, null, false, ''] as const;

function requestOf(url: string, headers: Record<string, string> = {}): Request {
  const req = new Request(null as never);
  req.url = url;
  req.method = 'GET';
  Object.assign(req.headers, headers);
  return req;
}

async function exchange(port: number, head: string): Promise<unknown> {
  const answer = await Wire.tell(port, `${head}\r\nConnection: close\r\n\r\n`);
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
}

/** Everything of Express's request surface that a handler can ask for, as JSON. */
function survey(req: Request): unknown {
  const { ip, ips, protocol, secure, hostname, host, subdomains, xhr, path, originalUrl, baseUrl, query } = req;
  return {
    ...{ ip, ips, protocol, secure, hostname, host, subdomains, xhr, path, originalUrl, baseUrl, query, fresh: req.fresh, stale: req.stale },
    get: ['Content-Type', 'REFERER', 'referrer', 'x-none', 'Host', 'Set-Cookie'].map((name) => req.get(name) ?? null),
    header: req.header('accept') ?? null,
    is: [req.is('json'), req.is('html', 'application/*'), req.is(['text/*']), req.is('+json'), req.is('urlencoded', 'multipart'), req.is()],
    accepts: [req.accepts(), req.accepts('json'), req.accepts('html', 'text'), req.accepts(['image/png', 'json']), req.accepts('application/json'), ...NOTHING.map((none) => req.accepts(none as never))],
    encodings: [req.acceptsEncodings(), req.acceptsEncodings('gzip'), req.acceptsEncodings(['br', 'identity'])],
    charsets: [req.acceptsCharsets(), req.acceptsCharsets('utf-8', 'latin1')],
    languages: [req.acceptsLanguages(), req.acceptsLanguages('de'), req.acceptsLanguages(['fr', 'en']), ...NOTHING.map((none) => req.acceptsLanguages(none as never, 'de'))],
    range: [req.range(1000) ?? null, req.range(10, { combine: true }) ?? null],
  };
}

const TRUSTS = { nobody: false, all: true, loopback: 'loopback', 'two hops': 2, 'some networks': 'loopback, 10.0.0.0/8, fc00::/7' } as const;

function trustOf(trust: boolean | number | string): RequestSettings['trustProxy'] {
  if (typeof trust === 'string') return proxyAddr.compile(trust.split(',').map((each) => each.trim()));
  return (_address, hop) => (typeof trust === 'number' ? hop < trust : trust);
}

const HEADS = [
  'GET / HTTP/1.1\r\nHost: example.com',
  'GET /a/b?c=d&c=e&f=%20g+h HTTP/1.1\r\nHost: a.b.example.com:8080',
  'GET /?__proto__=x&a=1 HTTP/1.1\r\nHost: [::1]:3000',
  'GET /x?y#z HTTP/1.1\r\nHost: 127.0.0.1',
  'GET /x#z?y HTTP/1.1\r\nHost: [2001:db8::1]',
  'GET //evil/x?y=%zz HTTP/1.1\r\nHost: h',
  'GET /p%2Fq?a[b]=1&&=2 HTTP/1.1\r\nHost: h',
  'GET http://other.example/p/q?r=s HTTP/1.1\r\nHost: h',
  'GET http://other.example HTTP/1.1\r\nHost: h',
  'OPTIONS * HTTP/1.1\r\nHost: h',
  'GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 1.2.3.4, 10.0.0.1, 10.0.0.2\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: w.x.y.z.example:99',
  'GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 2001:db8::7, fc00::1\r\nX-Forwarded-Proto:  https , http\r\nX-Forwarded-Host: one.example , two.example',
  'GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: junk,,\r\nX-Forwarded-Proto: ws',
  'GET / HTTP/1.1\r\nHost: h\r\nReferer: http://r.example/\r\nX-Requested-With: XmlHttpRequest',
  'GET / HTTP/1.1\r\nHost: h\r\nReferrer: http://two.example/\r\nReferer: http://r.example/',
  'GET / HTTP/1.1\r\nHost: h\r\nAccept: text/html;q=0.8, application/json, */*;q=0.1\r\nAccept-Encoding: gzip;q=0.5, br\r\nAccept-Charset: latin1, utf-8;q=0.5\r\nAccept-Language: de-CH, de;q=0.9, en;q=0.1',
  'GET / HTTP/1.1\r\nHost: h\r\nAccept: image/*\r\nAccept-Encoding: identity;q=0\r\nAccept-Language: fr;q=0',
  'GET / HTTP/1.1\r\nHost: h\r\nRange: bytes=0-499, 500-600, 900-',
  'GET / HTTP/1.1\r\nHost: h\r\nRange: bytes=2000-',
  'GET / HTTP/1.1\r\nHost: h\r\nRange: junk',
  'GET / HTTP/1.1\r\nHost: h\r\nRange: items=1-2',
  'GET / HTTP/1.1\r\nHost: h\r\nIf-None-Match: "tag"',
  'GET / HTTP/1.1\r\nHost: h\r\nIf-None-Match: W/"other", W/"tag"',
  'GET / HTTP/1.1\r\nHost: h\r\nIf-None-Match: "tag"\r\nCache-Control: no-cache',
  'GET / HTTP/1.1\r\nHost: h\r\nIf-Modified-Since: Tue, 01 Jan 2030 00:00:00 GMT',
  'POST / HTTP/1.1\r\nHost: h\r\nIf-None-Match: "tag"\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 0',
  'POST / HTTP/1.1\r\nHost: h\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked',
  'POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/vnd.api+json\r\nContent-Length: 0',
  'POST / HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 0',
  'POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Type: text/plain\r\nContent-Length: 0',
];

describe.each(Object.entries(TRUSTS))('as Express 5 sees it, trusting %s', (_name, trust) => {
  let ours: number;
  let theirs: number;

  beforeAll(async () => {
    const answer = (req: Request, res: ServerResponse): void => {
      res.setHeader('ETag', 'W/"tag"');
      res.setHeader('Last-Modified', 'Mon, 01 Jan 2024 00:00:00 GMT');
      const found = JSON.stringify(survey(req));
      res.removeHeader('ETag');
      res.end(found);
    };
    ours = await running.listen(
      http.createServer({ IncomingMessage: requestClass({ trustProxy: trustOf(trust) }) }, (req, res) => {
        // What the application does on a request's arrival.
        req.res = res as never;
        req.originalUrl = req.url;
        answer(req, res);
      }),
    );
    const app = express();
    app.set('trust proxy', trust);
    app.use((req, res) => answer(req as unknown as Request, res));
    theirs = await running.serve(app);
  });

  test.each(HEADS)('%j', async (head) => {
    const rest = head.includes('chunked') ? '\r\nX-Rest: 1' : '';
    expect(await exchange(ours, head + rest)).toEqual(differing(head, await exchange(theirs, head + rest)));
  });

  /** Where waypost differs from Express on purpose. */
  function differing(head: string, found: unknown): unknown {
    const expected = found as { query: Record<string, unknown>; path: string; originalUrl: string };
    // Node's querystring keeps a key that is no use to anyone and a danger to some.
    if (head.includes('__proto__')) expected.query = { a: '1' };
    return expected;
  }
});

describe('path and query', () => {
  test.each([
    ['/', '/', ''],
    ['/a/b', '/a/b', ''],
    ['/a?b', '/a', 'b'],
    ['/a?b?c', '/a', 'b?c'],
    ['/a#b', '/a', ''],
    ['/a#b?c', '/a', ''],
    ['/a?b#c', '/a', 'b'],
    ['?b', '/', 'b'],
    ['', '/', ''],
    ['*', '*', ''],
    ['//h/a', '//h/a', ''],
    ['http://h', '/', ''],
    ['http://h?q', '/', 'q'],
    ['HTTPS://h:1/a?q', '/a', 'q'],
    ['http://h#/x', '/', ''],
    ['http://u@h/a/http://x/?q', '/a/http://x/', 'q'],
    ['/a/http://h/b', '/a/http://h/b', ''],
    ['x:y', 'x:y', ''],
  ])('%j: path %j, query %j', (target, path, query) => {
    expect([pathOf(target), queryOf(target)]).toEqual([path, query]);
    expect(requestOf(target).path).toBe(path);
  });

  test('of whatever URL, as the URL class has them', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), fc.boolean(), (address, absolute) => {
        const url = new URL(address);
        const target = absolute ? url.href : url.href.slice(url.origin.length);
        expect([pathOf(target), queryOf(target)]).toEqual([url.pathname, url.search.slice(1)]);
      }),
      { numRuns: runs(150) },
    );
  });

  test('both follow the url until something is assigned', () => {
    const req = requestOf('/a?x=1');
    expect([req.path, req.query]).toEqual(['/a', { x: '1' }]);
    req.url = '/b?x=2';
    expect([req.path, req.query]).toEqual(['/b', { x: '2' }]);
    req.path = '/mine';
    req.query = { mine: 'true' };
    req.url = '/c?x=3';
    expect([req.path, req.query]).toEqual(['/mine', { mine: 'true' }]);
  });

  test('the query is one object per url, so that changes to it last', () => {
    const req = requestOf('/a?x=1');
    req.query['added'] = 'true';
    expect(req.query).toBe(req.query);
    expect(req.query).toEqual({ x: '1', added: 'true' });
  });

  test('the query is an ordinary object, without a __proto__ key', () => {
    const { query } = requestOf('/?__proto__=1&__proto__[admin]=1&%5F_proto__=2&a=1&a=2&toString=3');
    expect(query).toStrictEqual({ '__proto__[admin]': '1', a: ['1', '2'], toString: '3' });
    expect(Object.getPrototypeOf(query)).toBe(Object.prototype);
    expect(String(requestOf('/?a').query)).toBe('[object Object]');
  });

  test('the query parser of the settings is used', () => {
    const req = new (requestClass({ queryParser: (text) => ({ text }) }))(null as never);
    req.url = '/a?b=c';
    expect(req.query).toEqual({ text: 'b=c' });
  });
});

describe('state', () => {
  test('originalUrl stays as it was noted, whatever becomes of the url', () => {
    const req = requestOf('/as/sent?x');
    expect(req.originalUrl).toBe('');
    req.originalUrl = req.url;
    req.url = '/rewritten';
    expect(req.originalUrl).toBe('/as/sent?x');
  });

  test('what is worked out can be assigned, as listeners of node:http do by names of their own choice', () => {
    const request = requestOf('/', { host: 'example.com' }) as unknown as Record<string, unknown>;
    for (const name of ['app', 'fresh', 'host', 'hostname', 'ip', 'ips', 'next', 'protocol', 'secure', 'stale', 'subdomains', 'xhr']) {
      request[name] = `own ${name}`;
      expect(request[name]).toBe(`own ${name}`);
    }
    expect(requestOf('/').fresh).toBe(false);
  });

  test('what one request is assigned, another does not see', () => {
    const [one, two] = [requestOf('/'), requestOf('/')];
    one.baseUrl = '/mount';
    one.rawBody = Buffer.from('x');
    one.route = {} as never;
    one.user = 'me';
    expect([two.baseUrl, two.rawBody, two.route, two.user, two.res]).toEqual(['', undefined, undefined, undefined, undefined]);
    expect([one.baseUrl, one.user]).toEqual(['/mount', 'me']);
  });

  test('cookies are left to cookie-parser, which steps aside where they are set', () => {
    expect('cookies' in requestOf('/')).toBe(false);
    expect('user' in requestOf('/')).toBe(false);
  });

  test('a new request has no properties of its own beyond those of Node', () => {
    const plain = new http.IncomingMessage(null as never);
    expect(Reflect.ownKeys(new Request(null as never)).map(String)).toEqual(Reflect.ownKeys(plain).map(String));
  });

  test('a foreign request that is adopted has the whole surface', async () => {
    const port = await running.serve((foreign, res) => {
      const req = Object.setPrototypeOf(foreign, requestClass({ trustProxy: () => true }).prototype) as Request;
      res.end(JSON.stringify(survey(req)));
    });
    const head = 'GET /a?b=c HTTP/1.1\r\nHost: x.y.example.com\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https';
    expect(await exchange(port, head)).toMatchObject({ path: '/a', query: { b: 'c' }, ip: '1.2.3.4', protocol: 'https', secure: true, subdomains: ['y', 'x'] });
  });

  test('the application is that of the settings', () => {
    const app = { name: 'mine' } as never;
    expect(new (requestClass({ app }))(null as never).app).toBe(app);
  });

  test('subdomains leave out as many labels as the settings say', () => {
    const req = new (requestClass({ subdomainOffset: 1 }))({ remoteAddress: '::1' } as never);
    req.headers.host = 'a.b.localhost:1';
    expect(req.subdomains).toEqual(['b', 'a']);
  });

  test('https is known by the socket', () => {
    const req = new Request({ encrypted: true, remoteAddress: '::1' } as never);
    expect([req.protocol, req.secure]).toEqual(['https', true]);
  });
});

describe('get', () => {
  test.each([
    [undefined, 'name argument is required to req.get, got undefined'],
    [7, 'name must be a string to req.get, got 7'],
    ['', "name argument is required to req.get, got ''"],
  ])('%j is refused with what to write', (name, given) => {
    expect(() => requestOf('/').get(name as string)).toThrow(new TypeError(`${given}: give it the name of a header, such as 'Content-Type'`));
  });

  test('header is the same', () => {
    expect(requestOf('/', { 'x-y': 'z' }).header('X-Y')).toBe('z');
    expect(() => requestOf('/').header('')).toThrow(TypeError);
  });
});
