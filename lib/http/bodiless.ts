import type { IncomingMessage } from 'node:http';
import { pushOn } from './capture';

/**
 * Holds a request to having no body: the first byte of one ends the connection,
 * and nobody is given it. Answers false where bytes have come already.
 *
 * For a request that was checked as one without a body. The headers do not tell
 * for certain: Node hands on only the first thousand of them (or as many as
 * `maxHeadersCount` says), and its parser goes by all. A property of the
 * request's own, since another framework's application takes the prototype away.
 */
export function forbidBody(request: IncomingMessage): boolean {
  if (request.readableLength > 0 || request.readableDidRead) return false;
  if (!request.complete) request.push = pushEnd;
  return true;
}

function pushEnd(this: IncomingMessage, chunk: Buffer | null): boolean {
  if (chunk === null) return pushOn(this, null);
  this.socket.destroy();
  return false;
}
