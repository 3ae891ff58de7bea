/// <reference types="node" />
import {
  Application, BodyEvent, BodyOptions, BodyParserOptions, CloseOptions, CookieOptions, CreateServerOptions, ERRORS, EndEvent,
  Errback, ErrorBody, ErrorCode, ErrorHandler, ErrorRequestHandler, Express, FailureEvent, FallbackListener, ForeignHandler,
  FormatHandler, Handler, HandlerEvent, Handlers, HeaderValue, HostApplication, HttpError, HttpServerOptions, HttpsOptions, IRouter,
  InjectOptions, InjectResponse, JsonParserOptions, KeyAnswer, KeyLookup, KnownSettings, LineLevel, ListenOptions, Locals, LogLevel, Logger,
  LoggingOptions, MatchedRoute, MemoryReplayStore, MemoryReplayStoreOptions, MessageAlgorithm, MixedHandlers, MountListener, NamedKey, NextFunction,
  NodeServer, ParamHandler, Params, ParsedQuery, Path, PathParams, Paths, Presumed, RedisReplayClient, RedisReplayStore,
  RedisReplayStoreOptions, RefusalEvent, RenderCallback, RenderableView, ReplayOptions, ReplayStore, Request, RequestEvent,
  RequestHandler, RequestIdOptions, RequestParamHandler, RequestSignatureConfig, Response, ResponseSigningOptions, Route, RouteConfig, RouteDescription,
  RouteEvent, RouteVerb, Router, RouterConstructor, RouterOptions, RoutingOptions, ScopeEntry, SecretAnswer, SecretLookup,
  SecurityOptions, Send, SendFileCallback, SendFileOptions, ServerSettings, SignRequestOptions,
  SignatureAlgorithm, SignatureKey, SignatureKeys, SignatureRoutes, SignedFetchOptions, StartCallback, StaticOptions, StreamSource, TextParserOptions,
  TrustProxy, Unchecked, UncheckedTypes, UpgradeListener, UrlencodedParserOptions, Use, Verb, ViewClass, ViewEngine, ViewOptions,
  WebBotAuthOptions, WebhookConfig, WebhookPreset, XJsonOptions, XJsonResponseHandler, createServer, express, json, raw, signRequest, signatureDirectory, signedFetch,
  static as staticFiles, text, urlencoded,
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
    Application, BodyEvent, BodyOptions, BodyParserOptions, CloseOptions, CookieOptions, CreateServerOptions, ERRORS, EndEvent,
    Errback, ErrorBody, ErrorCode, ErrorHandler, ErrorRequestHandler, Express, FailureEvent, FallbackListener, ForeignHandler,
    FormatHandler, Handler, HandlerEvent, Handlers, HeaderValue, HostApplication, HttpError, HttpServerOptions, HttpsOptions, IRouter,
    InjectOptions, InjectResponse, JsonParserOptions, KeyAnswer, KeyLookup, KnownSettings, LineLevel, ListenOptions, Locals, LogLevel, Logger,
    LoggingOptions, MatchedRoute, MemoryReplayStore, MemoryReplayStoreOptions, MessageAlgorithm, MixedHandlers, MountListener, NamedKey, NextFunction,
    NodeServer, ParamHandler, Params, ParsedQuery, Path, PathParams, Paths, Presumed, RedisReplayClient, RedisReplayStore,
    RedisReplayStoreOptions, RefusalEvent, RenderCallback, RenderableView, ReplayOptions, ReplayStore, Request, RequestEvent,
    RequestHandler, RequestIdOptions, RequestParamHandler, RequestSignatureConfig, Response, ResponseSigningOptions, Route, RouteConfig, RouteDescription,
    RouteEvent, RouteVerb, Router, RouterConstructor, RouterOptions, RoutingOptions, ScopeEntry, SecretAnswer, SecretLookup,
    SecurityOptions, Send, SendFileCallback, SendFileOptions, ServerSettings, SignRequestOptions,
    SignatureAlgorithm, SignatureKey, SignatureKeys, SignatureRoutes, SignedFetchOptions, StartCallback, StaticOptions, StreamSource, TextParserOptions,
    TrustProxy, Unchecked, UncheckedTypes, UpgradeListener, UrlencodedParserOptions, Use, Verb, ViewClass, ViewEngine, ViewOptions,
    WebBotAuthOptions, WebhookConfig, WebhookPreset, XJsonOptions, XJsonResponseHandler, createServer, express, json, raw, signRequest, signatureDirectory, signedFetch,
    staticFiles as static, text, urlencoded,
  };
}

export = waypost;
