import { AsyncResource } from 'node:async_hooks';
import { IncomingMessage } from 'node:http';
import { read } from '../../errors';
import { peekAll } from '../node/buffered-body';
import { askForMore, giveBack, givesWhenRead, isHeldElsewhere } from '../node/held-body';
import { pushOn } from '../node/parser-push';
import { hasForbiddenBody } from './bodiless';

/** Who takes the bytes as they come off the wire, instead of the stream itself; see {@link Intake}. */
export const kIntake = Symbol('waypost.request.intake');
/** Stands on a request whose `push` looks at {@link kIntake}. */
export const kTakesIn = Symbol('waypost.request.takesIn');
/** The `push` that a program has put on a request, to count or record what comes. */
const kCounts = Symbol('waypost.request.counts');
/** The body as it was captured: the very bytes received, before any inflating. Nothing but a capture writes it. */
export const kRawBody = Symbol('waypost.request.rawBody');
/** How the capture of this request ended; undefined until it has. */
export const kCaptured = Symbol('waypost.request.captured');

/**
 * How a capture ended: `complete`, the bytes are there; `tooLarge`, the limit
 * was passed and the stream holds everything; `aborted`, the client went away
 * first; `consumed`, someone had read bytes before the capture began.
 */
export type CaptureOutcome = 'complete' | 'tooLarge' | 'aborted' | 'consumed';

/** What stands between Node's parser and a request's stream while it is set. */
export interface Intake {
  /** Takes a chunk, or null at the end; returns whether the socket shall go on reading. */
  push(chunk: Buffer | null): boolean;
  /** The connection is gone, or nobody wants the body any more. */
  abort(): void;
}

/** A request whose body can be captured and discarded: its class looks at `kIntake` on every push. */
export interface BodyStream extends IncomingMessage {
  [kIntake]: Intake | undefined;
  [kRawBody]: Buffer | undefined;
  [kCaptured]: CaptureOutcome | undefined;
  rawBody: Buffer | undefined;
}

/** Hears once how a capture ended. */
export type CaptureListener<T extends BodyStream> = (request: T, outcome: CaptureOutcome) => void;

/**
 * Whether the headers announce a body (RFC 9112 section 6.3). By the list of
 * them as received: the object `headers` is work for Node to make, and lacks what
 * is past `maxHeadersCount`.
 */
export function hasBody(request: IncomingMessage): boolean {
  const { rawHeaders } = request;
  // A request without any has no body, unless a program made it and filled `headers` alone.
  if (rawHeaders.length === 0) return Object.entries(request.headers).some(([name, value]) => announcesBody(name, value as string | undefined));
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    // The lengths of the two names.
    if ((name.length === 14 || name.length === 17) && announcesBody(name.toLowerCase(), rawHeaders[i + 1])) return true;
  }
  return false;
}

function announcesBody(name: string, value: string | undefined): boolean {
  if (value === undefined) return false;
  return name === 'transfer-encoding' || (name === 'content-length' && Number(value) > 0);
}

/** What comes off the wire, to whoever takes it in; costs one look where nobody does. */
export function pushIn(request: BodyStream, chunk: unknown, encoding?: BufferEncoding): boolean {
  const intake = request[kIntake];
  if (intake === undefined) return pushOn(request, chunk, encoding);
  return intake.push(chunk === null || Buffer.isBuffer(chunk) ? chunk : bytesOf(chunk as string | Uint8Array, encoding));
}

