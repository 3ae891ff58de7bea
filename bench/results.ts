import type { Machine } from './machine';
import type { MedianInterval } from './statistics';

/** One measure of one peer: every value, and how it compares with that of the subject. */
export interface PeerResult {
  /** One a round, in the unit of the measure; the subject has one beside each peer or two. */
  readonly values: readonly number[];
  /** Of the ratios; above 1 the subject does better. Undefined for the subject itself. */
  readonly ratio: MedianInterval | undefined;
  /** Of the pairs of runs side by side, one a round. */
  readonly ratios: readonly number[];
  /** Latency in milliseconds, median of all slices of all runs. */
  readonly p50?: number;
  readonly p99?: number;
  /** Connections that failed, in all rounds, and answers that took more than ten seconds. */
  readonly failures?: number;
}

/** One row of the table. */
export interface Measure {
  readonly name: string;
  readonly title: string;
  /**
   * `µs` is processor time of the server for one request, threads of its runtime included; `µs above bare` the same
   * less that of a server that writes the same answer and looks at no request.
   */
  readonly unit: 'requests/s' | 'µs' | 'µs above bare' | 'ms' | 'bytes' | 'ms of latency';
  /** Requests a second, where their number was fixed. */
  readonly rate?: number;
  /** How late the load itself came to its requests at such a rate, in milliseconds: 99th percentile, median of all runs. */
  readonly late?: number;
  readonly peers: Readonly<Record<string, PeerResult>>;
}

/** What a request costs as one number grows. */
export interface Growth {
  readonly name: string;
  readonly title: string;
  /** What grows. */
  readonly unit: string;
  readonly points: readonly number[];
  /** Runs of each peer at each point; what is told is their median. */
  readonly rounds: number;
  /** Processor time of the server for one request, in microseconds, one a point; null where it could not be measured. */
  readonly peers: Readonly<Record<string, readonly (number | null)[]>>;
}

/** All that is written to results.json. */
export interface Results {
  readonly machine: Machine;
  readonly load: { readonly tool: string; readonly connections: number; readonly seconds: number; readonly rounds: number; readonly pinned: boolean; readonly deferred: boolean; readonly semiSpace: number | undefined; readonly warmUp: number | undefined };
  readonly measures: readonly Measure[];
  readonly growth: readonly Growth[];
}
