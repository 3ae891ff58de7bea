import type { ServerResponse } from 'node:http';

/** What Node keeps of whether a connection ends behind a response. */
interface Ending {
  /** False: the head says that it ends. */
  shouldKeepAlive: boolean;
  /** Whether a head, even one that was refused, has said so. */
  readonly _last?: boolean;
}

/** Has a response whose head is not made yet end its connection. A `Connection` field would go with all others where an error handler removes them. */
export function endConnection(res: Pick<ServerResponse, 'shouldKeepAlive'>): void {
  res.shouldKeepAlive = false;
}

/** Whether the connection ends behind a response. */
export function endsConnection(res: ServerResponse): boolean {
  const { shouldKeepAlive, _last } = res as Ending;
  return !shouldKeepAlive || _last === true;
}
