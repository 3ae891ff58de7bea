import { inspect } from 'node:util';
import { admit } from './admission';
import { asError, followResult } from './call';
import type { NextFunction, ParamHandler } from './handler';
import type { RouterRun } from './run';

/** Result of a parameter's handlers, for the next layer with the same value. */
export interface ParamCall {
  readonly match: unknown;
  value: unknown;
  error: unknown;
}

/**
 * Calls the handlers of a layer's parameters in order, then `done`, with their error. Each is called once for
 * each value in a run of the router.
 */
export function processParams(run: RouterRun, names: readonly string[], done: NextFunction): void {
  const { req } = run;
  const calls = (run.paramCalls ??= Object.create(null) as Record<string, ParamCall>);
  let index = 0;
  const nextParam = (error?: unknown): void => {
    if (error) return done(error);
    const name = names[index++];
    if (name === undefined) return done();
    const params = req.params as Record<string, unknown>;
    const value = params[name];
    const handlers = Object.hasOwn(run.router.params, name) ? run.router.params[name] : undefined;
    if (value === undefined || handlers === undefined) return nextParam();
    const known = calls[name];
    if (known !== undefined && (known.match === value || (known.error && known.error !== 'route'))) {
      params[name] = known.value;
      return nextParam(known.error);
    }
    const call: ParamCall = { match: value, value, error: undefined };
    calls[name] = call;
    let at = 0;
    const nextHandler: NextFunction = (raised) => {
      if (run.root?.admission.isPending === true) return;
      call.value = (req.params as Record<string, unknown>)[name];
      if (raised) {
        call.error = raised;
        return nextParam(raised);
      }
      const handler = handlers[at++];
      if (handler === undefined) return nextParam();
      if (!run.isChecked) callParam(run, handler, nextHandler, value, name);
      else admit(run, () => callParam(run, handler, nextHandler, value, name));
    };
    nextHandler();
  };
  nextParam();
}

function callParam({ req, res, watch }: RouterRun, handler: ParamHandler, next: NextFunction, value: unknown, name: string): void {
  watch?.beforeCall();
  try {
    const result = handler(req, res, next, value as string, name);
    if (typeof result === 'object' && result !== null && result !== res) followResult(result, next, null);
  } catch (thrown) {
    next(asError(thrown) ?? new Error(`a handler threw ${String(thrown)}`));
  }
}

/** Checks the arguments of `param`; returns the names. */
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
