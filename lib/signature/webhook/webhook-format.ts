import type { IncomingHttpHeaders } from 'node:http';
import type { WebhookPreset } from '../../options/options';
import type { Secret } from '../hmac';

/** What the headers of a webhook say. */
export interface WebhookStamp {
  /** What is signed ahead of the body. */
  readonly prefix: string;
  /** When it was signed, in seconds since the epoch; undefined where no time is signed. */
  readonly seconds: number | undefined;
  /** The signatures that are offered, 32 bytes each: one a secret, while the service changes its secret. */
  readonly signatures: readonly Buffer[];
}

/** How a service signs its webhooks: HMAC-SHA256 over a prefix made of headers, and the body as sent. */
export interface WebhookFormat {
  /** Name of the header that carries the signature, as the service writes it. */
  readonly headerName: string;
  /** The key that a secret stands for; undefined when it is none. */
  key(secret: string): Secret | undefined;
  /** Reads the headers; a text says what is wrong with them, for the log. */
  read(signature: string, headers: IncomingHttpHeaders): WebhookStamp | string;
}

// Each secret costs an HMAC however many signatures are offered, but each of
// these costs a comparison. No service rotates through more than a few.
const MOST_SIGNATURES = 16;
const LONGEST = 2048;

// Ten digits are a time from 2001 to 2286, and the only way to write it.
const SECONDS = /^[1-9][0-9]{9}$/;
const HEX = /^[0-9a-f]{64}$/;
// Of 32 bytes: the last digit holds four bits, so only 16 of them can stand there.
const BASE64 = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

/**
 * Standard Webhooks: `webhook-signature: v1,<base64> v1,<base64>` over
 * `<webhook-id>.<webhook-timestamp>.<body>`; Svix names the three `svix-…`. As
 * in the publisher's library all other entries are passed over.
 */
const STANDARD: WebhookFormat = {
  headerName: 'webhook-signature',
  key(secret) {
    const text = secret.startsWith('whsec_') ? secret.slice(6) : secret;
    const key = Buffer.from(text, 'base64');
    // Buffer.from drops what is not base64: a wrong secret would become a short one.
    return key.toString('base64') === text && key.some((byte) => byte !== 0) ? key : undefined;
  },
  read(signature, headers) {
    // A handler may read either name: one that was not checked must say nothing else.
    const twin = ['id', 'timestamp', 'signature'].find((name) => (headers[`svix-${name}`] ?? headers[`webhook-${name}`]) !== (headers[`webhook-${name}`] ?? headers[`svix-${name}`]));
    if (twin !== undefined) return `the webhook-${twin} header and the svix-${twin} header differ`;
    const id = headers['webhook-id'] ?? headers['svix-id'];
    const timestamp = headers['webhook-timestamp'] ?? headers['svix-timestamp'];
    // With a full stop in the id, its end and the timestamp could change places with the start of the body.
    if (!matches(/^[ -+\-/-~]+$/, id) || id.length > LONGEST) return `the webhook-id header is absent, or not 1 to ${LONGEST} printable ASCII characters without comma and full stop`;
    if (!matches(SECONDS, timestamp)) return 'the webhook-timestamp header is absent, or not 10 decimal digits (seconds since the epoch)';
    const offered = valuesOf('v1', signature, ' ', ',');
    return stamp(`${id}.${timestamp}.`, timestamp, offered, BASE64);
  },
};

/** Stripe: `Stripe-Signature: t=<seconds>,v1=<hex>,v1=<hex>,v0=<hex>` over `<t>.<body>`. As in Stripe's library the last `t` counts, and all other entries are passed over. */
const STRIPE: WebhookFormat = {
  headerName: 'Stripe-Signature',
  key: (secret) => secret,
  read(signature) {
    const timestamp = valuesOf('t', signature, ',', '=').at(-1);
    if (!matches(SECONDS, timestamp)) return 'the Stripe-Signature header has no t, or t is not 10 decimal digits (seconds since the epoch)';
    return stamp(`${timestamp}.`, timestamp, valuesOf('v1', signature, ',', '='), HEX);
  },
};

/** GitHub: `X-Hub-Signature-256: sha256=<hex>` over the body alone. */
const GITHUB: WebhookFormat = {
  headerName: 'X-Hub-Signature-256',
  key: (secret) => secret,
  read(signature) {
    if (!signature.startsWith('sha256=')) return 'the X-Hub-Signature-256 header does not begin with "sha256="';
    return stamp('', undefined, [signature.slice(7)], HEX);
  },
};

/** Slack: `X-Slack-Signature: v0=<hex>` over `v0:<X-Slack-Request-Timestamp>:<body>`. */
const SLACK: WebhookFormat = {
  headerName: 'X-Slack-Signature',
  key: (secret) => secret,
  read(signature, headers) {
    const timestamp = headers['x-slack-request-timestamp'];
    if (!matches(SECONDS, timestamp)) return 'the X-Slack-Request-Timestamp header is absent, or not 10 decimal digits (seconds since the epoch)';
    if (!signature.startsWith('v0=')) return 'the X-Slack-Signature header does not begin with "v0="';
    return stamp(`v0:${timestamp}:`, timestamp, [signature.slice(3)], HEX);
  },
};

/** The formats, by the name of their preset. */
export const WEBHOOK_FORMATS: Readonly<Record<WebhookPreset, WebhookFormat>> = {
  standard: STANDARD,
  stripe: STRIPE,
  github: GITHUB,
  slack: SLACK,
};

/** A header sent twice comes joined by `, `, which none of the patterns takes. */
function matches(pattern: RegExp, value: string | string[] | undefined): value is string {
  return typeof value === 'string' && pattern.test(value);
}

/** What the entries of that name say, in a list that is short enough; as the publishers' libraries read it, up to a second sign. */
function valuesOf(name: string, list: string, separator: string, sign: string): string[] {
  if (list.length > LONGEST) return [];
  return list.split(separator).map((entry) => entry.split(sign)).filter(([key]) => key === name).map(([, value = '']) => value);
}

function stamp(prefix: string, timestamp: string | undefined, offered: readonly string[], digest: RegExp): WebhookStamp | string {
  if (offered.length > MOST_SIGNATURES) return `more than ${MOST_SIGNATURES} signatures are offered`;
  // Buffer.from drops what is not of the encoding, and timingSafeEqual throws on unequal lengths; the grammar rules both out.
  const signatures = offered.filter((text) => digest.test(text)).map((text) => Buffer.from(text, digest === HEX ? 'hex' : 'base64'));
  if (signatures.length === 0) return `no signature of the version that is checked is offered, a SHA-256 digest in ${digest === HEX ? 'lower-case hexadecimal' : 'base64'}`;
  return { prefix, seconds: timestamp === undefined ? undefined : Number(timestamp), signatures };
}
