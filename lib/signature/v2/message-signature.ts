import { crypto } from '../../packages';
import type { ResolvedSignature } from '../../options/resolved';
import { matchesAny, type Secret } from '../hmac';
import { checkAge, isRejection, type Rejection, rejection } from '../rejection';
import { bodySummary, type ReceivedRequest, sha256, type SignatureScheme, type Verdict } from '../scheme';
import { isKeyId, secretsOf } from '../secret-source';
import { type ContentDigest, digestsMatch, parseContentDigest } from './content-digest';
import { componentValue, invalidCharacter, linesOf, messageMac, signatureBase } from './message-base';
import { ALGORITHM, type MessageSignature, parseMessageSignature } from './message-input';

/** The members of `security.requestSignature` for this scheme. */
export type MessageSignatureConfig = Pick<ResolvedSignature, 'secret' | 'maxAge' | 'clockSkew' | 'includeBody' | 'includeQuery' | 'covers'>;

/** A request whose head has passed, without its body. */
interface PendingMessage {
  readonly request: ReceivedRequest;
  readonly signature: MessageSignature;
  /** The signature base. */
  readonly base: string;
  /** Undefined if `content-digest` is not covered, or the body is not signed. */
  readonly digests: readonly ContentDigest[] | undefined;
  /** True if the signature was compared before the body is read. */
  readonly isVerified: boolean;
}

/** Headers that say how to read a body: if present, each must be covered. */
const CONTENT_HEADERS = ['content-type', 'content-encoding'] as const;

/** Components that the log shows verbatim: none of them holds a token, and any log has the target. */
const LOGGED_VERBATIM: ReadonlySet<string> = new Set(['@method', '@path', '@query', '@request-target', '@authority', 'content-digest', ...CONTENT_HEADERS]);

const NO_BODY = new Uint8Array(0);

/**
 * HTTP Message Signatures (RFC 9421) with `hmac-sha256`, and Content-Digest
 * (RFC 9530) for the body. The profile that RFC 9421 asks of an application
 * (section 1.4): one signature; `@method`, `@path`, `@query`, the digest of a
 * body, its type and the names in `covers` are covered; `created` and `nonce`
 * are present; no component has parameters.
 */
export class MessageSignatureScheme implements SignatureScheme<PendingMessage> {
  readonly headerName = 'Signature';
  readonly headerNames = ['Signature', 'Signature-Input'];
  readonly challenge: string;
  readonly readsBody: boolean;
  readonly #config: MessageSignatureConfig;
  readonly #required: readonly string[];
  /** Compared with for an unknown key id, so that timing shows no difference. */
  readonly #decoy: readonly Secret[] = [crypto().randomBytes(32)];

  constructor(config: MessageSignatureConfig) {
    this.#config = config;
    const target = config.includeQuery ? ['@method', '@path', '@query'] : ['@method', '@path'];
    this.#required = [...new Set([...target, ...config.covers])];
    this.readsBody = config.includeBody;
    const covered = new Set([...target, ...(config.includeBody ? ['content-digest'] : []), ...CONTENT_HEADERS, ...config.covers]);
    this.challenge = `Signature header="Signature", algorithm="${ALGORITHM}", components="${[...covered].join(' ')}"`;
  }

  begin(request: ReceivedRequest, now: number): Rejection | PendingMessage {
    const { includeBody, secret } = this.#config;
    const isShared = typeof secret !== 'function';
    const signature = parseMessageSignature(request.headers);
    if (isRejection(signature)) return signature;
    const character = invalidCharacter(request.target);
    if (character !== undefined) return rejection('invalid', `the request target holds ${character}, and must be a path and query of visible ASCII`);
    if (!isShared && !isKeyId(signature.keyId)) {
      return rejection('invalid', 'the parameter keyid is absent or no key id: 1 to 256 visible ASCII characters, no comma');
    }
    const uncovered = this.#uncovered(signature.components, request);
    if (uncovered !== undefined) return rejection('invalid', `the component ${uncovered} is not covered`);
    const lines = signatureBase(request, signature.components, signature.text);
    if ('lacks' in lines) return rejection('invalid', `the covered component ${lines.lacks} is none that this request has`);
    const covered = includeBody && signature.components.includes('content-digest');
    const digests = covered ? parseContentDigest(request.headers['content-digest'] as string) : undefined;
    if (covered && digests === undefined) return rejection('invalid', 'the Content-Digest header holds no sha-256 or sha-512 of the right form');
    // The MAC covers the body's digest, so it is checked before the body is read. A lookup of keys runs once, in `finish`.
    const isVerified = includeBody && isShared && announcesBody(request);
    const pending: PendingMessage = { request, signature, base: lines.base, digests, isVerified };
    return this.#checkTimes(signature, now) ?? (isVerified ? this.#compare(pending, secret) : null) ?? pending;
  }

