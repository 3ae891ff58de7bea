import { type Func, isRouter, line, type RouterProgram, type Sent, statusOfError } from './program';

/** What became of a request. */
export interface Outcome {
  readonly trace: readonly string[];
  readonly status: number;
  /** Of a function that answered. */
  readonly body: string | null;
  /** How often router-level middleware stood back because a sibling router's route takes the request. */
  readonly stoodBack: number;
}

/** A function in its place, with the whole patterns it is registered under. */
interface Place {
  readonly func: Func;
  readonly patterns: readonly Whole[];
  /** undefined in middleware, null for all methods. */
  readonly method: string | null | undefined;
  /** One object for each place of a route. */
  readonly route: object | null;
  /** Mounts around it, the outermost first. */
  readonly mounts: readonly object[];
}

/** Segments of a pattern, and how many of them are the mount path of the router. */
interface Whole {
  readonly segments: readonly string[];
  readonly mount: number;
}

interface Hit {
  readonly params: Record<string, string>;
  /** How many segments of the path the mount path, and the whole pattern, take. */
  readonly mount: number;
  readonly whole: number;
  readonly malformed: boolean;
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

/** Lays out a program as one list, from top to bottom. */
function layOut(program: RouterProgram, under: readonly (readonly string[])[], mounts: readonly object[]): Place[] {
  const wholes = (paths: readonly string[], prefix: boolean): Whole[] =>
    under.flatMap((mount) => paths.map((path) => ({ segments: join(mount, cut(path), prefix), mount: mount.length })));
  return program.entries.flatMap((entry) => {
    if (entry.kind === 'route') {
      const route = {};
      const patterns = wholes(entry.paths, false);
      return entry.stack.flatMap(({ method, funcs }) => funcs.map((func) => ({ func, patterns, method, route, mounts })));
    }
    return [entry.paths ?? ['/'], ...(entry.again === null ? [] : [entry.again])].flatMap((paths) => {
      const patterns = wholes(paths, true);
      return entry.items.flatMap((item): Place[] => {
        if (isRouter(item)) return layOut(item, patterns.map(({ segments }) => segments), [...mounts, {}]);
        return [{ func: item, patterns, method: undefined, route: null, mounts }];
      });
    });
  });
}

const cut = (path: string): string[] => path.slice(1).split('/');

/** A prefix ends before a slash; a router's "/" is its mount path. */
function join(mount: readonly string[], own: readonly string[], prefix: boolean): readonly string[] {
  const root = own.length === 1 && own[0] === '';
  if (root && (prefix || mount.length > 0)) return mount;
  return [...mount, ...own];
}

/** Tries everything, the longest "**" first. Answers where each segment of the pattern begins, and where the last ends. */
function place(pattern: readonly string[], path: readonly string[], prefix: boolean, i = 0, at = 0): number[] | null {
  const segment = pattern[i];
  if (segment === undefined) return prefix || at === path.length ? [at] : null;
  const text = path[at];
  if (text === undefined || !takes(segment, text)) return null;
  for (let end = segment === '**' ? path.length : at + 1; end > at; end--) {
    const found = place(pattern, path, prefix, i + 1, end);
    if (found !== null) return [at, ...found];
  }
  return null;
}

function takes(segment: string, text: string): boolean {
  if (segment.startsWith('*')) return text !== '';
  if (!segment.startsWith(':')) return text === segment || decode(text, '\0') === segment;
  const constraint = /\((.*)\)$/.exec(segment)?.[1];
  return text !== '' && (constraint === undefined || new RegExp(`^(?:${constraint})$`).test(decode(text, text)));
}

function decode(text: string, otherwise: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return otherwise;
  }
}

/** Walks one request from top to bottom, testing every function of the list. */
class LinearWalk {
  readonly trace: string[] = [];
  stoodBack = 0;
  readonly #places: readonly Place[];
  readonly #gone = new Set<object>();
  #url: string;
  #method: string;
  readonly #sent: Sent;
  #broken: boolean;
  #raised: Raised | null = null;
  /** What the routes in use have captured: once, for all their handlers. */
  readonly #captured = new Map<object, Hit>();
  #at = 0;

  constructor(places: readonly Place[], sent: Sent) {
    this.#places = places;
    this.#sent = sent;
    this.#url = sent.url;
    this.#method = sent.method;
    this.#broken = sent.body !== undefined && sent.body !== '{}';
  }

