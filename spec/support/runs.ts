/**
 * How often a property is tried: by `npm test` half as often, since chance is the same there each time, and by
 * `npm run test:long` as many times as often as RUNS_TIMES says.
 */
export function runs(count: number): number {
  return Math.ceil(count * Number(process.env.RUNS_TIMES ?? 0.5));
}
