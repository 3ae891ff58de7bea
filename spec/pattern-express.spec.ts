import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { match as matchOf, type ParamData } from 'path-to-regexp';
import { Path, type PathRules } from '../lib/routing/patterns/path';
import { parsePattern, parsePrefix, type Pattern } from '../lib/routing/patterns/pattern';
import { filled, patternText } from './support/express-pattern';
import { runs } from './support/runs';

/** What a pattern does with a path: what it captures, and of a prefix how much of the path it takes. */
type Outcome = { readonly params: Record<string, unknown>; readonly base?: string } | null | 'refused';

/** The ways in which Express asks path-to-regexp, and how waypost is asked for the same. */
interface Way {
  readonly rules: PathRules;
  readonly options: { readonly sensitive: boolean; readonly trailing: boolean; readonly end: boolean };
}

const LATE = { ignoreDuplicateSlashes: false, asExpress: true };
const WAYS: Readonly<Record<string, Way>> = {
  'a route of express()': { rules: { ...LATE, caseSensitive: false, ignoreTrailingSlash: true }, options: { sensitive: false, trailing: true, end: true } },
  'a strict route': { rules: { ...LATE, caseSensitive: true, ignoreTrailingSlash: false }, options: { sensitive: true, trailing: false, end: true } },
  'middleware of express()': { rules: { ...LATE, caseSensitive: false, ignoreTrailingSlash: true }, options: { sensitive: false, trailing: true, end: false } },
  // As in Express, a slash at the end never matters to middleware.
  'middleware where routes are strict': { rules: { ...LATE, caseSensitive: true, ignoreTrailingSlash: false }, options: { sensitive: true, trailing: true, end: false } },
};

/** Express takes slashes off the end before it asks. */
function loosened(text: string, { options: { trailing } }: Way): string {
  return trailing && text !== '/' ? text.replace(/\/+$/, '') : text;
}

class Theirs {
  readonly #match: ReturnType<typeof matchOf<ParamData>> | undefined;

  constructor(text: string, way: Way) {
    try {
      this.#match = matchOf(loosened(text, way), way.options);
    } catch {
      this.#match = undefined;
    }
  }

  outcome(path: string, { options: { end } }: Way): Outcome {
    if (this.#match === undefined) return 'refused';
    const found = this.#match(path);
    if (found === false) return null;
    const params = { ...found.params };
    return end ? { params } : { params, base: found.path.replace(/\/$/, '') };
  }
}

class Ours {
  readonly #patterns: readonly Pattern[] | undefined;

  constructor(text: string, { rules, options: { end } }: Way) {
    try {
      this.#patterns = end ? parsePattern(text, rules) : parsePrefix(text, rules);
    } catch {
      this.#patterns = undefined;
    }
  }

