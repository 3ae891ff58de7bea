import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from 'node:http';
import { basename, resolve } from 'node:path';
import { inspect } from 'node:util';
import { guardedCall } from './guarded-call';
import { contentDisposition, late, statuses } from '../packages';
import type { XJsonOptions } from '../xjson/options';
import { isFetchResponse, unsendable } from './unsendable';
import { kXJsonOptions, streaming } from './xjson-response';
import { finish, hearLateWrite } from './answer';
import type { ResponseAdditions } from './additions';
import { makeAssignable } from './assignable';
import { answerError, refuse, SerializationReport } from './default-answer';
import { kCallsBack } from './node/unread-request';
import { fieldsOf } from './node/header-fields';
import type { EventOptions, EventSource, EventStream } from './event-stream';
import type { TransferEnd } from './file/file-transfer';
import type { SendFileCallback, SendFileOptions } from './file/file-options';
import { answersFirst } from './first-answer';
import type { HostApplication, RenderCallback } from './host-application';
import { acceptedOf, asUtf8, BINARY_TYPE, essenceOf, HTML_TYPE, JSON_TYPE, notAcceptable } from './media-type';
import { type AnsweredRequest, kExpectsContinue } from './request-state';
import { ResponseHead } from './response-head';
import { DEFAULT_SETTINGS, kAnswering, kFail, kFailing, kJsonAsXJson, kLatin1, kOwn, kSettings, type OwnMethods, type ResponseSettings, settingsOf } from './response-state';
import type { StreamSource } from './streamed-body';
import { destroyInTurn, endInTurn, sendHeadInTurn } from './turn';
import type { Unchecked } from './unchecked';

const
  eventStream = late(() => require('./event-stream') as typeof import('./event-stream')),
  fetchResponse = late(() => require('./fetch-response') as typeof import('./fetch-response')),
  fileOptions = late(() => require('./file/file-options') as typeof import('./file/file-options')),
  padding = late(() => require('./jsonp') as typeof import('./jsonp')),
  namedFile = late(() => require('./file/named-file') as typeof import('./file/named-file')),
  redirection = late(() => require('./redirect') as typeof import('./redirect')),
  streamedBody = late(() => require('./streamed-body') as typeof import('./streamed-body')),
  rendering = late(() => require('./rendering') as typeof import('./rendering'));

/** A representation that `res.format` can choose; `next` goes on behind the route, with an error to error middleware. */
export type FormatHandler = (req: IncomingMessage, res: Response, next: (error?: unknown) => void) => unknown;

/* eslint-disable @typescript-eslint/no-unsafe-declaration-merging, @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unused-vars -- what is declared elsewhere is there once middleware has set it */
/** With what programs and packages declare of responses. */
export interface Response<ResBody = Unchecked, Locals extends object = Record<string, Unchecked>> extends ResponseAdditions {}

/**
 * The response a handler gets: Node's own, with the methods of INTERFACE section
 * 2.2 and those of Express 5. Objects made by others are adopted by their
 * prototype, so there is no constructor and no field here: state is kept under
 * symbols, its defaults on the prototype.
 */
export class Response<ResBody = Unchecked, Locals extends object = Record<string, Unchecked>> extends ResponseHead {
  /** @internal */
  declare [kJsonAsXJson]: boolean;
  /** @internal */
  declare [kXJsonOptions]: XJsonOptions | undefined;
  /** @internal */
  declare [kAnswering]: boolean;
  /** @internal */
  declare [kCallsBack]: boolean;
  /** @internal */
  declare readonly [kOwn]: OwnMethods;
  /** @internal */
  declare readonly [kSettings]: ResponseSettings;

  /** Values that the handlers of one request leave for one another. An application sets it: there are none before. */
  declare locals: Locals & Express.Locals;

  /** @internal Reports an error that no caller can catch: to error middleware, as Express does, by the `next` of the router that has the request. */
  [kFail](error: unknown): void {
    const next = (this.req as AnsweredRequest | undefined)?.next;
    if (typeof next === 'function') next(error);
    else answerError(this, error);
  }

  /** @internal As {@link kFail}, for later failures: another application may hold the response then, with a prototype that has no such method. */
  [kFailing](): (error: unknown) => void {
    const next = (this.req as AnsweredRequest | undefined)?.next;
    return typeof next === 'function' ? next : (error) => this[kFail](error);
  }

  /** The application that answers; a mounted one while it does. */
  get app(): HostApplication {
    return this[kSettings].app;
  }

  /** Answers with a status code and its reason phrase as the text. */
  sendStatus(code: number): this {
    return this.status(code).type('txt').send(statuses().message[code] ?? String(code));
  }

