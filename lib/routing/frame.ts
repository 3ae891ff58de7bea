import { answerOptions } from '../http/answer';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import { pathStart } from '../target/target';
import { admitBehind } from './admission';
import { callHandler } from './call';
import { type ApplicationRoot, type Caller, joinPatterns, kRun, NO_PREFIX, type RemovedPrefix, restorePrefix, type RoutedRequest, targetBeneath } from './caller';
import type { NextFunction } from './handler';
import type { Lookup } from './layer-index';
import type { Params } from './patterns/params';
import type { Pattern } from './patterns/pattern';
import type { RoutingRules } from './rules';
import type { RequestWatch } from './watch';

/** No prefix, as NO_PREFIX, but a base to restore: the two are told apart by identity. */
const RESTORE_BASE_ONLY: RemovedPrefix = Object.freeze({ prefix: '', isSlashAdded: false });

const WHOLE: RemovedPrefix = Object.freeze({ prefix: '', isSlashAdded: false, isWhole: true });

/** The URL that a router shows its layers, and the request's members to restore afterwards. */
export abstract class Frame implements Caller {
  readonly req: RoutedRequest;
  readonly res: Response;
  readonly rules: RoutingRules;
  readonly parent: Caller | undefined;
  readonly root: ApplicationRoot | null;
  /** True where functions are called only for targets that signature checks have admitted. */
  readonly isChecked: boolean;
  readonly watch: RequestWatch | null;
  readonly entered: RemovedPrefix | null;
  readonly isBeneath: boolean;
  abstract readonly next: NextFunction;
  lookup: Lookup | null = null;
  cursor = 0;
  pattern: Pattern | undefined = undefined;

  /** The URL that was looked up. */
  protected lookedUpUrl = '';
  /** The pattern of the route that was reached last. */
  protected reached: Pattern | undefined = undefined;
  /** Methods of the routes passed by, where the router answers OPTIONS. */
  protected readonly allowed: Set<string> | null;
  readonly #done: NextFunction;
  readonly #enteredUrl: string;
  readonly #enteredMethod: string;
  protected readonly outerParams: Params;
  readonly #baseUrl: string;
  readonly #outerBaseUrl: string;
  readonly #outerNext: NextFunction | undefined;
  /** The pattern of this router's mount when the run began. */
  readonly #mount: Pattern | undefined;
  #removed: RemovedPrefix = NO_PREFIX;
  /** URL and base that were shown to the active layer. */
  #shownUrl = '';
  shownBase: string;
  /** The URL beneath the mount paths, while a route is shown the whole one. */
  #urlBeneath: string | undefined = undefined;

