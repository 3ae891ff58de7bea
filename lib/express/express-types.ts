import type { Application } from '../application/application';
import type { Unchecked } from '../http/unchecked';

export type { SendFileCallback as Errback } from '../http/file/file-options';
export type { ErrorHandler as ErrorRequestHandler, Handler as RequestHandler } from '../routing/handler';
export type { ParamHandler as RequestParamHandler } from '../routing/handler';

/** An application by the name that Express's types give it. */
export type Express = Application;

/** Members of `res.locals` and `app.locals`, by the name that Express's types give them. */
export type Locals = Express.Locals & Record<string, Unchecked>;

/** A function that sends a body, as Express's types have it. */
export type Send<ResBody = Unchecked, Sent = unknown> = (body?: ResBody) => Sent;
