import { AsyncResource } from 'node:async_hooks';

/**
 * Does a slice of some work. Must not throw.
 * @param until When to stop, a time of `performance.now()`, in ms.
 * @returns Whether the work is over.
 */
type Slice = (until: number) => boolean;

/** Length of a slice, in ms; what runs over it is one value. */
const SLICE = 10;
/** Of the slice that runs at once, in the caller's own turn, where other callers may stand as well. */
const FIRST_SLICE = 5;

/** Each goes on in the async context it was begun in, whoever's turn it was before: the getters that it calls belong to one request. */
const waiting: Slice[] = [];
/** The queue is the process's, as the loop: in a request's own context it would keep alive what that has in it. */
const scope = new AsyncResource('waypost.xJson');

/**
 * Begins work at once, and goes on with it in later turns of the event loop if
 * that was not enough, each of which has one slice: `setImmediate` alone would
 * run a slice of every large response in one turn.
 */
export function workInSlices(work: Slice): void {
  if (work(performance.now() + FIRST_SLICE)) return;
  // A turn that is running has its own work still at the head of the queue, and goes on by itself.
  if (waiting.push(AsyncResource.bind(work, 'waypost.xJson')) === 1) scope.runInAsyncScope(setImmediate, null, turn);
}

function turn(): void {
  const slice = waiting[0];
  try {
    if (slice !== undefined && !slice(performance.now() + SLICE)) waiting.push(slice);
  } finally {
    waiting.shift();
    if (waiting.length > 0) setImmediate(turn);
  }
}
