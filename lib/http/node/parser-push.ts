import { IncomingMessage } from 'node:http';

/**
 * Hands a chunk, or the end, on to the stream itself. The fact: Node's parser
 * calls `push` as a method of the request, so a request whose own class has
 * another sees every byte of its body first.
 */
export function pushOn(request: IncomingMessage, chunk: unknown, encoding?: BufferEncoding): boolean {
  return IncomingMessage.prototype.push.call(request, chunk, encoding);
}
