import { createServer, Router } from 'waypost';
import { HttpError } from '../lib/errors';
import { kMounted } from '../lib/routing/layer';
import { Path, type PathRules } from '../lib/routing/patterns/path';
import { parsePattern, parsePrefix } from '../lib/routing/patterns/pattern';
import { takes } from '../lib/routing/route-finder';
import { referenceMatch, type ReferenceResult } from './support/reference-matcher';
import { rulesOf } from './support/routed';

const EXACT: PathRules = { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false };
const SILENT = { logging: { level: 'silent' } } as const;

/** What the pattern captures; the reference matcher has to agree. */
function match(pattern: string, path: string, relaxed: Partial<PathRules> = {}): ReferenceResult {
  const rules = { ...EXACT, ...relaxed };
  const parsed = parsePattern(pattern, rules);
  const cut = new Path(path, rules);
  let found: ReferenceResult = null;
  try {
    const matching = parsed.find((alternative) => alternative.matches(cut));
    if (matching !== undefined) found = { ...matching.capture(cut, false, true) };
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    found = 'malformed';
  }
  expect(referenceMatch(pattern, path, rules)).toEqual(found);
  return found;
}

describe('the table of patterns, INTERFACE section 4.2', () => {
  test.each([
    ['/path', '/path', {}],
    ['/path', '/other', null],
    ['/path', '/path/x', null],
    ['/path', '/path/', null],
    ['/path', '/pathx', null],
    ['/path/:param', '/path/v', { param: 'v' }],
    ['/path/:param', '/path', null],
    ['/path/:param', '/path/', null],
    ['/path/:param', '/path/v/w', null],
    ['/path/*', '/path/v', { '*': 'v' }],
    ['/path/*', '/path', null],
    ['/path/*', '/path/', null],
    ['/path/*', '/path/v/w', null],
    ['/path/**', '/path/v', { '**': 'v' }],
    ['/path/**', '/path/a/b/c', { '**': 'a/b/c' }],
    ['/path/**', '/path', null],
    ['/path/**', '/path/', null],
    ['/path/:param/*', '/path/p/v', { param: 'p', '*': 'v' }],
    ['/path/:param/*', '/path/p/v/w', null],
    ['/path/:param/**', '/path/p/v/w', { param: 'p', '**': 'v/w' }],
    ['/path/:param/**', '/path/p', null],
    ['/a/:x/b/:y', '/a/1/b/2', { x: '1', y: '2' }],
    ['/a/:x/b/:y', '/a/1/c/2', null],
    ['/', '/', {}],
    ['/', '/a', null],
    ['/**', '/a/b', { '**': 'a/b' }],
    ['/**', '/', null],
    ['/*', '/a', { '*': 'a' }],
  ])('%s of %s is %j', (pattern, path, params) => {
    expect(match(pattern, path)).toEqual(params);
  });
});

