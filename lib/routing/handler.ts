import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import type { ParsedQuery, Unchecked } from '../http/unchecked';
import type { Params } from './patterns/params';

/**
 * Goes on: `next()` to what is registered below, `next('route')` past the rest of
 * this route's handlers, `next('router')` out of this router, `next(error)` to
 * the error middleware below.
 */
export type NextFunction = (error?: unknown) => void;

/** A handler of a route, or middleware (INTERFACE sections 1 and 4.1). May be async; a rejection is an error. */
export type Handler<P = Params, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>> =
  (req: Request<P, ResBody, ReqBody, Query, Locals>, res: Response<ResBody, Locals>, next: NextFunction) => unknown;

/** Error middleware: told from a handler by its four parameters, as in Express. */
export type ErrorHandler<P = Params, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>> =
  (error: Unchecked, req: Request<P, ResBody, ReqBody, Query, Locals>, res: Response<ResBody, Locals>, next: NextFunction) => unknown;

/**
 * Called with the value of a parameter; `next()` goes on, `next(error)` raises
 * an error. It may be async, but goes on only by `next`, as in Express; a
 * rejection is an error.
 */
export type ParamHandler = (req: Request, res: Response, next: NextFunction, value: Unchecked<string>, name: string) => unknown;

/** Any function that was registered. */
export type AnyHandler = Handler | ErrorHandler;

/**
 * Middleware that is typed for another framework, such as a package of Express,
 * whose requests and responses are Node's with more on them, or less. What it
 * needs of req and res is there.
 */
export type ForeignHandler = ForeignMiddleware['call'] | ForeignErrorMiddleware<Error>['call'] | ForeignErrorMiddleware<{ message: string }>['call'];

/**
 * As methods, whose parameters the compiler takes in either direction: a
 * handler may ask for more than Node's request. Twice over, once with a type
 * parameter that is not used: of two such a handler written beside it takes no
 * types, but has them from {@link Handler}.
 */
/* eslint-disable @typescript-eslint/no-unnecessary-type-parameters -- see there */
interface ForeignMiddleware {
  call(req: IncomingMessage, res: ServerResponse, next: NextFunction): unknown;
  call<_>(req: IncomingMessage, res: ServerResponse, next: NextFunction): unknown;
}

/** The same of error middleware. */
interface ForeignErrorMiddleware<Thrown> {
  call(error: Thrown, req: IncomingMessage, res: ServerResponse, next: NextFunction): unknown;
  call<_>(error: Thrown, req: IncomingMessage, res: ServerResponse, next: NextFunction): unknown;
}
/* eslint-enable @typescript-eslint/no-unnecessary-type-parameters */

/** A listener of plain `node:http`. */
export type FallbackListener = (req: IncomingMessage, res: ServerResponse) => unknown;

/** Handlers of waypost and of other frameworks, and arrays of them. */
export type MixedHandlers<P = Params> = Handler<P> | ForeignHandler | readonly MixedHandlers<P>[];

/** What a registration takes: handlers, error handlers, and arrays of them. */
export type Handlers<P = Params> = Handler<P> | ErrorHandler<P> | readonly Handlers<P>[];
