import { EventEmitter } from 'node:events';
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { kIntake, type IntakeRequest } from './body/intake';
import { closeUnassigned, currentResponse, idleLimit, lastRequest } from './node/connection-work';
import { closeBy } from './node/destroy-soon';
import { endConnection, endsConnection } from './node/last-answer';
import { Pipeline } from './pipeline';
import { isHttp2 } from './request-state';

/** Set on a connection that ends, or may end, behind a request. */
const kEnd = Symbol('waypost.socket.end');
/** Set on a connection with pipelined requests. */
const kPipeline = Symbol('waypost.socket.pipeline');

/** Set on a connection that its server has cut off. */
const kCutOff = Symbol('waypost.socket.cutOff');

/** Milliseconds that a closed connection is still listened to; also the idle limit of one whose server sets none. */
export const LINGER = 5000;

interface End {
  /** The last that is carried out. */
  readonly request: IncomingMessage;
  /** True once it is decided: for some only with the head of their answer. */
  readonly isDecided: () => boolean;
}

const always = (): boolean => true;

/** A connection of a server. */
export interface Connection extends Socket {
  [kEnd]?: End | undefined;
  [kPipeline]?: Pipeline;
}

/** Connection that a server can cut off: a socket, or a session of HTTP/2. */
interface Severable {
  [kCutOff]?: boolean;
  destroy(): void;
}

/** Destroys a connection whose server has no more time for it. */
export function cutOffConnection(connection: Severable): void {
  connection[kCutOff] = true;
  connection.destroy();
}

/** Returns a test whether the server has cut off the connection of a request. */
export function cutOffTest(req: Pick<IncomingMessage, 'socket'>): () => boolean {
  const connection: Severable | null | undefined = isHttp2(req) ? req.stream.session : req.socket;
  return () => connection?.[kCutOff] === true;
}

/**
 * Has a response that waits behind another close with its connection: Node tells
 * only the one whose turn it is, and `send` would wait for ever with its file open.
 */
export function closeWithConnection(req: IncomingMessage, res: ServerResponse): void {
  const socket = req.socket as Connection | null | undefined;
  if (!(socket instanceof EventEmitter) || res.writableEnded) return;
  if (socket.destroyed) closeUnassigned(res);
  else pipelineOf(socket).add(res);
}

/**
 * Begins a request whose response waits behind another of its connection: at once, or when one in front is answered,
 * where `most` have begun. Of a connection that has closed it begins none.
 */
export function beginInPipeline(req: IncomingMessage, res: ServerResponse, most: number, begin: () => void): void {
  const socket = req.socket as Connection | null | undefined;
  if (!(socket instanceof EventEmitter) || currentResponse(socket) === undefined) {
    closeWithConnection(req, res);
    begin();
  } else if (socket.destroyed) closeUnassigned(res);
  // It is not carried out.
  else if (isEnding(socket)) begin();
  else pipelineOf(socket).admit(res, most, begin);
}

function pipelineOf(socket: Connection): Pipeline {
  return (socket[kPipeline] ??= new Pipeline(socket));
}

/** True for a connection on which a request has come before the answer to another. */
export function isPipelined(socket: Connection): boolean {
  return socket[kPipeline] !== undefined;
}

/** Lets a connection end when every request that has begun on it is answered; the last response says so, where its head is not made yet. */
export function drainConnection(socket: Connection): void {
  socket[kPipeline]?.drop();
  const last = socket[kPipeline]?.last ?? currentResponse(socket);
  if (last !== undefined) endAfter(socket, last.req, last);
  // Answered before its body was in.
  else if (lastRequest(socket)?.complete === false) halfCloseAfterBody(socket);
}

/**
 * From here on the connection closes by halves: closed at once behind the last
 * answer, it would be reset for what the client has asked meanwhile and nobody
 * has read, and the client might lose answers that it has not read yet.
 */
function endAfter(socket: Connection, request: IncomingMessage, response: ServerResponse): void {
  endConnection(response);
  closeBy(socket, () => halfCloseAfterBody(socket));
  socket[kEnd] = { request, isDecided: always };
}

/** Leaves out the requests behind this one, if `ends` returns true when they come. */
export function endBehindIf(request: IncomingMessage, ends: () => boolean): void {
  // A request made by the program has no socket.
  const socket = request.socket as Connection | null | undefined;
  if (socket !== null && socket !== undefined && lastOf(socket) === undefined) socket[kEnd] = { request, isDecided: ends };
}

/** Takes that back for a request behind which the connection lives on: that would keep the request in memory. */
export function cancelEnd(request: IncomingMessage): void {
  const socket = request.socket as Connection | null | undefined;
  if (socket?.[kEnd]?.request === request && lastOf(socket) === undefined) socket[kEnd] = undefined;
}

/** The last request that is carried out on a connection; undefined where there is no end to be seen. */
function lastOf(socket: Connection): IncomingMessage | undefined {
  const end = socket[kEnd];
  return end?.isDecided() === true ? end.request : undefined;
}

/** True if a connection ends, or has ended, behind a response: its client may still be reading. */
export function isEnding(socket: Connection): boolean {
  return socket.writableEnded || lastOf(socket) !== undefined;
}

/** Ends a draining connection behind the request that has just come, unless it ends already. */
export function endAfterFirst(req: IncomingMessage, res: ServerResponse): void {
  if (!isEnding(req.socket)) endAfter(req.socket, req, res);
}

