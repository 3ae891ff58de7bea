import { LONGEST_DELAY } from '../../options/field';
import type { ReplayStore } from '../../options/options';

/** The client of a {@link RedisReplayStore}: one of the `redis` package, version 4 or later. */
export interface RedisReplayClient {
  /** False while commands would be queued; undefined for unknown. */
  readonly isReady?: boolean | undefined;
  /** Sets an absent key with an expiry; null for an existing key. */
  set(key: string, value: string, options: { NX: true; PX: number }): Promise<unknown>;
}

/** Options of a {@link RedisReplayStore}. */
export interface RedisReplayStoreOptions {
  /** Prefix of its keys. Servers with the same clients must share it. @default 'waypost:replay:' */
  prefix?: string | undefined;
  /** Timeout for Redis, in milliseconds; more than 0. @default 2000 */
  timeout?: number | undefined;
}

/**
 * Keeps used signatures in Redis, for `security.requestSignature.replay`.
 * Many processes and machines then accept each signature once. Takes a
 * connected client, and leaves it open.
 *
 * While Redis does not respond, requests are answered by 503. Their signatures
 * may count as used: to retry, sign anew. Redis must not evict keys
 * (`maxmemory-policy noeviction`), and loses unsaved keys on a restart or
 * failover.
 *
 * Throws a TypeError for a client without `set` and for wrong options.
 */
export class RedisReplayStore implements ReplayStore {
  readonly #client: RedisReplayClient;
  readonly #prefix: string;
  readonly #timeout: number;

  constructor(client: RedisReplayClient, { prefix = 'waypost:replay:', timeout = 2000 }: RedisReplayStoreOptions = {}) {
    if (typeof (client as Partial<RedisReplayClient> | null | undefined)?.set !== 'function') {
      throw new TypeError('RedisReplayStore: the client must be one of the redis package; write new RedisReplayStore(await createClient().connect())');
    }
    if (typeof prefix !== 'string') throw new TypeError(`RedisReplayStore: prefix must be a string, and was ${typeof prefix}`);
    if (!(typeof timeout === 'number' && timeout > 0 && timeout <= LONGEST_DELAY)) {
      throw new TypeError(`RedisReplayStore: timeout must be milliseconds, more than 0 and at most ${LONGEST_DELAY}, and was ${String(timeout)}`);
    }
    this.#client = client;
    this.#prefix = prefix;
    this.#timeout = timeout;
  }

  /**
   * Claims a signature: true for the first claim; false for later ones, and
   * for an expired signature. Rejects when Redis is not connected, does not
   * answer in time, or answers with something else.
   */
  async claim(digest: string, expires: number): Promise<boolean> {
    // A duration, since the clock of Redis may differ from this one.
    const ttl = expires - Date.now();
    // Written so that NaN is refused.
    if (!(ttl >= 0)) return false;
    // A disconnected client would queue commands without limit.
    if (this.#client.isReady === false) throw new Error('The Redis client of the RedisReplayStore is not connected');
    const reply = await this.#withTimeout(this.#client.set(this.#prefix + digest, '1', { NX: true, PX: Math.max(1, Math.ceil(ttl)) }));
    if (reply === 'OK') return true;
    if (reply === null) return false;
    throw new Error(`Redis answered SET NX with neither OK nor null, but with a value of type ${typeof reply}`);
  }

  /** Resolves with the reply, or rejects after the timeout. */
  #withTimeout(command: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`Redis did not answer the RedisReplayStore within ${this.#timeout} ms`)), this.#timeout);
      void Promise.resolve(command).then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }
}
