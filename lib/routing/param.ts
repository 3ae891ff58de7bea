import { inspect } from 'node:util';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import type { NextFunction, ParamHandler } from './handler';
import { type Mark, type Mount, within } from './mount';
import { NO_NAMES, type ParamHook } from './param-hook';
import type { Path } from './path';
import type { Pattern } from './pattern';
import { areSameParams, isSameValue, type Params } from './pattern-params';

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
 * The parameters of a mount's path, or of a layer's own, as one request has them. As in Express handlers see those of their path alone, and
 * what they make of them stays where the request is led on within, and is seen by all that is mounted there, but for names that it captures again.
 */
interface Entered {
  /** The paths of the mount, or the mark of the layer. */
  readonly key: object;
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
  /** What the path of a mount captures by which the layer is reached. */
  captureAt(within: readonly Pattern[], run: ParamRun): Params;
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
  /** The layer's own parameters, as they were captured. */
  readonly own: Params;
  readonly mark: Mark;
  /** Which of several paths it was reached by; undefined where there is one. */
  readonly pattern: Pattern | undefined;
  /** What is shown; null where that is what was captured. */
  entered: Entered | null = null;
  /** Where the layer is that was reached before. */
  readonly #from: Mount | null;
  #hooks: readonly ParamHook[];
  #index = 0;

  constructor(hooks: readonly ParamHook[], path: Path, own: Params, mark: Mark, pattern: Pattern | undefined, from: Mount | null) {
    this.#hooks = hooks;
    this.path = path;
    this.own = own;
    this.mark = mark;
    this.pattern = pattern;
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
  /** Of mounts' paths. */
  readonly #mounts: Entered[] = [];
  /** Of the layer that was reached last: led elsewhere, and back, it is the same. */
  #layer: Entered | null = null;

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
        this.#arrive(run);
        return this.#listener.passed(run);
      }
      if (run.isEntering && this.#listener.isLedElsewhere(run)) return this.#listener.passed(run);
      let value: string | undefined;
      let isKnown: boolean;
      try {
        isKnown = !this.#listener.waitsFor(run) || this.#enter(run, hook).values.has(hook.name);
        value = this.#valueOf(hook, run);
      } catch (error) {
        return this.#listener.raised(error, hook, run);
      }
      if (value === undefined) continue;
      const known = this.#handled.findIndex((handled) => handled.hook.mount === hook.mount && handled.hook.name === hook.name);
      const before = this.#handled[known];
      // As in Express, a parameter that has failed has failed for every value.
      if (before !== undefined && (isSameValue(before.value, value) || (before.error && before.error !== 'route'))) {
        if (!before.settled) {
          // Its handlers have not gone on yet, so no layer that needs them may run. A late run has none.
          if (!this.#listener.waitsFor(run)) return;
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

  #valueOf({ name, within }: ParamHook, run: ParamRun): string | undefined {
    const { entered, mark } = run;
    // Late: the request is elsewhere by now.
    if (entered?.key !== (within ?? mark)) return within === null ? this.#req.params[name] : this.#listener.captureAt(within, run)[name];
    const value = entered.values.get(name) ?? this.#req.params[name];
    if (value !== undefined) entered.values.set(name, value);
    return value;
  }

  /** Shows the parameters of the path that holds one. */
  #enter(run: ParamRun, { within, around }: ParamHook): Entered {
    const key = within ?? run.mark;
    const { entered: outer } = run;
    if (outer?.key === key) return outer;
    // Handlers may have put something else in the place of the object that they were shown.
    if (outer !== null) outer.params = this.#req.params;
    const captured = within === null ? run.own : this.#listener.captureAt(within, run);
    const entered = this.#known(key, captured) ?? this.#add(within === null, { key, captured: { ...captured }, params: merged(outer, captured, within === null ? run.hooks : around), values: new Map() });
    run.entered = entered;
    this.#req.params = entered.params;
    return entered;
  }

  #known(key: object, captured: Params): Entered | undefined {
    const found = this.#layer?.key === key ? this.#layer : this.#mounts.find((each) => each.key === key && areSameParams(each.captured, captured));
    return found !== undefined && areSameParams(found.captured, captured) ? found : undefined;
  }

  #add(isLayer: boolean, entered: Entered): Entered {
    if (isLayer) this.#layer = entered;
    else this.#mounts.push(entered);
    return entered;
  }

  /** Shows the layer its own parameters, behind all handlers. */
  #arrive(run: ParamRun): void {
    const { entered, mark, own, hooks } = run;
    try {
      if (entered === null || !this.#listener.waitsFor(run)) return;
      entered.params = this.#req.params;
      if (entered.key !== mark) this.#req.params = merged(entered, own, hooks);
    } catch {
      // A property that a program has made read-only: what is called sees what is there.
    }
  }

  /** Shows a layer that handlers are not called for, since an error came before, what they have made of the parameters around it. */
  show(run: ParamRun): void {
    const { hooks, own } = run;
    let innermost: Entered | undefined;
    for (const { within } of hooks) if (within !== null) innermost = this.#known(within, this.#listener.captureAt(within, run)) ?? innermost;
    if (innermost !== undefined) this.#req.params = merged(innermost, own, hooks);
  }
}

/** The parameters of a path within, with what handlers have made of those around. @param hooks As they stand there. */
function merged(outer: Entered | null, inner: Params, hooks: readonly ParamHook[]): Params {
  if (outer === null) return { ...inner };
  const { key, captured, params } = outer;
  const beneath = hooks.find((hook) => hook.within === key)?.beneath ?? NO_NAMES;
  return { ...params, ...Object.fromEntries(Object.entries(inner).filter(([name]) => beneath.has(name) || !Object.hasOwn(captured, name))) };
}

/** Anything may be thrown; only a truthy value can be told from no error. */
function errorOf(thrown: unknown, { name }: ParamHook): unknown {
  return thrown || new Error(`a handler of the parameter ${inspect(name)} threw ${String(thrown)}`);
}
