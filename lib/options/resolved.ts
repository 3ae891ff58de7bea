import type { IncomingMessage } from 'node:http';
import type { ErrorFormat } from '../errors';
import type { LineLevel, Logger, LogLevel } from '../log/logger';
import type {
  Http2Options, HttpServerOptions, HttpsOptions, ReplayOptions, RequestSignatureConfig, ResponseSigningOptions, RoutingOptions, ScopeEntry, SecretLookup, SignatureKeys, TrustFunction, TrustProxy, WebBotAuthOptions, WebhookConfig,
} from './options';

/** The options with every blank filled in: frozen throughout, but for the logger, functions and bytes that were given. */
export interface ResolvedOptions {
  readonly env: string;
  /** Logs hints for the program's author: in development, and where nobody has named an environment. */
  readonly hints: boolean;
  readonly etag: false | 'weak' | 'strong';
  readonly errors: ErrorFormat | undefined;
  readonly logging: ResolvedLogging;
  readonly routing: Readonly<Required<RoutingOptions>>;
  /** `limit` also bounds discarded bytes and signed bytes when `parse` is false. */
  readonly body: { readonly parse: boolean; readonly limit: number; readonly containerLimit: number | undefined; readonly bigint: boolean };
  readonly server: ResolvedServer;
  readonly security: ResolvedSecurity;
  /** Messages to log at start: unknown keys, short secrets, options without effect. */
  readonly warnings: readonly string[];
}

/** `logging`, resolved. */
export interface ResolvedLogging {
  readonly level: LogLevel;
  readonly logger: Logger | undefined;
  readonly requestId: ResolvedRequestId | false;
  readonly requests: LineLevel | false;
  readonly slowAfter: number | undefined;
}

/** `logging.requestId`, resolved. */
export interface ResolvedRequestId {
  /** Name in lower case. */
  readonly header: string | false;
  readonly generate: ((req: IncomingMessage) => string) | undefined;
}

type ServerProperty = 'maxHeadersCount' | 'maxRequestsPerSocket' | 'timeout';

/** `server`, resolved. */
export interface ResolvedServer {
  readonly host: string | undefined;
  readonly port: number;
  readonly pipelining: number;
  readonly writeTimeout: number;
  readonly handlerTimeout: number;
  readonly handleSignals: boolean;
  /** Value as given. */
  readonly trustProxy: TrustProxy;
  /** True when none was given. */
  readonly trustsByDefault: boolean;
  /** `trustProxy` as a test. */
  readonly trusts: TrustFunction;
  readonly https: Readonly<HttpsOptions> | undefined;
  readonly http2: ResolvedHttp2 | false;
  /** Options of `http.createServer` that were given. */
  readonly http: Readonly<Omit<HttpServerOptions, ServerProperty>>;
  /** Properties of the server that were given; its constructor doesn't take them. */
  readonly properties: Readonly<Pick<HttpServerOptions, ServerProperty>>;
}

/** `server.http2`, resolved. */
export interface ResolvedHttp2 extends Readonly<Required<Pick<Http2Options, 'cleartext' | 'idleTimeout' | 'maxControlFrames'>>> {
  /** Settings that its sessions send to their clients. */
  readonly settings: Readonly<Required<Pick<Http2Options, 'initialWindowSize' | 'maxConcurrentStreams'>>> & { readonly enablePush: false };
  /** Options of `http2.createServer`. */
  readonly limits: Readonly<Required<Omit<Http2Options, 'cleartext' | 'idleTimeout' | 'initialWindowSize' | 'maxConcurrentStreams' | 'maxControlFrames'>>>;
}

/** `security`, resolved. */
export interface ResolvedSecurity {
  /** `undefined` when no signature is asked for. */
  readonly requestSignature: ResolvedSignature | undefined;
  readonly includeRoutes: readonly ScopeEntry[];
  readonly excludeRoutes: readonly ScopeEntry[];
  readonly webhooks: readonly ResolvedWebhook[];
  readonly signResponses: ResponseSigningOptions | undefined;
}

/** Options of a request signature that have no default. */
type Unset = 'keys' | 'tag' | 'label' | 'webBotAuth';

/** `security.requestSignature`, resolved. */
export interface ResolvedSignature extends Readonly<Required<Omit<RequestSignatureConfig, 'secret' | 'replay' | Unset>>> {
  /** Empty where keys are given. */
  readonly secret: readonly string[] | SecretLookup;
  readonly keys: SignatureKeys | undefined;
  readonly tag: string | undefined;
  readonly label: string | undefined;
  readonly webBotAuth: Readonly<Required<WebBotAuthOptions>> | undefined;
  readonly replay: ReplayOptions | undefined;
}

/** An entry of `security.webhooks`, resolved. */
export interface ResolvedWebhook extends Readonly<Required<Omit<WebhookConfig, 'secret' | 'replay' | 'limit' | 'url'>>> {
  readonly url: string | undefined;
  readonly secrets: readonly string[];
  readonly limit: number | undefined;
  readonly replay: ReplayOptions | undefined;
}
