import type { ServerResponse } from 'node:http';

/** Has a response whose head is not made yet end its connection. A `Connection` field would go with all others where an error handler removes them. */
export function endConnection(res: Pick<ServerResponse, 'shouldKeepAlive'>): void {
  res.shouldKeepAlive = false;
}

/** Whether the connection ends behind a response. The fact: Node keeps in `_last` whether a head, even one that was refused, has said so. */
export function endsConnection(res: ServerResponse): boolean {
  const { shouldKeepAlive, _last } = res as { shouldKeepAlive: boolean; _last?: boolean };
  return !shouldKeepAlive || _last === true;
}
