import type { ParsedQuery, Unchecked } from '../http/unchecked';
import type { ParsedOr, ParsedParams, ResponseBody, ResponseSchemas, RouteOptions } from '../schema/route-options';
import type { Validator } from '../schema/validate';
import type { ForeignHandler, Handler, MixedHandlers } from './handler';
import type { PathParams } from './params-type';
import type { Path, Paths } from './given-path';
import type { Params } from './patterns/params';

/** Handlers with the same types of body, query and locals, and foreign ones among them. */
export type TypedHandlers<P, ResBody, ReqBody, Query, Locals extends object> =
  | Handler<P, ResBody, ReqBody, Query, Locals>
  | ForeignHandler
  | readonly TypedHandlers<P, ResBody, ReqBody, Query, Locals>[];

/**
 * Registers a route for one method, or for all (INTERFACE section 4.1). The
 * parameters are typed by the path; bodies, query and locals by type arguments,
 * in the order of Express's types, or by the handlers' own types.
 */
export interface Verb<Self> {
  /**
   * Registers a route with options: schemas that check its requests and answers, and type them; its limits; its part of the OpenAPI document. The schemas of `validate` type the handlers behind it as well.
   * @throws TypeError for an option that is wrong, or that the method or the path can't meet.
   * @example
   * app.post('/orders/:id', { body: z.object({ quantity: z.number() }) }, (req, res) => res.json({ ordered: req.body.quantity }));
   */
  <const Given extends Path, Params = unknown, Query = unknown, Body = unknown, const Replies extends ResponseSchemas = ResponseSchemas>(
    path: Given | readonly Given[], options: RouteOptions<Params, Query, Body, Replies> | Validator<Params, Query, Body, Replies>,
    ...handlers: Handler<ParsedParams<PathParams<Given>, Params>, ResponseBody<Replies>, ParsedOr<Body, Unchecked>, ParsedOr<Query, ParsedQuery>>[]): Self;
  <const Given extends Path, Params, Query, Body, const Replies extends ResponseSchemas>(
    path: Given | readonly Given[], before: Handler<PathParams<Given>> | ForeignHandler, validator: Validator<Params, Query, Body, Replies>,
    ...handlers: Handler<ParsedParams<PathParams<Given>, Params>, ResponseBody<Replies>, ParsedOr<Body, Unchecked>, ParsedOr<Query, ParsedQuery>>[]): Self;
  /**
   * Registers handlers of requests with the method of its name (INTERFACE section 4.1). They run in order, each by the `next` of the one before; `req.params` is typed by the path.
   * @throws TypeError for a wrong path, or a handler that is none.
   * @example
   * app.get('/users/:id', (req, res) => res.json({ id: req.params.id }));
   */
  <const Given extends Path>(path: Given | readonly Given[], ...handlers: Handler<PathParams<Given>>[]): Self;
  <const Given extends Path, P = PathParams<Given>, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>>(
    path: Given | readonly Given[], ...handlers: Handler<P, ResBody, ReqBody, Query, Locals>[]): Self;
  <const Given extends Path>(path: Given | readonly Given[], ...handlers: MixedHandlers<PathParams<Given>>[]): Self;
  <P, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>>(
    path: Paths, ...handlers: TypedHandlers<P, ResBody, ReqBody, Query, Locals>[]): Self;
  <const Given extends Path, P, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>>(
    path: Given | readonly Given[], ...handlers: TypedHandlers<P, ResBody, ReqBody, Query, Locals>[]): Self;
  <const Given extends Path, Params = unknown, Query = unknown, Body = unknown, const Replies extends ResponseSchemas = ResponseSchemas>(
    path: Given | readonly Given[], options: RouteOptions<Params, Query, Body, Replies> | Validator<Params, Query, Body, Replies>,
    ...handlers: TypedHandlers<ParsedParams<PathParams<Given>, Params>, ResponseBody<Replies>, ParsedOr<Body, Unchecked>, ParsedOr<Query, ParsedQuery>, Record<string, Unchecked>>[]): Self;
}

/** Registers middleware, error middleware or routers, as `Verb` does. */
export interface Use<Self> {
  /**
   * Adds middleware, error middleware (four parameters) or routers for every path (INTERFACE section 4.1).
   * @throws TypeError for a handler that is neither function nor router.
   * @example
   * app.use((req, res, next) => { console.log(req.url); next(); });
   * app.use((error: Error, req: Request, res: Response, next: NextFunction) => res.status(500).json({ error: error.message }));
   */
  (...handlers: Handler[]): Self;
  /**
   * Adds them under a path, or under several.
   * @throws TypeError for a wrong path, or a handler that is neither function nor router.
   * @example
   * app.use('/users', users);
   */
  <const Given extends Path>(path: Given | readonly Given[], ...handlers: Handler<PathParams<Given>>[]): Self;
  (...handlers: MixedHandlers[]): Self;
  <const Given extends Path>(path: Given | readonly Given[], ...handlers: MixedHandlers<PathParams<Given>>[]): Self;
  <P, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>>(
    ...handlers: TypedHandlers<P, ResBody, ReqBody, Query, Locals>[]): Self;
  <P, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>>(
    path: Paths, ...handlers: TypedHandlers<P, ResBody, ReqBody, Query, Locals>[]): Self;
}

/** Adds handlers of one method, or of all, to a route with these parameters. */
export interface RouteVerb<Self, P = Params> {
  /**
   * Adds handlers of requests with the method of its name. They run in order, each by the `next` of the one before.
   * @throws TypeError for a handler that is no function.
   */
  (...handlers: Handler<P>[]): Self;
  <Own = P, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>>(...handlers: Handler<Own, ResBody, ReqBody, Query, Locals>[]): Self;
  (...handlers: MixedHandlers<P>[]): Self;
  <Own, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>>(...handlers: TypedHandlers<Own, ResBody, ReqBody, Query, Locals>[]): Self;
  <Params = unknown, Query = unknown, Body = unknown, const Replies extends ResponseSchemas = ResponseSchemas>(
    options: RouteOptions<Params, Query, Body, Replies> | Validator<Params, Query, Body, Replies>, ...handlers: TypedHandlers<ParsedParams<P, Params>, ResponseBody<Replies>, ParsedOr<Body, Unchecked>, ParsedOr<Query, ParsedQuery>, Record<string, Unchecked>>[]): Self;
}
