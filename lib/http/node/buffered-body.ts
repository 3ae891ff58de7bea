import type { IncomingMessage } from 'node:http';

/** What Node notes of a request that somebody has read from. */
interface Noted extends IncomingMessage {
  _consuming: boolean;
  readonly _readableState: { dataEmitted: boolean };
}

/**
 * All that a request's stream has buffered, read without leaving a trace of the
 * reading. The fact: the traces are `_consuming`, by which Node drops the rest
 * of a body that nobody began to read, and `dataEmitted`, by which WHATWG
 * consumers refuse a stream that was read from.
 */
export function peekAll(request: IncomingMessage): Buffer | null {
  // Reading an empty stream that has ended would set its 'end' off.
  if (request.readableLength === 0) return null;
  const message = request as Noted;
  const consuming = message._consuming;
  const parts: Buffer[] = [];
  // Since Node 26 one call returns one chunk.
  while (request.readableLength > 0) {
    const part = request.read() as Buffer | null;
    if (part === null) break;
    parts.push(part);
  }
  // Bytes that nobody could check must not be read by anybody.
  if (request.readableLength > 0) request.destroy();
  message._consuming = consuming;
  message._readableState.dataEmitted = false;
  return parts.length === 1 ? parts[0] as Buffer : Buffer.concat(parts);
}
