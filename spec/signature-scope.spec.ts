import { posix } from 'node:path';
import fc from 'fast-check';
import type { ScopeEntry } from '../lib/options/options';
import { Path, type PathRules } from '../lib/routing/patterns/path';
import { parsePattern, type Pattern } from '../lib/routing/patterns/pattern';
import { canonicalPath } from '../lib/signature/scope/canonical';
import { SignatureScope } from '../lib/signature/scope/scope';
import { anyCharacter } from './support/any-character';
import { expectSame } from './support/expect-same';
import { runs } from './support/runs';

const exact: PathRules = { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false };
const relaxed: PathRules = { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true };

function scope(include: readonly ScopeEntry[], exclude: readonly ScopeEntry[] = [], rules = exact): SignatureScope {
  return new SignatureScope(include, exclude, rules);
}

// What servers, parsers and frameworks do to a path before they route it.
const readings = {
  decode: (path: string) => path.replace(/(?:%[0-9a-f]{2})+/gi, (run) => attempt(decodeURIComponent, run)),
  decodeAllButSlash: (path: string) => path.replace(/(?:%(?!2f)[0-9a-f]{2})+/gi, (run) => attempt(decodeURIComponent, run)),
  decodeStatic: (path: string) => attempt(decodeURI, path),
  backslash: (path: string) => path.replaceAll('\\', '/'),
  cutParameters: (path: string) => path.replace(/;[^/]*/g, ''),
  cutQuery: (path: string) => path.replace(/[?#].*$/s, ''),
  parse: (path: string) => attempt((text) => new URL(text, 'http://localhost').pathname, path),
  normalize: (path: string) => posix.normalize(path),
  collapse: (path: string) => path.replace(/\/+/g, '/'),
  trim: (path: string) => path.replace(/(?<=.)\/$/, ''),
  suffix: (path: string) => path.replace(/\.xJson$/, ''),
  lower: (path: string) => path.toLowerCase(),
};

function attempt(read: (text: string) => string, text: string): string {
  try {
    return read(text);
  } catch {
    return text;
  }
}

type Reading = keyof typeof readings;
const readers = fc.array(fc.constantFrom(...(Object.keys(readings) as Reading[])), { maxLength: 6 });

function read(path: string, reader: readonly Reading[]): string {
  return reader.reduce((text, reading) => readings[reading](text), path);
}

/** A matcher of its own: the table of INTERFACE section 4.2 as an expression, letters of either case. */
function takes(pattern: string, path: string): boolean {
  const source = pattern.split('/').map((segment) => {
    if (segment === '**') return '[^/][^]*';
    return segment === '*' || segment.startsWith(':') ? '[^/]+' : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${source.join('/')}$`, 'i').test(path);
}

// Ways to disguise a path, each applied at a place of choice.
const disguises: readonly ((path: string, at: number) => string)[] = [
  (path, at) => swap(path, at, (char) => `%${hex(char)}`),
  (path, at) => swap(path, at, (char) => `%25${hex(char)}`),
  (path, at) => swap(path, at, (char) => `%${hex(char).replace(/./g, (digit) => `%3${digit}`)}`),
  (path, at) => swap(path, at, (char) => (char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase())),
  (path, at) => slash(path, at, '//'),
  (path, at) => slash(path, at, '/./'),
  (path, at) => slash(path, at, '/x/../'),
  (path, at) => slash(path, at, '/..;/'),
  (path, at) => slash(path, at, '/%2e%2E/'),
  (path, at) => slash(path, at, '\\'),
  (path, at) => slash(path, at, '%5c'),
  (path, at) => slash(path, at, '%2F'),
  (path, at) => slash(path, at, '%252f'),
  (path, at) => slash(path, at, ';v=1/'),
  (path, at) => slash(path, at, '/\t'),
  (path) => `${path}/`,
  (path) => `${path}.xJson`,
  (path) => `${path};a=b`,
  (path) => `${path}#f`,
  (path) => `${path}%3Fx`,
  (path) => `${path}/../y`,
  (path) => `/.${path}`,
  (path) => `/public/..${path}`,
  (path) => `//evil${path}`,
  (path) => `/${path}`,
];

function hex(char: string): string {
  return char.charCodeAt(0).toString(16).padStart(2, '0');
}

function swap(path: string, at: number, change: (char: string) => string): string {
  const index = 1 + (at % Math.max(1, path.length - 1));
  return path.slice(0, index) + change(path[index] ?? 'x') + path.slice(index + 1);
}

function slash(path: string, at: number, instead: string): string {
  const places = [...path.matchAll(/\//g)].map((match) => match.index);
  const index = places[at % places.length] ?? 0;
  return index === 0 && !instead.startsWith('/') ? path : path.slice(0, index) + instead + path.slice(index + 1);
}

const words = fc.constantFrom('api', 'v1', 'users', 'public', 'a', 'x', 'README.md', '%41', 'caf%C3%A9', '..', '.', '');
const paths = fc.array(words, { minLength: 1, maxLength: 4 }).map((segments) => `/${segments.join('/')}`);
const hostile = fc
  .tuple(paths, fc.array(fc.tuple(fc.constantFrom(...disguises), fc.nat(40)), { maxLength: 4 }))
  .map(([path, steps]) => steps.reduce((text, [disguise, at]) => disguise(text, at), path));
const patternWords = fc.constantFrom('api', 'v1', 'users', 'public', 'a', ':id', '*', '**', 'README.md');
const patterns = fc
  .uniqueArray(patternWords, { minLength: 1, maxLength: 3 })
  .map((segments) => `/${segments.join('/')}`);
const rules = fc.record({ caseSensitive: fc.boolean(), ignoreTrailingSlash: fc.boolean(), ignoreDuplicateSlashes: fc.boolean() });

describe('an include', () => {
  test('is required however the path is disguised, if any reading of it is included', () => {
    let seen = 0;
    fc.assert(
      fc.property(fc.array(patterns, { minLength: 1, maxLength: 2 }), rules, hostile, readers, (include, compared, path, reader) => {
        const view = read(path, reader);
        if (!include.some((pattern) => takes(pattern, view))) return;
        seen++;
        expectSame(scope(include, [], compared).requires('GET', path), true, [path, view]);
      }),
      { numRuns: runs(6_000) },
    );
    expect(seen).toBeGreaterThan(runs(400));
  });

  test('is required wherever the router itself matches it', () => {
    let matched = 0;
    const targets = fc.oneof(hostile, fc.string().map((text) => `/${text}`));
    fc.assert(
      fc.property(patterns, rules, targets, (pattern, compared, path) => {
        if (!parsePattern(pattern, compared).some((alternative) => alternative.matches(new Path(path, compared)))) return;
        matched++;
        expectSame(scope([pattern], [], compared).requires('GET', path), true);
      }),
      { numRuns: runs(4_000) },
    );
    expect(matched).toBeGreaterThan(runs(100));
  });

  test.each([
    '/api/x', '/api', '/API/x', '/%61pi/x', '/%2561pi/x', '/%25252561pi/x', '//api/x', '/api//x', '/api/x/', '/api/', '/./api/x', '/x/../api/x',
    '/%2e%2e/api/x', '/x/%2e%2e%2fapi/x', '/x%2f..%2fapi/x', '/api%2fx', '/api%u002fx', '/%u0061pi/x', '/api%20', '/api%E3%80%80', '/api%5cx', '\\api\\x', '/\\api/x', '/api;v=1/x', '/api/x;v=1', '/x/..;/api/x',
    '/api.xJson', '/api/x.xJson', '/api/x.XJSON', '/api#f', '/API#f', '/API%3Ff', '/API?f', '/api/..%2fpublic', '/API/../public', '/api/../public', '//evil/api/x', '/ap\ti/x',
    'http://localhost/api/x', 'HTTP://localhost/%61pi/x', 'http://localhost:80//api/x#f', '/%c3%a9/../api/x', '/api/%', '/api/%zz', '/%61pi/%', '/api/a%00b', '*', 'localhost:80',
  ])('/api/** is required of %j', (path) => {
    for (const compared of [exact, relaxed]) {
      expect(scope(['/api/**'], [], compared).requires('GET', path)).toBe(true);
      expect(scope(['/api/**'], ['/api/public/**', '/public/**', '/x/**', '/evil/**'], compared).requires('GET', path)).toBe(true);
    }
  });

  test.each(['', '/', '/apix', '/apix/x', '/public', '/public/api', '/v1/api/x', '/ap', '/public/a%20b', '/public/caf%C3%A9', '/PUBLIC', '/public/', '/public//x', '/public/100%25', '/public/a%2Fb', '/public/a;b', '/api-docs', '/x.xJson', 'http://localhost/public', 'http://localhost'])(
    '/api/** is not required of %j',
    (path) => {
      expect(scope(['/api/**']).requires('GET', path)).toBe(false);
    },
  );

  test('of one segment covers one segment', () => {
    const one = scope(['/api/*']);
    for (const path of ['/api/x', '/API/x', '/api/a%2Fb', '/API/a%2Fb', '/API/a%252Fb', '/api/%20', '/api/x/']) expect([path, one.requires('GET', path)]).toEqual([path, true]);
    for (const path of ['/api', '/api/x/y', '/api/caf%C3%A9/x', '/API/x/y']) expect([path, one.requires('GET', path)]).toEqual([path, false]);
  });

  test('may hold text that is not canonical itself', () => {
    expect(scope(['/API/*']).requires('GET', '/api/x')).toBe(true);
    expect(scope(['/api/']).requires('GET', '/api')).toBe(true);
    expect(scope(['/café']).requires('GET', '/caf%C3%A9')).toBe(true);
    expect(scope(['/caf%C3%A9']).requires('GET', '/CAF%c3%89')).toBe(true);
    expect(scope(['/a%40b']).requires('GET', '/a@b')).toBe(true);
    expect(scope(['/a%2Fb']).requires('GET', '/a%2fb')).toBe(true);
    expect(scope(['/data.xJson']).requires('GET', '/data.xJson')).toBe(true);
    expect(scope(['/data.xJson']).requires('GET', '/DATA.xJson.xJson')).toBe(true);
  });

  test('may share a segment between parameters and text, and constrain them', () => {
    const mixed = scope(['/u/:id(\\d+)', '/f/:name.json', '/C/:code([A-Z]+)']);
    for (const path of ['/u/12', '/u/%31', '/U/12', '/f/a.json', '/F/A.JSON', '/f/a%2ejson', '/C/ABC', '/c/ABC']) expect([path, mixed.requires('GET', path)]).toEqual([path, true]);
    for (const path of ['/u/me', '/f/a.txt', '/f/.json', '/C/12']) expect([path, mixed.requires('GET', path)]).toEqual([path, false]);
    for (const path of ['/c/ABC', '/c/%41BC']) expect([path, scope(['/c/:code([^a-z]+)']).requires('GET', path)]).toEqual([path, true]);
    expect(scope(['/f/:name.xJson']).requires('GET', '/F/a.xJson')).toBe(true);
  });

  test('that is empty means every request', () => {
    fc.assert(fc.property(fc.oneof(hostile, fc.string()), fc.string(), (path, method) => expect(scope([]).requires(method, path)).toBe(true)));
  });

  test('/** means every path', () => {
    fc.assert(fc.property(fc.oneof(hostile, fc.string()), (path) => expectSame(scope(['/**']).requires('GET', path), true)), { numRuns: runs(1_250) });
  });
});

describe('an exclude', () => {
  test('exempts nothing of which some reading is not excluded', () => {
    let exempt = 0;
    fc.assert(
      fc.property(fc.array(patterns, { minLength: 1, maxLength: 3 }), rules, fc.oneof(paths, hostile), readers, (exclude, compared, path, reader) => {
        if (scope([], exclude, compared).requires('GET', path)) return;
        exempt++;
        const view = read(path, reader);
        expectSame(exclude.some((pattern) => takes(pattern, view)), true, [path, view]);
      }),
      { numRuns: runs(12_000) },
    );
    expect(exempt).toBeGreaterThan(runs(200));
  });

  const guarded = scope([], ['/health', '/public/**', '/d/:token']);

  test.each(['/health', '/public/a', '/public/a/b.css', '/public/README.md', '/d/aGVsbG8', "/public/a-b_c~d.e!f$g&h'(i)*+,=:@", '/public/...', '/public/.well-known'])('exempts %j', (path) => {
    expect(guarded.requires('GET', path)).toBe(false);
  });

  test.each([
    '/', '/healthz', '/public', '/HEALTH', '/Public/a', '/health/', '/health.xJson', '/public/a.xjson', '//health', '/health;x', '/health#x', '/health?x', '/public/a?x', '/%68ealth', '/public/a%20b', '/public/%2e%2e/api', '/public/../api',
    '/public/..', '/public/.', '/public/./a', '/public/..;/api', '/public/..%2fapi', '/public/a\\b', '/public//a', '/public/a/', '/public/é', '/public/a\tb', '/public/\x7f', 'http://localhost/health', '/d/a%2fb',
  ])('does not exempt %j', (path) => {
    for (const compared of [exact, relaxed]) {
      expect(scope([], ['/health', '/public/**', '/d/:token'], compared).requires('GET', path)).toBe(true);
    }
  });

  test('is compared exactly, capitals included', () => {
    for (const compared of [exact, relaxed]) {
      const capital = scope([], ['/Public/*'], compared);
      expect(['/Public/A', '/public/A', '/PUBLIC/A'].map((path) => capital.requires('GET', path))).toEqual([false, true, true]);
    }
  });

  test('takes away from includes', () => {
    const part = scope(['/api/**'], ['/api/public/*']);
    expect(part.requires('GET', '/api/public/x')).toBe(false);
    expect(part.requires('GET', '/api/public/x/y')).toBe(true);
    expect(part.requires('GET', '/api/private')).toBe(true);
    expect(part.requires('GET', '/other')).toBe(false);
  });
});

describe('methods', () => {
  test('an include with methods is for those, in any case, and HEAD goes with GET', () => {
    const some = scope([{ path: '/a', methods: ['get', 'POST'] }]);
    expect(['GET', 'get', 'POST', 'HEAD', 'head'].map((method) => some.requires(method, '/a'))).toEqual([true, true, true, true, true]);
    expect(['PUT', 'DELETE', 'OPTIONS'].map((method) => some.requires(method, '/a'))).toEqual([false, false, false]);
    expect(scope([{ path: '/a', methods: ['POST'] }]).requires('HEAD', '/a')).toBe(false);
    expect(['PUT', 'GET'].map((method) => some.requires(method, '/x/..;/%61'))).toEqual([false, true]);
  });

  test('an exclude with methods exempts those alone, HEAD only by its name', () => {
    const some = scope([], [{ path: '/a', methods: ['get'] }]);
    expect(['GET', 'get', 'HEAD', 'POST'].map((method) => some.requires(method, '/a'))).toEqual([false, false, true, true]);
    expect(scope([], [{ path: '/a', methods: ['HEAD'] }]).requires('HEAD', '/a')).toBe(false);
  });

  test('lets CORS preflights through as the documents have it', () => {
    const preflights = scope([], [{ path: '/', methods: ['OPTIONS'] }, { path: '/**', methods: ['OPTIONS'] }]);
    expect(['/', '/a', '/a/b'].map((path) => preflights.requires('OPTIONS', path))).toEqual([false, false, false]);
    expect(preflights.requires('GET', '/a')).toBe(true);
  });
});

describe('canonicalPath', () => {
  test.each([
    ['/', '/'], ['', '/'], ['/a', '/a'], ['/A/b/', '/a/b'], ['//a///b', '/a/b'], ['/a/./b/../c', '/a/c'], ['/..//../a', '/a'], ['/a//..', '/a'],
    ['/%61', '/a'], ['/%2561', '/a'], ['/%25252561', '/a'], ['/%2%35%36%31', '/a'], ['/%%36%31', '/a'], ['/a%2Fb', '/a/b'], ['/a%5Cb\\c', '/a/b/c'],
    ['/a;x=1/b;y', '/a/b'], ['/a/..;/b', '/b'], ['/a%3bx', '/a'], ['/a.xJson', '/a'], ['/a.xJson/', '/a'], ['/a.XJSON.xjson', '/a'], ['/.xJson', '/'], ['/a/...xJson', '/'],
    ['/caf%C3%A9', '/café'], ['/CAF%C3%89', '/café'], ['/%C0%AF', '/\u00e0\u00af'], ['/%E0%80%AF', '/\u00e0\u0080\u00af'], ['/%', '/%'], ['/%zz', '/%zz'], ['/100%25', '/100%'], ['/a/b;/../..', '/'],
  ])('of %j is %j', (path, expected) => {
    expect(canonicalPath(path)).toBe(expected);
  });

  test('has nothing left to canonicalise', () => {
    const any = fc.oneof(hostile, fc.string({ unit: anyCharacter }), fc.array(fc.constantFrom('/', '.', '..', '%', '2', '5', 'e', 'f', ';', '\\', '.xJson', 'a', 'Ã', '©', '%c3', '%a9')).map((parts) => parts.join('')));
    fc.assert(
      fc.property(any, (path) => {
        const once = canonicalPath(path);
        expectSame(canonicalPath(once), once);
        expectSame(/^\/(?:[^/\\;]+(?:\/[^/\\;]+)*)?$/.test(once), true, once);
      }),
      { numRuns: runs(4_000) },
    );
  });

  test('decodes as decoding again and again does', () => {
    const parts = fc.array(fc.constantFrom('%', '2', '5', '4', '1', '6', '%25', '%41', 'z'), { maxLength: 20 });
    fc.assert(
      fc.property(parts, (text) => {
        let before: string;
        let after = `/x${text.join('')}`;
        do {
          before = after;
          after = before.replace(/%[0-7][0-9a-f]/gi, (escape) => String.fromCharCode(parseInt(escape.slice(1), 16)));
        } while (after !== before);
        // What comes to light may be a slash or a `;`; those are for the examples above.
        fc.pre(/^[/x%\w!"#$&'()*+,:<=>?@[\]^`{|}~-]*$/.test(after) && !after.includes('/', 1) && !/%[89a-f]/i.test(after));
        expectSame(canonicalPath(`/x${text.join('')}`), after.toLowerCase());
      }),
      { numRuns: 5_000 },
    );
  });

  test('is the same for a long path of nested escapes', () => {
    expect(canonicalPath(`/%${'25'.repeat(50_000)}61`)).toBe('/a');
    expect(canonicalPath(`/${'x/'.repeat(20_000)}a${'/..'.repeat(20_001)}`)).toBe('/');
    expect(canonicalPath(`/a${'/x/...xJson'.repeat(5_000)}`)).toMatch(/^\//);
  });
});

describe('uncovered', () => {
  function missed(include: readonly ScopeEntry[], routes: readonly string[], exclude: readonly ScopeEntry[] = []): string[] {
    const registered = routes.map((route) => {
      const [method, pattern] = route.split(' ') as [string, string];
      return { method: method === 'ALL' ? null : method, pattern };
    });
    return scope(include, exclude).uncovered(registered).map(({ method, pattern }) => `${method ?? 'ALL'} ${pattern}`);
  }

  test('names what lies beneath an included prefix and is not covered', () => {
    const routes = ['GET /api/a', 'GET /api/a/b', 'POST /api/:id', 'ALL /api/**', 'GET /api', 'GET /apix/a/b', 'GET /:x/a/b', 'GET /API/a/b', 'GET /api/*'];
    expect(missed(['/api/*'], routes)).toEqual(['GET /api/a/b', 'ALL /api/**', 'GET /api', 'GET /API/a/b']);
    expect(missed(['/api/**'], routes)).toEqual([]);
    expect(missed(['/api/*', '/api/**'], routes)).toEqual([]);
    expect(missed([], routes)).toEqual([]);
    expect(missed(['/*'], ['GET /', 'GET /a', 'GET /a/b'])).toEqual(['GET /', 'GET /a/b']);
  });

  test('looks at constraints, text and wildcards', () => {
    expect(missed(['/u/:id(\\d+)'], ['GET /u/:id', 'GET /u/:n(\\d+)', 'GET /u/me', 'GET /u/*', 'GET /u/:n(\\w+)'])).toEqual(['GET /u/:id', 'GET /u/me', 'GET /u/*', 'GET /u/:n(\\w+)']);
    expect(missed(['/a/**/z'], ['GET /a/**/z', 'GET /a/b/z'])).toEqual(['GET /a/b/z']);
    expect(missed(['/a/:x/c'], ['GET /a/b/c', 'GET /a/**', 'GET /a/:y/c', 'GET /a/:y/d'])).toEqual(['GET /a/**', 'GET /a/:y/d']);
  });

  test('minds methods', () => {
    const some: ScopeEntry[] = [{ path: '/api/**', methods: ['GET'] }];
    expect(missed(some, ['GET /api/a', 'HEAD /api/a', 'POST /api/a', 'ALL /api/a'])).toEqual(['POST /api/a', 'ALL /api/a']);
  });

  test('leaves out what an exclude covers', () => {
    expect(missed(['/api/*'], ['GET /api/docs/a', 'GET /api/x/a'], ['/api/docs/**'])).toEqual(['GET /api/x/a']);
    expect(missed(['/api/:id/*'], ['GET /api/docs', 'GET /api/docs/a/b'], ['/api/docs/**'])).toEqual(['GET /api/docs']);
  });

  test('takes parsed patterns too, and gives back what it was given', () => {
    const [pattern] = parsePattern('/api/a/b', exact);
    const route = { method: 'GET', pattern: pattern as Pattern, more: 1 };
    expect(scope(['/api/*']).uncovered([route])).toEqual([route]);
  });

  test('covers no route of which it does not require every path', () => {
    const tails = fc.uniqueArray(fc.constantFrom('a', 'v1', ':id', '*', '**'), { minLength: 1, maxLength: 3 });
    const heads = fc.constantFrom('', '/api', '/api/v1');
    let covered = 0;
    fc.assert(
      fc.property(heads, tails, tails, fc.array(words, { minLength: 3, maxLength: 3 }), (head, [first = '*', ...rest], tail, values) => {
        const include = [head, /^[:*]/.test(first) ? first : ':first', ...rest].join('/');
        const route = [head, ...tail].join('/');
        const checked = scope([include]);
        if (checked.uncovered([{ method: 'GET', pattern: route }]).length > 0) return;
        const path = [head, ...tail.map((segment, index) => (/^[:*]/.test(segment) ? values[index] : segment))].join('/');
        if (!parsePattern(route, exact).some((alternative) => alternative.matches(new Path(path, exact)))) return;
        covered++;
        expectSame(checked.requires('GET', path), true, [include, route, path]);
      }),
      { numRuns: 10_000 },
    );
    expect(covered).toBeGreaterThan(500);
  });
});

test('an entry that is no pattern is refused', () => {
  expect(() => scope(['api'])).toThrow(/must start with "\/"/);
  expect(() => scope([], [{ path: '/api*' }])).toThrow(/"\*"/);
});
