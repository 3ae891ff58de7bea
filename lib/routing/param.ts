import { inspect } from 'node:util';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import type { NextFunction, ParamHandler } from './handler';
import { type Mount, within } from './mount';
import type { Path } from './path';
import type { Pattern } from './pattern';
import type { Params } from './pattern-params';
import { namesOf } from './pattern-segment';
import { kParamHandlers } from './registration';

/** One parameter that a router has handlers for, as it stands in the path of a layer. */
export interface ParamHook {
  readonly name: string;
  readonly handlers: readonly ParamHandler[];
  /** Where the router is mounted that has them. */
  readonly mount: Mount;
  /** The paths of the mount whose path holds the parameter; null where that is the path of the layer itself. */
  readonly within: readonly Pattern[] | null;
  /** Of a mount: the parameters of the mounts around it, as they stand there. */
  readonly around: readonly ParamHook[];
  /** The names that paths further in capture. */
  readonly beneath: ReadonlySet<string>;
}

const NO_NAMES: ReadonlySet<string> = new Set();

/** The parameters in a path, or in any of several, that the router at a mount has handlers for. */
export function hooksFor(mount: Mount, patterns: readonly Pattern[]): ParamHook[] {
  const params = mount.router[kParamHandlers];
  if (params.size === 0) return [];
  return [...namesIn(patterns)].flatMap((name) => {
    const handlers = params.get(name);
    return handlers === undefined ? [] : [{ name, handlers, mount, within: null, around: [], beneath: NO_NAMES }];
  });
}

/** The hooks of a mount's path, as what stands in it under these paths finds them. */
export function hooksBeneath({ hooks, patterns: prefixes }: Mount, patterns: readonly Pattern[]): readonly ParamHook[] {
  if (hooks.length === 0) return hooks;
  const names = namesIn(patterns);
  return hooks.map((hook) => ({ ...hook, ...(hook.within === null ? { within: prefixes, around: hooks } : {}), beneath: new Set([...hook.beneath, ...names]) }));
}

function namesIn(patterns: readonly Pattern[]): Set<string> {
  return new Set(patterns.flatMap(({ segments }) => namesOf(segments)));
}

/** Names to register, checked. */
export function readParam(name: unknown, handler: unknown): readonly string[] {
  const where = `param(${inspect(name)}, …)`;
  if (name === undefined || name === '') throw new TypeError(`${where}: argument name is required, such as "id"`);
  if (handler === undefined) throw new TypeError(`${where}: argument fn is required, a function (req, res, next, value, name)`);
  if (typeof handler !== 'function') throw new TypeError(`${where}: argument fn must be a function (req, res, next, value, name), got ${inspect(handler)}`);
  const names: unknown[] = Array.isArray(name) ? name : [name];
  for (const entry of names) {
    if (typeof entry !== 'string' || entry === '') throw new TypeError(`${where}: argument name must be a string such as "id", got ${inspect(entry)}`);
    if (entry.startsWith(':')) throw new TypeError(`param(${inspect(entry)}, …) has a colon too many; write param(${inspect(entry.slice(1))}, …)`);
  }
  return names as string[];
}

/** What a handler made of a value; another layer with the same value takes it over. */
interface Handled {
  readonly hook: ParamHook;
  readonly value: string;
  /** Whether all its handlers have gone on, or one has raised an error. */
  settled: boolean;
  /** What `req.params` held afterwards. */
  result: unknown;
  /** What `next` was given. */
  error: unknown;
  /** Whom it is settled for: the last layer that came to the same value. */
  run: ParamRun;
  /** Index of the handler that was to be called when nobody waited for it; null for none. */
  left: number | null;
}

/**
 * The parameters of a mount's path, for one path of a request. As in Express its handlers see these alone, and what they make of them
 * is seen by all that is mounted there, but for names that it captures again.
 */
interface Entered {
  readonly within: readonly Pattern[];
  readonly path: Path;
  /** As they were captured. */
  readonly captured: Params;
  /** As the handlers have left them. */
  params: Params;
  /** The values that handlers were called for. */
  readonly values: Map<string, string>;
}

