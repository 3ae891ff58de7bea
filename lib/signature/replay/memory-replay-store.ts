import { crypto } from '../../packages';
import type { ReplayStore } from '../../options/options';

/** Options of a {@link MemoryReplayStore}. */
export interface MemoryReplayStoreOptions {
  /**
   * How many signatures it can hold: what the server lets through in the time
   * for which one is remembered (`maxAge + clockSkew`). 32 bytes each, 32 MB
   * by default. A whole number from 1 to 50000000. @default 1000000
   */
  maxEntries?: number | undefined;
  /** Tells the time, in milliseconds since the epoch. @default Date.now */
  now?: (() => number) | undefined;
}

const DEFAULT_ENTRIES = 1_000_000;
const MOST_ENTRIES = 50_000_000;

/** Slots that each claim looks at for something to drop. It takes one slot, so this many keep ahead of it. */
const SWEPT = 8;
/** Slots that a claim looks at before it calls the store full: some microseconds. Beyond them one slot in thousands could be free. */
const SWEPT_WHEN_FULL = 4096;

/** 128 bits: the first four words of a hash. */
const WORDS = 4;

/**
 * Remembers in the memory of this process which signatures were used, for
 * `security.requestSignature.replay`. Processes that share their clients need
 * a store that they share as well, such as a `RedisReplayStore`.
 *
 * It is bounded and never forgets a signature before its time: when it is
 * full, `claim` throws and the request is answered by 503. Only requests whose
 * signatures are valid fill it. No timer runs: each claim drops some of what
 * has expired.
 *
 * Throws a RangeError for a `maxEntries` out of its range.
 */
export class MemoryReplayStore implements ReplayStore {
  // A hash table with linear probing, in two blocks that the garbage collector
  // does not walk. The system gives their pages as they are first written to.
  readonly #slots: number;
  readonly #keys: Uint32Array;
  /** When the entry of each slot expires; 0 in a free slot. */
  readonly #expiries: Float64Array;
  readonly #maxEntries: number;
  readonly #now: () => number;
  /** A client that knows its own signatures can't choose such as crowd together in the table. */
  readonly #seed = crypto().randomBytes(16);
  /** The key of the claim that is under way. */
  readonly #key = new Uint32Array(WORDS);
  #size = 0;
  /** The slot at which the next sweep goes on. */
  #hand = 0;
  /** The latest expiry that was dropped. */
  #forgotten = 0;

  constructor({ maxEntries = DEFAULT_ENTRIES, now = () => Date.now() }: MemoryReplayStoreOptions = {}) {
    if (!Number.isInteger(maxEntries) || maxEntries < 1 || maxEntries > MOST_ENTRIES) {
      throw new RangeError(`MemoryReplayStore: maxEntries must be a whole number from 1 to ${MOST_ENTRIES}, and was ${String(maxEntries)}`);
    }
    // A quarter stays free, for runs of taken slots to end in.
    this.#slots = Math.ceil((maxEntries * 4) / 3);
    this.#keys = new Uint32Array(WORDS * this.#slots);
    this.#expiries = new Float64Array(this.#slots);
    this.#maxEntries = maxEntries;
    this.#now = now;
  }

  /** How many signatures it holds; some of them may have expired. */
  get size(): number {
    return this.#size;
  }

  /**
   * Claims a signature: true for the first that asks, false for every other
   * until it expires, and for one that has expired. Throws an Error when the
   * store is full.
   */
  claim(digest: string, expires: number): boolean {
    const now = this.#now();
    // Stated as what is accepted, so that NaN is not. What expires no later
    // than something that was dropped may have been dropped itself: then a
    // clock that was set back must not let it in again.
    if (!(expires >= now && expires > this.#forgotten)) return false;
    this.#sweep(SWEPT, now);
    this.#hash(digest);
    let slot = this.#find();
    const held = this.#expiries[slot] as number;
    if (held >= now) return false;
    if (held !== 0) this.#drop(slot);
    if (this.#size >= this.#maxEntries) this.#makeRoom(now);
    slot = this.#find();
    this.#keys.set(this.#key, WORDS * slot);
    this.#expiries[slot] = expires;
    this.#size += 1;
    return true;
  }

  /**
   * Among a million signatures, one in 2^108 is taken for another, and then
   * refused. Whoever lacks the secret can't aim at that.
   */
  #hash(digest: string): void {
    const hash = crypto().createHash('sha256').update(this.#seed).update(digest).digest();
    for (let word = 0; word < WORDS; word++) this.#key[word] = hash.readUInt32LE(4 * word);
  }

  /** The slot that holds the key, or the free one where it belongs. */
  #find(): number {
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
    this.#sweep(Math.min(SWEPT_WHEN_FULL, 2 * this.#slots), now);
    if (this.#size < this.#maxEntries) return;
    throw new Error(
      `The MemoryReplayStore is full: all of its ${this.#maxEntries} signatures are still accepted; ` +
        'give it a maxEntries of what the server lets through in maxAge + clockSkew',
    );
  }

  /** Goes over so many slots, and drops what has expired. */
  #sweep(slots: number, now: number): void {
    for (let looked = 0; looked < slots; looked++) {
      const expires = this.#expiries[this.#hand] as number;
      // A drop may move another entry here, so the hand stays.
      if (expires !== 0 && expires < now) this.#drop(this.#hand);
      else this.#hand = this.#after(this.#hand);
    }
  }

  /** Frees a slot, and moves up what probing would no longer reach over the gap. */
  #drop(slot: number): void {
    this.#forgotten = Math.max(this.#forgotten, this.#expiries[slot] as number);
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
