import type { JsonWebKey, KeyObject } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TlsOptions } from 'node:tls';
import type { ErrorFormat } from '../errors';
import type { LineLevel, Logger, LogLevel } from '../log/logger';

/** The options of `createServer` (INTERFACE sections 2.5 and 2.6). All are optional. */
export interface CreateServerOptions {
  /** Name of the environment. Error details reach a client only in `development`, of `express()` also in `test`; hints are logged in `development`, and where none is named. @default NODE_ENV, else 'production' */
  env?: string | undefined;
  /** ETag on responses made by `send`, `json` and their kin; `true` means `'weak'`. @default false */
  etag?: boolean | 'weak' | 'strong' | undefined;
  /** Form of default error answers: `'problem'` is `application/problem+json` (RFC 9457), whose members a function may change. @default JSON with `error` and `message` */
  errors?: ErrorFormat | undefined;
  /** Contents and destination of the log; `false` turns it off. */
  logging?: LoggingOptions | false | undefined;
  /** Rules by which a path matches its pattern. */
  routing?: RoutingOptions | undefined;
  /** Reading of request bodies; `false` turns parsing off. */
  body?: BodyOptions | false | undefined;
  /** Address, limits and timeouts of the HTTP server. */
  server?: ServerSettings | undefined;
  /** Guards of the routes. */
  security?: SecurityOptions | undefined;
}

/** `logging`: contents and destination of the log (INTERFACE section 2.6). */
export interface LoggingOptions {
  /** Lowest level that the built-in logger writes; a given `logger` keeps its own. @default 'info' */
  level?: LogLevel | undefined;
  /** A logger in pino's shape. @default pino on standard output */
  logger?: Logger | undefined;
  /**
   * Gives requests `req.id` and `req.log`, a logger that adds it to its lines as `reqId`. A text names the header
   * whose value is taken; `true` means `X-Request-Id`. @default false
   */
  requestId?: boolean | string | RequestIdOptions | undefined;
  /** Level of the line of each finished request; `true` means `'info'`. @default 'debug' */
  requests?: boolean | LineLevel | undefined;
  /** Time before a warning names the holder of an unanswered request, in milliseconds; 0 is never. @default 10000 where hints are logged, else 0 */
  slowAfter?: number | undefined;
}

/** `logging.requestId`: the source of a request's id. An id has 1 to 200 characters: letters, digits and `_.~:;=+/@-`. */
export interface RequestIdOptions {
  /** Name of the header whose value is the id, whoever sent it; false for none. @default X-Request-Id */
  header?: string | false | undefined;
  /** Makes the id of a request that brings none. @default a random UUID */
  generate?: ((req: IncomingMessage) => string) | undefined;
}

/** `routing`: rules by which a path matches its pattern (INTERFACE section 4.2). */
export interface RoutingOptions {
  /** Takes `/A` and `/a` as two paths. @default true */
  caseSensitive?: boolean | undefined;
  /** Takes `/a/` as `/a`. @default false */
  ignoreTrailingSlash?: boolean | undefined;
  /** Takes `//a` as `/a`. @default false */
  ignoreDuplicateSlashes?: boolean | undefined;
  /** Answers a wrong method by 405 with `Allow` instead of 404; the framework answers OPTIONS. @default false */
  methodNotAllowed?: boolean | undefined;
}

/** `body`: reading of request bodies. */
export interface BodyOptions {
  /** Longest body that is read, in bytes, or text such as `'100kb'`; units are b, kb, mb, gb of 1024. @default 1048576 (1 MiB) */
  limit?: number | string | undefined;
  /** Most arrays and objects of a JSON body; beyond it 413. @default 50000, or a twentieth of the limit in bytes where that is more */
  containerLimit?: number | undefined;
  /** Parses integers beyond 2^53 in JSON as BigInt; one of more than 4,300 digits is answered by 400. @default false */
  bigint?: boolean | undefined;
}

