import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorBody } from '../errors';
import type { Failure, Rejection } from './rejection';

/** What a signature is checked against: the request as received, before any rewrite. */
export interface ReceivedRequest {
  readonly method: string;
  /** The request target exactly as sent: path and query. */
  readonly target: string;
  /** As Node gives them: names in lower case, a header sent twice as `a, b`. */
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as received; of some headers that are sent twice Node keeps but the first. @default not known */
  readonly rawHeaders?: readonly string[];
}

/** What is known of a request whose signature holds. */
export interface Acceptance {
  /** Names the signature by its own bytes: no other request that is accepted has the same, however it is written. */
  readonly digest: string;
  /** Until when the same signature is accepted again, in milliseconds since the epoch. */
  readonly expires: number;
  /** Whose key signed; undefined where the scheme has but one. */
  readonly keyId?: string | undefined;
}

/** How a check ended. */
export type Verdict = Rejection | Acceptance;

/** The check of a request whose head is in order. It waits for the body. */
export interface PendingCheck {
  /**
   * Checks the signature over the bytes as received; its age again, since time
   * has passed meanwhile.
   * @param body Undefined when there is none.
   * @param now In milliseconds since the epoch.
   */
  finish(body: Buffer | undefined, now: number): Verdict | Promise<Verdict>;
  /** What is checked, part by part, for the log of `debug`: lengths and hashes, never the secret or the expected signature. */
  describe(body: Buffer | undefined): Readonly<Record<string, unknown>>;
}

/**
 * A way of signing requests. Pure: it knows neither server nor scope, and the
 * time is given to it.
 */
export interface SignatureScheme {
  /** The value of `WWW-Authenticate` on a 401 (RFC 9110 section 11.6.1). */
  readonly challenge: string;
  /** Whether the body is part of what is signed, so that its bytes are needed. */
  readonly readsBody: boolean;
  /** Checks what can be checked before a byte of the body is read: presence, grammar, age. */
  begin(request: ReceivedRequest, now: number): Rejection | PendingCheck;
  /** The JSON body that answers a failure. */
  failureBody(failure: Failure): ErrorBody;
}
