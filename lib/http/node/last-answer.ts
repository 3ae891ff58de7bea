import type { ServerResponse } from 'node:http';

/**
 * Has a response end its connection. A `Connection` field would go with all others where an error handler removes them.
 * The fact: where its head is out, Node looks at `_last` behind it.
 */
export function endConnection(res: ServerResponse): void {
  res.shouldKeepAlive = false;
  if (res.headersSent) (res as { _last?: boolean })._last = true;
}

/** True if the connection ends behind a response. The fact: Node keeps in `_last` whether a head, even one that was refused, has said so. */
export function endsConnection(res: ServerResponse): boolean {
  const { shouldKeepAlive, _last } = res as { shouldKeepAlive: boolean; _last?: boolean };
  return !shouldKeepAlive || _last === true;
}

/**
 * Has a response end its connection if `ends` returns true when its head is made; a look before that decides
 * nothing. Returns whether it has said so; undefined where that was asked for already. The facts: Node reads
 * `shouldKeepAlive` when it makes the head, and keeps in `_last` what the head says.
 */
export function endConnectionIf(res: ServerResponse, ends: () => boolean): (() => boolean) | undefined {
  if (Object.getOwnPropertyDescriptor(res, 'shouldKeepAlive')?.get !== undefined) return undefined;
  let kept = res.shouldKeepAlive;
  let says = false;
  const get = (): boolean => {
    if (!res.headersSent) says = ends();
    return kept && !says;
  };
  Object.defineProperty(res, 'shouldKeepAlive', { get, set: (keeps: boolean) => void (kept = keeps), enumerable: true, configurable: true });
  return () => says && res.headersSent && (res as { _last?: boolean })._last === true;
}
