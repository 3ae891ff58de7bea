import { type Rejection, rejection } from './rejection';

/** How old a signature may be, and how far ahead of the clock here, in milliseconds. */
export interface AgeLimits {
  readonly maxAge: number;
  readonly clockSkew: number;
}

/** Refuses a signature that was made too long ago (`expired`) or too far ahead (`invalid`). @param timestamp When it was made. @param now Both in milliseconds since the epoch. */
export function checkAge(timestamp: number, { maxAge, clockSkew }: AgeLimits, now: number): Rejection | null {
  const age = now - timestamp;
  // Stated as what is accepted, so that NaN is not.
  if (age >= -clockSkew && age <= maxAge) return null;
  if (age > maxAge) return rejection('expired', `the timestamp is ${age} ms old, and maxAge is ${maxAge} ms`);
  return rejection('invalid', `the timestamp is ${-age} ms in the future, and clockSkew is ${clockSkew} ms`);
}
