import { EventEmitter } from 'node:events';
import { METHODS as NAMES } from 'node:http';
import { constants, Http2ServerRequest, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { type IntakeRequest, kHasIntake, kIntake, pushIn } from './body/intake';
import { isReadOn } from './connection';
import { kHttp2 } from './request-state';
import { setImmediate, setTimeout } from '../timers';

/** Header fields of a request, without those of a colon, once they were asked for. */
const kFields = Symbol('waypost.http2.fields');
/** The same as a list of names and values. */
const kRawFields = Symbol('waypost.http2.rawFields');
/** True once a request, or a response, has told of its close. */
export const kClosed = Symbol('waypost.http2.closed');
/** True once Node has taken a request's socket, to destroy the request alone. */
const kLetGo = Symbol('waypost.http2.letGo');
/** Session of a request: Node takes it from the stream that closes. */
export const kSession = Symbol('waypost.http2.session');
/** True once Node has ended a request. */
const kEnded = Symbol('waypost.http2.ended');

export type Callback = (error?: Error | null) => void;
export type Members = Record<PropertyKey, PropertyDescriptor>;

interface Http2Request extends Http2ServerRequest {
  [kFields]: IncomingHttpHeaders | undefined;
  [kRawFields]: string[] | undefined;
  [kClosed]: boolean;
  [kEnded]: boolean;
  [kLetGo]: boolean;
  readonly [kSession]: ServerHttp2Session | undefined;
}

const METHODS: ReadonlySet<string> = new Set(NAMES);
export const COLON = 58;
/** Milliseconds after which a response is looked at again whose trailers are not sent. */
const TRAILERS = 20;

export const OF_REQUESTS = membersOf(Http2ServerRequest.prototype);
const givenHeaders = (OF_REQUESTS['headers'] as { readonly get: (this: unknown) => IncomingHttpHeaders }).get;
const givenSocket = (OF_REQUESTS['socket'] as { readonly get: (this: unknown) => Socket }).get;
const givenRawHeaders = (OF_REQUESTS['rawHeaders'] as { readonly get: (this: unknown) => string[] }).get;

/** The members of requests where they are others than waypost's and Node's. */
export const REQUEST = membersOf<Http2Request>({
  [kHttp2]: true,
  [kFields]: undefined,
  [kRawFields]: undefined,
  [kClosed]: false,
  [kEnded]: false,
  [kLetGo]: false,
  [kSession]: undefined,
  /** By these two Node knows a server's request: where a reader leaves it, such as `for await`, Node sets its socket to null and destroys it. */
  _consuming: false,
  _dumped: false,

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
    const { stream, [kSession]: session } = this;
    // Node's socket of a closed stream reads the stream itself.
    if (stream.session === undefined && session !== undefined && !('encrypted' in stream)) {
      const { remoteAddress, remotePort }: Partial<Socket> = session.destroyed ? {} : session.socket;
      Object.assign(stream, { encrypted: session.encrypted, remoteAddress, remotePort });
    }
    return socketOf(stream, givenSocket.call(this));
  },

  set socket(socket: Socket | null) {
    if (socket === null) this[kLetGo] = true;
  },

  get headersDistinct() {
    return distinct(this.rawHeaders);
  },

  get trailersDistinct() {
    return distinct(this.rawTrailers);
  },

  /** True once all of the request is in. */
  get complete(): boolean {
    return this.readableEnded || (this.stream as Partial<ServerHttp2Stream>).endAfterHeaders === true;
  },

  /**
   * As that of waypost's requests. Node ends a stream that was reset like one that is in, and behind an answer does not call it
   * aborted: a part of a body must not pass for it. One that is in ends before it is destroyed.
   */
  push: Object.defineProperty(function push(this: Http2Request, chunk: unknown, encoding?: BufferEncoding): boolean {
    const { stream } = this;
    if (chunk === null && this[kEnded]) return false;
    if (chunk === null) this[kEnded] = true;
    // Node 20 destroys the stream of an answered request within its end.
    const isCut = stream.aborted || (stream.destroyed && !(stream.readableEnded && stream.rstCode === constants.NGHTTP2_NO_ERROR));
    if (chunk !== null || stream.endAfterHeaders || !isCut) return pushIn(this as unknown as IntakeRequest, chunk, encoding);
    this.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
    return false;
  }, kHasIntake, { value: true }),

  /**
   * Ends the stream of a request that is not in, or neither read nor answered.
   * One that Node destroys for a reader is still answered. On HTTP/1.1 it is the connection. Only listeners hear of the error.
   */
  _destroy(error: Error | null, callback: Callback): void {
    (this as unknown as IntakeRequest)[kIntake]?.abort();
    if (!this[kLetGo] && !this.readableEnded && !(this.complete && this.stream.headersSent && this.stream.writableEnded)) this.stream.close(error === null ? constants.NGHTTP2_CANCEL : constants.NGHTTP2_INTERNAL_ERROR);
    process.nextTick(() => callback(this.listenerCount('error') === 0 ? null : error));
  },

  /** Says `close` once: Node says it of the stream, and a destroyed request of itself. A body that is in is read to its end first. */
  emit(name: string | symbol, ...given: unknown[]): boolean {
    if (name === 'close') {
      if (this[kClosed]) return false;
      if (this[kEnded] && isReadOn(this as never)) {
        this.once('end', () => this.emit('close'));
        // Readers that the response's close has stopped bring no end.
        setImmediate(() => isReadOn(this as never) || this.emit('close'));
        return false;
      }
      this[kClosed] = true;
    }
    return EventEmitter.prototype.emit.call(this, name, ...given);
  },
});

/** True for a method that Node takes on HTTP/1.1. `post` is another than POST, which routes would take for it and guards would not. */
export function hasKnownMethod({ method }: Pick<Http2ServerRequest, 'method'>): boolean {
  return METHODS.has(method);
}

export function membersOf<T>(prototype: object & ThisType<T>): Members {
  return Object.getOwnPropertyDescriptors<object>(prototype);
}

/** Resets the stream of an answered request whose body nobody reads: the client need not send the rest (RFC 9113 section 8.1). */
export function closeUnread(req: Http2ServerRequest): void {
  const { stream } = req;
  if (stream.destroyed || (stream.readableFlowing === true && !req.destroyed) || isReadOn(req as never)) return;
  // Trailers, if none, and with them the end of the response, are sent behind `finish`.
  if (!stream.closed && stream.state.localClose !== 1) return void setTimeout(() => closeUnread(req), TRAILERS).unref();
  stream.close(constants.NGHTTP2_NO_ERROR);
  // With bytes left in it Node would wait for a reader.
  stream.destroy();
}

/** The socket that Node gives a message, whose `destroy` ends the stream: in the midst of a response the client sees that it is not whole. */
export function socketOf(stream: ServerHttp2Stream, socket: Socket): Socket {
  if (!Object.hasOwn(stream, 'destroy')) stream.destroy = destroyUnfinished;
  return socket;
}

function destroyUnfinished(this: ServerHttp2Stream, error?: Error): ServerHttp2Stream {
  if (!this.writableEnded && !this.destroyed) this.close(constants.NGHTTP2_INTERNAL_ERROR);
  return (Object.getPrototypeOf(this) as ServerHttp2Stream).destroy.call(this, error);
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
