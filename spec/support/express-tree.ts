import fc from 'fast-check';
import type { ExpressModule } from './both-expresses';

/** A path of a registration: a string, or a RegExp. */
type Path = string | RegExp;

/** What a function of a program does. */
type Act = 'next' | 'answer' | 'route' | 'router' | 'fails' | 'throws' | 'rejects' | 'async';

interface Func {
  readonly act: Act;
  /** Whether it is error middleware. */
  readonly catches: boolean;
}

interface RouteEntry {
  readonly kind: 'route';
  readonly verb: Verb;
  readonly paths: readonly Path[];
  readonly funcs: readonly Func[];
}

interface UseEntry {
  readonly kind: 'use';
  /** Null for none given. */
  readonly paths: readonly Path[] | null;
  readonly item: Func | Tree;
}

type Entry = RouteEntry | UseEntry;

/** How an application or a router in a program is made. */
interface Make {
  readonly isApplication: boolean;
  /** Whether it is called by a function of the program's own, as middleware of connect is. */
  readonly byHand: boolean;
  readonly options: { readonly caseSensitive?: boolean; readonly strict?: boolean; readonly mergeParams?: boolean };
  /** Whether what is in it is registered before it is mounted. */
  readonly early: boolean;
  /** Names whose parameters are handled; what a handler makes of the value. */
  readonly param: 'none' | 'notes' | 'replaces' | 'fails';
}

/** An application or a router with all that is in it. */
export interface Tree {
  readonly make: Make;
  readonly entries: readonly Entry[];
}

const VERBS = ['get', 'get', 'get', 'post', 'put', 'all', 'options', 'head'] as const;
type Verb = (typeof VERBS)[number];

/** Paths of routes: only there `:p` stands, whose handlers Express calls at other times for mounts. */
const ROUTES: readonly Path[] = [
  '/', '/a', '/b', '/A', '/a/', '/a/b', '/:x', '/:p', '/:p/:x', '/a/:p', '/:x/b', '/:x.json', '/*w', '/{*w}', '/a/*w', '/a{/:x}', '/{:x}', '/{a/}b', '/a{/:p}{/b}', '/*w/b', '{/:x}/b', '/:x{.:f}', '/\\:a', '/:"q q"', '*w',
  /^\/a/, /a/, /^\/(a|b)(\/.*)?$/i, /^\/(?<x>[^/]+)\/(b)$/, /.*/, /\/b\/?$/, /^\/$/,
];
const MOUNTS: readonly Path[] = [
  '/', '/a', '/b', '/A', '/a/', '/a/b', '/:x', '/:y', '/a/:x', '/:x/:y', '/*w', '/{*w}', '/a/*w', '/a{/:x}', '/{:x}', '/{a/}b', '/a{/:x}{/b}', '/*w/b', '{/:x}/b', '/:x{.:f}', '/b/*v/a',
  /^\/a/, /a/, /^\/(a|b)/, /^\/(?<x>[^/]+)/, /.*/, /^\/([^/]+)\/(b)/, /(?:)/,
];

const paths = (from: readonly Path[]): fc.Arbitrary<readonly Path[]> => fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...from).map((path) => [path]) },
  // Of several, one that is a RegExp keeps the others from counting in Express.
  { weight: 1, arbitrary: fc.uniqueArray(fc.constantFrom(...from.filter((path) => typeof path === 'string')), { minLength: 2, maxLength: 3 }) },
  // An array without any, such as one of a configuration.
  { weight: 1, arbitrary: fc.constant([]) },
);

