import type { IncomingMessage } from 'node:http';
import { read } from '../errors';
import { kOriginalMethod } from './request-state';

/** What a line of the log says of its request. */
export interface LoggedRequest {
  /** Where the request has an id, or `logging.requestId` gives it one. */
  readonly reqId?: string | number;
  readonly method?: unknown;
  /** As received. */
  readonly url?: unknown;
}

/** What lines of the log say of a request. What can't be read is left out: a line may be written where a throw would end the process. */
export function loggedRequest(req: IncomingMessage): LoggedRequest {
  const id = read(req, 'id');
  const named = { method: read(req, kOriginalMethod) ?? read(req, 'method'), url: read(req, 'originalUrl') ?? read(req, 'url') };
  return typeof id === 'string' || typeof id === 'number' ? { reqId: id, ...named } : named;
}
