import type { Request } from '../http/request';
import type { Response } from '../http/response';
import { kJsonAsXJson } from '../http/response-state';
import { asError } from '../routing/call';
import type { NextFunction } from '../routing/handler';
import { type ApplicationRoot, type Caller, joinPatterns, kRun, NOTHING, type Removed, restored, type RoutedRequest } from '../routing/caller';
import type { Pattern } from '../routing/patterns/pattern';
import type { RoutingRules } from '../routing/rules';
import type { RequestWatch } from '../routing/watch';
import type { SignatureHook } from '../signature/hook';

/** What a request has passed of signature checks; one for all applications that have it. */
interface Admission {
  isPending: boolean;
  readonly passed: SignatureHook[];
}

/** The application of a run. */
export interface RunHost {
  readonly rules: RoutingRules;
  /** Whether it checks signatures. */
  readonly isChecking: boolean;
  /** Asks the scope of its checks; calls back when the request has what the target needs. */
  ask(run: ApplicationRun, method: string, target: string | null, admitted: () => void): void;
  prepareBody(run: ApplicationRun, done: (error: unknown) => void): void;
  /** Called when nothing registered has taken the request, or with the error that is left. */
  ended(run: ApplicationRun, error: unknown): void;
  /** Answers with an error, or logs it where an answer has been sent. */
  failed(run: ApplicationRun, error: unknown): void;
}

/** One request's way through one application, in which its routers run. */
export class ApplicationRun implements ApplicationRoot {
  readonly root: ApplicationRun;
  readonly req: RoutedRequest;
  readonly res: Response;
  readonly host: RunHost;
  readonly parent: Caller | undefined;
  readonly rules: RoutingRules;
  readonly watch: RequestWatch | null;
  readonly isChecked: boolean;
  readonly entered: Removed | null;
  readonly admission: Admission;
  admittedMethod: string | undefined = undefined;
  admittedTarget: string | undefined = undefined;
  reached: { readonly reachedRoute: string } | undefined = undefined;
  isStopped = false;
  hasBody = false;
  /** Goes on with what the application has not taken; undefined for the outermost. */
  readonly outer: NextFunction | undefined;
  /** Whether that is a function of the program, or another framework's. */
  readonly isHandedOut: boolean;
  /** Called by the router at its end. */
  readonly next: NextFunction;
  /** The URL as it was handed in. */
  get enteredUrl(): string {
    return this.#url;
  }

  readonly #baseUrl: string;
  /** The pattern of the mount that led here. */
  readonly #mount: Pattern | undefined;
  #url: string;
  readonly #method: string;
  /** The URL as sent where it was routed without the suffix `.xJson`. */
  #suffixed: string | null = null;

  /** @param next As the caller gave it. @param outer The same, which gives request and response back before. */
  constructor(host: RunHost, req: RoutedRequest, res: Response, next: NextFunction | undefined, outer: NextFunction | undefined, watch: RequestWatch | null) {
    const { [kRun]: parent } = req;
    this.root = this;
    this.host = host;
    this.req = req;
    this.res = res;
    this.outer = outer;
    this.parent = parent;
    this.isHandedOut = next !== parent?.next;
    this.rules = host.rules;
    this.watch = watch;
    this.#url = req.url;
    this.#method = req.method;
    this.#baseUrl = typeof req.baseUrl === 'string' ? req.baseUrl : '';
    this.#mount = parent?.pattern;
    this.entered = parent === undefined ? NOTHING : parent.enteredBy(req, this.#baseUrl);
    const around = parent?.root as ApplicationRun | null | undefined;
    this.isChecked = host.isChecking || around?.isChecked === true;
    this.admission = around?.admission ?? { isPending: false, passed: [] };
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

  enteredBy({ url }: Request, baseUrl: string): Removed | null {
    // Another URL is the application's own target.
    if (baseUrl === this.#baseUrl) return NOTHING;
    if (!baseUrl.startsWith(this.#baseUrl)) return null;
    const prefix = baseUrl.slice(this.#baseUrl.length);
    const isSlashAdded = restored(url, { prefix, isSlashAdded: true }) === this.#url;
    // A base that was not taken off the URL tells nothing.
    return isSlashAdded || restored(url, { prefix, isSlashAdded }) === this.#url ? { prefix, isSlashAdded } : null;
  }

  readonly isBeneath = false;
  readonly pattern = undefined;
  readonly layer = undefined;
  readonly lookup = null;
  readonly cursor = 0;

  fail(error: unknown): void {
    // Of the target that was made within nothing outside is to hear.
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

  prepareBody(done: (error: unknown) => void): void {
    this.host.prepareBody(this, done);
  }

  /** Routes the request without its suffix (INTERFACE section 4.3). */
  cutSuffix(url: string): void {
    this.#suffixed = this.#url;
    this.#url = this.req.url = url;
    this.res[kJsonAsXJson] = true;
  }

  /** Gives the request its suffix back, for who takes it now. */
  restoreSuffix(): void {
    if (this.#suffixed === null || this.req.url !== this.#url) return;
    this.req.url = this.#suffixed;
    this.res[kJsonAsXJson] = false;
  }
}
