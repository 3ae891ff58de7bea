import { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Request, Router } from 'waypost';
import { isFresh } from '../lib/http/etag';
import { parseForm } from '../lib/http/query';
import { kSettings } from '../lib/http/request-state';
import { kMounted } from '../lib/routing/layer';
import { Path, type PathRules } from '../lib/routing/patterns/path';
import { parsePattern, type Pattern } from '../lib/routing/patterns/pattern';
import { takes } from '../lib/routing/route-finder';
import { rulesOf } from './support/routed';
import { growth, workOf } from './support/work-meter';

/*
 * Each reader of a request's head, and of its path, does work that grows with what it is given. What other specs
 * count: queries, media types, JSONP names, signatures, webhooks (header-work), JSON (parse-work), canonical paths
 * (canonical-path), fields of forms (form-fields). Cookies and multipart bodies waypost hands on unread.
 */

/** Field values of a length, each of another kind of trouble. */
const troubles: Readonly<Record<string, (length: number) => string>> = {
  'many types': (length) => Array.from({ length: length / 16 }, (_, index) => `a/${index.toString(36).padStart(4, 'b')};q=0.${index % 10}`).join(', '),
  'many names': (length) => Array.from({ length: length / 6 }, (_, index) => index.toString(36).padStart(4, 'a')).join(', '),
  'one name': (length) => 'a,'.repeat(length / 2),
  'commas': (length) => ','.repeat(length),
  'spaces': (length) => `a${' '.repeat(length)}b`,
  'parameters': (length) => `text/html${';a="b,c"'.repeat(length / 8)}`,
  'quotes': (length) => `text/html;a=${'"\\"'.repeat(length / 3)}`,
  'weights': (length) => `a${';q=0.1'.repeat(length / 6)}`,
  'tags': (length) => Array.from({ length: length / 10 }, (_, index) => `W/"${index.toString(36).padStart(4, 'a')}"`).join(', '),
  'ranges': (length) => `bytes=${Array.from({ length: length / 10 }, (_, index) => `${index * 3}-${index * 3 + 1}`).join(',')}`,
  'ranges of one byte': (length) => `bytes=${'0-0,'.repeat(length / 4)}`,
  'suffix ranges': (length) => `bytes=${'-1,'.repeat(length / 3)}`,
  'digits': (length) => `bytes=${'9'.repeat(length)}-`,
  'addresses': (length) => Array.from({ length: length / 10 }, (_, index) => `10.0.0.${index % 256}`).join(', '),
  'labels': (length) => 'a.'.repeat(length / 2),
  'brackets': (length) => `${'['.repeat(length)}:80`,
};

function requestWith(headers: Readonly<Record<string, string>>): Request {
  const socket = new Socket();
  const req = new Request(socket);
  Object.assign(req, { method: 'GET', url: '/', headers: { 'content-length': '1', ...headers } });
  const settings = { ...req[kSettings], trustProxy: () => true };
  Object.assign(req, { [kSettings]: settings });
  return req;
}

const fields: Readonly<Record<string, (text: string) => unknown>> = {
  'Accept': (text) => [requestWith({ accept: text }).accepts('json', 'html', 'a/b'), requestWith({ accept: text }).accepts()],
  'Accept-Encoding': (text) => [requestWith({ 'accept-encoding': text }).acceptsEncodings('gzip', 'br'), requestWith({ 'accept-encoding': text }).acceptsEncodings()],
  'Accept-Charset': (text) => [requestWith({ 'accept-charset': text }).acceptsCharsets('utf-8'), requestWith({ 'accept-charset': text }).acceptsCharsets()],
  'Accept-Language': (text) => [requestWith({ 'accept-language': text }).acceptsLanguages('en', 'de'), requestWith({ 'accept-language': text }).acceptsLanguages()],
  'Content-Type': (text) => requestWith({ 'content-type': text }).is('json', 'text/*', '+xml', 'multipart'),
  'Range': (text) => [requestWith({ range: text }).range(1_000_000), requestWith({ range: text }).range(1_000_000, { combine: true })],
  'If-None-Match': (text) => isFreshFor({ 'if-none-match': text }),
  'If-Modified-Since': (text) => isFreshFor({ 'if-modified-since': text }),
  'Cache-Control': (text) => isFreshFor({ 'if-none-match': '"a"', 'cache-control': text }),
  'Host': (text) => [requestWith({ host: text }).hostname, requestWith({ host: text }).subdomains],
  'X-Forwarded-For': (text) => [requestWith({ 'x-forwarded-for': text }).ip, requestWith({ 'x-forwarded-for': text }).ips],
  'X-Forwarded-Host': (text) => requestWith({ 'x-forwarded-host': text }).hostname,
  'X-Forwarded-Proto': (text) => requestWith({ 'x-forwarded-proto': text }).protocol,
};

function isFreshFor(headers: Readonly<Record<string, string>>): boolean {
  const res = new ServerResponse(requestWith(headers)).setHeader('ETag', 'W/"none"').setHeader('Last-Modified', new Date(0).toUTCString());
  return isFresh(res);
}

describe.each(Object.entries(fields))('%s', (_, read) => {
  test.each(Object.entries(troubles))('is read by work that grows with its length: %s', (__, make) => {
    expect(growth(make, read)).toBeLessThan(40);
  });
});

