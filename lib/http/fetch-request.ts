import { types } from 'node:util';
import { HttpError } from '../errors';
import { pathOf, pathStart } from '../target/target';
import { hasBody, kRawBody } from './body/capture';
import type { Request } from './request';

/** Methods that fetch has no Request for. */
const FORBIDDEN: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

/** Matches a path that URL parsers read as another. A guard has seen the one that was sent. */
const RESOLVED = /\\|\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** A Request whose signal is made when it is read: one that is given to the constructor takes ten times as long as all else. */
class ReceivedRequest extends globalThis.Request {
  readonly #received: Request;

  constructor(received: Request, url: string, init: RequestInit | undefined) {
    super(url, init);
    this.#received = received;
  }

  static {
    Object.defineProperty(this.prototype, 'signal', {
      get(this: ReceivedRequest) {
        return this.#received.signal;
      },
    });
  }
}

/**
 * Makes the Request of fetch for a request. Its body is the bytes that were captured, else it is read as they are asked for.
 * Undefined for a method that fetch has none for.
 * @throws HttpError 400 `DISPUTED_PATH` for a path that a URL would hold as another.
 */
export function fetchRequestOf(req: Request): globalThis.Request | undefined {
  const { method } = req;
  if (FORBIDDEN.has(method)) return undefined;
  const body = method === 'GET' || method === 'HEAD' ? undefined : bodyOf(req);
  const request = new ReceivedRequest(req, urlOf(req), body === undefined ? method === 'GET' ? undefined : { method } : { method, body, duplex: 'half' });
  // As middleware has left them, not as received: it may have taken out what a client must not say. Given to the constructor they would be copied.
  const { headers } = request;
  for (const [name, value] of Object.entries(req.headers)) {
    if (Array.isArray(value)) for (const each of value) headers.append(name, each);
    else if (value !== undefined) headers.set(name, value);
  }
  return request;
}

/** The URL, whole, by what a trusted proxy says of scheme and host. Host is one that URL parsers end where it ends, so that neither can move into the other. */
function urlOf(req: Request): string {
  const { host = 'localhost', originalUrl, protocol } = req;
  if (RESOLVED.test(pathOf(originalUrl))) throw HttpError.of('DISPUTED_PATH');
  const path = originalUrl.slice(pathStart(originalUrl));
  return `${protocol.replace(/^ws/i, 'http')}://${host}${path.startsWith('/') ? '' : '/'}${path}`;
}

function bodyOf(req: Request): Uint8Array | string | ReadableStream | undefined {
  const raw = req[kRawBody];
  if (raw !== undefined) return raw;
  if (!hasBody(req)) return undefined;
  // Left by an adapter, or by a parser that has read the stream.
  const { body } = req as { body?: unknown };
  if (req.readableDidRead && (typeof body === 'string' || types.isUint8Array(body))) return body;
  return streamOf(req);
}

/** A stream that reads nothing before it is asked: what the handler leaves is there for others. */
function streamOf(req: Request): ReadableStream {
  let chunks: AsyncIterator<Buffer> | undefined;
  return new ReadableStream({
    async pull(controller) {
      // To destroy the request would take the connection along.
      chunks ??= req.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
      const next = await chunks.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await chunks?.return?.();
    },
  }, { highWaterMark: 0 });
}
