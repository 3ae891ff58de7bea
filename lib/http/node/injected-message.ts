import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { setImmediate } from '../../timers';

/** Undocumented members that Node's parser and server use. */
interface Parsed extends IncomingMessage {
  _addHeaderLines(headers: readonly string[], count: number): void;
  _dump(): void;
  readonly _consuming: boolean;
}

/** Gives a request that no parser made its header fields, as a parser does. @param lines Names and values in turn. */
export function addHeaderLines(req: IncomingMessage, lines: readonly string[]): void {
  (req as Parsed)._addHeaderLines(lines, lines.length);
}

/** Ends the body of a request, as a parser does. */
export function endBody(req: IncomingMessage): void {
  req.complete = true;
  req.push(null);
}

/** Has a response write to a socket, as a server does. */
export function attach(res: ServerResponse, socket: Socket): void {
  if (res.socket !== null) res.detachSocket(res.socket);
  res.assignSocket(socket);
}

/** Detaches a finished response from its socket, as a server does; it closes a turn later. */
export function detach(res: ServerResponse, socket: Socket): void {
  res.detachSocket(socket);
  process.nextTick(close, res);
}

function close(res: ServerResponse): void {
  if (res.closed) return;
  Object.assign(res, { destroyed: true, _closed: true });
  res.emit('close');
}

/** Drops the unread rest of a request, as a server does after its response. */
export function dropUnread(req: IncomingMessage): void {
  const parsed = req as Parsed;
  if (!parsed._consuming) parsed._dump();
}

/** The head of a response as it was sent; empty before. Node adds fields to it that no method tells. */
export function headSent(res: ServerResponse): string {
  return (res as { readonly _header?: string | null })._header ?? '';
}

/** Methods by which a request comes to its bytes, of Node's and of others' making. */
export const READS: readonly string[] = ['_read', '_destroy', '_dump', 'destroy', 'setTimeout'];

/** Has a stream give its bytes when it is read, in a later turn. */
export function pushWhenRead(stream: Readable, bytes: Buffer | string | null): void {
  stream._read = () => {
    stream._read = () => undefined;
    setImmediate(() => {
      if (bytes !== null) stream.push(bytes);
      stream.push(null);
    });
  };
}