describe('what DECISIONS adds to the language', () => {
  test.each([
    ['/:from-:to', '/a-b', { from: 'a', to: 'b' }],
    ['/:from-:to', '/a-b-c', { from: 'a', to: 'b-c' }],
    ['/:from-:to', '/--b', { from: '-', to: 'b' }],
    ['/:from-:to', '/-b', null],
    ['/:from-:to', '/a-', null],
    ['/:id.json', '/7.json', { id: '7' }],
    ['/:id.json', '/a.json.json', { id: 'a.json' }],
    ['/:id.json', '/.json', null],
    ['/v:major.:minor', '/v1.2', { major: '1', minor: '2' }],
    ['/:id(\\d+)', '/42', { id: '42' }],
    ['/:id(\\d+)', '/4x', null],
    ['/:id(\\d+)', '/x4', null],
    ['/:id(\\d+).json', '/42.json', { id: '42' }],
    ['/:id(a|b)', '/b', { id: 'b' }],
    ['/:id(a|b)', '/ab', null],
    ['/:a((?:x|y)+)-:b', '/xyx-1', { a: 'xyx', b: '1' }],
    ['/:a([^)]+)', '/x(y', { a: 'x(y' }],
    ['/:a(\\)+)', '/))', { a: '))' }],
    ['/:a(\\d+):b', '/12x', { a: '12', b: 'x' }],
    ['/:a-:b(\\w+)', '/1-2-x', { a: '1-2', b: 'x' }],
    ['/:a-:b(.+)', '/1-2-x', { a: '1', b: '2-x' }],
    ['/a/**/b', '/a/1/2/b', { '**': '1/2' }],
    ['/a/**/b', '/a/b', null],
    ['/a/**/b', '/a/b/b', { '**': 'b' }],
    ['/a/**/b', '/a/b/b/b', { '**': 'b/b' }],
    ['/a/**/:id/edit', '/a/x/y/7/edit', { '**': 'x/y', id: '7' }],
    ['/:größe', '/9', { größe: '9' }],
    ['/:constructor/:toString', '/a/b', { constructor: 'a', toString: 'b' }],
  ])('%s of %s is %j', (pattern, path, params) => {
    expect(match(pattern, path)).toEqual(params);
  });

  test.each([':', '*', '+', '(', ')', '{', '}', '\\'])('%s stands for itself behind a backslash', (char) => {
    expect(match(`/a\\${char}b`, `/a${char}b`)).toEqual({});
    expect(match(`/a\\${char}b`, '/ab')).toBeNull();
    expect(match(`/:x\\${char}`, `/v${char}`)).toEqual({ x: 'v' });
  });
});

describe('captures', () => {
  test.each([
    ['/:x', '/a%20b', { x: 'a b' }],
    ['/:x', '/a%2Fb', { x: 'a/b' }],
    ['/*', '/a%2fb', { '*': 'a/b' }],
    ['/:x', '/%2541', { x: '%41' }],
    ['/:x', '/%252F', { x: '%2F' }],
    ['/:x', '/%F0%9F%98%80', { x: '😀' }],
    ['/:x', '/%00', { x: '\0' }],
    ['/:x', '/..', { x: '..' }],
    ['/:x', '/a;b=c', { x: 'a;b=c' }],
    ['/:x', '/a+b', { x: 'a+b' }],
    ['/**', '/a%20b/c', { '**': 'a b/c' }],
    ['/**', '/a%2Fb/c', { '**': 'a%2Fb/c' }],
    ['/**', '/a%2fb%20', { '**': 'a%2Fb ' }],
    ['/**', '/a%252Fb', { '**': 'a%2Fb' }],
    ['/:a-:b', '/x%2Dy-z', { a: 'x', b: 'y-z' }],
    ['/:x(\\d+)', '/%34%32', { x: '42' }],
    ['/f/**', '/f/a/', { '**': 'a/' }],
    ['/f/**', '/f/a//b', { '**': 'a//b' }],
    ['/f/**', '/f//a', null],
    ['/f/:x', '/f//', null],
    ['/:x/b', '//b', null],
    ['/a/**/b', '/a//b', null],
    ['/a/**/b', '/a//x/b', null],
    ['/a/**/b', '/a/x//b', { '**': 'x/' }],
  ])('%s of %s is %j', (pattern, path, params) => {
    expect(match(pattern, path)).toEqual(params);
  });

  test.each(['%', '%z', '%zz', '%f', '%ff', '%c3%28', '%E2%82', '%ED%A0%80', '%F8%80%80%80'])('a malformed %s in what is captured is refused', (bad) => {
    expect(match('/:x', `/a${bad}`)).toBe('malformed');
    expect(match('/*', `/${bad}`)).toBe('malformed');
    expect(match('/a/**', `/a/b/${bad}/c`)).toBe('malformed');
    expect(match('/:a-:b', `/x-${bad}`)).toBe('malformed');
    expect(match('/:a.json', `/${bad}.json`)).toBe('malformed');
    expect(match('/:x/y', `/a/${bad}`)).toBeNull();
  });

  test('may be longer than a hundred characters, and may be many', () => {
    const long = 'x'.repeat(15_000);
    expect(match('/:x', `/${long}`)).toEqual({ x: long });
    const names = Array.from({ length: 60 }, (_, index) => `n${index}`);
    const expected = Object.fromEntries(names.map((name) => [name, name]));
    expect(match(`/:${names.join('/:')}`, `/${names.join('/')}`)).toEqual(expected);
  });

  test('of middleware keep a malformed value as it was sent', () => {
    const [prefix] = parsePrefix('/:x', EXACT);
    expect(prefix?.capture(new Path('/%zz/b', EXACT), true, false)).toEqual({ x: '%zz' });
  });
});

