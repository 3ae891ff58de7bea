import type { MessageAlgorithm, NamedKey, SignatureKey } from '../../options/options';
import { crypto, structuredHeaders } from '../../packages';
import { contentDigest } from './content-digest';
import { invalidCharacter, messageMac, quoted, signatureBase } from './message-base';
import { ALGORITHM, NONCE_LENGTH } from './message-input';
import { type MessageKey, readKey } from './message-key';
import type { Secret } from '../hmac';
import { isKeyId } from '../secret-source';
import type { SignRequestOptions } from '../sign-options';

/** Options of {@link signMessage}: those of `signRequest`, with secret, method, target and body checked. */
export interface MessageToSign extends Pick<SignRequestOptions, 'method' | 'headers' | 'covers' | 'expires' | 'nonce' | 'keyId' | 'includeBody' | 'includeQuery' | 'tag' | 'label'> {
  /** Undefined where a key is given. */
  secret?: Secret | undefined;
  key?: SignatureKey | undefined;
  /** Algorithm of the key. @default by its type */
  algorithm?: MessageAlgorithm | undefined;
  /** Path and query exactly as they are sent. */
  target: string;
  /** Scheme and host that the request is sent to. @default host by `headers`, scheme not known */
  origin?: URL | undefined;
  body?: string | Uint8Array | undefined;
  timestamp?: number | undefined;
}

/**
 * Signs a request with HTTP Message Signatures (RFC 9421): by `hmac-sha256` with
 * a secret, or by the algorithm of a key. Returns the headers to send beside the
 * given ones, or in their place: `Signature-Input`, `Signature` and, if there is
 * a body, `Content-Digest` (RFC 9530).
 *
 * Throws a TypeError that names an option that cannot be signed.
 */
export function signMessage(message: MessageToSign): Record<string, string> {
  const { body, includeBody = true, origin, label = 'sig1' } = message;
  const headers = lowerCased(message.headers ?? {});
  const key = message.key === undefined ? undefined : signingKey(message.key, message.algorithm);
  const digest = includeBody && body !== undefined && body.length > 0 ? contentDigest(body) : undefined;
  if (digest !== undefined) headers['content-digest'] = digest;
  const components = coveredComponents(message, headers);
  const text = `(${components.map(quoted).join(' ')})${structuredHeaders().serializeParameters(parameters(message, key?.algorithm ?? ALGORITHM))}`;
  const request = {
    method: message.method.toUpperCase(), target: checkedTarget(message.target), headers: { host: origin?.host, ...headers },
    ...(origin === undefined ? {} : { client: { protocol: origin.protocol.slice(0, -1) } }),
  };
  const signed = signatureBase(request, components, text);
  if ('lacks' in signed) {
    throw new TypeError(
      `signRequest: ${signed.lacks} can't be signed, since headers has no such header of ASCII text; ` +
        'give in headers what is sent, and in covers only names of these, or derived components that RFC 9421 has; "@scheme", "@target-uri" and, without a Host header, "@authority" need an absolute url',
    );
  }
  const signature = key === undefined ? messageMac(message.secret as Secret, signed.base) : key.sign(signed.base);
  return {
    'Signature-Input': behind(headers['signature-input'], label, text),
    Signature: behind(headers['signature'], label, `:${signature.toString('base64')}:`),
    ...(digest === undefined ? {} : { 'Content-Digest': digest }),
  };
}

function signingKey(key: SignatureKey, algorithm: MessageAlgorithm | undefined): MessageKey {
  const named = typeof key === 'object' && 'key' in key ? (key as NamedKey) : { key };
  return readKey(algorithm === undefined ? named : { ...named, algorithm }, 'sign', 'signRequest');
}

/** A labelled value behind those that are there. */
function behind(given: string | undefined, label: string, value: string): string {
  const labelled = structuredHeaders().isValidKeyStr(label) ? `${label}=${value}` : undefined;
  if (labelled === undefined) throw new TypeError('signRequest: label must be lower-case letters, digits and "_-.*", no digit first');
  if (given === undefined) return labelled;
  if (structuredHeaders().parseDictionary(given).has(label)) throw new TypeError(`signRequest: label must be another than ${JSON.stringify(label)}, which a signature in headers has`);
  return `${given}, ${labelled}`;
}

function coveredComponents({ covers = [], includeQuery = true }: MessageToSign, headers: Readonly<Record<string, string>>): string[] {
  const names = new Set(includeQuery ? ['@method', '@path', '@query'] : ['@method', '@path']);
  for (const name of ['content-digest', 'content-type', 'content-encoding']) {
    if (headers[name] !== undefined) names.add(name);
  }
  for (const name of covers) names.add(name.replace(/^[^;]*/, (start) => start.toLowerCase()));
  return [...names];
}

function parameters(message: MessageToSign, algorithm: MessageAlgorithm): Map<string, string | number> {
  const { timestamp = Date.now(), expires, nonce = crypto().randomBytes(16).toString('base64url'), keyId, tag } = message;
  const given = new Map<string, string | number>([['created', seconds('timestamp', timestamp)]]);
  if (expires !== undefined) given.set('expires', seconds('expires', expires));
  if (typeof nonce !== 'string' || nonce.length < NONCE_LENGTH || !/^[\x20-\x7e]*$/.test(nonce)) {
    throw new TypeError(`signRequest: nonce must be ${NONCE_LENGTH} or more characters of printable ASCII; leave it out for a random one`);
  }
  given.set('nonce', nonce);
  given.set('alg', algorithm);
  if (keyId !== undefined && !isKeyId(keyId)) throw new TypeError('signRequest: keyId must be 1 to 256 visible ASCII characters, and no comma');
  if (keyId !== undefined) given.set('keyid', keyId);
  if (tag !== undefined && !/^[\x20-\x7e]+$/.test(tag)) throw new TypeError('signRequest: tag must be printable ASCII');
  return tag === undefined ? given : given.set('tag', tag);
}

function seconds(name: string, milliseconds: number): number {
  if (Number.isSafeInteger(milliseconds) && milliseconds >= 0) return Math.floor(milliseconds / 1000);
  throw new TypeError(`signRequest: ${name} must be whole milliseconds since the epoch, and was ${String(milliseconds)}; write Date.now()`);
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  // Without a prototype, so that a name such as `constructor` is absent.
  const lower = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(headers)) {
    const key = name.toLowerCase();
    // Two lines of one header would arrive as `a, b`.
    if (lower[key] !== undefined || key === 'content-digest') {
      throw new TypeError(`signRequest: headers.${name} ${key === 'content-digest' ? 'is worked out from the body; leave it out' : 'is given twice; give it once'}`);
    }
    lower[key] = value;
  }
  return lower;
}

function checkedTarget(target: string): string {
  const character = invalidCharacter(target);
  if (character === undefined) return target;
  throw new TypeError(`signRequest: url must be a path and query of visible ASCII, and holds ${character}; percent-encode it, as encodeURI does, and send that same url`);
}
