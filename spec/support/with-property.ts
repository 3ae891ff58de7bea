/** Does the work while a prototype has one more property, which others would inherit for good. */
export function withProperty(prototype: object, key: string, value: unknown, work: () => void): void {
  Object.defineProperty(prototype, key, { value, configurable: true, writable: true });
  try {
    work();
  } finally {
    Reflect.deleteProperty(prototype, key);
  }
}
