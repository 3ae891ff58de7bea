import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { ErrorBody } from '../../errors';
import type { ResolvedWebhook } from '../../options/options';
import { bodyParts } from '../v1/hmac-scheme';
import { type Failure, failureBody, type ReceivedRequest, type Rejection, rejection, type SignatureScheme, type Verdict } from '../scheme';
import type { Secret } from '../hmac';
import { WEBHOOK_FORMATS, type WebhookFormat, type WebhookStamp } from './webhook-format';

/** An entry of `security.webhooks`, as far as the scheme looks at it. */
export type WebhookSchemeConfig = Pick<ResolvedWebhook, 'path' | 'preset' | 'secrets' | 'maxAge' | 'clockSkew'>;

const NO_BODY = Buffer.alloc(0);

/**
 * The webhooks of another service, signed as that service signs them. None of
 * them signs method, path or query, nor any header but those that carry the
 * signature: only the body can be believed. So no other method than POST, which
 * all of them use, gets through.
 */
export class WebhookScheme implements SignatureScheme {
  readonly challenge: string;
  readonly readsBody = true;
  readonly #format: WebhookFormat;
  readonly #keys: readonly Secret[];
  readonly #config: WebhookSchemeConfig;

  /** @throws TypeError for a secret that is none for the preset. */
  constructor(config: WebhookSchemeConfig) {
    this.#format = WEBHOOK_FORMATS[config.preset];
    this.#config = config;
    this.#keys = config.secrets.map((secret) => keyOf(secret, this.#format, config));
    this.challenge = `Signature header="${this.#format.headerName}", algorithm="hmac-sha256"`;
  }

  checkHeaders(request: ReceivedRequest, now: number): Rejection | null {
    const read = this.#read(request, now);
    return isRefused(read) ? read : null;
  }

  checkBytes(request: ReceivedRequest, body: Buffer | undefined, now: number): Verdict {
    const read = this.#read(request, now);
    if (isRefused(read)) return read;
    const macs = this.#keys.map((key) => createHmac('sha256', key).update(read.prefix).update(body ?? NO_BODY).digest());
    let matches = 0;
    // Without stopping at the first match: which secret signed can't be timed.
    for (const mac of macs) {
      for (const signature of read.signatures) matches |= Number(timingSafeEqual(signature, mac));
    }
    if (matches !== 1) return rejection('invalid', 'no signature matches any of the secrets');
    return { digest: this.#digest(read, body), expires: this.#expires(read) };
  }

  /**
   * Of what was signed, by no secret: so who drops one of two good signatures
   * from the header gains no second digest, nor does who sends a webhook again
   * once another secret stands first. With the path, since a service may send
   * two paths of one secret the same event.
   */
  #digest({ prefix }: WebhookStamp, body: Buffer | undefined): string {
    const { preset, path } = this.#config;
    return `webhook:${preset}:${path}:${createHash('sha256').update(prefix).update(body ?? NO_BODY).digest('hex')}`;
  }

  describe(request: ReceivedRequest, body: Buffer | undefined): Readonly<Record<string, unknown>> {
    const { preset } = this.#config;
    const given = request.headers[this.#format.headerName.toLowerCase()];
    const read = typeof given === 'string' ? this.#format.read(given, request.headers) : undefined;
    const stamped = typeof read === 'object' ? { timestamp: read.seconds, signatures: read.signatures.length } : {};
    return { preset, algorithm: 'sha256', ...stamped, body: bodyParts(body) };
  }

  failureBody(failure: Failure): ErrorBody {
    return failureBody(failure, this.#format.headerName);
  }

  #read({ method, headers }: ReceivedRequest, now: number): WebhookStamp | Rejection {
    const { headerName } = this.#format;
    const signature = headers[headerName.toLowerCase()];
    if (signature === undefined) return rejection('missing', `the ${headerName} header is absent`);
    if (method !== 'POST') return rejection('invalid', 'webhooks are sent by POST');
    const read = typeof signature === 'string' ? this.#format.read(signature, headers) : `the ${headerName} header is no text`;
    if (typeof read === 'string') return rejection('invalid', read);
    return this.#checkAge(read, now) ?? read;
  }

  #checkAge({ seconds }: WebhookStamp, now: number): Rejection | null {
    if (seconds === undefined) return null;
    const { maxAge, clockSkew } = this.#config;
    // In whole seconds, the unit of the timestamp, as the services' own libraries count.
    const age = (Math.floor(now / 1000) - seconds) * 1000;
    // Stated as what is accepted, so that NaN is not.
    if (age >= -clockSkew && age <= maxAge) return null;
    if (age > maxAge) return rejection('expired', `the timestamp is ${age} ms old, and maxAge is ${maxAge} ms`);
    return rejection('invalid', `the timestamp is ${-age} ms in the future, and clockSkew is ${clockSkew} ms`);
  }

  #expires({ seconds }: WebhookStamp): number {
    if (seconds === undefined) return Infinity;
    return (seconds + 1) * 1000 + this.#config.maxAge + this.#config.clockSkew;
  }
}

function isRefused(read: WebhookStamp | Rejection): read is Rejection {
  return 'failure' in read;
}

function keyOf(secret: string, format: WebhookFormat, { path, preset }: WebhookSchemeConfig): Secret {
  const key = format.key(secret);
  if (key !== undefined) return key;
  // The value is not shown: it may be most of a real secret.
  throw new TypeError(
    `security.webhooks: secret for ${JSON.stringify(path)} must be a secret as preset "${preset}" has them, ` +
      'and was other text; write "whsec_" and the base64 that the service shows',
  );
}
