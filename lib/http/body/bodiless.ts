import type { IncomingMessage } from 'node:http';

/**
 * Holds a request that was checked as one without a body to having none: the
 * first byte ends the connection, and nobody is given it. Returns false where
 * bytes have come already. The headers do not tell for certain: Node's parser
 * goes by all of them, and hands on only the first thousand (`maxHeadersCount`).
 * A property of the request's own, since another framework's application takes
 * the prototype away.
 */
export function forbidBody(request: IncomingMessage): boolean {
  if (request.readableLength > 0 || request.readableDidRead) return false;
  request.push = refuseBytes;
  return true;
}

/** Whether a request is held to having no body. */
export function hasForbiddenBody(request: IncomingMessage): boolean {
  return request.push === refuseBytes;
}

function refuseBytes(this: IncomingMessage, chunk: Buffer | null): boolean {
  // By the class that the request has by now, which may have somebody waiting for the end.
  if (chunk === null) return (Object.getPrototypeOf(this) as IncomingMessage).push.call(this, null);
  this.socket.destroy();
  return false;
}
