import { constants } from 'node:buffer';
import { METHODS, validateHeaderName } from 'node:http';
import type { TlsOptions } from 'node:tls';
import { types } from 'node:util';
import proxyAddr from 'proxy-addr';
import { LOG_LEVELS, checkLogger, type Logger, type LogLevel } from './logger';

/** The options of `createServer` (INTERFACE sections 2.5 and 2.6). All are optional. */
export interface CreateServerOptions {
  /** Name of the environment. Error details reach a client only in `development`. @default NODE_ENV, else 'production' */
  env?: string;
  /** ETag on responses made by `send`, `json` and their kin; `true` means `'weak'`. @default false */
  etag?: boolean | 'weak' | 'strong';
  logging?: LoggingOptions;
  routing?: RoutingOptions;
  /** How request bodies are read; `false` turns parsing off. */
  body?: BodyOptions | false;
  server?: ServerSettings;
  security?: SecurityOptions;
}

/** `logging`: what the application logs, and where (INTERFACE section 2.6). */
export interface LoggingOptions {
  /** Lowest level that the built-in logger writes; a given `logger` keeps its own. @default 'info' */
  level?: LogLevel;
  /** A logger in pino's shape. @default pino on standard output */
  logger?: Logger;
}

/** `routing`: how exactly a path must match its pattern (INTERFACE section 4.2). */
export interface RoutingOptions {
  /** Whether `/A` and `/a` are two paths. @default true */
  caseSensitive?: boolean;
  /** Whether `/a/` is taken as `/a`. @default false */
  ignoreTrailingSlash?: boolean;
  /** Whether `//a` is taken as `/a`. @default false */
  ignoreDuplicateSlashes?: boolean;
  /** Whether a wrong method is answered by 405 with `Allow`, and OPTIONS by the framework, instead of 404. @default false */
  methodNotAllowed?: boolean;
}

/** `body`: how request bodies are read. */
export interface BodyOptions {
  /** Longest body that is read, in bytes, or text such as `'100kb'` (units b, kb, mb, gb of 1024). @default 1048576 (1 MiB) */
  limit?: number | string;
  /** Whether integers beyond 2^53 in JSON become BigInt. @default false */
  bigint?: boolean;
}

/** Node's own options of an HTTP server, by their own names. Their defaults are Node's. */
export interface HttpServerOptions {
  /** Time for the whole request to arrive, in milliseconds; 0 is no limit. @default 300000 */
  requestTimeout?: number;
  /** Time for the headers to arrive, in milliseconds; 0 is no limit. At most `requestTimeout`. @default 60000 */
  headersTimeout?: number;
  /** Time an idle connection is kept, in milliseconds. @default 5000 */
  keepAliveTimeout?: number;
  /** Time added to `keepAliveTimeout` before the socket closes, in milliseconds. @default Node's */
  keepAliveTimeoutBuffer?: number;
  /** How often the two request timeouts are looked at, in milliseconds. @default 30000 */
  connectionsCheckingInterval?: number;
  /** Inactivity after which a socket is closed, in milliseconds; 0 is never. @default 0 */
  timeout?: number;
  /** Most headers of a request that are kept; 0 is no limit. @default Node's */
  maxHeadersCount?: number;
  /** Most bytes of a request's headers. @default 16384 */
  maxHeaderSize?: number;
  /** Most requests on one connection; 0 is no limit. @default 0 */
  maxRequestsPerSocket?: number;
  /** Whether malformed headers are let in. @default false */
  insecureHTTPParser?: boolean;
  /** Whether repeated headers are joined by `, ` rather than dropped. @default false */
  joinDuplicateHeaders?: boolean;
  /** Buffer size of request and response streams, in bytes. @default Node's */
  highWaterMark?: number;
  /** Whether Nagle's algorithm is off. @default true */
  noDelay?: boolean;
  /** Whether TCP keep-alive probes are sent. @default false */
  keepAlive?: boolean;
  /** Idle time before the first probe, in milliseconds. @default 0 */
  keepAliveInitialDelay?: number;
  /** Whether an HTTP/1.1 request without `Host` is answered by 400. @default true */
  requireHostHeader?: boolean;
  /** Whether writing a body to a response that has none throws. @default false */
  rejectNonStandardBodyWrites?: boolean;
  /** Response headers that are sent once, their values joined by `; `. @default none */
  uniqueHeaders?: string[];
}

