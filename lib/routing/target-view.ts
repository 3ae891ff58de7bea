import type { Request } from '../http/request';
import { pathOf, pathStart } from '../target';
import { GivenBase } from './given-base';

/** The part of a path that a view hides, and whether a slash was put before the rest. */
export interface Hidden {
  readonly path: string;
  readonly slash: boolean;
}

const NOTHING_HIDDEN: Hidden = { path: '', slash: false };

/** A walk's target, and the part of it that what is called sees as `req.url` behind `req.baseUrl`. */
export class TargetView {
  /** Target that is routed, relative to the application. */
  url: string;
  /** `req.baseUrl` on entry. */
  readonly base: string;
  protected readonly req: Request;
  /** Null while the program has not assigned `req.baseUrl`. */
  protected given: GivenBase | null = null;
  /** What the view of the walk around hides from this one. */
  readonly #outer: Hidden;
  /** The range of `url` that is hidden. */
  #from = 0;
  #to = 0;
  /** Whether what is shown begins with a slash that `url` does not have. */
  #isSlashAdded = false;
  /** `req.url` as it was shown last. */
  #shownUrl: string;
  /** `req.baseUrl` as it was shown last. */
  #shownBase: string;

  /** @param outer The view of the walk around. */
  constructor(req: Request, outer: TargetView | undefined) {
    const { url } = req;
    const base = baseOf(req);
    this.req = req;
    this.url = url;
    this.base = base;
    this.#shownUrl = url;
    this.#shownBase = base;
    this.#outer = outer === undefined ? NOTHING_HIDDEN : outer.hiddenAt(base);
  }

  /** Whether the program has changed `req.url` since it was shown. */
  get isRewritten(): boolean {
    return this.req.url !== this.#shownUrl;
  }

  /** Whether all is shown, and `req.baseUrl` is as on entry. */
  get isWhole(): boolean {
    const { req, base } = this;
    return this.given === null && this.#to === 0 && !this.#isSlashAdded && this.#shownBase === base && req.baseUrl === base && req.url === this.#shownUrl;
  }

  /** Shows the whole URL. */
  showAll(): void {
    this.#show(this.url, 0, 0);
    this.#isSlashAdded = false;
  }

  /** Shows the URL without so much of its path. */
  showBeneath(length: number, path: string): void {
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

  /** How much of the path is hidden. */
  protected get hiddenLength(): number {
    return this.#to - this.#from;
  }

  /** The target that the program has made by what it has set `req.url` to. */
  get rewritten(): string {
    const { url } = this;
    const given = this.req.url;
    if (given === this.#shownUrl) return url;
    const rest = withoutOrigin(given, url.slice(0, this.#from));
    return url.slice(0, this.#to) + (this.#isSlashAdded ? withoutSlash(rest) : rest);
  }

  /** Makes that the target, and shows all of it. */
  takeRewrite(): void {
    const { req } = this;
    this.url = this.rewritten;
    this.#shownUrl = req.url = this.url;
    if (this.isBaseGiven) (this.given ??= new GivenBase(this.base)).leaveHidden(this.hiddenLength);
    else this.showBase('');
    this.#from = this.#to = 0;
  }

  /**
   * What is hidden where `req.baseUrl` is that: what is hidden from what was called, and what the base says beyond what was shown to
   * that; where it says less, the program has put back a part of what was hidden.
   */
  hiddenAt(base: string): Hidden {
    let path = '';
    if (isBeneath(base, this.#shownBase)) path = this.url.slice(this.#from, this.#to) + base.slice(this.#shownBase.length);
    else if (this.encloses(base)) path = base.slice(this.#baseAround.length);
    return { path, slash: pathOf(this.url) === path };
  }

  /** Whether what is called where `req.baseUrl` is that may have been called beneath this view. */
  encloses(base: string): boolean {
    return isBeneath(base, this.#baseAround) || isBeneath(base, this.#shownBase);
  }

  /** The target that one of this view stands for in the walk around. */
  targetAround(url: string): string {
    return targetBehind(this.#outer, url);
  }

  get #baseAround(): string {
    return this.#to > this.#from ? this.base : this.#shownBase;
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
  return url.slice(0, from) + path + (slash ? withoutSlash(rest) : rest);
}

/** A slash that the framework added does not become part of the target when only the query was changed. */
function withoutSlash(url: string): string {
  return url === '/' || url.startsWith('/?') ? url.slice(1) : url;
}

/** The URL that middleware has set, without scheme and authority where the target has them. */
function withoutOrigin(url: string, origin: string): string {
  return origin !== '' && url.startsWith(origin) ? url.slice(origin.length) : url;
}
