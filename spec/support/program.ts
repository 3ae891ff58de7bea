import type { IncomingMessage } from 'node:http';
import fc from 'fast-check';
import { toFunction } from './program-function';

/** What a function of a program does when it is called; `forward` passes on the error that it was given. */
export type Act = 'answer' | 'next' | 'falsy' | 'route' | 'router' | 'throw' | 'pass' | 'forward';

/** Whether it does so at once, in an async function after an await, from a callback, or from a timer. */
export type Timing = 'sync' | 'promise' | 'callback' | 'timer';

/** How a function calls `next` a second time. */
export interface Late {
  /** Right behind the first call, a turn of the event loop later, or once the response has been sent. */
  readonly when: 'now' | 'turn' | 'sent';
  readonly fails: boolean;
  /** What `req.url` is set to before; null for nothing. */
  readonly url: string | null;
}

/** What a function sets before it acts; the URL is relative to what it sees. */
export interface Rewrite {
  readonly url: string | null;
  readonly method: string | null;
}

/** One handler, middleware or (when it catches) error middleware. `id` is given by {@link number}. */
export interface Func {
  readonly id: number;
  readonly catches: boolean;
  readonly act: Act;
  readonly timing: Timing;
  readonly rewrite: Rewrite | null;
  readonly late: Late | null;
}

export interface RouteEntry {
  readonly kind: 'route';
  readonly paths: readonly string[];
  /** Handlers method by method, `null` for all; one alone is registered by its verb, more by `route(path)`. */
  readonly stack: readonly { readonly method: string | null; readonly funcs: readonly Func[] }[];
  /** Whether handlers are handed over in an array. */
  readonly nested: boolean;
}

export interface UseEntry {
  readonly kind: 'use';
  /** `null` for none given. */
  readonly paths: readonly string[] | null;
  readonly items: readonly (Func | RouterProgram)[];
  /** Where the same functions and routers stand a second time, right below. */
  readonly again: readonly string[] | null;
}

/** So many functions in a row that only go on: a stack that grows deep. */
export interface FillEntry {
  readonly kind: 'fill';
  readonly count: number;
}

export type Entry = RouteEntry | UseEntry | FillEntry;

export interface RouterProgram {
  /** Whether it is an application of its own when it is mounted. */
  readonly application: boolean;
  readonly entries: readonly Entry[];
}

/** A request to a program. */
export interface Sent {
  readonly method: string;
  readonly url: string;
  /** Sent as JSON. */
  readonly body?: string;
  /** Whether the body comes in a packet of its own. */
  readonly apart?: boolean;
}

export const isRouter = (item: Func | RouterProgram): item is RouterProgram => 'entries' in item;

/** A copy of the program in which each function has its number, in order. */
export function number(program: RouterProgram): RouterProgram {
  let id = 0;
  const func = (given: Func): Func => ({ ...given, id: ++id });
  const router = ({ application, entries }: RouterProgram): RouterProgram => ({
    application,
    entries: entries.map((entry) => {
      if (entry.kind === 'fill') return entry;
      if (entry.kind === 'use') return { ...entry, items: entry.items.map((item) => (isRouter(item) ? router(item) : func(item))) };
      return { ...entry, stack: entry.stack.map(({ method, funcs }) => ({ method, funcs: funcs.map(func) })) };
    }),
  });
  return router(program);
}

/** A line of a trace: who ran and what it saw. */
export function line(id: number, method: string, url: string, base: string, params: Record<string, unknown>, error: string | null): string {
  const seen = Object.keys(params).sort().map((name) => `${name}=${String(params[name])}`);
  return `#${id} ${method} ${url} base=${base} {${seen.join(' ')}}${error === null ? '' : ` error=${error}`}`;
}

/** The status that an error raised by that function asks for: it tells errors apart that nothing caught. */
export const statusOfError = (id: number): number => 400 + (id % 190);

