import type { Request } from './request';
import type { Response } from './response';
import { kLocals } from './response-state';

const kLent = Symbol('waypost.lent');

/** A request or response, as something that may carry properties of another framework's. */
type Lender = Record<string, unknown> & { [kLent]?: boolean };

/**
 * Whether a function is an application of Express, or of a framework made like
 * it: one that puts prototypes of its own on the requests and responses that
 * it is given.
 */
export function isForeignApplication(given: unknown): boolean {
  if (typeof given !== 'function') return false;
  const { handle, request, response } = given as { handle?: unknown; request?: unknown; response?: unknown };
  return typeof handle === 'function' && typeof request === 'object' && request !== null && typeof response === 'object' && response !== null;
}

/**
 * Lets a foreign application find the parsed body and the locals, by which
 * middleware on both sides hands things on: here they stand under symbols, for
 * which its prototypes have no accessors. What somebody has put there as a
 * property already stays as it is.
 */
export function lend(req: Request, res: Response): void {
  lendProperty(req as unknown as Lender, 'body');
  lendProperty(res as unknown as Lender, 'locals');
}

/**
 * Takes both back from a foreign application, changed or not. One that was not
 * lent them may have made its own: body-parser then assigns `undefined` to a
 * body that it can't parse, and Express makes new locals, which hide nothing
 * that was there before.
 */
export function takeBack(req: Request, res: Response): void {
  const body = takeProperty(req as unknown as Lender, 'body');
  if (body !== undefined && (body.lent || body.value !== undefined) && req.body !== body.value) req.body = body.value;
  const locals = takeProperty(res as unknown as Lender, 'locals');
  if (locals === undefined || locals.value === undefined || res[kLocals] === locals.value) return;
  if (locals.lent || res[kLocals] === undefined) res.locals = locals.value as Record<string, unknown>;
  else Object.assign(res.locals, locals.value);
}

function lendProperty(target: Lender, name: string): void {
  if (Object.hasOwn(target, name)) return;
  const value = target[name];
  if (value === undefined) return;
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: true });
  target[kLent] = true;
}

/** Undefined where nothing was lent and nothing stands there, or what does can't be taken. */
function takeProperty(target: Lender, name: string): { readonly value: unknown; readonly lent: boolean } | undefined {
  const lent = target[kLent] === true;
  if (lent) target[kLent] = false;
  const property = Object.getOwnPropertyDescriptor(target, name);
  if (property === undefined) return lent ? { value: undefined, lent } : undefined;
  if (property.configurable !== true || !('value' in property)) return undefined;
  Reflect.deleteProperty(target, name);
  return { value: property.value, lent };
}
