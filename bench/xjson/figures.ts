/**
 * Processes that a ratio is taken in, one after the other. V8 decides anew in
 * each what it inlines, and a serializer's speed differs by a fifth for it.
 */
export const PROCESSES = 5;

/** Rounds in each of them. */
export const ROUNDS = 11;

/** Prints a figure beside its goal: the median, and the range where it was taken in several processes. */
export function line(name: string, taken: number | readonly number[], goal?: number, unit = ''): void {
  const figures = typeof taken === 'number' ? [taken] : taken;
  const figure = median(figures);
  const range = figures.length === 1 ? '' : ` (${Math.min(...figures).toFixed(2)}–${Math.max(...figures).toFixed(2)})`;
  const verdict = goal === undefined ? '' : `   goal ${goal.toFixed(2)}${unit}  ${figure <= goal ? 'met' : 'MISSED'}`;
  console.log(`  ${name.padEnd(60)} ${figure.toFixed(2).padStart(8)}${unit}${range}${verdict}`);
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The value that this part of the values does not exceed. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
}

type Work = () => unknown;

/** How long both sides run before they are timed, so that V8 has compiled them, in ms. */
const WARM_UP = 100;

/** Time of one run, in ns. */
async function time(work: Work, times: number): Promise<number> {
  const start = process.hrtime.bigint();
  for (let i = 0; i < times; i++) {
    const made = work();
    if (made instanceof Promise) await made;
  }
  return Number(process.hrtime.bigint() - start) / times;
}

async function warm(work: Work): Promise<void> {
  for (const end = performance.now() + WARM_UP; performance.now() < end; ) await time(work, 1);
}

/**
 * The median of the ratios of two measures. The two are taken in turn, so that
 * a busy machine slows both sides of each ratio; which goes first is left to
 * chance, so that no collection of garbage always meets the same one.
 */
export async function pairedRatio(measure: () => Promise<number>, against: () => Promise<number>, rounds = ROUNDS): Promise<number> {
  const ratios: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const leads = Math.random() < 0.5;
    const first = await (leads ? measure : against)();
    const second = await (leads ? against : measure)();
    ratios.push(leads ? first / second : second / first);
  }
  return median(ratios);
}

/** The median of the ratios of two times. */
export async function ratio(work: Work, against: Work, times: number, rounds = ROUNDS): Promise<number> {
  await warm(work);
  await warm(against);
  return pairedRatio(() => time(work, times), () => time(against, times), rounds);
}
