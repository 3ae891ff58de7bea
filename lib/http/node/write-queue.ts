import type { Socket } from 'node:net';

interface Handled {
  readonly _parent?: Handled | null;
  readonly _handle?: { readonly writeQueueSize?: unknown } | null;
}

/**
 * Bytes of the current write that the system has not taken yet; undefined where Node does not tell. The
 * facts: the handle of a socket knows it, and a socket of TLS knows the one beneath as `_parent`.
 */
export function queued(socket: Socket): number | undefined {
  const { _parent, _handle } = socket as Handled;
  const size = (_parent ?? { _handle })._handle?.writeQueueSize;
  return typeof size === 'number' ? size : undefined;
}
