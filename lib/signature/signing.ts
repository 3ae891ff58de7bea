import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SignatureKey } from '../options/options';
import { late } from '../packages';
import type { SignRequestOptions } from './sign-options';
import type { SignedFetchOptions } from './signed-fetch';

const
  signing = late(() => require('./sign') as typeof import('./sign')),
  directory = late(() => require('./v2/key-directory') as typeof import('./v2/key-directory')),
  fetching = late(() => require('./signed-fetch') as typeof import('./signed-fetch'));

/**
 * Signs a request (INTERFACE section 5), and returns the headers to send with
 * it: the lower-case hexadecimal signature, the timestamp, and the key id if one
 * is given. With version 2 these are `Signature-Input`, `Signature` and, if
 * there is a body, `Content-Digest` (RFC 9421 and RFC 9530).
 *
 * Throws a TypeError that names the option for a request that cannot be signed:
 * an empty secret, a url that is neither a target nor absolute or has a character that
 * no server accepts, a body that is an object, a number as timestamp that is not whole, an unknown algorithm.
 * @example
 * const body = JSON.stringify({ text: 'hello' });
 * const headers = signRequest({ secret, method: 'POST', url: '/notes', body });
 * await fetch('http://localhost:3000/notes', { method: 'POST', body, headers: { ...headers, 'Content-Type': 'application/json' } });
 */
export function signRequest(options: SignRequestOptions): Record<string, string> {
  return signing().signRequest(options);
}

/**
 * A `fetch` that signs every request with {@link signRequest} when it is sent.
 * It takes the arguments of `fetch`, with four differences:
 *
 * - The body is read into memory first, so that the bytes signed are the bytes
 *   sent; the signal of the request ends that too.
 * - A redirect rejects, unless `redirect: 'manual'` returns it to the caller. A
 *   signature is for one URL, and `fetch` would send its headers to the host of
 *   any redirect.
 * - The method is sent in upper case, as it is signed.
 * - A final `?` without a query is left out of the URL. A Request with such a
 *   URL is copied without its dispatcher, which can't be read: give that in
 *   init.
 *
 * @throws TypeError at once for options that cannot sign, such as an empty
 * secret. A call rejects as `fetch` does, and for a URL that is not http(s).
 */
export function signedFetch(options: SignedFetchOptions): typeof globalThis.fetch {
  return fetching().signedFetch(options);
}

/**
 * A handler that serves the public keys of an agent (Web Bot Auth). Its path is
 * `/.well-known/http-message-signatures-directory`. Each key signs the answer
 * for that host, so that no other host can show it as its own.
 *
 * @param keys Private keys by which the agent signs.
 * @param host Host of the agent as its `Signature-Agent` names it, with a port that is not the scheme's own.
 * @throws TypeError for a key that can't sign.
 * @example
 * app.get('/.well-known/http-message-signatures-directory', signatureDirectory(key, 'agent.example'));
 */
export function signatureDirectory(keys: SignatureKey | readonly SignatureKey[], host: string): (req: IncomingMessage, res: ServerResponse) => void {
  return directory().keyDirectory(keys, host);
}