/** Says whether the proxy at that address, `hop` steps away, is trusted. */
export type TrustFunction = (address: string, hop: number) => boolean;

/** Whose forwarded headers are believed: all, none, a number of hops, addresses or subnets, or a function. */
export type TrustProxy = boolean | number | string | readonly string[] | TrustFunction;

/** `server`: where and how the application listens (INTERFACE section 2.6). */
export interface ServerSettings extends HttpServerOptions {
  /** Address to listen on. @default Node's: every address */
  host?: string;
  /** Port to listen on; 0 picks a free one. @default PORT, else 3000 */
  port?: number;
  /** Whether SIGINT and SIGTERM close the application. @default false */
  handleSignals?: boolean;
  /** Whose `X-Forwarded-*` headers are believed; a text may list several, separated by commas. @default false */
  trustProxy?: TrustProxy;
  /** Serves HTTPS with these. @default none: plain HTTP */
  https?: HttpsOptions;
}

/** `server.https`: the contents of key and certificate in PEM, and Node's other TLS options by their own names. */
export type HttpsOptions = Pick<TlsOptions, HttpsName>;

/** `security`: what guards the routes (INTERFACE section 5). */
export interface SecurityOptions {
  /** Turns the check of request signatures on. @default none: no check */
  requestSignature?: RequestSignatureConfig;
  routeConfig?: RouteConfig;
}

/** `security.routeConfig`: to which requests a guard applies. */
export interface RouteConfig {
  requestSignature?: SignatureRoutes;
}

/** `security.routeConfig.requestSignature`: to which requests the check of signatures applies (INTERFACE section 5). */
export interface SignatureRoutes {
  /** What is checked. @default every request */
  includeRoutes?: readonly ScopeEntry[];
  /** What is taken away from it. @default nothing */
  excludeRoutes?: readonly ScopeEntry[];
}

/** A route pattern, for all methods or for some. */
export type ScopeEntry = string | { readonly path: string; readonly methods?: readonly string[] };

/** `security.requestSignature`: how requests are signed (INTERFACE section 2.5). */
export interface RequestSignatureConfig {
  /** The shared secret, or several while one replaces another; 32 bytes or more each. */
  secret: string | readonly string[];
  /** Whether the steps of each check are logged, without secrets or signatures. @default false */
  debug?: boolean;
  /** Hash of the HMAC. @default 'sha256' */
  algorithm?: SignatureAlgorithm;
  /** How old a signature may be, in milliseconds. @default 300000 (5 minutes) */
  maxAge?: number;
  /** Name of the header that carries the signature. @default 'Svc-Request-Sig' */
  headerName?: string;
  /** Name of the header that carries the timestamp. @default 'X-Timestamp' */
  timestampHeaderName?: string;
  /** Whether the body is signed. @default true */
  includeBody?: boolean;
  /** Whether the query is signed. @default true */
  includeQuery?: boolean;
  /** How far ahead the sender's clock may be, in milliseconds. @default 30000 (30 seconds) */
  clockSkew?: number;
  /** What to do with a body whose first bytes could have been the end of the URL. @default 'accept' */
  ambiguousBody?: 'accept' | 'reject';
}

/** The hash of a request signature. */
export type SignatureAlgorithm = 'sha256' | 'sha512';

