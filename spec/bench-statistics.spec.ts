import fc from 'fast-check';
import { geometricMean, median, medianInterval, orderOfRound, percentile } from '../bench/statistics';

// No -0, which sorts as 0 and stands where it stood.
const value = fc.double({ min: -1e6, max: 1e6, noNaN: true }).map((one) => one + 0);
const values = fc.array(value, { minLength: 1, maxLength: 40 });

describe('median', () => {
  test.each([
    [[3], 3],
    [[3, 1], 2],
    [[10, 9, 1], 9],
    [[1, 1, 2, 100], 1.5],
  ])('of %j is %d', (given, expected) => {
    expect(median(given)).toBe(expected);
  });

  test('has as many values below as above, in any order, and leaves them in theirs', () => {
    fc.assert(fc.property(values, (given) => {
      const before = [...given];
      const middle = median(given);
      expect(given).toEqual(before);
      expect(given.filter((one) => one < middle).length).toBeLessThanOrEqual(given.length / 2);
      expect(given.filter((one) => one > middle).length).toBeLessThanOrEqual(given.length / 2);
      expect(median([...given].reverse())).toBe(middle);
    }), { numRuns: 200 });
  });

  test('throws without values', () => {
    expect(() => median([])).toThrow(new RangeError('there must be at least one value, got none'));
    expect(() => medianInterval([])).toThrow(RangeError);
  });
});

describe('percentile', () => {
  test('as many of a hundred do not exceed it, and no smaller value has as many', () => {
    fc.assert(fc.property(values, fc.integer({ min: 1, max: 100 }), (given, percent) => {
      const found = percentile(given, percent);
      expect(given).toContain(found);
      expect(given.filter((one) => one <= found).length * 100).toBeGreaterThanOrEqual(given.length * percent);
      expect(given.filter((one) => one < found).length * 100).toBeLessThan(given.length * percent);
    }), { numRuns: 200 });
  });

  test('throws without values', () => {
    expect(() => percentile([], 50)).toThrow(RangeError);
  });
});

/** Counted: of all ways in which values can lie below or above the median, those that these ranks enclose it in. */
function countedCoverage(count: number, rank: number): number {
  let enclosed = 0;
  for (let sides = 0; sides < 2 ** count; sides++) {
    let below = 0;
    for (let bits = sides; bits > 0; bits >>= 1) below += bits & 1;
    if (below >= rank && count - below >= rank) enclosed++;
  }
  return enclosed / 2 ** count;
}

describe('medianInterval', () => {
  const oneTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

  test.each(oneTo(16))('of %d values is the narrowest that covers 95 %%, or the widest there is', (count) => {
    const interval = medianInterval(oneTo(count));
    const rank = interval.low;
    expect(interval.high).toBe(count + 1 - rank);
    expect(interval.coverage).toBeCloseTo(countedCoverage(count, rank), 12);
    expect(interval.coverage >= 0.95 || rank === 1).toBe(true);
    expect(countedCoverage(count, rank + 1)).toBeLessThan(0.95);
  });

  test('covers 95 % from six values on', () => {
    expect(medianInterval(oneTo(5)).coverage).toBeCloseTo(0.9375, 12);
    expect(medianInterval(oneTo(6)).coverage).toBeCloseTo(0.96875, 12);
  });

  test('grows with the confidence that is asked for', () => {
    const narrow = medianInterval(oneTo(16), 0.5);
    const wide = medianInterval(oneTo(16), 0.999);
    expect(wide.low).toBeLessThan(narrow.low);
    expect(wide.high).toBeGreaterThan(narrow.high);
  });

  test('holds the median, and does not depend on the order', () => {
    fc.assert(fc.property(values, (given) => {
      const interval = medianInterval(given);
      expect(interval.median).toBe(median(given));
      expect(interval.low).toBeLessThanOrEqual(interval.median);
      expect(interval.high).toBeGreaterThanOrEqual(interval.median);
      expect(medianInterval([...given].reverse())).toEqual(interval);
    }), { numRuns: 200 });
  });
});

describe('geometricMean', () => {
  const ratios = fc.array(fc.double({ min: 0.01, max: 100, noNaN: true }), { minLength: 1, maxLength: 20 });

  test('of the inverse ratios is its inverse', () => {
    fc.assert(fc.property(ratios, (given) => {
      const mean = geometricMean(given);
      expect(mean * geometricMean(given.map((ratio) => 1 / ratio))).toBeCloseTo(1, 9);
      expect(mean).toBeGreaterThanOrEqual(Math.min(...given) * 0.999_999);
      expect(mean).toBeLessThanOrEqual(Math.max(...given) * 1.000_001);
    }), { numRuns: 200 });
  });

  test('of 2 and 8 is 4', () => {
    expect(geometricMean([2, 8])).toBeCloseTo(4, 12);
  });

  test('throws for what is no ratio', () => {
    expect(() => geometricMean([1, 0])).toThrow(new RangeError('a ratio must be above 0, got 0'));
    expect(() => geometricMean([NaN])).toThrow(RangeError);
    expect(() => geometricMean([])).toThrow(new RangeError('there must be at least one ratio, got none'));
  });
});

describe('orderOfRound', () => {
  const peers = fc.uniqueArray(fc.string({ minLength: 1 }).filter((name) => name !== 'subject'), { minLength: 1, maxLength: 9 });

  test('runs every peer once, beside the subject or as near as a group of so many lets it', () => {
    fc.assert(fc.property(peers, fc.nat(9), fc.integer({ min: 1, max: 9 }), (names, round, beside) => {
      const groups = orderOfRound('subject', names, round, beside);
      expect(groups.flat().filter((name) => name !== 'subject').sort()).toEqual([...names].sort());
      for (const group of groups) {
        const at = group.indexOf('subject');
        expect(group.lastIndexOf('subject')).toBe(at);
        expect(group.length).toBeLessThanOrEqual(beside + 1);
        for (const name of group) expect(Math.abs(group.indexOf(name) - at)).toBeLessThanOrEqual(Math.ceil(beside / 2));
      }
    }), { numRuns: 200 });
  });

  test('takes two peers to a group by default', () => {
    fc.assert(fc.property(peers, fc.nat(9), (names, round) => {
      expect(orderOfRound('subject', names, round)).toEqual(orderOfRound('subject', names, round, 2));
    }), { numRuns: 200 });
  });

  test('runs the subject before a peer in one round and behind it in the next', () => {
    fc.assert(fc.property(peers, fc.nat(9), fc.integer({ min: 1, max: 9 }), (names, round, beside) => {
      const leads = (name: string, at: number): boolean => {
        const group = orderOfRound('subject', names, at, beside).find((one) => one.includes(name)) ?? [];
        return group.indexOf('subject') < group.indexOf(name);
      };
      for (const name of names) expect(leads(name, round)).toBe(!leads(name, round + 1));
    }), { numRuns: 200 });
  });
});
