import type { PeerResult } from './results';
import { SUBJECT } from './settings';
import { median, medianInterval, orderOfRound } from './statistics';

/** What was measured of each peer, and which runs stood side by side. A run is the slices that were measured of one process. */
export class Pairs<T> {
  readonly all = new Map<string, (readonly T[])[]>();
  readonly #beside = new Map<string, [subject: readonly T[], peer: readonly T[]][]>();

  /**
   * Runs every peer once, each beside a run of the subject.
   * @param run Measures a group; answers the slices of each of it.
   */
  async round(peers: readonly string[], round: number, run: (group: readonly string[]) => Promise<ReadonlyMap<string, readonly T[]>>): Promise<void> {
    for (const group of orderOfRound(SUBJECT, peers, round)) {
      const found = await run(group);
      const subject = found.get(SUBJECT) as readonly T[];
      for (const [name, slices] of found) {
        push(this.all, name, slices);
        if (name !== SUBJECT) push(this.#beside, name, [subject, slices]);
      }
    }
  }

  /**
   * The median over the slices stands for a run: one slice that the machine
   * was busy with something else in does not count.
   * @param better of the subject's value and the peer's, in this order: above 1 where the subject does better.
   */
  results(valueOf: (slice: T) => number, better: (subject: number, peer: number) => number): Record<string, PeerResult> {
    const results: Record<string, PeerResult> = {};
    for (const [name, all] of this.all) {
      const ratios = (this.#beside.get(name) ?? []).map(([subject, peer]) => median(peer.map((slice, i) => better(valueOf(subject[i] as T), valueOf(slice)))));
      results[name] = { values: all.map((slices) => median(slices.map(valueOf))), ratios, ratio: ratios.length === 0 ? undefined : medianInterval(ratios) };
    }
    return results;
  }
}

export const moreIsBetter = (subject: number, peer: number): number => subject / peer;
export const lessIsBetter = (subject: number, peer: number): number => peer / subject;

function push<T>(lists: Map<string, T[]>, name: string, value: T): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [value]);
  else list.push(value);
}
