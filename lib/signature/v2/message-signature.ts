import { crypto, late } from '../../packages';
import type { ResolvedSignature } from '../../options/resolved';
import { matchesAny, type Secret } from '../hmac';
import { checkAge, isRejection, type Rejection, rejection } from '../rejection';
import { bodySummary, type ReceivedRequest, sha256, type SignatureScheme, type Verdict } from '../scheme';
import { isKeyId, secretsOf } from '../secret-source';
import { type ContentDigest, digestsMatch, parseContentDigest } from './content-digest';
import { componentValue, invalidCharacter, linesOf, messageMac, signatureBase } from './message-base';
import type { KeySource } from './key-source';
import { ALGORITHM, type MessageSignature, parseMessageSignature } from './message-input';
import type { MessageKey } from './message-key';

const readings = late(() => require('../signed-reading') as typeof import('../signed-reading'));
const keySources = late(() => require('./key-source') as typeof import('./key-source'));

/** The members of `security.requestSignature` for this scheme. */
export type MessageSignatureConfig = Pick<ResolvedSignature, 'secret' | 'maxAge' | 'clockSkew' | 'includeBody' | 'includeQuery' | 'covers'>
  & Partial<Pick<ResolvedSignature, 'keys' | 'nonce' | 'tag' | 'label' | 'webBotAuth' | 'debug'>>;

/** A request whose head has passed, without its body. */
interface PendingMessage {
  readonly request: ReceivedRequest;
  readonly signature: MessageSignature;
  /** The signature base. */
  readonly base: string;
  /** Undefined if `content-digest` is not covered, or the body is not signed. */
  readonly digests: readonly ContentDigest[] | undefined;
  /** The outcome of a comparison before the body is read. */
  verified: Rejection | Verified | undefined;
}

/** A signature that holds, with the key that has made it; none of a shared secret. */
interface Verified {
  readonly key: MessageKey | undefined;
}

/** The secrets or the keys that a signature may be of. */
type Found = readonly (Secret | MessageKey)[];

/** Headers that say how to read a body: if present, each must be covered. */
const CONTENT_HEADERS = ['content-type', 'content-encoding'] as const;

/** The header of Web Bot Auth. Of a dictionary in it one member may be covered, and alone is read. */
const AGENT = 'signature-agent';

/** Components that the log shows verbatim: none of them holds a token, and any log has the target. */
const LOGGED_VERBATIM: ReadonlySet<string> = new Set(['@method', '@path', '@query', '@request-target', '@authority', 'content-digest', ...CONTENT_HEADERS]);

/** Components that cover another one whole. */
const EQUIVALENTS: Readonly<Record<string, readonly string[]>> = {
  '@path': ['@request-target', '@target-uri'], '@query': ['@request-target', '@target-uri'], '@request-target': ['@target-uri'],
  '@authority': ['@target-uri'], '@scheme': ['@target-uri'],
  // No structured fields: `;sf` would change what a parser of bodies reads, such as a number.
  'content-type': ['content-type;bs'], 'content-encoding': ['content-encoding;bs'],
};

/** A request without a signature, where that is accepted. */
const UNSIGNED = { digest: undefined, expires: Infinity } as const;

const NO_BODY = new Uint8Array(0);

/** Length of an HMAC, in bytes. */
const MAC_LENGTH = 32;

/**
 * HTTP Message Signatures (RFC 9421), and Content-Digest (RFC 9530) for the
 * body. The profile that RFC 9421 asks of an application (section 1.4): the one
 * signature that label and tag name must hold; `@method`, `@path`, `@query`, the
 * digest of a body, its type and the names in `covers` are covered; `created`
 * and, unless it is optional, `nonce` are present. A shared secret is used with
 * `hmac-sha256`, a key with its own algorithm.
 */
export class MessageSignatureScheme implements SignatureScheme<PendingMessage | typeof UNSIGNED> {
  readonly headerName = 'Signature';
  readonly headerNames = ['Signature', 'Signature-Input'];
  readonly challenge: string;
  readonly readsBody: boolean;
  readonly #config: MessageSignatureConfig;
  readonly #required: readonly string[];
  /** Headers that must be covered where they are present. */
  readonly #contentHeaders: readonly string[];
  /** Undefined with a shared secret. */
  readonly #keys: KeySource | undefined;
  /** Compared with for an unknown key id, so that timing shows no difference. */
  readonly #decoy: readonly Secret[] = [crypto().randomBytes(32)];

