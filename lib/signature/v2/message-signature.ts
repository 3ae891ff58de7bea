import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ErrorBody } from '../../errors';
import { type ContentDigest, digestsMatch, parseContentDigest } from './content-digest';
import { componentValue, isOriginForm, linesOf, messageMac, signatureBase } from './message-base';
import { ALGORITHM, type MessageSignature, parseMessageSignature } from './message-input';
import { type Failure, failureBody, type ReceivedRequest, type Rejection, rejection, type SignatureScheme, type Verdict } from '../scheme';
import { isKeyId, type SecretSource } from '../secret-source';
import type { Secret } from '../hmac';

/** What {@link MessageSignatureScheme} asks of a request. */
export interface MessageSignatureConfig {
  /** How old a signature may be, in milliseconds. */
  readonly maxAge: number;
  /** How far ahead the sender's clock may be, in milliseconds. */
  readonly clockSkew: number;
  /** Whether a body must be covered, by `content-digest`. */
  readonly includeBody: boolean;
  /** Whether `@query` must be covered. */
  readonly includeQuery: boolean;
  /** What else must be covered, in lower case. @default nothing */
  readonly covers?: readonly string[];
}

/** A request whose headers are in order, and what its signature is computed over. */
interface SignedMessage {
  readonly signature: MessageSignature;
  readonly base: string;
  /** Undefined where `content-digest` is not covered, or does not count. */
  readonly digests: readonly ContentDigest[] | undefined;
}

/** Headers that say what the bytes of a body mean: where there is one, it is covered. */
const MEANING = ['content-type', 'content-encoding'] as const;

/** What the log shows as it is, so that it can be compared by eye: the target stands in any log, and none of these holds a token. */
const TELLING: ReadonlySet<string> = new Set(['@method', '@path', '@query', '@request-target', '@authority', 'content-digest', ...MEANING]);

const NO_BODY = new Uint8Array(0);

/**
 * HTTP Message Signatures (RFC 9421) with `hmac-sha256`, and Content-Digest
 * (RFC 9530) for the body. What RFC 9421 leaves to the application (section
 * 1.4) is settled here: one signature; `@method`, `@path`, `@query`, the
 * digest of a body and its type are covered, and whatever `covers` names;
 * `created` and `nonce` are given; no component has parameters.
 */
export class MessageSignatureScheme implements SignatureScheme {
  readonly challenge: string;
  readonly readsBody: boolean;
  readonly #config: MessageSignatureConfig;
  readonly #source: SecretSource;
  readonly #required: readonly string[];
  /** Compared with where a key is unknown, so that the answer takes as long as for a known one. */
  readonly #decoy: readonly Secret[] = [randomBytes(32)];

  constructor(config: MessageSignatureConfig, source: SecretSource) {
    this.#config = config;
    this.#source = source;
    const target = config.includeQuery ? ['@method', '@path', '@query'] : ['@method', '@path'];
    const { covers = [] } = config;
    this.#required = [...new Set([...target, ...covers])];
    this.readsBody = config.includeBody;
    const covered = new Set([...target, ...(config.includeBody ? ['content-digest'] : []), ...MEANING, ...covers]);
    this.challenge = `Signature header="Signature", algorithm="${ALGORITHM}", components="${[...covered].join(' ')}"`;
  }

