import type { ServerResponse } from 'node:http';
import { onHeaders, vary } from '../packages';

/** Names of the header fields that sign the request of a response. */
const kSignedBy = Symbol('waypost.response.signedBy');

type MaybeSigned = ServerResponse & { [kSignedBy]?: readonly string[] };

/** Directives that keep an answer out of shared caches. With names of fields `private` is about those alone. */
const UNSHARED = /(?:^|[\s,])(?:private|no-store)\s*(?:,|$)/i;
/** Fields that shared caches obey before Cache-Control: those of RFC 9213, by whatever cache, and older ones. */
const FOR_SHARED = /-cache-control$|^(?:surrogate|edge)-control$|^x-accel-expires$/;

/**
 * Keeps the answer to a signed request from those who have not signed it. RFC 9111 section 3.5 does so for Authorization alone.
 * Decided when the head leaves: it is private where the program has said nothing, and varies by the signature where shared caches may store it.
 */
export function keepForSigner(res: MaybeSigned, signedBy: readonly string[]): void {
  const before = res[kSignedBy];
  res[kSignedBy] = before === undefined ? signedBy : [...before, ...signedBy];
  if (before === undefined) onHeaders()(res, restrict);
}

function restrict(this: MaybeSigned): void {
  const control = this.getHeader('Cache-Control');
  if (!control) this.setHeader('Cache-Control', 'private');
  // Quoted names of fields say nothing of the whole answer.
  if ((control && !UNSHARED.test(String(control).replace(/"[^"]*"/g, '""'))) || this.getHeaderNames().some((name) => FOR_SHARED.test(name))) vary()(this, [...this[kSignedBy] as string[]]);
}

/** Makes `private` of the `public` that `send` sets for a file. @param isSent False once something else is answered. */
export function keepFileForSigner(res: MaybeSigned, isSent: () => boolean): void {
  if (res[kSignedBy] === undefined || res.getHeader('Cache-Control')) return;
  onHeaders()(res, () => {
    const control = res.getHeader('Cache-Control');
    if (isSent() && typeof control === 'string') res.setHeader('Cache-Control', control.replace('public', 'private'));
  });
}
