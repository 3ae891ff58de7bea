/** Load before what is measured, a second at a time. */
const SECOND = 1;
/** By so many requests V8 has compiled what answers them: fewer, and a run tells how soon that happens. */
const ENOUGH = 80_000;
/** Where an answer takes long, in seconds. On a slow machine V8 is not done after three: signed POSTs came to 0.72 of node:http, and to 0.88 behind fifteen. */
const MOST = 8;

/** How long a warm-up takes, in seconds, for the time that is left, unless it is said how long. */
const USUAL = 2;

/** @param given Seconds that were asked for. */
export function warmUpSeconds(given?: number): number {
  return given ?? USUAL;
}

/** Sends requests until a peer is warm. @param send Sends for so many seconds. @param given Seconds that were asked for. Returns how many were answered. */
export async function warmUp(send: (seconds: number) => Promise<{ readonly requests: number }>, given?: number): Promise<number> {
  if (given !== undefined) return (await send(given)).requests;
  let answered = 0;
  for (let seconds = 0; seconds < MOST && answered < ENOUGH; seconds += SECOND) answered += (await send(SECOND)).requests;
  return answered;
}
