/// <reference types="node" />
import {
  AnswerMembers, Application, BodyEvent, BodyOptions, BodyParserOptions, CloseOptions, CookieOptions, CreateServerOptions, ERRORS, EndEvent, Errback,
  ErrorBody, ErrorCode, ErrorFormat, ErrorHandler, ErrorRequestHandler, Express, FailureEvent, FallbackListener, ForeignHandler, EventOptions,
  EventSource, EventStream, FetchFunction, FetchHandler, FetchInfo, FileCoding,
  FormatHandler, Handler, HandlerEvent, Handlers, HeaderValue, HostApplication, HttpError, Http2Options, HttpServerOptions, HttpsOptions, IRouter,
  InjectOptions, InjectResponse, JsonParserOptions, KeyAnswer, KeyLookup, KnownSettings, LineLevel, ListenOptions, Locals, LogLevel, Logger,
  LoggingOptions, MatchedRoute, MemoryReplayStore, MemoryReplayStoreOptions, MessageAlgorithm, MixedHandlers, MountListener, NamedKey, NextFunction,
  NodeServer, OpenApiDocument, OpenApiOptions, ParamHandler, Params, ParsedQuery, Path, PathParams, Paths, Presumed, ProblemDetails, RedisReplayClient, RedisReplayStore,
  RedisReplayStoreOptions, RefusalEvent, RenderCallback, RenderableView, ReplayOptions, ReplayStore, Request, RequestEvent,
  RequestHandler, RequestIdOptions, RequestParamHandler, RequestPart, RequestSchemas, RequestSignatureConfig, Response, ResponseSchemas, ResponseSigningOptions, Route,
  RouteConfig, RouteDescription, RouteEvent, RouteOptions, RouteVerb, Router, RouterConstructor, RouterOptions, RoutingOptions, Schema, ScopeEntry,
  SecretAnswer, SecretLookup, SecurityOptions, Send, SendFileCallback, SendFileOptions, ServerSettings, SignRequestOptions, SignatureAlgorithm,
  SignatureRoutes, SignedFetchOptions, StartCallback, StaticOptions, StreamSource, TextParserOptions, TrustProxy, Unchecked, UncheckedTypes,
  UpgradeListener, UrlencodedParserOptions, Use, ValidationError, ValidationIssue, Validator, Verb, ViewClass, ViewEngine, ViewOptions,
  WebhookConfig, WebhookPreset, XJsonOptions, XJsonResponseHandler, createServer, express, json, raw, signRequest, signedFetch,
  static as staticFiles, text, urlencoded, validate, SignatureKey, SignatureKeys, WebBotAuthOptions, signatureDirectory, ServerSentEvent,
} from '../dist/index';

/**
 * Makes an application; see {@link createServer}.
 * @example
 * import waypost from 'waypost';
 *
 * const app = waypost();
 * app.get('/hello/:name', (req, res) => res.json({ hello: req.params.name }));
 * await app.start(3000);
 */
declare function waypost(options?: CreateServerOptions): Application;

/** All that the package exports by name hangs on it too, as on Express's function. */
declare namespace waypost {
  export {
    AnswerMembers, Application, BodyEvent, BodyOptions, BodyParserOptions, CloseOptions, CookieOptions, CreateServerOptions, ERRORS, EndEvent,
    Errback, ErrorBody, ErrorCode, ErrorFormat, ErrorHandler, ErrorRequestHandler, Express, FailureEvent, FallbackListener, ForeignHandler,
    EventOptions, EventSource, EventStream, FetchFunction, FetchHandler, FetchInfo, FileCoding,
    FormatHandler, Handler, HandlerEvent, Handlers, HeaderValue, HostApplication, HttpError, Http2Options, HttpServerOptions, HttpsOptions, IRouter,
    InjectOptions, InjectResponse, JsonParserOptions, KeyAnswer, KeyLookup, KnownSettings, LineLevel, ListenOptions, Locals, LogLevel, Logger,
    LoggingOptions, MatchedRoute, MemoryReplayStore, MemoryReplayStoreOptions, MessageAlgorithm, MixedHandlers, MountListener, NamedKey, NextFunction,
    NodeServer, OpenApiDocument, OpenApiOptions, ParamHandler, Params, ParsedQuery, Path, PathParams, Paths, Presumed, ProblemDetails, RedisReplayClient, RedisReplayStore,
    RedisReplayStoreOptions, RefusalEvent, RenderCallback, RenderableView, ReplayOptions, ReplayStore, Request, RequestEvent,
    RequestHandler, RequestIdOptions, RequestParamHandler, RequestPart, RequestSchemas, RequestSignatureConfig, Response, ResponseSchemas, ResponseSigningOptions, Route,
    RouteConfig, RouteDescription, RouteEvent, RouteOptions, RouteVerb, Router, RouterConstructor, RouterOptions, RoutingOptions, Schema, ScopeEntry,
    SecretAnswer, SecretLookup, SecurityOptions, Send, SendFileCallback, SendFileOptions, ServerSettings, SignRequestOptions, SignatureAlgorithm,
    SignatureRoutes, SignedFetchOptions, StartCallback, StaticOptions, StreamSource, TextParserOptions, TrustProxy, Unchecked, UncheckedTypes,
    UpgradeListener, UrlencodedParserOptions, Use, ValidationError, ValidationIssue, Validator, Verb, ViewClass, ViewEngine, ViewOptions,
    WebhookConfig, WebhookPreset, XJsonOptions, XJsonResponseHandler, createServer, express, json, raw, signRequest, signedFetch,
    staticFiles as static, text, urlencoded, validate, SignatureKey, SignatureKeys, WebBotAuthOptions, signatureDirectory, ServerSentEvent,
  };
}

export = waypost;
