import type { IncomingHttpHeaders } from 'node:http';
import { crypto } from '../packages';
import type { Rejection } from './rejection';

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

/**
 * A way of signing requests. Pure: it knows neither server nor scope, and the
 * time is given to it, in milliseconds since the epoch.
 * @typeParam P What is kept of a request whose head is in order, until its body has come.
 */
export interface SignatureScheme<P extends object = object> {
  /** The header that is said to be missing, as clients write it. */
  readonly headerName: string;
  /** The value of `WWW-Authenticate` on a 401 (RFC 9110 section 11.6.1). */
  readonly challenge: string;
  /** Whether the body is part of what is signed, so that its bytes are needed. */
  readonly readsBody: boolean;
  /** Checks what can be checked before a byte of the body is read: presence, grammar, age. */
  begin(request: ReceivedRequest, now: number): Rejection | P;
  /**
   * Checks the signature over the bytes as received; its age again, since time has passed meanwhile.
   * @param body Undefined when there is none.
   */
  finish(pending: P, body: Buffer | undefined, now: number): Verdict | Promise<Verdict>;
  /** What is checked, part by part, for the log of `debug`: lengths and hashes, never the secret or the expected signature. */
  describe(pending: P, body: Buffer | undefined): Readonly<Record<string, unknown>>;
}

/** A body as the log may show it: how long it is, and which. */
export function bodyParts(body: Uint8Array = new Uint8Array(0)): { readonly bytes: number; readonly sha256: string } {
  return { bytes: body.length, sha256: sha256(body) };
}

/** Names the first character of a target that stands behind what the pattern takes of it; undefined where it takes all, which is not nothing. */
export function foreignCharacter(target: string, taken: RegExp): string | undefined {
  const end = taken.exec(target)?.[0].length ?? 0;
  if (end > 0 && end === target.length) return undefined;
  const code = target.codePointAt(end);
  return code === undefined ? 'nothing' : `${JSON.stringify(String.fromCodePoint(code))} (U+${code.toString(16).toUpperCase().padStart(4, '0')})`;
}

/** A hash by which the log tells what it does not show. */
export function sha256(data: string | Uint8Array): string {
  return crypto().createHash('sha256').update(data).digest('hex');
}
