import { holdHttp2 } from '../http/adoption';
import { parseQuery } from '../http/query';
import { setOwnQuery, type Request } from '../http/request';
import type { QueryParser } from '../http/request-state';
import type { Paths } from '../routing/given-path';
import type { FallbackListener, Handler } from '../routing/handler';
import { kMounted } from '../routing/layer';

/** Key of the application that a mount handler calls. */
const kApplication = Symbol('waypost.mounted.application');

/** An application by Express's definition. */
export interface MountableApplication {
  (...given: never[]): unknown;
  handle(...given: unknown[]): unknown;
  set(...given: unknown[]): unknown;
  emit?(event: string, ...given: unknown[]): unknown;
  mountpath: unknown;
  parent: unknown;
  readonly request?: object;
  readonly response?: object;
  readonly settings?: object;
}

/** True for an application by Express's definition. */
export function isApplication(given: unknown): given is MountableApplication {
  return typeof given === 'function' && typeof (given as Partial<MountableApplication>).handle === 'function' && typeof (given as Partial<MountableApplication>).set === 'function';
}

/** Calls a mounted application as Express does, and restores request and response for `next`. */
export function mounting(app: MountableApplication): Handler {
  const handler: Handler = function mounted_app(req, res, next) {
    // An application of waypost restores them by itself.
    if (kMounted in app) return void app.handle(req, res, next);
    const [requestPrototype, responsePrototype] = [prototypeOf(req), prototypeOf(res)];
    const release = holdHttp2(req, res);
    const restoreQuery = isOfExpress4(app) ? giveQuery(app, req) : undefined;
    app.handle(req, res, (error: unknown) => {
      release?.();
      restoreQuery?.();
      Object.setPrototypeOf(req, requestPrototype);
      Object.setPrototypeOf(res, responsePrototype);
      next(error);
    });
  };
  Object.defineProperty(handler, kMounted, { get: () => (app as { readonly [kMounted]?: unknown })[kMounted] });
  return Object.defineProperty(handler, kApplication, { value: app });
}

/** Calls another framework's application as fallback. */
export function handling(app: MountableApplication): FallbackListener {
  return (req, res) => {
    holdHttp2(req, res);
    if (isOfExpress4(app)) giveQuery(app, req as Request);
    app.handle(req, res);
  };
}

/** The application that a registered function calls; undefined for any other. */
export function mountedApplication(handler: object): MountableApplication | undefined {
  return (handler as { readonly [kApplication]?: MountableApplication })[kApplication];
}

/**
 * Emits `mount` on an application. Express's own listener replaces the prototypes of its `request` and `response`; this restores them,
 * so that it keeps its own methods, such as another `render`.
 */
export function announceMount(app: MountableApplication, path: Paths, parent: object, isForeign: boolean): void {
  app.mountpath = path;
  app.parent = parent;
  const { request, response } = app;
  const [requestPrototype, responsePrototype] = [request && prototypeOf(request), response && prototypeOf(response)];
  app.emit?.('mount', parent);
  if (!isForeign) return;
  if (request !== undefined) Object.setPrototypeOf(request, requestPrototype ?? null);
  if (response !== undefined) Object.setPrototypeOf(response, responsePrototype ?? null);
}

/** True for Express 4: elsewhere requests inherit `query`. */
function isOfExpress4({ request }: MountableApplication): boolean {
  return typeof request === 'object' && !('query' in request);
}

/**
 * Gives a request an own `query` for Express 4. Its middleware writes to `req.query` and makes none if one exists, as here on the
 * prototype, which it then replaces.
 */
function giveQuery({ settings }: MountableApplication, req: Request): () => void {
  const { 'query parser fn': parse } = (settings ?? {}) as { readonly 'query parser fn'?: QueryParser };
  return setOwnQuery(req, typeof parse === 'function' ? parse : parseQuery);
}

function prototypeOf(object: object): object | null {
  return Object.getPrototypeOf(object) as object | null;
}
