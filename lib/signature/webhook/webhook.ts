import { crypto } from '../../packages';
import type { ResolvedWebhook } from '../../options/resolved';
import { matchesAny, type Secret } from '../hmac';
import { checkAge, type Rejection, rejection } from '../rejection';
import { linesOf } from '../v2/message-base';
import { bodySummary, type ReceivedRequest, type SignatureScheme, type Verdict } from '../scheme';
import { WEBHOOK_FORMATS, type WebhookFormat, type WebhookStamp } from './webhook-format';

/** The members of a `security.webhooks` entry for this scheme. */
export type WebhookSchemeConfig = Pick<ResolvedWebhook, 'path' | 'preset' | 'secrets' | 'maxAge' | 'clockSkew'>;

const NO_BODY = Buffer.alloc(0);

/**
 * Webhooks in the signature format of another service. No service signs
 * method, path or query, nor any header but those of the signature: only the
 * body is authentic. So only POST, which all services use, is accepted.
 */
export class WebhookScheme implements SignatureScheme<WebhookStamp> {
  readonly headerName: string;
  readonly headerNames: readonly string[];
  readonly challenge: string;
  readonly readsBody = true;
  readonly #format: WebhookFormat;
  readonly #config: WebhookSchemeConfig;
  readonly #keys: readonly Secret[];

  /** @throws TypeError for a secret that is malformed for the preset. */
  constructor(config: WebhookSchemeConfig) {
    const format = WEBHOOK_FORMATS[config.preset];
    this.#format = format;
    this.#config = config;
    this.#keys = config.secrets.map((secret) => keyOf(secret, format, config));
    this.headerName = format.headerName;
    this.headerNames = [format.headerName, ...format.otherNames];
    this.challenge = `Signature header="${format.headerName}", algorithm="hmac-sha256"`;
  }

  begin(request: ReceivedRequest, now: number): Rejection | WebhookStamp {
    const { headerName } = this;
    const { method, headers } = request;
    const own = headerName.toLowerCase();
    const name = headers[own] === undefined ? own.replace(/^webhook-/, 'svix-') : own;
    const signature = headers[name];
    if (signature === undefined) return rejection('missing', `the ${headerName} header is absent`);
    // Node would join two headers to one list.
    if ((linesOf(request).get(name)?.length ?? 0) > 1) return rejection('invalid', `the ${name} header is sent twice`);
    if (method !== 'POST') return rejection('invalid', 'webhooks are sent by POST');
    const read = typeof signature === 'string' ? this.#format.read(signature, headers) : `the ${headerName} header is no string`;
    if (typeof read === 'string') return rejection('invalid', read);
    return this.#checkAge(read, now) ?? read;
  }

  finish(stamp: WebhookStamp, body: Buffer = NO_BODY, now: number): Verdict {
    const rejected = this.#checkAge(stamp, now);
    if (rejected !== null) return rejected;
    const macs = this.#keys.map((key) => crypto().createHmac('sha256', key).update(stamp.prefix).update(body).digest());
    if (!matchesAny(stamp.signatures, macs)) return rejection('invalid', 'no signature matches any of the secrets');
    const { maxAge, clockSkew } = this.#config;
    return { digest: this.#digest(stamp, body), expires: stamp.seconds === undefined ? Infinity : (stamp.seconds + 1) * 1000 + maxAge + clockSkew };
  }

  describe({ seconds, signatures }: WebhookStamp, body: Buffer | undefined): Readonly<Record<string, unknown>> {
    return { preset: this.#config.preset, algorithm: 'sha256', timestamp: seconds, signatures: signatures.length, body: bodySummary(body) };
  }

  /** Compares in whole seconds, the timestamp's unit, as the services' own libraries do. */
  #checkAge({ seconds }: WebhookStamp, now: number): Rejection | null {
    return seconds === undefined ? null : checkAge(seconds * 1000, this.#config, Math.floor(now / 1000) * 1000);
  }

  /**
   * The digest of the signed data, without a secret: the same webhook has one
   * digest, whichever of its signatures is sent and whichever secret is first.
   * The path is part of it, since a service may send one event to two paths.
   */
  #digest({ prefix }: WebhookStamp, body: Buffer): string {
    const { preset, path } = this.#config;
    return `webhook:${preset}:${path}:${crypto().createHash('sha256').update(prefix).update(body).digest('hex')}`;
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
