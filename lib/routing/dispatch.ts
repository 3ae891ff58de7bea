import { isError } from './failure';
import type { NextFunction } from './handler';
import type { RouteEntry } from './registration';
import { admitWithin, isMadeAnother, kWalk, type Travelling } from './walk';

/** A request that a route is called with by itself: whatever has a method. */
export interface Dispatched {
  method?: string | undefined;
  url?: string | undefined;
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
  const sent = { url: req.url, method: req.method };
  const wanted = method === 'HEAD' && !heads ? 'GET' : method;
  let index = 0;
  let depth = 0;
  let isHeld = false;
  let isOver = false;
  /** The target that a handler has made is to be admitted, whatever runs for it next. */
  const goOn = (to: () => void): void => {
    isHeld = true;
    admit(req as Travelling, () => {
      isHeld = false;
      if (!isOver) to();
    }, fail);
  };
  const fail = (error: unknown): void => {
    isOver = true;
    takeBack(req, sent);
    done(error);
  };
  const next = (error?: unknown): void => {
    if (isHeld) {
      // Until the target may go on nothing runs, whatever `next` is called.
      if (isError(error) && !isOver) fail(error);
      return;
    }
    if (error === 'route') return goOn(() => done());
    if (error === 'router') return goOn(() => done(error));
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
      return goOn(() => call(handler as (...given: unknown[]) => unknown, error ? [error, req, res, next] : [req, res, next], next));
    }
    goOn(() => done(error));
  };
  next();
}

/** Takes a target back that has not been admitted: who gets the error may go on with what he finds. */
function takeBack(req: Dispatched, sent: Dispatched): void {
  if (req.url === sent.url && req.method === sent.method) return;
  try {
    Object.assign(req, sent);
  } catch {
    // A property that a program has made read-only: it has an error already.
  }
}

/** As within a walk, a target that a program has made is to be admitted before the next handler runs. */
function admit(req: Travelling, admitted: () => void, failed: NextFunction): void {
  const walk = req[kWalk];
  if (walk === undefined || !isMadeAnother(walk, req)) return admitted();
  try {
    admitWithin(walk, req, admitted);
  } catch (error) {
    // A URL that is no string, or can't be read.
    failed(error);
  }
}

function call(handler: (...given: unknown[]) => unknown, given: unknown[], next: NextFunction): void {
  try {
    const result = handler(...given) as PromiseLike<unknown> | undefined;
    if (typeof result?.then === 'function') result.then(undefined, (error: unknown) => next(error || new Error('Rejected promise')));
  } catch (error) {
    next(error || new Error(`a handler threw ${String(error)}`));
  }
}
