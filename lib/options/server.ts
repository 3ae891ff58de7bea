import { late, proxyAddr } from '../packages';
import {
  callback, count, describe, type Field, type Fields, flag, integer, isHeaderName,
  listOf, LONGEST_DELAY, matching, milliseconds, oneOf, onlyGiven, optional, otherwise, refined, refuse, section, strayHome, text,
} from './field';
import type { Sections } from './hint';
import type { HttpsOptions, TrustFunction, TrustProxy } from './options';
import type { ResolvedHttp2, ResolvedServer } from './resolved';

const
  httpsOptions = late(() => require('./https') as typeof import('./https')),
  http2Options = late(() => require('./http2') as typeof import('./http2'));

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
  https: optional<Readonly<HttpsOptions>>((given, name, warnings) => httpsOptions().https(given, name, warnings)),
  http2: otherwise<ResolvedHttp2 | false, false>(false, (given, name, warnings) => http2Options().http2(given, name, warnings)),
};

/** `server`; its port is undefined where none is given. */
export const server = refined(section(SERVER, strayHome), (given, name) => {
  const { requestTimeout = 300_000, headersTimeout = 0 } = given;
  // Node would find this out only at the first start.
  if (requestTimeout > 0 && headersTimeout > requestTimeout) {
    refuse(`${name}.headersTimeout`, `at most ${name}.requestTimeout (${requestTimeout})`, describe(headersTimeout));
  }
  const { host, port, pipelining, writeTimeout, handlerTimeout, handleSignals, trustProxy: trusted = false, https: tls, http2 } = given;
  if (http2 !== false && http2.cleartext === (tls !== undefined)) throw new TypeError(http2.cleartext ? `${name}.http2 is cleartext, and ${name}.https asks for TLS: write http2: true` : `${name}.http2 needs ${name}.https: give it key and cert, or write http2: 'cleartext'`);
  return {
    host, port, pipelining, writeTimeout, handlerTimeout, handleSignals, trustProxy: trusted, https: tls, http2,
    trustsByDefault: given.trustProxy === undefined,
    trusts: trustFunction(trusted, `${name}.trustProxy`),
    http: onlyGiven(given, HTTP),
    properties: onlyGiven(given, PROPERTIES),
  };
});

/** `server` and its sections, for the hint of an unknown option. */
export const serverSections = (): Sections => ({ 'server.': SERVER, 'server.https.': httpsOptions().HTTPS, 'server.http2.': http2Options().HTTP2 });