/** The options with every blank filled in: frozen throughout, but for the logger, functions and bytes that were given. */
export interface ResolvedOptions {
  readonly env: string;
  /** Whether `env` is `development`. */
  readonly development: boolean;
  readonly etag: false | 'weak' | 'strong';
  readonly logging: { readonly level: LogLevel; readonly logger: Logger | undefined };
  readonly routing: Readonly<Required<RoutingOptions>>;
  /** `limit` also bounds what is discarded, and what a signature is checked over, when `parse` is false. */
  readonly body: { readonly parse: boolean; readonly limit: number; readonly bigint: boolean };
  readonly server: ResolvedServer;
  readonly security: ResolvedSecurity;
  /** What is to be logged at start: unknown keys, short secrets, options without effect. */
  readonly warnings: readonly string[];
}

type ServerProperty = (typeof SERVER_PROPERTIES)[number];

/** `server`, resolved. */
export interface ResolvedServer {
  readonly host: string | undefined;
  readonly port: number;
  readonly handleSignals: boolean;
  /** As given. */
  readonly trustProxy: TrustProxy;
  /** `trustProxy` as a test. */
  readonly trusts: TrustFunction;
  readonly https: Readonly<HttpsOptions> | undefined;
  /** For `http.createServer`; holds only what was given. */
  readonly http: Readonly<Omit<HttpServerOptions, ServerProperty>>;
  /** To assign to the server, whose constructor doesn't take these; holds only what was given. */
  readonly properties: Readonly<Pick<HttpServerOptions, ServerProperty>>;
}

/** `security`, resolved. */
export interface ResolvedSecurity {
  /** `undefined` when no signature is asked for. */
  readonly requestSignature: ResolvedSignature | undefined;
  readonly includeRoutes: readonly ScopeEntry[];
  readonly excludeRoutes: readonly ScopeEntry[];
}

/** `security.requestSignature`, resolved. */
export interface ResolvedSignature extends Readonly<Required<Omit<RequestSignatureConfig, 'secret'>>> {
  readonly secrets: readonly string[];
}

/** Reads one option: answers its value, or its default where nothing was given, or throws a TypeError. */
type Field<T> = (given: unknown, name: string, warnings: string[]) => T;
type Fields<T> = { readonly [K in keyof T]-?: Field<T[K]> };

function refuse(name: string, expected: string, got: string): never {
  throw new TypeError(`${name} must be ${expected}, got ${got}`);
}

function describe(given: unknown): string {
  if (typeof given === 'string' && given !== '') return JSON.stringify(given.length > 60 ? `${given.slice(0, 60)}…` : given);
  if (typeof given === 'number' || typeof given === 'boolean') return String(given);
  return describeKind(given);
}

/** Says what a value is, not which: all that may be told of a value that could be a secret. */
function describeKind(given: unknown): string {
  if (given === null || given === undefined) return String(given);
  if (given === '') return 'an empty string';
  const kind = Array.isArray(given) ? 'array' : typeof given;
  return `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`;
}

/** A field that takes a value as it stands when the test holds; the test vouches for T. */
function is<T>(expected: string, test: (given: unknown) => boolean, tell = describe): Field<T> {
  return (given, name) => (test(given) ? (given as T) : refuse(name, expected, tell(given)));
}

function oneOf<const T>(...values: readonly T[]): Field<T> {
  return is(`one of ${values.map((value) => JSON.stringify(value)).join(', ')}`, (given) => values.includes(given as T));
}

function integer(min: number, max: number, unit = ''): Field<number> {
  return is(`an integer${unit} from ${min} to ${max}`, (given) => Number.isInteger(given) && Number(given) >= min && Number(given) <= max);
}

function otherwise<T, D>(fallback: D, field: Field<T>): Field<T | D> {
  return (given, name, warnings) => (given === undefined ? fallback : field(given, name, warnings));
}

function optional<T>(field: Field<T>): Field<T | undefined> {
  return otherwise(undefined, field);
}

function then<A, B>(field: Field<A>, next: (value: A, name: string, warnings: string[]) => B): Field<B> {
  return (given, name, warnings) => next(field(given, name, warnings), name, warnings);
}

