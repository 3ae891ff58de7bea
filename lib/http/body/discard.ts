import { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { type BodyStream, type Intake, kIntake, pushOn } from './capture';
import { closeByHalves } from '../connection';

/** True on a response that was given a callback for what it wrote. */
export const kCallsBack = Symbol('waypost.response.callsBack');

interface CallingBack {
  readonly [kCallsBack]?: boolean;
}

/** Emitters count the events that somebody listens for. */
interface Counted {
  readonly _eventsCount: number;
}

/** What a stream goes by. */
interface Marked {
  readonly _readableState: Record<'ended' | 'endEmitted' | 'destroyed' | 'closed' | 'closeEmitted', boolean>;
}

const marksAreHeeded = marksTell();
// As it is now: tracers replace it, on requests or for all.
// eslint-disable-next-line @typescript-eslint/unbound-method -- compared, never called
const { emit } = EventEmitter.prototype;

/** Node's own way to pull an unread body off the wire, which the response calls when it has finished. */
interface Dumpable {
  _dump(): void;
}

/**
 * Discards what nobody took of a body, when its response has finished. Up to
 * `limit` bytes the connection lives on; past that it is closed.
 *
 * @param limit Most bytes that are discarded, in bytes.
 */
export function discardRest(request: BodyStream, limit: number): void {
  if (request.complete) {
    // Every byte is off the wire, and who has begun to read in this turn keeps
    // them: Node would take the listeners away. Who has paused before the first
    // byte was read has not begun.
    if (request.readableFlowing === true) return;
    if (isUnheard(request)) return markEnded(request);
    (IncomingMessage.prototype as unknown as Dumpable)._dump.call(request);
    return;
  }
  if (request[kIntake] instanceof Discard) return;
  request[kIntake]?.abort();
  request[kIntake] = new Discard(request, limit);
  request.resume();
}

/**
 * Whether this side has closed the connection, while the client goes on: what
 * it sends is not carried out (RFC 9112 section 9.6), for the client sends it
 * again elsewhere. Where the client has ended its side, Node ends the other.
 */
export function isClosedTo({ socket }: IncomingMessage): boolean {
  return (socket as Socket | undefined)?.writableEnded === true && !socket.readableEnded;
}

/**
 * Whether nobody would hear a request end. To have an empty stream flow, end
 * and close takes Node four turns of its queue, a twentieth of the time of a
 * small request. Who listens to the response for its end, or has given it a
 * callback, may come to listen to the request then, so there must be nobody
 * either: Node itself is the one.
 */
function isUnheard(request: BodyStream): boolean {
  const { res } = request as { res?: unknown };
  return marksAreHeeded
    && request.readableLength === 0
    && (request as unknown as Counted)._eventsCount === 0
    && request.emit === emit
    && res instanceof ServerResponse && (res as CallingBack)[kCallsBack] !== true && res.listenerCount('finish') <= 1 && res.listenerCount('close') === 0;
}

/** Leaves a stream as it is when it has ended, and has told so. */
function markEnded(stream: Readable): void {
  const state = (stream as unknown as Marked)._readableState;
  state.ended = true;
  state.endEmitted = true;
  state.destroyed = true;
  state.closed = true;
  state.closeEmitted = true;
}

/** Whether the marks are what this Node goes by. */
function marksTell(): boolean {
  const stream = new Readable();
  markEnded(stream);
  return stream.readableEnded && stream.destroyed && stream.closed && !stream.readable && !stream.readableAborted;
}

/**
 * Counts and drops. It closes by halves (RFC 9112 section 9.6): the answer is
 * sent and ended, and what the client is still sending is dropped for a while.
 * Closing at once would reset the connection, and a client that writes before
 * it reads would lose the answer.
 */
class Discard implements Intake {
  readonly #request: BodyStream;
  readonly #socket: Socket;
  readonly #limit: number;
  #count: number;
  #closing = false;
  /** What stood on the socket before: a server that drains has it close by halves as well. */
  readonly #destroySoon: PropertyDescriptor | undefined;

  constructor(request: BodyStream, limit: number) {
    this.#request = request;
    this.#socket = request.socket;
    this.#limit = limit;
    this.#count = request.readableLength;
    // Node calls this next, on the same turn, where the response closes the
    // connection: that close has to linger as well.
    this.#destroySoon = Object.getOwnPropertyDescriptor(this.#socket, 'destroySoon');
    this.#socket.destroySoon = () => this.#close();
    // What the stream has buffered may be past the limit with nothing more to come.
    if (this.#count > limit) this.#close();
  }

  push(chunk: Buffer | null): boolean {
    if (chunk === null) return this.#end();
    this.#count += chunk.length;
    if (this.#count > this.#limit) this.#close();
    return true;
  }

  abort(): void {
    this.#request[kIntake] = undefined;
  }

  #end(): boolean {
    const socket = this.#socket;
    this.#request[kIntake] = undefined;
    // The own property was set above; below it lies the socket's own method.
    if (this.#destroySoon === undefined) delete (socket as Partial<Socket>).destroySoon;
    else Object.defineProperty(socket, 'destroySoon', this.#destroySoon);
    const more = pushOn(this.#request, null);
    if (this.#closing) socket.destroySoon();
    return more;
  }

  #close(): void {
    if (this.#closing) return;
    this.#closing = true;
    closeByHalves(this.#socket);
  }
}