/** Hears that all handlers have gone on, or what one of them raised, and at which parameter. */
export interface ParamListener {
  /** Whether the walk still waits there: a handler may go on late, or twice. */
  waitsFor(run: ParamRun): boolean;
  /** Asked before each parameter, for what has been registered meanwhile; false where no more is to be called. */
  renewHooks(run: ParamRun): boolean;
  /** What the first of a mount's paths that matches captures. */
  captureAt(within: readonly Pattern[], path: Path): Params;
  /** Called before the handlers of a parameter are. */
  meets(hook: ParamHook): void;
  /** Whether the next handler may not simply run: one has made another target of the request, or the walk waits elsewhere by now. */
  isLedElsewhere(run: ParamRun): boolean;
  /** Calls back when the target may go on, if ever. */
  admit(goOn: () => void): void;
  passed(run: ParamRun): void;
  /** @param run Null where the handler had gone on before. */
  raised(error: unknown, hook: ParamHook, run: ParamRun | null): void;
}

/** The parameters in the path of one layer, on the way to it: who listens knows by it which layer is meant. */
export class ParamRun {
  readonly path: Path;
  /** The layer's own parameters. */
  readonly own: Params;
  /** The mount's path whose parameters were shown last. */
  entered: Entered | null = null;
  /** Whether its own are shown. */
  showsOwn = true;
  /** Where the layer is that was reached before. */
  readonly #from: Mount | null;
  #hooks: readonly ParamHook[];
  #index = 0;

  constructor(hooks: readonly ParamHook[], path: Path, own: Params, from: Mount | null) {
    this.#hooks = hooks;
    this.path = path;
    this.own = own;
    this.#from = from;
  }

  /** Whether the request was in a mount before, or has met a parameter's handlers in it. */
  isIn(mount: Mount): boolean {
    return (this.#from !== null && within(this.#from, mount)) || this.#hooks.slice(0, this.#index).some((hook) => within(hook.mount, mount));
  }

  get hooks(): readonly ParamHook[] {
    return this.#hooks;
  }

  /** The next parameter; undefined behind the last. */
  next(): ParamHook | undefined {
    return this.#hooks[this.#index++];
  }

  /** Whether the parameter that is next stands in another router's path than the one before. */
  get isEntering(): boolean {
    const before = this.#hooks[this.#index - 2];
    return before !== undefined && before.mount !== this.#hooks[this.#index - 1]?.mount;
  }

  /** Goes on behind the parameter that was the last, with those that have handlers by now. */
  goOnBy(hooks: readonly ParamHook[]): void {
    const last = this.#hooks[this.#index - 1];
    if (last === undefined) return;
    this.#index = hooks.findIndex(({ name, mount }) => name === last.name && mount === last.mount) + 1;
    this.#hooks = hooks;
  }
}

/** The handlers of parameters in one request: what has been called, and with what. */
export class ParamCalls {
  readonly #req: Request;
  readonly #res: Response;
  readonly #listener: ParamListener;
  readonly #handled: Handled[] = [];
  readonly #entered: Entered[] = [];

  constructor(req: Request, res: Response, listener: ParamListener) {
    this.#req = req;
    this.#res = res;
    this.#listener = listener;
  }

