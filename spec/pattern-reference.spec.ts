import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { HttpError } from '../lib/errors';
import type { Request } from '../lib/http/request';
import { kMounted } from '../lib/routing/layer';
import { Router } from '../lib/routing/router';
import type { RoutingRules } from '../lib/routing/rules';
import { takes } from '../lib/routing/route-finder';
import { isDisputed } from '../lib/target/target';
import { referenceMatch, referencePrefix, type ReferenceRules } from './support/reference-matcher';
import { routed, rulesOf } from './support/routed';
import { runs } from './support/runs';

/** One registration: a route behind any number of mounts, or middleware under a path. */
interface Entry {
  readonly kind: 'get' | 'all' | 'post' | 'use';
  readonly mounts: readonly string[];
  readonly pattern: string;
}

/** What ran: the place of the registration in the set, and what it saw. */
type Visit = { index: number; params: Record<string, string>; baseUrl: string; url: string } | 'malformed';

const RULES: readonly ReferenceRules[] = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) => ({
  caseSensitive: (bits & 1) === 0,
  ignoreTrailingSlash: (bits & 2) !== 0,
  ignoreDuplicateSlashes: (bits & 4) !== 0,
}));

const STATIC = [
  'a', 'b', 'c', 'A', 'api', 'a-b', 'a.json', 'é', '%61', '%C3%A9', '%2F', 'a%2fb', '%25', '%2541', '%40', '@', '%28', '\\(', '\\:', '%3A', 'a\\:b', '\\*',
  '\\+', '%2B', '..', '.', ';', '%00', '~', '[', '%20', ' ', '-', 'constructor', '%f0%9f%98%80', 'İ', 'Σ', 'x\\*\\*', '\\:a\\(b\\)', ',', '!',
];
const CONSTRAINTS = ['\\d+', '[a-z]+', 'a|b', '[^-]+', '.+', '\\w{2}', '(?:ab)+', '[^]+'];
const TEXTS = ['-', '.json', '.', 'a', '--', '\\:', '%2F', 'v', 'É', '%20', '.Σ'];
const VALUES = [
  'a', 'b', 'c', 'A', 'B', '1', '42', 'ab', 'api', 'a-b', 'a-b-c', '1-2', '12-ab', 'a.json', 'A.JSON', '.json', 'x.json.json', 'é', 'É', '%C3%A9', '%c3%89', '%61', '%41',
  '%2F', 'a%2fb', '%252F', '%25', '%2541', '%40', '@', '%28', '(', '%3A', ':', 'a:b', ':x', '*', '**', '%2A', '+', '%2B', '..', '.', '%2e%2e', ';', ';x=1', '%00', '~', '[', '%20', ' ',
  '%zz', '%', '%f', '%ff', '%E9', '%E2%82', 'a%zz-b', '%zz.json', '%ff-%ff', '-', '--', '---', 'constructor', '__proto__', '😀', '%F0%9F%98%80', 'İ', 'İ-É', 'aΣ', 'a.Σ', 'v1',
  'x'.repeat(101), `${'x-'.repeat(10)}y`, `%41${'%C3%A9'.repeat(20)}`, '',
];

/** A segment as it is chosen; it is written only once it is known which names are taken. */
type Choice = { readonly kind: 'param' | 'star' | 'deep' } | { readonly kind: 'static'; readonly text: string } | { readonly kind: 'mixed'; readonly parts: readonly Part[] };
type Part = { readonly text: string } | { readonly constraint: string | null };

/** What patterns and paths are made of. */
interface Alphabet {
  readonly texts: readonly string[];
  readonly constraints: readonly string[];
  readonly between: readonly string[];
  readonly values: readonly string[];
}

/** Everything that could be taken for something else. */
const WIDE: Alphabet = { texts: STATIC, constraints: CONSTRAINTS, between: TEXTS, values: VALUES };
/** So little that nearly everything overlaps with everything. */
const NARROW: Alphabet = { texts: ['a', 'b', 'A', ''], constraints: ['a', 'a|b'], between: ['a', '-'], values: ['a', 'b', 'c', 'aa', 'a-b', 'A', '%61', '%zz', ''] };

