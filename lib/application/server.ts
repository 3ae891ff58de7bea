import type { EventEmitter } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener, type Server as HttpServer, type ServerOptions, type ServerResponse } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { HttpError } from '../errors';
import { type Connection, cutOffConnection, drainConnection, isEnding, isUpgradeTaken } from '../http/connection';
import { refuseHead } from '../http/default-answer';
import { deferRequests } from '../http/deferral';
import { guardedCall } from '../http/guarded-call';
import { HostCheck } from '../http/host';
import { closeIdle } from '../http/node/connection-work';
import { hasBody } from '../http/body/capture';
import { kExpectsContinue } from '../http/request-state';
import type { Http2Classes } from '../http/http2-classes';
import type { Response } from '../http/response';
import { Slots } from '../http/slots';
import type { Http2Sessions } from './http2-sessions';
import { callCloseListeners, type CloseListener } from './close-listeners';
import { type ListenCall, whenListening } from './listen';
import { hintForListening } from '../hints';
import type { SafeLog } from '../log/safe-log';
import { LONGEST_DELAY } from '../options/field';
import { https as nodeHttps, late } from '../packages';
import type { ResolvedServer } from '../options/resolved';
import { WriteTimeout } from './write-timeout';
import { clearTimeout, setImmediate, setTimeout } from '../timers';

const http2Sessions = late(() => require('./http2-sessions') as typeof import('./http2-sessions'));

/** The protocols that TLS offers beside HTTP/1.1. */
const OFFERED = { ALPNProtocols: ['h2', 'http/1.1'] };

/** The application of a server. */
type ServedApplication = RequestListener & Pick<EventEmitter, 'emit' | 'rawListeners'>;

/** Node's own server, plain or with TLS. */
export type NodeServer = HttpServer | HttpsServer;