  /**
   * Answers with the data (INTERFACE section 2.2): a string as HTML unless a
   * type is set, bytes as `application/octet-stream`, null and undefined as no
   * body, a Response of fetch with its status, fields and body, anything else as {@link json}.
   * @throws TypeError for a function or symbol, and for what is no data: a stream, a promise, a Blob; ERR_HTTP_HEADERS_SENT when the head is out.
   */
  send(data?: unknown): this {
    switch (typeof data) {
      case 'string':
        return finish(this, data, asUtf8(typeSet(this) ?? HTML_TYPE));
      case 'undefined':
        return finish(this, undefined, undefined);
      case 'function':
      case 'symbol':
        throw new TypeError(`res.send cannot send a ${typeof data}: give it a string, a Buffer or data for JSON`);
      default:
        if (data === null) return finish(this, '', undefined);
        if (ArrayBuffer.isView(data)) return finish(this, Buffer.isBuffer(data) ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength), typeSet(this) ?? BINARY_TYPE);
        if (isFetchResponse(data)) {
          fetchResponse().sendResponse(this, data, this[kFailing]());
          return this;
        }
        // A replaced `json` judges its data itself.
        if (this.json === Response.prototype.json) {
          const unfit = unsendable(data, 'res.send');
          if (unfit !== undefined) throw unfit;
        }
        return this.json(data as ResBody);
    }
  }

  /**
   * Answers with the data as JSON.stringify writes it. Data that it cannot
   * write (big integers, circular references), and what is no data (a stream, a
   * promise), is logged and answered with 500 and the body of INTERFACE section
   * 7.2, or in an Express program raised as an error; it never throws for its data.
   * @throws ERR_HTTP_HEADERS_SENT when the head is out.
   */
  json(data?: ResBody): this {
    if (this[kJsonAsXJson]) {
      this.xJson(data);
      return this;
    }
    const unfit = unsendable(data, 'res.json');
    if (unfit !== undefined) return refuse(this, unfit);
    const { stringify } = settingsOf(this);
    let text: string | undefined;
    try {
      text = stringify === undefined ? JSON.stringify(data) : stringify(data);
    } catch (error) {
      return refuse(this, error, data);
    }
    const type = typeSet(this);
    if (this.send !== Response.prototype.send) {
      // As in Express: middleware that replaced `send` is given JSON answers too.
      if (type === undefined) this.setHeader('Content-Type', JSON_TYPE);
      return this.send(text);
    }
    if (type === undefined) return finish(this, text, JSON_TYPE);
    return finish(this, text, text === undefined ? undefined : asUtf8(type));
  }

  /** Answers as {@link json}, wrapped in a call if the query asks for one (JSONP). The parameter is `callback`, or the setting `jsonp callback name`. */
  jsonp(data?: ResBody): this {
    const name = (this.req as IncomingMessage | undefined) && padding().callbackName(this.req, settingsOf(this).jsonpCallback ?? 'callback');
    if (name === undefined) {
      if (typeSet(this) === undefined) this.setHeader('X-Content-Type-Options', 'nosniff');
      // As in Express, middleware that replaced `json` is not asked.
      return Response.prototype.json.call(this, data) as this;
    }
    const unfit = unsendable(data, 'res.jsonp');
    if (unfit !== undefined) return refuse(this, unfit);
    const { stringify } = settingsOf(this);
    let text: string | undefined;
    try {
      text = stringify === undefined ? JSON.stringify(data) : stringify(data);
    } catch (error) {
      return refuse(this, error, data);
    }
    this.setHeader('X-Content-Type-Options', 'nosniff');
    this.setHeader('Content-Type', 'text/javascript; charset=utf-8');
    return this.send(padding().callScript(name, text ?? ''));
  }

  /**
   * Answers with any data as JSON (INTERFACE section 4.3): big integers as
   * strings, cycles marked, large responses in chunks. Options given here go
   * before those of XJsonResponseHandler's middleware.
   * @throws TypeError for a wrong option.
   * @example
   * app.get('/total', (req, res) => res.xJson({ total: 2n ** 64n }));
   */
  xJson(data: unknown, options?: XJsonOptions): void {
    answersFirst(this);
    streaming().sendXJson(this, data, options, this[kXJsonOptions], new SerializationReport(this));
  }

  /**
   * Answers with the first accepted representation, in the client's order of
   * preference. Keys are media types or extensions; `default` is for clients that
   * accept none. Without `default` those get a 406.
   */
  format(handlers: Readonly<Record<string, FormatHandler>>): this {
    const names = Object.keys(handlers).filter((name) => name !== 'default');
    const accepted = names.length === 0 ? false : acceptedOf(this, names);
    this.vary('Accept');
    const chosen = typeof accepted === 'string' ? accepted : 'default';
    const handler = handlers[chosen];
    if (handler === undefined) {
      this[kFail](notAcceptable(names.map(essenceOf)));
      return this;
    }
    if (chosen !== 'default') this.set('Content-Type', essenceOf(chosen));
    // As in Express the router's: it leaves out the other handlers of a route.
    const next = (this.req as AnsweredRequest | undefined)?.next ?? ((error?: unknown) => this[kFail](error));
    const fail = this[kFailing]();
    const result: unknown = handler.call(handlers, this.req, this as unknown as Response, next);
    // Promise.resolve finds out if it is a thenable.
    if (typeof result === 'object' && result !== null && result !== this) Promise.resolve(result).then(undefined, fail);
    return this;
  }

  /**
   * Redirects, with 302 unless a status is given first (INTERFACE section 2.2).
   * The address is percent-encoded where needed and otherwise the caller's: an
   * address taken from a request can lead to another site (`//evil.example`,
   * `https:evil.example`), so test such a one against those you expect.
   */
  redirect(url: string | URL): void;
  redirect(status: number, url: string | URL): void;
  redirect(first: number | string | URL, second?: string | URL): void {
    redirection().sendRedirect(this, arguments.length < 2 ? [first] : [first, second]);
  }

  /**
   * Sends a file (INTERFACE section 2.2), with Range, ETag and conditional
   * requests. Where the path comes from a request, give `root`: nothing outside
   * of it is sent. The callback is told of the end or the error; without one an
   * error goes to error middleware (`status` 404 for no such file), save that a
   * client that went away is nobody's error.
   * @throws TypeError for a relative path without `root`, and for wrong options.
   */
  sendFile(path: string, callback?: SendFileCallback): void;
  sendFile(path: string, options?: SendFileOptions, callback?: SendFileCallback): void;
  sendFile(path: string, second?: SendFileOptions | SendFileCallback, third?: SendFileCallback): void {
    const callback = typeof second === 'function' ? second : third;
    const options = typeof second === 'function' ? undefined : second;
    if (options && typeof options !== 'object') throw new TypeError(`res.sendFile takes an object of options, got ${inspect(options)}: a name to save under is for res.download`);
    answersFirst(this);
    const fail = this[kFailing]();
    const { asExpress } = this[kSettings];
    const goOn = asExpress === true ? (this.req as AnsweredRequest | undefined)?.next : undefined;
    namedFile().sendNamedFile(this, path, options ?? {}, (end, error) => settleFile(fail, callback, goOn, end, error));
  }

  /**
   * Sends a file as {@link sendFile} does, to be saved under that name. The name is the file's, or the one given. As in Express
   * an object in the name's place is the options where none follow it: make a string of a name that the client gives.
   * @throws TypeError as `sendFile` does, and for a name that is no string.
   */
  download(path: string, callback?: SendFileCallback): void;
  download(path: string, filename: string | null | undefined, callback?: SendFileCallback): void;
  download(path: string, options: SendFileOptions, callback?: SendFileCallback): void;
  download(path: string, filename: string | null | undefined, options?: SendFileOptions, callback?: SendFileCallback): void;
  download(path: string, second?: unknown, third?: unknown, fourth?: unknown): void {
    const { filename, options, callback } = fileOptions().readDownload(second, third, fourth);
    const headers: Record<string, OutgoingHttpHeader | undefined> = {};
    for (const [name, value] of Object.entries(options.headers ?? {})) {
      if (name.toLowerCase() !== 'content-disposition') headers[name] = value;
    }
    headers['Content-Disposition'] = contentDisposition().create(basename(filename || path));
    this.sendFile(options.root ? path : resolve(path), { ...options, headers }, callback);
  }

  /**
   * Renders a view of the application and sends it as HTML; a callback gets the HTML instead. The
   * view is given the locals of the application, those of this response, and the options, the later
   * before the earlier. Without a callback an error goes to error middleware.
   * @throws Error where it is not known which engine renders it, or that can't be loaded.
   */
  render(view: string, callback?: RenderCallback): void;
  render(view: string, options?: object | null, callback?: RenderCallback): void;
  render(view: string, second?: object | null, third?: RenderCallback): void {
    if (typeof second === 'function') rendering().sendView(this, view, undefined, second as RenderCallback);
    else rendering().sendView(this, view, second, third);
  }

  /**
   * Answers with what a stream holds, as `application/octet-stream` unless a type is set: a Readable, a ReadableStream
   * (`(await fetch(url)).body`, `blob.stream()`) or an asynchronous iterable, of bytes or text. It is read as fast as the
   * client takes it, and destroyed when the client goes. An error before the first byte goes to error middleware, as
   * one that is thrown; a later one cuts the response off, too, so that the client sees it is not whole.
   * @throws TypeError for what is no stream; ERR_HTTP_HEADERS_SENT when the head is out.
   * @example
   * app.get('/report', (req, res) => res.type('csv').stream(createReadStream('report.csv')));
   */
  stream(source: StreamSource): void {
    answersFirst(this);
    new (streamedBody().StreamedBody)(this, source, this[kFailing]()).start();
  }

  /**
   * Answers with server-sent events, which a browser's `EventSource` reads. With an asynchronous iterable, or a ReadableStream, each of
   * its values is an event, asked for when the client has taken the one before; the stream ends with it, and its `return()` is called
   * when the client goes. Without one, the {@link EventStream} that is returned sends them. It ends when the application drains.
   * @throws TypeError for a wrong option or source; ERR_HTTP_HEADERS_SENT when the head is out.
   * @example
   * app.get('/ticks', (req, res) => res.events(setInterval(1000, { tick: true }, { signal: req.signal })));
   */
  events(options?: EventOptions): EventStream;
  events(source: EventSource | null | undefined, options?: EventOptions): EventStream;
  events(first?: EventOptions | EventSource | null, second?: EventOptions): EventStream {
    const [source, options] = second === undefined && isPlainObject(first) ? [undefined, first] : [first as EventSource | null | undefined, second];
    answersFirst(this);
    return new (eventStream().EventStream)(this, source ?? undefined, options ?? {}, this[kFailing]());
  }

  override writeContinue(callback?: () => void): void {
    // Said once, by whoever says it first: a listener of the server, a handler, or the application.
    const { req } = this as { req?: AnsweredRequest };
    if (req !== undefined) req[kExpectsContinue] = false;
    super.writeContinue(callback);
  }

  override destroy(error?: Error): this {
    if (!this.destroyed) destroyInTurn(this, error);
    return super.destroy(error);
  }

  override write(chunk: unknown, callback?: (error: Error | null | undefined) => void): boolean;
  override write(chunk: unknown, encoding: BufferEncoding, callback?: (error: Error | null | undefined) => void): boolean;
  override write(chunk: unknown, second?: unknown, third?: unknown): boolean {
    if (typeof second === 'function' || typeof third === 'function') this[kCallsBack] = true;
    answersFirst(this);
    if (this.writableEnded) hearLateWrite(this);
    else if (this.socket === null) sendHeadInTurn(this);
    return super.write(chunk, second as BufferEncoding, third as () => void);
  }

  override end(callback?: () => void): this;
  override end(chunk: unknown, callback?: () => void): this;
  override end(chunk: unknown, encoding: BufferEncoding, callback?: () => void): this;
  override end(first?: unknown, second?: unknown, third?: unknown): this {
    answersFirst(this);
    if (this.writableEnded && Boolean(first) && typeof first !== 'function') hearLateWrite(this);
    else if (this.socket === null) endInTurn(this);
    if (typeof first === 'function' || typeof second === 'function' || typeof third === 'function') this[kCallsBack] = true;
    return super.end(first, second as BufferEncoding, third as () => void);
  }
}

