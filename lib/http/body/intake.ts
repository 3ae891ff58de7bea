import type { IncomingMessage } from 'node:http';
import { giveBack } from '../node/held-body';
import { pushOn } from '../node/parser-push';
import { hasForbiddenBody } from './bodiless';

/** Who takes the bytes as they come off the wire, instead of the stream itself; see {@link Intake}. */
export const kIntake = Symbol('waypost.request.intake');
/** Stands on a request whose `push` looks at {@link kIntake}. */
export const kTakesIn = Symbol('waypost.request.takesIn');
/** The `push` that a program has put on a request, to count or record what comes. */
const kCounts = Symbol('waypost.request.counts');

/** What stands between Node's parser and a request's stream while it is set. */
export interface Intake {
  /** Takes a chunk, or null at the end; returns whether the socket shall go on reading. */
  push(chunk: Buffer | null): boolean;
  /** The connection is gone, or nobody wants the body any more. */
  abort(): void;
}

/** A request whose bytes can be taken in: its class looks at `kIntake` on every push. */
export interface TakenIn extends IncomingMessage {
  [kIntake]: Intake | undefined;
  readonly [kTakesIn]?: boolean;
  [kCounts]?: IncomingMessage['push'] | undefined;
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
 * Gives a request a `push` of its own where the class's is not asked, and the capture would wait for ever: an Express
 * application has put its prototype on, or a program a `push` that calls Node's. Such a one gets what was taken in when that is given back.
 */
export function letTakeIn(request: TakenIn): void {
  // Almost every request: a descriptor is work to make.
  if (request[kTakesIn] === true && request.push === (Object.getPrototypeOf(request) as TakenIn).push) return;
  const own = Object.getOwnPropertyDescriptor(request, 'push')?.value as unknown;
  if (own === pushOf || hasForbiddenBody(request) || (own === undefined && request[kTakesIn] === true)) return;
  if (typeof own === 'function') Object.defineProperty(request, kCounts, { value: own, writable: true, configurable: true });
  Object.defineProperty(request, 'push', { value: pushOf, writable: true, configurable: true });
  Object.defineProperty(request, kTakesIn, { value: true, configurable: true });
}

function pushOf(this: TakenIn, chunk: unknown, encoding?: BufferEncoding): boolean {
  return this[kIntake] === undefined ? handOn(this, chunk, encoding) : pushIn(this, chunk, encoding);
}

/** Hands what was taken in on to the stream, by the `push` that a program has put there. */
export function handOn(request: TakenIn, chunk: unknown, encoding?: BufferEncoding): boolean {
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
