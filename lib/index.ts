import type { Router as RouterClass } from './routing/router';
import { Router as RouterFunction } from './routing/router-constructor';

export { createServer, type Application, type CloseOptions, type MountListener } from './application/application';
export { HttpError, ERRORS, type AnswerMembers, type ErrorBody, type ErrorCode, type ErrorFormat, type ProblemDetails } from './errors';
export { json, raw, text, urlencoded, type BodyParserOptions, type JsonParserOptions, type TextParserOptions, type UrlencodedParserOptions } from './express/body-parsers';
export { express } from './express/express';
export type { Errback, ErrorRequestHandler, Express, Locals, RequestHandler, RequestParamHandler, Send } from './express/express-types';
export type { FileCoding } from './express/precompressed';
export { staticFiles as static, type StaticOptions } from './express/static-files';
export type { CookieOptions } from './http/cookie';
export type { SendFileCallback, SendFileOptions } from './http/file/file-options';
export type { HostApplication, RenderCallback } from './http/host-application';
export { Request, type MatchedRoute } from './http/request';
export { Response, type FormatHandler } from './http/response';
export type { EventOptions, EventSource, EventStream, ServerSentEvent } from './http/event-stream';
export type { HeaderValue } from './http/response-head';
export type { StreamSource } from './http/streamed-body';
export type { ParsedQuery, Presumed, Unchecked, UncheckedTypes } from './http/unchecked';
export type { ViewEngine, ViewOptions } from './application/view';
export type { RenderableView, ViewClass } from './application/views';
export type { FetchInfo } from './application/fetch-exchange';
export type { FetchFunction, FetchHandler } from './application/fetch-handler';
export type { InjectOptions, InjectResponse } from './application/inject';
export type { ListenOptions, StartCallback } from './application/listen';
export type { LineLevel, Logger, LogLevel } from './log/logger';
export type { BodyEvent, EndEvent, FailureEvent, HandlerEvent, RefusalEvent, RequestEvent, RouteEvent } from './tracing/tracing';
export type {
  BodyOptions, CreateServerOptions, Http2Options, HttpServerOptions, HttpsOptions, KeyAnswer, KeyLookup, LoggingOptions, MessageAlgorithm, NamedKey, ReplayOptions, ReplayStore, RequestIdOptions, RequestSignatureConfig, ResponseSigningOptions,
  RouteConfig, RoutingOptions, ScopeEntry, SecretAnswer, SecretLookup, SecurityOptions, ServerSettings, SignatureAlgorithm, SignatureKey, SignatureKeys, SignatureRoutes,
  TrustProxy, WebBotAuthOptions, WebhookConfig, WebhookPreset,
} from './options/options';
export type { ErrorHandler, FallbackListener, ForeignHandler, Handler, Handlers, MixedHandlers, NextFunction } from './routing/handler';
export type { PathParams } from './routing/params-type';
export type { Path, Paths } from './routing/given-path';
export type { IRouter } from './routing/router';
export type { RouteVerb, Use, Verb } from './routing/verb-types';
export type { RouteDescription } from './routing/listing';
export type { ParamHandler } from './routing/handler';
export type { Params } from './routing/patterns/params';
export type { Route } from './routing/route';
export type { RouterConstructor } from './routing/router-constructor';
export type { RouterOptions } from './routing/rules';
export type { OpenApiDocument, OpenApiOptions } from './openapi/document';
export type { RequestSchemas, ResponseSchemas, RouteOptions, Schema } from './schema/route-options';
export { validate, type Validator } from './schema/validate';
export { ValidationError, type RequestPart, type ValidationIssue } from './schema/validation-error';
export type { NodeServer } from './application/server';
export { MemoryReplayStore, type MemoryReplayStoreOptions } from './signature/replay/memory-replay-store';
export { RedisReplayStore, type RedisReplayClient, type RedisReplayStoreOptions } from './signature/replay/redis-replay-store';
export type { KnownSettings } from './application/settings';
export { signatureDirectory, signedFetch, signRequest } from './signature/signing';
export type { SignRequestOptions } from './signature/sign-options';
export type { SignedFetchOptions } from './signature/signed-fetch';
export { XJsonResponseHandler } from './http/xjson-response';
export type { XJsonOptions } from './xjson/options';

/**
 * Makes a router: a group of routes and middleware that `app.use(path, router)` mounts (INTERFACE section 4.1).
 * @example
 * const users = Router();
 * users.get('/:id', (req, res) => res.json({ id: req.params.id }));
 * app.use('/users', users);
 */
export const Router = RouterFunction;

/** A group of routes and middleware. It has the methods that register, as {@link Application} has them. */
export type Router = RouterClass;
export type { UpgradeListener } from './application/upgrade';
