import { type Func, inContext, line, type RouterProgram, type Sent, statusOfError } from './program';
import { cut, firstHit, type Hit, layOut, type Place, shape, type Whole } from './program-list';

/** What became of a request. */
export interface Outcome {
  readonly trace: readonly string[];
  readonly status: number;
  /** Of a function that answered. */
  readonly body: string | null;
}

interface Raised {
  readonly text: string;
  readonly status: number;
  /** The route that raised it, or whose own error handlers have passed it on. */
  readonly route: object | null;
  /** Mounts around what raised it, or passed it on; around what could not run when nothing raised it. */
  readonly mounts: readonly object[];
  /** Whether no function raised it, as with a body that no parser reads. */
  readonly alone: boolean;
}

interface Target {
  readonly url: string;
  readonly method: string;
}

/** A call, and how it was left. */
interface Call {
  readonly here: Place;
  /** What of the URL it does not see, and the rest, to which a slash may have been added. */
  readonly prefix: string;
  readonly rest: string;
  readonly seen: string;
  readonly left: Target;
}

/** Walks one request from top to bottom, testing every function of the list. */
class LinearWalk {
  readonly trace: string[];
  /** The body, once a function has answered. */
  answer: string | null = null;
  raised: Raised | null = null;
  /** The function that has opened the async context; 0 for the request's own. */
  context = 0;
  /** How often router-level middleware stood back because a sibling router's route takes the request. */
  stoodBack = 0;
  url: string;
  method: string;
  readonly #places: readonly Place[];
  readonly #sent: Sent;
  readonly #base: string;
  /** Places that ran; routes and mounts that were left. */
  readonly #gone = new Set<object>();
  /** What the routes in use have captured: once, for all their handlers. */
  readonly #captured = new Map<object, Hit>();
  readonly #apart: boolean;
  /** Routes before it have been passed, by a rewrite. */
  #passed = 0;
  #broken: boolean;
  /** Whether the walk begins anew when the error is dealt with, since guards of a new target were passed over. */
  #restarts = false;
  #at = 0;
  /** What a handler has made of the target for the further handlers of its route; taken when the route is left. */
  #made: Target | null = null;
  /** What was called last, and what it sees. */
  #current: Call | null = null;
  /** Whether what was called last has answered, and not gone on. */
  #stopped = false;
  /** Functions that call `next` again as soon as the first call returns: the innermost first. */
  readonly #again: { readonly func: Func; readonly level: readonly object[]; readonly context: number }[] = [];

  constructor(places: readonly Place[], sent: Sent, base: string, trace: string[], apart: boolean) {
    this.trace = trace;
    this.url = sent.url;
    this.method = sent.method;
    this.#places = places;
    this.#sent = sent;
    this.#base = base;
    this.#apart = apart;
    this.#broken = sent.body !== undefined && sent.body !== '{}';
  }

  run(): this {
    do this.#down(); while (this.#callAgain());
    return this;
  }

