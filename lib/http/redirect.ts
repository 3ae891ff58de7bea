import { statuses } from '../packages';

/** The two bodies a redirect can have; anything else a client asks for gets none. */
export type RedirectForm = 'text' | 'html';

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/**
 * The note in the body of a redirect, for clients that do not follow it
 * (RFC 9110 section 15.4). It names the address and does not link to it: a
 * `javascript:` address in a link would run in the page's origin.
 */
export function redirectBody(form: RedirectForm | undefined, status: number, address: string): string {
  const reason = statuses().message[status] ?? String(status);
  if (form === 'text') return `${reason}. Redirecting to ${address}`;
  if (form !== 'html') return '';
  const note = `${reason}. Redirecting to ${escapeHtml(address)}`;
  return `<!DOCTYPE html><head><title>${reason}</title></head><body><p>${note}</p></body>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}