  constructor(config: MessageSignatureConfig) {
    this.#config = config;
    const { webBotAuth } = config;
    const target = webBotAuth !== undefined ? ['@authority'] : config.includeQuery ? ['@method', '@path', '@query'] : ['@method', '@path'];
    this.#required = [...new Set([...target, ...config.covers])];
    this.readsBody = config.includeBody;
    this.#keys = config.keys === undefined && webBotAuth === undefined ? undefined : keySources().keySource(config.keys, 'security.requestSignature.keys', webBotAuth?.agents);
    this.#contentHeaders = webBotAuth === undefined ? CONTENT_HEADERS : [AGENT];
    const covered = new Set([...target, ...(config.includeBody ? ['content-digest'] : []), ...this.#contentHeaders, ...config.covers]);
    // A quote would end the text.
    const components = [...covered].filter((name) => !name.includes('"'));
    this.challenge = `Signature header="Signature"${this.#keys === undefined ? `, algorithm="${ALGORITHM}"` : ''}, components="${components.join(' ')}"`;
  }

  begin(request: ReceivedRequest, now: number): Rejection | PendingMessage | typeof UNSIGNED {
    const { includeBody, secret, webBotAuth, debug } = this.#config;
    if (webBotAuth?.unsigned === 'accept' && request.headers.signature === undefined && request.headers['signature-input'] === undefined) return UNSIGNED;
    const isAtHand = this.#keys?.isListed ?? typeof secret !== 'function';
    const signature = parseMessageSignature(request.headers, this.#config);
    if (isRejection(signature)) return signature;
    if (this.#keys === undefined && (signature.bytes.length !== MAC_LENGTH || (signature.alg ?? ALGORITHM) !== ALGORITHM)) {
      return rejection('invalid', `the signature is none of ${ALGORITHM}: ${signature.bytes.length} bytes in place of ${MAC_LENGTH}, or another alg`);
    }
    const character = invalidCharacter(request.target);
    if (character !== undefined) return rejection('invalid', `the request target holds ${character}, and must be a path and query of visible ASCII`);
    if (!isAtHand && !isKeyId(signature.keyId)) {
      return rejection('invalid', 'the parameter keyid is absent or no key id: 1 to 256 visible ASCII characters, no comma');
    }
    if (webBotAuth !== undefined && signature.expires === undefined) return rejection('invalid', 'the parameter expires is absent, which Web Bot Auth asks for');
    const uncovered = this.#uncovered(signature.components, request);
    if (uncovered !== undefined) return rejection('invalid', `the component ${uncovered} is not covered`);
    const lines = signatureBase(request, signature.components, signature.text);
    if ('lacks' in lines) return rejection('invalid', `the covered component ${lines.lacks} is none that this request has`);
    const covered = includeBody && isCovered('content-digest', signature.components);
    const digests = covered ? parseContentDigest(request.headers['content-digest'] as string) : undefined;
    if (covered && digests === undefined) return rejection('invalid', 'the Content-Digest header holds no sha-256 or sha-512 of the right form');
    // The signature covers the body's digest, so it is checked before the body is read. A lookup of keys runs once, in `finish`.
    // With `debug` the log shows what was signed first.
    const isVerified = includeBody && isAtHand && debug !== true && announcesBody(request);
    const pending: PendingMessage = { request, signature, base: lines.base, digests, verified: undefined };
    const rejected = checkTimes(signature, this.#config, now);
    if (rejected !== null || !isVerified) return rejected ?? pending;
    pending.verified = this.#compare(pending, this.#found(pending) as Found);
    return isRejection(pending.verified) ? pending.verified : pending;
  }

  finish(pending: PendingMessage | typeof UNSIGNED, body: Buffer | undefined, now: number): Verdict | Promise<Verdict> {
    if ('digest' in pending) return pending;
    const { signature, verified } = pending;
    const rejected = checkTimes(signature, this.#config, now);
    if (rejected !== null) return rejected;
    if (verified !== undefined) return this.#accept(pending, verified, body);
    const found = this.#found(pending);
    return found instanceof Promise ? found.then((keys) => this.#accept(pending, this.#compare(pending, keys), body)) : this.#accept(pending, this.#compare(pending, found), body);
  }

  describe(pending: PendingMessage | typeof UNSIGNED, body: Buffer | undefined): Readonly<Record<string, unknown>> {
    if ('digest' in pending) return { signature: 'none' };
    const { request, signature, base } = pending;
    const { method, target } = request;
    const { components, created, expires, nonce, keyId, alg } = signature;
    const lines = linesOf(request);
    const values = components.map((component) => {
      const value = componentValue(request, component, lines);
      return [component, LOGGED_VERBATIM.has(component) ? value : valueSummary(value)] as const;
    });
    return {
      algorithm: this.#keys === undefined ? ALGORITHM : alg ?? 'that of the key', method, url: { text: target, length: target.length },
      body: this.#config.includeBody ? bodySummary(body) : 'not signed',
      components: Object.fromEntries(values),
      created, expires, nonce, keyId,
      base: valueSummary(base),
    };
  }

  /** The first component that must be covered and is not. */
  #uncovered(components: readonly string[], { headers }: ReceivedRequest): string | undefined {
    return this.#required.find((name) => !isCovered(name, components))
      ?? this.#contentHeaders.find((name) => headers[name] !== undefined && !isCovered(name, components) && !(name === AGENT && components.some((component) => component.startsWith(`${AGENT};`))));
  }

  #found({ request, signature: { keyId, components } }: PendingMessage): Found | Promise<Found> {
    const { secret } = this.#config;
    if (this.#keys !== undefined) return this.#keys.find(keyId, request, components);
    return typeof secret === 'function' ? secretsOf(secret, keyId as string) : secret;
  }

  /** Compares, and with `debug` says what would match. */
  #compare(pending: PendingMessage, found: Found): Rejection | Verified {
    const verified = this.#match(pending, found);
    if (!isRejection(verified) || this.#config.debug !== true || found.length === 0) return verified;
    const { request, signature: { components, text } } = pending;
    return rejection('invalid', verified.reason + readings().signedReading({ target: request.target, host: request.headers.host }, ({ target, host }) => {
      const lines = signatureBase({ ...request, target, headers: { ...request.headers, host } }, components, text);
      return 'base' in lines && !isRejection(this.#match({ ...pending, base: lines.base }, found));
    }));
  }

  #match({ base, signature }: PendingMessage, found: Found): Rejection | Verified {
    if (this.#keys !== undefined) return verifiedBy(found as readonly MessageKey[], base, signature);
    const isKnown = found.length > 0;
    const macs = (isKnown ? found as readonly Secret[] : this.#decoy).map((secret) => messageMac(secret, base));
    const isMatch = matchesAny([signature.bytes], macs);
    if (!isKnown) return rejection('invalid', 'no secret is known for the key id');
    return isMatch ? NO_KEY : rejection('invalid', 'the signature matches none of the secrets');
  }

  /** The last step: accepts a valid signature whose digest is the body's. */
  #accept({ base, signature, digests }: PendingMessage, verified: Rejection | Verified, body: Uint8Array = NO_BODY): Verdict {
    if (isRejection(verified)) return verified;
    const { maxAge, clockSkew, includeBody, secret } = this.#config;
    if (digests !== undefined && !digestsMatch(digests, body)) return rejection('invalid', 'Content-Digest is not the digest of the body');
    if (includeBody && digests === undefined && body.length > 0) return rejection('invalid', 'the request has a body, and content-digest is not covered');
    const { created, expires, keyId, bytes } = signature;
    const { key } = verified;
    const end = created * 1000 + maxAge;
    return {
      // Anyone makes a second ECDSA signature of a first one: the base names both.
      digest: key === undefined ? bytes.toString('hex') : sha256(base),
      expires: (expires === undefined ? end : Math.min(end, expires * 1000)) + clockSkew,
      // A key that a lookup found may have another name of its own.
      keyId: this.#keys?.isListed ?? typeof secret !== 'function' ? key?.id : keyId,
    };
  }
}

const NO_KEY: Verified = { key: undefined };

/** Refuses a signature that is too old, or past the end that it names. */
export function checkTimes({ created, expires }: MessageSignature, limits: Parameters<typeof checkAge>[1], now: number): Rejection | null {
  if (expires !== undefined && !(now <= expires * 1000)) return rejection('expired', `the signature was to be used until ${expires} s since the epoch`);
  return checkAge(created * 1000, limits, now);
}

/** Verifies a signature with each key, by the key's own algorithm. */
export function verifiedBy(keys: readonly MessageKey[], base: string, { alg, bytes }: MessageSignature): Rejection | Verified {
  if (keys.length === 0) return rejection('invalid', 'no key is known for the key id');
  const usable = keys.filter(({ algorithm }) => alg === undefined || alg === algorithm);
  if (usable.length === 0) return rejection('invalid', `the parameter alg is not "${keys.map(({ algorithm }) => algorithm).join('" or "')}", the algorithm of the key`);
  const key = usable.find((each) => each.verify(base, bytes));
  return key === undefined ? rejection('invalid', 'the signature matches none of the keys') : { key };
}

/** True for a component that is covered: itself, in another form, or within another. A member of a header (`;key`) is not all of it. */
function isCovered(name: string, components: readonly string[]): boolean {
  return components.includes(name) || (EQUIVALENTS[name] ?? [`${name};sf`, `${name};bs`]).some((other) => components.includes(other));
}

function announcesBody({ headers }: ReceivedRequest): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] !== undefined && headers['content-length'] !== '0');
}

/** A value as the log shows it: a covered header may hold a token or a cookie. */
function valueSummary(text: string | undefined) {
  return text === undefined ? undefined : { length: text.length, sha256: sha256(text) };
}
