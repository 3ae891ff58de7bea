import type { IncomingHttpHeaders } from 'node:http';
import { crypto } from '../packages';
import type { Rejection } from './rejection';

/** The request as received, before any rewrite, against which a signature is checked. */
export interface ReceivedRequest {
  readonly method: string;
  /** The request target exactly as sent: path and query. */
  readonly target: string;
  /** As Node gives them: names in lower case, a header sent twice as `a, b`. */
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as received; of some headers that are sent twice Node keeps but the first. @default not known */
  readonly rawHeaders?: readonly string[];
  /** Knows the scheme, `http` or `https`, which a trusted proxy may tell. @default not known */
  readonly client?: { readonly protocol: string };
  /** Status of a response, which has none but `@status` of the derived components. @default a request */
  readonly status?: number;
  /** The request that a response answers, for components with `;req`. */
  readonly request?: ReceivedRequest;
}

/** The result for a valid signature. */
export interface Acceptance {
  /** Identifies the signature, whatever its spelling; unique among accepted requests. Undefined without a signature. */
  readonly digest: string | undefined;
  /** End of the signature's validity, in milliseconds since the epoch. */
  readonly expires: number;
  /** Id of the client's key; undefined for shared keys. */
  readonly keyId?: string | undefined;
}

/** The result of a check. */
export type Verdict = Rejection | Acceptance;

/**
 * A signature format. Pure: it knows neither server nor scope, and takes the
 * time as an argument, in milliseconds since the epoch.
 * @typeParam P State of a request between the checks of its head and its body.
 */
export interface SignatureScheme<P extends object = object> {
  /** The signature header, as clients write it. */
  readonly headerName: string;
  /** All headers that carry a part of it, as clients write them. */
  readonly headerNames: readonly string[];
  /** The value of `WWW-Authenticate` on a 401 (RFC 9110 section 11.6.1). */
  readonly challenge: string;
  /** True if the signature covers the body. */
  readonly readsBody: boolean;
  /** Runs the checks that need no body: presence, grammar, age. */
  begin(request: ReceivedRequest, now: number): Rejection | P;
  /**
   * Checks the signature over the bytes as received, and its age again.
   * @param body Undefined when there is none.
   */
  finish(pending: P, body: Buffer | undefined, now: number): Verdict | Promise<Verdict>;
  /** The signed parts for the log of `debug`: lengths and hashes, never the secret or the expected signature. */
  describe(pending: P, body: Buffer | undefined): Readonly<Record<string, unknown>>;
}

/** A body as the log shows it, by length and hash. */
export function bodySummary(body: Uint8Array = new Uint8Array(0)): { readonly bytes: number; readonly sha256: string } {
  return { bytes: body.length, sha256: sha256(body) };
}

/** Describes the first character that the pattern does not match; undefined if it matches all of a non-empty target. */
export function unmatchedCharacter(target: string, pattern: RegExp): string | undefined {
  const end = pattern.exec(target)?.[0].length ?? 0;
  if (end > 0 && end === target.length) return undefined;
  const code = target.codePointAt(end);
  return code === undefined ? 'nothing' : `${JSON.stringify(String.fromCodePoint(code))} (U+${code.toString(16).toUpperCase().padStart(4, '0')})`;
}

/** The hash that the log shows for a value. */
export function sha256(data: string | Uint8Array): string {
  return crypto().createHash('sha256').update(data).digest('hex');
}
