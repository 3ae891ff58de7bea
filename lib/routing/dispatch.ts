import type { NextFunction } from './handler';
import type { RouteEntry } from './registration';

/** A request that a route is called with by itself: whatever has a method. */
export interface Dispatched {
  method?: string | undefined;
  route?: unknown;
}

/** Calls of `next` that may be nested before the stack is let go, as in Express. */
const DEPTH = 100;

/**
 * Calls the handlers of a route that stands alone, outside of a walk: a program
 * has called it by hand, or has put a function of its own around it.
 */
export function dispatch(entries: readonly RouteEntry[], req: Dispatched, res: object, done: NextFunction): void {
  const heads = entries.some(({ method }) => method === 'HEAD');
  const method = typeof req.method === 'string' ? req.method.toUpperCase() : req.method;
  const wanted = method === 'HEAD' && !heads ? 'GET' : method;
  let index = 0;
  let depth = 0;
  const next = (error?: unknown): void => {
    if (error === 'route') return done();
    if (error === 'router') return done(error);
    if (++depth > DEPTH) {
      setImmediate(() => {
        depth = 0;
        next(error);
      });
      return;
    }
    for (; index < entries.length; index++) {
      const { method: own, handler } = entries[index] as RouteEntry;
      const fits = error ? handler.length === 4 : handler.length < 4;
      if (!fits || (own !== null && own !== wanted)) continue;
      index++;
      call(handler as (...given: unknown[]) => unknown, error ? [error, req, res, next] : [req, res, next], next);
      return;
    }
    done(error);
  };
  next();
}

function call(handler: (...given: unknown[]) => unknown, given: unknown[], next: NextFunction): void {
  try {
    const result = handler(...given) as PromiseLike<unknown> | undefined;
    if (typeof result?.then === 'function') result.then(undefined, (error: unknown) => next(error || new Error('Rejected promise')));
  } catch (error) {
    next(error || new Error(`a handler threw ${String(error)}`));
  }
}
