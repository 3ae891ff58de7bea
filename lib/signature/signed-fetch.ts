import { isUint8Array } from 'node:util/types';
import type { SignatureKeys } from '../options/options';
import { late } from '../packages';
import type { ReceivedRequest } from './scheme';
import { requestTarget, signRequest } from './sign';
import type { KeySource } from './v2/key-source';
import type { SignRequestOptions } from './sign-options';

const
  keySources = late(() => require('./v2/key-source') as typeof import('./v2/key-source')),
  responses = late(() => require('./v2/message-response') as typeof import('./v2/message-response'));

/** Options of {@link signedFetch}: those of {@link signRequest} that hold for all requests. */
export interface SignedFetchOptions extends Omit<SignRequestOptions, PerRequestOption> {
  /** Sends the signed request; called with an absolute URL or the caller's Request, and with init. @default globalThis.fetch, read at each call */
  fetch?: typeof globalThis.fetch | undefined;
  /**
   * Keys by which the server signs its responses (`security.signResponses`), as a server's `keys`; with version 2. A call rejects for
   * a response that none of them has signed, for this very request. The body is read whole first. @default none: nothing is checked
   */
  responseKeys?: SignatureKeys | undefined;
}

/** Members of RequestInit, in the Fetch Standard and in Node. */
const INIT_MEMBERS = [
  'method', 'headers', 'body', 'referrer', 'referrerPolicy', 'mode', 'credentials', 'cache', 'redirect', 'integrity', 'keepalive', 'signal', 'duplex', 'priority', 'window', 'dispatcher',
];

type PerRequestOption = 'method' | 'url' | 'body' | 'timestamp' | 'headers' | 'expires' | 'nonce';
type SigningOptions = Omit<SignedFetchOptions, 'fetch' | 'responseKeys'>;
type Input = Parameters<typeof globalThis.fetch>[0];
type Init = NonNullable<Parameters<typeof globalThis.fetch>[1]>;

/** Makes the `fetch` that `signedFetch` of signing.ts describes. */
export function signedFetch(options: SignedFetchOptions): typeof globalThis.fetch {
  // Read by name: options may be inherited, or getters of a class.
  const { fetch: customFetch, responseKeys, version, secret, algorithm, headerName, timestampHeaderName, keyId, keyIdHeaderName, includeBody, includeQuery, covers, key, tag, label } = options;
  const signing: SigningOptions = { version, secret, algorithm, headerName, timestampHeaderName, keyId, keyIdHeaderName, includeBody, includeQuery, covers, key, tag, label };
  checkSigning(signing);
  const signatures = new Signatures(signing);
  if (responseKeys !== undefined && version !== 2) throw new TypeError('signedFetch: responseKeys means nothing with version 1, whose signature no response is bound to; leave it out, or write version: 2');
  const keys = responseKeys === undefined ? undefined : keySources().keySource(responseKeys, 'signedFetch: responseKeys');
  return async (input: Input, init?: Init) => {
    const own = copiedInit(init);
    // The constructor that fetch itself calls: it normalizes URL, method, headers and body.
    const request = new Request(input, own);
    const url = withoutEmptyQuery(request.url);
    const body = await readBody(request);
    const { headers } = request;
    // The digest is of bytes as sent, and fetch hands on inflated ones.
    if (keys !== undefined) headers.set('accept-encoding', 'identity');
    for (const [name, value] of Object.entries(signatures.sign(request, url, body))) headers.set(name, value);
    const signedInit: Init = { ...own, method: request.method.toUpperCase(), headers, redirect: request.redirect === 'manual' ? 'manual' : 'error' };
    if (body !== undefined) signedInit.body = body;
    const send = customFetch ?? globalThis.fetch;
    // The URL object of the caller may have changed since.
    // The caller's Request holds a dispatcher, which init can't copy, but its URL is read-only.
    const response = await (!(input instanceof Request) ? send(url, signedInit) : url === input.url ? send(input, signedInit) : send(url, { ...copiedInit(input), ...signedInit }));
    return keys === undefined ? response : verified(response, { method: request.method.toUpperCase(), target: requestTarget(url), headers: Object.fromEntries(headers) }, keys);
  };
}

