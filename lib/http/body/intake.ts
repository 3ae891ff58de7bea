import { IncomingMessage } from 'node:http';
import { giveBack } from '../node/held-body';
import { pushOn } from '../node/parser-push';
import { hasForbiddenBody } from './bodiless';

/** Who takes the bytes as they come off the wire, instead of the stream itself; see {@link Intake}. */
export const kIntake = Symbol('waypost.request.intake');
/** Stands on each `push` that looks at {@link kIntake}. */
export const kTakesIn = Symbol('waypost.request.takesIn');

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
 * application has put its prototype on.
 */
export function letTakeIn(request: TakenIn): void {
  const { push } = request as { readonly push?: IncomingMessage['push'] & { readonly [kTakesIn]?: boolean } };
  if (push?.[kTakesIn] !== true && !hasForbiddenBody(request)) Object.defineProperty(request, 'push', { value: pushOf, writable: true, configurable: true });
}

function pushOf(this: TakenIn, chunk: unknown, encoding?: BufferEncoding): boolean {
  return pushIn(this, chunk, encoding);
}

Object.defineProperty(pushOf, kTakesIn, { value: true });

/** Gives a captured body back to the stream, which has so many bytes of it already. */
export function handBack(request: TakenIn, bytes: Buffer, inStream: number): boolean {
  if (inStream === 0) return giveBack(request, bytes);
  handOnFrom(request, bytes, inStream);
  return pushOn(request, null);
}

/** Hands on what is behind the first so many bytes. */
export function handOnFrom(request: TakenIn, bytes: Buffer, start: number): void {
  if (start < bytes.length) pushOn(request, bytes.subarray(start));
}