  /** @param done Goes on behind the router. */
  protected constructor(req: RoutedRequest, res: Response, done: NextFunction, rules: RoutingRules, watch: RequestWatch | null) {
    const parent = req[kRun];
    const { baseUrl } = req;
    this.req = req;
    this.res = res;
    this.rules = rules;
    this.parent = parent;
    this.root = parent === undefined ? null : parent.root;
    this.isChecked = this.root !== null && this.root.isChecked;
    this.watch = watch;
    this.#done = done;
    this.allowed = req.method === 'OPTIONS' && rules.answersOptions ? new Set() : null;
    this.#enteredUrl = req.url;
    this.#enteredMethod = req.method;
    this.outerParams = req.params;
    this.#outerBaseUrl = baseUrl;
    this.#outerNext = req.next;
    this.#baseUrl = typeof baseUrl === 'string' ? baseUrl : '';
    this.shownBase = this.#baseUrl;
    this.#mount = parent?.pattern;
    const entered = parent === undefined ? NO_PREFIX : parent.enteredBy(req, this.#baseUrl);
    this.entered = entered;
    this.isBeneath = parent !== undefined && !rules.asExpress && entered !== null && (entered.prefix !== '' || (entered.isWhole !== true && parent.isBeneath));
    if (this.#baseUrl !== baseUrl) req.baseUrl = this.#baseUrl;
  }

  get mountPath(): string {
    const { entered, parent } = this;
    if (parent === undefined || this.rules.asExpress || entered === null) return '';
    return (entered.isWhole === true ? '' : parent.mountPath) + entered.prefix;
  }

  get mountPattern(): string {
    return this.parent === undefined ? this.#baseUrl : joinPatterns(this.parent.mountPattern, this.#mount?.text ?? '/');
  }

  get route(): string {
    return joinPatterns(this.mountPattern, this.pattern?.text ?? '/');
  }

  get reachedRoute(): string {
    return joinPatterns(this.mountPattern, this.reached?.text ?? '/');
  }

  get target(): string | null {
    const { url } = this.req;
    if (this.#urlBeneath === undefined) return targetBeneath(this, this.#removed, url);
    return url === this.#shownUrl || arePrefixesKnown(this) ? url : null;
  }

  /** @throws HttpError 400 for a malformed parameter in a mount path around a route. */
  protected checkMounts(): void {
    const { parent } = this;
    if (!(parent instanceof Frame)) return;
    if (parent.lookup?.testsAll === true) parent.pattern?.capture(parent.lookup.parsedPath, true, true);
    parent.checkMounts();
  }

  enteredBy({ url }: Request, baseUrl: string): RemovedPrefix | null {
    const { base: expected = this.#baseUrl } = this.#removed;
    // A base that the program has assigned tells nothing of the prefix.
    if (this.shownBase !== expected) return null;
    const isWhole = this.#urlBeneath !== undefined;
    if (isWhole && !arePrefixesKnown(this)) return url === this.#shownUrl && baseUrl === expected ? { ...WHOLE, validForUrl: url } : null;
    if (url === this.#shownUrl) return baseUrl !== expected ? null : isWhole ? WHOLE : this.#removed;
    // Called by hand, or by another framework: the text added to the base was removed from the URL.
    if (!baseUrl.startsWith(this.#baseUrl)) return null;
    const prefix = baseUrl.slice(this.#baseUrl.length);
    const isSlashAdded = restorePrefix(url, { prefix, isSlashAdded: true }) === (isWhole ? this.#shownUrl : this.lookedUpUrl);
    return { prefix, isSlashAdded, isWhole, validForUrl: baseUrl === expected && this.#shownUrl.endsWith(url) ? url : undefined };
  }

  /** Shows a layer the URL as it is. */
  protected showUrl(): void {
    this.#shownUrl = this.req.url;
    this.shownBase = this.req.baseUrl;
  }

  /** Shows middleware the URL without its mount path. @param isMatched False when a parameter's handler has replaced the URL that matched. */
  protected showUrlWithout(prefix: string, isMatched: boolean): void {
    const { req } = this;
    if (prefix !== '') {
      const { url } = req;
      const start = pathStart(url);
      const rest = url.slice(start + prefix.length);
      const isSlashAdded = !rest.startsWith('/');
      const after = isSlashAdded || start > 0 ? `${url.slice(0, start)}${isSlashAdded ? '/' : ''}${rest}` : rest;
      const base = this.#baseUrl + (prefix.endsWith('/') ? prefix.slice(0, -1) : prefix);
      this.#removed = { prefix, isSlashAdded, before: url, after: isMatched ? after : undefined, base };
      req.url = after;
      req.baseUrl = base;
    }
    this.showUrl();
  }

  /** Shows a route of `createServer` the URL from the application on (INTERFACE section 2.1). */
  protected showWholeUrl(): void {
    const { req } = this;
    this.#urlBeneath = req.url;
    req.url = wholeUrl(this, req.url);
    this.showUrl();
  }

  /**
   * Restores the URL as before the layer, unless the layer has rewritten it. Returns false for one outside
   * the mount path: the application goes on with it behind the router.
   */
  protected restoreUrl(): boolean {
    if (this.#urlBeneath !== undefined && !this.#restoreBeneath(this.#urlBeneath)) return false;
    if (this.#removed !== NO_PREFIX) {
      const { req } = this;
      if (typeof req.url === 'string') req.url = restorePrefix(req.url, this.#removed);
      req.baseUrl = this.#baseUrl;
      this.#removed = NO_PREFIX;
    }
    return true;
  }

  #restoreBeneath(beneath: string): boolean {
    const { req } = this;
    const { url } = req;
    this.#urlBeneath = undefined;
    if (url === this.#shownUrl) {
      req.url = beneath;
      return true;
    }
    const start = typeof url === 'string' ? pathStart(url) : 0;
    const { mountPath } = this;
    const rest = typeof url === 'string' && url.startsWith(mountPath, start) ? url.slice(start + mountPath.length) : undefined;
    if (rest !== undefined && (rest === '' || rest.startsWith('/') || rest.startsWith('?'))) {
      req.url = url.slice(0, start) + (rest.startsWith('/') ? '' : '/') + rest;
      return true;
    }
    for (let run = this.parent; run instanceof Frame; run = run.parent) run.#removed = RESTORE_BASE_ONLY;
    return false;
  }

  fail(error: unknown): void {
    const { req } = this;
    this.#urlBeneath = undefined;
    // The target on entry has been admitted.
    req.url = this.#enteredUrl;
    req.method = this.#enteredMethod;
    this.#handOn(error);
  }

  /** Leaves the router, with an error or undefined. */
  protected leave(failure: unknown): void {
    if (failure === undefined && this.allowed !== null && this.allowed.size > 0) this.#answerOptions(this.allowed);
    else this.#finish(failure);
  }

  #answerOptions(allowed: ReadonlySet<string>): void {
    const { req, res } = this;
    callHandler(() => answerOptions(res, allowed), undefined, req, res, (error) => this.#finish(error));
  }

  /** Hands the request on; where the program has called by hand, to its function. */
  #finish(failure: unknown): void {
    if (this.isChecked && this.#done !== this.parent?.next) this.#askBehind(failure);
    else this.#handOn(failure);
  }

  #askBehind(failure: unknown): void {
    admitBehind(this, this.#enteredUrl, () => this.#handOn(failure));
  }

  #handOn(failure: unknown): void {
    const { req } = this;
    req.baseUrl = this.#outerBaseUrl;
    req.next = this.#outerNext;
    req.params = this.outerParams;
    req[kRun] = this.parent;
    this.#done(failure);
  }
}

/** A URL with the prefixes that were removed within the application. */
function wholeUrl({ entered, parent, root }: Caller, url: string): string {
  if (entered === null || parent === undefined) return url;
  const shown = restorePrefix(url, entered);
  return entered.isWhole === true || parent === root ? shown : wholeUrl(parent, shown);
}

/** Returns true when the prefixes around a run are known for any URL beneath them. */
function arePrefixesKnown({ entered, parent, root }: Caller): boolean {
  if (entered === null || entered.validForUrl !== undefined) return false;
  return entered.isWhole === true || parent === undefined || parent === root || arePrefixesKnown(parent);
}
