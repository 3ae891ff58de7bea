import type { IncomingMessage } from 'node:http';
import { kOriginalMethod } from './request-state';

/** What a line of the log says of its request. */
export interface LoggedRequest {
  /** Where the request has an id, or `logging.requestId` gives it one. */
  readonly reqId?: string | number;
  readonly method?: string | undefined;
  /** As received. */
  readonly url?: string | undefined;
}

/** What lines of the log say of a request. */
export function loggedRequest(req: IncomingMessage): LoggedRequest {
  const { id, originalUrl, [kOriginalMethod]: method } = req as { id?: unknown; originalUrl?: string; [kOriginalMethod]?: string | undefined };
  const named = { method: method ?? req.method, url: originalUrl ?? req.url };
  return typeof id === 'string' || typeof id === 'number' ? { reqId: id, ...named } : named;
}
