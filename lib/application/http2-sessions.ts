import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, createServer, type Http2Server, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { cutOffConnection, destroyAfter, halfClose } from '../http/connection';
import type { Http2Classes } from '../http/http2-classes';
import { hasKnownMethod } from '../http/http2-request';
import { kWritten } from '../http/http2-response';
import { queued } from '../http/node/write-queue';
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

/** Milliseconds that an idle client has, when the server closes, to close its side. */
const IDLE_GRACE = 500;

/** Lengths of the frames by which Node answers control frames. */
const [PING_ACK, SETTINGS_ACK] = [17, 9];
/** Bytes of one chunk that a client has to take within the limit. While others of its session are sent, nothing tells how far it is. */
const LEAST = 262_144;

/** Bytes that were sent by the last look, and since when it was no more. */
interface Progress {
  sent: number;
  since: number;
}

/** A connection of HTTP/2. */
interface Link extends Progress {
  readonly socket: Socket;
  /** Bytes of answers to control frames, which a client can have at will. */
  acks: number;
  /** When it was last seen with a stream; Infinity once it was seen without, and closed. */
  busy: number;
}

/** The HTTP/2 of a server: hands connections that speak it to one of Node's that does not listen, and bounds their sessions. */
export class Http2Sessions {
  readonly #settings: ResolvedServer;
  readonly #http2: ResolvedHttp2;
  readonly #classes: Http2Classes;
  readonly #logger: SafeLog;
  readonly #server: Http2Server;
  readonly #links = new Map<ServerHttp2Session, Link>();
  readonly #maxHeaderListSize: number;
  readonly #stalled = new WeakMap<ServerHttp2Stream, Progress>();
  /** When the streams of requests that are not in were first seen. */
  readonly #arriving = new WeakMap<ServerHttp2Stream, number>();
  #isClosing = false;

