import * as timers from 'node:timers';

/** Node's timers as they were at load: a program's tests may fake the global ones, and what is under way must go on. */
export const { clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } = timers;
