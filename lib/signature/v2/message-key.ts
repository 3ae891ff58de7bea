import type { JsonWebKey, KeyObject } from 'node:crypto';
import { describe } from '../../options/field';
import type { MessageAlgorithm, NamedKey, SignatureKey } from '../../options/options';
import { isPublicText } from '../../options/security';
import { crypto } from '../../packages';
import { matchesAny } from '../hmac';

/** Names of the algorithms in JWKs (RFC 7518 section 3.1, RFC 8037, RFC 9864). */
const JWK_ALGORITHMS: ReadonlyMap<string, MessageAlgorithm> = new Map([
  ['EdDSA', 'ed25519'], ['Ed25519', 'ed25519'], ['ES256', 'ecdsa-p256-sha256'], ['ES384', 'ecdsa-p384-sha384'],
  ['PS512', 'rsa-pss-sha512'], ['RS256', 'rsa-v1_5-sha256'], ['HS256', 'hmac-sha256'],
]);

const HASHES: Readonly<Record<MessageAlgorithm, string | null>> = {
  'ed25519': null, 'ecdsa-p256-sha256': 'sha256', 'ecdsa-p384-sha384': 'sha384', 'rsa-pss-sha512': 'sha512', 'rsa-v1_5-sha256': 'sha256', 'hmac-sha256': 'sha256',
};

/** Shortest RSA modulus, in bits (NIST SP 800-131A). */
const MODULUS_LENGTH = 2048;

type Purpose = 'verify' | 'sign';