  /** Calls what has to be called before a layer, outermost router first. */
  go(run: ParamRun): void {
    for (;;) {
      if (!this.#listener.renewHooks(run)) return;
      const hook = run.next();
      // What is within another mount runs only if the new target leads there.
      if (hook === undefined) {
        this.#leave(run);
        return this.#listener.passed(run);
      }
      if (run.isEntering && this.#listener.isLedElsewhere(run)) return this.#listener.passed(run);
      let value: string | undefined;
      let isKnown: boolean;
      try {
        isKnown = !this.#listener.waitsFor(run) || this.#enter(run, hook)?.values.has(hook.name) === true;
        value = this.#valueOf(hook, run);
      } catch (error) {
        return this.#listener.raised(error, hook, run);
      }
      if (value === undefined) continue;
      const known = this.#handled.findIndex((handled) => handled.hook.mount === hook.mount && handled.hook.name === hook.name);
      const before = this.#handled[known];
      // As in Express, a parameter that has failed has failed for every value.
      if (before !== undefined && (isSame(before.value, value) || (before.error && before.error !== 'route'))) {
        if (!before.settled) {
          // Its handlers have not gone on yet, so no layer that needs them may run.
          before.run = run;
          const { left } = before;
          before.left = null;
          if (left !== null) this.#call(before, left);
          return;
        }
        if (!isKnown) this.#req.params[hook.name] = before.result as string;
        if (before.error) return this.#listener.raised(before.error, hook, run);
        continue;
      }
      try {
        this.#listener.meets(hook);
      } catch (error) {
        // A property of the request that a program has made read-only.
        return this.#listener.raised(error, hook, run);
      }
      const handled: Handled = { hook, value, settled: false, result: value, error: undefined, run, left: null };
      if (known === -1) this.#handled.push(handled);
      else this.#handled[known] = handled;
      return this.#call(handled, 0);
    }
  }

  /** Calls one handler after another. */
  #call(handled: Handled, index: number): void {
    const handler = handled.hook.handlers[index];
    if (handler === undefined) return this.#settle(handled, undefined);
    if (!this.#listener.isLedElsewhere(handled.run)) return this.#invoke(handled, handler, index);
    if (this.#listener.waitsFor(handled.run)) this.#listener.admit(() => this.#invoke(handled, handler, index));
    else handled.left = index;
  }

  #invoke(handled: Handled, handler: ParamHandler, index: number): void {
    const { hook, value } = handled;
    let over = false;
    const next: NextFunction = (error) => {
      if (over) {
        if (error && error !== 'route' && error !== 'router') this.#listener.raised(error, hook, null);
        return;
      }
      over = true;
      let raised = error;
      try {
        if (this.#listener.waitsFor(handled.run)) handled.result = this.#req.params[hook.name];
      } catch (failure) {
        // Parameters that can't be read: it must not end the process, where a handler goes on from a timer.
        raised ||= failure;
      }
      if (raised) this.#settle(handled, raised);
      else this.#call(handled, index + 1);
    };
    try {
      const answer: unknown = handler(this.#req, this.#res, next, value, hook.name);
      if (typeof answer === 'object' && answer !== null && answer !== this.#res) {
        Promise.resolve(answer).then(undefined, (error: unknown) => next(errorOf(error, hook)));
      }
    } catch (error) {
      next(errorOf(error, hook));
    }
  }

  #settle(handled: Handled, error: unknown): void {
    handled.settled = true;
    handled.error = error;
    if (error) this.#listener.raised(error, handled.hook, handled.run);
    else this.go(handled.run);
  }

  #valueOf({ name, within }: ParamHook, { path, entered, showsOwn }: ParamRun): string | undefined {
    if (within === null) return this.#req.params[name];
    // Late: the request is elsewhere by now.
    if (entered === null || showsOwn || entered.within !== within) return this.#listener.captureAt(within, path)[name];
    const value = entered.values.get(name) ?? this.#req.params[name];
    if (value !== undefined) entered.values.set(name, value);
    return value;
  }

  /** Shows the parameters of the path that holds one; returns what is known of a mount's. */
  #enter(run: ParamRun, { within, around }: ParamHook): Entered | null {
    if (within === null) {
      this.#showOwn(run);
      return null;
    }
    const outer = run.entered;
    if (outer !== null && outer.within === within && !run.showsOwn) return outer;
    this.#keep(run);
    let entered = this.#entered.find((each) => each.within === within && each.path === run.path);
    if (entered === undefined) {
      const captured = this.#listener.captureAt(within, run.path);
      entered = { within, path: run.path, captured, params: outer === null ? { ...captured } : merged(outer, captured, around), values: new Map() };
      this.#entered.push(entered);
    }
    run.entered = entered;
    run.showsOwn = false;
    this.#req.params = entered.params;
    return entered;
  }

  /** Handlers may have put something else in the place of the object that they were shown. */
  #keep({ entered, showsOwn }: ParamRun): void {
    if (entered !== null && !showsOwn) entered.params = this.#req.params;
  }

  #showOwn(run: ParamRun): void {
    if (run.showsOwn) return;
    this.#keep(run);
    run.showsOwn = true;
    this.#req.params = run.entered === null ? run.own : merged(run.entered, run.own, run.hooks);
  }

  #leave(run: ParamRun): void {
    try {
      if (this.#listener.waitsFor(run)) this.#showOwn(run);
    } catch {
      // A property that a program has made read-only: what is called sees what is there.
    }
  }
}

/** The parameters of a path within a mount, with what handlers have made of those of the mount's own. @param hooks As they stand there. */
function merged({ within, captured, params }: Entered, inner: Params, hooks: readonly ParamHook[]): Params {
  const beneath = hooks.find((hook) => hook.within === within)?.beneath ?? NO_NAMES;
  return { ...params, ...Object.fromEntries(Object.entries(inner).filter(([name]) => beneath.has(name) || !Object.hasOwn(captured, name))) };
}

/** Whether two values are equal; those of a wildcard are arrays of segments. */
function isSame(a: unknown, b: unknown): boolean {
  return a === b || (Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((segment, index) => segment === b[index]));
}

/** Anything may be thrown; only a truthy value can be told from no error. */
function errorOf(thrown: unknown, { name }: ParamHook): unknown {
  return thrown || new Error(`a handler of the parameter ${inspect(name)} threw ${String(thrown)}`);
}