function registrations({ texts, constraints, between }: Alphabet): fc.Arbitrary<Entry[]> {
  const part = fc.oneof(
    fc.constantFrom(...between).map((text): Part => ({ text })),
    fc.constantFrom(null, null, ...constraints).map((constraint): Part => ({ constraint })),
  );
  const choice = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...texts).map((text): Choice => ({ kind: 'static', text })) },
    { weight: 4, arbitrary: fc.constantFrom('a', 'b').map((text): Choice => ({ kind: 'static', text })) },
    { weight: 5, arbitrary: fc.constant<Choice>({ kind: 'param' }) },
    { weight: 2, arbitrary: fc.constant<Choice>({ kind: 'star' }) },
    { weight: 3, arbitrary: fc.constant<Choice>({ kind: 'deep' }) },
    { weight: 3, arbitrary: fc.array(part, { minLength: 1, maxLength: 4 }).map((parts): Choice => ({ kind: 'mixed', parts })) },
  );
  const pattern = fc.array(choice, { minLength: 1, maxLength: 4 }).map(write);
  const entry = fc.record<Entry>({
    kind: fc.constantFrom<Entry['kind']>('get', 'get', 'get', 'all', 'post', 'use'),
    mounts: fc.oneof({ weight: 3, arbitrary: fc.constant<string[]>([]) }, { weight: 2, arbitrary: fc.array(pattern, { minLength: 1, maxLength: 2 }) }),
    pattern: fc.oneof({ weight: 8, arbitrary: pattern }, { weight: 1, arbitrary: fc.constant('/') }),
  });
  return fc.array(entry, { minLength: 1, maxLength: 8 });
}

/** A path to be: which registration it is derived from, what fills its gaps, and how it is then spoilt. */
interface Recipe {
  readonly from: number;
  readonly fill: readonly string[];
  readonly spoil: readonly { readonly how: number; readonly at: number; readonly value: string }[];
}

function recipes({ values }: Alphabet, count: number): fc.Arbitrary<Recipe[]> {
  const value = fc.constantFrom(...values);
  const spoiling = fc.record({ how: fc.nat(7), at: fc.nat(9), value });
  const recipe = fc.record<Recipe>({ from: fc.nat(7), fill: fc.array(value, { minLength: 6, maxLength: 6 }), spoil: fc.array(spoiling, { maxLength: 2 }) });
  return fc.array(recipe, { minLength: count, maxLength: count });
}

