import type { ListenOptions as NodeListenOptions, Server } from 'node:net';
import { inspect } from 'node:util';

/** Options of `Application.start` and `listen`. */
export interface ListenOptions {
  /** Port to listen on; 0 picks a free one. @default `server.port`, else PORT, else 3000 */
  port?: number | undefined;
  /** Address to listen on. @default `server.host`, else every address */
  host?: string | undefined;
  /** Path of a Unix domain socket or a Windows pipe, instead of a port. @default none */
  path?: string | undefined;
  /** An open descriptor, as from systemd, instead of a port. @default none */
  fd?: number | undefined;
  /** Most connections waiting to be accepted. @default 511 */
  backlog?: number | undefined;
  /** Keeps the processes of a cluster from sharing the port. @default false */
  exclusive?: boolean | undefined;
  /** Refuses IPv4 connections on an IPv6 address. @default false */
  ipv6Only?: boolean | undefined;
  /** Lets every user read from the socket at `path`. @default false */
  readableAll?: boolean | undefined;
  /** Lets every user write to the socket at `path`. @default false */
  writableAll?: boolean | undefined;
  /** Signal that closes the server. @default none */
  signal?: AbortSignal | undefined;
}

/** Called when the server listens, or with the error of a failed listen. */
export type StartCallback = (error?: Error) => void;

/** Parsed arguments of `start` or `listen`. */
export interface ListenCall {
  /** Options of Node's `server.listen`. */
  readonly target: NodeListenOptions;
  /** Most connections waiting to be accepted, if not part of the target. */
  readonly backlog: number | undefined;
  readonly callback: StartCallback | undefined;
}

/** Default port and host. */
export interface ListenDefaults {
  readonly port: number;
  readonly host: string | undefined;
}

/**
 * Parses the arguments of `start` and `listen`. They are Node's, with the
 * application's own port as default. A text that is no number names a socket
 * for `listen` alone, as in Express.
 * @throws TypeError for an invalid port, host or path.
 */
export function readListenArguments(given: readonly unknown[], defaults: ListenDefaults, name: 'listen' | 'start'): ListenCall {
  const last = given[given.length - 1];
  const callback = typeof last === 'function' ? (last as StartCallback) : undefined;
  const [first, second, third] = callback === undefined ? given : given.slice(0, -1);
  // As in Node, a number behind the port is the backlog.
  const [host, queue] = typeof second === 'number' ? [undefined, second] : [second, third];
  const backlog = typeof queue === 'number' ? queue : undefined;
  if (typeof first === 'object' && first !== null) return { target: objectTarget(first, defaults, name), backlog, callback };
  if (name === 'listen' && typeof first === 'string' && first !== '' && !/^\d+$/.test(first)) return { target: { path: first }, backlog, callback };
  return { target: portTarget(first, host, defaults, name), backlog, callback };
}

/** Options, or an open server, handle or descriptor. Node itself checks the latter and paths. */
function objectTarget(given: object, defaults: ListenDefaults, name: string): NodeListenOptions {
  const { port, host, path, fd } = given as ListenOptions;
  const hasOtherTarget = path !== undefined || fd !== undefined || '_handle' in given || 'handle' in given;
  if (hasOtherTarget && (port === undefined || port === null)) return given as NodeListenOptions;
  return { ...given, ...portTarget(port, host, defaults, name) };
}

function portTarget(given: unknown, givenHost: unknown, defaults: ListenDefaults, name: string): NodeListenOptions {
  const numeric = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given;
  const port = numeric ?? defaults.port;
  if (!Number.isInteger(port) || (port as number) < 0 || (port as number) > 65_535) {
    throw new TypeError(`${name}(): port must be an integer from 0 to 65535, got ${inspect(given)}`);
  }
  const host = givenHost ?? defaults.host;
  if (host !== undefined && typeof host !== 'string') throw new TypeError(`${name}(): host must be a string, got ${typeof host}`);
  return { port: port as number, host };
}

/** Calls back once, with the server as `this` like Node: when it listens, or with the error that prevents it. */
export function whenListening(server: Server, done: (error?: Error) => void): void {
  const settle = (error?: Error): void => {
    server.removeListener('listening', listens);
    server.removeListener('error', settle);
    server.removeListener('close', closed);
    if (error === undefined) done.call(server);
    else done.call(server, error);
  };
  // Bun's server passes a null.
  const listens = (): void => settle();
  const closed = (): void => settle(new Error('the server was closed before it listened'));
  server.once('listening', listens);
  server.once('error', settle);
  server.once('close', closed);
}
