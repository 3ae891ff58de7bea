import { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import accepts from 'accepts';
import proxyAddr from 'proxy-addr';
import parseRange from 'range-parser';
import typeIs from 'type-is';
import { type BodyStream, type CaptureOutcome, type Intake, kCaptured, kIntake, kRawBody } from './capture';
import { discardRest } from './discard';
import { isFresh } from './etag';
import type { HostApplication } from './host-application';
import { DEFAULT_SETTINGS, kBody, kBodySet, kClaims, kNext, kOriginalMethod, kOriginalUrl, kParams, kPath, kQuery, kQueryText, kQueryUrl, kSettings, type RequestSettings } from './request-state';
import type { Response } from './response';
import type { Unchecked } from './unchecked';
import { pathOf, queryOf } from '../target';

/** Some bytes of a representation: offsets of the first and the last, from 0. */
export interface ByteRange {
  start: number;
  end: number;
}

/** The ranges of a Range header, in order. */
export interface ByteRanges extends Array<ByteRange> {
  /** Unit as sent, such as `bytes`. */
  type: string;
}

/** What `req.range` finds: the ranges, -1 where none can be satisfied, -2 where the header is malformed. */
export type RangeResult = ByteRanges | -1 | -2;

/**
 * A request as handlers see it (INTERFACE section 2.1): Node's IncomingMessage
 * with Express 5's surface. `headers`, `method` and `url` are Node's own.
 *
 * A foreign request becomes one by `Object.setPrototypeOf`, so there is no
 * constructor and there are no fields: state lives under symbols, and its
 * defaults on the prototype.
 */
export class Request<Params = Record<string, string>, ResBody = unknown, ReqBody = Unchecked, Query = Record<string, Unchecked>> extends IncomingMessage implements BodyStream {
  declare [kSettings]: RequestSettings;
  declare [kBody]: unknown;
  declare [kBodySet]: boolean;
  declare [kOriginalUrl]: string | undefined;
  declare [kOriginalMethod]: string | undefined;
  declare [kClaims]: Map<object, Set<string>> | undefined;
  declare [kIntake]: Intake | undefined;
  declare [kRawBody]: Buffer | undefined;
  declare [kCaptured]: CaptureOutcome | undefined;
  declare [kParams]: Params | undefined;
  private declare [kPath]: string | undefined;
  private declare [kQuery]: Query | undefined;
  private declare [kQueryUrl]: string | undefined;
  private declare [kQueryText]: string | undefined;

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
  /** The route whose handlers run. */
  declare route: unknown;
  /** The response to this request. */
  declare res: Response<ResBody> | undefined;
  /** Left to middleware of the application: waypost never sets it (INTERFACE section 2.1). */
  declare user?: unknown;
  /** Cookies by name, once cookie-parser has read them. */
  declare cookies?: Record<string, unknown>;
  /** Those of the cookies whose signature holds; false where it does not. Set by cookie-parser. */
  declare signedCookies?: Record<string, unknown>;
  /** The secret that cookies are signed with. Set by cookie-parser. */
  declare secret?: string | undefined;

  get [kNext](): ((error?: unknown) => void) | undefined {
    return undefined;
  }

  /** Goes on behind the route or middleware that runs, past the other handlers of a route, as in Express. A handler's own `next` is the one to call. */
  get next(): ((error?: unknown) => void) | undefined {
    return this[kNext];
  }

  /** An Express router that is middleware here writes its own. */
  set next(next: ((error?: unknown) => void) | undefined) {
    Object.defineProperty(this, 'next', { value: next, writable: true, configurable: true, enumerable: true });
  }

  /** The application that serves the request; a mounted one while it does. */
  get app(): HostApplication {
    return this[kSettings].app;
  }

  /** Route parameters by name, and the captures of wildcards under `*` and `**` (INTERFACE section 4.2). */
  get params(): Params {
    return (this[kParams] ??= {} as Params);
  }

  set params(params: Params) {
    this[kParams] = params;
  }

  /**
   * Query parameters: a text, or an array where a name comes up more than
   * once. They follow `url` until something is assigned.
   */
  get query(): Query {
    const { url } = this;
    const known = this[kQuery];
    if (known !== undefined && (this[kQueryUrl] === undefined || this[kQueryUrl] === url)) return known;
    this[kQueryUrl] = url;
    const text = queryOf(url);
    // What middleware under a mount path has cleaned in place stays clean when the rest of the URL is shown again.
    if (known !== undefined && text === this[kQueryText]) return known;
    this[kQueryText] = text;
    return (this[kQuery] = this[kSettings].queryParser(text) as Query);
  }

  set query(query: Query) {
    this[kQueryUrl] = undefined;
    this[kQueryText] = undefined;
    this[kQuery] = query;
  }

  /** Parsed body: undefined where there is none, or none of a type that is parsed. */
  get body(): ReqBody {
    return this[kBody] as ReqBody;
  }

  set body(body: unknown) {
    this[kBody] = body;
    this[kBodySet] = true;
  }

  /** Path without query, as sent: not decoded. It follows `url` until something is assigned. */
  get path(): string {
    return this[kPath] ?? pathOf(this.url);
  }

  set path(path: string) {
    this[kPath] = path;
  }

  /**
   * A header by its name in any case; `Referer` and `Referrer` are one.
   *
   * @throws {TypeError} where the name is no text, or empty.
   */
  get(name: 'set-cookie' | 'Set-Cookie'): string[] | undefined;
  get(name: string): string | undefined;
  get(name: string): string | string[] | undefined {
    if (typeof name !== 'string' || name === '') {
      throw new TypeError(`req.get was given ${name === '' ? 'an empty text' : typeof name}: give it the name of a header, such as 'Content-Type'`);
    }
    const lower = name.toLowerCase();
    if (lower !== 'referer' && lower !== 'referrer') return this.headers[lower];
    return this.headers['referrer'] || this.headers.referer;
  }

  /** Another name of {@link get}. */
  header(name: 'set-cookie' | 'Set-Cookie'): string[] | undefined;
  header(name: string): string | undefined;
  header(name: string): string | string[] | undefined {
    return this.get(name);
  }

  /**
   * Whether the body is of one of the types (`'json'`, `'text/*'`, `'+xml'`):
   * the first that matches, false where none does, null where there is no body.
   */
  is(...types: (string | readonly string[])[]): string | false | null {
    return typeIs(this, types.flat());
  }

  /** The type that the client likes best of those given, false where it accepts none; with none given, all it accepts. */
  accepts(): string[];
  accepts(...types: (string | readonly string[])[]): string | false;
  accepts(...types: (string | readonly string[])[]): string | string[] | false {
    return accepts(this).types(types.flat());
  }

  /** The same for content encodings. */
  acceptsEncodings(): string[];
  acceptsEncodings(...encodings: (string | readonly string[])[]): string | false;
  acceptsEncodings(...encodings: (string | readonly string[])[]): string | string[] | false {
    return accepts(this).encodings(encodings.flat());
  }

  /** The same for charsets. */
  acceptsCharsets(): string[];
  acceptsCharsets(...charsets: (string | readonly string[])[]): string | false;
  acceptsCharsets(...charsets: (string | readonly string[])[]): string | string[] | false {
    return accepts(this).charsets(charsets.flat());
  }

  /** The same for languages. */
  acceptsLanguages(): string[];
  acceptsLanguages(...languages: (string | readonly string[])[]): string | false;
  acceptsLanguages(...languages: (string | readonly string[])[]): string | string[] | false {
    return accepts(this).languages(languages.flat());
  }

  /**
   * The Range header against a representation of `size` bytes (RFC 9110
   * section 14.2); undefined where there is none.
   *
   * @param options `combine`: whether overlapping and adjacent ranges become one. Default false.
   */
  range(size: number, options?: { combine?: boolean }): RangeResult | undefined {
    const range = this.headers.range;
    return range ? parseRange(size, range, options) : undefined;
  }

  /** Address of the client: of the socket, or behind trusted proxies the nearest one that is not trusted. */
  get ip(): string | undefined {
    return proxyAddr(this, this[kSettings].trustProxy);
  }

  /** Addresses behind trusted proxies, the client's first; empty where no proxy is trusted. */
  get ips(): string[] {
    const addresses = proxyAddr.all(this, this[kSettings].trustProxy);
    // They come nearest first, and the nearest is the socket's.
    addresses.shift();
    return addresses.reverse();
  }

  /** `http` or `https`: of the socket, or as a trusted proxy says. */
  get protocol(): string {
    const own = 'encrypted' in this.socket && this.socket.encrypted ? 'https' : 'http';
    return (isForwarded(this) && firstOf(this.get('X-Forwarded-Proto'))) || own;
  }

  /** Whether `protocol` is `https`. */
  get secure(): boolean {
    return this.protocol === 'https';
  }

  /** Host with its port, from `Host` or a trusted proxy's `X-Forwarded-Host`. */
  get host(): string | undefined {
    return (isForwarded(this) && firstOf(this.get('X-Forwarded-Host'))) || this.headers.host || undefined;
  }

  /** Host without its port; an IPv6 address keeps its brackets. */
  get hostname(): string | undefined {
    const { host } = this;
    if (host === undefined) return undefined;
    const colon = host.indexOf(':', host.startsWith('[') ? host.indexOf(']') + 1 : 0);
    return colon === -1 ? host : host.slice(0, colon);
  }

  /** Labels of the host name before the last two (or as many as are set), the innermost first. */
  get subdomains(): string[] {
    const { hostname } = this;
    if (!hostname) return [];
    const labels = isIP(hostname) ? [hostname] : hostname.split('.').reverse();
    return labels.slice(this[kSettings].subdomainOffset);
  }

  /** Whether the client's copy is still good, by the validators that the response carries now (RFC 9110 section 13). */
  get fresh(): boolean {
    return this.res !== undefined && isFresh(this.res);
  }

  /** The opposite of `fresh`. */
  get stale(): boolean {
    return !this.fresh;
  }

  /** Whether `X-Requested-With` says XMLHttpRequest. */
  get xhr(): boolean {
    return this.get('X-Requested-With')?.toLowerCase() === 'xmlhttprequest';
  }

  /** @internal Bytes pass by whoever takes them in, a capture for one; costs one look where nobody does. */
  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    const intake = this[kIntake];
    if (intake === undefined) return super.push(chunk, encoding);
    return intake.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : (chunk as Buffer | null));
  }

  /** @internal */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this[kIntake]?.abort();
    super._destroy(error, callback);
  }
}

