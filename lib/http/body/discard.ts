import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { cancelEnd, halfCloseAfterBody, halfClose, endBehindIf, endReadingWith } from '../connection';
import { closeBy } from '../node/destroy-soon';
import { endConnectionIf } from '../node/last-answer';
import { isHttp2 } from '../request-state';
import { dropUnreadOf, endUnread } from '../node/unread-request';
import { pushOn } from '../node/parser-push';
import { type Intake, kIntake, ensureIntake, type IntakeRequest } from './intake';

/**
 * Discards what nobody took of a body, when its response has finished.
 * @param limit Bytes up to which the connection lives on; past that it is closed.
 */
export function discardRest(request: IntakeRequest, limit: number): void {
  // A request made without a socket gets no more bytes.
  if (request.complete || !(request as { socket?: Socket | null }).socket) {
    // Every byte is off the wire. Readers that began in this turn keep them: Node would take the listeners away.
    if (request.readableFlowing !== true) endUnread(request);
    return;
  }
  if (request[kIntake] instanceof Discard) return;
  request[kIntake]?.abort();
  request[kIntake] = new Discard(request, limit);
  request.resume();
}

/**
 * Announces in the response's head that the connection may close (RFC 9112
 * section 9.6): the body is longer than what is discarded, or of unknown length
 * and not all in, and nobody reads it when the head is made. A proxy would
 * otherwise give the connection to its next client.
 */
export function announceClose(request: IntakeRequest, res: ServerResponse, limit: number): void {
  // Messages made by tests or adapters have no connection, and may be no emitters.
  if (isHttp2(request) || !(request.socket instanceof EventEmitter && res instanceof EventEmitter)) return;
  const length = request.headers['content-length'];
  if (request.complete || (length !== undefined && !(Number(length) > limit))) return;
  const isAnnounced = endConnectionIf(res, () => isLeft(request));
  if (isAnnounced === undefined) return;
  endBehindIf(request, isAnnounced);
  // Before Node's own listener, which closes the connection.
  res.prependOnceListener('finish', () => {
    if (!isAnnounced()) return cancelEnd(request);
    dropUnreadOf(request, (unread) => {
      ensureIntake(unread);
      discardRest(unread, limit);
    });
    // Node's own close behind the answer would cut off whoever reads on.
    const { socket } = request;
    const letClose = closeBy(socket, () => {
      letClose();
      halfCloseAfterBody(socket, request);
    });
  });
}

/** True if nobody reads a body that is not all in; asked when the head is made. */
function isLeft(request: IntakeRequest): boolean {
  return !request.complete && request.readableFlowing !== true && !request.readableDidRead && request.listenerCount('readable') === 0;
}

/**
 * Counts and drops. It closes by halves (RFC 9112 section 9.6): closed at once,
 * a client that writes before it reads would lose the answer.
 */
class Discard implements Intake {
  readonly #request: IntakeRequest;
  readonly #socket: Socket;
  readonly #limit: number;
  #count: number;
  #closing = false;
  readonly #letClose: () => void;

  constructor(request: IntakeRequest, limit: number) {
    this.#request = request;
    this.#socket = request.socket;
    this.#limit = limit;
    this.#count = request.readableLength;
    // A close by the response has to linger as well.
    this.#letClose = closeBy(this.#socket, () => this.#close());
    // Buffered bytes may be past the limit with nothing more to come.
    if (this.#count > limit) this.#close();
  }

  push(chunk: Buffer | null): boolean {
    if (chunk === null) return this.#end();
    this.#count += chunk.length;
    if (this.#count > this.#limit) this.#close();
    return true;
  }

  abort(): void {
    this.#request[kIntake] = undefined;
  }

  #end(): boolean {
    this.#request[kIntake] = undefined;
    this.#letClose();
    return pushOn(this.#request, null);
  }

  #close(): void {
    if (this.#closing) return;
    this.#closing = true;
    endReadingWith(this.#socket, this.#request);
    halfClose(this.#socket);
  }
}