  finish(pending: PendingMessage, body: Buffer | undefined, now: number): Verdict | Promise<Verdict> {
    const { signature, isVerified } = pending;
    const rejected = this.#checkTimes(signature, now);
    if (rejected !== null) return rejected;
    const { secret } = this.#config;
    if (typeof secret !== 'function') return (isVerified ? null : this.#compare(pending, secret)) ?? this.#checkContent(pending, body);
    const secrets = secretsOf(secret, signature.keyId as string);
    if (secrets instanceof Promise) return secrets.then((found) => this.#compare(pending, found) ?? this.#checkContent(pending, body));
    return this.#compare(pending, secrets) ?? this.#checkContent(pending, body);
  }

  describe({ request, signature, base }: PendingMessage, body: Buffer | undefined): Readonly<Record<string, unknown>> {
    const { method, target } = request;
    const { components, created, expires, nonce, keyId } = signature;
    const lines = linesOf(request);
    const values = components.map((component) => {
      const value = componentValue(request, component, lines);
      return [component, LOGGED_VERBATIM.has(component) ? value : valueSummary(value)] as const;
    });
    return {
      algorithm: ALGORITHM, method, url: { text: target, length: target.length },
      body: this.#config.includeBody ? bodySummary(body) : 'not signed',
      components: Object.fromEntries(values),
      created, expires, nonce, keyId,
      base: valueSummary(base),
    };
  }

  /** The first component that must be covered and is not. */
  #uncovered(components: readonly string[], { headers }: ReceivedRequest): string | undefined {
    return this.#required.find((name) => !components.includes(name))
      ?? CONTENT_HEADERS.find((name) => headers[name] !== undefined && !components.includes(name));
  }

  #checkTimes({ created, expires }: MessageSignature, now: number): Rejection | null {
    if (expires !== undefined && !(now <= expires * 1000)) return rejection('expired', `the signature was to be used until ${expires} s since the epoch`);
    return checkAge(created * 1000, this.#config, now);
  }

  #compare({ base, signature }: PendingMessage, secrets: readonly Secret[]): Rejection | null {
    const isKnown = secrets.length > 0;
    const macs = (isKnown ? secrets : this.#decoy).map((secret) => messageMac(secret, base));
    const isMatch = matchesAny([signature.mac], macs);
    if (!isKnown) return rejection('invalid', 'no secret is known for the key id');
    return isMatch ? null : rejection('invalid', 'the signature matches none of the secrets');
  }

  /** The last step: accepts a valid signature whose digest is the body's. */
  #checkContent({ signature, digests }: PendingMessage, body: Uint8Array = NO_BODY): Verdict {
    const { maxAge, clockSkew, includeBody, secret } = this.#config;
    if (digests !== undefined && !digestsMatch(digests, body)) return rejection('invalid', 'Content-Digest is not the digest of the body');
    if (includeBody && digests === undefined && body.length > 0) return rejection('invalid', 'the request has a body, and content-digest is not covered');
    const { created, expires, keyId, mac } = signature;
    const end = created * 1000 + maxAge;
    return {
      digest: mac.toString('hex'),
      expires: (expires === undefined ? end : Math.min(end, expires * 1000)) + clockSkew,
      keyId: typeof secret === 'function' ? keyId : undefined,
    };
  }
}

function announcesBody({ headers }: ReceivedRequest): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] !== undefined && headers['content-length'] !== '0');
}

/** A value as the log shows it: a covered header may hold a token or a cookie. */
function valueSummary(text: string | undefined) {
  return text === undefined ? undefined : { length: text.length, sha256: sha256(text) };
}
