import { IncomingMessage } from 'node:http';
import { defineHidden } from '../assignable';
import { giveBack } from '../node/held-body';
import { pushOn } from '../node/parser-push';
import { hasForbiddenBody } from './bodiless';

/** Taker of the bytes as they come off the wire, before the stream; see {@link Intake}. */
export const kIntake = Symbol('waypost.request.intake');
/** Marks each `push` that looks at {@link kIntake}. */
export const kHasIntake = Symbol('waypost.request.hasIntake');

/** Receiver of a body's bytes, between Node's parser and the request's stream. */
export interface Intake {
  /** Takes a chunk, or null at the end; returns whether the socket shall go on reading. */
  push(chunk: Buffer | null): boolean;
  /** The connection is gone, or nobody wants the body any more. */
  abort(): void;
}

/** A request whose bytes can be taken in: its `push` looks at `kIntake`. */
export interface IntakeRequest extends IncomingMessage {
  [kIntake]: Intake | undefined;
}

/** Pushes a chunk to the intake, or to the stream: one look where no intake is set. */
export function pushIn(request: IntakeRequest, chunk: unknown, encoding?: BufferEncoding): boolean {
  const intake = request[kIntake];
  if (intake === undefined) return pushOn(request, chunk, encoding);
  return intake.push(chunk === null || Buffer.isBuffer(chunk) ? chunk : bytesOf(chunk as string | Uint8Array, encoding));
}

/** Deno's server pushes arrays of bytes, and what a program pushes may be text. */
export function bytesOf(chunk: string | Uint8Array, encoding?: BufferEncoding): Buffer {
  return typeof chunk === 'string' ? Buffer.from(chunk, encoding) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

/**
 * Gives a request a `push` of its own if its current one ignores intakes. The prototype
 * of an Express application has such a one, and the capture would wait for ever.
 */
export function ensureIntake(request: IntakeRequest): void {
  const { push } = request as { readonly push?: IncomingMessage['push'] & { readonly [kHasIntake]?: boolean } };
  if (push?.[kHasIntake] !== true && !hasForbiddenBody(request)) defineHidden(request, 'push', pushOf);
}

function pushOf(this: IntakeRequest, chunk: unknown, encoding?: BufferEncoding): boolean {
  return pushIn(this, chunk, encoding);
}

Object.defineProperty(pushOf, kHasIntake, { value: true });

/** Gives a captured body back to the stream. @param inStream Bytes of it that the stream has already. */
export function handBack(request: IntakeRequest, bytes: Buffer, inStream: number): boolean {
  if (inStream === 0) return giveBack(request, bytes);
  pushRest(request, bytes, inStream);
  return pushOn(request, null);
}

/** Hands on what is behind the first so many bytes. */
export function pushRest(request: IntakeRequest, bytes: Buffer, start: number): void {
  if (start < bytes.length) pushOn(request, bytes.subarray(start));
}
