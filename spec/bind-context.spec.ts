import { AsyncLocalStorage } from 'node:async_hooks';
import { bindContext } from '../lib/async-context';
import { ChildProgram, FROM_LIB } from './support/child-program';

test('a bound function runs in the context in which it was bound, with what it is given', () => {
  const storage = new AsyncLocalStorage<string>();
  const bound = storage.run('then', () => bindContext((a: number, b: number) => [storage.getStore(), a + b], 'test'));
  expect(storage.run('now', () => bound(1, 2))).toEqual(['then', 3]);
});

test('its throw is the caller\'s', () => {
  const bound = bindContext(() => {
    throw new Error('own');
  }, 'test');
  expect(bound).toThrow('own');
});

// AsyncResource.bind keeps tens of megabytes here on Node 20 to 24, and nothing on Node 26.
test('collections of the young generation free what a dropped one holds', async () => {
  const program = `
    const { bindContext } = require('./lib/async-context');
    const { getHeapSpaceStatistics } = require('node:v8');
    const oldSize = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_used_size;
    const before = oldSize();
    let most = 0;
    for (let i = 1; i <= 30_000; i++) {
      const data = Array.from({ length: 100 }, () => ({}));
      bindContext(() => data.length, 'test')();
      if (i % 100 === 0) most = Math.max(most, oldSize() - before);
    }
    console.log(most < 10_000_000 ? 'freed' : 'kept ' + most);`;
  expect(await ChildProgram.run([...FROM_LIB, '-e', program])).toMatchObject({ code: 0, output: 'freed\n' });
});
