import type { Request } from '../http/request';
import { hasOrigin, pathOf, pathStart } from '../target';
import { GivenBase } from './given-base';

/** The part of a path that a view hides. */
export interface Hidden {
  readonly path: string;
  /** What becomes of a slash that was put before the rest: `added` only where the program has left it alone, `cut` from whatever it makes. */
  readonly slash: 'none' | 'added' | 'cut';
}

const NOTHING_HIDDEN: readonly Hidden[] = [{ path: '', slash: 'none' }];

/** A walk's target, and the part of it that what is called sees as `req.url` behind `req.baseUrl`. */
export class TargetView {
  /** Target that is routed, relative to the application. */
  url: string;
  /** `req.baseUrl` on entry. */
  readonly base: string;
  protected readonly req: Request;
  /** Null while the program has not assigned `req.baseUrl`. */
  protected given: GivenBase | null = null;
  /** What the view of the walk around hides from this one: of several only one is true, and it can't be told which. */
  readonly #outer: readonly Hidden[];
  /** The range of `url` that is hidden. */
  #from = 0;
  #to = 0;
  /** Whether what is shown begins with a slash that `url` does not have. */
  #isSlashAdded = false;
  /** `req.url` as it was shown last. */
  #shownUrl: string;
  /** `req.baseUrl` as it was shown last. */
  #shownBase: string;
  /** The target on entry, and the method that was routed, once the program has made another. */
  #entered: { readonly url: string; readonly method: string } | null = null;

  /** @param outer The view of the walk around. */
  constructor(req: Request, outer: TargetView | undefined) {
    const { url } = req;
    const base = baseOf(req);
    this.req = req;
    this.url = url;
    this.base = base;
    this.#shownUrl = url;
    this.#shownBase = base;
    this.#outer = outer === undefined ? NOTHING_HIDDEN : outer.hiddenAt(base, url);
  }

  /** Whether the program has changed `req.url` since it was shown. @param req The request, or what a program has put in its place. */
  isRewritten({ url }: Pick<Request, 'url'> = this.req): boolean {
    return url !== this.#shownUrl;
  }

  /** Whether a request is as it was shown: nothing between has taken anything off, that it would put back. */
  isShownAt(base: string, url: string): boolean {
    return base === this.#shownBase && url === this.#shownUrl;
  }

  /** Whether all is shown, and `req.baseUrl` is as on entry. */
  get isWhole(): boolean {
    const { req, base } = this;
    return this.given === null && this.#to === 0 && !this.#isSlashAdded && this.#shownBase === base && req.baseUrl === base && req.url === this.#shownUrl;
  }

  /** Whether what is hidden is the mount path of a router, and nothing of the layer's own. */
  protected hidesMount(): boolean {
    return false;
  }

  /** Shows the whole URL. */
  showAll(): void {
    this.#show(this.url, 0, 0);
    this.#isSlashAdded = false;
  }

  /** Shows the URL without so much of its path; as it is where that is nothing: with a slash put before it, `*` would be routed as a path. */
  showBeneath(length: number, path: string): void {
    if (length === 0) {
      this.showAll();
      this.showBase('');
      return;
    }
    const { url } = this;
    const from = pathStart(url);
    const rest = url.slice(from + length);
    // 47 is "/": connect gives what is mounted a path, also where nothing is left.
    const isSlashed = rest.charCodeAt(0) === 47;
    this.#show(url.slice(0, from) + (isSlashed ? rest : '/' + rest), from, from + length);
    this.#isSlashAdded = !isSlashed;
    this.showBase(path.slice(0, length));
  }

  /** Shows `req.baseUrl` with the mount path of what is called, or what follows from what the program has assigned. */
  showBase(mountPath: string): void {
    const base = this.given === null ? this.base + mountPath : this.given.current;
    this.#shownBase = base;
    if (this.req.baseUrl !== base) this.req.baseUrl = base;
  }

  /** Whether the program has assigned `req.baseUrl`, now or before. */
  protected get isBaseGiven(): boolean {
    return this.given !== null || this.req.baseUrl !== this.#shownBase;
  }

  /** Whether the URL is shown without a part of its path. */
  get hidesAny(): boolean {
    return this.#to > this.#from;
  }

  /** How much of the path is hidden. */
  protected get hiddenLength(): number {
    return this.#to - this.#from;
  }

