import type { PeerResult } from './results';
import { SUBJECT } from './settings';
import { medianInterval, orderOfRound } from './statistics';

/** What was measured of each peer, and which runs stood side by side. */
export class Pairs<T> {
  readonly all = new Map<string, T[]>();
  readonly #beside = new Map<string, [subject: T, peer: T][]>();

  /**
   * Runs every peer once, each in a group with a run of the subject.
   * @param run Measures a group.
   * @param beside Most peers of a group.
   */
  async round(peers: readonly string[], round: number, run: (group: readonly string[]) => Promise<ReadonlyMap<string, T>>, beside?: number): Promise<void> {
    for (const group of orderOfRound(SUBJECT, peers, round, beside)) {
      const found = await run(group);
      const subject = found.get(SUBJECT) as T;
      for (const [name, result] of found) {
        push(this.all, name, result);
        if (name !== SUBJECT) push(this.#beside, name, [subject, result]);
      }
    }
  }

  /** @param better of the subject's value and the peer's, in this order: above 1 where the subject does better. */
  results(valueOf: (result: T) => number, better: (subject: number, peer: number) => number): Record<string, PeerResult> {
    const results: Record<string, PeerResult> = {};
    for (const [name, all] of this.all) {
      const ratios = (this.#beside.get(name) ?? []).map(([subject, peer]) => better(valueOf(subject), valueOf(peer)));
      results[name] = { values: all.map(valueOf), ratios, ratio: ratios.length === 0 ? undefined : medianInterval(ratios) };
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
