import { crypto, structuredHeaders } from '../../packages';
import { contentDigest } from './content-digest';
import { invalidCharacter, messageMac, signatureBase } from './message-base';
import { ALGORITHM, NONCE_LENGTH } from './message-input';
import type { Secret } from '../hmac';
import { isKeyId } from '../secret-source';
import type { SignRequestOptions } from '../sign-options';

/** Options of {@link signMessage}: those of `signRequest`, with secret, method, target and body checked. */
export interface MessageToSign extends Pick<SignRequestOptions, 'method' | 'headers' | 'covers' | 'expires' | 'nonce' | 'keyId' | 'includeBody' | 'includeQuery'> {
  secret: Secret;
  /** Path and query exactly as they are sent. */
  target: string;
  body?: string | Uint8Array | undefined;
  timestamp?: number | undefined;
}

const LABEL = 'sig1';

/**
 * Signs a request with HTTP Message Signatures (RFC 9421) and `hmac-sha256`.
 * Returns the headers to send beside the given ones: `Signature-Input`,
 * `Signature` and, if there is a body, `Content-Digest` (RFC 9530).
 *
 * Throws a TypeError that names an option that cannot be signed.
 */
export function signMessage(message: MessageToSign): Record<string, string> {
  const { body, includeBody = true } = message;
  const headers = lowerCased(message.headers ?? {});
  const digest = includeBody && body !== undefined && body.length > 0 ? contentDigest(body) : undefined;
  if (digest !== undefined) headers['content-digest'] = digest;
  const components = coveredComponents(message, headers);
  const items = components.map((name): [string, Map<string, never>] => [name, new Map<string, never>()]);
  const text = structuredHeaders().serializeInnerList([items, parameters(message)]);
  const request = { method: message.method.toUpperCase(), target: checkedTarget(message.target), headers };
  const signed = signatureBase(request, components, text);
  if ('lacks' in signed) {
    throw new TypeError(
      `signRequest: ${signed.lacks} can't be signed, since headers has no such header of ASCII text; ` +
        'give in headers what is sent, and in covers only names of these, "@authority" or "@request-target"',
    );
  }
  return {
    'Signature-Input': `${LABEL}=${text}`,
    Signature: `${LABEL}=:${messageMac(message.secret, signed.base).toString('base64')}:`,
    ...(digest === undefined ? {} : { 'Content-Digest': digest }),
  };
}

function coveredComponents({ covers = [], includeQuery = true }: MessageToSign, headers: Readonly<Record<string, string>>): string[] {
  const names = new Set(includeQuery ? ['@method', '@path', '@query'] : ['@method', '@path']);
  for (const name of ['content-digest', 'content-type', 'content-encoding']) {
    if (headers[name] !== undefined) names.add(name);
  }
  for (const name of covers) names.add(name.toLowerCase());
  return [...names];
}

function parameters(message: MessageToSign): Map<string, string | number> {
  const { timestamp = Date.now(), expires, nonce = crypto().randomBytes(16).toString('base64url'), keyId } = message;
  const given = new Map<string, string | number>([['created', seconds('timestamp', timestamp)]]);
  if (expires !== undefined) given.set('expires', seconds('expires', expires));
  if (typeof nonce !== 'string' || nonce.length < NONCE_LENGTH || !/^[\x20-\x7e]*$/.test(nonce)) {
    throw new TypeError(`signRequest: nonce must be ${NONCE_LENGTH} or more characters of printable ASCII; leave it out for a random one`);
  }
  given.set('nonce', nonce);
  given.set('alg', ALGORITHM);
  if (keyId === undefined) return given;
  if (!isKeyId(keyId)) throw new TypeError('signRequest: keyId must be 1 to 256 visible ASCII characters, and no comma');
  return given.set('keyid', keyId);
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
