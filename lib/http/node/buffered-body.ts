import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { holds } from './fact';

interface Looked extends Readable {
  /** A list before Node 22; an array since, of which what lies before `bufferIndex` has been read. */
  readonly _readableState?: { readonly buffer: Iterable<unknown>; readonly bufferIndex?: number; readonly ended: boolean };
}

/** The facts: a stream keeps its buffer, and whether its end is in, in `_readableState`. */
const stateTells = holds('buffered-body', () => {
  const stream = new Readable({ read: () => undefined });
  for (const text of ['a', 'b', 'c']) stream.push(text);
  stream.read(1);
  const [before, ended] = [chunksOf(stream), endIsIn(stream)];
  stream.push(null);
  return before.join('') === 'bc' && !ended && endIsIn(stream);
});

function chunksOf(stream: Readable): unknown[] {
  const { buffer = [], bufferIndex = 0 } = (stream as Looked)._readableState ?? {};
  return [...buffer].slice(bufferIndex);
}

function endIsIn(stream: Readable): boolean {
  return (stream as Looked)._readableState?.ended === true;
}

/**
 * All that a request's stream has buffered, which stays there: read out and put back, it would pass whoever
 * listens, and a `push` that counts, a second time. Undefined where it cannot be looked at.
 */
export function bufferedOf(request: IncomingMessage): unknown[] | undefined {
  if (request.readableLength === 0) return [];
  if (stateTells) return chunksOf(request);
  if (request.readableFlowing !== null) return undefined;
  const read: unknown[] = [];
  while (request.readableLength > 0) read.push(request.read());
  for (const chunk of read.toReversed()) request.unshift(chunk);
  return read;
}

/** True if a request's stream has been given its end. Where Node does not tell, true once the last byte is off the wire. */
export function hasEnd(request: IncomingMessage): boolean {
  return stateTells ? endIsIn(request) : request.complete;
}

/** False for an object that inherits from a stream, or has only its members. */
export function isOwnStream(request: IncomingMessage): boolean {
  return Object.hasOwn(request, '_readableState');
}
