/** How a function that makes middleware is called; where it stands, the function is no middleware itself. */
export const kFactory = Symbol('waypost.factory');

/** Marks a function that makes middleware. @param call How it is called, as a program writes it. */
export function markFactory(make: object, call: string): void {
  Object.defineProperty(make, kFactory, { value: call });
}
