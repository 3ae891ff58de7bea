import type { Duplex } from 'node:stream';
import { type ErrorBody, errorBody, statusText } from '../errors';
import { closeBehind, destroyAfter } from '../http/connection';
import { answerJson } from '../http/default-answer';
import { forbidBody } from '../http/body/bodiless';
import { hasBody } from '../http/body/capture';
import { tooLarge } from '../http/body/inflate';
import { cutOff } from '../http/own-answer';
import { loggedRequest, refusedBody } from '../http/logged-request';
import type { Request } from '../http/request';
import { type Claims, kClaims, kOriginalMethod, kOriginalUrl } from '../http/request-state';
import type { Response } from '../http/response';
import { kAnswering } from '../http/response-state';
import type { ReplayStore } from '../options/options';
import type { SafeLog } from '../safe-log';
import { tracing } from '../tracing';
import { BoundedWait, type Client, type WaitEnd } from './bounded-wait';
import { isRejection, type Rejection, rejection } from './rejection';
import type { Acceptance, PendingCheck, ReceivedRequest, SignatureScheme, Verdict } from './scheme';
import type { RegisteredRoute, SignatureScope } from './scope/scope';

/** Whether the request may go on; what it refuses, the hook has answered. */
export type Admission = boolean | Promise<boolean>;

/** What a hook is made of. */
export interface SignatureHookParts {
  readonly scheme: SignatureScheme;
  readonly scope: SignatureScope;
  /** Whether each check is logged. */
  readonly debug: boolean;
  /** Lets each signature through once; undefined lets it through until it is too old. */
  readonly store: ReplayStore | undefined;
  /** How long secrets and store may be waited for, in milliseconds. */
  readonly timeout: number;
}

/**
 * The check of request signatures (INTERFACE section 5), ahead of middleware,
 * body parsing and handlers. It answers what it refuses itself.
 */
export class SignatureHook {
  readonly #scheme: SignatureScheme;
  readonly #scope: SignatureScope;
  readonly #debug: boolean;
  readonly #store: ReplayStore | undefined;
  readonly #timeout: number;
  readonly #logger: SafeLog;

  constructor({ scheme, scope, debug, store, timeout }: SignatureHookParts, logger: SafeLog) {
    this.#scheme = scheme;
    this.#scope = scope;
    this.#debug = debug;
    this.#store = store;
    this.#timeout = timeout;
    this.#logger = logger;
  }

  /** Whether the body is part of what is signed, so that its bytes are needed. */
  get readsBody(): boolean {
    return this.#scheme.readsBody;
  }

  /** Whether a request to that path must be signed. */
  requires(method: string, path: string): boolean {
    return this.#scope.requires(method, path);
  }

  /** See {@link SignatureScope.uncovered}. */
  uncovered<R extends RegisteredRoute>(routes: readonly R[]): R[] {
    return this.#scope.uncovered(routes);
  }

  /** Checks what can be told before a byte of the body is read; undefined for what it has refused. */
  begin(req: Request, res: Response): PendingCheck | undefined {
    const begun = this.#scheme.begin(received(req), Date.now());
    if (!isRejection(begun)) return begun;
    this.#refuse(req, res, begun);
    return undefined;
  }