function listOf<T>(item: Field<T>, expected: string): Field<readonly T[]> {
  return (given, name, warnings) => {
    if (!Array.isArray(given)) return refuse(name, expected, describeKind(given));
    // Array.from visits holes too, which map would leave unread.
    return Object.freeze(Array.from(given, (value: unknown, index) => item(value, `${name}[${index}]`, warnings)));
  };
}

/** An object of options, each read by its field. In a strict section a misspelt key throws; other unknown keys are warned of. */
function section<T extends object>(fields: Fields<T>, strict = false): Field<Readonly<T>> {
  const known = Object.keys(fields) as (keyof T & string)[];
  return (given, name, warnings) => {
    const source = given === undefined ? {} : plainObject(given, name);
    const prefix = name === ROOT ? '' : `${name}.`;
    for (const key of Object.keys(source)) {
      if (!Object.hasOwn(fields, key)) judgeUnknown(key, prefix, known, strict, warnings);
    }
    const resolved: Partial<T> = {};
    for (const key of known) {
      // Own keys only, so that a polluted Object.prototype sets no option.
      resolved[key] = fields[key](Object.hasOwn(source, key) ? source[key] : undefined, prefix + key, warnings);
    }
    return Object.freeze(resolved as T);
  };
}

function plainObject(given: unknown, name: string): Record<string, unknown> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return refuse(name, 'an object', describeKind(given));
  const prototype = Object.getPrototypeOf(given) as object | null;
  // An Object.prototype of another realm is as good as ours.
  const plain = prototype === null || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf'));
  return plain ? (given as Record<string, unknown>) : refuse(name, 'a plain object', 'an instance of a class');
}

function judgeUnknown(key: string, prefix: string, known: readonly string[], strict: boolean, warnings: string[]): void {
  const ranked = known.map((name) => ({ name, edits: editDistance(key.toLowerCase(), name.toLowerCase()) })).sort((a, b) => a.edits - b.edits);
  const { name, edits } = ranked[0] ?? { name: '', edits: Infinity };
  const said = `unknown option ${JSON.stringify(prefix + key)}`;
  const nearest = JSON.stringify(prefix + name);
  // `securty: { … }` would start an application without its guards.
  if (prefix === '' && name === 'security' && edits <= 2) throw new TypeError(`${said}; did you mean ${nearest}? A misspelt guard does not start`);
  if (strict) {
    if (edits <= 2) throw new TypeError(`${said}; did you mean ${nearest}? A misspelt guard does not start`);
    const home = homeOf(key);
    if (home !== undefined) throw new TypeError(`${said}; it belongs at "${home}". A misplaced guard does not start`);
  }
  const close = edits <= Math.max(2, Math.floor(key.length / 3));
  warnings.push(close ? `${said}; did you mean ${nearest}?` : `${said}; the nearest known option is ${nearest}`);
}

/** Where an option of the signature check belongs, if the key is one. */
function homeOf(key: string): string | undefined {
  const folded = key.toLowerCase();
  const among = (fields: object): string | undefined => Object.keys(fields).find((name) => name.toLowerCase() === folded);
  const setting = among(SIGNATURE);
  if (setting !== undefined) return `security.requestSignature.${setting}`;
  const list = among(SIGNATURE_ROUTES);
  return list === undefined ? undefined : `security.routeConfig.requestSignature.${list}`;
}

/** Levenshtein distance: insertions, deletions and replacements of one character. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

const ROOT = 'the options of createServer';
const flag = is<boolean>('a boolean', (given) => typeof given === 'boolean');
const text = is<string>('a non-empty string', (given) => typeof given === 'string' && given !== '');
const callback = is<never>('a function', (given) => typeof given === 'function');
const hidden = is<string>('a string', (given) => typeof given === 'string', describeKind);
// A longer delay than this makes Node's timers fire at once or be cut short.
const milliseconds = integer(0, 2 ** 31 - 1, ' of milliseconds');
const count = integer(0, 2 ** 31 - 1);
const bytes = integer(1, constants.MAX_LENGTH, ' of bytes');

const UNITS: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };

/** Bytes as a number, or as text such as `'1.5mb'`. */
const byteSize: Field<number> = (given, name, warnings) => {
  if (typeof given !== 'string') return bytes(given, name, warnings);
  const [, amount, unit = 'b'] = /^(\d+(?:\.\d+)?) ?([kmg]?b)?$/i.exec(given) ?? [];
  const size = Math.floor(Number(amount) * (UNITS[unit.toLowerCase()] ?? NaN));
  return size >= 1 && size <= constants.MAX_LENGTH ? size : refuse(name, "a number of bytes or text such as '100kb' or '1mb'", describe(given));
};

