/** Type tests of what a handler is given, with expect-type: compiled, never run. */
import { expectTypeOf } from 'expect-type';
import { createServer, express, type Application, type ErrorHandler, type Handler, HttpError, type ParsedQuery, type Request, type Response, Router, type Route } from 'waypost';

type Query = Record<string, string | string[] | undefined>;

for (const router of [createServer(), express(), Router()] as express.IRouter[]) {
  // Parameters, by the path: of verbs, of routes, of middleware.
  router.get('/users/:id', (req, res, next) => {
    expectTypeOf(req.params).toEqualTypeOf<{ id: string }>();
    expectTypeOf(res).toExtend<Response>();
    expectTypeOf(next).toEqualTypeOf<(error?: unknown) => void>();
  });
  router.route('/users/:id/files/*path').get((req) => {
    expectTypeOf(req.params).toEqualTypeOf<{ id: string; path: string[] }>();
  }).all((req) => {
    expectTypeOf(req.params.id).toBeString();
  });
  router.use('/t/:tenant', (req) => {
    expectTypeOf(req.params).toEqualTypeOf<{ tenant: string }>();
  });
  router.use(['/a/:a', '/a/:a/:b'], (req) => {
    expectTypeOf(req.params).toEqualTypeOf<{ a: string; b: string | undefined }>();
  });
  router.use((req) => {
    expectTypeOf(req.params).toEqualTypeOf<Record<string, string>>();
  });
  expectTypeOf(router.route('/:id')).toExtend<Route<{ id: string }>>();

  // The query: a text, or several, or none.
  router.get('/', (req) => {
    expectTypeOf(req.query).toEqualTypeOf<Query>();
    expectTypeOf(req.query['page']).toEqualTypeOf<string | string[] | undefined>();
    // @ts-expect-error -- there may be none, or several
    const page: string = req.query['page'];
    // @ts-expect-error -- a query parser that nests is told of by the type arguments
    const nested: unknown = req.query['filter']?.['name'];
    return [page, nested];
  });
  router.get<{ id: string }, unknown, unknown, { filter: { name: string } }>('/:id', (req) => {
    expectTypeOf(req.query.filter.name).toBeString();
  });

  // What no compiler knows is unknown.
  router.post('/', (req, res) => {
    expectTypeOf(req.body).toBeUnknown();
    expectTypeOf(res.locals['user']).toBeUnknown();
  });
}

expectTypeOf<ParsedQuery>().toEqualTypeOf<Query>();
expectTypeOf<Request['query']>().toEqualTypeOf<Query>();
expectTypeOf<express.Query>().toEqualTypeOf<Query>();
expectTypeOf<Handler>().toBeCallableWith({} as Request, {} as Response, () => undefined);
expectTypeOf<Parameters<ErrorHandler>[0]>().toBeUnknown();
expectTypeOf(createServer).returns.toEqualTypeOf<Application>();

// What a stream is sent from, and what is none.
declare const res: Response;
res.stream(process.stdin);
res.stream(new Blob(['x']).stream());
void fetch('http://localhost/').then(({ body }) => { if (body !== null) res.stream(body); });
res.stream((async function* () { yield await Promise.resolve('x'); })());
// @ts-expect-error -- data is sent by json and xJson
res.stream({ a: 1 });
// @ts-expect-error -- text is sent by send
res.stream('text');

// The limit that an error is of.
expectTypeOf(new HttpError(413, 'TOO_LARGE', 'too large', { limit: 10, option: 'upload.limit' }).limit).toEqualTypeOf<number | undefined>();
