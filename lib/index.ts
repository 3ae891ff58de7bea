import { Router as RouterClass } from './routing/router';

export { createServer, type Application, type CloseOptions, type FallbackListener, type ListenOptions, type StartCallback, type UpgradeListener } from './application';
export { HttpError, ERRORS, type ErrorBody, type ErrorCode } from './errors';
export type { CookieOptions } from './http/cookie';
export type { SendFileCallback, SendFileOptions } from './http/file';
export { Request } from './http/request';
export { Response, type HeaderValue, type FormatHandler } from './http/response';
export type { Logger, LogLevel } from './logger';
export type {
  BodyOptions, CreateServerOptions, HttpServerOptions, HttpsOptions, LoggingOptions, RequestSignatureConfig, RouteConfig, RoutingOptions,
  ScopeEntry, SecurityOptions, ServerSettings, SignatureAlgorithm, SignatureRoutes, TrustProxy,
} from './options';
export type { ErrorHandler, ForeignHandler, Handler, Handlers, NextFunction, PathParams } from './routing/handler';
export type { RouteDescription } from './routing/listing';
export type { Params } from './routing/pattern';
export type { Paths, Route } from './routing/router';
export type { NodeServer } from './server';
export { signRequest, type SignRequestOptions } from './signature/sign';
export { XJsonResponseHandler } from './xjson/handler';
export type { XJsonOptions } from './xjson/options';

/** Makes a router: a group of routes and middleware that `app.use(path, router)` mounts (INTERFACE section 4.1). */
export function Router(): Router {
  return new RouterClass();
}

/** A group of routes and middleware; see {@link RouterClass}. */
export type Router = RouterClass;