const LOGGING: Fields<ResolvedOptions['logging']> = {
  level: otherwise('info' as const, oneOf(...LOG_LEVELS)),
  logger: optional(checkLogger),
};

const ROUTING: Fields<ResolvedOptions['routing']> = {
  caseSensitive: otherwise(true, flag),
  ignoreTrailingSlash: otherwise(false, flag),
  ignoreDuplicateSlashes: otherwise(false, flag),
  methodNotAllowed: otherwise(false, flag),
};

const BODY: Fields<Omit<ResolvedOptions['body'], 'parse'>> = {
  limit: otherwise(1_048_576, byteSize),
  bigint: otherwise(false, flag),
};

/** What http.createServer ignores and the server takes as properties. */
const SERVER_PROPERTIES = ['maxHeadersCount', 'maxRequestsPerSocket', 'timeout'] as const;

function isHeaderName(given: unknown): boolean {
  try {
    validateHeaderName(given as string);
    return true;
  } catch {
    return false;
  }
}

const HTTP: Fields<HttpServerOptions> = {
  requestTimeout: optional(milliseconds),
  headersTimeout: optional(milliseconds),
  keepAliveTimeout: optional(milliseconds),
  keepAliveTimeoutBuffer: optional(milliseconds),
  connectionsCheckingInterval: optional(milliseconds),
  timeout: optional(milliseconds),
  maxHeadersCount: optional(count),
  maxHeaderSize: optional(count),
  maxRequestsPerSocket: optional(count),
  insecureHTTPParser: optional(flag),
  joinDuplicateHeaders: optional(flag),
  highWaterMark: optional(count),
  noDelay: optional(flag),
  keepAlive: optional(flag),
  keepAliveInitialDelay: optional(milliseconds),
  requireHostHeader: optional(flag),
  rejectNonStandardBodyWrites: optional(flag),
  uniqueHeaders: optional(is('an array of header names', (given) => Array.isArray(given) && given.every(isHeaderName))),
};

function isBytes(given: unknown): given is Uint8Array {
  return types.isUint8Array(given);
}

/** A path in place of the contents is the usual slip, and TLS would report it only at the first start. */
function isPem(given: unknown): boolean {
  if (Array.isArray(given)) return given.length > 0 && given.every((one: unknown) => isPem(isPemObject(one) ? one.pem : one));
  if (isBytes(given)) return Buffer.from(given.buffer, given.byteOffset, given.byteLength).includes('-----BEGIN ');
  return typeof given === 'string' && given.includes('-----BEGIN ');
}

function isPemObject(given: unknown): given is { pem: unknown } {
  return typeof given === 'object' && given !== null && 'pem' in given;
}

const pem = is<never>("the contents of a PEM file (as readFileSync gives them, not the file's path)", isPem, describeKind);
const blob = is<never>('a string, bytes, or an array of them', (given) => typeof given === 'string' || isBytes(given) || Array.isArray(given), describeKind);