/** Node's own options of an HTTP server, by their own names. Their defaults are Node's. */
export interface HttpServerOptions {
  /** Time for the whole request to arrive, in milliseconds; 0 is no limit. @default 300000 */
  requestTimeout?: number | undefined;
  /** Time for the headers to arrive, in milliseconds; 0 is no limit. At most `requestTimeout`. @default 60000 */
  headersTimeout?: number | undefined;
  /** Time an idle connection is kept, in milliseconds. @default 5000 */
  keepAliveTimeout?: number | undefined;
  /** Time added to `keepAliveTimeout`, in milliseconds, from Node 22 on. @default Node's */
  keepAliveTimeoutBuffer?: number | undefined;
  /** Interval between checks of the two request timeouts, in milliseconds. @default 30000 */
  connectionsCheckingInterval?: number | undefined;
  /** Inactivity after which a socket is closed, in milliseconds; 0 is never. @default 0 */
  timeout?: number | undefined;
  /** Most headers of a request that are kept; 0 is no limit. @default Node's */
  maxHeadersCount?: number | undefined;
  /** Most bytes of a request's headers. @default 16384 */
  maxHeaderSize?: number | undefined;
  /** Most requests on one connection; 0 is no limit. @default 0 */
  maxRequestsPerSocket?: number | undefined;
  /** Accepts malformed headers. @default false */
  insecureHTTPParser?: boolean | undefined;
  /** How strictly heads are read, from Node 26.12 on. @default 'strict' */
  httpValidation?: 'strict' | 'relaxed' | 'insecure' | undefined;
  /** Joins repeated headers by `, ` rather than dropping them. @default false */
  joinDuplicateHeaders?: boolean | undefined;
  /** Buffer size of request and response streams, in bytes. @default Node's */
  highWaterMark?: number | undefined;
  /** Turns Nagle's algorithm off. @default true */
  noDelay?: boolean | undefined;
  /** Sends TCP keep-alive probes. @default false */
  keepAlive?: boolean | undefined;
  /** Idle time before the first probe, in milliseconds. @default 0 */
  keepAliveInitialDelay?: number | undefined;
  /** Answers an HTTP/1.1 request without `Host` by 400. @default true */
  requireHostHeader?: boolean | undefined;
  /** Throws when a body is written to a response that has none. @default false */
  rejectNonStandardBodyWrites?: boolean | undefined;
  /** Says whether a request that offers another protocol is an upgrade, from Node 24.9 on; it is an ordinary request else. @default `websocket`, and what listeners of `upgrade` name as their `protocols` */
  shouldUpgradeCallback?: ((request: IncomingMessage) => boolean) | undefined;
  /** Begins a request without a body with an ended stream, from Node 24.12 on: listeners of its `end` are not called. @default false */
  optimizeEmptyRequests?: boolean | undefined;
  /** Response headers that are sent once, their values joined by `; `. @default none */
  uniqueHeaders?: string[] | undefined;
}

/** Says whether the proxy at that address, `hop` steps away, is trusted. */
export type TrustFunction = (address: string, hop: number) => boolean;

/** Proxies whose forwarded headers are trusted: all, none, a number of hops, addresses or subnets, or a function. */
export type TrustProxy = boolean | number | string | readonly string[] | TrustFunction;

/** `server`: address, limits and timeouts of the HTTP server (INTERFACE section 2.6). */
export interface ServerSettings extends HttpServerOptions {
  /** Address to listen on. @default Node's: every address */
  host?: string | undefined;
  /** Port to listen on; 0 picks a free one. @default PORT, else 3000 */
  port?: number | undefined;
  /**
   * Most requests of one connection that have begun and are not answered. Those that a client pipelines behind them
   * begin in their order, each when one in front is answered; 1 is one by one. @default 8
   */
  pipelining?: number | undefined;
  /**
   * Time for a client to read on while bytes of a response wait, in milliseconds; then its connection is closed.
   * 0 is no limit. @default 60000
   */
  writeTimeout?: number | undefined;
  /** Time for middleware and handlers to begin an answer, in milliseconds; then 503, and the log names the holder of the request. 0 is no limit. @default 0 */
  handlerTimeout?: number | undefined;
  /** Closes the application on SIGINT and SIGTERM. @default false */
  handleSignals?: boolean | undefined;
  /** Proxies whose `X-Forwarded-*` headers are trusted; a text may list several, separated by commas. @default false */
  trustProxy?: TrustProxy | undefined;
  /** Serves HTTPS with these. @default none: plain HTTP */
  https?: HttpsOptions | undefined;
  /** Serves HTTP/2 beside HTTP/1.1, on the same port: `true` with `https`, `'cleartext'` without TLS, by prior knowledge; or the limits of it. @default false */
  http2?: boolean | 'cleartext' | Http2Options | undefined;
}

