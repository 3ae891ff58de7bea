import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { bindContext } from '../async-context';
import { closeUnassigned } from './node/connection-work';

/** Most requests held, and bytes read since the first, before the connection is paused: reading shows when a client leaves. */
const MOST_HELD = 64;
const READ_AHEAD = 16_384;

/** Longest time that a paused connection is sent nothing, in milliseconds; then it is closed: its client may have gone. */
const STALL_TIMEOUT = 10_000;

/** Responses that wait for their turn on a connection (RFC 9112 section 9.3.2). Holds requests until one in front is answered. */
export class Pipeline {
  readonly #socket: Socket;
  /** In the order in which they have begun. */
  readonly #begun = new Set<ServerResponse>();
  /** By their responses, how they begin. */
  readonly #held = new Map<ServerResponse, () => void>();
  /** Most requests that have begun and are not answered. */
  #most = 0;
  /** Bytes that had been read when the first of those held came. */
  #heldSince = 0;
  #isPaused = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** The last response of those that wait; undefined for none. */
  get last(): ServerResponse | undefined {
    return [...this.#begun, ...this.#held.keys()].at(-1);
  }

  get isEmpty(): boolean {
    return this.#begun.size + this.#held.size === 0;
  }

  /** Adds a response whose request has begun. */
  add(res: ServerResponse): void {
    this.#follow(res);
    this.#begun.add(res);
  }

  /** Begins a request at once, or holds it while `most` begun ones are unanswered. */
  admit(res: ServerResponse, most: number, begin: () => void): void {
    this.#most = most;
    if (this.#hasRoom()) {
      this.add(res);
      begin();
      return;
    }
    this.#follow(res);
    const { bytesRead } = this.#socket;
    if (this.#held.size === 0) this.#heldSince = bytesRead;
    this.#held.set(res, bindContext(begin, 'waypost.pipeline'));
    // A stream in a socket's place may count nothing.
    if (this.#held.size > MOST_HELD || !(bytesRead - this.#heldSince <= READ_AHEAD)) this.#pause();
  }

  /** Begins none of the held requests. */
  drop(): void {
    for (const { req } of this.#held.keys()) req.resume();
    this.#held.clear();
  }

  /** Drops them: the connection closes, and what the client still sends is read and dropped. */
  release(): void {
    this.drop();
    this.#resume();
  }

  /** The response in front counts as well. */
  #hasRoom(): boolean {
    return this.#begun.size + 1 < this.#most;
  }

  #follow(res: ServerResponse): void {
    // One for all: Node warns of many listeners.
    if (this.isEmpty) this.#socket.once('close', this.#closed);
    // Node emits it when a response's turn comes.
    res.once('socket', () => this.#take(res));
  }

  #take(res: ServerResponse): void {
    this.#begun.delete(res);
    const begin = this.#held.get(res);
    if (begin !== undefined) this.#begin(res, begin);
    else this.#fill();
    if (this.isEmpty) this.#socket.removeListener('close', this.#closed);
  }

  #fill(): void {
    for (const [res, begin] of this.#held) {
      if (!this.#hasRoom()) return;
      this.#begun.add(res);
      this.#begin(res, begin);
    }
  }

  /** Begins it behind the `close` of the response in front. */
  #begin(res: ServerResponse, begin: () => void): void {
    this.#held.delete(res);
    process.nextTick(() => {
      if (!this.#socket.destroyed) begin();
    });
    if (this.#held.size === 0) this.#resume();
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.on('resume', pause);
    this.#socket.pause();
    this.#watch();
  }

  /** Closes a connection that is sent nothing for the time: paused, it does not tell that its client has gone. */
  #watch(): void {
    const { bytesWritten } = this.#socket;
    this.#timer = setTimeout(() => {
      if (this.#socket.bytesWritten === bytesWritten) this.#socket.destroy();
      else this.#watch();
    }, STALL_TIMEOUT).unref();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    clearTimeout(this.#timer);
    this.#socket.removeListener('resume', pause);
    this.#socket.resume();
  }

  /** Node tells only the response whose turn it is. */
  readonly #closed = (): void => {
    clearTimeout(this.#timer);
    const waiting = [...this.#begun, ...this.#held.keys()];
    this.#begun.clear();
    this.#held.clear();
    for (const res of waiting) closeUnassigned(res);
  };
}

/** Node resumes a connection behind each request, and where a body is read. */
function pause(this: Socket): void {
  this.pause();
}