const func = fc.record<Func>({
  act: fc.constantFrom<Act>('next', 'next', 'next', 'next', 'next', 'next', 'next', 'next', 'async', 'answer', 'answer', 'route', 'router', 'fails', 'throws', 'rejects'),
  catches: fc.nat(4).map((number) => number === 0),
});
/** Of a route: the first is no error handler, as in any program. */
const handlers = fc.array(func, { minLength: 1, maxLength: 3 }).map((funcs) => funcs.map((each, index) => ({ ...each, catches: each.catches && index > 0 })));
const make = fc.record<Make>({
  isApplication: fc.nat(3).map((number) => number === 0),
  byHand: fc.nat(5).map((number) => number === 0),
  options: fc.record({ caseSensitive: fc.boolean(), strict: fc.boolean(), mergeParams: fc.boolean() }, { requiredKeys: [] }),
  early: fc.boolean(),
  param: fc.constantFrom<Make['param']>('none', 'none', 'notes', 'replaces', 'fails'),
});

/** Random programs. */
export const trees: fc.Arbitrary<Tree> = fc.letrec<{ tree: Tree; entry: Entry }>((tie) => ({
  tree: fc.record({ make, entries: fc.array(tie('entry'), { minLength: 2, maxLength: 6, depthIdentifier: 'tree' }) }),
  entry: fc.oneof({ depthIdentifier: 'tree', maxDepth: 3 },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('route' as const), verb: fc.constantFrom(...VERBS), paths: paths(ROUTES), funcs: handlers }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('use' as const), paths: fc.option(paths(MOUNTS), { freq: 1 }), item: func }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('use' as const), paths: fc.option(paths(MOUNTS), { freq: 2 }), item: tie('tree') }) }),
})).tree;

const SEGMENTS = ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'A', 'x', 'a.b', 'b.json', ':a', 'c%20d', 'é'];
const METHODS = ['GET', 'GET', 'GET', 'POST', 'HEAD', 'OPTIONS', 'OPTIONS', 'DELETE'];

/** A request to a program. */
export interface Sent {
  readonly method: string;
  readonly target: string;
}

/** Requests that may meet something of the programs. */
export const sents: fc.Arbitrary<Sent[]> = fc.array(fc.record({
  method: fc.constantFrom(...METHODS),
  target: fc.tuple(fc.array(fc.constantFrom(...SEGMENTS), { maxLength: 3 }), fc.constantFrom('', '', '', '', '/', '?q=1', '/?q')).map(([segments, end]) => {
    const path = `/${segments.map((segment) => encodeURI(decodeURI(segment))).join('/')}`;
    return path === '/' ? path + end.replace('/', '') : path + end;
  }).chain((target) => fc.constantFrom(...Array<string>(12).fill(target), `*${target}`, '*', `*x${target}`)),
}), { minLength: 6, maxLength: 6 });

/** What functions of programs are given. */
interface Incoming {
  method: string;
  url: string;
  baseUrl: string;
  originalUrl: string;
  path: string;
  params: Record<string, unknown>;
  route?: { path: unknown };
}
interface Outgoing {
  status(code: number): Outgoing;
  send(body: string): unknown;
}
type Next = (error?: unknown) => void;

/** Called with what has been called, in its order. */
type Note = (line: string) => void;

interface Registrar {
  use(...given: unknown[]): unknown;
  all(...given: unknown[]): unknown;
  param(name: string, handler: unknown): unknown;
  enable(name: string): unknown;
}

/** Makes the application that a program is, by Express or by waypost. */
export function applicationOf(tree: Tree, lib: ExpressModule, note: Note): (...given: never[]) => unknown {
  let id = 0;
  const fill = (into: Registrar, { make: { param }, entries }: Tree): void => {
    if (param !== 'none') into.param('p', paramHandler(++id, param, note));
    for (const entry of entries) {
      const own = entry.paths === null ? [] : [entry.paths.length === 1 ? entry.paths[0] : entry.paths];
      if (entry.kind === 'route') {
        (into as unknown as Record<string, (...given: unknown[]) => unknown>)[entry.verb]?.(...own, ...entry.funcs.map((each) => toFunction(++id, each, note, true)));
      } else if ('act' in entry.item) {
        into.use(...own, toFunction(++id, entry.item, note));
      } else {
        const { item } = entry;
        const inner = made(item.make, lib);
        if (item.make.early) fill(inner, item);
        into.use(...own, item.make.byHand ? (req: unknown, res: unknown, next: unknown): void => (inner as unknown as (...given: unknown[]) => void)(req, res, next) : inner);
        if (!item.make.early) fill(inner, item);
      }
    }
  };
  const app = made({ ...tree.make, isApplication: true }, lib);
  fill(app, tree);
  app.use((req: Incoming, res: Outgoing) => res.status(404).send(`nothing ${seen(req)}`));
  app.use((error: { message: string; status?: number }, req: Incoming, res: Outgoing, _next: Next) => res.status(error.status ?? 500).send(`${error.message} ${seen(req)}`));
  return app as unknown as (...given: never[]) => unknown;
}

