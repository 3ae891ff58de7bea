import { crypto } from '../../packages';
import type { ErrorBody } from '../../errors';
import type { ResolvedSignature } from '../../options/resolved';
import { type ContentDigest, digestsMatch, parseContentDigest } from './content-digest';
import { componentValue, isOriginForm, linesOf, messageMac, signatureBase } from './message-base';
import { ALGORITHM, type MessageSignature, parseMessageSignature } from './message-input';
import { checkAge } from '../age';
import { matchesAny, type Secret } from '../hmac';
import { bodyParts, sha256 } from '../logged-parts';
import { type Failure, failureBody, isRejection, type Rejection, rejection } from '../rejection';
import type { PendingCheck, ReceivedRequest, SignatureScheme, Verdict } from '../scheme';
import { isKeyId, type SecretSource } from '../secret-source';

/** What of `security.requestSignature` the scheme needs, completed. */
export type MessageSignatureConfig = Pick<ResolvedSignature, 'maxAge' | 'clockSkew' | 'includeBody' | 'includeQuery'> & Partial<Pick<ResolvedSignature, 'covers'>>;

/** What every check of a scheme goes by. */
interface MessageParts {
  readonly config: MessageSignatureConfig;
  readonly source: SecretSource;
  /** Compared with where a key is unknown, so that the answer takes as long as for a known one. */
  readonly decoy: readonly Secret[];
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
  readonly #parts: MessageParts;
  readonly #required: readonly string[];

  constructor(config: MessageSignatureConfig, source: SecretSource) {
    this.#parts = { config, source, decoy: [crypto().randomBytes(32)] };
    const target = config.includeQuery ? ['@method', '@path', '@query'] : ['@method', '@path'];
    const { covers = [] } = config;
    this.#required = [...new Set([...target, ...covers])];
    this.readsBody = config.includeBody;
    const covered = new Set([...target, ...(config.includeBody ? ['content-digest'] : []), ...MEANING, ...covers]);
    this.challenge = `Signature header="Signature", algorithm="${ALGORITHM}", components="${[...covered].join(' ')}"`;
  }

  begin(request: ReceivedRequest, now: number): Rejection | PendingCheck {
    const { config, source } = this.#parts;
    const signature = parseMessageSignature(request.headers);
    if (isRejection(signature)) return signature;
    if (!isOriginForm(request.target)) return rejection('invalid', 'the request target is not a path and query of visible ASCII');
    if (source.named && !isKeyId(signature.keyId)) {
      return rejection('invalid', 'the parameter keyid is absent or no key id: 1 to 256 visible ASCII characters, no comma');
    }
    const uncovered = this.#uncovered(signature.components, request);
    if (uncovered !== undefined) return rejection('invalid', `the component ${uncovered} is not covered`);
    const lines = signatureBase(request, signature.components, signature.text);
    if ('lacks' in lines) return rejection('invalid', `the covered component ${lines.lacks} is none that this request has`);
    const covered = config.includeBody && signature.components.includes('content-digest');
    const digests = covered ? parseContentDigest(request.headers['content-digest'] as string) : undefined;
    if (covered && digests === undefined) return rejection('invalid', 'the Content-Digest header holds no sha-256 or sha-512 of the right form');
    const check = new MessageCheck(this.#parts, request, signature, lines.base, digests);
    return check.checkTimes(now) ?? check.checkEarly() ?? check;
  }

  failureBody(failure: Failure): ErrorBody {
    return failureBody(failure, 'Signature');
  }

  /** A component that must be covered and is not. */
  #uncovered(components: readonly string[], { headers }: ReceivedRequest): string | undefined {
    return this.#required.find((name) => !components.includes(name))
      ?? MEANING.find((name) => headers[name] !== undefined && !components.includes(name));
  }
}

/** The check of one request, and what its signature is computed over. */
class MessageCheck implements PendingCheck {
  readonly #parts: MessageParts;
  readonly #request: ReceivedRequest;
  readonly #signature: MessageSignature;
  readonly #base: string;
  readonly #digests: readonly ContentDigest[] | undefined;
  /** Whether the signature has been compared before the body was read. */
  #isCompared = false;

