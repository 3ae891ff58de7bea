/** Type tests of what is a handler: compiled, never run. The lines under `@ts-expect-error` must be wrong. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';
import type { NextFunction as ExpressNext, Request as ExpressRequest, RequestHandler as ExpressHandler, ErrorRequestHandler as ExpressErrorHandler, Response as ExpressResponse } from 'express';
import { createServer, express, type ErrorHandler, type HttpError, type NextFunction, type Request, type Response, Router } from 'waypost';

interface Context {
  body: unknown;
  request: object;
  status: number;
}
interface Account {
  name: string;
}

declare const theirs: ExpressHandler;
declare const theirErrors: ExpressErrorHandler;
declare const own: ErrorHandler;
declare const plain: (req: IncomingMessage, res: ServerResponse) => void;

for (const router of [createServer(), express(), Router()] as express.IRouter[]) {
  for (const register of [router.use.bind(router) as Router['use']]) {
    register(plain);
  }
  // What is a handler, from anywhere.
  router.use(plain, theirs, theirErrors, own, cors());
  router.use((req: IncomingMessage & { user?: Account }, _res: ServerResponse, next: () => void) => { req.user = { name: 'ada' }; next(); });
  router.use(() => undefined);
  router.use(async () => { await Promise.resolve(); });
  router.get('/', (req: ExpressRequest, res: ExpressResponse, next: ExpressNext) => { next(req.get('a') ?? res.locals); });
  router.get('/:id', theirs, (req, res) => { const id: string = req.params.id; res.json(id); });
  router.get('/', (_: unknown, res: Response) => { res.end(); });
  router.get('/', plain, (_req, res) => { res.end(); });
  router.use((error: Error, _req: Request, _res: Response, next: NextFunction) => { next(error); });
  router.use((error: unknown, _req: Request, _res: Response, next: NextFunction) => { next(error); });
  router.use((error: HttpError, _req: Request, res: Response, _next: NextFunction) => { res.status(error.status).end(); });
  router.use((error: string | Error, _req: Request, res: Response, _next: NextFunction) => { res.send(String(error)); });
  router.use((error: { message: string; status: number }, _req: Request, res: Response, _next: NextFunction) => { res.status(error.status).end(); });
  router.route('/:id').get(theirs, (req, res) => { const id: string = req.params.id; res.json(id); }).all(plain, own);

  // What is none: a number, an object of another framework, too many parameters.
  // @ts-expect-error -- nothing calls it with a number
  router.use((count: number) => count);
  // @ts-expect-error -- Koa's, which has one object for both
  router.use((ctx: Context, next: () => Promise<void>) => { ctx.body = next; });
  // @ts-expect-error -- likewise, without next
  router.use((ctx: Context) => { ctx.body = 1; });
  // @ts-expect-error -- likewise, of a route
  router.get('/', (ctx: Context) => { ctx.body = 1; });
  // @ts-expect-error -- the response comes second
  router.get('/', (res: Response, req: Request) => { res.json(req.params); });
  // @ts-expect-error -- next takes an error and is a function
  router.get('/', (_req: Request, _res: Response, next: number) => next);
  // @ts-expect-error -- nobody knows a fifth
  router.use((_error: Error, _req: Request, _res: Response, _next: NextFunction, _more: unknown) => undefined);
  // @ts-expect-error -- the error comes first
  router.use((_req: Request, _res: Response, _next: NextFunction, _error: Error) => undefined);
  // @ts-expect-error -- a handler is a function
  router.get('/', 'handler');
  // @ts-expect-error -- one that is called is what it returns
  router.use(undefined);
  // @ts-expect-error -- an object is none
  router.get('/', { schema: {} }, plain);
  // @ts-expect-error -- nor is a promise of one
  router.use(Promise.resolve(plain));
  // @ts-expect-error -- among others
  router.get('/:id', theirs, (ctx: Context) => { ctx.body = 1; }, (req, res) => res.json(req.params));
  // @ts-expect-error -- in arrays
  router.use([plain, [(ctx: Context): void => { ctx.body = 1; }]]);
  // @ts-expect-error -- with type arguments
  router.get<{ id: string }>('/:id', (ctx: Context) => { ctx.body = 1; });
  // @ts-expect-error -- of a route by itself
  router.route('/').get((ctx: Context) => { ctx.body = 1; });
}
