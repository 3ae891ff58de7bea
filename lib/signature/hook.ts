import type { Duplex } from 'node:stream';
import { type ErrorBody, errorBody, statusText } from '../errors';
import { keepForSigner } from '../http/cache-control';
import { closeAfter } from '../http/connection';
import { answerFailure, answerSocket } from '../http/default-answer';
import { forbidBody } from '../http/body/bodiless';
import { hasBody } from '../http/body/capture';
import { tooLarge } from '../http/body/inflate';
import { formatError } from '../http/error-format';
import { type AnswerField, cutOff } from '../http/own-answer';
import { loggedRequest, refusedBody } from '../http/logged-request';
import type { Request } from '../http/request';
import { type Claims, kClaims, kOriginalMethod, kOriginalUrl } from '../http/request-state';
import type { Response } from '../http/response';
import { kAnswering } from '../http/response-state';
import type { ReplayStore } from '../options/options';
import type { ResolvedOptions, ResolvedSignature, ResolvedWebhook } from '../options/resolved';
import type { SafeLog } from '../log/safe-log';
import { tracing } from '../tracing/tracing';
import { BoundedWait, type Client, type WaitEnd } from './bounded-wait';
import { failureBody, isRejection, type Rejection, rejection } from './rejection';
import type { Acceptance, ReceivedRequest, SignatureScheme, Verdict } from './scheme';
import type { SignatureScope } from './scope/scope';
import { hintForSignature } from '../hints';

/** The options of a hook. */
type HookConfig = Pick<ResolvedSignature, 'debug' | 'replay' | 'timeout'> & Partial<Pick<ResolvedWebhook, 'limit'> & Pick<ResolvedSignature, 'prefix'>> & Pick<ResolvedOptions, 'errors' | 'hints'>;

/** Method and target as received. */
export type SentTarget = Pick<Request, 'method' | 'url'>;

/** True for an admitted request; the hook has answered any other. */
type Admission = boolean | Promise<boolean>;

/**
 * The check of request signatures (INTERFACE section 5), ahead of middleware,
 * body parsing and handlers. It answers a refused request itself.
 */
export class SignatureHook {
  /** True if the signature covers the body, which is then captured. */
  readonly readsBody: boolean;
  /** Most bytes of a body; undefined for the application's limit. */
  readonly limit: number | undefined;
  /** The requests that must be signed. */
  readonly scope: SignatureScope;
  readonly #scheme: SignatureScheme;
  readonly #config: HookConfig;
  readonly #logger: SafeLog;

  constructor(scheme: SignatureScheme, scope: SignatureScope, config: HookConfig, logger: SafeLog) {
    this.readsBody = scheme.readsBody;
    this.limit = config.limit;
    this.scope = scope;
    this.#scheme = scheme;
    this.#config = config;
    this.#logger = logger;
  }

  /** Name of the header with the signature. */
  get headerName(): string {
    return this.#scheme.headerName;
  }

  /** Runs the checks that need no body; undefined for a refused request. */
  begin(req: Request, res: Response): object | undefined {
    const pending = this.#begun(receivedRequest(req, this.#config.prefix));
    if (!isRefused(pending)) return pending;
    this.#conclude(req, res, pending);
    return undefined;
  }

