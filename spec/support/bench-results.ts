import type { PeerResult } from '../../bench/results';
import { medianInterval } from '../../bench/statistics';

/** What was measured of a peer; of the subject where there are no ratios. */
export function pairedResult(values: readonly number[], ratios: readonly number[] = []): PeerResult {
  return { values, ratios, ratio: ratios.length === 0 ? undefined : medianInterval(ratios) };
}
