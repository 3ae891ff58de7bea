import fc from 'fast-check';
import { match as matchOf } from 'path-to-regexp';
import { Path, type PathRules } from '../lib/routing/patterns/path';
import { parsePattern, type Pattern } from '../lib/routing/patterns/pattern';
import { SignatureScope } from '../lib/signature/scope/scope';
import { filled, patternText } from './support/express-pattern';
import { expectSame } from './support/expect-same';
import { runs } from './support/runs';

const rules = fc.record<PathRules>({ caseSensitive: fc.boolean(), ignoreTrailingSlash: fc.boolean(), ignoreDuplicateSlashes: fc.boolean(), asExpress: fc.boolean() });
const text = patternText.filter((written) => /^[/*{]/.test(written));
const paths = fc.array(filled, { minLength: 4, maxLength: 4 });
/** Escapes, capitals and slashes that some server takes for the same. */
const spoilt = fc.array(fc.record({ at: fc.nat(20), how: fc.nat(4) }), { maxLength: 2 }).map((steps) => (path: string) => steps.reduce((sent, { at, how }) => {
  const index = 1 + (at % Math.max(1, sent.length - 1));
  const char = sent[index] ?? '/';
  if (char.charCodeAt(0) > 127) return sent;
  const instead = [`%${char.charCodeAt(0).toString(16).padStart(2, '0')}`, char.toUpperCase(), `${char}/`, `/.${char === '/' ? '/' : `/${char}`}`, char][how] as string;
  return sent.slice(0, index) + instead + sent.slice(index + 1);
}, path));

function parsed(written: string, how: PathRules): Pattern[] | undefined {
  try {
    return parsePattern(written, how);
  } catch {
    return undefined;
  }
}

describe('a scope of patterns that Express writes', () => {
  it('requires a signature wherever a route of the same pattern matches, by whatever rules', () => {
    let matched = 0;
    fc.assert(
      fc.property(text, rules, paths, spoilt, (written, how, fills, spoil) => {
        const patterns = parsed(written, how);
        fc.pre(patterns !== undefined);
        const scope = new SignatureScope([written], [], how);
        for (const fill of fills) {
          const sent = spoil(fill(written));
          if (!(patterns as Pattern[]).some((pattern) => pattern.matches(new Path(sent, how)))) continue;
          matched++;
          expectSame(scope.requires('GET', sent), true, [written, sent, how]);
        }
      }),
      { numRuns: runs(3_000) },
    );
    expect(matched).toBeGreaterThan(runs(1_000));
  });

  it('requires one where Express takes a part of an escape for the end of a path', () => {
    const scope = new SignatureScope(['/:"name"a'], [], { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false });
    expect(scope.requires('GET', '/x%3a')).toBe(true);
    expect(scope.requires('GET', '/x%41b')).toBe(false);
  });

  it('requires one wherever Express itself would take the path, as sent or decoded', () => {
    let matched = 0;
    fc.assert(
      fc.property(text, rules, paths, spoilt, (written, how, fills, spoil) => {
        fc.pre(parsed(written, how) !== undefined);
        const theirs = matchOf(written.replace(/(?<!\\)\/+$/, '') || '/', { sensitive: false, trailing: true, decode: false });
        const scope = new SignatureScope([written], [], how);
        for (const fill of fills) {
          const sent = spoil(fill(written));
          // Of what a handler decodes by itself, a wildcard that took nothing but slashes is not seen.
          const decoded = sent.includes('//') ? sent : sent.replace(/%(?!2f)[0-7][0-9a-f]/gi, decodeURIComponent);
          if (theirs(sent) === false && theirs(decoded) === false) continue;
          matched++;
          expectSame(scope.requires('GET', sent), true, [written, sent, how]);
        }
      }),
      { numRuns: runs(3_000) },
    );
    expect(matched).toBeGreaterThan(runs(1_000));
  });

  it('exempts by an exclude nothing but plain paths that the pattern takes exactly', () => {
    const exact: PathRules = { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false };
    let exempt = 0;
    fc.assert(
      fc.property(text, rules, paths, spoilt, (written, how, fills, spoil) => {
        const patterns = parsed(written, exact);
        fc.pre(patterns !== undefined);
        const scope = new SignatureScope([], [written], how);
        for (const fill of fills) {
          const sent = spoil(fill(written));
          if (scope.requires('GET', sent)) continue;
          exempt++;
          expectSame(/^\/(?:[^/%\\;]+(?:\/[^/%\\;]+)*)?$/.test(sent) && !/(?:^|\/)\.{1,2}(?:\/|$)/.test(sent), true, [written, sent]);
          expectSame((patterns as Pattern[]).some((pattern) => pattern.matches(new Path(sent, exact))), true, [written, sent]);
        }
      }),
      { numRuns: runs(3_000) },
    );
    expect(exempt).toBeGreaterThan(runs(300));
  });

  test('takes strings of every kind, and no RegExp', () => {
    const exact: PathRules = { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false };
    const requires = (include: string, path: string): boolean => new SignatureScope([include], [], exact).requires('GET', path);
    for (const path of ['/api', '/api/', '/api/a', '/API/a/b', '/api//a', '/x/..;/api/a', '/%2561pi/a']) expect([path, requires('/api/*rest', path), requires('/api{/*rest}', path)]).toEqual([path, true, true]);
    for (const path of ['/apix', '/', '/x/api']) expect([path, requires('/api/*rest', path)]).toEqual([path, false]);
    expect(['/u', '/u/7', '/u/7/8'].map((path) => requires('/u{/:id}', path))).toEqual([true, true, false]);
    expect(['/a/x-y', '/a/X-y/z', '/a/x'].map((path) => requires('/a/:k-*rest', path))).toEqual([true, true, false]);
    expect(() => new SignatureScope([/a/ as unknown as string], [], exact)).toThrow(TypeError);
  });

  test('names routes beneath that no entry covers', () => {
    const exact: PathRules = { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false };
    const missed = (include: string, ...routes: string[]): string[] => new SignatureScope([include], [], exact).uncovered(routes.map((pattern) => ({ method: 'GET', pattern }))).map(({ pattern }) => pattern);
    expect(missed('/api/*', '/api/*rest', '/api{/:x}', '/api/:x{.json}', '/api{/:x}/y')).toEqual(['/api/*rest', '/api{/:x}', '/api/:x{.json}', '/api{/:x}/y'].filter((route) => route !== '/api/:x{.json}'));
    expect(missed('/api{/*rest}', '/api/**', '/api/*rest', '/api{/:x}', '/api')).toEqual([]);
    expect(missed('/api/*rest/edit', '/api/*path/edit', '/api/*path/view')).toEqual(['/api/*path/view']);
  });
});
