import { HttpError } from '../errors';
import { keepFirstAnswer } from '../http/first-answer';
import { loggedRequest } from '../http/logged-request';
import { isFetchResponse } from '../http/unsendable';
import type { ResolvedOptions } from '../options/resolved';
import type { Response } from '../http/response';
import type { Caller } from '../routing/caller';
import { type HandlerTrace, isAnswered } from '../routing/handler-trace';
import type { RequestWatch, Watchman } from '../routing/watch';
import type { SafeLog } from '../log/safe-log';
import { hintForMember } from './member-hint';
import { setImmediate } from '../timers';

/** Default of `logging.slowAfter` where hints are logged, in milliseconds. */
const SLOW_AFTER = 10_000;

/** Requests of a second that are watched for hints where no environment is named. */
const SAMPLE = 100;

/** Warns of unanswered requests, and answers for handlers that exceed the timeout. */
export class HandlerTimeout implements Watchman {
  readonly #watchesAll: boolean;
  /** Requests that are still watched within this second. */
  #left: number;
  readonly #slowAfter: number;
  readonly #limit: number;
  readonly #hints: boolean;
  readonly #logger: SafeLog;
  readonly #answer: (watch: RequestWatch, error: HttpError) => void;
  /** Places already warned of. */
  readonly #told = new Set<string>();

  /** @param answer Answers with the error instead of the handlers. */
  constructor({ env, hints, logging, server }: ResolvedOptions, logger: SafeLog, answer: (watch: RequestWatch, error: HttpError) => void) {
    this.#slowAfter = logging.slowAfter ?? (hints ? SLOW_AFTER : 0);
    this.#limit = server.handlerTimeout;
    this.#hints = hints;
    this.#watchesAll = env === 'development' || (logging.slowAfter ?? 0) > 0 || this.#limit > 0;
    this.#left = hints ? SAMPLE : 0;
    this.#logger = logger;
    this.#answer = answer;
  }

  /** Decides if a request is watched; asked once for each. */
  takes(): boolean {
    return this.#watchesAll || (this.#left > 0 && this.#sampled());
  }

  #sampled(): boolean {
    if (this.#left-- === SAMPLE) setTimeout(() => (this.#left = SAMPLE), 1000).unref();
    return true;
  }

  get mayAnswer(): boolean {
    return this.#limit > 0;
  }

  begun(watch: RequestWatch): NodeJS.Timeout | undefined {
    if (this.#hints) keepFirstAnswer(watch.response);
    return this.#slowAfter > 0 ? setTimeout(() => this.#slow(watch), this.#slowAfter).unref() : undefined;
  }

  called(watch: RequestWatch): NodeJS.Timeout | undefined {
    return this.#limit > 0 ? setTimeout(() => this.#late(watch), this.#limit).unref() : undefined;
  }

  failed(run: HandlerTrace, error: unknown): void {
    if (!this.#hints || this.#told.has(String(run))) return;
    const hint = hintForMember(error, run.request);
    if (hint !== undefined) this.#warn(run, `The ${String(run)} has failed since ${hint}`, loggedRequest(run.request));
  }

  returned(run: HandlerTrace): void {
    if (!this.#hints) return;
    const advice = adviceFor(run);
    if (advice === undefined) return;
    // In the same turn it may still answer, or go on.
    setImmediate(() => {
      if (run.hasRequest) this.#warn(run, `The ${String(run)} has ${cameTo(run)} ${advice}`);
    });
  }

  #slow(watch: RequestWatch): void {
    if (watch.isAnswered) return;
    const { request, holder } = watch;
    this.#warn(holder, `A request is open for more than ${this.#slowAfter} ms without an answer: ${stateOf(holder)}`, loggedRequest(request));
  }

  #late(watch: RequestWatch): void {
    if (watch.isAnswered) return;
    const error = HttpError.of('HANDLER_TIMEOUT', `No answer has begun within server.handlerTimeout (${this.#limit} ms): ${stateOf(watch.holder)}`);
    watch.runInHandlerContext(() => this.#answer(watch, error));
  }

  #warn(run: HandlerTrace | undefined, text: string, fields: object = {}): void {
    const place = String(run);
    if (this.#told.has(place)) return;
    this.#told.add(place);
    this.#logger.warn(fields, text);
  }
}

/** Takes a route's limit in place of that of the applications. @param timeout In milliseconds; 0 is none. */
export function limitByRoute({ res, watch }: Caller & { readonly res: Response }, timeout: number, answer: (error: HttpError) => void): void {
  watch?.endLimits();
  if (timeout === 0) return;
  const timer = setTimeout(() => {
    if (isAnswered(res)) return;
    const state = watch === null ? '' : `: ${stateOf(watch.holder)}`;
    answer(HttpError.of('HANDLER_TIMEOUT', `No answer has begun within the timeout of the route (${timeout} ms)${state}`));
  }, timeout).unref();
  res.once('close', () => clearTimeout(timer));
}

/** The current handler of a request, and its state. */
function stateOf(run: HandlerTrace | undefined): string {
  if (run === undefined) return 'no handler has it; it waits for its body, the check of its signature, a handler of app.param or the fallback';
  if (run.state === 'running') return `the ${String(run)} has it, and still waits`;
  return `the ${String(run)} has ${cameTo(run)} ${kindOf(run)}, and has neither answered nor called next()`;
}

function cameTo({ state }: HandlerTrace): string {
  return state === 'resolved' ? 'resolved to' : 'returned';
}

/** Advice for a returned value that is not sent; undefined for a sign of pending work. */
function adviceFor(run: HandlerTrace): string | undefined {
  if (isMiddleware(run.value)) return 'a function, and neither answered nor called next(): it makes middleware, and was given in its place; call it where it is registered, as in app.use(cors())';
  const [kind, method] = sentBy(run) ?? [];
  return kind && `${kind}, and neither answered nor called next(): return values are not sent; call ${method}`;
}

function sentBy({ takesNext, value }: HandlerTrace): readonly [kind: string, method: string] | undefined {
  if (typeof value === 'string') return ['a string', 'res.send(…)'];
  if (typeof value !== 'object' || value === null) return undefined;
  if (value instanceof Uint8Array) return ['bytes', 'res.send(…)'];
  if (isFetchResponse(value)) return takesNext ? ['a Response of fetch', 'res.send(…), or leave out the parameter next'] : undefined;
  return isData(value) ? [Array.isArray(value) ? 'an array' : 'an object', 'res.json(…)'] : undefined;
}

/** Plain data: not what a program keeps to answer later, with the response in it, functions, promises, or whatever else has a life of its own. */
function isData(value: object): boolean {
  return isPlain(value) && Object.values(value).every((each: unknown) => (
    typeof each === 'object' && each !== null ? isPlain(each) || each instanceof Date : typeof each !== 'function'
  ));
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || prototype === Object.prototype || Array.isArray(value);
}

/** True for the form `(req, res, next)`: an unsubscribe function has no parameters. */
function isMiddleware(value: unknown): boolean {
  return typeof value === 'function' && value.length >= 2 && value.length <= 4;
}

function kindOf({ value }: HandlerTrace): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
