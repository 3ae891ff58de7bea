import { type IncomingMessage, type ServerResponse } from 'node:http';
import { constants, createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { cutOffConnection } from '../http/connection';
import type { Http2Classes } from '../http/http2-classes';
import type { SafeLog } from '../log/safe-log';
import type { ResolvedHttp2, ResolvedServer } from '../options/resolved';
import { clearInterval, setInterval } from '../timers';
import type { NodeServer } from './server';

/** The first bytes of a client that speaks HTTP/2 (RFC 9113 section 3.4). */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** Events of requests, which listeners of the server hear whatever the protocol is. */
const REQUESTS = ['request', 'checkContinue', 'checkExpectation'] as const;
/** Milliseconds within which control frames are counted. */
const WINDOW = 60_000;
/** Checks of the open streams within one timeout. */
const CHECKS_PER_TIMEOUT = 4;
/** Milliseconds for the first bytes of a connection without TLS, where no `headersTimeout` is given. */
const FIRST_BYTES = 60_000;

/** Bytes that a stream has left to send, and since when. */
interface Progress {
  readonly left: number;
  readonly since: number;
}

/** The HTTP/2 of a server: hands connections that speak it to one of Node's that does not listen, and bounds their sessions. */
export class Http2Sessions {
  readonly #settings: ResolvedServer;
  readonly #http2: ResolvedHttp2;
  readonly #classes: Http2Classes;
  readonly #logger: SafeLog;
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  #isClosing = false;
  readonly #stalled = new WeakMap<ServerHttp2Stream, Progress>();
  /** When the streams of requests that are not in were first seen. */
  readonly #arriving = new WeakMap<ServerHttp2Stream, number>();

  /** @param outer Server that listens. */
  constructor(outer: NodeServer, settings: ResolvedServer, classes: Http2Classes, logger: SafeLog) {
    this.#settings = settings;
    this.#http2 = settings.http2 as ResolvedHttp2;
    this.#classes = classes;
    this.#logger = logger;
    this.#server = createServer({
      ...this.#http2.limits,
      settings: { ...this.#http2.settings, maxHeaderListSize: settings.http.maxHeaderSize ?? 16_384 },
      Http2ServerRequest: classes.Request,
      Http2ServerResponse: classes.Response,
    });
    for (const event of REQUESTS) this.#server.on(event, (req, res) => outer.emit(event, req as unknown as IncomingMessage, res as unknown as ServerResponse));
    this.#server.on('session', (session) => this.#welcome(session));
    this.#server.on('sessionError', (error) => this.#logger.debug({ err: error }, 'A session of HTTP/2 failed'));
    if (this.#http2.cleartext) this.#divide(outer, 'connection', (socket, http1) => this.#tellApart(socket, http1));
    else this.#divide(outer, 'secureConnection', (socket, http1) => ((socket as TLSSocket).alpnProtocol === 'h2' ? this.#take(socket) : http1()));
    this.#watch(outer);
  }

  /** Ends the sessions, each when what it has begun is answered; the client is told (RFC 9113 section 6.8). */
  close(): void {
    this.#isClosing = true;
    for (const session of this.#sessions) session.close();
  }

  /** Ends the sessions at once. */
  cutOff(): void {
    for (const session of this.#sessions) cutOffConnection(session);
  }

  /** Puts itself before Node's listener of new connections, and calls that for those of HTTP/1. */
  #divide(outer: NodeServer, event: string, choose: (socket: Socket, http1: () => void) => void): void {
    const listeners = outer.listeners(event) as ((socket: Socket) => void)[];
    // The last ones are waypost's own, which want to know of all connections.
    const [http1] = listeners;
    if (http1 === undefined) return;
    outer.removeListener(event, http1);
    outer.prependListener(event, (socket: Socket) => choose(socket, () => http1.call(outer, socket)));
  }

  #take(socket: Socket): void {
    // Servers of HTTP/1 answer clients that have ended their side.
    socket.allowHalfOpen = false;
    this.#server.emit('connection', socket);
  }

  /** Reads as many bytes as tell the protocols apart, and puts them back. */
  #tellApart(socket: Socket, http1: () => void): void {
    let read = Buffer.alloc(0);
    const give = (take: () => void): void => {
      socket.off('readable', look).off('end', end).off('error', ignore).setTimeout(0, end);
      if (read.length > 0) socket.unshift(read);
      take();
    };
    const end = (): void => void socket.destroy();
    const ignore = (): void => undefined;
    const look = (): void => {
      for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) read = Buffer.concat([read, chunk]);
      if (read.length === 0) return;
      const isAlike = PREFACE.subarray(0, read.length).equals(read.subarray(0, PREFACE.length));
      if (!isAlike) give(http1);
      else if (read.length >= PREFACE.length) give(() => this.#take(socket));
    };
    socket.on('readable', look).on('end', end).on('error', ignore).setTimeout(this.#settings.http.headersTimeout ?? FIRST_BYTES, end);
  }

  #welcome(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.once('close', () => this.#sessions.delete(session));
    if (this.#http2.idleTimeout > 0) session.setTimeout(this.#http2.idleTimeout, () => session.close());
    let [count, since] = [0, performance.now()];
    const bound = (): void => {
      const now = performance.now();
      if (now - since > WINDOW) [count, since] = [0, now];
      if (++count > this.#http2.maxControlFrames && !session.destroyed) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    };
    session.on('ping', bound);
    session.on('remoteSettings', bound);
    // Its connection was there before.
    if (this.#isClosing) session.close();
  }

  /** Resets streams whose client takes nothing, or takes its time with the request. */
  #watch(outer: NodeServer): void {
    const { writeTimeout, http: { requestTimeout = 300_000 } } = this.#settings;
    const shortest = Math.min(...[writeTimeout, requestTimeout].filter((limit) => limit > 0));
    if (!Number.isFinite(shortest)) return;
    const timer = setInterval(() => {
      const now = performance.now();
      for (const stream of this.#classes.open) if (this.#isStalled(stream, now, writeTimeout) || this.#isLate(stream, now, requestTimeout)) stream.close(constants.NGHTTP2_CANCEL);
    }, Math.ceil(shortest / CHECKS_PER_TIMEOUT)).unref();
    outer.once('close', () => clearInterval(timer));
  }

  #isStalled(stream: ServerHttp2Stream, now: number, limit: number): boolean {
    const left = stream.bufferSize;
    const before = this.#stalled.get(stream);
    if (left > 0 && left === before?.left) return limit > 0 && now - before.since >= limit;
    if (left > 0) this.#stalled.set(stream, { left, since: now });
    else this.#stalled.delete(stream);
    return false;
  }

  #isLate(stream: ServerHttp2Stream, now: number, limit: number): boolean {
    if (limit === 0 || stream.endAfterHeaders || stream.readableEnded) return false;
    const since = this.#arriving.get(stream);
    if (since === undefined) this.#arriving.set(stream, now);
    return since !== undefined && now - since >= limit;
  }
}
