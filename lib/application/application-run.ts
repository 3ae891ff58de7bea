import type { Request } from '../http/request';
import type { Response } from '../http/response';
import { kJsonAsXJson } from '../http/response-state';
import { asError } from '../routing/call';
import type { NextFunction } from '../routing/handler';
import { type ApplicationRoot, type Caller, joinPatterns, kRun, NO_PREFIX, type RemovedPrefix, restorePrefix, type RoutedRequest } from '../routing/caller';
import type { Pattern } from '../routing/patterns/pattern';
import type { RoutingRules } from '../routing/rules';
import type { RequestWatch } from '../routing/watch';
import type { Contract } from '../schema/contracted';
import type { SignatureHook } from '../signature/hook';

/** The signature checks that a request has passed, shared by nested applications. */
interface Admission {
  isPending: boolean;
  readonly passed: SignatureHook[];
}

/** The application of a run. */
export interface RunHost {
  readonly rules: RoutingRules;
  /** True if it checks signatures. */
  readonly isChecking: boolean;
  /** Checks the signatures that the target needs; calls back once the request is admitted. */
  ask(run: ApplicationRun, method: string, target: string | null, admitted: () => void): void;
  prepareBody(run: ApplicationRun, contract: Contract | undefined, done: (error: unknown) => void): void;
  /** Takes a route's timeout in place of that of the applications. */
  limit(run: ApplicationRun, timeout: number): void;
  /** Called when no handler took the request, or with an unhandled error. */
  ended(run: ApplicationRun, error: unknown): void;
  /** Answers with an error, or logs it after an answer. */
  failed(run: ApplicationRun, error: unknown): void;
}

/** The run of one request through one application and its routers. */
export class ApplicationRun implements ApplicationRoot {
  readonly root: ApplicationRun;
  readonly req: RoutedRequest;
  readonly res: Response;
  readonly host: RunHost;
  readonly parent: Caller | undefined;
  readonly rules: RoutingRules;
  readonly watch: RequestWatch | null;
  readonly isChecked: boolean;
  readonly entered: RemovedPrefix | null;
  readonly admission: Admission;
  admittedMethod: string | undefined = undefined;
  admittedTarget: string | undefined = undefined;
  reached: { readonly reachedRoute: string } | undefined = undefined;
  isStopped = false;
  hasBody = false;
  /** Passes an unhandled request on; undefined for the outermost application. */
  readonly outer: NextFunction | undefined;
  /** True if `outer` belongs to the program or another framework. */
  readonly isForeignNext: boolean;
  /** Called at the end of the router. */
  readonly next: NextFunction;
  /** The URL at entry. */
  get enteredUrl(): string {
    return this.#url;
  }

  readonly #baseUrl: string;
  /** The pattern of the mount that led here. */
  readonly #mount: Pattern | undefined;
  #url: string;
  readonly #method: string;
  /** The URL with the suffix `.xJson`, if it is routed without. */
  #suffixedUrl: string | null = null;

  /** @param next As the caller gave it. @param outer Calls `next` after it has restored request and response. */
  constructor(host: RunHost, req: RoutedRequest, res: Response, next: NextFunction | undefined, outer: NextFunction | undefined, watch: RequestWatch | null) {
    const { [kRun]: parent } = req;
    this.root = this;
    this.host = host;
    this.req = req;
    this.res = res;
    this.outer = outer;
    this.parent = parent;
    this.isForeignNext = next !== parent?.next;
    this.rules = host.rules;
    this.watch = watch;
    this.#url = req.url;
    this.#method = req.method;
    this.#baseUrl = typeof req.baseUrl === 'string' ? req.baseUrl : '';
    this.#mount = parent?.pattern;
    this.entered = parent === undefined ? NO_PREFIX : parent.enteredBy(req, this.#baseUrl);
    const outerRun = parent?.root as ApplicationRun | null | undefined;
    this.isChecked = host.isChecking || outerRun?.isChecked === true;
    this.admission = outerRun?.admission ?? { isPending: false, passed: [] };
    this.next = ApplicationRun.#done.bind(undefined, this);
    req[kRun] = this;
  }

  static #done(this: void, run: ApplicationRun, error: unknown): void {
    run.host.ended(run, error);
  }

  get shownBase(): string {
    return this.#baseUrl;
  }

  get mountPath(): string {
    return '';
  }

  get mountPattern(): string {
    return this.parent === undefined ? this.#baseUrl : joinPatterns(this.parent.mountPattern, this.#mount?.text ?? '/');
  }

  get route(): string {
    return this.mountPattern;
  }

  get target(): string {
    return this.req.url;
  }

  enteredBy({ url }: Request, baseUrl: string): RemovedPrefix | null {
    // A rewritten URL is the application's own target.
    if (baseUrl === this.#baseUrl) return NO_PREFIX;
    if (!baseUrl.startsWith(this.#baseUrl)) return null;
    const prefix = baseUrl.slice(this.#baseUrl.length);
    const isSlashAdded = restorePrefix(url, { prefix, isSlashAdded: true }) === this.#url;
    // A base that was not removed from the URL gives no prefix.
    return isSlashAdded || restorePrefix(url, { prefix, isSlashAdded }) === this.#url ? { prefix, isSlashAdded } : null;
  }

  readonly isBeneath = false;
  readonly pattern = undefined;
  readonly lookup = null;
  readonly cursor = 0;

  fail(error: unknown): void {
    // A rewrite within the application is undone for the outer handlers.
    this.req.url = this.#url;
    this.req.method = this.#method;
    this.next(error);
  }

  drop(error: unknown): void {
    const late = asError(error);
    if (this.isStopped && late !== undefined) this.host.failed(this, late);
  }

  ask(method: string, target: string | null, admitted: () => void): void {
    this.host.ask(this, method, target, admitted);
  }

  prepareBody(contract: Contract | undefined, done: (error: unknown) => void): void {
    this.host.prepareBody(this, contract, done);
  }

  limit(timeout: number): void {
    this.host.limit(this, timeout);
  }

  /** Routes the request without its suffix (INTERFACE section 4.3). */
  cutSuffix(url: string): void {
    this.#suffixedUrl = this.#url;
    this.#url = this.req.url = url;
    this.res[kJsonAsXJson] = true;
  }

  /** Restores the suffix for the next handler. */
  restoreSuffix(): void {
    if (this.#suffixedUrl === null || this.req.url !== this.#url) return;
    this.req.url = this.#suffixedUrl;
    this.res[kJsonAsXJson] = false;
  }
}
