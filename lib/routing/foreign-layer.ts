import type { Request } from '../http/request';
import type { Response } from '../http/response';
import { callHandler } from './call';
import type { AnyHandler, NextFunction } from './handler';
import type { Params } from './patterns/params';
import { handles } from './route';

/** A layer of another router, such as Express's. It matches and calls by its own methods, as Express calls them. */
export interface ForeignLayer {
  handle: AnyHandler;
  readonly name?: string;
  readonly route?: { readonly methods: Readonly<Record<string, boolean>>; readonly stack?: unknown } | undefined;
  readonly params?: Record<string, string> | undefined;
  readonly path?: string | undefined;
  match(path: string): unknown;
  handleRequest(req: object, res: object, next: NextFunction): void;
  handleError(error: unknown, req: object, res: object, next: NextFunction): void;
}

/** Match of a foreign layer. */
export interface ForeignMatch {
  readonly params?: Params | undefined;
  readonly path?: string | undefined;
}

/**
 * Matches a path by a foreign layer; undefined where it is not for the request. Express's router returns the match from 2.3 on, and kept it
 * on the layer before. @throws The layer's own errors.
 */
export function matchForeign(layer: ForeignLayer, path: string, failure: unknown, method: unknown): ForeignMatch | undefined {
  const match = layer.match(path);
  if (!match || (layer.route !== undefined && (failure !== undefined || !handles(layer.route.methods, method)))) return undefined;
  return typeof match === 'object' ? match : layer;
}

/** Calls a foreign layer by its own methods. */
export function callForeign(layer: ForeignLayer, failure: unknown, req: Request, res: Response, next: NextFunction): void {
  callHandler(() => (failure === undefined ? layer.handleRequest(req, res, next) : layer.handleError(failure, req, res, next)), undefined, req, res, next);
}
