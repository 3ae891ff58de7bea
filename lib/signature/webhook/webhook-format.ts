import type { IncomingHttpHeaders } from 'node:http';
import type { WebhookPreset } from '../../options/options';
import type { Secret } from '../hmac';
import { sha256 } from '../scheme';

/** The parsed headers of a webhook. */
export interface WebhookStamp {
  /** The signed text ahead of the body; of several spellings one must hold. */
  readonly prefixes: readonly string[];
  /** Time of signing, in seconds since the epoch; undefined if it is not signed. */
  readonly seconds: number | undefined;
  /** The signatures, of the bytes that the hash has: one for each secret while the service rotates its secret. */
  readonly signatures: readonly Buffer[];
}

/** A webhook's head, with the addresses by which the service may have called. */
export interface WebhookHead {
  readonly headers: IncomingHttpHeaders;
  /** The address of the options in its spellings, with the query as received; empty without one. */
  readonly urls: readonly string[];
}

/** The signature format of a service: HMAC-SHA256 over a prefix made of headers, and the body as sent, if nothing else is said. */
export interface WebhookFormat {
  /** Name of the signature header, as the service writes it. */
  readonly headerName: string;
  /** Names of the other headers that it reads. */
  readonly otherNames: readonly string[];
  /** Hash of the HMAC; `ed25519` has a public key in place of a secret. @default 'sha256' */
  readonly hash?: 'sha1' | 'ed25519';
  /** True if the age is compared in milliseconds, as by the service's own library. @default false: in seconds */
  readonly isExact?: boolean;
  /** The key of a secret; undefined for a malformed secret. */
  key(secret: string): Secret | undefined;
  /** Parses the headers; a returned text is the reason of a refusal, for the log. */
  read(signature: string, head: WebhookHead): WebhookStamp | string;
  /** The signed form of a body; undefined for a body that is not signed. @default the body */
  content?(body: Buffer, head: WebhookHead): string | Buffer | undefined;
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
const SHA1_BASE64 = /^[A-Za-z0-9+/]{26}[AEIMQUYcgkosw048]=$/;
const ED25519_HEX = /^[0-9a-f]{128}$/;

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
  read(signature, { headers }) {
    // A handler may read either name, so both must have the checked value.
    const mismatch = ['id', 'timestamp', 'signature'].find((name) => (headers[`svix-${name}`] ?? headers[`webhook-${name}`]) !== (headers[`webhook-${name}`] ?? headers[`svix-${name}`]));
    if (mismatch !== undefined) return `the webhook-${mismatch} header and the svix-${mismatch} header differ`;
    const id = headers['webhook-id'] ?? headers['svix-id'];
    const timestamp = headers['webhook-timestamp'] ?? headers['svix-timestamp'];
    // With a full stop in the id, the signed text would be ambiguous.
    if (!matches(/^[ -+\-/-~]+$/, id) || id.length > MAX_LENGTH) return `the webhook-id header is absent, or not 1 to ${MAX_LENGTH} printable ASCII characters without comma and full stop`;
    if (!matches(SECONDS, timestamp)) return 'the webhook-timestamp header is absent, or not 10 decimal digits (seconds since the epoch)';
    const values = valuesOf('v1', signature, ' ', ',');
    return stamp([`${id}.${timestamp}.`], timestamp, values, BASE64);
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
    return stamp([`${timestamp}.`], timestamp, valuesOf('v1', signature, ',', '='), HEX);
  },
};

/** GitHub: `X-Hub-Signature-256: sha256=<hex>` over the body alone. */
const GITHUB: WebhookFormat = {
  headerName: 'X-Hub-Signature-256',
  otherNames: [],
  key: (secret) => secret,
  read(signature) {
    if (!signature.startsWith('sha256=')) return 'the X-Hub-Signature-256 header does not begin with "sha256="';
    return stamp([''], undefined, [signature.slice(7)], HEX);
  },
};

/** Slack and Zoom: `<header>: v0=<hex>` over `v0:<time>:<body>`. */
function versioned(headerName: string, timeHeader: string): WebhookFormat {
  return {
    headerName,
    otherNames: [timeHeader],
    key: (secret) => secret,
    read(signature, { headers }) {
      const timestamp = headers[timeHeader.toLowerCase()];
      if (!matches(SECONDS, timestamp)) return `the ${timeHeader} header is absent, or not 10 decimal digits (seconds since the epoch)`;
      if (!signature.startsWith('v0=')) return `the ${headerName} header does not begin with "v0="`;
      return stamp([`v0:${timestamp}:`], timestamp, [signature.slice(3)], HEX);
    },
  };
}

