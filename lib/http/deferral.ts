import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate } from '../timers';
import { isPipelined } from './connection';
import { isHttp2, kDefers } from './request-state';

/** Run that waits on a connection; null for none, undefined where none may. */
const kDeferral = Symbol('waypost.socket.deferral');

interface DeferringConnection extends Socket {
  [kDeferral]?: Deferral | null;
}

interface DeferringRequest extends IncomingMessage {
  [kDefers]?: boolean;
}

/**
 * The run of a request that waits for the next phase of the event loop. All that has come is read first, on
 * all connections: a busy server that goes to and fro between reading and answering does either more slowly.
 */
class Deferral extends AsyncResource {
  readonly #socket: DeferringConnection;
  readonly #run: () => void;

  constructor(socket: Socket, run: () => void) {
    super('waypost.deferral');
    this.#socket = socket;
    this.#run = run;
    this.#socket[kDeferral] = this;
    setImmediate(Deferral.#due, this);
  }

  static #due(this: void, deferral: Deferral): void {
    if (deferral.#socket[kDeferral] === deferral) deferral.#end();
  }

  /** Runs it at once, in its own async context. */
  hasten(): void {
    this.runInAsyncScope(this.#end, this);
  }

  #end(): void {
    this.#socket[kDeferral] = null;
    this.#run();
  }
}

/** Takes the right to wait from a request, which it has once. Returns whether it may wait now. */
export function takeDeferral(request: DeferringRequest): boolean {
  if (request[kDefers] !== true) return false;
  request[kDefers] = false;
  const socket = request.socket as DeferringConnection | null | undefined;
  return socket?.[kDeferral] === null && !isPipelined(socket);
}

/** Runs a request in the next phase, or before more of its connection. */
export function defer({ socket }: IncomingMessage, run: () => void): void {
  new Deferral(socket, run);
}

/**
 * Lets requests wait that a server hands to its listener alone: others may count on what that has done. What waits
 * on a connection runs before any listener hears of more that has come on it. Not for TLS: with its last bytes
 * comes the end of the client's side, behind which Node sends no answer that takes a promise.
 */
export function deferRequests(server: Server, listener: RequestListener): void {
  server.on('connection', deferConnection);
  server.emit = (event: string, ...given: unknown[]): boolean => {
    const [request, second] = given as [DeferringRequest | null | undefined, Socket | undefined];
    if (request && !isHttp2(request)) {
      hasten.call(request.socket ?? second);
      if (event === 'request' && server.listenerCount('request') === 1 && server.listenerCount('request', listener) === 1) request[kDefers] = true;
    }
    return Reflect.apply(Reflect.get(Object.getPrototypeOf(server) as Server, 'emit'), server, [event, ...given]) as boolean;
  };
}

function deferConnection(socket: DeferringConnection): void {
  socket[kDeferral] = null;
  // Before Node's own listener, which ends this side too.
  socket.prependListener('end', hasten);
}

function hasten(this: DeferringConnection | null | undefined): void {
  this?.[kDeferral]?.hasten();
}
