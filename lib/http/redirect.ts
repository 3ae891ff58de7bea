import type { IncomingMessage } from 'node:http';
import { inspect } from 'node:util';
import { statuses } from '../packages';
import { forgetFraming, isBodiless } from './answer';
import { acceptedOf } from './media-type';
import { checkStatus, type ResponseHead } from './response-head';
import { type ConfiguredResponse, kSettings } from './response-state';

/** The two bodies a redirect can have; anything else a client asks for gets none. */
type RedirectForm = 'text' | 'html';

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Answers with a redirect. @param given The address, or a status and the address. */
export function sendRedirect(res: ConfiguredResponse & ResponseHead, given: readonly unknown[]): void {
  // As in Express, what counts is how many were given: undefined is a wrong address, not a missing status.
  const [status, url] = given.length < 2 ? [302, given[0]] : given;
  checkStatus(status);
  if (typeof url !== 'string' && !(url instanceof URL)) {
    res[kSettings].logger.warn({ url: (res.req as IncomingMessage | undefined)?.url }, `res.redirect was given ${inspect(url)}: give it the address as a string`);
  }
  res.location(String(url)).vary('Accept').status(status);
  const accepted = acceptedOf(res, ['text', 'html']);
  const form = typeof accepted === 'string' ? (accepted as RedirectForm) : undefined;
  if (form !== undefined) res.type(form);
  const body = redirectBody(form, status, String(res.getHeader('Location')));
  forgetFraming(res);
  res.setHeader('Content-Length', String(Buffer.byteLength(body)));
  // As text, as Express gives it.
  if (isBodiless(res)) res.end();
  else res.end(body);
}

/**
 * The note in the body of a redirect (RFC 9110 section 15.4). It names the address
 * and does not link to it: a `javascript:` address would run in the page's origin.
 */
function redirectBody(form: RedirectForm | undefined, status: number, address: string): string {
  const reason = statuses().message[status] ?? String(status);
  if (form === 'text') return `${reason}. Redirecting to ${address}`;
  if (form !== 'html') return '';
  const note = `${reason}. Redirecting to ${escapeHtml(address)}`;
  return `<!DOCTYPE html><head><title>${reason}</title></head><body><p>${note}</p></body>`;
}

/** Escapes text for an HTML page. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] as string);
}
