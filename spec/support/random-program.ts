import fc from 'fast-check';
import { type Act, type Entry, type FillEntry, type Func, type Late, number, type ParamEntry, type Rewrite, type RouteEntry, type RouterProgram, type Sent, type Timing, type UseEntry } from './program';

/** What random programs may hold. */
export interface Extent {
  /** Patterns of routes and of middleware. */
  readonly segments: readonly string[];
  /** Whether wildcards of many segments may stand in `use`. */
  readonly anyMount: boolean;
  readonly methods: readonly (string | null)[];
  /** How often a function in a hundred rewrites. */
  readonly rewrites: number;
  /** How often one in a hundred calls `next` twice, and how. */
  readonly lates?: { readonly times: number; readonly when: readonly Late['when'][]; readonly urls: boolean };
  readonly acts?: readonly Act[];
  readonly timings?: readonly Timing[];
  /** How many handlers a route has at most. @default 3 */
  readonly handlers?: number;
  /** Whether routers may stand in `use`. @default true */
  readonly routers?: boolean;
  /** How often one function in a hundred opens an async context. @default 0 */
  readonly opens?: number;
  /** How often one function in a hundred registers more. @default 0 */
  readonly registers?: number;
  /** How often one entry in a hundred handles a parameter. @default 0 */
  readonly params?: number;
  /** How often one entry in a hundred is a row of about a hundred functions: of those in its midst half rewrite where any may. */
  readonly fills: number;
  /** Whether some requests have bodies. */
  readonly bodies: boolean;
  /** Whether applications may stand where routers do. */
  readonly applications: boolean;
  readonly requestSegments: readonly string[];
  readonly requestMethods: readonly string[];
}

/** Random programs. */
export function programs(extent: Extent): fc.Arbitrary<RouterProgram> {
  const { router } = fc.letrec<{ router: RouterProgram; entry: Entry }>((tie) => ({
    router: fc.record({
      application: fc.integer({ min: 0, max: 4 }).map((n) => extent.applications && n === 4),
      entries: fc.array(tie('entry'), { minLength: 1, maxLength: 5, depthIdentifier: 'router' }),
    }),
    entry: fc.oneof({ depthIdentifier: 'router', maxDepth: 3 },
      { arbitrary: routeEntries(extent), weight: 40 },
      { arbitrary: useEntries(extent, functions(extent)), weight: 30 },
      { arbitrary: extent.routers === false ? useEntries(extent, functions(extent)) : useEntries(extent, tie('router')), weight: 30 },
      { arbitrary: rows(extent), weight: extent.fills },
      { arbitrary: paramEntries(extent), weight: extent.params ?? 0 }),
  }));
  return router.map(number);
}

function useEntries(extent: Extent, item: fc.Arbitrary<Func | RouterProgram>): fc.Arbitrary<UseEntry> {
  const paths = prefixes(extent);
  return fc.record({
    kind: fc.constant('use' as const),
    paths: fc.option(paths, { freq: 2 }),
    items: fc.array(item, { minLength: 1, maxLength: 2 }),
    again: fc.oneof({ arbitrary: fc.constant(null), weight: 9 }, { arbitrary: paths, weight: 1 }),
  });
}

function routeEntries(extent: Extent): fc.Arbitrary<RouteEntry> {
  const funcs = fc.array(functions(extent), { minLength: 1, maxLength: extent.handlers ?? 3 });
  return fc.record({
    kind: fc.constant('route' as const),
    paths: fc.oneof({ arbitrary: fc.tuple(patterns(extent.segments, 0, 3)), weight: 4 }, { arbitrary: fc.array(patterns(extent.segments, 0, 3), { minLength: 2, maxLength: 2 }), weight: 1 }),
    stack: fc.array(fc.record({ method: fc.constantFrom(...extent.methods), funcs }), { minLength: 1, maxLength: extent.handlers === 1 ? 1 : 2 }),
    nested: fc.boolean(),
  });
}

/** Rows in whose midst Express and waypost let the stack go: behind a hundred calls of `next`. What stands there mostly goes on. */
function rows(extent: Extent): fc.Arbitrary<FillEntry> {
  const inner: Extent = { ...extent, acts: ['next', 'falsy', 'pass', 'forward'], rewrites: extent.rewrites === 0 ? 0 : 50 };
  return fc.record({
    kind: fc.constant('fill' as const),
    before: fc.integer({ min: 90, max: 100 }),
    funcs: fc.array(functions(inner), { maxLength: 8 }),
    behind: fc.integer({ min: 0, max: 20 }),
    isRoute: fc.boolean(),
  });
}

