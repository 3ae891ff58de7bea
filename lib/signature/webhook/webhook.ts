import { crypto } from '../../packages';
import type { ErrorBody } from '../../errors';
import type { ResolvedWebhook } from '../../options/resolved';
import { checkAge } from '../age';
import { matchesAny, type Secret } from '../hmac';
import { bodyParts } from '../logged-parts';
import { type Failure, failureBody, type Rejection, rejection } from '../rejection';
import type { PendingCheck, ReceivedRequest, SignatureScheme, Verdict } from '../scheme';
import { WEBHOOK_FORMATS, type WebhookFormat, type WebhookStamp } from './webhook-format';

/** An entry of `security.webhooks`, as far as the scheme looks at it. */
export type WebhookSchemeConfig = Pick<ResolvedWebhook, 'path' | 'preset' | 'secrets' | 'maxAge' | 'clockSkew'>;

const NO_BODY = Buffer.alloc(0);

/** What every check of a scheme goes by. */
interface WebhookParts {
  readonly keys: readonly Secret[];
  readonly config: WebhookSchemeConfig;
}

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
  readonly #parts: WebhookParts;

  /** @throws TypeError for a secret that is none for the preset. */
  constructor(config: WebhookSchemeConfig) {
    this.#format = WEBHOOK_FORMATS[config.preset];
    this.#parts = { config, keys: config.secrets.map((secret) => keyOf(secret, this.#format, config)) };
    this.challenge = `Signature header="${this.#format.headerName}", algorithm="hmac-sha256"`;
  }

  begin({ method, headers }: ReceivedRequest, now: number): Rejection | PendingCheck {
    const { headerName } = this.#format;
    const signature = headers[headerName.toLowerCase()];
    if (signature === undefined) return rejection('missing', `the ${headerName} header is absent`);
    if (method !== 'POST') return rejection('invalid', 'webhooks are sent by POST');
    const read = typeof signature === 'string' ? this.#format.read(signature, headers) : `the ${headerName} header is no string`;
    if (typeof read === 'string') return rejection('invalid', read);
    const check = new WebhookCheck(this.#parts, read);
    return check.checkAge(now) ?? check;
  }

  failureBody(failure: Failure): ErrorBody {
    return failureBody(failure, this.#format.headerName);
  }
}

/** The check of one webhook. */
class WebhookCheck implements PendingCheck {
  readonly #parts: WebhookParts;
  readonly #stamp: WebhookStamp;

  constructor(parts: WebhookParts, stamp: WebhookStamp) {
    this.#parts = parts;
    this.#stamp = stamp;
  }

  /** In whole seconds, the unit of the timestamp, as the services' own libraries count. */
  checkAge(now: number): Rejection | null {
    const { seconds } = this.#stamp;
    return seconds === undefined ? null : checkAge(seconds * 1000, this.#parts.config, Math.floor(now / 1000) * 1000);
  }

  finish(body: Buffer | undefined, now: number): Verdict {
    const rejected = this.checkAge(now);
    if (rejected !== null) return rejected;
    const { prefix, signatures } = this.#stamp;
    const macs = this.#parts.keys.map((key) => crypto().createHmac('sha256', key).update(prefix).update(body ?? NO_BODY).digest());
    if (!matchesAny(signatures, macs)) return rejection('invalid', 'no signature matches any of the secrets');
    return { digest: this.#digest(body), expires: this.#expires() };
  }

  describe(body: Buffer | undefined): Readonly<Record<string, unknown>> {
    const { seconds, signatures } = this.#stamp;
    return { preset: this.#parts.config.preset, algorithm: 'sha256', timestamp: seconds, signatures: signatures.length, body: bodyParts(body) };
  }

  /**
   * Of what was signed, by no secret: so who drops one of two good signatures
   * from the header gains no second digest, nor does who sends a webhook again
   * once another secret stands first. With the path, since a service may send
   * two paths of one secret the same event.
   */
  #digest(body: Buffer | undefined): string {
    const { preset, path } = this.#parts.config;
    return `webhook:${preset}:${path}:${crypto().createHash('sha256').update(this.#stamp.prefix).update(body ?? NO_BODY).digest('hex')}`;
  }

  #expires(): number {
    const { seconds } = this.#stamp;
    const { maxAge, clockSkew } = this.#parts.config;
    return seconds === undefined ? Infinity : (seconds + 1) * 1000 + maxAge + clockSkew;
  }
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
