import { IncomingMessage } from 'node:http';
import { giveBack } from '../node/held-body';
import { pushOn } from '../node/parser-push';
import { hasForbiddenBody, putPush } from './bodiless';

/** Who takes the bytes as they come off the wire, instead of the stream itself; see {@link Intake}. */
export const kIntake = Symbol('waypost.request.intake');
/** Stands on each `push` that looks at {@link kIntake}. */
export const kTakesIn = Symbol('waypost.request.takesIn');
type Push = IncomingMessage['push'];

/** The `push` that a program has put on a request, to count or record what comes. */
const kCounts = Symbol('waypost.request.counts');

/** What stands between Node's parser and a request's stream while it is set. */
export interface Intake {
  /** Takes a chunk, or null at the end; returns whether the socket shall go on reading. */
  push(chunk: Buffer | null): boolean;
  /** The connection is gone, or nobody wants the body any more. */
  abort(): void;
}

/** A request whose bytes can be taken in: its `push` looks at `kIntake`. */
export interface TakenIn extends IncomingMessage {
  [kIntake]: Intake | undefined;
  [kCounts]?: Push | undefined;
}

/** What comes off the wire, to whoever takes it in; costs one look where nobody does. */
export function pushIn(request: TakenIn, chunk: unknown, encoding?: BufferEncoding): boolean {
  const intake = request[kIntake];
  if (intake === undefined) return pushOn(request, chunk, encoding);
  return intake.push(chunk === null || Buffer.isBuffer(chunk) ? chunk : bytesOf(chunk as string | Uint8Array, encoding));
}

/** Deno's server pushes arrays of bytes, and what a program pushes may be text. */
export function bytesOf(chunk: string | Uint8Array, encoding?: BufferEncoding): Buffer {
  return typeof chunk === 'string' ? Buffer.from(chunk, encoding) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

/**
 * Gives a request a `push` of its own where the one that it has looks at no intake, and the capture would wait for ever: an Express
 * application has put its prototype on, or a program a `push` that calls Node's, on the request or on a prototype of it. Such a one gets
 * what was taken in when that is given back. Returns false where a program has fixed its own.
 */
export function letTakeIn(request: TakenIn): boolean {
  const { push } = request as { readonly push?: Push & { readonly [kTakesIn]?: boolean } };
  // Almost every request.
  if (push?.[kTakesIn] === true || hasForbiddenBody(request)) return true;
  if (push === undefined || push === IncomingMessage.prototype.push) return putPush(request, pushOf);
  if (!putPush(request, pushOver(push))) return false;
  Object.defineProperty(request, kCounts, { value: push, writable: true, configurable: true });
  return true;
}

function pushOf(this: TakenIn, chunk: unknown, encoding?: BufferEncoding): boolean {
  return pushIn(this, chunk, encoding);
}

Object.defineProperty(pushOf, kTakesIn, { value: true });

/**
 * The same over a program's own, which gets what is not taken in. It goes by the one that it was laid over: one that was
 * put on it since may call it whenever it likes, and would be called by it again, for ever.
 */
function pushOver(counts: Push): Push {
  function push(this: TakenIn, chunk: unknown, encoding?: BufferEncoding): boolean {
    return this[kIntake] === undefined ? counts.call(this, chunk, encoding) : pushIn(this, chunk, encoding);
  }
  return Object.defineProperty(push, kTakesIn, { value: true });
}

/** Hands what was taken in on to the stream, by the `push` that a program has put there. */
export function handOn(request: TakenIn, chunk: unknown, encoding?: BufferEncoding): boolean {
  const counts = request[kCounts];
  return counts === undefined ? pushOn(request, chunk, encoding) : counts.call(request, chunk, encoding);
}

/** Gives a captured body back to the stream, which has so many bytes of it already. */
export function handBack(request: TakenIn, bytes: Buffer, inStream: number): boolean {
  if (inStream === 0 && request[kCounts] === undefined) return giveBack(request, bytes);
  handOnFrom(request, bytes, inStream);
  return handOn(request, null);
}

/** Hands on what is behind the first so many bytes. */
export function handOnFrom(request: TakenIn, bytes: Buffer, start: number): void {
  if (start < bytes.length) handOn(request, bytes.subarray(start));
}