/** A key that is given by an option. @throws TypeError that begins with the option's name, for what is no such key. */
export function readKey(given: SignatureKey, purpose: Purpose, option: string): MessageKey {
  try {
    return new MessageKey(given, purpose);
  } catch (error) {
    throw new TypeError(`${option}: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * A key with its one algorithm (RFC 9421 section 3.3). The algorithm follows
 * from the key, and for RSA, which has two, from what is given with it: never
 * from a message.
 */
export class MessageKey {
  readonly id: string | undefined;
  readonly algorithm: MessageAlgorithm;
  readonly #key: KeyObject;

  /** @throws TypeError for what is no such key; it shows nothing of the key. */
  constructor(given: SignatureKey, purpose: Purpose) {
    const { key, id, algorithm, ...rest } = isNamed(given) ? given : { key: given };
    // A misspelt id would make it everybody's key.
    for (const name of Object.keys(rest)) throw new TypeError(`a key may have the names "key", "id" and "algorithm" only, and had ${describe(name)}`);
    const jwk = isJwk(key) ? key : undefined;
    if (jwk !== undefined) checkUse(jwk, purpose);
    this.#key = keyObject(key, purpose);
    this.id = id ?? (typeof jwk?.['kid'] === 'string' ? jwk['kid'] : undefined);
    this.algorithm = algorithmOf(this.#key, algorithm, jwk?.['alg']);
  }

  verify(base: string | Uint8Array, signature: Uint8Array): boolean {
    const { algorithm } = this;
    const data = typeof base === 'string' ? Buffer.from(base) : base;
    if (algorithm !== 'hmac-sha256') return crypto().verify(HASHES[algorithm], data, this.#parameters('verify'), signature);
    const mac = this.#mac(data);
    return signature.length === mac.length && matchesAny([signature], [mac]);
  }

  sign(base: string): Buffer {
    const { algorithm } = this;
    const data = Buffer.from(base);
    return algorithm === 'hmac-sha256' ? this.#mac(data) : crypto().sign(HASHES[algorithm], data, this.#parameters('sign'));
  }

  /** The public key as a JWK (RFC 7517), with its thumbprint as `kid`. */
  publicJwk(): JsonWebKey {
    const jwk = (this.#key.type === 'private' ? crypto().createPublicKey(this.#key) : this.#key).export({ format: 'jwk' });
    return { ...jwk, kid: thumbprint(jwk), use: 'sig' };
  }

  #mac(data: Uint8Array): Buffer {
    return crypto().createHmac('sha256', this.#key).update(data).digest();
  }

  #parameters(purpose: Purpose) {
    const { RSA_PKCS1_PADDING, RSA_PKCS1_PSS_PADDING, RSA_PSS_SALTLEN_AUTO } = crypto().constants;
    switch (this.algorithm) {
      case 'rsa-pss-sha512':
        // Some signers take a longer salt than RFC 9421 says.
        return { key: this.#key, padding: RSA_PKCS1_PSS_PADDING, saltLength: purpose === 'sign' ? 64 : RSA_PSS_SALTLEN_AUTO };
      case 'rsa-v1_5-sha256':
        return { key: this.#key, padding: RSA_PKCS1_PADDING };
      case 'ed25519':
        // Node takes a tenth longer to read it out of an object.
        return this.#key;
      default:
        return { key: this.#key, dsaEncoding: 'ieee-p1363' as const };
    }
  }
}

/** The RFC 7638 thumbprint of a public JWK, in base64url: its required members, in order of their names. */
export function thumbprint(jwk: JsonWebKey): string {
  const names = { OKP: ['crv', 'kty', 'x'], EC: ['crv', 'kty', 'x', 'y'], RSA: ['e', 'kty', 'n'] }[jwk.kty ?? ''] ?? [];
  return crypto().createHash('sha256').update(JSON.stringify(Object.fromEntries(names.map((name) => [name, jwk[name]])))).digest('base64url');
}

function isNamed(given: SignatureKey): given is NamedKey {
  return typeof given === 'object' && given !== null && 'key' in given && !('kty' in given);
}

function isJwk(key: unknown): key is JsonWebKey {
  return typeof key === 'object' && key !== null && typeof (key as JsonWebKey).kty === 'string';
}

function checkUse(jwk: JsonWebKey, purpose: Purpose): void {
  const { use, key_ops: operations } = jwk;
  if (use !== undefined && use !== 'sig') throw new TypeError(`a JWK to ${purpose} by must have no "use" or "sig", and had ${describe(use)}`);
  if (Array.isArray(operations) && !operations.includes(purpose)) throw new TypeError(`a JWK to ${purpose} by must have no "key_ops" or ${purpose} among them`);
}

function keyObject(key: unknown, purpose: Purpose): KeyObject {
  const { createPrivateKey, createPublicKey, createSecretKey, KeyObject } = crypto();
  const create = purpose === 'sign' ? createPrivateKey : createPublicKey;
  let made: KeyObject;
  try {
    if (key instanceof KeyObject) made = key.type === 'private' && purpose === 'verify' ? createPublicKey(key) : key;
    else if (!isJwk(key)) made = create(key as string);
    else if (key.kty === 'oct') made = createSecretKey(Buffer.from(key.k ?? '', 'base64url'));
    else made = create({ key, format: 'jwk' });
  } catch (error) {
    if (purpose === 'sign' && typeof key === 'string' && isPublicText(key)) throw new TypeError('a key to sign by must be a private key, and was a public one', { cause: error });
    throw new TypeError(`a key to ${purpose} by must be a KeyObject, text in PEM or a JWK; write createPublicKey(pem) or createPrivateKey(pem) of node:crypto to see what is wrong with it`, { cause: error });
  }
  if (made.type === 'public' && purpose === 'sign') throw new TypeError('a key to sign by must be a private key, and was a public one');
  if (made.type === 'secret') {
    const bytes = made.export();
    // A public key is known to all, so it is no secret of an HMAC.
    if (bytes.every((byte) => byte === 0) || isPublicText(bytes.toString('latin1'))) throw new TypeError('a secret key must have other bytes than NUL, and be no public key');
  }
  return made;
}

/** The one algorithm of a key. @param stated Beside the key. @param alg Of a JWK. */
function algorithmOf(key: KeyObject, stated: string | undefined, alg: unknown): MessageAlgorithm {
  const possible = algorithmsOf(key);
  const named = [stated, typeof alg === 'string' ? JWK_ALGORITHMS.get(alg) ?? alg : alg].filter((name) => name !== undefined);
  const found = possible.find((algorithm) => named.every((name) => name === algorithm));
  if (found !== undefined) return found;
  const kind = key.asymmetricKeyDetails?.namedCurve ?? key.asymmetricKeyType ?? key.type;
  const wanted = possible.length > 0 ? `for a key of type ${kind} be ${possible.join(' or ')}` : 'be of Ed25519, P-256, P-384 or RSA of 2048 bits or more';
  throw new TypeError(`the algorithm must ${wanted}, and was ${named.length > 0 ? named.map((name) => describe(name)).join(' and ') : kind}`);
}

function algorithmsOf({ type, asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): MessageAlgorithm[] {
  const { namedCurve, modulusLength = 0 } = asymmetricKeyDetails;
  if (type === 'secret') return ['hmac-sha256'];
  if (asymmetricKeyType === 'ed25519') return ['ed25519'];
  if (namedCurve === 'prime256v1') return ['ecdsa-p256-sha256'];
  if (namedCurve === 'secp384r1') return ['ecdsa-p384-sha384'];
  if (modulusLength < MODULUS_LENGTH) return [];
  if (asymmetricKeyType === 'rsa-pss') return ['rsa-pss-sha512'];
  return asymmetricKeyType === 'rsa' ? ['rsa-pss-sha512', 'rsa-v1_5-sha256'] : [];
}