function paramEntries(extent: Extent): fc.Arbitrary<ParamEntry> {
  const names = extent.segments.filter((segment) => /^[:*]/.test(segment)).map((segment) => segment.replace(/^:|\(.*/g, ''));
  return fc.record({ kind: fc.constant('param' as const), name: fc.constantFrom(...names), func: functions(extent), replaces: fc.boolean() });
}

const ACTS: Readonly<Record<Act, number>> = { next: 60, answer: 12, route: 7, router: 4, throw: 8, pass: 5, falsy: 3, forward: 15 };

function acts({ acts: allowed = Object.keys(ACTS) as Act[] }: Extent): fc.Arbitrary<Act> {
  return fc.oneof(...allowed.map((act) => ({ arbitrary: fc.constant(act), weight: ACTS[act] })));
}

/** A timer takes a millisecond: of many programs only few can have one. */
const TIMINGS: Readonly<Record<Timing, number>> = { sync: 60, promise: 20, callback: 20, timer: 1 };

function timings({ timings: allowed = Object.keys(TIMINGS) as Timing[] }: Extent): fc.Arbitrary<Timing> {
  return fc.oneof(...allowed.map((timing) => ({ arbitrary: fc.constant(timing), weight: TIMINGS[timing] })));
}

function lates({ lates: given, requestSegments, ...extent }: Extent): fc.Arbitrary<Late | null> {
  if (given === undefined) return fc.constant(null);
  const url = given.urls ? fc.option(targets({ requestSegments, ...extent }), { freq: 2 }) : fc.constant(null);
  const late = fc.record({ when: fc.constantFrom(...given.when), fails: fc.integer({ min: 0, max: 3 }).map((n) => n === 3), url });
  return chance(given.times).chain((is): fc.Arbitrary<Late | null> => (is ? late : fc.constant(null)));
}

/** So often in a hundred; it shrinks to not. */
function chance(times = 0): fc.Arbitrary<boolean> {
  return fc.integer({ min: 0, max: 99 }).map((n) => n >= 100 - times);
}

function functions(extent: Extent): fc.Arbitrary<Func> {
  // Express leaves out the body that its 404 has announced where a GET was made a HEAD.
  const methods = extent.requestMethods.filter((method) => method !== 'HEAD');
  const rewrite = fc.record({ url: fc.option(targets(extent), { freq: 4 }), method: fc.option(fc.constantFrom(...methods), { freq: 2 }) });
  return fc.record({
    id: fc.constant(0),
    catches: fc.integer({ min: 0, max: 3 }).map((n) => n === 3),
    act: acts(extent),
    timing: timings(extent),
    rewrite: chance(extent.rewrites).chain((is): fc.Arbitrary<Rewrite | null> => (is ? rewrite : fc.constant(null))),
    late: lates(extent),
    opens: chance(extent.opens),
    registers: chance(extent.registers),
  });
}

/** Patterns that name nothing twice. */
function patterns(segments: readonly string[], min: number, max: number): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...segments), { minLength: min, maxLength: max }).map((chosen) => {
    const names = new Set<string>();
    const kept = chosen.filter((segment) => {
      const name = /^[:*]/.test(segment) ? segment.replace(/\(.*/, '') : null;
      if (name === null || !names.has(name)) return names.add(name ?? '');
      return false;
    });
    return '/' + kept.join('/');
  });
}

function prefixes({ segments, anyMount }: Extent): fc.Arbitrary<string[]> {
  const allowed = anyMount ? segments : segments.filter((segment) => segment !== '**');
  const one = patterns(allowed, 0, 2);
  // In an array neither Express nor express() takes "/" for a prefix of all.
  const pair = fc.tuple(one, one).filter(([a, b]) => a !== '/' && b !== '/');
  return fc.oneof({ arbitrary: one.map((path) => [path]), weight: 5 }, { arbitrary: pair, weight: 1 });
}

function targets({ requestSegments }: Extent): fc.Arbitrary<string> {
  return fc.tuple(fc.array(fc.constantFrom(...requestSegments), { maxLength: 4 }), fc.integer({ min: 0, max: 9 }))
    .map(([segments, query]) => '/' + segments.join('/') + (query === 0 ? '?q=1' : ''));
}

/** Requests of several kinds, some with a body that no parser reads. */
export function requests(extent: Extent): fc.Arbitrary<Sent[]> {
  const method = fc.constantFrom(...extent.requestMethods);
  const plain = fc.record({ method, url: targets(extent) });
  const broken = fc.record({ method: fc.constantFrom('POST', 'PUT'), url: targets(extent), body: fc.constantFrom('{', '{}'), apart: fc.boolean() });
  return fc.array(extent.bodies ? fc.oneof({ arbitrary: plain, weight: 6 }, { arbitrary: broken, weight: 1 }) : plain, { minLength: 4, maxLength: 6 });
}
