/**
 * Gives a prototype the members of others, as its own, where it has none of the
 * name: programs that mix something into an application look for them there.
 */
export function giveMembers(prototype: object, ...others: object[]): void {
  for (const other of others) {
    for (const name of Object.getOwnPropertyNames(other)) {
      if (!Object.hasOwn(prototype, name)) Object.defineProperty(prototype, name, Object.getOwnPropertyDescriptor(other, name) as PropertyDescriptor);
    }
  }
}

/** Gives a prototype methods that call those of another object, as they are by then: a program may have put others there. What returns that object returns what it was called on. */
export function delegate<T extends object>(prototype: T, to: (self: T) => object, names: readonly string[]): void {
  for (const name of names) {
    const value = function (this: T, ...given: unknown[]): unknown {
      const other = to(this);
      const result: unknown = Reflect.apply(Reflect.get(other, name) as () => unknown, other, given);
      return result === other ? this : result;
    };
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
}
