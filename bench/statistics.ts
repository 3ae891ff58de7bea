/** An interval that holds the median of what was sampled, with a probability of `coverage`. */
export interface MedianInterval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly coverage: number;
}

/**
 * The middle value; the mean of the two middle ones of an even number.
 * @throws RangeError without values.
 */
export function median(values: readonly number[]): number {
  const sorted = ascending(values);
  const half = sorted.length >> 1;
  const upper = sorted[half] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] as number) + upper) / 2;
}

/**
 * The smallest value that at least that many of a hundred do not exceed.
 * @param percent above 0, at most 100
 * @throws RangeError without values.
 */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = ascending(values);
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] as number;
}

/**
 * The median with the narrowest pair of order statistics that covers it. It
 * assumes only that the values are independent and of one distribution: each
 * then lies below the true median with probability 1/2. With fewer than six
 * values even the smallest and the largest cover less than 95 %.
 *
 * @param confidence Least probability that is wanted. @default 0.95
 * @throws RangeError without values.
 */
export function medianInterval(values: readonly number[], confidence = 0.95): MedianInterval {
  const sorted = ascending(values);
  const { length } = sorted;
  let rank = 1;
  while (rank * 2 < length && coverage(length, rank + 1) >= confidence) rank++;
  return {
    median: median(sorted),
    low: sorted[rank - 1] as number,
    high: sorted[length - rank] as number,
    coverage: coverage(length, rank),
  };
}

/** Probability that the values of these ranks, from below and from above, enclose the median. */
function coverage(count: number, rank: number): number {
  let outside = 0;
  let term = 0.5 ** count;
  for (let below = 0; below < rank; below++) {
    outside += term;
    term *= (count - below) / (below + 1);
  }
  return Math.max(0, 1 - 2 * outside);
}

/**
 * The mean of ratios: that of the inverse ratios is its inverse.
 * @throws RangeError without values, or when one is not above 0.
 */
export function geometricMean(ratios: readonly number[]): number {
  let sum = 0;
  for (const ratio of ratios) {
    if (!(ratio > 0)) throw new RangeError(`a ratio must be above 0, got ${ratio}`);
    sum += Math.log(ratio);
  }
  if (ratios.length === 0) throw new RangeError('there must be at least one ratio, got none');
  return Math.exp(sum / ratios.length);
}

/**
 * The order of one round: groups, each of which holds one run of the subject
 * amid those of so many peers at most. Who goes before the subject in
 * one round goes behind it in the next, so that a machine that grows slower
 * favours neither.
 * @param beside Most peers of a group. @default 2
 */
export function orderOfRound(subject: string, peers: readonly string[], round: number, beside = 2): string[][] {
  const groups: string[][] = [];
  for (let i = 0; i < peers.length; i += beside) {
    const group = peers.slice(i, i + beside);
    group.splice(Math.ceil(group.length / 2), 0, subject);
    groups.push(round % 2 === 0 ? group : group.reverse());
  }
  return groups;
}

function ascending(values: readonly number[]): number[] {
  if (values.length === 0) throw new RangeError('there must be at least one value, got none');
  return [...values].sort((a, b) => a - b);
}
