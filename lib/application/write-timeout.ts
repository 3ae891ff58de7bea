import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { currentResponse, isUpgraded } from '../http/node/connection-work';
import { queuedBeneath } from '../http/node/queue-beneath';

/** What is asked of a server, plain or with TLS. */
type Timed = Pick<Server, 'keepAliveTimeout' | 'timeout'>;

/** How often it is looked at the connections within the time that a client has. */
const LOOKS = 4;

/**
 * Cuts off clients that stop reading: what waits for one stays in memory, and Node
 * has no limit for it. Node's time-out of a socket would end handlers that take
 * their time as well; so it is set only while bytes wait that the system does not
 * take. What a client sends meanwhile counts as a move; Node ends that by
 * `requestTimeout`, and reads no request behind such a one.
 */
export class WriteTimeout {
  readonly #limit: number;
  readonly #sockets: Iterable<Socket>;
  /** Those that have it, with what waited beneath TLS when it was looked at them last. */
  readonly #set = new Map<Socket, number | undefined>();
  #timer: NodeJS.Timeout | undefined;

  /** @param limit in milliseconds; 0 is none. */
  constructor(limit: number, sockets: Iterable<Socket>) {
    this.#limit = limit;
    this.#sockets = sockets;
  }

  /** @param server The first of an application's; the others are made by the same options. */
  start(server: Timed): void {
    if (this.#limit === 0 || this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#look(server), Math.ceil(this.#limit / LOOKS)).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#set.clear();
  }

  #look(server: Timed): void {
    for (const [socket, before] of this.#set) {
      const queued = queuedBeneath(socket);
      if (socket.destroyed || !isStalled(socket)) this.#unset(socket, server);
      else if (queued !== before) this.#restart(socket, queued);
    }
    for (const socket of this.#sockets) {
      if (isStalled(socket) && isFreeToSet(socket, server, this.#limit)) {
        this.#set.set(socket, queuedBeneath(socket));
        socket.setTimeout(this.#limit);
      }
    }
  }

  /** The client reads on, as Node can't tell over TLS. */
  #restart(socket: Socket, queued: number | undefined): void {
    this.#set.set(socket, queued);
    if (socket.timeout === this.#limit) socket.setTimeout(this.#limit);
  }

  #unset(socket: Socket, server: Timed): void {
    this.#set.delete(socket);
    // Between two requests it is Node's again, with the time that an idle connection is kept.
    const isNodes = currentResponse(socket) === undefined && server.keepAliveTimeout > 0;
    if (socket.timeout === this.#limit && !isNodes) socket.setTimeout(server.timeout);
  }
}

/** Whether bytes of a response wait for a client; upgraded connections have none, or one of before. */
function isStalled(socket: Socket): boolean {
  return socket.writableLength > 0 && currentResponse(socket) !== undefined && !isUpgraded(socket);
}

/** Not where a program has set a time-out of its own, or the server a shorter one, nor where it was set before; nor, as in Node, on a stream that a program has handed to the server in a socket's place. */
function isFreeToSet(socket: Socket, server: Timed, limit: number): boolean {
  const { timeout = 0 } = socket;
  return typeof (socket as Partial<Socket>).setTimeout === 'function' && (timeout === 0 || (timeout === server.timeout && timeout > limit));
}
