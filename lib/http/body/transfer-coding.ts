import type { IncomingMessage } from 'node:http';
import { HttpError } from '../../errors';
import { refuseHead } from '../default-answer';
import type { ConfiguredResponse } from '../response-state';

/**
 * True for a body in transfer codings that Node does not decode: all but one
 * `chunked` (RFC 9112 section 6.1), and any in HTTP/1.0, which has none. The rest
 * of `gzip, chunked` must not pass for the body, in the signature check either.
 * Reads `rawHeaders`, as {@link hasBody}.
 */
export function isCoded(request: IncomingMessage): boolean {
  const { rawHeaders } = request;
  // A request made by the program may have filled `headers` alone.
  if (rawHeaders.length === 0) return !isPlain(request, request.headers['transfer-encoding']);
  let isSeen = false;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length !== 17 || name.toLowerCase() !== 'transfer-encoding') continue;
    if (isSeen || !isPlain(request, rawHeaders[i + 1])) return true;
    isSeen = true;
  }
  return false;
}

function isPlain({ httpVersionMajor, httpVersionMinor }: IncomingMessage, codings: string | undefined): boolean {
  if (codings === undefined) return true;
  return codings.trim().toLowerCase() === 'chunked' && (httpVersionMajor !== 1 || httpVersionMinor !== 0);
}

/** Answers 501, or 400 if `chunked` is not last (RFC 9112 section 6.3): the body's end can't be told then. Nothing behind it is carried out. */
export function refuseCoding(request: IncomingMessage, res: ConfiguredResponse): void {
  const last = request.headers['transfer-encoding']?.split(',').at(-1);
  refuseHead(request, res, isPlain(request, last) ? HttpError.of('UNSUPPORTED_TRANSFER_CODING') : HttpError.of('ENDLESS_BODY'));
}
