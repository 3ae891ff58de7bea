import type { Request } from './request';
import type { Response } from './response';

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
 * which its prototypes have no accessors.
 */
export function lend(req: Request, res: Response): void {
  lendProperty(req, 'body', req.body);
  lendProperty(res, 'locals', res.locals);
}

/**
 * Takes both back, changed or not. Express and body-parser assign to them, also
 * `undefined` to a body that they have no parser for: left there, that would
 * hide what was parsed here.
 */
export function takeBack(req: Request, res: Response): void {
  takeProperty(req as unknown as Record<string, unknown>, 'body');
  takeProperty(res as unknown as Record<string, unknown>, 'locals');
}

function lendProperty(target: object, name: string, value: unknown): void {
  if (value !== undefined) Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: true });
}

function takeProperty(target: Record<string, unknown>, name: string): void {
  if (!Object.hasOwn(target, name)) return;
  const value = target[name];
  Reflect.deleteProperty(target, name);
  if (value !== undefined && target[name] !== value) target[name] = value;
}
