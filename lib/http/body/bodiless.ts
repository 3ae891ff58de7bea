import type { IncomingMessage } from 'node:http';

/** The `push` that a program has put on a request, to hear of its end. */
const kHears = Symbol('waypost.request.hears');

interface Bodiless extends IncomingMessage {
  [kHears]?: IncomingMessage['push'] | undefined;
}

/** Puts a `push` on a request. Returns false where a program has put one there that can't be replaced. */
export function putPush(request: IncomingMessage, push: IncomingMessage['push']): boolean {
  try {
    return (Reflect.defineProperty(request, 'push', { value: push, writable: true, configurable: true }) || Reflect.set(request, 'push', push)) && request.push === push;
  } catch {
    // A setter of the program's own.
    return false;
  }
}

/**
 * Holds a request that was checked as one without a body to having none: the
 * first byte ends the connection, and nobody is given it. Returns false where
 * bytes have come already, or could. The headers do not tell for certain: Node's parser
 * goes by all of them, and hands on only the first thousand (`maxHeadersCount`).
 * A property of the request's own, since another framework's application takes
 * the prototype away.
 */
export function forbidBody(request: Bodiless): boolean {
  if (request.readableLength > 0 || request.readableDidRead) return false;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called as the request's own
  const { push } = request;
  if (push === refuseBytes) return true;
  if (Object.hasOwn(request, 'push')) request[kHears] = push;
  try {
    // To define it takes far longer, and each signed request without a body comes here.
    request.push = refuseBytes;
  } catch {
    // A program's own, which may be defined anew all the same.
  }
  return request.push === refuseBytes || putPush(request, refuseBytes);
}

/** Whether a request is held to having no body. */
export function hasForbiddenBody(request: IncomingMessage): boolean {
  return request.push === refuseBytes;
}

function refuseBytes(this: Bodiless, chunk: Buffer | null): boolean {
  if (chunk === null) {
    const hears = this[kHears];
    // It calls the push that it found, which is this one where it was put on between two checks.
    this[kHears] = undefined;
    // By the class that the request has by now, which may have somebody waiting for the end.
    return (hears ?? (Object.getPrototypeOf(this) as IncomingMessage).push).call(this, null);
  }
  // An adapter may push what is empty, and have a socket of its own making.
  if (chunk.length === 0) return true;
  if (typeof (this.socket as Partial<IncomingMessage['socket']> | null)?.destroy === 'function') this.socket.destroy();
  else this.destroy();
  return false;
}
