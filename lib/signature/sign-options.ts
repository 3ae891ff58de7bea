import type { MessageAlgorithm, SignatureAlgorithm, SignatureKey } from '../options/options';
import type { Secret } from './hmac';

/** Options of `signRequest`. The server must be configured alike. */
export interface SignRequestOptions {
  /** The format: 1 is INTERFACE section 5, 2 is HTTP Message Signatures (RFC 9421). @default 1 */
  version?: 1 | 2 | undefined;
  /** The shared secret. Of a list, as the server takes for rotation, the first one signs. @default none */
  secret?: Secret | readonly Secret[] | undefined;
  /** With version 2, in place of `secret`: a private key, which signs by its own algorithm. @default none */
  key?: SignatureKey | undefined;
  /** HTTP method; signed upper-cased. */
  method: string;
  /**
   * The target or URL of the request. A target (`/users?page=2`) is signed as
   * written, so it must be sent unchanged. Of an absolute http(s) URL the path
   * and query are signed as a URL serializer writes them and as `fetch(url)` of
   * this Node sends them: with a final `?` from undici 7.23 on (Node 24 and 26),
   * which `http.request(url)` drops. A fragment is never sent and is dropped. A
   * character that no server accepts there throws.
   */
  url: string | URL;
  /** The body exactly as it is sent: text (as UTF-8) or bytes. No body by default. */
  body?: string | Uint8Array | null | undefined;
  /** Milliseconds since the epoch. @default Date.now() */
  timestamp?: number | string | undefined;
  /** HMAC hash algorithm; of an RSA key `'rsa-pss-sha512'` or `'rsa-v1_5-sha256'`. @default 'sha256', or by the key */
  algorithm?: SignatureAlgorithm | MessageAlgorithm | undefined;
  /** Name of the signature header. @default 'Svc-Request-Sig' */
  headerName?: string | undefined;
  /** Name of the timestamp header. @default 'X-Timestamp' */
  timestampHeaderName?: string | undefined;
  /** Id of the client's key, for servers that ask for one; sent beside the signature. @default none */
  keyId?: string | undefined;
  /** Name of the header of the key id. @default 'X-Key-Id' */
  keyIdHeaderName?: string | undefined;
  /** Sign the body too. @default true */
  includeBody?: boolean | undefined;
  /** Sign the query too. @default true */
  includeQuery?: boolean | undefined;
  /** With version 2: the headers of the request; `Content-Type` and `Content-Encoding` are signed. @default {} */
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * With version 2: further components to sign: names of `headers`, derived components such as `'@authority'`, and those with
   * parameters, such as `'@query-param;name="id"'`. Of an absolute url host and scheme are known. @default []
   */
  covers?: readonly string[] | undefined;
  /** With version 2: the purpose of the signature, for servers that ask for one. @default none */
  tag?: string | undefined;
  /** With version 2: the label of the signature. Signatures in `headers` stay in front of it. @default 'sig1' */
  label?: string | undefined;
  /** With version 2: expiry of the signature, in milliseconds since the epoch. @default as long as the server's maxAge */
  expires?: number | undefined;
  /** With version 2: a unique text of 16 or more printable ASCII characters. @default 128 random bits */
  nonce?: string | undefined;
}
