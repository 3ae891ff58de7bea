import { Application as OwnApplication } from '../application/application';
import { Request as OwnRequest } from '../http/request';
import { Response as OwnResponse } from '../http/response';
import type { Unchecked } from '../http/unchecked';
import type { CreateServerOptions } from '../options/options';
import type { NextFunction as OwnNextFunction } from '../routing/handler';
import type { Params } from '../routing/pattern';
import { Route } from '../routing/route';
import type { Router as OwnRouter } from '../routing/router';
import { Router } from '../routing/router-constructor';
import { json, raw, text, urlencoded } from './body-parsers';
import type { ErrorRequestHandler as OwnErrorRequestHandler, RequestHandler as OwnRequestHandler } from './express-types';
import { staticFiles } from './static-files';

/**
 * Makes an application, as `createServer` does, with Express's defaults:
 * paths in any case and with or without a slash at their end, weak ETags, no
 * body parsed but by middleware, and a router's middleware run for whatever
 * lies under its mount path, also where another router's route takes it. With what hangs on it, an Express program
 * needs only another import: `import { express } from 'waypost'`.
 * @param options See {@link CreateServerOptions}; what is given goes before these defaults.
 */
export function express(options: CreateServerOptions = {}): OwnApplication {
  return new OwnApplication({ etag: 'weak', body: false, ...options, routing: { caseSensitive: false, ignoreTrailingSlash: true, ...options.routing } }, true);
}

express.json = json;
express.urlencoded = urlencoded;
express.text = text;
express.raw = raw;
express.static = staticFiles;
express.Router = Router;
express.Route = Route;

/** What all applications, requests and responses inherit from: what a program puts there they all have. */
express.application = OwnApplication.prototype;
express.request = OwnRequest.prototype as OwnRequest;
express.response = OwnResponse.prototype as OwnResponse;

/** Types by the names that Express's have, as `express.Request`. */
// eslint-disable-next-line @typescript-eslint/no-namespace -- so they hang on Express's function
export namespace express {
  export type Request<P = Params, ResBody = unknown, ReqBody = Unchecked, Query = Record<string, Unchecked>> = OwnRequest<P, ResBody, ReqBody, Query>;
  export type Response<ResBody = unknown, Locals extends object = Record<string, Unchecked>> = OwnResponse<ResBody, Locals>;
  export type NextFunction = OwnNextFunction;
  export type Handler = OwnRequestHandler;
  export type RequestHandler<P = Params, ResBody = unknown, ReqBody = Unchecked, Query = Record<string, Unchecked>> = OwnRequestHandler<P, ResBody, ReqBody, Query>;
  export type ErrorRequestHandler<P = Params, ResBody = unknown, ReqBody = Unchecked, Query = Record<string, Unchecked>> = OwnErrorRequestHandler<P, ResBody, ReqBody, Query>;
  export type Application = OwnApplication;
  export type Express = OwnApplication;
  export type Router = OwnRouter;
}
