import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { bindContext } from '../async-context';
import { closeUnassigned } from './node/connection-work';
import { finishEarly } from './node/early-finish';

/** Most requests held, and bytes read since the first, before the connection is paused: reading shows when a client leaves. */
const MOST_HELD = 64;
const READ_AHEAD = 16_384;

/** Longest time that a paused connection is sent nothing, in milliseconds; then it is closed: its client may have gone. */
const STALL_TIMEOUT = 10_000;

/** A response that waits for its turn. */
interface Waiting {
  readonly res: ServerResponse;
  /** How its request begins; undefined once it has. */
  begin: (() => void) | undefined;
}

/**
 * Responses that wait for their turn on a connection (RFC 9112 section 9.3.2). Holds requests until one in front is answered. In an array:
 * a Set keeps what was deleted from it alive until the next full collection.
 */
export class Pipeline {
  readonly #socket: Socket;
  /** In the order in which they have come. */
  #waiting: Waiting[] = [];
  /** How many of them have begun. */
  #begun = 0;
  /** Most requests that have begun and are not answered. */
  #most = 0;
  /** Bytes that had been read when the first of those held came. */
  #heldSince = 0;
  #isPaused = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    // One for all: Node warns of many listeners.
    socket.once('close', () => this.#close());
  }

  /** The last response of those that wait; undefined for none. */
  get last(): ServerResponse | undefined {
    return this.#waiting.at(-1)?.res;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Number of requests that have not begun. */
  get #held(): number {
    return this.#waiting.length - this.#begun;
  }

  /** Adds a response whose request has begun. One that was handed on may be added again. */
  add(res: ServerResponse): void {
    if (this.#waiting.some((each) => each.res === res)) return;
    this.#begun++;
    this.#follow({ res, begin: undefined });
  }

  /** Begins a request at once, or holds it while `most` begun ones are unanswered. */
  admit(res: ServerResponse, most: number, begin: () => void): void {
    this.#most = most;
    if (this.#hasRoom()) {
      this.add(res);
      begin();
      return;
    }
    const { bytesRead } = this.#socket;
    if (this.#held === 0) this.#heldSince = bytesRead;
    this.#follow({ res, begin: bindContext(begin, 'waypost.pipeline') });
    // A stream in a socket's place may count nothing.
    if (this.#held > MOST_HELD || !(bytesRead - this.#heldSince <= READ_AHEAD)) this.#pause();
  }

  /** Begins none of the held requests. */
  drop(): void {
    for (const { res, begin } of this.#waiting) if (begin !== undefined) res.req.resume();
    this.#waiting = this.#waiting.filter(({ begin }) => begin === undefined);
  }

  /** Drops them: the connection closes, and what the client still sends is read and dropped. */
  release(): void {
    this.drop();
    this.#resume();
  }

  /** The response in front counts as well. */
  #hasRoom(): boolean {
    return this.#begun + 1 < this.#most;
  }

  #follow(waiting: Waiting): void {
    this.#waiting.push(waiting);
    // Node emits it once, when a response's turn comes.
    waiting.res.on('socket', () => this.#take(waiting));
  }

  #take(waiting: Waiting): void {
    const at = this.#waiting.indexOf(waiting);
    if (at === -1) return;
    this.#waiting.splice(at, 1);
    if (waiting.begin !== undefined) return this.#begin(waiting.begin);
    // The last one stays the connection's response until the system has its bytes: limits and drains ask for it.
    if (!this.isEmpty) finishEarly(waiting.res, this.#socket);
    this.#begun--;
    this.#fill();
  }

  #fill(): void {
    for (const waiting of this.#waiting) {
      if (this.#held === 0 || !this.#hasRoom()) return;
      const { begin } = waiting;
      if (begin === undefined) continue;
      waiting.begin = undefined;
      this.#begun++;
      this.#begin(begin);
    }
  }

  /** Begins it behind the `close` of the response in front. */
  #begin(begin: () => void): void {
    process.nextTick(() => {
      if (!this.#socket.destroyed) begin();
    });
    if (this.#held === 0) this.#resume();
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
  #close(): void {
    clearTimeout(this.#timer);
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#begun = 0;
    for (const { res } of waiting) closeUnassigned(res);
  }
}

/** Node resumes a connection behind each request, and where a body is read. */
function pause(this: Socket): void {
  this.pause();
}