type HttpsName =
  | 'ALPNCallback' | 'ALPNProtocols' | 'SNICallback' | 'allowPartialTrustChain' | 'ca' | 'cert' | 'ciphers' | 'clientCertEngine' | 'crl'
  | 'dhparam' | 'ecdhCurve' | 'enableTrace' | 'handshakeTimeout' | 'honorCipherOrder' | 'key' | 'maxVersion' | 'minVersion' | 'passphrase'
  | 'pfx' | 'privateKeyEngine' | 'privateKeyIdentifier' | 'pskCallback' | 'pskIdentityHint' | 'rejectUnauthorized' | 'requestCert'
  | 'secureOptions' | 'secureProtocol' | 'sessionIdContext' | 'sessionTimeout' | 'sigalgs' | 'ticketKeys';

const tlsVersion = oneOf('TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3');

const HTTPS: Fields<HttpsOptions> = {
  key: optional(pem),
  cert: optional(pem),
  ca: optional(blob),
  pfx: optional(blob),
  passphrase: optional(hidden),
  crl: optional(blob),
  minVersion: optional(tlsVersion),
  maxVersion: optional(tlsVersion),
  ciphers: optional(text),
  sigalgs: optional(text),
  ecdhCurve: optional(text),
  dhparam: optional(blob),
  honorCipherOrder: optional(flag),
  requestCert: optional(flag),
  rejectUnauthorized: optional(flag),
  allowPartialTrustChain: optional(flag),
  ALPNProtocols: optional(blob),
  ALPNCallback: optional(callback),
  SNICallback: optional(callback),
  handshakeTimeout: optional(milliseconds),
  sessionTimeout: optional(integer(0, 2 ** 31 - 1, ' of seconds')),
  sessionIdContext: optional(text),
  ticketKeys: optional(is<never>('48 bytes', (given) => isBytes(given) && given.byteLength === 48, describeKind)),
  secureOptions: optional(integer(0, Number.MAX_SAFE_INTEGER)),
  secureProtocol: optional(text),
  enableTrace: optional(flag),
  pskCallback: optional(callback),
  pskIdentityHint: optional(text),
  clientCertEngine: optional(text),
  privateKeyEngine: optional(text),
  privateKeyIdentifier: optional(text),
};

const https: Field<Readonly<HttpsOptions>> = then(section(HTTPS), (tls, name) => {
  const identified = (tls.key !== undefined && tls.cert !== undefined) || [tls.pfx, tls.SNICallback, tls.pskCallback, tls.privateKeyIdentifier].some((given) => given !== undefined);
  if (!identified) throw new TypeError(`${name} must hold key and cert, or one of pfx, SNICallback, pskCallback and privateKeyIdentifier`);
  return onlyGiven(tls, Object.keys(HTTPS) as HttpsName[]);
});

/** The named options that were given; lists are copied, so that they can be frozen. */
function onlyGiven<T extends object, K extends keyof T>(options: T, names: readonly K[]): Readonly<Pick<T, K>> {
  const given = names.filter((name) => options[name] !== undefined);
  return Object.freeze(Object.fromEntries(given.map((name) => [name, frozenCopy(options[name])])) as Pick<T, K>);
}

function frozenCopy(value: unknown): unknown {
  return Array.isArray(value) ? Object.freeze([...(value as unknown[])]) : value;
}

const TRUST = "a boolean, a number of hops, addresses or subnets (such as 'loopback, 10.0.0.0/8'), or a function";

/** Whether an address is trusted, by the rules of Express's "trust proxy". */
function trustFunction(given: TrustProxy, name: string): TrustFunction {
  if (typeof given === 'function') return given;
  if (typeof given === 'boolean') return () => given;
  if (typeof given === 'number') return (_address, hop) => hop < given;
  try {
    return proxyAddr.compile(typeof given === 'string' ? given.split(',').map((address) => address.trim()) : [...given]);
  } catch {
    return refuse(name, TRUST, describe(given));
  }
}

const trustProxy: Field<TrustProxy> = (given, name, warnings) => {
  if (Array.isArray(given)) return listOf(text, TRUST)(given, name, warnings);
  const hops = Number.isInteger(given) && Number(given) >= 0;
  return hops || ['boolean', 'string', 'function'].includes(typeof given) ? (given as TrustProxy) : refuse(name, TRUST, describe(given));
};

