/**
 * Lets a program assign what is worked out when it is asked for: listeners of
 * plain `node:http` keep things on a request by names of their own choice.
 */
export function makeAssignable(prototype: object, names: readonly string[]): void {
  for (const name of names) {
    const accessor = Object.getOwnPropertyDescriptor(prototype, name);
    Object.defineProperty(prototype, name, {
      ...accessor,
      set(this: object, value: unknown) {
        assign(this, name, value);
      },
    });
  }
}

/** Gives an object a property that no loop meets. */
export function defineHidden(owner: object, name: PropertyKey, value: unknown): void {
  Object.defineProperty(owner, name, { value, writable: true, configurable: true });
}

/** Gives an object a property of its own, where its class has an accessor. */
export function assign(owner: object, name: string, value: unknown): void {
  Object.defineProperty(owner, name, { value, writable: true, configurable: true, enumerable: true });
}
