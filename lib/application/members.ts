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

/** Gives a prototype methods that call those of another as they are by then: a program may have put others there. */
export function delegate(prototype: object, other: object, names: readonly string[]): void {
  for (const name of names) {
    const value = function (this: unknown, ...given: unknown[]): unknown {
      return (other as Record<string, (...given: unknown[]) => unknown>)[name]?.apply(this, given);
    };
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
}