/** `server.http2`: limits of each session of HTTP/2 (RFC 9113). Those that Node has go by its names. */
export interface Http2Options {
  /** Serves it without TLS, to clients that know. @default false */
  cleartext?: boolean | undefined;
  /** Most streams that are open at once; more are refused. @default 100 */
  maxConcurrentStreams?: number | undefined;
  /** Bytes of a body that a client may send before anybody reads it. @default 65535 */
  initialWindowSize?: number | undefined;
  /** Most header fields of a request. @default 128 */
  maxHeaderListPairs?: number | undefined;
  /** Most streams that a client may reset at once, from Node 22 on; then the session ends. @default 200 */
  streamResetBurst?: number | undefined;
  /** Most streams that a client may reset in a second, for long. @default 10 */
  streamResetRate?: number | undefined;
  /** Most PING and SETTINGS frames of a client in a minute; then the session ends. @default 600 */
  maxControlFrames?: number | undefined;
  /** Most memory of a session, in megabytes; then new streams are refused. @default 10 */
  maxSessionMemory?: number | undefined;
  /** Time that a session is kept without a frame, in milliseconds; what has begun is still answered. 0 is for ever. @default 60000 */
  idleTimeout?: number | undefined;
}

/** `server.https`: the contents of key and certificate in PEM, and Node's other TLS options by their own names. */
export type HttpsOptions = Pick<TlsOptions, HttpsName>;

/** `security`: guards of the routes (INTERFACE section 5). */
export interface SecurityOptions {
  /**
   * Turns the check of request signatures on. @default none: no check
   * @example
   * createServer({ security: { requestSignature: { secret: process.env.SIGNING_SECRET } } });
   */
  requestSignature?: RequestSignatureConfig | undefined;
  /** Requests that a guard applies to. */
  routeConfig?: RouteConfig | undefined;
  /** Signs responses, for clients to know whose they are (RFC 9421 section 2.4). @default none */
  signResponses?: ResponseSigningOptions | undefined;
  /** Paths that take webhooks of other services, and how those sign them. @default none */
  webhooks?: readonly WebhookConfig[] | undefined;
}

/** `security.signResponses`: the key that signs responses. */
export interface ResponseSigningOptions {
  /** Private key. */
  key: SignatureKey;
  /** Name of the key. @default kid of a JWK, else none */
  keyId?: string | undefined;
}

/** `security.routeConfig`: requests that a guard applies to. */
export interface RouteConfig {
  /** Requests whose signatures are checked. @default every request */
  requestSignature?: SignatureRoutes | undefined;
}

/** `security.routeConfig.requestSignature`: requests whose signatures are checked (INTERFACE section 5). */
export interface SignatureRoutes {
  /** Routes that are checked. @default every request */
  includeRoutes?: readonly ScopeEntry[] | undefined;
  /** Routes that are exempt from the check. @default nothing */
  excludeRoutes?: readonly ScopeEntry[] | undefined;
}

/** A route pattern, for all methods or for some. */
export type ScopeEntry = string | { readonly path: string; readonly methods?: readonly string[] };

