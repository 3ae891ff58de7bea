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

test('what a dropped one holds is freed by collections of the young generation alone', async () => {
  const program = `
    const { bindContext } = require('./lib/async-context');
    const { getHeapSpaceStatistics } = require('node:v8');
    const oldSize = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_used_size;
    const make = () => { const data = new Array(1000).fill(0); return bindContext(() => data, 'test'); };
    let length = make()().length;
    global.gc();
    const before = oldSize();
    for (let i = 0; i < 10_000; i++) {
      length += make()().length;
      if (i % 500 === 0) global.gc({ type: 'minor' });
    }
    for (let i = 0; i < 3; i++) global.gc({ type: 'minor' });
    console.log(oldSize() - before < 8_000_000);`;
  expect(await ChildProgram.run(['--expose-gc', ...FROM_LIB, '-e', program])).toMatchObject({ code: 0, output: 'true\n' });
});
