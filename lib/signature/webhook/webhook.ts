import { crypto, late } from '../../packages';
import type { ResolvedWebhook } from '../../options/resolved';
import { matchesAny, type Secret } from '../hmac';
import { checkAge, type Rejection, rejection } from '../rejection';
import { linesOf } from '../v2/message-base';
import { bodySummary, type ReceivedRequest, type SignatureScheme, type Verdict } from '../scheme';
import type { MessageKey } from '../v2/message-key';
import { WEBHOOK_FORMATS, type WebhookFormat, type WebhookHead, type WebhookStamp } from './webhook-format';

const publicKeys = late(() => require('../v2/message-key') as typeof import('../v2/message-key'));

/** The members of a `security.webhooks` entry for this scheme. */
export type WebhookSchemeConfig = Pick<ResolvedWebhook, 'path' | 'preset' | 'secrets' | 'maxAge' | 'clockSkew'> & Partial<Pick<ResolvedWebhook, 'url'>>;

/** A webhook whose head has passed, without its body. */
interface PendingWebhook extends WebhookStamp {
  readonly head: WebhookHead;
}

const NO_BODY = Buffer.alloc(0);

/**
 * Webhooks in the signature format of another service. No service signs
 * method, path or query, nor any header but those of the signature: only the
 * body is authentic. So only POST, which all services use, is accepted.
 */
export class WebhookScheme implements SignatureScheme<PendingWebhook> {
  readonly headerName: string;
  readonly headerNames: readonly string[];
  readonly challenge: string;
  readonly readsBody = true;
  readonly #format: WebhookFormat;
  readonly #config: WebhookSchemeConfig;
  readonly #keys: readonly (Secret | MessageKey)[];
  /** The spellings of the address in the options. */
  readonly #urls: readonly string[];

  /** @throws TypeError for a secret that is malformed for the preset. */
  constructor(config: WebhookSchemeConfig) {
    const format = WEBHOOK_FORMATS[config.preset];
    this.#format = format;
    this.#config = config;
    this.#keys = config.secrets.map((secret) => keyOf(secret, format, config));
    this.headerName = format.headerName;
    this.headerNames = [format.headerName, ...format.otherNames];
    this.#urls = config.url === undefined ? [] : spellingsOf(config.url);
    this.challenge = `Signature header="${format.headerName}", algorithm="${format.hash === 'ed25519' ? 'ed25519' : `hmac-${format.hash ?? 'sha256'}`}"`;
  }

  begin(request: ReceivedRequest, now: number): Rejection | PendingWebhook {
    const { headerName } = this;
    const { method, target, headers } = request;
    const own = headerName.toLowerCase();
    const name = headers[own] === undefined ? own.replace(/^(?:webhook|svix)-/, (prefix) => (prefix === 'svix-' ? 'webhook-' : 'svix-')) : own;
    const signature = headers[name];
    if (signature === undefined) return rejection('missing', `the ${headerName} header is absent`);
    // Node would join two headers to one list.
    if ((linesOf(request).get(name)?.length ?? 0) > 1) return rejection('invalid', `the ${name} header is sent twice`);
    if (method !== 'POST') return rejection('invalid', 'webhooks are sent by POST');
    const head = { headers, urls: this.#urls.map((url) => url + target.replace(/^[^?]*/, '')) };
    const read = typeof signature === 'string' ? this.#format.read(signature, head) : `the ${headerName} header is no string`;
    if (typeof read === 'string') return rejection('invalid', read);
    return this.#checkAge(read, now) ?? { ...read, head };
  }

  finish(pending: PendingWebhook, body: Buffer = NO_BODY, now: number): Verdict {
    const rejected = this.#checkAge(pending, now);
    if (rejected !== null) return rejected;
    const content = this.#format.content === undefined ? body : this.#format.content(body, pending.head);
    if (content === undefined) return rejection('invalid', 'the body is not of the kind that the service signs, or not the one whose hash is signed');
    if (!this.#holds(pending, content)) return rejection('invalid', 'no signature matches any of the secrets');
    const { maxAge, clockSkew } = this.#config;
    return { digest: this.#digest(pending, content), expires: pending.seconds === undefined ? Infinity : (pending.seconds + 1) * 1000 + maxAge + clockSkew };
  }

  #holds({ prefixes, signatures }: PendingWebhook, content: string | Buffer): boolean {
    const { hash = 'sha256' } = this.#format;
    if (hash === 'ed25519') return (this.#keys as readonly MessageKey[]).some((key) => key.verify(Buffer.concat([Buffer.from(prefixes[0] as string), content as Buffer]), signatures[0] as Buffer));
    const macs = prefixes.flatMap((prefix) => (this.#keys as readonly Secret[]).map((key) => crypto().createHmac(hash, key).update(prefix).update(content).digest()));
    return matchesAny(signatures, macs);
  }

  describe({ seconds, signatures }: PendingWebhook, body: Buffer | undefined): Readonly<Record<string, unknown>> {
    return { preset: this.#config.preset, algorithm: this.#format.hash ?? 'sha256', timestamp: seconds, signatures: signatures.length, body: bodySummary(body) };
  }

  /** Compares in whole seconds, the timestamp's unit, as most services' own libraries do. */
  #checkAge({ seconds }: WebhookStamp, now: number): Rejection | null {
    return seconds === undefined ? null : checkAge(seconds * 1000, this.#config, this.#format.isExact === true ? now : Math.floor(now / 1000) * 1000);
  }

  /**
   * The digest of the signed data, without a secret: the same webhook has one
   * digest, whichever of its signatures is sent and whichever secret is first.
   * The path is part of it, since a service may send one event to two paths.
   */
  #digest({ prefixes }: WebhookStamp, content: string | Buffer): string {
    const { preset, path } = this.#config;
    return `webhook:${preset}:${path}:${crypto().createHash('sha256').update(prefixes[0] as string).update(content).digest('hex')}`;
  }
}

/** An address as given, and with its port left out or put in. */
function spellingsOf(url: string): readonly string[] {
  const other = url.replace(/^(http(s?):\/\/[^/:]+)(?::\d+)?/, (whole, start: string, secure: string) => (whole === start ? `${start}:${secure === '' ? 80 : 443}` : start));
  return [url, other];
}

function keyOf(secret: string, format: WebhookFormat, { path, preset }: WebhookSchemeConfig): Secret | MessageKey {
  const key = format.key(secret);
  if (key !== undefined && format.hash === 'ed25519') return new (publicKeys().MessageKey)({ kty: 'OKP', crv: 'Ed25519', x: Buffer.from(key).toString('base64url') }, 'verify');
  if (key !== undefined) return key;
  // The value is not shown: it may be most of a real secret.
  throw new TypeError(
    `security.webhooks: secret for ${JSON.stringify(path)} must be a secret as preset "${preset}" has them, ` +
      `and was other text; write ${format.hash === 'ed25519' ? 'the public key of the application, 64 hexadecimal digits' : '"whsec_" and the base64 that the service shows'}`,
  );
}
