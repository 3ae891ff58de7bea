import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { currentResponse } from '../http/node/connection-work';
import { queued } from '../http/node/write-queue';

/** What is asked of a server, plain or with TLS. */
type Timed = Pick<Server, 'timeout'>;

/** How often it is looked at the connections within the time that a client has. */
const LOOKS = 4;

/** How far a client has read, and since when it has read no further. */
interface Progress {
  readonly sent: number;
  readonly queued: number | undefined;
  readonly since: number;
}

/**
 * Closes the connections of clients that stop reading: a response that waits for one stays in memory, and Node has
 * no limit for it. A socket's own time-out would end handlers that take their time, and count what a client sends.
 */
export class WriteTimeout {
  readonly #limit: number;
  readonly #sockets: Iterable<Socket>;
  readonly #stalled = new WeakMap<Socket, Progress>();
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
  }

  #look(server: Timed): void {
    const now = performance.now();
    for (const socket of this.#sockets) {
      const before = this.#stalled.get(socket);
      const progress = isStalled(socket, server) ? { sent: socket.bytesWritten - socket.writableLength, queued: queued(socket), since: now } : undefined;
      if (progress === undefined) this.#stalled.delete(socket);
      else if (progress.sent !== before?.sent || progress.queued !== before.queued) this.#stalled.set(socket, progress);
      else if (now - before.since >= this.#limit) socket.destroy();
    }
  }
}

/** Whether bytes of a response wait for a client. Not where a program has set a time-out of its own, or has handed a stream to the server in a socket's place. */
function isStalled(socket: Socket, server: Timed): boolean {
  const { timeout = 0 } = socket;
  return socket.writableLength > 0 && currentResponse(socket) !== undefined
    && typeof (socket as Partial<Socket>).setTimeout === 'function' && (timeout === 0 || timeout === server.timeout);
}