type NodeUpgradeListener = (req: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** The URL of an address; one of this machine is `localhost`. */
function urlOf(address: AddressInfo | string | null, isSecure: boolean): string {
  if (address === null || typeof address === 'string') return String(address);
  const host = ['::', '0.0.0.0', '::1', '127.0.0.1'].includes(address.address) ? 'localhost' : address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http${isSecure ? 's' : ''}://${host}:${address.port}`;
}

/** Grace of `close` for a first request under way on a new connection, in milliseconds. */
const UNUSED_GRACE = 500;

/** How long `close` lets requests end, in milliseconds. */
const GRACE = 10_000;

/** Starts and drains the servers of an application. */
export class Listener {
  readonly #settings: ResolvedServer;
  readonly #logger: SafeLog;
  readonly #listener: ServedApplication;
  readonly #classes: ServerOptions;
  readonly #http2Classes: () => Http2Classes;
  /** With TLS both sockets of a connection: a response knows its own, and during the handshake there is the one beneath alone. */
  readonly #sockets = new Slots<Connection>();
  readonly #forget = forgetting(this.#sockets);
  readonly #hosts = new HostCheck();
  readonly #writeTimeout: WriteTimeout;
  /** Servers, with true once one has emitted `listening`; `server.listening` is set a turn earlier. */
  readonly #servers = new Map<NodeServer, boolean>();
  /** Those of HTTP/2, by their servers. */
  readonly #sessions = new Map<NodeServer, Http2Sessions>();
  #closing: Promise<void> | null = null;
  /** True if the listeners of `close` were called since the last server was made. */
  #hasClosed = false;
  #signal: (() => void) | null = null;
  #upgrade: NodeUpgradeListener | null = null;

  /** @param listener The application. @param classes Those of its requests and responses. @param http2Classes Those of HTTP/2. */
  constructor(settings: ResolvedServer, logger: SafeLog, listener: ServedApplication, classes: ServerOptions, http2Classes: () => Http2Classes) {
    this.#settings = settings;
    this.#logger = logger;
    this.#listener = listener;
    this.#classes = classes;
    this.#http2Classes = http2Classes;
    this.#writeTimeout = new WriteTimeout(settings.writeTimeout, this.#sockets);
  }

  /** The first of those that run. */
  get server(): NodeServer | null {
    const [first = null] = this.#servers.keys();
    return first;
  }

  /** True while they drain. */
  get isClosing(): boolean {
    return this.#closing !== null;
  }

  /** True for a connection of these servers while they drain. */
  drains(socket: Socket): boolean {
    return this.#closing !== null && this.#sockets.has(socket);
  }

  /**
   * Makes a server and lets it listen.
   * @throws Error when Node can't listen on such a target; what goes wrong with the port is emitted by the server.
   */
  listen({ target, backlog }: Omit<ListenCall, 'callback'>, listener: RequestListener): NodeServer {
    if (this.#closing !== null) throw new Error('the application is closing; await close() before start() or listen()');
    const server = this.#make(listener);
    this.#hasClosed = false;
    this.#servers.set(server, false);
    const failed = (error: Error): void => {
      this.#servers.delete(server);
      this.#logger.error({ err: error, ...hintForListening(error) }, 'The server could not listen');
      // Node throws an error that nobody listens for; this listener must not hide it.
      if (server.listenerCount('error') === 0) throw error;
    };
    server.once('error', failed);
    server.once('listening', () => {
      server.removeListener('error', failed);
      this.#started(server);
    });
    server.once('close', () => {
      this.#servers.delete(server);
      this.#sessions.delete(server);
      if (this.#servers.size > 0) return;
      this.#writeTimeout.stop();
      this.#unhookSignals();
    });
    try {
      server.listen(target, backlog);
    } catch (error) {
      this.#servers.delete(server);
      throw error;
    }
    return server;
  }

  /** Hands requests to switch protocols to the listener, of these servers and those to come; null leaves them to Node. */
  takeUpgrades(listener: NodeUpgradeListener | null): void {
    if (this.#upgrade === listener) return;
    for (const server of this.#servers.keys()) {
      if (this.#upgrade !== null) server.off('upgrade', this.#upgrade);
      if (listener !== null) server.on('upgrade', listener);
    }
    this.#upgrade = listener;
  }

  #make(listener: RequestListener): NodeServer {
    const { http, https, http2, properties } = this.#settings;
    const options = { shouldUpgradeCallback: (req: IncomingMessage) => isUpgradeTaken(req, server.listeners('upgrade')), ...http, ...this.#classes };
    const server: NodeServer = https === undefined
      ? createHttpServer(options, listener)
      : nodeHttps().createServer({ ...(http2 && https.ALPNCallback === undefined ? OFFERED : {}), ...https, ...options }, listener);
    Object.assign(server, properties);
    if (https === undefined) deferRequests(server, listener);
    server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
      // Another listener decides alone, as on Node's server: a request that it refuses must not reach a handler.
      const isAlone = server.listenerCount('checkContinue') === 1;
      // The body is asked for when it is wanted: a refused request need not send it. Where there is none, Node would close the connection behind an answer without.
      if (!isAlone || (hasBody(req) && server.listenerCount('request') === 1 && server.listenerCount('request', listener) === 1)) (req as IncomingMessage & { [kExpectsContinue]?: boolean })[kExpectsContinue] = true;
      else res.writeContinue();
      // As Node does where nobody listens for this: a guard, another protocol or a tracer may have put itself before the application.
      if (isAlone) server.emit('request', req, res);
    });
    server.on('checkExpectation', (req: IncomingMessage, res: Response) => {
      if (server.listenerCount('checkExpectation') > 1) return;
      if (this.#hosts.admits(req)) res.writeHead(417).end();
      else refuseHead(req, res, HttpError.of('INVALID_HOST'));
    });
    // Only where there is a listener: without one Node answers such requests like others.
    if (this.#upgrade !== null) server.on('upgrade', this.#upgrade);
    for (const event of https === undefined ? ['connection'] : ['connection', 'secureConnection']) server.on(event, (socket: Socket) => this.#welcome(socket));
    if (http2 !== false) this.#sessions.set(server, new (http2Sessions().Http2Sessions)(server, this.#settings, this.#http2Classes(), this.#logger));
    return server;
  }

  #welcome(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', this.#forget);
    // Accepted before the drain began, or still shaking hands then.
    if (this.#closing !== null) destroyUnused(socket);
  }

  #started(server: NodeServer): void {
    this.#servers.set(server, true);
    this.#writeTimeout.start(server);
    const address = server.address();
    this.#logger.info({ address }, `The server has started at ${urlOf(address, this.#settings.https !== undefined)}`);
    if (!this.#settings.handleSignals || this.#signal !== null) return;
    this.#signal = () => void this.close(GRACE).catch((error: unknown) => this.#logger.error({ err: error }, 'The servers could not be closed'));
    process.once('SIGINT', this.#signal);
    process.once('SIGTERM', this.#signal);
  }

  #unhookSignals(): void {
    if (this.#signal === null) return;
    process.removeListener('SIGINT', this.#signal);
    process.removeListener('SIGTERM', this.#signal);
    this.#signal = null;
  }

  /**
   * Tells what listens for `drain`, and drains: takes no new connections, closes idle ones, tells those in flight that
   * this was the last response, and cuts off what is left after the timeout, which
   * Node by itself would go on serving. Then what listens for the application's end
   * is called, and has as much time again.
   * @param timeout in milliseconds. @default 10000
   */
  close(timeout = GRACE): Promise<void> {
    if (this.#closing !== null) return this.#closing;
    const servers = [...this.#servers.keys()];
    // One that has never listened ends too: it may have been used by another server, or in a test.
    const { length } = [...this.#listener.rawListeners('drain'), ...this.#listener.rawListeners('close')];
    if (servers.length === 0 && (this.#hasClosed || length === 0)) return Promise.resolve();
    let end: (ended: Promise<void>) => void = () => undefined;
    // Known to what listens for `drain`.
    this.#closing = new Promise<void>((resolve) => (end = resolve)).finally(() => {
      this.#closing = null;
    });
    end(this.#end(servers, timeout));
    return this.#closing;
  }

  async #end(servers: readonly NodeServer[], timeout: number): Promise<void> {
    guardedCall(() => this.#listener.emit('drain'), (error) => this.#logger.error({ err: error }, 'A listener of "drain" failed'));
    if (servers.length > 0) await this.#drain(servers, timeout);
    this.#hasClosed = true;
    const listeners = this.#listener.rawListeners('close') as CloseListener[];
    if (listeners.length > 0) await callCloseListeners(this.#listener, listeners, timeout, this.#logger);
  }

  async #drain(servers: readonly NodeServer[], timeout: number): Promise<void> {
    // Closed before it listens, a server would forget to say either.
    for (const server of servers) if (this.#servers.get(server) === false) await new Promise<void>((resolve) => whenListening(server, () => resolve()));
    // Others could not listen, or have been closed meanwhile.
    const running = servers.filter((server) => this.#servers.has(server));
    if (running.length === 0) return;
    const timer = setTimeout(() => this.#cutOff(), Math.min(timeout, LONGEST_DELAY));
    const closed = running.map((server) => new Promise<void>((resolve) => server.once('close', () => {
      this.#logger.info('The server has stopped');
      resolve();
    })));
    // Not yet: while something kept the loop a client may have asked for more, and closed with that unread the connection would be reset, answers that it still reads included.
    closeIdle(this.#sockets, () => true, () => {
      for (const server of running) {
        // Otherwise the program, or its signal, closes it already; its connections are awaited too.
        if (server.listening) server.close();
      }
    });
    for (const server of running) this.#sessions.get(server)?.close();
    for (const socket of this.#sockets) {
      drainConnection(socket);
      destroyUnused(socket);
    }
    await allIsRead();
    closeIdle(this.#sockets, (socket) => isUnused(socket) || isEnding(socket), () => {
      for (const server of running) server.closeIdleConnections();
    });
    await Promise.all(closed);
    clearTimeout(timer);
  }

  #cutOff(): void {
    const { length: connections } = [...this.#sockets].filter((socket) => this.#settings.https === undefined || 'encrypted' in socket);
    if (connections > 0) this.#logger.warn({ connections }, 'Connections were cut off at the end of the close timeout');
    for (const sessions of this.#sessions.values()) sessions.cutOff();
    for (const socket of this.#sockets) cutOffConnection(socket);
  }
}

/** A listener of `close` for all connections: one made for each would cost every connection some hundred bytes. */
function forgetting(sockets: Slots<Connection>): (this: Connection) => void {
  return function forget(): void {
    sockets.delete(this);
  };
}

/** True for a connection without a byte of a request. A TLS handshake does not count. */
function isUnused(socket: Socket): boolean {
  return socket.bytesRead === 0;
}

/** Resolves when what has come by now on any connection has been read: between two such calls the event loop asks the system. */
async function allIsRead(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise<void>((resolve) => void setImmediate(resolve));
}

/**
 * Destroys a connection that asks for nothing, a while later: a first request of a
 * proxy may be on its way, which it may not send to another server if it is a POST.
 */
function destroyUnused(socket: Socket): void {
  if (!isUnused(socket)) return;
  const destroy = (): void => {
    if (isUnused(socket)) socket.destroy();
  };
  // After that delay, data that arrived during a blocked event loop has been read.
  const timer = setTimeout(() => setImmediate(destroy), UNUSED_GRACE);
  socket.once('close', () => clearTimeout(timer));
}