/** `security.requestSignature`: the signing of requests (INTERFACE section 2.5). */
export interface RequestSignatureConfig {
  /** The shared secret, or several while one replaces another; 32 bytes or more each. A function returns those of a key id. @default none */
  secret?: string | readonly string[] | SecretLookup | undefined;
  /** Public keys in place of `secret`, with version 2. @default none */
  keys?: SignatureKeys | undefined;
  /** Name of the header that names the client's key; where `secret` is a function. @default 'X-Key-Id' */
  keyIdHeaderName?: string | undefined;
  /** The format: 1 is INTERFACE section 5, 2 is HTTP Message Signatures (RFC 9421). A server takes one of them. @default 1 */
  version?: 1 | 2 | undefined;
  /** Logs what is accepted, and why a request is refused, at level `info`; no secrets or signatures. @default false */
  debug?: boolean | undefined;
  /** Hash of the HMAC. @default 'sha256' */
  algorithm?: SignatureAlgorithm | undefined;
  /** Greatest age of a signature, in milliseconds. @default 300000 (5 minutes) */
  maxAge?: number | undefined;
  /** Name of the header that carries the signature. @default 'Svc-Request-Sig' */
  headerName?: string | undefined;
  /** Name of the header that carries the timestamp. @default 'X-Timestamp' */
  timestampHeaderName?: string | undefined;
  /** Includes the body in the signature. @default true */
  includeBody?: boolean | undefined;
  /** Includes the query in the signature. @default true */
  includeQuery?: boolean | undefined;
  /** Path such as `'/api'` that a proxy in front takes off, and clients sign: it is put before the target that is checked. @default none */
  prefix?: string | undefined;
  /** Greatest lead of the sender's clock, in milliseconds. @default 30000 (30 seconds) */
  clockSkew?: number | undefined;
  /** Treatment of a body that could have ended the URL; GET, HEAD and DELETE always refuse it. @default 'accept' */
  ambiguousBody?: 'accept' | 'reject' | undefined;
  /** Components that every request must sign besides, with version 2: names of headers, `'@authority'` and others of RFC 9421. @default none */
  covers?: readonly string[] | undefined;
  /** Single-use text of signatures, with version 2. @default 'required' */
  nonce?: 'required' | 'optional' | undefined;
  /** Tag of the signature that must hold, with version 2. @default none */
  tag?: string | undefined;
  /** Label of it, where several have that tag. @default none */
  label?: string | undefined;
  /** Takes Web Bot Auth in place of `secret` and `keys`, with version 2. @default none */
  webBotAuth?: WebBotAuthOptions | undefined;
  /** Lets each signature through once. @default none: a signature holds until it is too old */
  replay?: ReplayOptions | undefined;
  /** Time for a function given as `secret` and the replay store together, in milliseconds; then 503. @default 5000 (5 seconds) */
  timeout?: number | undefined;
}

/** Returns the secrets of a key id; undefined or null where nobody has such a key. */
export type SecretLookup = (keyId: string) => SecretAnswer | Promise<SecretAnswer>;

/** The return value of a {@link SecretLookup}. */
export type SecretAnswer = string | readonly string[] | null | undefined;

/** `security.requestSignature.webBotAuth`: requests of agents that sign with `tag="web-bot-auth"` and name themselves in `Signature-Agent`. */
export interface WebBotAuthOptions {
  /** Agents whose directories of keys may be fetched, such as `'https://agent.example'`. */
  agents: readonly string[];
  /** Treatment of requests without a signature. @default refuse them */
  unsigned?: 'accept' | 'refuse' | undefined;
}

/** An algorithm of RFC 9421 section 3.3. */
export type MessageAlgorithm = 'ed25519' | 'ecdsa-p256-sha256' | 'ecdsa-p384-sha384' | 'rsa-pss-sha512' | 'rsa-v1_5-sha256' | 'hmac-sha256';

/** A key: a KeyObject of node:crypto, text in PEM, or a JWK. Its type says the algorithm; for RSA that is rsa-pss-sha512, unless `alg` of the JWK or `algorithm` beside it says another. */
export type SignatureKey = KeyObject | string | (JsonWebKey & { readonly [Name in keyof NamedKey]?: never }) | NamedKey;

