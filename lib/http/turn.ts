import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Whether a response waits for its turn, behind another of its connection. One that has ended there has no socket either. */
function waits(res: ServerResponse): boolean {
  return res.socket === null && !res.writableFinished;
}

/**
 * Puts the head of a response that waits behind what it has said before, such as
 * 100 Continue: Node would put it before that where the body is no text, and the
 * client would take "HTTP/1.1 100 Continue" for the body.
 */
export function sendHeadInTurn(res: ServerResponse): void {
  if (waits(res) && res.writableLength > 0) res.flushHeaders();
}

/** Has the connection of a destroyed response end when its turn comes: from Node 24 on, Node forgets that, and the client waits. */
export function destroyInTurn(res: ServerResponse, error?: Error): void {
  // Not by what a program may have put in the place of `on`, since Node destroys what waits where nobody would catch its throw. It is told once.
  if (waits(res)) EventEmitter.prototype.on.call(res, 'socket', (socket: Socket) => socket.destroy(error));
}
