import type { Socket } from 'node:net';

interface Secured {
  readonly _parent?: { readonly _handle?: { readonly writeQueueSize?: unknown } | null } | null;
}

/**
 * How many bytes the system has not taken yet of what was written to a connection over TLS; undefined for others, and where Node
 * does not tell. The fact: a socket of TLS knows the one beneath as `_parent`, and the handle of that what waits to be sent. What
 * Node itself goes by, the queue of TLS, stands still for as long as one large write is under way.
 */
export function queuedBeneath(socket: Socket): number | undefined {
  const size = (socket as Secured)._parent?._handle?.writeQueueSize;
  return typeof size === 'number' ? size : undefined;
}