/** A key with what it does not say itself. */
export interface NamedKey {
  /** A KeyObject, text in PEM, or a JWK. */
  key: KeyObject | string | JsonWebKey;
  /** The `keyid` of its signatures. @default `kid` of a JWK, else none: the key is tried for every signature */
  id?: string | undefined;
  /** The only algorithm that it is used with. @default by its type */
  algorithm?: MessageAlgorithm | undefined;
}

/** The keys of a server: some, a function, or a JWK set at an https address, or http of this machine. */
export type SignatureKeys = SignatureKey | readonly SignatureKey[] | KeyLookup | { readonly jwks: string | URL };

/** Returns the keys of a key id; undefined or null where nobody has such a key. */
export type KeyLookup = (keyId: string) => KeyAnswer | Promise<KeyAnswer>;

/** The return value of a {@link KeyLookup}. */
export type KeyAnswer = SignatureKey | readonly SignatureKey[] | null | undefined;

/** `security.requestSignature.replay`: single use of each signature. Applications that share a store and a secret have the same `maxAge`. */
export interface ReplayOptions {
  /** Remembers which signatures were used. */
  store: ReplayStore;
}

/** Remembers which signatures were used. */
export interface ReplayStore {
  /**
   * Claims a signature for one request: true for the first that asks, false for
   * every other until then. If it throws or rejects, the request is answered by
   * 503: it is not known whether the signature was used.
   * @param digest Names the signature, as hexadecimal text: the bytes of an HMAC, or the hash of what a key has signed; of a webhook with `webhook:` and the path before it.
   * @param expires The end of its time in the store, in milliseconds since the epoch.
   */
  claim(digest: string, expires: number): boolean | Promise<boolean>;
}

/** A service whose way of signing webhooks is known. */
export type WebhookPreset = 'standard' | 'svix' | 'stripe' | 'github' | 'slack' | 'zoom' | 'paddle' | 'discord' | 'shopify' | 'square' | 'twilio';

/** An entry of `security.webhooks`: a path whose requests another service signs in its own way. */
export interface WebhookConfig {
  /** Route pattern of the path; `security.requestSignature` leaves it alone. */
  path: string;
  /** Service that signs; `standard` is Standard Webhooks. */
  preset: WebhookPreset;
  /** The secret as that service shows it, of `discord` the public key; or several while one replaces another. */
  secret: string | readonly string[];
  /** The address as the service calls it, without a query; for `square` and `twilio`, which sign it. @default none */
  url?: string | undefined;
  /** Longest body that the path takes, in bytes, or text such as `'25mb'`; beyond it 413. @default body.limit */
  limit?: number | string | undefined;
  /** Greatest age of a signature, in milliseconds; of a service that signs the time. @default 300000 (5 minutes), of `paddle` 5000 as in its library */
  maxAge?: number | undefined;
  /** Greatest lead of the sender's clock, in milliseconds; of a service that signs the time. @default 300000 (5 minutes) */
  clockSkew?: number | undefined;
  /** Logs each check, without secrets or signatures. @default false */
  debug?: boolean | undefined;
  /** Lets each signature through once; of a service that signs the time. @default none: a signature holds until it is too old */
  replay?: ReplayOptions | undefined;
  /** Time for the replay store, in milliseconds; then 503. @default 5000 (5 seconds) */
  timeout?: number | undefined;
}

/** The hash of a request signature. */
export type SignatureAlgorithm = 'sha256' | 'sha512';

type HttpsName =
  | 'ALPNCallback' | 'ALPNProtocols' | 'SNICallback' | 'allowPartialTrustChain' | 'ca' | 'cert' | 'ciphers' | 'clientCertEngine' | 'crl'
  | 'dhparam' | 'ecdhCurve' | 'enableTrace' | 'handshakeTimeout' | 'honorCipherOrder' | 'key' | 'maxVersion' | 'minVersion' | 'passphrase'
  | 'pfx' | 'privateKeyEngine' | 'privateKeyIdentifier' | 'pskCallback' | 'pskIdentityHint' | 'rejectUnauthorized' | 'requestCert'
  | 'secureOptions' | 'secureProtocol' | 'sessionIdContext' | 'sessionTimeout' | 'sigalgs' | 'ticketKeys';
