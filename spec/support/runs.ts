/** How often a property is tried: so often by `npm test`, and as many times as often as RUNS_TIMES says by `npm run test:long`. */
export function runs(count: number): number {
  return count * Number(process.env.RUNS_TIMES ?? 1);
}