Response.prototype[kJsonAsXJson] = false;
Response.prototype[kXJsonOptions] = undefined;
Response.prototype[kAnswering] = false;
Response.prototype[kLatin1] = false;
Response.prototype[kCallsBack] = false;
makeAssignable(Response.prototype, ['app']);
// eslint-disable-next-line @typescript-eslint/unbound-method -- compared, never called
(Response.prototype as { [kOwn]: OwnMethods })[kOwn] = { end: Response.prototype.end, write: Response.prototype.write };
(Response.prototype as { [kSettings]: ResponseSettings })[kSettings] = DEFAULT_SETTINGS;

/** True for options that are given without a source. */
function isPlainObject(given: unknown): given is EventOptions {
  return typeof given === 'object' && given !== null && !(Symbol.asyncIterator in given) && !(Symbol.iterator in given) && !('getReader' in given);
}

/** The Content-Type that was set, where it is one that can be used. */
function typeSet(res: ServerResponse): string | undefined {
  // Looked for first: few responses have one yet, and `getHeader` costs more.
  const fields = fieldsOf(res);
  if (fields === null || !('content-type' in fields)) return undefined;
  const type = res.getHeader('content-type');
  return typeof type === 'string' && type !== '' ? type : undefined;
}

function settleFile(fail: (error: unknown) => void, callback: SendFileCallback | undefined, goOn: AnsweredRequest['next'], end: TransferEnd, error: NodeJS.ErrnoException | undefined): void {
  // It is called from the file system's side, where a throw would end the process.
  if (callback !== undefined) guardedCall(() => callback(error), fail);
  else if (end === 'refused' && error?.code === 'EISDIR' && goOn !== undefined) goOn();
  else if (end === 'refused' || end === 'failed') fail(error);
}
