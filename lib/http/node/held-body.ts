import { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { holds } from './fact';
import { pushOn } from './parser-push';
import { setImmediate } from '../../timers';

/** The bytes of a body that was captured, while its stream does not have them. */
const kHeld = Symbol('waypost.request.held');
/** Marks the `_read` that gives them, across copies of this module. */
const kHolds = Symbol.for('waypost.request.holds');

interface HeldBody extends IncomingMessage {
  [kHeld]?: Buffer | undefined;
  /** True if Node drops the rest of the body. */
  readonly _dumped?: boolean;
  /** True once somebody has begun to read: otherwise Node drops the rest when the response has finished. */
  _consuming?: boolean;
  /** `reading`: bytes were asked for that have not come. */
  readonly _readableState: { readonly ended: boolean; readonly reading: boolean };
}

/**
 * The fact: a stream asks its `_read` for bytes when somebody reads, and notes
 * in `_readableState.reading` that it has asked, in `ended` that its end came.
 */
const asksWhenRead = holds('held-body', () => {
  // By the methods of Node's requests, as they are by now, without their constructor; see `holds`.
  const message = Object.setPrototypeOf(new Readable(), IncomingMessage.prototype) as HeldBody;
  const { reading, ended } = message._readableState;
  let asked = 0;
  message._read = () => {
    asked++;
  };
  message.read(0);
  const isNoted = (message._readableState as { reading: boolean }).reading;
  message.push(null);
  return !reading && !ended && asked === 1 && isNoted && message._readableState.ended;
});

/**
 * Gives a captured body back to its stream; where nobody reads, only when somebody
 * does, since few bodies are read twice. A property of its own, since another
 * framework's application takes the prototype away.
 */
export function giveBack(request: IncomingMessage, bytes: Buffer): boolean {
  const stream = request as HeldBody;
  const isBeingRead = stream.readableFlowing !== null || stream.readableDidRead;
  if (asksWhenRead && !isBeingRead && !stream._readableState.reading) {
    stream._read = readHeld;
    stream[kHeld] = bytes;
    return true;
  }
  pushOn(stream, bytes);
  return pushOn(stream, null);
}

/** True if another copy of this module holds the whole body: it is off the wire, not in its stream, and goes to whoever reads. */
export function isHeldElsewhere(request: IncomingMessage): boolean {
  return asksWhenRead && request.complete && request.readableLength === 0 && !(request as HeldBody)._readableState.ended;
}

/** True if a `_read` of the stream's own has the body still to give. Adapters make such ones; that of a copy of this module does not count. */
export function givesWhenRead(request: IncomingMessage): boolean {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is only compared
  const { _read } = request as IncomingMessage & { readonly _read: ((size: number) => void) & { readonly [kHolds]?: boolean } };
  if (_read === IncomingMessage.prototype._read) return false;
  return Object.hasOwn(request, '_read') && !(request as HeldBody)._readableState.ended && _read[kHolds] !== true;
}

/** Asks a stream for the next piece. By itself it asks only when it has the one before. */
export function askForMore(stream: IncomingMessage): void {
  try {
    stream._read(stream.readableHighWaterMark);
  } catch (error) {
    stream.destroy(error as Error);
  }
}

/** Asks for the rest of a body that its stream holds in part, without reading. */
export function askForRest(stream: IncomingMessage): void {
  const message = stream as HeldBody;
  if (message._readableState.reading) return;
  const { _consuming } = message;
  askForMore(stream);
  if (_consuming === false) message._consuming = false;
}

/** Marks a stream with its whole body in it as read: Node would drop its rest when the response finishes. */
export function noteReader(stream: IncomingMessage): void {
  const message = stream as HeldBody;
  if (message._consuming === false) message._consuming = true;
}

/** The stream's `_read` while its body is held. */
function readHeld(this: HeldBody, size: number): void {
  const bytes = this[kHeld];
  this[kHeld] = undefined;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is to be the request's method
  const { _read } = IncomingMessage.prototype;
  this._read = _read;
  if (this._dumped === true && this.listenerCount('readable') === 0) {
    // Nobody will read: Node leaves those who listen for `readable` alone. Since Node 26 `_dump` does not make a stream flow that seems empty: it asks it once.
    this.resume();
    pushOn(this, null);
    return;
  }
  // It notes that somebody reads, so that the response does not drop what is left.
  _read.call(this, size);
  if (bytes !== undefined) pushOn(this, bytes);
  // The end comes later, as it may off the wire: who has read can wait for something else before he listens for it.
  setImmediate(endHeld, this);
}

Object.defineProperty(readHeld, kHolds, { value: true });

function endHeld(stream: HeldBody): void {
  if (stream.destroyed) return;
  pushOn(stream, null);
  // Node tells the end when asked, and one read() of everything does not ask again. Not while paused.
  if (stream.readableLength === 0 && (stream.readableFlowing !== false || stream.listenerCount('readable') > 0)) stream.read(0);
}
