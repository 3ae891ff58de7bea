import { setImmediate as nextTurn } from 'node:timers/promises';
import { workInSlices } from '../lib/http/slices';

/** A clock that only the work itself moves, in ms. */
let now = 0;
beforeEach(() => {
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => jest.restoreAllMocks());

/** Work of so many steps of 0.2 ms; does at least one whenever it is called, and as many more as there is time for. */
function begin(steps: number, inSlices = workInSlices): { left: number } {
  const work = { left: steps };
  inSlices((until) => {
    do {
      work.left--;
      now += 0.2;
    } while (work.left > 0 && now < until);
    return work.left === 0;
  });
  return work;
}

/** How long the longest turn of the event loop was that ran until all is over, this one included, in ms. */
async function longestTurn(works: readonly { left: number }[], begun: number): Promise<number> {
  let longest = now - begun;
  while (works.some(({ left }) => left > 0)) {
    const before = now;
    await nextTurn();
    longest = Math.max(longest, now - before);
  }
  return longest;
}

describe('work in slices', () => {
  test.each([1, 10, 300])('%s begun in one turn take one slice of it together, and a step each', async (count) => {
    const begun = now;
    const works = Array.from({ length: count }, () => begin(200));
    expect(now - begun).toBeLessThanOrEqual(5.3 + count * 0.2);
    expect(await longestTurn(works, begun)).toBeLessThanOrEqual(10.3 + count * 0.2);
  });

  test('what is small is over at once, however many have gone before it in the turn', async () => {
    const large = Array.from({ length: 10 }, () => begin(200));
    expect(begin(1).left).toBe(0);
    await longestTurn(large, now);
  });

  test('goes on though a test has faked the timers meanwhile', async () => {
    jest.useFakeTimers({ doNotFake: ['performance'] });
    const works = [begin(200), begin(200)];
    jest.useRealTimers();
    expect(await longestTurn(works, now)).toBeLessThanOrEqual(10.4);
  });

  test('goes on though it was loaded while a test had faked the timers', async () => {
    jest.useFakeTimers({ doNotFake: ['performance'] });
    let loaded: typeof import('../lib/http/slices') | undefined;
    jest.isolateModules(() => {
      loaded = jest.requireActual('../lib/http/slices');
    });
    jest.useRealTimers();
    const works = [begin(200, loaded?.workInSlices), begin(200, loaded?.workInSlices)];
    expect(await longestTurn(works, now)).toBeLessThanOrEqual(10.4);
  });

  test('each turn has as much to begin with', async () => {
    for (let i = 0; i < 5; i++) {
      expect(begin(20).left).toBe(0);
      await nextTurn();
    }
  });
});
