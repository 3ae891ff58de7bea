/**
 * Type tests: compiled, never run. What stands here holds when `npm run types`
 * passes; a line under `@ts-expect-error` must be wrong.
 */
import { createServer, type Handler, type IRouter, type PathParams, Router } from 'waypost';

/** Two types are the same, and not merely assignable: two functions generic over them are interchangeable only then. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- T stands for whatever the compiler must treat alike
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Flat<T> = { [Key in keyof T]: T[Key] };
function same<A, B>(..._proof: Same<Flat<A>, Flat<B>> extends true ? [] : [never]): void {
  // Only the type of the parameters counts.
}

// INTERFACE section 4.2, row by row.
same<keyof PathParams<'/path'>, never>();
same<PathParams<'/path/:param'>, { param: string }>();
same<PathParams<'/path/*'>, { '*': string }>();
same<PathParams<'/path/**'>, { '**': string }>();
same<PathParams<'/path/:param/*'>, { param: string; '*': string }>();
same<PathParams<'/path/:param/**'>, { param: string; '**': string }>();
same<PathParams<'/a/:x/b/:y'>, { x: string; y: string }>();

// What DECISIONS adds: several in a segment, suffixes, constraints, "**" in the middle.
same<keyof PathParams<'/'>, never>();
same<PathParams<'/:from-:to'>, { from: string; to: string }>();
same<PathParams<'/:id.json'>, { id: string }>();
same<PathParams<'/v:major.:minor'>, { major: string; minor: string }>();
same<PathParams<'/a/**/b/:c'>, { '**': string; c: string }>();
same<PathParams<'/:id(\\d+)'>, { id: string }>();
same<PathParams<'/:id(\\d+).json'>, { id: string }>();
same<PathParams<'/:from(\\d+)-:to(\\d+)'>, { from: string; to: string }>();
same<PathParams<'/:$under_score1/x'>, { $under_score1: string }>();
same<PathParams<'/*/**'>, { '*': string; '**': string }>();

// What Express writes: wildcards by name, optional parts, quoted names.
same<PathParams<'/*path'>, { path: string[] }>();
same<PathParams<'/files/*path/:id'>, { path: string[]; id: string }>();
same<PathParams<'/files/*path.:ext'>, { path: string[]; ext: string }>();
same<PathParams<'/{*path}'>, { path?: string[] }>();
same<PathParams<'/page{/:n}'>, { n?: string }>();
same<PathParams<'/:name{.:format}'>, { name: string; format?: string }>();
same<PathParams<'/a{/:b{/:c}}/:d'>, { b?: string; c?: string; d: string }>();
same<PathParams<'/user{s}/:id'>, { id: string }>();
same<PathParams<'/:"a name"/*"x/y"'>, { 'a name': string; 'x/y': string[] }>();
same<PathParams<'/\\{:a\\}'>, { a: string }>();
same<PathParams<'/{:id(\\d{2})}/x'>, { id?: string }>();
same<PathParams<'/a{/*}{/b/**}'>, { '*'?: string; '**'?: string }>();
same<PathParams<RegExp>, Record<string, string>>();
same<PathParams<RegExp | '/:a'>, Record<string, string>>();
same<PathParams<''>, PathParams<'/'>>();
same<PathParams<'/a/*rest' | '/b/:id'>, { rest: string[] | undefined; id: string | undefined }>();
same<PathParams<'/a{/:x}' | '/a/:x/:y'>, { x?: string; y: string | undefined }>();

// What stands in a constraint or behind a backslash is no name.
same<PathParams<'/:time(\\d+:\\d+)/:zone'>, { time: string; zone: string }>();
same<PathParams<'/:kind((?:a|b))/:id'>, { kind: string; id: string }>();
same<PathParams<'/:path(a/:b)'>, { path: string }>();
same<PathParams<'/:text([^():]+)-:rest'>, { text: string; rest: string }>();
same<PathParams<'/:a(\\(:b\\)):c'>, { a: string; c: string }>();
same<PathParams<'/a\\:b/:c'>, { c: string }>();
same<PathParams<'/\\*/:c'>, { c: string }>();
same<PathParams<'/[:x]'>, { x: string }>();

// A path that the compiler does not know can have any parameter; of several patterns, some may capture what others do not.
same<PathParams<string>, Record<string, string>>();
same<PathParams<'/:a' | '/:b/x'>, { a: string | undefined; b: string | undefined }>();
same<PathParams<'/a/:x' | '/a/:x/:y'>, { x: string; y: string | undefined }>();

const app = createServer();

app.get('/u/:id/**', (req, res) => {
  const id: string = req.params.id;
  const rest: string = req.params['**'];
  // @ts-expect-error -- the pattern has no such parameter
  const other: string = req.params.other;
  // @ts-expect-error -- a capture is a string
  const digits: number = req.params.id;
  res.json({ id, rest, other, digits });
});

app.post('/plain', (req, res) => {
  // @ts-expect-error -- a path without parameters has none
  res.json(req.params.id);
});

app.get(['/:a', '/:a/:b'], (req, res) => {
  const a: string = req.params.a;
  // @ts-expect-error -- only one of the two patterns has it
  const b: string = req.params.b;
  const optional: string | undefined = req.params.b;
  res.json({ a, b, optional });
});

// A handler that is typed for no path in particular fits all of them.
declare const plain: Handler;
app.get('/u/:id', plain, [plain]);
app.all(['/', '/:a', '/**'], plain);

// Every verb, and every handler of a route.
for (const router of [app, Router()] satisfies IRouter[] as IRouter[]) {
  router.put('/:x', (req) => { const x: string = req.params.x; return x; });
  router.delete('/:x', (req) => { const x: string = req.params.x; return x; });
  router.patch('/:x', (req) => { const x: string = req.params.x; return x; });
  router.options('/:x', (req) => { const x: string = req.params.x; return x; });
  router.head('/:x', (req) => { const x: string = req.params.x; return x; });
  router.all('/:x', (req) => { const x: string = req.params.x; return x; });
  router.get('/:x', (_req, _res, next) => next(), async (req, res) => { res.send(req.params.x); });
  // @ts-expect-error -- a typo in a parameter's name is found by the compiler
  router.get('/:name', (req, res) => res.send(req.params.nam));
}

// Middleware is typed by its path, too.
app.use('/t/:tenant', (req, _res, next) => {
  const tenant: string = req.params.tenant;
  next(tenant === '' ? new Error('no tenant') : undefined);
});

// A path that is no literal.
declare const path: string;
app.get(path, (req, res) => {
  const any: string | undefined = req.params.anything;
  res.send(any ?? '');
});

// A RegExp captures what no compiler knows.
app.get(/a/, (req, res) => res.end(req.params['0']));
// @ts-expect-error -- a handler is a function
app.get('/a', 'b');
