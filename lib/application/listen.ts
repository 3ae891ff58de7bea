import type { ListenOptions as NodeListenOptions, Server } from 'node:net';
import { inspect } from 'node:util';

/** Where to listen; see `Application.start`. */
export interface ListenOptions {
  /** Port to listen on; 0 picks a free one. @default `server.port`, else PORT, else 3000 */
  port?: number | undefined;
  /** Address to listen on. @default `server.host`, else every address */
  host?: string | undefined;
  /** A Unix domain socket, or a pipe of Windows, in place of a port. @default none */
  path?: string | undefined;
  /** A descriptor that is open already, as from systemd, in place of a port. @default none */
  fd?: number | undefined;
  /** Most connections that wait to be accepted. @default 511 */
  backlog?: number | undefined;
  /** Whether the processes of a cluster do not share the port. @default false */
  exclusive?: boolean | undefined;
  /** Whether an IPv6 address takes no IPv4 connections. @default false */
  ipv6Only?: boolean | undefined;
  /** Whether every user may read from the socket at `path`. @default false */
  readableAll?: boolean | undefined;
  /** Whether every user may write to the socket at `path`. @default false */
  writableAll?: boolean | undefined;
  /** Closes the server when it is aborted. @default none */
  signal?: AbortSignal | undefined;
}

/** Called when the server listens, or with the error that kept it from doing so. */
export type StartCallback = (error?: Error) => void;

/** What a call of `start` or `listen` asks for. */
export interface ListenCall {
  /** For Node's `server.listen`. */
  readonly target: NodeListenOptions;
  /** Most connections that wait to be accepted, where it is no part of the target. */
  readonly backlog: number | undefined;
  readonly callback: StartCallback | undefined;
}

/** Where to listen when a call does not say. */
export interface ListenDefaults {
  readonly port: number;
  readonly host: string | undefined;
}

/**
 * Reads the arguments of `start` and `listen`. They are Node's, but that the
 * port is the application's own where none is given. Text that is no number
 * names a socket for `listen` alone, as it does in Express.
 * @throws TypeError for what is no port, host or path.
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

/** Options, or what listens already: another server, a handle, a descriptor. Those and paths are for Node to judge. */
function objectTarget(given: object, defaults: ListenDefaults, name: string): NodeListenOptions {
  const { port, host, path, fd } = given as ListenOptions;
  const elsewhere = path !== undefined || fd !== undefined || '_handle' in given || 'handle' in given;
  if (elsewhere && (port === undefined || port === null)) return given as NodeListenOptions;
  // By name: they may be inherited, or getters of a class.
  const { backlog, exclusive, ipv6Only, reusePort, signal } = given as NodeListenOptions & { readonly reusePort?: boolean };
  const others = { backlog, exclusive, ipv6Only, reusePort, signal };
  return { ...others, ...portTarget(port, host, defaults, name) };
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

/** Calls back once, with the server as its `this`, as Node does: when the server listens, or with the error for which it never will. */
export function whenListening(server: Server, done: (error?: Error) => void): void {
  const settle = (error?: Error): void => {
    server.removeListener('listening', listens);
    server.removeListener('error', settle);
    server.removeListener('close', closed);
    if (error === undefined) done.call(server);
    else done.call(server, error);
  };
  // Bun's server hands on a null.
  const listens = (): void => settle();
  const closed = (): void => settle(new Error('the server was closed before it listened'));
  server.once('listening', listens);
  server.once('error', settle);
  server.once('close', closed);
}
