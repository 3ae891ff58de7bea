import { AsyncResource } from 'node:async_hooks';
import { IncomingMessage } from 'node:http';
import { bufferedOf, hasEnd } from '../node/buffered-body';
import { askForMore, askForRest, givesWhenRead, isHeldElsewhere, noteReader } from '../node/held-body';
import { pushOn } from '../node/parser-push';
import { isHttp2 } from '../request-state';
import { bytesOf, handBack, pushRest, type Intake, kIntake, ensureIntake, type IntakeRequest } from './intake';

/** The body as it was captured: the very bytes received, before any inflating. Nothing but a capture writes it. */
export const kRawBody = Symbol('waypost.request.rawBody');
/** How the capture of this request ended; undefined until it has. */
export const kCaptured = Symbol('waypost.request.captured');

/**
 * How a capture ended: `complete`, the bytes are there; `tooLarge`, the limit
 * was passed and the stream holds everything; `aborted`, the client went away
 * first; `consumed`, someone had read bytes before the capture began, or holds on to them.
 */
export type CaptureOutcome = 'complete' | 'tooLarge' | 'aborted' | 'consumed';

/** A request whose body can be captured and discarded. */
export interface BodyStream extends IntakeRequest {
  [kRawBody]: Buffer | undefined;
  [kCaptured]: CaptureOutcome | undefined;
  rawBody: Buffer | undefined;
}

/** Hears once how a capture ended. */
export type CaptureListener<T extends BodyStream> = (request: T, outcome: CaptureOutcome) => void;

/**
 * True if a request has a body: by its headers (RFC 9112 section 6.3), or in HTTP/2 by its stream. Reads `rawHeaders`:
 * Node makes the object `headers` on demand, without fields past
 * `maxHeadersCount`.
 */
export function hasBody(request: IncomingMessage): boolean {
  if (isHttp2(request)) return !request.stream.endAfterHeaders;
  const { rawHeaders } = request;
  // No raw headers mean no body, unless the program filled `headers` alone.
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

/** True if something has read the stream, or listens to it. */
export function isBeingRead(request: IncomingMessage): boolean {
  return request.readableFlowing !== null || request.readableDidRead;
}

/** True for a captured body read in part, whose rest is still in the stream. */
export function isReadInPart(request: IncomingMessage): boolean {
  return request.readableDidRead && request.readableLength > 0;
}

/**
 * Captures the body of a request as it arrives, without consuming it: afterwards
 * the stream holds every byte, and `rawBody` is the same memory. `done` is called
 * once: at once where the outcome is known already. A stream that flows is paused until then.
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
  ensureIntake(request);
  const capture = new BodyCapture(request, limit, done);
  const isPulled = comesWhenRead(request);
  // One of HTTP/2 flows from the first read on.
  if (isPulled && !isHttp2(request)) capture.askFor();
  const isIn = hasEnd(request) || (request.complete && !isPulled);
  if (isIn || request.readableLength > 0) capture.takeBuffered(isIn);
  else request[kIntake] = capture;
  if (isPulled) request.read(0);
}

/** True for a body that comes only when it is read: of HTTP/2, or of an adapter, such as those of AWS Lambda. Node's parser of HTTP/1 pushes by itself. */
function comesWhenRead(request: IncomingMessage): boolean {
  return isHttp2(request) || !(request instanceof IncomingMessage) || givesWhenRead(request);
}

/** The outcome where no byte needs to be looked at. */
function foregone(request: BodyStream, limit: number): CaptureOutcome | undefined {
  if (request[kIntake] !== undefined || request.readableDidRead || request.readableEnded || request.readableEncoding !== null) return 'consumed';
  if (request.destroyed) return 'aborted';
  if (isHeldElsewhere(request) && !comesWhenRead(request)) return 'consumed';
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
  /** Bytes left in the stream when the capture began. They stay there: read out and pushed in again they would be counted twice. */
  #inStream = 0;
  /** The stream's own count of that: by it shows whether somebody has read meanwhile. */
  #left = 0;
  /** True if the stream gives the next piece only when asked again. */
  #asks = false;
  #isAsking = false;
  /** True if the stream was flowing, and is paused until the capture has ended. */
  #flows = false;

  constructor(request: T, limit: number, done: CaptureListener<T>) {
    super('waypost.body');
    this.#request = request;
    this.#limit = limit;
    this.#done = done;
    this.#pause();
  }

  push(chunk: Buffer | null): boolean {
    if (chunk === null) return this.#complete();
    if (this.#length + chunk.length > this.#limit) return this.#overflow(chunk);
    this.#hold(chunk);
    if (this.#asks && !this.#isAsking) {
      this.#isAsking = true;
      process.nextTick(BodyCapture.#ask, this);
    }
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
    capture.#isAsking = false;
    if (request[kIntake] === capture) askForMore(request);
  }

  /** Begins with what the stream has buffered by now. @param isIn Whether that is all. */
  takeBuffered(isIn: boolean): void {
    const request = this.#request;
    const buffered = bufferedOf(request);
    if (buffered === undefined || !buffered.every(isBytes)) return this.#end('consumed');
    for (const chunk of buffered) {
      const bytes = Buffer.isBuffer(chunk) ? chunk : bytesOf(chunk);
      if (this.#length + bytes.length > this.#limit) return this.#end('tooLarge');
      this.#hold(bytes);
    }
    this.#inStream = this.#length;
    this.#left = request.readableLength;
    if (isIn) {
      this.#keep(this.#bytes() ?? Buffer.alloc(0));
      this.#end('complete');
    } else {
      request[kIntake] = this;
      askForRest(request);
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
   * Grows the buffer sixteenfold, up to the body's limit or announced length.
   * Each buffer is garbage outside of V8's heap. The announced length is never
   * allocated at once, since the client need not send it.
   */
  #grow(length: number): void {
    const announced = this.#request.headers['content-length'];
    const most = announced !== undefined && Number(announced) >= length ? Math.min(Number(announced), this.#limit) : this.#limit;
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
    this.#request.rawBody = bytes;
  }

  #pause(): void {
    if (this.#request.readableFlowing !== true) return;
    this.#flows = true;
    this.#request.pause();
  }

  #complete(): boolean {
    const request = this.#request;
    // Somebody may have begun to listen meanwhile.
    this.#pause();
    const bytes = this.#bytes();
    request[kIntake] = undefined;
    // Bytes read meanwhile leave a rest, which must not pass for the checked body.
    const isWhole = request.readableLength >= this.#left;
    const more = bytes === undefined ? pushOn(request, null) : handBack(request, bytes, this.#inStream);
    if (isWhole) this.#keep(bytes ?? Buffer.alloc(0));
    this.#end(isWhole ? 'complete' : 'consumed');
    return more;
  }

  #overflow(chunk: Buffer): boolean {
    const request = this.#request;
    const bytes = this.#bytes();
    this.#held = undefined;
    request[kIntake] = undefined;
    if (bytes !== undefined) pushRest(request, bytes, this.#inStream);
    const more = pushOn(request, chunk);
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
    this.runInAsyncScope(this.#settle, this, outcome);
  }

  #settle(outcome: CaptureOutcome): void {
    // Flows on a later turn of Node's queue, so that `done` may begin to listen.
    if (this.#flows) {
      noteReader(this.#request);
      this.#request.resume();
    }
    settle(this.#request, outcome, this.#done);
  }
}

/** True for a chunk of bytes or text: in object mode it may be anything. */
function isBytes(chunk: unknown): chunk is string | Uint8Array {
  return typeof chunk === 'string' || chunk instanceof Uint8Array;
}
