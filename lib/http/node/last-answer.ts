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

/** Has a response end its connection if that returns true when its head is made. The fact: Node reads `shouldKeepAlive` then. */
export function endConnectionIf(res: ServerResponse, ends: () => boolean): void {
  if (Object.getOwnPropertyDescriptor(res, 'shouldKeepAlive')?.get !== undefined) return;
  let kept = res.shouldKeepAlive;
  Object.defineProperty(res, 'shouldKeepAlive', { get: () => kept && !ends(), set: (keeps: boolean) => void (kept = keeps), enumerable: true, configurable: true });
}
