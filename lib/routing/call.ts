import { noteParserCallback } from '../exposure';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import { forgetRefusedHead } from '../http/answer';
import type { AnyHandler, ErrorHandler, Handler, NextFunction } from './handler';

/** Calls of `next` that may be nested before a new stack begins. */
export const MAX_SYNC_CALLS = 100;

/** Calls a function of the program; an error that it throws, or rejects with, goes to `next`. @param error Falsy for none. */
export function callHandler(handle: AnyHandler, error: unknown, req: Request, res: Response, next: NextFunction): void {
  let result: unknown;
  try {
    if (error) {
      noteParserCallback(error);
      forgetRefusedHead(res);
      result = (handle as ErrorHandler)(error, req, res, next);
    } else {
      result = (handle as Handler)(req, res, next);
    }
  } catch (thrown) {
    next(asError(thrown) ?? new Error(`a handler threw ${String(thrown)}`));
    return;
  }
  if (typeof result === 'object' && result !== null && result !== res) followResult(result, next);
}

/** Passes a rejection to `next`. */
export function followResult(result: object, next: NextFunction): void {
  if (!(result instanceof Promise) && typeof (result as Partial<PromiseLike<unknown>>).then !== 'function') return;
  // A `then` that throws, or calls back twice, comes to one rejection.
  Promise.resolve(result).then(undefined, (reason: unknown) => next(asError(reason) ?? new Error('Rejected promise')));
}

/** Returns an error given to `next`; undefined for a falsy value, `'route'` and `'router'`. */
export function asError(given: unknown): unknown {
  return given && given !== 'route' && given !== 'router' ? given : undefined;
}