describe('static text', () => {
  test.each([
    ['/caf%C3%A9', '/café', true],
    ['/café', '/caf%c3%a9', true],
    ['/a b', '/a%20b', true],
    ['/a', '/%61', true],
    ['/a-b', '/a%2Db', true],
    ['/a', '/%2561', false],
    ['/a/b', '/a%2Fb', false],
    ['/a%2Fb', '/a%2fb', true],
    ['/a%2Fb', '/a/b', false],
    ['/a@b', '/a%40b', false],
    ['/a%3Fb', '/a%3fb', true],
    ['/a%25b', '/a%25b', true],
    ['/a/b', '/a/./b', false],
    ['/a/b', '/a/c/../b', false],
    ['/a', '/a;x=1', false],
    ['/a', '/a%00', false],
    ['/a', '/a%zz', false],
  ])('%s and %s: %j', (pattern, path, equal) => {
    expect(match(pattern, path)).toEqual(equal ? {} : null);
  });
});

describe('the routing options', () => {
  test.each<[string, string, Partial<PathRules>, ReferenceResult]>([
    ['/Api/:Id', '/aPI/Xy', {}, null],
    ['/Api/:Id', '/aPI/Xy', { caseSensitive: false }, { Id: 'Xy' }],
    ['/É', '/%C3%A9', { caseSensitive: false }, {}],
    ['/:id.JSON', '/Xy.json', { caseSensitive: false }, { id: 'Xy' }],
    ['/:id.JSON', '/İ.JSON', { caseSensitive: false }, { id: 'İ' }],
    ['/:a.Σ-', '/a.Σ-', { caseSensitive: false }, { a: 'a' }],
    ['/:id([a-z]+)', '/XY', { caseSensitive: false }, { id: 'XY' }],
    ['/:id([a-z]+)', '/XY', {}, null],
    ['/a', '/a/', { ignoreTrailingSlash: true }, {}],
    ['/a/', '/a', { ignoreTrailingSlash: true }, {}],
    ['/a/', '/a', {}, null],
    ['/a/', '/a/', {}, {}],
    ['/a', '/a//', { ignoreTrailingSlash: true }, null],
    ['/f/**', '/f/a/', { ignoreTrailingSlash: true }, { '**': 'a' }],
    ['/f/**', '/f/', { ignoreTrailingSlash: true }, null],
    ['/', '/', { ignoreTrailingSlash: true }, {}],
    ['/a/b', '//a///b', { ignoreDuplicateSlashes: true }, {}],
    ['//a//b', '/a/b', { ignoreDuplicateSlashes: true }, {}],
    ['/a', '/a//', { ignoreDuplicateSlashes: true }, null],
    ['/f/**', '/f//a//b', { ignoreDuplicateSlashes: true }, { '**': 'a/b' }],
    ['/a', '/a//', { ignoreDuplicateSlashes: true, ignoreTrailingSlash: true }, {}],
  ])('%s of %s under %j is %j', (pattern, path, rules, params) => {
    expect(match(pattern, path, rules)).toEqual(params);
  });
});

