import { forbidBody } from '../http/body/bodiless';
import { type CaptureOutcome, hasBody, isReadInPart, kRawBody, startCapture } from '../http/body/capture';
import type { Request } from '../http/request';
import { kBodyLimit } from '../http/request-state';
import type { Response } from '../http/response';
import { guardedPart } from '../target/target';
import type { SignatureHook } from './hook';
import { TargetViews } from './scope/target-views';

/**
 * Characters that are looked through at most for one request, of long targets that servers may read in several ways: 16 KB take
 * milliseconds, in each application of several in one another, and again for each rewrite, however many hooks there are.
 */
const MOST_CHARACTERS = 200_000;
/** Length from which a target counts. */
const LONG = 256;

/** How many characters have been looked through. */
const kLookedThrough = Symbol('waypost.request.lookedThrough');

/** A target that is asked about, of a request on its way. */
export interface Question {
  readonly req: Request;
  readonly res: Response;
  readonly method: string;
  /** The target; null for one that can't be told, for which all signatures are needed. */
  readonly url: string | null;
  /** The hooks that the request has passed. */
  readonly passed: SignatureHook[];
  /** Called when it has all the signatures that it needs. */
  admitted(): void;
}

/** What a check asks of the application it serves. */
export interface CheckHost {
  /** Called when a body is wanted, for which a client may wait to be asked. */
  invite(request: Pick<Question, 'req' | 'res'>): void;
  /** Called with an error that no caller can catch. */
  failed(request: Pick<Question, 'req' | 'res'>, error: unknown): void;
}

/**
 * Checks the signatures that a request needs, one hook after another: headers
 * first, then bytes (INTERFACE section 5). What a hook refuses, it has answered.
 */
export class SignatureCheck {
  readonly #hooks: readonly SignatureHook[];
  readonly #limit: number;
  readonly #host: CheckHost;

  /** @param limit Most bytes of a body that is checked, where a hook has no limit of its own. */
  constructor(hooks: readonly SignatureHook[], limit: number, host: CheckHost) {
    this.#hooks = hooks;
    this.#limit = limit;
    this.#host = host;
  }

  /** Begins, or goes on with the next hook whose scope the request is in. */
  run(target: Question): void {
    const { req, res } = target;
    const views = target.url === null ? null : new TargetViews(guardedPart(target.url));
    if (views !== null && views.target.length >= LONG && !mayLookThrough(req, views)) {
      return this.#host.failed(target, new Error(`The path of ${views.target.length} characters is checked too often: refuse long paths with escapes before they are rewritten, or handed to applications in one another`));
    }
    const hook = this.#next(target, views);
    if (hook === undefined) return target.admitted();
    const pending = hook.begin(req, res);
    if (pending === undefined) return;
    if (!hook.readsBody) return this.#finish(target, hook, pending, undefined);
    if (!hasBody(req)) {
      if (!forbidBody(req)) return hook.refuseConsumed(req, res);
      return this.#finish(target, hook, pending, undefined);
    }
    const limit = hook.limit ?? this.#limit;
    // A body announced as too large is refused without asking for it.
    if (Number(req.headers['content-length']) > limit) return hook.refuseSize(req, res, limit);
    this.#host.invite(target);
    // Bound, no closure: one that stands on what it captures costs each request.
    startCapture(req, limit, this.#captured.bind(this, target, hook, pending));
  }

  /** The next hook whose scope the request is in, and which has not checked it. */
  #next({ method, passed }: Question, views: TargetViews | null): SignatureHook | undefined {
    for (const hook of this.#hooks) {
      if (!passed.includes(hook) && (views === null || hook.scope.requires(method, views))) return hook;
    }
    return undefined;
  }

  #captured(target: Question, hook: SignatureHook, pending: object, req: Request, outcome: CaptureOutcome): void {
    const { res } = target;
    if (outcome === 'aborted') return;
    try {
      if (outcome === 'complete') return this.#finish(target, hook, pending, req[kRawBody]);
      if (outcome !== 'tooLarge') return hook.refuseConsumed(req, res);
      hook.refuseSize(req, res, hook.limit ?? this.#limit);
    } catch (error) {
      // Of a hook of the program's: the parser calls, and nobody else would catch it.
      this.#host.failed(target, error);
    }
  }

  #finish(target: Question, hook: SignatureHook, pending: object, body: Buffer | undefined): void {
    const admitted = hook.finish(target.req, target.res, pending, body);
    if (admitted === true) this.#passed(target, hook);
    else if (admitted !== false) {
      admitted.then((passed) => {
        if (!passed) return;
        // Bytes that somebody has read meanwhile leave a part, which nobody may take for the body that was checked.
        if (body !== undefined && isReadInPart(target.req)) hook.refuseConsumed(target.req, target.res);
        else this.#passed(target, hook);
      }).catch((error: unknown) => this.#host.failed(target, error));
    }
  }

  #passed(target: Question, hook: SignatureHook): void {
    target.passed.push(hook);
    if (hook.limit !== undefined) target.req[kBodyLimit] = hook.limit;
    this.run(target);
  }
}

/** Counts a long target; returns whether there were few enough. */
function mayLookThrough(req: Request & { [kLookedThrough]?: number }, { isPlain, target }: TargetViews): boolean {
  if (isPlain) return true;
  const looked = (req[kLookedThrough] ?? 0) + target.length;
  req[kLookedThrough] = looked;
  return looked <= MOST_CHARACTERS;
}