function isForwarded(request: Request<unknown, unknown, unknown, unknown>): boolean {
  return request[kSettings].trustProxy(request.socket.remoteAddress as string, 0);
}

/** The first of a list in a header: what the outermost trusted proxy wrote. */
function firstOf(value: string | undefined): string | undefined {
  return value?.split(',', 1)[0]?.trim();
}

/** Calls discardRest in Node's place, which would drop a body without end and without counting. */
function dump(this: Request): void {
  discardRest(this, this[kSettings].discardLimit);
}

const DEFAULTS: [PropertyKey, unknown][] = [
  [kSettings, DEFAULT_SETTINGS],
  [kBody, undefined],
  [kBodySet, false],
  [kOriginalUrl, undefined],
  [kOriginalMethod, undefined],
  [kClaims, undefined],
  [kIntake, undefined],
  [kRawBody, undefined],
  [kCaptured, undefined],
  [kParams, undefined],
  [kPath, undefined],
  [kQuery, undefined],
  [kQueryUrl, undefined],
  [kQueryText, undefined],
  ['rawBody', undefined],
  ['signatureKeyId', undefined],
  ['originalUrl', ''],
  ['baseUrl', ''],
  ['route', undefined],
  ['res', undefined],
  ['_dump', dump],
];

// Writable, so that an assignment to a request makes a property of its own.
for (const [name, value] of DEFAULTS) {
  Object.defineProperty(Request.prototype, name, { value, writable: true, configurable: true });
}
