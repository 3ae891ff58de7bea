/// <reference types="node" />
import * as core from 'express-serve-static-core';
import theirs = require('express');
import { IncomingMessage } from 'node:http';
import { Application, CreateServerOptions, FallbackListener, FetchHandler, Request, ResponseSchemas, Response, RouteOptions, SendFileOptions as OwnSendFileOptions, validate as ownValidate, Validator } from 'waypost';

// Members that waypost adds; one that a program or another package declares goes by their type.
type AddedToApplication = Omit<Pick<Application, 'start' | 'close' | 'fetch' | 'inject' | 'log' | 'openapi' | 'server' | typeof Symbol.asyncDispose>, keyof Express.Application>;
type AddedToRequest = Omit<Pick<Request, 'rawBody' | 'signal' | 'signatureKeyId' | 'id' | 'log'>, keyof Express.Request | keyof IncomingMessage>;
type AddedToResponse = Omit<Pick<Response, 'events' | 'stream' | 'xJson'>, keyof Express.Response>;

type InputOf<Given> = Given extends { readonly '~standard': { readonly types?: { readonly input: infer Input } | undefined } } ? Input : any;
type ParsedHandler<Captured, Params, Query, Body, Replies extends ResponseSchemas> = core.RequestHandler<
  unknown extends Params ? Captured : Omit<Captured, keyof Params> & Params, InputOf<Replies[keyof Replies & number]>, unknown extends Body ? any : Body, unknown extends Query ? core.Query : Query>;

declare module 'express-serve-static-core' {
  interface IRouterMatcher<T, Method extends 'all' | 'get' | 'post' | 'put' | 'delete' | 'patch' | 'options' | 'head' | 'query' = any> {
    /** Registers a route with options: schemas that check its requests and answers, and type them; its limits. */
    <Route extends string, Params = unknown, Query = unknown, Body = unknown, const Replies extends ResponseSchemas = ResponseSchemas>(
      path: Route, options: RouteOptions<Params, Query, Body, Replies> | Validator<Params, Query, Body, Replies>, handler: ParsedHandler<core.RouteParameters<Route>, Params, Query, Body, Replies>,
      ...handlers: ParsedHandler<core.RouteParameters<Route>, Params, Query, Body, Replies>[]): T;
  }
  interface IRouterHandler<T, Route extends string | RegExp = string> {
    /** Registers handlers of a route with options, as a verb with a path does. */
    <Params = unknown, Query = unknown, Body = unknown, const Replies extends ResponseSchemas = ResponseSchemas>(
      options: RouteOptions<Params, Query, Body, Replies>, handler: ParsedHandler<core.RouteParameters<Route>, Params, Query, Body, Replies>,
      ...handlers: ParsedHandler<core.RouteParameters<Route>, Params, Query, Body, Replies>[]): T;
  }
  interface Application<LocalsObj extends Record<string, any> = Record<string, any>> extends AddedToApplication {
    /** Hands every request that nothing took to a listener of plain `node:http`, its body unread. */
    fallback(listener: FallbackListener): this;
    /** Has a fetch handler answer all beneath a path. */
    mount(path: string | RegExp | (string | RegExp)[], handler: FetchHandler): this;
  }
  interface Request<P = ParamsDictionary, ResBody = any, ReqBody = any, ReqQuery = Query, LocalsObj extends Record<string, any> = Record<string, any>> extends AddedToRequest {}
  interface Response<ResBody = any, LocalsObj extends Record<string, any> = Record<string, any>, StatusCode extends number = number> extends AddedToResponse {}
  interface SendFileOptions extends Pick<OwnSendFileOptions, 'followSymlinks'> {}
}

/** Events of an application's end, which Express has not. */
interface Ending {
  /** Calls a listener when `close` begins (`drain`), or when the servers have ended; `close` waits for the promise of the second. */
  on(event: 'close' | 'drain', listener: () => unknown): this;
}

/** Makes an application, as Express does. */
declare function express(options?: CreateServerOptions): express.Express & Ending;

/** Express's own types, and what hangs on its function. */
declare namespace express {
  export type Application = theirs.Application;
  export type CookieOptions = theirs.CookieOptions;
  export type Errback = theirs.Errback;
  export type ErrorRequestHandler<P = core.ParamsDictionary, ResBody = any, ReqBody = any, ReqQuery = core.Query, Locals extends Record<string, any> = Record<string, any>> = theirs.ErrorRequestHandler<P, ResBody, ReqBody, ReqQuery, Locals>;
  export type Express = theirs.Express;
  export type Handler = theirs.Handler;
  export type IRoute = theirs.IRoute;
  export type IRouter = theirs.IRouter;
  export type IRouterHandler<T> = theirs.IRouterHandler<T>;
  export type IRouterMatcher<T> = theirs.IRouterMatcher<T>;
  export type Locals = theirs.Locals;
  export type MediaType = theirs.MediaType;
  export type NextFunction = theirs.NextFunction;
  export type Request<P = core.ParamsDictionary, ResBody = any, ReqBody = any, ReqQuery = core.Query, Locals extends Record<string, any> = Record<string, any>> = theirs.Request<P, ResBody, ReqBody, ReqQuery, Locals>;
  export type RequestHandler<P = core.ParamsDictionary, ResBody = any, ReqBody = any, ReqQuery = core.Query, Locals extends Record<string, any> = Record<string, any>> = theirs.RequestHandler<P, ResBody, ReqBody, ReqQuery, Locals>;
  export type RequestParamHandler = theirs.RequestParamHandler;
  export type Response<ResBody = any, Locals extends Record<string, any> = Record<string, any>> = theirs.Response<ResBody, Locals>;
  export import Router = theirs.Router;
  export type RouterOptions = theirs.RouterOptions;
  export type Send = theirs.Send;
  export import application = theirs.application;
  export import json = theirs.json;
  export import raw = theirs.raw;
  export import request = theirs.request;
  export import response = theirs.response;
  export import static = theirs.static;
  export import text = theirs.text;
  export import urlencoded = theirs.urlencoded;
  /** Makes middleware that checks requests by schemas: waypost's own. */
  export const validate: typeof ownValidate;
}

export = express;
