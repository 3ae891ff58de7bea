import { warmUp } from '../bench/warm-up';

/** The seconds that a peer is sent requests for, which answers so many a second. */
async function secondsOf(rate: number, given?: number): Promise<{ sent: number[]; answered: number }> {
  const sent: number[] = [];
  const answered = await warmUp((seconds) => {
    sent.push(seconds);
    return Promise.resolve({ requests: rate * seconds });
  }, given);
  return { sent, answered };
}

describe('the warm-up of the bench', () => {
  test('ends with 80,000 requests', async () => {
    expect(await secondsOf(100_000)).toEqual({ sent: [1], answered: 100_000 });
    expect(await secondsOf(40_000)).toEqual({ sent: [1, 1], answered: 80_000 });
  });

  test('ends after eight seconds where answers take long', async () => {
    expect(await secondsOf(500)).toEqual({ sent: [1, 1, 1, 1, 1, 1, 1, 1], answered: 4000 });
  });

  test('takes as long as was asked for, whatever is answered', async () => {
    expect(await secondsOf(100_000, 20)).toEqual({ sent: [20], answered: 2_000_000 });
  });
});
