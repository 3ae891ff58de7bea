import { AsyncResource } from 'node:async_hooks';

/** Work that is done a slice at a time. */
export interface Sliced {
  /**
   * Works until the time has come. Must not throw.
   * @param until A time of `performance.now()`, in ms.
   * @returns Whether the work is over.
   */
  slice(until: number): boolean;
}

/** Length of a slice, in ms; what runs over it is one value. */
const SLICE = 10;
/** Of the slice that runs at once, in the caller's own turn, where other callers may stand as well. */
const FIRST_SLICE = 5;

/**
 * Gives each turn of the event loop to one slice. `setImmediate` alone would
 * run a slice of every large response in one turn: ten of them, and the server
 * sleeps for ten slices. The loop is the process's, and so is this queue, with
 * an async context of its own: it would else keep alive what the first request
 * in it has in its own, for as long as there is work.
 */
class Turns extends AsyncResource {
  /** Each goes on in the async context it was begun in, whoever's turn it was before: the getters that it calls belong to one request. */
  readonly #waiting: Sliced['slice'][] = [];

  constructor() {
    super('waypost.xJson');
  }

  /** Begins the work at once, and goes on with it in later turns if that was not enough. */
  begin(work: Sliced): void {
    if (work.slice(performance.now() + FIRST_SLICE)) return;
    // A turn that is running has its own work still at the head of the queue, and goes on by itself.
    const slice = AsyncResource.bind((until: number) => work.slice(until), 'waypost.xJson');
    if (this.#waiting.push(slice) === 1) this.runInAsyncScope(setImmediate, null, this.#turn);
  }

  readonly #turn = (): void => {
    const slice = this.#waiting[0];
    try {
      if (slice !== undefined && !slice(performance.now() + SLICE)) this.#waiting.push(slice);
    } finally {
      this.#waiting.shift();
      if (this.#waiting.length > 0) setImmediate(this.#turn);
    }
  };
}

export const turns = new Turns();