describe('the addresses of X-Forwarded-For', () => {
  const list = (length: number): string[] => Array.from({ length }, (_, index) => `10.${index >> 8}.${index & 255}.1`);

  test('are compared with those that are trusted once for each request, and until something else is trusted or said', () => {
    const req = requestWith({ 'x-forwarded-for': list(20).join(', ') });
    const settings = (): { trustProxy: jest.Mock } => {
      const made = { ...req[kSettings], trustProxy: jest.fn(() => true) };
      Object.assign(req, { [kSettings]: made });
      return made;
    };
    const read = (): unknown => [req.ip, req.ips, req.ip, req.ips.length];
    const first = settings();
    expect(read()).toEqual(['10.0.0.1', list(20), '10.0.0.1', 20]);
    req.ips.pop();
    expect(req.ips).toEqual(list(20));
    expect(first.trustProxy).toHaveBeenCalledTimes(20);
    const second = settings();
    second.trustProxy.mockImplementation((_address: string, hop: number) => hop < 3);
    expect(read()).toEqual(['10.0.17.1', list(20).slice(17), '10.0.17.1', 3]);
    req.headers['x-forwarded-for'] = '192.0.2.1';
    expect(read()).toEqual(['192.0.2.1', ['192.0.2.1'], '192.0.2.1', 1]);
    delete req.headers['x-forwarded-for'];
    expect(req.ips).toEqual([]);
    Object.assign(req, { ip: 'mine' });
    expect(req.ip).toBe('mine');
  });

  test.each([1, 31, 32, 33, 5000])('are those that the nearest proxies have written, 32 of %d', (length) => {
    for (const separator of [',', ', ', ' , ']) {
      const req = requestWith({ 'x-forwarded-for': list(length).join(separator) });
      const trust = jest.spyOn(req[kSettings], 'trustProxy' as never);
      expect(req.ips).toEqual(list(length).slice(-32));
      expect(req.ip).toBe(list(length).slice(-32)[0]);
      expect(trust).toHaveBeenCalledTimes(Math.min(length, 32));
    }
    expect(requestWith({ 'x-forwarded-for': `192.0.2.1${','.repeat(length)}` }).ips).toEqual(length < 32 ? ['192.0.2.1'] : []);
  });
});

/** Paths of a length. */
const paths: Readonly<Record<string, (length: number) => string>> = {
  'segments': (length) => '/a'.repeat(length / 2),
  'slashes': (length) => '/'.repeat(length),
  'one segment': (length) => `/${'a'.repeat(length)}`,
  'nearly the end': (length) => `${'/a/b'.repeat(length / 4)}/c`,
  'separators': (length) => `/${'a-'.repeat(length / 2)}`,
  'escapes': (length) => '/%61'.repeat(length / 4),
  'malformed escapes': (length) => `/${'%'.repeat(length)}`,
  'capitals': (length) => '/A.b'.repeat(length / 4),
};

const PATTERNS = ['/a/:id', '/a/*rest', '/{:a/}b/{*rest}', '/:a-*rest/:b/*more', '/:a-:b', '/:a-:b-:c-:d', '/:name.json', '/**', '/a/**/b', '/**/a/:b/z', '/*/**/:b-:c/d', '/:a(\\d+)', '/:a/*'];
const exact: PathRules = { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false };
const relaxed: PathRules = { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true };

describe.each(PATTERNS)('the pattern %s', (text) => {
  test.each(Object.entries(paths))('is matched by work that grows with the path: %s', (_, make) => {
    for (const rules of [exact, relaxed]) {
      const [pattern] = parsePattern(text, rules) as [Pattern];
      expect(growth(make, (target) => {
        const path = new Path(target, rules);
        return pattern.matches(path) && pattern.capture(path, false, false);
      })).toBeLessThan(40);
    }
  });
});

describe.each([/^\/api/, '/*any', '/api/*any', '/:a/*any'])('a router that is mounted at %s', (mount) => {
  test.each(Object.entries(paths))('reads a path once, however many routes it has: %s', (_, make) => {
    const target = `/api${make(8192)}`;
    const work = (routes: number): number => {
      const inner = Router();
      for (let i = 0; i < routes; i++) inner.get([`/r${i}/:id`, `/r${i}/*rest`], () => undefined);
      const outer = Router().use(mount, inner)[kMounted];
      const rules = rulesOf(relaxed);
      const find = (path: string): boolean => takes(outer, 'GET', path, rules);
      find('/api/x/y');
      return workOf(() => find(target));
    };
    expect(work(40) / work(2)).toBeLessThan(3);
  });
});

test.each(['a/', '/', '.%2e/', '%2f'])('a path is cut once for each router that looks at it, however many routes are in it: %s', (unit) => {
  const path = `/${unit.repeat(8000 / unit.length)}`;
  for (const paths of [relaxed, exact]) {
    const rules = rulesOf(paths);
    const cuts = (routes: number): number => {
      const inner = Router();
      for (let i = 0; i < routes; i++) inner.get(`/:a/zz${i}`, () => undefined).use(`/yy${i}`, () => undefined).get('/:a-:b', () => undefined);
      const outer = Router().use('/:first', inner)[kMounted];
      takes(outer, 'GET', '/a', rules);
      const split = jest.spyOn(String.prototype, 'split');
      takes(outer, 'GET', path, rules);
      const { length } = split.mock.calls;
      split.mockRestore();
      return length;
    };
    expect(cuts(64)).toBe(cuts(2));
    expect(cuts(2)).toBeLessThan(6);
  }
});

test.each(Object.entries({
  'names': (length: number) => 'a=b&'.repeat(length / 4),
  'ampersands': (length: number) => '&'.repeat(length / 4),
  'escapes': (length: number) => `a=${'%41'.repeat(length / 3)}`,
  'malformed escapes': (length: number) => `a=${'%'.repeat(length)}`,
  'plus signs': (length: number) => `a=${'+'.repeat(length)}`,
  'equals signs': (length: number) => `a${'='.repeat(length)}`,
}))('a form is read by work that grows with its length: %s', (_, make) => {
  // Of so many fields as are read at all.
  expect(growth(make, parseForm, 200)).toBeLessThan(40);
});
