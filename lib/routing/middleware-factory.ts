/** Key of a factory's call, as written: the factory is no middleware itself. */
export const kFactory = Symbol('waypost.factory');

/** Marks a function that makes middleware. @param call Its call, as a program writes it. */
export function markFactory(make: object, call: string): void {
  Object.defineProperty(make, kFactory, { value: call });
}
