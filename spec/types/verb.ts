/** Type tests of what registers routes: compiled, never run. The lines under `@ts-expect-error` must be wrong. */
import cors from 'cors';
import { createServer, express, type ErrorHandler, type Handler, type NextFunction, type Request, type RequestHandler, type Response, Router } from 'waypost';

interface Note {
  id: string;
  text: string;
}

declare const plain: RequestHandler;
declare const typed: RequestHandler<Record<string, string>, { error: string }, Note>;
declare const failed: ErrorHandler;

class Controller {
  readonly show = async (req: Request<{ id: string }, Note, Note>, res: Response<Note>): Promise<void> => void res.json(req.body);
}

for (const router of [createServer(), express(), Router()] as express.IRouter[]) {
  // By the path, whatever stands before the handler.
  router.get('/:id', (req, res) => { const id: string = req.params.id; res.json(id); });
  router.get('/:id', plain, [plain, [plain]], cors(), (req, res) => { const id: string = req.params.id; res.json(id); });
  router.get('/:id', new Controller().show, (req) => { const id: string = req.params.id; return id; });
  // @ts-expect-error -- the path has no such parameter
  router.get('/:id', plain, [plain], (req) => req.params.name);

  // By type arguments, in the order of Express's types.
  router.put<{ id: string }>('/:id', (req) => { const id: string = req.params.id; return id; });
  router.put<{ id: string }, Note, Omit<Note, 'id'>, { q: string }, { by: number }>('/:id', cors(), plain, (req, res) => {
    const { text } = req.body;
    const by: number = res.locals.by;
    res.json({ id: req.params.id, text: text + req.query.q + String(by) });
    // @ts-expect-error -- that is no Note
    res.json({ id: by });
    // @ts-expect-error -- the body has no such property
    return req.body.id;
  });
  router.put<'/:id', { id: string }, Note, Note>('/:id', (req) => { const text: string = req.body.text; return text; });
  router.use<{ id: string }, Note, Note>('/:id', (req) => { const text: string = req.body.text; return text; });
  router.use<Record<string, string>, Note, Note>((req) => { const text: string = req.body.text; return text; });

  // By the handlers.
  router.post('/:id', typed, (req) => { const text: string = req.body.text; return text; });
  router.post('/', (req: Request<object, unknown, Note>, res) => { res.json(req.body.text); });
  router.post('/', (error: Error, _req: Request, res: Response, _next: NextFunction) => void res.json(error.message));
  router.post('/', [plain, failed], failed);

  // Expressions, and paths of several kinds.
  router.get(/^\/x/, (req) => { const part: string | undefined = req.params[0]; return part; });
  router.get(['/a/:b', /^\/x/], (req) => { const b: string | undefined = req.params['b']; return b; });

  // Routes and middleware are typed by their paths, too.
  router.route('/:id').get((req, res) => { const id: string = req.params.id; res.json(id); }).post<{ id: string }, Note, Note>((req) => req.body.text.length).all(plain, failed);
  // @ts-expect-error -- the path has no such parameter
  router.route('/:id').get((req) => req.params.name);
  router.use('/t/:tenant', (req, _res, next) => { const tenant: string = req.params.tenant; next(tenant); });
  router.use('/t/:tenant', cors(), [plain], (req, _res, next) => { const tenant: string = req.params.tenant; next(tenant); });
  router.use(plain, (req, _res, next) => { const tenant: string | undefined = req.params['tenant']; next(tenant); });
  router.use('/t', Router(), createServer(), failed);
  // @ts-expect-error -- a handler is a function
  router.use('/t', 7);
}

// The names of Express's types are those of waypost's own.
const handler: Handler<{ id: string }, Note, Note, { q: string }, { by: string }> = (req, res) => void res.json({ id: req.params.id, text: req.body.text + req.query.q + res.locals.by });
const same: RequestHandler<{ id: string }, Note, Note, { q: string }, { by: string }> = handler;
createServer().get('/:id', same);

// A setting by one name, a route by more.
const env: string = createServer().get('env');
createServer().get('/x', plain).set('env', env);
