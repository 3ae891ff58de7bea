import { AsyncResource } from 'node:async_hooks';
import { bindContext } from '../async-context';
import { setImmediate } from '../timers';

/**
 * Does a slice of some work. Must not throw.
 * @param until When to stop, a time of `performance.now()`, in ms.
 * @returns Whether the work is over.
 */
type Slice = (until: number) => boolean;

/** Length of a slice, in ms; what runs over it is one value. */
const SLICE = 10;
/** For what runs at once, in the caller's own turn: of all callers of a turn together, since one packet may hold hundreds of requests. */
const FIRST_SLICE = 5;
/** Work that took less is not counted: it is no more than what any handler does. */
const NOTICEABLE = 0.1;

/** Slices, each in the async context it was begun in: the getters that it calls belong to one request. */
const waiting: Slice[] = [];
/** The queue is the process's, as the loop: in a request's own context it would keep alive what that has in it. */
const scope = new AsyncResource('waypost.xJson');

/** Milliseconds left for first slices in this turn. */
let left = FIRST_SLICE;

function renew(): void {
  left = FIRST_SLICE;
}

/** Counts what a caller has taken of this turn. */
function spend(time: number): void {
  if (left === FIRST_SLICE) scope.runInAsyncScope(setImmediate, null, renew);
  left = Math.max(0, left - time);
}

/**
 * Begins work at once, and continues it in later turns of the event loop. Each
 * turn has one slice: `setImmediate` alone would run a slice of every large
 * response in one turn.
 */
export function workInSlices(work: Slice): void {
  const begun = performance.now();
  const isOver = work(begun + left);
  const taken = performance.now() - begun;
  if (taken > NOTICEABLE) spend(taken);
  if (isOver) return;
  // A running turn keeps its work at the queue's head, and goes on by itself.
  if (waiting.push(bindContext(work, 'waypost.xJson')) === 1) scope.runInAsyncScope(setImmediate, null, turn);
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