type GivenServer = HttpServerOptions & Omit<ServerSettings, keyof HttpServerOptions | 'handleSignals' | 'trustProxy'> & { handleSignals: boolean; trustProxy: TrustProxy };

const SERVER: Fields<GivenServer> = {
  ...HTTP,
  host: optional(text),
  port: optional(integer(0, 65_535)),
  handleSignals: otherwise(false, flag),
  trustProxy: otherwise(false, trustProxy),
  https: optional(https),
};

type PortlessServer = Omit<ResolvedServer, 'port'> & { readonly port: number | undefined };

const server: Field<PortlessServer> = then(section(SERVER), (given, name) => {
  const { requestTimeout = 300_000, headersTimeout = 0 } = given;
  // Node would find this out only at the first start.
  if (requestTimeout > 0 && headersTimeout > requestTimeout) {
    refuse(`${name}.headersTimeout`, `at most ${name}.requestTimeout (${requestTimeout})`, describe(headersTimeout));
  }
  const { host, port, handleSignals, trustProxy: trusted, https: tls } = given;
  const http = (Object.keys(HTTP) as (keyof HttpServerOptions)[]).filter((key) => !SERVER_PROPERTIES.includes(key as ServerProperty));
  return {
    host, port, handleSignals, trustProxy: trusted, https: tls,
    trusts: trustFunction(trusted, `${name}.trustProxy`),
    http: onlyGiven(given, http as Exclude<keyof HttpServerOptions, ServerProperty>[]),
    properties: onlyGiven(given, SERVER_PROPERTIES),
  };
});

// HMAC pads a short key with NULs, so a secret of nothing else is the empty one.
const secretText = is<string>('a non-empty string', (given) => typeof given === 'string' && !/^\0*$/.test(given), describeKind);

const secrets: Field<readonly string[]> = (given, name, warnings) => {
  const list = Array.isArray(given) ? listOf(secretText, '')(given, name, warnings) : Object.freeze([secretText(given, name, warnings)]);
  if (list.length === 0) refuse(name, 'a non-empty string, or an array of one or more', 'an empty array');
  list.forEach((secret, index) => {
    if (Buffer.byteLength(secret) < 32) warnings.push(`${Array.isArray(given) ? `${name}[${index}]` : name} is shorter than 32 bytes`);
  });
  return list;
};

const headerName = is<string>('a header name (RFC 9110 section 5.1)', isHeaderName);

const SIGNATURE: Fields<Omit<ResolvedSignature, 'secrets'> & { secret: readonly string[] }> = {
  secret: secrets,
  debug: otherwise(false, flag),
  algorithm: otherwise('sha256' as const, oneOf('sha256', 'sha512')),
  maxAge: otherwise(300_000, is<number>('a positive number of milliseconds', (given) => Number.isFinite(given) && Number(given) > 0)),
  headerName: otherwise('Svc-Request-Sig', headerName),
  timestampHeaderName: otherwise('X-Timestamp', headerName),
  includeBody: otherwise(true, flag),
  includeQuery: otherwise(true, flag),
  clockSkew: otherwise(30_000, is<number>('a number of milliseconds, 0 or more', (given) => Number.isFinite(given) && Number(given) >= 0)),
  ambiguousBody: otherwise('accept' as const, oneOf('accept', 'reject')),
};

const signature: Field<ResolvedSignature> = then(section(SIGNATURE, true), ({ secret, ...settings }, name) => {
  if (settings.headerName.toLowerCase() === settings.timestampHeaderName.toLowerCase()) {
    refuse(`${name}.timestampHeaderName`, `another header than ${name}.headerName`, describe(settings.timestampHeaderName));
  }
  return Object.freeze({ ...settings, secrets: secret });
});