/** Paddle: `Paddle-Signature: ts=<seconds>;h1=<hex>` over `<ts>:<body>`. As in Paddle's library the last of each counts, and an empty one is ignored. */
const PADDLE: WebhookFormat = {
  headerName: 'Paddle-Signature',
  otherNames: [],
  isExact: true,
  key: (secret) => secret,
  read(signature) {
    const [timestamp, value = ''] = ['ts', 'h1'].map((name) => valuesOf(name, signature, ';', '=').filter((text) => text !== '').at(-1));
    if (!matches(SECONDS, timestamp)) return 'the Paddle-Signature header has no ts, or ts is not 10 decimal digits (seconds since the epoch)';
    return stamp([`${timestamp}:`], timestamp, [value], HEX);
  },
};

/** Discord: `X-Signature-Ed25519: <hex>` over `<X-Signature-Timestamp><body>`, verified by the application's public key. */
const DISCORD: WebhookFormat = {
  headerName: 'X-Signature-Ed25519',
  otherNames: ['X-Signature-Timestamp'],
  hash: 'ed25519',
  key: (secret) => (/^[0-9a-f]{64}$/i.test(secret) ? Buffer.from(secret, 'hex') : undefined),
  read(signature, { headers }) {
    const timestamp = headers['x-signature-timestamp'];
    if (!matches(SECONDS, timestamp)) return 'the X-Signature-Timestamp header is absent, or not 10 decimal digits (seconds since the epoch)';
    return stamp([timestamp], timestamp, [signature], ED25519_HEX);
  },
};

/** Shopify: `X-Shopify-Hmac-Sha256: <base64>` over the body alone. */
const SHOPIFY: WebhookFormat = {
  headerName: 'X-Shopify-Hmac-Sha256',
  otherNames: [],
  key: (secret) => secret,
  read: (signature) => stamp([''], undefined, [signature], BASE64),
};

/** Square: `x-square-hmacsha256-signature: <base64>` over the address and the body. */
const SQUARE: WebhookFormat = {
  headerName: 'x-square-hmacsha256-signature',
  otherNames: [],
  key: (secret) => secret,
  read: (signature, { urls }) => stamp(urls.slice(0, 1), undefined, [signature], BASE64),
};

/**
 * Twilio: `X-Twilio-Signature: <base64>` by SHA-1 over the address, and the names
 * and values of a form. Any other body is signed by its hash, `bodySHA256` in the
 * query. As in Twilio's library names are sorted, and the values of one name too,
 * each taken once.
 */
const TWILIO: WebhookFormat = {
  headerName: 'X-Twilio-Signature',
  otherNames: [],
  hash: 'sha1',
  key: (secret) => secret,
  read: (signature, { urls }) => stamp(urls, undefined, [signature], SHA1_BASE64),
  content(body, { headers, urls }) {
    const hash = new URL(urls[0] as string).searchParams.get('bodySHA256');
    if (hash !== null) return hash === sha256(body) ? '' : undefined;
    if (body.length === 0) return '';
    if (!/^application\/x-www-form-urlencoded(?:[\t ]*;|$)/i.test(headers['content-type'] ?? '')) return undefined;
    const values = new Map<string, Set<string>>();
    for (const [name, value] of new URLSearchParams(body.toString())) values.set(name, (values.get(name) ?? new Set()).add(value));
    return [...values.keys()].sort().map((name) => [...(values.get(name) as Set<string>)].sort().map((value) => name + value).join('')).join('');
  },
};

/** The formats, by the name of their preset. */
export const WEBHOOK_FORMATS: Readonly<Record<WebhookPreset, WebhookFormat>> = {
  standard: STANDARD,
  svix: { ...STANDARD, headerName: 'svix-signature' },
  stripe: STRIPE,
  github: GITHUB,
  slack: versioned('X-Slack-Signature', 'X-Slack-Request-Timestamp'),
  zoom: versioned('x-zm-signature', 'x-zm-request-timestamp'),
  paddle: PADDLE,
  discord: DISCORD,
  shopify: SHOPIFY,
  square: SQUARE,
  twilio: TWILIO,
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

function stamp(prefixes: readonly string[], timestamp: string | undefined, values: readonly string[], digest: RegExp): WebhookStamp | string {
  if (values.length > MAX_SIGNATURES) return `more than ${MAX_SIGNATURES} signatures are offered`;
  const isHex = digest === HEX || digest === ED25519_HEX;
  // Buffer.from ignores characters outside the encoding, and timingSafeEqual throws on unequal lengths; the grammar rules both out.
  const signatures = values.filter((text) => digest.test(text)).map((text) => Buffer.from(text, isHex ? 'hex' : 'base64'));
  if (signatures.length === 0) return `no signature of the version that is checked is offered, ${digest === ED25519_HEX ? '64 bytes' : digest === SHA1_BASE64 ? 'a SHA-1 digest' : 'a SHA-256 digest'} in ${isHex ? 'lower-case hexadecimal' : 'base64'}`;
  return { prefixes, seconds: timestamp === undefined ? undefined : Number(timestamp), signatures };
}
