import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { currentResponse } from '../http/node/connection-work';
import { queued } from '../http/node/write-queue';
import { clearInterval, setInterval } from '../timers';

/** A server, plain or with TLS. */
type TimedServer = Pick<Server, 'timeout'>;

/** Checks of the connections within one timeout. */
const CHECKS_PER_TIMEOUT = 4;

/** The client's reading position, and the time of its last progress. */
interface Progress {
  readonly sent: number;
  readonly queued: number | undefined;
  readonly since: number;
}

/**
 * Closes the connections of clients that stop reading: an unread response stays in memory, and Node has no limit
 * for it. A socket's own timeout would end slow handlers, and restart with each byte that the client sends.
 */
export class WriteTimeout {
  readonly #limit: number;
  readonly #sockets: Iterable<Socket>;
  readonly #stalled = new WeakMap<Socket, Progress>();
  #timer: NodeJS.Timeout | undefined;

  /** @param limit In milliseconds; 0 for none. */
  constructor(limit: number, sockets: Iterable<Socket>) {
    this.#limit = limit;
    this.#sockets = sockets;
  }

  /** @param server The first of an application's; the others are made by the same options. */
  start(server: TimedServer): void {
    if (this.#limit === 0 || this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#check(server), Math.ceil(this.#limit / CHECKS_PER_TIMEOUT)).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(server: TimedServer): void {
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

/** True while bytes of a response wait for a client. False with a program's own socket timeout, or a stream instead of a socket. */
function isStalled(socket: Socket, server: TimedServer): boolean {
  const { timeout = 0 } = socket;
  return socket.writableLength > 0 && currentResponse(socket) !== undefined
    && typeof (socket as Partial<Socket>).setTimeout === 'function' && (timeout === 0 || timeout === server.timeout);
}
