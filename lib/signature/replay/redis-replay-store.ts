import { LONGEST_DELAY } from '../../options/field';
import type { ReplayStore } from '../../options/options';

/**
 * What a {@link RedisReplayStore} needs of a client: one of the `redis`
 * package, version 4 or later.
 */
export interface RedisReplayClient {
  /** Whether commands go out at once, where the client tells. */
  readonly isReady?: boolean | undefined;
  /** Sets a key that is not there, until then; null where it is there. */
  set(key: string, value: string, options: { NX: true; PX: number }): Promise<unknown>;
}

/** Options of a {@link RedisReplayStore}. */
export interface RedisReplayStoreOptions {
  /** What its keys begin with. Servers that share clients must share it. @default 'waypost:replay:' */
  prefix?: string | undefined;
  /** How long it waits for Redis, in milliseconds; more than 0. @default 2000 */
  timeout?: number | undefined;
}

/**
 * Remembers in Redis which signatures were used, for
 * `security.requestSignature.replay`, so that many processes and machines let
 * each through once. Takes a connected client, and leaves it open.
 *
 * While Redis can't be asked, requests are answered by 503. A signature whose
 * request was answered so may count as used: to try again, sign anew. Redis
 * must not evict keys (`maxmemory-policy noeviction`), and forgets what it had
 * not saved when it starts anew or fails over.
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
   * Claims a signature: true for the first that asks, false for every other
   * until it expires, and for one that has expired. Rejects when Redis is not
   * connected, does not answer in time, or answers with something else.
   */
  async claim(digest: string, expires: number): Promise<boolean> {
    // A duration, since the clock of Redis may differ from the one that the signature is judged by.
    const left = expires - Date.now();
    // Stated as what is accepted, so that NaN is not.
    if (!(left >= 0)) return false;
    // A client that is not connected would keep the command for when it is, however many there are.
    if (this.#client.isReady === false) throw new Error('The Redis client of the RedisReplayStore is not connected');
    const reply = await this.#inTime(this.#client.set(this.#prefix + digest, '1', { NX: true, PX: Math.max(1, Math.ceil(left)) }));
    if (reply === 'OK') return true;
    if (reply === null) return false;
    throw new Error(`Redis answered SET NX with neither OK nor null, but with a value of type ${typeof reply}`);
  }

  /** What the promise gives, or an error once the time is up. */
  #inTime(asked: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`Redis did not answer the RedisReplayStore within ${this.#timeout} ms`)), this.#timeout);
      void Promise.resolve(asked).then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }
}
