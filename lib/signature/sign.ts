import { describe } from '../options/field';
import type { MessageAlgorithm } from '../options/options';
import { HmacKey, type Secret } from './hmac';
import { late } from '../packages';
import { isKeyId } from './secret-source';
import type { SignRequestOptions } from './sign-options';
import { digest, invalidCharacter, signedUrl } from './v1/grammar';

const version2 = late(() => require('./v2/message-sign') as typeof import('./v2/message-sign'));

/** Signs a request with the checks that `signRequest` of signing.ts describes. */
export function signRequest(options: SignRequestOptions): Record<string, string> {
  if (versionOf(options) === 2) {
    const { timestamp, headers, covers, expires, nonce, keyId, includeBody, includeQuery, key, tag, label, algorithm } = options;
    return version2().signMessage({
      ...(key === undefined ? { secret: signingSecret(options.secret) } : { key, algorithm: algorithm as MessageAlgorithm | undefined }),
      method: checkedMethod(options.method),
      target: requestTarget(options.url),
      origin: originOf(options.url),
      body: checkedBody(options.body),
      timestamp: typeof timestamp === 'string' ? Number(timestamp) : timestamp,
      headers, covers, expires, nonce, keyId, includeBody, includeQuery, tag, label,
    });
  }
  const { algorithm = 'sha256', headerName = 'Svc-Request-Sig', timestampHeaderName = 'X-Timestamp', includeBody = true, includeQuery = true } = options;
  if (algorithm !== 'sha256' && algorithm !== 'sha512') {
    throw new TypeError(`signRequest: algorithm must be "sha256" or "sha512", and was ${describe(algorithm)}`);
  }
  const timestamp = timestampText(options.timestamp ?? Date.now());
  const url = signedUrl(checkedTarget(options.url), includeQuery);
  const body = includeBody ? checkedBody(options.body) : undefined;
  const mac = digest(new HmacKey(algorithm, signingSecret(options.secret)), checkedMethod(options.method), url, body, timestamp);
  const headers = { [headerName]: mac, [timestampHeaderName]: timestamp };
  if (options.keyId !== undefined) headers[options.keyIdHeaderName ?? 'X-Key-Id'] = checkedKeyId(options.keyId);
  return headers;
}

/** True where `fetch` sends the `?` of an empty query: undici 7.23 or later. */
const keepsEmptyQuery = ((major = 0, minor = 0) => major > 7 || (major === 7 && minor >= 23))(...(process.versions['undici']?.split('.').map(Number) ?? []));

/** The target (path and query) of a request for `url`; see {@link SignRequestOptions.url}. */
export function requestTarget(url: string | URL): string {
  if (typeof url === 'string') {
    if (url.startsWith('/')) {
      const fragment = url.indexOf('#');
      return fragment === -1 ? url : url.slice(0, fragment);
    }
    if (/^https?:/i.test(url) && URL.canParse(url)) return requestTarget(new URL(url));
  } else if (url instanceof URL) {
    return url.pathname + (url.search === '' && keepsEmptyQuery && /^[^#]*\?/.test(url.href) ? '?' : url.search);
  }
  throw new TypeError(
    `signRequest: url must be a target that starts with "/" or an absolute http(s) URL, and was ${describe(url)}; ` +
      'write "/users?page=2" or "https://example.com/users?page=2"',
  );
}

/** Scheme and host of an absolute URL; undefined for a target. */
function originOf(url: string | URL): URL | undefined {
  return typeof url === 'string' && url.startsWith('/') ? undefined : new URL(url);
}

function checkedTarget(url: string | URL): string {
  const target = requestTarget(url);
  const character = invalidCharacter(target);
  if (character === undefined) return target;
  throw new TypeError(`signRequest: url holds ${character}, which no server accepts there; percent-encode it, as encodeURI does, and send that same url`);
}

const VERSION_1_ONLY = ['headerName', 'timestampHeaderName', 'keyIdHeaderName'] as const;
const VERSION_2_ONLY = ['headers', 'covers', 'expires', 'nonce', 'key', 'tag', 'label'] as const;

/** @throws TypeError for options that the version would ignore. */
function versionOf(options: SignRequestOptions): 1 | 2 {
  const { version = 1, algorithm } = options;
  if (version !== 1 && version !== 2) throw new TypeError(`signRequest: version must be 1 or 2, and was ${describe(version)}`);
  const unsupported = (version === 1 ? VERSION_2_ONLY : VERSION_1_ONLY).find((name) => options[name] !== undefined);
  if (unsupported !== undefined) throw new TypeError(`signRequest: ${unsupported} means nothing with version ${version}; leave it out${version === 1 ? ', or write version: 2' : ''}`);
  if (options.key !== undefined && options.secret !== undefined) throw new TypeError('signRequest: secret must be left out beside key, since one of them signs');
  if (version === 2 && options.key === undefined && algorithm !== undefined && algorithm !== 'sha256') {
    throw new TypeError(`signRequest: algorithm must be "sha256" with version 2 (RFC 9421 section 3.3.3), and was ${describe(algorithm)}`);
  }
  return version;
}

function signingSecret(secret: Secret | readonly Secret[] | undefined): Secret {
  const first: unknown = Array.isArray(secret) ? secret[0] : secret;
  if ((typeof first === 'string' || first instanceof Uint8Array) && first.length > 0) return first;
  // The value is not shown: it may be most of a real secret.
  const kind = first === '' ? 'an empty string' : first === null ? 'null' : typeof first;
  throw new TypeError(`signRequest: secret must be a non-empty string or Buffer, or a list whose first entry is one, and was ${kind}`);
}

function checkedMethod(method: string): string {
  // RFC 9110 section 9.1: a method is a token.
  if (typeof method === 'string' && /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(method)) return method;
  throw new TypeError(`signRequest: method must be an HTTP method, and was ${describe(method)}; write "GET" or "POST"`);
}

function checkedBody(body: string | Uint8Array | null | undefined): string | Uint8Array | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  throw new TypeError(
    `signRequest: body must be the text or the bytes that are sent, and was ${describe(body)}; ` +
      'write JSON.stringify(data), and send that same text',
  );
}

function checkedKeyId(keyId: string): string {
  if (isKeyId(keyId)) return keyId;
  throw new TypeError(`signRequest: keyId must be 1 to 256 visible ASCII characters without a comma, and was ${describe(keyId)}`);
}

function timestampText(timestamp: number | string): string {
  if (typeof timestamp === 'string') return timestamp;
  if (Number.isSafeInteger(timestamp) && timestamp >= 0) return String(timestamp);
  throw new TypeError(
    `signRequest: timestamp must be whole milliseconds since the epoch, and was ${describe(timestamp)}; write Date.now()`,
  );
}
