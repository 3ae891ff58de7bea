import { forbidBody } from '../http/body/bodiless';
import { type CaptureOutcome, hasBody, isReadInPart, kRawBody, startCapture } from '../http/body/capture';
import type { Request } from '../http/request';
import { kBodyLimit } from '../http/request-state';
import type { Response } from '../http/response';
import { guardedPart } from '../target/target';
import type { SignatureHook } from './hook';
import { TargetViews } from './scope/target-views';

/**
 * Most characters of long, ambiguous targets that are scanned for one request. 16 KB take milliseconds, in each of several
 * nested applications and again for each rewrite, however many hooks there are.
 */
const MAX_SCANNED_CHARACTERS = 200_000;
/** Length from which a target counts. */
const LONG_TARGET = 256;

/** Number of characters scanned so far. */
const kScannedCharacters = Symbol('waypost.request.scannedCharacters');

/** A target to check, of a request in progress. */
export interface CheckTarget {
  readonly req: Request;
  readonly res: Response;
  readonly method: string;
  /** The target; null for an unknown one, which needs all signatures. */
  readonly url: string | null;
  /** The hooks that the request has passed. */
  readonly passed: SignatureHook[];
  /** Called when it has all the signatures that it needs. */
  admitted(): void;
}

/** The callbacks of the application that a check serves. */
export interface CheckHost {
  /** Called before a body is read: the client may wait for 100 Continue. */
  sendContinue(request: Pick<CheckTarget, 'req' | 'res'>): void;
  /** The own limit of the route that takes a request. */
  limitOf(request: Request): number | undefined;
  /** Called with an error that no caller can catch. */
  failed(request: Pick<CheckTarget, 'req' | 'res'>, error: unknown): void;
}

/**
 * Checks the signatures that a request needs, one hook after another: headers
 * first, then bytes (INTERFACE section 5). What a hook refuses, it has answered.
 */
export class SignatureCheck {
  readonly #hooks: readonly SignatureHook[];
  readonly #limit: number;
  readonly #host: CheckHost;

  /** @param limit Most bytes of a checked body, for hooks without a limit. */
  constructor(hooks: readonly SignatureHook[], limit: number, host: CheckHost) {
    this.#hooks = hooks;
    this.#limit = limit;
    this.#host = host;
  }

  /** Checks the next hook whose scope holds the request, or admits the request. */
  run(target: CheckTarget): void {
    const { req, res } = target;
    const views = target.url === null ? null : new TargetViews(guardedPart(target.url));
    if (views !== null && views.target.length >= LONG_TARGET && !isWithinScanLimit(req, views)) return this.#host.failed(target, new Error(`The path of ${views.target.length} characters is checked too often: refuse long paths with escapes before they are rewritten, or handed to applications in one another`));
    const hook = this.#next(target, views);
    if (hook === undefined) return target.admitted();
    const pending = hook.begin(req, res);
    if (pending === undefined) return;
    if (!hook.readsBody) return this.#finish(target, hook, pending, undefined);
    if (!hasBody(req)) {
      if (!forbidBody(req)) return hook.refuseConsumed(req, res);
      return this.#finish(target, hook, pending, undefined);
    }
    const limit = hook.limit ?? this.#limitFor(req);
    // A body announced as too large is refused without asking for it.
    if (Number(req.headers['content-length']) > limit) return hook.refuseSize(req, res, limit);
    this.#host.sendContinue(target);
    // Bound, since V8 would allocate a closure's context for every request.
    startCapture(req, limit, this.#captured.bind(this, target, hook, pending));
  }

  /** The application's limit, or the route's where that is higher and may be needed. */
  #limitFor(req: Request): number {
    return Number(req.headers['content-length']) <= this.#limit ? this.#limit : Math.max(this.#limit, this.#host.limitOf(req) ?? 0);
  }

  /** The next hook whose scope holds the request and which it has not passed. */
  #next({ method, passed }: CheckTarget, views: TargetViews | null): SignatureHook | undefined {
    for (const hook of this.#hooks) {
      if (!passed.includes(hook) && (views === null || hook.scope.requires(method, views))) return hook;
    }
    return undefined;
  }

  #captured(target: CheckTarget, hook: SignatureHook, pending: object, req: Request, outcome: CaptureOutcome): void {
    const { res } = target;
    if (outcome === 'aborted') return;
    try {
      if (outcome === 'complete') return this.#finish(target, hook, pending, req[kRawBody]);
      if (outcome !== 'tooLarge') return hook.refuseConsumed(req, res);
      hook.refuseSize(req, res, hook.limit ?? this.#limitFor(req));
    } catch (error) {
      // Errors must not reach the caller, Node's parser: a throw there ends the process.
      this.#host.failed(target, error);
    }
  }

  #finish(target: CheckTarget, hook: SignatureHook, pending: object, body: Buffer | undefined): void {
    const admitted = hook.finish(target.req, target.res, pending, body);
    if (admitted === true) this.#passed(target, hook);
    else if (admitted !== false) {
      admitted.then((passed) => {
        if (!passed) return;
        // A body that was read in part meanwhile must not pass for the checked one.
        if (body !== undefined && isReadInPart(target.req)) hook.refuseConsumed(target.req, target.res);
        else this.#passed(target, hook);
      }).catch((error: unknown) => this.#host.failed(target, error));
    }
  }

  #passed(target: CheckTarget, hook: SignatureHook): void {
    target.passed.push(hook);
    if (hook.limit !== undefined) target.req[kBodyLimit] = hook.limit;
    this.run(target);
  }
}

/** Counts a long target; false once the request is over the limit. */
function isWithinScanLimit(req: Request & { [kScannedCharacters]?: number }, { isPlain, target }: TargetViews): boolean {
  if (isPlain) return true;
  const scanned = (req[kScannedCharacters] ?? 0) + target.length;
  req[kScannedCharacters] = scanned;
  return scanned <= MAX_SCANNED_CHARACTERS;
}
