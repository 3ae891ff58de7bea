import { ServerResponse } from 'node:http';

// As they are now: tracers replace them on the prototype, and want to hear of every head.
// eslint-disable-next-line @typescript-eslint/unbound-method -- compared, never called
const { setHeader, writeHead } = ServerResponse.prototype;

/** The head that went out by the short way; undefined where it did not. */
export const kShortHead = Symbol('waypost.response.shortHead');

/** Name and value in turn, as `writeHead` takes them: Content-Type, then Content-Length. */
export type ShortHead = readonly ['Content-Type', string, 'Content-Length', string];

/** The methods of a response class that middleware replaces. */
export type OwnMethods = Readonly<Pick<ServerResponse, 'end' | 'setHeader'>>;

/** A response that may have sent a {@link ShortHead}. */
export interface ShortHeaded extends ServerResponse {
  [kShortHead]: ShortHead | undefined;
}

/**
 * Whether the head of a response without any field may go out as one flat list.
 * `setHeader` keeps each field in a map that `writeHead` walks again when it
 * sends; where nobody listens for them, that is a tenth of Node's own work.
 * Middleware listens by replacing these methods, as on-headers and compression do.
 */
export function mayShorten(res: ServerResponse, own: OwnMethods): boolean {
  const { statusCode } = res;
  return res.writeHead === writeHead
    && ServerResponse.prototype.setHeader === setHeader
    && res.setHeader === own.setHeader
    && res.end === own.end
    && !res.headersSent
    // RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5: no content.
    && statusCode >= 200 && statusCode !== 204 && statusCode !== 205 && statusCode !== 304;
}

/** Sends the head. Node keeps nothing of it, so what loggers ask for afterwards is kept here. */
export function sendShortHead(res: ShortHeaded, type: string, length: number): void {
  const head = ['Content-Type', type, 'Content-Length', String(length)] as const;
  res[kShortHead] = head;
  // The type of Node's own knows no frozen list.
  res.writeHead(res.statusCode, head as unknown as string[]);
}

/** A field of the head, by its name in any case. */
export function shortField([, type, , length]: ShortHead, name: string): string | undefined {
  switch (name.toLowerCase()) {
    case 'content-type':
      return type;
    case 'content-length':
      return length;
    default:
      return undefined;
  }
}
