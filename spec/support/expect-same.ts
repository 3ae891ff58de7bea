type Primitive = string | number | bigint | boolean | null | undefined;

/** Expects two values to be the same; for what is compared thousands of times, where `expect` itself would take most of the time. */
export function expectSame(got: Primitive, wanted: Primitive, about?: unknown): void {
  if (!Object.is(got, wanted)) expect([about, got]).toEqual([about, wanted]);
}