/** Has a response whose head is not sent end its connection, by halves; what the client has sent behind is not carried out. */
export function closeAfter(req: IncomingMessage, res: ServerResponse): void {
  if (res.headersSent || isHttp2(req)) return;
  // A request made by the program has no socket.
  const socket = req.socket as Connection | null | undefined;
  if (socket === null || socket === undefined) return endConnection(res);
  socket[kPipeline]?.drop();
  endAfter(socket, req, res);
}

/** True for a request behind the last that its connection carries out. Not asked of one that its first holder handed on. */
export function isAfterLast(req: IncomingMessage): boolean {
  const socket = req.socket as Connection | null | undefined;
  if (socket === null || socket === undefined) return false;
  const last = lastOf(socket);
  return last !== undefined && last !== req && lastRequest(socket) === req;
}

/** A listener of upgrades and the protocols that it names; `once` wraps it. */
interface Named {
  readonly protocols?: readonly string[];
  readonly listener?: Named;
}

/** True where a listener takes a protocol that the request offers (RFC 9110 section 7.8). HTTP/1.0 has none. Node then emits `upgrade`, else `request`. */
export function isUpgradeTaken({ headers: { upgrade = '' }, httpVersion }: IncomingMessage, listeners: readonly unknown[]): boolean {
  if (listeners.length === 0 || httpVersion === '1.0') return false;
  const taken = ['websocket', ...protocolsOf(listeners).map((name) => name.toLowerCase())];
  const offered = upgrade.toLowerCase().split(',').map((protocol) => protocol.trim());
  return offered.some((protocol) => taken.includes(protocol) || taken.includes(protocol.split('/', 1)[0] as string));
}

/** Protocols that listeners of upgrades name. */
export function protocolsOf(listeners: readonly unknown[]): string[] {
  return (listeners as readonly Named[]).flatMap(({ protocols, listener }) => protocols ?? listener?.protocols ?? []);
}

/**
 * True for a request to switch protocols that is left alone: it came behind the last that is
 * carried out, or before the answer to another. The new protocol writes to the socket at once, and
 * the client would take that for the answer it waits for, or for a part of it. The connection
 * closes behind those answers, and the client asks again on another (RFC 9112 section 9.3.2).
 */
export function leavesUpgrade(request: IncomingMessage): boolean {
  const socket = request.socket as Connection;
  const response = currentResponse(socket);
  const last = lastOf(socket);
  if (!isClosedTo(request) && (last === undefined || last === request)) {
    // Over TLS a response keeps the connection for a while after its last byte; what is written then comes behind it.
    if (response === undefined || (response.writableEnded && !endsConnection(response) && socket[kPipeline]?.isEmpty !== false)) return false;
    const behind = socket[kPipeline]?.last ?? response;
    endAfter(socket, behind.req, behind);
  }
  // Node no longer listens to a socket that it has handed on.
  socket.on('drain', () => {
    const current = currentResponse(socket);
    if (current?.writableNeedDrain === true) current.emit('drain');
  });
  socket.once('end', () => halfClose(socket));
  socket.resume();
  return true;
}

/**
 * True if this side has closed the connection, while the client goes on: what it sends is
 * not carried out. If the client has ended its side, Node ends the other.
 */
export function isClosedTo({ socket }: IncomingMessage): boolean {
  return (socket as Socket | null | undefined)?.writableEnded === true && !socket.readableEnded;
}

/**
 * Closes by halves, but only after a last body that is still being read. A handler may acknowledge an upload
 * before it is in: the client takes it for delivered, and would not send it again. An idle body is given up
 * by Node's own limit for kept connections, and its reader told.
 */
export function halfCloseAfterBody(socket: Socket, request: IncomingMessage | undefined = lastRequest(socket)): void {
  if (request === undefined || !isReadOn(request)) {
    if (request?.complete === false) {
      endReadingWith(socket, request);
      // Node drops it by now. Where it is left unread, the end of the client's side would be too.
      request.resume();
    }
    return halfClose(socket);
  }
  request.once('close', () => halfClose(socket));
  endReadingWith(socket, request);
  const limit = idleLimit(socket) ?? LINGER;
  // A stream that was handed to the server by `connection` may have none.
  if (limit > 0) (socket as Partial<Socket>).setTimeout?.(limit);
}

/** Destroys a request whose body is not in when its connection closes: Node no longer does behind its answer, and a reader would wait for ever. */
export function endReadingWith(socket: Socket, request: IncomingMessage): void {
  socket.once('close', () => {
    if (!request.complete) request.destroy();
  });
}

/** True if somebody waits for more of a body, or for its end. */
export function isReadOn(request: IncomingMessage): boolean {
  if (request.complete || request.destroyed || (request as IntakeRequest)[kIntake] !== undefined) return false;
  return request.listenerCount('data') > 0 || request.listenerCount('readable') > 0 || (request.readableFlowing === true && request.listenerCount('end') > 0);
}

/** Ends this side, and listens on for a while. */
export function halfClose(socket: Connection): void {
  if (socket.destroyed) return;
  socket[kPipeline]?.release();
  socket.end();
  destroyAfter(socket, LINGER);
}

/** Destroys a socket that has not closed in time. @param time In milliseconds. */
export function destroyAfter(socket: Duplex, time: number): void {
  const timer = setTimeout(() => socket.destroy(), time).unref();
  socket.once('close', () => clearTimeout(timer));
}
