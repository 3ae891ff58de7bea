import { crypto, late } from '../../packages';
import type { SecretLookup } from '../../options/options';
import type { ResolvedSignature } from '../../options/resolved';
import { HmacKey, matchesAny, type Secret } from '../hmac';
import { checkAge, type Rejection, rejection } from '../rejection';
import { bodySummary, type ReceivedRequest, type SignatureScheme, type Verdict } from '../scheme';
import { isKeyId, secretsOf } from '../secret-source';
import { checkBody, checkHeaders, digest, isDigest, type SignatureConfig, signedUrl, type SignedRequest } from './grammar';

const readings = late(() => require('../signed-reading') as typeof import('../signed-reading'));

/** {@link SignatureConfig} with the secrets, and the header that names a client's own. */
type HmacSchemeConfig = SignatureConfig & Pick<ResolvedSignature, 'secret' | 'keyIdHeaderName'> & Partial<Pick<ResolvedSignature, 'debug'>>;

/** A request whose head has passed, without its body. */
interface PendingRequest extends SignedRequest {
  /** Undefined if all clients share the keys. */
  readonly keyId: string | undefined;
}

/** The format of INTERFACE section 5: one HMAC over method, URL, body and timestamp. */
export class HmacScheme implements SignatureScheme<PendingRequest> {
  readonly headerName: string;
  readonly headerNames: readonly string[];
  readonly challenge: string;
  readonly readsBody: boolean;
  readonly #config: HmacSchemeConfig;
  /** Keys shared by all clients; undefined with a secret for each client. */
  readonly #keys: readonly HmacKey[] | undefined;
  /** Compared with for an unknown key id, so that timing shows no difference. */
  readonly #decoy: Secret = crypto().randomBytes(32);
  readonly #signatureName: string;
  readonly #timestampName: string;
  readonly #keyIdName: string;

  constructor(config: HmacSchemeConfig) {
    this.#config = config;
    this.#keys = typeof config.secret === 'function' ? undefined : keysOf(config.secret, config);
    this.headerName = config.headerName;
    this.headerNames = [config.headerName, config.timestampHeaderName, ...(this.#keys === undefined ? [config.keyIdHeaderName] : [])];
    this.readsBody = config.includeBody;
    this.challenge = `Signature header="${config.headerName}", algorithm="hmac-${config.algorithm}"`;
    this.#signatureName = config.headerName.toLowerCase();
    this.#timestampName = config.timestampHeaderName.toLowerCase();
    this.#keyIdName = config.keyIdHeaderName.toLowerCase();
  }

  begin({ method, target, headers }: ReceivedRequest, now: number): Rejection | PendingRequest {
    const pending: PendingRequest = {
      method,
      target,
      signature: headers[this.#signatureName] as string | undefined,
      timestamp: headers[this.#timestampName] as string | undefined,
      keyId: this.#keys === undefined ? (headers[this.#keyIdName] as string | undefined) : undefined,
    };
    const rejected = checkHeaders(pending, this.#config, now);
    if (rejected !== null) return rejected;
    if (this.#keys !== undefined || isKeyId(pending.keyId)) return pending;
    return rejection('invalid', `the ${this.#config.keyIdHeaderName} header is absent or no key id: 1 to 256 visible ASCII characters, no comma`);
  }

  finish(pending: PendingRequest, body: Buffer | undefined, now: number): Verdict | Promise<Verdict> {
    const config = this.#config;
    const rejected = checkAge(Number(pending.timestamp), config, now) ?? checkBody(pending, body, config);
    if (rejected !== null) return rejected;
    if (this.#keys !== undefined) return this.#compare(pending, body, this.#keys);
    const secrets = secretsOf(config.secret as SecretLookup, pending.keyId as string);
    return secrets instanceof Promise ? secrets.then((found) => this.#compareByKeyId(pending, body, found)) : this.#compareByKeyId(pending, body, secrets);
  }

  describe({ method, target, timestamp, keyId }: PendingRequest, body: Buffer | undefined): Readonly<Record<string, unknown>> {
    const { algorithm, includeBody, includeQuery } = this.#config;
    const url = signedUrl(target, includeQuery);
    return {
      algorithm,
      method: method.toUpperCase(),
      url: { text: url, length: url.length },
      body: includeBody ? bodySummary(body) : 'not signed',
      timestamp,
      keyId,
    };
  }

  #compareByKeyId(pending: PendingRequest, body: Buffer | undefined, secrets: readonly Secret[]): Verdict {
    const config = this.#config;
    if (secrets.length > 0) return this.#compare(pending, body, keysOf(secrets, config));
    // Takes as long as for a known key id, whose HmacKey is made anew too.
    checkDigest(pending, body, config, keysOf([this.#decoy], config));
    return rejection('invalid', 'no secret is known for the key id');
  }

  #compare(pending: PendingRequest, body: Buffer | undefined, keys: readonly HmacKey[]): Verdict {
    const config = this.#config;
    const rejected = checkDigest(pending, body, config, keys);
    if (rejected !== null) {
      if (config.debug !== true) return rejected;
      return rejection('invalid', rejected.reason + readings().signedReading({ target: pending.target, host: undefined }, ({ target }) => checkDigest({ ...pending, target }, body, config, keys) === null));
    }
    return { digest: pending.signature as string, expires: Number(pending.timestamp) + config.maxAge + config.clockSkew, keyId: pending.keyId };
  }
}

/** Compares the signature with that of each key. */
export function checkDigest(
  request: SignedRequest,
  body: Uint8Array | undefined,
  config: SignatureConfig,
  keys: readonly HmacKey[],
): Rejection | null {
  const { signature, timestamp } = request;
  // Latin-1 truncates characters, and timingSafeEqual throws on unequal lengths; the grammar rules both out.
  if (signature === undefined || timestamp === undefined || !isDigest(signature, config.algorithm)) {
    return rejection('invalid', 'the signature was not checked for its form');
  }
  const url = signedUrl(request.target, config.includeQuery);
  const signed = config.includeBody ? body : undefined;
  const digests = keys.map((key) => Buffer.from(digest(key, request.method, url, signed, timestamp), 'latin1'));
  return matchesAny([Buffer.from(signature, 'latin1')], digests) ? null : rejection('invalid', 'the signature matches none of the secrets');
}

function keysOf(secrets: readonly Secret[], { algorithm }: HmacSchemeConfig): HmacKey[] {
  return secrets.map((secret) => new HmacKey(algorithm, secret));
}