  /** @param outer Server that listens. */
  constructor(outer: NodeServer, settings: ResolvedServer, classes: Http2Classes, logger: SafeLog) {
    this.#settings = settings;
    this.#http2 = settings.http2 as ResolvedHttp2;
    this.#classes = classes;
    this.#logger = logger;
    this.#maxHeaderListSize = settings.http.maxHeaderSize ?? 16_384;
    this.#server = createServer({
      ...this.#http2.limits,
      settings: { ...this.#http2.settings, maxHeaderListSize: this.#maxHeaderListSize },
      Http2ServerRequest: classes.Request,
      Http2ServerResponse: classes.Response,
    });
    for (const event of REQUESTS) {
      this.#server.on(event, (req: Http2ServerRequest, res: Http2ServerResponse) => {
        if (this.#isTooLong(req)) req.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
        else if (!hasKnownMethod(req)) res.writeHead(501).end();
        else outer.emit(event, req as unknown as IncomingMessage, res as unknown as ServerResponse);
      });
    }
    this.#server.on('sessionError', (error) => this.#logger.debug({ err: error }, 'A session of HTTP/2 failed'));
    if (this.#http2.cleartext) this.#divide(outer, 'connection', (socket, http1) => this.#tellApart(socket, http1));
    else this.#divide(outer, 'secureConnection', (socket, http1) => ((socket as TLSSocket).alpnProtocol === 'h2' ? this.#take(socket) : http1()));
    this.#watch(outer);
  }

  /** Ends the sessions, each when what it has begun is answered; the client is told (RFC 9113 section 6.8). */
  close(): void {
    this.#isClosing = true;
    const busy = new Set<unknown>(Array.from(this.#classes.open, ({ req }) => req.stream.session));
    for (const [session, { socket }] of this.#links) {
      session.close();
      // Node would wait for a client that stays, or is within a frame. What it has asked meanwhile it may send to another server: it is told so.
      if (!busy.has(session)) destroyAfter(socket, IDLE_GRACE);
    }
  }

  /** Ends the sessions at once. The clients see which responses are not whole: by itself Node would say that there was no error. */
  cutOff(): void {
    for (const { req } of this.#classes.open) req.stream.close(constants.NGHTTP2_CANCEL);
    for (const session of this.#links.keys()) cutOffConnection(session);
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
    this.#server.once('session', (session) => this.#welcome(session, socket));
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

  #welcome(session: ServerHttp2Session, socket: Socket): void {
    const link: Link = { socket, acks: 0, busy: 0, sent: 0, since: performance.now() };
    this.#links.set(session, link);
    // Node waits for ever for the client to end its side.
    socket.once('finish', () => halfClose(socket)).once('close', () => this.#links.delete(session));
    if (this.#http2.idleTimeout > 0) session.setTimeout(this.#http2.idleTimeout, () => session.close());
    let [count, since] = [0, performance.now()];
    const bound = (length: number): void => {
      const now = performance.now();
      link.acks += length;
      if (now - since > WINDOW) [count, since] = [0, now];
      // Without an error the code would be lost.
      if (++count > this.#http2.maxControlFrames && !session.destroyed) session.destroy(new Error('too many control frames'), constants.NGHTTP2_ENHANCE_YOUR_CALM);
    };
    session.on('ping', () => bound(PING_ACK));
    session.on('remoteSettings', () => bound(SETTINGS_ACK));
    if (this.#isClosing) session.close();
  }

  /** True for a header list beyond what the client was told. Node does not look before the client has acknowledged it. */
  #isTooLong({ rawHeaders, stream }: Http2ServerRequest): boolean {
    if (stream.session?.pendingSettingsAck !== true) return false;
    // As RFC 9113 section 6.5.2 counts it.
    return rawHeaders.reduce((length, text) => length + text.length + 16, 0) > this.#maxHeaderListSize;
  }

  /** Closes connections whose client takes nothing. Resets streams of which it takes nothing, or whose request takes its time. */
  #watch(outer: NodeServer): void {
    const { writeTimeout, http: { requestTimeout = 300_000 } } = this.#settings;
    const shortest = Math.min(...[writeTimeout, requestTimeout].filter((limit) => limit > 0));
    if (!Number.isFinite(shortest)) return;
    const timer = setInterval(() => {
      const now = performance.now();
      for (const { req: { stream }, [kWritten]: written } of this.#classes.open) {
        const link = this.#links.get(stream.session as ServerHttp2Session);
        if (link !== undefined) link.busy = now;
        if (this.#isStalled(stream, written, link, now) || this.#isLate(stream, now, requestTimeout)) stream.close(constants.NGHTTP2_CANCEL);
      }
      for (const [session, link] of this.#links) this.#look(session, link, now, writeTimeout);
    }, Math.ceil(shortest / CHECKS_PER_TIMEOUT)).unref();
    outer.once('close', () => clearInterval(timer));
  }

  /** Destroys a connection whose client takes nothing, or whose session has ended. */
  #look(session: ServerHttp2Session, link: Link, now: number, limit: number): void {
    const { socket, acks, busy } = link;
    const waiting = queued(socket) ?? 0;
    move(link, socket.bytesWritten - waiting - acks, now);
    if ((waiting > 0 && limit > 0 && now - link.since >= limit) || busy === Infinity) socket.destroy();
    else if ((session.closed || session.destroyed) && busy !== now) link.busy = Infinity;
  }

  /** True where nothing was sent in time: of a stream, nor of its session. */
  #isStalled(stream: ServerHttp2Stream, written: number, link: Link | undefined, now: number): boolean {
    const { writeTimeout: limit } = this.#settings;
    const left = stream.bufferSize;
    if (left === 0 || limit === 0) return this.#stalled.delete(stream) && false;
    const progress = this.#stalled.get(stream) ?? { sent: NaN, since: now };
    this.#stalled.set(stream, progress);
    const quiet = now - move(progress, written - left, now);
    return quiet >= limit && (link === undefined || now - link.since >= limit || quiet >= limit * (1 + left / LEAST));
  }

  #isLate(stream: ServerHttp2Stream, now: number, limit: number): boolean {
    // One that is in may wait for a reader as long as the response takes.
    if (limit === 0 || stream.endAfterHeaders || stream.readableEnded || stream.state.remoteClose === 1) return false;
    const since = this.#arriving.get(stream);
    if (since === undefined) this.#arriving.set(stream, now);
    return since !== undefined && now - since >= limit;
  }
}

/** Notes what was sent by now. Returns since when it was no more. */
function move(progress: Progress, sent: number, now: number): number {
  if (progress.sent !== sent) [progress.sent, progress.since] = [sent, now];
  return progress.since;
}
