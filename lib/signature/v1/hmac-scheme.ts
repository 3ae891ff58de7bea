import { crypto } from '../../packages';
import type { ErrorBody } from '../../errors';
import { checkAge } from '../age';
import { bodyParts } from '../logged-parts';
import { type Failure, failureBody, type Rejection, rejection } from '../rejection';
import type { PendingCheck, ReceivedRequest, SignatureScheme, Verdict } from '../scheme';
import { isKeyId, type SecretSource, SharedSecrets } from '../secret-source';
import { HmacKey, matchesAny, type Secret } from '../hmac';
import { checkBody, checkHeaders, isDigest, type SignatureConfig, type SignedRequest } from './grammar';
import { digest, signedUrl } from './signed-data';

/** What the scheme needs beside {@link SignatureConfig}. */
export interface HmacSchemeConfig extends SignatureConfig {
  /** Name of the header that names the key; looked at where the source asks for one. */
  readonly keyIdHeaderName: string;
}

/** What every check of a scheme goes by. */
interface HmacParts {
  readonly config: HmacSchemeConfig;
  readonly source: SecretSource;
  /** Keys that every client shares; none with a secret for each client. */
  readonly keys: readonly HmacKey[];
  /** A secret that nobody has. */
  readonly decoy: Secret;
}

/** The format of INTERFACE section 5: one HMAC over method, URL, body and timestamp. */
export class HmacScheme implements SignatureScheme {
  readonly challenge: string;
  readonly readsBody: boolean;
  readonly #parts: HmacParts;
  readonly #signatureName: string;
  readonly #timestampName: string;
  readonly #keyIdName: string;

  constructor(config: HmacSchemeConfig, source: SecretSource) {
    this.#parts = { config, source, keys: keysOf(source instanceof SharedSecrets ? source.find() : [], config), decoy: crypto().randomBytes(32) };
    this.readsBody = config.includeBody;
    this.challenge = `Signature header="${config.headerName}", algorithm="hmac-${config.algorithm}"`;
    this.#signatureName = config.headerName.toLowerCase();
    this.#timestampName = config.timestampHeaderName.toLowerCase();
    this.#keyIdName = config.keyIdHeaderName.toLowerCase();
  }

  begin({ method, target, headers }: ReceivedRequest, now: number): Rejection | PendingCheck {
    const { config, source } = this.#parts;
    const signed: SignedRequest = {
      method,
      target,
      signature: headers[this.#signatureName] as string | undefined,
      timestamp: headers[this.#timestampName] as string | undefined,
    };
    const rejected = checkHeaders(signed, config, now);
    if (rejected !== null) return rejected;
    if (!source.named) return new HmacCheck(this.#parts, signed, undefined);
    const keyId = headers[this.#keyIdName];
    if (isKeyId(keyId)) return new HmacCheck(this.#parts, signed, keyId);
    return rejection('invalid', `the ${config.keyIdHeaderName} header is absent or no key id: 1 to 256 visible ASCII characters, no comma`);
  }

  failureBody(failure: Failure): ErrorBody {
    return failureBody(failure, this.#parts.config.headerName);
  }
}

/** The check of one request. */
class HmacCheck implements PendingCheck {
  readonly #parts: HmacParts;
  readonly #signed: SignedRequest;
  readonly #keyId: string | undefined;

  /** @param keyId Undefined where every client has the same keys. */
  constructor(parts: HmacParts, signed: SignedRequest, keyId: string | undefined) {
    this.#parts = parts;
    this.#signed = signed;
    this.#keyId = keyId;
  }

  finish(body: Buffer | undefined, now: number): Verdict | Promise<Verdict> {
    const { config, source, keys } = this.#parts;
    const rejected = checkAge(Number(this.#signed.timestamp), config, now) ?? checkBody(this.#signed, body, config);
    if (rejected !== null) return rejected;
    if (this.#keyId === undefined) return this.#compare(body, keys);
    const secrets = source.find(this.#keyId);
    return secrets instanceof Promise ? secrets.then((found) => this.#compareNamed(body, found)) : this.#compareNamed(body, secrets);
  }

  describe(body: Buffer | undefined): Readonly<Record<string, unknown>> {
    const { algorithm, includeBody, includeQuery } = this.#parts.config;
    const { method, target, timestamp } = this.#signed;
    const url = signedUrl(target, includeQuery);
    return {
      algorithm,
      method: method.toUpperCase(),
      url: { text: url, length: url.length },
      body: includeBody ? bodyParts(body) : 'not signed',
      timestamp,
      keyId: this.#keyId,
    };
  }

  #compareNamed(body: Buffer | undefined, secrets: readonly Secret[]): Verdict {
    const { config, decoy } = this.#parts;
    if (secrets.length > 0) return this.#compare(body, keysOf(secrets, config));
    // Where a key is unknown, the answer takes as long as for a known one, whose HmacKey is made anew too.
    checkDigest(this.#signed, body, config, keysOf([decoy], config));
    return rejection('invalid', 'no secret is known for the key id');
  }

  #compare(body: Buffer | undefined, keys: readonly HmacKey[]): Verdict {
    const { config } = this.#parts;
    const { signature, timestamp } = this.#signed;
    const rejected = checkDigest(this.#signed, body, config, keys);
    if (rejected !== null) return rejected;
    return { digest: signature as string, expires: Number(timestamp) + config.maxAge + config.clockSkew, keyId: this.#keyId };
  }
}

/** Compares the signature with the one each key gives. */
export function checkDigest(
  request: SignedRequest,
  body: Uint8Array | undefined,
  config: SignatureConfig,
  keys: readonly HmacKey[],
): Rejection | null {
  const { signature, timestamp } = request;
  // Latin-1 drops the upper half of a unit, and what has another length can't be compared; the grammar rules both out.
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
