import { isRejection, type Rejection } from '../../lib/signature/rejection';
import type { ReceivedRequest, SignatureScheme, Verdict } from '../../lib/signature/scheme';

/** The whole check of a request, head and then body, as a hook makes it. @param finished When the body was in. */
export async function laterVerdictOf(scheme: SignatureScheme, request: ReceivedRequest, body: Buffer | undefined, now: number, finished = now): Promise<Verdict> {
  const begun = scheme.begin(request, now);
  return isRejection(begun) ? begun : scheme.finish(begun, body, finished);
}

/** The same, where no secret is waited for. */
export function verdictOf(scheme: SignatureScheme, request: ReceivedRequest, body: Buffer | undefined, now: number, finished = now): Verdict {
  const begun = scheme.begin(request, now);
  const verdict = isRejection(begun) ? begun : scheme.finish(begun, body, finished);
  if (verdict instanceof Promise) throw new Error('the secrets of this scheme have to be waited for');
  return verdict;
}

/** Why the head alone is refused; null where it is in order. */
export function refusalOf(scheme: SignatureScheme, request: ReceivedRequest, now: number): Rejection | null {
  const begun = scheme.begin(request, now);
  return isRejection(begun) ? begun : null;
}

/** What the log shows of a request whose head is in order. */
export function partsOf(scheme: SignatureScheme, request: ReceivedRequest, body: Buffer | undefined, now: number): Readonly<Record<string, unknown>> {
  const begun = scheme.begin(request, now);
  if (isRejection(begun)) throw new Error(begun.reason);
  return scheme.describe(begun, body);
}
