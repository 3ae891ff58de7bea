import { Application as OwnApplication } from '../application/application';
import { Request as OwnRequest } from '../http/request';
import { Response as OwnResponse } from '../http/response';
import type { ParsedQuery, Unchecked } from '../http/unchecked';
import type { CreateServerOptions } from '../options/options';
import type { CookieOptions as OwnCookieOptions } from '../http/cookie';
import type { ErrorHandler as OwnErrorHandler, Handler as OwnHandler, NextFunction as OwnNextFunction } from '../routing/handler';
import type { Params } from '../routing/patterns/params';
import { Route } from '../routing/route';
import type { IRouter as OwnIRouter, Router as OwnRouter } from '../routing/router';
import { Router } from '../routing/router-constructor';
import type { RouterOptions as OwnRouterOptions } from '../routing/rules';
import { markFactory } from '../routing/middleware-factory';
import { validate } from '../schema/validate';
import { json, raw, text, urlencoded } from './body-parsers';
import type * as types from './express-types';
import { staticFiles } from './static-files';

/**
 * Makes an application, as `createServer` does, with Express's defaults:
 * paths in any case and with or without a slash at their end, weak ETags, no
 * body parsed but by middleware, and a router's middleware run for whatever
 * lies under its mount path, also where another router's route takes it. With what hangs on it, an Express program
 * needs only another import: `import { express } from 'waypost'`.
 * @param options See {@link CreateServerOptions}; what is given goes before these defaults.
 * @throws TypeError for wrong options, as `createServer` does.
 */
export function express(options?: CreateServerOptions): OwnApplication {
  return new OwnApplication(options, true);
}

express.json = json;
express.urlencoded = urlencoded;
express.text = text;
express.raw = raw;
express.static = staticFiles;
express.validate = validate;
express.Router = Router;
express.Route = Route;
markFactory(express, 'express()');
markFactory(validate, 'validate(schemas)');

/** Prototypes of all applications, requests and responses: they all have what a program puts there. */
express.application = OwnApplication.prototype;
express.request = OwnRequest.prototype as OwnRequest;
express.response = OwnResponse.prototype as OwnResponse;

/** Types by the names that Express's have, as `express.Request`. */
// eslint-disable-next-line @typescript-eslint/no-namespace -- so they hang on Express's function
export namespace express {
  /* eslint-disable @typescript-eslint/no-empty-object-type -- so that a program can add to them by `express`, too */
  export interface Request<P = Params, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>> extends OwnRequest<P, ResBody, ReqBody, Query, Locals> {}
  export interface Response<ResBody = Unchecked, Locals extends object = Record<string, Unchecked>> extends OwnResponse<ResBody, Locals> {}
  /* eslint-enable @typescript-eslint/no-empty-object-type */
  export type RequestHandler<P = Params, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>> =
    OwnHandler<P, ResBody, ReqBody, Query, Locals>;
  export type ErrorRequestHandler<P = Params, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>> =
    OwnErrorHandler<P, ResBody, ReqBody, Query, Locals>;
  export type Application = OwnApplication;
  export type CookieOptions = OwnCookieOptions;
  export type Errback = types.Errback;
  export type Express = OwnApplication;
  export type Handler = OwnHandler;
  export type IRoute = Route;
  export type IRouter = OwnIRouter;
  export type Locals = types.Locals;
  export type NextFunction = OwnNextFunction;
  export type ParamsDictionary = Params;
  export type Query = ParsedQuery;
  export type RequestParamHandler = types.RequestParamHandler;
  export type Router = OwnRouter;
  export type RouterOptions = OwnRouterOptions;
  export type Send<ResBody = Unchecked, Sent = unknown> = types.Send<ResBody, Sent>;
}
