import {
  Application, BodyOptions, BodyParserOptions, CloseOptions, CookieOptions, CreateServerOptions, ERRORS, Errback, ErrorBody,
  ErrorCode, ErrorHandler, ErrorRequestHandler, Express, FallbackListener, ForeignHandler, FormatHandler, Handler, Handlers,
  HeaderValue, HostApplication, HttpError, HttpServerOptions, HttpsOptions, InjectOptions, InjectResponse, JsonParserOptions,
  KnownSettings, ListenOptions, Locals, LogLevel, Logger, LoggingOptions, MemoryReplayStore, MemoryReplayStoreOptions, MixedHandlers,
  MountListener, NextFunction, NodeServer, ParamHandler, Params, ParsedQuery, Path, PathParams, Paths, Presumed, RedisReplayClient,
  RedisReplayStore, RedisReplayStoreOptions, RenderCallback, RenderableView, ReplayOptions, ReplayStore, Request, RequestHandler,
  RequestParamHandler, RequestSignatureConfig, Response, Route, RouteConfig, RouteDescription, RouteVerb, Router, RouterConstructor,
  RouterOptions, RoutingOptions, ScopeEntry, SecretAnswer, SecretLookup, SecurityOptions, Send, SendFileCallback, SendFileOptions,
  ServerSettings, ShownApplication, SignRequestOptions, SignatureAlgorithm, SignatureRoutes, SignedFetchOptions, StartCallback,
  StaticOptions, StreamSource, TextParserOptions, TrustProxy, Unchecked, UncheckedTypes, UpgradeListener, UrlencodedParserOptions,
  Verb, ViewClass, ViewEngine, ViewOptions, WebhookConfig, WebhookPreset, XJsonOptions, XJsonResponseHandler, createServer, express,
  json, raw, signRequest, signedFetch, static as staticFiles, text, urlencoded,
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
    Application, BodyOptions, BodyParserOptions, CloseOptions, CookieOptions, CreateServerOptions, ERRORS, Errback, ErrorBody,
    ErrorCode, ErrorHandler, ErrorRequestHandler, Express, FallbackListener, ForeignHandler, FormatHandler, Handler, Handlers,
    HeaderValue, HostApplication, HttpError, HttpServerOptions, HttpsOptions, InjectOptions, InjectResponse, JsonParserOptions,
    KnownSettings, ListenOptions, Locals, LogLevel, Logger, LoggingOptions, MemoryReplayStore, MemoryReplayStoreOptions, MixedHandlers,
    MountListener, NextFunction, NodeServer, ParamHandler, Params, ParsedQuery, Path, PathParams, Paths, Presumed, RedisReplayClient,
    RedisReplayStore, RedisReplayStoreOptions, RenderCallback, RenderableView, ReplayOptions, ReplayStore, Request, RequestHandler,
    RequestParamHandler, RequestSignatureConfig, Response, Route, RouteConfig, RouteDescription, RouteVerb, Router, RouterConstructor,
    RouterOptions, RoutingOptions, ScopeEntry, SecretAnswer, SecretLookup, SecurityOptions, Send, SendFileCallback, SendFileOptions,
    ServerSettings, ShownApplication, SignRequestOptions, SignatureAlgorithm, SignatureRoutes, SignedFetchOptions, StartCallback,
    StaticOptions, StreamSource, TextParserOptions, TrustProxy, Unchecked, UncheckedTypes, UpgradeListener, UrlencodedParserOptions,
    Verb, ViewClass, ViewEngine, ViewOptions, WebhookConfig, WebhookPreset, XJsonOptions, XJsonResponseHandler, createServer, express,
    json, raw, signRequest, signedFetch, staticFiles as static, text, urlencoded,
  };
}

export = waypost;
