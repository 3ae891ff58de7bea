import type { IncomingMessage, ServerResponse } from 'node:http';

/** What Node's parser and server do by these names, and keep under them. */
interface Parsed extends IncomingMessage {
  _addHeaderLines(headers: readonly string[], count: number): void;
  _dump(): void;
  readonly _consuming: boolean;
}

interface Sent extends ServerResponse {
  readonly _header: string | null;
}

/** Gives a request that no parser made its header fields, names and values in turn, as a parser does. */
export function addHeaderLines(req: IncomingMessage, lines: readonly string[]): void {
  (req as Parsed)._addHeaderLines(lines, lines.length);
}

/** Drops what nobody has read of a request, as a server does when its response has finished. */
export function dropUnread(req: IncomingMessage): void {
  const parsed = req as Parsed;
  if (!parsed._consuming) parsed._dump();
}

/** The head of a response as it was sent; empty before. Node adds fields to it that no method tells. */
export function headSent(res: ServerResponse): string {
  return (res as Sent)._header ?? '';
}
