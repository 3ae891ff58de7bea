import type { RequestHandler } from 'express';
import { ExpressOracle } from './support/express-oracle';
import { ask } from './support/wire';

/** The methods of a response, for any arguments. */
type Untyped = Record<'set' | 'header' | 'append' | 'setHeader' | 'type' | 'contentType' | 'links' | 'vary' | 'cookie' | 'clearCookie' | 'location', (...args: unknown[]) => unknown>;

/** Arguments that the types forbid, and programs in JavaScript give. */
const CALLS: Record<string, (res: Untyped) => unknown> = {};
const odd: readonly unknown[] = [undefined, null, {}, [], 0, 7, true, '', 'X-A', ['X-A', 'X-B'], [['X-A', '1']], Object.create({ 'X-Inherited': '1' }), { 'X-A': undefined, 'X-B': null, 'X-C': 0, 'X-D': false }, { 'X-A': ['1', 2, null] }, { 'Content-Type': 'text/html' }, { 'content-type': 'json' }];
for (const method of ['set', 'header'] as const) {
  odd.forEach((given, at) => {
    CALLS[`${method}(${String(at)}: ${JSON.stringify(given)})`] = (res) => res[method](given);
  });
  for (const value of [undefined, null, 0, false, true, '', [], [1, 'b', null], {}, { toString: () => 'text' }, 1n, new Date(0)]) {
    CALLS[`${method}('X-A', ${typeof value === 'bigint' ? '1n' : JSON.stringify(value)})`] = (res) => res[method]('X-A', value);
    CALLS[`${method}('Content-Type', ${typeof value === 'bigint' ? '1n' : JSON.stringify(value)})`] = (res) => res[method]('Content-Type', value);
  }
  for (const name of [undefined, null, 7, {}, ['X-A'], '', 'bad name']) CALLS[`${method}(${JSON.stringify(name)}, 'x')`] = (res) => res[method](name, 'x');
}
for (const value of [undefined, null, 0, 7, '', [], ['a', 'b'], {}, [undefined]]) {
  CALLS[`append('X-A', ${JSON.stringify(value)})`] = (res) => res.append('X-A', value);
  CALLS[`append('X-A', ${JSON.stringify(value)}) to another`] = (res) => [res.set('X-A', 'first'), res.append('X-A', value)];
  CALLS[`append('X-A', ${JSON.stringify(value)}) to two`] = (res) => [res.set('X-A', ['first', 'second']), res.append('X-A', value)];
}
CALLS['append to a number'] = (res) => [res.setHeader('X-A', 5), res.append('X-A', 'b')];
CALLS['append to zero'] = (res) => [res.setHeader('X-A', 0), res.append('X-A', 'b')];
CALLS['append()'] = (res) => res.append();
for (const type of [undefined, null, 7, '', '.', 'html', '.png', 'no-such-type', 'a/b', '/', 'text/html; charset=x', [], ['html'], {}]) {
  CALLS[`type(${JSON.stringify(type)})`] = (res) => res.type(type);
  CALLS[`contentType(${JSON.stringify(type)})`] = (res) => res.contentType(type);
}
for (const links of [undefined, null, {}, [], 'ab', 7, { next: 5 }, { next: null }, { next: undefined }, { next: ['a', 5] }, { next: [] }, { next: 'a', last: ['b', 'c'] }, { next: {} }]) {
  CALLS[`links(${JSON.stringify(links)})`] = (res) => res.links(links);
  CALLS[`links(${JSON.stringify(links)}) to others`] = (res) => [res.set('Link', '<z>; rel="z"'), res.links(links)];
}
for (const field of [undefined, null, '', 0, 7, [], {}, 'a, b', ['a', 'B', 'a'], '*', ['*'], 'bad name', [undefined], [7]]) {
  CALLS[`vary(${JSON.stringify(field)})`] = (res) => res.vary(field);
  CALLS[`vary(${JSON.stringify(field)}) to others`] = (res) => [res.set('Vary', 'Accept'), res.vary(field)];
}
for (const value of [undefined, null, 0, '', true, [], {}, [1], { a: 1 }, 'ä', 1n, new Date(0)]) {
  CALLS[`cookie('a', ${typeof value === 'bigint' ? '1n' : JSON.stringify(value)})`] = (res) => res.cookie('a', value);
}
for (const options of [undefined, null, {}, 7, 'x', { maxAge: undefined }, { maxAge: null }, { maxAge: 'x' }, { maxAge: '5000' }, { path: null }, { path: '' }, { signed: true }, { signed: 0 }, { domain: 7 }, { expires: 'x' }, { sameSite: true }, { sameSite: 'odd' }, { priority: 'low' }]) {
  CALLS[`cookie('a', 'b', ${JSON.stringify(options)})`] = (res) => res.cookie('a', 'b', options);
  CALLS[`clearCookie('a', ${JSON.stringify(options)})`] = (res) => res.clearCookie('a', options);
}
for (const name of [undefined, null, '', 7, 'bad name', {}]) CALLS[`cookie(${JSON.stringify(name)}, 'b')`] = (res) => res.cookie(name, 'b');
for (const url of [undefined, null, 7, '', {}, [], '/ä b', 'http://a/%zz']) CALLS[`location(${JSON.stringify(url)})`] = (res) => res.location(url);

/** Where Express sends `Content-Type: false`, or a list that ends in a comma, waypost sends the words given, or no comma. */
const BETTER = /^(?:set|header)\('Content-Type', (?:null|0|true|""|1n|"1970.*|undefined)\)$|^links\((?:\[\]|7|\{"next":\[\]\})\) to others$/;

const NAMES = Object.keys(CALLS).filter((name) => !BETTER.test(name));
const IGNORED = new Set(['date', 'connection', 'keep-alive', 'x-powered-by', 'etag', 'content-length', 'transfer-encoding']);

const handler: RequestHandler = (req, res) => {
  try {
    (CALLS[NAMES[Number(req.query['at'])] as string] as (res: Untyped) => unknown)(res as unknown as Untyped);
  } catch {
    for (const name of res.getHeaderNames()) res.removeHeader(name);
    res.setHeader('X-Threw', 'yes');
  }
  res.end();
};

let oracle: ExpressOracle;

beforeAll(async () => {
  oracle = await ExpressOracle.start((app) => app.get('/', handler));
});
afterAll(() => oracle.close());

test.each(NAMES.map((name, at) => [name, at] as const))('res.%s does what it does in Express', async (_, at) => {
  await oracle.each(async (port) => {
    const { status, headers } = await ask(port, `/?at=${at}`);
    return [status, Object.entries(headers).filter(([name]) => !IGNORED.has(name)).map(([name, value]) => [name, String(value).replace(/Expires=[^;]*(19[67]|20[2-9])/g, 'Expires=$1')]).sort()];
  });
});
