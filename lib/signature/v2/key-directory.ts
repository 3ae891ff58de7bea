import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SignatureKey } from '../../options/options';
import { MessageKey, thumbprint } from './message-key';

/** Time for which a directory's own signature holds, in seconds. */
const HOLD_TIME = 300;

/** Makes the handler that `signatureDirectory` of signing.ts describes. */
export function keyDirectory(given: SignatureKey | readonly SignatureKey[], host: string): (req: IncomingMessage, res: ServerResponse) => void {
  const keys = (Array.isArray(given) ? given as readonly SignatureKey[] : [given as SignatureKey]).map((key) => new MessageKey(key, 'sign'));
  const jwks = keys.map((key) => key.publicJwk());
  const ids = jwks.map(thumbprint);
  const body = JSON.stringify({ keys: jwks });
  return (_req, res) => {
    const created = Math.floor(Date.now() / 1000);
    const texts = keys.map(({ algorithm }, index) => `("@authority";req);created=${created};expires=${created + HOLD_TIME};keyid="${ids[index]}";alg="${algorithm}";tag="http-message-signatures-directory"`);
    res.setHeader('Content-Type', 'application/http-message-signatures-directory+json');
    res.setHeader('Cache-Control', `max-age=${HOLD_TIME}`);
    res.setHeader('Signature-Input', texts.map((text, index) => `binding${index}=${text}`).join(', '));
    // The host is the program's own: one of a request would have keys vouch for any host.
    res.setHeader('Signature', keys.map((key, index) => `binding${index}=:${key.sign(`"@authority";req: ${host}\n"@signature-params": ${texts[index]}`).toString('base64')}:`).join(', '));
    res.end(body);
  };
}