  /** Walks until something answers, or to the end. */
  #down(): void {
    while (this.#at < this.#places.length && !this.#stopped) {
      const here = this.#places[this.#at++] as Place;
      const hit = this.#applies(here);
      if (hit === null || this.#standsBack(here)) continue;
      if (this.raised === null && this.#isObstructed(here, hit)) this.#obstruct(here, hit);
      // In Express's order error middleware is passed over, too, where it would capture what is malformed.
      else if (here.route !== null || !hit.malformed || this.#apart) this.#call(here, this.#once(here, hit));
    }
  }

  /**
   * A second call goes on from where the walk then is; one that has come to its
   * end goes nowhere. From around what the walk is in, it leaves that; from what
   * the walk has left, only an error counts.
   */
  #callAgain(): boolean {
    const again = this.#again.pop();
    const current = this.#current;
    if (again?.func.late == null || current === null || !this.#stopped) return false;
    const { id, late: { fails, url } } = again.func;
    const left = url === null ? current.left : { ...current.left, url };
    const { level } = current.here;
    const common = level.filter((one, i) => one === again.level[i]);
    if (!fails && common.length < again.level.length) {
      this.#current = { ...current, left };
      return this.#callAgain();
    }
    for (const one of level.slice(common.length)) this.#gone.add(one);
    this.#stopped = false;
    this.context = again.context;
    const { route, mounts } = common.length === level.length && level.length === again.level.length ? current.here : { route: null, mounts: common };
    this.raised = fails ? { text: `late${id}`, status: statusOfError(id), route, mounts, alone: false } : null;
    this.#goOn(current, left);
    return true;
  }

  /** Routes are not run for what is malformed; in Express's order middleware is not, either, where it would capture that. */
  #isObstructed({ route }: Place, { malformed }: Hit): boolean {
    return route === null ? malformed && !this.#apart : malformed || this.#broken;
  }

  /** Nothing has raised this error: it meets all error middleware; in Express's order what stands below. */
  #obstruct({ mounts, route }: Place, { malformed }: Hit): void {
    // The path is captured before the body is parsed.
    const isBody = this.#broken && route !== null && !malformed;
    this.raised = { text: isBody ? 'MALFORMED_BODY' : 'MALFORMED_PATH', status: 400, route: null, mounts, alone: this.#apart };
    if (isBody) this.#broken = false;
    if (this.#apart) this.#at = 0;
  }

  /** Whether a place counts now: in this mode, not run, not left. */
  #applies(here: Place): Hit | null {
    const catches = !isList(here.func) && here.func.catches;
    if (catches !== (this.raised !== null)) return null;
    if (this.raised !== null && here.route !== null && here.route !== this.raised.route) return null;
    return this.#matches(here);
  }

  #matches(here: Place): Hit | null {
    const { route, mounts, patterns } = here;
    if (route !== null && this.#places.indexOf(here) < this.#passed) return null;
    if (this.#gone.has(here) || (route !== null && this.#gone.has(route)) || mounts.some((mount) => this.#gone.has(mount))) return null;
    const path = cut(this.#path());
    return route === null ? firstHit(patterns, path, true) : firstHit(patterns.filter((pattern) => this.#answers(here, pattern)), path, false);
  }

  /** GET answers HEAD unless a HEAD route of the same shape exists; in Express's order unless its own route does. */
  #answers({ method, route }: Place, pattern: Whole): boolean {
    if (method === null || method === this.method) return true;
    if (this.method !== 'HEAD' || method !== 'GET') return false;
    if (!this.#apart) return !this.#places.some((other) => other.method === 'HEAD' && other.route === route);
    return !this.#places.some((other) => other.method === 'HEAD' && other.patterns.some((head) => shape(head) === shape(pattern)));
  }

  /**
   * A router's own middleware does not run for what a sibling router's route
   * takes; in Express's order it does. Nothing lets an error into a router from outside, as in Express;
   * one that nothing raised is in all routers but siblings of the one it stopped.
   */
  #standsBack({ route, mounts, home }: Place): boolean {
    if (route !== null) return false;
    const { raised } = this;
    if (raised !== null) return raised.alone ? !related(raised.mounts, home) : !within(raised.mounts, mounts);
    if (!this.#apart) return false;
    const taker = this.#places.slice(this.#at).find((below) => below.route !== null && this.#matches(below) !== null);
    const back = taker !== undefined && !related(taker.mounts, home);
    if (back) this.stoodBack++;
    return back;
  }

  #once({ route }: Place, hit: Hit): Hit {
    if (route === null) return hit;
    const known = this.#captured.get(route) ?? hit;
    this.#captured.set(route, known);
    return known;
  }

  #path(): string {
    return this.url.replace(/\?.*/, '');
  }

  /** Calls what stands there with the URL as it sees it, and takes note of how that was left. */
  #call(here: Place, hit: Hit): void {
    this.#gone.add(here);
    const path = this.#path();
    const taken = cut(path).slice(0, here.route === null ? hit.whole : hit.mount);
    const base = path.slice(0, taken.join('/').length + (taken.length > 0 ? 1 : 0));
    // Routes see the whole URL, but in Express's order what is left of it.
    const prefix = here.route === null || !this.#apart ? base : '';
    const rest = this.url.slice(prefix.length);
    const seen = rest.startsWith('/') ? rest : '/' + rest;
    const left = isList(here.func) ? this.#enter(here.func, here, seen, base) : this.#perform(here.func, here, seen, base, hit);
    this.#current = { here, prefix, rest, seen, left };
    if (!this.#stopped) this.#goOn(this.#current, left);
  }

  /** The target that was left counts from here on. */
  #goOn({ here, prefix, rest, seen }: Call, left: Target): void {
    const rewritten = left.url !== seen || left.method !== this.method;
    if (this.raised === null && this.#restarts) this.#restart(here);
    this.#made = rewritten && this.#staysInRoute(here) ? left : null;
    if (this.#made !== null) return;
    // The slash that stands in for an empty rest goes where it came from.
    const [path, method] = [this.#path(), this.method];
    const own = rest !== seen && /^\/(\?|$)/.test(left.url) ? left.url.slice(1) : left.url;
    if (left.url !== seen) this.url = prefix + own;
    this.method = left.method;
    if (rewritten) this.#captured.clear();
    if (rewritten) this.#passed = Math.max(this.#passed, this.#places.indexOf(here));
    if (rewritten && here.route !== null) this.#gone.add(here.route);
    // What an error has passed by stays passed by, unless other middleware may apply.
    this.#restarts ||= rewritten && (this.raised === null || this.#path() !== path || (this.#apart && this.method !== method));
    if (this.raised === null && this.#restarts) this.#restart(here);
  }

  #restart(here: Place): void {
    this.#restarts = false;
    this.#passed = Math.max(this.#passed, this.#places.indexOf(here));
    this.#at = 0;
  }

  /** Whether another handler of the route comes next: it runs whatever target has been made. */
  #staysInRoute({ route }: Place): boolean {
    if (route === null) return false;
    const next = this.#places.slice(this.#at).find((place) => this.#applies(place) !== null && !this.#standsBack(place));
    return next?.route === route;
  }

  /** Does what the program says of a function. */
  #perform(func: Func, here: Place, seen: string, base: string, { params }: Hit): Target {
    const { act, rewrite, id } = func;
    const { route, mounts } = here;
    const { url, method } = this.#made ?? { url: seen, method: this.method };
    if (id !== 0) this.trace.push(inContext(line(id, method, url, this.#base + base, params, this.raised?.text ?? null), this.context));
    if (func.late !== null) this.#again.push({ func, level: here.level, context: func.opens ? id : this.context });
    // What is thrown is caught outside.
    if (func.opens && (act !== 'throw' || func.timing === 'callback' || func.timing === 'timer')) this.context = id;
    if (act === 'answer') {
      this.answer ??= String(id);
      this.#stopped = true;
    } else if (act === 'throw' || act === 'pass') this.raised = { text: `e${id}`, status: statusOfError(id), route, mounts, alone: false };
    else if (act === 'forward' && this.raised !== null) this.raised = this.raised.alone ? this.raised : { ...this.raised, route, mounts };
    else this.raised = null;
    if (act === 'route' && route !== null) this.#gone.add(route);
    if (act === 'router') this.#gone.add(mounts[mounts.length - 1] as object);
    return { url: rewrite?.url ?? url, method: rewrite?.method ?? method };
  }

  /** An application is middleware with a walk of its own; what it leaves unanswered, error or not, goes on here. */
  #enter(list: readonly Place[], here: Place, seen: string, base: string): Target {
    const { route, mounts } = here;
    const inner = new LinearWalk(list, { ...this.#sent, url: seen, method: this.method }, this.#base + base, this.trace, this.#apart);
    inner.context = this.context;
    // It was called to guard what stands below the rewriter.
    if (this.#places.indexOf(here) < this.#passed) inner.#passed = Infinity;
    inner.run();
    this.context = inner.context;
    this.answer = inner.answer;
    this.#stopped = inner.answer !== null;
    this.stoodBack += inner.stoodBack;
    this.raised = inner.raised === null ? null : { ...inner.raised, route, mounts, alone: false };
    return inner;
  }
}

function isList(func: Func | readonly Place[]): func is readonly Place[] {
  return Array.isArray(func);
}

function within(inner: readonly object[], outer: readonly object[]): boolean {
  return outer.every((mount, i) => mount === inner[i]);
}

function related(a: readonly object[], b: readonly object[]): boolean {
  return within(a, b) || within(b, a);
}

/**
 * What must become of requests to a program, worked out in the plainest way
 * there is: one list, every function tested in turn, no plan and no engine.
 */
export class LinearWalker {
  readonly #places: readonly Place[];

  readonly #apart: boolean;

  /** @param apart Whether a router's middleware stands back for what a sibling router's route takes; else the order is Express's. */
  constructor(program: RouterProgram, apart: boolean) {
    this.#places = layOut(program, apart);
    this.#apart = apart;
  }

  walk(sent: Sent): Outcome & { readonly stoodBack: number } {
    const { trace, answer, raised, stoodBack } = new LinearWalk(this.#places, sent, '', [], this.#apart).run();
    return { trace, status: answer === null ? raised?.status ?? 404 : 200, body: answer, stoodBack };
  }
}
