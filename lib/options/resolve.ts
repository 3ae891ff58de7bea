import { constants } from 'node:buffer';
import { types } from 'node:util';
import { LOG_LEVELS, checkLogger, type LineLevel } from '../logger';
import { proxyAddr } from '../packages';
import {
  callback, count, describe, describeKind, type Field, type Fields, flag, hidden, integer, isHeaderName,
  listOf, LONGEST_DELAY, matching, milliseconds, oneOf, optional, otherwise, refined, refuse, ROOT, section, text, type Warning,
} from './field';
import { type Sections, tellUnknown } from './hint';
import { guardHome, security, SECURITY_SECTIONS, strayHome } from './security';
import type {
  HttpServerOptions, HttpsOptions, LoggingOptions, ResolvedOptions, ResolvedRequestId, ResolvedServer, ServerSettings, TrustFunction, TrustProxy,
} from './options';

const UNITS: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };

/** Bytes as a number, or as text such as `'1.5mb'`. */
const bytes: Field<number> = (given, name, warnings) => {
  if (typeof given !== 'string') return integer(1, constants.MAX_LENGTH, ' of bytes')(given, name, warnings);
  const [, amount, unit = 'b'] = /^(\d+(?:\.\d+)?) ?([kmg]?b)?$/i.exec(given) ?? [];
  const size = Math.floor(Number(amount) * (UNITS[unit.toLowerCase()] ?? NaN));
  return size >= 1 && size <= constants.MAX_LENGTH ? size : refuse(name, "a number of bytes or text such as '100kb' or '1mb'", describe(given));
};

const idHeader: Field<string | false> = refined(
  matching<string | false>('the name of a header, or false', (given) => given === false || isHeaderName(given)),
  (given) => given && given.toLowerCase(),
);

const REQUEST_ID: Fields<ResolvedRequestId> = {
  header: otherwise('x-request-id', idHeader),
  generate: optional(callback),
};

const requestId: Field<ResolvedRequestId | false> = (given, name, warnings) => {
  if (given === false) return false;
  const source = given === true ? {} : typeof given === 'string' ? { header: given } : given;
  return section(REQUEST_ID, strayHome)(source, name, warnings);
};

const LINE_LEVELS = LOG_LEVELS.filter((level) => level !== 'silent');

const requests: Field<LineLevel | false> = refined(oneOf<boolean | LineLevel>(true, false, ...LINE_LEVELS), (given) => (given === true ? 'info' : given));

type GivenLogging = Omit<ResolvedOptions['logging'], 'slowAfter'> & { readonly slowAfter: number | undefined };

const LOGGING: Fields<GivenLogging> = {
  level: otherwise('info' as const, oneOf(...LOG_LEVELS)),
  logger: optional(checkLogger),
  requestId: otherwise(false as const, requestId),
  requests: otherwise('debug' as const, requests),
  slowAfter: optional(milliseconds),
};

const ROUTING: Fields<ResolvedOptions['routing']> = {
  caseSensitive: otherwise(true, flag),
  ignoreTrailingSlash: otherwise(false, flag),
  ignoreDuplicateSlashes: otherwise(false, flag),
  methodNotAllowed: otherwise(false, flag),
};

const BODY: Fields<Omit<ResolvedOptions['body'], 'parse'>> = {
  limit: otherwise(1_048_576, bytes),
  bigint: otherwise(false, flag),
};

/** What http.createServer ignores and the server takes as properties. */
const SERVER_PROPERTIES = ['maxHeadersCount', 'maxRequestsPerSocket', 'timeout'] as const satisfies readonly (keyof HttpServerOptions)[];

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
  uniqueHeaders: optional(matching('an array of header names', (given) => Array.isArray(given) && given.every(isHeaderName))),
};

function isBytes(given: unknown): given is Uint8Array {
  return types.isUint8Array(given);
}

/** A path in place of the contents is the usual slip, and TLS would report it only at the first start. */
function isPem(given: unknown): boolean {
  if (Array.isArray(given)) return given.length > 0 && given.every((entry: unknown) => isPem(isPemObject(entry) ? entry.pem : entry));
  if (isBytes(given)) return Buffer.from(given.buffer, given.byteOffset, given.byteLength).includes('-----BEGIN ');
  return typeof given === 'string' && given.includes('-----BEGIN ');
}

function isPemObject(given: unknown): given is { pem: unknown } {
  return typeof given === 'object' && given !== null && 'pem' in given;
}

const pem = matching<never>("the contents of a PEM file (as readFileSync gives them, not the file's path)", isPem, describeKind);
const blob = matching<never>('a string, bytes, or an array of them', (given) => typeof given === 'string' || isBytes(given) || Array.isArray(given), describeKind);

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
  sessionTimeout: optional(integer(0, LONGEST_DELAY, ' of seconds')),
  sessionIdContext: optional(text),
  ticketKeys: optional(matching<never>('48 bytes', (given) => isBytes(given) && given.byteLength === 48, describeKind)),
  secureOptions: optional(integer(0, Number.MAX_SAFE_INTEGER)),
  secureProtocol: optional(text),
  enableTrace: optional(flag),
  pskCallback: optional(callback),
  pskIdentityHint: optional(text),
  clientCertEngine: optional(text),
  privateKeyEngine: optional(text),
  privateKeyIdentifier: optional(text),
};

