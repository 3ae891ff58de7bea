import type { Application } from '../application/application';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import type { Unchecked } from '../http/unchecked';
import type { NextFunction } from '../routing/handler';
import type { Params } from '../routing/pattern';

/** A handler by the name and the type parameters that Express's types give it; see {@link Handler}. */
export type RequestHandler<P = Params, ResBody = unknown, ReqBody = Unchecked, Query = Record<string, Unchecked>, Locals extends object = Record<string, Unchecked>> =
  (req: Request<P, ResBody, ReqBody, Query>, res: Response<ResBody, Locals>, next: NextFunction) => unknown;

/** Error middleware by the name and the type parameters that Express's types give it; see {@link ErrorHandler}. */
export type ErrorRequestHandler<P = Params, ResBody = unknown, ReqBody = Unchecked, Query = Record<string, Unchecked>, Locals extends object = Record<string, Unchecked>> =
  (error: Unchecked, req: Request<P, ResBody, ReqBody, Query>, res: Response<ResBody, Locals>, next: NextFunction) => unknown;

/** An application by the name that Express's types give it. */
export type Express = Application;