  /** Begins a check; a failure of the scheme is a CheckFailure. */
  #begun(request: ReceivedRequest): object | Rejection | CheckFailure {
    try {
      return this.#scheme.begin(request, Date.now());
    } catch (error) {
      return new CheckFailure(error);
    }
  }

  /** Checks the signature over the bytes as received, and that it was not used before. @param pending What `begin` has returned. */
  finish(req: Request, res: Response, pending: object, body: Buffer | undefined): Admission {
    return this.#admission(req, res, this.#judge(req, pending, body, res));
  }

  /** Checks an upgrade request, and answers a refused one on its socket. @param sent Method and target as received. */
  admitsUpgrade(req: Request, socket: Duplex, sent: SentTarget): Admission {
    let pending = this.#begun(receivedRequest(req, this.#config.prefix, sent));
    // Node gives a body to the upgrade listener unread, since 26 as the request's own.
    if (!isRefused(pending) && this.readsBody && (hasBody(req) || !forbidBody(req))) pending = rejection('invalid', 'a request to upgrade has a body');
    return this.#admission(req, socket, isRefused(pending) ? pending : this.#judge(req, pending, undefined, socket));
  }

  /** Answers 413: a body over the limit can't be checked. */
  refuseSize(req: Request, res: Response, limit: number): void {
    const error = tooLarge(limit, this.limit === undefined ? undefined : 'limit of the webhook');
    this.#logger.info(refusedBody(error, req) ?? {}, 'The request body was refused');
    if (!req.complete && !isAnswered(res)) closeAfter(req, res);
    this.#answer(req, res, 413, error.message, errorBody(error, 413, true, false));
  }

  /** Answers 401: a body that was read already can't be checked. */
  refuseConsumed(req: Request, res: Response): void {
    this.#conclude(req, res, rejection('invalid', 'the body was read before it could be checked'));
  }

  /** The outcome of scheme and replay store; a failure of either is a CheckFailure. */
  #judge(req: Request, pending: object, body: Buffer | undefined, client: Client): Outcome | Promise<Outcome> {
    const { debug, timeout } = this.#config;
    try {
      if (debug) this.#logger.info({ parts: this.#scheme.describe(pending, body) }, 'The request signature is checked');
      const verdict = this.#scheme.finish(pending, body, Date.now());
      if (verdict instanceof Promise) {
        const wait = new BoundedWait(req, client, timeout);
        // Nothing is claimed after the wait, so that the client may send the signature again.
        return this.#withTimeout(wait, verdict.then((ended) => (wait.isOver ? ended : this.#claim(req, ended))));
      }
      const claimed = this.#claim(req, verdict);
      return claimed instanceof Promise ? this.#withTimeout(new BoundedWait(req, client, timeout), claimed) : claimed;
    } catch (error) {
      return new CheckFailure(error);
    }
  }

  async #withTimeout(wait: BoundedWait, asked: Promise<Verdict>): Promise<Outcome> {
    const answer = await wait.for<Outcome>(asked.catch((error: unknown) => new CheckFailure(error)));
    if (answer !== 'timeout') return answer;
    return new CheckFailure(new Error(`Neither the lookup of the secret nor the replay store may take longer than ${this.#config.timeout} ms; its option timeout sets how long`));
  }

  #claim(req: Request, verdict: Verdict): Verdict | Promise<Verdict> {
    const store = this.#config.replay?.store;
    if (store === undefined || isRejection(verdict) || verdict.digest === undefined) return verdict;
    // The store drops an expired signature, so a claim after that could succeed twice.
    if (Date.now() > verdict.expires) return rejection('expired', 'the signature became too old while it was checked');
    const claims = claimsOf(req, store);
    // Nested applications may share a store: a request is no replay of itself.
    let claimed: unknown = claims.get(verdict.digest);
    if (claimed === undefined) {
      claimed = store.claim(verdict.digest, verdict.expires);
      if (typeof claimed !== 'boolean') claimed = Promise.resolve(claimed);
      claims.set(verdict.digest, claimed as boolean | Promise<unknown>);
    }
    return claimed instanceof Promise ? claimed.then((first) => claimVerdict(first, verdict)) : claimVerdict(claimed, verdict);
  }

  #admission(req: Request, client: Response | Duplex, outcome: Outcome | Promise<Outcome>): Admission {
    return outcome instanceof Promise ? outcome.then((ended) => this.#conclude(req, client, ended)) : this.#conclude(req, client, outcome);
  }

  #conclude(req: Request, client: Response | Duplex, outcome: Outcome): boolean {
    if (outcome === 'closed') {
      // The client has disconnected: nothing is answered, and nothing is run.
      this.#logger.debug(loggedRequest(req), 'Nobody waits any more for the check of the request signature');
    } else if (outcome instanceof CheckFailure) {
      this.#logger.error({ err: outcome.error, ...loggedRequest(req) }, 'The request signature could not be checked');
      this.#answer(req, client, 503, 'the check could not be made', UNAVAILABLE);
    } else if (isRejection(outcome)) {
      const { challenge, headerName } = this.#scheme;
      const { debug, hints } = this.#config;
      const hint = hintForSignature(req, debug);
      // At info: who turns `debug` on, or writes the program, wants to see it without a change of the log's level.
      this.#logger[debug || hints ? 'info' : 'debug']({ ...loggedRequest(req), reason: outcome.reason, ...hint }, 'The request signature was refused');
      this.#answer(req, client, 401, outcome.reason, failureBody(outcome.failure, headerName), [['WWW-Authenticate', challenge], ['Cache-Control', 'no-store']]);
    } else {
      // Replaces the key id of an outer application's check.
      req.signatureKeyId = outcome.keyId;
      if ('setHeader' in client) keepForSigner(client, this.#scheme.headerNames);
      if (this.#config.debug) this.#logger.info(loggedRequest(req), 'The request signature was accepted');
      return true;
    }
    return false;
  }

  /** Publishes the trace event, then answers. @param reason Published, never answered. */
  #answer(request: Request, client: Response | Duplex, status: number, reason: string, body: ErrorBody, fields: readonly AnswerField[] = []): void {
    // `setHeader` marks a response: adoption requires it, even of a test's own.
    const response = 'setHeader' in client ? client : undefined;
    if (tracing.refused.hasSubscribers) tracing.refused.publish({ request, response, status, reason });
    if (response === undefined) answerSocket(client as Duplex, status, formatError(this.#config.errors, status, body, request, undefined, (error) => this.#logger.error({ err: error }, 'The form of an error answer failed')), fields);
    else if (!isAnswered(response)) answerFailure(response, status, body, fields);
    else {
      // An unfinished response is cut off.
      this.#logger.warn(loggedRequest(request), 'A request was refused by the signature check after it had been answered');
      cutOff(response);
    }
  }
}

/** A check that could not be made; never a pass. */
class CheckFailure {
  constructor(readonly error: unknown) {}
}

/** True where a check has ended before its signature was compared. */
function isRefused(begun: object): begun is Rejection | CheckFailure {
  return begun instanceof CheckFailure || isRejection(begun);
}

type Outcome = Verdict | CheckFailure | Exclude<WaitEnd, 'timeout'>;

const UNAVAILABLE: ErrorBody = { error: statusText(503), message: 'The request signature could not be checked' };

/** True once something else has answered, such as a timeout. */
function isAnswered(res: Response): boolean {
  return res.headersSent || res[kAnswering];
}

function claimsOf(req: Request, store: ReplayStore): Claims {
  const stores = (req[kClaims] ??= new Map<object, Claims>());
  let claims = stores.get(store);
  if (claims === undefined) {
    claims = new Map<string, boolean | Promise<unknown>>();
    stores.set(store, claims);
  }
  return claims;
}

function claimVerdict(first: unknown, verdict: Acceptance): Verdict {
  if (first === false) return rejection('invalid', 'the signature was used before');
  // A store without a `return` would let replays through.
  if (first !== true) throw new TypeError(`replay.store: claim() must return true or false, and returned ${typeof first}`);
  // A slow store may have dropped the expired signature before the claim.
  if (Date.now() > verdict.expires) return rejection('expired', 'the signature became too old while it was checked');
  return verdict;
}

/** A request as its client signs it. @param prefix Path that a proxy has taken off. */
export function receivedRequest(req: Request, prefix = '', sent: SentTarget = req): ReceivedRequest {
  const { headers, rawHeaders } = req;
  const target = req[kOriginalUrl] ?? sent.url;
  // Only the origin form is a path.
  return { method: req[kOriginalMethod] ?? sent.method, target: target.startsWith('/') ? prefix + target : target, headers, rawHeaders, client: req };
}
