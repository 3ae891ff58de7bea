import type { ErrorBody } from '../errors';

/** The three failures a client can tell apart (INTERFACE section 7.1). */
export type Failure = 'missing' | 'invalid' | 'expired';

/** The refusal of a request. The reason is for the log alone: to a client it would be an oracle. */
export interface Rejection {
  readonly failure: Failure;
  readonly reason: string;
}

export function isRejection(verdict: object): verdict is Rejection {
  return 'failure' in verdict;
}

/** Refuses: the failure is for the client, the reason for the log. */
export function rejection(failure: Failure, reason: string): Rejection {
  return { failure, reason };
}

/** The bodies of INTERFACE section 7.1. */
export function failureBody(failure: Failure, headerName: string): ErrorBody {
  switch (failure) {
    case 'missing':
      return { error: 'Missing signature header', message: `${headerName} header is required` };
    case 'expired':
      return { error: 'Signature expired', message: 'Request signature has expired' };
    case 'invalid':
      return { error: 'Invalid signature', message: 'Request signature verification failed' };
  }
}

/** Limits of a signature's age and of its lead over this clock, in milliseconds. */
interface AgeLimits {
  readonly maxAge: number;
  readonly clockSkew: number;
}

/** Refuses a signature that is too old (`expired`) or too far ahead (`invalid`). Both times are in milliseconds since the epoch. */
export function checkAge(timestamp: number, { maxAge, clockSkew }: AgeLimits, now: number): Rejection | null {
  const age = now - timestamp;
  // Written so that NaN is refused.
  if (age >= -clockSkew && age <= maxAge) return null;
  if (age > maxAge) return rejection('expired', `the timestamp is ${age} ms old, and maxAge is ${maxAge} ms`);
  return rejection('invalid', `the timestamp is ${-age} ms in the future, and clockSkew is ${clockSkew} ms`);
}
