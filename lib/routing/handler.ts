import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import type { ParsedQuery, Unchecked } from '../http/unchecked';
import type { Params } from './patterns/params';

/**
 * Goes on: `next()` to the next registration, `next('route')` past the rest of
 * this route's handlers, `next('router')` out of this router, `next(error)` to
 * the next error middleware.
 */
export type NextFunction = (error?: unknown) => void;

/** A handler of a route, or middleware (INTERFACE sections 1 and 4.1). May be async; a rejection is an error. */
export type Handler<P = Params, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>> =
  (req: Request<P, ResBody, ReqBody, Query, Locals>, res: Response<ResBody, Locals>, next: NextFunction) => unknown;

/** Error middleware: it has four parameters, as in Express. */
export type ErrorHandler<P = Params, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>> =
  (error: Unchecked, req: Request<P, ResBody, ReqBody, Query, Locals>, res: Response<ResBody, Locals>, next: NextFunction) => unknown;

/**
 * Handler of a parameter's value; `next()` goes on, `next(error)` raises an
 * error. It may be async, but goes on only by `next`, as in Express; a rejection
 * is an error.
 */
export type ParamHandler = (req: Request, res: Response, next: NextFunction, value: Unchecked<string>, name: string) => unknown;

/** Any function that was registered. */
export type AnyHandler = Handler | ErrorHandler;

/**
 * Middleware that is typed for another framework, such as a package of Express.
 * Its requests and responses are Node's with other members; those that it uses
 * are there.
 */
export type ForeignHandler = ForeignMiddleware['call'] | ForeignErrorMiddleware<Error>['call'] | ForeignErrorMiddleware<{ message: string }>['call'];

/**
 * Methods, for their bivariant parameters: a handler may require more than
 * Node's request. The overload with an unused type parameter keeps inline
 * handlers from taking their parameter types here; they take them from
 * {@link Handler}.
 */
/* eslint-disable @typescript-eslint/no-unnecessary-type-parameters -- see there */
interface ForeignMiddleware {
  call(req: IncomingMessage, res: ServerResponse, next: NextFunction): unknown;
  call<_>(req: IncomingMessage, res: ServerResponse, next: NextFunction): unknown;
}

/** Error middleware of another framework, typed likewise. */
interface ForeignErrorMiddleware<Thrown> {
  call(error: Thrown, req: IncomingMessage, res: ServerResponse, next: NextFunction): unknown;
  call<_>(error: Thrown, req: IncomingMessage, res: ServerResponse, next: NextFunction): unknown;
}
/* eslint-enable @typescript-eslint/no-unnecessary-type-parameters */

/** A listener of plain `node:http`. */
export type FallbackListener = (req: IncomingMessage, res: ServerResponse) => unknown;

/** Handlers of waypost and of other frameworks, and arrays of them. */
export type MixedHandlers<P = Params> = Handler<P> | ForeignHandler | readonly MixedHandlers<P>[];

/** Arguments of a registration: handlers, error handlers, and arrays of them. */
export type Handlers<P = Params> = Handler<P> | ErrorHandler<P> | readonly Handlers<P>[];
