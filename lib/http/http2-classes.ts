import { EventEmitter } from 'node:events';
import { METHODS as NAMES, validateHeaderName, validateHeaderValue } from 'node:http';
import { constants, Http2ServerRequest, Http2ServerResponse, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream, type ServerStreamResponseOptions } from 'node:http2';
import type { Socket } from 'node:net';
import { hearLateWrite, isHead } from './answer';
import { type IntakeRequest, kHasIntake, kIntake, pushIn } from './body/intake';
import { isReadOn } from './connection';
import { answersFirst } from './first-answer';
import { isAscii, kFields as kNodeFields, kHttp2Fields as kHead, learnName, lowerCaseOf } from './node/header-fields';
import { type AnsweredRequest, kExpectsContinue, kHttp2 } from './request-state';
import { type ConfiguredResponse, kOwn, kSign } from './response-state';
import { Slots } from './slots';
import { setTimeout } from '../timers';

/** Header fields of a request, without those of a colon, once they were asked for. */
const kFields = Symbol('waypost.http2.fields');
/** The same as a list of names and values. */
const kRawFields = Symbol('waypost.http2.rawFields');
/** True once a request has told of its close. */
const kClosed = Symbol('waypost.http2.closed');

/** True once a trailer was set. */
const kHasTrailers = Symbol('waypost.http2.hasTrailers');
/** True once `end` was called: with its head goes all that there is. */
const kIsLast = Symbol('waypost.http2.isLast');
/** The open responses, of which this is one. */
const kOpen = Symbol('waypost.http2.open');
/** True once Node has ended a request. */
const kEnded = Symbol('waypost.http2.ended');
/** Length of what was written to a response. */
export const kWritten = Symbol('waypost.http2.written');

type Callback = (error?: Error | null) => void;
type Members = Record<PropertyKey, PropertyDescriptor>;

interface Http2Request extends Http2ServerRequest {
  [kFields]: IncomingHttpHeaders | undefined;
  [kRawFields]: string[] | undefined;
  [kClosed]: boolean;
  [kEnded]: boolean;
}

type FieldValue = number | string | readonly string[];
type Fields = Record<string, FieldValue | undefined>;

interface Http2Response extends Omit<Http2ServerResponse<Http2ServerRequest & AnsweredRequest>, 'appendHeader' | 'removeHeader' | 'setHeader' | 'setTrailer' | 'writeHead'>, Pick<ConfiguredResponse, 'appendHeader' | 'removeHeader' | 'setHeader' | 'writeHead' | typeof kSign> {
  [kHead]: Fields | undefined;
  [kHasTrailers]: boolean;
  [kIsLast]: boolean;
  [kWritten]: number;
  readonly [kOpen]: Slots<Written> | undefined;
}

/** A response, as far as its progress is watched. */
export interface Written {
  readonly req: Http2ServerRequest;
  readonly [kWritten]: number;
}

