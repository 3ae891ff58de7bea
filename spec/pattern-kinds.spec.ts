import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { match as matchOf, type ParamData } from 'path-to-regexp';
import type { Request } from '../lib/http/request';
import { kMounted } from '../lib/routing/layer';
import type { PathRules } from '../lib/routing/patterns/path';
import { Router } from '../lib/routing/router';
import type { RoutingRules } from '../lib/routing/rules';
import { takes } from '../lib/routing/route-finder';
import { filled, patternText } from './support/express-pattern';
import { routed, rulesOf } from './support/routed';
import { runs } from './support/runs';

type Given = string | RegExp;
type Values = Record<string, unknown>;

/** A route behind any number of mounts. */
interface Entry {
  readonly mounts: readonly Given[];
  readonly path: Given;
}

interface Visit {
  readonly index: number;
  readonly params: Values;
  readonly base: string;
}

const RULES: readonly PathRules[] = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) => ({
  caseSensitive: (bits & 1) === 0,
  ignoreTrailingSlash: (bits & 2) !== 0,
  ignoreDuplicateSlashes: (bits & 4) !== 0,
}));

const EXPRESSIONS: readonly RegExp[] = [/^\/a/, /^\/(a|b)/, /^\/(?<name>[^/]+)/, /.*/, /^\/a\/?(b)?/i, /^\/([^/]+)\/(b)$/, /b$/, /(?:)/, /\//];

/** Text that both read alike: with several parameters in a segment waypost's own rules give each the least. */
const text = patternText.filter((written) => {
  if (!/^[/*{]/.test(written) || /\\|"|\/\/|\/$/.test(written) || /[é]/.test(written)) return false;
  if (written.replace(/[{}]/g, '').split('/').some((segment) => (segment.match(/[:*]/g) ?? []).length > 1)) return false;
  try {
    new Router().use(written, () => undefined).get(written, () => undefined);
    return true;
  } catch {
    return false;
  }
});
const given: fc.Arbitrary<Given> = fc.oneof({ weight: 4, arbitrary: text }, { weight: 2, arbitrary: fc.constantFrom('/', '/a', '/:x', '/a/:x', '/{:x}', '/a{/:x}', '/*w', '/a/{*w}') }, { weight: 1, arbitrary: fc.constantFrom(...EXPRESSIONS) });
const entries = fc.array(fc.record<Entry>({ mounts: fc.oneof(fc.constant([]), fc.array(given, { minLength: 1, maxLength: 2 })), path: given }), { minLength: 1, maxLength: 6 });
const derived = fc.record({ from: fc.nat(5), fill: filled, words: fc.constantFrom('/a', '/b', '/a/b', '/x/b', '/A') }).map(({ from, fill, words }) => (list: readonly Entry[]) => {
  const { mounts, path } = list[from % list.length] as Entry;
  return fill([...mounts, path].map((part) => (typeof part === 'string' ? part : words)).join('')).replace(/\/{2,}/g, '/').replace(/[?#]/g, 'q');
});

/** How much of a path a mount path takes. */
interface Taken {
  readonly params: Values;
  readonly prefix: string;
}

class Oracle {
  readonly #rules: PathRules;

  constructor(rules: PathRules) {
    this.#rules = rules;
  }

  visits(list: readonly Entry[], path: string): Visit[] {
    return list.flatMap(({ mounts, path: own }, index) => {
      let params: Values = {};
      let base = '';
      let rest = path;
      let isBehindSlash = false;
      for (const mount of mounts) {
        const taken = this.#prefix(mount, rest);
        if (taken === null) return [];
        params = merged(params, taken.params);
        base += taken.prefix;
        const left = rest.slice(taken.prefix.length);
        if (taken.prefix !== '') isBehindSlash = left === '/';
        rest = left.startsWith('/') ? left : `/${left}`;
      }
      const found = this.#whole(own, rest, isBehindSlash);
      return found === null ? [] : [{ index, params: merged(params, found), base }];
    });
  }

  #prefix(mount: Given, path: string): Taken | null {
    if (mount === '/') return { params: {}, prefix: '' };
    if (typeof mount !== 'string') {
      const found = mount.exec(path);
      const prefix = found?.[0] ?? '';
      if (found === null || (prefix !== '' && (!path.startsWith(prefix) || /[^/]/.test(path[prefix.length] ?? '/')))) return null;
      return { params: named(found), prefix: prefix.replace(/\/$/, '') };
    }
    for (const each of laidOut(quoted(mount), this.#rules)) {
      const found = matchOf<ParamData>(each, { sensitive: this.#rules.caseSensitive, trailing: true, end: false })(path);
      if (found !== false) return { params: { ...found.params }, prefix: found.path.replace(/\/$/, '') };
    }
    return null;
  }

  #whole(own: Given, path: string, isBehindSlash: boolean): Values | null {
    const { caseSensitive: sensitive, ignoreTrailingSlash: trailing } = this.#rules;
    if (typeof own !== 'string') {
      const found = own.exec(path);
      return found === null ? null : named(found);
    }
    for (const each of laidOut(quoted(own), this.#rules)) {
      const isRoot = each === '/' || each === '';
      // A slash alone behind a mount path is not the mount path, of which nothing is left.
      if (isRoot && isBehindSlash && !trailing) continue;
      const found = matchOf<ParamData>(isRoot ? '/' : each, { sensitive, trailing })(path);
      if (found !== false) return { ...found.params };
    }
    return null;
  }
}

/** What optional parts come to, in path-to-regexp's order: of the first, what has it comes before what has it not. */
function laidOut(written: string, rules: PathRules): string[] {
  const open = written.indexOf('{');
  if (open === -1) return [rules.ignoreDuplicateSlashes ? written.replace(/\/{2,}/g, '/') : written];
  let depth = 0;
  let close = open;
  for (; close < written.length; close++) {
    if (written[close] === '{') depth++;
    if (written[close] === '}' && --depth === 0) break;
  }
  const [before, inner, after] = [written.slice(0, open), written.slice(open + 1, close), written.slice(close + 1)];
  return [...laidOut(before + inner + after, rules), ...laidOut(before + after, rules)];
}

/** Names in quotes, of which no text that follows them becomes part. */
function quoted(written: string): string {
  return written.replace(/([:*])(\w+)/g, '$1"$2"');
}

function named(found: RegExpExecArray): Values {
  const names = Object.keys(found.groups ?? {});
  let unnamed = 0;
  // In these expressions a group with a name is the only one.
  return Object.fromEntries(found.slice(1).flatMap((value, index) => {
    const name = names[index] ?? String(unnamed++);
    return (value as string | undefined) === undefined ? [] : [[name, value]];
  }));
}

function merged(outer: Values, inner: Values): Values {
  if (!('0' in outer) || !('0' in inner)) return { ...outer, ...inner };
  let count = 0;
  while (String(count) in outer) count++;
  return { ...outer, ...Object.fromEntries(Object.entries(inner).map(([name, value]) => [/^\d+$/.test(name) ? String(Number(name) + count) : name, value])) };
}

class Subject {
  readonly #router = new Router();
  readonly #rules: RoutingRules;
  #visits: Visit[] = [];

  constructor(list: readonly Entry[], rules: PathRules) {
    this.#rules = rulesOf(rules);
    list.forEach(({ mounts, path }, index) => {
      const innermost = mounts.reduce((outer: Router, mount) => {
        const router = new Router();
        outer.use(mount, router);
        return router;
      }, this.#router);
      innermost.get(path, (req: Request, _res: unknown, next: () => void) => {
        this.#visits.push({ index, params: { ...req.params }, base: req.baseUrl });
        next();
      });
    });
  }

  async visits(path: string): Promise<Visit[]> {
    this.#visits = [];
    const { error } = await routed(this.#router, path, this.#rules);
    if (error !== undefined) throw error;
    if (takes(this.#router[kMounted], 'GET', path, this.#rules) !== this.#visits.length > 0) throw new Error(`${path} is taken otherwise than it is told`);
    return this.#visits;
  }
}

describe('what Express writes, by createServer\'s rules', () => {
  it.each(RULES)('matches and captures what path-to-regexp does, step by step: %j', async (rules) => {
    let pairs = 0;
    let matched = 0;
    await fc.assert(fc.asyncProperty(entries, fc.array(derived, { minLength: 10, maxLength: 10 }), async (list, paths) => {
      const [oracle, subject] = [new Oracle(rules), new Subject(list, rules)];
      for (const make of paths) {
        const path = make(list);
        const [wanted, got] = [oracle.visits(list, path), await subject.visits(path)];
        pairs++;
        if (wanted.length > 0) matched++;
        if (!isDeepStrictEqual(got, wanted)) throw new Error(`${path}\n  wanted ${JSON.stringify(wanted)}\n  got    ${JSON.stringify(got)}\n  of ${list.map(({ mounts, path: own }) => [...mounts, own].map(String).join(' ')).join('; ')}`);
      }
    }), { numRuns: runs(120) });
    // A generator that seldom hits would prove nothing.
    expect(matched / pairs).toBeGreaterThan(0.25);
  });
});