  /** Checks the signature over the bytes as received, and that it was not used before. */
  finish(req: Request, res: Response, check: PendingCheck, body: Buffer | undefined): Admission {
    const verdict = this.#judge(req, check, body, res);
    return verdict instanceof Promise ? verdict.then((ended) => this.#conclude(req, res, ended)) : this.#conclude(req, res, verdict);
  }

  /** Checks a request to switch protocols, which has no response, and answers what it refuses on the socket. */
  admitsUpgrade(req: Request, socket: Duplex): Admission {
    let begun = this.#scheme.begin(received(req), Date.now());
    // Node hands what follows the headers to the listener unread, so a body could not be checked; since 26 as the request's own.
    if (!isRejection(begun) && this.readsBody && (hasBody(req) || !forbidBody(req))) begun = rejection('invalid', 'a request to upgrade has a body');
    const verdict = isRejection(begun) ? begun : this.#judge(req, begun, undefined, socket);
    return verdict instanceof Promise ? verdict.then((ended) => this.#concludeUpgrade(req, socket, ended)) : this.#concludeUpgrade(req, socket, verdict);
  }

  /** Answers 413: a body that is too large to be checked is not let through. */
  refuseSize(req: Request, res: Response, limit: number): void {
    const error = tooLarge(limit);
    this.#logger.info({ ...refusedBody(error, req), ...loggedRequest(req) }, 'The request body was refused');
    tell(req, res, 413, error.message);
    if (this.#isTaken(req, res)) return;
    if (!req.complete) closeBehind(req, res);
    answerJson(res, 413, errorBody(error, 413, false));
  }

  /** Answers 401: bytes that someone else has read can't be checked. */
  refuseConsumed(req: Request, res: Response): void {
    this.#refuse(req, res, rejection('invalid', 'the body was read before it could be checked'));
  }

  /** The scheme's verdict, and the store's. A failure of either is a verdict too: that nothing is known. */
  #judge(req: Request, check: PendingCheck, body: Buffer | undefined, client: Client): Outcome | Promise<Outcome> {
    try {
      if (this.#debug) this.#logger.info({ parts: check.describe(body) }, 'The request signature is checked');
      const verdict = check.finish(body, Date.now());
      if (verdict instanceof Promise) {
        const wait = new BoundedWait(req, client, this.#timeout);
        // Nobody waits: then nothing is claimed, so that the client may send the same signature again.
        return this.#within(wait, verdict.then((ended) => (wait.isOver ? ended : this.#claim(req, ended))));
      }
      const claimed = this.#claim(req, verdict);
      return claimed instanceof Promise ? this.#within(new BoundedWait(req, client, this.#timeout), claimed) : claimed;
    } catch (error) {
      return unknown(error);
    }
  }

  async #within(wait: BoundedWait, asked: Promise<Verdict>): Promise<Outcome> {
    const answer = await wait.for<Outcome>(asked.catch(unknown));
    if (answer !== 'late') return answer;
    return unknown(new Error(`Neither the lookup of the secret nor the replay store may take longer than ${this.#timeout} ms; its option timeout sets how long`));
  }

  #claim(req: Request, verdict: Verdict): Verdict | Promise<Verdict> {
    const store = this.#store;
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

  #conclude(req: Request, res: Response, outcome: Outcome): boolean {
    if (outcome === 'gone') return this.#abandon(req);
    if (outcome instanceof Unknown) {
      this.#logUnknown(req, res, outcome);
      if (!this.#isTaken(req, res)) answerJson(res, 503, UNAVAILABLE);
      return false;
    }
    if (isRejection(outcome)) return this.#refuse(req, res, outcome);
    this.#accept(req, outcome);
    return true;
  }

  #concludeUpgrade(req: Request, socket: Duplex, outcome: Outcome): boolean {
    if (outcome === 'gone') return this.#abandon(req);
    if (outcome instanceof Unknown) {
      this.#logUnknown(req, undefined, outcome);
      answerSocket(socket, 503, [], UNAVAILABLE);
      return false;
    }
    if (isRejection(outcome)) {
      this.#refused(req, undefined, 401, outcome.reason);
      answerSocket(socket, 401, [`WWW-Authenticate: ${this.#scheme.challenge}`], this.#scheme.failureBody(outcome.failure));
      return false;
    }
    this.#accept(req, outcome);
    return true;
  }

  /** Nobody is there to be answered, so nothing is done in their name. */
  #abandon(req: Request): false {
    this.#logger.debug(loggedRequest(req), 'Nobody waits any more for the check of the request signature');
    return false;
  }

  /** Whether something else has answered meanwhile, such as a limit of time: what it left open is cut off. */
  #isTaken(req: Request, res: Response): boolean {
    if (!res.headersSent && !res[kAnswering]) return false;
    this.#logger.warn(loggedRequest(req), 'A request was refused by the signature check after it had been answered');
    cutOff(res);
    return true;
  }

  #accept(req: Request, { keyId }: Acceptance): void {
    // Of this check, and of no other application's that came before.
    req.signatureKeyId = keyId;
    if (this.#debug) this.#logger.info(loggedRequest(req), 'The request signature was accepted');
  }

  #refuse(req: Request, res: Response, { failure, reason }: Rejection): false {
    this.#refused(req, res, 401, reason);
    if (this.#isTaken(req, res)) return false;
    answerJson(res, 401, this.#scheme.failureBody(failure), [['WWW-Authenticate', this.#scheme.challenge]]);
    return false;
  }

  /** Tells the log, and who follows requests. @param response Undefined of a request to switch protocols. */
  #refused(request: Request, response: Response | undefined, status: number, reason: string): void {
    // At info: who turns `debug` on wants to see it without a change of the log's level.
    this.#logger[this.#debug ? 'info' : 'debug']({ ...loggedRequest(request), reason }, 'The request signature was refused');
    tell(request, response, status, reason);
  }

  #logUnknown(request: Request, response: Response | undefined, { error }: Unknown): void {
    this.#logger.error({ err: error, ...loggedRequest(request) }, 'The request signature could not be checked');
    tell(request, response, 503, 'the check could not be made');
  }
}

/** That a check could not be made, which is never a pass. */
class Unknown {
  constructor(readonly error: unknown) {}
}

type Outcome = Verdict | Unknown | Exclude<WaitEnd, 'late'>;

/** How long a client that was refused an upgrade may take to read it and close, in milliseconds. */
const LINGER = 2000;

const UNAVAILABLE: ErrorBody = { error: statusText(503), message: 'The request signature could not be checked' };

function unknown(error: unknown): Unknown {
  return new Unknown(error);
}

/** Tells who follows requests. */
function tell(request: Request, response: Response | undefined, status: number, reason: string): void {
  if (tracing.refused.hasSubscribers) tracing.refused.publish({ request, response, status, reason });
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

function received(req: Request): ReceivedRequest {
  const { headers, rawHeaders } = req;
  return { method: req[kOriginalMethod] ?? req.method, target: req[kOriginalUrl] ?? req.url, headers, rawHeaders };
}

function answerSocket(socket: Duplex, status: number, headers: readonly string[], given: ErrorBody): void {
  const body = JSON.stringify(given);
  // Of an upgrade Node's own limits of time no longer hold, nor does it close what the client keeps open.
  destroyAfter(socket, LINGER);
  socket.resume();
  socket.end([
    `HTTP/1.1 ${status} ${statusText(status)}`, 'Connection: close', 'Content-Type: application/json; charset=utf-8',
    ...headers, `Content-Length: ${Buffer.byteLength(body)}`, '', body,
  ].join('\r\n'));
}
