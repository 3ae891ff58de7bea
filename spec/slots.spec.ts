import fc from 'fast-check';
import { Slots } from '../lib/http/slots';

const ITEMS = Array.from({ length: 12 }, (_, name) => ({ name }));

describe('slots', () => {
  test('hold what a Set holds, whatever is added and deleted', () => {
    const steps = fc.array(fc.record({ adds: fc.boolean(), item: fc.constantFrom(...ITEMS) }), { maxLength: 100 });
    fc.assert(fc.property(steps, (all) => {
      const [slots, set] = [new Slots<object>(), new Set<object>()];
      for (const { adds, item } of all) {
        if (adds) {
          slots.add(item);
          set.add(item);
        } else {
          slots.delete(item);
          set.delete(item);
        }
        expect(new Set(slots)).toEqual(set);
        expect([...slots]).toHaveLength(set.size);
        for (const each of ITEMS) expect(slots.has(each)).toBe(set.has(each));
      }
    }));
  });

  test('hold an item beside others that hold it', () => {
    const [item, one, other] = [{}, new Slots<object>(), new Slots<object>()];
    one.add({});
    one.add(item);
    other.add(item);
    one.delete(item);
    expect([one.has(item), other.has(item)]).toEqual([false, true]);
  });

  test('need no more slots than items were there at a time', () => {
    const slots = new Slots<object>();
    const kept = {};
    slots.add(kept);
    for (let i = 0; i < 1000; i++) {
      const item = {};
      slots.add(item);
      slots.delete(item);
    }
    expect(Object.getOwnPropertySymbols(kept).map((key) => (kept as Record<symbol, number>)[key])).toEqual([0]);
    const last = {};
    slots.add(last);
    expect(Object.getOwnPropertySymbols(last).map((key) => (last as Record<symbol, number>)[key])).toEqual([1]);
  });
});
