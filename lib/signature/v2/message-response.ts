import { structuredHeaders } from '../../packages';
import { isRejection, rejection, type Rejection } from '../rejection';
import type { ReceivedRequest } from '../scheme';
import { contentDigest, digestsMatch, parseContentDigest } from './content-digest';
import type { KeySource } from './key-source';
import { quoted, signatureBase } from './message-base';
import { parseMessageSignature } from './message-input';
import type { MessageKey } from './message-key';
import { checkTimes, verifiedBy } from './message-signature';

/** A response with the request that it answers. */
export interface AnsweredMessage extends ReceivedRequest {
  readonly status: number;
  readonly request: ReceivedRequest;
}

/** Greatest age of a response's signature, and its lead over the client's clock, in milliseconds. */
const LIMITS = { maxAge: 300_000, clockSkew: 30_000 };

/** The fields that bind a response to its request (RFC 9421 section 2.4); none where a value is other than ASCII text, which can't be signed (section 2.5). */
export function signResponse(message: AnsweredMessage, body: Uint8Array, key: MessageKey, keyId: string | undefined): Record<string, string> {
  const fields: Record<string, string> = body.length > 0 ? { 'Content-Digest': contentDigest(body) } : {};
  const headers = { ...message.headers, 'content-digest': fields['Content-Digest'] };
  const components = componentsOf({ ...message, headers });
  const parameters = new Map<string, string | number>([['created', Math.floor(Date.now() / 1000)], ['alg', key.algorithm], ...(keyId === undefined ? [] : [['keyid', keyId]] as const)]);
  const text = `(${components.map(quoted).join(' ')})${structuredHeaders().serializeParameters(parameters)}`;
  const signed = signatureBase({ ...message, headers }, components, text);
  if ('lacks' in signed) return {};
  return { ...fields, 'Signature-Input': `sig1=${text}`, 'Signature': `sig1=:${key.sign(signed.base).toString('base64')}:` };
}

/** Refuses a response that no key has signed for its request; null for one that holds. */
export async function checkResponse(message: AnsweredMessage, body: Uint8Array, keys: KeySource): Promise<Rejection | null> {
  const signature = parseMessageSignature(message.headers, { nonce: 'optional', isResponse: true });
  if (isRejection(signature)) return signature;
  const digest = message.headers['content-digest'];
  // An answer to HEAD may tell the digest of a body that is not sent.
  const digests = body.length === 0 && (digest === undefined || message.request.method === 'HEAD') ? [] : parseContentDigest(String(digest));
  if (digests === undefined) return rejection('invalid', 'the Content-Digest header holds no sha-256 or sha-512 of the right form');
  const lacking = componentsOf(message).find((component) => !signature.components.includes(component));
  if (lacking !== undefined) return rejection('invalid', `the component ${lacking} is not covered`);
  const lines = signatureBase(message, signature.components, signature.text);
  if ('lacks' in lines) return rejection('invalid', `the covered component ${lines.lacks} is none that this response has`);
  const verified = verifiedBy(await keys.find(signature.keyId, message, signature.components), lines.base, signature);
  if (isRejection(verified)) return verified;
  if (digests.length > 0 && !digestsMatch(digests, body)) return rejection('invalid', 'Content-Digest is not the digest of the body');
  return checkTimes(signature, LIMITS, Date.now());
}

/** The components of a response that are signed: itself, and its request with the signature that it has. */
function componentsOf({ headers, request }: AnsweredMessage): string[] {
  const own = ['content-digest', 'content-type', 'content-encoding', 'location'].filter((name) => headers[name] !== undefined);
  return ['@status', ...own, '@method;req', '@path;req', '@query;req', ...(request.headers.signature === undefined ? [] : ['signature;req'])];
}