/** Deno's server pushes arrays of bytes, and what a program pushes may be text. */
function bytesOf(chunk: string | Uint8Array, encoding: BufferEncoding | undefined): Buffer {
  return typeof chunk === 'string' ? Buffer.from(chunk, encoding) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

interface Counted extends BodyStream {
  readonly [kTakesIn]?: boolean;
  [kCounts]?: IncomingMessage['push'] | undefined;
}

/**
 * Gives a request a `push` of its own where the class's is not asked, and the capture would wait for ever: an Express
 * application has put its prototype on, or a program a `push` that calls Node's. Such a one gets what was taken in when that is given back.
 */
export function letTakeIn(request: Counted): void {
  const own = Object.getOwnPropertyDescriptor(request, 'push')?.value as unknown;
  if (own === pushOf || hasForbiddenBody(request) || (own === undefined && request[kTakesIn] === true)) return;
  if (typeof own === 'function') Object.defineProperty(request, kCounts, { value: own, writable: true, configurable: true });
  Object.defineProperty(request, 'push', { value: pushOf, writable: true, configurable: true });
  Object.defineProperty(request, kTakesIn, { value: true, configurable: true });
}

function pushOf(this: Counted, chunk: unknown, encoding?: BufferEncoding): boolean {
  return this[kIntake] === undefined ? handOn(this, chunk, encoding) : pushIn(this, chunk, encoding);
}

/** Hands what was taken in on to the stream, by the `push` that a program has put there. */
export function handOn(request: Counted, chunk: unknown, encoding?: BufferEncoding): boolean {
  const counts = request[kCounts];
  if (counts === undefined) return pushOn(request, chunk, encoding);
  // One that was put on behind a first capture calls the push of that one, which would hand on to it again.
  request[kCounts] = undefined;
  try {
    return counts.call(request, chunk, encoding);
  } finally {
    request[kCounts] = counts;
  }
}

/** Whether something has read from the stream, or has begun to listen to it. */
export function isBeingRead(request: IncomingMessage): boolean {
  return request.readableFlowing !== null || request.readableDidRead;
}

/**
 * Captures the body of a request as it arrives, without consuming it: afterwards
 * the stream holds every byte, and `rawBody` is the same memory. `done` is called
 * once: at once where the outcome is known already.
 * @param limit Longest body that is kept, in bytes.
 */
export function startCapture<T extends BodyStream>(request: T, limit: number, done: CaptureListener<T>): void {
  const known = request[kCaptured] ?? foregone(request, limit);
  if (known !== undefined) {
    // An application around this one may take larger bodies: the bytes are there, but not for this one.
    if (known === 'complete' && (request[kRawBody]?.length ?? 0) > limit) done(request, 'tooLarge');
    else settle(request, known, done);
    return;
  }
  letTakeIn(request);
  const capture = new BodyCapture(request, limit, done);
  const comesWhenRead = isMade(request);
  if (comesWhenRead) capture.askFor();
  if (request.readableLength > 0 || (request.complete && !comesWhenRead)) capture.takeBuffered();
  else request[kIntake] = capture;
  if (comesWhenRead) request.read(0);
}

/** Whether no server has received it, so that no parser pushes its body: an adapter, such as those of AWS Lambda, gives it when it is read. */
function isMade(request: IncomingMessage): boolean {
  return !(request instanceof IncomingMessage) || givesWhenRead(request);
}

/** The outcome where no byte needs to be looked at. */
function foregone(request: BodyStream, limit: number): CaptureOutcome | undefined {
  if (request[kIntake] !== undefined || request.readableDidRead || request.readableEnded || request.readableEncoding !== null) return 'consumed';
  // Reading ahead would hand these bytes to the listeners, and later once more.
  if (request.readableFlowing !== null && request.readableLength > 0) return 'consumed';
  if (request.destroyed) return 'aborted';
  if (isHeldElsewhere(request) && !isMade(request)) return 'consumed';
  return Number(request.headers['content-length']) > limit ? 'tooLarge' : undefined;
}

function settle<T extends BodyStream>(request: T, outcome: CaptureOutcome, done: CaptureListener<T>): void {
  request[kCaptured] = outcome;
  done(request, outcome);
}

/**
 * One body on its way in. The bytes are held here and given to the stream in one
 * piece: as a million chunks of one byte they would cost a hundred times their
 * size. Node's parser brings them in the async context of the connection; who
 * waits for the end goes on in his own.
 */
class BodyCapture<T extends BodyStream> extends AsyncResource implements Intake {
  readonly #request: T;
  readonly #limit: number;
  readonly #done: CaptureListener<T>;
  #held: Buffer | undefined;
  #length = 0;
  /** Whether the stream gives the next piece only when it is asked again. */
  #asks = false;

  constructor(request: T, limit: number, done: CaptureListener<T>) {
    super('waypost.body');
    this.#request = request;
    this.#limit = limit;
    this.#done = done;
  }

  push(chunk: Buffer | null): boolean {
    if (chunk === null) return this.#complete();
    if (this.#length + chunk.length > this.#limit) return this.#overflow(chunk);
    this.#hold(chunk);
    if (this.#asks) process.nextTick(BodyCapture.#ask, this);
    // True although nobody reads: the socket would stop at the high-water mark.
    return true;
  }

  abort(): void {
    this.#held = undefined;
    this.#end('aborted');
  }

  /** Has every piece asked for: the stream itself does so only when it has the one before. */
  askFor(): void {
    this.#asks = true;
  }

  static #ask(this: void, capture: BodyCapture<BodyStream>): void {
    const request = capture.#request;
    if (request[kIntake] !== capture) return;
    askForMore(request);
  }

  /** Begins with what the stream has buffered by now, whether or not more is to come. */
  takeBuffered(): void {
    const request = this.#request;
    const buffered = peekAll(request);
    if (request.complete) {
      // The end is in the stream already: what was read can only go back in front of it.
      if (buffered !== null) request.unshift(buffered);
      const fits = buffered === null || buffered.length <= this.#limit;
      if (fits) this.#keep(buffered ?? Buffer.alloc(0));
      this.#end(fits ? 'complete' : 'tooLarge');
    } else if (buffered !== null && buffered.length > this.#limit) {
      request.unshift(buffered);
      this.#end('tooLarge');
    } else {
      if (buffered !== null) this.#hold(buffered);
      request[kIntake] = this;
    }
  }

  #hold(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (this.#held === undefined) {
      // Most bodies are one chunk: it is kept as it is. A further chunk never
      // fits behind it, so Node's own memory is not written to.
      this.#held = chunk;
    } else {
      if (length > this.#held.length) this.#grow(length);
      chunk.copy(this.#held, this.#length);
    }
    this.#length = length;
  }

  /**
   * Makes sixteen times the room, since each room is memory to be collected outside
   * of V8's heap; never beyond what the body may come to be. Not all that is
   * announced at once: two bytes would do to take the limit.
   */
  #grow(length: number): void {
    // A program may have put anything there by now, or what throws: the parser calls, where that would end the process.
    const announced = read(read(this.#request, 'headers'), 'content-length');
    const most = typeof announced === 'string' && Number(announced) >= length ? Math.min(Number(announced), this.#limit) : this.#limit;
    const room = Buffer.allocUnsafeSlow(Math.min(length * 16, most));
    this.#held?.copy(room, 0, 0, this.#length);
    this.#held = room;
  }

  #bytes(): Buffer | undefined {
    const held = this.#held;
    return held === undefined || held.length === this.#length ? held : held.subarray(0, this.#length);
  }

  #keep(bytes: Buffer): void {
    this.#request[kRawBody] = bytes;
    try {
      this.#request.rawBody = bytes;
    } catch {
      // A program has its own there, and lets nobody write it. The parser calls, where a throw would end the process.
    }
  }

  #complete(): boolean {
    const request = this.#request;
    const bytes = this.#bytes();
    request[kIntake] = undefined;
    const more = bytes === undefined ? handOn(request, null) : this.#giveBack(bytes);
    this.#keep(bytes ?? Buffer.alloc(0));
    this.#end('complete');
    return more;
  }

  #giveBack(bytes: Buffer): boolean {
    const request: Counted = this.#request;
    if (request[kCounts] === undefined) return giveBack(request, bytes);
    handOn(request, bytes);
    return handOn(request, null);
  }

  #overflow(chunk: Buffer): boolean {
    const request = this.#request;
    const bytes = this.#bytes();
    this.#held = undefined;
    request[kIntake] = undefined;
    if (bytes !== undefined) handOn(request, bytes);
    const more = handOn(request, chunk);
    // Not from within the parser: a listener that reads at once restarts the
    // socket, and Node would stop it again by the answer of this very push.
    process.nextTick(BodyCapture.#overflowed, this);
    return more;
  }

  static #overflowed(capture: BodyCapture<BodyStream>): void {
    capture.#end(capture.#request.destroyed ? 'aborted' : 'tooLarge');
  }

  #end(outcome: CaptureOutcome): void {
    this.#request[kIntake] = undefined;
    this.runInAsyncScope(settle<T>, undefined, this.#request, outcome, this.#done);
  }
}
