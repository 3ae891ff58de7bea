import type { RequestAdditions } from './additions';
import { assign, defineHidden, makeAssignable } from './assignable';
import { type CaptureOutcome, kCaptured, kRawBody } from './body/capture';
import { discardRest } from './body/discard';
import { kBody, type RequestBody } from './body/request-body';
import { type Intake, kIntake, kHasIntake, pushIn } from './body/intake';
import { isFresh } from './etag';
import type { HostApplication } from './host-application';
import { dropUnreadBy } from './node/unread-request';
import { RequestHead } from './request-head';
import { type Claims, DEFAULT_SETTINGS, kAbort, kBodyLimit, kClaims, kDefers, kExpectsContinue, kHttp2, kOriginalMethod, kOriginalUrl, kQuery, kQueryText, kQueryUrl, kSettings, type QueryParser } from './request-state';
import type { Response } from './response';
import type { ParsedQuery, Unchecked } from './unchecked';
import { late } from '../packages';
import { pathOf, queryOf } from '../target/target';

const signalling = late(() => require('./request-signal') as typeof import('./request-signal'));

/* eslint-disable @typescript-eslint/no-unsafe-declaration-merging, @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unused-vars -- what is declared elsewhere is there once middleware has set it */
/** Query that was given to an application of Express 4. */
const kOwnQuery = Symbol('waypost.request.ownQuery');

/** Route as `req.route` shows it. */
export interface MatchedRoute {
  /** The pattern, or the patterns, as registered: behind `req.baseUrl`, and not the request's own path. */
  readonly path: string | RegExp | readonly (string | RegExp)[];
  /** The methods that it handles, in lower case; `_all` where it handles all. */
  readonly methods: Readonly<Record<string, boolean>>;
  /** Its handlers, as Express shows them. */
  readonly stack: readonly {
    /** Name of the function. */
    readonly name: string;
    /** The method that it handles, in lower case; undefined where it handles all. */
    readonly method: string | undefined;
    /** The function. */
    readonly handle: unknown;
  }[];
}

/** With what programs and packages declare of requests; see {@link RequestAdditions}. */
export interface Request<Params = Record<string, string>, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>> extends RequestAdditions {}

/**
 * A request as handlers see it (INTERFACE section 2.1): Node's IncomingMessage
 * with Express 5's surface. `headers`, `method` and `url` are Node's own.
 *
 * A foreign request becomes one by `Object.setPrototypeOf`, so there is no
 * constructor and there are no fields: state lives under symbols, and its
 * defaults on the prototype.
 */
export class Request<Params = Record<string, string>, ResBody = Unchecked, ReqBody = Unchecked, Query = ParsedQuery, Locals extends object = Record<string, Unchecked>> extends RequestHead {
  /** @internal */
  declare [kOriginalUrl]: string | undefined;
  /** @internal */
  declare [kOriginalMethod]: string | undefined;
  /** @internal */
  declare [kClaims]: Map<object, Claims> | undefined;
  /** @internal */
  declare [kExpectsContinue]: boolean;
  /** @internal */
  declare [kDefers]: boolean;
  /** @internal */
  declare readonly [kHttp2]: boolean;
  /** @internal */
  declare [kBodyLimit]: number | undefined;
  /** @internal */
  declare [kAbort]: AbortController | undefined;
  /** @internal */
  declare [kIntake]: Intake | undefined;
  /** @internal */
  declare [kRawBody]: Buffer | undefined;
  /** @internal */
  declare [kCaptured]: CaptureOutcome | undefined;
  /** @internal */
  declare [kBody]: RequestBody | undefined;
  /** @internal */
  declare [kQuery]: unknown;
  /** @internal */
  declare [kQueryUrl]: string | undefined;
  /** @internal */
  declare [kQueryText]: string | undefined;

  /** Path and query. Middleware sees them relative to its mount, route handlers whole. */
  declare url: string;
  /**
   * The target exactly as received, whatever became of `url`. A property of its own, since Express makes one
   * where it finds none. @default ''
   */
  declare originalUrl: string;
  /** Method as sent, in upper case. */
  declare method: string;
  /** Body as received, before inflating; undefined where none was captured. */
  declare rawBody: Buffer | undefined;
  /** Id of the key that signed the request, where `security.requestSignature.secret` is a function. @default undefined */
  declare signatureKeyId: string | undefined;
  /** Mount path that `url` is relative to, or that the route's router is mounted at. @default '' */
  declare baseUrl: string;
  /** The route whose handlers run, or ran last; undefined in middleware before the first. */
  declare route: Unchecked<MatchedRoute | undefined>;
  /** The response to this request. */
  declare res: Response<ResBody, Locals> | undefined;
  /** Route parameters by name, with wildcard captures under `*` and `**` (INTERFACE section 4.2). An application sets it: there is none before. */
  declare params: Params;
  /** Parsed body: undefined where there is none, or none of a type that is parsed. */
  declare body: ReqBody;
  /** Goes on behind the current route or middleware, as in Express. It skips the other handlers of a route: a handler's own `next` is the one to call. */
  declare next: ((error?: unknown) => void) | undefined;

