import fc from 'fast-check';
import { lessIsBetter, moreIsBetter, Pairs } from '../bench/pairs';
import { SUBJECT } from '../bench/settings';
import { median, medianInterval } from '../bench/statistics';

const PEERS = ['a', 'b', 'c'];

/** Runs that many rounds; `measure` tells what a peer comes to when it runs for the nth time, in which group of all. */
async function compare(rounds: number, measure: (name: string, run: number, group: number) => number): Promise<{ pairs: Pairs<number>; groups: (readonly string[])[] }> {
  const pairs = new Pairs<number>();
  const groups: (readonly string[])[] = [];
  const runs = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    await pairs.round(PEERS, round, (group) => {
      groups.push(group);
      return Promise.resolve(new Map(group.map((name) => {
        const run = runs.get(name) ?? 0;
        runs.set(name, run + 1);
        return [name, measure(name, run, groups.length)];
      })));
    });
  }
  return { pairs, groups };
}

const itself = (value: number): number => value;

describe('pairs of runs', () => {
  test('every peer runs once a round, in a group with the subject', async () => {
    const { groups } = await compare(4, () => 1);
    for (const group of groups) expect(group).toContain(SUBJECT);
    for (let round = 0; round < 4; round++) {
      const names = groups.slice(round * 2, round * 2 + 2).flat().filter((name) => name !== SUBJECT);
      expect(names.sort()).toEqual(PEERS);
    }
  });

  test('a ratio compares the peer with the run of the subject in its own group', async () => {
    // The machine is twice as slow from one group to the next.
    const { pairs } = await compare(6, (name, _run, group) => (name === SUBJECT ? 3 : 2) / 2 ** group);
    const results = pairs.results(itself, moreIsBetter);
    for (const name of PEERS) expect(results[name]?.ratios).toEqual(Array(6).fill(1.5));
    expect(results[SUBJECT]?.ratios).toEqual([]);
    expect(results[SUBJECT]?.ratio).toBeUndefined();
    expect(results[SUBJECT]?.values).toHaveLength(12);
  });

  test('above 1 is better for the subject, whether more or less is better', async () => {
    const { pairs } = await compare(6, (name) => (name === SUBJECT ? 4 : 2));
    expect(pairs.results(itself, moreIsBetter)['a']?.ratio?.median).toBe(2);
    expect(pairs.results(itself, lessIsBetter)['a']?.ratio?.median).toBe(0.5);
  });

  test('the interval is that of the ratios of the rounds', async () => {
    await fc.assert(fc.asyncProperty(fc.array(fc.double({ min: 0.1, max: 10, noNaN: true }), { minLength: 1, maxLength: 12 }), async (rates) => {
      const { pairs } = await compare(rates.length, (name, run) => (name === SUBJECT ? 1 : (rates[run] as number)));
      const expected = rates.map((rate) => 1 / rate);
      const result = pairs.results(itself, moreIsBetter)['b'];
      expect(result?.ratios).toEqual(expected);
      expect(result?.values).toEqual(rates);
      expect(result?.ratio).toEqual(medianInterval(expected));
      expect(result?.ratio?.median).toBe(median(expected));
    }), { numRuns: 50 });
  });
});
