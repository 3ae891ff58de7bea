import type { Socket } from 'node:net';

/**
 * Has a connection closed in another way behind its last response; returns what takes it back.
 * The fact: Node calls the socket's `destroySoon` then, on the turn in which the response has finished.
 */
export function closeBy(socket: Socket, close: () => void): () => void {
  const before = Object.getOwnPropertyDescriptor(socket, 'destroySoon');
  socket.destroySoon = close;
  return () => {
    // Below an own property lies the socket's method.
    if (before === undefined) delete (socket as Partial<Socket>).destroySoon;
    else Object.defineProperty(socket, 'destroySoon', before);
  };
}
