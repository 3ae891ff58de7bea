import { noteParserCallback } from '../exposure';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import { forgetRefusedHead } from '../http/answer';
import { isFetchResponse } from '../http/unsendable';
import { late } from '../packages';
import type { AnyHandler, ErrorHandler, Handler, NextFunction } from './handler';

const fetchResponse = late(() => require('../http/fetch-response') as typeof import('../http/fetch-response'));

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
  if (typeof result === 'object' && result !== null && result !== res) followResult(result, next, handle.length < 3 ? res : null);
}

/** Passes a rejection to `next`, and sends a Response of fetch. @param res Null for a function that takes `next`, which may have gone on. */
export function followResult(result: object, next: NextFunction, res: Response | null): void {
  if (!(result instanceof Promise) && typeof (result as Partial<PromiseLike<unknown>>).then !== 'function') return sendReturned(res, result, next);
  // A `then` that throws, or calls back twice, comes to one rejection.
  Promise.resolve(result).then(res === null ? undefined : (value: unknown) => sendReturned(res, value, next), (reason: unknown) => next(asError(reason) ?? new Error('Rejected promise')));
}

function sendReturned(res: Response | null, value: unknown, next: NextFunction): void {
  if (res === null || value === res || !isFetchResponse(value)) return;
  try {
    fetchResponse().sendReturned(res, value, next);
  } catch (error) {
    next(error);
  }
}

/** Returns an error given to `next`; undefined for a falsy value, `'route'` and `'router'`. */
export function asError(given: unknown): unknown {
  return given && given !== 'route' && given !== 'router' ? given : undefined;
}