const https: Field<Readonly<HttpsOptions>> = refined(section(HTTPS), (tls, name) => {
  const identified = (tls.key !== undefined && tls.cert !== undefined) || [tls.pfx, tls.SNICallback, tls.pskCallback, tls.privateKeyIdentifier].some((given) => given !== undefined);
  if (!identified) throw new TypeError(`${name} must hold key and cert, or one of pfx, SNICallback, pskCallback and privateKeyIdentifier`);
  return onlyGiven(tls, Object.keys(HTTPS) as (keyof HttpsOptions)[]);
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
    return proxyAddr().compile(typeof given === 'string' ? given.split(',').map((address) => address.trim()) : [...given]);
  } catch {
    return refuse(name, TRUST, describe(given));
  }
}

const trustProxy: Field<TrustProxy> = (given, name, warnings) => {
  if (Array.isArray(given)) return listOf(text, TRUST)(given, name, warnings);
  const hops = Number.isInteger(given) && Number(given) >= 0;
  return hops || ['boolean', 'string', 'function'].includes(typeof given) ? (given as TrustProxy) : refuse(name, TRUST, describe(given));
};

type GivenServer = HttpServerOptions & Omit<ServerSettings, keyof HttpServerOptions | 'handleSignals' | 'handlerTimeout' | 'trustProxy' | 'writeTimeout'> & { handleSignals: boolean; handlerTimeout: number; trustProxy: TrustProxy; writeTimeout: number };

const SERVER: Fields<GivenServer> = {
  ...HTTP,
  host: optional(text),
  port: optional(integer(0, 65_535)),
  writeTimeout: otherwise(60_000, milliseconds),
  handlerTimeout: otherwise(0, milliseconds),
  handleSignals: otherwise(false, flag),
  trustProxy: otherwise(false, trustProxy),
  https: optional(https),
};

type PortlessServer = Omit<ResolvedServer, 'port'> & { readonly port: number | undefined };

const server: Field<PortlessServer> = refined(section(SERVER, strayHome), (given, name) => {
  const { requestTimeout = 300_000, headersTimeout = 0 } = given;
  // Node would find this out only at the first start.
  if (requestTimeout > 0 && headersTimeout > requestTimeout) {
    refuse(`${name}.headersTimeout`, `at most ${name}.requestTimeout (${requestTimeout})`, describe(headersTimeout));
  }
  const { host, port, writeTimeout, handlerTimeout, handleSignals, trustProxy: trusted, https: tls } = given;
  const http = (Object.keys(HTTP) as (keyof HttpServerOptions)[]).filter((key) => !SERVER_PROPERTIES.includes(key as (typeof SERVER_PROPERTIES)[number]));
  return {
    host, port, writeTimeout, handlerTimeout, handleSignals, trustProxy: trusted, https: tls,
    trusts: trustFunction(trusted, `${name}.trustProxy`),
    http: onlyGiven(given, http as Exclude<keyof HttpServerOptions, (typeof SERVER_PROPERTIES)[number]>[]),
    properties: onlyGiven(given, SERVER_PROPERTIES),
  };
});

const body: Field<ResolvedOptions['body']> = (given, name, warnings) => {
  if (given === true) refuse(name, 'an object or false', 'true');
  return Object.freeze({ parse: given !== false, ...section(BODY, strayHome)(given === false ? undefined : given, name, warnings) });
};

const logging: Field<GivenLogging> = (given, name, warnings) => {
  const resolved = section(LOGGING, strayHome)(given, name, warnings);
  const level = given === undefined ? undefined : (given as LoggingOptions).level;
  if (resolved.logger !== undefined && level !== undefined) warnings.push(`${name}.level has no effect beside ${name}.logger, which keeps its own`);
  return resolved;
};

const etag: Field<ResolvedOptions['etag']> = refined(oneOf<boolean | 'weak' | 'strong'>(true, false, 'weak', 'strong'), (given) => (given === true ? 'weak' : given));

const TOP = {
  env: optional(text),
  etag: otherwise(false as const, etag),
  logging,
  routing: section(ROUTING, strayHome),
  body,
  server,
  security,
};

const options = section(TOP, guardHome);

const SECTIONS: Sections = {
  '': TOP, 'logging.': LOGGING, 'logging.requestId.': REQUEST_ID, 'routing.': ROUTING, 'body.': BODY, 'server.': SERVER, 'server.https.': HTTPS, ...SECURITY_SECTIONS,
};

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
  const warnings: Warning[] = [];
  const { env: named, ...resolved } = options(given, ROOT, warnings);
  const env = named ?? (environment.NODE_ENV || 'production');
  const { slowAfter = env === 'development' ? 10_000 : 0 } = resolved.logging;
  return Object.freeze({
    ...resolved,
    env,
    logging: Object.freeze({ ...resolved.logging, slowAfter }),
    server: Object.freeze({ ...resolved.server, port: resolved.server.port ?? portOf(environment.PORT) }),
    warnings: Object.freeze(warnings.map((warning) => (typeof warning === 'string' ? warning : tellUnknown(warning, SECTIONS)))),
  });
}

function portOf(given: string | undefined): number {
  if (given === undefined || given === '') return 3000;
  const port = /^\d{1,5}$/.test(given) ? Number(given) : NaN;
  return port <= 65_535 ? port : refuse('the environment variable PORT', 'an integer from 0 to 65535', describe(given));
}
