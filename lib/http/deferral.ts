import { AsyncResource } from 'node:async_hooks';
import type { Socket } from 'node:net';
import { setImmediate } from '../timers';

/** Set on a connection whose request waits. */
const kDeferral = Symbol('waypost.socket.deferral');

interface DeferringConnection extends Socket {
  [kDeferral]?: Deferral | undefined;
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
    this.#socket[kDeferral] = undefined;
    this.#run();
  }
}

/** Runs a connection's request in the next phase of the event loop. `hasten` runs it before. */
export function defer(socket: Socket, run: () => void): void {
  new Deferral(socket, run);
}

/** Runs at once what waits on a connection, since more has come on it. */
export function hasten(socket: Socket): void {
  (socket as DeferringConnection)[kDeferral]?.hasten();
}
