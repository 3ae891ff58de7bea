import type { JsonWebKey } from 'node:crypto';
import type { KeySource } from './key-source';
import { MessageKey } from './message-key';

/** Longest JWK set, in bytes. */
const MAX_LENGTH = 262_144;
/** Most keys of a set that are kept. */
const MAX_KEYS = 100;
/** Most keys of one id that are tried. */
const MAX_TRIED = 4;
/** Time for the set to arrive, in milliseconds. */
const FETCH_TIMEOUT = 5000;
/** Time from which a set is fetched anew, in milliseconds. */
const FRESH_TIME = 600_000;
/** Least time between two fetches, in milliseconds, whatever ids are asked for. */
const REFETCH_TIME = 60_000;
/** The same behind a fetch that failed. */
const RETRY_TIME = 10_000;
/** Time for which keys hold while fetches fail, in milliseconds. */
const HOLD_TIME = 3_600_000;

/**
 * The keys of a JWK set (RFC 7517 section 5), fetched with the global `fetch`.
 * They are fetched when they are first asked for, again after ten minutes, and
 * for an unknown id at most once a minute. One fetch runs at a time. While fetches fail, keys
 * hold for an hour.
 */
export class RemoteKeys implements KeySource {
  readonly isListed = false;
  readonly #url: string;
  readonly #idOf: ((jwk: JsonWebKey) => unknown) | undefined;
  #keys: readonly MessageKey[] = [];
  #fetching: Promise<void> | undefined;
  /** Times of the last fetch, and of the last that came; with the least time to the next. */
  #askedAt = -Infinity;
  #cameAt = -Infinity;
  #pause = 0;

  /** @param idOf Id of a key. @default its `kid` */
  constructor(url: string | URL, idOf?: (jwk: JsonWebKey) => unknown) {
    this.#url = String(url);
    this.#idOf = idOf;
  }

  /** Rejects if no set was fetched within the last hour. */
  find(keyId: string): readonly MessageKey[] | Promise<readonly MessageKey[]> {
    const known = this.#known(keyId);
    const now = Date.now();
    if (known.length > 0 && now - this.#cameAt < FRESH_TIME) return known;
    if (this.#fetching === undefined && now - this.#askedAt >= this.#pause) this.#fetching = this.#fetch(now);
    if (this.#fetching !== undefined) return this.#fetching.then(() => this.#known(keyId));
    if (now - this.#cameAt < HOLD_TIME) return known;
    throw new Error(`The keys of ${this.#url} could not be fetched; the next try is ${RETRY_TIME / 1000} s behind the last`);
  }

  #known(keyId: string): readonly MessageKey[] {
    return this.#keys.filter(({ id }) => id === keyId).slice(0, MAX_TRIED);
  }

  async #fetch(now: number): Promise<void> {
    this.#askedAt = now;
    this.#pause = REFETCH_TIME;
    try {
      this.#keys = await fetchKeys(this.#url, this.#idOf);
      this.#cameAt = now;
    } catch (error) {
      this.#pause = RETRY_TIME;
      if (now - this.#cameAt >= HOLD_TIME) throw error;
    } finally {
      this.#fetching = undefined;
    }
  }
}

/** Fetches a set. Keys that can't verify a signature are left out, since a set may serve other ends too. */
async function fetchKeys(url: string, idOf = (jwk: JsonWebKey): unknown => jwk['kid']): Promise<readonly MessageKey[]> {
  // A redirect would lead to a host that nobody has named.
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(FETCH_TIMEOUT), headers: { accept: 'application/json, application/jwk-set+json, application/http-message-signatures-directory+json' } });
  if (!response.ok || response.body === null) throw new Error(`The keys of ${url} were answered by ${response.status}`);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > MAX_LENGTH) throw new Error(`The keys of ${url} are longer than ${MAX_LENGTH} bytes`);
    chunks.push(chunk);
  }
  const { keys } = JSON.parse(Buffer.concat(chunks).toString()) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new Error(`The keys of ${url} are no JWK set: an object with an array "keys"`);
  return keys.slice(0, MAX_KEYS).flatMap((jwk: JsonWebKey) => {
    try {
      const id = idOf(jwk);
      // A shared secret is no secret in a set that anyone can fetch.
      return typeof id === 'string' && jwk.kty !== 'oct' ? [new MessageKey({ key: jwk, id }, 'verify')] : [];
    } catch {
      return [];
    }
  });
}
