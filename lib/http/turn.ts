import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isReadOn } from './connection';
import { kEndedInTurn } from './node/early-finish';

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

/**
 * As {@link sendHeadInTurn}, for the end of a response. A body that nobody has begun to read by the next tick is dropped:
 * unread, it would stop the connection, and nobody would see its client leave.
 */
export function endInTurn(res: ServerResponse): void {
  sendHeadInTurn(res);
  (res as { [kEndedInTurn]?: boolean })[kEndedInTurn] = true;
  const { req } = res as { req?: IncomingMessage };
  if (waits(res) && req?.complete === false) process.nextTick(dropUnread, req);
}

function dropUnread(request: IncomingMessage): void {
  if (!request.complete && !request.readableDidRead && !isReadOn(request)) request.resume();
}

/** Has the connection of a destroyed response end when its turn comes: from Node 24 on, Node forgets that, and the client waits. */
export function destroyInTurn(res: ServerResponse, error?: Error): void {
  // Node's own `on`: Node destroys waiting responses where nobody would catch a replaced one's throw. The event comes once.
  if (waits(res)) EventEmitter.prototype.on.call(res, 'socket', (socket: Socket) => socket.destroy(error));
}