/** Writes a pattern that the parser takes: no name twice, parameters apart where they must be. */
function write(choices: readonly Choice[]): string {
  const names = ['x', 'y', 'z', 'id', 'constructor', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7', 'n8', 'n9', 'n10', 'n11'];
  const taken = new Set<string>();
  const once = (text: string): string => {
    if (taken.has(text)) return `:${names.shift() as string}`;
    taken.add(text);
    return text;
  };
  return choices.map((one) => {
    if (one.kind === 'static') return `/${one.text}`;
    if (one.kind === 'param') return `/:${names.shift() as string}`;
    if (one.kind === 'mixed') return `/${writeMixed(one.parts, names)}`;
    return `/${once(one.kind === 'star' ? '*' : '**')}`;
  }).join('');
}

function writeMixed(parts: readonly Part[], names: string[]): string {
  // Free parameters beside constrained ones are refused when there are several, as are two with nothing between.
  const constrained = parts.some((part) => 'constraint' in part && part.constraint !== null);
  let free = 0;
  let previous = '';
  return parts.map((part) => {
    if ('text' in part) {
      previous = 'text';
      // A letter that follows a name would be part of it.
      return /^[\w\u0080-\uffff]/.test(part.text) ? `.${part.text}` : part.text;
    }
    let { constraint } = part;
    if (constraint === null && constrained && ++free > 1) constraint = '[a-z]+';
    const apart = previous === 'free' ? '-' : '';
    previous = constraint === null ? 'free' : 'constrained';
    return `${apart}:${names.shift() as string}${constraint === null ? '' : `(${constraint})`}`;
  }).join('');
}

function derive(entries: readonly Entry[], { from, fill, spoil }: Recipe): string {
  const { mounts, pattern: inner } = entries[from % entries.length] as Entry;
  const values = [...fill];
  const next = (): string => values.shift() ?? 'a';
  let path = [...mounts, inner].join('').replace(/\/\*\*(?=\/|$)/g, () => `/${next()}/${next()}`);
  path = path.replace(/\\\W|\/\*(?=\/|$)|:[a-z]\w*(?:\((?:[^()\\]|\\.|\([^)]*\))*\))?/g, (found) => {
    if (found.startsWith('\\')) return found.slice(1);
    return found.startsWith('/') ? `/${next()}` : next();
  });
  for (const { how, at, value } of spoil) path = spoilt(path, how, at, value);
  return `/${path.slice(1)}`.replace(/[?#]/g, 'q');
}

function spoilt(path: string, how: number, at: number, value: string): string {
  const segments = path.slice(1).split('/');
  const index = at % segments.length;
  const segment = segments[index] as string;
  if (how === 0) segments[index] = value;
  else if (how === 1) segments.splice(index, 0, value);
  else if (how === 2) segments.splice(index, 1);
  else if (how === 3) segments.push('');
  else if (how === 4) segments.splice(index, 0, '');
  else if (how === 5) segments[index] = segment.replace(/[a-z]/gi, (char) => `%${char.charCodeAt(0).toString(16)}`);
  else if (how === 6) segments[index] = segment.toUpperCase();
  else segments[index] = segment + value;
  return `/${segments.join('/')}`;
}

/** As it may be mounted: where paths are compared exactly, no mount path ends in a slash. */
function mountable(path: string, { ignoreTrailingSlash }: ReferenceRules): string {
  return ignoreTrailingSlash ? path : path.replace(/\/+$/, '') || '/';
}

/** The real router, every registration of which goes on to the next. */
class Subject {
  readonly #router = new Router();
  readonly #rules: RoutingRules;
  #visits: Visit[] = [];

  constructor(entries: readonly Entry[], rules: ReferenceRules) {
    this.#rules = rulesOf(rules);
    entries.forEach(({ kind, mounts, pattern: path }, index) => {
      const innermost = mounts.reduce((outer, mount) => {
        const router = new Router();
        outer.use(mount, router);
        return router;
      }, this.#router);
      const sees = (req: Request, _res: unknown, next: () => void): void => {
        this.#visits.push({ index, params: { ...req.params }, baseUrl: req.baseUrl, url: req.url });
        next();
      };
      // Siblings' middleware would be left out; so middleware stands at the root.
      if (kind === 'use') this.#router.use(path, sees);
      else innermost[kind](path, sees);
    });
  }

  async visits(path: string): Promise<Visit[]> {
    this.#visits = [];
    const { error } = await routed(this.#router, path, this.#rules);
    if (error === undefined) return this.#visits;
    if (!(error instanceof HttpError) || error.status !== 400) throw error;
    return [...this.#visits, 'malformed'];
  }

  takes(path: string): boolean {
    return takes(this.#router[kMounted], 'GET', path, this.#rules);
  }
}

function expected(entries: readonly Entry[], path: string, rules: ReferenceRules): Visit[] {
  const visits: Visit[] = [];
  for (const [index, { kind, mounts, pattern: inner }] of entries.entries()) {
    if (kind === 'post') continue;
    if (kind === 'use') {
      const prefix = referencePrefix(inner, path, rules);
      if (prefix !== null) visits.push({ index, params: prefix.params, baseUrl: prefix.baseUrl, url: prefix.url });
      continue;
    }
    const found = behindMounts(mounts, inner, path, rules);
    if (found === null) continue;
    if (found === 'malformed') return [...visits, 'malformed'];
    // A route sees the whole URL.
    visits.push({ index, ...found, url: path });
  }
  return visits;
}

/** What a route sees behind mounts: each takes what it matches by itself, and the next gets the rest. */
function behindMounts(mounts: readonly string[], inner: string, path: string, rules: ReferenceRules): Omit<Exclude<Visit, 'malformed'>, 'index' | 'url'> | null | 'malformed' {
  let params: Record<string, string> = {};
  let baseUrl = '';
  let rest = path;
  let isBehindSlash = false;
  let isMalformed = false;
  const isOne = (text: string): boolean => text === '/' || (rules.ignoreDuplicateSlashes && /^\/+$/.test(text));
  for (const mount of mounts) {
    const prefix = referencePrefix(mount, rest, rules);
    if (prefix === null) return null;
    params = { ...params, ...prefix.params };
    baseUrl += prefix.baseUrl;
    isMalformed ||= prefix.isMalformed;
    if (prefix.taken !== '') isBehindSlash = isOne(rest.slice(prefix.taken.length));
    rest = prefix.url;
  }
  // A slash alone behind a mount path is not the mount path, of which nothing is left.
  if (isBehindSlash && !rules.ignoreTrailingSlash && isOne(inner)) return null;
  const found = referenceMatch(inner, rest, rules);
  if (found !== null && isMalformed) return 'malformed';
  return found === null || found === 'malformed' ? found : { params: { ...params, ...found }, baseUrl };
}

async function difference(subject: Subject, entries: readonly Entry[], path: string, wanted: readonly Visit[]): Promise<string | null> {
  const got = await subject.visits(path);
  if (!isDeepStrictEqual(got, wanted)) return `${path}\n  wanted ${JSON.stringify(wanted)}\n  got    ${JSON.stringify(got)}\n  of ${JSON.stringify(entries)}`;
  const taken = wanted.some((visit) => visit === 'malformed' || entries[visit.index]?.kind !== 'use');
  return subject.takes(path) === taken ? null : `${path} is ${taken ? '' : 'not '}taken by a route`;
}

/** Compares on so many sets of registrations, with so many paths each; answers the share of paths that matched something. */
async function compare(alphabet: Alphabet, rules: ReferenceRules, sets: number, paths: number): Promise<number> {
  let pairs = 0;
  let matched = 0;
  await fc.assert(fc.asyncProperty(registrations(alphabet), recipes(alphabet, paths), async (given, chosen) => {
    const entries = given.map(({ kind, mounts, pattern }) => ({ kind, mounts: mounts.map((mount) => mountable(mount, rules)), pattern: kind === 'use' ? mountable(pattern, rules) : pattern }));
    const subject = new Subject(entries, rules);
    for (const recipe of chosen) {
      const path = derive(entries, recipe);
      pairs++;
      if (isDisputed(path)) {
        expect(await subject.visits(path)).toEqual(['malformed']);
        continue;
      }
      const wanted = expected(entries, path, rules);
      if (wanted.length > 0) matched++;
      const found = await difference(subject, entries, path, wanted);
      if (found !== null) throw new Error(found);
    }
  }), { numRuns: sets });
  expect(pairs).toBeGreaterThanOrEqual(sets * paths);
  return matched / pairs;
}

describe('a router against the reference matcher', () => {
  // 8 rules × (75 × 20 + 100 × 20) = 28,000 pairs of a set of registrations and a path.
  it.each(RULES)('agrees on all that a hostile path reaches: %j', async (rules) => {
    // A generator that seldom hits would prove nothing.
    expect(await compare(WIDE, rules, runs(75), 20)).toBeGreaterThan(0.25);
  }, 600_000);

  // Its generator seldom comes to them: a path of one slash ends in one, and is not without it.
  it.each(RULES)('agrees on empty segments in the path of middleware: %j', async (rules) => {
    const given: Entry[] = ['/', '//', '///', '/a/', '/a//', '//a'].map((text) => ({ kind: 'use', mounts: [], pattern: text }));
    if (!rules.ignoreTrailingSlash) expect((await routed(new Router().use('//', () => undefined), '/', rulesOf(rules))).error).toBeInstanceOf(TypeError);
    const entries = given.filter(({ pattern }) => pattern === mountable(pattern, rules));
    const subject = new Subject(entries, rules);
    for (const path of ['/', '//', '///', '/a', '/a/', '/a//', '//a', '/a//a', '/b', '//b']) {
      expect([path, await difference(subject, entries, path, expected(entries, path, rules))]).toEqual([path, null]);
    }
    // As in Express, where the slashes at the end of the path of middleware count for nothing.
    const isRun = (await subject.visits('/')).some((visit) => visit !== 'malformed' && entries[visit.index]?.pattern === '///');
    expect(isRun).toBe(rules.ignoreTrailingSlash);
  });

  it.each(RULES)('agrees on slashes behind mounts: %j', async (rules) => {
    const mounts = [['/a'], ['/a', '/'], ['/', '/a'], ['/a', '/', '/'], ['/a', '/b'], ['/a', '/:x'], ['/a', '/**']];
    const entries = mounts.flatMap((each) => ['/', '/b', '//'].map((pattern): Entry => ({ kind: 'get', mounts: each, pattern })));
    const subject = new Subject(entries, rules);
    for (const path of ['/a', '/a/', '/a//', '//a/', '/a/b', '/a/b/', '/a/b//', '/a//b', '/', '//']) {
      expect([path, await difference(subject, entries, path, expected(entries, path, rules))]).toEqual([path, null]);
    }
  });

  it.each(RULES)('agrees where nearly all registrations overlap: %j', async (rules) => {
    expect(await compare(NARROW, rules, runs(100), 20)).toBeGreaterThan(0.25);
  }, 600_000);
});
