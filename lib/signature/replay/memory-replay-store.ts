import { crypto } from '../../packages';
import type { ReplayStore } from '../../options/options';

/** Options of a {@link MemoryReplayStore}. */
export interface MemoryReplayStoreOptions {
  /**
   * Most signatures that it holds: as many as the server accepts within
   * `maxAge + clockSkew`, the time for which each is kept. 32 bytes each, 32 MB
   * by default. A whole number from 1 to 50000000. @default 1000000
   */
  maxEntries?: number | undefined;
  /** Returns the time, in milliseconds since the epoch. @default Date.now */
  now?: (() => number) | undefined;
}

const DEFAULT_ENTRIES = 1_000_000;
const MAX_ENTRIES = 50_000_000;

/** Slots swept by each claim. A claim takes one slot, so sweeping stays ahead. */
const SWEEP_SLOTS = 8;
/** Slots swept before a claim calls the store full: some microseconds. Beyond them one slot in thousands could be free. */
const FULL_SWEEP_SLOTS = 4096;

/** 128 bits: the first four words of a hash. */
const WORDS = 4;

/**
 * Keeps used signatures in the memory of this process, for
 * `security.requestSignature.replay`. Processes with the same clients need a
 * shared store, such as a `RedisReplayStore`.
 *
 * It is bounded and never drops a signature before it expires: when it is
 * full, `claim` throws and the request is answered by 503. Only requests with
 * valid signatures fill it. No timer runs: each claim drops some expired
 * entries.
 *
 * Throws a RangeError for a `maxEntries` out of its range.
 */
export class MemoryReplayStore implements ReplayStore {
  // A hash table with linear probing, in two typed arrays. V8's collector does
  // not scan these, and the system allocates their pages at the first write.
  readonly #slots: number;
  readonly #keys: Uint32Array;
  /** Expiry of each slot's entry; 0 in a free slot. */
  readonly #expiries: Float64Array;
  readonly #maxEntries: number;
  readonly #now: () => number;
  /** Seed of the hash, so that no client can choose signatures that collide. */
  readonly #seed = crypto().randomBytes(16);
  /** The key of the current claim. */
  readonly #key = new Uint32Array(WORDS);
  #size = 0;
  /** The slot at which the next sweep starts. */
  #hand = 0;
  /** The latest expiry of a dropped entry. */
  #latestDropped = 0;

  constructor({ maxEntries = DEFAULT_ENTRIES, now = () => Date.now() }: MemoryReplayStoreOptions = {}) {
    if (!Number.isInteger(maxEntries) || maxEntries < 1 || maxEntries > MAX_ENTRIES) {
      throw new RangeError(`MemoryReplayStore: maxEntries must be a whole number from 1 to ${MAX_ENTRIES}, and was ${String(maxEntries)}`);
    }
    // A quarter stays free, which keeps probe sequences short.
    this.#slots = Math.ceil((maxEntries * 4) / 3);
    this.#keys = new Uint32Array(WORDS * this.#slots);
    this.#expiries = new Float64Array(this.#slots);
    this.#maxEntries = maxEntries;
    this.#now = now;
  }

  /** Number of signatures held; some may have expired. */
  get size(): number {
    return this.#size;
  }

  /**
   * Claims a signature: true for the first claim; false for later ones, and
   * for an expired signature. Throws an Error when the store is full.
   */
  claim(digest: string, expires: number): boolean {
    const now = this.#now();
    // Written so that NaN is refused. After the clock was set back, a signature
    // that expires no later than a dropped one may have been dropped itself.
    if (!(expires >= now && expires > this.#latestDropped)) return false;
    this.#sweep(SWEEP_SLOTS, now);
    this.#hash(digest);
    let slot = this.#slotOfKey();
    const held = this.#expiries[slot] as number;
    if (held >= now) return false;
    if (held !== 0) this.#drop(slot);
    if (this.#size >= this.#maxEntries) this.#makeRoom(now);
    slot = this.#slotOfKey();
    this.#keys.set(this.#key, WORDS * slot);
    this.#expiries[slot] = expires;
    this.#size += 1;
    return true;
  }

  /**
   * Among a million signatures, one in 2^108 is taken for another, and is
   * refused.
   */
  #hash(digest: string): void {
    const hash = crypto().createHash('sha256').update(this.#seed).update(digest).digest();
    for (let word = 0; word < WORDS; word++) this.#key[word] = hash.readUInt32LE(4 * word);
  }

  /** The slot of the key, or the free slot for it. */
  #slotOfKey(): number {
    let slot = (this.#key[0] as number) % this.#slots;
    while (this.#expiries[slot] !== 0 && !this.#holds(slot)) slot = this.#after(slot);
    return slot;
  }

  #holds(slot: number): boolean {
    const key = this.#key;
    const keys = this.#keys;
    const at = WORDS * slot;
    return keys[at] === key[0] && keys[at + 1] === key[1] && keys[at + 2] === key[2] && keys[at + 3] === key[3];
  }

  #after(slot: number): number {
    return slot + 1 === this.#slots ? 0 : slot + 1;
  }

  #makeRoom(now: number): void {
    this.#sweep(Math.min(FULL_SWEEP_SLOTS, 2 * this.#slots), now);
    if (this.#size < this.#maxEntries) return;
    throw new Error(
      `The MemoryReplayStore is full: all of its ${this.#maxEntries} signatures are still accepted; ` +
        'give it a maxEntries of what the server lets through in maxAge + clockSkew',
    );
  }

  /** Visits that many slots, and drops expired entries. */
  #sweep(slots: number, now: number): void {
    for (let visited = 0; visited < slots; visited++) {
      const expires = this.#expiries[this.#hand] as number;
      // The hand stays after a drop, which may move another entry here.
      if (expires !== 0 && expires < now) this.#drop(this.#hand);
      else this.#hand = this.#after(this.#hand);
    }
  }

  /** Frees a slot, and moves up entries that probing could not reach past the gap. */
  #drop(slot: number): void {
    this.#latestDropped = Math.max(this.#latestDropped, this.#expiries[slot] as number);
    this.#size -= 1;
    let gap = slot;
    for (let next = this.#after(gap); this.#expiries[next] !== 0; next = this.#after(next)) {
      const home = (this.#keys[WORDS * next] as number) % this.#slots;
      if (this.#distance(home, next) < this.#distance(gap, next)) continue;
      this.#keys.copyWithin(WORDS * gap, WORDS * next, WORDS * next + WORDS);
      this.#expiries[gap] = this.#expiries[next] as number;
      gap = next;
    }
    this.#expiries[gap] = 0;
  }

  /** Steps from one slot on to another. */
  #distance(from: number, to: number): number {
    return to >= from ? to - from : to - from + this.#slots;
  }
}