  outcome(sent: string, { rules, options: { end } }: Way): Outcome {
    if (this.#patterns === undefined) return 'refused';
    const path = new Path(sent, rules);
    const found = this.#patterns.find((pattern) => (end ? pattern.matches(path) : pattern.matchesPrefix(path)));
    if (found === undefined) return null;
    const params = { ...found.capture(path, !end, true) };
    return end ? { params } : { params, base: sent.slice(0, found.prefixEnd(path)) };
  }
}

/** Text that no path begins with is a route that nobody reaches: waypost says so. */
function isUnreachable(text: string): boolean {
  return !/^[/*{]/.test(text);
}

/** Of an escaped slash at the end Express leaves the backslash. */
function isOdd(text: string): boolean {
  return /\\\/+$/.test(text);
}

/** Of "//" a slash at the end is let be here, whatever the rest of a pattern then is. */
function isSlashes(path: string, wanted: Outcome, got: Outcome): boolean {
  return wanted === null && path === '//' && isDeepStrictEqual(got, { params: {} });
}

describe.each(Object.entries(WAYS))('%s', (_name, way) => {
  it('matches and captures what path-to-regexp does, and refuses what it refuses', () => {
    let pairs = 0;
    let matched = 0;
    let refused = 0;
    fc.assert(
      fc.property(patternText, fc.array(filled, { minLength: 8, maxLength: 8 }), (text, fillings) => {
        fc.pre(!isUnreachable(text) && !isOdd(text) && (way.options.end || text !== '/'));
        const [theirs, ours] = [new Theirs(text, way), new Ours(text, way)];
        for (const fill of fillings) {
          const path = fill(text);
          const [wanted, got] = [theirs.outcome(path, way), ours.outcome(path, way)];
          pairs++;
          if (wanted === 'refused') refused++;
          else if (wanted !== null) matched++;
          if (isDeepStrictEqual(got, wanted) || (/^(?:\{|\/+$)/.test(text) && isSlashes(path, wanted, got))) continue;
          // All of it may be unreachable behind braces too.
          if (got === 'refused' && wanted === null) continue;
          throw new Error(`${text} of ${path}\n  wanted ${JSON.stringify(wanted)}\n  got    ${JSON.stringify(got)}`);
        }
      }),
      { numRuns: runs(2_500) },
    );
    // A generator that seldom hits would prove nothing.
    expect(matched / pairs).toBeGreaterThan(0.15);
    expect(refused).toBeGreaterThan(0);
  });
});

describe('what Express writes', () => {
  const way = WAYS['a route of express()'] as Way;

  test.each<[string, string, Record<string, unknown> | null]>([
    ['/*path', '/a', { path: ['a'] }],
    ['/*path', '/a/b%20c/d%2Fe', { path: ['a', 'b c', 'd/e'] }],
    ['/*path', '/', null],
    ['/files/*path', '/files', null],
    ['/files/*path', '/files/a/', { path: ['a', ''] }],
    ['/files/*path', '/files//', { path: ['', ''] }],
    ['/{*path}', '/', {}],
    ['/{*path}', '/a/b', { path: ['a', 'b'] }],
    ['*path', '/a', { path: ['', 'a'] }],
    ['/a/*path/z', '/a/b/c/z', { path: ['b', 'c'] }],
    ['/a/*path/z', '/a/z', null],
    ['/*dir/:file.:ext', '/a/b/c.tar.gz', { dir: ['a', 'b'], file: 'c.tar', ext: 'gz' }],
    ['/:name{.:format}', '/foo', { name: 'foo' }],
    ['/:name{.:format}', '/foo.tar.gz', { name: 'foo.tar', format: 'gz' }],
    ['/user{s}/:id', '/users/7', { id: '7' }],
    ['/a{/:b{/:c}}', '/a/1/2', { b: '1', c: '2' }],
    ['/:"a name"/*"x/y"', '/1/2/3', { 'a name': '1', 'x/y': ['2', '3'] }],
    ['/\\{:a\\}', '/{1}', { a: '1' }],
    ['/a\\/b', '/a/b', {}],
    ['/users/{:id}', '/users/', {}],
    ['/users/{:id}', '/users', null],
  ])('%s of %s is %j', (text, path, params) => {
    expect(new Ours(text, way).outcome(path, way)).toEqual(params === null ? null : { params });
    expect(new Theirs(text, way).outcome(path.replace(/%20|%2F/g, ''), way)).toEqual(new Ours(text, way).outcome(path.replace(/%20|%2F/g, ''), way));
  });

  test('stands beside what waypost writes', () => {
    const match = (text: string, path: string): Outcome => new Ours(text, way).outcome(path, way);
    expect(match('/:id(\\d+)/*rest', '/7/a/b')).toEqual({ params: { id: '7', rest: ['a', 'b'] } });
    expect(match('/:id(\\d+)/*rest', '/x/a/b')).toBeNull();
    expect(match('/*/*rest', '/a/b/c')).toEqual({ params: { '*': 'a', rest: ['b', 'c'] } });
    expect(match('/a{/:id(\\d+)}{/**}', '/a/7/b/c')).toEqual({ params: { id: '7', '**': 'b/c' } });
    expect(match('/a{/:id(\\d+)}{/**}', '/a/b/c')).toEqual({ params: { '**': 'b/c' } });
    expect(match('/caf%C3%A9/*rest', '/CAF%c3%89/%C3%89')).toEqual({ params: { rest: ['É'] } });
  });

  // Several years each, were a path searched again and again.
  test.each([
    ['/*a/x/*b/y/*c', `/${'x/y/'.repeat(4_000)}`],
    ['/*a-*b-*c.z', `/${'-'.repeat(15_000)}`],
    ['/:a-:b-:c-:d-:e', `/${'-'.repeat(15_000)}/`],
    ['/*a/:b.:c/*d', `/${'a.b/'.repeat(3_500)}.`],
    ['/:a-:b-*c', `/${'a-'.repeat(7_000)}`],
  ])('%s is decided at once', (text, path) => {
    expect(new Ours(text, way).outcome(path, way)).not.toBe('refused');
  });
});
