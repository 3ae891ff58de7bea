import { type RoutedRequest, kRun } from './caller';
import type { Handler } from './handler';

/** Makes a handler by which a route's own timeout goes before that of the applications. @param timeout In milliseconds; 0 is no limit. */
export function limiting(timeout: number): Handler {
  return function limited(req, _res, next) {
    (req as RoutedRequest)[kRun]?.root?.limit(timeout);
    next();
  };
}
