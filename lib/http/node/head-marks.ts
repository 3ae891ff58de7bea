import type { ServerResponse } from 'node:http';

interface Marked {
  /** True if a body is sent; false after a refused head of 204 or 304. */
  _hasBody?: boolean;
  /** True if the body is sent in chunks. */
  chunkedEncoding: boolean;
}

export function sendsBody(res: ServerResponse): boolean {
  return (res as Marked)._hasBody === true;
}

/**
 * True for a response to HEAD, whatever the request's method is now. The facts: Node leaves its body out from the
 * start, as no response of a test does; a refused head of 204 or 304 does so too, and has set `statusMessage`.
 */
export function isForHead(res: ServerResponse): boolean {
  return (res as Marked)._hasBody === false && (res as { statusMessage?: string }).statusMessage === undefined && !res.headersSent;
}

/** Takes back what a head has set that Node has refused: a body of another answer would be left out, or sent in chunks. */
export function forgetHead(res: ServerResponse): void {
  (res as Marked)._hasBody = true;
  (res as Marked).chunkedEncoding = false;
}