/** Fields of connections, which HTTP/2 forbids (RFC 9113 section 8.2.2): programs and middleware set them for HTTP/1.1, and they are dropped. */
const OF_CONNECTIONS: ReadonlySet<string> = new Set(['connection', 'http2-settings', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade']);
const METHODS: ReadonlySet<string> = new Set(NAMES);
const COLON = 58;
/** Milliseconds after which a response is looked at again whose trailers are not sent. */
const TRAILERS = 20;

const OF_REQUESTS = membersOf(Http2ServerRequest.prototype);
/** Those of responses: `res.stream` is waypost's, and Node's stream is `req.stream`. */
const { stream: givenStream, ...OF_RESPONSES } = membersOf(Http2ServerResponse.prototype);
const nodesStream = (givenStream as { readonly get: (this: unknown) => ServerHttp2Stream }).get;
const givenHeaders = (OF_REQUESTS['headers'] as { readonly get: (this: unknown) => IncomingHttpHeaders }).get;
const givenSocket = (OF_REQUESTS['socket'] as { readonly get: (this: unknown) => Socket }).get;
const givenResponseSocket = (OF_RESPONSES['socket'] as { readonly get: (this: unknown) => Socket }).get;
const givenRawHeaders = (OF_REQUESTS['rawHeaders'] as { readonly get: (this: unknown) => string[] }).get;
/** Node's own way of each. */
const node = Http2ServerResponse.prototype as unknown as {
  end(callback?: Callback): void;
  getHeaders(): Fields;
  setTimeout(delay: number, callback?: () => void): void;
  setTrailer(name: string, value: string): void;
  writeEarlyHints(hints: Record<string, string | string[]>): void;
};

/** The members of requests where they are others than waypost's and Node's. */
const REQUEST = membersOf<Http2Request>({
  [kHttp2]: true,
  [kFields]: undefined,
  [kRawFields]: undefined,
  [kClosed]: false,
  [kEnded]: false,

  /** The fields of the head, with `host`. A body without a length has a coding, as on HTTP/1.1: packages look for it. */
  get headers(): IncomingHttpHeaders {
    const { [kFields]: known } = this;
    if (known !== undefined) return known;
    const fields = (this[kFields] = fieldsOf(givenHeaders.call(this)));
    if (!this.stream.endAfterHeaders && !('content-length' in fields)) fields['transfer-encoding'] = 'chunked';
    return fields;
  },

  set headers(fields: IncomingHttpHeaders) {
    this[kFields] = fields;
  },

  get rawHeaders(): string[] {
    return (this[kRawFields] ??= rawFieldsOf(givenRawHeaders.call(this)));
  },

  set rawHeaders(fields: string[]) {
    this[kRawFields] = fields;
  },

  get socket() {
    return socketOf(this.stream, givenSocket.call(this));
  },

  get headersDistinct() {
    return distinct(this.rawHeaders);
  },

  get trailersDistinct() {
    return distinct(this.rawTrailers);
  },

  /** True once all of the request is in. */
  get complete(): boolean {
    return !this.aborted && (this.readableEnded || (this.stream as Partial<ServerHttp2Stream>).endAfterHeaders === true);
  },

  /**
   * As that of waypost's requests. Node ends a stream that was reset like one that is in, and behind an answer does not call it
   * aborted: a part of a body must not pass for it. One that is in ends before it is destroyed.
   */
  push: Object.defineProperty(function push(this: Http2Request, chunk: unknown, encoding?: BufferEncoding): boolean {
    const { stream } = this;
    if (chunk === null && this[kEnded]) return false;
    if (chunk === null) this[kEnded] = true;
    if (chunk !== null || stream.endAfterHeaders || !(stream.aborted || stream.destroyed)) return pushIn(this as unknown as IntakeRequest, chunk, encoding);
    this.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
    return false;
  }, kHasIntake, { value: true }),

  /** Ends the stream of a request that is not in, or neither read nor answered. On HTTP/1.1 it is the connection. Only listeners hear of the error. */
  _destroy(error: Error | null, callback: Callback): void {
    (this as unknown as IntakeRequest)[kIntake]?.abort();
    if (!this.readableEnded && !(this.complete && this.stream.writableEnded)) this.stream.close(error === null ? constants.NGHTTP2_CANCEL : constants.NGHTTP2_INTERNAL_ERROR);
    process.nextTick(() => callback(this.listenerCount('error') === 0 ? null : error));
  },

  /** Says `close` once: Node says it of the stream, and a destroyed request of itself. A body that is in is read to its end first. */
  emit(name: string | symbol, ...given: unknown[]): boolean {
    if (name === 'close') {
      if (this[kClosed]) return false;
      if (this[kEnded] && isReadOn(this as never)) {
        this.once('end', () => this.emit('close'));
        return false;
      }
      this[kClosed] = true;
    }
    return EventEmitter.prototype.emit.call(this, name, ...given);
  },
});

const RESPONSE = membersOf<Http2Response>({
  [kHead]: undefined,
  [kHasTrailers]: false,
  [kIsLast]: false,
  [kWritten]: 0,
  [kOpen]: undefined,

  get socket() {
    return socketOf(streamOf(this), givenResponseSocket.call(this));
  },

  get destroyed() {
    return streamOf(this).destroyed || streamOf(this).closed;
  },

  get closed() {
    return streamOf(this).destroyed;
  },

  get writableFinished() {
    const stream = streamOf(this);
    return stream.writableFinished || (stream.destroyed && isWhole(stream));
  },

  get writableNeedDrain() {
    return streamOf(this).writableNeedDrain;
  },

  /** Empty: HTTP/2 has no reason phrases. */
  get statusMessage() {
    return '';
  },

  set statusMessage(_text: string) {
    // Dropped.
  },

  getHeader(name: string) {
    return this[kHead]?.[name.toLowerCase()];
  },

  getHeaders() {
    const { ':status': _, ...fields } = this[kHead] ?? {};
    return fields;
  },

  getHeaderNames() {
    return Object.keys(this[kHead] ?? {}).filter((name) => name.charCodeAt(0) !== COLON);
  },

  hasHeader(name: string) {
    return this[kHead] !== undefined && name.toLowerCase() in this[kHead];
  },

  setHeader(name: string, value: FieldValue): unknown {
    const lower = sendableName(this, name, value);
    if (lower !== undefined) fieldsIn(this)[lower] = value;
    return this;
  },

  appendHeader(name: string, value: string | readonly string[]): unknown {
    appendField(this, name, value);
    return this;
  },

  setHeaders(fields: Headers | ReadonlyMap<string, string>): unknown {
    for (const [name, value] of fields) this.setHeader(name, value);
    return this;
  },

  removeHeader(name: string): void {
    checkHead(this);
    const lower = name.toLowerCase();
    if (lower === 'date') this.sendDate = false;
    else if (this[kHead] !== undefined) Reflect.deleteProperty(this[kHead], lower);
  },

  setTrailer(name: string, value: string): void {
    this[kHasTrailers] = true;
    node.setTrailer.call(this, name, value);
  },

  /** As Node's on HTTP/1.1, without the reason. */
  writeHead(status: number, second?: unknown, third?: unknown): unknown {
    if (streamOf(this).destroyed || streamOf(this).closed) return this;
    checkHead(this);
    setFields(this, typeof second === 'string' ? third : second ?? third);
    this.statusCode = status;
    const head = fieldsIn(this);
    head[':status'] = this.statusCode;
    const stream = streamOf(this);
    // Behind a request that was read, Node would destroy the stream within its last write, which is an error of some microseconds.
    const waitForTrailers = this[kHasTrailers] || !this[kIsLast] || !stream.endAfterHeaders;
    stream.respond(head as OutgoingHttpHeaders, { endStream: this.writableEnded, sendDate: this.sendDate, waitForTrailers } as ServerStreamResponseOptions);
    return this;
  },

  writeContinue(callback?: Callback): void {
    const { req } = this as { req?: AnsweredRequest };
    if (req !== undefined) req[kExpectsContinue] = false;
    if (!this.headersSent && !this.destroyed) streamOf(this).additionalHeaders({ ':status': 100 });
    callback?.();
  },

  writeProcessing(callback?: Callback): void {
    if (!this.headersSent && !this.destroyed) streamOf(this).additionalHeaders({ ':status': 102 });
    callback?.();
  },

  writeEarlyHints(hints: Record<string, string | string[]>, callback?: Callback): void {
    if (!this.destroyed) node.writeEarlyHints.call(this, hints);
    callback?.();
  },

  write(chunk: unknown, second?: unknown, third?: unknown): boolean {
    const encoding = typeof second === 'string' ? second as BufferEncoding : 'utf8';
    const callback = (typeof second === 'function' ? second : third) as Callback | undefined;
    answersFirst(this as never);
    if (this.writableEnded) return refuseLate(this, callback);
    if (!this.headersSent) this.writeHead(this.statusCode);
    if (this.destroyed || isBodiless(this)) {
      if (callback !== undefined) process.nextTick(callback, this.destroyed ? gone() : null);
      return !this.destroyed;
    }
    this[kWritten] += (chunk as string).length;
    return streamOf(this).write(chunk, encoding, callback);
  },

  end(first?: unknown, second?: unknown, third?: unknown): unknown {
    const callback = (typeof first === 'function' ? first : typeof second === 'function' ? second : third) as Callback | undefined;
    const hasChunk = typeof first !== 'function' && Boolean(first);
    answersFirst(this as never);
    if (this.writableEnded) {
      if (hasChunk) refuseLate(this, callback);
      else if (callback !== undefined) process.nextTick(callback);
      return this;
    }
    this[kSign]?.(first, second);
    this[kIsLast] = true;
    if (hasChunk) endWith(this, first as Buffer | string, typeof second === 'string' ? second as BufferEncoding : 'utf8');
    node.end.call(this, callback);
    const stream = streamOf(this);
    if (stream.endAfterHeaders || stream.readableEnded) return this;
    const { req } = this;
    if (stream.writableFinished) closeUnread(req);
    else stream.once('finish', () => closeUnread(req));
    return this;
  },

  /** Ends the stream. The client sees that the response is not whole: by itself Node would say that there was no error. */
  destroy(): unknown {
    if (!this.destroyed) streamOf(this).close(constants.NGHTTP2_INTERNAL_ERROR);
    return this;
  },

  setTimeout(delay: number, callback?: () => void): unknown {
    node.setTimeout.call(this, delay, callback);
    return this;
  },

  /** Leaves out `finish` for a stream that was reset, of which Node says it, too. */
  emit(name: string | symbol, ...given: unknown[]): boolean {
    if (name === 'close') this[kOpen]?.delete(this);
    return name === 'finish' && !isWhole(streamOf(this)) ? false : EventEmitter.prototype.emit.call(this, name, ...given);
  },
});
/** Reads and writes as Node's table of fields, by the response's own methods. */
const FIELD_TABLE: ProxyHandler<Http2Response> = {
  has: (res, name) => res.hasHeader(name as string),
  get(res, name) {
    const value = res.getHeader(name as string) as unknown;
    return value === undefined ? undefined : [name, value];
  },
  set(res, name, [, value]: [string, string | string[]]) {
    res.setHeader(name as string, value);
    return true;
  },
  deleteProperty(res, name) {
    res.removeHeader(name as string);
    return true;
  },
};
/** The table, for packages that call methods of `OutgoingMessage.prototype`: `cookies` does where there is `res.set`. */
if (kNodeFields !== undefined) Reflect.set(RESPONSE, kNodeFields, { get(this: Http2Response) { return new Proxy(this, FIELD_TABLE); }, configurable: true });
RESPONSE[kOwn] = { value: { end: RESPONSE['end']?.value as unknown, write: RESPONSE['write']?.value as unknown }, configurable: true };

/** The classes of an application's requests and responses of HTTP/2: Node's two, with all that the application's others have. */
export class Http2Classes {
  readonly Request: typeof Http2ServerRequest;
  readonly Response: typeof Http2ServerResponse;
  /** The responses that their servers have made, while they are open. */
  readonly open = new Slots<Written>();

  /** @param request Prototype of the application's requests. @param response Of its responses. */
  constructor(request: object, response: object) {
    const { open } = this;
    this.Request = class extends Http2ServerRequest {};
    this.Response = class extends Http2ServerResponse {
      constructor(stream: ServerHttp2Stream) {
        super(stream);
        open.add(this as unknown as Written);
        // Node says it of an answer alone: it has ended the stream before.
        if (this.req.method === 'HEAD') stream.once('close', () => open.has(this as unknown as Written) && this.emit('close'));
      }
    } as typeof Http2ServerResponse;
    layer(this.Request.prototype, REQUEST, OF_REQUESTS);
    layer(this.Response.prototype, RESPONSE, OF_RESPONSES);
    Object.defineProperty(this.Response.prototype, kOpen, { value: open, configurable: true });
    this.inherit(request, response);
  }

  /** Makes request and response the application's own, with the fields that were set before. */
  adopt(req: object, res: object): void {
    const fields = res instanceof Http2ServerResponse ? node.getHeaders.call(res) : undefined;
    Object.setPrototypeOf(req, this.Request.prototype);
    Object.setPrototypeOf(res, this.Response.prototype);
    if (fields !== undefined) Object.assign(fieldsIn(res as Http2Response), fields);
  }

  /** From now on its requests and responses inherit from these prototypes. */
  inherit(request: object, response: object): void {
    Object.setPrototypeOf(this.Request.prototype, request);
    Object.setPrototypeOf(this.Response.prototype, response);
  }
}

/** True for a method that Node takes on HTTP/1.1. `post` is another than POST, which routes would take for it and guards would not. */
export function hasKnownMethod({ method }: Pick<Http2ServerRequest, 'method'>): boolean {
  return METHODS.has(method);
}

/**
 * Gives a request and its response the members of HTTP/2 as their own: an application of Express puts prototypes of HTTP/1.1 on them.
 * Returns what takes back Node's `stream` of the response, in whose place waypost has another.
 */
export function giveOwnMembers(req: object, res: object): () => void {
  Object.defineProperty(res, 'stream', givenStream as PropertyDescriptor);
  for (const message of [req, res]) {
    const { constructor: _, ...members }: Members = Object.getOwnPropertyDescriptors<object>(Object.getPrototypeOf(message) as object);
    for (const key of Reflect.ownKeys(members)) if (!Object.hasOwn(message, key)) Object.defineProperty(message, key, members[key as string] as PropertyDescriptor);
  }
  return () => void Reflect.deleteProperty(res, 'stream');
}

function membersOf<T>(prototype: object & ThisType<T>): Members {
  return Object.getOwnPropertyDescriptors<object>(prototype);
}

/** Gives a prototype the members, the first of a name. */
function layer(prototype: object, ...all: readonly Members[]): void {
  for (const members of all) {
    for (const key of Reflect.ownKeys(members)) {
      if (!Object.hasOwn(prototype, key)) Object.defineProperty(prototype, key, members[key] as PropertyDescriptor);
    }
  }
}


/** The stream of a response. Its own property is `res.stream` of waypost's. */
function streamOf(res: Http2Response): ServerHttp2Stream {
  return nodesStream.call(res);
}

/** True for a response that has ended, and that nobody has reset. A stream that both sides have ended may close before it says `finish`. */
function isWhole(stream: ServerHttp2Stream): boolean {
  return stream.writableEnded && !stream.aborted && (stream.rstCode as number | undefined ?? 0) === constants.NGHTTP2_NO_ERROR;
}

/** True for a response without a body: Node ends its stream with the head (RFC 9110 section 6.4.1). */
function isBodiless(res: Http2Response): boolean {
  const { statusCode } = res;
  return isHead(res as never) || statusCode === 204 || statusCode === 205 || statusCode === 304;
}

function endWith(res: Http2Response, chunk: Buffer | string, encoding: BufferEncoding): void {
  if (!res.headersSent) res.writeHead(res.statusCode);
  if (res.destroyed || isBodiless(res)) return;
  res[kWritten] += chunk.length;
  streamOf(res).end(chunk, encoding);
}

/** Resets the stream of an answered request whose body nobody reads: the client need not send the rest (RFC 9113 section 8.1). */
function closeUnread(req: Http2ServerRequest): void {
  const { stream } = req;
  if (stream.closed || stream.readableFlowing === true || isReadOn(req as never)) return;
  const { localClose, remoteClose } = stream.state;
  // One that is in ends by itself. Trailers, if none, and with them the end of the response, are sent behind `finish`.
  if (remoteClose === 1) return;
  if (localClose !== 1) return void setTimeout(() => closeUnread(req), TRAILERS).unref();
  stream.close(constants.NGHTTP2_NO_ERROR);
  // With bytes left in it Node would wait for a reader.
  stream.destroy();
}

/** The socket that Node gives a message, whose `destroy` ends the stream: in the midst of a response the client sees that it is not whole. */
function socketOf(stream: ServerHttp2Stream, socket: Socket): Socket {
  if (!Object.hasOwn(stream, 'destroy')) stream.destroy = destroyUnfinished;
  return socket;
}

function destroyUnfinished(this: ServerHttp2Stream, error?: Error): ServerHttp2Stream {
  if (!this.writableEnded && !this.destroyed) this.close(constants.NGHTTP2_INTERNAL_ERROR);
  return (Object.getPrototypeOf(this) as ServerHttp2Stream).destroy.call(this, error);
}

function refuseLate(res: Http2Response, callback: Callback | undefined): boolean {
  hearLateWrite(res as never);
  const error = Object.assign(new Error('write after end'), { code: 'ERR_STREAM_WRITE_AFTER_END' });
  process.nextTick(() => {
    callback?.(error);
    if (!res.destroyed) res.emit('error', error);
  });
  return false;
}

function gone(): Error {
  return Object.assign(new Error('The stream has been closed'), { code: 'ERR_STREAM_DESTROYED' });
}

/** The name of a field in lower case; undefined where it is dropped. @throws Error as on HTTP/1.1, for a head that is out, and what cannot be sent. */
function sendableName(res: Http2Response, name: string, value: unknown): string | undefined {
  checkHead(res);
  let lower = lowerCaseOf(name);
  if (lower === undefined) {
    validateHeaderName(name);
    learnName(name);
    lower = name.toLowerCase();
  }
  if (typeof value !== 'number' && !(typeof value === 'string' && isAscii(value))) validateHeaderValue(name, value as string);
  return OF_CONNECTIONS.has(lower) ? undefined : lower;
}

function fieldsIn(res: Http2Response): Fields {
  return (res[kHead] ??= Object.create(null) as Fields);
}

function appendField(res: Http2Response, name: string, value: string | readonly string[]): void {
  const lower = sendableName(res, name, value);
  if (lower === undefined) return;
  const fields = fieldsIn(res);
  const before = fields[lower];
  fields[lower] = before === undefined ? value : [before, value].flat().map(String);
}

/** @throws Error as on HTTP/1.1, once the head is out. */
function checkHead(res: Http2Response): void {
  if (res.headersSent) throw Object.assign(new Error('Cannot set headers after they are sent to the client'), { code: 'ERR_HTTP_HEADERS_SENT' });
}

/** Sets the fields that `writeHead` is given: an object, a list of names and values, or one of pairs. */
function setFields(res: Http2Response, given: unknown): void {
  if (!Array.isArray(given)) {
    for (const [name, value] of Object.entries((given ?? {}) as Record<string, string>)) res.setHeader(name, value);
    return;
  }
  const pairs = Array.isArray(given[0]) ? given as [string, string][] : Array.from({ length: given.length / 2 }, (_, i) => [given[2 * i], given[2 * i + 1]] as [string, string]);
  for (const [name] of pairs) Reflect.deleteProperty(fieldsIn(res), name.toLowerCase());
  for (const [name, value] of pairs) appendField(res, name, value);
}

function fieldsOf(given: IncomingHttpHeaders): IncomingHttpHeaders {
  const { [':authority']: authority } = given;
  const fields: IncomingHttpHeaders = authority === undefined ? {} : { host: authority };
  for (const name in given) if (name.charCodeAt(0) !== COLON) fields[name] = given[name];
  return fields;
}

/** Lists the fields. A `host` that differs from `:authority` is a second Host, and refused (RFC 9113 section 8.3.1). Cookies that are split are one field (section 8.2.3). */
function rawFieldsOf(given: readonly string[]): string[] {
  const fields: string[] = [];
  let cookie = -1;
  for (let i = 0; i < given.length; i += 2) {
    const [name, value] = [given[i] as string, given[i + 1] as string];
    if (name === ':authority') fields.unshift('host', value);
    else if (name === 'cookie' && cookie !== -1) fields[cookie] = `${fields[cookie] as string}; ${value}`;
    else if (name === 'cookie') cookie = fields.push(name, value) - 1;
    else if (name.charCodeAt(0) !== COLON && !(name === 'host' && fields[0] === 'host' && fields[1] === value)) fields.push(name, value);
  }
  return fields;
}

function distinct(fields: readonly string[]): Record<string, string[]> {
  const found = Object.create(null) as Record<string, string[]>;
  for (let i = 0; i < fields.length; i += 2) (found[(fields[i] as string).toLowerCase()] ??= []).push(fields[i + 1] as string);
  return found;
}
