import { types } from 'node:util';
import { callback, describeKind, type Field, type Fields, flag, hidden, integer, LONGEST_DELAY, matching, milliseconds, oneOf, onlyGiven, optional, refined, section, text } from './field';
import type { HttpsOptions } from './options';

/** Tells PEM from a path: TLS would report that usual slip only at the first start. */
function isPem(given: unknown): boolean {
  if (Array.isArray(given)) return given.length > 0 && given.every((entry: unknown) => isPem((entry as { pem?: unknown } | null)?.pem ?? entry));
  if (types.isUint8Array(given)) return Buffer.from(given.buffer, given.byteOffset, given.byteLength).includes('-----BEGIN ');
  return typeof given === 'string' && given.includes('-----BEGIN ');
}

const pem = matching<never>("the contents of a PEM file (as readFileSync gives them, not the file's path)", isPem, describeKind);
const blob = matching<never>('a string, bytes, or an array of them', (given) => typeof given === 'string' || types.isUint8Array(given) || Array.isArray(given), describeKind);

const tlsVersion = oneOf('TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3');

/** `server.https`: those of `tls.createServer`. */
export const HTTPS: Fields<HttpsOptions> = {
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

export const https: Field<Readonly<HttpsOptions>> = refined(section(HTTPS), (tls, name) => {
  const identified = (tls.key !== undefined && tls.cert !== undefined) || [tls.pfx, tls.SNICallback, tls.pskCallback, tls.privateKeyIdentifier].some((given) => given !== undefined);
  if (!identified) throw new TypeError(`${name} must hold key and cert, or one of pfx, SNICallback, pskCallback and privateKeyIdentifier`);
  return onlyGiven(tls, HTTPS);
});
