import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate } from '../timers';
import { isPipelined } from './connection';
import { isHttp2, kNextPhase } from './request-state';

/** Run that waits on a connection; null for none, undefined where none may. */
const kDeferral = Symbol('waypost.socket.deferral');

interface DeferringConnection extends Socket {
  [kDeferral]?: Deferral | null;
}

interface DeferringRequest extends IncomingMessage {
  [kNextPhase]?: NextPhase | null;
}

/** The run of a request that waits, unless more of its connection comes before. */
class Deferral extends AsyncResource {
  readonly #socket: DeferringConnection;
  readonly #run: () => void;

  constructor(socket: Socket, run: () => void) {
    super('waypost.deferral');
    this.#socket = socket;
    this.#run = run;
    this.#socket[kDeferral] = this;
  }

  /** Runs it once, in its own async context. */
  start(): void {
    if (this.#socket[kDeferral] !== this) return;
    this.#socket[kDeferral] = null;
    this.runInAsyncScope(this.#run);
  }
}

/**
 * The runs of a server that wait for the next phase of the event loop. All that has come is read first, on all
 * connections, and then all are run: a busy server that goes to and fro between its kinds of work does each more slowly.
 */
export class NextPhase {
  #waiting: Deferral[] = [];

  /** Runs a request in the next phase, or before more of its connection. */
  defer({ socket }: IncomingMessage, run: () => void): void {
    if (this.#waiting.push(new Deferral(socket, run)) === 1) setImmediate(NextPhase.#begin, this);
  }

  static #begin(this: void, phase: NextPhase): void {
    const waiting = phase.#waiting;
    phase.#waiting = [];
    startFrom(0, waiting);
  }
}

/** Starts those from an index on. What one throws is the program's to catch, and the others run behind it. */
function startFrom(first: number, waiting: readonly Deferral[]): void {
  let next = first;
  try {
    while (next < waiting.length) (waiting[next++] as Deferral).start();
  } finally {
    if (next < waiting.length) setImmediate(startFrom, next, waiting);
  }
}

/** Takes the right to wait from a request, which it has once. Returns the phase it may wait for now; otherwise null. */
export function takeDeferral(request: DeferringRequest): NextPhase | null {
  const phase = request[kNextPhase];
  if (!phase) return null;
  request[kNextPhase] = null;
  const socket = request.socket as DeferringConnection | null | undefined;
  return socket?.[kDeferral] === null && !isPipelined(socket) ? phase : null;
}

/**
 * Lets requests wait that a server hands to its listener alone: others may count on what that has done. What waits
 * on a connection runs before any listener hears of more that has come on it. Not for TLS: with its last bytes
 * comes the end of the client's side, behind which Node sends no answer that takes a promise.
 */
export function deferRequests(server: Server, listener: RequestListener): void {
  const phase = new NextPhase();
  server.on('connection', deferConnection);
  server.emit = (event: string, ...given: unknown[]): boolean => {
    const [request, second] = given as [DeferringRequest | null | undefined, Socket | undefined];
    if (request && !isHttp2(request)) {
      hasten.call(request.socket ?? second);
      if (event === 'request' && server.listenerCount('request') === 1 && server.listenerCount('request', listener) === 1) request[kNextPhase] = phase;
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
  this?.[kDeferral]?.start();
}
