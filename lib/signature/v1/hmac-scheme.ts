import { createHash, randomBytes } from 'node:crypto';
import type { ErrorBody } from '../../errors';
import { type Failure, failureBody, type ReceivedRequest, type Rejection, rejection, type SignatureScheme, type Verdict } from '../scheme';
import { isKeyId, type SecretSource, SharedSecrets } from '../secret-source';
import { HmacKey, type Secret } from '../hmac';
import { signedUrl } from './signed-data';
import { checkAge, checkBody, checkDigest, checkHeaders, type SignatureConfig, type SignedRequest } from './verify';

/** What the scheme needs beside {@link SignatureConfig}. */
export interface HmacSchemeConfig extends SignatureConfig {
  /** Name of the header that names the key; looked at where the source asks for one. */
  readonly keyIdHeaderName: string;
}

/** The format of INTERFACE section 5: one HMAC over method, URL, body and timestamp. */
export class HmacScheme implements SignatureScheme {
  readonly challenge: string;
  readonly readsBody: boolean;
  readonly #config: HmacSchemeConfig;
  readonly #source: SecretSource;
  readonly #signatureName: string;
  readonly #timestampName: string;
  readonly #keyIdName: string;
  /** Keys that every client shares; none with a secret for each client. */
  readonly #keys: readonly HmacKey[];
  /** A secret that nobody has. */
  readonly #nobodys = randomBytes(32);

  constructor(config: HmacSchemeConfig, source: SecretSource) {
    this.#config = config;
    this.#source = source;
    this.readsBody = config.includeBody;
    this.challenge = `Signature header="${config.headerName}", algorithm="hmac-${config.algorithm}"`;
    this.#signatureName = config.headerName.toLowerCase();
    this.#timestampName = config.timestampHeaderName.toLowerCase();
    this.#keyIdName = config.keyIdHeaderName.toLowerCase();
    this.#keys = this.#keysOf(source instanceof SharedSecrets ? source.find() : []);
  }

  checkHeaders(request: ReceivedRequest, now: number): Rejection | null {
    const rejected = checkHeaders(this.#signed(request), this.#config, now);
    if (rejected !== null || !this.#source.named || isKeyId(this.#keyId(request))) return rejected;
    return rejection('invalid', `the ${this.#config.keyIdHeaderName} header is absent or no key id: 1 to 256 visible ASCII characters, no comma`);
  }

  checkBytes(request: ReceivedRequest, body: Buffer | undefined, now: number): Verdict | Promise<Verdict> {
    const signed = this.#signed(request);
    // Time has passed while the body came in.
    const rejected = checkAge(Number(signed.timestamp), this.#config, now) ?? checkBody(request, body, this.#config);
    if (rejected !== null) return rejected;
    if (!this.#source.named) return this.#compare(signed, body, this.#keys, undefined);
    const keyId = this.#keyId(request);
    const secrets = this.#source.find(keyId);
    if (secrets instanceof Promise) return secrets.then((found) => this.#compareNamed(signed, body, found, keyId));
    return this.#compareNamed(signed, body, secrets, keyId);
  }

  describe(request: ReceivedRequest, body: Buffer | undefined): Readonly<Record<string, unknown>> {
    const { timestamp } = this.#signed(request);
    const { algorithm, includeBody, includeQuery } = this.#config;
    const url = signedUrl(request.target, includeQuery);
    return {
      algorithm,
      method: request.method.toUpperCase(),
      url: { text: url, length: url.length },
      body: includeBody ? bodyParts(body) : 'not signed',
      timestamp,
      keyId: this.#source.named ? this.#keyId(request) : undefined,
    };
  }

  failureBody(failure: Failure): ErrorBody {
    return failureBody(failure, this.#config.headerName);
  }

  #compareNamed(signed: SignedRequest, body: Buffer | undefined, secrets: readonly Secret[], keyId: string | undefined): Verdict {
    if (secrets.length > 0) return this.#compare(signed, body, this.#keysOf(secrets), keyId);
    // Where a key is unknown, the answer takes as long as for a known one, whose HmacKey is made anew too.
    checkDigest(signed, body, this.#config, this.#keysOf([this.#nobodys]));
    return rejection('invalid', 'no secret is known for the key id');
  }

  #compare(signed: SignedRequest, body: Buffer | undefined, keys: readonly HmacKey[], keyId: string | undefined): Verdict {
    const rejected = checkDigest(signed, body, this.#config, keys);
    if (rejected !== null) return rejected;
    return { digest: signed.signature as string, expires: Number(signed.timestamp) + this.#config.maxAge + this.#config.clockSkew, keyId };
  }

  #keysOf(secrets: readonly Secret[]): HmacKey[] {
    return secrets.map((secret) => new HmacKey(this.#config.algorithm, secret));
  }

  #signed({ method, target, headers }: ReceivedRequest): SignedRequest {
    return {
      method,
      target,
      signature: headers[this.#signatureName] as string | undefined,
      timestamp: headers[this.#timestampName] as string | undefined,
    };
  }

  #keyId({ headers }: ReceivedRequest): string | undefined {
    return headers[this.#keyIdName] as string | undefined;
  }
}

/** A body as the log may show it: how long it is, and which. */
export function bodyParts(body: Buffer | undefined): { readonly bytes: number; readonly sha256: string } {
  const bytes = body ?? Buffer.alloc(0);
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}
