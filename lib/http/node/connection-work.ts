import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

interface Working {
  _httpMessage?: ServerResponse | null;
  parser?: { readonly incoming?: IncomingMessage | null } | null;
  readonly server?: Partial<Server> | null;
}

/** The response that a connection is busy with; undefined for none. Those of requests that were pipelined behind wait elsewhere. */
export function currentResponse(socket: Socket): ServerResponse | undefined {
  return (socket as Working)._httpMessage ?? undefined;
}

/** The request that was read last from a connection; undefined for none. */
export function lastRequest(socket: Socket): IncomingMessage | undefined {
  return (socket as Working).parser?.incoming ?? undefined;
}

/**
 * Closes a response whose turn has not come when its connection closes. It is
 * told of a socket that has closed, for packages that listen there, but does not
 * get it: Node would end the process by an assertion when the response finishes
 * on another socket than its request's. Before 24, Node says no `close` by itself.
 */
export function closeUnassigned(res: ServerResponse): void {
  res.destroy();
  res.emit('socket', new Socket().destroy());
  process.nextTick(sayClosed, res);
}

function sayClosed(res: ServerResponse): void {
  if (res.closed) return;
  (res as { _closed?: boolean })._closed = true;
  res.emit('close');
}

/** How long its server lets a connection stand still behind an answer, in milliseconds; 0 for ever; undefined where that can't be told. */
export function idleLimit(socket: Socket): number | undefined {
  const { server } = socket as Working;
  if (server === undefined || server === null) return undefined;
  const { keepAliveTimeout = 0, keepAliveTimeoutBuffer = 0 } = server as Partial<Server> & { readonly keepAliveTimeoutBuffer?: number };
  const limit = keepAliveTimeout + keepAliveTimeoutBuffer;
  // Node takes an invalid value, such as the text of an environment variable, for 0.
  return keepAliveTimeout > 0 && Number.isFinite(limit) ? limit : 0;
}

/** Placeholder response of a connection that has none yet. */
const BUSY = { finished: false } as object as ServerResponse;

/**
 * Has Node close a server's idle connections, except those to be spared: those whose response has
 * ended while the client still reads, and those without a response that `isSpared` names. The fact:
 * Node takes a connection for idle by `finished` of its response; 26 also one without.
 */
export function closeIdle(sockets: Iterable<Socket>, isSpared: (socket: Socket) => boolean, close: () => void): void {
  const spared = new Map<Working, ServerResponse | null>();
  try {
    for (const socket of sockets) {
      const response = currentResponse(socket);
      if (response === undefined ? isSpared(socket) : (response as { readonly finished: boolean }).finished) spared.set(socket as Working, response ?? null);
    }
    for (const socket of spared.keys()) socket._httpMessage = BUSY;
    close();
  } finally {
    for (const [socket, response] of spared) socket._httpMessage = response;
  }
}
