import type { Duplex } from 'node:stream';
import { type ErrorBody, errorBody, statusText } from '../errors';
import { hintForSignature } from '../hints';
import { closeBehind } from '../http/connection';
import { answerJson, answerSocket } from '../http/default-answer';
import { forbidBody } from '../http/body/bodiless';
import { hasBody } from '../http/body/capture';
import { tooLarge } from '../http/body/inflate';
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
import { failureBody, isRejection, rejection } from './rejection';
import type { Acceptance, ReceivedRequest, SignatureScheme, Verdict } from './scheme';
import type { SignatureScope } from './scope/scope';

/** What of the options a hook needs. */
type HookConfig = Pick<ResolvedSignature, 'debug' | 'replay' | 'timeout'> & Partial<Pick<ResolvedWebhook, 'limit'>> & Pick<ResolvedOptions, 'hints'>;

/** Method and target as a client has sent them. */
export type SentTarget = Pick<Request, 'method' | 'url'>;

/** Whether the request may go on; what it refuses, the hook has answered. */
type Admission = boolean | Promise<boolean>;

/**
 * The check of request signatures (INTERFACE section 5), ahead of middleware,
 * body parsing and handlers. It answers what it refuses itself.
 */
export class SignatureHook {
  /** Whether the body is part of what is signed, so that its bytes are needed. */
  readonly readsBody: boolean;
  /** Longest body that it checks, in bytes; undefined for the application's limit. */
  readonly limit: number | undefined;
  /** Which requests must be signed. */
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

  /** Checks what can be told before a byte of the body is read; undefined for what it has refused. */
  begin(req: Request, res: Response): object | undefined {
    const begun = this.#scheme.begin(received(req), Date.now());
    if (!isRejection(begun)) return begun;
    this.#conclude(req, res, begun);
    return undefined;
  }

  /** Checks the signature over the bytes as received, and that it was not used before. @param pending What `begin` has returned. */
  finish(req: Request, res: Response, pending: object, body: Buffer | undefined): Admission {
    return this.#admission(req, res, this.#judge(req, pending, body, res));
  }

  /** Checks a request to switch protocols, which has no response, and answers what it refuses on the socket. @param sent What it was when it came. */
  admitsUpgrade(req: Request, socket: Duplex, sent: SentTarget): Admission {
    let begun = this.#scheme.begin(received(req, sent), Date.now());
    // Node hands what follows the headers to the listener unread, so a body could not be checked; since 26 as the request's own.
    if (!isRejection(begun) && this.readsBody && (hasBody(req) || !forbidBody(req))) begun = rejection('invalid', 'a request to upgrade has a body');
    return this.#admission(req, socket, isRejection(begun) ? begun : this.#judge(req, begun, undefined, socket));
  }

  /** Answers 413: a body that is too large to be checked is not let through. */
  refuseSize(req: Request, res: Response, limit: number): void {
    const error = tooLarge(limit, this.limit === undefined ? undefined : 'limit of the webhook');
    this.#logger.info({ ...refusedBody(error, req), ...loggedRequest(req) }, 'The request body was refused');
    if (!req.complete && !isTaken(res)) closeBehind(req, res);
    this.#answer(req, res, 413, error.message, errorBody(error, 413, true, false));
  }

  /** Answers 401: bytes that someone else has read can't be checked. */
  refuseConsumed(req: Request, res: Response): void {
    this.#conclude(req, res, rejection('invalid', 'the body was read before it could be checked'));
  }