const routePattern = is<string>('a route pattern that starts with "/"', (given) => typeof given === 'string' && given.startsWith('/'));
const method = then(is<string>('an HTTP method such as "GET"', (given) => typeof given === 'string' && METHODS.includes(given.toUpperCase())), (given) => given.toUpperCase());
const methods = then(listOf(method, 'an array of HTTP methods'), (list, name) => (list.length > 0 ? list : refuse(name, 'an array of one or more HTTP methods', 'an empty array')));
const routeOfMethods = section<Exclude<ScopeEntry, string>>({ path: routePattern, methods: optional(methods) }, true);

const scopeEntry: Field<ScopeEntry> = (given, name, warnings) =>
  typeof given === 'object' && given !== null ? routeOfMethods(given, name, warnings) : routePattern(given, name, warnings);

const scope = otherwise(Object.freeze([]), listOf(scopeEntry, 'an array of route patterns'));

const SIGNATURE_ROUTES: Fields<Required<SignatureRoutes>> = { includeRoutes: scope, excludeRoutes: scope };

const security: Field<ResolvedSecurity> = then(
  section(
    {
      requestSignature: optional(signature),
      routeConfig: optional(section({ requestSignature: optional(section(SIGNATURE_ROUTES, true)) }, true)),
    },
    true,
  ),
  ({ requestSignature, routeConfig }, name) => {
    const routes = routeConfig?.requestSignature;
    if (routes !== undefined && requestSignature === undefined) {
      throw new TypeError(`${name}.routeConfig.requestSignature needs ${name}.requestSignature: without a secret no route is checked`);
    }
    const { includeRoutes = [], excludeRoutes = [] } = routes ?? {};
    return Object.freeze({ requestSignature, includeRoutes: Object.freeze(includeRoutes), excludeRoutes: Object.freeze(excludeRoutes) });
  },
);

const body: Field<ResolvedOptions['body']> = (given, name, warnings) => {
  if (given === true) refuse(name, 'an object or false', 'true');
  return Object.freeze({ parse: given !== false, ...section(BODY)(given === false ? undefined : given, name, warnings) });
};

const logging: Field<ResolvedOptions['logging']> = (given, name, warnings) => {
  const resolved = section(LOGGING)(given, name, warnings);
  const level = given === undefined ? undefined : (given as LoggingOptions).level;
  if (resolved.logger !== undefined && level !== undefined) warnings.push(`${name}.level has no effect beside ${name}.logger, which keeps its own`);
  return resolved;
};

const etag: Field<ResolvedOptions['etag']> = then(oneOf<boolean | 'weak' | 'strong'>(true, false, 'weak', 'strong'), (given) => (given === true ? 'weak' : given));

const options = section({
  env: optional(text),
  etag: otherwise(false as const, etag),
  logging,
  routing: section(ROUTING),
  body,
  server,
  security,
});

/** What of the process's environment the defaults look at. */
export interface OptionEnvironment {
  readonly NODE_ENV?: string | undefined;
  readonly PORT?: string | undefined;
}

/**
 * Checks what was given to `createServer` once, and fills in every default.
 *
 * @param given The options; `undefined` means none (INTERFACE sections 2.5 and 2.6).
 * @param environment NODE_ENV is the default of `env`, PORT that of `server.port`; empty text counts as unset.
 * @throws TypeError that names the option, what was given (of a secret only its kind) and what it must be.
 */
export function resolveOptions(given: unknown, environment: OptionEnvironment): ResolvedOptions {
  const warnings: string[] = [];
  const { env: named, ...resolved } = options(given, ROOT, warnings);
  const env = named ?? (environment.NODE_ENV || 'production');
  return Object.freeze({
    ...resolved,
    env,
    development: env === 'development',
    server: Object.freeze({ ...resolved.server, port: resolved.server.port ?? portOf(environment.PORT) }),
    warnings: Object.freeze(warnings),
  });
}

function portOf(given: string | undefined): number {
  if (given === undefined || given === '') return 3000;
  const port = /^\d{1,5}$/.test(given) ? Number(given) : NaN;
  return port <= 65_535 ? port : refuse('the environment variable PORT', 'an integer from 0 to 65535', describe(given));
}
