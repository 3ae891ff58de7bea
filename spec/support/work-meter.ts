type Method = (this: unknown, ...given: unknown[]) => unknown;
type Cost = (self: unknown, given: readonly unknown[], result: unknown) => number;

const one: Cost = () => 1;
const ofSelf: Cost = (self) => 1 + lengthOf(self);
const ofResult: Cost = (_, __, result) => 1 + lengthOf(result);
const ofGiven: Cost = (_, [given]) => 1 + lengthOf(given);
const ofSearch: Cost = (self, [, from], result) => 1 + Math.abs((result === -1 ? lengthOf(self) : result as number) - ((from as number | undefined) ?? 0));

/** What methods look at, at most. */
const COSTS: readonly [owner: object, cost: Cost, names: readonly string[]][] = [
  [String.prototype, one, ['charAt', 'charCodeAt', 'codePointAt', 'startsWith', 'endsWith']],
  [Array.prototype, one, ['push', 'pop', 'at']],
  [String.prototype, ofResult, ['slice', 'substring', 'repeat', 'concat']],
  [Array.prototype, ofResult, ['slice', 'concat', 'flatMap']],
  [String.prototype, ofSearch, ['indexOf']],
  [String.prototype, ofSelf, ['replace', 'replaceAll', 'split', 'includes', 'trim', 'toLowerCase', 'toUpperCase', 'match', 'matchAll', 'search', 'normalize']],
  [Array.prototype, ofSelf, ['join', 'splice', 'shift', 'unshift', 'map', 'filter', 'includes', 'indexOf', 'some', 'every', 'find', 'findIndex', 'reverse', 'sort', 'forEach']],
  [RegExp.prototype, ofGiven, ['test']],
  [Buffer, ofGiven, ['from']],
];

/**
 * The work of a call, counted instead of timed: one for each element that
 * builtin methods of strings and arrays look at. It does not see how often an
 * expression goes back and forth within one text.
 */
export function workOf(call: () => unknown): number {
  // Not 0, of which nothing is a multiple.
  let work = 1;
  const restore: (() => void)[] = [];
  for (const [owner, cost, names] of COSTS) {
    for (const name of names) {
      const held = Object.getOwnPropertyDescriptor(owner, name) as PropertyDescriptor & { value: Method };
      const method = held.value;
      const counting = function counting(this: unknown, ...given: unknown[]): unknown {
        const result = Reflect.apply(method, this, given) as unknown;
        work += cost(this, given, result);
        return result;
      };
      Object.defineProperty(owner, name, { ...held, value: counting });
      // Not by push, which may count by now.
      restore[restore.length] = () => Object.defineProperty(owner, name, held);
    }
  }
  try {
    call();
  } finally {
    for (const undo of restore) undo();
  }
  return work;
}

function lengthOf(value: unknown): number {
  return (value as { length?: number } | undefined)?.length ?? 0;
}

/**
 * How many times as much work is done for an input of 16 times the length:
 * about 16 where it grows with the length, some 256 where with its square.
 */
export function growth(make: (length: number) => string, call: (input: string) => unknown, length = 512): number {
  const [short, long] = [make(length), make(16 * length)];
  return workOf(() => call(long)) / workOf(() => call(short));
}