describe('a pattern that is refused', () => {
  /** Pattern, what is wrong with it, what to write instead. */
  const REFUSED: readonly [string, string, string][] = [
    ['api', 'must start with "/"', 'write "/api"'],
    [':id', 'must start with "/"', 'write "/:id"'],
    ['*', 'must start with "/"', 'write "/**" for every path below "/"'],
    ['**', 'must start with "/"', 'write "/**" for every path below "/"'],
    ['/api*', 'has a "*"', 'write "/api/:name" for one segment or "/api/**" for one or more'],
    ['/api**', 'has a "*"', 'write "/api/:name" for one segment or "/api/**" for one or more'],
    ['/***', 'has a "*"', 'write "/:name" for one segment or "/**" for one or more'],
    ['/:id*', 'has a "*"', 'write "/:id/:name" for one segment or "/:id/**" for one or more'],
    ['/*.json', 'has a "*"', 'write "/:name.json"'],
    ['/a}', 'has a "}" that closes nothing', 'write "{" where the optional part begins, or "\\\\}" for the character itself'],
    ['/a{/:b', 'opens a "{" that it does not close', 'write "}" where the optional part ends, or "\\\\{" for the character itself'],
    ['/:id?', 'has a "?"', 'write an optional part in braces, such as "/a{/:b}"'],
    ['/a?b=c', 'has a "?"', 'the query is no part of a pattern'],
    ['/:id(\\d+)?', 'has a "?"', 'write an optional part in braces, such as "/a{/:b}"'],
    ['a{b}', 'must start with "/"', 'write "/a{b}"'],
    [`/${'{a}'.repeat(9)}`, 'has more than 256 combinations of its optional parts', 'write several patterns with fewer "{…}" each'],
    ['/:"a', 'opens a quoted name that it does not close', 'write "\\"" where the name ends'],
    ['/:""', 'has a ":" without a name', 'write ":name"'],
    ['/*""', 'has a "*" that does not stand alone', 'write "/:name""'],
    ['/*a*b', 'has "*a" and "*b" with nothing between them', 'put text between'],
    ['/:a*b', 'has ":a" and "*b" with nothing between them', 'put text between'],
    ['/*a{:b}', 'has "*a" and ":b" with nothing between them', 'put text between'],
    ['/*a/*a', 'has the name "*a" twice', 'give each parameter its own name'],
    ['/*a/**', 'has "**" beside a wildcard with a name', 'give it a name too, such as "*rest"'],
    ['/*a/*', 'has "*" beside a wildcard with a name', 'give it a name too, such as ":rest"'],
    ['/**/*a', 'has "**" before a wildcard with a name', 'give both names'],
    ['/*a/:b(\\d+)', 'has a constraint on ":b" at or behind a wildcard with a name', 'write "/**" in its place'],
    ['/*__proto__', 'may not name a parameter "__proto__"', 'choose another name'],
    ['/a\\?', '"?"', 'write "%3F"'],
    ['/:id+', 'has a "+"', 'write "/**" or "/*name" for one or more segments, or "\\\\+" for the character itself'],
    ['/a#b', 'has a "#"', 'write "%23"'],
    ['/a\\#b', '"#"', 'write "%23"'],
    ['/:', 'has a ":" without a name', 'write ":name", or "\\\\:" for the character itself'],
    ['/:-a', 'has a ":" without a name', 'write ":name"'],
    ['/:1', 'has a ":" without a name', 'write ":name"'],
    ['/a::b', 'has a ":" without a name', 'write ":name"'],
    ['/(\\d+)', 'has a "("', 'write ":name(…)", or "\\\\(" for the character itself'],
    ['/a)', 'has a ")"', 'write ":name(…)"'],
    ['/:a(\\d+', 'opens a "(" that it does not close', 'write ")" where the constraint ends'],
    ['/:a([)', 'opens a "(" that it does not close', 'write ")" where the constraint ends'],
    ['/:a()', 'has an empty constraint on ":a"', 'write what it must match'],
    ['/:a(*)', 'has a constraint on ":a" that is no regular expression', ''],
    ['/:a((.)\\1)', 'constraint on ":a"', 'write'],
    ['/:a((?<x>1))', 'constraint on ":a"', 'write'],
    ['/:a(\\k)', 'constraint on ":a"', 'write'],
    ['/:a:b', 'has ":a" and ":b" with nothing between them', 'put text between, or give the first a constraint'],
    ['/:a-:b-:c(\\d+)', 'mixes several parameters without a constraint', 'give each of them a constraint'],
    ['/:a/:a', 'has the name ":a" twice', 'give each parameter its own name'],
    ['/:a-:a', 'has the name ":a" twice', 'give each parameter its own name'],
    ['/*/*', 'has "*" twice', 'name the others, such as ":name"'],
    ['/**/a/**', 'has "**" twice', 'name the others, such as ":name"'],
    ['/:__proto__', 'may not name a parameter "__proto__"', 'choose another name'],
    ['/100%', 'has malformed percent-encoding in "100%"', 'write "%25" for a percent sign'],
    ['/:a%ff', 'has malformed percent-encoding in "%ff"', 'write "%25" for a percent sign'],
    ['/a\\', 'escapes nothing', 'write "\\\\\\\\" for a backslash'],
  ];

  test.each(REFUSED)('%s: the message names it, what is wrong, and what to write', (pattern, wrong, advice) => {
    const say = (register: () => unknown): string => {
      try {
        register();
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
        return (error as Error).message;
      }
      throw new Error('it was not refused');
    };
    const message = say(() => createServer(SILENT).get(pattern, () => undefined));
    expect(message).toContain(JSON.stringify(pattern));
    expect(message).toContain(wrong);
    expect(message).toContain(advice);
    // One pattern language everywhere, and one message.
    expect(say(() => Router().use(pattern, () => undefined))).toBe(message);
    expect(say(() => Router().use(pattern, Router()))).toBe(message);
    expect(say(() => Router().route(pattern))).toBe(message);
    expect(say(() => Router().all(['/fine', pattern], () => undefined))).toBe(message);
    const requestSignature = { secret: 'x'.repeat(32) };
    for (const lists of [{ includeRoutes: [pattern] }, { excludeRoutes: [pattern] }, { includeRoutes: [{ path: pattern, methods: ['GET'] }] }]) {
      const scoped = say(() => createServer({ ...SILENT, security: { requestSignature, routeConfig: { requestSignature: lists } } }));
      expect(scoped).toContain(pattern.startsWith('/') ? message : 'must be a route pattern that starts with "/"');
    }
  });

  test('what is neither string nor RegExp is named for what it is', () => {
    const router = Router();
    expect(() => router.get(/(?<__proto__>a)/, () => undefined)).toThrow(/the RegExp \/\(\?<__proto__>a\)\/ may not name a group "__proto__"; choose another name/);
    for (const given of [null, undefined, 7, {}]) {
      expect(() => router.get(given as unknown as string, () => undefined)).toThrow(/must be a string or a RegExp, got (null|undefined|number|object)/);
    }
  });

  test('leaves nothing registered, not even what stood beside it', () => {
    const router = Router();
    expect(() => router.get(['/fine', 'wrong'], () => undefined)).toThrow(TypeError);
    expect(() => router.use(['/fine', '/wrong*'], () => undefined)).toThrow(TypeError);
    expect(() => router.get('/fine')).toThrow(TypeError);
    expect(() => router.get('/fine', 'handler' as never)).toThrow(TypeError);
    expect(router.stack).toHaveLength(0);
  });
});

describe('an unfriendly path', () => {
  // Each of these took years where a search goes back over what it has placed.
  test.each([
    ['/**/a/:x/b', `/${'a/a/b/'.repeat(2_500)}c`],
    ['/:a-:b-:c-:d-:e-:f', `/${'-'.repeat(15_000)}`],
    ['/:a.:b.:c.json', `/${'.json'.repeat(3_000)}x`],
  ])('%s is decided at once', (pattern, path) => {
    const [parsed] = parsePattern(pattern, EXACT);
    expect(typeof parsed?.matches(new Path(path, EXACT))).toBe('boolean');
  });

  test('is decided at once where mounts beneath one another take "**"', () => {
    const rules = rulesOf(EXACT);
    let router = Router().get('/a', () => undefined);
    for (let i = 0; i < 8; i++) router = Router().use('/**/a', router);
    // Each mount takes the most it can: what it matches is a path of its own.
    expect(takes(router[kMounted], 'GET', `/${'a/'.repeat(4_000)}b`, rules)).toBe(false);
    expect(takes(Router().use('/**/b', Router().get('/a', () => undefined))[kMounted], 'GET', `/${'a/b/'.repeat(4_000)}a`, rules)).toBe(true);
  });
});
