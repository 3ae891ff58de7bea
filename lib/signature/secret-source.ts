import type { SecretAnswer, SecretLookup } from '../options/options';
import { isPublicText } from '../options/security';
import type { Secret } from './hmac';

/**
 * The secrets of a key id; none for an unknown one.
 * @throws TypeError for a returned value that is no secret; and any error of the lookup.
 */
export function secretsOf(lookup: SecretLookup, keyId: string): readonly Secret[] | Promise<readonly Secret[]> {
  const answer = lookup(keyId);
  // Some database packages return thenables that are not promises.
  if (typeof (answer as PromiseLike<SecretAnswer> | null | undefined)?.then === 'function') return Promise.resolve(answer).then(checked);
  return checked(answer as SecretAnswer);
}

// Visible ASCII without the comma that joins a header sent twice.
const KEY_ID = /^[\x21-\x2b\x2d-\x7e]{1,256}$/;

/** Accepts 1 to 256 visible ASCII characters, and no comma. */
export function isKeyId(text: unknown): text is string {
  return typeof text === 'string' && KEY_ID.test(text);
}

function checked(answer: SecretAnswer): readonly Secret[] {
  if (answer === undefined || answer === null) return [];
  const secrets: readonly unknown[] = Array.isArray(answer) ? answer : [answer];
  // An object as table returns a function for `constructor`; an empty secret is known to all.
  if (secrets.every(isSecret)) return secrets;
  throw new TypeError('security.requestSignature.secret returned what is no secret; return a non-empty string, an array of them, or undefined; public keys belong into keys');
}

// HMAC pads a key with NULs, so a secret of NULs equals the empty one.
function isSecret(given: unknown): given is string {
  return typeof given === 'string' && !/^\0*$/.test(given) && !isPublicText(given);
}
