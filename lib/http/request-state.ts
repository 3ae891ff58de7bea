import type { Http2ServerRequest } from 'node:http2';
import { read } from '../errors';
import type { TrustFunction } from '../options/options';
import { type HostApplication, NO_APPLICATION } from './host-application';
import { parseQuery } from './query';

/** On the prototype of an application's own subclass: what it settles for all its requests. */
export const kSettings = Symbol('waypost.request.settings');
/** Claims of a request on a store of used signatures, by digest: its answers, or promises of them. */
export type Claims = Map<string, boolean | Promise<unknown>>;
/** By store of used signatures, those that the request has claimed there. */
export const kClaims = Symbol('waypost.request.claims');
/** Target as received: to be set before anything may change `req.url`. */
export const kOriginalUrl = Symbol('waypost.request.originalUrl');
/** Method as received: to be set before anything may change `req.method`. */
export const kOriginalMethod = Symbol('waypost.request.originalMethod');
/** True if the client waits for `100 Continue` before the body (RFC 9110 section 10.1.1). */
export const kExpectsContinue = Symbol('waypost.request.expectsContinue');
/** True for a request that may wait for the event loop's next phase. */
export const kDefers = Symbol('waypost.request.defers');
/** Longest body that a signature check let through, if more than the application's limit. */
export const kBodyLimit = Symbol('waypost.request.bodyLimit');
/** Controller of `req.signal`, once that was asked for. */
export const kAbort = Symbol('waypost.request.abort');
/** True for a request of HTTP/2: its connection is shared, and nothing that answers it may end that. */
export const kHttp2 = Symbol('waypost.request.http2');
/** Value of `req.query`, once it was asked for. */
export const kQuery = Symbol('waypost.request.query');
/** Target that the query was made of. */
export const kQueryUrl = Symbol('waypost.request.queryUrl');
/** Text behind the `?` of that target. */
export const kQueryText = Symbol('waypost.request.queryText');

/** Fields of a request that its response reads. */
export interface AnsweredRequest {
  [kExpectsContinue]?: boolean;
  next?: ((error?: unknown) => void) | undefined;
}

/** True for a request of HTTP/2. */
export function isHttp2(request: object): request is Http2ServerRequest {
  return (request as { readonly [kHttp2]?: boolean })[kHttp2] === true;
}

/** True for an error that `req.signal` has raised: its reason, or an AbortError of Node's that the reason has caused. */
export function isOfSignal(request: object, error: unknown): boolean {
  const reason: unknown = (request as { readonly [kAbort]?: AbortController })[kAbort]?.signal.reason;
  return reason !== undefined && (error === reason || read(error, 'cause') === reason);
}

/** Listener of a followed request to errors that no handler raises. */
export interface ErrorWatch {
  failed(error: unknown): void;
}

/** Followers of requests. No property of the request: two shapes of requests would cost each of them. */
export const watches = new WeakMap<object, ErrorWatch>();

/** Makes `req.query` of what follows the `?`. */
export type QueryParser = (text: string) => Record<string, unknown>;

export interface RequestSettings {
  /** Tells whose `X-Forwarded-*` headers are believed. */
  readonly trustProxy: TrustFunction;
  /** How many labels of the host name are no subdomain. */
  readonly subdomainOffset: number;
  /** Makes `req.query` of what follows the `?`. */
  readonly queryParser: QueryParser;
  /** Most bytes of a body that are discarded when nobody took it, in bytes; past that the connection closes. */
  readonly discardLimit: number;
  /** The application that `req.app` is. */
  readonly app: HostApplication;
}

/** Settings of a request that belongs to no application. */
export const DEFAULT_SETTINGS: RequestSettings = Object.freeze({
  trustProxy: () => false,
  subdomainOffset: 2,
  queryParser: parseQuery,
  discardLimit: 1_048_576,
  app: NO_APPLICATION,
});