  /** @param digests Undefined where `content-digest` is not covered, or does not count. */
  constructor(parts: MessageParts, request: ReceivedRequest, signature: MessageSignature, base: string, digests: readonly ContentDigest[] | undefined) {
    this.#parts = parts;
    this.#request = request;
    this.#signature = signature;
    this.#base = base;
    this.#digests = digests;
  }

  checkTimes(now: number): Rejection | null {
    const { created, expires } = this.#signature;
    if (expires !== undefined && !(now <= expires * 1000)) return rejection('expired', `the signature was to be used until ${expires} s since the epoch`);
    return checkAge(created * 1000, this.#parts.config, now);
  }

  /** The MAC covers the body's digest, not the body. So a body that nobody with a secret has sent is not even read. Keys are looked up but once. */
  checkEarly(): Rejection | null {
    const { config, source } = this.#parts;
    if (!config.includeBody || source.named || !announcesBody(this.#request)) return null;
    const secrets = source.find(undefined);
    if (secrets instanceof Promise) return null;
    this.#isCompared = true;
    return this.#compare(secrets);
  }

  finish(body: Buffer | undefined, now: number): Verdict | Promise<Verdict> {
    const { source } = this.#parts;
    const rejected = this.checkTimes(now);
    if (rejected !== null) return rejected;
    if (this.#isCompared) return this.#checkContent(body ?? NO_BODY) ?? this.#accepted();
    const secrets = source.find(source.named ? this.#signature.keyId : undefined);
    return secrets instanceof Promise ? secrets.then((found) => this.#judge(body, found)) : this.#judge(body, secrets);
  }

  describe(body: Buffer | undefined): Readonly<Record<string, unknown>> {
    const { method, target } = this.#request;
    const { components, created, expires, nonce, keyId } = this.#signature;
    const lines = linesOf(this.#request);
    const values = components.map((component) => {
      const value = componentValue(this.#request, component, lines);
      return [component, TELLING.has(component) ? value : partOf(value)] as const;
    });
    return {
      algorithm: ALGORITHM, method, url: { text: target, length: target.length },
      body: this.#parts.config.includeBody ? bodyParts(body) : 'not signed',
      components: Object.fromEntries(values),
      created, expires, nonce, keyId,
      base: partOf(this.#base),
    };
  }

  #judge(body: Buffer | undefined, secrets: readonly Secret[]): Verdict {
    return this.#compare(secrets) ?? this.#checkContent(body ?? NO_BODY) ?? this.#accepted();
  }

  #compare(secrets: readonly Secret[]): Rejection | null {
    const isKnown = secrets.length > 0;
    const macs = (isKnown ? secrets : this.#parts.decoy).map((secret) => messageMac(secret, this.#base));
    const isMatch = matchesAny([this.#signature.mac], macs);
    if (!isKnown) return rejection('invalid', 'no secret is known for the key id');
    return isMatch ? null : rejection('invalid', 'the signature matches none of the secrets');
  }

  #checkContent(body: Uint8Array): Rejection | null {
    if (!this.#parts.config.includeBody) return null;
    const digests = this.#digests;
    if (digests !== undefined) return digestsMatch(digests, body) ? null : rejection('invalid', 'Content-Digest is not the digest of the body');
    return body.length === 0 ? null : rejection('invalid', 'the request has a body, and content-digest is not covered');
  }

  #accepted(): Verdict {
    const { created, expires, keyId, mac } = this.#signature;
    const { config: { maxAge, clockSkew }, source } = this.#parts;
    const end = created * 1000 + maxAge;
    return {
      digest: mac.toString('hex'),
      expires: (expires === undefined ? end : Math.min(end, expires * 1000)) + clockSkew,
      keyId: source.named ? keyId : undefined,
    };
  }
}

function announcesBody({ headers }: ReceivedRequest): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] !== undefined && headers['content-length'] !== '0');
}

/** A part as the log may show it: a covered header may hold a token or a cookie. */
function partOf(text: string | undefined) {
  return text === undefined ? undefined : { length: text.length, sha256: sha256(text) };
}
