import type { SignatureAlgorithm } from '../options/options';
import type { Secret } from './hmac';

/** What `signRequest` signs, and how. The server must be configured alike. */
export interface SignRequestOptions {
  /** The format: 1 is INTERFACE section 5, 2 is HTTP Message Signatures (RFC 9421). @default 1 */
  version?: 1 | 2 | undefined;
  /** The shared secret. Of a list, as the server takes for rotation, the first one signs. */
  secret: Secret | readonly Secret[];
  /** HTTP method; signed upper-cased. */
  method: string;
  /**
   * What is requested. A target (`/users?page=2`) is signed exactly as it
   * stands, so it must be what goes over the wire. Of an absolute http(s) URL
   * the path and query are signed as a URL serializer writes them, which is
   * what `fetch(url)` and `http.request(url)` send; a `?` with nothing behind
   * it is dropped there, though `fetch` of later Nodes sends it: leave it out
   * of the URL. A fragment never travels and is dropped. A character that no
   * server accepts where it stands throws.
   */
  url: string | URL;
  /** The body exactly as it is sent: text (as UTF-8) or bytes. No body by default. */
  body?: string | Uint8Array | null | undefined;
  /** Milliseconds since the epoch. @default Date.now() */
  timestamp?: number | string | undefined;
  /** HMAC hash algorithm. @default 'sha256' */
  algorithm?: SignatureAlgorithm | undefined;
  /** Name of the signature header. @default 'Svc-Request-Sig' */
  headerName?: string | undefined;
  /** Name of the timestamp header. @default 'X-Timestamp' */
  timestampHeaderName?: string | undefined;
  /** Id of the client's key, where the server asks for one; travels beside the signature. @default none */
  keyId?: string | undefined;
  /** Name of the header that carries it. @default 'X-Key-Id' */
  keyIdHeaderName?: string | undefined;
  /** Sign the body too. @default true */
  includeBody?: boolean | undefined;
  /** Sign the query too. @default true */
  includeQuery?: boolean | undefined;
  /** With version 2: the headers that are sent along; of these `Content-Type` and `Content-Encoding` are signed. @default {} */
  headers?: Readonly<Record<string, string>> | undefined;
  /** With version 2: what else is signed, names of `headers` or `'@authority'`. @default [] */
  covers?: readonly string[] | undefined;
  /** With version 2: until when the signature may be used, in milliseconds since the epoch. @default as long as the server's maxAge */
  expires?: number | undefined;
  /** With version 2: what no other signature has, 16 or more characters of printable ASCII. @default 128 random bits */
  nonce?: string | undefined;
}