  checkHeaders(request: ReceivedRequest, now: number): Rejection | null {
    const message = this.#read(request, now);
    if (isRejected(message)) return message;
    // The MAC covers the body's digest, not the body. So a body that nobody
    // with a secret has sent is not even read. Keys are looked up but once.
    if (!this.#config.includeBody || this.#source.named || !announcesBody(request)) return null;
    const secrets = this.#source.find(undefined);
    return secrets instanceof Promise ? null : this.#compare(message, secrets);
  }

  checkBytes(request: ReceivedRequest, body: Buffer | undefined, now: number): Verdict | Promise<Verdict> {
    // Time has passed while the body came in.
    const message = this.#read(request, now);
    if (isRejected(message)) return message;
    const secrets = this.#source.find(this.#source.named ? message.signature.keyId : undefined);
    if (secrets instanceof Promise) return secrets.then((found) => this.#judge(message, body, found));
    return this.#judge(message, body, secrets);
  }

  describe(request: ReceivedRequest, body: Buffer | undefined): Readonly<Record<string, unknown>> {
    const signature = parseMessageSignature(request.headers);
    const sent = { algorithm: ALGORITHM, method: request.method, url: { text: request.target, length: request.target.length } };
    const bytes = { bytes: body?.length ?? 0, sha256: sha256(body ?? NO_BODY) };
    if (isRejected(signature)) return { ...sent, body: bytes };
    const { components, text, created, expires, nonce, keyId } = signature;
    const lines = linesOf(request);
    const values = components.map((component) => {
      const value = componentValue(request, component, lines);
      return [component, TELLING.has(component) ? value : partOf(value)] as const;
    });
    const signed = signatureBase(request, components, text);
    return {
      ...sent,
      body: this.#config.includeBody ? bytes : 'not signed',
      components: Object.fromEntries(values),
      created, expires, nonce, keyId,
      base: 'base' in signed ? partOf(signed.base) : undefined,
    };
  }

  failureBody(failure: Failure): ErrorBody {
    return failureBody(failure, 'Signature');
  }

  /** Grammar, coverage and age. */
  #read(request: ReceivedRequest, now: number): SignedMessage | Rejection {
    const signature = parseMessageSignature(request.headers);
    if (isRejected(signature)) return signature;
    if (!isOriginForm(request.target)) return rejection('invalid', 'the request target is not a path and query of visible ASCII');
    if (this.#source.named && !isKeyId(signature.keyId)) {
      return rejection('invalid', 'the parameter keyid is absent or no key id: 1 to 256 visible ASCII characters, no comma');
    }
    const uncovered = this.#uncovered(signature.components, request);
    if (uncovered !== undefined) return rejection('invalid', `the component ${uncovered} is not covered`);
    const lines = signatureBase(request, signature.components, signature.text);
    if ('lacks' in lines) return rejection('invalid', `the covered component ${lines.lacks} is none that this request has`);
    const covered = this.#config.includeBody && signature.components.includes('content-digest');
    const digests = covered ? parseContentDigest(request.headers['content-digest'] as string) : undefined;
    if (covered && digests === undefined) return rejection('invalid', 'the Content-Digest header holds no sha-256 or sha-512 of the right form');
    return this.#checkTimes(signature, now) ?? { signature, base: lines.base, digests };
  }

  /** A component that must be covered and is not. */
  #uncovered(components: readonly string[], { headers }: ReceivedRequest): string | undefined {
    return this.#required.find((name) => !components.includes(name))
      ?? MEANING.find((name) => headers[name] !== undefined && !components.includes(name));
  }

  #checkTimes({ created, expires }: MessageSignature, now: number): Rejection | null {
    const { maxAge, clockSkew } = this.#config;
    const age = now - created * 1000;
    if (expires !== undefined && !(now <= expires * 1000)) return rejection('expired', `the signature was to be used until ${expires} s since the epoch`);
    // Stated as what is accepted, so that NaN is not.
    if (age >= -clockSkew && age <= maxAge) return null;
    if (age > maxAge) return rejection('expired', `the signature is ${age} ms old, and maxAge is ${maxAge} ms`);
    return rejection('invalid', `the signature is ${-age} ms in the future, and clockSkew is ${clockSkew} ms`);
  }

  #judge(message: SignedMessage, body: Buffer | undefined, secrets: readonly Secret[]): Verdict {
    const { digests, signature: { created, expires, keyId, mac } } = message;
    const rejected = this.#compare(message, secrets) ?? this.#checkContent(digests, body ?? NO_BODY);
    if (rejected !== null) return rejected;
    const { maxAge, clockSkew } = this.#config;
    const end = created * 1000 + maxAge;
    return {
      digest: mac.toString('hex'),
      expires: (expires === undefined ? end : Math.min(end, expires * 1000)) + clockSkew,
      keyId: this.#source.named ? keyId : undefined,
    };
  }

  /**
   * Compares the signature with the one each secret gives, in constant time and
   * without stopping at the first match: neither the place of a wrong byte nor
   * the secret that matched can be timed.
   */
  #compare({ base, signature }: SignedMessage, secrets: readonly Secret[]): Rejection | null {
    let matches = 0;
    for (const secret of secrets.length > 0 ? secrets : this.#decoy) {
      matches |= Number(timingSafeEqual(signature.mac, messageMac(secret, base)));
    }
    if (secrets.length === 0) return rejection('invalid', 'no secret is known for the key id');
    return matches === 1 ? null : rejection('invalid', 'the signature matches none of the secrets');
  }

  #checkContent(digests: readonly ContentDigest[] | undefined, body: Uint8Array): Rejection | null {
    if (!this.#config.includeBody) return null;
    if (digests !== undefined) return digestsMatch(digests, body) ? null : rejection('invalid', 'Content-Digest is not the digest of the body');
    return body.length === 0 ? null : rejection('invalid', 'the request has a body, and content-digest is not covered');
  }
}

function announcesBody({ headers }: ReceivedRequest): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] !== undefined && headers['content-length'] !== '0');
}

function isRejected(given: object): given is Rejection {
  return 'failure' in given;
}

/** A part as the log may show it: a covered header may hold a token or a cookie. */
function partOf(text: string | undefined) {
  return text === undefined ? undefined : { length: text.length, sha256: sha256(text) };
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
