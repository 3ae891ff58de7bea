import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** True if a response waits for its turn behind another of its connection. One that has ended there has no socket either. */
function waits(res: ServerResponse): boolean {
  return res.socket === null && !res.writableFinished;
}

/**
 * Puts a waiting response's head behind its earlier output, such as 100 Continue:
 * Node would put it before that where the body is no text, and the client would
 * take "HTTP/1.1 100 Continue" for the body.
 */
export function sendHeadInTurn(res: ServerResponse): void {
  if (waits(res) && res.writableLength > 0) res.flushHeaders();
}

/** Has the connection of a destroyed response end when its turn comes: from Node 24 on, Node forgets that, and the client waits. */
export function destroyInTurn(res: ServerResponse, error?: Error): void {
  // Node's own `on`: Node destroys waiting responses where nobody would catch a replaced one's throw. The event comes once.
  if (waits(res)) EventEmitter.prototype.on.call(res, 'socket', (socket: Socket) => socket.destroy(error));
}