  /** The target that the program has made by what it has set `req.url` to. @param req The request, or what a program has put in its place. */
  rewritten({ url: given }: Pick<Request, 'url'> = this.req): string {
    const { url } = this;
    if (given === this.#shownUrl) return url;
    let rest = withoutOrigin(given, url.slice(0, this.#from));
    // "/t/1" and "9/x" would be "/t/19/x", and enter the router by what its guards were not asked about.
    if (this.#to > this.#from && !isPathEnd(rest) && this.hidesMount()) rest = '/' + rest;
    return url.slice(0, this.#to) + (this.#isSlashAdded ? withoutSlash(rest) : rest);
  }

  /** Makes that the target, and shows all of it. @param method The one that was routed. */
  takeRewrite(method: string): void {
    const { req } = this;
    const before = this.url;
    this.#entered ??= { url: before, method };
    this.url = this.rewritten();
    this.#shownUrl = req.url = this.url;
    if (this.isBaseGiven) {
      this.given ??= new GivenBase(this.base);
      this.given.leaveHidden(this.hiddenLength);
      this.#noteCut(before, this.given);
    } else {
      this.showBase('');
    }
    this.#from = this.#to = 0;
  }

  /** What the target stands for where the program has taken a prefix off the URL, and added it to `req.baseUrl`; undefined where it has not. */
  get behindCut(): string | undefined {
    const cut = this.given?.cut;
    return cut === undefined ? undefined : targetBehind({ path: cut, slash: 'none' }, this.url);
  }

  /** A program may take a prefix off the URL, and add it to `req.baseUrl`: then the target is what it was, or what stands behind that prefix. */
  #noteCut(before: string, given: GivenBase): void {
    const base = baseOf(this.req);
    const [whole, rest] = [pathOf(before), pathOf(this.url)];
    const cut = whole.endsWith(rest) ? whole.slice(0, whole.length - rest.length) : '';
    const added = isBeneath(base, this.#shownBase) ? base.slice(this.#shownBase.length) : '';
    if (cut !== '' && base.endsWith(cut)) given.cut = cut;
    // Cut, and made another at once. What was no part of the URL is the prefix of a proxy.
    else if (added !== '' && whole.includes(added)) given.cut = added;
  }

  /** Makes the target on entry the target again; returns the method that belongs to it, null where the program has made no other. */
  protected takeBackTarget(): string | null {
    if (this.#entered === null) return null;
    this.url = this.#entered.url;
    return this.#entered.method;
  }

  /**
   * Whether the program has made another target, and one of the two has an origin. What Express and others have hidden they put behind so
   * many characters of a target as the origin had that it came with, which a client may have chosen: nobody can tell what becomes of it.
   */
  get isUncertain(): boolean {
    return this.#entered !== null && (hasOrigin(this.#entered.url) || hasOrigin(this.url));
  }

  /**
   * What may be hidden from what is called with that URL where `req.baseUrl` is that. Both are the program's to assign, and frameworks
   * between may have changed both: where they tell different things, each is one that a check has to ask about.
   * @param isDirect Whether nothing stands between.
   */
  hiddenAt(base: string, url: string): readonly Hidden[] {
    const hides = (path: string): Hidden => ({ path, slash: pathOf(this.url) === path ? 'added' : 'none' });
    const isShown = this.isShownAt(base, url);
    const paths = isShown ? [this.url.slice(this.#from, this.#to)] : this.#pathsHiddenAt(base, url);
    const cut = this.given?.cut;
    if (cut !== undefined) paths.push(...paths.map((path) => cut + path));
    const all = paths.map(hides);
    if (isShown) return all;
    // Express 4, and 5 before its router 2.3, take a slash that they have put before the rest from whatever the program makes of it.
    return !url.startsWith('/') ? all : all.flatMap((hidden): Hidden[] => (hidden.slash === 'added' ? [hidden, { ...hidden, slash: 'cut' }] : [hidden]));
  }

  #pathsHiddenAt(base: string, url: string): string[] {
    const range = this.url.slice(this.#from, this.#to);
    const byUrl = this.#beforeUrl(url);
    const byBase = isBeneath(base, this.base) ? base.slice(this.base.length) : null;
    const byShown = isBeneath(base, this.#shownBase) ? range + base.slice(this.#shownBase.length) : null;
    if (byUrl !== null && (byUrl === byBase || byUrl === byShown)) return [byUrl];
    // A program may have rewritten the URL, and taken a base from elsewhere: then it is what was hidden from it.
    return [...new Set([range, byUrl, byBase, byShown].filter((path) => path !== null))];
  }

  /** What stands in the target's path before that of a URL; null where the URL is none of its ends. */
  #beforeUrl(url: string): string | null {
    const whole = pathOf(this.url);
    const end = pathOf(url);
    if (whole.endsWith(end)) return whole.slice(0, whole.length - end.length);
    return end === '/' ? whole : null;
  }

  /** Whether what is called where `req.baseUrl` is that may have been called beneath this view. */
  encloses(base: string): boolean {
    if (this.given === null) return isBeneath(base, this.#to > this.#from ? this.base : this.#shownBase);
    return isBeneath(base, this.base) || isBeneath(base, this.#shownBase);
  }

  /** Whether what is called so may have been called by hand from what was called here. */
  mayLeadTo(base: string, url: string): boolean {
    return this.encloses(base) || this.#beforeUrl(url) !== null;
  }

  /** The targets in the walk around that one of this view may stand for. */
  targetsAround(url: string): string[] {
    return this.#outer.map((hidden) => targetBehind(hidden, url));
  }

  #show(url: string, from: number, to: number): void {
    this.#from = from;
    this.#to = to;
    this.#shownUrl = url;
    if (this.req.url !== url) this.req.url = url;
  }
}

/** `req.baseUrl`; none where a program has made something else of it. */
export function baseOf({ baseUrl }: Request): string {
  return typeof baseUrl === 'string' ? baseUrl : '';
}

/** Whether a base is another, or beneath it. */
function isBeneath(base: string, around: string): boolean {
  return base.startsWith(around) && (base.length === around.length || base[around.length] === '/' || around.endsWith('/'));
}

/** The target that one stands for where so much of it is hidden. */
export function targetBehind({ path, slash }: Hidden, url: string): string {
  const from = pathStart(url);
  const rest = url.slice(from);
  if (slash === 'cut') return url.slice(0, from) + path + rest.slice(1);
  return url.slice(0, from) + path + (slash === 'added' ? withoutSlash(rest) : rest);
}

/** A slash that the framework added does not become part of the target when only the query was changed. */
function withoutSlash(url: string): string {
  return url === '/' || url.startsWith('/?') ? url.slice(1) : url;
}

/** Whether a path ends where that follows, or a segment of it does. */
function isPathEnd(rest: string): boolean {
  return rest === '' || rest.startsWith('/') || rest.startsWith('?') || rest.startsWith('#');
}

/** The URL that middleware has set, without scheme and authority where the target has them. */
function withoutOrigin(url: string, origin: string): string {
  return origin !== '' && url.startsWith(origin) ? url.slice(origin.length) : url;
}