/** What both frameworks give a function. */
export type Incoming = IncomingMessage & { baseUrl: string; originalUrl: string; params: Record<string, unknown> };
export type Next = (error?: unknown) => void;
/** Writes down a call. */
export type Recorder = (func: Func, inRoute: boolean, error: unknown, req: Incoming) => void;

/** What both frameworks register with, as far as programs go. */
export interface Registrar {
  use(...given: unknown[]): unknown;
  route(paths: unknown): unknown;
}

/** The framework that a program is built for. */
export interface Builder {
  readonly router: (application: boolean) => Registrar;
  readonly pattern: (text: string) => string;
  readonly record: Recorder;
}

/** Registers all of a program in an application or router. */
export function build(program: RouterProgram, into: Registrar, builder: Builder): void {
  const paths = (given: readonly string[]): unknown => (given.length === 1 ? builder.pattern(given[0] as string) : given.map(builder.pattern));
  for (const entry of program.entries) {
    if (entry.kind === 'fill') {
      for (let i = 0; i < entry.count; i++) into.use((_req: Incoming, _res: unknown, next: Next) => next());
      continue;
    }
    if (entry.kind === 'route') {
      buildRoute(entry, paths(entry.paths), into, builder);
      continue;
    }
    const items = entry.items.map((item) => {
      if (!isRouter(item)) return toFunction(item, false, builder.record);
      const router = builder.router(item.application);
      build(item, router, builder);
      return router;
    });
    if (entry.paths === null) into.use(...items);
    else into.use(paths(entry.paths), items[0], items.slice(1));
    if (entry.again !== null) into.use(paths(entry.again), ...items);
  }
}

type Verbs = Record<string, (...given: unknown[]) => unknown>;

function buildRoute(entry: RouteEntry, path: unknown, into: Registrar, builder: Builder): void {
  const single = entry.stack.length === 1;
  const target = (single ? into : into.route(path)) as Verbs;
  for (const { method, funcs } of entry.stack) {
    const made = funcs.map((func) => toFunction(func, true, builder.record));
    const given: unknown[] = entry.nested ? [made[0], [made.slice(1)]] : made;
    const verb = method === null ? 'all' : method.toLowerCase();
    (target[verb] as Verbs[string]).call(target, ...(single ? [path, ...given] : given));
  }
}

/** What random programs may hold. */
export interface Extent {
  /** Patterns of routes and of middleware. */
  readonly segments: readonly string[];
  /** Whether wildcards of many segments, and arrays of paths of different lengths, may stand in `use`. */
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
  /** How often one entry in a hundred is a row of 90 to 130 functions that only go on. */
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
      { arbitrary: fc.record({ kind: fc.constant('fill' as const), count: fc.integer({ min: 90, max: 130 }) }), weight: extent.fills }),
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
  return fc.integer({ min: 0, max: 99 }).chain((n) => (n < given.times ? late : fc.constant(null)));
}

function functions(extent: Extent): fc.Arbitrary<Func> {
  const rewrite = fc.record({ url: fc.option(targets(extent), { freq: 4 }), method: fc.option(fc.constantFrom(...extent.requestMethods), { freq: 2 }) });
  return fc.record({
    id: fc.constant(0),
    catches: fc.integer({ min: 0, max: 3 }).map((n) => n === 3),
    act: acts(extent),
    timing: timings(extent),
    rewrite: fc.integer({ min: 0, max: 99 }).chain((n) => (n < extent.rewrites ? rewrite : fc.constant(null))),
    late: lates(extent),
    // A rewrite is seen when next() is called: what is thrown after one is said nowhere.
  }).map((func) => (func.rewrite !== null && func.act === 'throw' ? { ...func, rewrite: null } : func));
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
  // Express takes the first path that is a prefix and tries no other; and in an array it does not take "/" for a prefix of all.
  const alike = ([a, b]: readonly [string, string]): boolean => a !== '/' && b !== '/' && a.split('/').length === b.split('/').length;
  const pair = anyMount ? fc.tuple(one, one) : fc.tuple(one, one).filter(alike);
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
