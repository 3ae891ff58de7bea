import { types } from 'node:util';
import { proxyAddr } from '../packages';
import {
  callback, count, describe, describeKind, type Field, type Fields, flag, hidden, integer, isHeaderName,
  listOf, LONGEST_DELAY, matching, milliseconds, oneOf, optional, otherwise, refined, refuse, section, strayHome, text,
} from './field';
import type { Sections } from './hint';
import type { HttpsOptions, TrustFunction, TrustProxy } from './options';
import type { ResolvedServer } from './resolved';

/** Options that http.createServer ignores and the server takes as properties. */
const PROPERTIES: Fields<ResolvedServer['properties']> = {
  timeout: optional(milliseconds),
  maxHeadersCount: optional(count),
  maxRequestsPerSocket: optional(count),
};

const HTTP: Fields<ResolvedServer['http']> = {
  requestTimeout: optional(milliseconds),
  headersTimeout: optional(milliseconds),
  keepAliveTimeout: optional(milliseconds),
  keepAliveTimeoutBuffer: optional(milliseconds),
  connectionsCheckingInterval: optional(milliseconds),
  maxHeaderSize: optional(count),
  insecureHTTPParser: optional(flag),
  httpValidation: optional(oneOf('strict', 'relaxed', 'insecure')),
  joinDuplicateHeaders: optional(flag),
  highWaterMark: optional(count),
  noDelay: optional(flag),
  keepAlive: optional(flag),
  keepAliveInitialDelay: optional(milliseconds),
  requireHostHeader: optional(flag),
  rejectNonStandardBodyWrites: optional(flag),
  shouldUpgradeCallback: optional(callback),
  optimizeEmptyRequests: optional(flag),
  uniqueHeaders: optional(matching('an array of header names', (given) => Array.isArray(given) && given.every(isHeaderName))),
};

/** Tells PEM from a path: TLS would report that usual slip only at the first start. */
function isPem(given: unknown): boolean {
  if (Array.isArray(given)) return given.length > 0 && given.every((entry: unknown) => isPem((entry as { pem?: unknown } | null)?.pem ?? entry));
  if (types.isUint8Array(given)) return Buffer.from(given.buffer, given.byteOffset, given.byteLength).includes('-----BEGIN ');
  return typeof given === 'string' && given.includes('-----BEGIN ');
}

const pem = matching<never>("the contents of a PEM file (as readFileSync gives them, not the file's path)", isPem, describeKind);
const blob = matching<never>('a string, bytes, or an array of them', (given) => typeof given === 'string' || types.isUint8Array(given) || Array.isArray(given), describeKind);

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
  ticketKeys: optional(matching<never>('48 bytes', (given) => types.isUint8Array(given) && given.byteLength === 48, describeKind)),
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
  return onlyGiven(tls, HTTPS);
});

/** The fields that were given; lists are copied, so that they can be frozen. */
function onlyGiven<T extends object>(options: T, fields: Fields<T>): Readonly<T> {
  const given = Object.entries(options).filter(([name, value]) => value !== undefined && Object.hasOwn(fields, name));
  return Object.freeze(Object.fromEntries(given.map(([name, value]) => [name, Array.isArray(value) ? Object.freeze([...(value as unknown[])]) : (value as unknown)])) as T);
}

const TRUST = "a boolean, a number of hops, addresses or subnets (such as 'loopback, 10.0.0.0/8'), or a function";

/** Compiles `trustProxy` to a test of addresses, by the rules of Express's "trust proxy". */
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

const SERVER = {
  ...HTTP,
  ...PROPERTIES,
  host: optional(text),
  port: optional(integer(0, 65_535)),
  pipelining: otherwise(8, integer(1, LONGEST_DELAY)),
  writeTimeout: otherwise(60_000, milliseconds),
  handlerTimeout: otherwise(0, milliseconds),
  handleSignals: otherwise(false, flag),
  trustProxy: optional(trustProxy),
  https: optional(https),
};

/** `server`; its port is undefined where none is given. */
export const server = refined(section(SERVER, strayHome), (given, name) => {
  const { requestTimeout = 300_000, headersTimeout = 0 } = given;
  // Node would find this out only at the first start.
  if (requestTimeout > 0 && headersTimeout > requestTimeout) {
    refuse(`${name}.headersTimeout`, `at most ${name}.requestTimeout (${requestTimeout})`, describe(headersTimeout));
  }
  const { host, port, pipelining, writeTimeout, handlerTimeout, handleSignals, trustProxy: trusted = false, https: tls } = given;
  return {
    host, port, pipelining, writeTimeout, handlerTimeout, handleSignals, trustProxy: trusted, https: tls,
    trustsByDefault: given.trustProxy === undefined,
    trusts: trustFunction(trusted, `${name}.trustProxy`),
    http: onlyGiven(given, HTTP),
    properties: onlyGiven(given, PROPERTIES),
  };
});

export const SERVER_SECTIONS: Sections = { 'server.': SERVER, 'server.https.': HTTPS };
