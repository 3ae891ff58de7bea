import type { IncomingMessage } from 'node:http';

/**
 * Holds a request that was checked as one without a body to having none: the
 * first byte ends the connection, and nobody is given it. Returns false where
 * bytes have come already, or could. The headers do not tell for certain: Node's parser
 * goes by all of them, and hands on only the first thousand (`maxHeadersCount`).
 * A property of the request's own, since another framework's application takes
 * the prototype away.
 */
export function forbidBody(request: IncomingMessage): boolean {
  if (request.readableLength > 0 || request.readableDidRead) return false;
  // To define it takes far longer, and each signed request without a body comes here.
  request.push = refuseBytes;
  return true;
}

/** True for a request held to having no body. */
export function hasForbiddenBody(request: IncomingMessage): boolean {
  return request.push === refuseBytes;
}

function refuseBytes(this: IncomingMessage, chunk: Buffer | null): boolean {
  // Through the request's current class, which may have listeners for the end.
  if (chunk === null) return (Object.getPrototypeOf(this) as IncomingMessage).push.call(this, null);
  // An adapter may push what is empty, and have a socket of its own making.
  if (chunk.length === 0) return true;
  if (typeof (this.socket as Partial<IncomingMessage['socket']> | null)?.destroy === 'function') this.socket.destroy();
  else this.destroy();
  return false;
}
