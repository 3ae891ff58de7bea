import { isRejection } from '../../lib/signature/rejection';
import type { Verdict } from '../../lib/signature/scheme';
import { type MessageSignatureConfig, MessageSignatureScheme } from '../../lib/signature/v2/message-signature';
import { type MessageToSign, signMessage } from '../../lib/signature/v2/message-sign';
import { verdictOf } from './verdict';

export const NOW = 1_700_000_000_000;
export const SECRET = 'the-secret-of-the-message-specs1';
export const NONCE = 'a-nonce-of-twenty-si';

export const config: MessageSignatureConfig = { secret: [SECRET], maxAge: 300_000, clockSkew: 30_000, includeBody: true, includeQuery: true, covers: [] };

/** A request as a server receives it. */
export interface Received {
  method: string;
  target: string;
  headers: Record<string, string>;
  body?: Buffer | undefined;
  client?: { readonly protocol: string };
}

export function schemeOf(changes: Partial<MessageSignatureConfig> = {}, secret: readonly string[] = [SECRET]): MessageSignatureScheme {
  return new MessageSignatureScheme({ ...config, secret, ...changes });
}

/** Signs with signMessage, and answers what then arrives. */
export function signed(message: Partial<MessageToSign> = {}): Received {
  const whole = { secret: SECRET, method: 'GET', target: '/', timestamp: NOW, ...message };
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...whole.headers, ...signMessage(whole) })) headers[name.toLowerCase()] = value;
  return { method: whole.method, target: whole.target, headers, body: whole.body === undefined ? undefined : Buffer.from(whole.body) };
}

/** The whole check, in the order in which the hook makes it. */
export function check({ body, ...request }: Received, scheme = schemeOf(), now = NOW): Verdict {
  return verdictOf(scheme, request, body, now);
}

/** The failure, undefined for what is accepted. */
export function failureOf(received: Received, scheme?: MessageSignatureScheme, now?: number): string | undefined {
  const verdict = check(received, scheme, now);
  return isRejection(verdict) ? verdict.failure : undefined;
}

/** Why it is refused; empty for what is accepted. */
export function reasonOf(received: Received, scheme?: MessageSignatureScheme, now?: number): string {
  const verdict = check(received, scheme, now);
  return isRejection(verdict) ? verdict.reason : '';
}
