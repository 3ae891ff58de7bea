import type { SecretAnswer, SecretLookup } from '../options/options';
import type { Secret } from './hmac';

/** Where the secrets that a signature is checked with come from. */
export interface SecretSource {
  /** Whether a request must name its key. */
  readonly named: boolean;
  /** The secrets that may have signed; none for a key that nobody has. */
  find(keyId: string | undefined): readonly Secret[] | Promise<readonly Secret[]>;
}

/** Few secrets that every client shares. */
export class SharedSecrets implements SecretSource {
  readonly named = false;
  readonly #secrets: readonly Secret[];

  /** @param secrets Any of them may have signed, so that one can replace another. */
  constructor(secrets: readonly Secret[]) {
    this.#secrets = secrets;
  }

  find(): readonly Secret[] {
    return this.#secrets;
  }
}

/** A secret for each client, asked for by key id. */
export class KeyedSecrets implements SecretSource {
  readonly named = true;
  readonly #lookup: SecretLookup;

  constructor(lookup: SecretLookup) {
    this.#lookup = lookup;
  }

  /** @throws TypeError for a returned value that is no secret; and what the lookup throws. */
  find(keyId: string): readonly Secret[] | Promise<readonly Secret[]> {
    const answer = this.#lookup(keyId);
    // Queries of some database packages are thenables and no promises.
    if (typeof (answer as PromiseLike<SecretAnswer> | null | undefined)?.then === 'function') return Promise.resolve(answer).then(secretsOf);
    return secretsOf(answer as SecretAnswer);
  }
}

/** The source that `security.requestSignature.secret` stands for. */
export function secretSource(secret: readonly Secret[] | SecretLookup): SecretSource {
  return typeof secret === 'function' ? new KeyedSecrets(secret) : new SharedSecrets(secret);
}

// Visible ASCII without the comma that joins a header sent twice.
const KEY_ID = /^[\x21-\x2b\x2d-\x7e]{1,256}$/;

/** Whether the text may be a key id: 1 to 256 visible ASCII characters, and no comma. */
export function isKeyId(text: unknown): text is string {
  return typeof text === 'string' && KEY_ID.test(text);
}

function secretsOf(answer: SecretAnswer): readonly Secret[] {
  if (answer === undefined || answer === null) return [];
  const secrets: readonly unknown[] = Array.isArray(answer) ? answer : [answer];
  // A table asked for `constructor` returns a function; an empty key could be used by anyone.
  if (secrets.every(isSecret)) return secrets;
  throw new TypeError('security.requestSignature.secret returned what is no secret; return a non-empty string, an array of them, or undefined');
}

// HMAC pads a short key with NULs, so a secret of nothing else is the empty one.
function isSecret(given: unknown): given is string {
  return typeof given === 'string' && !/^\0*$/.test(given);
}
