import { EventEmitter } from 'node:events';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { constants, type Http2ServerRequest, Http2ServerResponse, type OutgoingHttpHeaders, type ServerHttp2Stream, type ServerStreamResponseOptions } from 'node:http2';
import type { Socket } from 'node:net';
import { hearLateWrite, isHead } from './answer';
import { answersFirst } from './first-answer';
import { type Callback, closeUnread, COLON, kClosed, membersOf, socketOf } from './http2-request';
import { isAscii, kFields as kNodeFields, kHttp2Fields as kHead, learnName, lowerCaseOf } from './node/header-fields';
import { type AnsweredRequest, kExpectsContinue } from './request-state';
import { type ConfiguredResponse, kOwn, kSign } from './response-state';
import type { Slots } from './slots';

/** True once a trailer was set. */
const kHasTrailers = Symbol('waypost.http2.hasTrailers');
/** True once `end` was called: with its head goes all that there is. */
const kIsLast = Symbol('waypost.http2.isLast');
/** The open responses, of which this is one. */
export const kOpen = Symbol('waypost.http2.open');
/** Length of what was written to a response. */
export const kWritten = Symbol('waypost.http2.written');

type FieldValue = number | string | readonly string[];
type Fields = Record<string, FieldValue | undefined>;

export interface Http2Response extends Omit<Http2ServerResponse<Http2ServerRequest & AnsweredRequest>, 'appendHeader' | 'removeHeader' | 'setHeader' | 'setTrailer' | 'writeHead'>, Pick<ConfiguredResponse, 'appendHeader' | 'removeHeader' | 'setHeader' | 'writeHead' | typeof kSign> {
  [kHead]: Fields | undefined;
  [kHasTrailers]: boolean;
  [kIsLast]: boolean;
  [kClosed]: boolean;
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

/** Those of responses: `res.stream` is waypost's, and Node's stream is `req.stream`. */
const { stream, ...others } = membersOf(Http2ServerResponse.prototype);
export const OF_RESPONSES = others;
export const givenStream = stream as PropertyDescriptor;
const nodesStream = (stream as { readonly get: (this: unknown) => ServerHttp2Stream }).get;
const givenResponseSocket = (OF_RESPONSES['socket'] as { readonly get: (this: unknown) => Socket }).get;
/** Node's own way of each. */
export const given = Http2ServerResponse.prototype as unknown as {
  end(callback?: Callback): void;
  getHeaders(): Fields;
  setTimeout(delay: number, callback?: () => void): void;
  setTrailer(name: string, value: string): void;
  writeEarlyHints(hints: Record<string, string | string[]>): void;
};

export const RESPONSE = membersOf<Http2Response>({
  [kHead]: undefined,
  [kHasTrailers]: false,
  [kIsLast]: false,
  [kClosed]: false,
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

  get writableFinished(): boolean {
    const stream = streamOf(this);
    // Node ends the stream of a HEAD before its answer.
    return this.headersSent && (stream.writableFinished || (stream.destroyed && isWhole(stream)));
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
    given.setTrailer.call(this, name, value);
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
    // Node destroys the stream of a read request within its last write. That makes an error, of some microseconds.
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
    if (!this.destroyed) given.writeEarlyHints.call(this, hints);
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
    // Nothing says `finish` of it.
    const isGone = this[kClosed] || this.destroyed;
    this[kSign]?.(first, second);
    this[kIsLast] = true;
    if (hasChunk) endWith(this, first as Buffer | string, typeof second === 'string' ? second as BufferEncoding : 'utf8');
    given.end.call(this, isGone ? undefined : callback);
    if (isGone && callback !== undefined) process.nextTick(callback);
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
    given.setTimeout.call(this, delay, callback);
    return this;
  },

  /** Leaves out `finish` of a stream that was reset, and all behind the first `close`: of HEAD that is ended late Node emits both anew. */
  emit(name: string | symbol, ...given: unknown[]): boolean {
    if (name === 'close') {
      if (this[kClosed]) return false;
      this[kClosed] = true;
      this[kOpen]?.delete(this);
    }
    return name === 'finish' && (this[kClosed] || !isWhole(streamOf(this))) ? false : EventEmitter.prototype.emit.call(this, name, ...given);
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

export function fieldsIn(res: Http2Response): Fields {
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
