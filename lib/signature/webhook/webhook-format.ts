import type { IncomingHttpHeaders } from 'node:http';
import type { WebhookPreset } from '../../options/options';
import type { Secret } from '../hmac';

/** The parsed headers of a webhook. */
export interface WebhookStamp {
  /** The signed text ahead of the body. */
  readonly prefix: string;
  /** Time of signing, in seconds since the epoch; undefined if it is not signed. */
  readonly seconds: number | undefined;
  /** The signatures, 32 bytes each: one for each secret while the service rotates its secret. */
  readonly signatures: readonly Buffer[];
}

/** The signature format of a service: HMAC-SHA256 over a prefix made of headers, and the body as sent. */
export interface WebhookFormat {
  /** Name of the signature header, as the service writes it. */
  readonly headerName: string;
  /** Names of the other headers that it reads. */
  readonly otherNames: readonly string[];
  /** The key of a secret; undefined for a malformed secret. */
  key(secret: string): Secret | undefined;
  /** Parses the headers; a returned text is the reason of a refusal, for the log. */
  read(signature: string, headers: IncomingHttpHeaders): WebhookStamp | string;
}

// Each signature costs a comparison with each secret's HMAC. No service
// rotates through more than a few.
const MAX_SIGNATURES = 16;
const MAX_LENGTH = 2048;

// Ten digits are a time from 2001 to 2286, in its only spelling.
const SECONDS = /^[1-9][0-9]{9}$/;
const HEX = /^[0-9a-f]{64}$/;
// 32 bytes: the last digit holds four bits, so it is one of 16.
const BASE64 = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

/**
 * Standard Webhooks: `webhook-signature: v1,<base64> v1,<base64>` over
 * `<webhook-id>.<webhook-timestamp>.<body>`; Svix names the three `svix-…`. As
 * in the publisher's library all other entries are ignored.
 */
const STANDARD: WebhookFormat = {
  headerName: 'webhook-signature',
  otherNames: ['webhook-id', 'webhook-timestamp', 'svix-signature', 'svix-id', 'svix-timestamp'],
  key(secret) {
    const text = secret.startsWith('whsec_') ? secret.slice(6) : secret;
    const key = Buffer.from(text, 'base64');
    // Buffer.from ignores characters outside base64, which would shorten a wrong secret.
    return key.toString('base64') === text && key.some((byte) => byte !== 0) ? key : undefined;
  },
  read(signature, headers) {
    // A handler may read either name, so both must have the checked value.
    const mismatch = ['id', 'timestamp', 'signature'].find((name) => (headers[`svix-${name}`] ?? headers[`webhook-${name}`]) !== (headers[`webhook-${name}`] ?? headers[`svix-${name}`]));
    if (mismatch !== undefined) return `the webhook-${mismatch} header and the svix-${mismatch} header differ`;
    const id = headers['webhook-id'] ?? headers['svix-id'];
    const timestamp = headers['webhook-timestamp'] ?? headers['svix-timestamp'];
    // With a full stop in the id, the signed text would be ambiguous.
    if (!matches(/^[ -+\-/-~]+$/, id) || id.length > MAX_LENGTH) return `the webhook-id header is absent, or not 1 to ${MAX_LENGTH} printable ASCII characters without comma and full stop`;
    if (!matches(SECONDS, timestamp)) return 'the webhook-timestamp header is absent, or not 10 decimal digits (seconds since the epoch)';
    const values = valuesOf('v1', signature, ' ', ',');
    return stamp(`${id}.${timestamp}.`, timestamp, values, BASE64);
  },
};

/** Stripe: `Stripe-Signature: t=<seconds>,v1=<hex>,v1=<hex>,v0=<hex>` over `<t>.<body>`. As in Stripe's library the last `t` counts, and all other entries are ignored. */
const STRIPE: WebhookFormat = {
  headerName: 'Stripe-Signature',
  otherNames: [],
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
  otherNames: [],
  key: (secret) => secret,
  read(signature) {
    if (!signature.startsWith('sha256=')) return 'the X-Hub-Signature-256 header does not begin with "sha256="';
    return stamp('', undefined, [signature.slice(7)], HEX);
  },
};

/** Slack: `X-Slack-Signature: v0=<hex>` over `v0:<X-Slack-Request-Timestamp>:<body>`. */
const SLACK: WebhookFormat = {
  headerName: 'X-Slack-Signature',
  otherNames: ['X-Slack-Request-Timestamp'],
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

/** A header sent twice is joined by `, `, which no pattern matches. */
function matches(pattern: RegExp, value: string | string[] | undefined): value is string {
  return typeof value === 'string' && pattern.test(value);
}

/** Values of a list's entries of that name; none of a long list. A second sign ends a value, as in the publishers' libraries. */
function valuesOf(name: string, list: string, separator: string, sign: string): string[] {
  if (list.length > MAX_LENGTH) return [];
  return list.split(separator).map((entry) => entry.split(sign)).filter(([key]) => key === name).map(([, value = '']) => value);
}

function stamp(prefix: string, timestamp: string | undefined, values: readonly string[], digest: RegExp): WebhookStamp | string {
  if (values.length > MAX_SIGNATURES) return `more than ${MAX_SIGNATURES} signatures are offered`;
  // Buffer.from ignores characters outside the encoding, and timingSafeEqual throws on unequal lengths; the grammar rules both out.
  const signatures = values.filter((text) => digest.test(text)).map((text) => Buffer.from(text, digest === HEX ? 'hex' : 'base64'));
  if (signatures.length === 0) return `no signature of the version that is checked is offered, a SHA-256 digest in ${digest === HEX ? 'lower-case hexadecimal' : 'base64'}`;
  return { prefix, seconds: timestamp === undefined ? undefined : Number(timestamp), signatures };
}
