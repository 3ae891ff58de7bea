import { isUint8Array } from 'node:util/types';
import { signRequest } from './sign';
import type { SignRequestOptions } from './sign-options';

/** What {@link signedFetch} signs with: the options of {@link signRequest} that do not belong to a single request. */
export interface SignedFetchOptions extends Omit<SignRequestOptions, OfOneRequest> {
  /** Sends what is signed; called with an absolute URL or the caller's Request, and with init. @default globalThis.fetch, as it is at each call */
  fetch?: typeof globalThis.fetch | undefined;
}

/** Members of RequestInit, by the Fetch Standard and Node's. */
const MEMBERS = [
  'method', 'headers', 'body', 'referrer', 'referrerPolicy', 'mode', 'credentials', 'cache', 'redirect', 'integrity', 'keepalive', 'signal', 'duplex', 'priority', 'window', 'dispatcher',
];

type OfOneRequest = 'method' | 'url' | 'body' | 'timestamp' | 'headers' | 'expires' | 'nonce';
type Signing = Omit<SignedFetchOptions, 'fetch'>;
type Input = Parameters<typeof globalThis.fetch>[0];
type Init = NonNullable<Parameters<typeof globalThis.fetch>[1]>;

/**
 * A `fetch` that signs every request with {@link signRequest}, at the time it is
 * sent. It takes what `fetch` takes, but for four things:
 *
 * - The body is read into memory first, so that the bytes signed are the bytes
 *   sent; the signal of the request ends that too.
 * - A redirect rejects, unless `redirect: 'manual'` hands it to the caller. A
 *   signature is for one URL, and `fetch` would carry its headers on to any
 *   host that a redirect names.
 * - The method goes out in upper case, as it is signed.
 * - A `?` with nothing behind it is left out of the URL. A Request with such a
 *   URL goes out by the URL and by what it shows of itself, which its
 *   dispatcher is not: that is to be given in init.
 *
 * @throws TypeError at once for options that cannot sign, such as an empty
 * secret. A call rejects as `fetch` does, and for a URL that is not http(s).
 */
export function signedFetch(options: SignedFetchOptions): typeof globalThis.fetch {
  // By name: options may be inherited, or getters of a class.
  const { fetch: given, version, secret, algorithm, headerName, timestampHeaderName, keyId, keyIdHeaderName, includeBody, includeQuery, covers } = options;
  const signing: Signing = { version, secret, algorithm, headerName, timestampHeaderName, keyId, keyIdHeaderName, includeBody, includeQuery, covers };
  checkSigning(signing);
  const signatures = new Signatures(signing);
  return async (input: Input, init?: Init) => {
    const own = copied(init);
    // Where fetch itself would make one: it settles URL, method, headers and the bytes of the body.
    const request = new Request(input, own);
    const url = withoutEmptyQuery(request.url);
    const body = await bytesOf(request);
    const { headers } = request;
    for (const [name, value] of Object.entries(signatures.sign(request, url, body))) headers.set(name, value);
    const settled: Init = { ...own, method: request.method.toUpperCase(), headers, redirect: request.redirect === 'manual' ? 'manual' : 'error' };
    if (body !== undefined) settled.body = body;
    const send = given ?? globalThis.fetch;
    // A URL object could have changed by now.
    if (!(input instanceof Request)) return send(url, settled);
    // A Request given holds what init can't say, such as its dispatcher. Its URL can't be changed, though.
    return url === input.url ? send(input, settled) : send(url, { ...copied(input), ...settled });
  };
}

/** A call would find a wrong option only later. */
function checkSigning(signing: Signing): void {
  try {
    // Headers to cover there are none yet.
    signRequest({ ...signing, covers: signing.covers && [], method: 'GET', url: '/' });
  } catch (error) {
    throw new TypeError((error as Error).message.replace(/^signRequest:/, 'signedFetch:'), { cause: error });
  }
}

/** The URL without a `?` that nothing follows: by the version of Node, fetch sends it or leaves it out. */
function withoutEmptyQuery(href: string): string {
  const url = new URL(href);
  // What reads as empty is taken away, and the `?` with it.
  if (url.search === '') url.search = '';
  return url.href;
}

/**
 * Signs what one client sends. By version 1 equal requests of one millisecond
 * bear one signature, and where each signature is good for one request a server
 * refuses all but the first. So an equal one is signed for the next millisecond
 * that none was signed for: servers take a clock that is ahead by `clockSkew`.
 */
class Signatures {
  readonly #signing: Signing;
  /** Those that an equal request might meet again, each with the millisecond that is the next to be tried. */
  readonly #given = new Map<string, number>();
  /** The last millisecond that has been signed for. */
  #last = 0;

  constructor(signing: Signing) {
    this.#signing = signing;
  }

  sign({ method, headers }: Request, url: string, body: Uint8Array | undefined): Record<string, string> {
    const options = { ...this.#signing, method, url, body: body ?? null };
    // It has a nonce.
    if (this.#signing.version === 2) return signRequest({ ...options, headers: { host: new URL(url).host, ...Object.fromEntries(headers) } });
    let timestamp = Date.now();
    if (timestamp > this.#last) this.#given.clear();
    const met: string[] = [];
    for (;;) {
      const signed = signRequest({ ...options, timestamp });
      const signature = Object.values(signed).join(' ');
      const next = this.#given.get(signature);
      met.push(signature);
      if (next === undefined) {
        for (const each of met) this.#given.set(each, timestamp + 1);
        this.#last = Math.max(this.#last, timestamp);
        return signed;
      }
      timestamp = next;
    }
  }
}

/** What the caller gave, as it is at the time of the call, with the method in upper case: Node's parser takes no `patch`. */
function copied(init: Init | Request | null | undefined): Init {
  const copy: Record<string, unknown> = {};
  if (init === undefined || init === null) return copy;
  // A Request may stand as init, or an object of a class: their getters are inherited, and a spread would lose them.
  const names = new Set<string>(MEMBERS);
  for (const name in init) names.add(name);
  for (const name of names) {
    const value = init[name as keyof typeof init];
    // For fetch undefined is not given: it must not hide what a Request says.
    if (value !== undefined) copy[name] = value;
  }
  if (typeof copy['method'] === 'string') copy['method'] = copy['method'].toUpperCase();
  return copy;
}

/** All of the body; undefined where there is none. */
async function bytesOf({ body, signal }: Request): Promise<Buffer | undefined> {
  if (body === null) return undefined;
  const chunks: Uint8Array[] = [];
  const keep = new WritableStream<unknown>({
    write(chunk) {
      // fetch refuses others too: the bytes of text would be anyone's guess.
      if (!isUint8Array(chunk)) throw new TypeError(`signedFetch: a stream given as body must yield Uint8Array, and yielded ${typeof chunk}`);
      chunks.push(chunk);
    },
  });
  // Unlike request.arrayBuffer() this ends when the signal is aborted, and cancels the stream.
  await body.pipeTo(keep, { signal });
  return Buffer.concat(chunks);
}