function made({ isApplication, options }: Make, lib: ExpressModule): Registrar {
  if (!isApplication) return lib.Router(options) as unknown as Registrar;
  const app = lib() as unknown as Registrar;
  if (options.caseSensitive === true) app.enable('case sensitive routing');
  if (options.strict === true) app.enable('strict routing');
  return app;
}

function seen({ method, url, baseUrl, originalUrl, path, params }: Incoming): string {
  const sorted = Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1));
  return `${method} ${url} ${baseUrl} ${originalUrl} ${path} ${JSON.stringify(sorted)}`;
}

function toFunction(id: number, { act, catches }: Func, note: Note, inRoute = false): unknown {
  const run = (error: Error | null, req: Incoming, res: Outgoing, next: Next): unknown => {
    note(`${id}${error === null ? '' : ` after ${error.message}`}: ${seen(req)}${inRoute ? ` of ${String(req.route?.path)}` : ''}`);
    if (act === 'answer') return void res.send(`by ${id}`);
    if (act === 'throws') throw new Error(`thrown by ${id}`);
    if (act === 'rejects') return Promise.reject(new Error(`rejected by ${id}`));
    if (act === 'fails') return void next(new Error(`failed by ${id}`));
    if (act === 'async') return void setImmediate(next);
    return void next(act === 'next' ? undefined : act);
  };
  return catches
    ? (error: Error, req: Incoming, res: Outgoing, next: Next) => run(error, req, res, next)
    : (req: Incoming, res: Outgoing, next: Next) => run(null, req, res, next);
}

function paramHandler(id: number, param: Make['param'], note: Note): unknown {
  return (req: Incoming, _res: Outgoing, next: Next, value: string, name: string): void => {
    note(`${id}: ${name} is ${value} of ${JSON.stringify(Object.entries(req.params).sort(([a], [b]) => (a < b ? -1 : 1)))}`);
    if (param === 'fails' && value === 'x') return next(new Error(`refused by ${id}`));
    if (param === 'replaces') req.params[name] = `${value}!`;
    next();
  };
}

/** A program as it can be read. */
export function writeTree({ make: { isApplication, byHand, options, early, param }, entries }: Tree, indent = ''): string {
  const name = `${isApplication ? 'application' : 'router'} ${JSON.stringify(options)}${byHand ? ' by hand' : ''}${early ? ' early' : ''} param ${param}`;
  return [name, ...entries.map((entry) => {
    const own = entry.paths === null ? '' : entry.paths.map((path) => (typeof path === 'string' ? JSON.stringify(path) : String(path))).join(', ');
    if (entry.kind === 'route') return `${indent}  ${entry.verb} ${own}: ${entry.funcs.map(writeFunc).join(', ')}`;
    return `${indent}  use ${own}: ${'act' in entry.item ? writeFunc(entry.item) : writeTree(entry.item, `${indent}  `)}`;
  })].join('\n');
}

function writeFunc({ act, catches }: Func): string {
  return catches ? `catches ${act}` : act;
}

/** Whether a program has handlers of parameters. */
export function handlesParams({ make: { param }, entries }: Tree): boolean {
  return param !== 'none' || entries.some((entry) => entry.kind === 'use' && 'make' in entry.item && handlesParams(entry.item));
}