  /** The scheme's verdict, and the store's. A failure of either is a verdict too: that nothing is known. */
  #judge(req: Request, pending: object, body: Buffer | undefined, client: Client): Outcome | Promise<Outcome> {
    const { debug, timeout } = this.#config;
    try {
      if (debug) this.#logger.info({ parts: this.#scheme.describe(pending, body) }, 'The request signature is checked');
      const verdict = this.#scheme.finish(pending, body, Date.now());
      if (verdict instanceof Promise) {
        const wait = new BoundedWait(req, client, timeout);
        // Nobody waits: then nothing is claimed, so that the client may send the same signature again.
        return this.#within(wait, verdict.then((ended) => (wait.isOver ? ended : this.#claim(req, ended))));
      }
      const claimed = this.#claim(req, verdict);
      return claimed instanceof Promise ? this.#within(new BoundedWait(req, client, timeout), claimed) : claimed;
    } catch (error) {
      return new Unknown(error);
    }
  }

  async #within(wait: BoundedWait, asked: Promise<Verdict>): Promise<Outcome> {
    const answer = await wait.for<Outcome>(asked.catch((error: unknown) => new Unknown(error)));
    if (answer !== 'late') return answer;
    return new Unknown(new Error(`Neither the lookup of the secret nor the replay store may take longer than ${this.#config.timeout} ms; its option timeout sets how long`));
  }

  #claim(req: Request, verdict: Verdict): Verdict | Promise<Verdict> {
    const store = this.#config.replay?.store;
    if (store === undefined || isRejection(verdict)) return verdict;
    // The store forgets a signature at that moment; one that waited for its secret until then could be used twice.
    if (Date.now() > verdict.expires) return rejection('expired', 'the signature became too old while it was checked');
    const claims = claimsOf(req, store);
    // An application and one that is mounted in it may share a store: the request that holds a claim, or waits for it, is no replay.
    let claimed: unknown = claims.get(verdict.digest);
    if (claimed === undefined) {
      claimed = store.claim(verdict.digest, verdict.expires);
      if (typeof claimed !== 'boolean') claimed = Promise.resolve(claimed);
      claims.set(verdict.digest, claimed as boolean | Promise<unknown>);
    }
    return claimed instanceof Promise ? claimed.then((first) => settled(first, verdict)) : settled(claimed, verdict);
  }

  #admission(req: Request, client: Response | Duplex, outcome: Outcome | Promise<Outcome>): Admission {
    return outcome instanceof Promise ? outcome.then((ended) => this.#conclude(req, client, ended)) : this.#conclude(req, client, outcome);
  }

  #conclude(req: Request, client: Response | Duplex, outcome: Outcome): boolean {
    if (outcome === 'gone') {
      // Nobody is there to be answered, so nothing is done in their name.
      this.#logger.debug(loggedRequest(req), 'Nobody waits any more for the check of the request signature');
    } else if (outcome instanceof Unknown) {
      this.#logger.error({ err: outcome.error, ...loggedRequest(req) }, 'The request signature could not be checked');
      this.#answer(req, client, 503, 'the check could not be made', UNAVAILABLE);
    } else if (isRejection(outcome)) {
      const { challenge, headerName } = this.#scheme;
      const { debug, hints } = this.#config;
      const hint = hintForSignature(received(req), debug);
      // At info: who turns `debug` on, or writes the program, wants to see it without a change of the log's level.
      this.#logger[debug || hints ? 'info' : 'debug']({ ...loggedRequest(req), reason: outcome.reason, ...hint }, 'The request signature was refused');
      this.#answer(req, client, 401, outcome.reason, failureBody(outcome.failure, headerName), [['WWW-Authenticate', challenge], ['Cache-Control', 'no-store']]);
    } else {
      // Of this check, and of no other application's that came before.
      req.signatureKeyId = outcome.keyId;
      if (this.#config.debug) this.#logger.info(loggedRequest(req), 'The request signature was accepted');
      return true;
    }
    return false;
  }

  /** Tells who follows requests, then the client. @param reason For the former alone. */
  #answer(request: Request, client: Response | Duplex, status: number, reason: string, body: ErrorBody, fields: readonly AnswerField[] = []): void {
    // By the method that every response is asked for when it is adopted: one of a test may have no more of Node's.
    const response = 'setHeader' in client ? client : undefined;
    if (tracing.refused.hasSubscribers) tracing.refused.publish({ request, response, status, reason });
    if (response === undefined) answerSocket(client as Duplex, status, body, fields);
    else if (!isTaken(response)) answerJson(response, status, body, fields);
    else {
      // What it left open is cut off.
      this.#logger.warn(loggedRequest(request), 'A request was refused by the signature check after it had been answered');
      cutOff(response);
    }
  }
}

/** That a check could not be made, which is never a pass. */
class Unknown {
  constructor(readonly error: unknown) {}
}

type Outcome = Verdict | Unknown | Exclude<WaitEnd, 'late'>;

const UNAVAILABLE: ErrorBody = { error: statusText(503), message: 'The request signature could not be checked' };

/** Whether something else has answered meanwhile, such as a limit of time. */
function isTaken(res: Response): boolean {
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

function settled(first: unknown, verdict: Acceptance): Verdict {
  if (first === false) return rejection('invalid', 'the signature was used before');
  // A store that forgets its `return` knows nothing of replays.
  if (first !== true) throw new TypeError(`security.requestSignature.replay.store: claim() must return true or false, and returned ${typeof first}`);
  // A store that took long may have been asked after it forgot.
  if (Date.now() > verdict.expires) return rejection('expired', 'the signature became too old while it was checked');
  return verdict;
}

function received(req: Request, sent: SentTarget = req): ReceivedRequest {
  const { headers, rawHeaders } = req;
  return { method: req[kOriginalMethod] ?? sent.method, target: req[kOriginalUrl] ?? sent.url, headers, rawHeaders };
}