  /** The application that serves the request; a mounted one while it does. */
  get app(): HostApplication {
    return this[kSettings].app;
  }

  /**
   * Query parameters: a text, or an array where a name comes up more than
   * once. They follow `url` until something is assigned.
   */
  get query(): Query {
    const { url } = this;
    const known = this[kQuery];
    if (known !== undefined && this[kQueryUrl] === url) return known as Query;
    const text = queryOf(url);
    // An unchanged text keeps its query, which middleware under a mount path may have cleaned.
    if (known === undefined || text !== this[kQueryText]) {
      // Out of the settings: as their method a program's own parser would have them for its `this`. It may throw, and nothing is known then.
      const { queryParser } = this[kSettings];
      this[kQuery] = queryParser(text);
      this[kQueryText] = text;
    }
    this[kQueryUrl] = url;
    return this[kQuery] as Query;
  }

  // A property of its own: an application of Express that has the request later would make another of the target.
  set query(query: Query) {
    assign(this, 'query', query);
  }

  /** Path without query, as sent: not decoded. It follows `url` until something is assigned. */
  get path(): string {
    return pathOf(this.url);
  }

  set path(path: string) {
    assign(this, 'path', path);
  }

  /** True if the client's copy is still good (RFC 9110 section 13). The response's current validators decide. */
  get fresh(): boolean {
    return this.res !== undefined && isFresh(this.res);
  }

  /**
   * Aborts when nobody waits for the response any more, and never once it is whole. The reason is an HttpError with the code
   * `CLIENT_GONE`, `HANDLER_TIMEOUT` (`server.handlerTimeout`) or `SERVER_CLOSING` (`app.close` has cut the connection off). A handler
   * that fails by it is no error: nothing is logged, and no error middleware called.
   * @example
   * app.get('/report', async (req, res) => res.json(await (await fetch(url, { signal: req.signal })).json()));
   */
  declare readonly signal: AbortSignal;

  /** The opposite of `fresh`. */
  get stale(): boolean {
    return !this.fresh;
  }

  /** @internal Passes bytes through the intake, such as a capture; costs one look where none is set. */
  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    return pushIn(this, chunk, encoding);
  }

  /** @internal */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this[kIntake]?.abort();
    super._destroy(error, callback);
  }
}

/** Has the query of a request made anew: its present holder parses queries otherwise. */
export function forgetQuery(req: Request): void {
  if (req[kQuery] === undefined) return;
  req[kQuery] = undefined;
  req[kQueryUrl] = undefined;
  req[kQueryText] = undefined;
}

/**
 * Gives a request its query as an own property, for readers of none other: what has been read before, else what the
 * parser makes of the target, once for each parser. Returns a function that takes it back, and never throws.
 */
export function setOwnQuery(req: Request & { [kOwnQuery]?: { readonly parse: QueryParser; readonly text: string; readonly query: unknown } }, parse: QueryParser): () => void {
  if (Object.hasOwn(req, 'query')) return () => undefined;
  const text = queryOf(req.url);
  const { [kOwnQuery]: own } = req;
  const isKnown = req[kQueryText] === text;
  const query = isKnown ? req.query : own?.parse === parse && own.text === text ? own.query : parse(text);
  if (!isKnown) req[kOwnQuery] = { parse, text, query };
  assign(req, 'query', query);
  return () => {
    // A query assigned meanwhile stays.
    if (Object.getOwnPropertyDescriptor(req, 'query')?.value === query) Reflect.deleteProperty(req, 'query');
  };
}

const DEFAULTS: [PropertyKey, unknown][] = [
  [kSettings, DEFAULT_SETTINGS],
  [kOriginalUrl, undefined],
  [kOriginalMethod, undefined],
  [kClaims, undefined],
  [kExpectsContinue, false],
  [kDefers, false],
  [kHttp2, false],
  [kBodyLimit, undefined],
  [kAbort, undefined],
  [kIntake, undefined],
  [kRawBody, undefined],
  [kCaptured, undefined],
  [kBody, undefined],
  [kQuery, undefined],
  [kQueryUrl, undefined],
  [kQueryText, undefined],
  ['originalUrl', ''],
  ['baseUrl', ''],
];

// eslint-disable-next-line @typescript-eslint/unbound-method -- it is marked, not called
Object.defineProperty(Request.prototype.push, kHasIntake, { value: true });
dropUnreadBy(Request.prototype as Request, (request) => discardRest(request, request[kSettings].discardLimit));
// Declared as a property, as newer types of Node's declare theirs.
Object.defineProperty(Request.prototype, 'signal', {
  get(this: Request) { return (this[kAbort] ??= signalling().controllerOf(this)).signal; },
  configurable: true,
});
makeAssignable(Request.prototype, ['app', 'fresh', 'signal', 'stale']);
// Writable, so that an assignment to a request makes a property of its own.
for (const [name, value] of DEFAULTS) defineHidden(Request.prototype, name, value);
