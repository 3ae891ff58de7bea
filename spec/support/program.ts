import type { IncomingMessage } from 'node:http';
import { toFunction, toParamHandler } from './program-function';

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
  /** Whether it calls `next` in an async context of its own. */
  readonly opens: boolean;
  /** Whether it registers more in its router when it is called for the first time. */
  readonly registers: boolean;
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

/** A row of functions that only go on, so that the stack grows deep, with some among them that may do more. */
export interface FillEntry {
  readonly kind: 'fill';
  /** How many only go on before those. */
  readonly before: number;
  readonly funcs: readonly Func[];
  readonly behind: number;
  /** Whether all are handlers of one route. */
  readonly isRoute: boolean;
}

/** A handler of a parameter. */
export interface ParamEntry {
  readonly kind: 'param';
  readonly name: string;
  readonly func: Func;
  /** Whether it puts another value in the place of the parameter's. */
  readonly replaces: boolean;
}

export type Entry = RouteEntry | UseEntry | FillEntry | ParamEntry;

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
      if (entry.kind === 'fill') return { ...entry, funcs: entry.funcs.map(func) };
      if (entry.kind === 'param') return { ...entry, func: func(entry.func) };
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

/** A line with the async context it is written in: that which a function has opened, or 0 for the request's own. */
export const inContext = (text: string, opener: number): string => (opener === 0 ? text : `${text} in #${opener}`);

/** The status that an error raised by that function asks for: it tells errors apart that nothing caught. */
export const statusOfError = (id: number): number => 400 + (id % 190);

/** What both frameworks give a function. */
export type Incoming = IncomingMessage & { baseUrl: string; originalUrl: string; params: Record<string, unknown>; next?: Next | undefined };
export type Next = (error?: unknown) => void;
/** Writes down a call. */
export type Recorder = (func: Func, inRoute: boolean, error: unknown, req: Incoming) => void;
/** Calls something in a new async context of a request. */
export type Opener = (id: number, req: Incoming, act: () => void) => void;

/** What both frameworks register with, as far as programs go. */
export interface Registrar {
  use(...given: unknown[]): unknown;
  route(paths: unknown): unknown;
  param(name: string, handler: unknown): unknown;
}

/** The framework that a program is built for. */
export interface Builder {
  readonly router: (application: boolean) => Registrar;
  readonly pattern: (text: string) => string;
  readonly record: Recorder;
  /** Needed where functions open contexts. */
  readonly open?: Opener;
}

/** What a row is registered under: in a route all paths but "/" of whatever it is mounted at. */
export const ROW_PATH = '/**';

/** Registers all of a program in an application or router. */
export function build(program: RouterProgram, into: Registrar, builder: Builder): void {
  const paths = (given: readonly string[]): unknown => (given.length === 1 ? builder.pattern(given[0] as string) : given.map(builder.pattern));
  for (const entry of program.entries) {
    if (entry.kind === 'fill') {
      buildRow(entry, into, builder);
      continue;
    }
    if (entry.kind === 'param') {
      into.param(builder.pattern(`/${entry.name}`).replace(/^\/(?::|\*(?=\w))?/, ''), toParamHandler(entry, into, builder));
      continue;
    }
    if (entry.kind === 'route') {
      buildRoute(entry, paths(entry.paths), into, builder);
      continue;
    }
    const items = entry.items.map((item) => {
      if (!isRouter(item)) return toFunction(item, false, into, builder);
      const router = builder.router(item.application);
      build(item, router, builder);
      return router;
    });
    if (entry.paths === null) into.use(...items);
    else into.use(paths(entry.paths), items[0], items.slice(1));
    if (entry.again !== null) into.use(paths(entry.again), ...items);
  }
}

function buildRow({ before, funcs, behind, isRoute }: FillEntry, into: Registrar, builder: Builder): void {
  const fill = (count: number): unknown[] => Array.from({ length: count }, () => (_req: Incoming, _res: unknown, next: Next) => next());
  const row = [...fill(before), ...funcs.map((func) => toFunction(func, isRoute, into, builder)), ...fill(behind)];
  if (isRoute) (into as unknown as Verbs).all?.(builder.pattern(ROW_PATH), ...row);
  else into.use(...row);
}

type Verbs = Record<string, (...given: unknown[]) => unknown>;

function buildRoute(entry: RouteEntry, path: unknown, into: Registrar, builder: Builder): void {
  const single = entry.stack.length === 1;
  const target = (single ? into : into.route(path)) as Verbs;
  for (const { method, funcs } of entry.stack) {
    const made = funcs.map((func) => toFunction(func, true, into, builder));
    const given: unknown[] = entry.nested ? [made[0], [made.slice(1)]] : made;
    const verb = method === null ? 'all' : method.toLowerCase();
    (target[verb] as Verbs[string]).call(target, ...(single ? [path, ...given] : given));
  }
}
