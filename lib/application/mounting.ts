import { parseQuery } from '../http/query';
import { lendQuery, type Request } from '../http/request';
import type { QueryParser } from '../http/request-state';
import type { Paths } from '../routing/given-path';
import type { FallbackListener, Handler } from '../routing/handler';
import { kMounted } from '../routing/layer';

/** By this symbol a function that calls an application leads to it. */
const kApplication = Symbol('waypost.mounted.application');

/** What Express takes for an application. */
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

/** Whether Express takes it for an application. */
export function isApplication(given: unknown): given is MountableApplication {
  return typeof given === 'function' && typeof (given as Partial<MountableApplication>).handle === 'function' && typeof (given as Partial<MountableApplication>).set === 'function';
}

/** Calls an application as Express calls one that is mounted, and gives request and response back as they were to what stands behind it. */
export function mounting(app: MountableApplication): Handler {
  const handler: Handler = function mounted_app(req, res, next) {
    // An application of waypost gives them back by itself.
    if (kMounted in app) return void app.handle(req, res, next);
    const [ofRequest, ofResponse] = [prototypeOf(req), prototypeOf(res)];
    const takeBack = isOfExpress4(app) ? lend(app, req) : undefined;
    app.handle(req, res, (error: unknown) => {
      takeBack?.();
      Object.setPrototypeOf(req, ofRequest);
      Object.setPrototypeOf(res, ofResponse);
      next(error);
    });
  };
  Object.defineProperty(handler, kMounted, { get: () => (app as { readonly [kMounted]?: unknown })[kMounted] });
  return Object.defineProperty(handler, kApplication, { value: app });
}

/** Calls an application of another framework that takes what nothing else has taken. */
export function handling(app: MountableApplication): FallbackListener {
  return (req, res) => {
    if (isOfExpress4(app)) lend(app, req as Request);
    app.handle(req, res);
  };
}

/** The application that a registered function calls; undefined for any other. */
export function mountedApplication(handler: object): MountableApplication | undefined {
  return (handler as { readonly [kApplication]?: MountableApplication })[kApplication];
}

/**
 * Tells an application where it is mounted. Of one of Express's the requests and responses keep what they inherit: by itself it would
 * lose methods of its own, such as another `render`.
 */
export function announceMount(app: MountableApplication, path: Paths, parent: object, isForeign: boolean): void {
  app.mountpath = path;
  app.parent = parent;
  const { request, response } = app;
  const [forRequests, forResponses] = [request && prototypeOf(request), response && prototypeOf(response)];
  app.emit?.('mount', parent);
  if (!isForeign) return;
  if (request !== undefined) Object.setPrototypeOf(request, forRequests ?? null);
  if (response !== undefined) Object.setPrototypeOf(response, forResponses ?? null);
}

/** In an application of Express 5, or of waypost, requests inherit it. */
function isOfExpress4({ request }: MountableApplication): boolean {
  return typeof request === 'object' && !('query' in request);
}

/**
 * An application of Express 4 makes its query a property of the request, once, and puts things into it; where there is one, as here on
 * the prototype, it makes none, and takes off the prototype.
 */
function lend({ settings }: MountableApplication, req: Request): () => void {
  const { 'query parser fn': parse } = (settings ?? {}) as { readonly 'query parser fn'?: QueryParser };
  return lendQuery(req, typeof parse === 'function' ? parse : parseQuery);
}

function prototypeOf(object: object): object | null {
  return Object.getPrototypeOf(object) as object | null;
}
