import { AsyncResource } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import { type Builder, type Func, type Incoming, type Late, type Next, type ParamEntry, type Registrar, statusOfError, type Timing } from './program';

/** Makes the function that a program describes, in what is registered with `into`. */
export function toFunction(func: Func, inRoute: boolean, into: Registrar, builder: Builder): unknown {
  const call = caller(func, inRoute, into, builder);
  // The number of parameters is what tells error middleware.
  if (func.catches) return (error: unknown, req: Incoming, res: ServerResponse, next: Next) => call(error, req, res, next);
  return (req: Incoming, res: ServerResponse, next: Next) => call(null, req, res, next);
}

/** The same of a handler of a parameter. */
export function toParamHandler({ func, replaces }: ParamEntry, into: Registrar, builder: Builder): unknown {
  const call = caller(func, false, into, builder);
  return (req: Incoming, res: ServerResponse, next: Next, value: unknown, name: string) => {
    if (replaces) req.params[name] = `${String(value)}!`;
    return call(null, req, res, next);
  };
}

function caller(func: Func, inRoute: boolean, into: Registrar, { record, open }: Builder) {
  let registers = func.registers;
  return (error: unknown, req: Incoming, res: ServerResponse, given: Next): unknown => {
    record(func, inRoute, error, req);
    if (registers) {
      registers = false;
      into.use((later: Incoming, _res: unknown, next: Next) => {
        record({ ...func, id: -func.id }, false, null, later);
        next();
      });
    }
    const next: Next = func.opens && open !== undefined ? (...signal) => open(func.id, req, () => given(...signal)) : given;
    if (func.timing === 'promise') return later(func, error, req, res, next);
    if (func.timing === 'sync') perform(func, error, req, res, next);
    else outside(func.timing, () => perform(func.act === 'throw' ? { ...func, act: 'pass' } : func, error, req, res, next));
    return undefined;
  };
}

function outside(timing: Timing, act: () => void): void {
  if (timing === 'timer') setTimeout(act, 0);
  else setImmediate(act);
}

async function later(func: Func, error: unknown, req: Incoming, res: ServerResponse, next: Next): Promise<void> {
  await null;
  perform(func, error, req, res, next);
}

function perform(func: Func, given: unknown, req: Incoming, res: ServerResponse, next: Next): void {
  const { act, rewrite, late, id } = func;
  if (rewrite !== null && rewrite.url !== null) req.url = rewrite.url;
  if (rewrite !== null && rewrite.method !== null) req.method = rewrite.method;
  if (act === 'answer') answer(id, res);
  else if (act === 'next') next();
  else if (act === 'falsy') next([null, false, 0, ''][id % 4]);
  else if (act === 'forward') next(given);
  else if (act === 'route' || act === 'router') next(act);
  else {
    const error = Object.assign(new Error(`e${id}`), { status: statusOfError(id) });
    if (act === 'throw') throw error;
    next(error);
  }
  if (late !== null) again(func, late, req, res, next);
}

/** Node takes a second answer for an error. */
function answer(id: number, res: ServerResponse): void {
  if (!res.writableEnded) res.end(String(id));
}

/** Calls `next` a second time. */
function again({ id }: Func, { when, fails, url }: Late, req: Incoming, res: ServerResponse, next: Next): void {
  const call = (): void => {
    if (url !== null) req.url = url;
    if (fails) next(errorOfLate(id));
    else next();
  };
  if (when === 'now') call();
  else if (when === 'turn') setImmediate(call);
  else if (res.writableFinished) setImmediate(call);
  // Node emits it in the context of whoever lets the response out, such as the one before on the connection.
  else res.once('finish', AsyncResource.bind(call));
}

/** The error of a second call. */
export const errorOfLate = (id: number): Error & { status: number } => Object.assign(new Error(`late${id}`), { status: statusOfError(id) });
