import { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { holds } from './fact';

/** True on a response that was given a callback for what it wrote. */
export const kCallsBack = Symbol('waypost.response.callsBack');

/** Emitters count the events that somebody listens for. */
interface Counted {
  readonly _eventsCount: number;
}

/** The facts: a stream is over once these marks are set, and an emitter counts its events in `_eventsCount`. */
const marksTell = holds('unread-request', () => {
  const stream = new Readable();
  const counted = stream as Readable & Counted;
  const before = counted._eventsCount;
  stream.on('end', () => undefined);
  const after = counted._eventsCount;
  markEnded(stream);
  return stream.readableEnded && stream.destroyed && stream.closed && !stream.readable && !stream.readableAborted && before === 0 && after === 1;
});
// As it is now: tracers replace it, on requests or for all.
// eslint-disable-next-line @typescript-eslint/unbound-method -- compared, never called
const { emit } = EventEmitter.prototype;

/**
 * Has requests of a class drop their unread bodies themselves, when their
 * response has finished: Node would drop a body without end and without counting.
 */
export function dropUnreadBy<R extends IncomingMessage>(prototype: R, drop: (request: R) => void): void {
  const value = function (this: R): void {
    drop(this);
  };
  // Writable, so that an assignment to a request makes a property of its own.
  Object.defineProperty(prototype, '_dump', { value, writable: true, configurable: true });
}

/** The same for one request, where Node would drop its body: another framework has taken the prototype away. */
export function dropUnreadOf<R extends IncomingMessage>(request: R, drop: (request: R) => void): void {
  const { _dump: own } = request as unknown as { _dump: unknown };
  if (own === (IncomingMessage.prototype as unknown as { _dump: unknown })._dump) dropUnreadBy(request, drop);
}

/** Ends an unread request that is off the wire, when its response has finished. */
export function endUnread(request: IncomingMessage): void {
  if (isUnheard(request)) markEnded(request);
  else dumpByNode(request);
}

/** Drops the rest of a body as Node does: without end, and without counting. Node's response calls `_dump` when it has finished. */
export function dumpByNode(request: IncomingMessage): void {
  (IncomingMessage.prototype as unknown as { _dump(): void })._dump.call(request);
}

/**
 * True if nobody would hear a request end. To have an empty stream flow, end and
 * close takes Node four turns of its queue. Listeners to the response's end, or
 * its callback, may come to listen to the request then, so there must be none but
 * Node's.
 */
export function isUnheard(request: IncomingMessage): boolean {
  const { res } = request as { res?: unknown };
  return marksTell
    && request.readableLength === 0
    && (request as unknown as Counted)._eventsCount === 0
    && request.emit === emit
    && res instanceof ServerResponse && (res as { readonly [kCallsBack]?: boolean })[kCallsBack] !== true && res.listenerCount('finish') <= 1 && res.listenerCount('close') === 0;
}

/** Leaves a stream as it is when it has ended, and has told so. */
function markEnded(stream: Readable): void {
  const state = (stream as unknown as { readonly _readableState: Record<'ended' | 'endEmitted' | 'destroyed' | 'closed' | 'closeEmitted', boolean> })._readableState;
  state.ended = true;
  state.endEmitted = true;
  state.destroyed = true;
  state.closed = true;
  state.closeEmitted = true;
}