/** Rejects for a response that no key has signed. */
async function verified(response: Response, request: ReceivedRequest, keys: KeySource): Promise<Response> {
  const { status, statusText, headers, url } = response;
  const body = Buffer.from(await response.arrayBuffer());
  const refused = await responses().checkResponse({ method: '', target: '', status, headers: Object.fromEntries(headers), request }, body, keys);
  if (refused !== null) throw new TypeError(`signedFetch: the response ${status} of ${url} is not signed by any of responseKeys for this request: ${refused.reason}`);
  const copy = new Response(body.length === 0 ? null : body, { status, statusText, headers });
  return Object.defineProperty(copy, 'url', { value: url });
}

/** @throws TypeError at once for options that no call could sign with. */
function checkSigning(signing: SigningOptions): void {
  try {
    // There are no headers to cover yet.
    signRequest({ ...signing, covers: signing.covers && [], method: 'GET', url: '/' });
  } catch (error) {
    throw new TypeError((error as Error).message.replace(/^signRequest:/, 'signedFetch:'), { cause: error });
  }
}

/** The URL without an empty query: versions of Node differ on sending its `?`. */
function withoutEmptyQuery(href: string): string {
  const url = new URL(href);
  // `search` is empty for a bare `?` too; the setter removes it.
  if (url.search === '') url.search = '';
  return url.href;
}

/**
 * The signatures of one client. In version 1 equal requests of one millisecond
 * have equal signatures, of which a server with a replay store accepts one. So
 * an equal request is signed for the next free millisecond: servers accept
 * timestamps that are ahead by up to `clockSkew`.
 */
class Signatures {
  readonly #signing: SigningOptions;
  /** Recent signatures, each with the next timestamp to try. */
  readonly #nextTimestamps = new Map<string, number>();
  /** The latest timestamp used. */
  #latest = 0;

  constructor(signing: SigningOptions) {
    this.#signing = signing;
  }

  sign({ method, headers }: Request, url: string, body: Uint8Array | undefined): Record<string, string> {
    const options = { ...this.#signing, method, url, body: body ?? null };
    // Version 2 has a nonce.
    if (this.#signing.version === 2) return signRequest({ ...options, headers: { host: new URL(url).host, ...Object.fromEntries(headers) } });
    let timestamp = Date.now();
    if (timestamp > this.#latest) this.#nextTimestamps.clear();
    const collisions: string[] = [];
    for (;;) {
      const signed = signRequest({ ...options, timestamp });
      const signature = Object.values(signed).join(' ');
      const next = this.#nextTimestamps.get(signature);
      collisions.push(signature);
      if (next === undefined) {
        for (const each of collisions) this.#nextTimestamps.set(each, timestamp + 1);
        this.#latest = Math.max(this.#latest, timestamp);
        return signed;
      }
      timestamp = next;
    }
  }
}

/** A copy of the caller's init, with the method in upper case: Node's parser refuses `patch`. */
function copiedInit(init: Init | Request | null | undefined): Init {
  const copy: Record<string, unknown> = {};
  if (init === undefined || init === null) return copy;
  // A Request, or an instance of a class, has inherited getters, which spread loses.
  const names = new Set<string>(INIT_MEMBERS);
  for (const name in init) names.add(name);
  for (const name of names) {
    const value = init[name as keyof typeof init];
    // As in fetch, undefined does not override a member of the Request.
    if (value !== undefined) copy[name] = value;
  }
  if (typeof copy['method'] === 'string') copy['method'] = copy['method'].toUpperCase();
  return copy;
}

/** The bytes of the body; undefined without a body. */
async function readBody({ body, signal }: Request): Promise<Buffer | undefined> {
  if (body === null) return undefined;
  const chunks: Uint8Array[] = [];
  const sink = new WritableStream<unknown>({
    write(chunk) {
      // fetch too refuses chunks of other types.
      if (!isUint8Array(chunk)) throw new TypeError(`signedFetch: a stream given as body must yield Uint8Array, and yielded ${typeof chunk}`);
      chunks.push(chunk);
    },
  });
  // Unlike request.arrayBuffer(), pipeTo ends when the signal is aborted, and cancels the stream.
  await body.pipeTo(sink, { signal });
  return Buffer.concat(chunks);
}