  run(): Outcome {
    while (this.#at < this.#places.length) {
      const here = this.#places[this.#at++] as Place;
      const hit = this.#applies(here);
      if (hit === null || this.#standsBack(here)) continue;
      if (here.route !== null && this.#raised === null && (this.#broken || hit.malformed)) {
        this.#raised = { text: this.#broken ? 'MALFORMED_BODY' : 'MALFORMED_PATH', status: 400, route: null, mounts: here.mounts, alone: true };
        this.#broken = false;
        this.#at = 0;
        continue;
      }
      if (this.#call(here, this.#once(here, hit))) return this.#outcome(200, String(here.func.id));
    }
    return this.#outcome(this.#raised?.status ?? 404, null);
  }

  #outcome(status: number, body: string | null): Outcome {
    return { trace: this.trace, status, body, stoodBack: this.stoodBack };
  }

  /** Whether a place counts now: in this mode, not run, not left. */
  #applies(here: Place): Hit | null {
    if (here.func.catches !== (this.#raised !== null)) return null;
    if (this.#raised !== null && here.route !== null && here.route !== this.#raised.route) return null;
    return this.#matches(here);
  }

  #matches(here: Place): Hit | null {
    if (this.#gone.has(here) || (here.route !== null && this.#gone.has(here.route)) || here.mounts.some((mount) => this.#gone.has(mount))) return null;
    const path = cut(this.#path());
    const prefix = here.route === null;
    const patterns = prefix ? here.patterns : here.patterns.filter((pattern) => this.#answers(here, pattern));
    for (const pattern of patterns) {
      const starts = place(pattern.segments, path, prefix);
      if (starts !== null) return capture(pattern, starts, path);
    }
    return null;
  }

  /** GET answers HEAD unless a HEAD route of the same shape exists. */
  #answers({ method }: Place, pattern: Whole): boolean {
    if (method === null || method === this.#method) return true;
    if (this.#method !== 'HEAD' || method !== 'GET') return false;
    return !this.#places.some((other) => other.method === 'HEAD' && other.patterns.some((head) => shape(head) === shape(pattern)));
  }

  /**
   * A router's own middleware does not run for what a sibling router's route
   * takes. Nothing lets an error into a router from outside, as in Express;
   * one that nothing raised is in all routers but siblings of the one it stopped.
   */
  #standsBack({ route, mounts }: Place): boolean {
    if (route !== null) return false;
    const raised = this.#raised;
    if (raised !== null) return raised.alone ? !related(raised.mounts, mounts) : !within(raised.mounts, mounts);
    const taker = this.#taker();
    const back = taker !== null && !related(taker, mounts);
    if (back) this.stoodBack++;
    return back;
  }

  /** Mounts of the next route below that matches. */
  #taker(): readonly object[] | null {
    return this.#places.slice(this.#at).find((below) => below.route !== null && this.#matches(below) !== null)?.mounts ?? null;
  }

  #once({ route }: Place, hit: Hit): Hit {
    if (route === null) return hit;
    const known = this.#captured.get(route) ?? hit;
    this.#captured.set(route, known);
    return known;
  }

  #path(): string {
    return this.#url.replace(/\?.*/, '');
  }

  /** Calls a function as its program has it; answers whether it answered. */
  #call(here: Place, hit: Hit): boolean {
    const { func, route } = here;
    this.#gone.add(here);
    const path = this.#path();
    const length = (count: number): number => cut(path).slice(0, count).reduce((sum, segment) => sum + 1 + segment.length, 0);
    const base = path.slice(0, length(route === null ? hit.whole : hit.mount));
    const prefix = route === null ? base : '';
    const rest = this.#url.slice(prefix.length);
    const seen = rest.startsWith('/') ? rest : '/' + rest;
    this.trace.push(line(func.id, this.#method, seen, base, hit.params, this.#raised?.text ?? null));
    if (func.act === 'answer') return true;
    const rewritten = this.#rewrite(func, seen, prefix, rest !== seen);
    if (func.act === 'throw' || func.act === 'pass') this.#raise(here);
    else if (func.act === 'forward' && this.#raised !== null) this.#raised = this.#raised.alone ? this.#raised : { ...this.#raised, route, mounts: here.mounts };
    else this.#raised = null;
    if (func.act === 'route' && route !== null) this.#gone.add(route);
    if (func.act === 'router') this.#gone.add(here.mounts[here.mounts.length - 1] as object);
    if (rewritten) this.#at = 0;
    return false;
  }

  #rewrite({ rewrite }: Func, seen: string, prefix: string, slashAdded: boolean): boolean {
    const url = rewrite?.url ?? seen;
    const method = rewrite?.method ?? this.#method;
    if (url === seen && method === this.#method) return false;
    // The slash that stands in for an empty rest goes where it came from.
    const own = slashAdded && /^\/(\?|$)/.test(url) ? url.slice(1) : url;
    this.#url = prefix + own;
    this.#method = method;
    this.#captured.clear();
    return true;
  }

  #raise({ func, route, mounts }: Place): void {
    this.#raised = { text: `e${func.id}`, status: statusOfError(func.id), route, mounts, alone: false };
  }
}

function within(inner: readonly object[], outer: readonly object[]): boolean {
  return outer.every((mount, i) => mount === inner[i]);
}

function related(a: readonly object[], b: readonly object[]): boolean {
  return within(a, b) || within(b, a);
}

/** What tells patterns apart but for names. */
function shape({ segments }: Whole): string {
  return segments.map((segment) => segment.replace(/^(\*$|:\w+)/, ':')).join('/');
}

function capture({ segments, mount }: Whole, starts: readonly number[], path: readonly string[]): Hit {
  const params: Record<string, string> = {};
  let malformed = false;
  segments.forEach((segment, i) => {
    const name = /^(?:\*+$|:\w+)/.exec(segment)?.[0].replace(':', '');
    if (name === undefined) return;
    const taken = path.slice(starts[i], starts[i + 1]).join('/');
    const text = segment === '**' ? taken.replace(/%2f/gi, '%252F') : taken;
    malformed ||= decode(text, '\0') === '\0';
    params[name] = decode(text, taken);
  });
  return { params, mount: starts[mount] as number, whole: starts[segments.length] as number, malformed };
}

/**
 * What must become of requests to a program, worked out in the plainest way
 * there is: one list, every function tested in turn, no plan and no engine.
 */
export class LinearWalker {
  readonly #places: readonly Place[];

  constructor(program: RouterProgram) {
    this.#places = layOut(program, [[]], [{}]);
  }

  walk(sent: Sent): Outcome {
    return new LinearWalk(this.#places, sent).run();
  }
}
